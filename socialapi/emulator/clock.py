"""The emulator's clock: the wall clock, plus the time by which requests advanced it."""

import datetime
import time
from collections.abc import Callable
from typing import Final

import attrs

from socialapi.errors import InvalidInput
from socialapi.models.validation import parse_timestamp

LATEST: Final = datetime.datetime(2200, 1, 1, tzinfo=datetime.UTC).timestamp()
"""The latest time of the clock. Times after the year 9999 cannot be formatted, and expiries can be years in the future.
"""


@attrs.define
class EmulatorClock:
    """The wall time plus the seconds by which it was advanced, in epoch seconds.

    Rate-limit windows, expiries and timestamps follow it.
    """

    wall: Callable[[], float] = time.time
    """The wall clock without the advance. OAuth timestamps are compared with it, because clients that sign requests do
    not know about the advance.
    """
    advanced: float = 0.0

    def now(self) -> float:
        """Returns the time in epoch seconds."""
        return self.wall() + self.advanced

    def datetime(self) -> datetime.datetime:
        """Returns the time as an aware UTC datetime."""
        return datetime.datetime.fromtimestamp(self.now(), datetime.UTC)

    def advance(self, seconds: float) -> None:
        """Moves time forward. Raises InvalidInput if `seconds` is negative or not a number, or if the clock would pass
        `LATEST`.
        """
        if not (seconds >= 0 and self.now() + seconds <= LATEST):
            raise InvalidInput("the clock can only move forward, and no further than the year 2200")
        self.advanced += seconds


def epoch_of(text: str) -> float:
    """Returns an already validated time in epoch seconds."""
    parsed = parse_timestamp(text)
    assert parsed is not None, "the rules have checked the time"
    return parsed.timestamp()


def timestamp(at: float) -> str:
    """Returns the time as ISO 8601 UTC with seconds, as the advertising API writes it."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")[:-6] + "Z"


def milliseconds(at: float) -> str:
    """Returns the time as ISO 8601 UTC with milliseconds, as the platform API writes it."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
