"""A fence in Redis: of several attempts at the same work, the last one that began may send."""

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from socialapi.config import Config
from socialapi.errors import SocialApiError
from socialapi.integrations.redis_server import FAILURES, RedisServer, retry_wait_seconds
from socialapi.session.clock import Clock, SystemClock
from socialapi.session.token_cache import cache_key

if TYPE_CHECKING:
    import redis.asyncio as redis_asyncio

    from socialapi.integrations.telemetry import RedisTelemetry

FENCE_KEPT_SECONDS: Final = 7 * 86_400
"""How long Redis remembers a fence after the last request that asked for it."""
FENCE_MARGIN_SECONDS: Final = 1.0
"""How much longer than the timeout of a request a successor waits: it begins a moment after the fence was asked."""

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
        telemetry: "RedisTelemetry | None" = None,
    ) -> None:
        self._server = RedisServer(redis_or_url, "the fences of jobs", telemetry)
        self._config = config
        self._clock = clock or SystemClock()
        hosts = (config.base_url, config.ads_url, config.ads_sandbox_url)
        key = f"socialapi:{{{cache_key(*hosts, namespace, job)[:16]}}}"
        self._keys = (f"{key}:fence", f"{key}:earlier")
        self._claim = (run, part, attempt)
        self._script = self._server.script("fence.lua")

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
        error: SocialApiError | None = None
        while error is None:
            try:
                values = await self._server.answer(
                    "EVALSHA fence", lambda: self._script(keys=self._keys, args=arguments)
                )
            except FAILURES as problem:
                now = self._clock.monotonic()
                seconds = now - began
                error = self._server.refusal(problem)
                if error is None:
                    self._server.note_failure(problem, now)
                    if seconds >= self._config.max_elapsed_seconds:
                        error = self._server.lost(problem, seconds)
            else:
                self._server.note_answer(self._clock.monotonic())
                state, wait = (each.decode() if isinstance(each, bytes) else each for each in values)
                return state, wait
            if error is None:
                await self._clock.sleep(retry_wait_seconds(seconds))
        raise error  # outside the handler: the library's error may quote the address

    async def aclose(self) -> None:
        """Closes a connection of its own."""
        await self._server.aclose()

    def __repr__(self) -> str:
        return "RedisFence()"
