"""The session: it paces, signs, sends and retries every call."""

import asyncio
import collections
import contextlib
import datetime
import functools
import logging
import os
import random
import threading
import warnings
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, TypeVar, cast
from urllib.parse import urlsplit

import attrs
import yarl

from socialapi.config import Config
from socialapi.credentials import Credentials
from socialapi.errors import (
    ApiError,
    ConfigurationError,
    DecodeError,
    OutcomeUnknown,
    RateLimited,
    RateLimitTooLong,
    SocialApiError,
    TransportError,
)
from socialapi.internal.statuses import RATE_LIMITED
from socialapi.routes.route import OAUTH, Route, Target
from socialapi.session.auth import Authenticator, OAuth1Authenticator, TokenRequester, refuses_token
from socialapi.session.authenticators import Authenticators
from socialapi.session.budget import MAX_BYTES, MAX_ROWS, PACKED_BYTES, PACKED_ROWS, ConnectionPlaces, InFlightBudget
from socialapi.session.call import Call, ReplyInfo
from socialapi.session.clock import Clock, run_with_timeout
from socialapi.session.hints import hint_of
from socialapi.session.network import Network
from socialapi.session.options import CallOptions
from socialapi.session.rate_limiter import Pacer, SlidingWindowPacer, Slot
from socialapi.session.token_cache import TokenCache
from socialapi.session.usage import UsageCounter
from socialapi.wire.rate_limit_headers import LimitHeaders
from socialapi.wire.request import Plan, Request
from socialapi.wire.response import UNUSABLE, Reply, read_error, read_result, request_id
from socialapi.wire.retry import (
    BACKOFF_CEILING_SECONDS,
    Attempt,
    Failure,
    GiveUp,
    Observer,
    decide,
    failure_of_status,
)

if TYPE_CHECKING:
    from socialapi.models.oauth import OAuth2TokenRequest, RenewedTokens
    from socialapi.session.telemetry import Telemetry
    from socialapi.session.transport import LiveReply, Transport


A = TypeVar("A", bound="Reply | LiveReply")
R = TypeVar("R")
T = TypeVar("T")


Outcome: TypeAlias = "Reply | LiveReply | TransportError"

logger: Final = logging.getLogger("socialapi")

DEFAULT_RETRY_AFTER_SECONDS: Final = 1.0
"""How long a limit counts as exhausted after a 429 without `Retry-After` or a reset time."""


_SESSIONS: Final[weakref.WeakSet["Session"]] = weakref.WeakSet()


def _forget_threads() -> None:
    """Makes every session check its event loop again in a forked process."""
    for session in _SESSIONS:
        session._thread = 0  # noqa: SLF001


os.register_at_fork(after_in_child=_forget_threads)


