"""Reading records that the program makes itself: iterables and asynchronous iterables."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Sequence, Sized
from typing import Any, Protocol, TypeVar

from socialapi.bulk.reading.reader_base import Chunk, Reader
from socialapi.bulk.rows import ROWS_PER_CHUNK

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ItemRows(Protocol[R_co]):
    """What makes rows of the items of an iterable."""

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
    """Gathers items until they make a chunk of rows.

    The state is kept here rather than in a generator, so that a step that is cancelled loses nothing.
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
    """Reads an iterable, on the event loop: a chunk at a time."""

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
