"""Parses the fields and expansions that a request selects, and trims objects to the selected fields."""

from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

from socialapi.emulator.request import split
from socialapi.emulator.responses import invalid
from socialapi.models.content import NewsField
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from socialapi.models.webhooks import WebhookConfigField

Fields = Mapping[str, Any]

Selection = Mapping[str, Collection[str]]
"""The selected names, including the default ones, by parameter."""

_DEFAULTS: Final[Selection] = {
    "tweet.fields": ("id", "text"),
    "user.fields": ("id", "name", "username"),
    "media.fields": ("media_key", "type"),
    "poll.fields": ("id", "options"),
    "place.fields": ("id", "full_name"),
    "expansions": (),
    "news.fields": ("id", "name"),
    "webhook_config.fields": ("id",),
}
_OF_POSTS: Final = ("tweet.fields", "user.fields", "media.fields", "poll.fields", "place.fields", "expansions")

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


def selection(query: Fields) -> Selection:
    """Returns the selection of a request for posts. Refuses unknown names."""
    return {parameter: selected_names(query, parameter) for parameter in _OF_POSTS}


def selected_names(query: Fields, parameter: str) -> Collection[str]:
    """Returns the names that a parameter selects, without duplicates, after the default ones. Refuses unknown names."""
    names, known = _split(query.get(parameter, ())), KNOWN_NAMES[parameter]
    if known is not None and (unknown := [name for name in names if name not in known]):
        raise invalid(parameter, f"contains a name that is not one of {', '.join(sorted(known))}", *unknown)
    return dict.fromkeys((*_DEFAULTS[parameter], *names))


def known_names(query: Fields) -> dict[str, Any]:
    """Returns the parameters without unknown field and expansion names."""
    return {
        name: value
        if (known := KNOWN_NAMES.get(name)) is None
        else tuple(each for each in _split(value) if each in known)
        for name, value in query.items()
    }


def pick_fields(fields: Fields, names: Collection[str]) -> dict[str, Any]:
    """Returns the object with only the selected fields."""
    return {name: value for name, value in fields.items() if name in names}


def _split(given: Any) -> tuple[str, ...]:
    """Returns the items of a parameter, whose value is a string if the route does not declare it."""
    return split(given) if isinstance(given, str) else tuple(given)
