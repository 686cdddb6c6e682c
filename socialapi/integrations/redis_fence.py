"""A fence in Redis: of several attempts at the same part of a job, only the latest may send requests."""

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
"""How long Redis keeps a fence after its last use."""
FENCE_MARGIN_SECONDS: Final = 1.0
"""How much longer than the request timeout a successor waits, because a request starts a moment after the check."""

_WHY_SUPERSEDED: Final[Mapping[str, str]] = {
    "run": "another run of the job has started",
    "attempt": "another attempt at this part of the job has started",
    "lost": "Redis no longer knows this attempt",
}


class Superseded(SocialApiError):
    """Raised if another process has taken over this part of the job. This process sends nothing more."""


class RedisFence:
    """A fence across processes that lets only the latest attempt at a part of a job send requests.

    A job runs repeatedly, every run has parts, and every part is attempted once or several times. Runs have names.
    Attempts at a part have numbers, and the highest number wins. `redis_or_url` and `namespace` are the same as for
    `RedisPacer`.

        seconds = await fence.take()    # to wait before the first request
        await fence.check()             # before each request
        await fence.release()           # once no request is in flight

    Methods raise Superseded if another run or attempt has started, TransportError if Redis does not answer within
    `Config.max_elapsed_seconds`, and ConfigurationError if it denies access.
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

        Returns how many seconds to wait before the first request, until the last request of a superseded attempt has
        ended. Set `is_repeated` if there has certainly been an earlier attempt.
        """
        return await self._ask("take", is_repeated=is_repeated)

    async def check(self) -> None:
        """Raises Superseded unless this attempt may send a request."""
        await self._ask("check")

    async def release(self) -> None:
        """Records that this attempt has ended normally, so that a successor does not have to wait."""
        with contextlib.suppress(Superseded):
            await self._ask("release")

    async def _ask(self, verb: str, *, is_repeated: bool = False) -> float:
        request_seconds = self._config.timeout_seconds + FENCE_MARGIN_SECONDS
        arguments = (verb, *self._claim, request_seconds, int(is_repeated), FENCE_KEPT_SECONDS)
        state, seconds = await self._answer(arguments)
        if (why := _WHY_SUPERSEDED.get(state)) is not None:
            raise Superseded(f"{why}, so this one sends no more requests")
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
        raise error  # outside the handler, because the library's error may quote the URL

    async def aclose(self) -> None:
        """Closes the connection unless it was passed in."""
        await self._server.aclose()
