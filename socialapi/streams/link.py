"""The link of a stream: connects, detects disconnects, waits and reconnects."""

import asyncio
import datetime
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from socialapi.errors import ApiError, DecodeError, RateLimitTooLong, SocialApiError, StreamEnded, TransportError
from socialapi.internal.statuses import NOT_EXECUTED
from socialapi.routes.route import Target
from socialapi.session.call import Call
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.session.transport import LiveReply
from socialapi.streams.backoff import LONG_LIVED_SECONDS, STEADY_SECONDS, Disconnect, Schedule, disconnect_of_refusal
from socialapi.streams.connection import Connection, StreamTimeouts
from socialapi.streams.status import Gap, SlowReading, StreamCounters, StreamState
from socialapi.wire.ndjson import LineFramer, is_whole

if TYPE_CHECKING:
    from socialapi.session.telemetry import ConnectionSpan


@attrs.define
class Outage:
    """A period without a connection: its first cause, the latest reason, the time of the next
    attempt and the number of attempts.
    """

    cause: Disconnect
    latest: Disconnect
    due: float = 0.0
    attempts: int = 0


class GiveUpTimer:
    """Bounds the time without a connection. Without a bound (None), the stream never gives up.

    The last attempt is made when that time is up. A connection without data does not restart the timer; its duration is
    merely not counted. So the stream also gives up on a service that accepts connections and hangs up.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._attempted_at: float | None = None
        self._is_last = False

    def attempted(self, now: float) -> None:
        """Records the start of an attempt."""
        self._since = now if self._since is None else self._since
        self._attempted_at = now

    def disconnected(self, now: float, lived_seconds: float, *, was_of_use: bool) -> None:
        """Records the end of a connection."""
        if was_of_use or self._since is None:
            self._since, self._attempted_at, self._is_last = now, None, False
        else:
            self._since += lived_seconds

    def due(self, now: float, wait: float) -> float | None:
        """Returns when the next attempt is due after the given wait; None if no attempt is left."""
        if self._seconds is None or self._since is None:
            return now + wait
        end = self._since + self._seconds
        if self._is_last or (self._attempted_at is not None and self._attempted_at >= end):
            return None
        self._is_last = now + wait >= end
        return max(now, end) if self._is_last else now + wait


OnGap = Callable[[Gap], Awaitable[None] | None]
OnSlow = Callable[[SlowReading], None]

logger: Final = logging.getLogger("socialapi")

LEFT_BEHIND_SECONDS: Final = 120.0
"""How long the service may count a broken connection as open."""


@attrs.frozen(kw_only=True)
class LinkOptions:
    """The callbacks for gaps and slow reading, and the time after which to give up."""

    on_gap: OnGap | None = None
    on_slow: OnSlow | None = None
    give_up_after_seconds: float | None = None


class Link:
    """Connects, reads lines, and reconnects as long as reconnecting can help.

    Every method that waits can be cancelled and called again. Meanwhile, connecting continues in a task; otherwise, a
    caller with a timeout shorter than an attempt would never connect. The stream, which interprets lines, sets
    `last_id` and the state of the `connection`.
    """

    def __init__(
        self,
        session: Session,
        target: Target[Any],
        query: Mapping[str, Any],
        call_options: CallOptions,
        options: LinkOptions,
        counters: StreamCounters,
    ) -> None:
        self._session = session
        self._target = target
        self._query = query
        self._call_options = call_options
        self._options = options
        self._counters = counters
        self._schedule = Schedule()
        self.connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._outage: Outage | None = None
        self._give_up_timer = GiveUpTimer(options.give_up_after_seconds)
        self._gap_started_at: datetime.datetime | None = None
        self._broke_at: float | None = None
        self._span: ConnectionSpan | None = None
        self.last_id: str | None = None
        self.state: StreamState = "new"

    def close(self) -> None:
        """Closes the connection and cancels attempts to connect. Safe to call twice."""
        self.state = "closed"
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
        is_connecting = self._connecting is not None and self._connecting.cancel()
        # A cancelled attempt ends its span itself, with the reason.
        if self._span is not None and (connection is not None or not is_connecting):
            self._span.end()

    async def aclose(self) -> None:
        """Closes the link like `close`, and leaves no task behind."""
        watcher = self.connection.watcher if self.connection is not None else None
        connecting = self._connecting if self._connecting is not asyncio.current_task() else None
        self.close()
        await asyncio.gather(*filter(None, (watcher, connecting)), return_exceptions=True)

    def saw_disconnect_notice(self, disconnect_notice: Disconnect) -> None:
        """Records that the service has announced the end of the connection."""
        if self.connection is not None:
            self.connection.disconnect_notice = disconnect_notice

    async def read(self) -> list[bytes]:
        """Returns the next complete lines, in order; perhaps none yet.

        Raises ApiError, StreamEnded, TransportError or RateLimitTooLong if reconnecting does not
        help, DecodeError for a line that is too long, and RuntimeError once the client is closed.
        """
        connection = self.connection
        if connection is None or self._connecting is not None:
            await self.connect()
            return []
        if connection.over is None and (lines := await self._lines_of(connection)) is not None:
            return lines
        # Otherwise, this object closed it.
        if self.connection is connection and connection.over is not None:
            self._disconnected(connection, connection.over)
        return []

    async def _lines_of(self, connection: Connection) -> list[bytes] | None:
        """Returns the next lines of the connection; closes it and returns None when there are no more."""
        before = connection.received_bytes
        try:
            # Nothing follows a disconnect notice, whether the service hangs up or not.
            lines = None if connection.disconnect_notice is not None else await connection.read()
        except TransportError as problem:
            disconnect = Disconnect(kind="network", reason=problem.reason, error=problem)
        except DecodeError as problem:
            disconnect = Disconnect(kind="final", reason=problem.reason, error=problem)
        else:
            page = None if lines == [] else connection.page(lines or ())
            if page is not None:
                disconnect = Disconnect(kind="http", reason=f"a page instead of a stream: {page}")
            elif lines is not None:
                return lines
            else:
                disconnect = Disconnect(kind="network", reason="the service closed the connection")
        finally:
            self._counters.received_bytes += connection.received_bytes - before
        connection.over = disconnect
        connection.close()
        is_ours = self.connection is connection and connection.disconnect_notice is None
        # An incomplete line is read first: it may be an event, or the reason for the end.
        return [connection.rest] if is_ours and is_whole(connection.rest) else None

    def _disconnected(self, connection: Connection, disconnect: Disconnect) -> None:
        """Handles the end of a connection: classifies it, and determines when the gap begins."""
        now, lived_seconds = self._session.clock.monotonic(), connection.lived_seconds
        self.connection = None
        if connection.disconnect_notice is not None:
            disconnect = connection.disconnect_notice
        elif connection.is_stalled:
            disconnect = attrs.evolve(
                disconnect, reason=f"no data arrived for {self._session.config.stall_seconds:g} s"
            )
        self._broke_at = now if disconnect.error is not None else None
        if connection.brought_data or lived_seconds >= LONG_LIVED_SECONDS:
            self._schedule.served(lived_seconds)
        # A connection that was silent until the stall timeout was useless; one with keep-alives was not.
        was_of_use = connection.brought_data or (connection.received_bytes > 0 and lived_seconds >= STEADY_SECONDS)
        self._give_up_timer.disconnected(now, lived_seconds, was_of_use=was_of_use)
        if not connection.brought_data and disconnect.kind == "network":
            # If a service accepts connections and closes them without data, the stream waits before it reconnects.
            disconnect = attrs.evolve(disconnect, kind="http")
        started_at = max(connection.opened_at, connection.caught_up_at - self._session.config.gap_margin_seconds)
        # If the wall clock was set back, the opening time may be later than the last reading time.
        started_at = min(connection.caught_up_at, started_at)
        self._gap_started_at = datetime.datetime.fromtimestamp(started_at, datetime.UTC)
        if self._span is not None:
            self._span.end_lost(disconnect.kind, disconnect.error, received_bytes=connection.received_bytes)
        self._schedule_reconnect(disconnect)

    def _schedule_reconnect(self, disconnect: Disconnect) -> None:
        """Records why there is no connection, and when the next attempt is due, if any."""
        self._outage = attrs.evolve(self._outage, latest=disconnect) if self._outage else Outage(disconnect, disconnect)
        self.state = "waiting"
        if disconnect.kind == "final":
            return
        now = self._session.clock.monotonic()
        wait = self._schedule.wait_seconds(disconnect, self._session.rng.random())
        due = self._give_up_timer.due(now, wait)
        error: SocialApiError
        if (
            retry_after_seconds := disconnect.retry_after_seconds
        ) is not None and retry_after_seconds > self._session.config.bulk_max_wait_seconds:
            resets_at = self._session.now() + datetime.timedelta(seconds=retry_after_seconds)
            error = RateLimitTooLong(
                self._target.limit_key(self._target.route.rate_limit), retry_after_seconds, resets_at
            )
            error.__cause__ = disconnect.error
            self._outage.latest = attrs.evolve(disconnect, kind="final", error=error)
        elif due is None:
            self._outage.latest = attrs.evolve(
                disconnect, kind="final", error=disconnect.error or TransportError(disconnect.reason)
            )
        else:
            self._outage.due = due
            shown = self._target.route.shown
            facts = self._facts | {"socialapi_wait_seconds": due - now, "socialapi_reason": disconnect.kind}
            logger.warning("%s: %s; connecting again in %.1f s", shown, disconnect.reason, due - now, extra=facts)

    async def connect(self) -> None:
        """Returns once there is a connection. Waits and retries as often as needed. Raises as `read` does."""
        if self._connecting is None:
            self._connecting = self._session.spawn(self._connect())
        connecting = self._connecting
        if not connecting.done():
            # `wait` does not cancel the task when it is cancelled itself.
            await asyncio.wait([connecting])
        self._connecting = None
        if not connecting.cancelled():
            connecting.result()
        elif self.state != "closed":
            raise RuntimeError("this client is closed")

    async def _connect(self) -> None:
        clock = self._session.clock
        while self.connection is None:
            if self._outage is not None:
                if self._outage.latest.kind == "final":
                    await self._end(self._outage.latest)
                if (left := self._outage.due - clock.monotonic()) > 0:
                    await clock.sleep(left)
                self._outage.attempts += 1
            self.state = "connecting"
            self._counters.attempts += 1
            self._give_up_timer.attempted(clock.monotonic())
            try:
                call = self._session.prepare(self._target, options=self._call_options, query=self._query)
                reply = await self._open(call)
            except TransportError as problem:
                if problem.may_be_executed:
                    self._broke_at = clock.monotonic()
                self._schedule_reconnect(Disconnect(kind="network", reason=problem.reason, error=problem))
            except RateLimitTooLong as problem:
                reason, retry_after_seconds = "the rate limit is used up", problem.wait_seconds
                self._schedule_reconnect(
                    Disconnect(kind="rate_limit", reason=reason, error=problem, retry_after_seconds=retry_after_seconds)
                )
            except ApiError as refusal:
                self._schedule_reconnect(self._refused(refusal))
            else:
                config = self._session.config
                self.connection = Connection(
                    reply,
                    LineFramer(config.max_line_bytes),
                    self._session.clock,
                    StreamTimeouts(stall_seconds=config.stall_seconds, slow_seconds=config.slow_reader_seconds),
                    self._slow,
                )
                self.connection.start(self._session.spawn)
                self.state = "connected"
                self._counters.connections += 1
                logger.info("%s: connected", self._target.route.shown, extra=self._facts)
                await self._report_gap(self._session.now())

    async def _open(self, call: Call[Any]) -> LiveReply:
        opening = self._session.open(call, answer_seconds=self._session.config.stall_seconds)
        if self._session.telemetry is None:
            return await opening
        self._span = self._session.telemetry.connection(call.request, self._span)
        return await self._span.open(opening)

    @property
    def _facts(self) -> dict[str, object]:
        """The attributes of log records of this stream."""
        return {"socialapi_method": self._target.route.method, "socialapi_route": self._target.route.shown}

    def _refused(self, refusal: ApiError) -> Disconnect:
        retry_after_seconds = (
            self._session.retry_after_seconds(refusal.headers) if refusal.status in NOT_EXECUTED else None
        )
        now = self._session.clock.monotonic()
        left_behind = self._broke_at is not None and now - self._broke_at < LEFT_BEHIND_SECONDS
        return disconnect_of_refusal(refusal, retry_after_seconds, left_behind=left_behind)

    async def _end(self, disconnect: Disconnect) -> NoReturn:
        problems = [disconnect.problem] if disconnect.problem is not None else []
        error = disconnect.error or StreamEnded(200, problems=problems, summary=disconnect.reason)
        try:
            await self._report_gap(None)
        except Exception as another:  # noqa: BLE001  # it becomes the context of the error raised
            # An error of the application's callback must not hide the error that ended the stream.
            error.add_note(f"on_gap raised {type(another).__name__}")
            raise error  # noqa: B904
        raise error

    async def _report_gap(self, ended_at: datetime.datetime | None) -> None:
        """Reports the gap that has ended. There is no gap before the first connection."""
        over, started_at = self._outage, self._gap_started_at
        self._outage = self._gap_started_at = None
        if over is None or started_at is None:
            return
        self._counters.gaps += 1
        if ended_at is not None and self._span is not None:
            seconds = max(0.0, (ended_at - started_at).total_seconds())
            self._span.record_reconnect(over.cause.kind, gap_seconds=seconds, attempts=over.attempts)
        gap = Gap(
            started_at=started_at,
            ended_at=ended_at,
            reason=over.cause.reason,
            after_id=self.last_id,
            problem=over.cause.problem,
            attempts=over.attempts,
        )
        if self._options.on_gap is not None:
            result = self._options.on_gap(gap)
            if inspect.isawaitable(result):
                await result

    def _slow(self, reading: SlowReading) -> None:
        why = {
            "consumer": "the application has not requested the next event",
            "throughput": "events arrive faster than they are processed",
        }[reading.waiting_for]
        shown = self._target.route.shown
        logger.warning(
            "%s: read too slowly for %.0f s (%s); slow readers are cut off",
            shown,
            reading.seconds,
            why,
            extra=self._facts | {"socialapi_reason": reading.waiting_for},
        )
        try:
            if self._options.on_slow is not None:
                self._options.on_slow(reading)
        except Exception:
            logger.exception("on_slow failed", extra=self._facts)
