"""One task per batch, within bounds that are read anew."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.dispatcher import Dispatcher
from socialapi.session.budget import InFlightBudget


class Line:
    """Batches that are settled when the test says so."""

    def __init__(self) -> None:
        self.limit = 2
        self.started: list[int] = []
        self.most = 0
        self.settled = 0
        self.gates: dict[int, asyncio.Event] = {}
        self.problem: Exception | None = None
        self.budget = InFlightBudget(max_rows=50, max_bytes=100)
        self.dispatcher = self.new_dispatcher()

    def new_dispatcher(self) -> Dispatcher[Batch]:
        return Dispatcher(self._settle, lambda: self.limit, budget=self.budget, on_settled=self._count)

    def _count(self) -> None:
        self.settled += 1

    async def _settle(self, batch: Batch) -> None:
        self.started.append(batch.number)
        self.most = max(self.most, self.dispatcher.in_flight)
        await self.gates.setdefault(batch.number, asyncio.Event()).wait()
        if self.problem is not None:
            raise self.problem

    def finish(self, *numbers: int) -> None:
        for number in numbers:
            self.gates.setdefault(number, asyncio.Event()).set()


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    line = Line()
    yield line
    await line.dispatcher.cancel()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def turns(condition: Callable[[], bool] = lambda: False) -> None:
    """Lets everything happen that can happen."""
    for _ in range(50):
        if condition():
            return
        await asyncio.sleep(0)


async def blocked(waiting: Awaitable[None]) -> "asyncio.Future[None]":
    task = asyncio.ensure_future(waiting)
    await turns()
    assert not task.done()
    return task


async def test_the_limit_is_read_anew_for_every_batch(line: Line) -> None:
    for number in (1, 2):
        await line.dispatcher.submit(Batch(number, 10))
    line.limit = 3
    await line.dispatcher.submit(Batch(3, 10))
    line.limit = 1
    fourth = await blocked(line.dispatcher.submit(Batch(4, 10)))
    line.finish(1, 2)
    await turns()
    assert not fourth.done()
    line.finish(3)
    await turns()
    assert fourth.done()


async def test_bytes_on_their_way_are_bounded_and_a_batch_beyond_the_bound_goes_alone(line: Line) -> None:
    line.limit = 10
    await line.dispatcher.submit(Batch(1, 60))
    await line.dispatcher.submit(Batch(2, 40))
    third = await blocked(line.dispatcher.submit(Batch(3, 101)))
    line.finish(1)
    await turns()
    assert not third.done()
    line.finish(2)
    await turns()
    assert third.done()
    assert line.started == [1, 2, 3]


async def test_after_a_failure_nothing_starts_what_is_on_its_way_finishes_and_the_first_failure_counts(
    line: Line,
) -> None:
    line.limit = 3
    first, second, dependent, late = Batch(1, 10), Batch(2, 10), Batch(3, 10), Batch(4, 10)
    dependent.after.add(first)
    for each in (first, second, dependent):
        await line.dispatcher.submit(each)
    waiting = await blocked(line.dispatcher.submit(late))
    problem = line.problem = ValueError("no")
    line.finish(1)
    await turns()
    assert waiting.done()
    assert line.dispatcher.failure is problem
    assert not second.settled.is_set()
    line.problem = None
    line.finish(2)
    await line.dispatcher.drain()
    line.dispatcher.stop(ValueError("another"))
    assert line.dispatcher.failure is problem
    assert line.started == [1, 2]
    assert [each.failed for each in (first, second, dependent, late)] == [True, False, True, True]
    assert all(each.settled.is_set() for each in (first, second, dependent, late))


async def test_a_batch_that_other_code_cancels_is_a_failure(line: Line) -> None:
    await line.dispatcher.submit(Batch(1, 10))
    await line.dispatcher.submit(Batch(2, 10))
    await turns()
    (first,) = (task for task in asyncio.all_tasks() if task.get_name() == "socialapi batch 1")
    first.cancel()
    await turns()
    assert isinstance(line.dispatcher.failure, RuntimeError)
    await line.dispatcher.submit(Batch(3, 10))
    line.finish(2)
    await line.dispatcher.drain()
    assert line.started == [1, 2]
    assert (line.budget.rows, line.budget.size_bytes) == (0, 0)


async def test_rows_on_their_way_stay_within_bounds_too(line: Line) -> None:
    line.limit = 10
    await line.dispatcher.submit(Batch(1, 1, row_count=30))
    await line.dispatcher.submit(Batch(2, 1, row_count=20))
    third = await blocked(line.dispatcher.submit(Batch(3, 1, row_count=10)))
    line.finish(2)
    await turns(third.done)
    await third
    large = await blocked(line.dispatcher.submit(Batch(4, 1, row_count=90)))
    line.finish(1, 3)
    await turns(large.done)
    await large  # alone it goes out, however large
    line.finish(4)
    await line.dispatcher.drain()
    assert line.settled == 4


async def test_jobs_share_the_room_and_the_first_to_ask_is_the_first_to_go(line: Line) -> None:
    other, third = line.new_dispatcher(), line.new_dispatcher()
    await line.dispatcher.submit(Batch(1, 90))
    second = await blocked(other.submit(Batch(2, 50)))
    last = await blocked(third.submit(Batch(3, 50)))
    line.finish(1)
    await turns(last.done)
    await asyncio.gather(second, last)
    await turns(lambda: len(line.started) == 3)
    assert line.started == [1, 2, 3]
    line.finish(2, 3)
    await asyncio.gather(other.drain(), third.drain())
    assert line.budget.size_bytes == 0


async def test_a_batch_that_waits_for_an_earlier_one_keeps_no_room_from_other_jobs(line: Line) -> None:
    other, earlier = line.new_dispatcher(), Batch(1, 40)
    line.limit = 10
    await line.dispatcher.submit(earlier)
    await line.dispatcher.submit(Batch(2, 60, after={earlier}))
    after_it = await blocked(line.dispatcher.submit(Batch(3, 10)))
    assert line.budget.size_bytes == 40
    await other.submit(Batch(4, 60))
    line.finish(1)
    await turns()
    assert line.started == [1, 4]  # the second one waits for room now
    line.finish(2, 3, 4)
    await turns(after_it.done)
    await asyncio.gather(after_it, line.dispatcher.drain(), other.drain())
    assert line.started == [1, 4, 2, 3]
    assert line.budget.size_bytes == 0


@pytest.mark.parametrize("is_after_another", [False, True])
async def test_a_job_that_stops_while_it_waits_for_room_leaves_its_batch(line: Line, is_after_another: bool) -> None:
    other, first = line.new_dispatcher(), Batch(2, 10)
    await other.submit(Batch(1, 60))
    await line.dispatcher.submit(first)
    late = Batch(3, 60, after={first} if is_after_another else set())
    submitting = asyncio.ensure_future(line.dispatcher.submit(late))
    await turns()
    line.finish(2)
    await turns()
    assert submitting.done() == is_after_another
    line.dispatcher.stop(ValueError("stops"))
    await submitting
    await line.dispatcher.drain()
    assert late.failed
    assert (line.started, line.budget.size_bytes) == ([1, 2], 60)
    line.finish(1)
    await other.drain()


@pytest.mark.parametrize("rounds", range(4))
async def test_a_job_that_is_cancelled_gives_all_of_its_room_back(line: Line, rounds: int) -> None:
    line.limit, earlier = 10, Batch(1, 30)
    other = line.new_dispatcher()
    await line.dispatcher.submit(earlier)
    await line.dispatcher.submit(Batch(2, 30, after={earlier}))
    submitting = asyncio.ensure_future(line.dispatcher.submit(Batch(3, 70)))
    for _ in range(rounds):
        await asyncio.sleep(0)
    submitting.cancel()
    await asyncio.wait([submitting])
    await line.dispatcher.cancel()
    await turns()
    assert (line.budget.rows, line.budget.size_bytes) == (0, 0)
    await other.submit(Batch(5, 100))
    line.finish(5)
    await other.drain()
