"""A service that delivers events, made of nothing of the package."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
from collections.abc import AsyncIterator
from typing import Any, Final

import aiohttp
import attrs
import orjson
import yarl
from aiohttp import web

SECRET: Final = "consumer-secret-1"
HEADER: Final = "x-service-webhooks-signature"


def signature(content: bytes, secret: str = SECRET) -> str:
    return "sha256=" + base64.b64encode(hmac.digest(secret.encode(), content, hashlib.sha256)).decode()


def event(number: int | None, **payload: Any) -> bytes:
    """The body of an event, with an id or without."""
    identity = {} if number is None else {"event_id": str(number)}
    return orjson.dumps({"data": {"event_type": "post.create", **identity, "payload": payload}})


@attrs.frozen
class Answer:
    status: int
    text: str
    headers: Any = None


@attrs.define
class Sender:
    """POSTs to one address."""

    url: str
    session: aiohttp.ClientSession

    async def post(self, content: bytes, sign: str | None = "", *, path: str = "") -> Answer:
        """Signed by default; None sends no signature, a text this one."""
        headers = {} if sign is None else {HEADER: sign or signature(content)}
        async with self.session.post(self.url + path, data=content, headers=headers) as response:
            return Answer(response.status, await response.text(), response.headers)

    async def challenge(self, query: str, *, path: str = "") -> Answer:
        async with self.session.get(self.url + path + query) as response:
            return Answer(response.status, await response.text(), response.headers)

    async def ask(self, method: str) -> Answer:
        async with self.session.request(method, self.url) as response:
            return Answer(response.status, await response.text(), response.headers)

    async def broken(self, content: bytes, *, length: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A request that says that it is so long, and does not go on after the content."""
        path = yarl.URL(self.url).path
        head = (
            f"POST {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n{HEADER}: {signature(content)}\r\n\r\n"
        )
        return await self.open(head, content)

    async def open(self, head: str, content: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which this is sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", yarl.URL(self.url).port)
        writer.write(head.encode() + content)
        await writer.drain()
        return reader, writer


@contextlib.asynccontextmanager
async def running(app: web.Application, mounted: str = "") -> AsyncIterator[Sender]:
    """The application on a port of its own, and who sends to where it is mounted."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    try:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession() as session:
            yield Sender(f"http://127.0.0.1:{runner.addresses[0][1]}{mounted}", session)
    finally:
        await runner.cleanup()


async def take(receiver: Any, count: int) -> list[Any]:
    """The next events."""
    async with asyncio.timeout(10):
        return [await anext(receiver) for _ in range(count)]


async def rest(receiver: Any) -> list[Any]:
    """All events up to the end."""
    async with asyncio.timeout(10):
        return [event async for event in receiver]


def numbers(events: list[Any]) -> list[str]:
    """Which events these are."""
    return [each.event_id for each in events]
