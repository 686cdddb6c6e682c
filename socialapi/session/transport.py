"""The one user of aiohttp's client: sends a request once, and says exactly what became of it."""

import math
import ssl as ssl_module
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import yarl
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter

from socialapi.config import Config
from socialapi.errors import ConfigurationError, DecodeError, OutcomeUnknown, TransportError
from socialapi.wire.request import Request
from socialapi.wire.response import Reply

NOT_SENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ServerFingerprintMismatch,
)
"""What aiohttp raises before the first byte of a request goes out."""

CONNECTING_SHARE: Final = 0.9
"""Connecting runs out of time before the whole attempt does: afterwards nobody could tell that nothing was sent."""


class _Lost(Exception):
    """A connection that broke, as an exception that aiohttp does not know.

    aiohttp by itself repeats GET, PUT and DELETE once when a reused connection drops, with the headers it has: the
    signature of the first attempt, uncounted and unpaced. Turning its error into ours inside a middleware, before
    that code sees it, leaves the decision to the attempt loop.
    """


async def _no_silent_repeat(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as problem:
        raise _Lost(type(problem).__name__) from None


class _Parts(payload.Payload):
    """A body in parts, written one after another with its length known, so that no part holds the loop for long."""

    _default_content_type = "application/octet-stream"

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(parts)
        self._parts = parts
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The whole body as text."""
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Writes the parts with back-pressure between them."""
        for part in self._parts:
            await writer.write(part)


class Transport:
    """Sends requests over one long-lived aiohttp session, its own or the user's (which stays open at the end)."""

    def __init__(
        self,
        config: Config,
        *,
        user_agent: str,
        session: aiohttp.ClientSession | None = None,
        connector: aiohttp.BaseConnector | None = None,
        trace_configs: Sequence[aiohttp.TraceConfig] = (),
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | bool = True,
    ) -> None:
        if session is not None and (connector is not None or trace_configs):
            raise ConfigurationError("connector and trace_configs belong to a session: give them to the one you pass")
        self._config = config
        self._user_agent = user_agent
        self._session = session
        self._owns_session = session is None
        self._connector = connector
        self._trace_configs = list(trace_configs)
        self._options: dict[str, Any] = {"ssl": ssl}
        if proxy is not None:
            self._options["proxy"] = proxy
        self._closed = False

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise RuntimeError("this client is closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._connector or aiohttp.TCPConnector(limit=self._config.max_connections),
                connector_owner=self._connector is None,
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=self._trace_configs,
            )
        return self._session

    async def send(self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float) -> Reply:
        """One attempt: the response whole, whatever its status.

        Raises TransportError when the service cannot have executed the request, OutcomeUnknown when it may have,
        DecodeError for an answer that is too large.
        """
        host = urlsplit(request.url).hostname or ""
        timeout = aiohttp.ClientTimeout(
            total=timeout_seconds,
            connect=min(self._config.connect_timeout_seconds, CONNECTING_SHARE * timeout_seconds),
            ceil_threshold=math.inf,  # no rounding, which could let both end together
        )
        error: TransportError
        try:
            async with self._open().request(
                request.method,
                yarl.URL(request.url, encoded=True),
                headers={"User-Agent": self._user_agent, **request.headers, **headers},
                data=_Parts(request.body) if request.body else None,
                timeout=timeout,
                allow_redirects=False,
                raise_for_status=False,
                middlewares=(_no_silent_repeat,),
                **self._options,
            ) as response:
                content = await self._read(response)
                return Reply(response.status, {k.lower(): v for k, v in response.headers.items()}, content)
        except NOT_SENT as problem:
            error = TransportError(_why_not_sent(problem), host)
        except (_Lost, aiohttp.ClientError, TimeoutError) as problem:
            error = OutcomeUnknown(_why_lost(problem, timeout_seconds), host)
        # Out here, so that aiohttp's error, which may hold the headers of the request, is not even its context.
        raise error

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body; of a refusal that is too large the beginning, since its status says enough."""
        limit = self._config.max_response_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            chunks.append(chunk)
            if size > limit:
                response.close()
                break
        if size > limit and response.ok:
            raise DecodeError("", f"is larger than the {limit:,} bytes that Config.max_response_bytes allows")
        return b"".join(chunks)[:limit]

    async def aclose(self) -> None:
        """Closes the connections, if the session is ours. Idempotent."""
        self._closed = True
        if self._owns_session and self._session is not None:
            await self._session.close()
            self._session = None


NOT_SENT_REASONS: Final[Mapping[type[Exception], str]] = {
    aiohttp.ConnectionTimeoutError: "no connection within the time allowed",
    aiohttp.ClientConnectorCertificateError: "its certificate is not valid",
    aiohttp.ServerFingerprintMismatch: "its certificate is another one than expected",
    aiohttp.ClientSSLError: "no TLS connection could be made",
    aiohttp.ClientConnectorDNSError: "its name cannot be resolved",
}


def _why_not_sent(problem: Exception) -> str:
    for kind, reason in NOT_SENT_REASONS.items():
        if isinstance(problem, kind):
            return reason
    if isinstance(problem, aiohttp.ClientHttpProxyError):
        return f"the proxy refused to connect (HTTP {problem.status})"
    os_error = getattr(problem, "os_error", None)
    whereto = " to the proxy" if isinstance(problem, aiohttp.ClientProxyConnectionError) else ""
    return f"could not connect{whereto} ({(os_error and os_error.strerror) or type(problem).__name__})"


def _why_lost(problem: BaseException, timeout_seconds: float) -> str:
    if isinstance(problem, TimeoutError):
        return f"no complete answer within {timeout_seconds:g} s"
    if isinstance(problem, aiohttp.ClientPayloadError):
        return "the answer broke off"
    if isinstance(problem, _Lost | aiohttp.ClientConnectionError):
        return "the connection was lost before the answer"
    return f"the answer could not be read ({type(problem).__name__})"
