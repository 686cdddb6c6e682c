"""Passing on what was received: bodies as they are, to one address, until it takes them."""

import ipaddress
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import aiohttp
import yarl

from socialapi.errors import ConfigurationError, TransportError
from socialapi.session.clock import Clock, SystemClock

BACKOFF_SECONDS: Final = 0.25
BACKOFF_CEILING_SECONDS: Final = 10.0
MOST_BYTES_READ: Final = 65_536
"""What is read of an answer, so that its connection can be used again; after a longer one it is closed."""

_LATER: Final = frozenset({408, 425, 429})
"""What is answered, beside 5xx, by who may take the same thing another time."""


class Forwarder:
    """POSTs bodies to one address. Redirects are not followed.

    Each is sent up to `attempts` times, with growing waits between them. Raises ConfigurationError for an address that
    is neither https nor on this machine.
    """

    def __init__(
        self, url: str, *, attempts: int = 6, timeout_seconds: float = 30.0, clock: Clock | None = None
    ) -> None:
        self._url = _checked(url)
        self.host = self._url.host or ""
        self._attempts = attempts
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        self._clock = clock or SystemClock()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def post(self, content: bytes, headers: Mapping[str, str]) -> int:
        """The status of the last answer; the body is taken if it is 2xx.

        Answers 5xx, 408, 425 and 429 and lost connections are followed by another attempt, so that a body may arrive
        more than once. Raises TransportError when the last attempt got no answer.
        """
        attempt = 1
        while True:
            outcome = await self._once(content, headers)
            may_change = isinstance(outcome, str) or outcome >= 500 or outcome in _LATER
            if not may_change or attempt >= self._attempts:
                break
            await self._clock.sleep(min(BACKOFF_SECONDS * 2.0 ** (attempt - 1), BACKOFF_CEILING_SECONDS))
            attempt += 1
        if isinstance(outcome, str):
            raise TransportError(outcome, self.host, attempt)
        return outcome

    async def _once(self, content: bytes, headers: Mapping[str, str]) -> int | str:
        """The status of the answer, or why there is none."""
        if self._session is None:
            self._session = aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=self._timeout)
        try:
            async with self._session.post(
                self._url, data=content, headers=headers, allow_redirects=False, raise_for_status=False
            ) as response:
                await response.content.read(MOST_BYTES_READ)
                return response.status
        except TimeoutError:
            return f"no answer within {self._timeout.total:g} s"
        except aiohttp.ClientConnectorError as problem:
            return f"could not connect ({problem.os_error.strerror or type(problem.os_error).__name__})"
        except (aiohttp.ClientError, OSError):
            return "the connection was lost before the answer"

    async def aclose(self) -> None:
        """Closes the connections. Idempotent."""
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
        raise ConfigurationError("events can be passed on to a URL of the form https://host[:port][/path]")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("the URL to pass events on to holds a user name or password")
    if parts.scheme == "http" and not _is_loopback(found.host or ""):
        raise ConfigurationError("the URL to pass events on to must be https, unless it is on this machine")
    return found


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
