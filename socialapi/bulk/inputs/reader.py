"""The interface of readers: asynchronous iterators over chunks of rows."""

import abc
import asyncio
import contextlib
import os
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
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
    """Rows that were read together: a list, or an object that can make them."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[R_co]: ...


class NoRows(InvalidInput):
    """The input has no rows. A reader raises it at the end, and notes why."""


class Reader(abc.ABC, Generic[R_co]):
    """The rows of an input in chunks of at most `ROWS_PER_CHUNK`, each read on demand.

    If reading fails, the rows before the fault are returned first; the next step raises the error.
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


R = TypeVar("R")

THREAD_NAME: Final = "socialapi-reader"


class ThreadedReader(Reader[R]):
    """Opens, reads and parses in a thread, one chunk at a time.

    Nothing waits for the thread: a pipe, a network drive or a database may never answer, and then
    neither closing the reader nor the exit of the program may hang.
    """

    def __init__(self) -> None:
        self._chunks = self._read()
        self._step: Future[Chunk[R]] | None = None
        self._lock = threading.Lock()  # held for moments only, never while the input is read
        self._at_work = False
        self._closed = False
        self._finished = False

    @abc.abstractmethod
    def _read(self) -> Generator[Chunk[R], None, None]:
        """The rows, read as they are asked for; closing it lets go of the input."""

    @abc.abstractmethod
    def _fraction(self) -> float | None:
        """How much is read before the end is seen."""

    @property
    def fraction_read(self) -> float | None:
        """The share of the input that is read; None when its size is not known, as of a pipe."""
        return 1.0 if self._finished else self._fraction()

    async def read_chunk(self) -> Chunk[R]:
        """The next rows of the input. After a step that was cancelled, those that it was to return."""
        if self._step is None:
            self._step = self._begin()
        step = asyncio.wrap_future(self._step)
        try:
            return await step
        finally:
            if not step.cancelled():
                self._step = None

    async def aclose(self) -> None:
        """Lets go of the input; if it is being read, as soon as the system returns from that, without waiting for it."""
        with self._lock:
            self._closed = True
            if not self._at_work:
                self._chunks.close()

    def _begin(self) -> "Future[Chunk[R]]":
        step: Future[Chunk[R]] = Future()
        step.set_running_or_notify_cancel()
        with self._lock:
            self._at_work = True
        threading.Thread(target=self._work, args=(step,), name=THREAD_NAME, daemon=True).start()
        return step

    def _work(self, step: "Future[Chunk[R]]") -> None:
        chunk: Chunk[R] | None = None
        fault: Exception | None = None
        try:
            chunk = next(self._chunks, None)
        except NoRows as empty:
            self.why_empty: str | None = empty.message
        except Exception as error:  # noqa: BLE001 - handed over to whoever waits for the step
            fault = error
        except BaseException as error:  # noqa: BLE001 - libraries that are not written in Python have some of their own
            fault = InvalidInput(f"reading broke off: {type(error).__name__}")
        try:
            self._end_step(is_last=chunk is None)
        finally:
            if fault is not None:
                step.set_exception(fault)
            else:
                step.set_result(chunk if chunk is not None else [])

    def _end_step(self, *, is_last: bool) -> None:
        with self._lock:
            self._at_work = False
            self._finished = self._finished or is_last
            if self._closed:
                with contextlib.suppress(Exception):  # whoever would hear of it has left
                    self._chunks.close()
