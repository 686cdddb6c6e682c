"""Events of streams and webhooks, and activity subscriptions."""

import datetime
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, Literal, TypeVar, get_args

import attrs

from socialapi.errors import InvalidInput
from socialapi.internal.records import FrozenRecord, Record
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.includes import Includes
from socialapi.models.model import Model, make_late
from socialapi.models.posts import Post
from socialapi.models.spelling import near_name
from socialapi.models.validation import AnyId
from socialapi.problems import BrokenRule, Problem, ServiceError

EventType = Literal[
    "post.create",
    "post.delete",
    "spaces.start",
    "spaces.end",
    "profile.update.bio",
    "profile.update.verified",
    "profile.update.affiliate",
    "profile.update.screenname",
    "profile.update.profile_picture",
    "profile.update.banner_picture",
    "profile.update.handle",
    "profile.update.geo",
    "profile.update.url",
    "dm.received",
    "dm.sent",
    "dm.read",
    "dm.indicate_typing",
    "chat.received",
    "chat.sent",
    "chat.conversation_join",
    "follow.follow",
    "follow.unfollow",
]
Direction = Literal["sent", "received", "both"]

DEPRECATED_EVENT_TYPES: Final[Mapping[str, str]] = {
    "ProfileBioUpdate": "profile.update.bio",
    "ProfilePictureUpdate": "profile.update.profile_picture",
    "ProfileBannerUpdate": "profile.update.banner_picture",
    "ProfileGeoUpdate": "profile.update.geo",
    "ProfileUrlUpdate": "profile.update.url",
}
"""Deprecated names, and the names that replaced them on 2026-03-18."""

EVENT_TYPE_ALIASES: Final[Mapping[str, str]] = {
    "profile.update.picture": "profile.update.profile_picture",
    "profile.update.banner": "profile.update.banner_picture",
    "profile.update.verified_badge": "profile.update.verified",
    "profile.update.affiliate_badge": "profile.update.affiliate",
}
"""Other spellings of current names, either published or used by earlier versions of this package."""

_SPELLINGS: Final[Mapping[str, str]] = {**DEPRECATED_EVENT_TYPES, **EVENT_TYPE_ALIASES}
_KNOWN: Final[tuple[str, ...]] = (*get_args(EventType), *_SPELLINGS)
_GROUPS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(name.rpartition(".")[0] for name in get_args(EventType)) | {"profile": None}
)
"""The groups of event types. The name of a type starts with its group."""


def canonical_event_type(name: str) -> str:
    """Returns the current name of an event type. Unknown names are returned unchanged."""
    return _SPELLINGS.get(name, name)


_SCOPES: Final[Mapping[str, str]] = {
    "post": "tweet.read",
    "spaces": "space.read",
    "profile": "users.read",
    "dm": "dm.read",
    "chat": "dm.read",
    "follow": "follow.read",
}


def scope_of_event(event_type: str) -> str | None:
    """Returns the OAuth 2.0 scope that a subscription to an event type needs; None if the type's group is unknown.

    Only `follow.read` is documented.
    """
    return _SCOPES.get(canonical_event_type(event_type).partition(".")[0])


def refuse_misspelled_event_type(name: str) -> None:
    """Raises InvalidInput for a misspelled event type. Other unknown names may be new types."""
    if name not in _KNOWN and (meant := near_name(name, _KNOWN)) is not None:
        raise InvalidInput(f"there is no event type {name!r}: did you mean {meant!r}?")


def refuse_misspelled_event_pattern(pattern: str) -> None:
    """Raises InvalidInput for a pattern that matches no event type, or whose group is misspelled.

    A pattern is `*`, or a group such as `post` or `profile.update` followed by `.*`.
    """
    group = pattern.removesuffix(".*")
    if pattern == "*":
        return
    if group == pattern or not group or "*" in group:
        raise InvalidInput(f"{pattern!r} matches no event type: a star must be alone or at the end, as in 'post.*'")
    if group not in _GROUPS and (meant := near_name(group, _GROUPS)) is not None:
        raise InvalidInput(f"there are no event types {pattern!r}: did you mean '{meant}.*'?")


