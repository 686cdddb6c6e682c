"""The session: it paces, signs, sends and retries every call."""

import asyncio
import collections
import datetime
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import yarl

from socialapi.config import Config
from socialapi.credentials import AppOnly, Credentials
from socialapi.errors import ApiError, DecodeError, OutcomeUnknown, RateLimited, RateLimitTooLong, TransportError
from socialapi.routes.route import OAUTH, Route, Target
from socialapi.session.auth import INVALID_TOKEN_CODE, Authenticator, basic
from socialapi.session.authenticators import Authenticators
from socialapi.session.budget import InFlightBudget
from socialapi.session.call import Attempt, Call, Observer
from socialapi.session.clock import Clock, run_with_timeout
from socialapi.session.options import CallOptions
from socialapi.session.rate_limiter import Pacer, Slot
from socialapi.session.token_cache import TokenCache
from socialapi.session.transport import LiveReply, Transport, close_reply
from socialapi.wire.oauth1 import refuse_unusable
from socialapi.wire.rate_limit_headers import LimitHeaders
from socialapi.wire.request import Plan, Request
from socialapi.wire.response import Reply, read_error, read_result, request_id
from socialapi.wire.retry import BACKOFF_CEILING_SECONDS, Failure, GiveUp, decide, failure_of_status

if TYPE_CHECKING:
    from socialapi.models.oauth import OAuth2Token, OAuth2TokenRequest
    from socialapi.session.telemetry import Telemetry


class RetryBudget:
    """A retry budget for one host. Each success adds one retry, up to `size`; each retry costs one.

    A host that answers two requests of three never runs out. One that answers none uses the budget
    up once.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._left = size

    def earn(self) -> None:
        """Adds a retry after a success."""
        self._left = min(self._size, self._left + 1)

    def spend(self) -> bool:
        """Takes one retry. Returns False if none is left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


A = TypeVar("A", bound=Reply | LiveReply)
R = TypeVar("R")
T = TypeVar("T")


Outcome = Reply | LiveReply | TransportError
_REPLIES: Final = (Reply, LiveReply)

logger: Final = logging.getLogger("socialapi")

DEFAULT_RETRY_AFTER_SECONDS: Final = 1.0
"""How long a limit counts as exhausted after a 429 without `Retry-After` or a reset time."""


