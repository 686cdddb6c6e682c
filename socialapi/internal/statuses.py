"""What the status of an answer says about whether its request was executed."""

from typing import Final, Literal

Executed = Literal["no", "unknown", "yes"]

RATE_LIMITED: Final = frozenset({420, 429})
"""Too many requests. 420 is the older of the two."""

NOT_EXECUTED: Final = frozenset({425, 503, 521, 523, 525, 526, 527}) | RATE_LIMITED
"""The service, or a CDN that did not reach it, refused the request before it was executed."""

_ANSWERED_BY_SERVICE: Final = frozenset({501, 505})
"""The only 5xx after which the same request would be refused again."""


def executed_after(status: int) -> Executed:
    """Returns whether a request was executed whose answer has this status, from 300 on.

    "yes" means that the answer is final: the same request would be answered alike.
    """
    if status in NOT_EXECUTED:
        return "no"
    if status == 408 or (500 <= status < 600 and status not in _ANSWERED_BY_SERVICE):
        return "unknown"
    return "yes"
