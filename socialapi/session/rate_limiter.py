"""Waiting for the documented and reported rate limits: one sliding window for each limit, shared by all callers."""

import asyncio
import collections
import datetime
import math
from collections.abc import Mapping
from typing import Final, Protocol

import attrs

from socialapi.config import Config
from socialapi.errors import RateLimitTooLong
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, acquire_within, wait_for_event
from socialapi.wire.rate_limit_headers import LimitReading

UNKNOWN: Final = math.inf
"""A wait whose end no clock knows: it depends on an answer that is still out."""

SAME_RESET_SECONDS: Final = 2.0
"""How far apart two reports of the same reset can be: they are in whole seconds, and answers take their time."""


@attrs.frozen
class LimitStatus:
    """What is known of a limit now: `limit` and `remaining` are None while the service has not said."""

    limit: int | None
    remaining: int | None
    in_flight: int
    resets_in_seconds: float | None


PROBE_SECONDS: Final = 5.0
"""How long the answer to the first request of a limit is waited for before others go out as well."""


class SlidingWindow:
    """Counts requests by the moment of their *reply*, so that jitter on the way never makes two windows overlap.

    Our own count over the last window bounds what goes out, where the length of the window is documented; where
    requests of others were counted as well, so does the `remaining` that the service reported last. While nothing is
    known of a limit, one request goes out alone until its answer tells, for a few seconds at most.
    """

    def __init__(self, documented: RateLimit | None, *, reserve_share: float) -> None:
        self.limit = documented.requests if documented else None
        self.window_seconds: float | None = documented.window_seconds if documented else None
        self.in_flight: int = 0
        self._reserve_share = reserve_share
        self._replies: collections.deque[float] = collections.deque()
        self._answered = documented is not None
        self._reported_remaining: int | None = None
        self._reported_reset = -math.inf
        self._former_reset = -math.inf
        self._unaccounted = 0
        self._ours_alone = False
        self._probed_until = -math.inf
        self._blocked_until = -math.inf

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return self.in_flight == 0

    def take(self, now: float) -> None:
        """A request goes out."""
        if not self._answered and self.in_flight == 0:
            self._probed_until = now + PROBE_SECONDS
        self.in_flight += 1

    def unsent(self) -> None:
        """A request did not reach the service: its place is free at once."""
        self.in_flight -= 1

    def replied(self, now: float, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        """An answer came, or the outcome is unknown. `refused_for_seconds` is given after a 429."""
        self.in_flight -= 1
        self._answered = True
        if self.window_seconds is not None:
            self._replies.append(now)
        if reading is None:
            self._unaccounted += 1
        else:
            self._learn(now, reading)
        if refused_for_seconds is not None:
            self._blocked_until = max(self._blocked_until, now + refused_for_seconds)

    def _learn(self, now: float, reading: LimitReading) -> None:
        if reading.limit:
            self.limit = reading.limit
        if reading.remaining is None or reading.resets_in_seconds is None:
            self._unaccounted += 1
            return
        reset = now + reading.resets_in_seconds
        if self._is_overtaken(now, reading.remaining, reset):
            return
        if reset > self._reported_reset + SAME_RESET_SECONDS:
            self._former_reset = self._reported_reset
        self._reported_remaining, self._reported_reset, self._unaccounted = reading.remaining, reset, 0
        self._ours_alone = self._explains(now, reading.remaining)

    def _explains(self, now: float, remaining: int) -> bool:
        """Whether our own requests explain what is used of the service's window.

        Then our count alone is obeyed: it is exact, while a reset is told in whole seconds by a clock in whole seconds,
        so that waiting for it would leave up to two seconds of every window unused.
        """
        if self.limit is None or self.window_seconds is None:
            return False
        opened = self._reported_reset - self.window_seconds - SAME_RESET_SECONDS
        ours = self.in_flight + sum(1 for reply in reversed(self._replies) if reply >= opened)
        return self.limit - remaining <= ours

    def _is_overtaken(self, now: float, remaining: int, reset: float) -> bool:
        """Whether a later answer came first: it had less remaining in the same window, or was of the next window."""
        if self._reported_remaining is None or now >= self._reported_reset:
            return False
        if reset <= self._former_reset + SAME_RESET_SECONDS:
            return True
        return remaining > self._reported_remaining and abs(reset - self._reported_reset) <= SAME_RESET_SECONDS

    def _left(self) -> int:
        """What remains of the service's window.

        The service may or may not have counted what is still on its way, and what ended without a word; assuming that
        it will avoids a 429.
        """
        return (self._reported_remaining or 0) - self.in_flight - self._unaccounted

    def wait_seconds(self, now: float, *, bulk: bool, ahead: int = 0) -> float:
        """How long until a request may go out when `ahead` others go first: 0 is now, `UNKNOWN` after a reply."""
        reserve = self._reserve() if bulk else 0
        return max(
            0.0,
            self._blocked_until - now,
            self._by_our_count(now, reserve, ahead),
            self._by_report(now, reserve, ahead),
        )

    def probe_seconds(self, now: float) -> float:
        """How long to wait for the answer to the first request, which tells what the limit is; nothing is lost by going
        out earlier but perhaps a 429.
        """
        return 0.0 if self._answered or self.in_flight == 0 else max(0.0, self._probed_until - now)

    def _reserve(self) -> int:
        if self.limit is None or not self._reserve_share:
            return 0
        return min(self.limit - 1, max(1, math.ceil(self.limit * self._reserve_share)))

    def _by_our_count(self, now: float, reserve: int, ahead: int) -> float:
        if self.limit is None or self.window_seconds is None:
            return 0.0
        places = self.limit - reserve
        free = places - self.in_flight - self._recent(now)
        # Places come back one window after their replies, in the order of these; those on their way reply now at best.
        turns, place = divmod(ahead, places)
        if place < free:
            first = 0.0
        elif place - free < len(self._replies):
            first = self._replies[place - free] + self.window_seconds - now
        else:
            first = self.window_seconds
        return first + turns * self.window_seconds

    def _recent(self, now: float) -> int:
        """How many requests were answered within the last window."""
        while self._replies and self._replies[0] + (self.window_seconds or 0.0) <= now:
            self._replies.popleft()
        return len(self._replies)

    def _by_report(self, now: float, reserve: int, ahead: int) -> float:
        if self._reported_remaining is None or self._ours_alone:
            return 0.0
        if now >= self._reported_reset:
            # A new window of the service, of which nothing is known but its size.
            full = self.limit
            return UNKNOWN if full is not None and self.in_flight + ahead >= max(1, full - reserve) else 0.0
        return 0.0 if self._left() - reserve > ahead else self._reported_reset - now

    def status(self, now: float) -> LimitStatus:
        """What is known now."""
        candidates: list[int] = []
        if self.limit is not None and self.window_seconds is not None:
            candidates.append(self.limit - self.in_flight - self._recent(now))
        if self._reported_remaining is not None and now < self._reported_reset:
            candidates.append(self._left())
        if self._blocked_until > now:
            candidates.append(0)
        resets = [t - now for t in (self._blocked_until, self._reported_reset) if t > now]
        return LimitStatus(
            self.limit, max(0, min(candidates)) if candidates else None, self.in_flight, max(resets, default=None)
        )


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
