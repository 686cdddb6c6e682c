"""Pages: reading one, and which one comes next. Pure; the walking is done by the session's pager."""

import datetime
import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import attrs
from annotated_types import MaxLen

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.pages import Includes, Page
from socialapi.models.rules import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes.route import Family
from socialapi.wire.converter import join_path, structure
from socialapi.wire.problems import read_partial_error
from socialapi.wire.request import refuse

T = TypeVar("T")

MAX_ANCHORS: Final = 8
"""So many items before a position are named in it."""

_WHENEVER: Final = datetime.datetime.fromtimestamp(0, datetime.UTC)
"""No rule about an id asks what time it is."""


def is_paged(result: Any) -> bool:
    """Whether a route's result is `Page[T]`."""
    return getattr(result, "__origin__", None) is Page


def read_page(result: Any, body: Mapping[str, Any]) -> Page[Any]:
    """The page that an envelope holds. Raises DecodeError with the path of the field that cannot be read."""
    if not ("data" in body or "meta" in body or "errors" in body):
        # Not the end of a collection, but something that is no page at all.
        raise DecodeError("data", "is missing, and so are meta and errors")
    meta, errors = body.get("meta") or {}, body.get("errors")
    if not isinstance(meta, dict):
        raise DecodeError("meta", "expected an object")
    return Page(
        data=_read("data", body.get("data"), _items_of(result), ()),
        includes=_read("includes", body.get("includes"), Includes, None) or Includes(),
        meta=meta,
        errors=tuple(read_partial_error(each) for each in errors if isinstance(each, dict)) if errors else (),
        next_token=_token(next_token_path(meta), meta.get("next_token", body.get("next_cursor"))),
        previous_token=_token("meta.previous_token", meta.get("previous_token")),
        result_count=_count(meta.get("result_count")),
        total_count=_count(body.get("total_count")),
        params=_echo(body.get("request")),
    )


def _echo(request: Any) -> Mapping[str, Any]:
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}


@functools.cache
def _items_of(result: Any) -> Any:
    return types.GenericAlias(tuple, (typing.get_args(result)[0], ...))


def _read(name: str, data: Any, declared: Any, default: Any) -> Any:
    if data is None:
        return default
    try:
        return structure(data, declared)
    except DecodeError as problem:
        raise DecodeError(join_path(name, problem.path), problem.reason) from None


def _token(path: str, value: Any) -> str | None:
    """A token that is no text would end the walk as if there were no more pages."""
    if value is not None and not isinstance(value, str):
        raise DecodeError(path, "expected a string")
    return value or None


def next_token_path(meta: Mapping[str, Any]) -> str:
    """What the token of the next page is called in the answer that has this `meta`."""
    return "meta.next_token" if "next_token" in meta else "next_cursor"


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def page_query(family: Family, query: Mapping[str, Any], token: str | None) -> dict[str, Any]:
    """The query for a page: the first one as asked, later ones with the token in place of what it cannot go with."""
    if token is None:
        return dict(query)
    # A total count cannot be combined with a cursor (advertising section 4.1).
    return {k: v for k, v in query.items() if k != "with_total_count"} | {family.page_token_parameter: token}


@attrs.frozen
class Position:
    """A place between two items of a collection: behind `taken` items of a page, the last of which have the ids `after`.

    The ids, the latest first, matter where a page is not what it was: the first one grows at its head while nobody
    looks, and any loses what is deleted. The place is behind the nearest of these items that is still there, and at
    the start of the page if none is: a repeat is better than a loss. Where items have no ids the number decides.
    """

    token: str | None = None
    taken: int = 0
    after: tuple[str, ...] = ()

    @classmethod
    def behind(cls, token: str | None, page: Page[Any], index: int) -> "Position":
        """The place behind the item with this index on the page of the token."""
        if index + 1 >= len(page.data) and page.next_token is not None:
            return cls(page.next_token)
        latest = page.data[max(0, index + 1 - MAX_ANCHORS) : index + 1]
        return cls(token, index + 1, tuple(found for item in reversed(latest) if (found := _key_of(item)) is not None))

    @classmethod
    def read(cls, text: str) -> "Position":
        """The place that a text names. Raises ValueError for a text that is none."""
        before, colon, token = text.partition(":")
        taken, _, after = before.partition("@")
        if not colon or not (taken.isascii() and taken.isdecimal()):
            raise ValueError(text)
        return cls(token or None, int(taken), tuple(unquote(each) for each in after.split(",") if each))

    def __str__(self) -> str:
        after = ",".join(quote(each, safe="") for each in self.after)
        return f"{self.taken}{'@' if after else ''}{after}:{self.token or ''}"

    def is_on(self, data: Sequence[Any]) -> bool:
        """Whether the item just before this place is among these, so that no others have to be looked at."""
        return bool(self.after) and any(_key_of(item) == self.after[0] for item in data)

    def find(self, pages: Sequence[Sequence[Any]]) -> tuple[int, int]:
        """Where this place is on pages that begin with its own: the index of one, and how many of its items are before."""
        if not self.after:
            return self._counted(pages)
        places = {
            key: (number, index + 1)
            for number, data in enumerate(pages)
            for index, item in enumerate(data)
            if (key := _key_of(item)) is not None
        }
        return next((places[each] for each in self.after if each in places), (0, 0))

    def _counted(self, pages: Sequence[Sequence[Any]]) -> tuple[int, int]:
        left = self.taken
        for number, data in enumerate(pages):
            if left <= len(data):
                return number, left
            left -= len(data)
        return len(pages) - 1, len(pages[-1])


