"""The in-memory queue of accepted events that wait to be handled, and the types shared with the inbox on disk."""

import asyncio
from collections import OrderedDict, deque
from typing import Final, Literal

import attrs

from socialapi.internal.fairness import yield_if_due
from socialapi.webhooks.dead_letters import DeadLetters

Outcome = Literal["new", "duplicate", "full"]
"""The outcome of adding an event. An event with the outcome `full` is not remembered, so it can be sent again."""


MAX_QUEUED_BYTES: Final = 64_000_000
"""The maximum total size of the events that wait in memory. A single event may be larger."""


@attrs.frozen
class QueuedEvent:
    """The body of an event, and the number that identifies it to `finish`."""

    number: int
    content: bytes = attrs.field(repr=False)


class OneLoop:
    """Binds an object to one event loop, because asyncio cannot wake tasks in another loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_for_good = False

    def enter(self, *, for_good: bool = False) -> None:
        """Binds to the running loop.

        Raises RuntimeError if it was bound to a different loop, unless that loop is closed and the binding was
        temporary.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None or (self._loop.is_closed() and not self._is_for_good):
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(
                "the receiver is already used in another event loop, and can be used in only one: create one for each "
                "application, and one application for each test; from other threads, call "
                "asyncio.run_coroutine_threadsafe(receiver.handle(...), loop).result()"
            )
        self._is_for_good |= for_good


class MemoryStore:
    """A bounded queue in memory. After the end, remaining events can still be taken."""

    def __init__(self, *, max_queue: int, dedup_window: int) -> None:
        self._loop = OneLoop()
        self._max_queue = max_queue
        self._dedup_window = dedup_window
        self._queue: deque[QueuedEvent] = deque()
        self._queued_bytes = 0
        self._seen: OrderedDict[bytes, None] = OrderedDict()  # the oldest first
        self._number = 0
        self._finished = 0
        self._stopped = False
        self._changed = asyncio.Event()  # set while an event can be taken, and after the end

    @property
    def waiting(self) -> int:
        """The number of stored events that are not finished."""
        return self._number - self._finished

    @property
    def is_accepting(self) -> bool:
        """Whether the queue is still accepting events; False once it is stopped."""
        return not self._stopped

    async def open(self) -> None:
        """Binds the queue to this event loop. There is nothing to open."""
        self._loop.enter(for_good=True)

    def start(self) -> None:
        """Only checks the event loop, because there is nothing to open."""
        self._loop.enter()

    async def add(self, identity: bytes | None, content: bytes) -> Outcome:
        """Adds an event unless one with its identity exists. Returns the outcome."""
        self._loop.enter()
        if identity is not None and identity in self._seen:
            return "duplicate"
        if self._stopped or len(self._queue) >= self._max_queue:
            return "full"
        if self._queue and self._queued_bytes + len(content) > MAX_QUEUED_BYTES:
            return "full"
        self._number += 1
        self._queued_bytes += len(content)
        self._queue.append(QueuedEvent(self._number, content))
        self._changed.set()
        if identity is not None:
            self._seen[identity] = None
            if len(self._seen) > self._dedup_window:
                self._seen.popitem(last=False)
        return "new"

    async def take(self, taker: "asyncio.Task[object] | None" = None) -> QueuedEvent | None:
        """Returns the next event once there is one; None after the end."""
        self._loop.enter()
        await yield_if_due()
        while not self._queue:
            if self._stopped:
                return None
            await self._changed.wait()
        event = self._queue.popleft()
        self._queued_bytes -= len(event.content)
        if not self._queue and not self._stopped:
            self._changed.clear()
        return event

    def finish(self, number: int) -> bool:
        """Counts the event as finished. Returns True."""
        self._finished += 1
        return True

    def fail(self, number: int) -> None:
        """Does nothing, because no event is delivered again."""

    def dead_letters(self) -> DeadLetters:
        """Returns no events: none is delivered again, so none is put aside."""
        return DeadLetters(None)

    def stop(self) -> None:
        """Stops adding events. Waiting events can still be taken."""
        self._stopped = True
        self._changed.set()

    async def aclose(self, *, failing: "asyncio.Task[object] | None" = None) -> None:
        """Stops adding events."""
        self.stop()
