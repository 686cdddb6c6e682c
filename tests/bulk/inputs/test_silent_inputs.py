"""Inputs that say nothing for a while, such as pipes and queues: a job that stops does not wait for them."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from socialapi._speedups import Digests
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.bulk.rows import Action, RowBlock
from socialapi.bulk.sync.job import SyncJob
from socialapi.bulk.sync.reading import SyncOptions
from socialapi.bulk.sync.snapshot import Snapshot
from socialapi.errors import BulkError, Forbidden
from socialapi.reports import Progress, RowIssue
from socialapi.session.options import CallOptions
from tests.bulk.inputs.test_files import readers_ended
from tests.bulk.model_service import DESTINATION, ModelService, job_of, people
from tests.bulk.model_transport import refusal, session_of

A_CHUNK = people(*map(str, range(ROWS_PER_BLOCK)))
SMALL: dict[str, Any] = {"max_operations": 500}


class Silent:
    """An asynchronous iterable of a chunk, behind which nothing comes."""

    def __init__(self) -> None:
        self.silent = asyncio.Event()
        self.ended_by = ""

    async def __aiter__(self) -> AsyncIterator[dict[str, str]]:
        for each in A_CHUNK:
            yield each
        self.silent.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.ended_by = "cancelled"
            raise


async def stopped(running: "asyncio.Future[Any]") -> BulkError:
    with pytest.raises(BulkError) as caught:
        await asyncio.wait_for(running, 10)
    assert isinstance(caught.value.__cause__, Forbidden)
    assert caught.value.report.adds_up
    return caught.value


async def test_a_job_that_stops_ends_while_its_input_is_silent() -> None:
    service, records = ModelService([refusal(403)] * 3), Silent()
    service.gate = asyncio.Event()
    running = asyncio.create_task(job_of(service, records, settings=SMALL).run())
    await records.silent.wait()
    assert not running.done()
    service.gate.set()
    error = await stopped(running)
    assert (error.report.read, error.report.pending) == (ROWS_PER_BLOCK, ROWS_PER_BLOCK)
    assert records.ended_by == "cancelled"
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_pipe_that_stays_open_does_not_hold_a_job_that_stops_either() -> None:
    service = ModelService([refusal(403)] * 5)
    service.gate = gate = asyncio.Event()

    def open_gate(progress: Progress) -> None:
        if progress.report.read == 2 * ROWS_PER_BLOCK:
            gate.set()

    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as pipe, os.fdopen(reading, "rb") as file:
        pipe.write(b"handle\n" + b"".join(b"p%d\n" % number for number in range(2 * ROWS_PER_BLOCK)))
        try:
            await stopped(asyncio.create_task(job_of(service, file, settings=SMALL, on_progress=open_gate).run()))
        finally:
            pipe.close()
            await readers_ended()


async def test_who_cancels_a_job_as_it_stops_has_cancelled_it() -> None:
    service, records = ModelService(), Silent()
    job = job_of(service, records, settings=SMALL)
    running = asyncio.create_task(job.run())
    await records.silent.wait()
    job.stage._dispatcher.stop(ValueError("stops"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 10)


async def test_an_input_that_gives_up_waiting_by_itself_has_broken_off() -> None:
    async def impatient() -> AsyncIterator[dict[str, str]]:
        yield {"handle": "ada"}
        raise TimeoutError

    with pytest.raises(BulkError, match=r"the input broke off: TimeoutError \(of 1 rows read: 1 accepted") as caught:
        await job_of(ModelService(), impatient()).run()
    assert isinstance(caught.value.__cause__, TimeoutError)


async def test_refused_rows_that_a_sync_was_writing_down_as_it_stopped_are_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, snapshot = session_of(ModelService()), Snapshot(tmp_path / "snapshot", "a", "c")
    options, call = SyncOptions(snapshot=tmp_path / "snapshot"), CallOptions.interactive(session.config)
    job = SyncJob(session, DESTINATION, [], snapshot, options, call)
    await snapshot.open()
    block = RowBlock(Action("Update"), [7], (("handle", Digests(["d" * 64])),))
    await snapshot.stage([(block, 2_000_000_000)])
    await snapshot.compare(now=0, soon=1)
    await snapshot.additions()
    job._phase = "additions"
    job._refused.append(RowIssue(1, "params", "no"))
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "numbers_of", lambda _: asyncio.Event().wait())
        noting = asyncio.create_task(job._note_refused())
        await asyncio.sleep(0)
        noting.cancel()
        await asyncio.wait([noting])
    for _ in range(2):
        await job._note_refused()
        assert job._counts.report().additions.rejects == (RowIssue(7, "params", "no"),)
    await snapshot.aclose()
