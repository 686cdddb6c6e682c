"""Turns: one at a time, in the order of asking, and everybody else in between."""

import asyncio
import itertools
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.bulk import job
from socialapi.bulk.audiences import sender
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.job import UploadJob, UploadOptions
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.internal import fairness
from socialapi.session.options import CallOptions
from tests.bulk.model_service import DESTINATION, ModelService, job_of, people
from tests.bulk.model_transport import session_of
from tests.support.rounds import Rounds, counted_rounds

CALLERS: Final = 5


@pytest.fixture
async def rounds() -> AsyncIterator[Rounds]:
    async with counted_rounds() as counted:
        yield counted


async def test_each_round_of_the_loop_has_one_turn_and_they_come_in_order(rounds: Rounds) -> None:
    given: list[tuple[int, int]] = []

    async def work(caller: int) -> None:
        for _ in range(3):
            await fairness.yield_to_others()
            given.append((caller, rounds.now))

    await asyncio.gather(*map(work, range(CALLERS)))
    assert [caller for caller, _ in given] == [*range(CALLERS)] * 3
    assert len({now for _, now in given}) == len(given)


async def test_who_is_cancelled_takes_no_turn_away(rounds: Rounds) -> None:
    given: list[int] = []

    async def work(caller: int) -> None:
        await fairness.yield_to_others()
        given.append(caller)

    tasks = [asyncio.ensure_future(work(caller)) for caller in range(CALLERS)]
    await asyncio.sleep(0)
    for caller in (0, 2, 4):
        tasks[caller].cancel()
    await asyncio.wait(tasks)
    assert given == [1, 3]
    await work(9)  # the queue is not left as if somebody stood in it
    assert given == [1, 3, 9]


def test_a_loop_that_ended_while_somebody_waited_does_not_stand_in_the_way_of_another_one() -> None:

    async def leave() -> None:
        for _ in range(CALLERS):
            asyncio.ensure_future(fairness.yield_to_others())  # noqa: RUF006  # to be left behind
        await asyncio.sleep(0)

    async def wait() -> None:
        async with asyncio.timeout(10):
            await fairness.yield_to_others()

    asyncio.run(leave())
    asyncio.run(wait())


Names = list[dict[str, str]]


def as_iterable(rows: Names, path: Path) -> object:
    return rows


async def as_async_iterable(rows: Names, path: Path) -> AsyncIterator[dict[str, str]]:
    for row in rows:
        await asyncio.sleep(0)
        yield row


def as_file(rows: Names, path: Path) -> object:
    path.write_text("".join(f"{line}\n" for line in ("partner_user_id", *(row["partner_user_id"] for row in rows))))
    return path


@pytest.fixture
def prepared(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The round of the loop in which each block was prepared, and whose it was."""
    prepare = Preparer.prepare
    seen: list[tuple[int, int]] = []

    def watched(self: Preparer, block: UserBlock) -> Iterator[PreparedBlock]:
        for each in prepare(self, block):
            seen.append((rounds.now, id(self)))
            yield each

    monkeypatch.setattr(Preparer, "prepare", watched)
    return seen


async def dry_runs(inputs: list[Any]) -> None:
    session = session_of(ModelService())
    options, call = UploadOptions(dry_run=True), CallOptions.interactive(session.config)
    jobs = [UploadJob(session, DESTINATION, records, options, call) for records in inputs]
    await asyncio.gather(*(job.run() for job in jobs))


def check_one_at_a_time(prepared: list[tuple[int, int]]) -> None:
    for _, same in itertools.groupby(prepared, key=operator.itemgetter(0)):
        assert len({job for _, job in same}) == 1


@pytest.mark.parametrize("source", [as_iterable, as_async_iterable, as_file])
async def test_jobs_side_by_side_prepare_one_at_a_time(
    source: Any, prepared: list[tuple[int, int]], tmp_path: Path
) -> None:
    rows = [people(*(f"p{job}-{row}" for row in range(5_000))) for job in range(CALLERS)]
    await dry_runs([source(each, tmp_path / f"{job}.csv") for job, each in enumerate(rows)])
    assert len(prepared) >= CALLERS * 4
    check_one_at_a_time(prepared)


async def test_jobs_that_waited_for_the_same_library_prepare_one_at_a_time(
    prepared: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = asyncio.Barrier(CALLERS)

    async def load_together(work: Callable[[], None]) -> None:
        work()
        await loads.wait()

    monkeypatch.setattr(asyncio, "to_thread", load_together)
    await dry_runs([[{"phone_number": f"+4477009000{job:02}"}] for job in range(CALLERS)])
    assert len({job for _, job in prepared}) == CALLERS
    check_one_at_a_time(prepared)


async def test_a_small_request_waits_for_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = 0

    async def watched() -> None:
        nonlocal taken
        taken += 1
        await fairness.yield_to_others()

    monkeypatch.setattr(job, "yield_to_others", watched)
    monkeypatch.setattr(sender, "yield_if_due", watched)
    service = ModelService()
    await job_of(service, people(*(f"p{row}" for row in range(1_000))), settings={"max_operations": 10}).run()
    assert len(service.requests) == 100
    assert 0 < taken < 20
