"""The loop that every call goes through, against a real socket that misbehaves."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from socialapi import Client, errors
from socialapi.errors import OutcomeUnknown, RateLimited, ServerError, TransportError
from socialapi.routes import audiences
from socialapi.session.options import CallOptions
from socialapi.wire.retry import Attempt, RetryPolicy
from tests.support.clients import OPERATION, client_of
from tests.support.clock import VirtualClock, turns
from tests.support.requests import assemble
from tests.support.server import OK, Cut, Fault, Server, Step, answer

Call = Callable[[Client], Coroutine[Any, Any, Any]]


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


async def put(client: Client) -> Any:
    return await client.request("PUT", "/2/webhooks/1")


async def post(client: Client) -> Any:
    return await client.request("POST", "/2/webhooks", json={"url": "https://example.com"})


async def delete(client: Client) -> Any:
    return await client.ads.account("18ce5").do_not_reach_list("7b2f1").delete()


async def upload(client: Client) -> Any:
    return await client.ads.account("18ce5").custom_audience("4f2a").send([OPERATION])


REPEATABLE: list[Call] = [get, put, upload]
NOT_REPEATABLE: list[Call] = [post, delete]
ALL = REPEATABLE + NOT_REPEATABLE


def code(number: int | str) -> dict[str, Any]:
    return {"errors": [{"code": number, "message": "said by the test"}]}


# Waits


@pytest.mark.parametrize("call", ALL)
async def test_a_503_is_repeated_after_the_wait_it_asks_for(call: Call, clock: VirtualClock) -> None:
    """A service that is not available has executed nothing, so every call may be repeated."""
    done = answer({"data": {"id": "1", "success_count": 1, "total_count": 1}})
    async with Server(answer(status=503, Retry_After="7"), then=done) as server, client_of(server, clock) as client:
        await call(client)
    assert len(server.requests) == 2
    assert clock.sleeps == [8.0], "what was asked for, and a jitter of a second at most"


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry_After": "Fri, 15 Jan 2027 08:00:42 GMT"},
        {"x_rate_limit_reset": "1800000042"},
        {"x_rate_limit_reset": "1800000042000"},
        {"x_account_rate_limit_reset": "1800000042", "x_rate_limit_reset": "1800000900"},
        {"x_rate_limit_reset": "1799996442", "Date": "Fri, 15 Jan 2027 07:00:00 GMT"},
    ],
)
async def test_a_429_is_repeated_when_the_limit_starts_anew(headers: dict[str, str], clock: VirtualClock) -> None:
    async with Server(answer(code(88), status=429, **headers)) as server, client_of(server, clock) as client:
        await get(client)
    assert len(server.requests) == 2
    assert clock.sleeps == [43.0]


@pytest.mark.parametrize("headers", [{}, {"x_rate_limit_reset": "1700000000"}, {"x_rate_limit_reset": "soon"}])
async def test_a_429_for_ever_that_says_nothing_ends_after_the_attempts_allowed(
    headers: dict[str, str], clock: VirtualClock
) -> None:
    """A peer ended in RecursionError after 971 requests in 0.6 s, another in TypeError or ValueError."""
    refused = answer(code(88), status=429, **headers)
    async with Server(then=refused) as server, client_of(server, clock, retries=4) as client:
        with pytest.raises(RateLimited) as caught:
            await get(client)
    assert len(server.requests) == caught.value.attempts == 5
    assert clock.sleeps == [1.0, 2.0, 4.0, 8.0]
    assert str(caught.value) == "GET /2/tweets: 429 88: said by the test (after 5 attempts)"


async def test_a_429_that_asks_for_more_time_than_the_call_has_is_raised_at_once(clock: VirtualClock) -> None:
    async with (
        Server(then=answer(code(88), status=429, Retry_After="121")) as server,
        client_of(server, clock) as client,
    ):
        with pytest.raises(errors.RateLimitTooLong, match="frees up in 121 s") as caught:
            await get(client)
        assert clock.sleeps == []
        refusal = caught.value.__cause__
        assert isinstance(refusal, RateLimited)
        assert refusal.headers["retry-after"] == "121"
        with pytest.raises(errors.RateLimitTooLong, match="frees up in 121 s"):
            await get(client)
    assert len(server.requests) == 1, "the limit is known now: nothing is sent before its reset"


# What may be repeated


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.RESET, Cut(OK[:-5])])
@pytest.mark.parametrize("call", REPEATABLE)
async def test_a_lost_connection_is_repeated_where_that_is_safe(call: Call, fault: Step, clock: VirtualClock) -> None:
    async with Server(fault) as server, client_of(server, clock) as client:
        await call(client)
    assert len(server.requests) == 2


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.RESET, Cut(OK[:-5])])
@pytest.mark.parametrize("call", NOT_REPEATABLE)
async def test_a_lost_connection_is_not_repeated_where_it_may_have_been_executed(
    call: Call, fault: Step, clock: VirtualClock
) -> None:
    async with Server(fault) as server, client_of(server, clock) as client:
        with pytest.raises(OutcomeUnknown) as caught:
            await call(client)
    assert len(server.requests) == caught.value.attempts == 1
    assert caught.value.may_be_executed
    assert clock.sleeps == []


async def test_an_answer_that_is_not_accepted_names_its_request(clock: VirtualClock) -> None:
    lost = answer({"data": {"success_count": 0, "total_count": 1}}, x_transaction_id="t-1")
    async with Server(then=lost) as server, client_of(server, clock, retries=1) as client:
        with pytest.raises(errors.ApiError, match="counted 0 successes of 1") as caught:
            await upload(client)
    assert (caught.value.status, caught.value.request_id, caught.value.attempts) == (200, "t-1", 2)


async def test_a_service_that_is_not_there_is_asked_as_often_as_allowed_and_nothing_was_executed(
    clock: VirtualClock,
) -> None:
    async with Server() as server:
        gone = server.url
    async with client_of(gone, clock, retries=2) as client:
        with pytest.raises(TransportError) as caught:
            await post(client)
    assert type(caught.value) is TransportError
    assert not caught.value.may_be_executed
    assert caught.value.attempts == 3
    assert client.limits["POST /2/webhooks"].in_flight == 0


async def test_retries_can_be_switched_off(clock: VirtualClock) -> None:
    async with Server(then=answer(status=503)) as server, client_of(server, clock, retries=0) as client:
        with pytest.raises(ServerError):
            await get(client)
    assert len(server.requests) == 1


async def test_a_dead_service_is_not_hammered(clock: VirtualClock) -> None:
    """Twenty calls with four repeats each would be a hundred requests."""
    dead = Server(then=answer(status=503))
    async with dead as server, client_of(server, clock, retry_budget=10) as client:
        found = await asyncio.gather(*(get(client) for _ in range(20)), return_exceptions=True)
    assert {type(each) for each in found} == {ServerError}
    assert len(server.requests) == 30


async def test_a_job_goes_on_at_a_slower_pace_when_the_budget_is_used_up(clock: VirtualClock) -> None:
    policy = RetryPolicy(max_attempts=1, max_wait_seconds=960.0, max_elapsed_seconds=40.0)
    options = CallOptions(timeout_seconds=5.0, policy=policy, bulk=True)
    async with Server(then=answer(status=503)) as server, client_of(server, clock, retry_budget=2) as client:
        session = client._session
        request = assemble(
            audiences.CUSTOM_AUDIENCE_USERS.at(account_id="1", custom_audience_id="2"), session.config, {}, (b"[]",)
        )
        with pytest.raises(ServerError):
            await session.send(session.prepared(request, options=options))
    assert clock.sleeps == [0.25, 0.5, 10.0, 10.0, 10.0, 10.0]


# Connections


async def test_fifty_calls_one_after_another_use_one_connection(clock: VirtualClock) -> None:
    """A peer opened 50."""
    async with Server() as server, client_of(server, clock) as client:
        for _ in range(50):
            await get(client)
    assert (len(server.requests), server.connections) == (50, 1)


@pytest.mark.parametrize("fault", [Fault.CLOSE, Fault.RESET])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_nothing_is_repeated_behind_our_back_when_a_reused_connection_drops(
    method: Any, fault: Fault, clock: VirtualClock
) -> None:
    """aiohttp by itself sends GET, PUT and DELETE again, with the old signature."""
    async with Server(OK, fault) as server, client_of(server, clock, retries=0) as client:
        await client.request(method, "/12/cards/1", api="ads")
        with pytest.raises(OutcomeUnknown, match="the connection was lost before the answer"):
            await client.request(method, "/12/cards/1", api="ads")
        assert len(server.requests) == 2
        assert server.connections == 1


async def test_every_attempt_is_signed_anew(clock: VirtualClock) -> None:
    async with Server(answer(status=503, Retry_After="5"), Fault.CLOSE) as server, client_of(server, clock) as client:
        await upload(client)
    signatures = [
        dict(part.split("=", 1) for part in request.headers["authorization"].removeprefix("OAuth ").split(", "))
        for request in server.requests
    ]
    assert len({each["oauth_nonce"] for each in signatures}) == 3
    assert len({each["oauth_signature"] for each in signatures}) == 3
    assert [each["oauth_timestamp"] for each in signatures] == ['"1800000000"', '"1800000006"', '"1800000006"']


async def test_a_body_in_parts_arrives_in_one_piece_also_when_it_is_sent_again(clock: VirtualClock) -> None:
    parts = (b"[", b"x" * 300_000, b",", b"y" * 300_000, b"]")
    async with Server(Fault.RESET) as server, client_of(server, clock) as client:
        session = client._session
        target = audiences.CUSTOM_AUDIENCE_USERS.at(account_id="1", custom_audience_id="2")
        attempts: list[Attempt] = []
        request = assemble(target, session.config, {}, parts)
        reply = await session.send(session.prepared(request, options=client._options, observer=attempts.append))
    assert reply.ok
    assert [request.body for request in server.requests] == [b"".join(parts)] * 2
    assert server.requests[0].headers["content-type"] == "application/json"
    assert server.requests[0].headers["content-length"] == "600003"
    assert [(each.body_bytes, each.failure.executed if each.failure else None) for each in attempts] == [
        (600_003, "unknown"),
        (600_003, None),
    ]


# Limits


async def test_the_limits_of_a_client_are_what_the_service_said(clock: VirtualClock) -> None:
    said = answer({}, x_rate_limit_limit="15", x_rate_limit_remaining="14", x_rate_limit_reset="1800000900")
    async with Server(said) as server, client_of(server, clock) as client:
        assert client.limits == {}
        await get(client)
        status = client.limits["GET /2/tweets"]
    assert (status.limit, status.remaining, status.in_flight, status.resets_in_seconds) == (15, 14, 0, 900.0)


@pytest.mark.parametrize("call", [get, upload])
async def test_cancelling_a_call_on_its_way_ends_it_and_gives_its_place_back(call: Call, clock: VirtualClock) -> None:
    clock.busy = lambda: True
    async with Server(Fault.SILENCE) as server, client_of(server, clock) as client:
        calling = asyncio.create_task(call(client))
        while not server.requests:
            await turns(1)
        (status,) = client.limits.values()
        assert status.in_flight == 1
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        (status,) = client.limits.values()
        assert status.in_flight == 0
        await call(client)


async def test_a_call_that_is_cancelled_counts_as_sent_and_one_that_never_left_does_not(clock: VirtualClock) -> None:
    async with Server(Fault.SILENCE) as server, client_of(server, clock) as client:
        calling = asyncio.create_task(upload(client))
        while not server.requests:
            await turns(1)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        assert client.limits["custom_audience_uploads/18ce5"].remaining == 1_499
    async with Server() as server:
        gone = server.url
    async with client_of(gone, clock, retries=0) as client:
        with pytest.raises(TransportError):
            await upload(client)
        assert client.limits["custom_audience_uploads/18ce5"].remaining == 1_500


# Results


async def test_the_log_says_what_happened_to_each_attempt(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "socialapi")
    async with Server(answer(status=503, Retry_After="7")) as server, client_of(server, clock) as client:
        await get(client)
    said = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "socialapi"]
    assert said == [
        ("DEBUG", "GET /2/tweets: HTTP 503 in 0 ms (attempt 1)"),
        ("INFO", "GET /2/tweets: HTTP 503, retrying in 8.0 s"),
        ("DEBUG", "GET /2/tweets: 200 in 0 ms (attempt 2)"),
    ]
