"""Connecting again: when, how often, and when not. Times are those of the requests, by a clock that never waits."""

import asyncio
import contextlib
import datetime
import itertools
import logging
import socket
from typing import Any, NoReturn

import aiohttp
import orjson
import pytest
from aiohttp.abc import AbstractResolver

from socialapi import AppOnly, Bearer, errors
from socialapi.errors import DecodeError, RateLimitTooLong, ServerError, StreamEnded, TransportError
from socialapi.problems import OperationalDisconnect, ResourceUnavailable, StreamingConnection, UsageCapped
from socialapi.session.clock import run_with_timeout
from socialapi.streams import Gap, MatchedPost, Stream, StreamNotice
from socialapi.streams.connection import CHECK_INTERVAL_SECONDS
from tests.support.clients import client_of
from tests.support.clock import START, VirtualClock, turns
from tests.support.server import Received, Server, answer
from tests.support.stream_server import (
    KEEP_ALIVE,
    SILENCE,
    Act,
    End,
    Pause,
    Script,
    StreamServer,
    notice,
    others,
    post,
    posts_of,
    problem,
    read_for,
    refusal,
)

FIVE_MINUTES = 300.0
MARGIN_SECONDS = 1.0


def gaps_between(times: list[float]) -> list[float]:
    return [round(after - before, 3) for before, after in itertools.pairwise(times)]


