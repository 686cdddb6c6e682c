"""OpenTelemetry spans and metrics, for clients with telemetry.

Only this module imports OpenTelemetry. A client without telemetry has None in place of a `Telemetry`, which costs one
comparison.

Spans and metrics contain routes, classes of errors, statuses and counts. They never contain a URL, a message, a body or
a value, because these may be personal data or secrets.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from socialapi.errors import BulkError, ConfigurationError
from socialapi.routes.route import Route
from socialapi.session.call import Call
from socialapi.session.clock import Clock
from socialapi.version import __version__
from socialapi.wire.request import Request
from socialapi.wire.retry import Failure

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.trace import Span

T = TypeVar("T")
Attributes = dict[str, str | int | float | bool]

SCOPE: Final = "socialapi"
"""The name of the instrumentation scope of all spans and metrics."""

METHOD: Final = "http.request.method"
TEMPLATE: Final = "url.template"
STATUS: Final = "http.response.status_code"
ERROR_TYPE: Final = "error.type"
RESEND_COUNT: Final = "http.request.resend_count"
JOB_KIND: Final = "socialapi.job.kind"
OUTCOME: Final = "socialapi.job.row.outcome"
RETRY_REASON: Final = "socialapi.retry.reason"
DISCONNECT_REASON: Final = "socialapi.stream.disconnect.reason"

DURATION_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Buckets in seconds, as the semantic conventions advise for `http.client.request.duration`."""
WAIT_BUCKETS: Final = (0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 900, 1800)
"""Buckets in seconds. Rate-limit windows last from one to 15 minutes, and streams wait up to 16 minutes."""
SHORTEST_WAIT_SECONDS: Final = 0.001
"""The shortest wait that is recorded. A shorter one means that a slot was free."""

_DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


class Instrumentation:
    """Creates spans and instruments with the application's tracer and meter providers. Without providers, nothing is
    recorded.

    Raises ConfigurationError if OpenTelemetry is not installed.
    """

    def __init__(self) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            raise ConfigurationError("telemetry needs another package: pip install 'aiosocialapi[otel]'") from None
        self._trace = trace
        self._tracer = trace.get_tracer(SCOPE, __version__)
        self._meter = metrics.get_meter(SCOPE, __version__)

    @contextmanager
    def span(self, name: str, attributes: Attributes, *, is_client: bool = False) -> "Iterator[Span]":
        """Runs the block in a new span, which is current until the block ends. Records the class of an error that the
        block raises.
        """
        trace = self._trace
        kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        span = self._tracer.start_span(name, attributes=attributes, kind=kind)
        # The message of an exception may quote the service, so the library must not record it.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as problem:
                self.record_failure(span, problem)
                raise

    def record_failure(self, span: "Span", problem: BaseException) -> None:
        """Records the class of an error in a span, and its status if it has one. A cancellation is not an error."""
        if not span.is_recording():
            return
        span.set_attribute(ERROR_TYPE, type_of(problem))
        status = getattr(problem, "status", None)
        if isinstance(status, int):
            span.set_attribute(STATUS, status)
        if not isinstance(problem, asyncio.CancelledError | GeneratorExit):
            span.set_status(self._trace.StatusCode.ERROR)

    def counter(self, name: str, unit: str, description: str) -> "Counter":
        """Returns a counter of this package's meter."""
        counter: Counter = self._meter.create_counter(name, unit, description)
        return counter

    def histogram(self, name: str, description: str, buckets: tuple[float, ...]) -> "Histogram":
        """Returns a histogram of this package's meter, in seconds."""
        boundaries = [float(each) for each in buckets]
        histogram: Histogram = self._meter.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=boundaries
        )
        return histogram

    def set_attribute(self, name: str, value: str) -> None:
        """Sets an attribute of the current span."""
        self._trace.get_current_span().set_attribute(name, value)

    def add_event(self, name: str, attributes: Attributes) -> None:
        """Adds an event to the current span."""
        self._trace.get_current_span().add_event(name, attributes)


