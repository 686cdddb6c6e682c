"""Loads with a journal: wherever one is ended, the next one sends what is not confirmed, and nothing else."""

import asyncio
import csv
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi.bulk.journals.journal_view import look
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.bulk.products import batcher
from socialapi.errors import BulkError, ConfigurationError, InvalidInput
from socialapi.reports import RowIssue, UpsertReport
from tests.bulk.model_transport import refusal
from tests.bulk.products.model_catalog import (
    FAULTS,
    REFUSED,
    WARNED,
    ModelCatalog,
    Shape,
    csv_file,
    job_of,
    line,
    numbered,
    product,
    products,
    result,
    results,
)
from tests.bulk.resuming import FULL, End, MemoryJournal

OUTCOMES: Final = ("read", "accepted", "created", "updated", "unchanged", "rejected", "pending", "warnings")


def counts(report: Any, *names: str) -> list[int]:
    return [getattr(report, name) for name in names or OUTCOMES]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "load.journal"


async def stopped(service: ModelCatalog, source: Any, **options: Any) -> BulkError:
    with pytest.raises(BulkError) as caught:
        await job_of(service, source, **options).run()
    assert caught.value.report.adds_up
    return caught.value


def sent(service: ModelCatalog) -> list[str]:
    return [each["id"] for request in service.requests for each in request]


# The rule ----------------------------------------------------------------------------------------------------------

ROW: Final = st.builds(
    lambda name, group, price, label: {"id": name, "group": group, "price": price, "label": label},
    st.sampled_from("abcdefghijkl"),
    st.sampled_from((None, None, None, "g", "h")),
    st.sampled_from(("1.00 EUR", "2.00 EUR", "3.00 EUR", "free")),
    st.sampled_from((None, None, None, None, REFUSED, WARNED)),
)


END: Final = st.builds(End, st.sampled_from(("full", "full but kept")), st.integers(1, 25))
"""A run is ended at one of its writes, which is there afterwards or not."""


@attrs.frozen
class Setting:
    ends: Sequence[End]
    concurrency: int
    likely: float
    seed: int


SETTING: Final = st.builds(
    Setting,
    ends=st.lists(END, min_size=1, max_size=4),
    concurrency=st.integers(1, 5),
    likely=st.sampled_from((0.0, 0.3)),
    seed=st.integers(0, 10_000),
)


def shapes(drawn: Sequence[Shape], *, unique: bool) -> list[Shape]:
    """Products of the drawn rows; with the number of their row in each, unless what is the same shall be the same."""
    return [
        product(
            row["id"],
            item_group_id=row["group"],
            price=row["price"],
            custom_label_0=row["label"],
            custom_label_1=f"row {number}" if unique else None,
        )
        for number, row in enumerate(drawn, 1)
    ]


def one_by_one(rows: Sequence[Shape]) -> dict[str, Shape]:
    return {row["id"]: row for row in rows if row["price"] != "free" and row.get("custom_label_0") != REFUSED}


