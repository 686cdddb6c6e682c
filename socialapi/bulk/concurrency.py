"""How many requests are on their way at once: enough to fill the quota at the measured latency, and no more."""

import math
from typing import Final

LATENCY_GUESS_SECONDS: Final = 0.2
LATENCY_WEIGHT: Final = 0.1
HEADROOM: Final = 1.25
LEAST: Final = 4
"""Below this, short replies would leave the line idle between requests."""
UNPACED_TARGET: Final = 8


class Concurrency:
    """A limit that is read anew before every batch.

    `fixed` stays as it is. Otherwise the limit is rate times latency, halved after a failure (once per round trip,
    so that failures that come together count once) and regained one by one.
    """

    def __init__(self, fixed: int | None, *, most: int) -> None:
        self._fixed = fixed
        self._most = most
        self._latency_seconds = LATENCY_GUESS_SECONDS
        self._ceiling = float(most)
        self._halved_at = -math.inf

    def limit(self, requests_per_second: float | None) -> int:
        """The most requests that may be on their way now; `requests_per_second` is what the rate limit allows."""
        if self._fixed is not None:
            return self._fixed
        target = UNPACED_TARGET
        if requests_per_second is not None:
            target = math.ceil(requests_per_second * self._latency_seconds * HEADROOM)
        return max(1, min(max(LEAST, target), self._most, math.floor(self._ceiling)))

    def succeeded(self, seconds: float) -> None:
        """An attempt was answered after so many seconds."""
        self._latency_seconds += LATENCY_WEIGHT * (seconds - self._latency_seconds)
        self._ceiling = min(float(self._most), self._ceiling + 1)

    def failed(self, now: float) -> None:
        """An attempt failed at this moment (monotonic seconds)."""
        if now - self._halved_at >= self._latency_seconds:
            self._halved_at = now
            self._ceiling = max(1.0, self._ceiling / 2)