def _key_of(item: Any) -> str | None:
    kind: Any = type(item)
    name = _key_name(kind)
    found = getattr(item, name) if name is not None else None
    return found if isinstance(found, str) and found else None


@functools.cache
def _key_name(kind: Any) -> str | None:
    """The field that tells the items of a collection apart: the one that says so in its metadata, else `id`."""
    fields = attrs.fields(kind) if attrs.has(kind) else ()
    declared = (field.name for field in fields if field.metadata.get("key"))
    return next(declared, "id" if any(field.name == "id" for field in fields) else None)


@attrs.frozen
class Split:
    """A filter of more ids than a request takes: asked for in parts, one after another, as one collection.

    The token of a page is that of the service behind the number of the part: `2~` begins the third part.
    """

    parameter: str
    parts: tuple[tuple[Any, ...], ...]

    def ask(self, query: Mapping[str, Any], token: str | None) -> tuple[dict[str, Any], str | None]:
        """The query and the service's token for a page. Raises InvalidInput for a token of another collection."""
        number, _, cursor = (token or "0~").partition("~")
        if not (number.isascii() and number.isdecimal() and int(number) < len(self.parts)):
            raise InvalidInput("start is a position in another collection")
        return {**query, self.parameter: self.parts[int(number)]}, cursor or None

    def answer(self, page: Page[T], token: str | None) -> Page[T]:
        """The page with the token that leads to the next one, in this part or the next."""
        number = int((token or "0~").partition("~")[0])
        if page.next_token is not None:
            return attrs.evolve(page, next_token=f"{number}~{page.next_token}")
        return attrs.evolve(page, next_token=f"{number + 1}~") if number + 1 < len(self.parts) else page


def split_of(declared: Any, query: Mapping[str, Any]) -> Split | None:
    """How a query is to be split, by the declared number of ids of its filters; None where it need not be.

    Raises InvalidInput for what is no id, and where several filters are too long, an order or a total count is asked
    for or a cursor is given: none of these can be put together.
    """
    too_long = {
        name: filtered
        for name, filtered in _id_filters(declared).items()
        if isinstance(query.get(name), tuple | list) and len(query[name]) > filtered.size
    }
    if not too_long:
        return None
    refuse([rule for name, each in too_long.items() for rule in each.broken(name, query[name])])
    (name, filtered), *others = too_long.items()
    size = filtered.size
    other = next((each for each in (*dict(others), *_NOT_IN_PARTS) if query.get(each)), None)
    if other is not None:
        raise InvalidInput(f"{name} has more than {size} ids, which does not go with {other}: ask in several calls")
    ids = tuple(dict.fromkeys(query[name]))
    return Split(name, tuple(ids[start : start + size] for start in range(0, len(ids), size)))


_NOT_IN_PARTS: Final = ("with_total_count", "cursor", "sort_by")


@attrs.frozen
class _Filter:
    """A parameter that is a list of ids: how many it may have, and what each of them is."""

    size: int
    kind: Any

    def broken(self, name: str, ids: Sequence[Any]) -> Sequence[BrokenRule]:
        """The rules that single ids break, of however many there are."""
        return broken_rules(self.kind, ids, now=_WHENEVER, path=name)


@functools.cache
def _id_filters(declared: Any) -> Mapping[str, _Filter]:
    """The parameters that are lists with a number of items that they may have."""
    if typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[0]
    hints = typing.get_type_hints(declared, include_extras=True) if declared is not None else {}
    found = {}
    for name, kind in hints.items():
        for rule in getattr(kind, "__metadata__", ()):
            if isinstance(rule, MaxLen) and typing.get_origin(kind.__origin__) is tuple:
                found[name] = _Filter(rule.max_length, kind.__origin__)
    return found
