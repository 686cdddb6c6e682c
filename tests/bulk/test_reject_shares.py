"""A job that rejects more of its rows than it may stops: soon, at its end, or before anything is sent."""

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.bulk.products import batcher
from socialapi.errors import BulkError, InvalidInput
from socialapi.reports import SyncReport, UploadReport, UpsertReport
from tests.bulk.model_service import BAD, ModelService, operation_errors, synced
from tests.bulk.model_service import job_of as upload_of
from tests.bulk.products.model_catalog import ModelCatalog, numbered, product
from tests.bulk.products.model_catalog import job_of as load_of

JUDGED_FROM: Final = 10_000


def people(good: int, bad: int = 0) -> list[dict[str, str]]:
    return [*({"handle": f"p{n}"} for n in range(good)), *[{"handle": "no handle"}] * bad]


async def stopped(running: Any) -> tuple[str, UploadReport]:
    with pytest.raises(BulkError) as caught:
        await running
    assert isinstance(caught.value.__cause__, InvalidInput)
    assert caught.value.report.adds_up
    return str(caught.value), caught.value.report


# Uploads -----------------------------------------------------------------------------------------------------------


async def test_few_rows_are_judged_at_the_end(tmp_path: Path) -> None:
    service, rejects = ModelService(), tmp_path / "rejects.csv"
    says, report = await stopped(upload_of(service, people(90, 10), max_reject_share=0.09, rejects=rejects).run())
    assert says.startswith(
        "the upload stopped: 10 of 100 rows were rejected, which is 10.0%, but at most 9.0% may be (max_reject_share=0.09)"
    )
    assert (report.accepted, report.rejected, report.pending, len(service.members)) == (90, 10, 0, 90)
    assert len(rejects.read_text("utf-8").splitlines()) == 11


@pytest.mark.parametrize(("rejected", "of", "share"), [(10, 100, 0.1), (29, 100, 0.29), (7, 100, 0.07), (1, 3, 1 / 3)])
async def test_just_the_share_is_not_more_than_it(rejected: int, of: int, share: float) -> None:
    report = await upload_of(ModelService(), people(of - rejected, rejected), max_reject_share=share).run()
    assert (report.accepted, report.rejected) == (of - rejected, rejected)
    _, report = await stopped(
        upload_of(ModelService(), people(of - rejected, rejected + 1), max_reject_share=share).run()
    )
    assert report.rejected == rejected + 1


async def test_many_rows_are_judged_while_they_are_read() -> None:
    """What comes behind is not even read, and what is on its way is finished."""
    taken = 0

    def endless() -> Iterator[dict[str, str]]:
        nonlocal taken
        for taken in itertools.count(1):  # it is looked at below
            yield {"handle": f"p{taken}" if taken % 2 else "no handle"}

    service = ModelService()
    job = upload_of(service, endless(), max_reject_share=0.4, settings={"max_operations": 500})
    says, report = await stopped(job.run())
    assert "rows were rejected, which is" in says
    assert "but at most 40.0% may be" in says
    assert JUDGED_FROM <= report.read <= JUDGED_FROM + 1_250
    assert taken <= report.read + 1_250
    assert report.accepted == len(service.members)
    assert report.pending + report.accepted == report.read // 2


async def test_a_share_that_is_exceeded_among_the_first_rows_alone_is_none() -> None:
    records = [*people(0, 1_000), *people(12_000)]
    report = await upload_of(ModelService(), records, max_reject_share=0.1).run()
    assert (report.accepted, report.rejected) == (12_000, 1_000)


async def test_what_the_service_refuses_counts_as_well() -> None:
    rows = [{"partner_user_id": f"{BAD}{number}" if number % 4 == 0 else f"p{number}"} for number in range(40_000)]
    service = ModelService()
    job = upload_of(service, rows, max_reject_share=0.2, concurrency=1, settings={"max_operations": 500})
    _, report = await stopped(job.run())
    assert JUDGED_FROM <= report.read < 40_000
    assert report.rejected > 0.2 * report.read - 1_000
    _, report = await stopped(upload_of(ModelService(), rows[:100], max_reject_share=0.2).run())
    assert (report.rejected, report.accepted) == (25, 75)


async def test_the_journal_is_kept_and_goes_on_with_another_share(tmp_path: Path) -> None:
    service, journal, path = ModelService(), tmp_path / "job.journal", tmp_path / "people.csv"
    path.write_text("handle\n" + "".join(f"{row['handle']}\n" for row in people(20_000, 5_000)), "utf-8")
    _, report = await stopped(upload_of(service, path, journal=journal, max_reject_share=0.1).run())
    taken = report.accepted
    assert 0 < taken == len(service.members)
    service.requests.clear()
    report = await upload_of(service, path, journal=journal, max_reject_share=0.5).run()
    assert (report.accepted, report.rejected, report.resumed) == (20_000, 5_000, taken)
    assert sum(map(len, service.requests)) == 20_000 - taken


# Syncs -------------------------------------------------------------------------------------------------------------


sync_of: Final = functools.partial(synced, max_removal_share=1.0)


