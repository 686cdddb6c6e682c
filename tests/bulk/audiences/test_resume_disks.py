"""Journals that cannot be written or read: nothing is sent that could not be recorded, and nothing counts twice."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.bulk.journals.journal import JobIdentity, Opened
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.errors import BulkError, ConfigurationError
from socialapi.reports import UploadReport
from tests.bulk.input_files import write
from tests.bulk.model_service import ModelService, job_of, people
from tests.bulk.resuming import End, EndingService, MemoryJournal, Shape, Way, digest_of, run_once
from tests.support.files import content_of

ONE_EACH: Final = Shape(max_operations=1)
TEN: Final = people(*(f"p{number}" for number in range(10)))


class SmallJournal(SqliteJournal):
    """A file that cannot grow beyond what it is when it is opened."""

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        opened = await super().open(identity, now)
        await self._database.run(
            lambda connection: connection.execute(
                f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}"
            ).fetchall()
        )
        return opened


async def stopped(service: ModelService, records: Sequence[Any], journal: Any, **options: Any) -> BulkError:
    with pytest.raises(BulkError) as caught:
        await asyncio.wait_for(finished(service, records, journal, **options), 20)
    assert isinstance(caught.value.__cause__, ConfigurationError)
    assert caught.value.report.adds_up
    return caught.value


async def finished(service: ModelService, records: Sequence[Any], journal: Any, **options: Any) -> UploadReport:
    return await job_of(service, records, settings={"max_operations": 1}, journal=journal, **options).run()


# Full --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("write", range(1, 12))
async def test_only_what_was_recorded_before_is_sent(write: int, concurrency: int) -> None:
    service, journal = EndingService(), MemoryJournal()
    ran, _ = await run_once(TEN, service, journal, ONE_EACH, Way(concurrency=concurrency), end=End("full", write))
    assert {digest_of(body) for body in ran.bodies} == {batch.digest for batch in journal.batches.values()}
    assert len(ran.bodies) == len(journal.batches) < 10
    confirmed = {batch.digest for batch in journal.batches.values() if batch.confirmed}
    assert ran.report is not None
    assert ran.report.accepted == len(ran.bodies)  # what was on its way came to its end
    assert ran.report.pending == 10 - len(ran.bodies)
    again, _ = await run_once(TEN, service, journal, ONE_EACH, Way(concurrency=concurrency))
    assert confirmed.isdisjoint(map(digest_of, again.bodies))
    assert again.report is not None
    assert (again.report.accepted, again.report.resumed) == (10, len(confirmed))
    assert len(service.members) == 10


@pytest.mark.parametrize(("how", "again"), [("full", 1), ("full but kept", 0)])
async def test_a_batch_that_could_not_be_confirmed_is_sent_again_if_nothing_of_it_was_kept(
    how: Any, again: int
) -> None:
    service, journal = EndingService(), MemoryJournal()
    first, _ = await run_once(TEN[:1], service, journal, ONE_EACH, Way(), end=End(how, 2))
    assert first.report is not None
    assert (first.report.accepted, first.report.pending) == (1, 0)
    second, _ = await run_once(TEN[:1], service, journal, ONE_EACH, Way())
    assert second.bodies == first.bodies[:again]
    assert second.report is not None
    assert (second.report.accepted, second.report.resumed) == (1, 1 - again)


async def test_a_journal_that_cannot_be_told_the_end_stops_a_job_in_which_all_is_settled() -> None:
    service, journal = EndingService(), MemoryJournal()
    first, done = await run_once(TEN[:1], service, journal, ONE_EACH, Way(), end=End("full", 3))
    assert first.report is not None
    assert (first.report.accepted, first.report.pending, done) == (1, 0, False)
    assert (await run_once(TEN[:1], service, journal, ONE_EACH, Way()))[0].bodies == ()


async def test_a_file_that_cannot_grow_stops_the_job_and_with_more_room_it_goes_on(tmp_path: Path) -> None:
    path, rows = tmp_path / "job.journal", people(*(f"p{number}" for number in range(150)))
    first, second = ModelService(), ModelService()
    error = await stopped(first, rows, SmallJournal(path), concurrency=3)
    assert str(error).startswith(
        f"the upload stopped: the journal {path} cannot be written: the disk is full; free some space and try again "
    )
    sent = len(first.bodies)
    assert 20 < sent == error.report.accepted < 150
    report = await finished(second, rows, path)
    assert sent - 3 <= report.resumed <= sent
    assert len(second.bodies) == 150 - report.resumed
    assert first.members | second.members == {("partner_user_id", f"p{number}"): (None, None) for number in range(150)}


# Damaged -----------------------------------------------------------------------------------------------------------


async def test_a_line_that_was_changed_stops_the_job_before_anything_is_sent(tmp_path: Path) -> None:
    path, first, second = tmp_path / "job.journal", ModelService(), ModelService()
    await finished(first, TEN, path)
    digest = digest_of(first.bodies[0])
    content = content_of(path)
    assert digest in content
    write(path, content.replace(digest, digest[:-1] + bytes([digest[-1] ^ 1])))
    error = await stopped(second, TEN, path)
    assert f"the upload stopped: the journal {path} is damaged, or was never one: restore it" in str(error)
    assert second.bodies == []
    write(path, content)
    assert (await finished(second, TEN, path)).resumed == 10
