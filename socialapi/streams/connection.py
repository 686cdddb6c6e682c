"""One connection of a stream: lines, when they came, and a watch over silence and over a consumer who is too slow."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

import attrs

from socialapi.session.clock import Clock
from socialapi.session.transport import LIVE_BUFFER_BYTES, LiveReply
from socialapi.streams.backoff import Disconnect
from socialapi.streams.status import SlowReading
from socialapi.wire.ndjson import LineFramer

FULL_READ_BYTES: Final = 2 * LIVE_BUFFER_BYTES
"""What aiohttp buffers before it stops reading: a read that brings as much shows that there was more than we took."""
LOOK_SECONDS: Final = 0.5
"""How often the watch looks whether the consumer has come back, and whether everything that was sent is here."""

logger: Final = logging.getLogger("socialapi")


@attrs.frozen(kw_only=True)
class Patience:
    """After how much silence a connection is given up, and how slowly it may be read before there is a warning."""

    stall_seconds: float
    slow_seconds: float


class Connection:
    """A live answer read line by line. `start` begins the watch, `close` ends it with the connection.

    `caught_up_at` is the wall time at which everything that had been sent was here, as far as can be known. Who takes
    the lines one by one says so with `is_in_use`, with `brought_data` that one of them was data, and with `farewell`
    that the service has said why it is going to end the connection. `over` says that nothing more is to be read, and
    why.
    """

    def __init__(
        self,
        reply: LiveReply,
        framer: LineFramer,
        clock: Clock,
        patience: Patience,
        on_slow: Callable[[SlowReading], None],
    ) -> None:
        self._reply = reply
        self._framer = framer
        self._clock = clock
        self._patience = patience
        self._on_slow = on_slow
        self._opened = clock.monotonic()
        self._closed: float | None = None
        self._is_reading = False
        self._silent_since: float | None = None
        self._idle_since = self._opened
        self._full_since: float | None = None
        self._is_warned = False
        self.watcher: asyncio.Task[None] | None = None
        self._empty_at: float | None = None
        self.opened_at: float = clock.time()
        self.caught_up_at: float = self.opened_at
        self.disconnect_notice: Disconnect | None = None
        self.over: Disconnect | None = None
        self.received_bytes: int = 0
        self.brought_data = False
        self.is_in_use: bool = False
        self.is_stalled: bool = False

    @property
    def rest(self) -> bytes:
        """What came behind the last newline."""
        return self._framer.rest

    @property
    def lived_seconds(self) -> float:
        """How long it has been open, or was."""
        return (self._clock.monotonic() if self._closed is None else self._closed) - self._opened

    def start(self, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        """Begins the watch, as a task that `spawn` makes."""
        self.watcher = spawn(self._watch())

    def close(self) -> None:
        """Closes the connection and ends the watch. Idempotent."""
        if self._closed is None:
            self._closed = self._clock.monotonic()
        self._reply.close()
        if self.watcher is not None:
            self.watcher.cancel()

    async def read(self) -> list[bytes] | None:
        """The lines that are complete by the next bytes, which may be none; None at the end.

        Raises OutcomeUnknown when the connection broke, DecodeError for a line that is too long, once the lines before
        it were returned.
        """
        self._framer.check()
        if self._framer.has_more:
            self._idle_since = self._clock.monotonic()
            return self._framer.feed(b"")
        chunk = self._reply.read_nowait() or await self._wait_for_bytes()
        self._idle_since = self._clock.monotonic()
        if not chunk:
            return None
        self._silent_since = None
        if self._empty_at is not None:
            self.caught_up_at, self._empty_at = self._empty_at, None
        self._note_fullness(self._reply.arrived_bytes - self.received_bytes)
        self.received_bytes += len(chunk)
        return self._framer.feed(chunk)

    async def _wait_for_bytes(self) -> bytes:
        if self._silent_since is None:
            # Not anew with every read: somebody who waits only briefly, again and again, would never notice silence.
            self._silent_since = self._clock.monotonic()
        self._is_reading = True
        try:
            return await self._reply.read()
        finally:
            self._is_reading = False
            self._idle_since = self._clock.monotonic()

    def _note_fullness(self, waiting_bytes: int) -> None:
        """Notes whether so much had arrived and not been read that the connection was held up."""
        if waiting_bytes < FULL_READ_BYTES:
            self._full_since = None
            self._is_warned = False
            return
        now = self._clock.monotonic()
        if self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= self._patience.slow_seconds:
            self._warn(now - self._full_since, consumer=False)

    def _warn(self, seconds: float, *, consumer: bool) -> None:
        """Once, until the reading has caught up."""
        if not self._is_warned:
            self._is_warned = True
            self._on_slow(SlowReading(seconds=seconds, waiting_for="consumer" if consumer else "throughput"))

    async def _watch(self) -> None:
        """Nobody would notice silence any more if this ended by itself, so the connection ends with it."""
        try:
            while (left := await self._look()) is not None:
                await self._clock.sleep(min(left, LOOK_SECONDS))
        except Exception:
            logger.exception("the watch over a connection failed, which is closed")
            self._reply.close()

    async def _look(self) -> float | None:
        """How long there is nothing to notice; None once a silent connection was closed."""
        now = self._clock.monotonic()
        if self._reply.arrived_bytes != self.received_bytes:
            self._silent_since = None  # though nobody has come to read it yet
        if self._silent_since is not None:
            left = self._silent_since + self._patience.stall_seconds - now
            if left <= 0:
                self.is_stalled = True
                self._reply.close()
                return None
            await self._note_if_empty()
            return left
        if self._is_reading:
            return LOOK_SECONDS
        left = self._idle_since + self._patience.slow_seconds - now
        if left <= 0:
            # Lines that were read together are also handed out while nothing is read.
            self._warn(now - self._idle_since, consumer=not self.is_in_use)
            left = LOOK_SECONDS
        self.is_in_use = False
        return left

    async def _note_if_empty(self) -> None:
        """Notes a moment at which nothing was there to read, which is known once the loop has asked the sockets.

        That proves nothing by itself: a dead connection is silent too. But when something arrives later, everything
        that was sent before that moment has arrived, but for what takes longer than other things on its way. The moment
        of the arrival itself would be too late: it may be noticed a while after the service has sent its last byte, and
        gone on publishing.
        """
        at, since = self._clock.time(), self._silent_since
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        is_empty = self._reply.arrived_bytes == self.received_bytes and not self._framer.rest
        if self._silent_since == since and is_empty:
            self._empty_at = at
