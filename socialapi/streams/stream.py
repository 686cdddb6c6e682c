"""A persistent stream as an application sees it: an async iterator of what the service sends."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, cast, get_args

from socialapi.errors import SocialApiError
from socialapi.models.events import ActivityEvent, MatchedPost, Streamed, StreamNotice, Undecoded
from socialapi.routes.route import Target
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session
from socialapi.streams.link import Link, LinkOptions
from socialapi.streams.status import StreamCounters, StreamState
from socialapi.wire.events import LINE_READERS
from socialapi.wire.reconnect import drop_of_problems

T = TypeVar("T")

REMEMBERED_IDS: Final = 10_000
"""Ids of what was handed out last, with which a backfill is compared."""


class Stream(Generic[T]):
    """What the service sends, for weeks: `async with stream:` connects, `async for item in stream:` goes on.

    Items are of type `T`. A line that this version cannot read comes as `Undecoded`, and what the service says beside
    events as `StreamNotice`. A lost connection is replaced: at once the first time, then after waits that grow (to 16
    seconds after network errors, 320 after refusals, 16 minutes after a 429). Each time in which nothing could arrive
    is a `Gap`, which `on_gap` is told when it is over, before the first item behind it. Nothing is buffered beyond what
    a connection buffers: who reads slowly slows the service down, and is warned. `state` and `counters` tell how it is
    doing.

    Iterating raises ApiError where the service refuses for good (credentials, too many connections), StreamEnded where
    it says so on an open stream, TransportError or ServerError when `give_up_after_seconds` have passed without a
    connection, and DecodeError for a line beyond `Config.max_line_bytes`. `anext(stream)` may be cancelled, by a timeout
    for example, and called again: nothing is lost.
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
        """What a line is to the consumer; None for a keep-alive, a farewell, and what was handed out before."""
        if not line:
            self.counters.keep_alives += 1
            return None
        item, is_data = self._read_line(line), True
        kind = item.__class__
        if kind is StreamNotice:
            farewell = drop_of_problems(item.problems)
            if farewell is not None:
                self._link.saw_farewell(farewell)
                return None
            is_data = False
        elif kind is Undecoded:
            self.counters.undecoded += 1
        else:
            item_id = item.data.id if kind is MatchedPost else cast("ActivityEvent", item).event_id
            if item_id is not None and self._seen is not None and self._is_repeated(item_id):
                self.counters.repeated += 1
                return None
            self._link.last_id = item_id or self._link.last_id
        self._link.saw_item(is_data=is_data)
        self.counters.items += 1
        return cast("T | StreamNotice | Undecoded", item)

    def _is_repeated(self, item_id: str) -> bool:
        assert self._seen is not None
        if item_id in self._seen:
            return True
        self._seen[item_id] = None
        if len(self._seen) > REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return False
