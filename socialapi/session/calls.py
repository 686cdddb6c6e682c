"""What a call is made of: its options, its state across attempts, and what each attempt tells those who count."""

from collections.abc import Callable
from typing import Any

import attrs

from socialapi.config import Config
from socialapi.session.authenticators import Authenticator, Authorization
from socialapi.wire.request import Request
from socialapi.wire.response import Reply
from socialapi.wire.retry import Failure, RetryPolicy


@attrs.frozen(kw_only=True)
class CallOptions:
    """How long a call may take and how often it is repeated; `bulk` calls leave the reserve of each limit alone."""

    timeout_seconds: float
    policy: RetryPolicy
    bulk: bool = False

    @classmethod
    def interactive(cls, config: Config) -> "CallOptions":
        """The options of a single call."""
        return cls(
            timeout_seconds=config.timeout_seconds,
            policy=RetryPolicy(max_attempts=config.retries + 1, max_wait_seconds=config.max_wait_seconds),
        )


@attrs.frozen
class Attempt:
    """What became of one attempt, for those who count: the job's report and its choice of concurrency."""

    seconds: float
    body_bytes: int
    failure: Failure | None


Observer = Callable[[Attempt], None]
Accept = Callable[[Reply], Failure | None]


@attrs.define(eq=False)
class Call:
    """The state of one call across its attempts."""

    request: Request[Any]
    options: CallOptions
    authenticator: Authenticator
    observer: Observer | None
    accept: "Accept | None"
    started: float
    attempt: int = 0
    authorization: Authorization | None = None
    renewed: bool = False
    failure: Failure | None = None
