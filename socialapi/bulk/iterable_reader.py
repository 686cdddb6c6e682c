"""Reading records that the program makes itself: iterables and asynchronous iterables."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Sized
from typing import Any, Protocol, TypeVar

from socialapi.bulk.reader_base import Reader
from socialapi.bulk.rows import ROWS_PER_CHUNK

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class ItemRows(Protocol[R_co]):
    """What makes rows of the items of an iterable."""

    def rows(self, item: Any, *, number: int, position: int) -> Iterator[R_co]:
        """The rows of the item at this position, numbered from `number`. Raises InvalidInput for what is no item."""

    def check(self) -> None:
        """Raises InvalidInput when the items so far show that the input as a whole cannot be used."""


class _ItemReader(Reader[R]):
    """Gathers the rows of single items into chunks.

    The state is kept here rather than in a generator, so that a step that is cancelled loses nothing.
    """

    def __init__(self, records: object, rows: ItemRows[R]) -> None:
        self._size = len(records) if isinstance(records, Sized) else None
        self._records = rows
        self._items_read = 0
        self._rows_read = 0
        self._rows_of_item: Iterator[R] = iter(())
        self._chunk: list[R] = []
        self._error: Exception | None = None

    @property
    def fraction_read(self) -> float | None:
        """The share of the items that is read, of a collection that knows its length."""
        return min(1.0, self._items_read / self._size) if self._size else None

    def _take(self, item: Any) -> None:
        self._items_read += 1
        self._rows_of_item = self._records.rows(item, number=self._rows_read + 1, position=self._items_read)

    def _fill(self) -> bool:
        """Moves rows of the present item to the chunk; says whether it is full."""
        for row in self._rows_of_item:
            self._rows_read += 1
            self._chunk.append(row)
            if len(self._chunk) == ROWS_PER_CHUNK:
                return True
        return False

    def _hand_out(self) -> list[R]:
        """The rows gathered; without any, the error that ended the input."""
        self._records.check()
        if not self._chunk and self._error is not None:
            raise self._error
        chunk, self._chunk = self._chunk, []
        return chunk


class IterableReader(_ItemReader[R]):
    """Reads an iterable, on the event loop: a chunk at a time, with a breath in between."""

    def __init__(self, records: Iterable[Any], rows: ItemRows[R]) -> None:
        super().__init__(records, rows)
        self._items = iter(records)

    async def read_chunk(self) -> list[R]:
        """The rows of the next items."""
        await asyncio.sleep(0)  # a plain iterable never waits, and requests under way need a turn
        try:
            while self._error is None and not self._fill():
                self._take(next(self._items))
        except StopIteration:
            pass
        except Exception as error:  # noqa: BLE001 - whatever an iterable raises is raised again, after the rows before it
            self._error = error
        return self._hand_out()

    async def aclose(self) -> None:
        """Ends a generator, so that what it holds is let go of now."""
        if isinstance(self._items, Generator):
            self._items.close()


class AsyncIterableReader(_ItemReader[R]):
    """Reads an asynchronous iterable."""

    def __init__(self, records: AsyncIterable[Any], rows: ItemRows[R]) -> None:
        super().__init__(records, rows)
        self._items: AsyncIterator[Any] = aiter(records)

    async def read_chunk(self) -> list[R]:
        """The rows of the next items; waits until there is a whole chunk of them, or no more."""
        try:
            while self._error is None and not self._fill():
                self._take(await anext(self._items))
        except StopAsyncIteration:
            pass
        except Exception as error:  # noqa: BLE001 - as for plain iterables
            self._error = error
        return self._hand_out()

    async def aclose(self) -> None:
        """Ends an asynchronous generator, so that what it holds is let go of now."""
        if isinstance(self._items, AsyncGenerator):
            await self._items.aclose()
