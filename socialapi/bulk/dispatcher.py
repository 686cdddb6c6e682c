"""Bounded concurrency for batches: as many requests in flight as the rate limit allows."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from typing import Final, Generic, Protocol, TypeVar

from socialapi.session.budget import InFlightBudget, Room

LATENCY_GUESS_SECONDS: Final = 0.2
LATENCY_WEIGHT: Final = 0.1
HEADROOM: Final = 1.25
LEAST: Final = 4
"""The smallest limit. With fewer requests in flight, the connection would be idle between fast responses."""
UNPACED_TARGET: Final = 8


class Concurrency:
    """The limit on requests in flight, recomputed before every batch.

    With `fixed`, the limit is constant. Otherwise it is the request rate times the latency. A
    failure halves it, at most once per round trip so that simultaneous failures count once, and
    each success raises it by one.
    """

    def __init__(self, fixed: int | None, *, most: int) -> None:
        self._fixed = fixed
        self._most = most
        self._latency_seconds = LATENCY_GUESS_SECONDS
        self._ceiling = float(most)
        self._halved_at = -math.inf

    def limit(self, requests_per_second: float | None) -> int:
        """Returns the number of requests that may be in flight at this request rate; None means that there is no rate
        limit.
        """
        if self._fixed is not None:
            return self._fixed
        target = UNPACED_TARGET
        if requests_per_second is not None:
            target = math.ceil(requests_per_second * self._latency_seconds * HEADROOM)
        return max(1, min(max(LEAST, target), self._most, math.floor(self._ceiling)))

    def succeeded(self, seconds: float) -> None:
        """Adjusts the limit after an attempt whose response took `seconds`."""
        self._latency_seconds += LATENCY_WEIGHT * (seconds - self._latency_seconds)
        self._ceiling = min(float(self._most), self._ceiling + 1)

    def failed(self, now: float) -> None:
        """Adjusts the limit after an attempt that failed at the time `now` (monotonic seconds)."""
        if now - self._halved_at >= self._latency_seconds:
            self._halved_at = now
            self._ceiling = max(1.0, self._ceiling / 2)


class Sendable(Protocol):
    """A batch that is sent in one request."""

    number: int
    size_bytes: int
    settled: asyncio.Event
    failed: bool

    @property
    def row_count(self) -> int:
        """The number of rows of the batch."""

    @property
    def after(self) -> "AbstractSet[Sendable]":
        """The batches that must be settled before this one is sent."""

    def release(self) -> None:
        """Releases the memory of the rows."""


B = TypeVar("B", bound=Sendable)
T = TypeVar("T")


class Dispatcher(Generic[B]):
    """A dispatcher that starts a task for each batch while fewer than `limit()` are running and the budget has room.

    There is no queue: `submit` waits until there is room, which slows down reading. A batch that must wait for earlier
    batches takes up room only once they are settled, and no later batch starts before it. After the first failure, no
    new batch starts, but the batches in flight finish.
    """

    def __init__(
        self,
        settle: Callable[[B], Awaitable[None]],
        limit: Callable[[], int],
        *,
        budget: InFlightBudget,
        on_settled: Callable[[], None],
    ) -> None:
        self._settle = settle
        self._limit = limit
        self._budget = budget
        self._on_settled = on_settled
        self._live: dict[asyncio.Task[None], Room] = {}
        self._next: Room | None = None
        """The room for which the last submitted batch is waiting; None if no batch is waiting."""
        self._freed = asyncio.Event()
        self._outside: asyncio.Timeout | None = None
        self._is_cancelling = False
        self.failure: Exception | None = None

    @property
    def in_flight(self) -> int:
        """The number of submitted batches that are not settled."""
        return len(self._live)

    async def until_room(self) -> None:
        """Waits until fewer batches than the limit are in flight, or the job has failed."""
        while self.failure is None and (self._next is not None or len(self._live) >= self._limit()):
            self._freed.clear()
            await self._freed.wait()

    async def submit(self, batch: B) -> None:
        """Starts the batch once there is room; after a failure, marks it as failed and does not send it."""
        await self.until_room()
        room = self._next = Room(self._budget, self, batch.row_count, batch.size_bytes)
        must_wait = any(not earlier.settled.is_set() for earlier in batch.after)
        if self.failure is not None or not (must_wait or await self._admitted(room)):
            self._next = None
            self._close(batch, failed=True)
            return
        task = asyncio.create_task(self._run(batch, room), name=f"socialapi batch {batch.number}")
        self._live[task] = room
        task.add_done_callback(self._ended)

    async def _admitted(self, room: Room) -> bool:
        """Waits for room in the budget; returns False if the job has failed in the meantime."""
        try:
            return await room.take() and self.failure is None
        finally:
            self._next = None
            self._freed.set()

    async def _run(self, batch: B, room: Room) -> None:
        failed = True
        try:
            for earlier in list(batch.after):
                await earlier.settled.wait()
            if self.failure is None and (self._next is not room or await self._admitted(room)):
                await self._settle(batch)
                failed = False
        except Exception as problem:  # noqa: BLE001  # no code awaits the task: the job raises this at its end
            self.stop(problem)
        finally:
            self._close(batch, failed=failed)
            self._on_settled()

    def _close(self, batch: B, *, failed: bool) -> None:
        batch.failed = batch.failed or failed
        batch.release()
        batch.settled.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Frees the room only after the task is removed: a waiter woken earlier would still count
        # the task, find no room and keep waiting. A callback does it because a task that is
        # cancelled before its first step never runs its own code.
        room = self._live.pop(task)
        if task.cancelled() and not self._is_cancelling:
            # Other code cancelled the batch, and the job must not end as if it had been settled.
            self.stop(RuntimeError("a batch was cancelled, but not by its job"))
        room.give_back()
        if self._next is room:
            self._next = None
        self._freed.set()

    def stop(self, problem: Exception) -> None:
        """Stops starting batches. The job raises the first problem passed to this method."""
        if self.failure is not None:
            return
        self.failure = problem
        self._freed.set()
        if self._next is not None:
            self._next.give_back()
        if self._outside is not None:
            self._outside.reschedule(asyncio.get_running_loop().time())

    async def unless_stopped(self, waiting: Awaitable[T]) -> T | None:
        """Returns the result of an awaitable that is not a batch; None if a failure cancelled it.

        Call it only while there is no failure, and for one awaitable at a time.
        """
        # Runs for every block that is read. Unlike a task, a timeout without a deadline costs almost nothing.
        self._outside = asyncio.timeout(None)
        try:
            async with self._outside:
                return await waiting
        except TimeoutError:
            if self.failure is None:  # the awaitable itself raised it
                raise
            return None
        finally:
            self._outside = None

    async def drain(self) -> None:
        """Waits until every submitted batch is settled."""
        while self._live:
            await asyncio.wait(list(self._live))

    async def cancel(self) -> None:
        """Cancels all batches in flight; their rows get no outcome."""
        self._is_cancelling = True
        tasks = list(self._live)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
