"""Rate limiting: one sliding window per limit, shared by all callers of a client."""

import asyncio
import bisect
import collections
import copy
import datetime
import math
from collections.abc import Mapping
from typing import Final, Protocol

import attrs

from socialapi.config import Config
from socialapi.errors import RateLimitTooLong
from socialapi.internal.records import FrozenRecord
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, SystemClock, acquire_with_timeout, wait_for_event
from socialapi.wire.rate_limit_headers import LimitReading

UNKNOWN: Final = math.inf
"""A wait of unknown length that ends when a pending reply arrives."""

SAME_RESET_SECONDS: Final = 2.0
"""How far apart two reports of the same reset can be. Resets are whole seconds, and replies take time to arrive."""


@attrs.frozen
class LimitStatus(FrozenRecord):
    """The state of a rate limit. `limit` and `remaining` are None until they are known."""

    limit: int | None
    remaining: int | None
    in_flight: int
    resets_in_seconds: float | None


PROBE_SECONDS: Final = 5.0
"""How long the first request under an unknown limit delays the others."""


class SlidingWindow:
    """Counts requests by the time of their *reply*, so that network jitter never puts too many requests into one window
    of the service.

    If the length of the window is documented, the client's own count over the last window bounds its requests. If the
    service has counted requests from other programs, the last reported `remaining` also bounds them. While a limit is
    unknown, other requests wait for the reply to the first one, for at most `PROBE_SECONDS`.
    """

    def __init__(self, documented: RateLimit | None, *, reserve_share: float) -> None:
        self._documented = documented
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
        self._is_only_caller = False
        self._probed_until = -math.inf
        self._blocked_until = -math.inf

    def abandoned(self, now: float) -> "SlidingWindow":
        """Returns a copy in which the requests in flight count as answered now, because no task waits for their
        replies.
        """
        window = copy.copy(self)
        window._replies = self._replies.copy()  # noqa: SLF001
        for _ in range(self.in_flight):
            window.replied(now, None)
        return window

    def take(self, now: float) -> None:
        """Counts a request as sent."""
        if not self._answered and self.in_flight == 0:
            self._probed_until = now + PROBE_SECONDS
        self.in_flight += 1

    def unsent(self) -> None:
        """Frees the slot of a request that did not reach the service."""
        self.in_flight -= 1

    def replied(self, now: float, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        """Records a reply or an unknown outcome. `refused_for_seconds` is set after a 429."""
        self.in_flight -= 1
        self._answered = True
        if self.window_seconds is not None:
            self._replies.append(now)
        if reading is None:
            self._unaccounted += 1
        else:
            self._read(now, reading)
        if refused_for_seconds is not None:
            self._blocked_until = max(self._blocked_until, now + refused_for_seconds)

    def _read(self, now: float, reading: LimitReading) -> None:
        if reading.limit:
            self.limit = self._documented.corrected(reading.limit) if self._documented else reading.limit
        if reading.remaining is None or reading.resets_in_seconds is None:
            self._unaccounted += 1
            return
        reset = now + reading.resets_in_seconds
        if self._is_overtaken(now, reading.remaining, reset):
            return
        if reset > self._reported_reset + SAME_RESET_SECONDS:
            self._former_reset = self._reported_reset
        self._reported_remaining, self._reported_reset, self._unaccounted = reading.remaining, reset, 0
        if self.limit is not None and self.window_seconds is not None:
            # If the client's own requests account for all use of the service's window, only the client's count applies.
            # That count is exact, while resets are reported in whole seconds: waiting for a reset would leave up to two
            # seconds of every window unused.
            opened = self._reported_reset - self.window_seconds - SAME_RESET_SECONDS
            own = self.in_flight + len(self._replies) - bisect.bisect_left(self._replies, opened)
            self._is_only_caller = self.limit - reading.remaining <= own

    def _is_overtaken(self, now: float, remaining: int, reset: float) -> bool:
        """Returns whether a newer report arrived before this one. The newer report had fewer requests remaining in the
        same window, or belonged to the next window.
        """
        if self._reported_remaining is None or now >= self._reported_reset:
            return False
        if reset <= self._former_reset + SAME_RESET_SECONDS:
            return True
        return remaining > self._reported_remaining and abs(reset - self._reported_reset) <= SAME_RESET_SECONDS

    def _left(self) -> int:
        """Returns how many requests remain in the service's window.

        Requests in flight, and those whose reply had no limit headers, are assumed to count. This
        avoids a 429.
        """
        return (self._reported_remaining or 0) - self.in_flight - self._unaccounted

    def wait_seconds(self, now: float, *, bulk: bool, ahead: int = 0) -> float:
        """Returns the seconds until a request may go out if `ahead` others go first.

        0 means now, and `UNKNOWN` means that it depends on a reply.
        """
        reserve = 0
        if bulk and self.limit is not None and self._reserve_share:
            reserve = min(self.limit - 1, max(1, math.ceil(self.limit * self._reserve_share)))
        wait_seconds = max(0.0, self._blocked_until - now)
        if self.limit is not None and self.window_seconds is not None:
            slots = self.limit - reserve
            free = slots - self.in_flight - self._recent(now)
            # Slots become free one window after their replies, in that order. Requests in flight are
            # assumed to be answered now.
            windows, slot = divmod(ahead, slots)
            if slot < free:
                first = 0.0
            elif slot - free < len(self._replies):
                first = self._replies[slot - free] + self.window_seconds - now
            else:
                first = self.window_seconds
            wait_seconds = max(wait_seconds, first + windows * self.window_seconds)
        if self._reported_remaining is not None and not self._is_only_caller:
            wait_seconds = max(wait_seconds, self._by_report(now, reserve, ahead))
        return wait_seconds

    def try_take(self, now: float, *, bulk: bool) -> bool:
        """Counts a request as sent if it may go out now. Returns whether it may."""
        if self.probe_seconds(now) > 0 or self.wait_seconds(now, bulk=bulk) > 0:
            return False
        self.take(now)
        return True

    def probe_seconds(self, now: float) -> float:
        """Returns the seconds left to wait for the first reply, which reports the limit.

        Sending earlier risks only a 429.
        """
        return 0.0 if self._answered or self.in_flight == 0 else max(0.0, self._probed_until - now)

    def _recent(self, now: float) -> int:
        """Returns how many requests were answered within the last window."""
        while self._replies and self._replies[0] + (self.window_seconds or 0.0) <= now:
            self._replies.popleft()
        return len(self._replies)

    def _by_report(self, now: float, reserve: int, ahead: int) -> float:
        if now >= self._reported_reset:
            # The service has opened a new window. Only its size is known.
            full = self.limit
            return UNKNOWN if full is not None and self.in_flight + ahead >= max(1, full - reserve) else 0.0
        return 0.0 if self._left() - reserve > ahead else self._reported_reset - now

    def status(self, now: float) -> LimitStatus:
        """Returns the current state of the limit."""
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
"""How many limit keys are kept. Beyond that, the least recently used idle windows are dropped."""


class Slot(Protocol):
    """The right to send one request. Call exactly one of its methods, once."""

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        """Records that the service replied, or may have counted the request.

        `refused_for_seconds` is the wait that a 429 requested.
        """

    def unsent(self) -> None:
        """Records that the request did not reach the service."""


class Pacer(Protocol):
    """Decides when a request may go out."""

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot in the window of `key`. Raises RateLimitTooLong if the wait would exceed
        `max_wait_seconds`.
        """

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the current state of each limit, by limit key."""

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the sustained rate that the limit allows, or None while it is unknown."""


class _Queue:
    """The queue of one kind of caller. Bulk jobs have a separate queue, so that they never delay interactive calls."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


class _PacedWindow:
    """A window with its waiting callers, and the slot of each of its requests."""

    def __init__(self, window: SlidingWindow, clock: Clock) -> None:
        self.window = window
        self.changed = asyncio.Event()
        self.queues = {False: _Queue(), True: _Queue()}
        self._clock = clock

    @property
    def idle(self) -> bool:
        return self.window.in_flight == 0 and not any(queue.waiting for queue in self.queues.values())

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        self.window.replied(self._clock.monotonic(), reading, refused_for_seconds=refused_for_seconds)
        self.changed.set()

    def unsent(self) -> None:
        self.window.unsent()
        self.changed.set()


class SlidingWindowPacer:
    """The default pacer: one sliding window per limit key in this process, corrected by the service's reports.

    Several clients in a process share their limits if you pass them the same pacer, and a custom pacer can wrap it. It
    belongs to one event loop at a time.
    """

    def __init__(self, config: Config | None = None, clock: Clock | None = None) -> None:
        self._config = config or Config()
        self._clock = clock or SystemClock()
        self._windows: dict[str, _PacedWindow] = {}

    def _paced(self, key: str, documented: RateLimit | None) -> _PacedWindow:
        paced = self._windows.pop(key, None)
        if paced is None:
            if len(self._windows) >= MAX_WINDOWS:
                unused = next((other for other, each in self._windows.items() if each.idle), None)
                if unused is not None:
                    del self._windows[unused]
            limit = documented.configured(self._config.rate_limits) if documented else None
            window = SlidingWindow(limit, reserve_share=self._config.interactive_reserve)
            paced = _PacedWindow(window, self._clock)
        self._windows[key] = paced  # reinserted at the end, to keep the windows in order of use
        return paced

    def begin_anew(self) -> None:
        """Keeps the windows for a new event loop after the old loop was closed. The old loop's requests count as
        answered now.
        """
        now = self._clock.monotonic()
        self._windows = {
            key: _PacedWindow(paced.window.abandoned(now), self._clock) for key, paced in self._windows.items()
        }

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot in the window of `key`. Callers of one kind are served in order of arrival.

        Raises RateLimitTooLong immediately if the wait is known to exceed `max_wait_seconds`, otherwise after that
        time.
        """
        paced = self._paced(key, documented)
        queue = paced.queues[bulk]
        begin = self._clock.monotonic()
        if not queue.waiting and paced.window.try_take(begin, bulk=bulk):
            # No caller is waiting and a slot is free, so the queue is not needed.
            return paced
        deadline = begin + max_wait_seconds
        while (now := self._clock.monotonic()) < deadline and (seconds := paced.window.probe_seconds(now)) > 0:
            paced.changed.clear()
            await wait_for_event(self._clock, paced.changed, min(seconds, deadline - now))
        self._refuse_if_too_long(
            key, paced.window.wait_seconds(begin, bulk=bulk, ahead=queue.waiting), max_wait_seconds
        )
        queue.waiting += 1
        try:
            if not await acquire_with_timeout(self._clock, queue.lock, max_wait_seconds):
                raise self._too_long(key, max_wait_seconds)
            try:
                await self._until_free(key, paced, bulk=bulk, deadline=deadline)
                paced.window.take(self._clock.monotonic())
            finally:
                queue.lock.release()
        finally:
            queue.waiting -= 1
        return paced

    async def _until_free(self, key: str, paced: _PacedWindow, *, bulk: bool, deadline: float) -> None:
        while True:
            now = self._clock.monotonic()
            wait_seconds = paced.window.wait_seconds(now, bulk=bulk)
            if wait_seconds <= 0:
                return
            self._refuse_if_too_long(key, wait_seconds, deadline - now)
            paced.changed.clear()
            seconds = deadline - now if wait_seconds is UNKNOWN else wait_seconds
            if not await wait_for_event(self._clock, paced.changed, seconds) and wait_seconds is UNKNOWN:
                raise self._too_long(key, seconds)

    def _refuse_if_too_long(self, key: str, wait_seconds: float, allowed_seconds: float) -> None:
        if wait_seconds is not UNKNOWN and wait_seconds > max(0.0, allowed_seconds):
            raise self._too_long(key, wait_seconds)

    def _too_long(self, key: str, wait_seconds: float) -> RateLimitTooLong:
        resets_at = datetime.datetime.fromtimestamp(self._clock.time() + wait_seconds, datetime.UTC)
        return RateLimitTooLong(key, wait_seconds, resets_at)

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the current state of each limit, by limit key."""
        now = self._clock.monotonic()
        return {key: paced.window.status(now) for key, paced in self._windows.items()}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the sustained rate that the limit allows, or None while it is unknown."""
        window = self._paced(key, documented).window
        if window.limit is None or window.window_seconds is None:
            return None
        return window.limit / window.window_seconds

    def seconds_until(self, key: str, documented: RateLimit | None, requests: int) -> float:
        """Returns how long the last of a job's `requests` must wait. They include the requests in flight."""
        window = self._paced(key, documented).window
        ahead = requests - window.in_flight - 1
        return window.wait_seconds(self._clock.monotonic(), bulk=True, ahead=ahead) if ahead >= 0 else 0.0


def seconds_until(pacer: Pacer, key: str, documented: RateLimit | None, requests: int) -> float:
    """Returns how long the last of a job's `requests` must wait. They include the requests in flight. For custom
    pacers, the sustained rate gives an estimate.
    """
    if isinstance(pacer, SlidingWindowPacer):
        return pacer.seconds_until(key, documented, requests)
    status, rate = pacer.limits().get(key), pacer.requests_per_second(key, documented)
    free = requests if status is None or status.remaining is None else status.in_flight + status.remaining
    return max(0, requests - free) / rate if rate else 0.0
