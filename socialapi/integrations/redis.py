"""Shares one quota and one set of tokens between processes through Redis. Needs the extra `[redis]`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from socialapi.config import Config
from socialapi.errors import ConfigurationError
from socialapi.integrations.redis_server import FAILURES, REPLY_SECONDS, RedisLost, RedisServer
from socialapi.integrations.redis_window import RENEWED_AFTER, SharedWindow, WindowScript
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.rate_limiter import MAX_WINDOWS, LimitStatus, Slot
from socialapi.session.token_cache import LOCK_TIMEOUT_SECONDS

if TYPE_CHECKING:
    import redis.asyncio as redis_asyncio
    from redis.asyncio.lock import Lock

    from socialapi.integrations.telemetry import RedisTelemetry

__all__ = ["RedisPacer", "RedisTokenCache"]

LOCK_LEASE_SECONDS: Final = 30.0
"""The lease of a token's lock. A running process renews it. If the process dies, the lock is released when the lease
expires.
"""


class RedisPacer:
    """A pacer that keeps its windows in Redis, so that all processes share one quota.

    `redis_or_url` is a URL such as `redis://localhost:6379/0`, or your own `redis.asyncio.Redis`, which stays open.
    Processes share a window if they use the same server and `namespace`. Give each of your apps, and the sandbox, a
    separate namespace, because the service counts them separately.

        async with RedisPacer("redis://localhost:6379/0", config) as pacer:
            async with Client(config, credentials, pacer=pacer) as client:
                …

    Jobs take slots for several requests at once, taking turns with other processes. While Redis is unavailable, callers
    wait for at most `Config.max_elapsed_seconds`; interactive calls continue immediately if
    `Config.redis_fallback_share` is set. The slots of a dead process become free one window after its last requests
    time out.

    A pacer belongs to one event loop. Close it after the clients that use it. Raises ConfigurationError for an invalid
    URL.
    """

    def __init__(
        self,
        redis_or_url: "redis_asyncio.Redis | str",
        config: Config | None = None,
        *,
        namespace: str = "",
        clock: Clock | None = None,
        telemetry: "RedisTelemetry | None" = None,
    ) -> None:
        self._config = config or Config()
        self._clock = clock or SystemClock()
        server = RedisServer(redis_or_url, "the rate limits", telemetry)
        self._script = WindowScript(server, self._config, self._clock, namespace)
        self._windows: dict[str, SharedWindow] = {}
        self._renewing: asyncio.Task[None] | None = None

    def _window(self, key: str, documented: RateLimit | None) -> SharedWindow:
        window = self._windows.pop(key, None)
        if window is None:
            if len(self._windows) >= MAX_WINDOWS:
                unused = next((key for key, each in self._windows.items() if each.is_idle), None)
                if unused is not None:
                    del self._windows[unused]
            limit = documented.configured(self._config.rate_limits) if documented else None
            window = SharedWindow(self._script, key, limit)
        self._windows[key] = window  # moved to the end, so that the windows stay in order of use
        return window

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot in the window of `key`.

        Raises RateLimitTooLong as soon as it is clear that the wait will exceed `max_wait_seconds`. Raises
        TransportError if Redis does not answer within that time or within `Config.max_elapsed_seconds`, and
        ConfigurationError if the server cannot be used, for example because it denies access.
        """
        window = self._window(key, documented)
        share = None if bulk else self._config.redis_fallback_share
        began = self._clock.monotonic()
        if share is None or not window.is_failing:
            try:
                slot = await window.acquire(bulk=bulk, max_wait_seconds=max_wait_seconds)
            except RedisLost:
                if share is None:
                    raise
            else:
                if self._renewing is None or self._renewing.done():
                    self._renewing = self._script.spawn(self._renew_leases())
                return slot
        left_seconds = max(0.0, max_wait_seconds - (self._clock.monotonic() - began))
        return await window.acquire_by_share(share, max_wait_seconds=left_seconds)

    async def _renew_leases(self) -> None:
        """Renews the leases of long requests until no request is in flight."""
        while any(window.has_flying for window in self._windows.values()):
            await self._clock.sleep(RENEWED_AFTER * self._script.lease_seconds)
            for window in list(self._windows.values()):
                window.renew()

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the last known state of each limit that this process has used."""
        return {key: window.status() for key, window in self._windows.items()}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the rate that the limit allows for all processes together; None while it is unknown."""
        return self._window(key, documented).requests_per_second()

    async def aclose(self) -> None:
        """Reports the remaining outcomes to Redis, and closes the connection unless it was passed in."""
        for window in self._windows.values():
            window.close()
        if self._renewing is not None:
            self._renewing.cancel()  # the task is sleeping and has nothing to report
        await self._script.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"RedisPacer(<{len(self._windows)} limits>)"


