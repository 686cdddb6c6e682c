"""A persistent stream as an application sees it: an async iterator of what the service sends."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, get_args

from socialapi.errors import SocialApiError
from socialapi.models.events import MatchedPost, Streamed, StreamNotice
from socialapi.models.pages import Undecoded
from socialapi.routes.route import Target
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.streams.link import Link, LinkOptions
from socialapi.streams.status import StreamCounters, StreamState
from socialapi.wire.events import LINE_READERS, identity_of_item
from socialapi.wire.reconnect import drop_of_problems

T = TypeVar("T")

REMEMBERED_IDS: Final = 100_000
"""Ids of what came last, with which a backfill is compared."""


class Stream(Generic[T]):
    """What the service sends, for weeks: `async with stream:` connects, `async for item in stream:` goes on.

    Items are of type `T`. A line that this version cannot read comes as `Undecoded`, and what the service says beside
    events as `StreamNotice`. A lost connection is replaced: at once the first time, then after waits that grow (to 16
    seconds after network errors, 320 after refusals, 16 minutes after a 429). Each time in which nothing could arrive
    is a `Gap`, which `on_gap` is told when it is over, before the first item behind it. Nothing is buffered beyond what
    a connection buffers: who reads slowly slows the service down, and is warned. What `on_slow` raises is logged, what
    `on_gap` raises comes out of the iteration, which can go on. `state` and `counters` tell how it is doing.

    Entering and iterating raise

    - ApiError where the service refuses for good (credentials, too many connections);
    - StreamEnded where it says so on an open stream;
    - RateLimitTooLong where it asks for a wait beyond `Config.bulk_max_wait_seconds`;
    - when `give_up_after_seconds` have passed without a connection, and the last attempt, made at their end, failed too:
      what that raised (TransportError, ApiError or RateLimitTooLong), or TransportError where the service accepts
      connections and hangs up;
    - DecodeError for a line beyond `Config.max_line_bytes`, once what came before it was handed out;
    - InvalidInput for parameters that break rules, ConfigurationError where a host or credential is missing, and
      RuntimeError once the client is closed.

    `anext(stream)` may be cancelled, by a timeout for example, and called again: nothing is lost.
    """

    def __init__(
        self,
        session: Session,
        target: Target[Streamed[T]],
        query: Mapping[str, Any],
        call_options: CallOptions,
        options: LinkOptions,
    ) -> None:
        self.counters = StreamCounters()
        self._link = Link(session, target, query, call_options, options, self.counters)
        (kind,) = get_args(target.route.result)
        self._read_line: Callable[[bytes], Any] = LINE_READERS[kind]
        self._lines: list[bytes] = []  # the next one last
        self._seen: OrderedDict[str, None] | None = OrderedDict() if query.get("backfill_minutes") else None

    @property
    def state(self) -> StreamState:
        """What it is doing: new, connecting, connected, waiting for the next attempt, or closed."""
        return self._link.state

    async def __aenter__(self) -> Self:
        if self._link.state != "new":
            raise RuntimeError("a stream is entered once; ask the client for another")
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
        """Closes the connection; the iteration is over. Idempotent."""
        self._lines.clear()
        await self._link.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T | StreamNotice | Undecoded:
        """The next item; waits for it as long as it takes."""
        while True:
            while self._lines:
                item = self._take(self._lines.pop())
                if item is not None:
                    return item
            if self._link.state == "closed":
                raise StopAsyncIteration
            if self._link.state == "new":
                raise RuntimeError("a stream is connected by `async with stream:`")
            try:
                lines = await self._link.read()
            except SocialApiError:
                self._link.close()
                raise
            lines.reverse()
            self._lines = lines

    def _take(self, line: bytes) -> T | StreamNotice | Undecoded | None:
        """What a line is to the consumer; None for a keep-alive, a mere farewell, and what was handed out before."""
        if not line:
            self.counters.keep_alives += 1
            return None
        item: Any = self._read_line(line)
        kind = item.__class__
        if kind is StreamNotice:
            return self._notice(item)
        if kind is Undecoded:
            self.counters.undecoded += 1
        else:
            if self._seen is not None and self._is_repeated(identity_of_item(item)):
                self.counters.repeated += 1
                return None
            self._link.last_id = (item.data.id if kind is MatchedPost else item.event_id) or self._link.last_id
        self._link.saw_item(is_data=True)
        self.counters.items += 1
        taken: T | Undecoded = item
        return taken

    def _notice(self, notice: StreamNotice) -> StreamNotice | None:
        """What is left of a notice without a farewell, which is told with the gap."""
        farewell = drop_of_problems(notice.problems)
        if farewell is not None:
            self._link.saw_farewell(farewell)
            others = tuple(each for each in notice.problems if each is not farewell.problem)
            if not others:
                return None
            notice = StreamNotice(others, notice.content)
        self._link.saw_item(is_data=False)
        self.counters.items += 1
        return notice

    def _is_repeated(self, identity: str | None) -> bool:
        if self._seen is None or identity is None:
            return False
        if identity in self._seen:
            # The next backfill may bring it once more.
            self._seen.move_to_end(identity)
            return True
        self._seen[identity] = None
        if len(self._seen) > REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return False
