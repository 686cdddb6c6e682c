"""Whose journal it is: what a resumed upload refuses, and what must be the same although time has passed."""

import datetime
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import pytest

from socialapi.bulk.audiences.job import Destination, UploadJob
from socialapi.errors import BulkError, InvalidInput
from socialapi.models.audiences import DO_NOT_REACH_KINDS, IDENTIFIER_KINDS
from socialapi.reports import UploadReport
from socialapi.routes import audiences
from tests.bulk.model_service import BAD, DESTINATION, ModelService, job_of, people
from tests.bulk.model_transport import refusal
from tests.bulk.resuming import BrokenInput, MemoryJournal, digest_of
from tests.support.clock import VirtualClock
from tests.support.files import content_of

TWO_EACH: Final = {"max_operations": 2}
NAMES: Final = tuple(f"p{number}" for number in range(8))
DIFFERENT: Final = "the input has changed since the journal was written: "
PRIVATE: Final = {"email": "jane@private.example"}
LIST: Final = Destination(
    kind="do-not-reach upload",
    target=audiences.DO_NOT_REACH_USERS.at(account_id="a", do_not_reach_list_id="d"),
    kinds=DO_NOT_REACH_KINDS,
    takes_effective_at=False,
    default_expiry_months=13,
)


def write(path: Path, names: Sequence[str]) -> None:
    path.write_text("\n".join(("partner_user_id", *names, "")), "utf-8")


def job(service: ModelService, records: Any, **options: Any) -> UploadJob:
    return job_of(service, records, **{"settings": TWO_EACH, "concurrency": 1, **options})


async def begun(records: Any, journal: Any, requests: int = 2, **options: Any) -> UploadReport:
    """A run in which so many requests are confirmed and the next one stops the job."""
    service = ModelService([*[None] * requests, refusal(403)])
    with pytest.raises(BulkError) as stopped:
        await job(service, records, journal=journal, **options).run()
    return stopped.value.report


async def refused(records: Any, journal: Any, **options: Any) -> str:
    """What is said; nothing is sent."""
    service = ModelService()
    with pytest.raises((InvalidInput, BulkError)) as caught:
        await job(service, records, journal=journal, **options).run()
    assert service.bodies == []
    if isinstance(caught.value, BulkError):
        assert isinstance(caught.value.__cause__, InvalidInput)
        assert caught.value.report.adds_up
        return str(caught.value.__cause__)
    return str(caught.value)


# Another input -----------------------------------------------------------------------------------------------------


async def test_an_edited_row_of_a_file_of_the_same_size_and_beginning_is_told_by_the_digest(tmp_path: Path) -> None:
    path, journal = tmp_path / "people.csv", tmp_path / "job.journal"
    names = [f"{number:06} {'x' * 500}" for number in range(200)]
    write(path, names)
    await begun(path, journal, 90)
    write(path, [*names[:170], "other " + names[170][6:], *names[171:]])
    says = await refused(path, journal)
    was, now = (digest_of(orjson.dumps(list(map(operation, pair)))).hex()[:16] for pair in digests(names, 170))
    assert says == (
        f"{DIFFERENT}batch 86 was 2 rows from 171 to 172 with the digest {was}, and is now 2 rows from 171 to 172 with "
        f"the digest {now}; give the same input or another journal"
    )
    write(path, names)
    report = await job(ModelService(), path, journal=journal).run()
    assert (report.accepted, report.resumed) == (200, 180)


def operation(name: str) -> dict[str, Any]:
    return {"operation_type": "Update", "params": {"users": [{"partner_user_id": [name]}]}}


def digests(names: Sequence[str], place: int) -> tuple[list[str], list[str]]:
    """Two rows as they were, and as they are when the first one was edited."""
    return [names[place], names[place + 1]], ["other " + names[place][6:], names[place + 1]]


async def test_a_file_of_another_size_or_beginning_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path, journal = tmp_path / "people.csv", tmp_path / "job.journal"
    write(path, NAMES)
    await begun(path, journal)
    size = path.stat().st_size
    write(path, [*NAMES, "p8"])
    assert f"belongs to another input: size {size} bytes then, {size + 3} bytes now; digest" in await refused(
        path, journal
    )
    write(path, ["q0", *NAMES[1:]])
    assert "belongs to another input: digest of the beginning " in await refused(path, journal)


