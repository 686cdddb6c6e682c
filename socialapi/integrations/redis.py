"""One quota and one set of tokens for many processes, kept in Redis. Needs the extra `[redis]`."""

import asyncio
import collections
import contextlib
import datetime
import importlib.resources
import itertools
import logging
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Literal, Self

import attrs

try:
    import redis.asyncio as redis_asyncio
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
except ImportError:
    raise ImportError("sharing a quota needs redis: pip install 'aiosocialapi[redis]'") from None

from socialapi.config import Config
from socialapi.errors import ConfigurationError, RateLimitTooLong, SocialApiError, TransportError
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, SystemClock, wait_for_event
from socialapi.session.rate_limiter import MAX_WINDOWS, PROBE_SECONDS, LimitStatus, SlidingWindowPacer, Slot
from socialapi.session.token_cache import LOCK_TIMEOUT_SECONDS, cache_key
from socialapi.wire.rate_limit_headers import LimitReading

LEASE_MARGIN_SECONDS: Final = 10.0
"""How much longer than the timeout of a request its place is held, if nobody gives it back. The
request of a process that died may have been executed, so its place is free one window later.
"""
GRACE_SECONDS: Final = 1.0
"""How late a process may take its turn before the others stop waiting for it."""
POLL_SECONDS: Final = 0.05
"""How soon Redis is asked again where a reply decides, which another process may be waiting for."""
MAX_POLL_SECONDS: Final = 30.0
"""How soon Redis is asked again in any case: a wait becomes shorter when others leave the queue."""
REPLY_SECONDS: Final = 5.0
"""How long Redis may take to connect, and to answer."""
RETRY_SECONDS: Final = (0.05, 2.0)
"""The shortest and the longest wait before Redis is asked again after a failure."""
MAX_CONNECTIONS: Final = 16
MAX_PLACES_AT_ONCE: Final = 100
MAX_TOLD_AT_ONCE: Final = 500
MAX_UNTOLD: Final = 10_000
"""How many outcomes are kept while Redis cannot be reached. The lease ends the places of others."""

logger: Final = logging.getLogger("socialapi")

_REFUSALS: Final = (AuthenticationError, NoPermissionError)
_FAILURES: Final = (RedisError, OSError, TimeoutError)


class _Server:
    """A connection to Redis, which is closed here only if it was made here.

    `keeps` says in errors what is kept there.
    """

    def __init__(self, redis_or_url: "redis_asyncio.Redis | str", keeps: str) -> None:
        self._is_own = isinstance(redis_or_url, str)
        self._keeps = keeps
        self.redis: redis_asyncio.Redis = _connected(redis_or_url) if isinstance(redis_or_url, str) else redis_or_url

    def refusal(self, problem: BaseException) -> ConfigurationError | None:
        """Returns the error for a server that does not accept the password or the command; None if
        the problem is another one.
        """
        # While it connects, the library makes another error of it.
        for each in (problem, problem.__cause__):
            if isinstance(each, _REFUSALS):
                says = f"the Redis server that keeps {self._keeps} refuses access: {type(each).__name__}"
                return ConfigurationError(says)
        return None

    def lost(self, problem: BaseException, seconds: float = 0.0) -> TransportError:
        """Returns the error for a server that has failed for `seconds`."""
        # Not the message of the library, which may quote the address with its password.
        given: Mapping[str, Any] = self.redis.connection_pool.connection_kwargs
        duration = f" for {seconds:.0f} s" if seconds >= 1 else ""
        return TransportError(
            f"the Redis server that keeps {self._keeps} did not answer{duration} ({type(problem).__name__}); "
            "the request was not sent",
            str(given.get("host") or given.get("path") or ""),
            port=given.get("port"),
        )

    async def aclose(self) -> None:
        if self._is_own:
            await self.redis.aclose()


