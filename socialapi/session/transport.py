"""The HTTP transport: sends one request with aiohttp and classifies the outcome."""

import asyncio
import contextlib
import functools
import math
import os
import ssl
import traceback
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

import aiohttp
import attrs
import yarl
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from socialapi.config import Config
from socialapi.errors import ConfigurationError, OutcomeUnknown, TransportError
from socialapi.session.network import ConnectionOptions, Network
from socialapi.version import __version__
from socialapi.wire.content_encoding import ENCODINGS, BrokenEncoding, Decompressor
from socialapi.wire.oauth1 import check_headers
from socialapi.wire.request import Request
from socialapi.wire.response import Reply, hide_secrets

A = TypeVar("A")

NOT_SENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ServerFingerprintMismatch,
)
"""Raised by aiohttp before the first byte of a request is sent."""

PROXY_REFUSAL: Final = 407
"""The status of a proxy that requires authentication (RFC 9110, section 15.5.8)."""

CONNECTING_SHARE: Final = 0.9
"""The connect timeout as a share of the total timeout. It must expire first, because after the total timeout it is
unknown whether the request was sent.
"""


MAX_REFUSAL_BYTES: Final = 1_000_000
"""How much of an error response is read."""

LIVE_READ_BYTES: Final = 2**15
"""How many bytes are read in one call. They may have arrived in pieces of a byte or two, which aiohttp joins."""
LIVE_BUFFER_BYTES: Final = 2**16
"""The read buffer for an endless response. aiohttp stops reading when more than twice as much is unread."""


class _Lost(Exception):
    """A broken connection, as an exception that aiohttp does not know.

    aiohttp retries GET, PUT and DELETE once when a reused connection drops. It sends the signature of the first attempt
    again, and the pacer does not count the retry. A middleware raises this exception before aiohttp sees the error, so
    the session decides whether to retry.
    """


class _ClientCertificateRefused(Exception):
    """The host ended the handshake because it rejects the client certificate, or requires one.

    With TLS 1.3, this arrives after the client's last handshake message, when aiohttp considers the
    connection open. Nothing was executed.
    """


class _TunnelFailed(Exception):
    """A proxy closed the connection or did not respond with HTTP when asked for a tunnel. It forwarded nothing."""


