"""The owner of a webhook, on loopback: answers challenges and takes events rightly, or in whatever way a test wants."""

import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import orjson
from aiohttp import web

from tests.emulator.asking import Asker, Reply

URL = "https://hooks.example.com/in"
Respond = Callable[[str], Awaitable[web.Response]]
Take = Callable[["Delivered"], Awaitable[web.Response]]


@attrs.frozen
class Delivered:
    """An event as it arrived, and whether its signature is right."""

    body: bytes
    headers: dict[str, str]
    is_genuine: bool

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@attrs.define
class Owner:
    """`challenges` are the tokens received, `deliveries` the events.

    `secret` signs the answers and is what events have to be signed with; `respond` and `take`, if set, answer instead.
    """

    secret: str
    address: str = ""
    challenges: list[str] = attrs.field(factory=list)
    queries: list[dict[str, str]] = attrs.field(factory=list)
    respond: Respond | None = None
    deliveries: list[Delivered] = attrs.field(factory=list)
    take: Take | None = None

    @property
    def events(self) -> list[Any]:
        """What was delivered, genuine or not."""
        return [each.json for each in self.deliveries]

    def answer(self, crc_token: str) -> bytes:
        digest = hmac.new(self.secret.encode(), crc_token.encode(), hashlib.sha256).digest()
        return orjson.dumps({"response_token": "sha256=" + base64.b64encode(digest).decode()})

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            return await self._delivered(request)
        token = request.query["crc_token"]
        self.challenges.append(token)
        self.queries.append(dict(request.query))
        if self.respond is not None:
            return await self.respond(token)
        return web.Response(body=self.answer(token), content_type="application/json")

    async def _delivered(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        digest = hmac.new(self.secret.encode(), body, hashlib.sha256).digest()
        expected = "sha256=" + base64.b64encode(digest).decode()
        given = request.headers.get("x-service-webhooks-signature", "")
        delivered = Delivered(body, dict(request.headers), hmac.compare_digest(given, expected))
        self.deliveries.append(delivered)
        if self.take is not None:
            return await self.take(delivered)
        return web.Response(status=200 if delivered.is_genuine else 403)


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
