"""An open stream: its queue, keep-alives, faults and end."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import Any, Final

import attrs
from aiohttp import web

from socialapi.emulator.connections import CLIENT_LEFT, Connection
from socialapi.emulator.faults import Pauses
from socialapi.emulator.platform.post_projection import PostShape
from socialapi.emulator.platform.state import StreamConnection


@attrs.frozen
class Ending:
    """Why and how a stream ends: with a `last_line` (after queued lines if `flush`), or in the middle of a line."""

    reason: str
    last_line: bytes | None = None
    flush: bool = False
    abruptly: bool = False
    patience: float | None = None
    """The wall-clock time that writing the last bytes may take, or None for the default."""


@attrs.frozen
class Script:
    """The fault to simulate on a stream, and the number of lines before it."""

    play: Callable[[Any], Awaitable[None]]
    """The function that simulates the fault. Its argument is the stream."""
    after_lines: int = 0


LINE_END: Final = b"\r\n"
KEEP_ALIVE: Final = LINE_END
KEEP_ALIVE_SECONDS: Final = 10.0
"""The time without a line after which an empty line is sent, on the emulator's clock. The documentation does not
specify one.
"""
SLOW_READER_SECONDS: Final = 60.0
"""The time for which a client may leave waiting lines unread, on the emulator's clock or the wall clock."""
QUEUE_LINES: Final = 10_000
"""The maximum number of lines waiting for a client. A stream with a full queue is ended."""
ROOM_LINES: Final = 8_000
"""The queue length from which publishers wait if they can. The rest of the queue is for publishers that cannot wait."""
QUEUE_BYTES: Final = 64_000_000

CLIENT_DISCONNECTED: Final = "ClientDisconnected"
SLOW_READER: Final = "SlowReader"

_WRITE_BYTES: Final = 65_536
_LINES_AT_ONCE: Final = 500
_GRACE_SECONDS: Final = 0.2
"""The minimum wall-clock time before a client that reads nothing is cut off, however far the clock is moved."""
PATIENCE_SECONDS: Final = 1.0
"""The wall-clock time that writing the end of a stream may take."""
_DRIPS: Final = 20


