"""The room for batches in flight that all bulk jobs of a session share."""

import asyncio
from collections import Counter, deque
from typing import Final
from weakref import WeakKeyDictionary

import attrs

KEPT_FREE: Final = 0.25
"""The share of the room that is left to jobs without a batch in flight, while several jobs send."""


@attrs.define(eq=False)
class Room:
    """Room for one batch of a job, to be taken before it is sent and given back afterwards.

    `holder` stands for the job, and is compared by identity.
    """

    budget: "InFlightBudget"
    holder: object = attrs.field(repr=False)
    rows: int
    size_bytes: int
    turn: asyncio.Future[bool] | None = attrs.field(default=None, repr=False)
    """Tells whether the room is taken (True), or nobody waits for it any more (False)."""

    async def take(self) -> bool:
        """Returns once there is room: True, or False after `give_back`. Taking it twice is taking
        it once.
        """
        if self.turn is None:
            self.turn = self.budget.ask(self)
        try:
            return await self.turn
        except asyncio.CancelledError:
            self.give_back()  # also where the turn came in the very moment of the cancellation
            raise

    def give_back(self) -> None:
        """Gives the room to others, or stops waiting for it. Idempotent."""
        turn, self.turn = self.turn, None
        if turn is not None:
            self.budget.leave(self, turn)


@attrs.define(eq=False)
class _InUse:
    """The use of the budget in one event loop."""

    rows: int = 0
    size_bytes: int = 0
    batches: Counter[object] = attrs.field(factory=Counter)
    """Batches with room, by their job."""
    waiting: deque[tuple[Room, asyncio.Future[bool]]] = attrs.field(factory=deque)


class InFlightBudget:
    """Bounds the rows and bytes in flight of all jobs together.

    The first to ask is the first to get room. A batch that is larger than all of the room is sent
    when nothing else is in flight, and until then nobody gets ahead of it. A job that has a batch
    in flight already is passed over while there is no room for another one, and leaves a quarter of
    the room to jobs that have none: so jobs that wait for a rate limit do not keep out the others.
    """

    def __init__(self, max_rows: int, max_bytes: int) -> None:
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        # One per event loop: an abandoned loop must not keep its room in the next one.
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _InUse] = WeakKeyDictionary()

    def room(self, holder: object, rows: int, size_bytes: int) -> Room:
        """Returns room for a batch of a job, which is not taken yet."""
        return Room(self, holder, rows, size_bytes)

    @property
    def rows(self) -> int:
        """The rows in flight in the running event loop."""
        return self._here().rows

    @property
    def size_bytes(self) -> int:
        """The bytes in flight in the running event loop."""
        return self._here().size_bytes

    def ask(self, room: Room) -> asyncio.Future[bool]:
        """Queues for room. Returns a future that is done once there is some."""
        used, turn = self._here(), asyncio.get_running_loop().create_future()
        used.waiting.append((room, turn))
        self._admit(used)
        return turn

    def leave(self, room: Room, turn: asyncio.Future[bool]) -> None:
        """Gives back what the turn has given, or withdraws from the queue."""
        used = self._loops.get(turn.get_loop())
        if used is None:
            return
        if turn.done() and not turn.cancelled():
            used.rows -= room.rows
            used.size_bytes -= room.size_bytes
            used.batches[room.holder] -= 1
            if not used.batches[room.holder]:
                del used.batches[room.holder]
        else:
            used.waiting.remove((room, turn))
            if not turn.done():
                turn.set_result(False)
        self._admit(used)

    def _here(self) -> _InUse:
        loop = asyncio.get_running_loop()
        used = self._loops.get(loop)
        if used is None:
            used = self._loops[loop] = _InUse()
        return used

    def _admit(self, used: _InUse) -> None:
        for room, turn in list(used.waiting):
            has_some = room.holder in used.batches
            if not turn.done() and self._fits(used, room, has_some=has_some):
                used.waiting.remove((room, turn))
                used.rows += room.rows
                used.size_bytes += room.size_bytes
                used.batches[room.holder] += 1
                turn.set_result(True)
            elif not turn.done() and not has_some:
                return  # whoever comes after this one waits for it

    def _fits(self, used: _InUse, room: Room, *, has_some: bool) -> bool:
        if not used.batches:
            return True
        is_alone = used.batches.keys() == {room.holder} and all(r.holder is room.holder for r, _ in used.waiting)
        share = 1 - KEPT_FREE if has_some and not is_alone else 1
        return (
            used.rows + room.rows <= self._max_rows * share
            and used.size_bytes + room.size_bytes <= self._max_bytes * share
        )
