"""A stream as an application uses it: entering, iterating, cancelling, closing, and what it tells."""

import asyncio
import contextlib
from typing import Any

import orjson
import pytest

from socialapi import Fields
from socialapi.errors import Forbidden, InvalidInput, StreamEnded
from socialapi.problems import Problem
from socialapi.session.clock import run_with_timeout
from socialapi.streams import Gap, MatchedPost, Stream, StreamCounters, StreamNotice, Undecoded
from socialapi.streams.stream import REMEMBERED_IDS
from tests.support.clients import client_of
from tests.support.clock import VirtualClock, turns
from tests.support.server import Received, answer
from tests.support.stream_server import (
    KEEP_ALIVE,
    SILENCE,
    Act,
    End,
    Pause,
    StreamServer,
    clients_of,
    notice,
    others,
    post,
    posts_of,
    read_for,
    refusal,
)


def ids(items: list[Any]) -> list[str]:
    return [item.data.id for item in items]


async def take(stream: Stream[Any]) -> Any:
    """`anext` as a coroutine, which can be made a task."""
    return await anext(stream)


def sent(server: StreamServer) -> Received:
    (request,) = server.requests
    return request


# Entering and leaving


async def test_a_stream_is_iterated_while_it_is_entered(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1)]) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        states = [stream.state]
        with pytest.raises(RuntimeError, match=r"connected by `async with stream:`"):
            await anext(stream)
        async with stream as entered:
            assert entered is stream
            states.append(stream.state)
            with pytest.raises(RuntimeError, match="entered only once"):
                await stream.__aenter__()
            assert ids([await anext(stream)]) == ["1"]
        assert [*states, stream.state] == ["new", "connected", "closed"]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        with pytest.raises(RuntimeError, match="entered only once"):
            await stream.__aenter__()
        await stream.aclose()


async def test_nothing_is_left_over_at_the_end_and_the_service_sees_it(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), End.RESET], [post(2)]) as server:
        async with posts_of(server) as stream:
            assert ids([await anext(stream), await anext(stream)]) == ["1", "2"]
            assert len(others()) == 1, "the watch"
        assert others() == set()
        while server.left == 0:
            await turns(1)


async def test_a_stream_that_is_closed_hands_out_nothing_that_waited(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1) + post(2)]) as server, posts_of(server) as stream:
        await anext(stream)
        await stream.aclose()
        assert [item async for item in stream] == []


async def test_an_error_while_entering_closes_it(clock: VirtualClock) -> None:
    async with StreamServer(clock) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect(backfill_minutes=6)
        with pytest.raises(InvalidInput, match="backfill_minutes"):
            async with stream:
                pass
        assert stream.state == "closed"
    assert server.requests == []


@pytest.mark.parametrize("script", [[post(1)], SILENCE, answer(status=503)], ids=["reading", "connecting", "waiting"])
async def test_a_cancelled_consumer_is_cancelled_at_once_and_the_connection_closed(script: Any) -> None:
    """A peer swallowed the cancellation."""
    async with StreamServer(VirtualClock(), script) as server, client_of(server) as client:

        async def consume() -> None:
            async with client.filtered_stream.connect() as stream:
                async for _ in stream:
                    pass

        consuming = asyncio.create_task(consume())
        while not server.requests:
            await turns(1)
        await turns(30)
        consuming.cancel()
        await turns(30)
        assert consuming.cancelled()
        assert others() == set()
        if not isinstance(script, bytes) or script == SILENCE:
            while server.left == 0:
                await turns(1)


async def test_a_client_that_is_closed_ends_its_streams_at_once(clock: VirtualClock) -> None:
    """aiohttp would leave who reads waiting, for ever."""
    async with StreamServer(clock, [post(1)]) as server:
        async with clients_of(server) as client:
            stream = client.filtered_stream.connect()
            await stream.__aenter__()
            await anext(stream)
            clock.busy = lambda: True
            reading = asyncio.create_task(take(stream))
            await turns(5)
        with pytest.raises(RuntimeError, match="this client is closed"):
            await asyncio.wait_for(reading, 5.0)
        await stream.aclose()
    assert others() == set()


async def test_a_stream_that_is_read_after_its_client_was_closed_says_so_at_once(clock: VirtualClock) -> None:
    """It was noticed only when the next attempt was due."""
    async with StreamServer(clock, [KEEP_ALIVE]) as server:
        async with clients_of(server) as client:
            stream = client.filtered_stream.connect()
            await stream.__aenter__()
        before = clock.monotonic()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="this client is closed"):
                await anext(stream)
        assert clock.monotonic() == before
        await stream.aclose()
    assert others() == set()


