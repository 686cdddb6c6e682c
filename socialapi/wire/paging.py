"""Pages: reading one, and which one comes next. Pure; the walking is done by the session's pager."""

import functools
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import attrs
from annotated_types import MaxLen

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.pages import Includes, Page
from socialapi.routes.route import Family
from socialapi.wire.converter import join_path, structure
from socialapi.wire.problems import read_partial_error

T = TypeVar("T")


def is_paged(result: Any) -> bool:
    """Whether a route's result is `Page[T]`."""
    return typing.get_origin(result) is Page


def read_page(result: Any, body: Mapping[str, Any]) -> Page[Any]:
    """The page that an envelope holds. Raises DecodeError with the path of the field that cannot be read."""
    items: Any = types.GenericAlias(tuple, (typing.get_args(result)[0], ...))
    if not {"data", "meta", "errors"} & body.keys():
        # Not the end of a collection, but something that is no page at all.
        raise DecodeError("data", "is missing, and so are meta and errors")
    meta = body.get("meta") or {}
    if not isinstance(meta, Mapping):
        raise DecodeError("meta", "expected an object")
    return Page(
        data=_read("data", _or(body.get("data"), []), items),
        includes=_read("includes", _or(body.get("includes"), {}), Includes),
        meta=meta,
        errors=tuple(read_partial_error(each) for each in body.get("errors") or () if isinstance(each, Mapping)),
        next_token=_token("meta.next_token", meta.get("next_token", body.get("next_cursor"))),
        previous_token=_token("meta.previous_token", meta.get("previous_token")),
        result_count=_count(meta.get("result_count")),
        total_count=_count(body.get("total_count")),
        params=_echo(body.get("request")),
    )


def _echo(request: Any) -> Mapping[str, Any]:
    params = request.get("params") if isinstance(request, Mapping) else None
    return params if isinstance(params, Mapping) else {}


def _read(name: str, data: Any, declared: Any) -> Any:
    try:
        return structure(data, declared)
    except DecodeError as problem:
        raise DecodeError(join_path(name, problem.path), problem.reason) from None


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _token(path: str, value: Any) -> str | None:
    """A token that is no text would end the walk as if there were no more pages."""
    if value is not None and not isinstance(value, str):
        raise DecodeError(path, "expected a string")
    return value or None


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
    """A place between two items of a collection: behind `taken` items of a page, the last of which has the id `after`.

    The id matters on the first page, which grows at its head while nobody looks; the number stands in for it where it
    is gone, or where items have none.
    """

    token: str | None = None
    taken: int = 0
    after: str | None = None

    @classmethod
    def behind(cls, token: str | None, page: Page[Any], index: int) -> "Position":
        """The place behind the item with this index on the page of the token."""
        if index + 1 >= len(page.data) and page.next_token is not None:
            return cls(page.next_token)
        return cls(token, index + 1, _id_of(page.data[index]) if 0 <= index < len(page.data) else None)

    @classmethod
    def read(cls, text: str) -> "Position":
        """The place that a text names. Raises ValueError for a text that is none."""
        before, colon, token = text.partition(":")
        taken, _, after = before.partition("@")
        if not colon or not (taken.isascii() and taken.isdecimal()):
            raise ValueError(text)
        return cls(token or None, int(taken), unquote(after) or None)

    def __str__(self) -> str:
        after = f"@{quote(self.after, safe='')}" if self.after else ""
        return f"{self.taken}{after}:{self.token or ''}"

    def skip(self, data: Sequence[Any]) -> tuple[int, "Position"]:
        """How many of the first items of a page are behind this place, and what is left of it for the next page."""
        if self.after is not None:
            for index, item in enumerate(data):
                if _id_of(item) == self.after:
                    return index + 1, Position()
        number = min(self.taken, len(data))
        rest = self.taken - number
        return number, Position(None, rest, self.after if rest else None)


def _id_of(item: Any) -> str | None:
    found = getattr(item, "id", None) or getattr(item, "media_key", None)
    return found if isinstance(found, str) else None


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

    Raises InvalidInput where several filters are too long, a total count is asked for or a cursor is given: none of
    these can be put together.
    """
    too_long = {
        name: size
        for name, size in _id_filters(declared).items()
        if isinstance(query.get(name), tuple | list) and len(query[name]) > size
    }
    if not too_long:
        return None
    (name, size), *others = too_long.items()
    other = next((each for each in (*dict(others), "with_total_count", "cursor") if query.get(each)), None)
    if other is not None:
        raise InvalidInput(f"{name} has more than {size} ids, which does not go with {other}: ask in several calls")
    ids = tuple(dict.fromkeys(query[name]))
    return Split(name, tuple(ids[start : start + size] for start in range(0, len(ids), size)))


@functools.cache
def _id_filters(declared: Any) -> Mapping[str, int]:
    """The parameters that are lists, with the number of items that they may have."""
    if typing.get_origin(declared) is typing.Annotated:
        declared = typing.get_args(declared)[0]
    hints = typing.get_type_hints(declared, include_extras=True) if declared is not None else {}
    found = {}
    for name, kind in hints.items():
        for rule in getattr(kind, "__metadata__", ()):
            if isinstance(rule, MaxLen) and typing.get_origin(kind.__origin__) is tuple:
                found[name] = rule.max_length
    return found
