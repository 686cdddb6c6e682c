"""Reads rows from iterables of users, operations or mappings."""

import datetime
import functools
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Sized,
)
from typing import Any, ClassVar, Final, Protocol, TypeVar

import attrs

from socialapi.bulk.inputs.columns import Columns, Wanted
from socialapi.bulk.inputs.numbers import NoDigits, digits_of, is_missing
from socialapi.bulk.inputs.reader import Chunk, Reader
from socialapi.bulk.rows import ROWS_PER_CHUNK, RawColumn, RawRow, RawTable
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    AudienceUser,
    DoNotReachOperation,
    DoNotReachUser,
    IdentifierKind,
    Operation,
)
from socialapi.unset import UNSET

NOT_UNDERSTOOD: Final = "?"
"""Stands for an override of a type that has no meaning: no operation type and no time."""

_LAYOUTS_KEPT: Final = 256
_TEXT: Final = frozenset({str, type(None)})

Identifier = tuple[str, IdentifierKind, str]


def is_record(item: Any) -> bool:
    """Whether the item is a record of one of our own classes."""
    return isinstance(item, AudienceUser | DoNotReachUser | Operation | DoNotReachOperation)


def texts_of(value: Any) -> Iterator[tuple[str, str]]:
    """The texts of a value, one or those of an array: a text, or the digits of a whole number, and an empty reason.

    What says nothing is an empty text; of what is no text there is none, and the reason why.
    """
    for each in value if isinstance(value, list | tuple) else (value,):
        if isinstance(each, str):
            yield each, ""
        elif is_missing(each):
            yield "", ""
        else:
            try:
                yield digits_of(each), ""
            except NoDigits as problem:
                yield "", problem.reason


@attrs.define(eq=False)
class RecordRows:
    """Turns records into rows, and remembers the keys of the first objects."""

    wanted: Wanted
    _first_names: dict[str, None] | None = attrs.field(factory=dict, init=False)
    """The keys of the objects before `check` was called."""
    _found_identifiers: bool | None = attrs.field(default=None, init=False)
    """Whether a record so far could hold identifiers; None before the first record."""
    _layout: Callable[[tuple[Any, ...]], tuple[Sequence[str], Columns]] = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        # Objects of an export have a few sets of keys; more of them cost time, not memory.
        self._layout = functools.lru_cache(maxsize=_LAYOUTS_KEPT)(self._new_layout)

    bundles: ClassVar[tuple[type, ...]] = (Operation, DoNotReachOperation)

    def count(self, bundle: Any) -> int:
        """One row for each user of an operation, and one for an operation on nobody."""
        return len(bundle.params.users) or 1

    def table(self, items: Sequence[Any], *, number: int) -> RawTable | None:
        """The rows of users, or of mappings with the same keys, each with at most one text for a kind or key."""
        first = items[0]
        if isinstance(first, AudienceUser | DoNotReachUser):
            columns = _columns_of_users(items)
        elif first.__class__ is dict:
            columns = self._columns_of_mappings(items)
        else:
            return None
        return None if columns is None else RawTable(number, len(items), columns)

    def _columns_of_mappings(self, items: Sequence[Any]) -> tuple[RawColumn, ...] | None:
        keys = tuple(items[0])
        if set(map(type, items)) != {dict} or set(map(tuple, items)) != {keys}:
            return None
        columns = self._layout(keys)[1]
        if columns.has_overrides:
            return None
        found: list[RawColumn] = []
        for _, name, kind in columns.identifiers:
            cells = [item[name] for item in items]
            if not _TEXT.issuperset(map(type, cells)):
                return None
            found.append(RawColumn(name, kind, [cell or "" for cell in cells] if None in cells else cells))
        return tuple(found)

    def rows(self, item: Any, *, number: int, position: int) -> Iterator[RawRow]:
        """The rows of one item of an iterable, one for each user, numbered from `number`.

        Raises InvalidInput, which names the type and `position`, for an item that is no record.
        """
        if not isinstance(item, Operation | DoNotReachOperation):
            yield self._row(item, number, position)
            return
        # An operation on nobody is a row all the same: every item that is read has an outcome.
        for user_number, user in enumerate(item.params.users or (AudienceUser(),), number):
            row = self._row(user, user_number, position)
            row.operation_type = _text(item.operation_type)
            row.effective_at = _time(getattr(item.params, "effective_at", None))
            row.expires_at = _time(item.params.expires_at)
            yield row

    def from_object(self, item: Mapping[str, Any], number: int) -> RawRow:
        """The row of a mapping with column names as keys, whose values are texts, whole numbers or arrays of them.

        A floating-point number is a whole one if it can be nothing else; what says nothing, such as NaN, is no value.
        """
        names, columns = self._layout(tuple(item))
        identifiers: list[Identifier] = []
        unusable: list[tuple[str, str]] = []
        for _, name, kind in columns.identifiers:
            _collect(name, kind, item[name], identifiers, unusable)
        row = RawRow(number, identifiers, unusable=tuple(unusable))
        if columns.has_overrides:
            at = [None if position is None else item[names[position]] for position in columns.overrides]
            row.operation_type = _text(at[0])
            row.effective_at, row.expires_at = _time(at[1]), _time(at[2])
        return row

    def check(self) -> None:
        """To be called after the first chunk: raises InvalidInput when its objects lack what has to be there.

        That is a column given in the mapping, or any column of identifiers.
        """
        if self._first_names is not None and self._found_identifiers is not None:
            self.wanted.require(tuple(self._first_names), found_identifiers=self._found_identifiers)
        self._first_names = None

    def _new_layout(self, keys: tuple[Any, ...]) -> tuple[Sequence[str], Columns]:
        names = tuple(key for key in keys if isinstance(key, str))
        columns = self.wanted.find(names)
        if self._first_names is not None:
            self._first_names.update(dict.fromkeys(names))
            self._found_identifiers = self._found_identifiers or bool(columns.identifiers)
        return names, columns

    def _row(self, user: Any, number: int, position: int) -> RawRow:
        if isinstance(user, Mapping):
            return self.from_object(user, number)
        if not isinstance(user, AudienceUser | DoNotReachUser):
            raise InvalidInput(
                f"item {position} is or holds {_a(type(user).__name__)}, where an AudienceUser, an Operation or a "
                "mapping is expected"
            )
        self._found_identifiers = True
        identifiers: list[Identifier] = []
        unusable: list[tuple[str, str]] = []
        for kind in IDENTIFIER_KINDS:
            if values := getattr(user, kind, ()):
                _collect(kind, kind, values, identifiers, unusable)
        return RawRow(number, identifiers, unusable=tuple(unusable))