@pytest.mark.parametrize("script", [SILENCE, answer(status=503)], ids=["connecting", "waiting"])
async def test_a_client_that_is_closed_ends_the_attempts_of_its_streams(script: Any, clock: VirtualClock) -> None:
    async with StreamServer(clock, script) as server:
        async with clients_of(server) as client:
            stream = client.filtered_stream.connect()
            clock.busy = lambda: True
            entering = asyncio.create_task(stream.__aenter__())
            while not server.requests:
                await turns(1)
            await turns(20)
        with pytest.raises(RuntimeError, match="this client is closed"):
            await asyncio.wait_for(entering, 5.0)
        assert stream.state == "closed"
    assert others() == set()


# Cancelling loses nothing

NUMBERS = [str(number) for number in range(1, 13)]


async def consume_impatiently(timeouts: list[int]) -> tuple[list[str], list[Gap], StreamCounters]:
    """Asks for the next post again and again, each time for so many turns of the loop, then cancels it."""
    clock = VirtualClock()
    gaps: list[Gap] = []
    scripts: list[Any] = [
        [post(1) + post(2)[:10], post(2)[10:], post(3), End.RESET],
        answer(status=503),
        [post(4), KEEP_ALIVE + post(5) + post(6), End.CUT],
        [post(7), post(8)[:-2], End.CLEAN],
        [post(9), Pause(3.0), post(10), post(11) + post(12)],
    ]
    items: list[Any] = []
    async with StreamServer(clock, *scripts) as server, posts_of(server, on_gap=gaps.append) as stream:
        for count in range(100_000):
            reading = asyncio.create_task(take(stream))
            for _ in range(timeouts[count % len(timeouts)]):
                await asyncio.sleep(0)
            reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                items.append(await reading)
            if len(items) == len(NUMBERS):
                break
            if count % 50 == 49:
                await clock.sleep(0.5)
        return ids(items), gaps, stream.counters


@pytest.mark.parametrize("timeouts", range(1, 12))
async def test_cancelling_at_every_turn_loses_and_repeats_nothing(timeouts: int) -> None:
    items, gaps, counters = await consume_impatiently([timeouts])
    assert items == NUMBERS
    assert [gap.after_id for gap in gaps] == ["3", "6", "8"]
    assert (counters.attempts, counters.connections) == (5, 4)


async def test_of_two_who_read_at_once_the_second_is_told_so_and_the_first_goes_on(clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1), End.RESET], then=[post(2), Pause(1.0), post(3)]) as server:
        async with posts_of(server) as stream:
            await anext(stream)
            found = await asyncio.gather(take(stream), take(stream), return_exceptions=True)
            assert ids([found[0], await anext(stream)]) == ["2", "3"]
        assert stream.counters.connections == 2
    assert [type(each) for each in found] == [MatchedPost, RuntimeError]
    assert "another task is reading this stream" in str(found[1])


@pytest.mark.parametrize("is_busy", [False, True], ids=["it waits for an item", "it handles one"])
async def test_a_stream_that_runs_is_left_alone_by_a_second_run(is_busy: bool, clock: VirtualClock) -> None:
    found: list[Any] = []
    going_on = asyncio.Event()

    async def handle(item: Any) -> None:
        found.append(item)
        await going_on.wait()

    async with StreamServer(clock, [post(1), Pause(5.0), post(2)]) as server, posts_of(server) as stream:
        running = asyncio.create_task(stream.run(handle))
        await clock.sleep(1.0)
        if not is_busy:
            going_on.set()
            await clock.sleep(1.0)
        with pytest.raises(RuntimeError, match="another task is reading this stream"):
            await stream.run(found.append)
        going_on.set()
        await clock.sleep(10.0)
        assert (ids(found), stream.state, running.done()) == (["1", "2"], "connected", False)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("handler", [None, "print", 5, MatchedPost])
async def test_run_refuses_what_is_no_function_before_it_connects(handler: Any, clock: VirtualClock) -> None:
    async with StreamServer(clock, [post(1)]) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        with pytest.raises(InvalidInput, match="handler must be a function, not "):
            await stream.run(handler)
        assert (stream.state, server.requests) == ("new", [])


# What it hands out, and counts


