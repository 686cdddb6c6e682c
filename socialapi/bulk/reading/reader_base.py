"""What every reader of a bulk input is: an asynchronous iterator of chunks of rows."""

import abc
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

from socialapi.bulk.rows import ROWS_PER_CHUNK, RawRow, RawTable
from socialapi.errors import InvalidInput

R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")

ROWS_PER_STEP: Final = 250
"""Rows judged at a time: the slowest ones, with odd phone numbers, take 40 microseconds each."""


class Chunk(Protocol[R_co]):
    """Some rows that were read together: a list of them, or something that can make them."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[R_co]: ...


class NoRows(InvalidInput):
    """There is nothing in an input, or nothing below its column names: a reader ends with it, and notes why."""


class Reader(abc.ABC, Generic[R_co]):
    """The rows of an input in chunks of at most `ROWS_PER_CHUNK`, each read when it is asked for.

    When the input breaks, the rows before the fault are handed out first; the next step raises the error.
    """

    paths: Sequence[str] = ()
    """The files of an input of several files."""
    why_empty: str | None = None
    """Of an input without rows that has ended, why there are none, as far as there is more to say."""

    @property
    @abc.abstractmethod
    def fraction_read(self) -> float | None:
        """How much of the input is read, from 0 to 1; None when its size is not known."""

    @abc.abstractmethod
    async def read_chunk(self) -> Chunk[R_co]:
        """The next rows; none at the end.

        Raises InvalidInput when the input cannot be used, and what an iterable itself raises.
        """

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Lets go of the input. May be called at any time and more than once."""

    def leave_out(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """Takes these files, which the job itself writes, out of what patterns match; those that are named stay."""

    def place_of(self, number: int) -> tuple[str, int] | None:
        """Of an input of several files, the one that has the row of this number, and the row's number there."""
        return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk[R_co]:
        if chunk := await self.read_chunk():
            return chunk
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def in_chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in lists of at most `ROWS_PER_CHUNK`; when they break, those before the fault come before its error."""
    iterator = iter(items)
    error: Exception | None = None
    while error is None:
        chunk: list[T] = []
        try:
            chunk.extend(islice(iterator, ROWS_PER_CHUNK))
        except Exception as fault:  # noqa: BLE001 - raised again below
            error = fault
        if not chunk and error is None:
            return
        if chunk:
            yield chunk
    raise error


def in_steps(chunk: Chunk[RawRow]) -> Iterator[Chunk[RawRow]]:
    """The rows, so many at a time that none of the steps takes long."""
    rows = chunk if isinstance(chunk, RawTable) else list(chunk)
    for start in range(0, len(chunk), ROWS_PER_STEP):
        stop = start + ROWS_PER_STEP
        yield rows.part(start, stop) if isinstance(rows, RawTable) else rows[start:stop]
