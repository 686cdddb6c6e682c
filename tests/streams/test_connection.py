"""One connection: what had arrived is delivered, silence and slowness are noticed, and nothing is read ahead."""

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from socialapi.errors import DecodeError
from socialapi.session.clock import run_with_timeout
from socialapi.streams import SlowReading, Stream, Undecoded
from socialapi.streams.connection import Connection
from tests.support.clock import VirtualClock, turns
from tests.support.stream_server import (
    Act,
    End,
    Endless,
    Pause,
    StreamServer,
    post,
    posts_of,
    read_for,
)


def ids(items: list[Any]) -> list[str]:
    return [item.data.id for item in items]


async def take(stream: Stream[Any]) -> Any:
    """`anext` as a coroutine, which can be made a task."""
    return await anext(stream)


# Lines


@pytest.mark.parametrize("end", End)
async def test_what_had_arrived_before_the_break_is_delivered(end: End, clock: VirtualClock) -> None:
    """Also what nobody had read yet when the connection broke, which aiohttp would throw away."""
    lines = [post(number) for number in range(400)]
    async with (
        StreamServer(clock, [b"".join(lines[:1]), Pause(1.0), b"".join(lines[1:]), end], then=[post(1_000)]) as server,
        posts_of(server) as stream,
    ):
        items = [await anext(stream)]
        await clock.sleep(2.0)
        await turns(50)
        items += [await anext(stream) for _ in range(400)]
    assert ids(items) == [str(number) for number in range(400)] + ["1000"]


@pytest.mark.parametrize("end", End)
async def test_a_whole_last_line_is_delivered_without_its_newline_and_half_a_line_is_not(
    end: End, clock: VirtualClock
) -> None:
    whole, half, nested = post(1).rstrip(), post(2)[:20], b'{"data":{"id":"3","text":"x"}'
    async with StreamServer(clock, [whole, end], [half, end], [nested, end], [b"17", end], then=[post(9)]) as server:
        stream, items = await read_for(server, 45.0)
    assert ids(items) == ["1", "9"]
    assert stream.counters.undecoded == 0


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (b'{"data":{"id":"20","text":true}}', "cannot read the answer at data.text: expected a string"),
        (b'{"data":{"id":"20","text":"x"},{}', "is not JSON (at byte 31)"),
        (b'{"data":{"text":"x"}}', "cannot read the answer at data.id: is missing"),
        (b'["data"]', "is not a JSON object"),
    ],
)
async def test_one_that_cannot_be_read_among_many_that_came_with_it_is_handed_over_in_its_place(
    odd: bytes, reason: str, clock: VirtualClock
) -> None:
    before, behind = range(20), range(21, 41)
    lines = [*(post(number) for number in before), odd + b"\n", *(post(number) for number in behind)]
    async with StreamServer(clock, [b"".join(lines)]) as server:
        stream, items = await read_for(server, 10.0)
    assert items[20] == Undecoded(odd, reason=reason)
    assert ids(items[:20] + items[21:]) == [str(number) for number in [*before, *behind]]
    assert (stream.counters.items, stream.counters.undecoded) == (41, 1)


@pytest.mark.parametrize("script", [[b"x" * 2_001 + b"\n"], [b"x" * 500] * 5, [Endless(b"x" * 900)]])
async def test_a_line_beyond_the_bound_is_an_error_also_when_it_never_ends(
    script: list[Act], clock: VirtualClock
) -> None:
    async with StreamServer(clock, [post(1), *script]) as server:
        with pytest.raises(DecodeError, match="larger than the 2,000 bytes that max_line_bytes allows"):
            await read_for(server, 10.0, config={"max_line_bytes": 2_000})
        await turns(50)
        assert server.left == 1
    assert len(server.times) == 1


# Back-pressure and slowness


async def until_blocked(server: StreamServer) -> int:
    """How much a server that writes without end has got rid of when nothing goes any more."""
    before = -1
    while server.sent_bytes != before:
        before = server.sent_bytes
        await asyncio.sleep(0.02)  # the sockets of the machine, which know no virtual time
    return before


async def test_a_consumer_who_does_not_read_blocks_the_service_and_not_the_memory(clock: VirtualClock) -> None:
    block = b"".join(post(number) for number in range(100))
    async with StreamServer(clock, [Endless(block)]) as server, posts_of(server) as stream:
        clock.busy = lambda: True
        await anext(stream)
        blocked_at = await until_blocked(server)
        assert blocked_at < 20_000_000, "what the sockets hold"
        content = stream._link.connection._reply._response.content  # type: ignore[union-attr]
        assert content._size < 600_000, "what aiohttp holds: its bound, and one read of the socket beyond it"
        for _ in range(1_000):
            await anext(stream)
        assert len(stream._lines) < 6_000
        assert await until_blocked(server) < blocked_at + 5_000_000


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "socialapi" and each.levelname == "WARNING"]


