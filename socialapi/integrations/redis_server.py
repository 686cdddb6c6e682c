"""The connection to a Redis server, and what becomes of its failures."""

import asyncio
import contextlib
import importlib.resources
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

try:
    import redis.asyncio as redis_asyncio
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
except ImportError:
    raise ImportError("sharing a quota needs redis: pip install 'aiosocialapi[redis]'") from None

from socialapi.errors import ConfigurationError, SocialApiError, TransportError

T = TypeVar("T")

REPLY_SECONDS: Final = 5.0
"""How long Redis may take to connect, and to answer."""
MAX_CONNECTIONS: Final = 16
SHORTEST_RETRY_SECONDS: Final = 0.05
"""How soon Redis is asked again after its first failure."""
LONGEST_RETRY_SECONDS: Final = 2.0
"""The longest wait before Redis is asked again."""

FAILURES: Final = (RedisError, OSError, TimeoutError)
"""What asking a server raises when it does not answer, or not as it should."""
_REFUSALS: Final = (AuthenticationError, NoPermissionError)


class RedisLost(TransportError):
    """A Redis server does not answer."""


class RedisServer:
    """A connection to Redis, which is closed here only if it was made here.

    It belongs to the event loop in which it is used first. `keeps` says in errors what is kept
    there. Raises ConfigurationError for anything but an address or a `redis.asyncio.Redis`.
    """

    def __init__(self, redis_or_url: "redis_asyncio.Redis | str", keeps: str) -> None:
        self._is_own = isinstance(redis_or_url, str)
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

    async def answer(self, ask: Callable[[], Awaitable[T]], *, within_seconds: float = REPLY_SECONDS) -> T:
        """Returns what the server answers. Raises one of `FAILURES`, and RuntimeError in another
        event loop than the first one.
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError(
                "this connection to Redis belongs to another event loop: make the pacer or token cache where it is used"
            )
        # A connection of the user's own may have no timeout.
        async with asyncio.timeout(within_seconds):
            return await ask()

    def refusal(self, problem: BaseException) -> ConfigurationError | None:
        """Returns the error for a server that does not accept the password or the command; None if
        the problem is another one.
        """
        # While it connects, the library makes another error of it.
        for each in (problem, problem.__cause__):
            if isinstance(each, _REFUSALS) or _is_unauthenticated_length_error(each):
                says = f"the Redis server that keeps {self._keeps} refuses access: {type(each).__name__}"
                return ConfigurationError(says)
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

    def error_of(self, problem: BaseException) -> SocialApiError:
        """Returns the error for one failure, without a second attempt."""
        return self.refusal(problem) or self.lost(problem)

    async def aclose(self) -> None:
        """Closes the connection if it was made here."""
        if self._is_own:
            await self.redis.aclose()


def _is_unauthenticated_length_error(problem: BaseException | None) -> bool:
    """Returns whether a server found a command too long for a client that has not given its password.

    redis-py 5 to 7 greet no server with HELLO, by which a missing password would be noticed before.
    """
    return isinstance(problem, ResponseError) and "unauthenticated" in str(problem)


def retry_wait_seconds(failing_seconds: float) -> float:
    """Returns how long to wait before Redis is asked again, when it has failed for `failing_seconds`."""
    return min(LONGEST_RETRY_SECONDS, max(SHORTEST_RETRY_SECONDS, failing_seconds / 2))


def named(problem: BaseException) -> str:
    """Returns what a failure is: its name, and what the system says of it ("Connection refused") or
    the code of an answer that is an error ("READONLY").
    """
    # Not its text, which may quote the address with its password.
    cause = problem.__cause__ or problem.__context__ or problem
    detail = str(problem).partition(" ")[0] if isinstance(problem, ResponseError) else ""
    if isinstance(cause, OSError) and cause.strerror:
        detail = cause.strerror
    elif not (detail.isalpha() and detail.isupper()):
        detail = ""
    return f"{type(problem).__name__}: {detail}" if detail else type(problem).__name__


def _connected(url: str) -> "redis_asyncio.Redis":
    if _has_loose_password(url):
        raise ConfigurationError(
            "the address of Redis has an @ behind its host: percent-encode the characters / ? # @ of the password"
        )
    with contextlib.suppress(ValueError, TypeError):  # their texts may quote the address
        pool = redis_asyncio.BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=REPLY_SECONDS,
            socket_timeout=REPLY_SECONDS,
            socket_connect_timeout=REPLY_SECONDS,
            # Failed calls are repeated by the callers here, who know for how long that makes sense.
            retry=Retry(NoBackoff(), 0),
        )
        pool.make_connection()  # type: ignore[no-untyped-call]  # looks at the options in the address; nothing is sent
        return redis_asyncio.Redis.from_pool(pool)
    raise ConfigurationError(
        "the address of Redis must be of the form redis://host:port/0, rediss://… or unix:///path, with a user name and "
        "password percent-encoded as in redis://user:password@host:port/0"
    )


def _has_loose_password(url: str) -> bool:
    """Returns whether a part of a password would be taken for the host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False  # refused for its form
    return "@" in parts.path + parts.query + parts.fragment
