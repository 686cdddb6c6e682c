"""Reads rate-limit headers and `Retry-After` into seconds from now. The time is an argument."""

import datetime
import email.utils
import functools
import re
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from socialapi.internal.records import Exported

_MILLISECONDS_FROM: Final = 1e11
_EPOCH_FROM: Final = 1e8
_LONGEST_SECONDS: Final = 366 * 86_400.0
"""Waits beyond a year are treated as errors and ignored."""
_MOST_REQUESTS: Final = 1e12
"""The largest number that is accepted as a count."""
_DATE_CHARACTERS: Final = 29
"""The length of an HTTP date. A proxy may have joined several dates."""


# Not frozen, because each field of a frozen class costs a call when an instance is made.
@attrs.define(unsafe_hash=True)
class LimitReading(Exported):
    """A rate limit as reported by the service: requests per window, remaining, and seconds to the reset."""

    limit: int | None
    remaining: int | None
    resets_in_seconds: float | None


class LimitHeaders:
    """Reads rate-limit headers, whose names are `<prefix>limit`, `-remaining` and `-reset`, in lower case.

    `now` is the wall time in epoch seconds; the `Date` header corrects it for clock skew.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._names = [(f"{prefix}limit", f"{prefix}remaining", f"{prefix}reset") for prefix in prefixes]

    def read(self, headers: Mapping[str, str], now: float) -> LimitReading | None:
        """Returns the limit of the first prefix with a reported limit or remaining count, or None."""
        for limit_name, remaining_name, reset_name in self._names:
            if limit_name not in headers and remaining_name not in headers:
                continue
            limit, remaining = _whole(headers.get(limit_name)), _whole(headers.get(remaining_name))
            if (limit is None and remaining is None) or (limit is not None and limit < 0):
                continue  # unreadable values, or no limit
            resets_in_seconds = _seconds_until(headers.get(reset_name), service_time(headers, now))
            return LimitReading(limit, remaining if remaining is None else max(0, remaining), resets_in_seconds)
        return None

    def retry_after_seconds(self, headers: Mapping[str, str], now: float) -> float | None:
        """Returns the wait that the service requests: `Retry-After` in any form, or the reset of an exhausted limit.

        Returns None if there is none. A time in the past counts as none, so that a wrong header never causes an
        immediate retry.
        """
        service_now = service_time(headers, now)
        told = _seconds_until(headers.get("retry-after"), service_now)
        if told is None:
            used_up = [reset for _, remaining, reset in self._names if (_whole(headers.get(remaining)) or 0) <= 0]
            resets = (_seconds_until(headers.get(name), service_now) for name in used_up)
            told = next((each for each in resets if each), None)
        return told or None


def service_time(headers: Mapping[str, str], now: float) -> float:
    """Returns the service's wall time: its `Date` header, or `now` without one. This removes clock skew."""
    moment = _http_date(headers.get("date"))
    return now if moment is None else moment


def _seconds_until(text: str | None, now: float) -> float | None:
    """Returns a wait given as seconds, epoch seconds, epoch milliseconds, or an HTTP or ISO 8601 date; never negative.

    If a proxy has joined several values, the longest wait counts. Returns None for any other value, and for waits
    beyond a year.
    """
    if text is None:
        return None
    try:
        seconds = _wait(float(text), now)
    except ValueError:
        waits = [_wait(number, now) for number in _numbers(text)]
    else:  # the usual case, in every response
        return seconds if 0 <= seconds <= _LONGEST_SECONDS else None
    if not waits:
        dates = [_iso_date(part) for part in text.split(",")] if text.count(",") < _MOST_JOINED else []
        waits = [max(0.0, moment - now) for moment in (*dates, _http_date(text)) if moment is not None]
    return max((seconds for seconds in waits if 0 <= seconds <= _LONGEST_SECONDS), default=None)


def _wait(number: float, now: float) -> float:
    if number >= _MILLISECONDS_FROM:
        number /= 1000
    return max(0.0, number - now) if number >= _EPOCH_FROM else number


def _numbers(text: str) -> list[float]:
    """Returns the numbers in a header. A proxy may have joined several (`20, 20`), or written them with decimals,
    quotation marks, a unit or parameters. Ignores anything else.
    """
    parts = (part.partition(";")[0].strip(" \t\"'") for part in text.split(","))
    found = (_NUMBER(part) for part in parts)
    return [float(each[1]) / (1000 if each[2] else 1) for each in found if each]


_NUMBER: Final = re.compile(
    r"([+-]?\d{1,18}(?:\.\d{0,18})?) ?(?:(ms|msecs?|milliseconds?)|s|secs?|seconds?)?", re.ASCII | re.IGNORECASE
).fullmatch
_MOST_JOINED: Final = 16


def _iso_date(text: str) -> float | None:
    try:
        moment = datetime.datetime.fromisoformat(text.strip(" \t\"'"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


@functools.lru_cache(maxsize=16)
def _http_date(text: str | None) -> float | None:
    """Returns epoch seconds, cached because all responses within a second have the same date."""
    if not text:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(text[:_DATE_CHARACTERS] if text.count(":") > 2 else text)
    except (ValueError, OverflowError):
        return None
    # HTTP dates are in UTC, even in the obsolete form without a zone, which Python treats as local time.
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def _whole(text: str | None) -> int | None:
    """Returns a count of requests (the smallest of several) or None. It is negative for an overdrawn or absent limit."""
    if text is None:
        return None
    if text.isdecimal() and len(text) < 12:
        return int(text)
    counts = (int(each) for each in _numbers(text) if abs(each) < _MOST_REQUESTS and not 0 < abs(each) < 1)
    return min(counts, default=None)
