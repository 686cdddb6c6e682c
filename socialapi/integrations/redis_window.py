"""The client side of rate-limit windows that processes share through Redis."""

import asyncio
import collections
import copy
import datetime
import itertools
import math
import os
import secrets
from collections.abc import Coroutine, Mapping
from typing import Any, Final, Literal

import attrs

from socialapi.config import Config
from socialapi.errors import RateLimitTooLong, TransportError
from socialapi.integrations.redis_server import FAILURES, REPLY_SECONDS, RedisServer, StateLost, retry_wait_seconds
from socialapi.routes.route import RateLimit
from socialapi.session.clock import Clock, wait_for_event
from socialapi.session.rate_limiter import PROBE_SECONDS, LimitStatus, SlidingWindowPacer, Slot
from socialapi.wire.rate_limit_headers import LimitReading

LEASE_MARGIN_SECONDS: Final = 10.0
"""How much longer than the request's timeout a slot's lease lasts. If a process dies, the service may still have
executed its request, so the slot becomes free one window after the lease ends.
"""
RENEWED_AFTER: Final = 1 / 3
"""The fraction of a lease after which a long request renews it."""
GRACE_SECONDS: Final = 1.0
"""How late a process may take its turn before it loses its place in the queue."""
POLL_SECONDS: Final = 0.05
"""The interval between calls to Redis while a slot can become free because another process receives a response."""
MAX_POLL_SECONDS: Final = 30.0
"""The longest time between two calls to Redis while callers wait. A call can shorten the wait, because other processes
may have left the queue.
"""
LEAST_REPLY_SECONDS: Final = 0.25
"""The shortest timeout for a reply from Redis, even if a caller may wait less."""
MAX_PLACES_AT_ONCE: Final = 100
MAX_REPORTED_AT_ONCE: Final = 500
MAX_UNREPORTED: Final = 10_000
"""The maximum number of outcomes kept while Redis is unavailable. The slots of dropped outcomes are released when their
leases expire.
"""
CLOSING_SECONDS: Final = 2.0
"""How long a closing pacer may take to report its last outcomes to Redis."""
LONGEST_WAIT_SECONDS: Final = 366 * 86_400.0

_KEYS: Final = ("state", "flying", "counted", "promises", "interactive", "bulk")
_LANES: Final = (False, True)
"""Interactive calls and bulk calls, in the order of the script's arguments."""


@attrs.frozen
class Outcome:
    """The outcome of the request in a slot, at a monotonic time.

    The kind `unasked` is a request without a slot, sent while Redis was unavailable. `flying` renews the lease
    of a request in flight. `former` is a request that was answered before the state was lost.
    """

    place: str
    kind: Literal["replied", "unsent", "unasked", "flying", "former"]
    at: float
    reading: LimitReading | None = None
    refused_for_seconds: float | None = None

    def arguments(self, worker: str, now: float) -> tuple[str, ...]:
        """Returns the script's arguments for this outcome."""
        reading = self.reading or LimitReading(None, None, None)
        numbers = (reading.limit, reading.remaining, reading.resets_in_seconds, self.refused_for_seconds)
        age_seconds = max(0.0, now - self.at)
        return (
            f"{worker}:{self.place}",
            self.kind,
            f"{age_seconds:.6f}",
            *("" if each is None else repr(each) for each in numbers),
        )


def _number(text: bytes | str) -> float | None:
    return float(text) if text else None


@attrs.frozen
class Question:
    """A call of the script: how many slots to take, the number of the first slot, and the outcomes to report.

    `epoch` and `calls` come from the last answer. They show whether the state was lost or replaced by an older one.
    With `is_last_attempt`, a slot is granted without waiting for the first response, even if the limit is unknown.
    """

    epoch: str
    calls: int
    wanted: Mapping[bool, int]
    first_place: int
    outcomes: tuple[Outcome, ...]
    is_last_attempt: bool = False

    def arguments(
        self, worker: str, limit: RateLimit | None, *, lease_seconds: float, reserve_share: float, now: float
    ) -> list[str | float]:
        """Returns the script's arguments for a worker and a monotonic time."""
        return [
            *(self.epoch, self.calls, secrets.token_hex(8), worker, lease_seconds),
            *((limit.requests, limit.window_seconds) if limit else ("", "")),
            *(reserve_share, GRACE_SECONDS, POLL_SECONDS, PROBE_SECONDS, int(self.is_last_attempt)),
            *(self.wanted[False], self.first_place, self.wanted[True], self.first_place + self.wanted[False]),
            *itertools.chain.from_iterable(each.arguments(worker, now) for each in self.outcomes),
        ]


