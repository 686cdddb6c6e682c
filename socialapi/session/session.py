"""The one loop that every call goes through: pace, sign, send, read, and decide about a failure."""

import asyncio
import datetime
import functools
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import attrs
import yarl

from socialapi.config import Config
from socialapi.credentials import AppOnly, Credentials
from socialapi.errors import ApiError, DecodeError, OutcomeUnknown, RateLimited, RateLimitTooLong, TransportError
from socialapi.models.pages import Page
from socialapi.routes.route import OAUTH, Route, Target
from socialapi.session.auth import DEAD_TOKEN, Authenticator, Authenticators, Authorization, basic
from socialapi.session.clock import Clock, FairScheduler, within
from socialapi.session.pager import Pager
from socialapi.session.rate_limiter import Pacer, Slot
from socialapi.session.token_cache import TokenCache
from socialapi.session.transport import LiveReply, Transport, close_reply
from socialapi.wire.oauth1 import refuse_unusable
from socialapi.wire.paging import Collection
from socialapi.wire.rate_limit_headers import names_of_limits, read_limit, retry_after_seconds
from socialapi.wire.request import Plan, Request
from socialapi.wire.response import Reply, read_error, read_result
from socialapi.wire.retry import BACKOFF_CEILING_SECONDS, Failure, GiveUp, RetryPolicy, decide, failure_of_status

if TYPE_CHECKING:
    from socialapi.models.oauth import OAuth2Token, OAuth2TokenRequest


class RetryBudget:
    """Every success earns one repeat, up to `size`; every repeat costs one.

    A service that answers two requests of three is never short of budget; one that answers none uses it up once.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    def earn(self) -> None:
        """An attempt succeeded."""
        self._left = min(self._size, self._left + 1)

    def spend(self) -> bool:
        """Takes one repeat; whether there was one."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


@attrs.frozen(kw_only=True)
class CallOptions:
    """How long a call may take and how often it is repeated; `bulk` calls leave the reserve of each limit alone."""

    timeout_seconds: float
    policy: RetryPolicy
    bulk: bool = False

    @classmethod
    def interactive(cls, config: Config) -> "CallOptions":
        """The options of a single call."""
        return cls(
            timeout_seconds=config.timeout_seconds,
            policy=RetryPolicy(max_attempts=config.retries + 1, max_wait_seconds=config.max_wait_seconds),
        )


@attrs.frozen
class Attempt:
    """What became of one attempt, for those who count: the job's report and its choice of concurrency."""

    seconds: float
    body_bytes: int
    failure: Failure | None


Observer = Callable[[Attempt], None]
Accept = Callable[[Reply], Failure | None]


@attrs.define(eq=False)
class Call:
    """The state of one call across its attempts."""

    request: Request[Any]
    options: CallOptions
    authenticator: Authenticator
    observer: Observer | None
    accept: "Accept | None"
    started: float
    attempt: int = 0
    authorization: Authorization | None = None
    renewed: bool = False
    failure: Failure | None = None


A = TypeVar("A", bound=Reply | LiveReply)
R = TypeVar("R")
T = TypeVar("T")

Outcome = Reply | LiveReply | TransportError

logger: Final = logging.getLogger("socialapi")

DEFAULT_RETRY_AFTER_SECONDS: Final = 1.0
"""How long a limit counts as exhausted after a 429 that names no wait."""


