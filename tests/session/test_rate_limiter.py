"""Who may go when, with many callers and time that does not pass by itself."""

import asyncio
import datetime
import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.config import Config
from socialapi.errors import RateLimitTooLong
from socialapi.integrations import redis as redis_module
from socialapi.integrations.redis import RedisPacer
from socialapi.routes.route import RateLimit
from socialapi.session import rate_limiter as pacer_module
from socialapi.session.clock import Clock
from socialapi.session.rate_limiter import Pacer, SlidingWindowPacer
from socialapi.wire.rate_limit_headers import LimitReading
from tests.support.clock import VirtualClock, turns
from tests.support.pacing import TEN_A_MINUTE, acquire
from tests.support.redis import imitation, time_of_redis


def in_this_process(config: Config, clock: Clock) -> Pacer:
    return SlidingWindowPacer(config, clock)


def in_redis(config: Config, clock: Clock) -> Pacer:
    return RedisPacer(imitation(), config, clock=clock)


NewPacer = Callable[[Config, Clock], Pacer]
BOTH = pytest.mark.parametrize("new_pacer", [in_this_process, in_redis])


@pytest.fixture
def local_pacer(clock: VirtualClock) -> SlidingWindowPacer:
    return SlidingWindowPacer(Config(), clock)


@pytest.fixture(params=[in_this_process, in_redis])
def pacer(clock: VirtualClock, request: pytest.FixtureRequest) -> Iterator[Pacer]:
    with time_of_redis(clock):
        yield request.param(Config(), clock)


# The rule that counts


@pytest.mark.slow
@BOTH
@settings(max_examples=40)
@given(
    limit=st.integers(1, 5),
    window_seconds=st.floats(1.0, 30.0),
    there=st.lists(st.floats(0.0, 8.0), min_size=1, max_size=8),
    back=st.lists(st.floats(0.0, 8.0), min_size=1, max_size=8),
    arrivals=st.lists(st.floats(0.0, 20.0), min_size=1, max_size=24),
)
def test_no_window_of_the_service_ever_holds_more_than_the_limit_however_answers_jitter(
    limit: int, window_seconds: float, there: list[float], back: list[float], arrivals: list[float], new_pacer: NewPacer
) -> None:
    """A service that counts by sliding windows, at any moment between a request and its answer."""
    counted: list[float] = []

    async def call(pacer: Pacer, clock: VirtualClock, number: int) -> None:
        await clock.sleep(arrivals[number])
        slot = await acquire(pacer, RateLimit("x", limit, window_seconds), max_wait_seconds=1e6)
        await clock.sleep(there[number % len(there)])
        counted.append(clock.monotonic())
        await clock.sleep(back[number % len(back)])
        slot.replied(None)

    async def run() -> None:
        clock = VirtualClock()
        pacer = new_pacer(Config(), clock)
        with time_of_redis(clock):
            await asyncio.gather(*(call(pacer, clock, number) for number in range(len(arrivals))))

    asyncio.run(run())
    assert len(counted) == len(arrivals)
    counted.sort()
    for first, beyond in zip(counted, counted[limit:], strict=False):
        assert beyond - first > window_seconds - 1e-5  # Redis tells microseconds


@pytest.mark.slow
@BOTH
@settings(max_examples=40)
@given(
    limit=st.integers(1, 6),
    offset=st.floats(0.0, 60.0),
    there=st.lists(st.floats(0.0, 0.9), min_size=1, max_size=8),
    back=st.lists(st.floats(0.0, 0.9), min_size=1, max_size=8),
    calls=st.integers(1, 24),
)
def test_a_limit_that_only_headers_tell_is_never_exceeded_however_answers_overtake_each_other(
    limit: int, offset: float, there: list[float], back: list[float], calls: int, new_pacer: NewPacer
) -> None:
    """A service with fixed windows of a minute, of which the client knows nothing but the headers."""
    refused = 0
    windows: dict[int, int] = {}

    async def call(pacer: Pacer, clock: VirtualClock, number: int) -> None:
        nonlocal refused
        slot = await acquire(pacer, None, max_wait_seconds=1e6)
        await clock.sleep(there[number % len(there)])
        index, into = divmod(clock.monotonic() + offset, 60.0)
        windows[int(index)] = windows.get(int(index), 0) + 1
        remaining = limit - windows[int(index)]
        refused += remaining < 0
        # Reset times are in whole seconds, rounded up.
        reading = LimitReading(limit, max(0, remaining), float(int(60.0 - into) + 1))
        await clock.sleep(back[number % len(back)])
        slot.replied(reading)

    async def run() -> None:
        clock = VirtualClock()
        pacer = new_pacer(Config(), clock)
        with time_of_redis(clock):
            await asyncio.gather(*(call(pacer, clock, number) for number in range(calls)))

    asyncio.run(run())
    assert refused == 0
    assert sum(windows.values()) == calls