async def test_a_sync_judges_all_of_its_input_before_anything_is_sent(tmp_path: Path) -> None:
    service, path = ModelService(), tmp_path / "snapshot"
    await sync_of(service, people(20), path)
    service.requests.clear()
    desired = [*people(9_000, 2_000), *({"handle": f"q{n}"} for n in range(4_000))]
    says, report = await stopped(sync_of(service, desired, path, max_reject_share=0.1))
    assert "2,000 of 15,000 rows were rejected" in says
    assert "nothing was sent" in says
    assert isinstance(report, SyncReport)
    assert (report.read, report.rejected, report.pending, service.requests) == (15_000, 2_000, 13_000, [])
    assert len(service.members) == 20
    report = await sync_of(service, [*people(0, 2_000), *people(18_000)], path, max_reject_share=0.1)
    assert (report.accepted, report.rejected) == (18_000, 2_000)


async def test_of_a_sync_what_the_service_refuses_is_judged_before_anybody_is_removed(tmp_path: Path) -> None:
    service, path = ModelService(), tmp_path / "snapshot"
    await sync_of(service, people(20), path)
    service._script = iter([service_refuses(3)])
    desired = [*people(9, 1), *({"handle": f"q{n}"} for n in range(10))]
    says, report = await stopped(sync_of(service, desired, path, max_reject_share=0.15))
    assert "the sync stopped while adding: 4 of 20 rows were rejected" in says
    assert isinstance(report, SyncReport)
    assert (report.rejected, report.additions.rejected, report.additions.accepted) == (4, 3, 7)
    assert report.removals.requests == 0
    assert len(service.members) == 27


def service_refuses(operations: int) -> Any:
    return operation_errors(range(operations))


# Loads -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_memory_bytes", [batcher.IN_MEMORY_BYTES, 100])
async def test_a_load_that_deletes_judges_all_of_its_input_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory_bytes: int
) -> None:
    monkeypatch.setattr(batcher, "IN_MEMORY_BYTES", in_memory_bytes)
    service, digests, rejects = ModelCatalog(), tmp_path / "digests", tmp_path / "rejects.csv"
    options: dict[str, Any] = {"digests": digests, "delete_vanished": True}
    await load_of(service, numbered(100), digests=digests).run()
    service.requests.clear()
    rows = [*numbered(95), *(product(f"new{n}") for n in range(95)), *[product("bad", price="free")] * 10]
    _, report = await stopped(load_of(service, iter(rows), **options, rejects=rejects, max_reject_share=0.04).run())
    assert isinstance(report, UpsertReport)
    assert (report.read, report.rejected, report.pending) == (200, 10, 190)
    assert (service.requests, service.deletions, report.vanished) == ([], [], 0)
    assert len(rejects.read_text("utf-8").splitlines()) == 11
    done = await load_of(service, iter(rows), **options, rejects=rejects, max_reject_share=0.05).run()
    assert (done.read, done.rejected, done.skipped, done.created, done.deleted) == (200, 10, 95, 95, 5)
    assert set(service.products) == {row["id"] for row in rows} - {"bad"}


DAMAGES: Final = {
    "a mark that is not closed, and a delimiter too many": {5: '"Joe, Ann,user_5,x', 15: 'TV 19",user_15,x'},
    "names of a joined file": {10: "handle,name,note"},
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_in_the_second_night_nobody_whom_a_damaged_line_hides_is_removed(tmp_path: Path, damage: str) -> None:
    service, file = ModelService(), tmp_path / "people.csv"
    for changed in ({}, DAMAGES[damage]):
        rows = [changed.get(n, f"N{n},user_{n},x") for n in range(30)]
        file.write_text("\n".join(["name,handle,note", *rows]), "utf-8")
        service.requests.clear()
        if changed:
            await stopped(sync_of(service, file, tmp_path / "snapshot"))
        else:
            await sync_of(service, file, tmp_path / "snapshot")
    assert (service.requests, len(service.members)) == ([], 30)


async def test_a_load_deletes_nothing_when_inches_hide_the_next_product(tmp_path: Path) -> None:
    service, file, names = ModelCatalog(), tmp_path / "feed.csv", [*product("")]
    options: dict[str, Any] = {"digests": tmp_path / "digests", "delete_vanished": True, "max_vanished_share": 1.0}
    rows = [",".join(str(value) for value in product(f"p{n}", title="Mug").values()) for n in range(9)]
    file.write_text("\n".join([",".join(names), *rows]), "utf-8")
    await load_of(service, file, **options).run()
    rows[3], rows[4] = rows[3].replace("Mug", '"Monitor, 27""'), rows[4].replace("Mug", 'TV 32"')
    file.write_text("\n".join([",".join(names), *rows]), "utf-8")
    says, _ = await stopped(load_of(service, file, **options).run())
    assert "line 5, column" in says
    assert (service.deletions, len(service.products)) == ([], 9)


async def test_a_feed_that_breaks_off_is_delivered_up_to_there_and_deletes_nothing(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield from numbered(30)
        raise ZeroDivisionError

    service = ModelCatalog()
    options: dict[str, Any] = {"digests": tmp_path / "digests", "delete_vanished": True, "max_reject_share": 0.1}
    with pytest.raises(BulkError, match="the input broke off: ZeroDivisionError") as caught:
        await load_of(service, rows(), **options).run()
    assert (caught.value.report.accepted, len(service.products)) == (30, 30)


async def test_products_that_wait_where_nothing_can_be_written_stop_the_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("socialapi.bulk.products.batcher.pickle.dump", full)
    service = ModelCatalog()
    options: dict[str, Any] = {"digests": tmp_path / "digests", "delete_vanished": True, "max_reject_share": 0.1}
    says, report = await stopped(load_of(service, numbered(3), **options).run())
    assert "the temporary file for waiting products cannot be written: No space left on device" in says
    assert (report.pending, service.requests) == (3, [])