async def _no_silent_repeat(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except aiohttp.ClientError as problem:
        lost: Exception
        # aiohttp raises the same errors before the first byte of the request, when a proxy is asked for a tunnel, and
        # only the traceback distinguishes them. If this does not detect the case, the outcome counts as unknown.
        frames = traceback.walk_tb(problem.__traceback__)
        is_of_proxy = any(frame.f_code.co_name == "_create_proxy_connection" for frame, _ in frames)
        if is_of_proxy and not isinstance(problem, aiohttp.ClientHttpProxyError):
            lost = _TunnelFailed()
        elif isinstance(problem, aiohttp.ClientOSError | aiohttp.ServerDisconnectedError):
            lost = _ClientCertificateRefused() if _is_unwelcome(problem.__cause__) else _Lost(type(problem).__name__)
        else:
            raise
    raise lost


class _CleanConnector(aiohttp.TCPConnector):
    """A connector that does not reuse a connection on which unsolicited data arrived.

    aiohttp would treat the data as the response to the next request. Some hosts send an unsolicited
    408 when they close an idle connection. aiohttp has no public way to inspect an idle connection;
    a test fails if `_get` no longer takes connections from the pool.
    """

    async def _get(self, key: ConnectionKey, traces: list[Trace]) -> Connection | None:
        while (connection := await super()._get(key, traces)) is not None:
            protocol = connection.protocol
            if protocol is None or not protocol.should_close:
                break
            connection.close()
        return connection

    def abandon(self) -> None:
        """Forgets all connections without closing them. Only their own event loop could close them."""
        self._conns.clear()
        self._closed = True


class _Parts(payload.Payload):
    """A body in parts with a known total length. Writing it part by part never blocks the event loop for long."""

    _default_content_type = "application/octet-stream"

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(parts)
        self._parts = parts
        self._size = sum(map(len, parts))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Returns the complete body as a string."""
        return b"".join(self._parts).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Writes the parts, waiting for the socket in between."""
        for part in self._parts:
            await writer.write(part)


LOST: Final = (_Lost, aiohttp.ClientError, TimeoutError, BrokenEncoding)
"""Raised when the request may have been sent, and its response cannot be read."""


class LiveReply:
    """The start of a successful response with an endless body.

    The caller must close it, which calls `on_close` once.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._loop = asyncio.get_running_loop()
        self.on_close: Callable[[], None] | None = None
        self.status: int = response.status
        self.headers: dict[str, str] = _headers_of(response)
        self._decompressor = Decompressor.of(self.headers.get("content-encoding"), is_stream=True)
        self.read_bytes: int = 0

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return _is_success(self.status)

    @property
    def arrived_bytes(self) -> int:
        """The number of bytes of the body that have arrived, read or not, compressed or not."""
        return self._response.content.total_bytes

    def read_nowait(self) -> bytes:
        """Returns the bytes that have arrived and are unread; empty if there are none."""
        content = self._response.content
        if content.exception() is not None:
            return b""
        try:
            return self._taken(content.read_nowait(LIVE_READ_BYTES))
        except BrokenEncoding:
            content.set_exception(aiohttp.ClientPayloadError())  # raised by `read`, which is called next
            return b""

    async def read(self) -> bytes:
        """Returns the next bytes that have arrived; empty at the end of the body.

        Raises OutcomeUnknown if the connection broke. Cancelling it loses no data. It does not return while the service
        is silent: cancel it or call `close`.
        """
        content = self._response.content
        error: TransportError
        if asyncio.get_running_loop() is not self._loop:
            raise OutcomeUnknown("its event loop was closed", self._response.url.host or "")
        taken = b""
        try:
            while not taken and (chunk := await content.read(LIVE_READ_BYTES)):
                taken = self._taken(chunk)
            if not taken and self._decompressor is not None:
                self._decompressor.finish()
        except LOST as problem:
            rest = b""
            if content.exception() is not None:
                # aiohttp keeps raising its error from now on, even if earlier bytes are unread.
                content.set_exception(None)  # type: ignore[arg-type]  # None clears the error, but is not declared
                rest = content.read_nowait()
                content.set_exception(problem)
            with contextlib.suppress(BrokenEncoding):
                if rest and (taken := self._taken(rest)):
                    return taken
            error = OutcomeUnknown(_why_lost(problem), self._response.url.host or "", port=self._response.url.port)
        else:
            return taken
        raise error

    def _taken(self, chunk: bytes) -> bytes:
        """Returns bytes of the body, decompressed if necessary, and counts them as read."""
        self.read_bytes += len(chunk)
        return chunk if self._decompressor is None else self._decompressor.feed(chunk)

    def close(self) -> None:
        """Closes the connection; a pending `read` raises. Safe to call twice."""
        if not self._loop.is_closed():
            self._response.close()
        on_close, self.on_close = self.on_close, None
        if on_close is not None:
            on_close()


MAX_HEADER_BYTES: Final = 65_536
"""The maximum length of a response header. Some proxies add headers of 12 kB."""
MAX_HEADERS: Final = 1_000
"""The maximum number of header lines in a response."""

_OPTIONS: Final[Mapping[str, Any]] = {
    "allow_redirects": False,
    "raise_for_status": False,
    "middlewares": (_no_silent_repeat,),
    "auto_decompress": False,  # done here, because aiohttp supports neither x-gzip nor zero padding after a member
    "max_line_size": MAX_HEADER_BYTES,
    "max_field_size": MAX_HEADER_BYTES,
    # aiohttp versions without this option do not limit the number of lines.
    **({"max_headers": MAX_HEADERS} if "max_headers" in (aiohttp.ClientSession.__init__.__kwdefaults__ or ()) else {}),
}
"""The options of every request. They override the options of a user's session."""


class Transport:
    """Sends requests through one aiohttp session.

    A session passed by the user is left open at the end.
    """

    def __init__(
        self,
        config: Config,
        network: Network,
        *,
        session: aiohttp.ClientSession | None,
        connector: aiohttp.BaseConnector | None,
        trace_configs: Sequence[aiohttp.TraceConfig],
    ) -> None:
        self._config = config
        self._headers: dict[str, str] = {
            aiohttp.hdrs.USER_AGENT: f"aiosocialapi/{__version__}",
            aiohttp.hdrs.ACCEPT_ENCODING: ENCODINGS,
        }
        self._session = session
        self._owns_session = session is None
        self._connector = connector
        self._trace_configs = list(trace_configs)
        self.network = network
        self._closed = False
        self._live: weakref.WeakSet[LiveReply] = weakref.WeakSet()
        self._connection_options: dict[str, ConnectionOptions] = {}

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise RuntimeError("this client is closed")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # Without a limit, because the session counts the slots.
                connector=self._connector or _CleanConnector(limit=0),
                connector_owner=self._connector is None,
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=self._trace_configs,
            )
        return self._session

    def begin_anew(self) -> None:
        """Forgets the connections of a closed event loop, in which nothing can be closed."""
        session, self._session = self._session, None
        if session is not None:
            connector = session.connector
            session.detach()  # so that aiohttp does not report it as left open
            if isinstance(connector, _CleanConnector):
                connector.abandon()
        self._live = weakref.WeakSet()
        self.network.begin_anew()

    def send(
        self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float
    ) -> Coroutine[Any, Any, Reply]:
        """Returns the complete response to one attempt, whatever its status.

        Raises TransportError if the service cannot have executed the request, and OutcomeUnknown if
        it may have.
        """
        return self._exchange(
            request,
            headers,
            self._reply,
            timeout_seconds=timeout_seconds,
            total_seconds=timeout_seconds,
        )

    async def open(
        self, request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float
    ) -> Reply | LiveReply:
        """Returns the start of an endless response, or the complete response if it is an error.

        `timeout_seconds` bounds only the time to connect. Raises the same errors as `send`.
        """

        async def finish(response: aiohttp.ClientResponse) -> Reply | LiveReply:
            if _is_success(response.status):
                live = LiveReply(response)
                self._live.add(live)
                return live
            return await self._reply(response)

        # With compression, lines would wait until a compressed block is full.
        headers = {**headers, "Accept-Encoding": "identity"}
        return await self._exchange(
            request,
            headers,
            finish,
            timeout_seconds=timeout_seconds,
            total_seconds=None,
            buffer_bytes=LIVE_BUFFER_BYTES,
        )

    async def _exchange(
        self,
        request: Request[Any],
        headers: Mapping[str, str],
        finish: Callable[[aiohttp.ClientResponse], Awaitable[A]],
        *,
        timeout_seconds: float,
        total_seconds: float | None,
        buffer_bytes: int | None = None,
    ) -> A:
        """Sends the request and returns the result of `finish` for the response. Translates errors."""
        url = _url_of(request.origin, request.url)
        check_headers(headers)
        connection = self._connection_options.get(request.origin) or await self._options_for(request.origin, url)
        error: TransportError | ConfigurationError
        try:
            response = await self._open().request(
                request.target.route.method,
                url,
                headers={**connection.headers, **request.headers, **headers},
                data=_Parts(request.body) if request.body else None,
                timeout=_timeout(total_seconds, timeout_seconds, self._config.connect_timeout_seconds),
                read_bufsize=buffer_bytes,
                **connection.options,
            )
            reply = await finish(response)
            if isinstance(reply, Reply) and not reply.ok:
                hide_secrets(reply, headers.get("Authorization", ""), request.form)
            if not (connection.is_relayed and getattr(reply, "status", None) == PROXY_REFUSAL):
                return reply
            error = _not_sent(url, _why_not_relayed(PROXY_REFUSAL), is_lasting=True)
        except _TunnelFailed:
            error = _not_sent(url, "the proxy ended the connection, or did not respond as a proxy", is_lasting=False)
        except _ClientCertificateRefused:
            error = _not_sent(url, CLIENT_CERTIFICATE_REFUSED, is_lasting=True)
        except NOT_SENT as problem:
            error = _not_sent(url, not_sent_reason(problem), is_lasting=_is_lasting(problem))
        except (UnicodeError, aiohttp.InvalidURL):
            error = ConfigurationError(f"{request.origin} is not a valid host name")
        except ValueError:
            if self._owns_session:
                raise
            error = ConfigurationError(OWN_CREDENTIALS)
        except LOST as problem:
            error = OutcomeUnknown(_why_lost(problem, timeout_seconds), url.host or "", port=url.port)
        # Raised outside the handlers: aiohttp's error may contain the headers of the request, so it must not be the
        # context.
        raise error

    async def _options_for(self, origin: str, url: yarl.URL) -> ConnectionOptions:
        """Returns the options and headers of every request to a host. Caches them by origin, so that the next request
        parses no URL.
        """
        found = await self.network.options_for(url.scheme, url.host or "", url.port)
        options, headers = {**_OPTIONS, **found.options}, {**self._headers, **found.headers}
        self._connection_options[origin] = every = attrs.evolve(found, options=options, headers=headers)
        return every

    async def _reply(self, response: aiohttp.ClientResponse) -> Reply:
        """Returns the response, or only its beginning if it is an error response or too large."""
        limit, headers = self._config.max_response_bytes, _headers_of(response)
        decompressor = Decompressor.of(headers["content-encoding"]) if "content-encoding" in headers else None
        try:
            if not _is_success(response.status):
                return Reply(response.status, headers, await self._read_refusal(response, decompressor))
            chunks, size = list[bytes](), 0
            while size <= limit and (chunk := await response.content.readany()):
                chunks.append(chunk if decompressor is None else decompressor.feed(chunk, limit + 1 - size))
                size += len(chunks[-1])
                if response.content.at_eof():
                    break
            if decompressor is not None and size <= limit:
                decompressor.finish()
        except BaseException:
            response.close()
            raise
        body = b"".join(chunks)
        if size <= limit:
            # The connection is free for other requests: aiohttp releases it at the end of the body.
            return Reply(response.status, headers, body)
        response.close()
        return Reply(response.status, headers, body[:limit], max_bytes=limit)

    async def _read_refusal(self, response: aiohttp.ClientResponse, decompressor: Decompressor | None) -> bytes:
        """Returns the beginning of the body of an error response, without waiting for the rest. Ignores a broken
        connection, and invalid compressed data.
        """
        limit = min(MAX_REFUSAL_BYTES, self._config.max_response_bytes)
        content = b""
        with contextlib.suppress(*LOST):
            while len(content) < limit and (chunk := await response.content.readany()):
                content += chunk if decompressor is None else decompressor.feed(chunk, limit)
        if not response.content.at_eof():
            response.close()
        return content[:limit]

    async def aclose(self) -> None:
        """Closes all live replies, and the connections unless the session is the user's. Safe to call twice."""
        self._closed = True
        await self.close_connections()

    async def close_connections(self) -> None:
        """Closes everything, as `aclose` does. Further requests open new connections."""
        for live in list(self._live):
            live.close()  # aiohttp would never end a pending read
        if self._owns_session and self._session is not None:
            session, self._session = self._session, None
            await session.close()