async def test_fifty_calls_at_once_on_a_limit_that_nobody_knows_waste_no_request(
    pacer: Pacer, clock: VirtualClock
) -> None:
    """A peer had 100 requests refused here."""
    used = 0
    refused = 0

    async def call() -> None:
        nonlocal used, refused
        slot = await acquire(pacer, None, max_wait_seconds=5_000.0)
        await clock.sleep(0.2)
        window, into = divmod(clock.monotonic(), 900.0)
        used += 1
        refused += used > 10 * (window + 1)
        slot.replied(LimitReading(10, max(0, int(10 * (window + 1)) - used), 900.0 - into))

    await asyncio.gather(*(call() for _ in range(50)))
    assert refused == 0
    assert 4 * 900 <= clock.monotonic() < 4 * 900 + 2


# Who goes first


async def test_callers_go_in_the_order_they_came(pacer: Pacer, clock: VirtualClock) -> None:
    order: list[int] = []

    async def call(number: int) -> None:
        slot = await acquire(pacer, RateLimit("x", 2, 1.0))
        order.append(number)
        slot.replied(None)

    await asyncio.gather(*(call(number) for number in range(20)))
    assert order == list(range(20))


async def test_a_person_does_not_stand_behind_a_job(local_pacer: SlidingWindowPacer, clock: VirtualClock) -> None:
    order: list[str] = []

    async def call(name: str, *, bulk: bool) -> None:
        slot = await acquire(local_pacer, TEN_A_MINUTE, bulk=bulk)
        order.append(name)
        slot.replied(None)

    jobs = [asyncio.create_task(call("job", bulk=True)) for _ in range(12)]
    await turns()
    assert order == ["job"] * 9
    await call("person", bulk=False)
    assert (order[-1], clock.monotonic()) == ("person", 0.0)
    await asyncio.gather(*jobs)
    assert order == ["job"] * 9 + ["person"] + ["job"] * 3


async def test_a_job_that_wakes_first_and_must_wait_on_does_not_take_the_wake_of_a_person(
    local_pacer: SlidingWindowPacer, clock: VirtualClock
) -> None:
    """Both wait for an answer; the job clears the event again, which must not look to the person as if time were up."""
    (await acquire(local_pacer, None)).replied(LimitReading(3, 0, 60.0))
    clock.advance(60.0)
    slots = [await acquire(local_pacer, None) for _ in range(3)]
    job = asyncio.create_task(acquire(local_pacer, None, bulk=True))
    await turns(3)
    person = asyncio.create_task(acquire(local_pacer, None, bulk=False))
    await turns(3)
    slots[0].replied(None)
    slots.append(await person)
    assert clock.monotonic() == 60.0
    assert not job.done()
    for slot in slots[1:]:
        slot.replied(LimitReading(3, 3, 60.0))
    await job


# Waits that are too long


async def test_a_wait_that_is_too_long_is_refused_before_it_begins_and_says_when_to_come_back(
    pacer: Pacer, clock: VirtualClock
) -> None:
    for _ in range(10):
        (await acquire(pacer)).replied(None)
    with pytest.raises(RateLimitTooLong) as caught:
        await acquire(pacer, max_wait_seconds=59.0)
    assert clock.sleeps == []
    assert caught.value.limit_key == "k"
    assert caught.value.wait_seconds == 60.0
    assert caught.value.resets_at == datetime.datetime(2027, 1, 15, 8, 1, tzinfo=datetime.UTC)
    assert str(caught.value) == (
        "the rate limit of k frees up in 60 s (at 08:01:00 UTC), longer than this call may wait; allow the wait with "
        "max_wait_seconds (bulk_max_wait_seconds for a job or a stream) or call again then"
    )


async def test_a_queue_that_is_too_long_is_refused_at_its_end_when_it_is_joined(
    pacer: Pacer, clock: VirtualClock
) -> None:
    async def call() -> tuple[str, float]:
        try:
            (await acquire(pacer, max_wait_seconds=130.0)).replied(None)
        except RateLimitTooLong as error:
            return f"{error.wait_seconds:.0f} s", clock.monotonic()
        return "sent", clock.monotonic()

    found = await asyncio.gather(*(call() for _ in range(35)))
    assert found == [
        *[("sent", 0.0)] * 10,
        *[("sent", 60.0)] * 10,
        *[("sent", 120.0)] * 10,
        *[("180 s", 0.0)] * 5,
    ]


async def test_a_wait_of_exactly_the_time_allowed_is_waited(pacer: Pacer, clock: VirtualClock) -> None:
    for _ in range(10):
        (await acquire(pacer)).replied(None)
    await acquire(pacer, max_wait_seconds=60.0)
    assert clock.monotonic() == 60.0


async def test_a_first_answer_that_does_not_come_is_waited_for_a_few_seconds_only(
    pacer: Pacer, clock: VirtualClock
) -> None:
    await acquire(pacer, None)
    await acquire(pacer, None)
    assert clock.monotonic() == pytest.approx(5.0)


async def test_a_wait_that_turns_out_longer_ends_when_the_time_is_up(pacer: Pacer, clock: VirtualClock) -> None:
    slot = await acquire(pacer, None)
    slot.replied(LimitReading(1, 0, 900.0))
    with pytest.raises(RateLimitTooLong, match="frees up in 900 s"):
        await acquire(pacer, None, max_wait_seconds=30.0)
    assert clock.monotonic() == 0.0


