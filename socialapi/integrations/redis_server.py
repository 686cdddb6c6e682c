"""Connects to a Redis server, and turns its failures into errors of this package."""

import asyncio
import contextlib
import importlib.resources
import logging
import math
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

try:
    import redis.asyncio as redis_asyncio
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import InvalidResponse, OutOfMemoryError, RedisError, ResponseError
except ImportError:
    raise ImportError("sharing a quota needs redis: pip install 'aiosocialapi[redis]'") from None

from socialapi.config import split_address
from socialapi.errors import ConfigurationError, TransportError

if TYPE_CHECKING:
    from socialapi.integrations.telemetry import RedisTelemetry

T = TypeVar("T")

REPLY_SECONDS: Final = 5.0
"""The timeout for connecting to Redis, and for each reply."""
MAX_CONNECTIONS: Final = 16
SHORTEST_RETRY_SECONDS: Final = 0.05
"""The wait before the first retry."""
LONGEST_RETRY_SECONDS: Final = 2.0
"""The longest wait before a retry."""

TLS_ALERT: Final = 0x15
"""The first byte that a TLS server sends to a client without TLS."""
IDENTIFY_SECONDS: Final = 1.0
"""The timeout for identifying an unknown server."""
WARNING_SECONDS: Final = 60.0
"""The shortest interval between two logged warnings about failures."""

FAILURES: Final = (RedisError, OSError, TimeoutError)
"""The exceptions of a call to a server that does not reply, or replies with an error."""
_PASSING_TLS_ERRORS: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_MORE_MEMORY: Final = "set its maxmemory-policy to noeviction and give it more memory"
_NO_REDIS: Final = "is not a Redis server"
_LASTING: Final = (
    (r"^(Authentication|NoPermission)\w*:|NOAUTH|WRONGPASS|NOPERM|DENIED|unauthenticated", "denies access: {0}"),
    (
        r"The user executing the script|ACL failure in script",
        "denies access to the keys or commands of the scripts: {0}",
    ),
    (r"^ReadOnlyError|READONLY", "is a read-only replica: use its primary"),
    (
        r"^(Moved|Ask|ClusterDown|ClusterCrossSlot)Error|: (MOVED|ASK|CLUSTERDOWN|CROSSSLOT)\b|in cluster mode",
        "belongs to a Redis cluster, which is not supported: use a server that keeps all keys",
    ),
    (
        r"unknown command\W*(\w+)",
        "does not know the command {1}: it is a Sentinel, which is not supported, or its commands are restricted",
    ),
    (r"DB index", "does not have the database that its URL specifies"),
    (r"WRONGTYPE", "stores other data under the same keys: choose another namespace"),
)
"""Patterns that match permanent failures, with their messages. All other failures may be temporary."""

logger: Final = logging.getLogger("socialapi")


class StateLost(RedisError):
    """Raised if a server has lost data that it stored a moment ago."""


class _WrongServer(RedisError):
    """Raised if the server does not match its URL."""


class RedisLost(TransportError):
    """Raised if a Redis server does not reply."""


