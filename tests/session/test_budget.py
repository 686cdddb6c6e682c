"""The room that all jobs of a session share: never more than there is, in order, and without anybody left behind."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.session.budget import InFlightBudget, Room
from tests.support.clients import client_of
from tests.support.clock import VirtualClock

MAX_ROWS: Final = 100
MAX_BYTES: Final = 1_000


@attrs.frozen
class Work:
    """A batch: what room it takes, and for how long."""

    rows: int
    size_bytes: int
    seconds: float


WORKS: Final = st.builds(
    Work, st.integers(1, 130), st.integers(1, 1_300), st.floats(0.0, 10.0, allow_nan=False, allow_infinity=False)
)
JOBS: Final = st.lists(st.tuples(st.lists(WORKS, max_size=8), st.integers(1, 4)), min_size=1, max_size=8)
MOMENTS: Final = st.lists(st.one_of(st.none(), st.floats(0.0, 30.0)), min_size=8, max_size=8)


@attrs.define(eq=False)
class Job:
    """Sends its batches in order, so many at once at most; `cancelled_after` seconds it is cancelled."""

    works: Sequence[Work]
    at_once: int
    cancelled_after: float | None = None
    in_flight: int = 0
    done: int = 0
    idle_since: float = -1.0


@attrs.define(eq=False)
class Crowd:
    """Jobs that share a budget, and what must hold whenever one of them gets room."""

    jobs: Sequence[Job]
    budget: InFlightBudget = attrs.field(factory=lambda: InFlightBudget(MAX_ROWS, MAX_BYTES))
    clock: VirtualClock = attrs.field(factory=VirtualClock)
    waiting: list[tuple[Job, Room]] = attrs.field(factory=list)
    rows: int = 0
    size_bytes: int = 0
    batches: int = 0

    async def run(self) -> None:
        await asyncio.gather(*map(self._run_job, self.jobs))
        assert (self.budget.rows, self.budget.size_bytes) == (self.rows, self.size_bytes) == (0, 0)

    async def _run_job(self, job: Job) -> None:
        running = asyncio.create_task(self._send_all(job))
        if job.cancelled_after is not None:
            await self.clock.sleep(job.cancelled_after)
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    async def _send_all(self, job: Job) -> None:
        slots = asyncio.Semaphore(job.at_once)
        async with asyncio.TaskGroup() as tasks:
            for work in job.works:
                await slots.acquire()
                room = Room(self.budget, job, work.rows, work.size_bytes)
                await self._take(job, work, room)
                tasks.create_task(self._send(job, work, room, slots))

    async def _take(self, job: Job, work: Work, room: Room) -> None:
        self.waiting.append((job, room))
        try:
            assert await room.take()
            self._check(job, work, room)
        finally:
            self.waiting.remove((job, room))

    def _check(self, job: Job, work: Work, room: Room) -> None:
        earlier = self.waiting[: self.waiting.index((job, room))]
        # Whoever is passed over has a batch on its way, or had one until this very moment.
        passed_over = [other for other, its in earlier if its.granted is not None and not its.granted.done()]
        assert all(other.in_flight or other.idle_since == self.clock.monotonic() for other in passed_over)
        self.rows += work.rows
        self.size_bytes += work.size_bytes
        self.batches += 1
        job.in_flight += 1
        assert self.batches == 1 or (self.rows <= MAX_ROWS and self.size_bytes <= MAX_BYTES)

    async def _send(self, job: Job, work: Work, room: Room, slots: asyncio.Semaphore) -> None:
        try:
            await self.clock.sleep(work.seconds)
            job.done += 1
        finally:
            self.rows -= work.rows
            self.size_bytes -= work.size_bytes
            self.batches -= 1
            job.in_flight -= 1
            job.idle_since = self.clock.monotonic()
            room.give_back()
            slots.release()


@given(JOBS)
def test_all_batches_are_sent_in_order_and_never_more_than_there_is_room_for(
    jobs: list[tuple[list[Work], int]],
) -> None:
    crowd = [Job(works, at_once) for works, at_once in jobs]
    run_jobs(crowd)
    assert [job.done for job in crowd] == [len(job.works) for job in crowd]


def run_jobs(jobs: Sequence[Job]) -> None:
    async def run() -> None:
        await asyncio.wait_for(Crowd(jobs).run(), 10)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


async def taken(budget: InFlightBudget, job: object, rows: int, size_bytes: int = 1) -> Room:
    room = Room(budget, job, rows, size_bytes)
    assert await asyncio.wait_for(room.take(), 1)
    return room


async def asking(room: Room) -> "asyncio.Task[bool]":
    task = asyncio.create_task(room.take())
    await turns()
    return task


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_room_of_one_job_is_all_there_is() -> None:
    budget, job = InFlightBudget(MAX_ROWS, MAX_BYTES), "job"
    for _ in range(10):
        await taken(budget, job, 10, 100)
    assert (budget.rows, budget.size_bytes) == (MAX_ROWS, MAX_BYTES)
    assert not (await asking(Room(budget, job, 1, 1))).done()


async def test_a_job_without_a_batch_on_its_way_gets_what_is_kept_for_such_jobs() -> None:
    budget = InFlightBudget(MAX_ROWS, MAX_BYTES)
    await taken(budget, "other", 1)
    for _ in range(7):
        await taken(budget, "greedy", 10)  # as if all of them waited for a rate limit
    more = await asking(Room(budget, "greedy", 10, 1))
    assert not more.done()
    newcomer = await taken(budget, "newcomer", 20)
    newcomer.give_back()
    await turns()
    assert not more.done()


async def test_a_batch_larger_than_all_of_the_room_goes_alone_and_nobody_overtakes_it() -> None:
    budget = InFlightBudget(MAX_ROWS, MAX_BYTES)
    first = await taken(budget, "first", 1)
    large, small = Room(budget, "large", 1_000, 1), Room(budget, "small", 1, 1)
    going_large, going_small = await asking(large), await asking(small)
    assert not going_large.done()
    assert not going_small.done()
    first.give_back()
    assert await going_large
    await turns()
    assert not going_small.done()
    large.give_back()
    assert await going_small


async def test_who_gives_up_waiting_is_told_and_lets_others_go() -> None:
    budget = InFlightBudget(MAX_ROWS, MAX_BYTES)
    await taken(budget, "first", 90)
    large, small = Room(budget, "large", 50, 1), Room(budget, "small", 5, 1)
    going_large, going_small = await asking(large), await asking(small)
    large.give_back()
    assert not await going_large
    assert await going_small
    large.give_back()
    assert budget.rows == 95


@pytest.mark.parametrize("turns_before", range(4))
async def test_who_is_cancelled_as_the_turn_comes_gives_the_room_back(turns_before: int) -> None:
    budget = InFlightBudget(MAX_ROWS, MAX_BYTES)
    first = await taken(budget, "first", 100)
    waiting = await asking(Room(budget, "second", 60, 1))
    first.give_back()
    for _ in range(turns_before):
        await asyncio.sleep(0)
    is_taken = waiting.done()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert budget.rows == (60 if is_taken else 0)


@given(JOBS, MOMENTS)
def test_jobs_that_are_cancelled_leave_nothing_behind(
    jobs: list[tuple[list[Work], int]], moments: list[float | None]
) -> None:
    crowd = [Job(works, at_once, after) for (works, at_once), after in zip(jobs, moments, strict=False)]
    run_jobs(crowd)
    assert all(job.done == len(job.works) for job in crowd if job.cancelled_after is None)


def test_an_event_loop_that_ended_amid_its_work_keeps_no_room() -> None:
    budget = InFlightBudget(MAX_ROWS, MAX_BYTES)
    asyncio.run(taken(budget, "abandoned", 100))
    asyncio.run(taken(budget, "next", 100))


@pytest.mark.parametrize(
    ("settings", "is_shared"),
    [({}, False), ({"max_bytes_in_flight": 12_000_000}, True), ({"max_rows_in_flight": 130_000}, True)],
)
async def test_packed_jobs_have_room_of_their_own_unless_a_setting_is_given_be_it_the_default(
    settings: dict[str, Any], *, is_shared: bool
) -> None:
    async with client_of("http://127.0.0.1:1", **settings) as client:
        session = client._session
    assert (session.packed_budget is session.budget) == is_shared
