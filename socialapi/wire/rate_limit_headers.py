"""Reads rate-limit headers and `Retry-After` into seconds from now. The time is an argument."""

import datetime
import email.utils
import functools
import math
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from socialapi.internal.records import Exported

_MILLISECONDS_FROM: Final = 1e11
_EPOCH_FROM: Final = 1e8
_LONGEST_SECONDS: Final = 366 * 86_400.0
"""Waits beyond a year are treated as errors and ignored."""
_MAX_DIGITS: Final = 12
"""Longer numbers are not counts, and as floats they may overflow."""


# Not frozen, because each field of a frozen class costs a call when an instance is made.
@attrs.define(unsafe_hash=True)
class LimitReading(Exported):
    """A rate limit as reported by the service: requests per window, remaining, and seconds to the
    reset.
    """

    limit: int | None
    remaining: int | None
    resets_in_seconds: float | None


class LimitHeaders:
    """Reads the headers of rate limits, whose names are `<prefix>limit`, `-remaining` and `-reset`.

    The headers read have lower-case names. `now` is the wall time in epoch seconds; the `Date`
    header corrects it for clock skew.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._names = [(f"{prefix}limit", f"{prefix}remaining", f"{prefix}reset") for prefix in prefixes]

    def read(self, headers: Mapping[str, str], now: float) -> LimitReading | None:
        """Returns the limit of the first prefix whose limit or remaining requests are reported, or
        None.
        """
        for limit_name, remaining_name, reset_name in self._names:
            told = headers.get(limit_name), headers.get(remaining_name)
            if told == (None, None):
                continue
            limit, remaining = map(_whole, told)
            if limit is not None or remaining is not None:
                resets_in_seconds = _seconds_until(headers.get(reset_name), service_time(headers, now))
                return LimitReading(limit, remaining, resets_in_seconds)
        return None

    def retry_after_seconds(self, headers: Mapping[str, str], now: float) -> float | None:
        """Returns the wait the service asks for: `Retry-After` in any form, or the reset of an
        exhausted limit.

        Returns None if it names none. A time in the past counts as none, so that a wrong header
        never causes an immediate retry.
        """
        service_now = service_time(headers, now)
        told = _seconds_until(headers.get("retry-after"), service_now)
        if told is None:
            used_up = [reset for _, remaining, reset in self._names if not _whole(headers.get(remaining))]
            resets = (_seconds_until(headers.get(name), service_now) for name in used_up)
            told = next((each for each in resets if each), None)
        return told or None


def service_time(headers: Mapping[str, str], now: float) -> float:
    """Returns the service's wall time: its `Date` header, or `now` without one. This removes clock
    skew.
    """
    moment = _http_date(headers.get("date"))
    return now if moment is None else moment


def _seconds_until(text: str | None, now: float) -> float | None:
    """Returns a wait given as seconds, epoch seconds, epoch milliseconds or an HTTP date; never
    negative.

    Returns None for anything else, and beyond a year.
    """
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
    """Returns epoch seconds, cached: all answers within a second have the same date."""
    if not text:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    # HTTP dates are in UTC, also in the obsolete form without a zone, which Python takes for local
    # time.
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None or len(text) > _MAX_DIGITS else max(0, int(text))
    except ValueError:
        return None
