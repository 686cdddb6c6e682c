"""Streams and webhooks against every fault of the emulator: what arrives, and what the log says of connections."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, get_args

import attrs
import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.emulator.faults import DELIVERY_FAULTS, STREAM_FAULTS, FaultKind
from socialapi.emulator.routing import mounted_path
from socialapi.routes.route import Route
from socialapi.streams import ActivityEvent, Gap, MatchedPost
from socialapi.streams.stream import Stream
from socialapi.types import Undecoded
from socialapi.webhooks import Receiver
from tests.matrix.documented import CLASSES, SCRIPTS, Script
from tests.support.clock import VirtualClock
from tests.support.endpoint_table import STREAMS
from tests.support.planted import told_by
from tests.support.routes import name_of
from tests.support.waiting import until
from tests.webhooks.posting import running, take

URL: Final = "https://app.example/hook"
GIVE_UP_SECONDS: Final = 900.0


@attrs.frozen
class Reader:
    """A stream of the emulator in virtual time, which stands still but for the waits before a new connection."""

    emulator: Emulator
    clock: VirtualClock
    client: Client
    route: Route[Any]

    def stream(self, **options: Any) -> Stream[Any]:
        made: Stream[Any] = STREAMS[self.route](self.client, **options)
        self.clock.busy = lambda: made.state == "connected" or self.is_asking()
        return made

    def is_asking(self) -> bool:
        """Whether a request is on its way, rather than waiting for its turn."""
        return any(status.in_flight for status in self.client.limits.values())

    async def publish(self, number: int) -> None:
        event = {"event_type": "profile.update.bio", "user_id": "17", "payload": {"number": number}}
        await self.emulator.publish({"text": f"snow {number}"} if "search" in self.route.path else event)

    @property
    def attempts(self) -> list[Any]:
        return [each for each in self.emulator.requests if each.route == mounted_path(self.route)]

    def fault(self, kind: FaultKind, **fields: Any) -> None:
        self.emulator.faults.add(kind, path=mounted_path(self.route), **fields)


def number_of(item: Any) -> int:
    if isinstance(item, MatchedPost):
        return int((item.data.text or "").split()[-1])
    assert isinstance(item, ActivityEvent)
    return int(item.payload["number"])


@asynccontextmanager
async def reader_of(route: Route[Any]) -> AsyncIterator[Reader]:
    clock = VirtualClock(start=time.time())
    async with (
        Emulator(clock=clock.time) as emulator,
        Client(emulator.config, emulator.credentials, clock=clock, rng=random.Random(1)) as client,
    ):
        await client.filtered_stream.add_rules("snow")
        yield Reader(emulator, clock, client, route)


@pytest.fixture(params=STREAMS, ids=name_of)
async def reader(request: pytest.FixtureRequest) -> AsyncIterator[Reader]:
    async with reader_of(request.param) as reader:
        yield reader


# What is answered in place of a stream (docs/streams.md, docs/choices.md)

ENDING: Final = frozenset({"streaming-connection", "usage-capped"})
"""Problems that end a stream for good, although their status is 429: too many connections, and a usage cap."""
OPENING: Final = tuple(
    script
    for script in SCRIPTS
    if script.fault in ("status", "html", "joined_headers", "decimal_headers", "reset_before", "stall", "latency")
)


def is_final(script: Script) -> bool:
    """Whether the stream ends with the first such answer."""
    return script.fields.get("problem") in ENDING or script.happened == "refused"


def bounds(script: Script) -> tuple[float, float]:
    """How long it is waited before the second attempt."""
    if script.status is None:
        return 0.0, 0.275
    shortest = max(script.named_seconds or 0.0, 60.0 if script.status in (420, 429) else 5.0)
    return shortest, 1.1 * shortest


async def open_against(reader: Reader, script: Script) -> list[str]:
    """What is wrong with how a stream is opened whose first connection meets the fault."""
    before = len(reader.attempts)
    reader.fault(script.fault, **script.fields)
    error: BaseException | None = None
    try:
        async with reader.stream() as stream:
            await reader.publish(7)
            if number_of(await anext(stream)) != 7:
                return ["another event arrived"]
    except errors.SocialApiError as problem:
        error = problem
    finally:
        reader.emulator.faults.clear()
    return list(judge_opening(script, error, reader.attempts[before:]))


def judge_opening(script: Script, error: BaseException | None, attempts: list[Any]) -> Any:
    if is_final(script):
        status = script.status or 0
        promised = errors.ServerError if status >= 500 else CLASSES.get(status, errors.ApiError)
        if len(attempts) != 1:
            yield f"{len(attempts)} connections, not 1"
        if type(error) is not promised or getattr(error, "status", None) != status:
            yield f"it raised {error!r}, not {promised.__name__}"
        return
    if error is not None:
        yield f"it raised {error!r}"
    elif len(attempts) != (1 if script.happened == "nothing" else 2):
        yield f"{len(attempts)} connections"
    elif len(attempts) == 2:
        shortest, longest = bounds(script)
        waited = attempts[1].time - attempts[0].time
        if not shortest - 1e-3 <= waited <= longest + 1e-3:
            yield f"it waited {waited:.2f} s, not {shortest:g} to {longest:g}"


@pytest.mark.parametrize("route", STREAMS, ids=name_of)
async def test_a_stream_whose_first_connection_meets_a_fault(
    route: Route[Any], record_property: Callable[[str, object], None]
) -> None:
    wrong: list[str] = []
    outcomes: Counter[str] = Counter()
    async with reader_of(route) as reader:
        for script in OPENING:
            if script.timeout_seconds is not None or (script.fields.get("retry_after_seconds") or 0) > 960:
                continue  # of single calls, and in the test below
            if script.happened == "unreadable":
                continue  # a line of a stream that cannot be read
            wrong += [f"{name_of(route)} with {script.name}: {each}" for each in await open_against(reader, script)]
            outcomes["refused" if is_final(script) else "connected"] += 1
    record_property("stream pairs", dict(outcomes))
    assert wrong == [], "\n" + "\n".join(wrong)


async def test_a_wait_that_is_too_long_is_told(reader: Reader) -> None:
    reader.fault("status", status=429, retry_after_seconds=86_400.0)
    with pytest.raises(errors.RateLimitTooLong):
        async with reader.stream():
            pass
    assert [each.status for each in reader.attempts] == [429]


PERSISTENT: Final[dict[FaultKind, type[errors.SocialApiError]]] = {
    "status": errors.ServerError,
    "html": errors.ServerError,
    "reset_before": errors.OutcomeUnknown,
}


@pytest.mark.parametrize("fault", PERSISTENT)
async def test_a_stream_that_is_never_opened_gives_up_when_it_was_told_to(reader: Reader, fault: FaultKind) -> None:
    reader.fault(fault, times=1_000)
    with pytest.raises(errors.SocialApiError) as caught:
        async with reader.stream(give_up_after_seconds=GIVE_UP_SECONDS):
            pass
    assert type(caught.value) is PERSISTENT[fault]
    times = [each.time for each in reader.attempts]
    assert times[-1] - times[0] == pytest.approx(GIVE_UP_SECONDS, abs=1.0)
    assert 5 < len(times) < 100
    ready = reader.emulator.ready
    secrets = [ready[name] for name in ready if name.startswith(("api_key_s", "access_", "bearer_"))]
    assert not [line for line in told_by(caught.value) for secret in secrets if secret in line]


# What an open stream meets

BREAKS: Final[tuple[FaultKind, ...]] = (
    *("stream_close", "stream_drop", "stream_silence", "stream_disconnect", "truncate", "reset_after"),
)
GOES_ON: Final[tuple[FaultKind, ...]] = ("stream_long_line", "stream_garbage", "stream_drip", "slow")


def is_connected_again(reader: Reader, stream: Stream[Any], *, is_silent: bool) -> bool:
    """Whether there is a second connection. Lets a silent one grow old."""
    if is_silent and stream.counters.connections == 1 and stream.state == "connected":
        reader.clock.advance(1.0)
    return stream.counters.connections == 2


@pytest.mark.parametrize("after_lines", [0, 1])
@pytest.mark.parametrize("fault", BREAKS)
async def test_a_stream_that_breaks_is_connected_to_again_and_says_what_was_missed(
    reader: Reader, fault: FaultKind, after_lines: int
) -> None:
    gaps: list[Gap] = []
    reader.fault(fault, after_lines=after_lines)
    async with reader.stream(on_gap=gaps.append) as stream:
        if after_lines:
            await reader.publish(1)
            assert number_of(await anext(stream)) == 1
        reading = asyncio.create_task(anext(stream))
        await until(lambda: is_connected_again(reader, stream, is_silent=fault == "stream_silence"))
        await reader.publish(2)
        assert number_of(await reading) == 2
        assert stream.counters.gaps == 1
    (gap,) = gaps
    assert gap.ended_at is not None
    assert gap.started_at <= gap.ended_at
    assert [each.fault for each in reader.attempts] == [fault, None]


@pytest.mark.parametrize("fault", GOES_ON)
async def test_a_stream_that_is_odd_and_goes_on_stays_connected(reader: Reader, fault: FaultKind) -> None:
    reader.fault(fault, **({"delay_seconds": 0.02} if fault in ("stream_drip", "slow") else {}))
    async with reader.stream() as stream:
        await reader.publish(1)
        items = [await anext(stream)]
        if fault in ("stream_garbage", "stream_long_line"):
            items.append(await anext(stream))
        if fault == "stream_garbage":
            assert isinstance(items.pop(0), Undecoded)
        assert number_of(items[-1]) == 1
    assert len(reader.attempts) == 1


@pytest.mark.parametrize("issue", ["TooManyConnections", "RuleConfigurationIssue", "RulesInvalidIssue"])
async def test_a_stream_that_ends_for_good_is_not_connected_to_again(reader: Reader, issue: str) -> None:
    reader.fault("stream_disconnect", connection_issue=issue)
    with pytest.raises(errors.StreamEnded, match=issue) as caught:
        async with reader.stream() as stream:
            await anext(stream)
    assert (caught.value.status, len(reader.attempts)) == (200, 1)


def test_every_fault_of_streams_is_tried() -> None:
    assert {*BREAKS, *GOES_ON} >= {*STREAM_FAULTS}
    of_all = set(get_args(FaultKind)) - {*STREAM_FAULTS, *DELIVERY_FAULTS}
    elsewhere = {"count_mismatch", "operation_error", "product_missing", "product_error", "link_error", "odd_token"}
    assert {*BREAKS, *GOES_ON, *(script.fault for script in OPENING)} - {*STREAM_FAULTS} == of_all - elsewhere


# Deliveries

REFUSED: Final = {"delivery_duplicate": 0, "delivery_tampered": 1, "delivery_forged": 1, "delivery_unsigned": 1}


@pytest.mark.parametrize("is_post", [True, False])
@pytest.mark.parametrize("fault", DELIVERY_FAULTS)
async def test_a_receiver_gets_every_event_once_and_nothing_that_is_forged(
    fault: FaultKind, is_post: bool, tmp_path: Path
) -> None:
    async with Emulator() as emulator:
        receiver = Receiver(emulator.ready["api_key_secret"], inbox=tmp_path / "inbox.sqlite")
        async with running(receiver) as sender, Client(emulator.config, emulator.credentials) as client:
            emulator.webhook_targets[URL] = sender.url
            webhook = await client.webhooks.create(URL)
            await client.filtered_stream.add_rules("snow")
            await client.filtered_stream.link(webhook.id)
            emulator.faults.add(fault, times=2)
            event = {"event_type": "profile.update.bio", "user_id": "17"}
            for number in range(3):
                await emulator.publish(
                    {"text": f"snow {number}"} if is_post else {**event, "payload": {"number": number}}
                )
            await emulator.settle()
            got = await take(receiver, 3)
            counters = receiver.counters
            assert sorted(map(number_of, got)) == [0, 1, 2]
            assert (counters.accepted, counters.refused_signature) == (3, 2 * REFUSED[fault])
            assert counters.duplicates == (2 if fault == "delivery_duplicate" else 0)