def at(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(START + seconds, datetime.UTC)


async def take(stream: Stream[MatchedPost]) -> Any:
    """`anext` as a coroutine, which can be made a task."""
    return await anext(stream)


def ids(items: list[Any]) -> list[str]:
    return [item.data.id for item in items]


# What must not become a storm


@pytest.mark.parametrize(
    "script",
    [
        [End.CLEAN],
        [End.CUT],
        [End.RESET],
        [b'{"data":{"id":"1","te', End.CUT],
        [b'{"data":{"id":"1","te', End.RESET],
        [KEEP_ALIVE, KEEP_ALIVE, End.CLEAN],
        [notice("operational-disconnect", disconnect_type="OperationalDisconnect"), End.CLEAN],
        [notice("about:blank"), End.CLEAN],
        answer(b"", status=204),
        refusal(503, problem("operational-disconnect", disconnect_type="UpstreamOperationalDisconnect")),
        refusal(400, problem("client-disconnected")),
    ],
)
async def test_a_service_that_hangs_up_without_data_is_connected_to_more_and_more_seldom(
    script: Script, clock: VirtualClock
) -> None:
    """Peers connected 17,485 and 3,971 times within two seconds, and 9,654 times within four."""
    async with StreamServer(clock, then=script) as server:
        await read_for(server, FIVE_MINUTES)
    assert gaps_between(server.times) == [5.0, 10.0, 20.0, 40.0, 80.0]
    assert len(server.times) <= 20


async def test_lost_connections_are_replaced_at_once_and_then_after_waits_that_grow_up_to_a_ceiling(
    clock: VirtualClock,
) -> None:
    async with StreamServer(clock, then=[post(1), End.RESET]) as server:
        await read_for(server, 1_000.0)
    waits = gaps_between(server.times)
    assert waits[:66] == [0.25 * count for count in range(65)] + [16.0]
    assert set(waits[66:]) == {16.0}


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_server_error_with_an_html_page_is_waited_out(status: int, clock: VirtualClock) -> None:
    """A peer raised ContentTypeError, and did not try again."""
    page = answer(b"<html>busy</html>", status=status, content_type="text/html")
    async with StreamServer(clock, then=page) as server:
        await read_for(server, 1_500.0)
    assert gaps_between(server.times) == [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 320.0, 320.0]


async def test_a_page_in_place_of_a_stream_is_named_and_waited_out(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    page = answer(b"\n<html>\n<title>Sign in</title></html>\n", content_type="text/html")
    async with StreamServer(clock, then=page) as server:
        await read_for(server, 100.0)
    assert gaps_between(server.times) == [5.0, 10.0, 20.0, 40.0]
    assert "a page instead of a stream: Sign in" in caplog.text


# When the schedules start anew


async def test_a_steady_connection_with_data_starts_the_schedule_of_lost_ones_anew(clock: VirtualClock) -> None:
    short: list[Act] = [post(1), End.RESET]
    steady: list[Act] = [post(1), Pause(15.0), KEEP_ALIVE, Pause(15.0), End.RESET]
    async with StreamServer(clock, short, short, short, steady, short, then=()) as server:
        await read_for(server, 60.0)
    assert server.times == [0.0, 0.0, 0.25, 0.75, 30.75, 31.0, 51.0 + 5.0], "the last one was silent"


# Waits that the service asks for


@pytest.mark.parametrize(
    ("refused", "seconds"),
    [
        (answer(status=503, Retry_After="77"), 77.0),
        (answer(status=503, Retry_After="2"), 5.0),
        (answer(status=503, Retry_After="Fri, 15 Jan 2027 08:01:17 GMT"), 77.0),
        (answer(status=429, Retry_After="77"), 77.0),
        (answer(status=429, x_rate_limit_reset="1800000900"), 900.0),
        (answer(status=429, x_rate_limit_reset="1800000010"), 60.0),
        (answer(status=429, x_rate_limit_reset="1700000000"), 60.0),
        (answer(status=500, x_rate_limit_reset="1800000900"), 5.0),
        (
            refusal(503, problem("streaming-connection", connection_issue="ProvisioningSubscription"), Retry_After="9"),
            9.0,
        ),
    ],
)
async def test_a_wait_that_the_service_asks_for_is_obeyed_where_it_is_longer(
    refused: bytes, seconds: float, clock: VirtualClock
) -> None:
    async with StreamServer(clock, refused) as server:
        await read_for(server, 1_000.0 if seconds == 900.0 else 100.0)
    assert server.times[:2] == [0.0, seconds]


@pytest.mark.parametrize("attempts_before", [0, 6])
async def test_the_longest_documented_window_is_waited_out_whatever_the_jitter_and_the_schedule_add(
    attempts_before: int, clock: VirtualClock
) -> None:
    full = answer(status=429, x_rate_limit_reset=str(int(START) + 900))
    async with (
        StreamServer(clock, *[answer(status=429)] * attempts_before, full) as server,
        client_of(server, clock) as client,
    ):
        stream = client.filtered_stream.connect()
        server.watch(stream)
        async with stream:
            assert stream.counters.attempts == attempts_before + 2


async def test_a_wait_that_is_too_long_is_an_error_that_says_until_when(clock: VirtualClock) -> None:
    async with StreamServer(clock, answer(status=429, Retry_After="961")) as server:
        with pytest.raises(RateLimitTooLong) as caught:
            await read_for(server, 2_000.0)
    assert caught.value.wait_seconds == 961.0
    assert caught.value.resets_at == at(961.0)
    assert isinstance(caught.value.__cause__, errors.RateLimited)
    assert server.times == [0.0]


async def test_a_limit_that_this_client_has_used_up_is_waited_out_without_asking(clock: VirtualClock) -> None:
    """The window is longer than other calls would wait."""
    used_up = (
        b"HTTP/1.1 200 OK\r\nx-rate-limit-limit: 2\r\nx-rate-limit-remaining: 0\r\nx-rate-limit-reset: 1800000900\r\n"
    )
    last = used_up + b"Content-Length: 0\r\n\r\n"
    async with StreamServer(clock, last) as server:
        stream, _ = await read_for(server, 1_000.0)
    assert len(server.times) >= 2
    assert 900.0 <= server.times[1] <= 910.0
    assert stream.counters.connections == 2 + len(server.times) - 2


# Without an answer


async def test_a_service_that_never_answers_is_left_after_the_stall_time(clock: VirtualClock) -> None:
    """A peer was still blocked after thirty seconds."""
    async with StreamServer(clock, SILENCE, SILENCE) as server:
        stream, _ = await read_for(server, 50.0)
    assert server.times == [0.0, 20.0, 40.25]
    assert server.left == 3, "the last one by ourselves"
    assert stream.counters.gaps == 0, "before the first connection nothing was promised"


async def test_a_service_that_falls_silent_is_left_after_the_stall_time(clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    async with StreamServer(clock, [post(1)], [post(2)]) as server:
        _, items = await read_for(server, 30.0, on_gap=gaps.append)
        await turns(50)
        assert server.left == 2
    assert ids(items) == ["1", "2"]
    assert server.times == [0.0, 20.0]
    assert [gap.reason for gap in gaps] == ["no data arrived for 20 s"]


@pytest.fixture
async def gone() -> str:
    """An address where nobody listens any more."""
    async with Server() as server:
        return server.url


async def refused_stream(url: str, clock: VirtualClock, seconds: float | None, **options: Any) -> Stream[MatchedPost]:
    async with client_of(url, clock, options=options) as client:
        stream = client.filtered_stream.connect(give_up_after_seconds=seconds)
        clock.busy = lambda: stream.state == "connecting"
        with pytest.raises(TransportError) as caught:
            await stream.__aenter__()
        assert type(caught.value) is TransportError
        assert stream.state == "closed"
        assert "could" in caught.value.reason or "name" in caught.value.reason
    return stream


async def test_a_service_that_cannot_be_reached_is_given_up_after_the_time_allowed(
    gone: str, clock: VirtualClock
) -> None:
    stream = await refused_stream(gone, clock, 10.0)
    assert clock.monotonic() == 10.0, "the last attempt is made at the end of it"
    assert stream.counters.attempts == 11


async def test_a_name_that_cannot_be_resolved_is_tried_again(clock: VirtualClock) -> None:
    class Nowhere(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> NoReturn:
            raise OSError(None, "no such name")

        async def close(self) -> None: ...

    async with aiohttp.TCPConnector(resolver=Nowhere()) as connector:
        stream = await refused_stream("https://api.example.com", clock, 1.0, connector=connector)
    assert stream.counters.attempts == 5


async def test_no_patience_means_one_more_attempt_and_no_wait(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), End.CUT], then=answer(status=503)) as server:
        with pytest.raises(ServerError):
            await read_for(server, 100.0, give_up_after_seconds=0.0)
    assert server.times == [0.0, 0.0]


async def test_the_patience_begins_anew_with_every_connection(clock: VirtualClock) -> None:
    busy = answer(status=503)
    async with StreamServer(clock, busy, [post(1), End.CUT], busy, then=busy) as server:
        with pytest.raises(ServerError) as caught:
            await read_for(server, 1_000.0, give_up_after_seconds=12.0)
    assert caught.value.status == 503
    assert server.times == [0.0, 5.0, 5.0, 10.0, 17.0]


async def test_a_wait_beyond_the_patience_is_cut_short_for_the_last_attempt(clock: VirtualClock) -> None:
    """It was given up at once, since the next attempt would have come too late."""
    async with StreamServer(clock, answer(status=503), then=[post(1)]) as server:
        _, items = await read_for(server, 10.0, give_up_after_seconds=4.9)
    assert (server.times, ids(items)) == ([0.0, 4.9], ["1"])


async def test_a_service_that_accepts_and_hangs_up_is_given_up_too(clock: VirtualClock) -> None:
    async with StreamServer(clock, then=[KEEP_ALIVE, Pause(2.0), End.CLEAN]) as server:
        with pytest.raises(TransportError, match="the service: the service closed the connection") as caught:
            await read_for(server, 100.0, give_up_after_seconds=4.9)
    assert type(caught.value) is TransportError
    assert server.times == [0.0, 6.9], "the time in which there was a connection does not count"


async def test_a_service_that_accepts_and_is_silent_is_given_up_too(clock: VirtualClock) -> None:
    async with StreamServer(clock) as server:
        with pytest.raises(TransportError):
            await read_for(server, 100.0, give_up_after_seconds=4.9)
    assert server.times == [0.0, 24.9]


async def test_keep_alives_for_a_while_are_a_connection(clock: VirtualClock) -> None:
    quiet: list[Act] = [KEEP_ALIVE, Pause(15.0), KEEP_ALIVE, Pause(15.0), End.CLEAN]
    async with StreamServer(clock, then=quiet) as server:
        stream, _ = await read_for(server, 150.0, give_up_after_seconds=4.9)
    assert stream.counters.connections == len(server.times) == 5


async def test_a_limit_that_lasts_longer_than_the_patience_is_an_error_after_it(clock: VirtualClock) -> None:
    async with StreamServer(clock, then=answer(status=429, Retry_After="900")) as server:
        with pytest.raises(RateLimitTooLong) as caught:
            await read_for(server, 100.0, give_up_after_seconds=30.0)
    assert caught.value.wait_seconds == 870.0
    assert server.times == [0.0], "the service is not asked before the time that it named"


# What the service says: on the stream

NETWORK = [0.0, 0.0]
HTTP = [0.0, 5.0]
FINAL = [0.0]

DISCONNECTS = {
    "OperationalDisconnect": NETWORK,
    "UpstreamOperationalDisconnect": NETWORK,
    "UpstreamUncleanDisconnect": NETWORK,
    "SlowReader": NETWORK,
    "ForceDisconnect": HTTP,
    "InternalError": HTTP,
    "ClientApplicationStateDegraded": HTTP,
    "InvalidRules": FINAL,
    "SomethingNew": HTTP,
}
ISSUES = {
    "TooManyConnections": FINAL,
    "ProvisioningSubscription": HTTP,
    "RuleConfigurationIssue": FINAL,
    "RulesInvalidIssue": FINAL,
    "SomethingNew": HTTP,
}


@pytest.mark.parametrize(("name", "times"), DISCONNECTS.items())
async def test_a_farewell_chooses_the_wait(name: str, times: list[float], clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    disconnect_notice = notice("operational-disconnect", disconnect_type=name)
    async with StreamServer(clock, [post(1), disconnect_notice, End.CLEAN]) as server:
        if times is FINAL:
            with pytest.raises(StreamEnded) as caught:
                await read_for(server, 19.0, on_gap=gaps.append)
            (said,) = caught.value.problems
            message = f"the service closed the connection: {name} (operational-disconnect, said by the test)"
            assert str(caught.value) == message
        else:
            _, items = await read_for(server, 19.0, on_gap=gaps.append)
            assert ids(items) == ["1"], "a farewell is told with the gap"
            said = gaps[0].problem  # type: ignore[assignment]
    assert isinstance(said, OperationalDisconnect)
    assert said.disconnect_type == name
    assert server.times == times
    (gap,) = gaps
    assert gap.reason == f"the service closed the connection: {name}"
    assert (gap.ended_at is None) == (times is FINAL)


@pytest.mark.parametrize(("name", "times"), ISSUES.items())
async def test_a_connection_issue_on_the_stream_chooses_the_wait(
    name: str, times: list[float], clock: VirtualClock
) -> None:
    said = notice("streaming-connection", connection_issue=name)
    async with StreamServer(clock, [said, End.CLEAN]) as server:
        if times is FINAL:
            with pytest.raises(StreamEnded) as caught:
                await read_for(server, 19.0)
            (found,) = caught.value.problems
            assert isinstance(found, StreamingConnection)
            assert found.connection_issue == name
        else:
            await read_for(server, 19.0)
    assert server.times == times


async def test_a_usage_cap_on_the_stream_is_final(clock: VirtualClock) -> None:
    said = notice("usage-capped", period="Monthly", scope="Product")
    async with StreamServer(clock, [post(1), said, End.CLEAN]) as server:
        with pytest.raises(StreamEnded) as caught:
            await read_for(server, 19.0)
    (found,) = caught.value.problems
    assert isinstance(found, UsageCapped)
    assert (found.period, found.scope) == ("Monthly", "Product")


async def test_the_service_that_says_that_we_left_is_connected_to_again(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), notice("client-disconnected"), End.CLEAN]) as server:
        await read_for(server, 19.0)
    assert server.times == NETWORK


# What the service says: instead of a stream


@pytest.mark.parametrize(("name", "times"), DISCONNECTS.items())
async def test_a_refusal_that_names_a_disconnect_is_never_followed_at_once(
    name: str, times: list[float], clock: VirtualClock
) -> None:
    refused = refusal(503, problem("operational-disconnect", disconnect_type=name))
    async with StreamServer(clock, refused) as server:
        if times is FINAL:
            with pytest.raises(ServerError):
                await read_for(server, 19.0)
            assert server.times == FINAL
        else:
            await read_for(server, 19.0)
            assert server.times == HTTP


TOO_MANY = refusal(429, problem("streaming-connection", connection_issue="TooManyConnections"))


@pytest.mark.parametrize(
    "broken",
    [[post(1), End.RESET], [post(1), End.CUT], [post(1)], [KEEP_ALIVE, End.RESET]],
    ids=["reset", "cut", "silent", "without data"],
)
async def test_too_many_connections_is_waited_out_while_the_service_may_still_count_one_of_ours(
    broken: list[Act], clock: VirtualClock
) -> None:
    async with StreamServer(clock, broken, TOO_MANY, TOO_MANY, then=[post(2)]) as server:
        stream, _ = await read_for(server, 60.0)
    assert stream.counters.connections >= 2
    assert gaps_between(server.times)[1] in (5.0, 10.0)


async def test_too_many_connections_is_waited_out_after_an_attempt_that_was_given_up(clock: VirtualClock) -> None:
    async with StreamServer(clock, SILENCE, TOO_MANY, then=[post(1)]) as server:
        _, items = await read_for(server, 30.0)
    assert server.times == [0.0, 20.0, 25.0]
    assert ids(items) == ["1"]


async def test_too_many_connections_is_final_when_it_lasts(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), End.RESET], then=TOO_MANY) as server:
        with pytest.raises(errors.RateLimited):
            await read_for(server, 1_000.0)
    assert server.times == [0.0, 0.0, 5.0, 15.0, 35.0, 75.0, 155.0]


