"""Whatever ends an upload, and however often: the same call with the same journal ends as one that ran through."""

import asyncio
import contextlib
import csv
import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from socialapi.bulk.journals.journal import RecordedBatch
from socialapi.reports import UploadReport
from tests.bulk.model_service import BAD, FAULTS, Identifier, Times, members_after
from tests.bulk.resuming import HOWS, End, EndingService, MemoryJournal, Ran, Shape, Way, digest_of, run_once

Row = Mapping[str, Any]
NAMES: Final = ("a", "b", "c", "d", "e", "f")
TIMES: Final = (None, "2090-01-01T00:00:00Z", "2091-01-01T00:00:00Z")


def rows_with(names: Sequence[str]) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries(
        {
            "operation_type": st.sampled_from(("Update", "Update", "Delete")),
            "expires_at": st.sampled_from(TIMES),
            "partner_user_id": st.lists(st.sampled_from(names), max_size=3),
        }
    )
    return st.lists(row, min_size=1, max_size=30)


SHAPES: Final = st.builds(
    Shape,
    packing=st.sampled_from(("single", "packed")),
    max_operations=st.integers(1, 4),
    max_bytes=st.sampled_from((300, 600, 5_000_000)),
    remembered=st.sampled_from((1, 2, 5, 1_000)),
    waiting_duplicates=st.sampled_from((1, 3, 1_000)),
)
WAYS: Final = st.builds(Way, concurrency=st.integers(1, 3), slow=st.booleans())
ENDS: Final = st.lists(st.tuples(st.builds(End, st.sampled_from(HOWS), st.integers(1, 15)), WAYS), max_size=4)
SEEDS: Final = st.integers(0, 10_000)


def alone(rows: Sequence[Row]) -> list[Row]:
    """The rows, with each that the service refuses having one identifier of its own, and no other."""
    return [
        {**row, "partner_user_id": [f"{BAD} {number}"]} if any(BAD in each for each in row["partner_user_id"]) else row
        for number, row in enumerate(rows)
    ]


@attrs.frozen
class Reference:
    """A run from beginning to end, one request after another."""

    report: UploadReport
    members: Mapping[Identifier, Times]
    rejects: list[list[str]]
    batches: Mapping[int, RecordedBatch]
    requests: Mapping[int, Counter[bytes]]
    """By batch, the digests of all bodies that were sent for it."""