@functools.lru_cache(maxsize=64)
def _timeout(total_seconds: float | None, seconds: float, connect_seconds: float) -> aiohttp.ClientTimeout:
    """Returns the timeout, cached: there are few distinct ones, and creating one costs more than starting its timer."""
    connect_seconds = min(connect_seconds, CONNECTING_SHARE * seconds)
    # No rounding, which could let both expire together.
    return aiohttp.ClientTimeout(total=total_seconds, connect=connect_seconds, ceil_threshold=math.inf)


@functools.lru_cache(maxsize=64)
def _url_of(origin: str, address: str) -> yarl.URL:
    """Returns a URL, built from its known parts: parsing it would take three times as long. It is cached, because all
    batches of a job go to the same URL, and because the object keeps properties that aiohttp computes.
    """
    scheme, _, authority = origin.partition("://")
    path, _, query = address[len(origin) :].partition("?")
    return yarl.URL.build(scheme=scheme, authority=authority, path=path, query_string=query, encoded=True)


def _is_success(status: int) -> bool:
    return 200 <= status < 300


def _headers_of(response: aiohttp.ClientResponse) -> dict[str, str]:
    # Uses `items`, because the keys contain a repeated header only once (multidict 7).
    headers = {name.lower(): value for name, value in response.headers.items()}
    if len(headers) < len(response.headers):
        for name in headers.keys() - {"set-cookie"}:  # which must not be joined (RFC 9110, section 5.3)
            headers[name] = ", ".join(response.headers.getall(name))
    return headers


