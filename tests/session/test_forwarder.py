"""Passing bodies on to one address."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from socialapi.errors import ConfigurationError
from socialapi.session.forwarder import Forwarder
from tests.support.clients import HighestJitter
from tests.support.clock import VirtualClock
from tests.support.server import Fault, Server, answer
from tests.support.stream_server import NoJitter

BODY = b'{"a":  1}\n'
HEADERS = {"Content-Type": "application/json", "x-signature": "abc"}
TAKEN = answer(status=204)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(then=TAKEN) as server:
        yield server


def forwarder_to(url: str, clock: VirtualClock, **options: Any) -> Forwarder:
    return Forwarder(url, clock=clock, rng=NoJitter(), **options)


async def test_a_body_arrives_as_it_is(server: Server, clock: VirtualClock) -> None:
    async with forwarder_to(f"{server.url}/hook?a=%20b", clock) as forwarder:
        assert [await forwarder.post(BODY, HEADERS) for _ in range(2)] == [204, 204]
    first, second = server.requests
    assert (first.method, first.path, first.body) == ("POST", "/hook?a=%20b", BODY)
    assert HEADERS.items() <= {"Content-Type": first.headers["content-type"], **first.headers}.items()
    assert (first.connection, second.connection) == (1, 1)


@pytest.mark.parametrize("step", [answer(status=500), answer(status=429), answer(status=408), Fault.CLOSE, Fault.RESET])
async def test_what_may_pass_is_tried_again_with_growing_waits(step: bytes | Fault, clock: VirtualClock) -> None:
    async with Server(step, step, then=TAKEN) as server, forwarder_to(server.url, clock) as forwarder:
        assert await forwarder.post(BODY, HEADERS) == 204
        assert clock.sleeps == [0.25, 0.5]
        assert [received.body for received in server.requests] == [BODY] * 3


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 413])
async def test_a_definite_answer_is_told_at_once(status: int, clock: VirtualClock) -> None:
    step = answer(b"x" * 100_000, status=status, Location="/elsewhere")
    async with Server(then=step) as server, forwarder_to(server.url, clock) as forwarder:
        assert await forwarder.post(BODY, HEADERS) == status
        assert await forwarder.post(BODY, HEADERS) == status
        assert len(server.requests) == 2
    assert clock.sleeps == []


async def test_it_is_tried_again_without_end_and_waits_have_a_ceiling(clock: VirtualClock) -> None:
    async with Server(*[answer(status=503)] * 50, then=TAKEN) as server, forwarder_to(server.url, clock) as forwarder:
        assert await forwarder.post(BODY, HEADERS) == 204
    assert clock.sleeps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0] + [10.0] * 44


async def test_waits_have_a_jitter_that_only_makes_them_longer(clock: VirtualClock) -> None:
    async with (
        Server(answer(status=503), then=TAKEN) as server,
        Forwarder(server.url, clock=clock, rng=HighestJitter()) as forwarder,
    ):
        await forwarder.post(BODY, HEADERS)
    assert clock.sleeps == [pytest.approx(0.275)]


async def test_each_outage_is_told_when_its_reason_changes_and_when_it_is_over(clock: VirtualClock) -> None:
    told: list[str] = []
    async with (
        Server(
            answer(status=503), answer(status=503), Fault.CLOSE, TAKEN, Fault.CLOSE, answer(status=404), then=TAKEN
        ) as server,
        forwarder_to(server.url, clock, tell=told.append) as forwarder,
    ):
        assert [await forwarder.post(BODY, HEADERS) for _ in range(3)] == [204, 404, 204]
    assert told == [
        "127.0.0.1: HTTP 503; events wait until it accepts them",
        "127.0.0.1: the connection was lost before the answer; events wait until it accepts them",
        "127.0.0.1 answers again",
        "127.0.0.1: the connection was lost before the answer; events wait until it accepts them",
        "127.0.0.1 answers again",
    ]


async def test_an_address_where_nobody_listens_is_waited_for(clock: VirtualClock) -> None:
    async with Server() as server:
        url = server.url
    told: asyncio.Queue[str] = asyncio.Queue()
    async with forwarder_to(url, clock, tell=told.put_nowait) as forwarder:
        posting = asyncio.create_task(forwarder.post(BODY, HEADERS))
        assert (await told.get()).startswith("127.0.0.1: could not connect (")
        posting.cancel()
        await asyncio.gather(posting, return_exceptions=True)


async def test_silence_is_not_waited_for(clock: VirtualClock) -> None:
    told: list[str] = []
    async with (
        Server(Fault.SILENCE, then=TAKEN) as server,
        forwarder_to(server.url, clock, timeout_seconds=0.05, tell=told.append) as forwarder,
    ):
        assert await forwarder.post(BODY, HEADERS) == 204
    assert told[0] == "127.0.0.1: no answer within 0.05 s; events wait until it accepts them"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "of the form"),
        ("app.example/hook", "of the form"),
        ("ftp://app.example/", "of the form"),
        ("https://", "of the form"),
        ("https://app.example:0/", "of the form"),
        ("https://app.example:x/", "of the form"),
        ("http://[::1]evil.example/", "of the form"),
        ("https://app.example/a b", "of the form"),
        ("http://app.example/", "must be https"),
        ("http://10.0.0.1/", "must be https"),
        ("https://user:password@app.example/", "user name or password"),
    ],
)
def test_an_address_that_is_neither_https_nor_of_this_machine_is_refused(url: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as caught:
        Forwarder(url)
    assert "password@" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["https://app.example/x", "http://localhost:1", "http://a.localhost/", "http://127.0.0.9/", "http://[::1]:8/"],
)
async def test_an_address_of_this_machine_or_https_is_fine(url: str) -> None:
    forwarder = Forwarder(url)
    assert repr(forwarder) == f"Forwarder(<{forwarder.host}>)"
    await forwarder.aclose()