async def resumed(
    service: ModelCatalog, rows: Sequence[Shape], chosen: Setting, **options: Any
) -> tuple[UpsertReport, MemoryJournal]:
    """The report of the last run, each one before it ended in its own way. What was confirmed is not sent again."""
    journal = MemoryJournal()
    for end in (*chosen.ends, None):
        journal.end = end
        confirmed = set(journal.by_row)
        service.requests.clear()
        job = job_of(service, rows, journal=journal, concurrency=chosen.concurrency, **options)
        try:
            report = await asyncio.wait_for(job.run(), 20)
        except BulkError as ended:
            if end is None or FULL not in str(ended):
                raise
        again = {int(each["custom_label_1"][4:]) for r in service.requests for each in r if "custom_label_1" in each}
        assert not again & confirmed
        assert not asyncio.all_tasks() - {asyncio.current_task()}
    return report, journal


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(ROW, max_size=90), SETTING, st.sampled_from((1, 500)))
def test_wherever_loads_end_the_catalog_is_that_of_the_products_one_after_another(
    drawn: list[Shape], chosen: Setting, held: int
) -> None:
    rows = shapes(drawn, unique=True)
    service = ModelCatalog(rng=random.Random(chosen.seed), likely=chosen.likely, faults=FAULTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batcher, "MAX_HELD", held)
        report, journal = asyncio.run(resumed(service, rows, chosen))
    assert service.products == one_by_one(rows)
    refused = sum(row.get("custom_label_0") == REFUSED or row["price"] == "free" for row in rows)
    assert counts(report, "read", "accepted", "rejected", "pending") == [len(rows), len(rows) - refused, refused, 0]
    warned = sum(row.get("custom_label_0") == WARNED and row["price"] != "free" for row in rows)
    taken = [row["id"] for row in rows if row["price"] != "free"]
    repeats = len(taken) > len(set(taken))  # of which one warning tells
    assert (report.warnings, len(report.warning_details)) == (warned + repeats, warned + repeats)
    assert sorted(issue.row for issue in report.rejects) == [
        n for n, row in enumerate(rows, 1) if row.get("custom_label_0") == REFUSED or row["price"] == "free"
    ]
    assert sorted(journal.by_row) == list(range(1, len(rows) + 1))
    assert journal.state == "finished"


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=60), st.lists(ROW, max_size=60), SETTING)
def test_with_digests_too(before: list[Shape], drawn: list[Shape], chosen: Setting) -> None:
    """Most of the second feed is what the first one has loaded, and is skipped; what the digests say is true."""
    first = shapes(before, unique=False)
    rows = shapes([*before[::2], *drawn, *before[1::3]], unique=False)

    async def run(digests: Path) -> None:
        service = ModelCatalog(rng=random.Random(chosen.seed), likely=chosen.likely, faults=FAULTS)
        await job_of(service, first, digests=digests).run()
        assert service.products == one_by_one(first)
        report, _ = await resumed(service, rows, chosen, digests=digests)
        held = one_by_one(first) | one_by_one(rows)
        assert service.products == held
        assert report.pending == 0
        last = list(one_by_one(rows).values())
        service.requests.clear()
        report = await job_of(service, last, digests=digests).run()
        assert service.products == held
        assert sent(service) == [row for row in sent(service) if row in _refused(rows)]

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder, "digests")))


def _refused(rows: Sequence[Shape]) -> set[str]:
    """The products of which the service has refused some version: their digests are gone."""
    return {row["id"] for row in rows if row.get("custom_label_0") == REFUSED}


# One by one --------------------------------------------------------------------------------------------------------


def by_row(issue: RowIssue) -> int:
    return issue.row


async def test_a_load_that_is_over_reports_the_same_and_sends_nothing(path: Path, tmp_path: Path) -> None:
    rows = [*numbered(60), product("w", custom_label_0=WARNED), product("r", custom_label_0=REFUSED), {"id": "bad"}]
    service = ModelCatalog()
    report = await job_of(service, rows, journal=path).run()
    service.requests.clear()
    rejects = tmp_path / "rejects.csv"
    again = await job_of(service, rows, journal=path, rejects=rejects).run()
    assert service.requests == []
    assert counts(again) == counts(report) == [63, 61, 61, 0, 0, 2, 0, 1]
    assert (again.requests, again.resumed) == (0, 62)
    assert sorted(again.rejects, key=by_row) == sorted(report.rejects, key=by_row)
    assert again.warning_details == report.warning_details
    assert sorted(cells[0] for cells in rows_of(rejects)) == ["62", "63", "row"]


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


