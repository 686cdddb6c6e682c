"""Rate-limit windows on the emulator's clock. A window starts with its first request."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from socialapi.emulator.clock import EmulatorClock
from socialapi.routes.oauth import APP_ONLY_TOKEN
from socialapi.routes.route import OAUTH, RateLimit, Route

ASSUMED_OF_OAUTH: Final = (300, 900.0)
"""The assumed limit of each OAuth endpoint. The documentation says that these endpoints are rate limited, but specifies
no number. The endpoint for app-only tokens has another limit, with a special code.
"""


def route_key(route: Route[Any]) -> str:
    """Returns the name by which limits are configured for a route, for example `GET /2/users/{id}/tweets`."""
    return f"{route.method} {route.path}"


@attrs.define
class Window:
    """A rate-limit window, with the number of requests counted in it."""

    requests: int
    ends_at: float
    used: int = 0

    def headers(self, *, of_account: bool) -> dict[str, str]:
        """Returns the usual three headers, and also their account-wide forms if the limit is counted by account."""
        values = {
            "limit": str(self.requests),
            "remaining": str(self.requests - self.used),
            "reset": str(math.ceil(self.ends_at)),
        }
        prefixes = ("x-rate-limit-", "x-account-rate-limit-") if of_account else ("x-rate-limit-",)
        return {prefix + name: value for prefix in prefixes for name, value in values.items()}


class RateLimits:
    """The windows in use. `overrides` maps the name or route of a limit to (requests, seconds)."""

    def __init__(self, clock: EmulatorClock, overrides: Mapping[str, tuple[int, float]]) -> None:
        self._clock = clock
        self._overrides = overrides
        self._windows: dict[tuple[str, ...], Window] = {}

    def of_route(self, route: Route[Any]) -> RateLimit | None:
        """Returns the configured or assumed limit of a route without a documented limit; None if there is none."""
        key = route_key(route)
        is_assumed = route.family is OAUTH and route is not APP_ONLY_TOKEN
        chosen = self._overrides.get(key) or (ASSUMED_OF_OAUTH if is_assumed else None)
        return None if chosen is None else RateLimit(key, *chosen)

    def take(self, limit: RateLimit, key: tuple[str, ...]) -> tuple[bool, Window]:
        """Takes a slot in the window of `key`. Returns whether one was free, and the window."""
        now = self._clock.now()
        window = self._windows.get((limit.name, *key))
        if window is None or now >= window.ends_at:
            requests, seconds = self._overrides.get(limit.name, (limit.requests, limit.window_seconds))
            window = self._windows[limit.name, *key] = Window(requests, now + seconds)
        granted = window.used < window.requests
        window.used += granted
        return granted, window

    def open_windows(self) -> Iterator[tuple[tuple[str, ...], Window]]:
        """Yields the windows that have not ended. The first element of a key is the name of the limit."""
        now = self._clock.now()
        return ((key, window) for key, window in self._windows.items() if now < window.ends_at)
