"""What a catalog was loaded with last: skipping what has not changed, and what a feed does not have any more."""

import asyncio
import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.bulk.job import MIN_ATTEMPTS
from socialapi.bulk.products import snapshot
from socialapi.bulk.products.batcher import MAX_HELD
from socialapi.bulk.products.job import ROWS_AT_ONCE
from socialapi.bulk.products.rows import ProductRow
from socialapi.bulk.products.snapshot import Digests, digest_of
from socialapi.errors import BulkError, ConfigurationError, InvalidInput, OutcomeUnknown
from socialapi.models.products import MAX_PRODUCTS
from socialapi.reports import LoadForecast, Progress, UpsertReport
from tests.bulk.input_files import write
from tests.bulk.model_transport import answer, refusal
from tests.bulk.products.model_catalog import (
    REFUSED,
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
from tests.support.files import content_of

LOST: Final = OutcomeUnknown("lost", "host")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "digests"


async def load(service: ModelCatalog, rows: list[Shape], path: Path, **options: Any) -> UpsertReport:
    service.requests.clear()
    return await job_of(service, rows, digests=path, **options).run()


async def load_file(service: ModelCatalog, file: Path, **options: Any) -> UpsertReport:
    return await job_of(service, file, **options).run()


async def stopped(service: ModelCatalog, rows: list[Shape], path: Path, **options: Any) -> tuple[str, UpsertReport]:
    """What a load says that stops, and its report."""
    with pytest.raises(BulkError) as caught:
        await load(service, rows, path, **options)
    report = caught.value.report
    assert isinstance(report, UpsertReport)
    assert report.adds_up
    return str(caught.value), report


def is_there(path: Path) -> bool:
    return path.exists()


# What has not changed ----------------------------------------------------------------------------------------------


def test_a_digest_is_that_of_the_content_whatever_the_order_of_its_fields() -> None:
    shape = product("a", inventory=3)
    assert digest_of(shape) == digest_of(dict(reversed(shape.items())))
    assert digest_of(shape) != digest_of({**shape, "inventory": 4})
    assert digest_of(shape) != digest_of({**shape, "inventory": "3"})
    assert len(digest_of(shape)) == 16


async def test_of_repeated_ids_the_last_one_counts_and_all_are_sent(path: Path) -> None:
    service = ModelCatalog()
    rows = [*products("a", "b"), product("a", title="New")]
    await load(service, rows, path)
    report = await load(service, rows, path)
    assert (report.skipped, report.updated) == (1, 2)
    assert service.products["a"]["title"] == "New"
    report = await load(service, [product("b"), product("a", title="New")], path)
    assert (report.skipped, report.requests) == (2, 0)
    report = await load(service, [product("a", title="New"), product("a", title="Newer")], path)
    assert (report.skipped, report.updated) == (1, 1)
    assert service.products["a"]["title"] == "Newer"


async def test_an_update_that_is_refused_leaves_no_digest_of_the_former_content(path: Path) -> None:
    service = ModelCatalog()
    await load(service, products("a"), path)
    await load(service, products("a", custom_label_0=REFUSED), path)
    report = await load(service, products("a"), path)
    assert (report.skipped, report.unchanged) == (0, 1)
    assert (await load(service, products("a"), path)).skipped == 1


async def test_what_may_have_been_carried_out_is_sent_again_even_if_the_feed_goes_back(path: Path) -> None:
    """The catalog has the new content, and nobody was told: the old digest must not make the old content skipped."""
    service = ModelCatalog()
    await load(service, products("a"), path)

    def lost(asked: list[Shape]) -> Any:
        service.process(asked)
        raise LOST

    service._script = iter([lost] * 500)
    await stopped(service, products("a", title="New"), path)
    assert service.products["a"]["title"] == "New"
    service._script = iter(())
    report = await load(service, products("a"), path)
    assert (report.skipped, report.updated) == (0, 1)
    assert service.products["a"] == product("a")


async def test_while_a_later_version_is_on_its_way_the_earlier_one_gets_no_digest(path: Path) -> None:
    digests = Digests(path, "c")
    await digests.open()
    first, second = (ProductRow(n, product("a", title=title)) for n, title in ((1, "one"), (2, "two")))
    assert await digests.changed([first]) == [first]
    assert await digests.changed([second]) == [second]
    await digests.loaded([(first, "k")])
    await digests.aclose()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT digest, product_key FROM products").fetchall() == [(None, "k")]


# What a feed does not have any more --------------------------------------------------------------------------------


async def test_more_than_the_share_are_not(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(100), path)
    says, report = await stopped(service, numbered(89), path, delete_vanished=True)
    assert says.startswith(
        "the load stopped: 11 of 100 products are not in the feed, more than the share of 10% that may be deleted "
        "(max_vanished_share=0.1): is the feed complete? Nothing was deleted"
    )
    assert (report.vanished, report.deleted, report.pending) == (11, 0, 0)
    assert len(service.products) == 100
    assert (await load(service, numbered(90), path, delete_vanished=True)).deleted == 10


async def test_the_share_is_of_what_was_there_before(path: Path) -> None:
    """A feed of something else altogether deletes nothing, however large it is."""
    service = ModelCatalog()
    await load(service, numbered(100), path)
    others = [product(f"q{number}") for number in range(5_000)]
    says, _ = await stopped(service, others, path, delete_vanished=True)
    assert "100 of 100 products are not in the feed" in says


async def test_products_that_are_refused_have_not_vanished(path: Path) -> None:
    service = ModelCatalog()
    await load(service, products("a", "b", "c"), path)
    rows = [product("a", price="free"), product("b", custom_label_0=REFUSED), product("c")]
    report = await load(service, rows, path, delete_vanished=True, max_vanished_share=1.0)
    assert (report.rejected, report.skipped, report.vanished, report.deleted) == (2, 1, 0, 0)
    assert len(service.products) == 3


@pytest.mark.parametrize(
    "bad",
    [
        {"title": "x"},
        {"id": "b,Boots b,in stock,9.99 USD"},
        *({**product("b"), "id": each} for each in ("b\udcff", ["b", "c"], "b\0", "b\x01", "1.23457E+11", 1e17)),
        {"price": "free", **product("b", price="free"), "id": "1.23457E+11"},
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_when_an_id_cannot_be_read_nobody_knows_what_has_vanished(
    path: Path, bad: Shape, *, dry_run: bool
) -> None:
    service = ModelCatalog()
    await load(service, products("a", "b"), path)
    rows = [product("a"), bad]
    says, report = await stopped(service, rows, path, delete_vanished=True, max_vanished_share=1.0, dry_run=dry_run)
    assert says.startswith(
        "the load stopped: 1 row could not be read and may contain products that seem to have vanished; "
        "nothing was deleted"
    )
    assert (report.rejected, report.vanished, report.deleted, report.vanished_ids) == (1, 1, 0, ("b",))
    assert (service.deletions, len(service.products)) == ([], 2)
    report = await load(service, rows, path)
    assert (report.vanished, report.deleted) == (1, 0)


async def test_lines_that_cannot_be_read_are_such_rows_and_blank_ones_are_not(path: Path, tmp_path: Path) -> None:
    service = ModelCatalog()
    await load(service, products("a", "b", "c"), path)
    blank = csv_file(tmp_path / "blank.csv", line("a"), "", " , ", line("b"))
    options: dict[str, Any] = {"digests": path, "delete_vanished": True, "max_vanished_share": 1.0}
    lost = csv_file(tmp_path / "lost.csv", line("a"), "", line("b" * 200_000), line("x" * 200_000))
    with pytest.raises(BulkError, match="2 rows could not be read and may contain products that seem to have vanished"):
        await job_of(service, lost, **options).run()
    assert not service.deletions
    (tmp_path / "lost.jsonl").write_text(json.dumps(product("a")) + "\n\n{'id': 1}\n", "utf-8")
    with pytest.raises(BulkError, match="1 row could not be read and may contain products that seem to have vanished"):
        await job_of(service, tmp_path / "lost.jsonl", **options).run()
    assert not service.deletions
    report = await job_of(service, blank, **options).run()
    assert (report.rejected, report.vanished, report.deleted) == (2, 1, 1)


async def test_a_load_that_stopped_deletes_nothing(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(40), path)
    service._script = iter([refusal(403)])
    _, report = await stopped(service, [*numbered(38), product("x")], path, delete_vanished=True)
    assert (report.vanished, service.deletions) == (0, [])


async def test_a_product_whose_key_is_not_known_cannot_be_deleted(path: Path) -> None:
    service = ModelCatalog([results(result("a", product_key=None), result("b"))])
    await load(service, products("a", "b"), path)
    report = await load(service, products("b"), path, delete_vanished=True, max_vanished_share=1.0)
    assert (report.vanished, report.deleted) == (1, 0)
    assert report.warning_details[0].reason == "was not deleted: its product_key is not known"
    service.products.clear()
    await load(service, products("a", "b", title="New"), path)
    report = await load(service, products("b", title="New"), path, delete_vanished=True, max_vanished_share=1.0)
    assert report.deleted == 1


def said_gone(keys: list[str], message: str = "there is no such key") -> Any:
    """What the service says of keys that it does not know."""
    return answer({"data": {"delete_products": [{"failed_product_key": key, "message": message} for key in keys]}})


async def test_what_is_gone_after_a_lost_answer_was_deleted(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(40), path)

    def lost(keys: list[str]) -> Any:
        service._delete(keys)
        raise LOST

    service._script = iter([refusal(503), refusal(500), lost])
    report = await load(service, numbered(38), path, delete_vanished=True)
    assert (report.vanished, report.deleted, report.unconfirmed, report.warnings) == (2, 2, 0, 0)
    assert (report.requests, report.retries) == (4, 3)
    assert len(service.products) == 38
    assert (await load(service, numbered(38), path)).vanished == 0


@pytest.mark.parametrize(
    "message",
    [
        *("not found", "NOT_FOUND", "no such product_key", "there is no product with this key", "does not exist"),
        *("The product doesn't exist", "is not there", "unknown product key", "was already deleted", "is gone"),
    ],
)
async def test_it_is_told_by_the_words_of_the_service_and_only_after_a_lost_answer(path: Path, message: str) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)
    service._script = iter([lambda keys: said_gone(keys, message)])
    report = await load(service, numbered(18), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed, report.warnings) == (0, 2, 2)
    service._script = iter([LOST, lambda keys: said_gone(keys, message)])
    report = await load(service, numbered(18), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed, report.warnings) == (2, 0, 0)
    assert (await load(service, numbered(18), path)).vanished == 0


@pytest.mark.parametrize(
    "message",
    [
        "try again later",
        "is locked",
        "unknown error",
        "no longer than 25 keys",
        "this endpoint is no longer supported",
        "no key permission for this catalog",
        "you may no longer delete products",
        "no item may be deleted while a load runs",
        None,
    ],
)
async def test_another_failure_after_a_lost_answer_confirms_nothing(path: Path, message: Any) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)
    service._script = iter([LOST, lambda keys: said_gone(keys, message)])
    report = await load(service, numbered(18), path, delete_vanished=True)
    assert (report.vanished, report.deleted, report.unconfirmed, report.warnings) == (2, 0, 2, 2)
    service._script = iter([said_gone])  # which may well be for what was lost
    report = await load(service, numbered(18), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed) == (2, 0)


async def test_so_it_is_when_the_answer_was_lost_with_an_earlier_load(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(40), path)

    def end(keys: list[str]) -> Any:
        """The service deletes, and the load ends before it is told."""
        service._delete(keys)
        raise asyncio.CancelledError

    service._script = iter([end])
    running = asyncio.create_task(job_of(service, numbered(38), digests=path, delete_vanished=True).run())
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(service.products) == 38
    report = await load(service, numbered(38), path, delete_vanished=True)
    assert (report.vanished, report.deleted, report.unconfirmed) == (2, 2, 0)


async def test_what_may_be_deleted_is_put_again_when_the_feed_has_it_again(path: Path) -> None:
    """Its digest is that of what the catalog has, or there is none."""
    service = ModelCatalog()
    await load(service, numbered(20), path)

    def lost(keys: list[str]) -> Any:
        service._delete(keys)
        raise LOST

    service._script = iter([lost, *[LOST] * 500])
    _, report = await stopped(service, numbered(19), path, delete_vanished=True)
    assert (report.vanished, report.deleted, report.unconfirmed) == (1, 0, 1)
    service._script = iter(())
    report = await load(service, numbered(20), path, delete_vanished=True)
    assert (report.created, report.skipped, report.vanished) == (1, 19, 0)
    assert len(service.products) == 20


async def test_a_product_that_is_there_again_has_no_key_of_before(path: Path) -> None:
    service = ModelCatalog()
    await load(service, products("a", "b"), path)
    options: dict[str, Any] = {"delete_vanished": True, "max_vanished_share": 1.0}
    service._script = iter([lambda keys: said_gone(keys, "is locked")])
    await load(service, products("b"), path, **options)
    service._script = iter([results(result("a", product_key=None))])
    await load(service, products("a", "b"), path)
    report = await load(service, products("b"), path, **options)
    assert (report.unconfirmed, report.warning_details[0].reason) == (
        1,
        "was not deleted: its product_key is not known",
    )


async def test_products_that_cannot_be_deleted_never_hold_up_a_load(path: Path) -> None:
    """They were judged by the share when they were first to be deleted."""
    service = ModelCatalog()
    await load(service, numbered(100), path)
    for left in (92, 84, 76):
        service._script = iter([lambda keys: said_gone(keys, "is locked")])
        report = await load(service, numbered(left), path, delete_vanished=True)
        assert (report.vanished, report.deleted, report.unconfirmed) == (100 - left, 0, 100 - left)
    says, _ = await stopped(service, numbered(60), path, delete_vanished=True)
    assert "16 of 100 products are not in the feed" in says
    report = await load(service, numbered(76), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed) == (24, 0)


@pytest.mark.parametrize("status", [400, 404, 409, 422])
async def test_a_key_for_which_a_whole_request_is_refused_holds_up_no_other(path: Path, status: int) -> None:
    service = ModelCatalog()
    await load(service, numbered(400), path)

    def refuse(keys: list[str]) -> Any:
        return refusal(status) if "k-p399" in keys else service._delete(keys)

    service._script = iter([refuse] * 100)
    report = await load(service, numbered(370), path, delete_vanished=True)
    assert (report.vanished, report.deleted, report.unconfirmed, report.warnings) == (30, 29, 1, 1)
    assert report.warning_details[0].reason.startswith("was not deleted: ")
    assert report.retries == 0


async def test_a_refusal_of_the_whole_request_as_not_found_counts_after_a_lost_answer(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)
    service._script = iter([LOST, refusal(404)])
    report = await load(service, numbered(19), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed) == (1, 0)


async def test_an_answer_to_a_deletion_that_cannot_be_read_is_asked_for_again(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)

    def odd(keys: list[str]) -> Any:
        service._delete(keys)
        return answer({"data": {"delete_products": "?"}})

    service._script = iter([odd])
    report = await load(service, numbered(18), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed, report.requests, report.retries) == (2, 0, 2, 1)


async def test_progress_is_told_while_products_are_deleted_and_ends_it_when_it_raises(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(400), path)
    seen: list[int] = []

    def show(progress: Progress) -> None:
        assert isinstance(progress.report, UpsertReport)
        seen.append(progress.report.deleted)
        if progress.report.deleted == 25:
            raise ZeroDivisionError("planted")

    says, report = await stopped(service, numbered(360), path, delete_vanished=True, on_progress=show)
    assert "ZeroDivisionError" in says
    assert seen[-1] == report.deleted == 25
    assert [len(keys) for keys in service.deletions] == [25]
    seen.clear()
    await load(service, numbered(360), path, delete_vanished=True, on_progress=lambda each: seen.append(each.in_flight))
    assert len(service.products) == 360


async def test_a_refused_deletion_stops_the_load_with_its_report(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(400), path)
    service._script = iter([None, refusal(403)])
    says, report = await stopped(service, numbered(360), path, delete_vanished=True)
    assert re.match("the load stopped: DELETE /.*: 403", says)
    assert (report.accepted, report.vanished, report.deleted) == (360, 40, 25)
    report = await load(service, numbered(360), path, delete_vanished=True)
    assert (report.vanished, report.deleted) == (15, 15)


async def test_a_key_that_an_answer_leaves_out_is_asked_for_again(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(400), path)
    nothing = answer({"data": {"delete_products": []}})
    service._script = iter([answer({"data": {"delete_products": [{"product_key": "k-p370"}]}}), nothing])
    report = await load(service, numbered(370), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed, report.warnings, len(service.products)) == (30, 0, 0, 371)
    assert [len(keys) for keys in service.deletions] == [25, 5, 25, 4]
    assert (report.requests, report.retries) == (4, 2)


async def test_a_key_that_is_never_answered_is_not_confirmed_and_ends_the_wait(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)
    service._script = iter([answer({"data": {"delete_products": []}})] * 100)
    report = await load(service, numbered(19), path, delete_vanished=True)
    assert (report.deleted, report.unconfirmed, report.requests) == (0, 1, MIN_ATTEMPTS)
    (warning,) = report.warning_details
    assert (warning.reason, warning.product_id) == (
        "was not deleted: the service did not confirm the deletion",
        "p19",
    )
    service._script = iter([said_gone])
    assert (await load(service, numbered(19), path, delete_vanished=True)).deleted == 1


async def test_any_number_of_vanished_products_is_deleted_some_at_a_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "VANISHED_AT_ONCE", 10)
    service = ModelCatalog()
    await load(service, numbered(60), path)
    says, report = await stopped(service, numbered(15), path, delete_vanished=True)
    assert "45 of 60 products are not in the feed" in says
    assert report.vanished == 45
    options: dict[str, Any] = {"delete_vanished": True, "max_vanished_share": 1.0}
    service._script = iter([None, lambda keys: said_gone(keys, "is locked")])
    report = await load(service, numbered(15), path, **options)
    assert (report.vanished, report.deleted, report.unconfirmed) == (45, 35, 10)
    assert [len(keys) for keys in service.deletions] == [10, 10, 10, 10, 5]
    assert (await load(service, numbered(15), path, **options)).deleted == 10
    assert len(service.products) == 15


