"""An HTTP server made of bare sockets, whose answers a test writes byte by byte and whose requests it counts."""

import asyncio
import enum
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Final, Literal, Self

import attrs
import orjson


def free_port() -> int:
    """A port of this machine on which nothing listens, for a server that does not say which it took."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@attrs.frozen
class Received:
    """A request as it arrived; header names are in lower case, `connection` counts from 1."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


class Fault(enum.Enum):
    """What a server can do other than answer."""

    CLOSE = enum.auto()
    """End the connection."""
    RESET = enum.auto()
    """Reset it, so that the client sees an error rather than an end."""
    SILENCE = enum.auto()
    """Say nothing until the client leaves."""


@attrs.frozen
class Cut:
    """The beginning of an answer, after which the connection ends."""

    content: bytes


@attrs.frozen
class Endless:
    """An answer that begins, and goes on with the same bytes until the client leaves."""

    begun: bytes
    piece: bytes
    pause_seconds: float = 0.0


Step = bytes | Cut | Fault | Endless | Callable[[Received], Awaitable["bytes | Cut | Fault | Endless"]]


def answer(body: Any = b"", *, status: int = 200, content_type: str = "application/json", **headers: str) -> bytes:
    """A whole response; a body that is not bytes is sent as JSON, underscores in header names become dashes."""
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    lines = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(content)}"]
    if content:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


OK: Final = answer({"data": {"success_count": 1, "total_count": 1}})


class Server:
    """Answers requests with the steps of a script, one after another, and those after them with `then`.

    A `greeting` is sent before anything is received. `scheme` is that of its address, where it is
    another than the server speaks.
    """

    def __init__(
        self,
        *script: Step,
        then: Step = OK,
        tls: ssl.SSLContext | None = None,
        greeting: bytes = b"",
        scheme: Literal["http", "https"] | None = None,
    ) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self._script = list(script)
        self.then = then
        self._tls = tls
        self._greeting = greeting
        self._scheme = scheme or ("https" if tls else "http")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        try:
            writer.write(self._greeting)
            await self._converse(reader, writer, self.connections)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            received = await _read(reader, connection)
            self.requests.append(received)
            step = self._script.pop(0) if self._script else self.then
            if callable(step):
                step = await step(received)
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                continue
            if isinstance(step, Cut):
                writer.write(step.content)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
            elif isinstance(step, Endless):
                await _go_on(writer, step)
            elif step is Fault.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            elif step is Fault.SILENCE:
                await reader.read()
            return


async def _go_on(writer: asyncio.StreamWriter, step: Endless) -> None:
    writer.write(step.begun)
    while not writer.is_closing():
        writer.write(step.piece)
        await writer.drain()
        await asyncio.sleep(step.pause_seconds)


async def _read(reader: asyncio.StreamReader, connection: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    start, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = start.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, connection)