@pytest.mark.parametrize("ended", [[post(1), End.CLEAN], [post(1), notice("operational-disconnect"), End.RESET]])
async def test_too_many_connections_is_final_where_the_service_itself_ended_the_last_one(
    ended: list[Act], clock: VirtualClock
) -> None:
    async with StreamServer(clock, ended, then=TOO_MANY) as server:
        with pytest.raises(errors.RateLimited):
            await read_for(server, 1_000.0)


# Tokens

DEAD = answer({"errors": [{"code": 89, "message": "Invalid or expired token."}]}, status=401)


async def test_a_dead_token_is_renewed_once_and_the_stream_goes_on(clock: VirtualClock) -> None:
    async with (
        StreamServer(clock, DEAD, [post(1), End.RESET], DEAD, then=[post(2)]) as server,
        client_of(server, clock, credentials=(AppOnly("key", "secret"),)) as client,
    ):
        stream = client.filtered_stream.connect()
        server.watch(stream)
        async with stream:
            assert ids([await anext(stream), await anext(stream)]) == ["1", "2"]
    assert server.times == [0.0, 0.0, 0.0, 0.0], "nothing waits for a new token"
    sent = [each.headers["authorization"] for each in server.requests if each.path != "/oauth2/token"]
    assert len(set(sent)) == 3
    assert sent[1] == sent[2]


