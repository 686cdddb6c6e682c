"""Reading in a thread, one chunk at a time."""

import abc
import asyncio
import contextlib
import threading
from collections.abc import Generator
from concurrent.futures import Future
from typing import Final, TypeVar

from socialapi.bulk.reading.reader_base import Chunk, NoRows, Reader
from socialapi.errors import InvalidInput

R = TypeVar("R")

THREAD_NAME: Final = "socialapi-reader"


class ThreadedReader(Reader[R]):
    """Opening, reading and parsing happen in a thread, for one chunk at a time.

    The thread is one that nobody waits for: a pipe, a network drive or a database may never answer, and then neither
    closing the reader nor the end of the program may hang on it.
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
            self.why_empty = empty.message
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
