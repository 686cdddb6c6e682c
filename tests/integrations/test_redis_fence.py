"""The fence lets one attempt at a part of a job send, the last one that began."""

import secrets
from collections.abc import AsyncIterator, Callable
from unittest import mock

import attrs
import fakeredis
import pytest
import redis

from socialapi.config import Config
from socialapi.errors import ConfigurationError, TransportError
from socialapi.integrations.redis_fence import FENCE_MARGIN_SECONDS, RedisFence, Superseded
from tests.support.clock import VirtualClock
from tests.support.redis import imitation, redis_running, time_of_redis

CONFIG = Config(base_url="https://api.northwind.example", timeout_seconds=20, max_elapsed_seconds=3)
WAIT_SECONDS = 20 + FENCE_MARGIN_SECONDS

Fence = Callable[..., RedisFence]


@pytest.fixture
async def fence(clock: VirtualClock) -> AsyncIterator[Fence]:
    """Makes the fence of an attempt on an imitation of Redis under virtual time."""
    server = fakeredis.FakeServer()

    def of(run: str = "monday", part: int = 0, attempt: int = 0, *, job: str = "crm", app: str = "") -> RedisFence:
        return RedisFence(
            imitation(server), CONFIG, job=job, run=run, part=part, attempt=attempt, namespace=app, clock=clock
        )

    with time_of_redis(clock):
        yield of


async def test_the_first_attempt_sends_at_once(fence: Fence) -> None:
    only = fence()
    assert await only.take() == 0
    await only.check()
    await only.release()


async def test_a_newer_attempt_stops_the_older_one_and_waits_until_its_last_request_has_ended(
    fence: Fence, clock: VirtualClock
) -> None:
    older, newer = fence(attempt=3), fence(attempt=7)
    await older.take()
    assert await newer.take() == pytest.approx(WAIT_SECONDS)
    with pytest.raises(Superseded, match="another attempt at this part of the job has started"):
        await older.check()
    await newer.check()


async def test_a_third_attempt_waits_for_the_first_even_if_the_second_ended_in_order(
    fence: Fence, clock: VirtualClock
) -> None:
    first, second, third = (fence(attempt=number) for number in range(3))
    await first.take()
    await second.take()
    await clock.sleep(5)
    await second.release()
    assert await third.take() == pytest.approx(WAIT_SECONDS - 5)


async def test_a_clock_that_is_set_back_does_not_make_the_wait_longer(fence: Fence, clock: VirtualClock) -> None:
    for number in range(2):
        await fence(attempt=number).take()
    with mock.patch.object(clock, "time", return_value=0.0):
        assert await fence(attempt=2).take() == pytest.approx(WAIT_SECONDS)


async def test_an_attempt_that_is_late_does_not_supersede_a_newer_one(fence: Fence) -> None:
    older, newer = fence(attempt=3), fence(attempt=7)
    await newer.take()
    with pytest.raises(Superseded):
        await older.take()
    await newer.check()


async def test_releasing_after_the_successor_began_does_not_release_the_successor(fence: Fence) -> None:
    older, newer, newest = fence(attempt=3), fence(attempt=7), fence(attempt=9)
    await older.take()
    await newer.take()
    await older.release()
    assert await newest.take() == pytest.approx(WAIT_SECONDS)


async def test_parts_and_jobs_and_apps_do_not_disturb_one_another(fence: Fence) -> None:
    fences = [fence(), fence(part=1), fence(job="shop"), fence(app="other")]
    assert [await each.take() for each in fences] == [0, 0, 0, 0]
    for each in fences:
        await each.check()


async def test_a_new_run_of_the_job_stops_every_part_of_the_one_before(fence: Fence, clock: VirtualClock) -> None:
    before = [fence(part=part) for part in range(2)]
    for each in before:
        await each.take()
    after = [fence("tuesday", part) for part in range(2)]
    assert await after[0].take() == pytest.approx(WAIT_SECONDS)
    await clock.sleep(1)
    assert await after[1].take() == pytest.approx(WAIT_SECONDS - 1)
    for each in before:
        with pytest.raises(Superseded, match="another run of the job has started"):
            await each.check()


async def test_a_new_run_is_at_once_where_the_one_before_has_ended_in_order(fence: Fence) -> None:
    before = fence()
    await before.take()
    await before.release()
    assert await fence("tuesday").take() == 0


async def test_a_task_of_a_superseded_run_that_begins_late_does_not_take_the_job_back(fence: Fence) -> None:
    await fence("monday").take()
    tuesday = fence("tuesday")
    await tuesday.take()
    with pytest.raises(Superseded, match="another run"):
        await fence("monday", part=5, attempt=12).take()
    await tuesday.check()


async def test_an_attempt_after_one_that_redis_has_forgotten_waits_all_the_same(fence: Fence) -> None:
    assert await fence(attempt=4).take(is_repeated=True) == pytest.approx(WAIT_SECONDS)


async def test_an_attempt_that_redis_has_forgotten_stops(clock: VirtualClock) -> None:
    server = fakeredis.FakeServer()
    with time_of_redis(clock):
        held = RedisFence(imitation(server), CONFIG, job="crm", run="monday", part=0, attempt=0, clock=clock)
        await held.take()
        await imitation(server).flushall()
        with pytest.raises(Superseded, match="Redis no longer knows this attempt"):
            await held.check()


async def test_a_redis_that_does_not_answer_is_waited_for_as_long_as_a_job_may_stand_still(clock: VirtualClock) -> None:
    server = fakeredis.FakeServer()
    server.connected = False
    held = RedisFence(imitation(server), CONFIG, job="crm", run="monday", part=0, attempt=0, clock=clock)
    began = clock.monotonic()
    with pytest.raises(TransportError, match=r"keeps the fences of jobs did not answer for \d+ s"):
        await held.take()
    assert 3 <= clock.monotonic() - began < 6


async def test_a_redis_that_refuses_access_is_not_asked_again(clock: VirtualClock) -> None:
    held = RedisFence(imitation(), CONFIG, job="crm", run="monday", part=0, attempt=0, clock=clock)
    refusing = mock.AsyncMock(side_effect=redis.AuthenticationError("invalid password"))
    with mock.patch.object(held, "_script", refusing), pytest.raises(ConfigurationError, match="denies access"):
        await held.take()
    assert refusing.await_count == 1


async def test_a_real_redis_runs_the_script() -> None:
    config, job = attrs.evolve(CONFIG, timeout_seconds=0.5), secrets.token_hex(8)
    with redis_running() as url:
        fences = [
            RedisFence(url, config, job=job, run="monday", part=0, attempt=attempt, namespace="test")
            for attempt in range(2)
        ]
        try:
            older, newer = fences
            assert await older.take() == 0
            assert await newer.take() == pytest.approx(0.5 + FENCE_MARGIN_SECONDS)
            with pytest.raises(Superseded):
                await older.check()
            await newer.release()
        finally:
            for each in fences:
                await each.aclose()
