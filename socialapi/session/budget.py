"""Limits a session's requests in flight, and the batches in flight across all its bulk jobs."""

import asyncio
import contextlib
from collections import Counter, deque
from typing import Final
from weakref import WeakKeyDictionary

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
        """Waits for room. Returns False if `give_back` was called in the meantime. Taking it twice counts once."""
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


@attrs.define(eq=False)
class _InUse:
    """The use of the budget in one event loop."""

    rows: int = 0
    size_bytes: int = 0
    batches: Counter[object] = attrs.field(factory=Counter)
    """The batches that have room, by job."""
    waiting: deque[tuple[Room, asyncio.Future[bool]]] = attrs.field(factory=deque)


class InFlightBudget:
    """Bounds the rows and bytes in flight across all jobs.

    Room is granted in order of arrival. A batch larger than the entire budget is sent when nothing else is in flight,
    and no later batch overtakes it. A job that already has a batch in flight is skipped while there is no room for
    another one, and leaves a quarter of the budget to jobs without a batch in flight. This way, jobs that wait for a
    rate limit do not block the others.
    """

    def __init__(self, max_rows: int, max_bytes: int) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        # One per event loop: batches of an abandoned loop must not take up room in the next one.
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _InUse] = WeakKeyDictionary()

    @property
    def rows(self) -> int:
        """The rows in flight in the running event loop."""
        return self._here().rows

    @property
    def size_bytes(self) -> int:
        """The bytes in flight in the running event loop."""
        return self._here().size_bytes

    def ask(self, room: Room) -> asyncio.Future[bool]:
        """Queues for room. Returns a future that is done once it is granted."""
        used, granted = self._here(), asyncio.get_running_loop().create_future()
        used.waiting.append((room, granted))
        self._admit(used)
        return granted

    def leave(self, room: Room, granted: asyncio.Future[bool]) -> None:
        """Gives back room that was granted, or leaves the queue."""
        used = self._loops.get(granted.get_loop())
        if used is None:
            return
        if granted.done() and not granted.cancelled():
            used.rows -= room.rows
            used.size_bytes -= room.size_bytes
            used.batches[room.holder] -= 1
            if not used.batches[room.holder]:
                del used.batches[room.holder]
        else:
            used.waiting.remove((room, granted))
            if not granted.done():
                granted.set_result(False)
        if used.waiting:
            self._admit(used)

    def _here(self) -> _InUse:
        loop = asyncio.get_running_loop()
        used = self._loops.get(loop)
        if used is None:
            used = self._loops[loop] = _InUse()
        return used

    def _admit(self, used: _InUse) -> None:
        for room, granted in list(used.waiting):
            has_some = room.holder in used.batches
            is_alone = used.batches.keys() == {room.holder} and all(r.holder is room.holder for r, _ in used.waiting)
            share = 1 - KEPT_FREE if has_some and not is_alone else 1
            fits = not used.batches or (
                used.rows + room.rows <= self._max_rows * share
                and used.size_bytes + room.size_bytes <= self._max_bytes * share
            )
            if not granted.done() and fits:
                used.waiting.remove((room, granted))
                used.rows += room.rows
                used.size_bytes += room.size_bytes
                used.batches[room.holder] += 1
                granted.set_result(True)
            elif not granted.done() and not has_some:
                return  # later ones wait until this one fits


class ConnectionPlaces:
    """The connection slots, taken in order of arrival.

    With aiohttp's own limit, the wait for a slot would count toward the connect timeout. Waits are bounded in
    wall-clock time, like socket timeouts.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    def try_take(self) -> bool:
        """Takes a slot if one is free, and returns whether it did. If a slot is free, no other task is waiting for one."""
        if self._free < 1:
            return False
        self._free -= 1
        return True

    async def take(self, seconds: float) -> bool:
        """Takes a slot, waiting at most `seconds`. Returns whether it got one."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            async with asyncio.timeout(seconds):
                await place
        except BaseException as problem:
            if place.done() and not place.cancelled():  # the slot was passed to this task just before the timeout
                self.give_back()
            else:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(place)
            if isinstance(problem, TimeoutError):
                return False
            raise
        return True

    def give_back(self) -> None:
        """Releases a slot: passes it to the task that has waited longest, or frees it."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free += 1
