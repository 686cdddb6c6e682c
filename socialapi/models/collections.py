"""What reads of advertising collections have in common (advertising documentation, sections 4.1 and 4.11)."""

import datetime
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from annotated_types import Ge, Le, MaxLen, MinLen

from socialapi.models.rules import AnyId, Conditions, IsId, ListOf, Pattern, WholeText
from socialapi.problems import BrokenRule

MAX_IDS: Final = 200
"""How many ids a filter takes (section 8)."""

Count = Annotated[int, Ge(1), Le(1_000)]
SortBy = Annotated[str, Pattern(r"[a-z_]+-(asc|desc)", "must be an attribute with -asc or -desc, as created_at-desc")]
if TYPE_CHECKING:
    Id = AnyId
else:
    Id = Annotated[
        str, IsId(), Pattern(r"[^,\s]+", "must be an id: not empty, and without the commas that separate them")
    ]
Ids = Annotated[ListOf[Id], MinLen(1), MaxLen(MAX_IDS)]
Element = Annotated[str, Pattern(r"[^,\s]+", "must not be empty, and have neither blanks nor commas")]
"""Of a list whose elements are no ids: they stand side by side with commas between them."""
MAX_LONG: Final = 2**63 - 1
Long = Annotated[str, WholeText(MAX_LONG)] | Annotated[int, Ge(0), Le(MAX_LONG)]


class CursorQuery(TypedDict, total=False):
    """The place in a collection."""

    cursor: str
    """`next_cursor` of the page before; a Pager sends it by itself."""


class CountQuery(CursorQuery, total=False):
    """A page of a collection."""

    count: Count
    """Records of a page: 1 to 1,000, by default 200."""


class CollectionQuery(CountQuery, total=False):
    """A page of a collection, with what most of them take."""

    sort_by: SortBy
    """An attribute with its direction: `created_at-asc`, `created_at-desc`."""
    with_deleted: bool
    """Includes deleted records."""
    with_total_count: bool
    """Has the first page say how many there are in all; such reads are limited to 200 a quarter of an hour."""


class RecordQuery(TypedDict, total=False):
    """One record."""

    with_deleted: bool
    """Finds it also when it is deleted."""


def total_or_cursor(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    """A total count cannot go with a cursor (section 4.1)."""
    if data.get("with_total_count") and "cursor" in data:
        yield BrokenRule(path="with_total_count", reason="cannot go with cursor", code="EXCLUSIVE_PARAMETERS")


TOTAL_OR_CURSOR: Final = Conditions(total_or_cursor)
"""Stands beside every query that has both."""