class Telemetry(Instrumentation):
    """The spans and metrics of a client. Each method wraps an awaitable, or records one event. They
    raise only what the awaitable raises.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._instruments = _Instruments(self)
        self._known: dict[Route[Any], Attributes] = {}
        self._connections: dict[ConnectionSpan, None] = {}

    async def request(self, call: Call[Any], sending: Awaitable[T]) -> T:
        """Returns the outcome of a request, in a span around all of its attempts."""
        with self.span("socialapi.request", self._attributes_of(call.request)) as span:
            try:
                return await sending
            finally:
                span.set_attribute("socialapi.request.attempts", call.attempt)

    async def attempt(self, call: Call[Any], sending: Awaitable[T]) -> T:
        """Returns the reply to an attempt, in a span of an HTTP client."""
        attributes = dict(self._attributes_of(call.request))
        name = f"{attributes[METHOD]} {attributes[TEMPLATE]}"
        resent = {RESEND_COUNT: call.attempt - 1} if call.attempt > 1 else {}
        started = self._clock.monotonic()
        try:
            with self.span(name, attributes | resent, is_client=True) as span:
                reply = await sending
                answered = _reply_attributes(reply)
                attributes |= answered
                span.set_attributes(answered)
                if ERROR_TYPE in answered:
                    span.set_status(self._trace.StatusCode.ERROR)
                return reply
        except BaseException as problem:
            attributes[ERROR_TYPE] = type_of(problem)
            raise
        finally:
            self._instruments.request_duration.record(self._clock.monotonic() - started, attributes)
            if attributes.get(STATUS) == 429:
                self._instruments.refusals.add(1, _by_route(attributes))

    async def limit_wait(self, request: Request[Any], acquiring: Awaitable[T]) -> T:
        """Returns the slot for an attempt, and records how long the attempt waited for it."""
        started = self._clock.monotonic()
        try:
            return await acquiring
        finally:
            seconds = self._clock.monotonic() - started
            if seconds >= SHORTEST_WAIT_SECONDS:
                self._instruments.limit_wait.record(seconds, _by_route(self._attributes_of(request)))
                self.add_event("socialapi.rate_limit.wait", {"socialapi.wait.duration": seconds})

    def record_retry(self, call: Call[Any], failure: Failure, *, wait_seconds: float) -> None:
        """Records that a failed attempt is retried after a wait."""
        self._count_retry(call, _reason_of(failure), wait_seconds)

    def record_renewal(self, call: Call[Any]) -> None:
        """Records that an attempt is retried with another token."""
        self._count_retry(call, "token_renewed", 0.0)

    def _count_retry(self, call: Call[Any], reason: str, wait_seconds: float) -> None:
        self._instruments.retries.add(1, _by_route(self._attributes_of(call.request)) | {RETRY_REASON: reason})
        self.add_event("socialapi.retry", {RETRY_REASON: reason, "socialapi.wait.duration": wait_seconds})

    async def job(self, kind: str, running: Awaitable[T], counts: Callable[[], Mapping[str, int]]) -> T:
        """Runs a job in a span and returns its result. The span gets the job's counts, even if the job fails."""
        with self.span("socialapi.job", {JOB_KIND: kind}) as span:
            try:
                return await running
            finally:
                span.set_attributes({f"socialapi.job.{name}": count for name, count in counts().items()})

    async def batch(self, settling: Awaitable[T], *, number: int, rows: int, size_bytes: int) -> T:
        """Returns the result of settling one batch of a job, in a span."""
        attributes: Attributes = {
            "socialapi.batch.number": number,
            "socialapi.batch.rows": rows,
            "socialapi.batch.size": size_bytes,
        }
        with self.span("socialapi.batch", attributes):
            return await settling

    def count_rows(self, kind: str, counts: Mapping[str, int]) -> None:
        """Counts the rows of a job with a new outcome since the last call."""
        for outcome, rows in counts.items():
            if rows > 0:
                self._instruments.rows.add(rows, {JOB_KIND: kind, OUTCOME: outcome})

    def connection(self, request: Request[Any], former: "ConnectionSpan | None") -> "ConnectionSpan":
        """Starts and returns the span of a stream's connection, with a link to the span of the `former` connection."""
        trace = self._trace
        links = [] if former is None else [trace.Link(former.span.get_span_context())]
        attributes = self._attributes_of(request)
        span = self._tracer.start_span("socialapi.stream.connection", attributes=attributes, links=links)
        connection = ConnectionSpan(self, span, _by_route(attributes))
        self._connections[connection] = None
        return connection

    async def run_within(self, span: "Span", work: Awaitable[T]) -> T:
        """Returns the result of `work`, with this span as the parent of its spans."""
        with self._trace.use_span(span, record_exception=False, set_status_on_exception=False):
            return await work

    def record_reconnect(self, attributes: Attributes, *, gap_seconds: float) -> None:
        """Counts a connection that replaces a lost one, and records the time between them."""
        self._instruments.reconnects.add(1, attributes)
        self._instruments.gap.record(gap_seconds, attributes)

    def forget(self, connection: "ConnectionSpan") -> None:
        """Forgets a connection whose span has ended."""
        self._connections.pop(connection, None)

    def close(self) -> None:
        """Ends the spans of connections that are still open. Safe to call twice."""
        for connection in list(self._connections):
            connection.end()

    def _attributes_of(self, request: Request[Any]) -> Attributes:
        route = request.target.route
        found = self._known.get(route)
        if found is None:
            at = urlsplit(request.origin)
            # The template, because the values in a path may be personal data.
            found = {METHOD: route.method, TEMPLATE: route.shown, "server.address": at.hostname or ""}
            port = at.port or _DEFAULT_PORTS.get(at.scheme)
            if port is not None:
                found["server.port"] = port
            if not route.label:  # a route defined by the caller is a new object in every call
                self._known[route] = found
        return found