@pytest.mark.parametrize(
    ("names", "batch"),
    [
        (["q", *NAMES[1:]], "batch 1 was 2 rows from 1 to 2 "),
        ([*NAMES[:2], "q", *NAMES[2:]], "batch 2 was 2 rows from 3 to 4 "),
        (NAMES[1:], "batch 1 was 2 rows from 1 to 2 "),
        (NAMES[:3], "batch 2 was 2 rows from 3 to 4 "),
    ],
    ids=["edited", "inserted", "left out", "ended earlier"],
)
async def test_rows_that_changed_where_all_was_confirmed_are_refused(names: Sequence[str], batch: str) -> None:
    journal = MemoryJournal()
    await begun(people(*NAMES), journal)
    says = await refused(people(*names), journal)
    assert says.startswith(DIFFERENT + batch)
    assert " and is now " in says
    report = await job(ModelService(), people(*NAMES), journal=journal).run()
    assert (report.accepted, report.resumed) == (8, 4)


@pytest.mark.parametrize("left", [0, 2])
async def test_an_input_that_ends_before_what_was_confirmed_is_refused(left: int) -> None:
    journal = MemoryJournal()
    await begun(people(*NAMES), journal)
    assert await refused(people(*NAMES[:left]), journal) == (
        f"{DIFFERENT}it had at least 2 batches, and now has {left // 2}; give the same input or another journal"
    )


async def test_what_was_not_confirmed_may_have_changed() -> None:
    journal, service = MemoryJournal(), ModelService()
    await begun(people(*NAMES), journal)
    report = await job(service, people(*NAMES[:4], "q", "r", "s"), journal=journal).run()
    assert service.values == [[["q"], ["r"]], [["s"]]]
    assert (report.accepted, report.resumed) == (7, 4)


async def test_after_an_input_that_broke_off_the_whole_one_is_taken() -> None:
    def rows(names: Sequence[str], *, breaks: bool) -> Iterator[dict[str, str]]:
        yield from people(*names)
        if breaks:
            raise BrokenInput

    journal, service = MemoryJournal(), ModelService()
    with pytest.raises(BulkError, match=r"^the input broke off: BrokenInput") as caught:
        await job(service, rows(NAMES[:5], breaks=True), journal=journal).run()
    assert (caught.value.report.accepted, caught.value.report.pending) == (5, 0)
    assert service.values[2:] == [[["p4"]]]
    # This one breaks within what is confirmed: what is left of that batch is not sent beside it.
    with pytest.raises(BulkError, match=r"^the input broke off: BrokenInput") as caught:
        await job(service, rows(NAMES[:3], breaks=True), journal=journal).run()
    assert (caught.value.report.accepted, caught.value.report.resumed, caught.value.report.pending) == (2, 2, 1)
    report = await job(service, rows(NAMES, breaks=False), journal=journal).run()
    assert service.values[3:] == [[["p4"], ["p5"]], [["p6"], ["p7"]]]
    assert (report.accepted, report.resumed) == (8, 4)


