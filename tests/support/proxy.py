"""A forward proxy on this machine that counts what it is asked, and knows where the hosts of a test are."""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Self

import attrs


@attrs.frozen
class Asked:
    """What a proxy was asked: the method, the target and the headers, with names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


class ForwardProxy:
    """Hands requests on, and opens tunnels for CONNECT. `places` says on which local port a host really is.

    With `wanted` as `Proxy-Authorization`, who does not send it gets a 407; with `refusal`, everybody gets that status.
    """

    def __init__(
        self,
        places: Mapping[str, int],
        *,
        wanted: str | None = None,
        refusal: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        self._places = places
        self._wanted = wanted
        self._refusal = refusal
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
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
    def connects(self) -> list[str]:
        """The targets of the tunnels that were asked for."""
        return [each.target for each in self.asked if each.method == "CONNECT"]

    @property
    def requests(self) -> list[str]:
        """The targets of the requests to be handed on."""
        return [each.target for each in self.asked if each.method != "CONNECT"]

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._converse(reader, writer)
        writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = start.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.asked.append(Asked(method, target, headers))
        if self._refusal or (self._wanted is not None and headers.get("proxy-authorization") != self._wanted):
            writer.write(f"HTTP/1.1 {self._refusal or 407} Refused\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        if method == "CONNECT":
            upstream = await self._open(target)
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            host, _, path = target.removeprefix("http://").partition("/")
            upstream = await self._open(host)
            kept = [line for line in lines if not line.lower().startswith("proxy-")]
            upstream[1].write("\r\n".join([f"{method} /{path} HTTP/1.1", *kept, "", ""]).encode("latin-1"))
        await asyncio.gather(_pour(reader, upstream[1]), _pour(upstream[0], writer))

    async def _open(self, host: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port = self._places.get(host, self._places.get(host.rpartition(":")[0]))
        reader, writer = await asyncio.open_connection("127.0.0.1", port or int(host.rpartition(":")[2]))
        self._writers.add(writer)
        return reader, writer


async def _pour(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while piece := await source.read(65_536):
        sink.write(piece)
        await sink.drain()
    sink.close()
