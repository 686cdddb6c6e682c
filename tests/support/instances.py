"""Strategies for instances of attrs classes, made from the types of their fields."""

import datetime
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from hypothesis import strategies as st

from socialapi.internal.unset import Unset
from socialapi.models.accounts import CampaignSnapshot, HistoryEntry
from socialapi.models.cards import SwipeableMedia
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.includes import Includes
from socialapi.models.money import LARGEST, Micros
from socialapi.models.pages import Page
from socialapi.models.queries import Fields
from socialapi.models.streams import EndedConnections
from socialapi.models.undecoded import Undecoded
from socialapi.models.validation import wire_name
from socialapi.problems import PROBLEM_TYPES, Problem, ServiceError

LONG: Final = st.integers(-(2**63), 2**63 - 1)
TEXT: Final = st.text(st.characters(), max_size=8)  # with halves of surrogate pairs
OFFSETS: Final = st.integers(-23 * 60, 23 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)
TIMES: Final = st.datetimes(
    datetime.datetime(1, 1, 3),  # noqa: DTZ001  # the zone comes with the strategy
    datetime.datetime(9999, 12, 29),  # noqa: DTZ001
    timezones=st.just(datetime.UTC) | OFFSETS,
)
JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECTS: Final = st.dictionaries(TEXT, JSON, max_size=2)

_SCALARS: Final[Mapping[Any, st.SearchStrategy[Any]]] = {
    Any: JSON,
    str: TEXT,
    int: LONG,
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=8),
    datetime.datetime: TIMES,
    types.NoneType: st.none(),
    Unset: st.just(Unset.UNSET),
}


def values_of(declared: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a field."""
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is typing.Annotated:
        return values_of(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (tuple, Sequence):
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=2)
    return _SCALARS[declared] if declared in _SCALARS else st.deferred(lambda: instances_of(declared))


@functools.cache
def instances_of(cls: Any) -> st.SearchStrategy[Any]:
    """Instances of a class that an answer, or a caller, can bring about."""
    attrs.resolve_types(cls, localns={"Includes": Includes}, include_extras=True)
    fields = [field for field in attrs.fields(cls) if field.init and field.type is not types.NoneType]
    taken = {wire_name(field) for field in fields}
    further = st.dictionaries(TEXT.filter(lambda name: name not in taken), JSON, max_size=2)
    given = {
        field.alias: further if field.name == "extra" else values_of(field.type)
        for field in fields
        if not field.name.startswith("_")
    }
    if issubclass(cls, Problem):
        given["type"] = TEXT if cls is Problem else st.just(f"https://example.com/{SLUGS[cls]}")
    return st.builds(cls, **{**given, **_OWN.get(cls, {})}).map(_AFTER.get(cls, lambda made: made))


SLUGS: Final = {cls: slug for slug, cls in PROBLEM_TYPES.items()}


def _as_read(made: Any) -> Any:
    """Fields that follow from others are those of an answer."""
    return type(made).from_dict(made.to_dict())


def _entry(made: HistoryEntry) -> HistoryEntry:
    """An entity is a snapshot if, and only if, it is a campaign."""
    made.entity = "CAMPAIGN" if isinstance(made.entity_data, CampaignSnapshot) else "LINE_ITEM"
    return made


def _page(made: Page[Any]) -> Page[Any]:
    made.extra = {name: value for name, value in made.extra.items() if name != "request"}
    return made


_ERRORS: Final = st.lists(st.deferred(lambda: instances_of(Problem) | instances_of(ServiceError)), max_size=2).map(
    tuple
)
_TOKENS: Final = st.none() | st.text("ab~", min_size=1)
_OWN: Final[Mapping[Any, Mapping[str, Any]]] = {
    Fields: {kind: st.sampled_from([(), ("id",), ("id", "name_of_something_new")]) for kind in ("post", "user", "poll")}
    | {"media": st.just(()), "place": st.just(()), "expansions": st.sampled_from([(), ("author_id",)])},
    Micros: {"value": st.integers(-LARGEST, LARGEST)},
    ServiceError: {
        # A code of digits is a number, and an empty message is none.
        "code": st.none() | LONG | TEXT.filter(lambda code: not code.isdecimal()),
        "message": st.none() | TEXT.filter(bool),
    },
    SwipeableMedia: {"media_keys": st.lists(TEXT, max_size=3).map(tuple)},
    Undecoded: {"raw": JSON | st.binary(max_size=8)},
    MatchedPost: {"extra": st.just({})},
    Page: {
        "data": st.lists(OBJECTS, max_size=2).map(tuple),
        "meta": OBJECTS.filter(lambda meta: meta.keys().isdisjoint(("next_token", "next_cursor"))),
        "errors": _ERRORS,
        "next_token": _TOKENS,
        "previous_token": _TOKENS,
        "item_type": st.none(),
    },
}
_AFTER: Final[Mapping[Any, Any]] = {
    ActivityEvent: _as_read,
    EndedConnections: _as_read,
    HistoryEntry: _entry,
    Page: _page,
}
