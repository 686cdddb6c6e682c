"""The options of a call: its timeout, retries and additional headers."""

import re
from collections.abc import Mapping
from typing import Final

import attrs

from socialapi.config import Config
from socialapi.errors import ConfigurationError
from socialapi.internal.secret import Secret
from socialapi.wire.oauth1 import check_headers
from socialapi.wire.retry import RetryPolicy

_RESERVED_HEADERS: Final = frozenset(
    (
        *("accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length"),
        *("content-type", "expect", "host", "keep-alive", "proxy-authorization", "te", "trailer"),
        *("transfer-encoding", "upgrade", "user-agent"),
    )
)
"""The headers that the SDK or the connection sets, in lower case."""
_is_name: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch


@attrs.frozen(kw_only=True)
class CallOptions:
    """The timeout and retry policy of a call, and how long it waits for a connection slot. `bulk` calls leave the
    reserve of each rate limit to other calls. `headers` are sent in addition to the SDK's headers.
    """

    timeout_seconds: float
    policy: RetryPolicy
    bulk: bool = False
    pool_wait_seconds: float = 600.0
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)

    def after(self, waited_seconds: float) -> "CallOptions":
        """Returns the options of a call that has waited this long, with the rest of its maximum wait."""
        if self.bulk:
            return self
        policy = attrs.evolve(self.policy, max_wait_seconds=max(0.0, self.policy.max_wait_seconds - waited_seconds))
        return attrs.evolve(self, policy=policy)

    @property
    def token_wait_seconds(self) -> float:
        """How long the call waits for a token that another call requests. A call that may not wait for limits still
        waits as long as its own request could take.
        """
        return self.policy.max_wait_seconds or self.timeout_seconds

    @classmethod
    def interactive(cls, config: Config, headers: Mapping[str, str] | None = None) -> "CallOptions":
        """Returns the options of a single call."""
        return cls(
            timeout_seconds=config.timeout_seconds,
            pool_wait_seconds=config.pool_wait_seconds,
            policy=RetryPolicy(max_attempts=config.retries + 1, max_wait_seconds=config.max_wait_seconds),
            headers=headers or {},
        )


def checked_headers(given: object) -> dict[str, str]:
    """Returns the headers that a caller adds to requests, with lower-case names.

    Raises ConfigurationError for invalid headers and for headers that the SDK sets. The error shows no values.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"headers must be a mapping of names to values, not {type(given).__name__}")
    headers: dict[str, str] = {}
    for name, value in given.items():
        if not (isinstance(name, str) and _is_name(name) and isinstance(value, str)):
            raise ConfigurationError("headers must map header names to strings")
        if name.lower() in _RESERVED_HEADERS:
            raise ConfigurationError(f"the header {name} is set by the SDK: leave it out of headers")
        if name.lower() in headers:
            raise ConfigurationError(f"headers contains {name} twice, with different capitalization")
        headers[name.lower()] = Secret(value)  # a value may be a credential
    check_headers(headers)
    return headers
