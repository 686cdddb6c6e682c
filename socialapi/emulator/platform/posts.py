"""Handlers for reading and creating posts."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.emulator.clock import epoch_of, milliseconds
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.paging import Numbered, paginate
from socialapi.emulator.platform.new_posts import EDIT_SECONDS, MAX_EDITS, new_post
from socialapi.emulator.platform.post_projection import Includes, may_read, not_authorized
from socialapi.emulator.platform.selection import Selection, pick_fields, selection
from socialapi.emulator.platform.state import PostRecord, PostStore
from socialapi.emulator.responses import Answer, Refusal, answer, data, forbidden, invalid, not_found_problem
from socialapi.emulator.state import User
from socialapi.models.posts import PostDraft
from socialapi.models.spelling import near_name
from socialapi.models.validation import printable_name
from socialapi.problems import BrokenRule
from socialapi.routes import platform as routes

DEFAULT_PAGE: Final = 10


@serves(routes.POSTS)
async def look_up_posts(call: Call) -> Answer:
    """Returns the requested posts in the order of the ids, without duplicates, and a problem for each post that cannot
    be read.
    """
    selected = selection(call.query)
    posts: list[PostRecord] = []
    errors: list[dict[str, Any]] = []
    for post_id in dict.fromkeys(call.query["ids"]):
        post = call.state.platform.posts.get(post_id)
        if post is None:
            errors.append(not_found_problem(call.state.problem_base_url, "tweet", "ids", post_id))
        elif not may_read(call.state.users[post.author_id], call.caller.user):
            errors.append(not_authorized(call.state.problem_base_url, "ids", post_id, "tweet"))
        else:
            posts.append(post)
    return posts_answer(call, posts, selected, errors=errors) if posts else answer({"errors": errors})


@serves(routes.USER_POSTS)
async def posts_of_user(call: Call) -> Answer:
    """Returns a page of a user's posts, newest first."""
    selected = selection(call.query)
    user_id = call.path["id"]
    user = call.state.users.get(user_id)
    if user is None:
        return answer({"errors": [not_found_problem(call.state.problem_base_url, "user", "id", user_id)]})
    if not may_read(user, call.caller.user):
        return answer({"errors": [not_authorized(call.state.problem_base_url, "id", user_id, "user")]})
    posts = call.state.platform.posts
    page = paginate(
        call, Numbered(posts.timeline(user_id), newest_first=True), _filter(call, posts), default=DEFAULT_PAGE
    )
    return posts_answer(call, posts.known(page.positions), selected, meta=page.meta)


def _filter(call: Call, posts: PostStore) -> Callable[[int], bool] | None:
    """Returns the filter of post ids that the request specifies, or None for all posts."""
    query = call.query
    if query.keys().isdisjoint(_FILTERS):
        return None
    after, before = int(query.get("since_id", -1)), int(query.get("until_id", 2**64))
    earliest = epoch_of(query["start_time"]) if "start_time" in query else -math.inf
    latest = epoch_of(query["end_time"]) if "end_time" in query else math.inf
    has_period = "start_time" in query or "end_time" in query
    kinds = {_EXCLUDED[each] for each in query.get("exclude", ())}

    def accepts(number: int) -> bool:
        if not after < number < before:
            return False
        if has_period and not earliest <= posts.time_of(number) < latest:
            return False
        (post,) = posts.known([number]) if kinds else (None,)
        return post is None or kinds.isdisjoint(each["type"] for each in post.fields.get("referenced_tweets", ()))

    return accepts


_FILTERS: Final = ("start_time", "end_time", "since_id", "until_id", "exclude")
_EXCLUDED: Final = {"replies": "replied_to", "retweets": "retweeted"}


def posts_answer(
    call: Call,
    posts: Sequence[PostRecord],
    selected: Selection,
    *,
    errors: Iterable[Mapping[str, Any]] = (),
    meta: Mapping[str, Any] | None = None,
) -> Answer:
    """Returns a response with the posts and their related objects."""
    expanded = Includes(call.state, selected, caller=call.caller)
    fields = [post.fields for post in posts]
    for each in fields:
        expanded.add(each)
    shown = [pick_fields(each, selected["tweet.fields"]) for each in fields]
    return data(shown, includes=expanded.shown(), meta=meta, errors=[*errors, *expanded.errors])


def unknown_fields(call: Call) -> Iterator[BrokenRule]:
    """Yields a violation for each unknown field of a new post, unless unknown fields are allowed."""
    if call.service.settings.lenient_fields:
        return
    for name in sorted(call.body.keys() - set(_DRAFT_FIELDS)):
        meant = near_name(name, _DRAFT_FIELDS)
        suggestion = f": did you mean {meant}?" if meant else f"; available: {', '.join(_DRAFT_FIELDS)}"
        yield BrokenRule(path=printable_name(name), reason=f"is not a field of a post{suggestion}")


_DRAFT_FIELDS: Final = tuple(sorted(field.name for field in attrs.fields(PostDraft) if field.name != "extra"))


