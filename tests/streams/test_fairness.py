"""A stream that brings much at once leaves others their turns on the event loop."""

import asyncio
import itertools

import orjson
import pytest

from socialapi.internal import fairness
from socialapi.streams import MatchedPost, Stream
from socialapi.streams import stream as stream_module
from tests.support.clock import VirtualClock
from tests.support.stream_server import KEEP_ALIVE, StreamServer, clients_of, post

LONGEST_SECONDS = 0.005


class WorkClock(VirtualClock):
    """Time passes by work alone: so long for every line that a stream has taken."""

    stream: Stream[MatchedPost] | None = None
    line_seconds = 0.0
    consumed_seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.worked_seconds

    @property
    def worked_seconds(self) -> float:
        if self.stream is None:
            return 0.0
        counted = self.stream.counters
        return (counted.items + counted.keep_alives) * self.line_seconds + self.consumed_seconds


async def longest_turn(
    patch: pytest.MonkeyPatch, content: bytes, line_seconds: float, consumer_seconds: float = 0.0
) -> tuple[float, float]:
    """For how long others have waited at most while all of the content was read, and how long that took."""
    clock = WorkClock()
    patch.setattr(fairness, "monotonic", clock.monotonic)
    patch.setattr(stream_module, "monotonic", clock.monotonic)
    turns = [0.0]

    async def tick() -> None:
        while True:
            turns.append(clock.worked_seconds)
            await asyncio.sleep(0)

    async with StreamServer(clock, [content + post(0)]) as server, clients_of(server) as client:
        stream = clock.stream = client.filtered_stream.connect()
        clock.line_seconds = line_seconds
        server.watch(stream)
        ticking = asyncio.create_task(tick())
        async with stream:
            async for item in stream:
                clock.consumed_seconds += consumer_seconds
                if item.content == post(0).strip():
                    break
        ticking.cancel()
        await asyncio.wait([ticking])
    turns.append(clock.worked_seconds)
    return max(later - earlier for earlier, later in itertools.pairwise(turns)), clock.worked_seconds


@pytest.mark.slow
@pytest.mark.parametrize("line_seconds", [1e-6, 1e-5, 1e-4, 4e-4, 1e-3])
@pytest.mark.parametrize(
    "line", [KEEP_ALIVE, b" \r\n", post(1), b"junk\n", orjson.dumps({"errors": [{"title": "t"}]}) + b"\n"]
)
async def test_others_wait_for_no_more_than_five_milliseconds(
    line: bytes, line_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited, took = await longest_turn(monkeypatch, line * 3_000, line_seconds)
    assert took >= 3_000 * line_seconds
    assert waited <= LONGEST_SECONDS


@pytest.mark.parametrize("consumer_seconds", [5e-5, 5e-4, 1e-3])
async def test_what_a_consumer_does_with_items_counts_too(
    consumer_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited, took = await longest_turn(monkeypatch, post(1) * 2_000, 1e-5, consumer_seconds)
    assert took >= 2_000 * consumer_seconds
    assert waited <= LONGEST_SECONDS


async def test_more_lines_than_are_cut_at_once_all_arrive() -> None:
    clock = VirtualClock()
    async with StreamServer(clock, [KEEP_ALIVE * 50_000 + post(7)]) as server, clients_of(server) as client:
        stream = client.filtered_stream.connect()
        server.watch(stream)
        async with stream:
            item = await anext(stream)
    assert item.content == post(7).strip()
    assert stream.counters.keep_alives == 50_000