class Session:
    """Carries out the calls of the resources. Owns the transport, credentials, pacer and retry
    budgets.
    """

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
        telemetry: "Telemetry | None" = None,
    ) -> None:
        self.config = config
        self.pacer = pacer
        self.clock = clock
        self.rng = rng
        self.telemetry = telemetry
        self.budget: InFlightBudget = InFlightBudget(config.max_rows_in_flight, config.max_bytes_in_flight)
        self.authenticators: Authenticators = Authenticators(
            credentials, config, token_cache, clock, self._fetch_token, self._ask_for_user_tokens
        )
        self._transport = transport
        self._budgets = collections.defaultdict[str, RetryBudget](lambda: RetryBudget(config.retry_budget))
        self._limit_headers = LimitHeaders(config.rate_limit_header_prefixes)
        self._plans: dict[Route[Any], Plan[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def now(self) -> datetime.datetime:
        """Returns the wall time as an aware datetime."""
        return datetime.datetime.fromtimestamp(self.clock.time(), datetime.UTC)

    def prepare(
        self,
        target: Target[R],
        *,
        options: CallOptions,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        authenticator: Authenticator | None = None,
    ) -> Call[R]:
        """Returns the call of a route with these arguments. Nothing is sent yet.

        Without `authenticator` the credential is the one that the API prefers. Raises InvalidInput
        for arguments that break a rule, ConfigurationError if there is no such credential.
        """
        request = self.plan(target.route).request(target, query, body, self.now)
        return self.prepared(request, options=options, authenticator=authenticator)

    def prepared(
        self,
        request: Request[R],
        *,
        options: CallOptions,
        authenticator: Authenticator | None = None,
        observer: Observer | None = None,
    ) -> Call[R]:
        """Returns the call of a request that is already built."""
        authenticator = authenticator or self.authenticators.choose(request.target.route.family)
        return Call(request, options, authenticator, observer)

    def plan(self, route: Route[R]) -> Plan[R]:
        """Returns the plan of a route, which is computed once. Raises ConfigurationError if its
        host is not configured.
        """
        plan = self._plans.get(route)
        if plan is None:
            plan = Plan(route, self.config)
            if not route.label:  # a route written out by the caller is new for every call
                self._plans[route] = plan
        return plan

    async def call(self, call: Call[R]) -> R:
        """Returns the decoded result. Every failure is raised as a SocialApiError.

        If the route allows it, the request is sent again when its answer cannot be decoded.
        """
        route = call.request.target.route
        if route.retry_undecodable:
            result = await self._call_until_decoded(call)
        else:
            result = read_result(route, await self.send(call))
        if route.family is OAUTH:
            refuse_unusable(result)
        return result

    async def _call_until_decoded(self, call: Call[R]) -> R:
        route = call.request.target.route
        results: list[R] = []

        def accept(reply: Reply) -> Failure | None:
            try:
                results.append(read_result(route, reply))
            except DecodeError as problem:
                return Failure("unknown", problem.fault, reply.status)
            except ApiError:
                pass  # raised below, when the reply is read again
            return None

        call.accept = accept
        reply = await self.send(call)
        return results[0] if results else read_result(route, reply)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Returns a task that ends with this session at the latest. Raises RuntimeError if the
        session is closed.
        """
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
            # Retrieved, so that asyncio does not report it when the caller left the loop early.
            task.exception()

    def send(self, call: Call[Any]) -> Coroutine[Any, Any, Reply]:
        """Returns the successful reply, after as many attempts as the options and the route allow.

        Raises the ApiError, TransportError or OutcomeUnknown of the last attempt, and
        RateLimitTooLong instead of waiting too long.
        """
        sending = self._send(call)
        return sending if self.telemetry is None else self.telemetry.request(call, sending)

    async def _send(self, call: Call[Any]) -> Reply:
        call.started = self.clock.monotonic()
        while True:
            call.attempt += 1
            outcome = await self._attempt(call, self._transport.send)
            if isinstance(outcome, Reply) and call.failure is None:
                self._budgets[call.request.origin].earn()
                return outcome
            if await self._renewed(call, outcome):
                continue
            await self._wait_or_raise(call, outcome)

    async def open(self, call: Call[Any], *, answer_seconds: float) -> LiveReply:
        """Returns the start of an answer whose body does not end.

        Makes one attempt, and a second one if the token had to be replaced. Each may take
        `answer_seconds` by the clock. Retrying is up to the stream, whose waits differ from those
        of other calls.

        Raises ApiError, TransportError, and RateLimitTooLong instead of waiting too long.
        """

        async def send(
            request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float
        ) -> Reply | LiveReply:
            opening = self._transport.open(request, headers, timeout_seconds=timeout_seconds)
            try:
                return await run_with_timeout(self.clock, answer_seconds, opening, close_reply)
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

    async def _attempt(self, call: Call[Any], send: Callable[..., Awaitable[A]]) -> A | TransportError:
        """Makes one attempt. Returns the reply, or the transport error as a value, because both
        lead to the same decision.
        """
        request, options, telemetry = call.request, call.options, self.telemetry
        acquiring = self.pacer.acquire(
            request.limit_key,
            request.rate_limit,
            bulk=options.bulk,
            max_wait_seconds=options.policy.max_wait_seconds,
        )
        slot = await (acquiring if telemetry is None else telemetry.limit_wait(request, acquiring))
        outcome: A | TransportError | None = None
        started: float | None = None
        try:
            call.authorization = await call.authenticator.authorize(request, options)
            started = self.clock.monotonic()
            headers = call.authorization.headers
            if options.headers:
                headers = {**options.headers, **headers}
            sending = send(request, headers, timeout_seconds=options.timeout_seconds)
            outcome = await (sending if telemetry is None else telemetry.attempt(call, sending))
        except TransportError as problem:
            if started is None:
                raise  # the token could not be fetched, which was retried already
            outcome = problem
        finally:
            # Also when cancelled or without a token: the slot must not leak.
            self._settle(slot, outcome, sent=started is not None)
        if isinstance(outcome, TransportError) or not outcome.ok or call.accept is not None:
            call.failure = self._failure(call, outcome)
        else:
            call.failure = None
        if call.observer is not None or logger.isEnabledFor(logging.DEBUG):
            self._observe(call, outcome, self.clock.monotonic() - started)
        return outcome

    def _settle(self, slot: Slot, outcome: Outcome | None, *, sent: bool) -> None:
        """Reports the outcome to the pacer. An attempt that was cut off on its way may have been
        counted.
        """
        if isinstance(outcome, _REPLIES):
            refused: float | None = None
            if outcome.status == 429:
                refused = self.retry_after_seconds(outcome.headers) or DEFAULT_RETRY_AFTER_SECONDS
            limit = self._limit_headers.read(outcome.headers, self.clock.time())
            slot.replied(limit, refused_for_seconds=refused)
        elif sent and (outcome is None or outcome.may_be_executed):
            slot.replied(None)
        else:
            slot.unsent()

    def _observe(self, call: Call[Any], outcome: Outcome, seconds: float) -> None:
        failure = call.failure
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "%s %s: %s in %.0f ms (attempt %d)",
                call.request.method,
                call.request.target.route.shown,
                failure.summary if failure else "done",
                seconds * 1000,
                call.attempt,
                extra=_facts(call, outcome) | {"socialapi_duration_seconds": seconds},
            )
        if call.observer is not None:
            call.observer(Attempt(seconds, call.request.body_bytes, failure))

    def _failure(self, call: Call[Any], outcome: Outcome) -> Failure | None:
        if isinstance(outcome, TransportError):
            if outcome.is_lasting:
                # Treated like an executed request: it is not repeated.
                return Failure("yes", outcome.reason)
            return Failure("unknown" if outcome.may_be_executed else "no", outcome.reason)
        if outcome.ok:
            return call.accept(outcome) if call.accept is not None and isinstance(outcome, Reply) else None
        return failure_of_status(outcome.status, self.retry_after_seconds(outcome.headers))

    def retry_after_seconds(self, headers: Mapping[str, str]) -> float | None:
        """Returns how many seconds from now the headers ask to wait, or None."""
        return self._limit_headers.retry_after_seconds(headers, self.clock.time())

    async def _renewed(self, call: Call[Any], outcome: Outcome) -> bool:
        """Replaces a token that was refused, once per call. Returns whether to try again; a 401
        means that nothing was executed.
        """
        if call.renewed or call.authorization is None or not isinstance(outcome, Reply) or outcome.status != 401:
            return False
        if INVALID_TOKEN_CODE not in read_error(outcome).codes:
            return False
        call.renewed = True
        is_renewed = await call.authenticator.renew(call.authorization, call.options)
        if is_renewed and self.telemetry is not None:
            self.telemetry.record_renewal(call)
        return is_renewed

    async def _wait_or_raise(self, call: Call[Any], outcome: Reply | TransportError) -> None:
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
        if not self._budgets[call.request.origin].spend():
            if call.options.policy.max_elapsed_seconds is None:
                self._raise(call, outcome, GiveUp("attempts"))
            # A job keeps retrying until its time is up, but slows down for a host that does not
            # answer.
            seconds = max(seconds, min(BACKOFF_CEILING_SECONDS, call.options.policy.max_wait_seconds))
        logger.info(
            "%s %s: %s, repeating in %.1f s",
            call.request.method,
            call.request.target.route.shown,
            failure.summary,
            seconds,
            extra=_facts(call, outcome) | {"socialapi_wait_seconds": seconds},
        )
        if self.telemetry is not None:
            self.telemetry.record_retry(call, failure, wait_seconds=seconds)
        await self.clock.sleep(seconds)

    def _raise(self, call: Call[Any], outcome: Reply | TransportError, why: GiveUp) -> NoReturn:
        error: ApiError | TransportError
        if isinstance(outcome, TransportError):
            error = outcome
        elif outcome.ok and call.failure is not None:
            error = ApiError(
                outcome.status,
                headers=outcome.headers,
                request_id=request_id(outcome.headers),
                summary=call.failure.summary,
            )
        else:
            error = read_error(outcome)
        error.attempts = call.attempt
        wait_seconds = call.failure.retry_after_seconds if call.failure else None
        if why.reason == "wait too long" and isinstance(error, RateLimited) and wait_seconds is not None:
            resets_at = self.now() + datetime.timedelta(seconds=wait_seconds)
            raise RateLimitTooLong(call.request.limit_key, wait_seconds, resets_at) from error
        raise error

    async def _fetch_token(self, credential: AppOnly, options: CallOptions | None) -> str:
        from socialapi.models.oauth import AppOnlyTokenRequest
        from socialapi.routes import oauth as routes

        call = self.prepare(
            routes.APP_ONLY_TOKEN.at(),
            options=options or CallOptions.interactive(self.config),
            body=AppOnlyTokenRequest(),
            authenticator=basic(credential),
        )
        return (await self.call(call)).access_token

    async def _ask_for_user_tokens(self, body: "OAuth2TokenRequest", authenticator: Authenticator) -> "OAuth2Token":
        from socialapi.routes import oauth as routes

        options = CallOptions.interactive(self.config)
        call = self.prepare(routes.OAUTH2_TOKEN.at(), options=options, body=body, authenticator=authenticator)
        return await self.call(call)

    async def aclose(self) -> None:
        """Waits for token renewals, cancels read-ahead tasks, and closes the transport."""
        self._closed = True
        await self.authenticators.aclose()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._transport.aclose()
        finally:
            if self.telemetry is not None:
                self.telemetry.close()


def _facts(call: Call[Any], outcome: Outcome) -> dict[str, object]:
    """Returns the attributes of the log record of an attempt."""
    facts: dict[str, object] = {
        "socialapi_method": call.request.method,
        "socialapi_route": call.request.target.route.shown,
        "socialapi_attempt": call.attempt,
    }
    if isinstance(outcome, TransportError):
        facts["socialapi_error"] = type(outcome).__name__
    else:
        facts["socialapi_status"] = outcome.status
    return facts
