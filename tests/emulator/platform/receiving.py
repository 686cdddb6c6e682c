"""The owner of a webhook, on loopback: answers challenges rightly, or in whatever way a test wants."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import attrs
import orjson
from aiohttp import web

from tests.emulator.asking import Asker, Reply

URL = "https://hooks.example.com/in"
Respond = Callable[[str], Awaitable[web.Response]]


@attrs.define
class Owner:
    """`challenges` are the tokens received. `secret` signs the answers; `respond`, if set, makes them instead."""

    secret: str
    address: str = ""
    challenges: list[str] = attrs.field(factory=list)
    queries: list[dict[str, str]] = attrs.field(factory=list)
    respond: Respond | None = None

    def answer(self, crc_token: str) -> bytes:
        digest = hmac.new(self.secret.encode(), crc_token.encode(), hashlib.sha256).digest()
        return orjson.dumps({"response_token": "sha256=" + base64.b64encode(digest).decode()})

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        token = request.query["crc_token"]
        self.challenges.append(token)
        self.queries.append(dict(request.query))
        if self.respond is not None:
            return await self.respond(token)
        return web.Response(body=self.answer(token), content_type="application/json")


@asynccontextmanager
async def owner_of_webhook(secret: str) -> AsyncIterator[Owner]:
    owner = Owner(secret)
    runner = web.ServerRunner(web.Server(owner.serve), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    owner.address = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield owner
    finally:
        await runner.cleanup()


async def create_webhook(ask: Asker, url: object = URL) -> Reply:
    return await ask.bearer("POST", "/2/webhooks", json={"url": url})


async def validity(ask: Asker) -> list[bool]:
    return [webhook["valid"] for webhook in (await ask.get("/2/webhooks")).data]