async def test_the_rejects_file_has_every_rejected_row_once_however_often_the_load_was_ended(
    path: Path, tmp_path: Path
) -> None:
    rejects = tmp_path / "rejects.csv"
    lines = [line(f"p{n}", brand="" if n % 10 == 9 else "Northwind") for n in range(75)]
    feed = csv_file(tmp_path / "feed.csv", *lines)
    refusing = [lambda asked: results(*(result(each["id"], "ERROR", errors=["no"]) for each in asked))]
    service = ModelCatalog([*refusing, refusal(403), None, refusal(403)])
    for _ in range(2):
        await stopped(service, feed, journal=path, rejects=rejects, concurrency=1)
    report = await job_of(service, feed, journal=path, rejects=rejects).run()
    found = rows_of(rejects)
    numbers = sorted(int(cells[0]) for cells in found[1:])
    assert numbers == [*range(1, 28), 30, 40, 50, 60, 70]
    assert report.rejected == len(numbers)
    assert [cells for cells in found if cells[0] == "1"] == [["1", "", "no", *lines[0].split(",")]]


async def test_only_what_was_answered_is_confirmed(path: Path) -> None:
    """The service leaves out products, then refuses to talk: what it did answer is not sent again."""

    def half(asked: Sequence[Shape]) -> Any:
        return service.process(asked[::2])

    service = ModelCatalog([half, refusal(403)])
    error = await stopped(service, numbered(25), journal=path)
    assert (error.report.accepted, error.report.pending) == (13, 12)
    service.requests.clear()
    report = await job_of(service, numbered(25), journal=path).run()
    assert counts(report, "created", "resumed", "requests") == [25, 13, 1]
    assert sorted(sent(service)) == sorted(f"p{n}" for n in range(1, 25, 2))


async def test_an_earlier_version_never_comes_after_a_later_one_that_is_confirmed(path: Path) -> None:
    """Versions go out one by one: wherever the load stops, those that are confirmed are the first ones."""
    rows = [product("a", title=f"Version {number}") for number in range(6)]
    for versions in (2, 4):
        service = ModelCatalog([None, None, refusal(403)])
        error = await stopped(service, rows, journal=path)
        assert error.report.accepted == versions
        assert service.products["a"]["title"] == f"Version {versions - 1}"
    service = ModelCatalog()
    report = await job_of(service, rows, journal=path).run()
    assert counts(report, "accepted", "resumed") == [6, 4]
    assert [request[0]["title"] for request in service.requests] == ["Version 4", "Version 5"]


@pytest.mark.parametrize(
    "changed", [product("b", title="New"), {"id": "b"}, {**product("b"), "custom_label_4": "more"}]
)
async def test_a_row_that_is_not_the_same_any_more_stops_the_load(path: Path, changed: Shape) -> None:
    service = ModelCatalog()
    await job_of(service, [*products("a", "b"), {"id": "bad"}], journal=path).run()
    error = await stopped(service, [product("a"), changed, {"id": "bad"}, product("new")], journal=path)
    assert str(error).startswith("the load stopped: row 2 differs from an earlier run with this journal: the")
    assert isinstance(error.__cause__, InvalidInput)
    assert len(service.requests) == 1
    error = await stopped(service, [*products("a", "b", "bad"), product("new")], journal=path)
    assert "row 3 differs from an earlier run" in str(error)
    assert len(service.requests) == 1


async def test_an_input_that_cannot_be_used_leaves_a_journal_that_takes_the_right_one(
    path: Path, tmp_path: Path
) -> None:
    feed = tmp_path / "feed.csv"
    csv_file(feed, "1", header="id")
    with pytest.raises(InvalidInput, match="there is no column title"):
        await job_of(ModelCatalog(), feed, journal=path).run()
    csv_file(feed, line("a"))
    report = await job_of(ModelCatalog(), feed, journal=path).run()
    assert (report.created, report.resumed) == (1, 0)


async def test_the_journal_is_not_the_input(tmp_path: Path) -> None:
    feed = csv_file(tmp_path / "feed.csv", line("a"))
    with pytest.raises(InvalidInput, match=r"^journal is the input itself \(.*\); choose another path"):
        job_of(ModelCatalog(), feed, journal=tmp_path / "." / "feed.csv")


