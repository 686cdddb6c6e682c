"""A server of persistent streams: a script for every connection, and whether anything is still on its way."""

import asyncio
import contextlib
import enum
import random
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

import attrs
import orjson

from socialapi import Client
from socialapi.models.events import MatchedPost, StreamNotice
from socialapi.models.undecoded import Undecoded
from socialapi.streams.stream import Stream
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Received, Server, _read, answer

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
KEEP_ALIVE: Final = b"\r\n"
STREAM_PATHS: Final = ("/2/tweets/search/stream", "/2/activity/stream")
PROBLEMS_URL: Final = "https://api.example.com/problems/"


class End(enum.Enum):
    """How a connection ends; one whose script ends otherwise is silent until the client leaves."""

    CLEAN = enum.auto()
    """With the last chunk, as HTTP wants it."""
    CUT = enum.auto()
    """Without it."""
    RESET = enum.auto()
    """The same, as an error of the socket."""


@attrs.frozen
class Pause:
    """Nothing for so long by the clock."""

    seconds: float


@attrs.frozen
class Endless:
    """The same bytes again and again."""

    block: bytes


Act = bytes | End | Pause | Endless | asyncio.Event
"""Bytes are a chunk of the body; an event is waited for."""
Script = bytes | Sequence[Act] | Callable[[Received], "bytes | Sequence[Act]"]
"""A whole answer other than a stream, or a stream act by act. `SILENCE` does not even begin to answer."""

SILENCE: Final = b""
_OURS: Final = "stream server"


class StreamServer(Server):
    """Answers requests for streams with scripts, one after another, and those after them with `then`.

    Requests for tokens are answered too. `times` are those of the requests by the clock, `left` counts clients that
    went while a stream went on.
    """

    def __init__(self, clock: VirtualClock, *scripts: Script, then: Script = ()) -> None:
        super().__init__()
        self.clock = clock
        self.times: list[float] = []
        self.left = 0
        self.sent_bytes = 0
        """Of the body of the latest stream."""
        self._scripts = list(scripts)
        self._then_script = then
        self._is_over = False
        self._is_silent = False
        self._stream: Stream[Any] | None = None

    def watch(self, stream: Stream[Any]) -> None:
        """From now on time stands still while something is on its way between this server and the stream."""
        self._stream = stream
        self.clock.busy = self.is_busy

    def is_busy(self) -> bool:
        stream = self._stream
        assert stream is not None
        if stream.state == "connecting":
            return not (self._is_silent and len(self.times) >= stream.counters.attempts)
        connection = stream._link.connection
        if connection is None or not connection._is_reading:
            return False
        return self._is_over or connection.received_bytes < self.sent_bytes

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            received = await _read(reader, connection)
            self.requests.append(received)
            if not received.path.startswith(STREAM_PATHS):
                writer.write(answer({"token_type": "bearer", "access_token": f"token-{len(self.requests)}"}))
                continue
            self.times.append(round(self.clock.monotonic(), 3))
            self.sent_bytes, self._is_over, self._is_silent = 0, False, False
            script = self._scripts.pop(0) if self._scripts else self._then_script
            if callable(script):
                script = script(received)
            if isinstance(script, bytes) and script:
                writer.write(script)
                continue
            await self._play(script, reader, writer)
            return

    async def _play(self, script: bytes | Sequence[Act], reader: asyncio.StreamReader, writer: Any) -> None:
        leaving = asyncio.create_task(reader.read(), name=_OURS)
        acting = asyncio.create_task(self._act(script, writer), name=_OURS)
        try:
            await asyncio.wait((leaving, acting), return_when=asyncio.FIRST_COMPLETED)
            if not acting.done() or acting.exception():
                self.left += 1
        finally:
            for task in (leaving, acting):
                task.cancel()
            await asyncio.gather(leaving, acting, return_exceptions=True)

    async def _act(self, script: bytes | Sequence[Act], writer: asyncio.StreamWriter) -> None:
        if isinstance(script, bytes):
            self._is_silent = True
            await asyncio.Event().wait()
            return
        writer.write(HEAD)
        for act in script:
            if isinstance(act, End):
                await self._end(act, writer)
                return
            if isinstance(act, Pause):
                await self.clock.sleep(act.seconds)
            elif isinstance(act, asyncio.Event):
                await act.wait()
            elif isinstance(act, Endless):
                while True:
                    await self._send(act.block, writer)
            else:
                assert isinstance(act, bytes)
                await self._send(act, writer)
        await asyncio.Event().wait()

    async def _send(self, content: bytes, writer: asyncio.StreamWriter) -> None:
        self.sent_bytes += len(content)
        writer.write(b"%x\r\n%b\r\n" % (len(content), content))
        await writer.drain()

    async def _end(self, how: End, writer: asyncio.StreamWriter) -> None:
        self._is_over = True
        if how is End.RESET:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return
        if how is End.CLEAN:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        writer.close()
        await writer.wait_closed()