class ConnectionSpan:
    """The span of a connection of a stream, from the attempt to connect until it is lost."""

    def __init__(self, telemetry: Telemetry, span: "Span", by_route: Attributes) -> None:
        self.span = span
        self._telemetry = telemetry
        self._by_route = by_route

    async def open(self, work: Awaitable[T]) -> T:
        """Returns the response of the service. Ends the span if there is none."""
        try:
            return await self._telemetry.run_within(self.span, work)
        except BaseException as problem:
            self._telemetry.record_failure(self.span, problem)
            self.end()
            raise

    def record_reconnect(self, reason: str, *, gap_seconds: float, attempts: int) -> None:
        """Records that this connection ends a gap, and the reason for the gap."""
        self._telemetry.record_reconnect(self._by_route | {DISCONNECT_REASON: reason}, gap_seconds=gap_seconds)
        gap: Attributes = {
            DISCONNECT_REASON: reason,
            "socialapi.stream.gap.duration": gap_seconds,
            "socialapi.stream.gap.attempts": attempts,
        }
        self.span.add_event("socialapi.stream.gap", gap)

    def end_lost(self, reason: str, problem: BaseException | None, *, received_bytes: int) -> None:
        """Ends the span with the kind of disconnect and the class of its error, unless it has already ended."""
        if not self.span.is_recording():
            return
        self.span.set_attributes({DISCONNECT_REASON: reason, "socialapi.stream.received": received_bytes})
        if problem is not None:
            self._telemetry.record_failure(self.span, problem)
        self.end()

    def end(self) -> None:
        """Ends the span. Safe to call twice."""
        if self.span.is_recording():
            self.span.end()
        self._telemetry.forget(self)


class _Instruments:
    """The counters and histograms."""

    def __init__(self, owner: Instrumentation) -> None:
        histogram, counter = owner.histogram, owner.counter
        self.request_duration = histogram(
            "http.client.request.duration", "Duration of HTTP client requests.", DURATION_BUCKETS
        )
        self.limit_wait = histogram(
            "socialapi.rate_limit.wait.duration", "How long attempts waited for a rate limit.", WAIT_BUCKETS
        )
        self.gap = histogram(
            "socialapi.stream.gap.duration", "How long a stream could not receive anything.", WAIT_BUCKETS
        )
        self.rows = counter("socialapi.job.rows", "{row}", "Rows of jobs, by outcome.")
        self.retries = counter("socialapi.request.retries", "{retry}", "Attempts that were retried, by reason.")
        self.refusals = counter(
            "socialapi.rate_limit.refusals", "{refusal}", "Responses with the status 429 Too Many Requests."
        )
        self.reconnects = counter(
            "socialapi.stream.reconnects", "{reconnect}", "Stream connections that replaced lost ones."
        )


def _reply_attributes(reply: object) -> Attributes:
    status = getattr(reply, "status", None)
    if not isinstance(status, int):
        return {}
    return {STATUS: status, ERROR_TYPE: str(status)} if status >= 400 else {STATUS: status}


def _by_route(attributes: Attributes) -> Attributes:
    return {name: attributes[name] for name in (METHOD, TEMPLATE)}


def type_of(problem: BaseException) -> str:
    """Returns the class of an error; for a stopped job, of the error that stopped it."""
    cause = problem.__cause__ if isinstance(problem, BulkError) else None
    return type(cause or problem).__name__


def _reason_of(failure: Failure) -> str:
    """Returns why an attempt is retried: its status, or that there was no usable response."""
    if failure.status is None:
        return "not_sent" if failure.executed == "no" else "no_answer"
    return str(failure.status) if failure.status >= 300 else "answer_not_accepted"