class RedisTokenCache:
    """A token cache in Redis, for all processes that use the same server.

    `redis_or_url` is the same as for `RedisPacer`. Tokens are not encrypted: anyone who can read them can act for their
    users. So the server needs a password, TLS (`rediss://`), and no policy that evicts keys. All key names begin with
    `prefix`.

    Methods raise TransportError if Redis does not answer, and ConfigurationError if it denies access.
    """

    def __init__(
        self,
        redis_or_url: "redis_asyncio.Redis | str",
        *,
        prefix: str = "socialapi:token:",
        telemetry: "RedisTelemetry | None" = None,
    ) -> None:
        self._server = RedisServer(redis_or_url, "the tokens", telemetry)
        self._prefix = prefix
        self._delete_if = self._server.script("delete_if.lua")

    async def load(self, key: str) -> str | None:
        """Returns the token; None if there is none."""
        found: bytes | str | None = await self._asked("GET", lambda: self._server.redis.get(self._prefix + key))
        return found.decode() if isinstance(found, bytes) else found

    async def store(self, key: str, token: str) -> None:
        """Stores the token, replacing any earlier one."""
        await self._asked("SET", lambda: self._server.redis.set(self._prefix + key, token))

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token unless a newer one has replaced it."""
        await self._asked("EVALSHA delete_if", lambda: self._delete_if(keys=[self._prefix + key], args=[token]))

    @contextlib.asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Holds the lock of the key, which only one task among all processes can hold at a time.

        The lock of a dead holder expires after 30 seconds. Raises ConfigurationError if the lock is not free within 3
        minutes.
        """
        lock = self._server.redis.lock(
            f"{self._prefix}{key}:lock", timeout=LOCK_LEASE_SECONDS, blocking_timeout=LOCK_TIMEOUT_SECONDS
        )
        if not await self._asked("SET", lock.acquire, within_seconds=LOCK_TIMEOUT_SECONDS + REPLY_SECONDS):
            raise ConfigurationError(f"a token is still locked by another process after {LOCK_TIMEOUT_SECONDS:.0f} s")
        renewing = asyncio.get_running_loop().create_task(_renew_lock(self._server, lock))
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            # Not raised, because the caller has its token and the lock expires.
            with contextlib.suppress(*FAILURES):
                await self._server.answer("EVALSHA release", lock.release, within_seconds=REPLY_SECONDS)

    async def _asked(
        self, name: str, ask: Callable[[], Awaitable[Any]], *, within_seconds: float = REPLY_SECONDS
    ) -> Any:
        try:
            return await self._server.answer(name, ask, within_seconds=within_seconds)
        except FAILURES as problem:
            error = self._server.refusal(problem) or self._server.lost(problem)
        raise error  # outside the handler: the library's error may quote the token

    async def aclose(self) -> None:
        """Closes the connection unless it was passed in."""
        await self._server.aclose()


async def _renew_lock(server: RedisServer, lock: "Lock") -> None:
    """Renews a lock until this task is cancelled or the lock is lost."""
    from redis.exceptions import LockError

    while True:
        await asyncio.sleep(LOCK_LEASE_SECONDS / 3)
        try:
            await server.answer("EVALSHA reacquire", lock.reacquire, within_seconds=REPLY_SECONDS)
        except LockError:
            return
        except FAILURES:
            pass  # retried before the lease ends
