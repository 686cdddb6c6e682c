"""Keeps requests within the service's limits before they are sent, so that a 429 stays an exception."""

import asyncio
import datetime
from collections.abc import Mapping
from typing import Final, Protocol

import attrs

from socialapi.config import Config
from socialapi.errors import RateLimitTooLong
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, acquire_within, wait_for_event
from socialapi.session.windows import UNKNOWN, LimitStatus, SlidingWindow
from socialapi.wire.limits import LimitReading

MAX_WINDOWS: Final = 10_000
"""Limit keys remembered; beyond that, windows with nothing on its way are forgotten, the least recently used first."""


class Slot(Protocol):
    """The right to send one request. Exactly one of its methods is called, once."""

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        """The service answered (after a 429 with the wait), or may have counted the request."""

    def unsent(self) -> None:
        """The request did not reach the service."""


class Pacer(Protocol):
    """What decides when a request may go out."""

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a place in the window of `key`. Raises RateLimitTooLong instead of waiting too long."""

    def limits(self) -> Mapping[str, LimitStatus]:
        """What is known of each window now."""

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """The rate that the limit allows in the long run; None while it is not known."""


class _Lane:
    """The queue of one kind of caller: bulk jobs wait in their own, so that they never stand before a person."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.waiting = 0


class _Paced:
    """A window with its waiters."""

    def __init__(self, window: SlidingWindow) -> None:
        self.window = window
        self.changed = asyncio.Event()
        self.lanes = {False: _Lane(), True: _Lane()}

    @property
    def idle(self) -> bool:
        return self.window.idle and not any(lane.waiting for lane in self.lanes.values())


@attrs.frozen(eq=False)
class _WindowSlot:
    paced: _Paced
    clock: Clock

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        self.paced.window.replied(self.clock.monotonic(), reading, refused_for_seconds=refused_for_seconds)
        self.paced.changed.set()

    def unsent(self) -> None:
        self.paced.window.unsent()
        self.paced.changed.set()


class SlidingWindowPacer:
    """The default pacer: one sliding window per limit key, in this process, corrected by what the service reports."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._windows: dict[str, _Paced] = {}

    def _paced(self, key: str, documented: RateLimit | None) -> _Paced:
        paced = self._windows.pop(key, None)
        if paced is None:
            if len(self._windows) >= MAX_WINDOWS:
                self._forget_one()
            limit = documented.configured(self._config.rate_limits) if documented else None
            window = SlidingWindow(limit, reserve_share=self._config.interactive_reserve)
            paced = _Paced(window)
        self._windows[key] = paced  # at the end: the order is that of use
        return paced

    def _forget_one(self) -> None:
        unused = next((key for key, paced in self._windows.items() if paced.idle), None)
        if unused is not None:
            del self._windows[unused]

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a place in the window of `key`; callers of one kind are served in the order they came.

        Raises RateLimitTooLong, before waiting where the wait is known to be too long, else when the time is up.
        """
        paced = self._paced(key, documented)
        lane = paced.lanes[bulk]
        begin = self._clock.monotonic()
        if (
            not lane.waiting
            and not paced.window.probe_seconds(begin)
            and paced.window.wait_seconds(begin, bulk=bulk) <= 0
        ):
            # Nobody has to be waited for, so there is no queue to stand in.
            paced.window.take(begin)
            return _WindowSlot(paced, self._clock)
        await self._until_probed(paced, begin + max_wait_seconds)
        self._refuse_if_too_long(key, paced.window.wait_seconds(begin, bulk=bulk, ahead=lane.waiting), max_wait_seconds)
        lane.waiting += 1
        try:
            if not await acquire_within(self._clock, lane.turn, max_wait_seconds):
                raise self._too_long(key, max_wait_seconds)
            try:
                await self._until_free(key, paced, bulk=bulk, deadline=begin + max_wait_seconds)
                paced.window.take(self._clock.monotonic())
            finally:
                lane.turn.release()
        finally:
            lane.waiting -= 1
        return _WindowSlot(paced, self._clock)

    async def _until_probed(self, paced: _Paced, deadline: float) -> None:
        while (now := self._clock.monotonic()) < deadline and (seconds := paced.window.probe_seconds(now)) > 0:
            paced.changed.clear()
            await wait_for_event(self._clock, paced.changed, min(seconds, deadline - now))

    async def _until_free(self, key: str, paced: _Paced, *, bulk: bool, deadline: float) -> None:
        while True:
            now = self._clock.monotonic()
            wait = paced.window.wait_seconds(now, bulk=bulk)
            if wait <= 0:
                return
            self._refuse_if_too_long(key, wait, deadline - now)
            paced.changed.clear()
            seconds = deadline - now if wait is UNKNOWN else wait
            if not await wait_for_event(self._clock, paced.changed, seconds) and wait is UNKNOWN:
                raise self._too_long(key, seconds)

    def _refuse_if_too_long(self, key: str, wait: float, allowed: float) -> None:
        if wait is not UNKNOWN and wait > max(0.0, allowed):
            raise self._too_long(key, wait)

    def _too_long(self, key: str, wait: float) -> RateLimitTooLong:
        resets_at = datetime.datetime.fromtimestamp(self._clock.time() + wait, datetime.UTC)
        return RateLimitTooLong(key, wait, resets_at)

    def limits(self) -> Mapping[str, LimitStatus]:
        """What is known of each window now."""
        now = self._clock.monotonic()
        return {key: paced.window.status(now) for key, paced in self._windows.items()}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """The rate that the limit allows in the long run; None while it is not known."""
        window = self._paced(key, documented).window
        if window.limit is None or window.window_seconds is None:
            return None
        return window.limit / window.window_seconds
