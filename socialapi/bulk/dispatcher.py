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
"""Below this, short replies would leave the line idle between requests."""
UNPACED_TARGET: Final = 8


class Concurrency:
    """The number of requests in flight, read again before every batch.

    With `fixed` it is constant. Otherwise it is rate times latency, halved after a failure (once
    per round trip, so that simultaneous failures count once) and increased one by one.
    """

    def __init__(self, fixed: int | None, *, most: int) -> None:
        self._fixed = fixed
        self._most = most
        self._latency_seconds = LATENCY_GUESS_SECONDS
        self._ceiling = float(most)
        self._halved_at = -math.inf

    def limit(self, requests_per_second: float | None) -> int:
        """Returns the largest number of requests in flight; `requests_per_second` is what the rate
        limit allows.
        """
        if self._fixed is not None:
            return self._fixed
        target = UNPACED_TARGET
        if requests_per_second is not None:
            target = math.ceil(requests_per_second * self._latency_seconds * HEADROOM)
        return max(1, min(max(LEAST, target), self._most, math.floor(self._ceiling)))

    def succeeded(self, seconds: float) -> None:
        """Adjusts the limit after an attempt that was answered in this time."""
        self._latency_seconds += LATENCY_WEIGHT * (seconds - self._latency_seconds)
        self._ceiling = min(float(self._most), self._ceiling + 1)

    def failed(self, now: float) -> None:
        """Adjusts the limit after an attempt that failed at this time (monotonic seconds)."""
        if now - self._halved_at >= self._latency_seconds:
            self._halved_at = now
            self._ceiling = max(1.0, self._ceiling / 2)


class Sendable(Protocol):
    """What is sent in one request. `after` are others that must be settled first."""

    number: int
    size_bytes: int
    settled: asyncio.Event
    failed: bool

    @property
    def row_count(self) -> int:
        """The number of rows of the batch."""

    @property
    def after(self) -> "AbstractSet[Sendable]":
        """The batches that have to be settled before this one is sent."""

    def release(self) -> None:
        """Releases the rows."""


B = TypeVar("B", bound=Sendable)
T = TypeVar("T")


class Dispatcher(Generic[B]):
    """Starts a task for each batch while fewer than `limit()` run and the budget has room.

    There is no queue: submitting a batch waits until there is room, which slows down the reading.
    A batch that has to wait for earlier ones takes no room until these are settled, and the next
    batch is not started before it. After the first failure no new batch starts, and those in flight
    finish.
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
        """The room of the batch that was submitted last, until it is taken."""
        self._freed = asyncio.Event()
        self._outside: asyncio.Timeout | None = None
        self._is_cancelling = False
        self.failure: Exception | None = None

    @property
    def in_flight(self) -> int:
        """The number of submitted batches that are not settled."""
        return len(self._live)

    @property
    def has_room(self) -> bool:
        """Whether fewer batches than the limit are in flight; True after a failure."""
        return self.failure is not None or (self._next is None and (not self._live or len(self._live) < self._limit()))

    async def until_room(self) -> None:
        """Waits until there is room."""
        while not self.has_room:
            self._freed.clear()
            await self._freed.wait()

    async def submit(self, batch: B) -> None:
        """Starts the batch once there is room. After a failure, the batch is not sent."""
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
        """Waits for room, and returns whether there is some; False after a failure."""
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
        except Exception as problem:  # noqa: BLE001  # a task has nobody to raise to: the job does it at its end
            self.stop(problem)
        finally:
            self._close(batch, failed=failed)
            self._on_settled()

    def _close(self, batch: B, *, failed: bool) -> None:
        batch.failed = batch.failed or failed
        batch.release()
        batch.settled.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        # Not before: who was woken while the task still counts as live would find no room, and
        # sleep on.
        # Here and not in the task: one that is cancelled before its first step never runs.
        room = self._live.pop(task)
        if task.cancelled() and not self._is_cancelling:
            # By other code than the job, which must not end as if the batch had been settled.
            self.stop(RuntimeError("a batch was cancelled, and not by its job"))
        room.give_back()
        if self._next is room:
            self._next = None
        self._freed.set()

    def stop(self, problem: Exception) -> None:
        """Starts no more batches. The first problem is the one that is raised."""
        if self.failure is not None:
            return
        self.failure = problem
        self._freed.set()
        if self._next is not None:
            self._next.give_back()
        if self._outside is not None:
            self._outside.reschedule(asyncio.get_running_loop().time())

    async def unless_stopped(self, waiting: Awaitable[T]) -> T | None:
        """Returns the result of waiting for something other than the batches; None after a failure,
        which cancels the waiting.

        For one waiting at a time, and only as long as there is no failure.
        """
        # A timeout without a time costs no task: this is done for every block that is read.
        self._outside = asyncio.timeout(None)
        try:
            async with self._outside:
                return await waiting
        except TimeoutError:
            if self.failure is None:  # one of the others' own
                raise
            return None
        finally:
            self._outside = None

    async def drain(self) -> None:
        """Waits until every submitted batch is settled."""
        while self._live:
            await asyncio.wait(list(self._live))

    async def cancel(self) -> None:
        """Ends everything that is on its way; its rows stay without an outcome."""
        self._is_cancelling = True
        tasks = list(self._live)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
