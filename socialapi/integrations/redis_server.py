"""The connection to a Redis server, and what becomes of its failures."""

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
from socialapi.errors import ConfigurationError, SocialApiError, TransportError

if TYPE_CHECKING:
    from socialapi.integrations.telemetry import RedisTelemetry

T = TypeVar("T")

REPLY_SECONDS: Final = 5.0
"""How long Redis may take to connect, and to answer."""
MAX_CONNECTIONS: Final = 16
SHORTEST_RETRY_SECONDS: Final = 0.05
"""How soon Redis is asked again after its first failure."""
LONGEST_RETRY_SECONDS: Final = 2.0
"""The longest wait before Redis is asked again."""

TLS_ALERT: Final = 0x15
"""How TLS begins what it says to a client that speaks something else."""
IDENTIFY_SECONDS: Final = 1.0
"""How long a server of which nothing is known may take to say what it is."""
WARNING_SECONDS: Final = 60.0
"""How often it is logged at most that Redis fails."""

FAILURES: Final = (RedisError, OSError, TimeoutError)
"""What asking a server raises when it does not answer, or not as it should."""
_PASSING_TLS_ERRORS: Final = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_MORE_MEMORY: Final = "set its maxmemory-policy to noeviction and give it more memory"
_NO_REDIS: Final = "is not a Redis server"
_LASTING: Final = (
    (r"^(Authentication|NoPermission)\w*:|NOAUTH|WRONGPASS|NOPERM|DENIED|unauthenticated", "refuses access: {0}"),
    (r"The user executing the script|ACL failure in script", "refuses access to what its scripts need: {0}"),
    (r"^ReadOnlyError|READONLY", "is a read-only replica: name its primary"),
    (
        r"^(Moved|Ask|ClusterDown|ClusterCrossSlot)Error|: (MOVED|ASK|CLUSTERDOWN|CROSSSLOT)\b|in cluster mode",
        "belongs to a Redis cluster, which is not supported: name a server that keeps all keys",
    ),
    (
        r"unknown command\W*(\w+)",
        "does not know the command {1}: it is a Sentinel, which is not supported, or its commands are restricted",
    ),
    (r"DB index", "does not have the database in its address"),
    (r"WRONGTYPE", "keeps other data under the same keys: choose another namespace"),
)
"""What answers say that stay the same, and what an error says of them. All others may pass."""

logger: Final = logging.getLogger("socialapi")


class StateLost(RedisError):
    """A server has lost what it was told a moment ago."""


class _WrongServer(RedisError):
    """The server is not what its address says."""


class RedisLost(TransportError):
    """A Redis server does not answer."""


