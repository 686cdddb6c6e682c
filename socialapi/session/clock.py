"""Time and fairness: the clock that everything asks, and turns for jobs that share the event loop."""

import asyncio
import functools
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Clock(Protocol):
    """What tells the time and waits. Socket timeouts alone use real time."""

    def time(self) -> float:
        """Wall time in epoch seconds."""

    def monotonic(self) -> float:
        """Seconds from some fixed moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Waits."""


class SystemClock:
    """The clock of the machine."""

    # Not a method around it: a stream asks for every item.
    monotonic: "staticmethod[[], float]" = staticmethod(time.monotonic)

    def time(self) -> float:
        """Wall time in epoch seconds."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        await asyncio.sleep(seconds)


async def acquire_within(clock: Clock, lock: asyncio.Lock, seconds: float) -> bool:
    """Takes the lock, waiting at most so long by the clock; whether it was taken. Leaves no task behind."""
    if not lock.locked():
        return await lock.acquire()
    taking = asyncio.ensure_future(lock.acquire())
    waiters = (taking, asyncio.ensure_future(clock.sleep(seconds)))
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        if not taking.cancelled():
            lock.release()
        raise
    finally:
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
    return not taking.cancelled()


async def wait_for_event(clock: Clock, event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, at most so long by the clock; whether it was set. Leaves no task behind."""
    setting = asyncio.ensure_future(event.wait())
    waiters = (setting, asyncio.ensure_future(clock.sleep(seconds)))
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
    # Not `event.is_set()` alone: another waiter may have been quicker, and cleared it again.
    return event.is_set() or not setting.cancelled()


async def within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T], discard: Callable[[T], None]) -> T:
    """The result of the work, which may take so long by the clock. Raises TimeoutError. Leaves no task behind.

    `discard` is given a result that came too late, or while the caller was cancelled.
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
        # Out here, since the caller may also be cancelled when the result is there and the timer is being ended.
        if not taken:
            working.add_done_callback(functools.partial(_discard, discard))
    if not taken:
        raise TimeoutError
    return working.result()


def _discard(discard: Callable[[T], None], work: asyncio.Future[T]) -> None:
    if not work.cancelled() and work.exception() is None:
        discard(work.result())


_Waiting = deque[asyncio.Future[None]]


class FairScheduler:
    """A queue for the event loop: each time round, one of those who wait goes on, and everybody else in between.

    `asyncio.sleep(0)` would let all of them go on the next time round, one right behind the other. A turn is for a
    millisecond or two of work: for less, others would be kept waiting for nothing.
    """

    def __init__(self) -> None:
        # What ends with its loop must not stand in the way of those who use the client in another one.
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()

    async def yield_turn(self) -> None:
        """Returns when it is the caller's turn; those who came before go first."""
        loop = asyncio.get_running_loop()
        waiting = self._queues.setdefault(loop, deque())
        turn = loop.create_future()
        waiting.append(turn)
        if len(waiting) == 1:
            loop.call_soon(self._give, loop, waiting)
        await turn

    def _give(self, loop: asyncio.AbstractEventLoop, waiting: _Waiting) -> None:
        """Gives the next turn; runs as long as anybody waits."""
        while waiting:
            turn = waiting.popleft()
            if not turn.done():  # as it is when its caller was cancelled
                turn.set_result(None)
                break
        if waiting:
            loop.call_soon(self._give, loop, waiting)
