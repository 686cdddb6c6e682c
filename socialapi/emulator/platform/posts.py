"""Handlers for reading and creating posts (platform sections 4.3 and 4.4)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import Numbered, paginate
from socialapi.emulator.platform.new_posts import EDIT_SECONDS, MAX_EDITS, new_post
from socialapi.emulator.platform.post_projection import Includes, may_read, not_authorized
from socialapi.emulator.platform.selection import Selection, pick_fields, selection
from socialapi.emulator.platform.state import PostRecord
from socialapi.emulator.responses import Answer, Refusal, answer, data, forbidden, invalid, not_found_problem
from socialapi.emulator.state import State, User
from socialapi.routes import platform as routes

DEFAULT_PAGE: Final = 10


@serves(routes.POSTS)
async def look_up_posts(call: Call) -> Answer:
    """Returns the posts in the order of their ids, each once, and a problem for each
    that cannot be read.
    """
    selected = selection(call.query)
    posts: list[PostRecord] = []
    errors: list[dict[str, Any]] = []
    for post_id in dict.fromkeys(call.query["ids"]):
        post = call.state.platform.posts.get(post_id)
        if post is None:
            errors.append(not_found_problem(call.service.problem_base_url, "tweet", "ids", post_id))
        elif not may_read(call.state.users[post.author_id], call.caller.user):
            errors.append(not_authorized(call.service.problem_base_url, "ids", post_id, "tweet"))
        else:
            posts.append(post)
    return posts_answer(call, posts, selected, errors=errors) if posts else answer({"errors": errors})


@serves(routes.USER_POSTS)
async def posts_of_user(call: Call) -> Answer:
    """Returns a page of a user's posts, the newest first."""
    selected = selection(call.query)
    user_id = call.path["id"]
    user = call.state.users.get(user_id)
    if user is None:
        return answer({"errors": [not_found_problem(call.service.problem_base_url, "user", "id", user_id)]})
    if not may_read(user, call.caller.user):
        return answer({"errors": [not_authorized(call.service.problem_base_url, "id", user_id, "user")]})
    posts = call.state.platform.posts
    page = paginate(call, Numbered(posts.timeline(user_id), newest_first=True), default=DEFAULT_PAGE)
    return posts_answer(call, posts.known(page.positions), selected, meta=page.meta)


def posts_answer(
    call: Call,
    posts: Sequence[PostRecord],
    selected: Selection,
    *,
    errors: Iterable[Mapping[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
) -> Answer:
    """Returns an answer with the posts and the objects that they refer to."""
    expanded = Includes(call.state, call.service.problem_base_url, selected, caller=call.caller)
    fields = [post.fields for post in posts]
    for each in fields:
        expanded.add(each)
    shown = [pick_fields(each, selected.post) for each in fields]
    return data(shown, includes=expanded.shown(), meta=meta, errors=[*errors, *expanded.errors])


@serves(routes.POST_CREATE)
async def create_post(call: Call) -> Answer:
    """Creates a post, and returns it with its default fields."""
    body = call.body
    author = call.user
    if not body.get("text", "").strip() and "media" not in body:
        raise invalid(
            "text", "must not be blank unless the post has media", *([body["text"]] if "text" in body else [])
        )
    media_keys = _media_keys(call.state, body)
    previous = _check_edit(call, author, body)
    answered = _target(call, body.get("reply", {}).get("in_reply_to_tweet_id"), "reply.in_reply_to_tweet_id")
    quoted = _target(call, body.get("quote_tweet_id"), "quote_tweet_id")
    if answered is not None:
        _check_summoned(call, author, answered)
    text = body.get("text", "")
    further: dict[str, Any] = {"attachments": {"media_keys": media_keys}} if media_keys else {}
    further |= {name: body[name] for name in ("community_id", "paid_partnership") if name in body}
    post = new_post(
        call.state,
        author,
        text,
        answered=answered,
        quoted=quoted,
        previous=previous,
        shared_with_followers=body.get("share_with_followers", False),
        **further,
    )
    call.service.publishing.post_created(call.state, post)
    return data({"id": post.id, "text": text}, call.success_status)


def _media_keys(state: State, body: Mapping[str, Any]) -> list[str]:
    """Returns the keys of the media that the post is to show. An id is a key without the
    kind in front of it.
    """
    ids = body.get("media", {}).get("media_ids", ())
    by_id = {key.partition("_")[2]: key for key in state.platform.media}
    if unknown := [each for each in ids if each not in by_id and each not in state.platform.media]:
        raise invalid("media.media_ids", "names media that were not uploaded", *unknown)
    return [by_id.get(each, each) for each in ids]


def _target(call: Call, post_id: str | None, parameter: str) -> PostRecord | None:
    """Returns the post that a parameter names. Raises Refusal if the caller may not read it."""
    if post_id is None:
        return None
    found = call.state.platform.posts.get(post_id)
    if found is None or not may_read(call.state.users[found.author_id], call.caller.user):
        raise invalid(parameter, "names no post", post_id[:100])
    return found


def _check_summoned(call: Call, replier: User, post: PostRecord) -> None:
    """Refuses a programmatic reply to a user who did not ask for one (section 8). Replies to
    oneself are allowed.
    """
    if call.caller.app.tier == "enterprise" or post.author_id == replier.id:
        return
    fields = post.fields
    mentions = fields.get("entities", {}).get("mentions", ())
    if any(mention.get("id") == replier.id for mention in mentions):
        return
    for reference in fields.get("referenced_tweets", ()):
        quoted = call.state.platform.posts.get(reference["id"]) if reference["type"] == "quoted" else None
        if quoted is not None and quoted.author_id == replier.id:
            return
    message = "replies through the API are restricted: the author of the post must have summoned the replier, by a mention or a quote"
    raise forbidden(message)


def _check_edit(call: Call, author: User, body: Mapping[str, Any]) -> PostRecord | None:
    """Returns the post to replace, if the post is an edit and every rule of section 8 allows it."""
    if "edit_options" not in body:
        return None
    parameter = "edit_options.previous_post_id"
    previous = _target(call, body["edit_options"]["previous_post_id"], parameter)
    assert previous is not None
    fields = previous.fields
    versions = fields["edit_history_tweet_ids"]
    first = call.state.platform.posts.get(versions[0])
    if previous.author_id != author.id:
        raise _no_edit("it is somebody else's")
    if not author.is_premium:
        raise _no_edit("its author holds no premium subscription")
    if first is None or not 0 <= call.now - first.created_at <= EDIT_SECONDS:
        raise _no_edit("it was not created within the last hour")
    if versions[-1] != previous.id:
        raise _no_edit(f"it was edited already, into {versions[-1]}")
    if fields["edit_controls"]["edits_remaining"] < 1:
        raise _no_edit(f"it was edited {MAX_EDITS} times, as often as it may be")
    for name in _FIXED_BY_EDITS:
        if name in body:
            raise invalid(name, "is that of the post that is edited, and cannot be given")
    return previous


_FIXED_BY_EDITS: Final = ("reply", "quote_tweet_id", "community_id")


def _no_edit(reason: str) -> Refusal:
    return forbidden(f"the post that edit_options.previous_post_id names cannot be edited: {reason}")
