"""A durable inbox: stores accepted events on disk and delivers them until they are finished."""

import asyncio
import contextlib
import functools
import itertools
import logging
import math
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from socialapi.errors import ConfigurationError
from socialapi.internal.sqlite_file import Schema, SqliteFile, damage, is_lost
from socialapi.webhooks import attempts
from socialapi.webhooks.dead_letters import DeadLetters
from socialapi.webhooks.inbox_owner import InboxOwner
from socialapi.webhooks.queue import OneLoop, Outcome, QueuedEvent

MAX_IN_ONE_COMMIT: Final = 1_000
MAX_ARRIVING: Final = 10_000
MAX_ARRIVING_BYTES: Final = 64_000_000
"""The maximum number of events that wait to be stored, and their maximum total size. A single event may be larger.
Further events are rejected until some are stored.
"""
SLICE_EVENTS: Final = 256
SLICE_BYTES: Final = 4_000_000
"""How many stored events, or roughly how many bytes, are read ahead."""
STORE_TIMEOUT_SECONDS: Final = 10.0
MAX_UNERASED: Final = 1_000
UNERASED_SECONDS: Final = 1.0
"""How many erased bodies may remain in the database's log, and for how long, before the log is emptied."""
RETRY_SECONDS: Final = 1.0
"""How long after a disk failure the inbox retries, unless an event arrives earlier."""
CLAIM_SECONDS: Final = 3.0
"""The interval between searches for unfinished events of processes that have ended."""
ALONE_SECONDS: Final = 10.0
"""An event that a dead process was handling blocks all other events. The block ends this long after the event was taken
if its task requests the next event without finishing it.
"""
SUSPECT_SECONDS: Final = 60.0
"""How long an event that a dead process was handling waits while other events are ready."""

SCHEMA: Final = Schema(
    application_id=0x53414942,  # "SAIB"
    version=2,
    statements=(
        "CREATE TABLE state (newest INTEGER NOT NULL, waiting INTEGER NOT NULL)",
        "INSERT INTO state VALUES (0, 0)",
        "CREATE TABLE queues (id INTEGER PRIMARY KEY AUTOINCREMENT, holder TEXT)",
        "CREATE TABLE seen (number INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE)",
        "CREATE TABLE waiting (number INTEGER PRIMARY KEY, queue INTEGER NOT NULL, content BLOB NOT NULL)",
        "CREATE INDEX waiting_by_queue ON waiting (queue)",
    ),
)
"""`state` contains the highest event number, and the number of waiting events of all processes. Each process that opens
the file adds its events to a separate queue. The `holder` of a queue delivers its events. The holder is the process
that created the queue. After that process has ended, the holder is another process with a lock (`inbox_owner`), or
there is none.
"""
logger: Final = logging.getLogger("socialapi")


@attrs.frozen(eq=False)
class _Arrival:
    """An event that waits to be stored, and its outcome."""

    identity: bytes | None
    content: bytes = attrs.field(repr=False)
    outcome: asyncio.Future[Outcome]


@attrs.define
class _Queue:
    """A queue whose events this process delivers: the number of the last event read, and the highest number."""

    id: int
    last: int
    read_up_to: int = 0


@attrs.define(eq=False)
class _Alone:
    """An event that is delivered alone, because it may have crashed an earlier process."""

    number: int
    taker: "asyncio.Task[object] | None" = None
    until: float = math.inf
    is_ending: bool = False


@attrs.frozen(kw_only=True)
class _Claimed:
    """The result of claiming the queues of dead processes: the queues with their numbers of events, the number of
    events that were being handled, the number of events just put aside, and the number of all dead letters.
    """

    queues: Sequence[tuple[_Queue, int]]
    suspects: int
    put_aside: int
    dead_letters: int