def _columns_of_users(users: Sequence[Any]) -> tuple[RawColumn, ...] | None:
    found: list[RawColumn] = []
    if len(set(map(type, users))) > 1:
        return None
    for kind in IDENTIFIER_KINDS:
        values = [getattr(user, kind, ()) for user in users]
        if not any(values):
            continue
        cells = [value[0] if value else "" for value in values]
        if max(map(len, values)) > 1 or not _TEXT.issuperset(map(type, cells)) or None in cells:
            return None
        found.append(RawColumn(kind, kind, cells))
    return tuple(found)


def _a(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _collect(
    name: str, kind: IdentifierKind, value: Any, identifiers: list[Identifier], unusable: list[tuple[str, str]]
) -> None:
    if isinstance(value, str):
        identifiers.append((name, kind, value))
    elif value is not None:
        for text, reason in texts_of(value):
            if reason:
                unusable.append((name, reason))
            else:
                identifiers.append((name, kind, text))


def _time(value: Any) -> str | datetime.datetime | None:
    """The value of a time, None when there is none."""
    # What pandas has for a missing time is a time as well.
    return value if isinstance(value, datetime.datetime) and not is_missing(value) else _text(value)


def _text(value: Any) -> str | None:
    """The text of an override, None when there is none; other types will not be understood as a text either."""
    if isinstance(value, str):
        return value.strip() or None
    return None if value is UNSET or is_missing(value) else NOT_UNDERSTOOD


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ItemRows(Protocol[R_co]):
    """Turns the items of an iterable into rows."""

    @property
    def bundles(self) -> tuple[type, ...]:
        """Types of items that have any number of rows; others have one each."""

    def count(self, bundle: Any) -> int:
        """How many rows a bundle has."""

    def table(self, items: Sequence[Any], *, number: int) -> Chunk[R_co] | None:
        """One row for each of the items, numbered from `number`, if they are alike enough to go together."""

    def rows(self, item: Any, *, number: int, position: int) -> Iterator[R_co]:
        """The rows of the item at this position, numbered from `number`. Raises InvalidInput for what is no item."""

    def check(self) -> None:
        """Raises InvalidInput when the items so far show that the input as a whole cannot be used."""


class _ItemReader(Reader[R]):
    """Collects items until they make a chunk of rows.

    The state is kept in the object rather than in a generator, so that a cancelled step loses
    nothing.
    """

    def __init__(self, records: object, rows: ItemRows[R]) -> None:
        self._size = len(records) if isinstance(records, Sized) else None
        self._records = rows
        self._bundles = rows.bundles
        self._gathered: deque[Any] = deque()
        self._rows_gathered = 0
        self._end: Exception | None = None
        """What came after the gathered items: the end, or an error, which is raised when they are handed out."""
        self._items_read = 0
        self._rows_read = 0
        self._rows_of_item: Iterator[R] = iter(())

    @property
    def fraction_read(self) -> float | None:
        """The share of the items that is read, of a collection that knows its length."""
        return min(1.0, self._items_read / self._size) if self._size else None

    def _hand_out(self) -> Chunk[R]:
        """The next rows of what is gathered; without any, the error that ended the input."""
        chunk = self._table() or self._next_rows()
        self._records.check()
        if not chunk and self._end is not None and not isinstance(self._end, StopIteration | StopAsyncIteration):
            raise self._end
        return chunk

    def _table(self) -> Chunk[R] | None:
        if not self._gathered or len(self._gathered) != self._rows_gathered:
            return None  # nothing, or a bundle, or rows of one that are left
        table = self._records.table(self._gathered, number=self._rows_read + 1)
        if table is not None:
            self._items_read += len(self._gathered)
            self._rows_read += len(table)
            self._let_go()
        return table

    def _next_rows(self) -> list[R]:
        chunk: list[R] = []
        try:
            while len(chunk) < ROWS_PER_CHUNK:
                row = next(self._rows_of_item, None)
                if row is not None:
                    chunk.append(row)
                    self._rows_read += 1
                    self._rows_gathered -= 1
                elif self._gathered:
                    self._items_read += 1
                    self._rows_of_item = self._records.rows(
                        self._gathered.popleft(), number=self._rows_read + 1, position=self._items_read
                    )
                else:
                    break
        except Exception as error:  # noqa: BLE001 - raised again, after the rows before it
            self._end = error
            self._let_go()
        return chunk

    def _let_go(self) -> None:
        self._gathered.clear()
        self._rows_gathered = 0


class IterableReader(_ItemReader[R]):
    """Reads an iterable on the event loop, a chunk at a time."""

    def __init__(self, records: Iterable[Any], rows: ItemRows[R]) -> None:
        super().__init__(records, rows)
        self._items = iter(records)

    async def read_chunk(self) -> Chunk[R]:
        """The rows of the next items."""
        if self._rows_gathered < ROWS_PER_CHUNK and self._end is None:
            self._gather()
        return self._hand_out()

    def _gather(self) -> None:
        gathered, rows, bundles = self._gathered, self._rows_gathered, self._bundles
        try:
            for item in self._items:
                gathered.append(item)
                rows += self._records.count(item) if isinstance(item, bundles) else 1
                if rows >= ROWS_PER_CHUNK:
                    break
            else:
                self._end = StopIteration()
        except Exception as error:  # noqa: BLE001 - whatever an iterable raises is raised again, after the rows before it
            self._end = error
        self._rows_gathered = rows

    async def aclose(self) -> None:
        """Ends a generator, so that what it holds is let go of now."""
        if isinstance(self._items, Generator):
            self._items.close()


class AsyncIterableReader(_ItemReader[R]):
    """Reads an asynchronous iterable."""

    def __init__(self, records: AsyncIterable[Any], rows: ItemRows[R]) -> None:
        super().__init__(records, rows)
        self._items: AsyncIterator[Any] = aiter(records)

    async def read_chunk(self) -> Chunk[R]:
        """The rows of the next items; waits until there is a whole chunk of them, or no more."""
        try:
            while self._rows_gathered < ROWS_PER_CHUNK and self._end is None:
                item = await anext(self._items)
                self._gathered.append(item)
                self._rows_gathered += self._records.count(item) if isinstance(item, self._bundles) else 1
        except Exception as end:  # noqa: BLE001 - as for plain iterables
            self._end = end
        return self._hand_out()

    async def aclose(self) -> None:
        """Ends an asynchronous generator, so that what it holds is let go of now."""
        if isinstance(self._items, AsyncGenerator):
            await self._items.aclose()
