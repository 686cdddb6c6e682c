"""The simulated service: it counts by itself, and knows nothing of the script."""

import collections
import math
from array import array

import attrs

from socialapi.wire.rate_limit_headers import LimitReading


@attrs.frozen
class Verdict:
    """What the service says of a request: `refused_for_seconds` is given with a 429."""

    reading: LimitReading
    refused_for_seconds: float | None


class Service:
    """Takes `limit` requests in a window that opens with the first one after the former has ended,
    and no more in any `window_seconds` that slide. Its headers tell of the former, with a reset and
    a date in whole seconds.
    """

    def __init__(self, limit: int, window_seconds: float) -> None:
        self.accepted_at = array("d")
        self.refused_by_window = 0
        self.refused_by_sliding_window = 0
        self.most_in_a_window = 0
        self._limit = limit
        self._window_seconds = window_seconds
        self._ends = -math.inf
        self._used = 0
        self._recent: collections.deque[float] = collections.deque()

    def judge(self, now: float) -> Verdict:
        """Counts a request that arrives at a time in seconds, or refuses it."""
        if now >= self._ends:
            self._ends, self._used = now + self._window_seconds, 0
        while self._recent and self._recent[0] <= now - self._window_seconds:
            self._recent.popleft()
        seconds = None
        if self._used >= self._limit:
            self.refused_by_window += 1
            seconds = self._ends - now
        elif len(self._recent) >= self._limit:
            self.refused_by_sliding_window += 1
            seconds = self._recent[0] + self._window_seconds - now
        if seconds is None:
            self._used += 1
            self.accepted_at.append(now)
            self._recent.append(now)
            self.most_in_a_window = max(self.most_in_a_window, len(self._recent))
        resets_in_seconds = max(0.0, float(math.ceil(self._ends) - math.floor(now)))
        return Verdict(LimitReading(self._limit, self._limit - self._used, resets_in_seconds), seconds)

    def quota_used(self) -> float:
        """Returns how much of the limit was used: the window, relative to the mean time in which as
        many requests as the limit were taken. A count would depend on whether a burst is in time.
        """
        starts = self.accepted_at[: -self._limit]
        if not starts:
            return 0.0
        seconds = (math.fsum(self.accepted_at[self._limit :]) - math.fsum(starts)) / len(starts)
        return self._window_seconds / seconds