NOT_SENT_REASONS: Final[Mapping[type[Exception], str]] = {
    aiohttp.ConnectionTimeoutError: "no connection within the time allowed",
    aiohttp.ServerFingerprintMismatch: "its certificate is not the expected one",
    aiohttp.ClientSSLError: "no TLS connection could be made",
    aiohttp.ClientConnectorDNSError: "its name cannot be resolved",
}

NOT_TRUSTED: Final = (
    "it is not signed by a trusted authority. If its authority is your own, set SSL_CERT_FILE (or "
    "SOCIALAPI_CA_FILE) to its certificate, or pass a context as Client(ssl=…)"
)
_NOT_STRICT: Final = (
    "it or its authority's certificate violates RFC 5280, which Python 3.13 and later check. Have it issued again, or "
    "pass a context without ssl.VERIFY_X509_STRICT as Client(ssl=…)"
)
_NOT_AN_AUTHORITY: Final = "its issuer is not a certificate authority. Have it issued by an authority"
# From X509_V_ERR_PATHLEN_INVALID_FOR_NON_CA to X509_V_ERR_EC_KEY_EXPLICIT_PARAMS: found only by strict checks.
_STRICT_FAULTS: Final = range(80, 95)
CERTIFICATE_FAULTS: Final[Mapping[int, str]] = {
    9: "it is not valid yet: check this machine's clock",
    10: "it has expired: the host's operator has to renew it, unless this machine's clock is wrong",
    18: NOT_TRUSTED,
    19: NOT_TRUSTED,
    20: NOT_TRUSTED,
    21: NOT_TRUSTED,
    62: "it is for another host: check the address in the configuration",
    64: "it is for another host: check the address in the configuration",
    79: _NOT_AN_AUTHORITY,
    **dict.fromkeys(_STRICT_FAULTS, _NOT_STRICT),
}
"""What to do about the verification errors of OpenSSL (X509_V_ERR_…)."""


