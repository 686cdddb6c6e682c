"""Decides from the status of a response whether its request was executed."""

from typing import Final, Literal

Executed = Literal["no", "unknown", "yes"]

RATE_LIMITED: Final = frozenset({420, 429})
"""The statuses for too many requests. 420 is the older one."""

NOT_EXECUTED: Final = frozenset({425, 503, 521, 523, 525, 526, 527}) | RATE_LIMITED
"""The statuses of requests that the service, or a CDN that could not reach it, rejected before execution."""

_ANSWERED_BY_SERVICE: Final = frozenset({501, 505})
"""The only 5xx statuses that are not retried, because the service would reject the same request again."""


def executed_after(status: int) -> Executed:
    """Returns whether a request whose response has this status, 300 or above, was executed.

    "yes" means that the response is final: the same request would get the same response.
    """
    if status in NOT_EXECUTED:
        return "no"
    if status == 408 or (500 <= status < 600 and status not in _ANSWERED_BY_SERVICE):
        return "unknown"
    return "yes"
