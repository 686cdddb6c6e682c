"""What is settled when is another matter in every run; what is sent and counted must not depend on it."""

from datetime import UTC, datetime
from typing import Final

import attrs
import pytest

from socialapi.bulk.audiences.batches import Batch, Packer
from socialapi.bulk.audiences.resume import Recorder
from socialapi.bulk.journals.journal import Opened, RecordedBatch
from socialapi.bulk.rows import Action, Row, RowBlock, Texts
from socialapi.internal import fairness
from tests.bulk.model_service import BAD, people
from tests.bulk.resuming import End, EndingService, MemoryJournal, Shape, Way, digest_of, run_once
from tests.support.rounds import counted_rounds

PAUSE: Final = people(*["x"] * 100)
"""Repeats of a row that is not sent yet: when others get their turn between rows, all that was sent is settled."""


async def test_a_job_that_stops_within_a_confirmed_batch_says_why_it_stopped() -> None:
    """Batch 2 was confirmed before batch 1, which fails again when only one row of batch 2 is read."""
    rows, service, journal = [*people("a", "b"), *PAUSE, *people("c")], EndingService(), MemoryJournal()
    await run_once(rows, service, journal, Shape(), Way())
    journal.batches[1] = attrs.evolve(journal.batches[1], confirmed=False)
    ran, finished = await run_once(rows, service, journal, Shape(), Way(slow=True), end=End("refused", 1))
    assert not finished
    assert ran.report is not None
    assert (ran.report.requests, ran.report.resumed, ran.report.pending) == (1, 0, 103)
    assert journal.state == "stopped"
    ran, _ = await run_once(rows, service, journal, Shape(), Way())
    assert ran.report is not None
    assert (ran.report.requests, ran.report.resumed, ran.report.accepted) == (1, 2, 4)


async def test_others_get_their_turn_while_a_large_batch_is_compared_with_the_journal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every step took too long
    packer = Packer("packed", max_operations=1, max_bytes=5_000_000)
    names = [f"person number {number}" for number in range(50_000)]
    batch = Batch()
    packer.add(batch, RowBlock(Action("Update"), range(1, 50_001), (("partner_user_id", Texts(names)),)))
    batch.position, parts = 1, list(packer.encode(batch.blocks))
    journal = MemoryJournal()
    digest = digest_of(b"".join(parts))
    journal.batches[1] = RecordedBatch(1, 1, 50_000, 50_000, digest, confirmed=True)
    opened = Opened(job_id="j", started_at=datetime.now(UTC), is_new=False, last_batch=1)
    async with counted_rounds() as rounds:
        await Recorder(journal, opened, packer).take_over(batch)
    assert batch.earlier == ()
    assert rounds.now > len(parts) > 10


async def test_rows_of_a_confirmed_batch_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    service, journal = EndingService(), MemoryJournal()
    rows = people("a", "b", f"{BAD} c", "d")
    await run_once(rows, service, journal, Shape(max_operations=4), Way())
    looked_at: list[int] = []
    row_of = RowBlock.row

    def look(run: RowBlock, place: int) -> Row:
        looked_at.append(run.numbers[place])
        return row_of(run, place)

    monkeypatch.setattr(RowBlock, "row", look)
    ran, _ = await run_once(rows, service, journal, Shape(max_operations=4), Way())
    assert ran.report is not None
    assert (ran.report.accepted, ran.report.rejected, ran.report.resumed, ran.report.requests) == (3, 1, 4, 0)
    assert set(looked_at) == {3}