class Session:
    """Carries out the calls of the resources. Owns the transport, credentials, pacer and retry budgets."""

    def __init__(
        self,
        config: Config,
        *,
        credentials: tuple[Credentials, ...],
        network: Network,
        open_transport: "Callable[[Config, Network], Transport]",
        token_cache: TokenCache,
        pacer: Pacer,
        clock: Clock,
        rng: random.Random,
        telemetry: "Telemetry | None" = None,
        on_reply: Callable[[ReplyInfo], object] | None = None,
        can_change_loop: bool = True,
        counts_places: bool = True,
    ) -> None:
        self.config = config
        self.pacer = pacer
        self.clock = clock
        self.rng = rng
        self.telemetry = telemetry
        self._on_reply = on_reply
        self._on_reply_failed = False
        rows, size_bytes = config.max_rows_in_flight, config.max_bytes_in_flight
        self.budget: InFlightBudget = InFlightBudget(rows or MAX_ROWS, size_bytes or MAX_BYTES)
        is_default = rows is None and size_bytes is None
        self.packed_budget: InFlightBudget = InFlightBudget(PACKED_ROWS, PACKED_BYTES) if is_default else self.budget
        self.authenticators: Authenticators = Authenticators(
            credentials, config, token_cache, clock, self._fetch_token, self._ask_for_user_tokens
        )
        self.network = network
        self._open_transport = open_transport
        # By host. Each success adds a retry, and each retry costs one: a host that answers two of every three requests
        # never runs out of them.
        self._retries_left = collections.defaultdict[str, int](lambda: config.retry_budget)
        self._limit_headers = LimitHeaders(config.rate_limit_header_prefixes)
        self._plans: dict[Route[Any], Plan[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._can_change_loop = can_change_loop
        self._places = ConnectionPlaces(config.max_connections) if counts_places else None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = self._thread = 0
        _SESSIONS.add(self)
        self._end_of_loop: AsyncGenerator[None, None] | None = None
        self.usage: UsageCounter = UsageCounter(self.now())

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):  # the attribute is missing if `__init__` failed
            warnings.warn(
                f"a socialapi.Client of {self.config.addresses} was never closed: use `async with Client(…) as client:`, "
                "or `await client.aclose()`",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

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

        Without `authenticator`, uses the kind of credential that the API prefers. Raises InvalidInput for invalid
        arguments, and ConfigurationError if there is no such credential.
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
            if not route.label:  # a route defined by the caller is a new object in every call
                self._plans[route] = plan
        return plan

    async def call(self, call: Call[R]) -> R:
        """Returns the decoded result. Every failure is raised as a SocialApiError.

        If the route allows it, sends the request again when its response cannot be decoded.
        """
        route = call.request.target.route
        if route.retry_undecodable:
            result = await self._call_until_decoded(call)
        else:
            result = self.result_of(call, await self.send(call))
        self.usage.count_read(route, result)
        return result

    def result_of(self, call: Call[R], reply: Reply) -> R:
        """Returns the result in a reply. Raises the reply's error, with the name of the call."""
        error: SocialApiError
        try:
            return read_result(call.request.target.route, reply)
        except (ApiError, DecodeError) as problem:
            error = problem
        # Without the frames that read the response, because they may contain tokens.
        raise call.located(error).with_traceback(None)

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
        return results[0] if results else self.result_of(call, reply)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Returns a task that ends with this session at the latest. Raises RuntimeError if the session is closed."""
        if self._closed:
            work.close()
            raise RuntimeError("this client is closed")
        if asyncio.get_running_loop() is not self._loop:
            try:
                self._enter_loop()
            except ConfigurationError:
                work.close()
                raise
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Retrieved, so that asyncio does not report it if the caller left the loop early.
            task.exception()

    def send(self, call: Call[Any]) -> Coroutine[Any, Any, Reply]:
        """Returns the successful reply, after as many attempts as the options and the route allow.

        Raises the ApiError, TransportError or OutcomeUnknown of the last attempt, and RateLimitTooLong if the wait for
        a slot would be too long.
        """
        sending = self._send(call)
        return sending if self.telemetry is None else self.telemetry.request(call, sending)

    async def _send(self, call: Call[Any]) -> Reply:
        call.started = self.clock.monotonic()
        try:
            while True:
                call.attempt += 1
                outcome = await self._attempt(call, self._transport.send)
                if isinstance(outcome, Reply) and call.failure is None:
                    left = self._retries_left[call.request.origin]
                    self._retries_left[call.request.origin] = min(left + 1, self.config.retry_budget)
                    return outcome
                if not await self._renewed(call, outcome):
                    await self._wait_or_raise(call, outcome)
        except SocialApiError as error:
            call.located(error)
            raise

    async def open(self, call: Call[Any], *, answer_seconds: float) -> "LiveReply":
        """Opens a streaming response, and returns it when its headers have arrived.

        Makes one attempt, and a second one if the token had to be replaced. Each may take `answer_seconds` by the
        clock. Retries are left to the stream, because its waits differ from those of other calls.

        Raises ApiError, TransportError, and RateLimitTooLong if the wait for the limit would be too long.
        """

        async def send(
            request: Request[Any], headers: Mapping[str, str], *, timeout_seconds: float
        ) -> "Reply | LiveReply":
            opening = self._transport.open(request, headers, timeout_seconds=timeout_seconds)
            try:
                return await run_with_timeout(self.clock, answer_seconds, opening, _close)
            except TimeoutError:
                at = yarl.URL(request.url, encoded=True)  # whose port is the default one if it names none
                raise OutcomeUnknown(f"no answer within {answer_seconds:g} s", at.host or "", port=at.port) from None

        try:
            while True:
                call.attempt += 1
                outcome = await self._attempt(call, send)
                if not isinstance(outcome, Reply | TransportError):
                    return outcome
                if not await self._renewed(call, outcome):
                    raise outcome if isinstance(outcome, TransportError) else self._error_of(call, outcome)
        except SocialApiError as error:
            call.located(error)
            raise

    @functools.cached_property
    def _transport(self) -> "Transport":
        """The transport. It is created for the first request, because a dry run needs neither a transport nor aiohttp."""
        if self._closed:
            raise RuntimeError("this client is closed")
        return self._open_transport(self.config, self.network)

    async def _attempt(self, call: Call[Any], send: Callable[..., Awaitable[A]]) -> A | TransportError:
        """Makes one attempt. Returns the reply, or the transport error as a value, because both
        lead to the same decision.
        """
        if self._thread != threading.get_ident() or self._loop is None or not self._loop.is_running():
            self._enter_loop()
        request, route, telemetry = call.request, call.request.target.route, self.telemetry
        options = call.options.after(call.waited) if call.waited else call.options
        waiting_since = self.clock.monotonic()
        acquiring = self.pacer.acquire(
            request.limit_key,
            request.rate_limit,
            bulk=options.bulk,
            max_wait_seconds=options.policy.max_wait_seconds,
        )
        slot = await (acquiring if telemetry is None else telemetry.limit_wait(request, acquiring))
        outcome: A | TransportError | None = None
        started: float | None = None
        # A call keeps its slot while it requests a token, so the token request takes none.
        places = self._places if route.family is not OAUTH else None
        has_place = places is not None and places.try_take()
        try:
            if places is not None and not has_place:
                waiting_since += await self._wait_for_place(places, options)
                has_place = True
            call.authorization = await call.authenticator.authorize(request, options)
            started = self.clock.monotonic()
            call.waited += started - waiting_since
            signed = call.authorization.headers
            headers = {**options.headers, **signed} if options.headers else signed
            self.usage.count_sent(route)
            sending = send(request, headers, timeout_seconds=options.timeout_seconds)
            outcome = await (sending if telemetry is None else telemetry.attempt(call, sending))
        except TransportError as problem:
            if started is None:
                raise  # no slot, or no token: token requests have their own retries
            outcome = problem
        finally:
            # Even when cancelled or without a token: the slot must not leak.
            if has_place and places is not None:
                if outcome is None or isinstance(outcome, (Reply, TransportError)):  # creating a union is slow
                    places.give_back()
                else:
                    outcome.on_close = places.give_back
            self._settle(slot, outcome, sent=started is not None)
        may_have_failed = isinstance(outcome, TransportError) or not outcome.ok or call.accept is not None
        call.failure = self._failure(call, outcome) if may_have_failed else None
        if call.observer is not None or self._on_reply is not None or logger.isEnabledFor(logging.DEBUG):
            self._observe(call, outcome, self.clock.monotonic() - started)
        return outcome

    async def _wait_for_place(self, places: ConnectionPlaces, options: CallOptions) -> float:
        """Waits for a connection slot, and returns how long that took. Raises TransportError if none becomes free in
        time.
        """
        began, seconds = self.clock.monotonic(), options.pool_wait_seconds
        if not await places.take(seconds):
            raise TransportError(
                f"no connection slot became free within {round(seconds, 2):g} s: all {self.config.max_connections} are "
                "in use (Config.max_connections, Config.pool_wait_seconds)"
            )
        return self.clock.monotonic() - began

    def _enter_loop(self) -> None:
        """Moves the session to the running event loop. Raises ConfigurationError if it belongs to another one.

        Called only if the thread or the loop has changed: in Python 3.11, getting the running loop is a system call.
        """
        loop, former = asyncio.get_running_loop(), self._loop
        if former is not None and (former is not loop or self._process != os.getpid()):
            # A forked process has the loop of its parent, which no longer runs here.
            if not former.is_closed() and self._process == os.getpid():
                raise ConfigurationError(
                    "this client belongs to another event loop, which is still open: create a client for each loop and "
                    "each thread"
                )
            if not self._can_change_loop:
                raise ConfigurationError(
                    "this client belongs to an event loop that is closed, and so does the session, connector or pacer "
                    "that it was given: create all of them in each event loop"
                )
            self._tasks.clear()
            self._places = self._places and ConnectionPlaces(self.config.max_connections)
            self._transport.begin_anew()
            self.authenticators.begin_anew()
            if isinstance(self.pacer, SlidingWindowPacer):
                self.pacer.begin_anew()
        self._loop, self._process, self._thread = loop, os.getpid(), threading.get_ident()
        self._end_of_loop = self._until_end_of_loop()
        with contextlib.suppress(StopIteration):
            self._end_of_loop.__anext__().send(None)  # runs it to its `yield`, which registers it with the loop

    async def _until_end_of_loop(self) -> AsyncGenerator[None, None]:
        """Closes the connections at the end of `asyncio.run`, which ends every generator that the event loop knows.
        Leaves a client open if it is used in several loops.
        """
        try:
            yield
        finally:
            if "_transport" in self.__dict__:
                await self._transport.close_connections()

    def _settle(self, slot: Slot, outcome: "Outcome | None", *, sent: bool) -> None:
        """Reports the outcome to the pacer. An interrupted attempt uses up its slot, because the service may have
        counted it.
        """
        if outcome is not None and not isinstance(outcome, TransportError):
            refused: float | None = None
            if outcome.status in RATE_LIMITED:
                refused = self.retry_after_seconds(outcome.headers) or DEFAULT_RETRY_AFTER_SECONDS
            limit = self._limit_headers.read(outcome.headers, self.clock.time())
            slot.replied(limit, refused_for_seconds=refused)
        elif sent and (outcome is None or outcome.may_be_executed):
            slot.replied(None)
        else:
            slot.unsent()

    def _observe(self, call: Call[Any], outcome: Outcome, seconds: float) -> None:
        """Logs an attempt and reports it to the call's observer and to `on_reply`, whose first error is logged."""
        request, failure = call.request, call.failure
        if logger.isEnabledFor(logging.DEBUG):
            facts = _facts(call, outcome)
            logger.debug(
                "%s %s: %s in %.0f ms (attempt %d)",
                request.method,
                request.target.route.shown,
                failure.summary if failure else facts["socialapi_status"],
                seconds * 1000,
                call.attempt,
                extra=facts | {"socialapi_duration_seconds": seconds},
            )
        if call.observer is not None:
            call.observer(Attempt(seconds, request.body_bytes, failure))
        if self._on_reply is None:
            return
        status: int | None = None
        headers: Mapping[str, str] = {}
        if not isinstance(outcome, TransportError):
            status, headers = outcome.status, outcome.headers
        shown = {} if request.target.route.family is OAUTH else headers
        path = urlsplit(request.url).path
        try:
            self._on_reply(ReplyInfo(request.method, path, status, shown, request_id(headers), seconds, call.attempt))
        except Exception:
            if not self._on_reply_failed:
                self._on_reply_failed = True
                logger.exception("on_reply raised an error; calls continue, and its further errors are not logged")

    def _failure(self, call: Call[Any], outcome: Outcome) -> Failure | None:
        if isinstance(outcome, TransportError):
            if outcome.is_lasting:
                # Treated like an executed request: it is not retried.
                return Failure("yes", outcome.reason)
            return Failure("unknown" if outcome.may_be_executed else "no", outcome.reason)
        if outcome.ok:
            return call.accept(outcome) if call.accept is not None and isinstance(outcome, Reply) else None
        return failure_of_status(outcome.status, self.retry_after_seconds(outcome.headers))

    def retry_after_seconds(self, headers: Mapping[str, str]) -> float | None:
        """Returns how many seconds from now the headers ask the client to wait, or None."""
        return self._limit_headers.retry_after_seconds(headers, self.clock.time())

    async def _renewed(self, call: Call[Any], outcome: Outcome) -> bool:
        """Replaces a rejected token, once per call. Returns whether to try again. A retry is safe, because a 401 means
        that nothing was executed.
        """
        sent = call.authorization
        if not isinstance(outcome, Reply) or outcome.status != 401 or sent is None or sent.token is None:
            return False
        if not refuses_token(read_error(outcome)):
            return False
        if call.renewed:
            call.authenticator.refused_anew(sent.token)
            return False
        call.renewed = True
        began = self.clock.monotonic()
        is_renewed = await call.authenticator.renew(sent, call.options.after(call.waited))
        call.waited += self.clock.monotonic() - began
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
            waited_seconds=call.waited,
        )
        if self._closed:
            decision = GiveUp("attempts")
        if isinstance(decision, GiveUp):
            self._raise(call, outcome, decision)
        seconds = decision.seconds
        if self._retries_left[call.request.origin] > 0:
            self._retries_left[call.request.origin] -= 1
        elif call.options.policy.max_elapsed_seconds is None:
            self._raise(call, outcome, GiveUp("attempts"))
        else:
            # A job keeps retrying until its time is up, but slows down for a host that does not answer.
            seconds = max(seconds, min(BACKOFF_CEILING_SECONDS, call.options.policy.max_wait_seconds))
        logger.info(
            "%s %s: %s, retrying in %.1f s",
            call.request.method,
            call.request.target.route.shown,
            failure.summary,
            seconds,
            extra=_facts(call, outcome) | {"socialapi_wait_seconds": seconds},
        )
        if self.telemetry is not None:
            self.telemetry.record_retry(call, failure, wait_seconds=seconds)
        await self.clock.sleep(seconds)
        call.waited += seconds

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
            error = self._error_of(call, outcome)
        error.attempts = call.attempt
        wait_seconds = call.failure.retry_after_seconds if call.failure else None
        if why.reason == "wait too long" and isinstance(error, RateLimited) and error.resets_at and wait_seconds:
            call.located(error)
            raise RateLimitTooLong(call.request.limit_key, wait_seconds, error.resets_at) from error
        raise error

    def _error_of(self, call: Call[Any], reply: Reply) -> ApiError:
        """Returns the error for a rejection, with a hint and the time at which the limit resets."""
        error = read_error(reply)
        if isinstance(error, RateLimited) and (seconds := self.retry_after_seconds(reply.headers)) is not None:
            error.resets_at = self.now() + datetime.timedelta(seconds=seconds)
        is_signed = isinstance(call.authenticator, OAuth1Authenticator)
        error.hint = hint_of(error, call.request, is_signed=is_signed, now=self.clock.time())
        return error

    async def _fetch_token(self, requester: TokenRequester, options: CallOptions | None) -> str:
        from socialapi.models.oauth import AppOnlyTokenRequest
        from socialapi.routes import oauth as routes

        call = self.prepare(
            routes.APP_ONLY_TOKEN.at(),
            options=options or CallOptions.interactive(self.config),
            body=AppOnlyTokenRequest(),
            authenticator=requester,
        )
        call.observer = requester.note
        return (await self.call(call)).access_token

    async def _ask_for_user_tokens(
        self, body: "OAuth2TokenRequest", requester: TokenRequester
    ) -> "tuple[RenewedTokens, DecodeError | None]":
        """Requests user tokens. Returns the tokens in the response, and the error to raise once they are stored."""
        from socialapi.models.oauth import RenewedTokens
        from socialapi.routes import oauth as routes

        route: Route[RenewedTokens] = attrs.evolve(cast("Route[Any]", routes.OAUTH2_TOKEN), result=RenewedTokens)
        options = CallOptions.interactive(self.config)
        call = self.prepare(route.at(), options=options, body=body, authenticator=requester)
        call.observer = requester.note
        tokens = await self.call(call)
        if tokens.access_token:
            return tokens, None
        return tokens, call.located(DecodeError("access_token", f"is missing, or {UNUSABLE}"))

    async def aclose(self) -> None:
        """Waits for token renewals, cancels read-ahead tasks, and closes the transport."""
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            self._enter_loop()
        self._closed = True
        await self.authenticators.aclose()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        try:
            await asyncio.gather(*tasks, return_exceptions=True)
            if "_transport" in self.__dict__:
                await self._transport.aclose()
            if self._end_of_loop is not None:
                await self._end_of_loop.aclose()
        finally:
            if self.telemetry is not None:
                self.telemetry.close()


def _close(reply: "Reply | LiveReply") -> None:
    """Closes a reply that will not be read."""
    if not isinstance(reply, Reply):
        reply.close()


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
