"""Forwards received bodies unchanged to one URL, retrying until it accepts or rejects them."""

import os
import random
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp
import yarl

from socialapi.config import is_loopback
from socialapi.errors import ConfigurationError
from socialapi.internal.statuses import executed_after
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.network import Network
from socialapi.session.transport import NOT_SENT, not_sent_reason
from socialapi.wire.retry import BACKOFF_CEILING_SECONDS, BACKOFF_SECONDS, JITTER_SHARE, doubled

MAX_BYTES_READ: Final = 65_536
"""How much of a response is read to reuse its connection. After a longer response, the connection is closed."""


class Forwarder:
    """POSTs bodies to one URL.

    Does not follow redirects. Retries with growing waits while the URL cannot be reached or its response is not final.
    As for other requests, 5xx, 408, 429 and the like are not final. `network` sets the proxy and certificates; by
    default they come from the environment. `tell` receives a message when retrying starts, each time its reason
    changes, and when it ends.

    Raises ConfigurationError for a URL that is neither https nor on this machine.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_seconds: float = 30.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        tell: Callable[[str], None] = lambda _: None,
        network: Network | None = None,
    ) -> None:
        self._url = _checked(url)
        self.host: str = self._url.host or ""
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311  # jitter is no secret
        self._tell = tell
        self._network = network or Network.of(os.environ, own=False)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def post(self, content: bytes, headers: Mapping[str, str]) -> int:
        """Sends a body until a response is final, and returns its status: 2xx if the body was accepted.

        Sends it again after lost connections and responses that are not final, so a body may arrive
        more than once.
        """
        failures = 0
        reported: int | str | None = None
        while True:
            outcome = await self._once(content, headers)
            if isinstance(outcome, int) and executed_after(outcome) == "yes":
                break
            if outcome != reported:
                reported = outcome
                problem = outcome if isinstance(outcome, str) else f"HTTP {outcome}"
                self._tell(f"{self.host}: {problem}; events wait until it accepts them")
            # Not `retry.decide`, which waits for a random part of the time and eventually gives up.
            wait = doubled(BACKOFF_SECONDS, BACKOFF_CEILING_SECONDS, failures)
            failures += 1
            await self._clock.sleep(wait * (1.0 + JITTER_SHARE * self._rng.random()))
        if failures:
            self._tell(f"{self.host} answers again")
        return outcome

    async def _once(self, content: bytes, headers: Mapping[str, str]) -> int | str:
        """Returns the status of the response, or the reason why there is none."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=self._timeout)
        connection = await self._network.options_for(self._url.scheme, self.host, self._url.port)
        try:
            async with self._session.post(
                self._url,
                data=content,
                headers={**headers, **connection.headers},
                allow_redirects=False,
                raise_for_status=False,
                **connection.options,
            ) as response:
                await response.content.read(MAX_BYTES_READ)
                return response.status
        except TimeoutError:
            return f"no answer within {self._timeout.total:g} s"
        except NOT_SENT as problem:
            return not_sent_reason(problem)
        except (aiohttp.ClientError, OSError):
            return "the connection was lost before the answer"

    async def aclose(self) -> None:
        """Closes the connections. Safe to call twice."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def __repr__(self) -> str:
        return f"Forwarder(<{self.host}>)"


def _checked(url: str) -> yarl.URL:
    try:
        parts = urlsplit(url)
        found = yarl.URL(url)
        is_usable = parts.scheme in ("https", "http") and bool(found.host) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or any(map(str.isspace, url)):
        raise ConfigurationError("events can be forwarded to a URL of the form https://host[:port][/path]")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("the URL for forwarded events contains a user name or password")
    if parts.scheme == "http" and not is_loopback(found.host or ""):
        raise ConfigurationError("the URL for forwarded events must be https, unless it is on this machine")
    return found
