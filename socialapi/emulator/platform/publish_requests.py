"""Validation of control-plane requests to publish events and posts."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, TypedDict

import attrs
from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.errors import InvalidInput
from socialapi.models.events import MEMBERSHIP_KINDS
from socialapi.models.posts import Attachments, EditControls, Entities, PostMetrics, ReferencedPost
from socialapi.models.validation import Pattern, broken_rules
from socialapi.problems import BrokenRule

MAX_THINGS: Final = 10_000
"""The maximum number of events and posts in one request."""
MAX_COPIES: Final = 1_000
MAX_ID_LENGTH: Final = 64

_Digits = Annotated[str, Pattern("[0-9]{1,19}", "must be 1 to 19 digits")]
_Copies = Annotated[int, Ge(1), Le(MAX_COPIES)]


@attrs.define(kw_only=True)
class EventDraft:
    """An activity event to publish.

    A missing id or time is generated. A missing `filter` is built from `user_id` and `keyword`.
    """

    event_type: Annotated[str, MinLen(1)]
    event_id: Annotated[str, MinLen(1), MaxLen(MAX_ID_LENGTH)] | None = None
    user_id: str | None = None
    keyword: str | None = None
    direction: str | None = None
    filter: Mapping[str, Any] | None = None
    payload: Mapping[str, Any] | None = None
    created_at: Annotated[str, MinLen(1)] | None = None
    tag: str | None = None
    copies: _Copies | None = None

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields the violations of the rules for participants: events about the members of a conversation need them,
        and MessageCreate must not have any.
        """
        payload = data.get("payload")
        if not data["event_type"].startswith("dm.") or not isinstance(payload, Mapping):
            return
        kind, path = payload.get("event_type"), "payload.participant_ids"
        if kind in MEMBERSHIP_KINDS and not payload.get("participant_ids"):
            yield BrokenRule(path=path, reason=f"is required for {kind}", code="MISSING_PARAMETER")
        if kind == "MessageCreate" and "participant_ids" in payload:
            yield BrokenRule(path=path, reason="must not be given for MessageCreate")


class _Geo(TypedDict):
    place_id: str


class _PostDraft(TypedDict, total=False):
    text: str
    id: Annotated[str, Pattern("[1-8][0-9]{18}|[1-9][0-9]{0,17}", "must be 1 to 19 digits, and fit into 63 bits")]
    author_id: str
    created_at: Annotated[str, MinLen(1)]
    attachments: Attachments
    community_id: str
    conversation_id: str
    edit_controls: EditControls
    edit_history_tweet_ids: Annotated[tuple[_Digits, ...], MinLen(1)]
    entities: Entities
    geo: _Geo
    in_reply_to_user_id: str
    lang: str
    public_metrics: PostMetrics
    referenced_tweets: tuple[ReferencedPost, ...]
    share_with_followers: bool
    extra: Any


@attrs.frozen(kw_only=True)
class Draft:
    """Either an event or a post to publish, and the number of copies of each delivery."""

    event: Mapping[str, Any] | None = None
    post: Mapping[str, Any] | None = None
    copies: int = 1


def read_drafts(body: Any, now: datetime.datetime) -> list[Draft]:
    """Returns the events and posts of a request: one, or the list in `events`. Raises InvalidInput if any of them is
    invalid, so that none is published.
    """
    things = body
    if isinstance(body, Mapping):
        things = body["events"] if body.keys() == {"events"} else [body]
    if not isinstance(things, Sequence) or isinstance(things, str | bytes):
        raise InvalidInput('the body must be an object, or {"events": […]}')
    if len(things) > MAX_THINGS:
        raise InvalidInput(f"too many events or posts ({len(things):,}): the maximum is {MAX_THINGS:,} in one request")
    several = len(things) > 1 or things is not body
    return [_draft(thing, f"events[{number}]" if several else "", now) for number, thing in enumerate(things)]


def _draft(thing: Any, path: str, now: datetime.datetime) -> Draft:
    if not isinstance(thing, Mapping):
        raise InvalidInput(f"{path or 'the body'} must be an object")
    if "event_type" in thing:
        _check(EventDraft, thing, path, now)
        return Draft(event=thing, copies=thing.get("copies") or 1)
    copies = thing.get("copies", 1)
    post = thing["post"] if "post" in thing else {name: value for name, value in thing.items() if name != "copies"}
    if not isinstance(post, Mapping) or not isinstance(post.get("text"), str):
        raise InvalidInput(f"{path or 'the body'} needs an event_type, or the text of a post")
    if len(post) > 1:
        _check(_PostDraft, post, f"{path}.post" if path else "post", now)
    if copies != 1:
        _check(_Copies, copies, f"{path}.copies" if path else "copies", now)
    return Draft(post=post, copies=copies)


def _check(declared: Any, thing: Any, path: str, now: datetime.datetime) -> None:
    if broken := broken_rules(declared, thing, now=now, path=path):
        raise InvalidInput("the events or posts are invalid", broken)