class Inbox:
    """A store of events in a SQLite file, which several processes on this machine may use at once.

    `add` returns after the commit; events that arrive during one commit share the next. Bodies are erased from the file
    when their events are finished, and soon afterwards from the database's log. The inbox keeps the identities of the
    last `dedup_window` events. The process that adds an event delivers it. If a process ends, its unfinished events are
    delivered again, first and in order, by a process that has the file open or opens it next. Every event is delivered
    once while its process is running. At most `max_waiting` events wait, across all processes. Only some of them are in
    memory.

    Every delivery of an event is counted in advance. The count is reverted if the process shuts down normally and its
    handler has not failed. So an event with a count may have crashed its process. Such an event is delivered when no
    other event is ready, and alone, so that no other count rises if the process crashes again. After `max_attempts`
    deliveries, the event is put aside: it stays in the file until it is retried or dropped.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, dedup_window: int, max_waiting: int, max_attempts: int = 5
    ) -> None:
        self._database = SqliteFile(path, SCHEMA, purpose="inbox", raw=True, shared=True)
        self._owner = InboxOwner(self._database.path)
        self._loop = OneLoop()
        self._queues: list[_Queue] = []  # the queues of dead processes, followed by the queue of this process
        self._claim_at = math.inf
        self._dedup_window = dedup_window
        self._max_waiting = max_waiting
        self._max_attempts = max_attempts
        self._dead_letters = 0
        self._suspects = 0  # events that dead processes were handling, and that wait for this process
        self._suspect_at = math.inf
        self._alone: _Alone | None = None
        self._takers = 0  # how many tasks wait for an event
        self._in_hand: dict[int, asyncio.Task[object] | None] = {}  # the tasks that took unfinished events
        self._failed_events: set[int] = set()
        self._failing: asyncio.Task[object] | None = None
        self._arrivals: deque[_Arrival] = deque()
        self._arriving: dict[bytes, asyncio.Future[Outcome]] = {}
        self._arriving_bytes = 0
        self._finished: list[int] = []
        self._erasing = 0  # the events that are being erased
        self._unerased = 0  # bodies that are deleted but still in the log
        self._erase_at = math.inf
        self._waiting = 0  # this process's events on disk or being stored, including delivered ones
        self._ready: deque[QueuedEvent] = deque()
        self._ready_bytes = 0
        self._changed = asyncio.Event()  # set while an event may be taken, and after the end
        self._work = asyncio.Event()
        # Its result is the reason why the file cannot be used, or None.
        self._opening: asyncio.Task[str | None] | None = None
        self._retry_at = -math.inf
        self._cannot_open = False  # the caller of `open` got the error, so no task waits for events
        self._worker: asyncio.Task[None] | None = None
        self._problem: Exception | None = None  # a bug
        self._stopped = False
        self._closing = False
        self._ended = False
        self._fails = False
        self._is_said = False

    @property
    def waiting(self) -> int:
        """The number of unfinished events of this process that are stored or being stored, and of all dead letters."""
        return self._waiting - len(self._finished) - self._erasing + self._dead_letters

    @property
    def is_accepting(self) -> bool:
        """Whether the file is open and works."""
        return self._worker is not None and not self._stopped and not self._fails

    async def open(self) -> None:
        """Opens the file, once for all callers. Cancelling one caller does not affect the others.

        Raises ConfigurationError, with advice on what to do, if the file cannot be used, and RuntimeError after the
        end. After a failure, the file can be opened again.
        """
        self._loop.enter(for_good=True)
        if self._stopped:
            raise RuntimeError("the inbox is closed")
        if self._worker is not None:
            return
        # Shielded, because opening continues for other callers if this one is cancelled.
        problem = await asyncio.shield(self._opening or self._start_opening())
        if problem is not None:
            self._cannot_open = True
            self._changed.set()
            raise ConfigurationError(problem)

    def start(self) -> None:
        """Starts opening the file unless opening has already started. After a failure, opening can start again a second
        later. Returns immediately.
        """
        self._loop.enter(for_good=True)
        if self._stopped or self._worker is not None or self._opening is not None:
            return
        if asyncio.get_running_loop().time() >= self._retry_at:
            self._start_opening().add_done_callback(self._say_why_not_open)

    def _start_opening(self) -> asyncio.Task[str | None]:
        self._cannot_open = False
        self._changed.clear()
        self._opening = asyncio.create_task(self._open(), name="socialapi-webhook-inbox-opening")
        return self._opening

    async def _open(self) -> str | None:
        """Opens the file and starts serving it. Returns the reason if that fails."""
        try:
            own, left = await self._database.open(functools.partial(_enter, self._owner, self._max_attempts))
        except ConfigurationError as problem:
            return str(problem)
        else:
            self._queues = [own]
            self._take_over(left)
            if not self._stopped:
                self._claim_at = asyncio.get_running_loop().time() + CLAIM_SECONDS
            self._work.set()
            self._worker = asyncio.create_task(self._serve(), name="socialapi-webhook-inbox")
            return None
        finally:
            self._opening = None
            if self._worker is None:
                self._owner.release()
                self._retry_at = asyncio.get_running_loop().time() + RETRY_SECONDS
                self._refuse_arrivals()

    def _say_why_not_open(self, opening: asyncio.Task[str | None]) -> None:
        """Logs why the file cannot be opened. Does not log again until an event has been stored."""
        if opening.cancelled():
            return
        bug = opening.exception()
        problem = f"the {self._database} cannot be opened" if bug is not None else opening.result()
        if problem is not None and not self._is_said:
            self._is_said = True
            logger.error("events are refused: %s", problem, exc_info=bug)

    async def add(self, identity: bytes | None, content: bytes) -> Outcome:
        """Stores an event, unless one with its identity is stored. An event without an identity is always stored.

        Returns after the commit. Events wait while the file is being opened, within the same
        limits.
        """
        self._loop.enter(for_good=True)
        if identity is not None and (first := self._arriving.get(identity)) is not None:
            outcome = await _within_time(first)
            return "duplicate" if outcome == "new" else outcome
        is_served = self._worker is not None or self._opening is not None
        is_full = len(self._arrivals) >= MAX_ARRIVING or (
            self._arriving_bytes > 0 and self._arriving_bytes + len(content) > MAX_ARRIVING_BYTES
        )
        if is_full or self._stopped or not is_served:
            return "full"
        arrival = _Arrival(identity, content, asyncio.get_running_loop().create_future())
        self._arrivals.append(arrival)
        self._arriving_bytes += len(content)
        self._waiting += 1
        if identity is not None:
            self._arriving[identity] = arrival.outcome
        self._work.set()
        return await _within_time(arrival.outcome)

    async def take(self, taker: "asyncio.Task[object] | None" = None) -> QueuedEvent | None:
        """Returns the next event once there is one; None after the end, or if opening has failed.
        `taker` is the task that handles it.

        Raises the error that ended the inbox, if any.
        """
        self._loop.enter(for_good=True)
        if self._alone is not None and taker is not None and taker is self._alone.taker:
            self._end_alone_soon(self._alone)
        self._takers += 1
        try:
            while not self._has_ended and not self._may_take:
                if self._suspects:
                    self._work.set()
                await self._changed.wait()
        finally:
            self._takers -= 1
        if self._worker is not None and self._problem is not None:
            raise self._problem
        if self._has_ended:
            return None
        event = self._ready.popleft()
        self._ready_bytes -= len(event.content)
        self._in_hand[event.number] = taker
        if (alone := self._alone) is not None:
            alone.taker, alone.until = taker, asyncio.get_running_loop().time() + ALONE_SECONDS
            if taker is None:
                self._end_alone_soon(alone)
            else:
                taker.add_done_callback(lambda _: self._end_alone_soon(alone))
        self._note_change()
        if self._wants_more():
            self._work.set()
        return event

    @property
    def _may_take(self) -> bool:
        """Whether an event is ready, and no other event must be finished first."""
        return bool(self._ready) and (self._alone is None or self._alone.number == self._ready[0].number)

    def _note_change(self) -> None:
        if self._may_take or self._has_ended:
            self._changed.set()
        else:
            self._changed.clear()

    def _end_alone_soon(self, alone: _Alone) -> None:
        """Allows other events to be delivered after a while, even if this one is not finished."""
        if self._alone is alone and not alone.is_ending:
            alone.is_ending = True
            asyncio.get_running_loop().call_at(alone.until, self._end_alone, alone.number)

    def _end_alone(self, number: int) -> None:
        if self._alone is not None and self._alone.number == number:
            self._alone = None
            self._note_change()
            self._work.set()

    @property
    def _has_ended(self) -> bool:
        """Whether no more events can be taken."""
        return self._stopped or self._cannot_open

    def finish(self, number: int) -> bool:
        """Erases the body with the next commit. Returns whether there will be another commit."""
        if self._worker is None or self._ended:
            return False
        self._loop.enter(for_good=True)
        self._finished.append(number)
        self._in_hand.pop(number, None)
        self._failed_events.discard(number)
        self._end_alone(number)
        self._work.set()
        return True

    def fail(self, number: int) -> None:
        """Marks an event as failed by its handler, so that its delivery stays counted."""
        if number in self._in_hand:
            self._failed_events.add(number)
            self._end_alone(number)

    def stop(self) -> None:
        """Stops adding and delivering events. Delivered events can still be finished."""
        self._stopped = True
        self._claim_at = math.inf
        self._changed.set()
        self._work.set()

    async def aclose(self, *, failing: "asyncio.Task[object] | None" = None) -> None:
        """Stores pending events and closes the file. Safe to call twice.

        `failing` is the task that an exception is about to end.
        """
        self._failing = failing
        self.stop()
        self._closing = True
        # Both tasks close the file on their own, even if this call is cancelled or the disk is slow.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
                if self._opening is not None:
                    await asyncio.wait({self._opening})
                if self._worker is not None:
                    await asyncio.wait({self._worker})
        if self._worker is not None and self._worker.done():
            self._worker.result()

    async def _serve(self) -> None:
        """Alternates between writing and reading until the inbox is closing and everything has been written."""
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(self._next_turn_at()):
                        await self._work.wait()
                self._work.clear()
                # Read before the turn, so that one more turn follows after closing has begun.
                closing = self._closing
                await self._turn()
                if closing and not self._arrivals and (self._fails or not self._finished):
                    return
        except Exception as problem:
            self._problem = problem
            raise
        finally:
            self._ended = True
            self.stop()
            self._refuse_arrivals()
            try:
                with contextlib.suppress(sqlite3.Error):
                    await self._database.run(functools.partial(_leave, self._owner, self._not_failed_on()))
            finally:
                await self._database.aclose()
                self._owner.release()  # even if the disk has failed

    def _not_failed_on(self) -> list[int]:
        """Returns the events whose last delivery should not count when this process ends, because its handler did not
        fail on them.
        """
        handled = (
            number
            for number, taker in self._in_hand.items()
            if number not in self._failed_events
            and taker is not self._failing
            # Not `exception()`, after which asyncio would not report an unhandled exception.
            and not (taker is not None and taker.done() and getattr(taker, "_exception", None) is not None)
        )
        return [*handled, *self._finished, *(event.number for event in self._ready)]

    def _next_turn_at(self) -> float | None:
        """Returns when the next turn is due if no event arrives; None if no turn is due."""
        retry_at = asyncio.get_running_loop().time() + RETRY_SECONDS if self._fails else math.inf
        suspect_at = self._suspect_at if self._suspects and self._alone is None else math.inf
        at = min(retry_at, self._erase_at, self._claim_at, suspect_at)
        return None if at == math.inf else at

    async def _turn(self) -> None:
        arrivals = [self._arrivals.popleft() for _ in range(min(len(self._arrivals), MAX_IN_ONE_COMMIT))]
        finished, self._finished = self._finished, []
        self._erasing = len(finished)
        if arrivals or finished:
            await self._write(arrivals, finished)
        if self._wants_suspect():
            # An event that a dead process was handling comes next, and alone.
            self._suspect_at = asyncio.get_running_loop().time() + SUSPECT_SECONDS
            found = await self._counted(functools.partial(_suspect, self._owner))
            if found is not None:
                self._suspects = self._suspects - 1 if found else 0
                self._ready.extendleft(found)
                self._alone = _Alone(found[0].number) if found else None
                self._note_change()
        elif self._wants_more():
            await self._read()
        now = asyncio.get_running_loop().time()
        if self._unerased >= MAX_UNERASED or now >= self._erase_at:
            # Otherwise, deleted bodies could still be read in the database's log.
            try:
                await self._database.erase()
            except sqlite3.Error:
                self._erase_at = asyncio.get_running_loop().time() + RETRY_SECONDS
            else:
                self._erase_at = math.inf
            self._unerased = 0
        if now >= self._claim_at:
            await self._claim_abandoned()
        if self._arrivals or (not self._fails and (self._finished or self._wants_more() or self._wants_suspect())):
            self._work.set()

    async def _write(self, arrivals: Sequence[_Arrival], finished: list[int]) -> None:
        own = self._queues[-1]
        outcomes: list[Outcome] = []
        change = functools.partial(
            _change, arrivals, finished, own.id, max_waiting=self._max_waiting, dedup_window=self._dedup_window
        )
        try:
            outcomes, newest, erased = await self._database.run(change)
        except sqlite3.Error as problem:
            self._failed(problem)
            self._finished[:0] = finished
            self._erasing = 0
        else:
            new = outcomes.count("new")
            if new:
                own.last = newest
            self._waiting -= erased
            self._erasing = 0
            self._unerased += erased
            if erased and self._erase_at == math.inf:
                self._erase_at = asyncio.get_running_loop().time() + UNERASED_SECONDS
            self._works(is_stored=new > 0)
        finally:
            self._settle(arrivals, outcomes)

    def _refuse_arrivals(self) -> None:
        """Rejects the events that have arrived, because no task is left to store them."""
        self._settle([self._arrivals.popleft() for _ in range(len(self._arrivals))], [])

    def _settle(self, arrivals: Sequence[_Arrival], outcomes: Sequence[Outcome]) -> None:
        """Sets the outcomes of all arrivals; "full" for all if there are no outcomes."""
        told: Iterable[Outcome] = outcomes or itertools.repeat("full")
        for arrival, outcome in zip(arrivals, told, strict=False):
            if arrival.identity is not None:
                del self._arriving[arrival.identity]
            self._waiting -= outcome != "new"
            self._arriving_bytes -= len(arrival.content)
            arrival.outcome.set_result(outcome)

    def _wants_more(self) -> bool:
        has_room = len(self._ready) < SLICE_EVENTS // 2 and self._ready_bytes < SLICE_BYTES // 2
        return has_room and not self._stopped and self._unread() is not None

    def _unread(self) -> _Queue | None:
        """Returns the first queue with unread events."""
        return next((queue for queue in self._queues if queue.read_up_to < queue.last), None)

    async def _read(self) -> None:
        queue = self._unread()
        assert queue is not None
        last = queue.last
        found = await self._counted(functools.partial(_slice, self._owner, queue))
        if found is not None:
            queue.read_up_to = found[-1].number if found else last
            self._ready.extend(found)
            self._note_change()

    def _wants_suspect(self) -> bool:
        if not self._suspects or self._stopped or self._alone is not None:
            return False
        is_idle = self._takers > 0 and not self._ready and self._unread() is None
        return is_idle or asyncio.get_running_loop().time() >= self._suspect_at

    async def _counted(self, read: Callable[[sqlite3.Connection], list[QueuedEvent]]) -> list[QueuedEvent] | None:
        """Returns the events to deliver. `read` selects and counts them in one commit. Returns None if the commit
        fails.
        """
        try:
            found = await self._database.run(read)
        except sqlite3.Error as problem:
            self._failed(problem)
            return None
        self._works()
        self._ready_bytes += sum(len(event.content) for event in found)
        return found

    async def _claim_abandoned(self) -> None:
        """Claims the events of dead processes for delivery in this process. Not called once the inbox is stopped."""
        self._claim_at = asyncio.get_running_loop().time() + CLAIM_SECONDS
        try:
            abandoned, self._dead_letters = await self._database.read(functools.partial(_look, self._owner))
            if abandoned:
                self._take_over(await self._database.run(functools.partial(_claim, self._owner, self._max_attempts)))
            if len(self._queues) > 1:
                kept = await self._database.run(functools.partial(_forget_empty, self._owner, self._queues[-1].id))
                self._queues = [queue for queue in self._queues if queue.id in kept]
        except sqlite3.Error as problem:
            self._failed(problem)

    def _take_over(self, left: _Claimed) -> None:
        for queue, waiting in left.queues:
            self._queues.insert(-1, queue)
            self._waiting += waiting
        self._suspects = left.suspects
        self._suspect_at = min(self._suspect_at, asyncio.get_running_loop().time() + SUSPECT_SECONDS)
        self._dead_letters = left.dead_letters
        if left.put_aside:
            logger.error(
                "put aside %d of the events in the %s, each delivered %d times or more and never finished; list them "
                "with socialapi webhooks inbox list",
                left.put_aside,
                self._database,
                self._max_attempts,
                extra={"socialapi_put_aside": left.put_aside},
            )

    def dead_letters(self) -> DeadLetters:
        """Returns the events that were put aside."""
        return DeadLetters(self._database.read)

    def _failed(self, problem: sqlite3.Error) -> None:
        """Logs a failure. Does not log again until an event has been stored. SQLite's messages contain no data.

        Raises ConfigurationError if the file is damaged or gone: waiting does not repair it.
        """
        if is_lost(problem):
            raise self._database.explanation(problem) from None
        if not self._is_said:
            facts = {"socialapi_error": type(problem).__name__}
            logger.error(
                "the %s is failing, and events are refused until it works again: %s",
                self._database,
                problem,
                extra=facts,
            )
        self._fails = self._is_said = True

    def _works(self, *, is_stored: bool = False) -> None:
        self._fails = False
        if is_stored and self._is_said:
            logger.warning("the %s works again", self._database)
            self._is_said = False


async def _within_time(outcome: asyncio.Future[Outcome]) -> Outcome:
    """Returns the outcome, or "full" if the disk takes too long.

    The future is never cancelled, because other tasks may be waiting for it too.
    """
    try:
        async with asyncio.timeout(STORE_TIMEOUT_SECONDS):
            return await asyncio.shield(outcome)
    except TimeoutError:
        return "full"


# The functions below run on the thread of the database.


def _enter(owner: InboxOwner, max_attempts: int, connection: sqlite3.Connection) -> tuple[_Queue, _Claimed]:
    """Creates a queue for this process and claims the queues of processes that have ended."""
    # Locked before the name is in the file: a process that finds the name and a free lock may claim the queue.
    if not owner.hold():
        raise damage("another process holds the lock of this process")
    attempts.create_tables(connection)
    made = connection.execute("INSERT INTO queues (holder) VALUES (?)", (owner.name,)).lastrowid
    assert made is not None
    return _Queue(made, last=0), _claim(owner, max_attempts, connection)


def _leave(owner: InboxOwner, not_failed_on: Sequence[int], connection: sqlite3.Connection) -> None:
    """Gives up all queues of an owner. Other processes claim queues that still contain events."""
    attempts.take_back(not_failed_on, connection)
    _forget_empty(owner, None, connection)
    connection.execute("UPDATE queues SET holder = NULL WHERE holder = ?", (owner.name,))
    owner.release()


def _abandoned_owners(owner: InboxOwner, connection: sqlite3.Connection) -> list[str | None]:
    """Returns the queue owners whose processes have ended. None represents queues without an owner."""
    query = "SELECT DISTINCT holder FROM queues WHERE holder IS NOT ?"
    names = [name for (name,) in connection.execute(query, (owner.name,))]
    return [name for name in names if name is None or owner.other(name).is_gone()]


def _look(owner: InboxOwner, connection: sqlite3.Connection) -> tuple[list[str | None], int]:
    """Returns the owners whose processes have ended, and how many events are put aside."""
    return _abandoned_owners(owner, connection), attempts.dead_letters(connection)


def _claim(owner: InboxOwner, max_attempts: int, connection: sqlite3.Connection) -> _Claimed:
    """Claims the queues of ended owners, and puts aside events with too many attempts."""
    claimed: list[int] = []
    for name in _abandoned_owners(owner, connection):
        found = connection.execute("SELECT id FROM queues WHERE holder IS ?", (name,)).fetchall()
        claimed += [number for (number,) in found]
        connection.execute("UPDATE queues SET holder = ? WHERE holder IS ?", (owner.name, name))
    put_aside = attempts.put_aside(owner.name, max_attempts, connection)
    queues: list[tuple[_Queue, int]] = []
    for number in sorted(claimed):
        query = "SELECT count(*), coalesce(max(number), 0) FROM waiting WHERE queue = ?"
        waiting, last = connection.execute(query, (number,)).fetchone()
        queues.append((_Queue(number, last=last), waiting))
    return _Claimed(
        queues=queues,
        suspects=attempts.suspects(owner.name, connection),
        put_aside=put_aside,
        dead_letters=attempts.dead_letters(connection),
    )


def _forget_empty(owner: InboxOwner, own: int | None, connection: sqlite3.Connection) -> set[int]:
    """Deletes an owner's empty queues, except the queue to which it adds events. Returns the ids of its remaining
    queues.
    """
    connection.execute(
        "DELETE FROM queues WHERE holder = ? AND id IS NOT ?"
        " AND NOT EXISTS (SELECT 1 FROM waiting WHERE queue = queues.id)",
        (owner.name, own),
    )
    return {number for (number,) in connection.execute("SELECT id FROM queues WHERE holder = ?", (owner.name,))}


def _change(
    arrivals: Sequence[_Arrival],
    finished: Sequence[int],
    queue: int,
    connection: sqlite3.Connection,
    *,
    max_waiting: int,
    dedup_window: int,
) -> tuple[list[Outcome], int, int]:
    """Stores new events with the next numbers, up to `max_waiting` waiting ones, and erases finished events. Remembers
    the latest `dedup_window` identities.

    Returns the outcomes, the highest number, and how many were erased.
    """
    attempts.forget(finished, connection)
    deleted = connection.executemany("DELETE FROM waiting WHERE number = ?", ((each,) for each in finished))
    erased = max(0, deleted.rowcount)
    newest, waiting = before = connection.execute("SELECT newest, waiting FROM state").fetchone()
    waiting -= erased
    outcomes: list[Outcome] = []
    for arrival in arrivals:
        outcome = _store(arrival, newest + 1, queue, connection, has_room=waiting < max_waiting)
        outcomes.append(outcome)
        if outcome == "new":
            newest += 1
            waiting += 1
    if (newest, waiting) != before:
        connection.execute("UPDATE state SET newest = ?, waiting = ?", (newest, waiting))
        connection.execute("DELETE FROM seen WHERE number <= ?", (newest - dedup_window,))
    return outcomes, newest, erased


def _store(arrival: _Arrival, number: int, queue: int, connection: sqlite3.Connection, *, has_room: bool) -> Outcome:
    """Stores one event if it is new and there is room. Reports a duplicate even if there is no room."""
    if arrival.identity is not None:
        if not has_room:
            known = connection.execute("SELECT 1 FROM seen WHERE identity = ?", (arrival.identity,)).fetchone()
            return "full" if known is None else "duplicate"
        row = (number, arrival.identity)
        if not connection.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", row).rowcount:
            return "duplicate"
    elif not has_room:
        return "full"
    connection.execute("INSERT INTO waiting VALUES (?, ?, ?)", (number, queue, arrival.content))
    return "new"


def _slice(owner: InboxOwner, queue: _Queue, connection: sqlite3.Connection) -> list[QueuedEvent]:
    """Returns the next events of a queue in order, and counts their deliveries. Skips events that were delivered
    before.
    """
    found: list[QueuedEvent] = []
    size = 0
    query = (
        "SELECT number, content FROM waiting WHERE queue = ? AND number > ?"
        " AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.number = waiting.number) ORDER BY number LIMIT ?"
    )
    for number, content in connection.execute(query, (queue.id, queue.read_up_to, SLICE_EVENTS)):
        found.append(QueuedEvent(number, content))
        size += len(content)
        if size >= SLICE_BYTES:
            break
    attempts.count([event.number for event in found], owner.name, connection)
    return found


def _suspect(owner: InboxOwner, connection: sqlite3.Connection) -> list[QueuedEvent]:
    """Returns a list with one event that a dead process was handling, and counts its delivery. Returns an empty list if
    there is no such event.
    """
    found = attempts.next_suspect(owner.name, connection)
    return [] if found is None else [QueuedEvent(*found)]
