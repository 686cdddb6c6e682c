"""The `Stream`: an async iterator over the items of a persistent stream."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, get_args

from socialapi.errors import SocialApiError
from socialapi.internal.fairness import BUDGET_SECONDS, is_due, yield_to_others
from socialapi.internal.notebook import asynchronous
from socialapi.models.events import MatchedPost, Streamed, StreamNotice
from socialapi.models.undecoded import Undecoded
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.streams.backoff import disconnect_of_problems
from socialapi.streams.handlers import call_handler, check_handler
from socialapi.streams.link import Link, LinkOptions
from socialapi.streams.status import StreamCounters, StreamState
from socialapi.wire.events import LINE_READERS, NO_EVENT_ID, checked_paths, identity_of_item

T = TypeVar("T")

REMEMBERED_IDS: Final = 100_000
"""How many of the last ids are remembered, to recognize repeated items."""
MAX_LINES_PER_CHECK: Final = 128
"""The maximum number of lines read before the next check of the event loop's budget."""
QUICK_SECONDS: Final = BUDGET_SECONDS / 4
"""If the last lines took less time than this, the stream reads twice as many before the next check. If they took at
least twice as long, it reads one.
"""
READ_BY_ANOTHER: Final = "another task is reading this stream, and only one task can: connect a second stream"

logger: Final = logging.getLogger("socialapi")