# Another job -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"packing": "packed"}, "packing single then, packed now;"),
        ({"operation": "Delete"}, "operation Update then, Delete now;"),
        (
            {"columns": {"partner_user_id": "partner_user_id"}},
            'columns not given then, {"partner_user_id":"partner_user_id"} now;',
        ),
        ({"default_region": "US"}, "default_region not given then, US now;"),
        ({"settings": {"max_operations": 3}}, "max_operations 2 then, 3 now;"),
        ({"settings": TWO_EACH | {"max_batch_bytes": 400}}, "max_batch_bytes not given then, 400 now;"),
        ({"expires_at": "2090-01-01T00:00:00Z"}, "expires_at not given then, 2090-01-01T00:00:00Z now;"),
        ({"effective_at": "2025-01-01T00:00:00Z"}, "effective_at not given then, 2025-01-01T00:00:00Z now;"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_settings_that_change_what_is_sent_are_refused_with_both_values(
    tmp_path: Path, options: dict[str, Any], says: str
) -> None:
    path, journal, rejects = tmp_path / "people.csv", tmp_path / "job.journal", tmp_path / "rejects.csv"
    write(path, NAMES)
    await begun(path, journal, rejects=rejects)
    before = content_of(rejects)
    found = await refused(path, journal, rejects=rejects, **options)
    assert f"the journal {journal} belongs to the same job with different settings: {says}" in found
    assert content_of(rejects) == before
    report = await job(ModelService(), path, journal=journal, concurrency=7).run()
    assert (report.accepted, report.resumed) == (8, 4)


async def test_a_value_that_was_given_for_the_name_of_a_column_gets_into_neither_journal_nor_message(
    tmp_path: Path,
) -> None:
    journal, columns = MemoryJournal(), {"partner_user_id": ["partner_user_id", "jane@private.example"]}
    rows = [{"partner_user_id": name, "jane@private.example": name} for name in NAMES]
    await begun(rows, journal, columns=columns)
    assert journal._identity is not None
    digest = hashlib.sha256(b"jane@private.example").hexdigest()[:32]
    assert journal._identity.settings["columns"] == f'{{"partner_user_id":["partner_user_id","digest {digest}"]}}'
    found = await refused(rows, journal, columns={"partner_user_id": "john@private.example"})
    assert "private.example" not in found
    report = await job(ModelService(), rows, journal=journal, columns=columns).run()
    assert (report.accepted, report.resumed) == (8, 4)


async def test_a_file_has_no_value_that_was_given_for_the_name_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "job.journal"
    with pytest.raises(InvalidInput, match="<hidden>"):
        await job(ModelService(), [{"email": "x@example.org"}], journal=path, columns=PRIVATE).run()
    assert b"private.example" not in content_of(path)


async def test_a_journal_of_another_audience_or_another_kind_of_job_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "job.journal"
    await begun(people(*NAMES), journal)
    other = attrs.evolve(DESTINATION, target=audiences.CUSTOM_AUDIENCE_USERS.at(account_id="a", custom_audience_id="e"))
    assert "belongs to another job: custom_audience_id c then, e now;" in await refused(
        people(*NAMES), journal, destination=other
    )
    says = await refused(people(*NAMES), journal, destination=LIST)
    assert "belongs to another job: kind audience upload then, do-not-reach upload now; path " in says
    assert DESTINATION.kinds == IDENTIFIER_KINDS


# The same job again ------------------------------------------------------------------------------------------------


async def test_days_later_the_same_expiry_is_sent_as_when_the_job_was_begun(tmp_path: Path) -> None:
    clock = VirtualClock()
    rows = [{"email": f"{name}@example.com"} for name in NAMES]
    rows[6]["expires_at"] = "2027-01-17T00:00:00Z"
    first, second = ModelService([None, refusal(403)]), ModelService()
    with pytest.raises(BulkError):
        await job(first, rows, journal=tmp_path / "job.journal", destination=LIST, clock=clock).run()
    clock.advance(3 * 86_400)
    report = await job(second, rows, journal=tmp_path / "job.journal", destination=LIST, clock=clock).run()
    assert second.bodies[0] == first.bodies[1]
    expiries = [each["params"]["expires_at"] for request in second.requests for each in request]
    later = "2028-02-15T08:00:00Z"
    assert [datetime.datetime.fromisoformat(each) for each in expiries] == [
        datetime.datetime.fromisoformat(each) for each in (later, later, later, later, "2027-01-17T00:00:00Z", later)
    ]
    assert (report.accepted, report.resumed) == (8, 2)


@pytest.mark.parametrize("packing", ["single", "packed"])
async def test_a_finished_journal_given_again_counts_everything_and_sends_nothing(tmp_path: Path, packing: str) -> None:
    rows = [*people("a", "b", f"{BAD} c", "a", f"{BAD} c", "d"), {}]
    first, second, paths = ModelService(), ModelService(), (tmp_path / "1.csv", tmp_path / "2.csv")
    options = {"journal": tmp_path / "job.journal", "packing": packing}
    before = await job(first, rows, rejects=paths[0], **options).run()
    again = await job(second, rows, rejects=paths[1], **options).run()
    assert (before.accepted, before.rejected, before.duplicate, before.resumed) == (3, 3, 1, 0)
    assert (again.accepted, again.rejected, again.duplicate, again.resumed) == (3, 3, 1, 4)
    assert (second.bodies, again.requests, again.retries, again.bytes_sent) == ([], 0, 0, 0)
    assert sorted(content_of(paths[0]).splitlines()) == sorted(content_of(paths[1]).splitlines())


async def test_a_dry_run_neither_makes_nor_touches_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "job.journal"
    await job(ModelService(), people(*NAMES), journal=path, dry_run=True).run()
    assert not path.exists()
    await begun(people(*NAMES), path)
    before = content_of(path)
    report = await job(ModelService(), people("another input"), journal=path, dry_run=True).run()
    assert (report.pending, report.resumed) == (1, 0)
    assert content_of(path) == before
    silent = MemoryJournal()
    await job(ModelService(), people(*NAMES), journal=silent, dry_run=True).run()
    assert (silent.events, silent.state) == ([], None)