def _connected(url: str) -> "redis_asyncio.Redis":
    with contextlib.suppress(ValueError):  # its text may quote the address
        pool = redis_asyncio.BlockingConnectionPool.from_url(
            url,
            max_connections=MAX_CONNECTIONS,
            timeout=REPLY_SECONDS,
            socket_timeout=REPLY_SECONDS,
            socket_connect_timeout=REPLY_SECONDS,
            # Failed calls are repeated by the callers here, who know for how long that makes sense.
            retry=Retry(NoBackoff(), 0),
        )
        return redis_asyncio.Redis.from_pool(pool)
    raise ConfigurationError("the address of Redis must be of the form redis://host:port/0, rediss://… or unix://…")


class _WindowScript:
    """The script of shared windows as one process calls it, and the tasks that do."""

    def __init__(self, server: _Server, config: Config, clock: Clock, namespace: str) -> None:
        self.server = server
        self.config = config
        self.clock = clock
        self.worker = secrets.token_hex(8)
        self._namespace = namespace
        text = importlib.resources.files(__package__).joinpath("shared_window.lua").read_text("utf-8")
        self._script = server.redis.register_script(text)
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_closed = False

    def patience_seconds(self, *, bulk: bool) -> float:
        """Returns for how long callers wait for a server that does not answer."""
        has_fallback = not bulk and self.config.redis_fallback_share is not None
        return 0.0 if has_fallback else self.config.max_elapsed_seconds

    async def call(
        self,
        key: str,
        limit: RateLimit | None,
        epoch: str,
        wanted: Mapping[bool, int],
        first_place: int,
        outcomes: Iterable["_Outcome"],
        *,
        probe_seconds: float,
    ) -> "_Answer":
        """Tells outcomes and asks for places: interactive ones from `first_place` on, then those of
        jobs. The first answer of an unknown limit is waited for `probe_seconds` after the request.

        Raises what the library raises.
        """
        now, config = self.clock.monotonic(), self.config
        values = await self._script(
            keys=[f"socialapi:{{{self._namespace}:{key}}}:{name}" for name in _KEYS],
            args=[
                *(epoch, secrets.token_hex(8), self.worker, config.timeout_seconds + LEASE_MARGIN_SECONDS),
                *((limit.requests, limit.window_seconds) if limit else ("", "")),
                *(config.interactive_reserve, GRACE_SECONDS, POLL_SECONDS, probe_seconds),
                *(wanted[False], first_place, wanted[True], first_place + wanted[False]),
                *itertools.chain.from_iterable(each.arguments(self.worker, now) for each in outcomes),
            ],
        )
        return _Answer.of(values)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in a task that ends with this at the latest."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def aclose(self) -> None:
        """Gives the tasks a moment to tell what Redis does not know yet."""
        self.is_closed = True
        tasks = list(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=REPLY_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.server.aclose()


_KEYS: Final = ("state", "flying", "counted", "promises", "interactive", "bulk")


@attrs.frozen
class _Outcome:
    """What became of the request of a place at a monotonic time.

    `flying` and `former` tell Redis of requests that are on their way, or were answered, before its
    state was lost.
    """

    place: int
    kind: Literal["replied", "unsent", "flying", "former"]
    at: float
    reading: LimitReading | None = None
    refused_for_seconds: float | None = None

    def arguments(self, worker: str, now: float) -> tuple[str, ...]:
        """Returns the arguments of the script."""
        told = self.reading or LimitReading(None, None, None)
        numbers = (told.limit, told.remaining, told.resets_in_seconds, self.refused_for_seconds)
        age_seconds = max(0.0, now - self.at)
        return (f"{worker}:{self.place}", self.kind, f"{age_seconds:.6f}", *map(_text, numbers))


def _text(number: float | None) -> str:
    return "" if number is None else repr(number)


def _number(text: bytes | str) -> float | None:
    return float(text) if text else None


@attrs.frozen
class _Answer:
    """What the script returned: its values are documented there."""

    epoch: str
    granted: dict[bool, int]
    wait_seconds: dict[bool, float]
    limit: float | None
    remaining: float | None
    in_flight: int
    resets_in_seconds: float | None

    @classmethod
    def of(cls, values: list[Any]) -> "_Answer":
        epoch, interactive, interactive_seconds, bulk, bulk_seconds, limit, remaining, in_flight, resets = values
        return cls(
            epoch.decode() if isinstance(epoch, bytes) else epoch,
            {False: int(interactive), True: int(bulk)},
            {False: float(interactive_seconds), True: float(bulk_seconds)},
            _number(limit),
            _number(remaining),
            int(in_flight),
            _number(resets),
        )

    def status(self) -> LimitStatus:
        limit, remaining = (None if each is None else int(each) for each in (self.limit, self.remaining))
        return LimitStatus(limit, remaining, self.in_flight, self.resets_in_seconds)


@attrs.define(eq=False)
class _Caller:
    """A caller that waits for a place until a monotonic time."""

    place: "asyncio.Future[int]"
    until: float
    is_last_attempt: bool = False

    def refuse(self, problem: SocialApiError) -> None:
        if not self.place.done():
            self.place.set_exception(problem)


@attrs.frozen(eq=False)
class _Place:
    """The right to send one request: a `Slot`."""

    window: "_SharedWindow"
    number: int

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        self.window.settle(self.number, "replied", reading, refused_for_seconds)

    def unsent(self) -> None:
        self.window.settle(self.number, "unsent")


class _SharedWindow:
    """The part of this process in one window: who waits for places, and what Redis is to be told.

    One call to Redis at a time serves all of them, so callers that come together share it.
    """

    def __init__(self, script: _WindowScript, key: str, limit: RateLimit | None) -> None:
        self._script = script
        self._clock = script.clock
        self._key = key
        self._limit = limit
        self._callers = {False: collections.deque[_Caller](), True: collections.deque[_Caller]()}
        self._untold = collections.deque[_Outcome](maxlen=MAX_UNTOLD)
        self._flying: dict[int, float] = {}
        self._answered = collections.deque[tuple[int, float]](maxlen=MAX_UNTOLD)
        self._told: list[_Outcome] = []
        self._wanted = {False: 0, True: 0}
        self._next_place = 0
        self._epoch = ""
        self._status = LimitStatus(limit.requests if limit else None, None, 0, None)
        self._status_at = -math.inf
        self._changed = asyncio.Event()
        self._serving = False
        self._failing_since: float | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost if this were forgotten."""
        return not (self._serving or self._flying)

    @property
    def is_failing(self) -> bool:
        """Whether Redis did not answer last time, and is being asked again."""
        return self._serving and self._failing_since is not None

    async def acquire(self, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a place, and raises as `RedisPacer.acquire` does."""
        if self._script.is_closed:
            raise RuntimeError("this pacer is closed")
        future = asyncio.get_running_loop().create_future()
        caller = _Caller(future, self._clock.monotonic() + max_wait_seconds)
        self._callers[bulk].append(caller)
        self._wake()
        try:
            number = await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.settle(future.result(), "unsent")
            raise
        finally:
            if caller in self._callers[bulk]:
                self._callers[bulk].remove(caller)
        return _Place(self, number)

    def settle(
        self,
        place: int,
        kind: Literal["replied", "unsent"],
        reading: LimitReading | None = None,
        refused_for_seconds: float | None = None,
    ) -> None:
        """Has Redis told what became of a request."""
        now = self._clock.monotonic()
        self._flying.pop(place, None)
        if kind == "replied" and self._limit is not None:
            self._answered.append((place, now))
        if reading is not None and reading.limit and self._limit is not None:
            reading = attrs.evolve(reading, limit=self._limit.corrected(reading.limit))
        self._untold.append(_Outcome(place, kind, now, reading, refused_for_seconds))
        self._wake()

    def settle_unasked(self, refused_for_seconds: float | None) -> None:
        """Has Redis told of a request that went out without its leave. A report of the service is
        left out: it may be old when Redis is back.
        """
        self._next_place += 1
        self.settle(self._next_place - 1, "replied", None, refused_for_seconds)

    def status(self) -> LimitStatus:
        """Returns the state of the limit, as Redis told it last."""
        resets = self._status.resets_in_seconds
        passed = self._clock.monotonic() - self._status_at
        return attrs.evolve(self._status, resets_in_seconds=resets - passed if resets and resets > passed else None)

    def requests_per_second(self) -> float | None:
        """Returns the rate that the limit allows all processes together."""
        if self._limit is None or self._status.limit is None:
            return None
        return self._status.limit / self._limit.window_seconds

    # Talking to Redis ------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._changed.set()
        # What becomes of a request after the end is not told: the lease ends its place.
        if not (self._serving or self._script.is_closed):
            self._serving = True
            self._script.spawn(self._serve())

    async def _serve(self) -> None:
        """Talks to Redis as long as somebody waits, or there is something to tell."""
        try:
            while self._is_waited_for or self._untold:
                self._changed.clear()
                try:
                    answer = await self._ask()
                except _FAILURES as problem:
                    if not await self._outlast(problem):
                        break
                else:
                    self._failing_since = None
                    seconds = self._take_in(answer)
                    if seconds > 0 and self._is_waited_for:
                        await wait_for_event(self._clock, self._changed, seconds)
        finally:
            self._serving = False
            self.close()

    @property
    def _is_waited_for(self) -> bool:
        return any(self._callers.values())

    def close(self) -> None:
        """Refuses whoever waits. Redis is still told what it does not know."""
        self._refuse_all(TransportError("the pacer was closed while the call waited; the request was not sent"))
        self._changed.set()

    def _refuse_all(self, problem: SocialApiError) -> None:
        for callers in self._callers.values():
            while callers:
                callers.popleft().refuse(problem)

    async def _ask(self) -> _Answer:
        self._told = list(itertools.islice(self._untold, MAX_TOLD_AT_ONCE))
        self._wanted = {lane: min(len(callers), MAX_PLACES_AT_ONCE) for lane, callers in self._callers.items()}
        is_last_attempt = any(each.is_last_attempt for callers in self._callers.values() for each in callers)
        return await self._script.call(
            self._key,
            self._limit,
            self._epoch,
            self._wanted,
            self._next_place,
            self._told,
            probe_seconds=0.0 if is_last_attempt else PROBE_SECONDS,
        )

    def _take_in(self, answer: _Answer) -> float:
        """Hands out places, and returns how many seconds to wait before Redis is asked again."""
        if self._epoch and answer.epoch != self._epoch:
            self._tell_again()
            self._epoch = answer.epoch
            return 0.0
        now = self._clock.monotonic()
        self._epoch, self._status, self._status_at = answer.epoch, answer.status(), now
        for told in self._told:
            if self._untold and self._untold[0] is told:
                self._untold.popleft()
        window_seconds = self._limit.window_seconds if self._limit else 0.0
        while self._answered and self._answered[0][1] + window_seconds <= now:
            self._answered.popleft()
        first = self._next_place
        self._next_place += self._wanted[False] + self._wanted[True]
        self._hand_out(range(first, first + answer.granted[False]), bulk=False)
        first += self._wanted[False]
        self._hand_out(range(first, first + answer.granted[True]), bulk=True)
        waits = [self._refuse_too_long(seconds, now, bulk=bulk) for bulk, seconds in answer.wait_seconds.items()]
        return min(MAX_POLL_SECONDS, *waits)

    def _tell_again(self) -> None:
        """Redis has lost the window: it is told of what this process has sent since one began."""
        logger.warning("Redis has lost the rate limit of %s: it is told again what was sent", self._key)
        answered = [_Outcome(place, "former", at) for place, at in self._answered]
        flying = [_Outcome(place, "flying", at) for place, at in self._flying.items()]
        self._untold.extendleft(reversed(answered + flying))

    def _hand_out(self, places: range, *, bulk: bool) -> None:
        now = self._clock.monotonic()
        callers = self._callers[bulk]
        for place in places:
            self._flying[place] = now
            while callers and callers[0].place.done():
                callers.popleft()
            if callers:
                callers.popleft().place.set_result(place)
            else:
                self.settle(place, "unsent")  # the caller was cancelled

    def _refuse_too_long(self, wait_seconds: float, now: float, *, bulk: bool) -> float:
        """Refuses the callers that may not wait so long, and returns when to ask for the others."""
        callers = self._callers[bulk]
        known_seconds = wait_seconds if wait_seconds > POLL_SECONDS else 0.0
        for position, each in enumerate(list(callers)):
            seconds = known_seconds + self._further_windows_seconds(position)
            if now >= each.until and not each.is_last_attempt:
                each.is_last_attempt = True
            elif now + seconds > each.until or now >= each.until:
                callers.remove(each)
                resets_at = datetime.datetime.fromtimestamp(self._clock.time() + seconds, datetime.UTC)
                each.refuse(RateLimitTooLong(self._key, seconds, resets_at))
        if not callers:
            return math.inf
        return max(0.0, min(wait_seconds, *(caller.until - now for caller in callers)))

    def _further_windows_seconds(self, position: int) -> float:
        """Returns how much longer than the first a caller waits at least, because those before it
        fill whole windows.
        """
        if self._limit is None or not self._status.limit:
            return 0.0
        return position // self._status.limit * self._limit.window_seconds

    async def _outlast(self, problem: BaseException) -> bool:
        """Waits before Redis is asked again. Returns False if nobody waits for it any more."""
        if (refusal := self._script.server.refusal(problem)) is not None:
            self._refuse_all(refusal)
            return False
        now = self._clock.monotonic()
        if self._failing_since is None:
            self._failing_since = now
            logger.warning("Redis does not answer (%s): calls wait for it", type(problem).__name__)
        seconds = now - self._failing_since
        for bulk, callers in self._callers.items():
            for each in list(callers):
                if seconds >= self._script.patience_seconds(bulk=bulk) or now >= each.until:
                    callers.remove(each)
                    each.refuse(self._script.server.lost(problem, seconds))
        if not self._is_waited_for and seconds >= self._script.config.max_elapsed_seconds:
            return False
        shortest, longest = RETRY_SECONDS
        await self._clock.sleep(min(longest, max(shortest, seconds / 2)))
        return True


@attrs.frozen(eq=False)
class _FallbackPlace:
    """The right to send one request without leave of Redis: a `Slot` of this process's share."""

    slot: Slot
    window: _SharedWindow
    share: float

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        if reading is not None:
            limit, remaining = (
                None if each is None else int(each * self.share) for each in (reading.limit, reading.remaining)
            )
            reading = LimitReading(limit, remaining, reading.resets_in_seconds)
        self.slot.replied(reading, refused_for_seconds=refused_for_seconds)
        self.window.settle_unasked(refused_for_seconds)

    def unsent(self) -> None:
        self.slot.unsent()


class RedisPacer:
    """A pacer whose windows are kept in Redis, so that all processes share one quota.

    `redis_or_url` is a `redis.asyncio.Redis` of your own, which is left open, or an address like
    `redis://localhost:6379/0`. Processes share a window if they name the same server, hosts and
    `namespace`: give each app of yours another one, because the service counts apps apart.

        async with RedisPacer("redis://localhost:6379/0", config) as pacer:
            async with Client(config, credentials, pacer=pacer) as client:
                …

    Jobs take the places of several requests at once, and get them in turn with other processes.
    While Redis does not answer, callers wait, for at most `Config.max_elapsed_seconds`; interactive
    calls go on at once if `Config.redis_fallback_share` is set. A process that dies gives its
    places back one window after the timeout of its last requests.

    Close it after the clients that use it. Raises ConfigurationError for an address of another
    form.
    """

    def __init__(
        self,
        redis_or_url: "redis_asyncio.Redis | str",
        config: Config | None = None,
        *,
        namespace: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._config = config or Config()
        self._clock = clock or SystemClock()
        hosts = (self._config.base_url, self._config.ads_url, self._config.ads_sandbox_url)
        self._script = _WindowScript(
            _Server(redis_or_url, "the rate limits"), self._config, self._clock, cache_key(*hosts, namespace)[:12]
        )
        # The share is of the configured limit, which must not be put in its place again.
        self._fallback = SlidingWindowPacer(attrs.evolve(self._config, rate_limits={}), self._clock)
        self._windows: dict[str, _SharedWindow] = {}

    def _window(self, key: str, documented: RateLimit | None) -> _SharedWindow:
        window = self._windows.pop(key, None)
        if window is None:
            if len(self._windows) >= MAX_WINDOWS:
                unused = next((key for key, each in self._windows.items() if each.idle), None)
                self._windows.pop(unused or "", None)
            limit = documented.configured(self._config.rate_limits) if documented else None
            window = _SharedWindow(self._script, key, limit)
        self._windows[key] = window  # at the end, so that the order is that of use
        return window

    async def acquire(self, key: str, documented: RateLimit | None, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a place in the window of `key`.

        Raises RateLimitTooLong if the wait is known to exceed `max_wait_seconds` or when that time
        is up, TransportError if Redis does not answer for so long or for
        `Config.max_elapsed_seconds`, and ConfigurationError if it refuses access.
        """
        window = self._window(key, documented)
        share = None if bulk else self._config.redis_fallback_share
        if share is None:
            return await window.acquire(bulk=bulk, max_wait_seconds=max_wait_seconds)
        if not window.is_failing:
            with contextlib.suppress(TransportError):
                return await window.acquire(bulk=bulk, max_wait_seconds=max_wait_seconds)
        limit = documented and documented.configured(self._config.rate_limits)
        limit = limit and attrs.evolve(limit, requests=max(1, int(limit.requests * share)))
        slot = await self._fallback.acquire(key, limit, bulk=False, max_wait_seconds=max_wait_seconds)
        return _FallbackPlace(slot, window, share)

    def limits(self) -> Mapping[str, LimitStatus]:
        """Returns the state of each limit that this process has used, as Redis told it last."""
        return {key: window.status() for key, window in self._windows.items()}

    def requests_per_second(self, key: str, documented: RateLimit | None) -> float | None:
        """Returns the rate that the limit allows all processes together, or None while unknown."""
        return self._window(key, documented).requests_per_second()

    async def aclose(self) -> None:
        """Tells Redis what it does not know yet, and closes a connection of its own."""
        for window in self._windows.values():
            window.close()
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
    """Keeps tokens in Redis, for all processes that name the same server.

    `redis_or_url` is as for `RedisPacer`. Tokens are stored as they are: whoever may read the
    server's data may act for their users, so let it have a password and TLS (`rediss://`), and no
    policy that evicts keys. `prefix` begins the names of its keys.

    Methods raise TransportError if Redis does not answer, and ConfigurationError if it refuses
    access.
    """

    def __init__(self, redis_or_url: "redis_asyncio.Redis | str", *, prefix: str = "socialapi:token:") -> None:
        self._server = _Server(redis_or_url, "the tokens")
        self._prefix = prefix
        self._delete_if = self._server.redis.register_script(
            "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end"
        )

    async def load(self, key: str) -> str | None:
        """Returns the token, or None."""
        found: bytes | str | None = await self._asked(self._server.redis.get(self._prefix + key))
        return found.decode() if isinstance(found, bytes) else found

    async def store(self, key: str, token: str) -> None:
        """Stores the token and replaces any other."""
        await self._asked(self._server.redis.set(self._prefix + key, token))

    async def discard(self, key: str, token: str) -> None:
        """Deletes the token if it is still stored; a newer one stays."""
        await self._asked(self._delete_if(keys=[self._prefix + key], args=[token]))

    @contextlib.asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Holds the lock of the key: one holder at a time among all processes.

        A holder that dies lets go after 3 minutes. Raises ConfigurationError if others hold it for
        so long.
        """
        lock = self._server.redis.lock(
            f"{self._prefix}{key}:lock", timeout=LOCK_TIMEOUT_SECONDS, blocking_timeout=LOCK_TIMEOUT_SECONDS
        )
        if not await self._asked(lock.acquire()):
            raise ConfigurationError(f"a token stays locked by another process for {LOCK_TIMEOUT_SECONDS:.0f} s")
        try:
            yield
        finally:
            # Not an error of the caller, who has its token: the lock ends by itself.
            with contextlib.suppress(*_FAILURES):
                await lock.release()

    async def _asked(self, asking: Awaitable[Any]) -> Any:
        try:
            return await asking
        except _FAILURES as problem:
            error = self._server.refusal(problem) or self._server.lost(problem)
        raise error  # outside the handlers: the library's error may quote the token

    async def aclose(self) -> None:
        """Closes a connection of its own."""
        await self._server.aclose()

    def __repr__(self) -> str:
        return "RedisTokenCache()"


FENCE_KEPT_SECONDS: Final = 7 * 86_400
"""How long Redis remembers a fence after the last request that asked for it."""
FENCE_MARGIN_SECONDS: Final = 1.0
"""How much longer than the timeout of a request a successor waits: it begins a moment after the
fence was asked.
"""

_WHY_SUPERSEDED: Final[Mapping[str, str]] = {
    "run": "another run of the job has begun",
    "attempt": "another attempt at this part of the job has begun",
    "lost": "Redis does not know this attempt any more",
}


class Superseded(SocialApiError):
    """Another process does this work now. This one has sent nothing since it knew."""


class RedisFence:
    """Lets one attempt at a part of a job send, the last one that began, among all processes.

    A job is run again and again, each run has parts, and each part is attempted once or several
    times. Runs have names, and attempts at a part of a run have numbers, of which the highest
    prevails. `redis_or_url` and `namespace` are as for `RedisPacer`.

        seconds = await fence.take()    # to wait before the first request
        await fence.check()             # before each request
        await fence.release()           # when no request is in flight any more

    Methods raise Superseded when another run or attempt has begun, TransportError if Redis does
    not answer for `Config.max_elapsed_seconds`, and ConfigurationError if it refuses access.
    """

    def __init__(
        self,
        redis_or_url: "redis_asyncio.Redis | str",
        config: Config,
        *,
        job: str,
        run: str,
        part: int,
        attempt: int,
        namespace: str = "",
        clock: Clock | None = None,
    ) -> None:
        self._server = _Server(redis_or_url, "the fences of jobs")
        self._config = config
        self._clock = clock or SystemClock()
        hosts = (config.base_url, config.ads_url, config.ads_sandbox_url)
        key = f"socialapi:{{{cache_key(*hosts, namespace, job)[:16]}}}"
        self._keys = (f"{key}:fence", f"{key}:earlier")
        self._claim = (run, part, attempt)
        text = importlib.resources.files(__package__).joinpath("fence.lua").read_text("utf-8")
        self._script = self._server.redis.register_script(text)

    async def take(self, *, is_repeated: bool = False) -> float:
        """Supersedes every other attempt at this part, and every other run of the job.

        Returns how many seconds to wait before the first request, so that the last one of a
        superseded attempt has ended. `is_repeated` says that there was an earlier attempt for sure.
        """
        return await self._ask("take", is_repeated=is_repeated)

    async def check(self) -> None:
        """Returns if this attempt may send a request now."""
        await self._ask("check")

    async def release(self) -> None:
        """Says that this attempt has ended in order, so that its successor need not wait. One that
        was superseded has nothing to release.
        """
        with contextlib.suppress(Superseded):
            await self._ask("release")

    async def _ask(self, verb: str, *, is_repeated: bool = False) -> float:
        request_seconds = self._config.timeout_seconds + FENCE_MARGIN_SECONDS
        arguments = (verb, *self._claim, request_seconds, int(is_repeated), FENCE_KEPT_SECONDS)
        state, seconds = await self._answer(arguments)
        if (why := _WHY_SUPERSEDED.get(state)) is not None:
            raise Superseded(f"{why}: this one sends nothing more")
        return float(seconds)

    async def _answer(self, arguments: tuple[str | float, ...]) -> tuple[str, str]:
        began = self._clock.monotonic()
        shortest, longest = RETRY_SECONDS
        error: SocialApiError | None = None
        while error is None:
            try:
                values = await self._script(keys=self._keys, args=arguments)
            except _FAILURES as problem:
                seconds = self._clock.monotonic() - began
                error = self._server.refusal(problem)
                if error is None and seconds >= self._config.max_elapsed_seconds:
                    error = self._server.lost(problem, seconds)
            else:
                state, wait = (each.decode() if isinstance(each, bytes) else each for each in values)
                return state, wait
            if error is None:
                await self._clock.sleep(min(longest, max(shortest, seconds / 2)))
        raise error  # outside the handler: the library's error may quote the address

    async def aclose(self) -> None:
        """Closes a connection of its own."""
        await self._server.aclose()

    def __repr__(self) -> str:
        return "RedisFence()"
