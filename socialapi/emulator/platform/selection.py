"""Parses the fields and expansions that a request selects, and trims objects to the selected fields."""

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

import attrs

from socialapi.emulator.request import split
from socialapi.emulator.responses import invalid
from socialapi.models.content import NewsField
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from socialapi.models.webhooks import WebhookConfigField

Fields = Mapping[str, Any]

_POST: Final = ("id", "text")
_USER: Final = ("id", "name", "username")
_MEDIA: Final = ("media_key", "type")
_POLL: Final = ("id", "options")
_PLACE: Final = ("id", "full_name")
_NEWS: Final = ("id", "name")

KNOWN_NAMES: Final[Mapping[str, Collection[str] | None]] = {
    "tweet.fields": get_args(PostField),
    "user.fields": get_args(UserField),
    "media.fields": get_args(MediaField),
    "poll.fields": None,
    "place.fields": None,
    "expansions": get_args(Expansion),
    "news.fields": ("id", *get_args(NewsField)),
    "webhook_config.fields": get_args(WebhookConfigField),
}
"""The names that each parameter can select, or None if they are not documented and every name is accepted."""


@attrs.frozen
class Selection:
    """The selected fields of each kind of object, including the default ones, and the expansions."""

    post: Collection[str]
    user: Collection[str]
    media: Collection[str]
    poll: Collection[str]
    place: Collection[str]
    expansions: Collection[str]


def selection(query: Mapping[str, Any]) -> Selection:
    """Returns the selection from the six parameters. Refuses unknown names."""
    return Selection(
        post={*_POST, *_names(query, "tweet.fields")},
        user={*_USER, *_names(query, "user.fields")},
        media={*_MEDIA, *_names(query, "media.fields")},
        poll={*_POLL, *_names(query, "poll.fields")},
        place={*_PLACE, *_names(query, "place.fields")},
        expansions=_names(query, "expansions"),
    )


def known_names(query: Fields) -> dict[str, Any]:
    """Returns the parameters without unknown field and expansion names."""
    return {
        name: value
        if (known := KNOWN_NAMES.get(name)) is None
        else tuple(each for each in _split(value) if each in known)
        for name, value in query.items()
    }


def news_selection(query: Mapping[str, Any]) -> Collection[str]:
    """Returns the selected fields of a news story."""
    return {*_NEWS, *_names(query, "news.fields")}


def webhook_selection(query: Mapping[str, Any]) -> Collection[str]:
    """Returns the selected fields of a webhook, or all fields if none is selected."""
    names = _names(query, "webhook_config.fields")
    return {"id", *names} if names else get_args(WebhookConfigField)


def pick_fields(fields: Fields, names: Collection[str]) -> dict[str, Any]:
    """Returns the object with only the selected fields."""
    return {name: value for name, value in fields.items() if name in names}


def _split(given: Any) -> tuple[str, ...]:
    """Returns the items of a parameter, whose value is a string if the route does not declare it."""
    return split(given) if isinstance(given, str) else tuple(given)


def _names(query: Mapping[str, Any], parameter: str) -> tuple[str, ...]:
    names = _split(query.get(parameter, ()))
    known = KNOWN_NAMES[parameter]
    unknown = [] if known is None else [name for name in names if name not in known]
    if known is not None and unknown:
        raise invalid(parameter, f"contains a name that is not one of {', '.join(sorted(known))}", *unknown)
    return names