class NoJitter(random.Random):
    """Draws nothing, so that every wait is the shortest one."""

    def random(self) -> float:
        return 0.0


@contextlib.asynccontextmanager
async def clients_of(server: StreamServer, **config: Any) -> AsyncIterator[Client]:
    """A client without jitter."""
    async with client_of(server, server.clock, **config) as client:
        client._session.rng = NoJitter()
        yield client


@contextlib.asynccontextmanager
async def posts_of(server: StreamServer, *, config: Any = None, **options: Any) -> AsyncIterator[Stream[MatchedPost]]:
    """The stream of posts of a client of the server, connected, while time stands still for what is on its way."""
    async with clients_of(server, **(config or {})) as client:
        stream = client.filtered_stream.connect(**options)
        server.watch(stream)
        async with stream:
            yield stream


async def read_for(
    server: StreamServer, seconds: float, *, config: Any = None, **options: Any
) -> tuple[Stream[MatchedPost], list[MatchedPost | StreamNotice | Undecoded]]:
    """What a stream of posts was and brought within so long; raises what it raises."""
    items: list[MatchedPost | StreamNotice | Undecoded] = []
    async with clients_of(server, **(config or {})) as client:
        stream = client.filtered_stream.connect(**options)
        server.watch(stream)

        async def read() -> None:
            async with stream:
                async for item in stream:
                    items.append(item)  # noqa: PERF401  # what came before an error is kept

        reading = asyncio.create_task(read())
        await asyncio.wait(
            (reading, time := asyncio.create_task(server.clock.sleep(seconds))), return_when="FIRST_COMPLETED"
        )
        time.cancel()
        reading.cancel()
        await asyncio.gather(reading, time, return_exceptions=True)
        if not reading.cancelled():
            await reading
    return stream, items


def post(number: int, **further: Any) -> bytes:
    """A line with a post."""
    body = {"data": {"id": str(number), "text": f"post {number}"}, "matching_rules": [{"id": "1"}], **further}
    return orjson.dumps(body) + b"\r\n"


def problem(slug: str, **fields: Any) -> dict[str, Any]:
    """A problem of the type with that name."""
    return {"type": PROBLEMS_URL + slug, "title": slug, "detail": f"{slug}, said by the test", **fields}


def notice(slug: str, **fields: Any) -> bytes:
    """A line with a problem."""
    return orjson.dumps({"errors": [problem(slug, **fields)]}) + b"\r\n"


def refusal(status: int, *problems: dict[str, Any], **headers: str) -> bytes:
    """An answer with problems instead of a stream."""
    return answer({"errors": list(problems)} if problems else {}, status=status, **headers)


def others() -> set["asyncio.Task[Any]"]:
    """Tasks of the SDK and of the test other than this one."""
    mine = asyncio.current_task()

    def is_of_server(task: "asyncio.Task[Any]") -> bool:
        return task.get_name() == _OURS or "Server." in repr(task.get_coro())

    return {task for task in asyncio.all_tasks() if task is not mine and not is_of_server(task)}
