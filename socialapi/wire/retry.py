"""Retry decisions: whether to retry a failed attempt, and when. Pure functions."""

from collections.abc import Callable
from typing import Final, Literal

import attrs

from socialapi.internal.statuses import NOT_EXECUTED, RATE_LIMITED, Executed, executed_after

BACKOFF_SECONDS: Final = 0.25
BACKOFF_CEILING_SECONDS: Final = 10.0
RATE_LIMIT_BACKOFF_SECONDS: Final = 1.0
RATE_LIMIT_BACKOFF_CEILING_SECONDS: Final = 60.0
JITTER_SHARE: Final = 0.1
"""The maximum jitter, as a share of the wait, so that clients do not all return at the same time."""
JITTER_SECONDS: Final = 1.0
"""The jitter added to a wait that the service requested, so that rejected clients do not return together."""


@attrs.frozen
class Failure:
    """A failed attempt: whether the service executed it, its response, and the wait in seconds that the service
    requested.
    """

    executed: Executed
    summary: str
    status: int | None = None
    retry_after_seconds: float | None = None


@attrs.frozen
class Attempt:
    """The outcome of one attempt, for the counters of a job and its choice of concurrency."""

    seconds: float
    body_bytes: int
    failure: Failure | None


Observer = Callable[[Attempt], None]


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """When to stop retrying.

    Without `max_elapsed_seconds`, after `max_attempts` attempts. With it, once that time has passed and `max_attempts`
    attempts were made. `max_wait_seconds` bounds the sum of all waits of a call or, with `max_elapsed_seconds`, each
    single wait.
    """

    max_attempts: int
    max_wait_seconds: float
    max_elapsed_seconds: float | None = None


@attrs.frozen
class Wait:
    """Retry after this many seconds."""

    seconds: float


@attrs.frozen
class GiveUp:
    """Do not retry, for this reason."""

    reason: Literal["not repeatable", "attempts", "wait too long", "final"]


def failure_of_status(status: int, retry_after_seconds: float | None) -> Failure:
    """Returns the `Failure` for an unsuccessful status."""
    # Other responses may have limit headers too, but these do not say when the failure will end.
    told = retry_after_seconds if status in NOT_EXECUTED else None
    return Failure(executed_after(status), f"HTTP {status}", status, told)


def decide(
    policy: RetryPolicy,
    *,
    repeatable: bool,
    attempt: int,
    failure: Failure,
    jitter: float,
    elapsed_seconds: float = 0.0,
    waited_seconds: float = 0.0,
) -> Wait | GiveUp:
    """Returns what to do after attempt number `attempt` (from 1) of a call failed. The call has waited `waited_seconds`
    so far.

    `jitter` is a random number from 0 to 1.
    """
    if failure.executed == "yes":
        return GiveUp("final")
    if failure.executed == "unknown" and not repeatable:
        return GiveUp("not repeatable")
    if attempt >= policy.max_attempts and (
        policy.max_elapsed_seconds is None or elapsed_seconds >= policy.max_elapsed_seconds
    ):
        return GiveUp("attempts")
    left = policy.max_wait_seconds
    if policy.max_elapsed_seconds is None and waited_seconds:
        left -= waited_seconds
        if left <= 0:
            return GiveUp("wait too long")
    requested = failure.retry_after_seconds
    if requested is not None and requested > left:
        return GiveUp("wait too long")
    return Wait(min(_wait_seconds(attempt, failure, jitter), left))


def _wait_seconds(attempt: int, failure: Failure, jitter: float) -> float:
    if failure.retry_after_seconds is not None:
        return failure.retry_after_seconds + jitter * JITTER_SECONDS
    start, ceiling = BACKOFF_SECONDS, BACKOFF_CEILING_SECONDS
    if failure.status in RATE_LIMITED:
        start, ceiling = RATE_LIMIT_BACKOFF_SECONDS, RATE_LIMIT_BACKOFF_CEILING_SECONDS
        # Full jitter could retry immediately, while the limit is still exhausted.
        jitter = 0.5 + jitter / 2
    return jitter * doubled(start, ceiling, attempt - 1)


def doubled(start_seconds: float, ceiling_seconds: float, failures: int) -> float:
    """Returns a wait that has doubled with each earlier failure, up to a ceiling."""
    return min(ceiling_seconds, start_seconds * 2.0 ** min(failures, 32))
