"""Times with another offset than UTC, wherever a time is given."""

import datetime
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from socialapi import Client, Config, OAuth1, Operation, OperationParams
from socialapi.errors import InvalidInput
from tests.support.server import Server, answer

LOCAL = "2027-03-01T10:00:00+02:00"
UTC = "2027-03-01T08:00:00Z"
COUNTS = {"data": {"success_count": 1, "total_count": 1, "id": "5"}}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(then=answer(COUNTS)) as server:
        yield server


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    async with Client(Config(ads_url=server.url), [OAuth1("k", "s", "t", "u")]) as client:
        yield client


def audience(client: Client) -> Any:
    return client.ads.account("18ce54d4x5t").custom_audience("1nmth")


def operation(time: Any) -> Any:
    return Operation("Update", OperationParams(users=[{"handle": ["@ada"]}], expires_at=time))


CALLS: dict[str, Callable[[Client, Any], Awaitable[object]]] = {
    "upload": lambda client, time: audience(client).upload([{"handle": "@ada"}], expires_at=time),
    "a row of an upload": lambda client, time: audience(client).upload([{"handle": "@ada", "expires_at": time}]),
    "send": lambda client, time: audience(client).send([operation(time)]),
    "update": lambda client, time: client.ads.account("18ce54d4x5t").line_items.update("5", end_time=time),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("time", [LOCAL, datetime.datetime.fromisoformat(LOCAL)], ids=["text", "datetime"])
async def test_a_time_is_sent_in_utc(server: Server, client: Client, call: str, time: Any) -> None:
    await CALLS[call](client, time)
    (request,) = server.requests
    sent = request.body.decode() + request.path.replace("%3A", ":")
    assert UTC in sent
    assert "+02:00" not in sent


@pytest.mark.parametrize("time", ["2027-03-01T10:00:00", "2027-03-01 10:00+02:00", "0001-01-01T00:00:00+14:00"])
async def test_what_is_no_time_with_an_offset_is_a_broken_rule(server: Server, client: Client, time: str) -> None:
    with pytest.raises(InvalidInput, match="must be an ISO 8601 time in UTC"):
        await audience(client).send([operation(time)])
    assert server.requests == []