@attrs.frozen
class Answer:
    """The result of the script, which documents the values."""

    epoch: str
    calls: int
    granted: dict[bool, int]
    wait_seconds: dict[bool, float]
    limit: float | None
    remaining: float | None
    in_flight: int
    resets_in_seconds: float | None

    @classmethod
    def of(cls, values: list[Any]) -> "Answer":
        """Returns the answer with its values converted to their types."""
        epoch, calls, interactive, interactive_seconds, bulk, bulk_seconds, limit, remaining, flying, resets = values
        return cls(
            epoch.decode() if isinstance(epoch, bytes) else epoch,
            int(calls),
            {False: int(interactive), True: int(bulk)},
            {False: float(interactive_seconds), True: float(bulk_seconds)},
            _number(limit),
            _number(remaining),
            int(flying),
            _number(resets),
        )

    def status(self) -> LimitStatus:
        """Returns the state of the limit."""
        limit, remaining = (None if each is None else int(each) for each in (self.limit, self.remaining))
        return LimitStatus(limit, remaining, self.in_flight, self.resets_in_seconds)


class WindowScript:
    """The script for shared windows, and the tasks of this process that call it."""

    def __init__(self, server: RedisServer, config: Config, clock: Clock, namespace: str) -> None:
        self.server = server
        self.config = config
        self.clock = clock
        self.lease_seconds: float = config.timeout_seconds + LEASE_MARGIN_SECONDS
        self.closed: asyncio.Event = asyncio.Event()
        self.first_place = 0
        """The number of the first slot of a new window. Redis may still have the slots of an earlier window with the
        same key.
        """
        self._namespace = namespace
        self._token = secrets.token_hex(6)
        self._script = server.script("shared_window.lua")
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def worker(self) -> str:
        """The name of this process. It includes the process id, because a forked process must not hold the same slots."""
        return f"{self._token}-{os.getpid():x}"

    async def ask(self, key: str, limit: RateLimit | None, question: Question, *, within_seconds: float) -> Answer:
        """Returns the script's answer. Raises TimeoutError and the library's exceptions."""
        arguments = question.arguments(
            self.worker,
            limit,
            lease_seconds=self.lease_seconds,
            reserve_share=self.config.interactive_reserve,
            now=self.clock.monotonic(),
        )
        keys = [f"socialapi:{{{self._namespace}:{key}}}:{name}" for name in _KEYS]

        async def ask() -> Answer:
            return Answer.of(await self._script(keys=keys, args=arguments))

        return await self.server.answer("EVALSHA shared_window", ask, within_seconds=within_seconds)

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Starts a task that ends when this object is closed, at the latest."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """Gives the tasks a short time to report the remaining outcomes to Redis."""
        self.closed.set()
        tasks = list(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.server.aclose()


@attrs.define(eq=False)
class _Caller:
    """A caller that waits for a slot until a monotonic time."""

    place: "asyncio.Future[int]"
    since: float
    until: float
    away_seconds: float = 0.0
    """How long Redis was unavailable during the wait."""
    is_last_attempt: bool = False

    def refuse(self, problem: BaseException) -> None:
        if not self.place.done():
            self.place.set_exception(problem)


@attrs.frozen(eq=False)
class _Place:
    """A `Slot`: the right to send one request."""

    window: "SharedWindow"
    number: int

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        self.window.settle(self.number, "replied", reading, refused_for_seconds)

    def unsent(self) -> None:
        self.window.settle(self.number, "unsent")


class SharedWindow:
    """One window in this process: the callers that wait for slots, and the outcomes to report to Redis.

    One call to Redis is made at a time, and serves all waiting callers.
    """

    def __init__(self, script: WindowScript, key: str, limit: RateLimit | None) -> None:
        self._script = script
        self._clock = script.clock
        self._key = key
        self._limit = limit
        self._callers = {lane: collections.deque[_Caller]() for lane in _LANES}
        self._is_in_line = dict.fromkeys(_LANES, False)
        self._unreported = collections.deque[Outcome](maxlen=MAX_UNREPORTED)
        self._flying: dict[int, float] = {}  # maps each slot to the time at which its lease began
        self._answered = collections.deque[tuple[str, float]]()
        self._next_place = script.first_place
        self._unasked = itertools.count()
        self._wanted_last = dict.fromkeys(_LANES, 0)
        self._epoch, self._calls = "", 0
        self._reported_again: int | None = None  # the number of requests to report again after Redis lost the window
        self._status = LimitStatus(limit.requests if limit else None, None, 0, None)
        self._status_at = -math.inf
        self._changed = asyncio.Event()
        self._is_serving = False
        self.is_failing: bool = False
        """Whether the last call to Redis failed."""
        # After giving up, only the next caller retries Redis. Until then, slots are released when their leases expire.
        self._has_given_up = False
        self._failing_since: float | None = None
        self._fallback: SlidingWindowPacer | None = None

    # For the pacer -----------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether this window can be dropped without losing anything."""
        self._forget_answered()
        return not (self._is_serving or self._flying or self._unreported or self._answered)

    async def acquire(self, *, bulk: bool, max_wait_seconds: float) -> Slot:
        """Waits for a slot, and raises the errors of `RedisPacer.acquire`."""
        if self._script.closed.is_set():
            raise RuntimeError("this pacer is closed")
        future, now = asyncio.get_running_loop().create_future(), self._clock.monotonic()
        caller = _Caller(future, now, now + max_wait_seconds)
        self._callers[bulk].append(caller)
        self.wake()
        try:
            return _Place(self, await future)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.settle(future.result(), "unsent")
            self.wake()  # to leave the queue
            raise
        finally:
            if caller.away_seconds and (telemetry := self._script.server.telemetry) is not None:
                telemetry.record_wait(caller.away_seconds)

    async def acquire_by_share(self, share: float, *, max_wait_seconds: float) -> Slot:
        """Waits for a slot in this process's share of the window, while Redis is unavailable.

        The share is a fraction of the slots that were free at the last answer, because other processes may send
        requests at the same time.
        """
        self.wake()  # checks whether Redis is available again
        limit = self._limit
        if self._fallback is None:
            self._fallback = SlidingWindowPacer(attrs.evolve(self._script.config, rate_limits={}), self._clock)
        if limit is not None:
            left = self._status.remaining
            is_old = self._clock.monotonic() - self._status_at >= limit.window_seconds
            requests = limit.requests if left is None or is_old else left
            limit = attrs.evolve(limit, requests=max(1, int(requests * share)))
        slot = await self._fallback.acquire(self._key, limit, bulk=False, max_wait_seconds=max_wait_seconds)
        return _FallbackPlace(slot, self, share)

    def settle(
        self,
        place: int,
        kind: Literal["replied", "unsent"],
        reading: LimitReading | None = None,
        refused_for_seconds: float | None = None,
    ) -> None:
        """Queues the outcome of a request, to be reported to Redis."""
        self._flying.pop(place, None)
        if reading is not None and reading.limit and self._limit is not None:
            reading = attrs.evolve(reading, limit=self._limit.corrected(reading.limit))
        self._tell(Outcome(str(place), kind, self._clock.monotonic(), reading, refused_for_seconds))

    def settle_unasked(self, refused_for_seconds: float | None) -> None:
        """Queues the outcome of a request without a slot. Omits the service's rate-limit report, which may be out of
        date when Redis is available again.
        """
        place = f"unasked-{next(self._unasked)}"
        self._tell(Outcome(place, "unasked", self._clock.monotonic(), None, refused_for_seconds))

    def _tell(self, outcome: Outcome) -> None:
        if outcome.kind in ("replied", "unasked") and self._limit is not None:
            self._answered.append((outcome.place, outcome.at))
        self._unreported.append(outcome)
        self.wake()

    @property
    def has_flying(self) -> bool:
        """Whether a request of this process is in flight."""
        return bool(self._flying)

    def renew(self) -> None:
        """Queues lease renewals for long requests."""
        now = self._clock.monotonic()
        for place, since in list(self._flying.items()):
            if now - since >= RENEWED_AFTER * self._script.lease_seconds:
                self._flying[place] = now
                self._tell(Outcome(str(place), "flying", now))

    def status(self) -> LimitStatus:
        """Returns the last known state of the limit."""
        resets = self._status.resets_in_seconds
        passed = self._clock.monotonic() - self._status_at
        return attrs.evolve(self._status, resets_in_seconds=resets - passed if resets and resets > passed else None)

    def requests_per_second(self) -> float | None:
        """Returns the rate that the limit allows for all processes together."""
        if self._limit is None or self._status.limit is None:
            return None
        return self._status.limit / self._limit.window_seconds

    def close(self) -> None:
        """Rejects all waiting callers. Remaining outcomes are still reported to Redis."""
        self._refuse_all(TransportError("the pacer was closed while the call waited; the request was not sent"))
        self._changed.set()

    def _refuse_all(self, problem: Exception) -> None:
        for callers in self._callers.values():
            while callers:
                callers.popleft().refuse(copy.copy(problem))

    # Talking to Redis --------------------------------------------------------------------------------

    def wake(self) -> None:
        """Calls Redis now."""
        self._changed.set()
        # After closing, outcomes are not reported: the slots are released when their leases expire.
        if not (self._is_serving or self._script.closed.is_set()):
            self._script.spawn(self._serve())
            self._is_serving = True

    async def _serve(self) -> None:
        """Calls Redis while there are waiting callers or outcomes to report."""
        self._has_given_up = False
        try:
            while await self._serve_once() or (
                not self._has_given_up and (self._is_waited_for() or self._unreported or any(self._is_in_line.values()))
            ):
                pass
        except Exception as problem:  # noqa: BLE001  # raised to the callers, who cannot see this task
            self._refuse_all(problem)
        finally:
            self._is_serving = False
            self._failing_since = None
            self.close()

    async def _serve_once(self) -> bool:
        """Calls Redis once, and waits until the next call is due. Returns whether another call is needed."""
        self._changed.clear()
        question = self._question()
        asked = self._clock.monotonic()
        until = min((each.until for callers in self._callers.values() for each in callers), default=math.inf)
        within_seconds = min(REPLY_SECONDS, max(LEAST_REPLY_SECONDS, until - asked))
        try:
            answer = await self._script.ask(self._key, self._limit, question, within_seconds=within_seconds)
        except FAILURES as problem:
            await self._back_off(problem)
            return False
        self._epoch, self._calls = answer.epoch, answer.calls
        if question.epoch and answer.epoch != question.epoch:
            is_lost_again = self._reported_again is not None
            # Redis has lost the window, so this process reports again all requests that it sent in the current window.
            answered = [Outcome(place, "former", at) for place, at in self._answered]
            flying = [Outcome(str(place), "flying", at) for place, at in self._flying.items()]
            self._reported_again = len(answered) + len(flying)
            # Reports still queued from an earlier loss are dropped. Otherwise, they would multiply with each loss.
            unreported = [each for each in self._unreported if each.kind not in ("former", "flying")]
            self._unreported = collections.deque([*answered, *flying, *unreported], maxlen=MAX_UNREPORTED)
            if is_lost_again:
                await self._back_off(StateLost())
            return not is_lost_again
        seconds = self._apply(question, answer, asked)
        if seconds > 0 and self._is_waited_for():
            await wait_for_event(self._clock, self._changed, seconds)
        return seconds == 0

    def _is_waited_for(self) -> bool:
        return any(not each.place.done() for callers in self._callers.values() for each in callers)

    def _question(self) -> Question:
        for lane, callers in self._callers.items():
            self._callers[lane] = collections.deque(each for each in callers if not each.place.done())
        # While many outcomes are unreported, the count in Redis is too low, so no slots are requested. After a failure,
        # the same number of slots is requested again. Otherwise, slots granted in a lost answer would stay unused.
        is_behind = len(self._unreported) > MAX_REPORTED_AT_ONCE
        wanted = {
            lane: 0 if is_behind else max(self._wanted_last[lane], min(len(callers), MAX_PLACES_AT_ONCE))
            for lane, callers in self._callers.items()
        }
        self._wanted_last = wanted
        is_last_attempt = any(each.is_last_attempt for callers in self._callers.values() for each in callers)
        self._forget_answered()
        # A loss matters only if there are requests to report. It is over when an answer has a known state.
        is_known = bool(self._flying or self._answered) or self._reported_again is not None
        reported = tuple(itertools.islice(self._unreported, MAX_REPORTED_AT_ONCE))
        epoch, calls = (self._epoch, self._calls) if is_known else ("", 0)
        return Question(epoch, calls, wanted, self._next_place, reported, is_last_attempt)

    def _apply(self, question: Question, answer: Answer, asked: float) -> float:
        """Grants slots to callers. Returns how many seconds to wait before the next call to Redis."""
        now = self._clock.monotonic()
        self._note_waits(now)
        self._status, self._status_at = answer.status(), now
        for outcome in question.outcomes:
            if self._unreported and self._unreported[0] is outcome:
                self._unreported.popleft()
        self._wanted_last = dict.fromkeys(_LANES, 0)
        self._next_place += sum(question.wanted.values())
        self._script.first_place = max(self._script.first_place, self._next_place)
        first = question.first_place
        is_stale = (
            now - asked > LEASE_MARGIN_SECONDS
        )  # this process was suspended: other processes may hold the slots now
        for lane in _LANES:
            self._hand_out(range(first, first + answer.granted[lane]), bulk=lane, is_stale=is_stale)
            self._is_in_line[lane] = answer.granted[lane] < question.wanted[lane]
            first += question.wanted[lane]
        if len(self._unreported) > MAX_REPORTED_AT_ONCE:
            return 0.0
        server = self._script.server
        server.note_answer(now)
        self.is_failing, self._failing_since, self._fallback = False, None, None
        if self._reported_again is not None:
            says = "Redis has lost the state of a rate limit: requests that were already sent are reported again"
            server.warn(now, says, facts={"socialapi_requests": self._reported_again})
            self._reported_again = None
        waits = [self._refuse_too_long(seconds, now, bulk=bulk) for bulk, seconds in answer.wait_seconds.items()]
        return min(MAX_POLL_SECONDS, *waits)

    def _forget_answered(self) -> None:
        now, seconds = self._clock.monotonic(), self._limit.window_seconds if self._limit else 0.0
        while self._answered and self._answered[0][1] + seconds <= now:
            self._answered.popleft()

    def _note_waits(self, now: float) -> None:
        if self._failing_since is not None:
            for each in itertools.chain(*self._callers.values()):
                each.away_seconds = now - max(each.since, self._failing_since)

    def _hand_out(self, places: range, *, bulk: bool, is_stale: bool) -> None:
        now = self._clock.monotonic()
        callers = self._callers[bulk]
        for place in places:
            self._flying[place] = now
            while callers and callers[0].place.done():
                callers.popleft()
            if callers and not is_stale:
                callers.popleft().place.set_result(place)
            else:
                self.settle(place, "unsent")

    def _refuse_too_long(self, wait_seconds: float, now: float, *, bulk: bool) -> float:
        """Rejects the callers that may not wait this long, and returns when to call Redis for the others."""
        known_seconds = wait_seconds if wait_seconds > POLL_SECONDS else 0.0
        waiting = [each for each in self._callers[bulk] if not each.place.done()]
        for position, each in enumerate(waiting):
            seconds = known_seconds
            if self._limit is not None and self._status.limit:  # the callers ahead of this one fill complete windows
                seconds += position // self._status.limit * self._limit.window_seconds
            if now >= each.until and not each.is_last_attempt:
                each.is_last_attempt = True
            elif now + seconds > each.until or now >= each.until:
                seconds = min(max(seconds, wait_seconds), LONGEST_WAIT_SECONDS)
                resets_at = datetime.datetime.fromtimestamp(self._clock.time() + seconds, datetime.UTC)
                each.refuse(RateLimitTooLong(self._key, seconds, resets_at))
        until = [each.until for each in waiting if not each.place.done()]
        return max(0.0, min(wait_seconds, min(until) - now)) if until else math.inf

    async def _back_off(self, problem: BaseException) -> None:
        """Waits before the next call to Redis, or gives up."""
        server, config, now = self._script.server, self._script.config, self._clock.monotonic()
        if (refusal := server.refusal(problem)) is not None:
            self.is_failing = False
            self._refuse_all(refusal)
            self._has_given_up = True
            return
        self.is_failing = True
        if self._failing_since is None:
            self._failing_since = now
        self._note_waits(now)
        server.note_failure(problem, now)
        seconds = now - self._failing_since
        has_fallback, max_seconds = config.redis_fallback_share is not None, config.max_elapsed_seconds
        for bulk, callers in self._callers.items():
            patience_seconds = 0.0 if has_fallback and not bulk else max_seconds
            for each in callers:
                if seconds >= patience_seconds or now >= each.until:
                    each.refuse(server.lost(problem, seconds))
        is_closed = self._script.closed.is_set()
        if not self._is_waited_for() and (is_closed or seconds >= max_seconds):
            self._has_given_up = True
        elif not is_closed:
            await wait_for_event(self._clock, self._script.closed, retry_wait_seconds(seconds))


@attrs.frozen(eq=False)
class _FallbackPlace:
    """A `Slot` of this process's share: the right to send one request while Redis is unavailable."""

    slot: Slot
    window: SharedWindow
    share: float

    def replied(self, reading: LimitReading | None, *, refused_for_seconds: float | None = None) -> None:
        if reading is not None:
            numbers = (reading.limit, reading.remaining)
            limit, remaining = (None if each is None else int(each * self.share) for each in numbers)
            reading = LimitReading(limit, remaining, reading.resets_in_seconds)
        self.slot.replied(reading, refused_for_seconds=refused_for_seconds)
        self.window.settle_unasked(refused_for_seconds)

    def unsent(self) -> None:
        self.slot.unsent()
