"""Reconnection of streams: classifies disconnects and computes how long to wait. Pure functions."""

from collections.abc import Iterable
from typing import Final, Literal

import attrs

from socialapi.errors import ApiError, SocialApiError
from socialapi.internal.statuses import RATE_LIMITED
from socialapi.problems import (
    ClientDisconnected,
    OperationalDisconnect,
    Problem,
    ServiceError,
    StreamingConnection,
    UsageCapped,
)
from socialapi.wire.retry import JITTER_SHARE, doubled

DisconnectKind = Literal["network", "http", "rate_limit", "final"]

NETWORK_STEP_SECONDS: Final = 0.25
NETWORK_CEILING_SECONDS: Final = 16.0
HTTP_START_SECONDS: Final = 5.0
HTTP_CEILING_SECONDS: Final = 320.0
RATE_LIMIT_START_SECONDS: Final = 60.0
RATE_LIMIT_CEILING_SECONDS: Final = 960.0
STEADY_SECONDS: Final = 20.0
"""A connection that delivered data and lasted this long resets the backoff."""
LONG_LIVED_SECONDS: Final = HTTP_CEILING_SECONDS
"""A connection that lasted this long resets the backoff even without data, because reconnecting this rarely is
harmless.
"""

_OF_DISCONNECT: Final[dict[str, DisconnectKind]] = {
    "OperationalDisconnect": "network",
    "UpstreamOperationalDisconnect": "network",
    "UpstreamUncleanDisconnect": "network",
    "SlowReader": "network",
    "ForceDisconnect": "http",
    "InternalError": "http",
    "ClientApplicationStateDegraded": "http",
    # Nothing would be delivered until the rules are corrected.
    "InvalidRules": "final",
}
_OF_ISSUE: Final[dict[str, DisconnectKind]] = {
    "TooManyConnections": "final",
    # The service is still setting up the subscription.
    "ProvisioningSubscription": "http",
    "RuleConfigurationIssue": "final",
    "RulesInvalidIssue": "final",
}


@attrs.frozen(kw_only=True)
class Disconnect:
    """Why there is no connection.

    `kind` selects the backoff and `reason` describes it. `problem` and `error` come from the service or the network.
    """

    kind: DisconnectKind
    reason: str
    problem: Problem | None = None
    error: SocialApiError | None = attrs.field(default=None, repr=False, eq=False)
    retry_after_seconds: float | None = None


def disconnect_of_problems(problems: Iterable[Problem | ServiceError]) -> Disconnect | None:
    """Returns the disconnect that problems announce, or None if they announce none."""
    for problem in problems:
        kind: DisconnectKind
        if isinstance(problem, OperationalDisconnect):
            name = problem.disconnect_type or "OperationalDisconnect"
            kind, reason = _OF_DISCONNECT.get(name, "http"), f"the service closed the connection: {name}"
        elif isinstance(problem, StreamingConnection):
            name = problem.connection_issue or "streaming-connection"
            kind, reason = _OF_ISSUE.get(name, "http"), f"the service refused the connection: {name}"
        elif isinstance(problem, UsageCapped):
            kind, reason = "final", "a usage cap is reached"
        elif isinstance(problem, ClientDisconnected):
            kind, reason = "network", "the service reports that the client disconnected"
        else:
            continue
        return Disconnect(kind=kind, reason=reason, problem=problem)
    return None


def disconnect_of_refusal(refusal: ApiError, retry_after_seconds: float | None, *, left_behind: bool) -> Disconnect:
    """Returns the disconnect for a response that is not a stream.

    `left_behind` says that a connection of this stream broke recently. The service may still count
    it, so "too many connections" is then not final.
    """
    kind: DisconnectKind
    disconnect = disconnect_of_problems(refusal.problems)
    if disconnect is not None:
        issue = getattr(disconnect.problem, "connection_issue", None)
        kind = "http" if issue == "TooManyConnections" and left_behind else disconnect.kind
        if kind == "network":
            # The network works, because a response arrived. A problem after which an open stream would reconnect
            # immediately is a rejection here.
            kind = "rate_limit" if refusal.status in RATE_LIMITED else "http"
        return attrs.evolve(disconnect, kind=kind, error=refusal, retry_after_seconds=retry_after_seconds)
    kind = "rate_limit" if refusal.status in RATE_LIMITED else "final" if refusal.is_lasting else "http"
    return Disconnect(
        kind=kind, reason=f"HTTP {refusal.status}", error=refusal, retry_after_seconds=retry_after_seconds
    )


@attrs.define
class Schedule:
    """The number of successive failures of each kind, and the wait after the next one.

    Data alone resets the backoff for rejections. The backoff for lost connections is reset only if the connection also
    lasted a while. Otherwise, a service that sends one line and hangs up would be contacted again and again without
    growing waits.
    """

    _network: int = 0
    _http: int = 0
    _rate_limit: int = 0

    def served(self, lived_seconds: float) -> None:
        """Records the end of a connection that delivered data, or lasted long without data."""
        self._http = self._rate_limit = 0
        if lived_seconds >= STEADY_SECONDS:
            self._network = 0

    def wait_seconds(self, disconnect: Disconnect, jitter: float) -> float:
        """Returns the seconds to wait after a disconnect that is not final.

        `jitter` is a random number from 0 to 1. The first lost connection is replaced immediately. If the service
        requests a longer wait, that wait is used instead.
        """
        if disconnect.kind == "network":
            wait = min(NETWORK_CEILING_SECONDS, self._network * NETWORK_STEP_SECONDS)
            self._network += 1
        elif disconnect.kind == "rate_limit":
            wait = doubled(RATE_LIMIT_START_SECONDS, RATE_LIMIT_CEILING_SECONDS, self._rate_limit)
            self._rate_limit += 1
        else:
            wait = doubled(HTTP_START_SECONDS, HTTP_CEILING_SECONDS, self._http)
            self._http += 1
        return max(wait, disconnect.retry_after_seconds or 0.0) * (1.0 + JITTER_SHARE * jitter)