async def test_an_application_that_does_not_come_back_is_warned_once(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    slow: list[SlowReading] = []
    async with (
        StreamServer(clock, [post(1), Pause(50.0), post(2), Pause(1.0), post(3)]) as server,
        posts_of(server, on_slow=slow.append) as stream,
    ):
        await anext(stream)
        await clock.sleep(9.0)
        assert slow == []
        await clock.sleep(100.0)
        assert slow == [SlowReading(seconds=10.0, waiting_for="consumer")]
        await anext(stream)
        await anext(stream)
        await clock.sleep(30.0)
        assert [each.waiting_for for each in slow] == ["consumer", "consumer"], "another episode"
    said = "read too slowly for 10 s (the application has not requested the next event); slow readers are cut off"
    assert warnings_of(caplog) == [f"/2/tweets/search/stream: {said}"] * 2


async def test_an_application_that_falls_behind_is_warned_once(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    slow: list[SlowReading] = []
    block = b"".join(post(number, padding="x" * 1_000) for number in range(100))
    async with (
        StreamServer(clock, [Endless(block)]) as server,
        posts_of(server, on_slow=slow.append, config={"slow_reader_seconds": 3.0}) as stream,
    ):
        clock.busy = lambda: True
        for _ in range(20_000):
            await anext(stream)
            if not (stream._lines and stream._unchecked):
                await until_blocked(server)
                clock.advance(0.5)
            if clock.monotonic() > 20.0:
                break
    (reading,) = slow
    assert reading.waiting_for == "throughput"
    assert 3.0 <= reading.seconds <= 4.0
    (said,) = warnings_of(caplog)
    assert "events arrive faster than they are processed" in said
    assert "post" not in said


async def test_a_consumer_that_is_slow_is_not_taken_for_a_silent_service(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), Pause(3.0), post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        await clock.sleep(1_000.0)
        assert ids([await anext(stream)]) == ["2"]
        assert stream.counters.connections == 1


async def test_a_consumer_who_waits_only_briefly_notices_silence_too(clock: VirtualClock) -> None:
    """Each of its reads began the time anew, so a dead connection was kept for ever."""
    slow: list[SlowReading] = []
    async with (
        StreamServer(clock, [post(1)], then=[post(2)]) as server,
        posts_of(server, on_slow=slow.append) as stream,
    ):
        items: list[Any] = []
        while len(items) < 2:
            with contextlib.suppress(TimeoutError):
                items.append(await run_with_timeout(clock, 0.4, take(stream), items.append))
    assert ids(items) == ["1", "2"]
    assert 20.0 <= server.times[1] <= 21.0
    assert slow == []


async def test_what_arrives_while_nobody_reads_ends_the_silence(clock: VirtualClock) -> None:
    more = asyncio.Event()
    async with StreamServer(clock, [post(1), more, post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        with pytest.raises(TimeoutError):
            await run_with_timeout(clock, 15.0, take(stream), print)
        clock.busy = lambda: True
        more.set()
        while stream._link.connection._reply.arrived_bytes < server.sent_bytes or server.sent_bytes == len(post(1)):  # type: ignore[union-attr]
            await turns(1)
        server.watch(stream)
        await clock.sleep(100.0)
        assert ids([await anext(stream)]) == ["2"]
        assert stream.counters.connections == 1


@pytest.mark.parametrize("kind", ["consumer", "throughput"])
async def test_an_error_of_on_slow_is_logged_and_costs_nothing(
    kind: str, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It ended the watch, so that silence was not noticed any more, or took the lines with it that were just read."""

    def on_slow(reading: SlowReading) -> None:
        raise BrokenPipeError("nobody listens")

    large = [post(number, padding="x" * 1_000) for number in range(1_000)]
    then: Any = [post(1_000)]
    config = {"slow_reader_seconds": 3.0}
    async with (
        StreamServer(clock, [post(9_999), *large], then=then) as server,
        posts_of(server, on_slow=on_slow, config=config) as stream,
    ):
        await anext(stream)
        if kind == "consumer":
            await clock.sleep(10.0)
        else:
            stream._link.connection._warn(3.0, consumer=False)  # type: ignore[union-attr]
        assert ids([await anext(stream) for _ in range(1_000)]) == [str(number) for number in range(1_000)]
        assert ids([await anext(stream)]) == ["1000"], "the silence of the first connection was noticed"
    assert "on_slow failed" in [each.getMessage() for each in caplog.records]


# Watching


async def test_a_watch_that_fails_takes_the_connection_with_it(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with StreamServer(clock, [post(1)], then=[post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        with monkeypatch.context() as patched:
            patched.setattr(Connection, "_note_if_empty", None)
            reading = asyncio.create_task(take(stream))
            connection = stream._link.connection
            assert connection is not None
            assert connection.watcher is not None
            await connection.watcher
        assert ids([await reading]) == ["2"]
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == [
        "the watcher of a connection failed; the connection is closed"
    ]


async def test_the_watch_is_over_with_its_connection(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with StreamServer(clock, [post(1), End.RESET], then=[post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        before = stream._link.connection
        await anext(stream)
        await turns(3)
        assert before is not None
        assert before.watcher is not None
        assert before.watcher.done()
        before.close()
        assert stream._link.connection is not before
