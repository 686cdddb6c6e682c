"""Pages: reading one, and which one comes next. Pure; the walking is done by the session's pager."""

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import attrs

from socialapi.errors import DecodeError
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
    )


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