async def test_notices_are_handed_out_and_do_not_count_as_data(clock: VirtualClock) -> None:
    bare = b'{"title":"Slow down","detail":"soon","type":"about:blank"}\n'
    async with StreamServer(clock, [notice("resource-unavailable"), bare, End.CLEAN], then=()) as server:
        stream, (first, second) = await read_for(server, 19.0)
    assert isinstance(first, StreamNotice)
    assert isinstance(second, StreamNotice)
    assert [each.slug for each in first.problems if isinstance(each, Problem)] == ["resource-unavailable"]
    assert second.content == bare.rstrip()
    assert server.times == [0.0, 5.0]
    assert stream.counters.items == 2


async def test_everything_is_counted(clock: VirtualClock) -> None:
    first: list[Act] = [KEEP_ALIVE, post(1), b"?\n", notice("about:blank"), KEEP_ALIVE, End.CUT]
    second: list[Act] = [post(2)]
    async with StreamServer(clock, first, answer(status=503), then=second) as server:
        stream, _ = await read_for(server, 10.0)
    size = sum(len(act) for act in [*first, *second] if isinstance(act, bytes))
    assert stream.counters == StreamCounters(
        attempts=3, connections=2, items=4, undecoded=1, repeated=0, keep_alives=2, gaps=1, received_bytes=size
    )


async def test_what_a_backfill_repeats_is_left_out(clock: VirtualClock) -> None:
    async with StreamServer(
        clock, [post(1), post(2), End.CUT], [post(1), post(2), post(3), End.CUT], then=[post(3), post(2), post(4)]
    ) as server:
        stream, items = await read_for(server, 10.0, backfill_minutes=2)
    assert ids(items) == ["1", "2", "3", "4"]
    assert stream.counters.repeated == 4
    assert {request.path for request in server.requests} == {"/2/tweets/search/stream?backfill_minutes=2"}


