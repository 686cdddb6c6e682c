"""The link of a stream to the service: one connection after another, with the waits and the gaps between them."""

import asyncio
import datetime
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn

import attrs

from socialapi.errors import ApiError, RateLimitTooLong, StreamEnded, TransportError
from socialapi.routes.route import Target
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.session.transport import LiveReply
from socialapi.streams.connection import Connection, Patience
from socialapi.streams.status import Gap, SlowReading, StreamCounters, StreamState
from socialapi.wire.framing import LineFramer, is_whole
from socialapi.wire.limits import told_wait_seconds
from socialapi.wire.reconnect import Drop, Schedule, drop_of_refusal

OnGap = Callable[[Gap], Awaitable[None] | None]
OnSlow = Callable[[SlowReading], None]

logger: Final = logging.getLogger("socialapi")

LEFT_BEHIND_SECONDS: Final = 120.0
"""How long the service may take to notice that a connection of ours is gone, and count it among those we have."""


@attrs.frozen(kw_only=True)
class LinkOptions:
    """Whom a link tells about gaps and about being read too slowly, and how long it tries to connect."""

    on_gap: OnGap | None = None
    on_slow: OnSlow | None = None
    give_up_after_seconds: float | None = None


@attrs.define
class _Break:
    """The time without a connection that goes on: by what it began, why it goes on (the latest reason), since when, and
    when the next attempt is.
    """

    cause: Drop
    drop: Drop
    since: float
    due: float = 0.0
    attempts: int = 0


