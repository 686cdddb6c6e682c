"""Guesses why a call was rejected, for the error message."""

import re
from typing import Any, Final

from socialapi.errors import ApiError
from socialapi.wire.rate_limit_headers import service_time
from socialapi.wire.request import Request

CLOCK_CODES: Final = frozenset({32, 135})
"""The codes for rejected signatures. A wrong clock makes every signature invalid."""
TIMESTAMP_CODE: Final = 135
SKEW_SECONDS: Final = 60.0
"""How far this machine's clock may be off before a hint mentions it. The service allows five minutes."""

_ACCOUNT: Final = re.compile(r"/accounts/[^/]+(?P<below>/)?")
_USER: Final = re.compile(r"/users/(?!by(?:/|$)|me(?:/|$)|search(?:/|$))(?P<id>[^/]+)")


def hint_of(error: ApiError, request: Request[Any], *, is_signed: bool, now: float) -> str | None:
    """Returns a guess at what is wrong and what to do, or None. `now` is the wall time."""
    path = request.url.partition("?")[0][len(request.origin) :]
    if error.status == 401 and (is_signed or not CLOCK_CODES.isdisjoint(error.codes)):
        skew = service_time(error.headers, now) - now
        if abs(skew) >= SKEW_SECONDS:
            return f"this machine's clock is {clock_error(-skew)}"
        if TIMESTAMP_CODE in error.codes:
            return "is this machine's clock right?"
    if request.target.route.family.host != "base_url" and _concerns_account(error, path):
        return "is the account one of yours? `socialapi ads accounts` lists them"
    user = _USER.search(path)
    if user is not None and error.status in (400, 404) and not user.group("id").isdecimal():
        return "a user is identified by the numeric id, not by the handle"
    return None


def _concerns_account(error: ApiError, path: str) -> bool:
    """Returns whether the service rejected the account in the path."""
    account = _ACCOUNT.search(path)
    if account is None or error.status not in (401, 403, 404):
        return False
    if error.status == 404:
        said = " ".join(f"{each.parameter} {each.message}" for each in error.errors)
        return not account.group("below") or "account" in said.replace("account_media", "").lower()
    return "UNAUTHORIZED_ACCESS" in error.codes or error.status == 403


def clock_error(ahead_seconds: float) -> str:
    """Returns how far the clock is off, and what to do."""
    return f"{_span(abs(ahead_seconds))} {'ahead' if ahead_seconds > 0 else 'behind'}: set it"


def _span(seconds: float) -> str:
    """Returns a duration in words: 3,605 s is "an hour"."""
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 0.95 * size:
            count = max(1, round(seconds / size))
            return f"{count} {word}s" if count > 1 else f"{'an' if word == 'hour' else 'a'} {word}"
    return f"{seconds:.0f} seconds"