async def test_a_load_that_is_cancelled_keeps_what_was_confirmed(path: Path) -> None:
    service = ModelCatalog()
    service.gate = asyncio.Event()
    journal = MemoryJournal()
    running = asyncio.create_task(job_of(service, numbered(100), journal=journal, concurrency=2).run())
    async with asyncio.timeout(10):
        while not journal.by_row:  # noqa: ASYNC110  # turns of the loop, not time
            await asyncio.sleep(0)
    await service.until_in_flight(2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (journal.state, journal.is_open, len(journal.by_row)) == ("interrupted", False, 25)
    assert journal.counts["accepted"] == 25
    service.gate = None
    report = await job_of(service, numbered(100), journal=journal).run()
    assert counts(report, "accepted", "resumed") == [100, 25]
    assert service.products.keys() == {f"p{n}" for n in range(100)}


async def test_nothing_is_sent_that_cannot_be_recorded(path: Path) -> None:
    """The file can grow to a few pages: what was begun there is what the service has seen, and no more."""
    service = ModelCatalog()
    journal = SqliteJournal(path)
    job = job_of(service, numbered(5_000), journal=journal, concurrency=4)
    begin, begun = journal.begin, 0

    async def counting(batch: Any) -> None:
        nonlocal begun
        if begun >= 20:
            await journal._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 5").fetchall())
        await begin(batch)
        begun += 1

    journal.begin = counting  # type: ignore[method-assign]
    with pytest.raises(BulkError) as caught:
        await job.run()
    says = f"the load stopped: the journal {path} cannot be written: the disk is full; free some space"
    assert says in str(caught.value)
    assert isinstance(caught.value.__cause__, ConfigurationError)
    assert len(service.requests) == begun < 200
    known = len(service.products)
    report = await job_of(service, numbered(5_000), journal=path).run()
    assert report.accepted == 5_000
    assert 0 < report.resumed <= known


# With digests ------------------------------------------------------------------------------------------------------


async def test_what_was_skipped_is_not_put_after_what_came_behind_it(path: Path, tmp_path: Path) -> None:
    digests = tmp_path / "digests"
    service = ModelCatalog()
    await job_of(service, products("a", "b"), digests=digests).run()
    rows = [product("a"), *numbered(40), product("a", title="New"), *products(*(f"q{n}" for n in range(40)))]
    service = ModelCatalog([None, None, refusal(403)])
    await stopped(service, rows, digests=digests, journal=path, concurrency=1)
    service.requests.clear()
    assert service.products["a"]["title"] == "New"
    report = await job_of(service, rows, digests=digests, journal=path).run()
    assert "a" not in sent(service)
    assert counts(report, "skipped", "resumed", "accepted") == [1, 51, len(rows)]


async def test_the_share_that_may_be_deleted_is_one_of_what_was_there_before_the_first_run(
    path: Path, tmp_path: Path
) -> None:
    digests = tmp_path / "digests"
    service = ModelCatalog()
    await job_of(service, products("x", "y", "z"), digests=digests).run()
    options: dict[str, Any] = {"digests": digests, "journal": path, "delete_vanished": True}
    service = ModelCatalog([None, None, refusal(403)])
    service.products = {each["id"]: each for each in products("x", "y", "z")}
    await stopped(service, numbered(100), **options, concurrency=1)
    error = await stopped(service, numbered(100), **options)
    assert "3 of 3 products are not in the feed, more than the share of 10%" in str(error)
    report = await job_of(service, numbered(100), **options, max_vanished_share=1.0).run()
    assert counts(report, "vanished", "deleted", "resumed", "requests") == [3, 3, 100, 1]
    await job_of(service, products("later"), digests=digests).run()
    report = await job_of(service, numbered(100), **options, max_vanished_share=1.0).run()
    assert counts(report, "vanished", "deleted", "resumed", "requests") == [1, 0, 100, 0]
    assert "later" in service.products


async def test_an_input_that_was_cut_off_makes_nothing_vanish_that_the_load_itself_has_put(
    path: Path, tmp_path: Path
) -> None:
    digests = tmp_path / "digests"
    service = ModelCatalog([*[None] * 7, refusal(403)])
    await job_of(service, numbered(100), digests=digests).run()
    feed = [product(f"p{number}", price="2.00 EUR") for number in range(100)]
    options: dict[str, Any] = {"digests": digests, "journal": path, "delete_vanished": True, "max_vanished_share": 1.0}
    await stopped(service, feed, **options, concurrency=1)
    service.requests.clear()
    error = await stopped(service, feed[:70], **options)
    assert str(error.__cause__) == (
        "the input has changed since the journal was written: it had at least 100 rows, and now "
        "has 70; give the same input or another journal"
    )
    assert isinstance(error.__cause__, InvalidInput)
    assert (service.requests, len(service.products)) == ([], 100)
    report = await job_of(service, feed, **options).run()
    assert counts(report, "accepted", "resumed", "vanished", "deleted") == [100, 75, 0, 0]


async def test_an_input_that_was_cut_off_is_no_finished_load_without_digests_either(path: Path) -> None:
    await job_of(ModelCatalog(), numbered(60), journal=path).run()
    error = await stopped(ModelCatalog(), numbered(59), journal=path)
    assert "it had at least 60 rows, and now has 59" in str(error)


async def test_a_call_that_does_no_work_leaves_a_finished_load_finished(path: Path, tmp_path: Path) -> None:
    await job_of(ModelCatalog(), numbered(30), journal=path).run()
    before = look(path)
    with pytest.raises(InvalidInput, match=r"the rejects file .* cannot be written"):
        await job_of(ModelCatalog(), numbered(30), journal=path, rejects=tmp_path).run()
    assert look(path) == before
    error = await stopped(ModelCatalog(), [product("other"), *numbered(29)], journal=path)
    assert "row 1 differs from an earlier run" in str(error)
    after = look(path)
    assert before is not None
    assert after is not None
    assert (after.state, after.counts, after.runs) == ("finished", before.counts, 2)


async def test_what_has_vanished_is_deleted_also_when_that_is_asked_for_after_the_load(
    path: Path, tmp_path: Path
) -> None:
    digests = tmp_path / "digests"
    service = ModelCatalog()
    await job_of(service, numbered(60), digests=digests).run()
    options: dict[str, Any] = {"digests": digests, "journal": path}
    report = await job_of(service, numbered(59), **options).run()
    assert counts(report, "vanished", "deleted") == [1, 0]
    report = await job_of(service, numbered(59), **options, delete_vanished=True).run()
    assert counts(report, "vanished", "deleted", "resumed") == [1, 1, 59]
    await job_of(service, products("later"), digests=digests).run()
    report = await job_of(service, numbered(59), **options, delete_vanished=True).run()
    assert (report.deleted, "later" in service.products) == (0, True)


async def test_a_load_that_had_nothing_to_delete_does_not_delete_what_another_one_adds(
    path: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"digests": tmp_path / "digests", "journal": path, "delete_vanished": True}
    service = ModelCatalog()
    await job_of(service, numbered(60), **options).run()
    await job_of(service, [*numbered(60), product("later")], digests=options["digests"]).run()
    report = await job_of(service, numbered(60), **options).run()
    assert counts(report, "vanished", "deleted") == [1, 0]
    assert "later" in service.products


async def test_deletions_that_were_stopped_are_made_by_the_next_run(path: Path, tmp_path: Path) -> None:
    digests = tmp_path / "digests"
    options: dict[str, Any] = {"digests": digests, "journal": path, "delete_vanished": True, "max_vanished_share": 1.0}
    service = ModelCatalog([*[None] * 4, refusal(403)])
    await job_of(service, numbered(60), digests=digests).run()
    error = await stopped(service, numbered(20), **options)
    assert isinstance(error.report, UpsertReport)
    assert (error.report.vanished, error.report.deleted) == (40, 25)
    report = await job_of(service, numbered(20), **options).run()
    assert counts(report, "vanished", "deleted", "requests") == [15, 15, 1]
    report = await job_of(service, numbered(20), **options).run()
    assert counts(report, "vanished", "deleted", "requests") == [0, 0, 0]
