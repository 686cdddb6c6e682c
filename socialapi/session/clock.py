"""Clocks, and waits with a timeout."""

import asyncio
import functools
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Clock(Protocol):
    """A source of the time and of sleep. Pass one to control time in tests; only socket timeouts still use real time."""

    def time(self) -> float:
        """Returns the wall time in epoch seconds."""

    def monotonic(self) -> float:
        """Returns seconds since a fixed moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Waits for `seconds`."""


class SystemClock:
    """The clock of the operating system."""

    # Static methods without a wrapper, because streams call them for every item.
    monotonic: "staticmethod[[], float]" = staticmethod(time.monotonic)
    time: "staticmethod[[], float]" = staticmethod(time.time)

    async def sleep(self, seconds: float) -> None:
        """Waits for `seconds`."""
        await asyncio.sleep(seconds)


async def acquire_with_timeout(clock: Clock, lock: asyncio.Lock, seconds: float) -> bool:
    """Acquires the lock, waiting at most `seconds` by the clock. Returns whether it was acquired."""
    if not lock.locked():
        return await lock.acquire()
    try:
        return await run_with_timeout(clock, seconds, lock.acquire(), discard=lambda _: lock.release())
    except TimeoutError:
        return False


async def wait_for_event(clock: Clock, event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, at most `seconds` by the clock. Returns whether it was set."""
    try:
        return await run_with_timeout(clock, seconds, event.wait(), discard=lambda _: None)
    except TimeoutError:
        return event.is_set()


async def run_with_timeout(
    clock: Clock, seconds: float, work: Coroutine[Any, Any, T], discard: Callable[[T], None]
) -> T:
    """Returns the result of `work`. Raises TimeoutError if it takes longer than `seconds` by the clock.

    Leaves no task behind. `discard` is called with a result that came too late, or that came while
    the caller was being cancelled.
    """
    working = asyncio.ensure_future(work)
    waiters = (working, asyncio.ensure_future(clock.sleep(seconds)))
    taken = False
    try:
        try:
            await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
            in_time = working.done()
        finally:
            for waiter in waiters:
                waiter.cancel()
            await asyncio.gather(*waiters, return_exceptions=True)
        taken = in_time
    finally:
        # In an outer block, because the caller may also be cancelled after the result has arrived,
        # while the timer is being cancelled.
        if not taken:
            working.add_done_callback(functools.partial(_discard, discard))
    if not taken:
        raise TimeoutError
    return working.result()


def _discard(discard: Callable[[T], None], work: asyncio.Future[T]) -> None:
    if not work.cancelled() and work.exception() is None:
        discard(work.result())