OWN_CREDENTIALS: Final = (
    "the aiohttp session cannot send this request. If it has its own credentials (auth=, or trust_env= with a netrc "
    "entry for the host), create it without them"
)
"""The reason for the ValueError that aiohttp raises when a session would send a different credential."""
CLIENT_CERTIFICATE_REFUSED: Final = (
    "it does not accept the client certificate, or requires one: pass a context with one as Client(ssl=…), or "
    "set SOCIALAPI_CLIENT_CERT and SOCIALAPI_CLIENT_KEY"
)
_ALERTS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""Words in the names of TLS alerts that concern certificates (RFC 8446, section 6.2)."""


def _is_unwelcome(problem: BaseException | None) -> bool:
    reason = (problem.reason if isinstance(problem, ssl.SSLError) else None) or ""
    return "_ALERT_" in reason and any(word in reason for word in _ALERTS)


def not_sent_reason(problem: Exception) -> str:
    """Returns why no connection could be made, and what to do about it."""
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        fault = CERTIFICATE_FAULTS.get(getattr(problem.certificate_error, "verify_code", 0))
        return f"its certificate is not valid: {fault}" if fault else "its certificate is not valid"
    if _is_unwelcome(getattr(problem, "os_error", None)):
        return CLIENT_CERTIFICATE_REFUSED
    for kind, reason in NOT_SENT_REASONS.items():
        if isinstance(problem, kind):
            return reason
    if isinstance(problem, aiohttp.ClientHttpProxyError):
        return _why_not_relayed(problem.status)
    os_error = getattr(problem, "os_error", None)
    whereto = " to the proxy" if isinstance(problem, aiohttp.ClientProxyConnectionError) else ""
    says = os_error and os_error.strerror
    if isinstance(os_error, ConnectionError) and os_error.errno:
        says = os.strerror(os_error.errno)  # asyncio's own message repeats the address
    return f"could not connect{whereto} ({says or type(problem).__name__})"


def _not_sent(url: yarl.URL, reason: str, *, is_lasting: bool) -> TransportError:
    error = TransportError(reason, url.host or "", port=url.port)
    error.is_lasting = is_lasting
    return error


def _is_lasting(problem: Exception) -> bool:
    """Returns whether a new attempt would fail the same way. Repeating a refused proxy login might lock the account."""
    if isinstance(problem, aiohttp.ClientHttpProxyError):
        return problem.status == PROXY_REFUSAL
    is_about_certificate = isinstance(
        problem, aiohttp.ClientConnectorCertificateError | aiohttp.ServerFingerprintMismatch
    )
    return is_about_certificate or _is_unwelcome(getattr(problem, "os_error", None))


def _why_not_relayed(status: int) -> str:
    hint = ": add the user name and password to its address" if status == PROXY_REFUSAL else ""
    return f"the proxy refused to connect (HTTP {status}){hint}"


def _why_lost(problem: BaseException, timeout_seconds: float | None = None) -> str:
    if isinstance(problem, TimeoutError):
        return "no complete answer" + ("" if timeout_seconds is None else f" within {timeout_seconds:g} s")
    if isinstance(problem, aiohttp.ClientPayloadError | BrokenEncoding):
        return str(problem) if isinstance(problem, BrokenEncoding) and problem.args else "the answer broke off"
    if isinstance(problem, _Lost | aiohttp.ClientConnectionError):
        return "the connection was lost before the answer"
    return f"the answer could not be read ({type(problem).__name__})"
