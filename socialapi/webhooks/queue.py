"""Where events wait between the answer to the service and the program that handles them."""

import asyncio
from collections import OrderedDict, deque
from typing import Final, Literal, Protocol

import attrs

Outcome = Literal["new", "duplicate", "full"]
"""What becomes of an event that arrives. One that is `full` is not remembered, so it may be sent again."""


MOST_QUEUED_BYTES: Final = 64_000_000
"""How large all events together may be that wait in memory, unless it is one alone."""
MOST_IN_A_TURN: Final = 64
"""How many events are taken one after another before others get their turn on the event loop."""


@attrs.frozen
class Waiting:
    """The body of an event, and the number under which it is finished."""

    number: int
    content: bytes = attrs.field(repr=False)


class OneLoop:
    """The event loop that something is used in: asyncio wakes up nobody who waits in another one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_for_good = False

    def enter(self, *, for_good: bool = False) -> None:
        """Notes the running loop. Raises RuntimeError if it has been another one, unless that is closed and was not
        entered for good.
        """
        loop = asyncio.get_running_loop()
        if self._loop is None or (self._loop.is_closed() and not self._is_for_good):
            self._loop = loop
        elif self._loop is not loop:
            raise RuntimeError(
                "the receiver is used in another event loop already, and can be used in one only; from other threads call"
                " asyncio.run_coroutine_threadsafe(receiver.handle(...), loop).result()"
            )
        self._is_for_good |= for_good


class Store(Protocol):
    """Holds events in their order. What is awaited raises RuntimeError in another event loop than the first one."""

    @property
    def waiting(self) -> int:
        """How many events are kept and not finished."""

    async def open(self) -> None:
        """Makes it ready. Idempotent. Raises ConfigurationError, and RuntimeError after the end."""

    def start(self) -> None:
        """Begins to make it ready where nobody has. Returns at once; a failure is logged, and tried again later."""

    async def add(self, identity: bytes | None, content: bytes) -> Outcome:
        """Keeps an event, once for each identity; always if it has none."""

    async def take(self) -> Waiting | None:
        """The next event, once there is one; None after the end. Nothing is lost when the caller is cancelled."""

    def finish(self, number: int) -> bool:
        """The event need not be handed out again; whether this can still be kept."""

    def stop(self) -> None:
        """Nothing is added any more."""

    async def aclose(self) -> None:
        """Stops, and keeps what is to be kept. Idempotent."""


class MemoryStore:
    """A bounded queue of this process, gone with it. After the end it is emptied first."""

    def __init__(self, *, max_queue: int, dedup_window: int) -> None:
        self._loop = OneLoop()
        self._max_queue = max_queue
        self._dedup_window = dedup_window
        self._queue: deque[Waiting] = deque()
        self._queued_bytes = 0
        self._seen: OrderedDict[bytes, None] = OrderedDict()  # the oldest first
        self._number = 0
        self._finished = 0
        self._stopped = False
        self._taken = 0  # since others had their turn
        self._changed = asyncio.Event()  # set while there is something to take, and after the end

    @property
    def waiting(self) -> int:
        """How many events are kept and not finished."""
        return self._number - self._finished

    async def open(self) -> None:
        """There is nothing to open, but it belongs to this event loop from now on."""
        self._loop.enter(for_good=True)

    def start(self) -> None:
        """There is nothing to open."""
        self._loop.enter()

    async def add(self, identity: bytes | None, content: bytes) -> Outcome:
        """Keeps an event, once for each identity; always if it has none."""
        self._loop.enter()
        if identity is not None and identity in self._seen:
            return "duplicate"
        if self._stopped or len(self._queue) >= self._max_queue:
            return "full"
        if self._queue and self._queued_bytes + len(content) > MOST_QUEUED_BYTES:
            return "full"
        self._number += 1
        self._queued_bytes += len(content)
        self._queue.append(Waiting(self._number, content))
        self._changed.set()
        if identity is not None:
            self._seen[identity] = None
            if len(self._seen) > self._dedup_window:
                self._seen.popitem(last=False)
        return "new"

    async def take(self) -> Waiting | None:
        """The next event, once there is one; None after the end."""
        self._loop.enter()
        while not self._queue or self._taken >= MOST_IN_A_TURN:
            if self._queue:
                self._taken = 0
                await asyncio.sleep(0)
            elif self._stopped:
                return None
            else:
                self._taken = 0
                await self._changed.wait()
        self._taken += 1
        event = self._queue.popleft()
        self._queued_bytes -= len(event.content)
        if not self._queue and not self._stopped:
            self._changed.clear()
        return event

    def finish(self, number: int) -> bool:
        """There is nothing to keep."""
        self._finished += 1
        return True

    def stop(self) -> None:
        """Nothing is added any more; what waits can still be taken."""
        self._stopped = True
        self._changed.set()

    async def aclose(self) -> None:
        """Stops."""
        self.stop()
