"""Waiting for an event, a result or for time to pass, whichever comes first."""

import asyncio
from typing import Any

import pytest

from socialapi.session.clock import SystemClock, acquire_with_timeout, run_with_timeout, wait_for_event
from tests.support.clock import VirtualClock, turns


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_an_event_ends_the_wait_and_leaves_no_task_behind(clock: VirtualClock) -> None:
    event = asyncio.Event()
    waiting = asyncio.create_task(wait_for_event(clock, event, 5.0))
    await turns(2)
    event.set()
    assert await waiting is True
    assert clock.monotonic() == 0.0
    assert others() == set()


async def test_an_event_counts_for_everybody_who_waited_also_when_one_clears_it_at_once(clock: VirtualClock) -> None:
    event = asyncio.Event()
    woken: list[bool] = []

    async def wait() -> None:
        woken.append(await wait_for_event(clock, event, 5.0))
        event.clear()

    waiting = [asyncio.create_task(wait()) for _ in range(3)]
    await turns(2)
    event.set()
    await asyncio.gather(*waiting)
    assert woken == [True, True, True]


async def test_cancelling_the_wait_cancels_what_it_started(clock: VirtualClock) -> None:
    waiting = asyncio.create_task(wait_for_event(clock, asyncio.Event(), 5.0))
    await turns(2)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled()
    assert others() == set()


async def test_an_event_that_is_not_set_in_time_is_told(clock: VirtualClock) -> None:
    assert await wait_for_event(clock, asyncio.Event(), 5.0) is False
    assert (others(), clock.monotonic()) == (set(), 5.0)


async def test_a_lock_is_taken_in_time_or_not_at_all(clock: VirtualClock) -> None:
    lock = asyncio.Lock()
    assert await acquire_with_timeout(clock, lock, 5.0)
    assert not await acquire_with_timeout(clock, lock, 5.0)
    assert (others(), clock.monotonic()) == (set(), 5.0)
    waiting = asyncio.create_task(acquire_with_timeout(clock, lock, 5.0))
    await turns(3)
    lock.release()
    assert await waiting
    assert lock.locked()


@pytest.mark.parametrize("turn", range(1, 12))
async def test_a_lock_is_free_after_the_one_who_waited_was_cancelled(turn: int, clock: VirtualClock) -> None:
    lock = asyncio.Lock()
    await lock.acquire()
    waiting = asyncio.create_task(acquire_with_timeout(clock, lock, 5.0))
    await turns(3)
    lock.release()
    await turns(turn)
    waiting.cancel()
    (found,) = await asyncio.gather(waiting, return_exceptions=True)
    await turns(5)
    assert lock.locked() == (found is True)
    assert others() == set()


async def test_the_clock_of_the_machine_goes_on() -> None:
    clock = SystemClock()
    before, wall = clock.monotonic(), clock.time()
    await clock.sleep(0.0)
    assert clock.monotonic() >= before
    assert wall > 1_700_000_000


# A result


async def after(turn: int) -> str:
    await turns(turn)
    return "result"


async def test_a_result_in_time_is_returned_and_nothing_is_left_behind(clock: VirtualClock) -> None:
    discarded: list[str] = []
    assert await run_with_timeout(clock, 5.0, after(3), discarded.append) == "result"
    await turns(3)
    assert (discarded, others(), clock.monotonic()) == ([], set(), 0.0)


async def test_work_that_takes_longer_is_cancelled(clock: VirtualClock) -> None:
    with pytest.raises(TimeoutError):
        await run_with_timeout(clock, 5.0, clock.sleep(6.0), discard=lambda _: None)
    assert (others(), clock.monotonic()) == (set(), 5.0)


async def test_an_error_of_the_work_is_raised(clock: VirtualClock) -> None:
    async def work() -> None:
        await turns(2)
        raise KeyError("of the work")

    with pytest.raises(KeyError, match="of the work"):
        await run_with_timeout(clock, 5.0, work(), print)


async def test_a_result_that_came_too_late_is_discarded(clock: VirtualClock) -> None:
    discarded: list[str] = []

    async def stubborn() -> str:
        try:
            await clock.sleep(6.0)
        except asyncio.CancelledError:
            await turns(3)
        return "late"

    with pytest.raises(TimeoutError):
        await run_with_timeout(clock, 5.0, stubborn(), discarded.append)
    await turns(2)
    assert discarded == ["late"]


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("turn", range(2, 16))
async def test_a_result_is_returned_or_discarded_or_never_made_whenever_the_caller_is_cancelled(
    turn: int, twice: bool, clock: VirtualClock
) -> None:
    made: list[object] = []
    discarded: list[object] = []

    async def work() -> object:
        await turns(5)
        made.append(object())
        await asyncio.sleep(0)
        return made[0]

    caller: asyncio.Task[Any] = asyncio.create_task(run_with_timeout(clock, 5.0, work(), discarded.append))
    await turns(turn)
    caller.cancel()
    if twice:
        await turns(1)
        caller.cancel()
    found = await asyncio.gather(caller, return_exceptions=True)
    await turns(5)
    returned = [each for each in found if not isinstance(each, BaseException)]
    assert returned + discarded in ([], made)
    assert others() == set()
