"""Turns: one at a time, in the order of asking, and everybody else in between."""

import asyncio
import itertools
import operator
from collections.abc import AsyncIterator, Sequence
from typing import Final

import pytest

from socialapi.bulk.audiences.audience_job import UploadJob
from socialapi.bulk.audiences.preparing import PreparedChunk, Preparer
from socialapi.bulk.audiences.upload_options import UploadOptions
from socialapi.session.calls import CallOptions
from socialapi.session.turns import Turns
from tests.bulk.model_service import DESTINATION, ModelService, people
from tests.bulk.model_transport import session_of

CALLERS: Final = 5


class Rounds:
    """Counts how often the event loop has gone round."""

    def __init__(self) -> None:
        self.now = 0
        self._counting = asyncio.ensure_future(self._count())

    async def _count(self) -> None:
        while True:
            self.now += 1
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        self._counting.cancel()
        await asyncio.wait([self._counting])


@pytest.fixture
async def rounds() -> AsyncIterator[Rounds]:
    counting = Rounds()
    yield counting
    await counting.aclose()


async def test_each_round_of_the_loop_has_one_turn_and_they_come_in_order(rounds: Rounds) -> None:
    turns = Turns()
    given: list[tuple[int, int]] = []

    async def work(caller: int) -> None:
        for _ in range(3):
            await turns.wait()
            given.append((caller, rounds.now))

    await asyncio.gather(*map(work, range(CALLERS)))
    assert [caller for caller, _ in given] == [*range(CALLERS)] * 3
    assert len({now for _, now in given}) == len(given)


async def test_who_is_cancelled_takes_no_turn_away(rounds: Rounds) -> None:
    turns = Turns()
    given: list[int] = []

    async def work(caller: int) -> None:
        await turns.wait()
        given.append(caller)

    tasks = [asyncio.ensure_future(work(caller)) for caller in range(CALLERS)]
    await asyncio.sleep(0)
    for caller in (0, 2, 4):
        tasks[caller].cancel()
    await asyncio.wait(tasks)
    assert given == [1, 3]
    await work(9)  # the queue is not left as if somebody stood in it
    assert given == [1, 3, 9]


async def test_jobs_side_by_side_prepare_one_at_a_time(rounds: Rounds, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(ModelService())
    prepare = Preparer.prepare_chunk
    seen: list[tuple[int, int]] = []

    def watched(self: Preparer, chunk: Sequence[object]) -> PreparedChunk:
        seen.append((rounds.now, id(self)))
        return prepare(self, chunk)  # type: ignore[arg-type]  # as it came

    monkeypatch.setattr(Preparer, "prepare_chunk", watched)
    options, call = UploadOptions(dry_run=True), CallOptions.interactive(session.config)
    jobs = [
        UploadJob(session, DESTINATION, people(*(f"p{job}-{row}" for row in range(5_000))), options, call)
        for job in range(CALLERS)
    ]
    await asyncio.gather(*(job.run() for job in jobs))
    assert len(seen) >= CALLERS * 4
    for _, same in itertools.groupby(seen, key=operator.itemgetter(0)):
        assert len({job for _, job in same}) == 1
