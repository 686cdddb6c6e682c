"""A clock for tests: it stands still while anything can run, and jumps to the next moment that somebody waits for."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Any, Final, cast

from socialapi.session.clock import SystemClock

START: Final = 1_800_000_000.0
"""2027-01-15T08:00:00Z."""

_LOOK_AGAIN_SECONDS: Final = 0.001


class VirtualClock:
    """Implements `socialapi.session.clock.Clock` without ever waiting.

    Time moves when no callback of the event loop is ready to run. What the loop cannot see, an answer on its way
    through a socket, is told by `busy`: while it is true, time stands still.
    """

    def __init__(self, *, busy: Callable[[], bool] | None = None, start: float = START) -> None:
        self.sleeps: list[float] = []
        """Every wait that was asked for, in seconds."""
        self.busy = busy or (lambda: False)
        self._start = start
        self._now = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._looking = False

    def time(self) -> float:
        return self._start + self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._now + max(0.0, seconds), next(self._order), waiter))
        if not self._looking:
            self._looking = True
            loop.call_soon(self._look)
        await waiter

    def advance(self, seconds: float) -> None:
        """Moves time by hand; who waited for it runs at the next turn."""
        self._now += seconds
        self._wake()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        if not self._sleepers:
            self._looking = False
        elif cast("Any", loop)._ready:
            loop.call_soon(self._look)
        elif self.busy():
            loop.call_later(_LOOK_AGAIN_SECONDS, self._look)
        else:
            self._now = max(self._now, self._sleepers[0][0])
            self._wake()
            loop.call_soon(self._look)

    def _wake(self) -> None:
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, waiter = heapq.heappop(self._sleepers)
            if not waiter.done():
                waiter.set_result(None)


class WatchedClock(SystemClock):
    """The clock of the system, which tells when somebody begins to sleep."""

    def __init__(self) -> None:
        self.sleeping = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.sleeping.set()
        await super().sleep(seconds)


async def turns(count: int = 20) -> None:
    """Lets everything that can run do so, for a number of turns of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)