async def test_a_token_that_is_dead_again_is_final(clock: VirtualClock) -> None:
    async with (
        StreamServer(clock, then=DEAD) as server,
        client_of(server, clock, credentials=(AppOnly("key", "secret"),)) as client,
    ):
        stream = client.filtered_stream.connect()
        server.watch(stream)
        with pytest.raises(errors.Unauthorized, match="89: Invalid or expired token"):
            await stream.__aenter__()
    assert len(server.times) == 2


async def test_a_bearer_token_that_is_dead_is_final(clock: VirtualClock) -> None:
    async with (
        StreamServer(clock, [post(1), End.CUT], then=DEAD) as server,
        client_of(server, clock, credentials=(Bearer("x"),)) as client,
    ):
        stream = client.filtered_stream.connect()
        server.watch(stream)
        async with stream:
            assert ids([await anext(stream)]) == ["1"]
            with pytest.raises(errors.Unauthorized):
                await anext(stream)
            assert stream.state == "closed"
            with pytest.raises(StopAsyncIteration):
                await anext(stream)


# Gaps


async def test_a_gap_is_told_before_the_first_item_behind_it(clock: VirtualClock) -> None:
    said: list[Any] = []
    script: list[Act] = [post(1), Pause(10.0), KEEP_ALIVE, Pause(5.0), End.RESET]
    async with (
        StreamServer(clock, script, answer(status=503), then=[post(2)]) as server,
        posts_of(server, on_gap=said.append) as stream,
    ):
        said.append(await anext(stream))
        said.append(await anext(stream))
    first, gap, second = said
    assert ids([first, second]) == ["1", "2"]
    reason = "the answer broke off"
    assert gap == Gap(
        started_at=at(9.0 - CHECK_INTERVAL_SECONDS),
        ended_at=at(20.0),
        reason=reason,
        after_id="1",
        problem=None,
        attempts=2,
    )
    assert stream.counters.gaps == 1