class RedisServer:
    """A connection to Redis, which is closed here only if it was made here.

    It belongs to the event loop in which it is used first. `keeps` says in errors what is kept
    there. Raises ConfigurationError for anything but an address or a `redis.asyncio.Redis`.
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
            raise ConfigurationError(
                f"Redis must be an address or a redis.asyncio.Redis, not {type(redis_or_url).__name__}"
            )
        self.redis: redis_asyncio.Redis = _connected(redis_or_url) if isinstance(redis_or_url, str) else redis_or_url

    def script(self, name: str) -> Callable[..., Awaitable[Any]]:
        """Returns a script of this package, to be called with `keys` and `args`."""
        text = importlib.resources.files(__package__).joinpath(name).read_text("utf-8")
        found: Callable[..., Awaitable[Any]] = self.redis.register_script(text)
        return found

    async def answer(self, name: str, ask: Callable[[], Awaitable[T]], *, within_seconds: float = REPLY_SECONDS) -> T:
        """Returns what the server answers. Raises one of `FAILURES`, and RuntimeError in another
        event loop than the first one.

        `name` is the command and, of a script, its name.
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError(
                "this connection to Redis belongs to another event loop: make the pacer or token cache where it is used"
            )
        with contextlib.nullcontext() if self.telemetry is None else self.telemetry.call(name):
            try:
                # A connection of the user's own may have no timeout.
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
        """Returns what the server answers. If that takes long, looks meanwhile whether it can answer at all: a server
        without TLS says nothing to a client that speaks TLS.
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
        """Raises an error if the server speaks TLS and should not, or the other way round, or is no
        Redis. The library often sees no more of that than a closed connection, or no answer.
        """
        pool = self.redis.connection_pool
        if "path" in pool.connection_kwargs:
            return
        is_tls = issubclass(pool.connection_class, redis_asyncio.SSLConnection)
        host, port = pool.connection_kwargs.get("host", "localhost"), pool.connection_kwargs.get("port", 6379)
        says = await _reply_to_ping(host, port, with_tls=False)
        if says.startswith((b"+PONG", b"-")):
            if is_tls:
                raise _WrongServer("does not speak TLS: its address begins with redis://")
        elif says and says[0] != TLS_ALERT:
            raise _WrongServer(_NO_REDIS)
        elif not is_tls and await _reply_to_ping(host, port, with_tls=True):
            raise _WrongServer("speaks TLS: its address begins with rediss://")

    def refusal(self, problem: BaseException) -> ConfigurationError | None:
        """Returns the error for a failure that lasts, such as a password that is wrong; None for one that may pass."""
        # While it connects, the library makes another error of it.
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
        """Logs a warning, unless there was one within a minute. Returns whether it did."""
        if now - self._warned_at < WARNING_SECONDS:
            return False
        self._warned_at = now
        logger.warning(message, *arguments, extra=dict(facts))
        return True

    def note_failure(self, problem: BaseException, now: float) -> None:
        """Logs that callers wait for the server."""
        if self._away_since is None:
            self._away_since = now
        facts = {"socialapi_error": type(problem).__name__}
        if self.warn(now, "Redis does not answer (%s): calls wait for it", named(problem), facts=facts):
            # A server that loses its data answers now and then.
            self._is_outage_logged = not isinstance(problem, StateLost)

    def note_answer(self, now: float) -> None:
        """Logs and measures the end of an outage, if there was one."""
        if self._away_since is None:
            return
        seconds, self._away_since = now - self._away_since, None
        if self._is_outage_logged:
            logger.warning("Redis answers again", extra={"socialapi_duration_seconds": seconds})
        self._is_outage_logged = False
        if self.telemetry is not None:
            self.telemetry.record_outage(seconds)

    def error_of(self, problem: BaseException) -> SocialApiError:
        """Returns the error for one failure, without a second attempt."""
        return self.refusal(problem) or self.lost(problem)

    async def aclose(self) -> None:
        """Closes the connection if it was made here."""
        if self._is_own:
            await self.redis.aclose()


def _lasting(problem: BaseException) -> str | None:
    """Returns what is wrong with a server for good; None if the problem may pass."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted ({problem.verify_message}): see SOCIALAPI_CA_FILE"
    if isinstance(problem, ssl.SSLError) and not isinstance(problem, _PASSING_TLS_ERRORS):
        return f"cannot be reached by TLS ({problem.reason})"
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
    """Returns the first bytes of a server, which is asked without the library."""
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
    """Returns how long to wait before Redis is asked again, when it has failed for `failing_seconds`."""
    return min(LONGEST_RETRY_SECONDS, max(SHORTEST_RETRY_SECONDS, failing_seconds / 2))


def named(problem: BaseException) -> str:
    """Returns what a failure is: its name, and what the system says of it ("Connection refused") or
    the code of an answer that is an error ("READONLY").
    """
    if isinstance(problem, StateLost):
        return f"it loses what it keeps: {_MORE_MEMORY}"
    # Not its text, which may quote the address with its password.
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
"""Finds a password with a character, such as `/` or `@`, that would make part of it the host."""


def _connected(url: str) -> "redis_asyncio.Redis":
    if _loose_password(url):
        raise ConfigurationError(
            "the address of Redis has an @ behind its host: percent-encode the characters / ? # @ of the password"
        )
    with contextlib.suppress(ValueError, TypeError, RedisError):  # their texts may quote the address
        if split_address(url) is None:
            raise ValueError
        pool = redis_asyncio.BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=REPLY_SECONDS,
            socket_timeout=REPLY_SECONDS,
            socket_connect_timeout=REPLY_SECONDS,
            # Failed calls are repeated by the callers here, who know for how long that makes sense.
            retry=Retry(NoBackoff(), 0),
            # Not the default of redis 5.
            **({"ssl_check_hostname": True} if url.startswith("rediss:") and "ssl_cert_reqs" not in url else {}),
        )
        pool.make_connection()  # type: ignore[no-untyped-call]  # looks at the options in the address; nothing is sent
        return redis_asyncio.Redis.from_pool(pool)
    raise ConfigurationError(
        "the address of Redis must be of the form redis://host:port/0, rediss://… or unix:///path, with a user name and "
        "password percent-encoded as in redis://user:password@host:port/0"
    )