async def test_a_waiter_who_learns_that_the_wait_is_longer_gives_up_at_once(pacer: Pacer, clock: VirtualClock) -> None:
    slot = await acquire(pacer, None)
    waiter = asyncio.create_task(acquire(pacer, None, max_wait_seconds=30.0))
    await turns(3)
    slot.replied(LimitReading(1, 0, 900.0))
    with pytest.raises(RateLimitTooLong, match="frees up in 900 s"):
        await waiter
    assert clock.monotonic() == 0.0


# Cancelling


async def test_a_waiter_that_is_cancelled_leaves_nothing_behind(
    local_pacer: SlidingWindowPacer, clock: VirtualClock
) -> None:
    clock.busy = lambda: True  # time stands still: they wait for ever
    slots = [await acquire(local_pacer) for _ in range(10)]
    waiters = [asyncio.create_task(acquire(local_pacer)) for _ in range(5)]
    await turns()
    for number in (0, 2, 4):
        waiters[number].cancel()
    await asyncio.gather(*waiters[::2], return_exceptions=True)
    assert all(waiter.cancelled() for waiter in waiters[::2])
    for slot in slots[:2]:
        slot.unsent()
    await asyncio.gather(*waiters[1::2])
    assert local_pacer.limits()["k"].in_flight == 10
    assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()


@settings(max_examples=30)
@given(st.randoms(use_true_random=False))
def test_no_place_is_lost_or_made_up_whoever_is_cancelled_when(rng: random.Random) -> None:
    async def run() -> None:
        clock = VirtualClock()
        pacer = SlidingWindowPacer(Config(), clock)

        async def call() -> None:
            slot = await acquire(pacer, RateLimit("x", 3, 5.0))
            try:
                await clock.sleep(rng.random() * 3)
            finally:
                if rng.random() < 0.5:
                    slot.unsent()
                else:
                    slot.replied(None)

        tasks = [asyncio.create_task(call()) for _ in range(20)]
        for _ in range(30):
            await turns(rng.randrange(6))
            rng.choice(tasks).cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        clock.advance(5.0)
        assert pacer.limits()["k"].in_flight == 0
        assert pacer.limits()["k"].remaining == 3

    asyncio.run(run())


# Windows


async def test_each_key_has_a_window_of_its_own(pacer: Pacer, clock: VirtualClock) -> None:
    one = RateLimit("one", 1, 60.0)
    await acquire(pacer, one, key="a")
    await acquire(pacer, one, key="b")
    assert clock.monotonic() == 0.0
    assert {key: status.remaining for key, status in pacer.limits().items()} == {"a": 0, "b": 0}


async def test_a_documented_limit_can_be_another_in_the_configuration(clock: VirtualClock) -> None:
    pacer = SlidingWindowPacer(Config(rate_limits={"ten": (2, 5.0)}), clock)
    assert pacer.requests_per_second("k", TEN_A_MINUTE) == 0.4
    for _ in range(3):
        (await acquire(pacer)).replied(None)
    assert clock.monotonic() == 5.0


async def test_the_rate_is_not_known_before_anybody_says(pacer: Pacer) -> None:
    assert pacer.requests_per_second("k", TEN_A_MINUTE) == pytest.approx(1 / 6)
    assert pacer.requests_per_second("other", None) is None


async def test_the_windows_that_are_remembered_are_bounded_and_the_longest_unused_goes_first(
    local_pacer: SlidingWindowPacer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacer_module, "MAX_WINDOWS", 4)
    keys: deque[str] = deque()
    busy = await acquire(local_pacer, key="busy")
    for number in range(10):
        (await acquire(local_pacer, key=f"k{number}")).replied(None)
        (await acquire(local_pacer, key="often")).replied(None)
        keys.append(f"k{number}")
    assert list(local_pacer.limits()) == ["busy", "k8", "k9", "often"]
    assert local_pacer.limits()["often"].remaining == 0, "its count is not forgotten"
    busy.replied(None)


async def test_windows_with_requests_on_their_way_are_never_forgotten(
    pacer: Pacer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pacer_module, redis_module):
        monkeypatch.setattr(module, "MAX_WINDOWS", 2)
    for key in "abcd":
        await acquire(pacer, key=key)
    assert set(pacer.limits()) == set("abcd")


async def test_who_stands_behind_a_patient_caller_waits_no_longer_than_its_own_time(
    pacer: Pacer, clock: VirtualClock
) -> None:
    limit = RateLimit("uploads", 1, 60.0)
    await acquire(pacer, limit)
    patient = asyncio.create_task(acquire(pacer, limit, max_wait_seconds=100.0))
    await asyncio.sleep(0)
    with pytest.raises(RateLimitTooLong):
        await acquire(pacer, limit, max_wait_seconds=1.0)
    assert clock.monotonic() <= 1.0
    patient.cancel()
    await asyncio.gather(patient, return_exceptions=True)
