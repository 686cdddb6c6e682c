"""Where events wait between the answer to the service and the program that handles them."""

import asyncio
from collections import deque
from typing import Literal, Protocol

import attrs

Outcome = Literal["new", "duplicate", "full"]
"""What becomes of an event that arrives. One that is `full` is not remembered, so it may be sent again."""


@attrs.frozen
class Waiting:
    """The body of an event, and the number under which it is finished."""

    number: int
    content: bytes = attrs.field(repr=False)


class Store(Protocol):
    """Holds events in their order."""

    async def open(self) -> None:
        """Makes it ready. Idempotent. Raises ConfigurationError."""

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
        self._max_queue = max_queue
        self._dedup_window = dedup_window
        self._queue: deque[Waiting] = deque()
        self._seen: dict[bytes, None] = {}  # the oldest first
        self._number = 0
        self._stopped = False
        self._changed = asyncio.Event()  # set while there is something to take, and after the end

    async def open(self) -> None:
        """There is nothing to open."""

    async def add(self, identity: bytes | None, content: bytes) -> Outcome:
        """Keeps an event, once for each identity; always if it has none."""
        if identity is not None and identity in self._seen:
            return "duplicate"
        if self._stopped or len(self._queue) >= self._max_queue:
            return "full"
        self._number += 1
        self._queue.append(Waiting(self._number, content))
        self._changed.set()
        if identity is not None:
            self._seen[identity] = None
            if len(self._seen) > self._dedup_window:
                del self._seen[next(iter(self._seen))]
        return "new"

    async def take(self) -> Waiting | None:
        """The next event, once there is one; None after the end."""
        while not self._queue:
            if self._stopped:
                return None
            await self._changed.wait()
        event = self._queue.popleft()
        if not self._queue and not self._stopped:
            self._changed.clear()
        return event

    def finish(self, number: int) -> bool:
        """There is nothing to keep."""
        return True

    def stop(self) -> None:
        """Nothing is added any more; what waits can still be taken."""
        self._stopped = True
        self._changed.set()

    async def aclose(self) -> None:
        """Stops."""
        self.stop()
