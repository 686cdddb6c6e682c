"""Times with another offset than UTC, wherever a time is given, and options that are wrong together."""

import datetime
import math
import operator
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from socialapi import Bearer, Client, Config, OAuth1, Operation, OperationParams
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
@pytest.mark.parametrize(
    "time",
    [LOCAL, "2027-03-01T08:00:00+0000", "2027-03-01 10:00+0200", UTC, datetime.datetime.fromisoformat(LOCAL)],
)
async def test_a_time_is_sent_in_utc(server: Server, client: Client, call: str, time: Any) -> None:
    await CALLS[call](client, time)
    (request,) = server.requests
    sent = request.body.decode() + request.path.replace("%3A", ":")
    assert UTC in sent
    assert "+" not in sent.partition("expires_at")[2]


SEVERAL: dict[str, tuple[Callable[[Client], Awaitable[object]], set[str]]] = {
    "upload": (
        lambda c: audience(c).upload(
            [], effective_at="x", packing="y", concurency=5, dry_run=1, phone_format="z", max_reject_share=2
        ),
        {"effective_at", "packing", "concurency", "dry_run", "phone_format", "max_reject_share"},
    ),
    "sync": (
        lambda c: audience(c).sync([], snapshot=5, max_removal_share=3, expires_at="x", journal="j"),
        {"snapshot", "max_removal_share", "expires_at", "journal"},
    ),
    "lint": (
        lambda c: audience(c).lint([], sample=0, header=1, default_region="ZZ"),
        {"sample", "header", "default_region"},
    ),
    "load": (
        lambda c: c.catalog("1").products.upsert([], delete_vanished=True, max_vanished_share=0, concurrency=0),
        {"delete_vanished", "max_vanished_share", "concurrency"},
    ),
    "walk": (lambda c: c.ads.account("a").media_library.list(start="x", count=5000), {"start", "count"}),
    "request": (
        lambda c: c.request("GE T", "x", api="y", auth="z"),  # type: ignore[arg-type]
        {"method", "path", "api", "auth"},
    ),
}


@pytest.mark.parametrize("call", SEVERAL)
async def test_all_that_is_wrong_with_a_call_is_said_at_once(server: Server, client: Client, call: str) -> None:
    ask, wrong = SEVERAL[call]
    with pytest.raises(InvalidInput) as caught:
        await ask(client)
    assert {rule.path for rule in caught.value.broken_rules} == wrong
    assert server.requests == []


@pytest.mark.parametrize(
    ("connect", "seconds"), [("filtered_stream.connect", math.nan), ("activity.stream", -1)], ids=["connect", "stream"]
)
def test_all_that_is_wrong_with_a_stream_is_said_at_once(connect: str, seconds: float) -> None:
    client = Client(Config(base_url="https://api.example"), [Bearer("b")])
    with pytest.raises(InvalidInput) as caught:
        operator.attrgetter(connect)(client)(backfill_minutes=9, on_gap=5, give_up_after_seconds=seconds, on_slo=1)
    assert {rule.path for rule in caught.value.broken_rules} == {
        "backfill_minutes",
        "on_gap",
        "give_up_after_seconds",
        "on_slo",
    }
