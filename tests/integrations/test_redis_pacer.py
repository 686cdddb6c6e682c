"""Windows that processes share: each pacer here stands for a process, in time that does not pass by itself."""

import asyncio
import collections
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import fakeredis
import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import ResponseError

from socialapi.config import Config
from socialapi.errors import ConfigurationError, RateLimitTooLong, TransportError
from socialapi.integrations import redis as redis_module
from socialapi.integrations import redis_window
from socialapi.integrations.redis import RedisPacer
from socialapi.integrations.redis_server import REPLY_SECONDS, named
from socialapi.integrations.redis_window import LEASE_MARGIN_SECONDS
from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import SlidingWindow, Slot
from socialapi.wire.rate_limit_headers import LimitReading
from tests.support.clock import VirtualClock, turns
from tests.support.pacing import TEN_A_MINUTE, acquire
from tests.support.redis import imitation, time_of_redis

LEASE_SECONDS: Final = Config().timeout_seconds + LEASE_MARGIN_SECONDS


class Faults:
    """What the calls of one process to Redis meet: errors before they arrive, or instead of the answer."""

    def __init__(self) -> None:
        self.before: BaseException | None = None
        self.while_asking: Callable[[], None] | None = None
        self.instead_of_answers: list[BaseException] = []
        self.instead_of_answers_given: Callable[[], object] = list
        self.calls = 0


