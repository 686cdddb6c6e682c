"""The times in which a stream has no connection: by what they began, and how long they are put up with."""

import attrs

from socialapi.wire.reconnect import Drop


@attrs.define
class Break:
    """The time without a connection that goes on: by what it began, why it goes on (the latest reason), when the next
    attempt is, and how many there were.
    """

    cause: Drop
    drop: Drop
    due: float = 0.0
    attempts: int = 0


class Endurance:
    """How long there may be no connection, or for ever; the last attempt is made at the end of that time.

    A connection that was accepted and of no use does not start it anew, only the time for which it was there does not
    count: a service that accepts and hangs up, again and again, is given up too.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._attempted_at: float | None = None
        self._is_last = False

    def attempted(self, now: float) -> None:
        """An attempt begins."""
        self._since = now if self._since is None else self._since
        self._attempted_at = now

    def disconnected(self, now: float, lived_seconds: float, *, was_of_use: bool) -> None:
        """A connection is over."""
        if was_of_use or self._since is None:
            self._since, self._attempted_at, self._is_last = now, None, False
        else:
            self._since += lived_seconds

    def due(self, now: float, wait: float) -> float | None:
        """When the next attempt is, which should come after such a wait; None if there is none any more."""
        if self._seconds is None or self._since is None:
            return now + wait
        end = self._since + self._seconds
        if self._is_last or (self._attempted_at is not None and self._attempted_at >= end):
            return None
        self._is_last = now + wait >= end
        return max(now, end) if self._is_last else now + wait
