"""The options of a call: its timeout and when it is retried."""

import attrs

from socialapi.config import Config
from socialapi.wire.retry import RetryPolicy


@attrs.frozen(kw_only=True)
class CallOptions:
    """The timeout and retry policy of a call. `bulk` calls do not use the reserve of each rate
    limit.
    """

    timeout_seconds: float
    policy: RetryPolicy
    bulk: bool = False

    @classmethod
    def interactive(cls, config: Config) -> "CallOptions":
        """Returns the options of a single call."""
        return cls(
            timeout_seconds=config.timeout_seconds,
            policy=RetryPolicy(max_attempts=config.retries + 1, max_wait_seconds=config.max_wait_seconds),
        )