def rejects_in(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return sorted(csv.reader(file))


async def reference(rows: Sequence[Row], shape: Shape, folder: Path) -> Reference:
    journal = MemoryJournal()
    service = EndingService(journal, rng=random.Random(0))
    path = folder / "reference.csv"
    ran, _ = await run_once(rows, service, journal, shape, Way(), rejects=path)
    assert ran.report is not None
    requests: dict[int, Counter[bytes]] = {}
    number = 0
    for what, said in journal.events:
        if what == "begin":
            number = said.number
        elif what == "request":
            requests.setdefault(number, Counter())[said] += 1
    return Reference(ran.report, service.members, rejects_in(path), recorded(journal), requests)


def sums(report: UploadReport) -> tuple[int, ...]:
    return report.read, report.accepted, report.rejected, report.duplicate, report.pending, report.warnings


def sent(ran: Ran) -> Counter[bytes]:
    return Counter(map(digest_of, ran.bodies))


async def ended_and_resumed(
    rows: Sequence[Row],
    shape: Shape,
    ends: Sequence[tuple[End | None, Way]],
    journal: MemoryJournal | Path,
    expected: Reference,
    folder: Path,
) -> None:
    service, path = EndingService(), folder / "rejects.csv"
    for end, way in (*ends, (None, Way(concurrency=2))):
        left = set(expected.requests) - {number for number, batch in recorded(journal).items() if batch.confirmed}
        ran, finished = await run_once(rows, service, journal, shape, way, end=end, rejects=path)
        due = sum((expected.requests[number] for number in left), Counter[bytes]())
        assert sent(ran) <= due
        if finished:
            assert ran.report is not None
            assert sent(ran) == due
            assert sums(ran.report) == sums(expected.report)
            assert rejects_in(path) == expected.rejects
            assert service.members == expected.members
            assert recorded(journal) == expected.batches


def recorded(journal: MemoryJournal | Path) -> dict[int, RecordedBatch]:
    """The batches in the journal, without outcomes."""
    if isinstance(journal, MemoryJournal):
        return {number: attrs.evolve(batch, outcomes=()) for number, batch in journal.batches.items()}
    if not journal.exists():
        return {}
    with contextlib.closing(sqlite3.connect(journal)) as connection:
        lines = connection.execute("SELECT number, first_row, last_row, rows, digest, confirmed FROM batches")
        return {line[0]: RecordedBatch(line[0], line[1], line[2], line[3], line[4], bool(line[5])) for line in lines}


@settings(max_examples=50, deadline=None)
@given(rows_with((*NAMES, f"{BAD} g")).map(alone), SHAPES, ENDS)
def test_what_is_not_confirmed_is_sent_byte_for_byte_and_nothing_else(
    rows: list[Row], shape: Shape, ends: list[tuple[End, Way]]
) -> None:
    ends = [(end, way) for end, way in ends if end.how != "broken input"]

    async def run(folder: Path) -> None:
        expected = await reference(rows, shape, folder)
        assert expected.members == members_after(rows, {issue.row for issue in expected.report.rejects})
        await ended_and_resumed(rows, shape, ends, MemoryJournal(), expected, folder)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


@settings(max_examples=15, deadline=None)
@given(rows_with((*NAMES, f"{BAD} g")).map(alone), SHAPES, ENDS)
def test_that_is_so_with_a_journal_in_a_file(rows: list[Row], shape: Shape, ends: list[tuple[End, Way]]) -> None:
    ends = [(end, way) for end, way in ends if end.how in ("cancelled", "lost", "refused")]

    async def run(folder: Path) -> None:
        expected = await reference(rows, shape, folder)
        await ended_and_resumed(rows, shape, ends, folder / "job.journal", expected, folder)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


async def misfortunes(
    rows: Sequence[Row],
    shape: Shape,
    ends: Sequence[tuple[End | None, Way]],
    service: EndingService,
    expected: Reference,
    path: Path,
) -> MemoryJournal:
    journal = MemoryJournal()
    for end, way in (*ends, (None, Way(concurrency=3))):
        confirmed, told = journal.confirmed, len(journal.events)
        ran, finished = await run_once(rows, service, journal, shape, way, end=end, rejects=path)
        begun = [said for what, said in journal.events[told:] if what == "begin"]
        assert confirmed.isdisjoint(batch.number for batch in begun)
        assert all(attrs.evolve(expected.batches[batch.number], confirmed=False) == batch for batch in begun)
        if finished:
            assert ran.report is not None
            assert {batch.digest for batch in begun} <= set(sent(ran))
            assert (ran.report.read, ran.report.rejected, ran.report.pending, ran.report.warnings) == (
                *(len(rows), expected.report.rejected, 0, expected.report.warnings),
            )
            assert rejects_in(path) == expected.rejects
            assert service.members == expected.members
    return journal


def updates(*values: tuple[str, ...]) -> list[Row]:
    return [{"operation_type": "Update", "expires_at": None, "partner_user_id": list(each)} for each in values]


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@example(updates((), ("a",), (f"{BAD} g",), ("a", f"{BAD} g"), ("a",)), Shape(max_operations=1), [], 0.0, 0)
@given(rows_with((*NAMES, f"{BAD} g", f"{BAD} h")), SHAPES, ENDS, st.sampled_from((0.0, 0.0, 0.2)), SEEDS)
def test_refused_rows_that_others_repeat_faults_and_broken_inputs_change_nothing_about_the_outcome(
    rows: list[Row], shape: Shape, ends: list[tuple[End, Way]], likely: float, seed: int
) -> None:
    async def run(folder: Path) -> None:
        expected = await reference(rows, shape, folder)
        assert expected.members == members_after(rows, {issue.row for issue in expected.report.rejects})
        service = EndingService(rng=random.Random(seed), likely=likely, faults=FAULTS)
        path = folder / "rejects.csv"
        journal = await misfortunes(rows, shape, ends, service, expected, path)
        again, _ = await run_once(rows, service, journal, shape, Way(concurrency=2, slow=bool(seed % 2)), rejects=path)
        assert not again.bodies
        assert again.report is not None
        assert rejects_in(path) == expected.rejects
        reasons = [line[2] for line in rejects_in(path)[:-1]]  # the header is the last line in their order
        by_service = sum(reason.startswith("INVALID_PARAMETER") for reason in reasons)
        assert again.report.resumed == again.report.accepted + by_service

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))
