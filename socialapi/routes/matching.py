"""From a path that a caller wrote out to what is documented about it."""

import functools
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from socialapi.routes import ads
from socialapi.routes.route import Family, RateLimit, Route

_LIMITED: Final = tuple(
    route for route in vars(ads).values() if isinstance(route, Route) and route.rate_limit is not None
)


def documented_limit(method: str, family: Family, path: str) -> tuple[RateLimit | None, Mapping[str, str]]:
    """The documented limit of an encoded path and the values it is counted by; (None, {}) where there is none."""
    for route in _LIMITED:
        match = _pattern(route.path).fullmatch(path) if (route.method, route.family) == (method, family) else None
        if match is not None:
            return route.rate_limit, {name: unquote(value) for name, value in match.groupdict().items()}
    return None, {}


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template)))
