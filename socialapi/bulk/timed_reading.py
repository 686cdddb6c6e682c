"""Reads the blocks of an input, and limits how long a row waits for later rows."""

import asyncio
from collections.abc import Sized
from typing import Any, Generic, TypeVar

from socialapi.bulk.dispatcher import Dispatcher
from socialapi.bulk.inputs.reader import Reader
from socialapi.session.clock import Clock

C = TypeVar("C", bound=Sized)


class TimedReading(Generic[C]):
    """Reads the blocks of a job. `is_due` is true if the rows read so far must be sent now.

    A row waits in the reader until its block is complete, and then in the open batch of the stage. Once the first row
    has waited for `seconds` and another request may start, the reader returns the rows that it has collected. Until
    then, more rows can join.
    """

    def __init__(self, reader: Reader[C], dispatcher: Dispatcher[Any], clock: Clock, seconds: float) -> None:
        self._reader = reader
        self._dispatcher = dispatcher
        self._clock = clock
        self._seconds = seconds
        self._is_reading = False
        self._may_fall_due = asyncio.Event()
        """Set while the job waits for a block and some rows are waiting to be sent."""
        self._watching: asyncio.Task[None] | None = None
        self._in_reader: float | None = None
        """The time when the first row that waits in the reader arrived."""
        self._in_block: float | None = None
        self._in_batch: float | None = None
        """The time when the first row of the open batch arrived, or an earlier time."""
        self._fell_due = False
        self.is_due: bool = False
        reader.on_first_row = self._note_first_row

    async def read_block(self) -> C | None:
        """Returns the next block; None at the end, or if waiting rows are due and no new row has arrived."""
        self._watching = self._watching or asyncio.create_task(self._watch(), name="socialapi flush")
        self._is_reading, is_rest = True, self._reader.has_block
        if self._first is not None:
            self._may_fall_due.set()
        try:
            block = await self._reader.read_block()
        finally:
            self._is_reading = False
            self._may_fall_due.clear()
        if not is_rest:
            self._in_block, self._in_reader = self._in_reader, None
        self.is_due = self._fell_due and not self._reader.has_block
        self._fell_due = self._fell_due and not self.is_due
        return block

    def took(self, first_number: int, first_waiting: int | None) -> None:
        """Records the first row of a block that the stage took, and the first row of its open batch, or None."""
        if first_waiting is None:
            self._in_batch = None
        elif first_waiting >= first_number:
            self._in_batch = self._in_block

    async def aclose(self) -> None:
        """Closes the reader."""
        try:
            if self._watching is not None:
                self._watching.cancel()
                await asyncio.gather(self._watching, return_exceptions=True)
        finally:
            await self._reader.aclose()

    @property
    def _first(self) -> float | None:
        return min((each for each in (self._in_batch, self._in_reader) if each is not None), default=None)

    def _note_first_row(self) -> None:
        self._in_reader = self._clock.monotonic()
        if self._is_reading:
            self._may_fall_due.set()

    async def _watch(self) -> None:
        while True:
            await self._may_fall_due.wait()
            first = self._first
            if first is None or not self._may_fall_due.is_set():
                continue  # the block arrived before this task ran
            left = first + self._seconds - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(left)
            elif not self._dispatcher.has_room:
                await self._dispatcher.until_room()
            else:
                self._fell_due = True
                self._may_fall_due.clear()
                self._reader.end_block()