class Link:
    """Connects, reads lines, and connects again for as long as that can help.

    Whatever is cancelled while it waits can be called again. Connecting goes on meanwhile, in a task: somebody who waits
    with a timeout that is shorter than an attempt would never be connected otherwise. `last_id` and what was seen on the
    connection are told by the stream, which knows what a line means.
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
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._break: _Break | None = None
        self._gap_started_at: datetime.datetime | None = None
        self._farewell: Drop | None = None
        self._broke_at: float | None = None
        self.last_id: str | None = None
        self.state: StreamState = "new"

    def close(self) -> None:
        """Closes the connection, and ends the attempts to get one. Idempotent."""
        self.state = "closed"
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._connecting is not None:
            self._connecting.cancel()

    async def aclose(self) -> None:
        """As `close`; leaves no task behind."""
        watcher = self._connection.watcher if self._connection is not None else None
        connecting = self._connecting if self._connecting is not asyncio.current_task() else None
        self.close()
        await asyncio.gather(*filter(None, (watcher, connecting)), return_exceptions=True)

    def saw_item(self, *, is_data: bool) -> None:
        """Something that is no keep-alive is handed out."""
        connection = self._connection
        if connection is not None:
            connection.is_in_use = True
            connection.brought_data = connection.brought_data or is_data

    def saw_farewell(self, farewell: Drop) -> None:
        """The service has said that and why it is going to end the connection."""
        self._farewell = farewell

    async def read(self) -> list[bytes]:
        """The next complete lines, in order; there may be none yet.

        Raises ApiError, StreamEnded, TransportError or RateLimitTooLong when connecting again does not help, and
        DecodeError for a line that is too long.
        """
        connection = self._connection
        if connection is None or self._connecting is not None:
            await self.connect()
            return []
        before = connection.received_bytes
        try:
            lines = await connection.read()
        except TransportError as problem:
            drop = Drop(kind="network", reason=problem.reason, error=problem)
        else:
            self._counters.received_bytes += connection.received_bytes - before
            if lines is not None:
                return lines
            drop = Drop(kind="network", reason="the service closed the connection")
        if self._connection is not connection:
            return []  # closed by us
        self._disconnected(connection, drop)
        connection.close()
        return [connection.rest] if is_whole(connection.rest) else []

    def _disconnected(self, connection: Connection, drop: Drop) -> None:
        """The connection is over: what that means, and since when something may be missing."""
        now = self._session.clock.monotonic()
        self._connection = None
        if self._farewell is not None:
            drop, self._farewell = self._farewell, None
        elif connection.is_stalled:
            drop = attrs.evolve(drop, reason=f"nothing came for {self._session.config.stall_seconds:g} s")
        self._broke_at = now if drop.error is not None else None
        if connection.brought_data:
            self._schedule.served(connection.lived_seconds)
        elif drop.kind == "network":
            # Accepted, and closed without data: a service that does so is not well, and is not asked again at once.
            drop = attrs.evolve(drop, kind="http")
        self._gap_started_at = datetime.datetime.fromtimestamp(connection.caught_up_at, datetime.UTC)
        self._dropped(drop)

    def _dropped(self, drop: Drop) -> None:
        """There is no connection, for this reason: when the next attempt is due, or that there is none."""
        now = self._session.clock.monotonic()
        self._break = attrs.evolve(self._break, drop=drop) if self._break else _Break(drop, drop, since=now)
        self.state = "waiting"
        if drop.kind == "final":
            return
        wait = self._schedule.wait_seconds(drop, self._session.rng.random())
        self._break.due = now + wait
        patience = self._options.give_up_after_seconds
        told = drop.told_wait_seconds
        if told is not None and told > self._session.config.bulk_max_wait_seconds:
            resets_at = self._session.now() + datetime.timedelta(seconds=told)
            error = RateLimitTooLong(self._target.limit_key(self._target.route.rate_limit), told, resets_at)
            error.__cause__ = drop.error
            self._break.drop = attrs.evolve(drop, kind="final", error=error)
        elif patience is not None and self._break.due - self._break.since > patience:
            self._break.drop = attrs.evolve(drop, kind="final")
        else:
            shown = self._target.route.shown
            logger.warning("%s: %s; connecting again in %.1f s", shown, drop.reason, wait)

    async def connect(self) -> None:
        """Returns once there is a connection, after as many attempts and waits as it takes."""
        if self._connecting is None:
            self._connecting = self._session.spawn(self._connect())
        connecting = self._connecting
        if not connecting.done():
            await asyncio.wait([connecting])  # which leaves the task alone when it is cancelled
        self._connecting = None
        if not connecting.cancelled():
            connecting.result()
        elif self.state != "closed":
            raise RuntimeError("this client is closed")

    async def _connect(self) -> None:
        clock = self._session.clock
        while self._connection is None:
            if self._break is not None:
                if self._break.drop.kind == "final":
                    await self._end(self._break.drop)
                if (left := self._break.due - clock.monotonic()) > 0:
                    await clock.sleep(left)
                self._break.attempts += 1
            self.state = "connecting"
            self._counters.attempts += 1
            try:
                reply = await self._session.open(
                    self._target,
                    options=self._call_options,
                    query=self._query,
                    answer_seconds=self._session.config.stall_seconds,
                )
            except TransportError as problem:
                if problem.may_be_executed:
                    self._broke_at = clock.monotonic()
                self._dropped(Drop(kind="network", reason=problem.reason, error=problem))
            except RateLimitTooLong as problem:
                reason, told = "the rate limit is used up", problem.wait_seconds
                self._dropped(Drop(kind="rate_limit", reason=reason, error=problem, told_wait_seconds=told))
            except ApiError as refusal:
                self._dropped(self._refused(refusal))
            else:
                self._connected(reply)
                await self._report_gap(self._session.now())

    def _refused(self, refusal: ApiError) -> Drop:
        clock, prefixes = self._session.clock, self._session.config.rate_limit_header_prefixes
        told = told_wait_seconds(refusal.headers, prefixes, clock.time()) if refusal.status in (429, 503) else None
        left_behind = self._broke_at is not None and clock.monotonic() - self._broke_at < LEFT_BEHIND_SECONDS
        return drop_of_refusal(refusal, told, left_behind=left_behind)

    def _connected(self, reply: LiveReply) -> None:
        config = self._session.config
        self._connection = Connection(
            reply,
            LineFramer(config.max_line_bytes),
            self._session.clock,
            Patience(stall_seconds=config.stall_seconds, slow_seconds=config.slow_reader_seconds),
            self._slow,
        )
        self._connection.start(self._session.spawn)
        self.state = "connected"
        self._counters.connections += 1
        logger.info("%s: connected", self._target.route.shown)

    async def _end(self, drop: Drop) -> NoReturn:
        await self._report_gap(None)
        if drop.error is not None:
            raise drop.error
        problems = [drop.problem] if drop.problem is not None else []
        raise StreamEnded(200, problems=problems, summary=drop.reason)

    async def _report_gap(self, ended_at: datetime.datetime | None) -> None:
        """Before the first connection there is no gap: nothing was promised."""
        over, started_at = self._break, self._gap_started_at
        self._break = self._gap_started_at = None
        if over is None or started_at is None:
            return
        self._counters.gaps += 1
        gap = Gap(
            started_at=started_at,
            ended_at=ended_at,
            reason=over.cause.reason,
            after_id=self.last_id,
            problem=over.cause.problem,
            attempts=over.attempts,
        )
        if self._options.on_gap is not None:
            told = self._options.on_gap(gap)
            if inspect.isawaitable(told):
                await told

    def _slow(self, reading: SlowReading) -> None:
        why = {
            "consumer": "the application has not asked for the next event",
            "throughput": "events come faster than they are processed",
        }[reading.waiting_for]
        shown = self._target.route.shown
        logger.warning("%s: read too slowly for %.0f s (%s); slow readers are cut off", shown, reading.seconds, why)
        if self._options.on_slow is not None:
            self._options.on_slow(reading)
