"""A forward proxy on this machine that counts what it is asked, and knows where the hosts of a test are."""

import asyncio
import ssl
from collections.abc import Mapping

import attrs

from tests.support.server import Server


@attrs.frozen
class Asked:
    """What a proxy was asked: the method, the target and the headers, with names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]


class ForwardProxy(Server):
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
        super().__init__(tls=tls)
        self.asked: list[Asked] = []
        self._places = places
        self._wanted = wanted
        self._refusal = refusal

    @property
    def connects(self) -> list[str]:
        """The targets of the tunnels that were asked for."""
        return [each.target for each in self.asked if each.method == "CONNECT"]

    @property
    def handed_on(self) -> list[str]:
        """The targets of the requests to be handed on."""
        return [each.target for each in self.asked if each.method != "CONNECT"]

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
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
