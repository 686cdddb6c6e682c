"""Saying that deliveries are refused: a wrong secret looks like silence otherwise."""

import logging
import time
from collections.abc import Callable
from typing import Final

QUIET_SECONDS: Final = 60.0
"""How long nothing more is said about refused deliveries."""

logger: Final = logging.getLogger("socialapi")


class Refusals:
    """Warns of the first refused signature at once, then at most once a minute of how many there were meanwhile."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._unsaid = 0
        self._said_at: float | None = None

    def count(self) -> None:
        """A delivery was refused for its signature."""
        self._unsaid += 1
        now = self._monotonic()
        if self._said_at is not None and now - self._said_at < QUIET_SECONDS:
            return
        what = "1 delivery" if self._unsaid == 1 else f"{self._unsaid:,} deliveries"
        self._said_at, self._unsaid = now, 0
        logger.warning("refused %s: the signature does not match; is the app's secret the right one?", what)
