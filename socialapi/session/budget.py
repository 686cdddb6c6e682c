"""Limits the batches in flight across all bulk jobs of a session."""

import asyncio
from collections import Counter, deque
from typing import Final

import attrs

MAX_ROWS: Final = 130_000
MAX_BYTES: Final = 12_000_000
"""The maximum rows and bytes in flight across all jobs, unless `Config` sets another limit."""
PACKED_ROWS: Final = 500_000
PACKED_BYTES: Final = 64_000_000
"""The maximum bytes and rows in flight across all packed jobs. The quota allows 25 of their requests per second, each
with 5 MB and 30,674 rows. If a response takes half a second, these limits use the full quota; 12 MB would use a fifth
of it.
"""
KEPT_FREE: Final = 0.25
"""The share of the budget that is reserved for jobs without a batch in flight while several jobs are sending."""


@attrs.define(eq=False)
class Room:
    """Room for one batch of a job.

    Take it before sending the batch, and give it back afterward. `holder` identifies the job, by
    object identity.
    """

    budget: "InFlightBudget"
    holder: object = attrs.field(repr=False)
    rows: int
    size_bytes: int
    granted: asyncio.Future[bool] | None = attrs.field(default=None, repr=False)
    """True once the room is taken, False if `give_back` was called during the wait."""

    async def take(self) -> bool:
        """Waits for room. Returns False if `give_back` was called meanwhile. Taking it twice counts once."""
        if self.granted is None:
            self.granted = self.budget.ask(self)
        try:
            return await self.granted
        except asyncio.CancelledError:
            self.give_back()  # `give_back` may have been called just after the room was granted
            raise

    def give_back(self) -> None:
        """Gives the room back, or stops waiting for it. Safe to call twice."""
        granted, self.granted = self.granted, None
        if granted is not None:
            self.budget.leave(self, granted)


class InFlightBudget:
    """Bounds the rows and bytes in flight across all jobs.

    Room is granted in order of arrival. A batch larger than the entire budget is sent when nothing else is in flight,
    and no later batch overtakes it. A job that already has a batch in flight is skipped while there is no room for
    another one, and leaves a quarter of the budget to jobs without a batch in flight. This way, jobs that wait for a
    rate limit do not block the others. It belongs to one event loop.
    """

    def __init__(self, max_rows: int, max_bytes: int) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self.rows: int = 0
        self.size_bytes: int = 0
        # The batches that have room, by job.
        self._batches: Counter[object] = Counter()
        self._waiting: deque[tuple[Room, asyncio.Future[bool]]] = deque()

    def ask(self, room: Room) -> asyncio.Future[bool]:
        """Queues for room. Returns a future that is done once it is granted."""
        granted = asyncio.get_running_loop().create_future()
        self._waiting.append((room, granted))
        self._admit()
        return granted

    def leave(self, room: Room, granted: asyncio.Future[bool]) -> None:
        """Gives back room that was granted, or leaves the queue."""
        if granted.done() and not granted.cancelled():
            self.rows -= room.rows
            self.size_bytes -= room.size_bytes
            self._batches[room.holder] -= 1
            if not self._batches[room.holder]:
                del self._batches[room.holder]
        else:
            self._waiting.remove((room, granted))
            if not granted.done():
                granted.set_result(False)
        if self._waiting:
            self._admit()

    def _admit(self) -> None:
        for room, granted in list(self._waiting):
            has_some = room.holder in self._batches
            is_alone = self._batches.keys() == {room.holder} and all(r.holder is room.holder for r, _ in self._waiting)
            share = 1 - KEPT_FREE if has_some and not is_alone else 1
            fits = not self._batches or (
                self.rows + room.rows <= self._max_rows * share
                and self.size_bytes + room.size_bytes <= self._max_bytes * share
            )
            if not granted.done() and fits:
                self._waiting.remove((room, granted))
                self.rows += room.rows
                self.size_bytes += room.size_bytes
                self._batches[room.holder] += 1
                granted.set_result(True)
            elif not granted.done() and not has_some:
                return  # later ones wait until this one fits