async def test_ids_are_remembered_up_to_a_bound(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialapi.streams.stream.REMEMBERED_IDS", 2)
    async with StreamServer(clock, [post(1), post(2), post(3), post(1), post(3)]) as server:
        stream, items = await read_for(server, 10.0, backfill_minutes=1)
        assert len(stream._seen or ()) == 2
    assert ids(items) == ["1", "2", "3", "1"]


def test_a_backfill_of_a_busy_stream_is_recognised() -> None:
    assert REMEMBERED_IDS == 100_000


async def test_two_kinds_of_events_with_one_id_are_no_repeats(clock: VirtualClock) -> None:
    lines = [b'{"data":{"event_type":"post.%b","event_id":"7"}}\n' % name for name in (b"create", b"delete", b"create")]
    async with StreamServer(clock, lines) as server, clients_of(server) as client:
        stream = client.activity.stream(backfill_minutes=1)
        server.watch(stream)
        async with stream:
            found: Any = [await anext(stream), await anext(stream)]
            await clock.sleep(1.0)
            with pytest.raises(TimeoutError):
                await run_with_timeout(clock, 1.0, take(stream), print)
    assert [each.event_type for each in found] == ["post.create", "post.delete"]
    assert stream.counters.repeated == 1


def activity(number: int | None, **further: Any) -> bytes:
    identity = {} if number is None else {"event_uuid": number}
    return orjson.dumps({"data": {"event_type": "post.create", **identity}, **further}) + b"\r\n"


async def read_activity(server: StreamServer, count: int, **options: Any) -> list[Any]:
    async with clients_of(server) as client:
        stream = client.activity.stream(**options)
        server.watch(stream)
        async with stream:
            return [await anext(stream) for _ in range(count)]


async def test_where_the_ids_are_can_be_told_and_then_repeats_are_recognised_without_a_backfill(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [activity(None, uid=uid) for uid in (1, 2, 1, 3)]
    async with StreamServer(clock, lines) as server:
        found = await read_activity(server, 3, event_id_paths=["meta.uid", "uid"])
    assert [each.event_id for each in found] == ["1", "2", "3"]
    assert not caplog.records
    texts = [post(number, text=text) for number, text in ((1, "a"), (2, "a"), (3, "b"))]
    async with StreamServer(clock, texts) as server, posts_of(server, event_id_paths="text") as stream:
        assert ids([await anext(stream), await anext(stream)]) == ["1", "3"]


async def test_events_without_an_id_are_handed_out_and_warned_of_once(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [b'{"for_user_id":"1","tweet_create_events":[{"id":5}]}\n'] * 2 + [activity(None), activity(1)]
    async with StreamServer(clock, lines) as server:
        found = await read_activity(server, 4, backfill_minutes=1)
    assert [each.event_id for each in found] == [None, None, None, "1"]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.message.startswith("/2/activity/stream: an event has no id: it is delivered, but duplicates")


async def test_a_path_that_is_none_is_refused(clock: VirtualClock) -> None:
    async with StreamServer(clock) as server, clients_of(server) as client:
        with pytest.raises(InvalidInput, match="event_id_paths"):
            client.activity.stream(event_id_paths=[])
        with pytest.raises(InvalidInput, match="event_id_paths"):
            client.filtered_stream.connect(event_id_paths=[5])  # type: ignore[list-item]  # what is wrong with it


async def test_lines_of_blanks_are_keep_alives(clock: VirtualClock) -> None:
    async with StreamServer(clock, [b" \n", b"\t\r\n", post(1)]) as server, posts_of(server) as stream:
        assert ids([await anext(stream)]) == ["1"]
        assert (stream.counters.keep_alives, stream.counters.undecoded) == (2, 0)


# Running it with a function


async def test_run_gives_every_item_to_a_function_until_it_is_cancelled(clock: VirtualClock) -> None:
    found: list[Any] = []
    lines = [post(1), notice("resource-unavailable"), b"junk\n", post(2)]
    async with StreamServer(clock, lines) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        running = asyncio.create_task(stream.run(found.append))
        await clock.sleep(1.0)
        assert [type(each) for each in found] == [MatchedPost, StreamNotice, Undecoded, MatchedPost]
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert stream.state == "closed"


@pytest.mark.parametrize("is_async", [False, True])
async def test_run_gives_nothing_more_to_a_function_that_has_cancelled_it(clock: VirtualClock, is_async: bool) -> None:
    """What had arrived with the item was given to it before the cancellation was raised."""
    found: list[Any] = []

    def handle(item: Any) -> None:
        found.append(item)
        running.cancel()

    async def handle_async(item: Any) -> None:
        handle(item)

    async with StreamServer(clock, [post(1) + post(2)]) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        running = asyncio.create_task(stream.run(handle_async if is_async else handle))
        with pytest.raises(asyncio.CancelledError):
            await running
    assert ids(found) == ["1"]


async def test_run_waits_for_an_async_function_and_takes_no_item_before_that(clock: VirtualClock) -> None:
    order: list[str] = []

    async def handle(item: Any) -> None:
        order.append(f"begin {item.data.id}")
        await clock.sleep(0.1)
        order.append(f"end {item.data.id}")

    async with StreamServer(clock, [post(1), post(2)]) as server, posts_of(server) as stream:
        with pytest.raises(TimeoutError):
            await run_with_timeout(clock, 1.0, stream.run(handle), print)
    assert order == ["begin 1", "end 1", "begin 2", "end 2"]


async def test_run_raises_what_ends_the_stream_into_its_owner(clock: VirtualClock) -> None:
    script: list[Act] = [post(1), notice("operational-disconnect", disconnect_type="InvalidRules"), End.CLEAN]
    async with StreamServer(clock, script) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        found: list[Any] = []

        async def program() -> None:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(stream.run(found.append))
                tasks.create_task(asyncio.Event().wait())  # which is cancelled by it

        with pytest.raises(ExceptionGroup) as caught:
            await program()
        assert [type(each) for each in caught.value.exceptions] == [StreamEnded]
        assert (ids(found), stream.state) == (["1"], "closed")


async def test_run_raises_what_the_function_raises_and_closes_the_stream(clock: VirtualClock) -> None:
    def handle(item: Any) -> None:
        raise ZeroDivisionError

    async with StreamServer(clock, [post(1)]) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        with pytest.raises(ZeroDivisionError):
            await stream.run(handle)
        assert stream.state == "closed"
        with pytest.raises(RuntimeError):
            await stream.__aenter__()


async def test_run_raises_what_connecting_raises(clock: VirtualClock) -> None:
    async with StreamServer(clock, refusal(403)) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        with pytest.raises(Forbidden):
            await stream.run(print)
        assert stream.state == "closed"


# What is asked for


async def test_parameters_are_sent_as_they_are(clock: VirtualClock) -> None:
    fields = Fields(post=["author_id", "created_at"], expansions=["author_id"])
    async with (
        StreamServer(clock) as server,
        clients_of(server) as client,
        client.filtered_stream.connect(fields, backfill_minutes=5, partition=3),
    ):
        pass
    request = sent(server)
    path, _, query = request.path.partition("?")
    assert (request.method, path) == ("GET", "/2/tweets/search/stream")
    assert sorted(query.split("&")) == [
        "backfill_minutes=5",
        "expansions=author_id",
        "partition=3",
        "tweet.fields=author_id%2Ccreated_at",
    ]
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["authorization"] == "Bearer bearer-token"
