"""Activity subscriptions and event types (platform documentation, section 6.2)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.model import Model
from socialapi.models.rules import AnyId
from socialapi.models.spelling import near_name
from socialapi.problems import BrokenRule
from socialapi.unset import UNSET, Unset

EventType = Literal[
    "post.create",
    "post.delete",
    "spaces.start",
    "spaces.end",
    "profile.update.bio",
    "profile.update.verified",
    "profile.update.affiliate",
    "profile.update.screenname",
    "profile.update.picture",
    "profile.update.banner",
    "profile.update.geo",
    "profile.update.url",
    "dm.received",
    "dm.sent",
    "dm.read",
    "dm.indicate_typing",
    "chat.received",
    "chat.sent",
]
Direction = Literal["sent", "received", "both"]

DEPRECATED_EVENT_TYPES: Final[Mapping[str, str]] = {
    "ProfileBioUpdate": "profile.update.bio",
    "ProfilePictureUpdate": "profile.update.picture",
    "ProfileBannerUpdate": "profile.update.banner",
    "ProfileGeoUpdate": "profile.update.geo",
    "ProfileUrlUpdate": "profile.update.url",
}
"""Older names and those that replace them since 2026-03-18."""

EVENT_TYPE_ALIASES: Final[Mapping[str, str]] = {
    "profile.update.profile_picture": "profile.update.picture",
    "profile.update.banner_picture": "profile.update.banner",
    "profile.update.verified_badge": "profile.update.verified",
    "profile.update.affiliate_badge": "profile.update.affiliate",
}
"""Other published spellings of present names."""

_SPELLINGS: Final[Mapping[str, str]] = {**DEPRECATED_EVENT_TYPES, **EVENT_TYPE_ALIASES}
_KNOWN: Final[tuple[str, ...]] = (*get_args(EventType), *_SPELLINGS)
_GROUPS: Final[tuple[str, ...]] = tuple(
    dict.fromkeys(name.rpartition(".")[0] for name in get_args(EventType)) | {"profile": None}
)
"""What the names of event types begin with."""


def canonical_event_type(name: str) -> str:
    """The name that the documentation has today for an event type; one that is not known stays as it is."""
    return _SPELLINGS.get(name, name)


def refuse_misspelt_event_type(name: str) -> None:
    """Raises InvalidInput for a name that is nearly that of an event type. Any other is taken: there may be new ones."""
    if name not in _KNOWN and (meant := near_name(name, _KNOWN)) is not None:
        raise InvalidInput(f"there is no event type {name!r}: did you mean {meant!r}?")


def refuse_misspelt_event_pattern(pattern: str) -> None:
    """Raises InvalidInput for a pattern that no event type can match, or whose group is nearly a known one.

    A pattern is `*` alone, or a group such as `post` or `profile.update` and `.*`.
    """
    group = pattern.removesuffix(".*")
    if pattern == "*":
        return
    if group == pattern or not group or "*" in group:
        raise InvalidInput(f"{pattern!r} matches no event type: a star stands alone or at the end, as in 'post.*'")
    if group not in _GROUPS and (meant := near_name(group, _GROUPS)) is not None:
        raise InvalidInput(f"there are no event types {pattern!r}: did you mean '{meant}.*'?")


@attrs.define(kw_only=True)
class SubscriptionFilter:
    """Which activity is meant: of a user, with a keyword, and for messages in a direction."""

    user_id: AnyId | Unset = UNSET
    keyword: str | Unset = UNSET
    direction: Direction | Unset = UNSET
    extra: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.define(kw_only=True)
class SubscriptionDraft:
    """A subscription to create. What is not named here goes into `extra` and is sent as it is."""

    event_type: str
    filter: SubscriptionFilter
    extra: Mapping[str, Any] = attrs.field(factory=dict)

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        """Somebody or something is subscribed to, and only messages have a direction."""
        if not {"user_id", "keyword"} & data["filter"].keys():
            yield BrokenRule(path="filter", reason="needs a user_id or a keyword", code="MISSING_PARAMETER")
        if "direction" in data["filter"] and not data["event_type"].startswith(("dm.", "chat.")):
            yield BrokenRule(path="filter.direction", reason="is for events of types dm.… and chat.… alone")


@attrs.define(kw_only=True)
class Subscription(Model):
    """An activity subscription; its fields are not documented and stand in `extra`."""

    subscription_id: str | None = None
    event_type: str | None = None
    filter: Mapping[str, Any] = attrs.field(factory=dict)
    extra: dict[str, Any] = attrs.field(factory=dict)