async def test_the_patience_with_a_service_that_answers_nothing_ends_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "VANISHED_AT_ONCE", 10)
    service = ModelCatalog()
    await load(service, numbered(60), path)
    service._script = iter([answer({"data": {"delete_products": []}})] * 100)
    report = await load(service, numbered(15), path, delete_vanished=True, max_vanished_share=1.0)
    assert (report.deleted, report.unconfirmed, report.requests) == (0, 45, MIN_ATTEMPTS + 4)


# What is held in memory --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dry_run", [False, True])
async def test_of_the_products_of_a_load_only_those_without_an_answer_are_in_memory(
    path: Path, *, dry_run: bool
) -> None:
    job = job_of(ModelCatalog(), numbered(3_000), digests=path, concurrency=4, dry_run=dry_run)
    digests = job.stage._digests = job.stage._sender.digests = Digests(path, "c", keep=dry_run)
    held: list[int] = []
    original = digests.changed

    async def changed(rows: Any) -> Any:
        held.append(len(digests._unanswered))
        return await original(rows)

    digests.changed = changed  # type: ignore[method-assign]
    report = await job.run()
    assert (report.read, digests.new, len(held) >= 3_000 // ROWS_AT_ONCE) == (3_000, 3_000, True)
    assert max(held) <= ROWS_AT_ONCE + MAX_HELD + 5 * MAX_PRODUCTS
    assert not digests._unanswered


# Dry runs ----------------------------------------------------------------------------------------------------------


def compared(report: UpsertReport) -> tuple[int, int, int, int]:
    """What a dry run says is new, changed, unchanged and vanished."""
    forecast = report.forecast
    assert isinstance(forecast, LoadForecast)
    return forecast.new, forecast.changed, forecast.unchanged, forecast.vanished


async def test_a_dry_run_makes_no_file_and_changes_none(path: Path) -> None:
    service = ModelCatalog()
    report = await load(service, numbered(3), path, dry_run=True)
    assert report.pending == 3
    assert compared(report) == (3, 0, 0, 0)
    assert not is_there(path)
    await load(service, numbered(20), path)
    rows = [*numbered(18), product("p18", title="New"), product("p99"), product("p99")]
    report = await load(service, rows, path, dry_run=True, delete_vanished=True)
    assert not service.deletions
    assert compared(report) == (1, 1, 18, 1)  # what repeats an id is the same product
    assert (report.skipped, report.pending, report.vanished, report.deleted) == (18, 3, 1, 0)
    report = await load(service, numbered(20), path)
    assert (report.skipped, report.vanished) == (20, 0)


async def test_a_dry_run_refuses_to_delete_what_the_real_one_would_not_delete(path: Path) -> None:
    service = ModelCatalog()
    await load(service, numbered(20), path)
    for dry_run in (True, False):
        says, report = await stopped(service, numbered(10), path, dry_run=dry_run, delete_vanished=True)
        assert "10 of 20 products are not in the feed, more than the share of 10%" in says
        assert (report.skipped, report.vanished, report.deleted) == (10, 10, 0)


# The file ----------------------------------------------------------------------------------------------------------


async def test_the_file_of_another_catalog_is_refused_and_nothing_is_left_behind(path: Path, tmp_path: Path) -> None:
    service = ModelCatalog()
    await load(service, products("a"), path)
    service.requests.clear()
    rejects = tmp_path / "rejects.csv"
    with pytest.raises(ConfigurationError) as caught:
        await load(service, products("a"), path, catalog="other", rejects=rejects)
    assert str(caught.value) == f"the digest file {path} belongs to the catalog c, not to other: choose another path"
    assert not service.requests
    assert not rejects.exists()
    assert (await load(service, products("a"), path)).skipped == 1


@pytest.mark.parametrize("there", [False, True])
async def test_input_rejects_and_digests_are_different_files(tmp_path: Path, *, there: bool) -> None:
    feed, other = csv_file(tmp_path / "feed.csv", line("a")), tmp_path / "other"
    (tmp_path / "link").symlink_to(tmp_path)
    if there:
        write(other, b"")
    service = ModelCatalog()
    with pytest.raises(InvalidInput, match=r"^digests is the rejects file, too \(.*\); choose another path"):
        await load_file(service, feed, digests=other, rejects=tmp_path / "link" / "other")
    with pytest.raises(InvalidInput, match=r"is the input itself.*; choose another path"):
        await load_file(service, tmp_path / "link" / "feed.csv", digests=feed)
    with pytest.raises(InvalidInput, match=r"is the input itself.*; choose another path"):
        await load_file(service, other, rejects=tmp_path / "link" / "other")
    assert is_there(other) == there
    assert not service.requests


@pytest.mark.parametrize("method", ["changed", "loaded", "seen", "count_vanished", "vanished"])
async def test_a_file_that_fails_on_the_way_stops_the_load_with_its_report(
    path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await load(ModelCatalog(), products("gone"), path)
    job = job_of(ModelCatalog(), [*numbered(60), {"id": "x"}], digests=path)
    assert job.stage._digests is not None
    database = job.stage._digests._database
    original = database._do

    async def fail(*arguments: Any) -> Any:
        def full() -> Any:
            raise sqlite3.OperationalError("database or disk is full")

        database._do = original  # type: ignore[method-assign]  # once
        return await original(full)

    async def failing(*arguments: Any) -> Any:
        database._do = fail  # type: ignore[method-assign, assignment]
        return await getattr(Digests, method)(job.stage._digests, *arguments)

    monkeypatch.setattr(job.stage._digests, method, failing)
    with pytest.raises(BulkError) as caught:
        await job.run()
    assert f"the digest file {path} cannot be written: database or disk is full" in str(caught.value)
    assert caught.value.report.adds_up


async def test_the_file_says_nothing_about_products_but_ids_keys_and_digests(path: Path) -> None:
    await load(ModelCatalog(), products("a", title="planted words"), path)
    assert b"planted" not in content_of(path)