class Shop:
    """Processes that share one Redis."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.server = fakeredis.FakeServer()
        self.redis = imitation(self.server)

    def process(
        self,
        config: Config | None = None,
        *,
        namespace: str = "",
        faults: Faults | None = None,
        distance: random.Random | None = None,
    ) -> RedisPacer:
        redis = imitation(self.server)
        if distance is not None:
            redis.evalsha = distant(redis.evalsha, self.clock, distance)  # type: ignore[method-assign]
        if faults is not None:
            redis.evalsha = faulty(redis.evalsha, faults)  # type: ignore[method-assign]
        return RedisPacer(redis, config or Config(), namespace=namespace, clock=self.clock)


def faulty(call: Callable[..., Any], faults: Faults) -> Callable[..., Any]:
    async def evalsha(*arguments: Any) -> Any:
        faults.calls += 1
        if faults.before is not None:
            raise faults.before
        answer = await call(*arguments)
        if faults.while_asking is not None:
            asking, faults.while_asking = faults.while_asking, None
            asking()
        if faults.instead_of_answers:
            faults.instead_of_answers_given()
            raise faults.instead_of_answers.pop(0)
        return answer

    return evalsha


def distant(call: Callable[..., Any], clock: VirtualClock, distance: random.Random) -> Callable[..., Any]:
    """A call that takes about a millisecond. The imitation alone may answer before any other process gets a turn, which
    no server does.
    """

    async def evalsha(*arguments: Any) -> Any:
        await clock.sleep(distance.uniform(0.0003, 0.0007))
        answer = await call(*arguments)
        await clock.sleep(distance.uniform(0.0003, 0.0007))
        return answer

    return evalsha


@pytest.fixture
def shop(clock: VirtualClock) -> Iterator[Shop]:
    with time_of_redis(clock):
        yield Shop(clock)


async def kill(pacer: RedisPacer) -> None:
    """The process ends without a word."""
    pacer._script.closed.set()
    for task in list(pacer._script._tasks):
        task.cancel()
    await asyncio.gather(*pacer._script._tasks, return_exceptions=True)


async def send(pacer: RedisPacer, count: int = 1, documented: RateLimit | None = TEN_A_MINUTE, **options: Any) -> None:
    for _ in range(count):
        (await acquire(pacer, documented, **options)).replied(None)


# One window for all


async def test_a_configured_limit_is_the_most_that_all_processes_use_whatever_is_reported(shop: Shop) -> None:
    config = Config(rate_limits={TEN_A_MINUTE.name: (4, 60.0)}, interactive_reserve=0.0)
    one, other = shop.process(config), shop.process(config)
    for number, pacer in enumerate((one, other, one, other)):
        (await acquire(pacer)).replied(LimitReading(10, 9 - number, 60.0))
    with pytest.raises(RateLimitTooLong):
        await acquire(one, max_wait_seconds=1.0)
    assert one.limits()["k"].limit == 4


@pytest.mark.slow
@settings(max_examples=25)
@given(
    processes=st.integers(2, 4),
    limit=st.integers(1, 5),
    there=st.lists(st.floats(0.0, 8.0), min_size=1, max_size=8),
    back=st.lists(st.floats(0.0, 8.0), min_size=1, max_size=8),
    arrivals=st.lists(st.floats(0.0, 20.0), min_size=1, max_size=24),
)
def test_no_window_of_the_service_holds_more_than_the_limit_however_many_processes_send(
    processes: int, limit: int, there: list[float], back: list[float], arrivals: list[float]
) -> None:
    counted: list[float] = []

    async def call(pacer: RedisPacer, clock: VirtualClock, number: int) -> None:
        await clock.sleep(arrivals[number])
        slot = await acquire(pacer, RateLimit("x", limit, 10.0), max_wait_seconds=1e6, bulk=bool(number % 3))
        await clock.sleep(there[number % len(there)])
        counted.append(clock.monotonic())
        await clock.sleep(back[number % len(back)])
        slot.replied(None)

    async def run() -> None:
        clock = VirtualClock()
        with time_of_redis(clock):
            shop = Shop(clock)
            pacers = [shop.process() for _ in range(processes)]
            await asyncio.gather(*(call(pacers[number % processes], clock, number) for number in range(len(arrivals))))

    asyncio.run(run())
    assert len(counted) == len(arrivals)
    counted.sort()
    for first, beyond in zip(counted, counted[limit:], strict=False):
        assert beyond - first > 10.0 - 1e-5


@pytest.mark.slow
async def test_processes_that_wait_get_the_places_in_turn(shop: Shop) -> None:
    """A window of 40 places for eight jobs with ten callers each, for ten windows."""
    sent = collections.Counter[int]()
    limit = RateLimit("x", 40, 60.0)

    async def caller(pacer: RedisPacer, number: int) -> None:
        while True:
            slot = await acquire(pacer, limit, bulk=True, max_wait_seconds=1e6)
            sent[number] += 1
            await shop.clock.sleep(0.2)
            slot.replied(None)

    pacers = [shop.process(distance=random.Random(number)) for number in range(8)]
    callers = [asyncio.ensure_future(caller(pacer, number)) for number, pacer in enumerate(pacers) for _ in range(10)]
    await shop.clock.sleep(590.0)
    for each in callers:
        each.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    assert sent.total() >= 0.97 * 39 * 10  # one place is kept for single calls
    share = sent.total() / 8
    assert 0.8 * share <= min(sent.values()) <= max(sent.values()) <= 1.2 * share


async def test_a_person_of_one_process_does_not_stand_behind_the_job_of_another(shop: Shop) -> None:
    job, person = shop.process(), shop.process()
    await send(job, 9, bulk=True)
    waiting = asyncio.ensure_future(acquire(job, bulk=True))
    await send(person)
    assert shop.clock.monotonic() < 1.0
    await waiting
    assert shop.clock.monotonic() == pytest.approx(60.0, abs=1.0)


@pytest.mark.parametrize(
    ("reading", "refused_for_seconds"), [(None, 42.0), (LimitReading(10, 0, 42.0), None)], ids=["a 429", "a reset"]
)
async def test_a_wait_begins_with_the_answer_that_asks_for_it_however_late_redis_is_told(
    shop: Shop, reading: LimitReading | None, refused_for_seconds: float | None
) -> None:
    faults = Faults()
    one, other = shop.process(faults=faults), shop.process()
    slot = await acquire(one)
    faults.before = ConnectionLost()
    slot.replied(reading, refused_for_seconds=refused_for_seconds)
    await shop.clock.sleep(10.0)
    faults.before = None
    await shop.clock.sleep(5.0)
    await acquire(other)
    assert shop.clock.monotonic() == pytest.approx(42.0, abs=0.1)


# The same rules as in one process

REPLIES: Final = st.one_of(
    st.none(), st.builds(LimitReading, st.just(20), st.integers(0, 20), st.sampled_from([5.0, 31.0, 60.0]))
)


async def wait_in_redis(pacer: RedisPacer, limit: RateLimit, *, bulk: bool) -> float:
    try:
        slot = await acquire(pacer, limit, bulk=bulk, max_wait_seconds=0.0)
    except RateLimitTooLong as refused:
        return refused.wait_seconds
    slot.unsent()
    return 0.0


@pytest.mark.slow
@settings(max_examples=60)
@given(
    steps=st.lists(
        st.tuples(st.floats(0.0, 20.0), st.integers(0, 3), st.integers(0, 4), REPLIES, st.booleans()),
        min_size=1,
        max_size=15,
    )
)
def test_a_wait_is_as_long_as_in_a_window_of_one_process(
    steps: list[tuple[float, int, int, LimitReading | None, bool]],
) -> None:
    """Each step takes some places, settles others, and asks what the next caller would have to wait."""

    async def run() -> None:
        clock = VirtualClock()
        limit = RateLimit("x", 20, 60.0)
        with time_of_redis(clock):
            pacer = Shop(clock).process(Config(timeout_seconds=1_000.0))  # no lease ends before the last step
            window = SlidingWindow(limit, reserve_share=Config().interactive_reserve)
            (await acquire(pacer, limit)).replied(None)
            window.take(0.0)
            window.replied(0.0, None)
            slots = list[Slot]()
            for seconds, taken, settled, reading, bulk in steps:
                clock.advance(round(seconds, 3))
                now = clock.monotonic()
                for _ in range(taken):
                    if window.try_take(now, bulk=bulk):
                        slots.append(await acquire(pacer, limit, bulk=bulk))
                for _ in range(min(settled, len(slots))):
                    slots.pop(0).replied(reading)
                    window.replied(now, reading)
                expected = window.wait_seconds(now, bulk=bulk)
                assert await wait_in_redis(pacer, limit, bulk=bulk) == pytest.approx(expected, abs=1e-3)

    asyncio.run(run())


# Processes that die, and states that are lost


async def test_the_places_of_a_process_that_died_return_one_window_after_its_lease(shop: Shop) -> None:
    dead, alive = shop.process(), shop.process()
    await send(dead)
    for _ in range(9):
        await acquire(dead)
    await kill(dead)
    await acquire(alive)
    assert shop.clock.monotonic() == pytest.approx(60.0, abs=0.1)  # the one that was answered
    await acquire(alive)
    assert shop.clock.monotonic() == pytest.approx(LEASE_SECONDS + 60.0, abs=0.2)


async def test_a_process_that_died_while_it_waited_delays_the_others_by_a_second_at_most(shop: Shop) -> None:
    dead, alive = shop.process(), shop.process()
    await send(alive, 10)
    waiting = asyncio.ensure_future(acquire(dead))
    await shop.clock.sleep(1.0)
    await kill(dead)
    with pytest.raises(TransportError, match="closed"):
        await waiting
    await acquire(alive)
    assert 60.0 <= shop.clock.monotonic() <= 61.5


@pytest.mark.parametrize("lost", ["everything", "state", "counted", "flying"])
async def test_what_redis_has_lost_it_is_told_again(shop: Shop, lost: str) -> None:
    """It restarted without its data, or a policy of eviction took one of the keys."""
    pacers = [shop.process(), shop.process()]
    for pacer in pacers:
        await send(pacer, 4)
    flying = await acquire(pacers[0])
    if lost == "everything":
        await shop.redis.flushall()
    else:
        (key,) = [each async for each in shop.redis.scan_iter(match=f"*:{lost}")]
        await shop.redis.delete(key)
    await asyncio.gather(*(send(pacer, 1) for pacer in pacers))
    assert shop.clock.monotonic() >= 59.0, "nine of ten places were taken, and one of these two had the last"
    flying.replied(None)


@pytest.mark.parametrize("redis_fallback_share", [None, 0.1])
async def test_a_redis_that_loses_the_window_at_every_call_is_one_that_does_not_answer(
    shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, redis_fallback_share: float | None
) -> None:
    """Keys are evicted as soon as they are written, for ten minutes in which calls and jobs come all the time."""
    faults = Faults()
    config = Config(redis_fallback_share=redis_fallback_share, interactive_reserve=0.0)
    pacer = shop.process(config, faults=faults)
    monkeypatch.setattr(redis_window, "MAX_REPORTED_AT_ONCE", 10)
    limit = RateLimit("x", 60, 60.0)
    await send(pacer, 50, limit)

    def evict() -> None:
        with shop.server.lock:
            for each in shop.server.dbs.values():
                each.clear()
        faults.while_asking = evict

    waits, refusals, kept = list[float](), set[str](), list[int]()

    async def call(*, bulk: bool) -> None:
        began = shop.clock.monotonic()
        try:
            slot = await acquire(pacer, limit, bulk=bulk, max_wait_seconds=100.0 if bulk else 20.0)
        except RateLimitTooLong:  # of the share
            assert redis_fallback_share
        except TransportError as problem:
            refusals.add(re.sub(r"\d+ s", "N s", str(problem)))
        else:
            slot.replied(None)
        waits.append(shop.clock.monotonic() - began)

    evict()
    calls = []
    for _ in range(10):
        for _ in range(4):
            calls += [asyncio.ensure_future(call(bulk=bulk)) for bulk in (False, True) * 3]
            await shop.clock.sleep(15.0)
        window = pacer._windows["k"]
        kept.append(len(window._unreported) + len(window._answered) + len(window._flying))
    await asyncio.gather(*calls)
    says = "did not answer for N s (it loses data: set its maxmemory-policy to noeviction"
    assert all(says in each for each in refusals)
    assert refusals
    assert max(waits) <= 93.0  # `max_elapsed_seconds` and a pause
    assert max(kept) <= 2 * kept[0]
    assert faults.calls <= 50 * 3 + 600 * 2
    assert len(caplog.messages) <= 11
    assert all("maxmemory-policy" in each for each in caplog.messages)
    faults.while_asking = None
    await send(pacer, 1, limit)


async def test_of_a_window_that_was_lost_one_request_goes_out_first_to_learn_what_is_left(shop: Shop) -> None:
    """Most of what was sent is known to processes that have ended."""
    limit = RateLimit("x", 100, 60.0)
    ended, alive = shop.process(), shop.process()
    await send(ended, 90, limit)
    flying = await acquire(alive, limit)
    await ended.aclose()
    await shop.redis.flushall()
    callers = [asyncio.ensure_future(acquire(alive, limit, bulk=True)) for _ in range(50)]
    await shop.clock.sleep(1.0)
    (first,) = [each for each in callers if each.done()]
    first.result().replied(LimitReading(100, 8, 59.0))
    await shop.clock.sleep(1.0)
    sent = [each for each in callers if each.done()]
    assert len(sent) == 1 + 8 - 1 - 2  # one is still on its way, and two are kept for single calls
    flying.unsent()
    for each in callers:
        each.cancel()
    await asyncio.gather(*callers, return_exceptions=True)


async def test_a_first_request_that_was_not_sent_keeps_nobody_waiting_for_its_answer(shop: Shop) -> None:
    one, other = shop.process(), shop.process()
    (await acquire(one)).unsent()
    (await acquire(other)).replied(None)
    assert shop.clock.monotonic() < 0.5


async def test_a_call_does_not_wait_when_redis_came_back_without_its_data(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(Config(redis_fallback_share=0.5), faults=faults)
    await send(pacer)
    await shop.clock.sleep(1.0)
    faults.before = ConnectionLost()
    await send(pacer, 2)
    await shop.redis.flushall()
    faults.before = None
    await shop.clock.sleep(3.0)
    (await acquire(pacer, max_wait_seconds=2.0)).replied(None)
    assert shop.clock.monotonic() < 4.5


async def test_a_request_that_takes_longer_than_its_lease_keeps_its_place(shop: Shop) -> None:
    slow, other = shop.process(), shop.process()
    await send(slow)
    slots = [await acquire(slow) for _ in range(10 - 1)]
    await shop.clock.sleep(LEASE_SECONDS + 100.0)
    await acquire(other)
    with pytest.raises(RateLimitTooLong):
        await acquire(other, max_wait_seconds=0.0)
    for slot in slots:
        slot.unsent()


async def test_places_that_come_after_a_long_standstill_are_given_back(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(faults=faults)
    await send(pacer)
    faults.while_asking = lambda: shop.clock.advance(LEASE_MARGIN_SECONDS + 1)
    await acquire(pacer)
    assert pacer.limits()["k"].in_flight == 1
    assert pacer.limits()["k"].remaining == 8


async def test_a_window_that_was_forgotten_does_not_count_with_the_same_numbers_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_module, "MAX_WINDOWS", 1)
    pacer = shop.process()
    await send(pacer, 9, RateLimit("ten", 10, 60.0))
    await shop.clock.sleep(30.0)
    await send(pacer, 1, RateLimit("other", 10, 1.0), key="other")
    await shop.clock.sleep(31.0)
    await send(pacer, 1, RateLimit("other", 10, 1.0), key="another")
    assert "k" not in pacer.limits()
    await send(pacer, 10)
    with pytest.raises(RateLimitTooLong):
        await acquire(pacer, max_wait_seconds=10.0)


async def test_who_leaves_the_queue_stands_in_nobodys_way(shop: Shop) -> None:
    one = RateLimit("x", 1, 60.0)
    gone, next_one = shop.process(), shop.process()
    await send(gone, 1, one)
    waiting = asyncio.ensure_future(acquire(gone, one))
    await shop.clock.sleep(1.0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await shop.clock.sleep(1.0)
    await acquire(next_one, one, max_wait_seconds=70.0)
    assert shop.clock.monotonic() == pytest.approx(60.0, abs=1.0)


async def test_a_process_that_was_idle_for_long_raises_no_false_alarm(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    pacer = shop.process()
    await send(pacer)
    await shop.clock.sleep(1_000.0)
    await send(pacer)
    assert caplog.messages == []


async def test_what_is_told_several_times_counts_once(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(faults=faults)
    (await acquire(pacer)).replied(LimitReading(10, 5, 50.0))
    await asyncio.gather(*(send(pacer) for _ in range(1)))
    slot = await acquire(pacer)
    faults.instead_of_answers = [ConnectionLost()] * 4
    slot.replied(LimitReading(10, None, None))
    await shop.clock.sleep(20.0)
    other = shop.process()
    await send(other, 3)
    with pytest.raises(RateLimitTooLong):
        await acquire(other, max_wait_seconds=1.0)


async def test_places_whose_callers_have_left_while_redis_was_away_are_given_back(shop: Shop) -> None:
    faults = Faults()
    pacer, other = shop.process(faults=faults), shop.process()
    await send(pacer)
    faults.instead_of_answers = [ConnectionLost()]
    callers = [asyncio.ensure_future(acquire(pacer)) for _ in range(5)]
    faults.instead_of_answers_given = lambda: [each.cancel() for each in callers]
    await asyncio.gather(*callers, return_exceptions=True)
    await shop.clock.sleep(10.0)
    await send(other, 9)
    assert shop.clock.monotonic() < 20.0


async def test_the_state_tells_the_latest_reset_as_in_one_process(shop: Shop) -> None:
    pacer = shop.process()
    (await acquire(pacer)).replied(LimitReading(10, 5, 50.0))
    (await acquire(pacer)).replied(None, refused_for_seconds=20.0)
    with pytest.raises(RateLimitTooLong):
        await acquire(pacer, max_wait_seconds=1.0)
    assert pacer.limits()["k"].resets_in_seconds == pytest.approx(50.0, abs=0.1)


async def test_a_clock_that_is_set_back_neither_frees_places_nor_holds_them_for_longer(
    shop: Shop, clock: VirtualClock
) -> None:
    pacer = shop.process()
    await send(pacer, 10)
    clock._start -= 3_600.0
    await acquire(pacer)
    assert clock.monotonic() == pytest.approx(60.0, abs=0.1)


async def test_an_answer_of_redis_that_is_lost_costs_no_place(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(faults=faults)
    await send(pacer)
    faults.instead_of_answers = [ConnectionLost(), TimeoutError()]
    slots = await asyncio.gather(*(acquire(pacer) for _ in range(9)))
    assert pacer.limits()["k"].in_flight == 9
    assert pacer.limits()["k"].remaining == 0
    for slot in slots:
        slot.unsent()
    await send(pacer, 9)
    assert shop.clock.monotonic() < 1.0


# Redis that does not answer


async def test_a_job_waits_for_redis_and_goes_on_when_it_is_back(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(faults=faults)
    faults.before = ConnectionLost("secret.example:6379")
    waiting = asyncio.ensure_future(acquire(pacer, bulk=True))
    await shop.clock.sleep(30.0)
    assert not waiting.done()
    faults.before = None
    (await waiting).replied(None)
    assert shop.clock.monotonic() < 33.0
    assert faults.calls < 40


@pytest.mark.parametrize(("bulk", "patience_seconds"), [(True, 90.0), (False, 90.0)])
async def test_a_redis_that_stays_away_ends_the_wait_with_an_error_that_names_it(
    shop: Shop, bulk: bool, patience_seconds: float
) -> None:
    faults = Faults()
    faults.before = ConnectionLost("redis://:secret@host")
    pacer = shop.process(faults=faults)
    with pytest.raises(TransportError) as caught:
        await acquire(pacer, bulk=bulk)
    assert shop.clock.monotonic() == pytest.approx(patience_seconds, abs=2.5)
    assert "the Redis server that keeps the rate limits did not answer for 9" in str(caught.value)
    assert str(caught.value).endswith("(ConnectionError); the request was not sent")
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None


async def test_a_call_waits_for_redis_no_longer_than_it_may_wait(shop: Shop) -> None:
    faults = Faults()
    faults.before = ConnectionLost()
    pacer = shop.process(faults=faults)
    with pytest.raises(TransportError):
        await acquire(pacer, max_wait_seconds=3.0)
    assert shop.clock.monotonic() <= 5.0


async def test_interactive_calls_go_on_with_their_share_while_redis_is_away(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(Config(redis_fallback_share=0.3), faults=faults)
    faults.before = ConnectionLost()
    job = asyncio.ensure_future(acquire(pacer, bulk=True))
    await send(pacer, 3)
    assert shop.clock.monotonic() < 1.0
    with pytest.raises(RateLimitTooLong):
        await acquire(pacer, max_wait_seconds=10.0)
    assert not job.done()
    faults.before = None
    (await job).replied(None)
    await send(pacer, 6)
    assert shop.clock.monotonic() < 20.0, "the three are counted, too: ten in all"
    with pytest.raises(RateLimitTooLong):
        await acquire(pacer, max_wait_seconds=10.0)


async def test_a_report_that_redis_hears_late_is_as_old_as_it_is(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(faults=faults)
    await send(pacer)
    slots = [await acquire(pacer) for _ in range(2)]
    faults.before = ConnectionLost()
    slots[0].replied(None, refused_for_seconds=50.0)
    slots[1].replied(LimitReading(10, 0, 55.0))
    await shop.clock.sleep(40.0)
    faults.before = None
    await acquire(pacer)
    assert shop.clock.monotonic() == pytest.approx(55.0, abs=0.5)


async def test_the_share_is_of_what_was_left_when_redis_went_away(shop: Shop) -> None:
    faults = Faults()
    limit = RateLimit("x", 100, 60.0)
    pacer = shop.process(Config(redis_fallback_share=0.5), faults=faults)
    await send(pacer, 90, limit)
    faults.before = ConnectionLost()
    with pytest.raises(RateLimitTooLong):
        await send(pacer, 20, limit, max_wait_seconds=10.0)
    faults.before = None
    await shop.clock.sleep(20.0)
    await send(pacer, 5, limit)
    assert shop.clock.monotonic() < 30.0
    with pytest.raises(RateLimitTooLong):
        await send(pacer, 2, limit, max_wait_seconds=10.0)


async def test_calls_with_a_share_never_wait_for_a_redis_that_stays_away(shop: Shop) -> None:
    faults = Faults()
    pacer = shop.process(Config(redis_fallback_share=1.0), faults=faults)
    await send(pacer)
    faults.before = ConnectionLost()
    for _ in range(5):
        before = shop.clock.monotonic()
        await send(pacer, 1, key="other")
        await send(pacer)
        assert shop.clock.monotonic() - before < 0.2
        await shop.clock.sleep(100.0)


async def test_closing_does_not_wait_for_the_next_renewal_of_leases(shop: Shop, clock: VirtualClock) -> None:
    clock.busy = lambda: True  # time stands still
    pacer = shop.process()
    slot = await acquire(pacer)
    await turns()
    slot.replied(None)
    async with asyncio.timeout(REPLY_SECONDS / 2):
        await pacer.aclose()
    assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()


async def test_closing_sends_nobody_by_a_share(shop: Shop) -> None:
    pacer = shop.process(Config(redis_fallback_share=0.5))
    await send(pacer, 10)
    waiting = asyncio.ensure_future(acquire(pacer))
    await shop.clock.sleep(1.0)
    await pacer.aclose()
    with pytest.raises(TransportError, match="the pacer was closed"):
        await waiting


@pytest.mark.parametrize(
    "url", ["redis://:p@ss/word@localhost:6379", "redis://:pa/ss@host", "rediss://:p#ss@host/0", "redis://u:p?s@host"]
)
def test_a_password_that_is_not_encoded_is_not_taken_for_the_host(url: str) -> None:
    with pytest.raises(ConfigurationError, match="percent-encode the characters") as caught:
        RedisPacer(url)
    assert "ss" not in repr(caught.value).replace("password", "").replace("address", "")


@pytest.mark.parametrize(
    ("problem", "cause", "says"),
    [
        (ConnectionLost("x"), ConnectionRefusedError(111, "Connection refused"), "ConnectionError: Connection refused"),
        (ResponseError("READONLY You can't write"), None, "ResponseError: READONLY"),
        (ResponseError("secret things"), None, "ResponseError"),
        (TimeoutError(), None, "TimeoutError"),
    ],
)
def test_a_failure_says_what_the_system_says_of_it(
    problem: BaseException, cause: BaseException | None, says: str
) -> None:
    problem.__cause__ = cause
    assert named(problem) == says


@pytest.mark.parametrize("given", [7, redis.Redis(), None])
def test_anything_but_an_address_or_an_asynchronous_connection_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"must be a URL or a redis\.asyncio\.Redis, not"):
        RedisPacer(given)


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:6379", "http://:secret@host", "redis://:secret@host:port/0", "redis://:secret@host/0?foo=bar", ""),
        *("redis://:secret@[::1]evil.example:6379/0", "redis://[::1]secret/0", "rediss://secret[::1]:6379"),
    ],
)
def test_an_address_of_another_form_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ConfigurationError, match="must have the form redis://host:port/0") as caught:
        RedisPacer(url)
    assert "secret" not in repr(caught.value)
    assert caught.value.__context__ is None


# Cancelling and closing


async def test_a_caller_that_is_cancelled_takes_no_place(shop: Shop) -> None:
    pacer = shop.process()
    await send(pacer)
    waiters = [asyncio.ensure_future(acquire(pacer)) for _ in range(9)]
    for number in (0, 3):
        await asyncio.sleep(0)
        waiters[number].cancel()
    waiters[8].cancel()
    found = await asyncio.gather(*waiters, return_exceptions=True)
    assert sum(isinstance(each, asyncio.CancelledError) for each in found) == 3
    await send(pacer, 3)
    assert shop.clock.monotonic() < 1.0
    assert pacer.limits()["k"].remaining == 0


async def test_closing_tells_what_is_not_told_and_ends_every_task(shop: Shop) -> None:
    pacer, other = shop.process(), shop.process()
    await send(pacer)
    late = await acquire(pacer)
    await pacer.aclose()
    late.replied(None)
    assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()
    with pytest.raises(RuntimeError, match="this pacer is closed"):
        await acquire(pacer)
    await send(other)
    assert other.limits()["k"].remaining == 7


async def test_a_client_refuses_calls_of_a_closed_pacer_with_its_reason(shop: Shop) -> None:
    async with shop.process() as pacer:
        await send(pacer, 10)
        waiting = asyncio.ensure_future(acquire(pacer))
        await shop.clock.sleep(0.5)
    with pytest.raises(TransportError, match="the pacer was closed while the call waited; the request was not sent"):
        await waiting
