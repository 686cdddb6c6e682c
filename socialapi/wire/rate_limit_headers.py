"""What the response headers say about limits and waits, in seconds from now. No clock: the time comes in."""

import datetime
import email.utils
import functools
import math
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

_MILLISECONDS_FROM: Final = 1e11
_EPOCH_FROM: Final = 1e8
_LONGEST_SECONDS: Final = 366 * 86_400.0
"""A wait beyond a year is no wait but a mistake, and read as if it were not there."""
_MOST_DIGITS: Final = 12
"""A longer number counts no requests, and as a float it may be beyond all bounds."""


@attrs.frozen
class LimitReading:
    """A limit as the service counts it: requests per window, how many remain, and when the window starts anew."""

    limit: int | None
    remaining: int | None
    resets_in_seconds: float | None


def names_of_limits(prefixes: Iterable[str]) -> frozenset[str]:
    """The names of the headers without which there is no limit to read."""
    return frozenset(f"{prefix}{name}" for prefix in prefixes for name in ("limit", "remaining"))


def read_limit(headers: Mapping[str, str], prefixes: Iterable[str], now: float) -> LimitReading | None:
    """The first family of `<prefix>limit`, `-remaining` and `-reset` headers that is present, or None.

    `headers` have lower-case names; `now` is the wall time in epoch seconds, corrected here by the `Date` header.
    """
    for prefix in prefixes:
        limit, remaining = _whole(headers.get(f"{prefix}limit")), _whole(headers.get(f"{prefix}remaining"))
        if limit is not None or remaining is not None:
            resets_in_seconds = _seconds_until(headers.get(f"{prefix}reset"), service_time(headers, now))
            return LimitReading(limit, remaining, resets_in_seconds)
    return None


def retry_after_seconds(headers: Mapping[str, str], prefixes: Iterable[str], now: float) -> float | None:
    """How long the service asks to wait: `Retry-After` in any form, or else the reset of the limit; None if silent.

    A moment in the past counts as silence, so that a wrong header never makes a client repeat at once. A limit of
    which something remains is not what has to be waited for.
    """
    service_now = service_time(headers, now)
    told = _seconds_until(headers.get("retry-after"), service_now)
    if told is None:
        used_up = [prefix for prefix in prefixes if not _whole(headers.get(f"{prefix}remaining"))]
        resets = (_seconds_until(headers.get(f"{prefix}reset"), service_now) for prefix in used_up)
        told = next((each for each in resets if each), None)
    return told or None


def service_time(headers: Mapping[str, str], now: float) -> float:
    """The service's wall time: its `Date` header, or ours when there is none, so that skew does not matter."""
    moment = _http_date(headers.get("date"))
    return now if moment is None else moment


def _seconds_until(text: str | None, now: float) -> float | None:
    """A wait given as seconds, as epoch seconds or milliseconds, or as an HTTP date; never negative."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        moment = _http_date(text)
        seconds = math.nan if moment is None else max(0.0, moment - now)
    else:
        if number >= _MILLISECONDS_FROM:
            number /= 1000
        seconds = max(0.0, number - now) if number >= _EPOCH_FROM else number
    return seconds if 0 <= seconds <= _LONGEST_SECONDS else None


@functools.lru_cache(maxsize=16)
def _http_date(text: str | None) -> float | None:
    """Cached: every answer has a date, and those of one second have the same."""
    if not text:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # HTTP dates are in UTC, the old form without a zone as well; Python takes that one for local time.
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None or len(text) > _MOST_DIGITS else max(0, int(text))
    except ValueError:
        return None