@serves(routes.POST_CREATE, rules=unknown_fields)
async def create_post(call: Call) -> Answer:
    """Creates a post, and returns it with its default fields."""
    body = call.body
    author = call.user
    if not body.get("text", "").strip() and body.keys().isdisjoint(_IN_PLACE_OF_TEXT):
        given = [body["text"]] if "text" in body else []
        raise invalid("text", f"must not be blank unless the post has {' or '.join(_IN_PLACE_OF_TEXT)}", *given)
    if "poll" in body and "media" in body:
        raise invalid("poll", "cannot be combined with media")
    if "geo" in body and body["geo"]["place_id"] not in call.state.platform.places:
        raise invalid("geo.place_id", "does not match any place", body["geo"]["place_id"][:100])
    # The id of a medium is its key without the kind prefix.
    ids = body.get("media", {}).get("media_ids", ())
    by_id = {key.partition("_")[2]: key for key in call.state.platform.media}
    if unknown := [each for each in ids if each not in by_id and each not in call.state.platform.media]:
        raise invalid("media.media_ids", "contains media that were not uploaded", *unknown)
    media_keys = [by_id.get(each, each) for each in ids]
    previous = _check_edit(call, author, body)
    answered = _target(call, body.get("reply", {}).get("in_reply_to_tweet_id"), "reply.in_reply_to_tweet_id")
    quoted = _target(call, body.get("quote_tweet_id"), "quote_tweet_id")
    if answered is not None:
        _check_reply_settings(author, answered)
        _check_summoned(call, author, answered)
    text = body.get("text", "")
    further = {name: body[name] for name in _STORED_AS_GIVEN if name in body}
    if media_keys:
        further["attachments"] = {"media_keys": media_keys}
    if "poll" in body:
        further["attachments"] = {"poll_ids": [_new_poll(call, body["poll"])]}
    post = new_post(
        call.state,
        author,
        text,
        answered=answered,
        quoted=quoted,
        previous=previous,
        nullcast=body.get("nullcast", False),
        shared_with_followers=body.get("share_with_followers", False),
        **further,
    )
    call.service.publishing.post_created(call.state, post)
    return data({"id": post.id, "text": text}, call.success_status)


def _target(call: Call, post_id: str | None, parameter: str) -> PostRecord | None:
    """Returns the post with the id in a parameter. Raises Refusal if the post does not exist or the caller may not read
    it.
    """
    if post_id is None:
        return None
    found = call.state.platform.posts.get(post_id)
    if found is None or not may_read(call.state.users[found.author_id], call.caller.user):
        raise invalid(parameter, f"does not match any post: there is no {post_id[:100]}", post_id[:100])
    return found


_IN_PLACE_OF_TEXT: Final = ("media", "poll", "card_uri")
_STORED_AS_GIVEN: Final = ("community_id", "paid_partnership", "geo", "reply_settings")


def _new_poll(call: Call, given: Mapping[str, Any]) -> str:
    """Stores a poll, and returns its id."""
    minutes = given["duration_minutes"]
    poll_id = str(call.state.platform.new_id(call.now))
    call.state.platform.polls[poll_id] = {
        "id": poll_id,
        "options": [{"position": n, "label": label, "votes": 0} for n, label in enumerate(given["options"], 1)],
        "duration_minutes": minutes,
        "end_datetime": milliseconds(call.now + 60 * minutes),
        "voting_status": "open",
    }
    return poll_id


def _check_reply_settings(replier: User, post: PostRecord) -> None:
    """Refuses a reply that the post's `reply_settings` do not allow. Its author and the users it mentions may always
    reply. No user has subscribers in the emulator.
    """
    fields = post.fields
    setting = fields.get("reply_settings", "everyone")
    mentioned = {mention.get("id") for mention in fields.get("entities", {}).get("mentions", ())}
    if setting == "everyone" or replier.id in (post.author_id, *mentioned):
        return
    is_followed = "following" in (replier.profile.get("connection_status") or ())
    if (setting == "following" and is_followed) or (setting == "verified" and replier.profile.get("verified")):
        return
    raise forbidden(f"only some users may reply to this post: its reply_settings are {setting}")


def _check_summoned(call: Call, replier: User, post: PostRecord) -> None:
    """Refuses a programmatic reply to a user who did not ask for one. Users may always reply to themselves."""
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
    message = "replies through the API are restricted: the author of the post must have summoned the replier, by mention or quote"
    raise forbidden(message)


def _check_edit(call: Call, author: User, body: Mapping[str, Any]) -> PostRecord | None:
    """Returns the post to replace, or None if the new post is not an edit. Raises Refusal if the rules do not allow the
    edit.
    """
    if "edit_options" not in body:
        return None
    parameter = "edit_options.previous_post_id"
    previous = _target(call, body["edit_options"]["previous_post_id"], parameter)
    assert previous is not None
    fields = previous.fields
    versions = fields["edit_history_tweet_ids"]
    first = call.state.platform.posts.get(versions[0])
    if previous.author_id != author.id:
        raise _no_edit("it belongs to another user")
    if not author.is_premium:
        raise _no_edit("its author does not have a premium subscription")
    if first is None or not 0 <= call.now - first.created_at <= EDIT_SECONDS:
        raise _no_edit("it was not created within the last hour")
    if versions[-1] != previous.id:
        raise _no_edit(f"it was already edited; its latest version is {versions[-1]}")
    if "poll_ids" in fields.get("attachments", {}):
        raise _no_edit("it has a poll")
    if fields["edit_controls"]["edits_remaining"] < 1:
        raise _no_edit(f"it was already edited {MAX_EDITS} times, which is the maximum")
    for name in _FIXED_BY_EDITS:
        if name in body:
            raise invalid(name, "cannot be changed by an edit")
    return previous


_FIXED_BY_EDITS: Final = ("reply", "quote_tweet_id", "community_id", "poll", "geo", "reply_settings", "nullcast")


def _no_edit(reason: str) -> Refusal:
    return forbidden(f"the post in edit_options.previous_post_id cannot be edited: {reason}")
