"""One rate-limit window as pure arithmetic: what may be sent now, and if nothing, when. The time comes in."""

import collections
import math
from typing import Final

import attrs

from socialapi.routes.route import RateLimit
from socialapi.wire.limits import LimitReading

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
        self.window_seconds = documented.window_seconds if documented else None
        self.in_flight = 0
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