class LiveStream:
    """A stream from its acceptance to its end. `serve` runs in the task of the request.

    `shape` selects the fields of posts on it. `ended` is called as soon as the end is decided, before the last bytes
    are written. `problem_line` formats the notice if the stream itself decides to end.
    """

    def __init__(
        self,
        connection: StreamConnection,
        now: Callable[[], float],
        pauses: Pauses,
        ended: Callable[["LiveStream"], None],
        problem_line: Callable[[str], bytes],
        backfill: Iterator[bytes],
        *,
        shape: PostShape | None,
        script: Script | None,
    ) -> None:
        self.connection = connection
        self.shape = shape
        self.pauses = pauses
        self.ending: Ending | None = None
        self.idle: asyncio.Event = asyncio.Event()
        """Set while nothing waits to be written."""
        self.drip_seconds: float = 0.0
        self.silent: bool = False
        self._now = now
        self._ended = ended
        self._problem_line = problem_line
        self._backfill = backfill
        self._script = script
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._delivered = 0
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._over = asyncio.Event()
        self._gone = asyncio.Event()
        self._last_line_at = now()
        self._blocked_since: tuple[float, float] | None = None
        self._request: web.BaseRequest | None = None
        self._response: web.StreamResponse | None = None

    # Filling the queue -------------------------------------------------------------------------------------------

    def put(self, line: bytes) -> bool:
        """Adds a line. Returns False if the stream has ended. If the queue is full, the stream ends."""
        if self.ending is not None:
            return False
        self._last_line_at = self._now()
        if self.silent:
            return True
        if len(self._lines) >= QUEUE_LINES or self._bytes >= QUEUE_BYTES:
            self._end_slow()
            return False
        self._lines.append(line)
        self._bytes += len(line)
        self.idle.clear()
        self._some.set()
        return True

    async def room(self) -> None:
        """Waits until the queue has room, or the stream has ended."""
        while self.ending is None and self.is_crowded:
            self._room.clear()
            await self._room.wait()

    @property
    def is_crowded(self) -> bool:
        """Whether the queue is so full that publishers should wait if they can."""
        return len(self._lines) >= ROOM_LINES or self._bytes >= QUEUE_BYTES // 2

    def to_wire(self) -> dict[str, Any]:
        """Returns the stream as the control plane shows it."""
        return {
            "id": self.connection.id,
            "endpoint": self.connection.endpoint_id,
            "api_key": self.connection.app_key,
            "connected_at": self.connection.connected_at,
            "delivered": self._delivered,
            "waiting": len(self._lines),
        }

    # Time --------------------------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Sends a keep-alive if it is due, or ends the stream of a client that reads nothing."""
        if self._blocked_since is not None:
            if self._slow_in(self._blocked_since) <= 0:
                self._end_slow()
        elif not self._lines and self._now() - self._last_line_at >= KEEP_ALIVE_SECONDS:
            self.put(KEEP_ALIVE)

    def seconds_left(self) -> float:
        """Returns the time until the next keep-alive or timeout is due, unless something happens first."""
        if (since := self._blocked_since) is not None:
            return self._slow_in(since)
        return KEEP_ALIVE_SECONDS if self._lines else self._last_line_at + KEEP_ALIVE_SECONDS - self._now()

    def _slow_in(self, since: tuple[float, float]) -> float:
        emulated, real = since
        passed = asyncio.get_running_loop().time() - real
        left = min(emulated + SLOW_READER_SECONDS - self._now(), SLOW_READER_SECONDS - passed)
        return max(left, _GRACE_SECONDS - passed)

    # The end -----------------------------------------------------------------------------------------------------

    def end(self, ending: Ending) -> None:
        """Ends the stream. Its last bytes are written soon afterwards. Only the first call has an effect."""
        if self.ending is not None:
            return
        self.ending = ending
        self._ended(self)
        if not ending.flush:
            self._clear()
        for event in (self._some, self._room, self._over, self.idle):
            event.set()

    def _end_slow(self) -> None:
        self.end(Ending(SLOW_READER, self._problem_line(SLOW_READER)))

    def fall_silent(self) -> None:
        """Discards everything from now on, including keep-alives and the notice at the end."""
        self.silent = True
        self._clear()
        self._room.set()

    def _clear(self) -> None:
        self._lines.clear()
        self._bytes = 0
        self._backfill = iter(())

    def _left(self) -> None:
        """Ends the stream, because the client has disconnected."""
        self._gone.set()
        self.end(Ending(CLIENT_DISCONNECTED))

    # Writing -----------------------------------------------------------------------------------------------------

    async def serve(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Answers the request with the stream, until the stream ends. Must be called exactly once."""
        self._request, self._response = request, response
        connection = request.protocol
        assert isinstance(connection, Connection)
        connection.lost = self._left
        try:
            if request.transport is None:
                self._left()
            response.enable_chunked_encoding()
            response.force_close()
            await response.prepare(request)
            writer = asyncio.create_task(self._write_all(), name=f"socialapi-emulator-stream-{self.connection.id}")
            writer.add_done_callback(lambda _: self._over.set())
            try:
                await self._over.wait()
                if self.ending is not None and not self._gone.is_set():
                    patience = self.ending.patience
                    await asyncio.wait({writer}, timeout=PATIENCE_SECONDS if patience is None else patience)
            finally:
                finished = writer.done()
                writer.cancel()
                await asyncio.gather(writer, return_exceptions=True)
                if not finished and request.transport is not None:
                    request.transport.abort()
            if not writer.cancelled() and (problem := writer.exception()) is not None:
                self.end(Ending("InternalError"))
                raise problem
        finally:
            connection.lost = None
            self.end(Ending(CLIENT_DISCONNECTED))

    async def _write_all(self) -> None:
        try:
            while self.ending is None or (self.ending.flush and self._lines):
                script = self._script
                if script is not None and self._delivered >= script.after_lines:
                    self._script = None
                    await script.play(self)
                    continue
                lines = self._take(_LINES_AT_ONCE if script is None else script.after_lines - self._delivered)
                if not lines:
                    self.idle.set()
                    self._some.clear()
                    await self._some.wait()
                elif self.drip_seconds:
                    for line in lines:
                        await self._drip(line)
                else:
                    await self.write(b"".join(lines))
                self._delivered += sum(line is not KEEP_ALIVE for line in lines)
            assert self.ending is not None
            if not (self.ending.abruptly or self.silent):
                await self._finish(self.ending)
            elif self._request is not None and self._request.transport is not None:
                # In the middle of the response, after all written data is sent.
                self._request.transport.close()
                await self._gone.wait()
        except CLIENT_LEFT:
            self._left()

    def _take(self, most: int) -> list[bytes]:
        """Returns some of the waiting lines. Lines from before the start of the stream come first."""
        taken = list(islice(self._backfill, min(most, 100)))
        if taken:
            return taken
        size = 0
        while self._lines and len(taken) < most and size < _WRITE_BYTES:
            line = self._lines.popleft()
            size += len(line)
            taken.append(line)
        self._bytes -= size
        if not self._room.is_set() and not self.is_crowded:
            self._room.set()
        return taken

    async def write(self, content: bytes) -> None:
        """Writes bytes to the connection, and waits until it accepts more."""
        assert self._response is not None
        assert self._request is not None
        self._blocked_since = self._now(), asyncio.get_running_loop().time()
        await self._response.write(content)
        await self._request.writer.drain()
        self._blocked_since = None

    async def _drip(self, line: bytes) -> None:
        size = max(1, -(-len(line) // _DRIPS))
        for start in range(0, len(line), size):
            await self.write(line[start : start + size])
            if self.ending is None:
                await self.pauses.pause(self.drip_seconds * size / len(line))

    async def _finish(self, ending: Ending) -> None:
        """Writes the last line and the end of the response. Returns when the connection has accepted everything."""
        assert self._response is not None
        assert self._request is not None
        writer, transport = self._request.writer, self._request.transport
        if ending.last_line is not None:
            await self.write(ending.last_line + LINE_END)
        await self._response.write_eof()
        if transport is not None:
            transport.set_write_buffer_limits(0)
        await writer.drain()
