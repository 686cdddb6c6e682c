"""A reader of streams that shares nothing with the SDK: aiohttp, and lines as they come."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import attrs
import orjson

from tests.emulator.asking import Asker, Reply

POSTS = "/2/tweets/search/stream"
ACTIVITY = "/2/activity/stream"
CEILING_SECONDS = 10.0


@attrs.define
class Reading:
    """A stream that was opened."""

    response: aiohttp.ClientResponse

    async def raw(self) -> bytes:
        """The next line as it came, empty ones included; nothing at the end."""
        async with asyncio.timeout(CEILING_SECONDS):
            return await self.response.content.readuntil(b"\r\n")

    async def line(self) -> Any:
        """The next line that says something."""
        while (line := await self.raw()) == b"\r\n":
            continue
        assert line.endswith(b"\r\n"), line
        return orjson.loads(line)

    async def lines(self, count: int) -> list[Any]:
        return [await self.line() for _ in range(count)]

    async def texts(self, count: int) -> list[str]:
        return [line["data"]["text"] for line in await self.lines(count)]

    async def rest(self) -> bytes:
        """Everything up to a proper end."""
        async with asyncio.timeout(CEILING_SECONDS):
            return await self.response.content.read()

    def leave(self) -> None:
        self.response.close()


@asynccontextmanager
async def reading(ask: Asker, path: str = POSTS, *, token: str | None = None, **query: str) -> AsyncIterator[Reading]:
    """An accepted stream; `tweet_fields` stands for `tweet.fields`."""
    headers = {"Authorization": f"Bearer {token or ask.emulator.ready['bearer_token']}"}
    parameters = {name.replace("_fields", ".fields"): value for name, value in query.items()}
    url = ask.emulator.ready["base_url"] + path
    async with ask.session.get(url, headers=headers, params=parameters) as response:
        assert response.status == 200
        yield Reading(response)


async def add_rules(ask: Asker, *values: str, token: str | None = None, tag: str | None = None) -> list[str]:
    """The ids of new rules."""
    rules = [{"value": value, **({"tag": tag} if tag else {})} for value in values]
    reply = await ask.bearer("POST", f"{POSTS}/rules", token=token, json={"add": rules})
    assert reply.status == 201, reply.text
    return [rule["id"] for rule in reply.data]


async def subscribe(
    ask: Asker, event_type: str, *, token: str | None = None, further: dict[str, Any] | None = None, **wanted: str
) -> Reply:
    body = {"event_type": event_type, "filter": wanted, **(further or {})}
    reply = await ask.bearer("POST", "/2/activity/subscriptions", token=token, json=body)
    assert reply.status == 201, reply.text
    return reply


async def connection_of(ask: Asker, which: int = -1) -> dict[str, Any]:
    """A connection as the service tells of it; the newest unless said otherwise."""
    connection: dict[str, Any] = (await ask.get("/2/connections")).data[which]
    return connection


async def end_of_connection(ask: Asker, which: int = -1) -> str:
    """Why the connection ended, once it has."""
    async with asyncio.timeout(CEILING_SECONDS):
        while True:
            if "disconnect_reason" in (connection := await connection_of(ask, which)):
                return str(connection["disconnect_reason"])


def at(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