class Stream(Generic[T]):
    """A persistent stream. `async with stream:` connects, `async for item in stream:` iterates.

    Items are of type `T`. Lines that could not be decoded are returned as `Undecoded`, and notices of the service as
    `StreamNotice`. `run` passes each item to a function instead, for a task that does nothing else.

    The stream replaces a lost connection, immediately the first time, then after growing waits (up to 16 seconds after
    network errors, 320 seconds after rejections, 16 minutes after a 429). Each period in which nothing could arrive is
    a `Gap`, passed to `on_gap` when it is over, before the first item after it.

    Only the buffers of the connection fill up: a slow reader slows the service down, and the stream logs a warning.
    Errors in `on_slow` are logged. Errors in `on_gap` are raised by the iteration, which can be continued. `state` and
    `counters` show what the stream is doing.

    Entering and iterating raise

    - ApiError if the service permanently rejects the connection (credentials, too many connections);
    - StreamEnded if it does so on an open stream;
    - RateLimitTooLong if it asks for a wait beyond `Config.bulk_max_wait_seconds`;
    - the error of the last attempt (TransportError, ApiError or RateLimitTooLong) after
      `give_up_after_seconds` without a connection, or TransportError if the service accepts
      connections and hangs up;
    - DecodeError for a line beyond `Config.max_line_bytes`, after the items before it;
    - InvalidInput for invalid parameters, ConfigurationError if a host or credential is missing,
      and RuntimeError once the client is closed or while another task waits for the next item.

    `anext(stream)` may be cancelled, by a timeout for example, and called again without losing
    items. Even if many lines have arrived, other tasks run every few milliseconds.

    The stream drops repeated items if you request a backfill or pass `event_id_paths`. It recognizes them by the id of
    the post, or of the event at these paths. It returns an event without an id, and logs a warning once.
    """

    def __init__(
        self,
        session: Session,
        target: Target[Streamed[T]],
        query: Mapping[str, Any],
        call_options: CallOptions,
        options: LinkOptions,
        *,
        event_id_paths: str | Sequence[str] | None = None,
    ) -> None:
        self.counters: StreamCounters = StreamCounters()
        self._link = Link(session, target, query, call_options, options, self.counters)
        (kind,) = get_args(target.route.result)
        self._read_line: Callable[[bytes, Sequence[str] | None], Any] = LINE_READERS[kind]
        self._shown = target.route.shown
        self._addresses = session.config.addresses
        self._lines: list[bytes] = []  # in reverse order
        self._paths = checked_paths(event_id_paths)
        is_compared = bool(query.get("backfill_minutes")) or self._paths is not None
        self._seen: OrderedDict[str, None] | None = OrderedDict() if is_compared else None
        self._has_warned = False
        self._is_waiting = False
        self._is_running = False
        self._lines_per_check = 1
        self._unchecked = 1  # lines that may be read before the next check
        self._checked_at = 0.0  # 0 after other tasks have run

    def __repr__(self) -> str:
        items = f"{self.counters.items:,} item{'' if self.counters.items == 1 else 's'}"
        return f"<Stream of {self._shown} at {self._addresses}: {self.state}, {items}>"

    if not TYPE_CHECKING:  # type checkers already know that a stream is not iterable
        __iter__ = __getitem__ = asynchronous(
            "stream", "use `async with stream:`, and in it `async for item in stream:`"
        )

    @property
    def state(self) -> StreamState:
        """The state: new, connecting, connected, waiting for the next attempt, or closed."""
        return self._link.state

    async def __aenter__(self) -> Self:
        if self._link.state != "new":
            raise RuntimeError("a stream can be entered only once; create another one from the client")
        try:
            await self._link.connect()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connection and ends the iteration. Safe to call twice."""
        self._lines.clear()
        await self._link.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T | StreamNotice | Undecoded:
        """Returns the next item, waiting until there is one."""
        while True:
            while self._lines and self._unchecked:
                self._unchecked -= 1
                item = self._take(self._lines.pop())
                if item is not None:
                    return item
            if self._lines:
                self._adapt()
                if is_due():
                    # Before an item is taken, because a cancellation could lose it.
                    await yield_to_others()
                    self._checked_at = 0.0
                continue
            if self._link.state == "closed":
                raise StopAsyncIteration
            if self._link.state == "new":
                raise RuntimeError("a stream is connected by `async with stream:`")
            self._lines = await self._read()
            # The budget has to start before the first of many lines.
            self._unchecked = self._lines_per_check if len(self._lines) <= self._lines_per_check else 0
            self._checked_at = 0.0

    async def _read(self) -> list[bytes]:
        """Returns the next lines in reverse order."""
        if self._is_waiting:
            raise RuntimeError(READ_BY_ANOTHER)
        self._is_waiting = True
        try:
            lines = await self._link.read()
        except SocialApiError:
            self._link.close()
            raise
        finally:
            self._is_waiting = False
        lines.reverse()
        return lines

    async def run(self, handler: Callable[[T | StreamNotice | Undecoded], Awaitable[object] | object]) -> None:
        """Passes every item to `handler`, a function or an async function, until it is cancelled.

        Connects the stream if it is new, and closes it at the end. Raises the errors of the iteration and of the
        handler, so that a task of a TaskGroup never ends unnoticed. Raises InvalidInput if `handler` is not a function.
        Raises RuntimeError while another task reads the stream, and leaves it open. Returns only after `aclose`.
        """
        check_handler("handler", handler)
        if self._is_waiting or self._is_running:
            raise RuntimeError(READ_BY_ANOTHER)
        self._is_running = True
        try:
            if self._link.state == "new":
                await self.__aenter__()
            async for item in self:
                await call_handler(handler, item)
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    # Raises a pending cancellation now, even if more items have already arrived.
                    await asyncio.sleep(0)
        finally:
            self._is_running = False
            await self.aclose()

    def _adapt(self) -> None:
        """Sets how many lines are read before the next check, from the time that the last lines took."""
        now = monotonic()
        if self._checked_at:
            took = now - self._checked_at
            if took < QUICK_SECONDS:
                self._lines_per_check = min(2 * self._lines_per_check, MAX_LINES_PER_CHECK)
            elif took >= 2 * QUICK_SECONDS:
                self._lines_per_check = 1
        self._checked_at = now
        self._unchecked = self._lines_per_check

    def _take(self, line: bytes) -> T | StreamNotice | Undecoded | None:
        """Returns the item in a line.

        Returns None for a keep-alive, for a notice that only announces the end of the connection,
        and for a repeated item.
        """
        if not line:
            self.counters.keep_alives += 1
            return None
        item: Any = self._read_line(line, self._paths)
        kind = item.__class__
        if kind is MatchedPost and self._seen is None:
            self._link.last_id = item.data.id or self._link.last_id
        elif kind is StreamNotice:
            return self._notice(item)
        elif kind is Undecoded:
            if not line.strip():  # a keep-alive that consists of blanks
                self.counters.keep_alives += 1
                return None
            self.counters.undecoded += 1
        else:
            if self._is_repeated(item):
                self.counters.repeated += 1
                return None
            item_id = item.data.id if kind is MatchedPost else item.event_id
            self._link.last_id = item_id or self._link.last_id
        self.counters.items += 1
        if (connection := self._link.connection) is not None:
            connection.is_in_use = connection.brought_data = True
        taken: T | Undecoded = item
        return taken

    def _notice(self, notice: StreamNotice) -> StreamNotice | None:
        """Returns a notice without its disconnect notice, which is reported with the gap; None if nothing is left."""
        disconnect_notice = disconnect_of_problems(notice.problems)
        if disconnect_notice is not None:
            self._link.saw_disconnect_notice(disconnect_notice)
            others = tuple(each for each in notice.problems if each is not disconnect_notice.problem)
            if not others:
                return None
            notice = StreamNotice(others, notice.content)
        self.counters.items += 1
        if self._link.connection is not None:
            self._link.connection.is_in_use = True
        return notice

    def _is_repeated(self, item: Any) -> bool:
        """Returns whether the item was already returned; False if repeated items are not dropped."""
        identity = identity_of_item(item, self._paths)
        if identity is None and not self._has_warned:
            self._has_warned = True
            logger.warning("%s: %s", self._shown, NO_EVENT_ID, extra={"socialapi_route": self._shown})
        if identity is None or self._seen is None:
            return False
        if identity in self._seen:
            # The next backfill may deliver it again.
            self._seen.move_to_end(identity)
            return True
        self._seen[identity] = None
        if len(self._seen) > REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return False