class Session:
    """What the resources call: it owns the transport, the credentials, the pacer and the budget."""

    def __init__(
        self,
        config: Config,
        *,
        credentials: tuple[Credentials, ...],
        transport: Transport,
        token_cache: TokenCache,
        pacer: Pacer,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.config = config
        self.pacer = pacer
        self.clock = clock
        self.rng = rng
        self.scheduler: FairScheduler = FairScheduler()
        self.authenticators: Authenticators = Authenticators(
            credentials, config, token_cache, clock, self._fetch_token, self._ask_for_user_tokens
        )
        self._transport = transport
        self._budgets: dict[str, RetryBudget] = {}
        self._limit_headers = names_of_limits(config.rate_limit_header_prefixes)
        self._plans: dict[Route[Any], Plan[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def now(self) -> datetime.datetime:
        """The wall time, aware."""
        return datetime.datetime.fromtimestamp(self.clock.time(), datetime.UTC)

    async def call(
        self,
        target: Target[R],
        *,
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        authenticator: Authenticator | None = None,
    ) -> R:
        """The result of a route. Raises what the error tree says: nothing else comes out of here."""
        request = self._plan(target.route).request(target.path_parameters, query, body, self.now)
        result = await self.read(request, options=options, authenticator=authenticator)
        if target.route.family is OAUTH:
            refuse_unusable(result)
        return result

    def _plan(self, route: Route[R]) -> Plan[R]:
        plan = self._plans.get(route)
        if plan is None:
            plan = Plan(route, self.config)
            if not route.label:  # routes to paths that a caller wrote out are made anew for every call
                self._plans[route] = plan
        return plan

    async def read(
        self,
        request: Request[R],
        *,
        options: CallOptions,
        authenticator: Authenticator | None = None,
        observer: Observer | None = None,
    ) -> R:
        """The result of a request that is built already. Where the route says so, it is sent again when its answer cannot
        be read. Raises as `call`.
        """
        route = request.target.route
        results: list[R] = []

        def accept(reply: Reply) -> Failure | None:
            try:
                results.append(read_result(route, reply))
            except DecodeError as problem:
                return Failure("unknown", problem.fault, reply.status)
            except ApiError:
                pass  # raised below, by reading it once more
            return None

        wanted = accept if route.resent_unread else None
        reply = await self.send(request, options=options, authenticator=authenticator, observer=observer, accept=wanted)
        return results[0] if results else read_result(route, reply)

    def pages(
        self,
        target: Target[Page[T]],
        *,
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        start: str | None = None,
    ) -> Pager[T]:
        """A pager over a collection; the task that reads ahead belongs to this session and ends with it.

        Raises InvalidInput for what does not go together.
        """
        collection = Collection.of(target, query, start)
        return Pager(functools.partial(self._page, collection, options), self.spawn, start=start)

    async def _page(self, collection: "Collection[T]", options: CallOptions, token: str | None) -> Page[T]:
        page = await self.call(collection.target, options=options, query=collection.query(token))
        return page if collection.split is None else collection.split.answer(page, token)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that belongs to this session and ends with it at the latest. Raises RuntimeError after that."""
        if self._closed:
            work.close()
            raise RuntimeError("this client is closed")
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever left the loop early does not want to hear of it

    async def request(
        self,
        target: Target[Any],
        *,
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        authenticator: Authenticator | None = None,
    ) -> Reply:
        """As `call`, with the reply as it came."""
        request = self._plan(target.route).request(target.path_parameters, query, body, self.now)
        return await self.send(request, options=options, authenticator=authenticator)

    async def send(
        self,
        request: Request[Any],
        *,
        options: CallOptions,
        authenticator: Authenticator | None = None,
        observer: Observer | None = None,
        accept: Accept | None = None,
    ) -> Reply:
        """The successful reply to a request, after as many attempts as the options and the route allow.

        `accept` looks at each reply whose status is a success, and names what makes it a failed attempt all the same.
        Raises ApiError, TransportError or OutcomeUnknown of the last attempt, RateLimitTooLong before waiting.
        """
        authenticator = authenticator or self.authenticators.choose(request.target.route.family)
        call = Call(request, options, authenticator, observer, accept, self.clock.monotonic())
        while True:
            call.attempt += 1
            outcome = await self._attempt(call, self._transport.send)
            if isinstance(outcome, Reply) and call.failure is None:
                self._budget(request).earn()
                return outcome
            if await self._renewed(call, outcome):
                continue
            await self._wait_or_raise(call, outcome)

    async def open(
        self,
        target: Target[Any],
        *,
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        answer_seconds: float,
    ) -> LiveReply:
        """The beginning of an answer that does not end, by one attempt (and another with a new token where the first
        one was dead), which may take so long by the clock. When to try again is for the stream to say: its waits are
        not those of other calls.

        Raises ApiError, TransportError, and RateLimitTooLong before waiting.
        """
        request = self._plan(target.route).request(target.path_parameters, query, None, self.now)
        authenticator = self.authenticators.choose(target.route.family)
        call = Call(request, options, authenticator, None, None, self.clock.monotonic())

        async def send(
            request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float
        ) -> Reply | LiveReply:
            opening = self._transport.open(request, headers, timeout_seconds=timeout_seconds)
            try:
                return await within(self.clock, answer_seconds, opening, close_reply)
            except TimeoutError:
                at = yarl.URL(request.url, encoded=True)
                raise OutcomeUnknown(f"no answer within {answer_seconds:g} s", at.host or "", port=at.port) from None

        while True:
            call.attempt += 1
            outcome = await self._attempt(call, send)
            if isinstance(outcome, LiveReply):
                return outcome
            if not await self._renewed(call, outcome):
                raise outcome if isinstance(outcome, TransportError) else read_error(outcome)

    async def _attempt(self, call: Call, send: Callable[..., Awaitable[A]]) -> A | TransportError:
        """One attempt: the reply, or the transport's error as a value, since both are judged alike."""
        request, options = call.request, call.options
        slot = await self.pacer.acquire(
            request.limit_key,
            request.rate_limit,
            bulk=options.bulk,
            max_wait_seconds=options.policy.max_wait_seconds,
        )
        outcome: A | TransportError | None = None
        started: float | None = None
        try:
            call.authorization = await call.authenticator.authorize(request, options)
            started = self.clock.monotonic()
            outcome = await send(request, call.authorization.headers, timeout_seconds=options.timeout_seconds)
        except TransportError as problem:
            if started is None:
                raise  # the token could not be had, after repeats of its own
            outcome = problem
        finally:
            # Also when cancelled, or without a token: the place in the window must not leak.
            self._settle(slot, outcome, sent=started is not None)
        call.failure = self._failure(call, outcome)
        self._observe(call, self.clock.monotonic() - started)
        return outcome

    def _settle(self, slot: Slot, outcome: Outcome | None, *, sent: bool) -> None:
        """Tells the pacer what the attempt cost; one that was cut short on its way may have been counted."""
        if isinstance(outcome, Reply | LiveReply):
            refused: float | None = None
            if outcome.status == 429:
                refused = self.retry_after_seconds(outcome.headers) or DEFAULT_RETRY_AFTER_SECONDS
            limit = None
            if not outcome.headers.keys().isdisjoint(self._limit_headers):
                limit = read_limit(outcome.headers, self.config.rate_limit_header_prefixes, self.clock.time())
            slot.replied(limit, refused_for_seconds=refused)
        elif sent and (outcome is None or outcome.may_be_executed):
            slot.replied(None)
        else:
            slot.unsent()

    def _observe(self, call: Call, seconds: float) -> None:
        failure = call.failure
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "%s %s: %s in %.0f ms (attempt %d)",
                call.request.method,
                call.request.target.route.shown,
                failure.summary if failure else "done",
                seconds * 1000,
                call.attempt,
            )
        if call.observer is not None:
            call.observer(Attempt(seconds, call.request.body_bytes, failure))

    def _failure(self, call: Call, outcome: Outcome) -> Failure | None:
        if isinstance(outcome, TransportError):
            if outcome.is_lasting:
                return Failure("yes", outcome.reason)  # which is as final
            return Failure("unknown" if outcome.may_be_executed else "no", outcome.reason)
        if outcome.ok:
            return call.accept(outcome) if call.accept is not None and isinstance(outcome, Reply) else None
        return failure_of_status(outcome.status, self.retry_after_seconds(outcome.headers))

    def retry_after_seconds(self, headers: Mapping[str, str]) -> float | None:
        """How long from now the headers of a refusal ask to wait, if they do."""
        return retry_after_seconds(headers, self.config.rate_limit_header_prefixes, self.clock.time())

    async def _renewed(self, call: Call, outcome: Outcome) -> bool:
        """Whether a dead token was replaced, which is done once per call; a 401 was surely not executed."""
        if call.renewed or call.authorization is None or not isinstance(outcome, Reply) or outcome.status != 401:
            return False
        if DEAD_TOKEN not in read_error(outcome).codes:
            return False
        call.renewed = True
        return await call.authenticator.renew(call.authorization, call.options)

    async def _wait_or_raise(self, call: Call, outcome: Reply | TransportError) -> None:
        failure = call.failure
        assert failure is not None
        decision = decide(
            call.options.policy,
            repeatable=call.request.target.route.repeatable,
            attempt=call.attempt,
            failure=failure,
            elapsed_seconds=self.clock.monotonic() - call.started,
            jitter=self.rng.random(),
        )
        if isinstance(decision, GiveUp):
            self._raise(call, outcome, decision)
        seconds = decision.seconds
        if not self._budget(call.request).spend():
            if call.options.policy.max_elapsed_seconds is None:
                self._raise(call, outcome, GiveUp("attempts"))
            # A job does not give up before its time, but no longer asks a dead service at the usual pace.
            seconds = max(seconds, min(BACKOFF_CEILING_SECONDS, call.options.policy.max_wait_seconds))
        logger.info(
            "%s %s: %s, repeating in %.1f s",
            call.request.method,
            call.request.target.route.shown,
            failure.summary,
            seconds,
        )
        await self.clock.sleep(seconds)

    def _raise(self, call: Call, outcome: Reply | TransportError, why: GiveUp) -> NoReturn:
        error: ApiError | TransportError
        if isinstance(outcome, TransportError):
            error = outcome
        elif outcome.ok and call.failure is not None:
            error = ApiError(outcome.status, headers=outcome.headers, summary=call.failure.summary)
        else:
            error = read_error(outcome)
        error.attempts = call.attempt
        told = call.failure.retry_after_seconds if call.failure else None
        if why.reason == "wait too long" and isinstance(error, RateLimited) and told is not None:
            resets_at = self.now() + datetime.timedelta(seconds=told)
            raise RateLimitTooLong(call.request.limit_key, told, resets_at) from error
        raise error

    def _budget(self, request: Request[Any]) -> RetryBudget:
        host = request.url.split("/", 3)[2]
        if host not in self._budgets:
            self._budgets[host] = RetryBudget(self.config.retry_budget)
        return self._budgets[host]

    async def _fetch_token(self, credential: AppOnly, options: CallOptions | None) -> str:
        from socialapi.models.oauth import AppOnlyTokenRequest
        from socialapi.routes import oauth as routes

        token = await self.call(
            routes.APP_ONLY_TOKEN.at(),
            options=options or CallOptions.interactive(self.config),
            body=AppOnlyTokenRequest(),
            authenticator=basic(credential),
        )
        return token.access_token

    async def _ask_for_user_tokens(self, body: "OAuth2TokenRequest", authenticator: Authenticator) -> "OAuth2Token":
        from socialapi.routes import oauth as routes

        options = CallOptions.interactive(self.config)
        return await self.call(routes.OAUTH2_TOKEN.at(), options=options, body=body, authenticator=authenticator)

    async def aclose(self) -> None:
        """Lets renewals of tokens end, ends what reads ahead, and closes the transport."""
        self._closed = True
        await self.authenticators.aclose()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._transport.aclose()
