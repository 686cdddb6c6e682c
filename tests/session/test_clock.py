"""Waiting for an event or for time to pass, whichever comes first."""

import asyncio

from socialapi.session.clock import SystemClock, wait_for_event
from tests.support.clock import VirtualClock, turns


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_time_that_is_up_is_told_from_an_event(clock: VirtualClock) -> None:
    assert await wait_for_event(clock, asyncio.Event(), 5.0) is False
    assert clock.monotonic() == 5.0
    assert others() == set()


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


async def test_the_clock_of_the_machine_goes_on() -> None:
    clock = SystemClock()
    before, wall = clock.monotonic(), clock.time()
    await clock.sleep(0.0)
    assert clock.monotonic() >= before
    assert wall > 1_700_000_000
