"""Pages of collections."""

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, overload

import attrs

from socialapi.errors import InvalidInput
from socialapi.internal.records import Record
from socialapi.models.model import html_table
from socialapi.models.undecoded import Undecoded
from socialapi.problems import Problem, ServiceError

if TYPE_CHECKING:
    from socialapi.models.includes import Includes

T = TypeVar("T")
Item = TypeVar("Item")


@functools.cache
def includes_class() -> "type[Includes]":
    """Returns the class of related objects. Cached, because every page calls this."""
    from socialapi.models.includes import Includes

    return Includes


def no_includes() -> "Includes":
    """Returns an empty set of related objects."""
    return includes_class()()


class Origin(Protocol):
    """The position of a page in its collection."""

    def position_behind(self, page: "Page[Any]", index: int) -> str:
        """Returns the position after an item of the page."""


@attrs.define(kw_only=True)
class Page(Record, Generic[T]):
    """One page of a collection, a sequence of the items in `data`: it supports `len()`, indexing and iteration. It is
    truthy even if it is empty.

    `errors` contains the partial errors of a successful response. `next_token` is None on the last page. `undecoded`
    contains the undecodable items and included objects, which are missing from `data` and `includes`. In the
    advertising API, `params` echoes the request and `total_count` is set on request. `extra` contains the fields of the
    response that this version does not know.
    """

    __signature__: ClassVar[None] = None  # callers get these objects
    data: tuple[T, ...] = ()
    includes: "Includes" = attrs.field(factory=no_includes)
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    errors: tuple[Problem | ServiceError, ...] = ()
    undecoded: tuple[Undecoded, ...] = ()
    next_token: str | None = None
    previous_token: str | None = None
    result_count: int | None = None
    total_count: int | None = None
    params: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    extra: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    item_type: Any = attrs.field(default=None, eq=False, repr=False)
    """The class of the items; None for a page created in code."""
    _places: tuple[int, ...] | None = attrs.field(default=None, eq=False, repr=False)
    """The index of each item of `data` in the response, followed by the number of items in it; None if all were
    decoded.
    """
    _origin: Origin | None = attrs.field(default=None, eq=False, repr=False)
    """None for a page created in code."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __bool__(self) -> bool:
        """Returns True, because a response without items is still a response."""
        return True

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.data[index]

    def position_at(self, index: int) -> str:
        """Returns the position after the item with this index, 0 for the first one.

        Pass it as `start=` to the same method to continue with the next item. Raises InvalidInput
        for an index that the page does not have, and for a page that no pager has returned.
        """
        if self._origin is None:
            raise InvalidInput("only pages returned by pages(), with_pages() or first() have positions")
        if type(index) is not int or not 0 <= index < len(self.data):
            raise InvalidInput(
                f"index must be a whole number from 0 to {len(self.data) - 1}: this page has {len(self.data)} items"
            )
        return self._origin.position_behind(self, index)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], item_type: type[Item] | None = None) -> "Page[Item]":
        """Returns the page for the result of `to_dict`, or for a response, with items of this type.

            page = Page.from_dict(json.loads(text), Post)

        Without a type, the items stay dicts. An unreadable item is in `undecoded`, as for a response. Raises
        InvalidInput, which names the field but not its value, if the data is not a page.
        """
        from socialapi.wire import export

        return export.page_from_dict(data, Any if item_type is None else item_type)

    def to_arrow(self) -> Any:
        """Returns a `pyarrow.Table` with a row for each item of `data`: the class's fields by their JSON names, and
        `extra` as a JSON string. Its schema is the same for every page of a collection. The table omits expanded
        objects: join them from `includes` by their ids.

        Raises InvalidInput for an integer of more than 64 bits, for an empty page without an item type, and if pyarrow
        is not installed (the extra `[arrow]`).
        """
        from socialapi.integrations import arrow

        if self.item_type is None and not self.data:
            raise InvalidInput("the item type of an empty page is unknown: pass it, as in Page(item_type=Post)")
        kind = type(self.data[0]) if self.item_type is None else self.item_type
        return arrow.arrow_table(self.data, kind)

    def to_pandas(self) -> Any:
        """Returns the table of `to_arrow` as a `pandas.DataFrame`. Ids are strings, times are in UTC, and integers and
        booleans are nullable.

        Raises InvalidInput as `to_arrow` does, and if pandas is not installed (the extra
        `[pandas]`).
        """
        from socialapi.integrations import arrow

        return arrow.data_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        table = html_table("Page", self.data, self.item_type, error=len(self.errors), undecoded=len(self.undecoded))
        return table if self.next_token is None else table.replace("</caption>", "; another page follows</caption>", 1)

    @property
    def next_cursor(self) -> str | None:
        """The same as `next_token`, under its name in the advertising API."""
        return self.next_token

    def arrived_before(self, index: int) -> int:
        """Returns how many items arrived before this index of `data`, including undecoded ones.

        For the length of `data`, returns how many arrived in total.
        """
        if self._places is None:
            return min(index, len(self.data))
        if index >= len(self.data):
            return self._places[-1]
        return self._places[index - 1] + 1 if index else 0

    def index_after(self, arrived: int) -> int:
        """Returns the index in `data` of the first item after the given number of arrived items."""
        if self._places is None:
            return min(arrived, len(self.data))
        return sum(place < arrived for place in self._places[:-1])
