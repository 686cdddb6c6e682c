"""One connection of a stream: reads lines, and detects silence and slow consumers."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

import attrs

from socialapi.session.clock import Clock
from socialapi.session.transport import LIVE_BUFFER_BYTES, LiveReply
from socialapi.streams.backoff import Disconnect
from socialapi.streams.status import SlowReading
from socialapi.wire.ndjson import LineFramer
from socialapi.wire.response import Reply, read_error

FULL_READ_BYTES: Final = 2 * LIVE_BUFFER_BYTES
"""The size of aiohttp's read buffer. A read of this size shows that data was held back."""
CHECK_INTERVAL_SECONDS: Final = 0.5
"""How often the watcher checks the consumer, and whether all data sent has been read."""

logger: Final = logging.getLogger("socialapi")


@attrs.frozen(kw_only=True)
class StreamTimeouts:
    """How long a connection may be silent before it is closed, and how long it may be read slowly before a warning."""

    stall_seconds: float
    slow_seconds: float


class Connection:
    """A live response that is read line by line.

    `start` starts its watcher, and `close` ends both. `caught_up_at` is the latest wall time at which everything sent
    so far was known to have arrived. The consumer sets `is_in_use` when it takes a line, `brought_data` if the line
    contained data, and `disconnect_notice` if the service announced the end of the connection. `over` has the reason
    when there is nothing more to read.
    """

    def __init__(
        self,
        reply: LiveReply,
        framer: LineFramer,
        clock: Clock,
        timeouts: StreamTimeouts,
        on_slow: Callable[[SlowReading], None],
    ) -> None:
        self._reply = reply
        self._framer = framer
        self._clock = clock
        self._timeouts = timeouts
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
        """The bytes after the last newline."""
        return self._framer.rest

    def page(self, lines: Sequence[bytes]) -> str | None:
        """Returns the message of an HTML or XML page that arrived instead of a stream, from its first lines; None for a
        stream.
        """
        text = b"" if self.brought_data else b"\n".join((*lines, self.rest)).lstrip()
        # The content type decides too, because the first line of a stream may also start with "<".
        if text[:1] != b"<" or "html" not in self._reply.headers.get("content-type", ""):
            return None
        return read_error(Reply(self._reply.status, self._reply.headers, text)).summary

    @property
    def lived_seconds(self) -> float:
        """How long the connection has been open, or was open until it was closed."""
        return (self._clock.monotonic() if self._closed is None else self._closed) - self._opened

    def start(self, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        """Starts the watcher, as a task that `spawn` creates."""
        self.watcher = spawn(self._watch())

    def close(self) -> None:
        """Closes the connection and ends the watcher. Safe to call twice."""
        if self._closed is None:
            self._closed = self._clock.monotonic()
        self._reply.close()
        if self.watcher is not None:
            self.watcher.cancel()

    async def read(self) -> list[bytes] | None:
        """Returns the lines completed by the next bytes, perhaps none; None at the end.

        Raises OutcomeUnknown if the connection broke, and DecodeError for a line that is too long,
        after the lines before it were returned.
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
        self._record_full_buffer(self._reply.arrived_bytes - self.received_bytes)
        self.received_bytes = self._reply.read_bytes
        return self._framer.feed(chunk)

    async def _wait_for_bytes(self) -> bytes:
        if self._silent_since is None:
            # Not reset by every read: otherwise repeated short waits would never notice silence.
            self._silent_since = self._clock.monotonic()
        self._is_reading = True
        try:
            return await self._reply.read()
        finally:
            self._is_reading = False
            self._idle_since = self._clock.monotonic()

    def _record_full_buffer(self, waiting_bytes: int) -> None:
        """Records how long unread data has filled the buffer, and warns if that is too long."""
        if waiting_bytes < FULL_READ_BYTES:
            self._full_since = None
            self._is_warned = False
            return
        now = self._clock.monotonic()
        if self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= self._timeouts.slow_seconds:
            self._warn(now - self._full_since, consumer=False)

    def _warn(self, seconds: float, *, consumer: bool) -> None:
        """Reports slow reading once, and again only after the reader has caught up."""
        if not self._is_warned:
            self._is_warned = True
            self._on_slow(SlowReading(seconds=seconds, waiting_for="consumer" if consumer else "throughput"))

    async def _watch(self) -> None:
        """Watches the connection until it is silent. If the watcher fails, it closes the connection.

        Without a watcher, silence would go unnoticed.
        """
        try:
            while (left := await self._look()) is not None:
                await self._clock.sleep(min(left, CHECK_INTERVAL_SECONDS))
        except Exception:
            logger.exception("the watcher of a connection failed; the connection is closed")
            self._reply.close()

    async def _look(self) -> float | None:
        """Returns the seconds until the next check; None after closing a silent connection."""
        now = self._clock.monotonic()
        if self._reply.arrived_bytes != self.received_bytes:
            self._silent_since = None  # even if the consumer has not read it yet
        if self._silent_since is not None:
            left = self._silent_since + self._timeouts.stall_seconds - now
            if left <= 0:
                self.is_stalled = True
                self._reply.close()
                return None
            await self._note_if_empty()
            return left
        if self._is_reading:
            return CHECK_INTERVAL_SECONDS
        left = self._idle_since + self._timeouts.slow_seconds - now
        if left <= 0:
            # Lines that were read together are returned while nothing is being read.
            self._warn(now - self._idle_since, consumer=not self.is_in_use)
            left = CHECK_INTERVAL_SECONDS
        self.is_in_use = False
        return left

    async def _note_if_empty(self) -> None:
        """Records a time at which there was nothing to read, after the event loop has polled the sockets.

        That alone proves nothing, because a dead connection is silent too. But when data arrives later, everything sent
        before that time has arrived, except for data delayed in transit. The time of the later arrival would be too
        late: it may be noticed long after the service has sent its last byte and published more.
        """
        at, since = self._clock.time(), self._silent_since
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        is_empty = self._reply.arrived_bytes == self.received_bytes and not self._framer.rest
        if self._silent_since == since and is_empty:
            self._empty_at = at
