"""Creates the records of new posts, with the entities in their text."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from socialapi.emulator.clock import milliseconds
from socialapi.emulator.platform.state import PostRecord, PostStore
from socialapi.emulator.responses import packed_json
from socialapi.emulator.state import State, User

Found = dict[str, Any]

_TOKEN: Final = re.compile(
    r"(?P<url>https?://[^\s]*[^\s.,;:!?)'\"])|(?<![\w@])@(?P<mention>\w{1,15})|(?<![\w#&])#(?P<hashtag>[^\W\d]\w*)"
)
_PLACES: Final = ("Lofoten", "Dolomites", "Cairngorms", "Tatra Mountains", "Jotunheimen", "Lake Bled", "Trieste")
_NAMED: Final = re.compile("|".join(_PLACES))
_LONGEST_DISPLAY: Final = 34

# The sites known to the service, with the titles of their pages.
_SITES: Final[Mapping[str, str]] = {
    "northwind.example": "Northwind Outdoor",
    "harbourbooks.example": "Harbour Books",
}


def entities_of(text: str, id_of: Callable[[str], str | None]) -> dict[str, list[Found]]:
    """Returns links, mentions, hashtags and names. Offsets count characters, and `end` is one past the last character.

    `id_of` returns the id of the user with a name, if there is one.
    """
    found: dict[str, list[Found]] = {}
    if "@" in text or "#" in text or "://" in text:
        for kind, each in _tokens(text, id_of):
            found.setdefault(kind, []).append(each)
    if names := list(_NAMED.finditer(text)):
        found["annotations"] = [
            {
                "start": match.start(),
                "end": match.end(),
                "probability": 0.97,
                "type": "Place",
                "normalized_text": match[0],
            }
            for match in names
        ]
    return found


def _tokens(text: str, id_of: Callable[[str], str | None]) -> Iterator[tuple[str, Found]]:
    for match in _TOKEN.finditer(text):
        place = {"start": match.start(), "end": match.end()}
        if match["url"]:
            yield "urls", place | _link(match["url"])
        elif match["hashtag"]:
            yield "hashtags", place | {"tag": match["hashtag"]}
        else:
            user_id = id_of(match["mention"])
            yield "mentions", place | {"username": match["mention"]} | ({"id": user_id} if user_id else {})


def _link(url: str) -> Found:
    display = url.partition("://")[2]
    shown = display if len(display) <= _LONGEST_DISPLAY else display[: _LONGEST_DISPLAY - 1] + "…"
    link: Found = {"url": url, "expanded_url": url, "display_url": shown}
    site = _SITES.get(display.partition("/")[0])
    if site is None:
        return link
    host, _, path = display.partition("/")
    slug = path.rpartition("/")[2] or "home"
    name = slug.replace("-", " ").capitalize()
    image = f"https://images.{host}/{slug}.jpg"
    return link | {
        "status": 200,
        "title": f"{name} | {site}",
        "description": f"{name}: more at {site}.",
        "unwound_url": url,
        "images": [{"url": image, "width": 1200, "height": 630}, {"url": image, "width": 150, "height": 150}],
    }


EDIT_SECONDS: Final = 3_600.0
"""The time for which a post can be edited."""
MAX_EDITS: Final = 5
"""The number of times that a post can be edited. The documentation does not specify one."""

_KEPT_BY_EDITS: Final = (
    *("conversation_id", "in_reply_to_user_id", "referenced_tweets", "community_id", "paid_partnership"),
    *("geo", "reply_settings"),
)

_NO_COUNTS: Final = ("retweet_count", "reply_count", "like_count", "quote_count", "impression_count")


def new_post(
    state: State,
    author: User,
    text: str,
    *,
    answered: PostRecord | None = None,
    quoted: PostRecord | None = None,
    previous: PostRecord | None = None,
    nullcast: bool = False,
    shared_with_followers: bool = False,
    **further: Any,
) -> PostRecord:
    """Creates and stores a post, which may have `further` fields. Increments the counts of the posts that it refers to,
    and adds it to the edit history of its earlier versions.
    """
    now = state.clock.now()
    post_id = str(state.platform.new_id(now))
    fields = post_fields(state, author, post_id, text, now)
    references = []
    if answered is not None:
        references.append({"type": "replied_to", "id": answered.id})
        fields["conversation_id"] = answered.fields["conversation_id"]
        fields["in_reply_to_user_id"] = answered.author_id
        state.platform.posts.count(answered.id, "reply_count")
    if quoted is not None:
        references.append({"type": "quoted", "id": quoted.id})
        state.platform.posts.count(quoted.id, "quote_count")
    if references:
        fields["referenced_tweets"] = references
    if previous is not None:
        nullcast, shared_with_followers = previous.nullcast, previous.shared_with_followers
        _follow(state.platform.posts, fields, previous)
    post = PostRecord.of(fields | further, now, nullcast=nullcast, shared_with_followers=shared_with_followers)
    state.platform.posts.put(post)
    return post


def post_fields(state: State, author: User, post_id: str, text: str, at: float) -> dict[str, Any]:
    """Returns the fields that every post has, and entities if there are any."""
    fields = {
        "id": post_id,
        "text": text,
        "author_id": author.id,
        "conversation_id": post_id,
        "created_at": milliseconds(at),
        "edit_controls": {
            "edits_remaining": MAX_EDITS,
            "is_edit_eligible": author.is_premium,
            "editable_until": milliseconds(at + EDIT_SECONDS),
        },
        "edit_history_tweet_ids": [post_id],
        "lang": "en",
        "paid_partnership": False,
        "possibly_sensitive": False,
        "public_metrics": dict.fromkeys(_NO_COUNTS, 0),
        "reply_settings": "everyone",
    }

    def id_of(username: str) -> str | None:
        user = state.user_named(username)
        return user.id if user else None

    if entities := entities_of(text, id_of):
        fields["entities"] = entities
    return fields


def _follow(posts: PostStore, fields: dict[str, Any], previous: PostRecord) -> None:
    """Makes a post the next version of the previous one. All versions list each other, and share the conversation and
    the deadline for edits.
    """
    before = previous.fields
    history = [*before["edit_history_tweet_ids"], fields["id"]]
    for version in posts.known(history):
        if version.author_id == previous.author_id:  # the control plane may have set any history
            content = packed_json(version.fields | {"edit_history_tweet_ids": history})
            replaced = version.replaced or version.id == previous.id
            posts.put(attrs.evolve(version, content=content, replaced=replaced))
    controls = before["edit_controls"]
    fields["edit_history_tweet_ids"] = history
    fields["edit_controls"] = {**controls, "edits_remaining": controls["edits_remaining"] - 1}
    fields |= {name: before[name] for name in _KEPT_BY_EDITS if name in before}