async def test_a_gap_is_waited_for_where_it_is_told_to_something_async(clock: VirtualClock) -> None:
    said: list[Any] = []

    async def on_gap(gap: Gap) -> None:
        await clock.sleep(3.0)
        said.append(gap.after_id)

    async with (
        StreamServer(clock, [post(1), End.RESET], then=[post(2)]) as server,
        posts_of(server, on_gap=on_gap) as stream,
    ):
        said += [await anext(stream), await anext(stream)]
    assert said[0] == "1"
    assert ids(said[1:]) == ["1", "2"]
    assert clock.monotonic() >= 3.0


async def test_a_gap_tells_by_what_it_began_and_not_by_what_it_went_on(clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    disconnect_notice = notice("operational-disconnect", disconnect_type="SlowReader")
    issue = problem("streaming-connection", connection_issue="ProvisioningSubscription")
    async with StreamServer(
        clock, [post(1), disconnect_notice, End.CLEAN], refusal(503, issue), then=[post(2)]
    ) as server:
        await read_for(server, 19.0, on_gap=gaps.append)
    (gap,) = gaps
    assert isinstance(gap.problem, OperationalDisconnect)
    assert gap.reason == "the service closed the connection: SlowReader"
    assert gap.attempts == 2


async def test_a_gap_without_an_end_is_told_before_the_error_is_raised(clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    async with StreamServer(clock, [post(1), Pause(7.0), post(2), End.CUT], then=answer(status=403)) as server:
        with pytest.raises(errors.Forbidden):
            await read_for(server, 19.0, on_gap=gaps.append)
    started_at = at(6.0 - CHECK_INTERVAL_SECONDS)
    assert gaps == [Gap(started_at=started_at, ended_at=None, reason="the answer broke off", after_id="2", attempts=1)]


async def test_before_the_first_connection_there_is_no_gap(clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    async with StreamServer(clock, answer(status=503), then=answer(status=403)) as server:
        with pytest.raises(errors.Forbidden):
            await read_for(server, 19.0, on_gap=gaps.append)
    assert gaps == []


async def test_what_waited_unread_may_have_hidden_more_so_the_gap_begins_before_it(clock: VirtualClock) -> None:
    gaps: list[Gap] = []
    more = asyncio.Event()
    script: list[Act] = [post(1), Pause(1.0), post(2), more, post(3), End.RESET]
    async with (
        StreamServer(clock, script, then=[post(4)]) as server,
        posts_of(server, on_gap=gaps.append, config={"gap_margin_seconds": 0}) as stream,
    ):
        assert ids([await anext(stream), await anext(stream)]) == ["1", "2"]
        await clock.sleep(8.0)
        more.set()
        await clock.sleep(1.0)
        assert ids([await anext(stream), await anext(stream)]) == ["3", "4"]
    assert [gap.started_at for gap in gaps] == [at(1.0 - CHECK_INTERVAL_SECONDS)]
    assert [gap.ended_at for gap in gaps] == [at(10.0)]


@pytest.mark.parametrize("end", [End.RESET, Pause(100.0)])
async def test_silence_before_the_break_is_part_of_the_gap(end: Act, clock: VirtualClock) -> None:
    """What was sent meanwhile may have been lost on its way; nobody could tell."""
    gaps: list[Gap] = []
    script: list[Act] = [post(1), Pause(15.0), KEEP_ALIVE, Pause(19.0), end]
    async with StreamServer(clock, script, then=[post(2)]) as server:
        await read_for(server, 50.0, on_gap=gaps.append)
    assert gaps[0].started_at == at(15.0 - CHECK_INTERVAL_SECONDS - MARGIN_SECONDS)


async def test_a_gap_begins_before_what_may_have_been_on_its_way_but_not_before_the_connection(
    clock: VirtualClock,
) -> None:
    gaps: list[Gap] = []
    first: list[Act] = [post(1), Pause(10.0), KEEP_ALIVE, Pause(2.0), End.RESET]
    second: list[Act] = [post(2), Pause(1.0), KEEP_ALIVE, End.RESET]
    async with StreamServer(clock, first, second, then=[post(3)]) as server:
        await read_for(server, 20.0, on_gap=gaps.append, config={"gap_margin_seconds": 4.0})
    assert [gap.started_at for gap in gaps] == [at(10.0 - CHECK_INTERVAL_SECONDS - 4.0), at(12.0)]


async def test_a_gap_does_not_begin_late_where_the_wall_clock_is_put_back(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps: list[Gap] = []
    later = asyncio.Event()
    async with (
        StreamServer(clock, [post(1), Pause(1.0), later, post(2), End.RESET], then=[post(3)]) as server,
        posts_of(server, on_gap=gaps.append) as stream,
    ):
        await anext(stream)
        monkeypatch.setattr(clock, "_start", START - 3_600.0)
        later.set()
        await anext(stream)
        await anext(stream)
    assert gaps[0].started_at <= at(1.0 - 3_600.0)


async def test_an_error_of_on_gap_is_raised_and_the_stream_can_go_on(clock: VirtualClock) -> None:
    def on_gap(gap: Gap) -> None:
        raise KeyError("the application's own")

    async with (
        StreamServer(clock, [post(1), End.RESET], then=[post(2)]) as server,
        posts_of(server, on_gap=on_gap) as stream,
    ):
        await anext(stream)
        with pytest.raises(KeyError, match="own"):
            await anext(stream)
        assert ids([await anext(stream)]) == ["2"]


async def test_an_error_of_on_gap_does_not_undo_a_final_end(clock: VirtualClock) -> None:
    def on_gap(gap: Gap) -> None:
        raise OSError("the disk is full")

    disconnect_notice = notice("operational-disconnect", disconnect_type="InvalidRules")
    async with (
        StreamServer(clock, [post(1), disconnect_notice, End.CLEAN], then=[post(2)]) as server,
        posts_of(server, on_gap=on_gap) as stream,
    ):
        await anext(stream)
        with pytest.raises(StreamEnded) as caught:
            await anext(stream)
        assert caught.value.__notes__ == ["on_gap raised OSError"]
        assert str(caught.value.__context__) == "the disk is full"
        assert stream.state == "closed"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
    assert server.times == FINAL


# Being impatient


async def test_somebody_who_waits_only_briefly_again_and_again_is_connected_all_the_same(
    clock: VirtualClock,
) -> None:
    """An attempt that began anew with every call would never come to its end, and there would be one for each."""
    gaps: list[Gap] = []
    items: list[Any] = []

    async def on_gap(gap: Gap) -> None:
        await clock.sleep(1.0)
        gaps.append(gap)

    async with (
        StreamServer(clock, [post(1), End.RESET], SILENCE, answer(status=503), then=[post(2)]) as server,
        posts_of(server, on_gap=on_gap) as stream,
    ):
        while len(items) < 2:
            with contextlib.suppress(TimeoutError):
                items.append(await run_with_timeout(clock, 0.1, take(stream), items.append))
    assert ids(items) == ["1", "2"]
    assert server.times == [0.0, 0.0, 20.25, 25.25]
    assert [gap.attempts for gap in gaps] == [3]


@pytest.mark.parametrize("turn", range(0, 60, 3))
async def test_closing_ends_whatever_it_is_doing(turn: int, clock: VirtualClock) -> None:
    """Whoever iterates in another task is at the end; nothing is connected again."""
    async with (
        StreamServer(clock, [post(1), End.RESET], SILENCE, answer(status=503), then=answer(status=503)) as server,
        client_of(server, clock) as client,
    ):
        stream = client.filtered_stream.connect()
        server.watch(stream)

        async def read() -> None:
            async with stream:
                async for _ in stream:
                    pass

        reading = asyncio.create_task(read())
        while stream.state == "new":
            await turns(1)
        await turns(turn)
        await stream.aclose()
        await stream.aclose()
        await asyncio.wait_for(reading, 5.0)
        attempts = stream.counters.attempts
        assert stream.state == "closed"
        await clock.sleep(1_000.0)
        assert stream.counters.attempts == attempts
    assert others() == set()


async def test_on_gap_may_close_the_stream(clock: VirtualClock) -> None:
    async def on_gap(gap: Gap) -> None:
        await stream.aclose()

    async with (
        StreamServer(clock, [post(1), End.RESET], then=[post(2)]) as server,
        posts_of(server, on_gap=on_gap) as stream,
    ):
        assert ids([item async for item in stream]) == ["1"]


async def test_a_final_error_waits_for_somebody_who_was_impatient(clock: VirtualClock) -> None:
    async with (
        StreamServer(clock, [post(1), End.RESET], answer(status=503), then=answer(status=403)) as server,
        posts_of(server) as stream,
    ):
        await anext(stream)
        with pytest.raises(TimeoutError):
            await run_with_timeout(clock, 1.0, take(stream), print)
        await clock.sleep(10.0)
        assert len(server.times) == 3
        with pytest.raises(errors.Forbidden):
            await anext(stream)
        assert stream.state == "closed"


# What it says about itself


async def test_the_log_tells_why_and_when_it_connects_again_and_nothing_else(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "socialapi")
    async with StreamServer(clock, [post(1), End.RESET], answer(status=503), then=[post(2)]) as server:
        await read_for(server, 10.0)
    assert [(each.levelname, each.getMessage()) for each in caplog.records if each.name == "socialapi"] == [
        ("INFO", "/2/tweets/search/stream: connected"),
        ("WARNING", "/2/tweets/search/stream: the answer broke off; connecting again in 0.0 s"),
        ("WARNING", "/2/tweets/search/stream: HTTP 503; connecting again in 5.0 s"),
        ("INFO", "/2/tweets/search/stream: connected"),
    ]


async def test_the_state_can_be_watched(clock: VirtualClock) -> None:
    seen: list[str] = []

    def busy(received: Received) -> bytes:
        seen.append(stream.state)
        return answer(status=503)

    async with StreamServer(clock, busy, then=[post(1)]) as server, client_of(server, clock) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        seen.append(stream.state)
        entering = asyncio.create_task(stream.__aenter__())
        await clock.sleep(2.0)
        seen.append(stream.state)
        await entering
        seen.append(stream.state)
        await stream.aclose()
        seen.append(stream.state)
    assert seen == ["new", "connecting", "waiting", "connected", "closed"]


async def test_a_quiet_stream_that_breaks_once_an_hour_is_connected_to_soon_each_time(clock: VirtualClock) -> None:
    quiet: list[Act] = [each for _ in range(360) for each in (Pause(10.0), KEEP_ALIVE)]
    async with StreamServer(clock, then=[*quiet, End.CUT]) as server:
        await read_for(server, 6 * 3_600.0 + 100.0)
        waits = [after - before - 3_600.0 for before, after in itertools.pairwise(server.times)]
    assert len(waits) == 6
    assert all(5.0 <= wait <= 5.5 for wait in waits)


async def test_a_service_that_says_farewell_and_does_not_hang_up_is_left(clock: VirtualClock) -> None:
    disconnect_notice = notice("operational-disconnect", disconnect_type="InvalidRules")
    async with StreamServer(clock, [post(1), disconnect_notice, Pause(10.0), KEEP_ALIVE, Pause(1_000.0)]) as server:
        with pytest.raises(StreamEnded):
            await read_for(server, 5.0)


# The last line, and a farewell in it


async def test_a_farewell_without_a_newline_ends_its_own_connection_and_no_other(clock: VirtualClock) -> None:
    """It was remembered, and ended the next connection that broke."""
    disconnect_notice = notice("operational-disconnect", disconnect_type="InvalidRules").rstrip()
    gaps: list[Gap] = []
    async with StreamServer(clock, [post(1), disconnect_notice, End.CLEAN], then=[post(2)]) as server:
        with pytest.raises(StreamEnded, match="the service closed the connection: InvalidRules"):
            await read_for(server, 30.0, on_gap=gaps.append)
    assert server.times == FINAL
    assert isinstance(gaps[0].problem, OperationalDisconnect)


async def test_an_answer_of_one_problem_ends_as_that_problem(clock: VirtualClock) -> None:
    said = notice("usage-capped", period="Daily").rstrip()
    async with StreamServer(clock, [said, End.CLEAN]) as server:
        with pytest.raises(StreamEnded, match="a usage cap is reached") as caught:
            await read_for(server, 30.0)
    assert isinstance(caught.value.problems[0], UsageCapped)
    assert server.times == FINAL


async def test_an_event_without_a_newline_was_the_use_of_its_connection(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1).rstrip(), End.CUT], then=[post(2)]) as server:
        _, items = await read_for(server, 3.0)
    assert ids(items) == ["1", "2"]
    assert server.times == NETWORK


async def test_what_is_said_beside_a_farewell_is_handed_out(clock: VirtualClock) -> None:
    both = [problem("resource-unavailable"), problem("operational-disconnect", disconnect_type="SlowReader")]
    gaps: list[Gap] = []
    line = orjson.dumps({"errors": both})
    async with StreamServer(clock, [post(1), line + b"\n", End.CLEAN], then=[post(2)]) as server:
        _, (first, said, second) = await read_for(server, 10.0, on_gap=gaps.append)
    assert ids([first, second]) == ["1", "2"]
    assert isinstance(said, StreamNotice)
    assert [type(each) for each in said.problems] == [ResourceUnavailable]
    assert said.content == line
    assert isinstance(gaps[0].problem, OperationalDisconnect)


# Lines that are too long


async def test_what_came_before_a_line_that_is_too_long_is_handed_out_and_the_gap_is_told(clock: VirtualClock) -> None:
    told: list[Any] = []
    script: list[Act] = [post(1) + post(2) + b"x" * 2_001]
    async with (
        StreamServer(clock, script) as server,
        posts_of(server, on_gap=told.append, config={"max_line_bytes": 2_000}) as stream,
    ):
        assert ids([await anext(stream), await anext(stream)]) == ["1", "2"]
        with pytest.raises(DecodeError, match="larger than the 2,000 bytes"):
            await anext(stream)
        assert stream.state == "closed"
        assert stream.counters.received_bytes == server.sent_bytes
    (gap,) = told
    assert (gap.ended_at, gap.after_id) == (None, "2")
    assert "max_line_bytes" in gap.reason
