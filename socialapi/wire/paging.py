"""Pages: reading one, and which one comes next. Pure; the walking is done by the session's pager."""

import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

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
    meta = body.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    return Page(
        data=_read("data", body.get("data") or [], items),
        includes=_read("includes", body.get("includes") or {}, Includes),
        meta=meta,
        errors=tuple(read_partial_error(each) for each in body.get("errors") or () if isinstance(each, Mapping)),
        next_token=_token(meta.get("next_token", body.get("next_cursor"))),
        previous_token=_token(meta.get("previous_token")),
        result_count=_count(meta.get("result_count")),
        total_count=_count(body.get("total_count")),
    )


def _read(name: str, data: Any, declared: Any) -> Any:
    try:
        return structure(data, declared)
    except DecodeError as problem:
        raise DecodeError(join_path(name, problem.path), problem.reason) from None


def _token(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def page_query(family: Family, query: Mapping[str, Any], token: str | None) -> dict[str, Any]:
    """The query for a page: the first one as asked, later ones with the token in place of what it cannot go with."""
    if token is None:
        return dict(query)
    # A total count cannot be combined with a cursor (advertising section 4.1).
    return {k: v for k, v in query.items() if k != "with_total_count"} | {family.page_token_parameter: token}


def position_text(token: str | None, taken: int) -> str:
    """A place between two items of a collection, to be stored: the page, and how many of its items are behind."""
    return f"{taken}:{token or ''}"


def read_position(position: str) -> tuple[str | None, int]:
    """The page token and the number of items of `position_text`. Raises ValueError for anything else."""
    taken, colon, token = position.partition(":")
    if not colon or not taken.isdecimal():
        raise ValueError(position)
    return token or None, int(taken)