@attrs.define(kw_only=True)
class SubscriptionFilter(Record):
    """A user's activity to subscribe to, optionally limited to a keyword and, for messages, to a direction."""

    user_id: AnyId
    keyword: str | Unset = UNSET
    direction: Direction | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class SubscriptionDraft(Record):
    """An activity subscription to create. Undocumented fields go into `extra` and are sent as given."""

    event_type: str
    filter: SubscriptionFilter
    extra: Mapping[str, Any] = attrs.field(factory=dict)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Yields a violation if a direction is set for anything but messages."""
        if "direction" in data["filter"] and not data["event_type"].startswith(("dm.", "chat.")):
            yield BrokenRule(path="filter.direction", reason="is only for event types dm.… and chat.…")


@attrs.define(kw_only=True)
class Subscription(Model):
    """An activity subscription. Undocumented fields are in `extra`."""

    subscription_id: str | None = None
    event_type: str | None = None
    filter: Mapping[str, Any] = attrs.field(factory=dict)
    extra: dict[str, Any] = attrs.field(factory=dict)


def current_event_type(name: str) -> str:
    """Returns the current name of an event type. A deprecated name causes a DeprecationWarning."""
    if not isinstance(name, str):
        return name  # the rules of the body reject it
    current = canonical_event_type(name)
    if name in DEPRECATED_EVENT_TYPES:
        warnings.warn(
            f"the event type {name} is deprecated since 2026-03-18: use {current}", DeprecationWarning, stacklevel=3
        )
    return current


T = TypeVar("T")

DirectMessageKind = Literal["MessageCreate", "ParticipantsJoin", "ParticipantsLeave"]

MEMBERSHIP_KINDS: Final[frozenset[str]] = frozenset({"ParticipantsJoin", "ParticipantsLeave"})
"""The direct-message events with participants who joined or left."""


class Streamed(Generic[T]):
    """The result type of a route with an endless response: one `T` per line. It has no instances."""


@attrs.define(kw_only=True)
class DirectMessage(Model):
    """A direct-message event. `participant_ids` is None unless participants joined or left."""

    kind: DirectMessageKind | str | None = attrs.field(default=None, metadata={"name": "event_type"})
    id: str | None = None
    sender_id: str | None = None
    dm_conversation_id: str | None = None
    text: str | None = attrs.field(default=None, repr=False)
    participant_ids: tuple[str, ...] | None = None
    created_at: datetime.datetime | None = None


@attrs.define(kw_only=True)
class ActivityEvent(Model):
    """An activity event.

    `event_type` is the current name of the type, and `wire_type` the name as sent, which may be an
    alias, deprecated or unknown. `event_id` is the first id found at `data.event_uuid`,
    `event_uuid`, `data.event_id`, `event_id` and `id`, or at the `event_id_paths` given instead.
    `filter` is the part of the subscription that matched, and `payload` the event's data. `message`
    is the typed payload of an event about one direct message. Unreadable fields are None or empty, and their values are
    in `extra`.
    """

    event_type: EventType | str | None = None
    wire_type: str | None = attrs.field(default=None, eq=False)
    event_id: str | None = None
    created_at: datetime.datetime | None = None
    tag: str | None = None
    filter: Mapping[str, Any] = attrs.field(factory=dict)
    payload: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    message: DirectMessage | None = attrs.field(init=False, default=None)
    content: bytes = attrs.field(init=False, default=b"", eq=False, repr=False)


@attrs.define(kw_only=True)
class MatchingRule(Model):
    """A rule of the app that matches a post."""

    id: str | None = None
    tag: str | None = None


@attrs.define(kw_only=True)
class MatchedPost(Model):
    """A post that matches rules of the app's filtered stream, with its included objects."""

    data: Post
    includes: Includes = attrs.field(factory=Includes)
    matching_rules: tuple[MatchingRule, ...] = ()
    errors: tuple[Problem | ServiceError, ...] = attrs.field(init=False, default=())
    content: bytes = attrs.field(init=False, default=b"", eq=False, repr=False)


# Few connections request expansions. With an empty object for each post, reading takes 15% more instructions.
make_late(MatchedPost, "includes", Includes)


@attrs.frozen
class StreamNotice(FrozenRecord):
    """A notice of the service within a stream, which then continues."""

    problems: tuple[Problem | ServiceError, ...]
    content: bytes = attrs.field(default=b"", eq=False, repr=False)