class RedisServer:
    """A connection to Redis. `aclose` leaves it open if the caller passed it in.

    It belongs to the event loop in which it is first used. `keeps` describes the stored data in error messages. Raises
    ConfigurationError for anything but a URL or a `redis.asyncio.Redis`.
    """

    def __init__(
        self, redis_or_url: "redis_asyncio.Redis | str", keeps: str, telemetry: "RedisTelemetry | None" = None
    ) -> None:
        self.telemetry = telemetry
        self._is_own = self._is_unknown = isinstance(redis_or_url, str)
        self._warned_at = -math.inf
        self._away_since: float | None = None
        self._is_outage_logged = False
        self._keeps = keeps
        self._loop: asyncio.AbstractEventLoop | None = None
        if not isinstance(redis_or_url, str | redis_asyncio.Redis):
            raise ConfigurationError(f"Redis must be a URL or a redis.asyncio.Redis, not {type(redis_or_url).__name__}")
        self.redis: redis_asyncio.Redis = _connected(redis_or_url) if isinstance(redis_or_url, str) else redis_or_url

    def script(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Returns one of this package's scripts, to be called with `keys` and `args`."""
        text = importlib.resources.files(__package__).joinpath(name).read_text("utf-8")
        found: Callable[..., Awaitable[Any]] = self.redis.register_script(text)
        return found

    async def answer(self, name: str, ask: Callable[[], Awaitable[T]], *, within_seconds: float = REPLY_SECONDS) -> T:
        """Returns the server's answer. Raises one of `FAILURES`, and RuntimeError if called in a different event loop.

        `name` is the command, followed by the script's name if it runs one.
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError(
                "this Redis connection belongs to another event loop: create the pacer or token cache in the loop that uses it"
            )
        with contextlib.nullcontext() if self.telemetry is None else self.telemetry.call(name):
            try:
                # A connection that the user passed in may have no timeout.
                async with asyncio.timeout(within_seconds):
                    found = await (self._first_answer(ask) if self._is_unknown else ask())
            except Exception as problem:
                if self._is_unknown and self.refusal(problem) is None:
                    self._is_unknown = False
                    await self._refuse_other_server()
                raise
        self._is_unknown = False
        return found

    async def _first_answer(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Returns the server's reply. If the reply is slow, checks for a TLS mismatch, because a server without TLS
        never replies to a client that uses TLS.
        """
        asking = asyncio.ensure_future(ask())
        try:
            if not (await asyncio.wait((asking,), timeout=IDENTIFY_SECONDS))[0]:
                await self._refuse_other_server()
            return await asking
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    async def _refuse_other_server(self) -> None:
        """Raises an error if the server and the URL disagree about TLS, or the server is not Redis. In these cases, the
        library often reports only a closed connection or a timeout.
        """
        pool = self.redis.connection_pool
        if "path" in pool.connection_kwargs:
            return
        is_tls = issubclass(pool.connection_class, redis_asyncio.SSLConnection)
        host, port = pool.connection_kwargs.get("host", "localhost"), pool.connection_kwargs.get("port", 6379)
        says = await _reply_to_ping(host, port, with_tls=False)
        if says.startswith((b"+PONG", b"-")):
            if is_tls:
                raise _WrongServer("does not use TLS: its URL must begin with redis://")
        elif says and says[0] != TLS_ALERT:
            raise _WrongServer(_NO_REDIS)
        elif not is_tls and await _reply_to_ping(host, port, with_tls=True):
            raise _WrongServer("uses TLS: its URL must begin with rediss://")

    def refusal(self, problem: BaseException) -> ConfigurationError | None:
        """Returns the error for a permanent failure, such as a wrong password; None for one that may be temporary."""
        # While connecting, the library wraps the original error.
        each: BaseException | None = problem
        while each is not None:
            if (says := _lasting(each)) is not None:
                return ConfigurationError(f"the Redis server that keeps {self._keeps} {says}")
            each = each.__cause__ or each.__context__
        return None

    def lost(self, problem: BaseException, seconds: float = 0.0) -> RedisLost:
        """Returns the error for a server that has failed for `seconds`."""
        given: Mapping[str, Any] = self.redis.connection_pool.connection_kwargs
        duration = f" for {seconds:.0f} s" if seconds >= 1 else ""
        return RedisLost(
            f"the Redis server that keeps {self._keeps} did not answer{duration} ({named(problem)}); "
            "the request was not sent",
            str(given.get("host") or given.get("path") or "localhost"),
            port=given.get("port"),
        )

    def warn(self, now: float, message: str, *arguments: object, facts: Mapping[str, object]) -> bool:
        """Logs a warning, at most once a minute. Returns whether it logged one."""
        if now - self._warned_at < WARNING_SECONDS:
            return False
        self._warned_at = now
        logger.warning(message, *arguments, extra=dict(facts))
        return True

    def note_failure(self, problem: BaseException, now: float) -> None:
        """Logs that callers are waiting for the server."""
        if self._away_since is None:
            self._away_since = now
        facts = {"socialapi_error": type(problem).__name__}
        if self.warn(now, "Redis does not answer (%s): calls wait for it", named(problem), facts=facts):
            # A server that keeps losing its data still replies now and then.
            self._is_outage_logged = not isinstance(problem, StateLost)

    def note_answer(self, now: float) -> None:
        """Logs the end of an outage and records its length, if there was one."""
        if self._away_since is None:
            return
        seconds, self._away_since = now - self._away_since, None
        if self._is_outage_logged:
            logger.warning("Redis answers again", extra={"socialapi_duration_seconds": seconds})
        self._is_outage_logged = False
        if self.telemetry is not None:
            self.telemetry.record_outage(seconds)

    async def aclose(self) -> None:
        """Closes the connection unless it was passed in."""
        if self._is_own:
            await self.redis.aclose()


def _lasting(problem: BaseException) -> str | None:
    """Returns the message for a permanent problem; None if it may be temporary."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted ({problem.verify_message}): see SOCIALAPI_CA_FILE"
    if isinstance(problem, ssl.SSLError) and not isinstance(problem, _PASSING_TLS_ERRORS):
        return f"cannot be reached over TLS ({problem.reason})"
    if isinstance(problem, _WrongServer):
        return str(problem)
    if isinstance(problem, InvalidResponse):
        return _NO_REDIS
    if isinstance(problem, RedisError):
        name = type(problem).__name__
        for pattern, says in _LASTING:
            if (found := re.search(pattern, f"{name}: {problem}")) is not None:
                return says.format(name, found[found.lastindex or 0])
    return None


async def _reply_to_ping(host: str, port: int, *, with_tls: bool) -> bytes:
    """Returns the first bytes of a server's reply, read without the library."""
    try:
        async with asyncio.timeout(IDENTIFY_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=with_tls or None)
            try:
                writer.write(b"PING\r\n")
                return await reader.read(16)
            finally:
                writer.close()
    except ssl.SSLCertVerificationError:
        return bytes([TLS_ALERT])
    except (OSError, TimeoutError):
        return b""


def retry_wait_seconds(failing_seconds: float) -> float:
    """Returns how long to wait before a retry if Redis has failed for `failing_seconds`."""
    return min(LONGEST_RETRY_SECONDS, max(SHORTEST_RETRY_SECONDS, failing_seconds / 2))


def named(problem: BaseException) -> str:
    """Returns a failure's name, with the system's message ("Connection refused") or the error code ("READONLY")."""
    if isinstance(problem, StateLost):
        return f"it loses data: {_MORE_MEMORY}"
    # Not its message, which may quote the URL with its password.
    cause = problem.__cause__ or problem.__context__ or problem
    detail = str(problem).partition(" ")[0] if isinstance(problem, ResponseError) else ""
    if isinstance(cause, OSError) and cause.strerror:
        detail = cause.strerror
    elif isinstance(problem, OutOfMemoryError):
        detail = _MORE_MEMORY
    elif not (detail.isalpha() and detail.isupper()):
        detail = ""
    return f"{type(problem).__name__}: {detail}" if detail else type(problem).__name__


_loose_password: Final = re.compile("[^/?#]*://[^/?#]*[/?#].*@", re.DOTALL).match
"""Matches a URL with an unencoded character such as `/` or `@` in its password. The rest of the password would be read
as the host.
"""


def _connected(url: str) -> "redis_asyncio.Redis":
    if _loose_password(url):
        raise ConfigurationError(
            "the Redis URL has an @ after its host: percent-encode the characters / ? # @ in the password"
        )
    with contextlib.suppress(ValueError, TypeError, RedisError):  # their messages may quote the URL
        if split_address(url) is None:
            raise ValueError
        pool = redis_asyncio.BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=REPLY_SECONDS,
            socket_timeout=REPLY_SECONDS,
            socket_connect_timeout=REPLY_SECONDS,
            # Callers retry failed calls themselves, because they know how long retrying makes sense.
            retry=Retry(NoBackoff(), 0),
            # Set because redis 5 has a different default.
            **({"ssl_check_hostname": True} if url.startswith("rediss:") and "ssl_cert_reqs" not in url else {}),
        )
        pool.make_connection()  # type: ignore[no-untyped-call]  # looks at the options in the address; nothing is sent
        return redis_asyncio.Redis.from_pool(pool)
    raise ConfigurationError(
        "the Redis URL must have the form redis://host:port/0, rediss://… or unix:///path, with a user name and "
        "password percent-encoded as in redis://user:password@host:port/0"
    )
