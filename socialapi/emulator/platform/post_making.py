"""Making a post with all its fields, and keeping it (platform section 2.4)."""

from typing import Any, Final

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.platform.entities import entities_of
from socialapi.emulator.platform.post_store import PostRecord
from socialapi.emulator.state import State, User

EDIT_SECONDS: Final = 3_600.0
"""How long a post can be edited (section 8)."""

_NO_COUNTS: Final = ("retweet_count", "reply_count", "like_count", "quote_count", "impression_count")


def new_post(
    state: State,
    author: User,
    text: str,
    *,
    answered: PostRecord | None = None,
    quoted: PostRecord | None = None,
    previous: PostRecord | None = None,
    listed: bool = True,
) -> PostRecord:
    """A post, made and kept; the posts that it refers to count it, and the versions that it follows name it.

    One that is not `listed` is found by its id alone.
    """
    now = state.clock.now()
    post_id = str(state.platform.new_id(now))
    fields = post_fields(state, author, post_id, text, now)
    references = []
    if answered is not None:
        references.append({"type": "replied_to", "id": answered.id})
        fields["conversation_id"] = answered.fields["conversation_id"]
        fields["in_reply_to_user_id"] = answered.author_id
        state.platform.posts.count(answered, "reply_count")
    if quoted is not None:
        references.append({"type": "quoted", "id": quoted.id})
        state.platform.posts.count(quoted, "quote_count")
    if references:
        fields["referenced_tweets"] = references
    post = PostRecord(id=post_id, author_id=author.id, created_at=now, fields=fields)
    if previous is not None:
        _follow(state, post, previous)
    if listed:
        state.platform.posts.add(post, in_place_of=previous.id if previous else None)
    else:
        state.platform.posts.keep(post)
    return post


def post_fields(state: State, author: User, post_id: str, text: str, at: float) -> dict[str, Any]:
    """The fields that every post has; entities only where there are any."""
    fields = {
        "id": post_id,
        "text": text,
        "author_id": author.id,
        "conversation_id": post_id,
        "created_at": milliseconds(at),
        "edit_controls": {"is_edit_eligible": author.is_premium, "editable_until": milliseconds(at + EDIT_SECONDS)},
        "edit_history_tweet_ids": [post_id],
        "lang": "en",
        "paid_partnership": False,
        "possibly_sensitive": False,
        "public_metrics": dict.fromkeys(_NO_COUNTS, 0),
    }

    def id_of(username: str) -> str | None:
        user = state.user_named(username)
        return user.id if user else None

    if entities := entities_of(text, id_of):
        fields["entities"] = entities
    return fields


def _follow(state: State, post: PostRecord, previous: PostRecord) -> None:
    """All versions of a post name all of them, and the window for edits stays that of the first."""
    history = [*previous.fields["edit_history_tweet_ids"], post.id]
    for version in (*state.platform.posts.known(map(int, history[:-1])), post):
        version.fields["edit_history_tweet_ids"] = history
        if version is not post:
            state.platform.posts.keep(version)
    post.fields["edit_controls"] = previous.fields["edit_controls"]
