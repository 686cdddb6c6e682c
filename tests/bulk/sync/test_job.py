"""Syncs over a real socket: what is sent, in which order, what stops them, and what they report."""

import asyncio
import hashlib
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import pytest

from socialapi.bulk.sync.job import RENEWED_AHEAD_SECONDS
from socialapi.bulk.sync.scratch import FILES, scratch_folder
from socialapi.bulk.sync.snapshot import ROWS_PER_PAGE, Snapshot
from socialapi.client import Client
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, ConfigurationError, Forbidden, InvalidInput, NotFound
from socialapi.models.audiences import AudienceUser, Operation
from socialapi.reports import Progress, RowIssue, SyncReport
from socialapi.resources.audiences import CustomAudience
from socialapi.session.transport import Transport
from tests.bulk.model_service import ModelService, counted, operation_errors, synced, users_of
from tests.bulk.model_transport import refusal
from tests.support.clock import VirtualClock
from tests.support.digests import sha256 as digest
from tests.support.files import content_of, mode_of, names_in

ACCOUNT: Final = "18ce54d4x5t"
AUDIENCE: Final = "1nmth"
ALL: Final[Any] = {"max_removal_share": 1.0}
NOBODY: Final = [{"handle": ""}]
"""A list that has a row, and nobody in it."""


def people(*names: str) -> list[dict[str, str]]:
    return [{"handle": name} for name in names]


def handles(*names: str) -> set[tuple[str, str]]:
    return {("handle", digest(name)) for name in names}


def members(emulator: Emulator) -> set[tuple[str, str]]:
    return emulator.members(ACCOUNT, AUDIENCE)


@pytest.fixture
def audience(socialapi_client: Client) -> CustomAudience:
    return socialapi_client.ads.account(ACCOUNT).custom_audience(AUDIENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audience.snapshot"


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The bodies of all requests, in their order."""
    sent: list[Any] = []
    send = Transport.send

    async def watched(self: Transport, request: Any, *arguments: Any, **keywords: Any) -> Any:
        sent.append(orjson.loads(b"".join(request.body)))
        return await send(self, request, *arguments, **keywords)

    monkeypatch.setattr(Transport, "send", watched)
    return sent


# What is sent ------------------------------------------------------------------------------------------------------


async def test_the_first_sync_adds_everybody_and_the_same_again_sends_nothing(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    desired: list[Any] = [AudienceUser(email=" Ada@Example.com", phone_number="+1 415 555 2671"), {"handle": "@grace"}]
    report = await audience.sync(desired, snapshot=path)
    assert members(socialapi_emulator) == {
        ("email", digest("ada@example.com")),
        ("phone_number", digest("+14155552671")),
        *handles("grace"),
    }
    assert (report.read, report.accepted, report.unchanged, report.additions.accepted) == (2, 2, 0, 2)
    assert (report.identifiers_before, report.identifiers_after) == (0, 3)
    report = await audience.sync(desired, snapshot=path)
    assert (report.accepted, report.unchanged, report.requests) == (2, 2, 0)
    assert len(socialapi_emulator.requests) == 1
    assert mode_of(path) == 0o600


async def test_additions_go_first_and_whole_and_removals_are_single_identifiers(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path, bodies: list[Any]
) -> None:
    await audience.sync([AudienceUser(handle="ada", email="a@b.cd"), *people("bob", "eve")], snapshot=path)
    bodies.clear()
    report = await audience.sync([AudienceUser(handle="ada", email="new@b.cd"), *people("eve")], snapshot=path, **ALL)
    added, removed = bodies
    assert added == [
        {
            "operation_type": "Update",
            "params": {"users": [{"email": [digest("new@b.cd")], "handle": [digest("ada")]}]},
        }
    ]
    gone = [[{"email": [digest("a@b.cd")]}], [{"handle": [digest("bob")]}]]
    assert [operation["operation_type"] for operation in removed] == ["Delete", "Delete"]
    assert [users_of(operation) for operation in removed] == gone
    assert members(socialapi_emulator) == handles("ada", "eve") | {("email", digest("new@b.cd"))}
    assert (report.accepted, report.unchanged, report.removals.accepted) == (2, 1, 2)
    assert (report.identifiers_before, report.identifiers_after, report.held_back) == (4, 3, 0)


async def test_nothing_raw_is_in_the_snapshot(audience: CustomAudience, path: Path) -> None:
    await audience.sync([AudienceUser(email="planted@example.com", device_id="9774d56d682e549c")], snapshot=path)
    assert b"lanted" not in (held := content_of(path))
    assert b"9774d56d682e549c" not in held
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT kind, digests FROM members").fetchall() == [
        (1, bytes.fromhex(digest("planted@example.com"))),
        (2, bytes.fromhex(digest("9774d56d682e549c"))),
    ]
    connection.close()


async def test_every_kind_of_input_is_read_with_its_options(
    audience: CustomAudience, socialapi_emulator: Emulator, tmp_path: Path, path: Path
) -> None:
    async def asynchronously() -> AsyncIterator[AudienceUser]:
        yield AudienceUser(phone_number="+14155552671")

    file = tmp_path / "people.csv"
    file.write_text("Who;id\n(415) 555-2671;7\n", "utf-8")
    report = await audience.sync(
        file, snapshot=path, columns={"phone_number": "Who"}, default_region="US", packing="packed", concurrency=1
    )
    assert report.accepted == 1
    assert members(socialapi_emulator) == {("phone_number", digest("+14155552671"))}
    assert (await audience.sync(asynchronously(), snapshot=path)).unchanged == 1


@pytest.mark.parametrize("packing", ["single", "packed"])
async def test_many_rows_are_synced_in_pages_and_batches(
    socialapi_emulator: Emulator, path: Path, packing: Any
) -> None:
    config = attrs.evolve(socialapi_emulator.config, max_batch_bytes=100_000)
    names = [f"p{number}" for number in range(6_000)]
    async with Client(config, socialapi_emulator.credentials) as client:
        target = client.ads.account(ACCOUNT).custom_audience(AUDIENCE)
        await target.sync(people(*names[:5_000]), snapshot=path, packing=packing)
        report = await target.sync(people(*names[1_000:]), snapshot=path, packing=packing, max_removal_share=0.2)
    assert (report.unchanged, report.additions.accepted, report.removals.accepted) == (4_000, 1_000, 1_000)
    assert members(socialapi_emulator) == handles(*names[1_000:])


# What a desired state is not ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [Operation.update([AudienceUser(handle="bob")]), {"handle": "bob", "operation_type": "delete"}],
)
async def test_operations_are_refused_and_nothing_is_sent(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path, record: Any
) -> None:
    with pytest.raises(BulkError, match=r"row 2 has an operation_type.*columns=\{\"operation_type\": \"\"\}") as caught:
        await audience.sync([{"handle": "ada"}, record], snapshot=path)
    assert isinstance(caught.value.__cause__, InvalidInput)
    assert not socialapi_emulator.requests


async def test_partner_user_ids_are_left_out_with_a_reason(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    why = "cannot be synced, because it is never hashed and a snapshot stores only digests"
    report = await audience.sync([{"partner_user_id": "p", "handle": "ada"}, {"partner_user_id": "q"}], snapshot=path)
    assert report.warning_details == (RowIssue(1, "partner_user_id", why),)
    assert report.rejects == (RowIssue(2, "partner_user_id", why),)
    assert members(socialapi_emulator) == handles("ada")


# How many may be removed -------------------------------------------------------------------------------------------


async def test_too_many_removals_stop_it_before_anything_is_sent(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    await audience.sync(people(*"abcdelghik"), snapshot=path)
    with pytest.raises(BulkError) as caught:
        await audience.sync(people(*"abcdelgh", "new"), snapshot=path)
    assert str(caught.value.__cause__) == (
        "2 of the 10 identifiers in the snapshot are missing from the input, which is 20.0%, but only 10.0% may be "
        "removed: is the input complete? If so, set max_removal_share=1.0"
    )
    assert isinstance(caught.value.report, SyncReport)
    assert (caught.value.report.held_back, caught.value.report.pending, caught.value.report.unchanged) == (2, 1, 8)
    assert len(socialapi_emulator.requests) == 1
    report = await audience.sync(people(*"abcdelghi", "new"), snapshot=path)
    assert report.removals.accepted == 1
    assert members(socialapi_emulator) == handles(*"abcdelghi", "new")


async def test_a_list_in_which_nobody_is_empties_an_audience_only_if_that_is_said(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    await audience.sync(people("ada"), snapshot=path)
    with pytest.raises(BulkError, match="1 of the 1 identifiers in the snapshot are missing from"):
        await audience.sync(NOBODY, snapshot=path)
    assert members(socialapi_emulator) == handles("ada")
    assert (await audience.sync(NOBODY, snapshot=path, **ALL)).identifiers_after == 0
    assert not members(socialapi_emulator)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    "desired", ["", "handle\n", "\n\n", [], iter(())], ids=["empty", "header", "blank", "list", "iterator"]
)
async def test_an_input_without_rows_is_never_a_list_of_nobody(
    audience: CustomAudience, socialapi_emulator: Emulator, tmp_path: Path, path: Path, desired: Any, *, dry_run: bool
) -> None:
    await audience.sync(people("ada"), snapshot=path)
    asked = len(socialapi_emulator.requests)
    if isinstance(desired, str):
        desired, content = tmp_path / "people.csv", desired
        desired.write_text(content, "utf-8")
    with pytest.raises(InvalidInput, match=": an empty list would remove every member, so a sync rejects it"):
        await audience.sync(desired, snapshot=path, dry_run=dry_run, **ALL)
    assert len(socialapi_emulator.requests) == asked
    assert (await audience.sync(people("ada"), snapshot=path)).unchanged == 1


async def test_with_another_version_of_the_normalizer_only_what_it_changed_is_sent(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the address was hashed with what stood around it."""
    people = [f"{name}@b.example" for name in "abcdefghijklmnopqrst"]
    with monkeypatch.context() as then:
        for module in ("snapshot", "job"):
            then.setattr(f"socialapi.bulk.sync.{module}.NORMALIZER_VERSION", 1)
        wrong = hashlib.sha256(b"<z@b.example>").hexdigest()
        await audience.sync([{"email": each} for each in (*people, wrong)], snapshot=path)
    now = [{"email": each} for each in (*people, "<z@b.example>")]
    with pytest.raises(
        BulkError, match=r"made by version 1 of the normalizer, and this is version 4: a value whose digest"
    ):
        await audience.sync(now, snapshot=path, max_removal_share=0.01)
    report = await audience.sync(now, snapshot=path)
    assert (report.unchanged, report.additions.accepted, report.removals.accepted, report.warnings) == (20, 1, 1, 1)
    with pytest.raises(BulkError) as stopped:
        await audience.sync(now[:-2], snapshot=path, max_removal_share=0.01)
    assert "normalizer" not in str(stopped.value)


async def test_a_value_that_became_unusable_may_mean_somebody_who_seems_to_have_left(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    before = [{"handle": name, "service_id": str(number)} for number, name in enumerate("abcdelghik", 1)]
    await audience.sync(before, snapshot=path)
    # As a spreadsheet makes them. A value that is never synced, whatever it is, casts no doubt.
    desired = [*before[:-1], {"handle": "k", "service_id": "10.5", "partner_user_id": "p"}]
    report = await audience.sync(desired, snapshot=path, max_removal_share=0.05)
    assert (report.held_back, report.removals.accepted, report.warnings) == (1, 0, 2)
    assert len(members(socialapi_emulator)) == 20
    assert (await audience.sync(desired, snapshot=path, max_removal_share=0.1)).removals.accepted == 1


@pytest.mark.parametrize(("share", "held_back"), [(0.1, 1), (0.2, 0), (1.0, 0)])
@pytest.mark.parametrize("rejected", [{"handle": "no/handle"}, {"handle": "", "partner_user_id": "k"}])
async def test_rejected_rows_may_mean_those_who_seem_to_have_left(
    audience: CustomAudience,
    socialapi_emulator: Emulator,
    path: Path,
    share: float,
    held_back: int,
    rejected: dict[str, str],
) -> None:
    await audience.sync(people(*"abcdelghik"), snapshot=path)
    desired = [*people(*"abcdelghi", "new"), rejected]
    report = await audience.sync(desired, snapshot=path, max_removal_share=share)
    assert (report.held_back, report.removals.accepted, report.rejected) == (held_back, 1 - held_back, 1)
    assert members(socialapi_emulator) == handles(*"abcdelghi", "new", *"k" * held_back)
    # Held back is not forgotten.
    assert (await audience.sync(desired[:-1], snapshot=path)).removals.accepted == held_back


async def test_blank_lines_and_placeholders_hold_nobody_back(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path, tmp_path: Path
) -> None:
    await audience.sync(people(*"abcdelghik"), snapshot=path)
    members_file = tmp_path / "members.csv"
    # As Windows writes lines that already had their line ends; and rows of people without an address.
    rows = [f"{name},{digest('')}" for name in "abcdelghi"] + ["n/a,", "none,null"]
    members_file.write_bytes("\r\r\n".join(("handle,email", *rows)).encode())
    report = await audience.sync(members_file, snapshot=path)
    assert (report.rejected, report.held_back, report.removals.accepted) == (len(rows) + 2, 0, 1)
    assert members(socialapi_emulator) == handles(*"abcdelghi")


async def test_an_input_that_breaks_off_sends_nothing(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    def broken() -> Iterator[dict[str, str]]:
        yield from people("ada", "bob")
        raise OSError

    with pytest.raises(BulkError, match=r"the input broke off: OSError; nothing was sent \(of 2 rows read") as caught:
        await audience.sync(broken(), snapshot=path)
    assert isinstance(caught.value.report, SyncReport)
    assert caught.value.report.pending == 2
    assert not socialapi_emulator.requests


# Refusals and failures ---------------------------------------------------------------------------------------------


async def test_refused_rows_are_told_by_their_numbers_and_are_not_in_the_snapshot(
    audience: CustomAudience, socialapi_emulator: Emulator, tmp_path: Path, path: Path
) -> None:
    await audience.sync(people("ada"), snapshot=path)
    socialapi_emulator.faults.add("operation_error", index=1)
    rejects = tmp_path / "rejects.csv"
    desired = [{"handle": "a/b"}, *people("ada", "bob", "eve", "zoe")]
    report = await audience.sync(desired, snapshot=path, rejects=rejects)
    refused = RowIssue(4, "params.users", "INVALID_PARAMETER: a scripted fault")
    assert report.rejects == (
        RowIssue(1, "handle", "is not a handle (at most 15 letters A to Z, digits and _)"),
        refused,
    )
    assert report.additions.rejects == (refused,)
    assert (report.accepted, report.rejected, report.identifiers_after) == (3, 2, 3)
    assert rejects.read_text("utf-8").splitlines() == [
        "row,field,reason",
        '1,handle,"is not a handle (at most 15 letters A to Z, digits and _)"',
        "4,params.users,INVALID_PARAMETER: a scripted fault",
    ]
    report = await audience.sync(desired[1:], snapshot=path)
    assert (report.unchanged, report.additions.accepted) == (3, 1)
    assert members(socialapi_emulator) == handles("ada", "bob", "eve", "zoe")


async def test_a_removal_that_is_refused_is_told_and_tried_again(
    audience: CustomAudience, socialapi_emulator: Emulator, tmp_path: Path, path: Path
) -> None:
    await audience.sync(people("ada"), snapshot=path)
    socialapi_emulator.faults.add("operation_error", index=0)
    rejects = tmp_path / "rejects.csv"
    report = await audience.sync(NOBODY, snapshot=path, rejects=rejects, **ALL)
    reason = "was not removed: INVALID_PARAMETER: a scripted fault"
    assert report.removals.rejects == (RowIssue(0, "params.users", reason),)
    assert (report.rejected, report.removals.rejected, report.identifiers_after) == (1, 1, 1)
    assert rejects.read_text("utf-8").splitlines() == [
        "row,field,reason",
        "1,,has no identifier",
        f"0,params.users,{reason}",
    ]
    assert (await audience.sync(NOBODY, snapshot=path, **ALL)).removals.accepted == 1
    assert not members(socialapi_emulator)


@pytest.mark.parametrize("fault", ["status", "reset_before", "reset_after", "truncate", "html", "count_mismatch"])
async def test_a_sync_gets_through_every_fault(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path, fault: str
) -> None:
    socialapi_emulator.faults.add(fault)
    await audience.sync(people("ada", "bob"), snapshot=path)
    socialapi_emulator.faults.add(fault)
    report = await audience.sync(people("ada"), snapshot=path, **ALL)
    assert (report.retries, report.requests, report.identifiers_after) == (1, 2, 1)
    assert members(socialapi_emulator) == handles("ada")


async def test_when_the_service_refuses_the_sync_stops_and_says_where(
    audience: CustomAudience, socialapi_client: Client, tmp_path: Path, path: Path
) -> None:
    unknown = socialapi_client.ads.account(ACCOUNT).custom_audience("unknown")
    with pytest.raises(BulkError, match=r"the sync stopped while adding: POST /.*: 404 NOT_FOUND") as caught:
        await unknown.sync(people("ada"), snapshot=tmp_path / "other")
    assert isinstance(caught.value.__cause__, NotFound)
    assert (caught.value.report.pending, caught.value.report.requests) == (1, 1)


async def test_what_stops_while_removing_has_added(path: Path) -> None:
    service = ModelService()
    await synced(service, people("ada"), path)
    service._script = iter([None, refusal(403)])
    with pytest.raises(BulkError, match=r"the sync stopped while removing: POST /.*: 403") as caught:
        await synced(service, people("bob"), path, **ALL)
    assert isinstance(caught.value.__cause__, Forbidden)
    assert isinstance(caught.value.report, SyncReport)
    assert (caught.value.report.accepted, caught.value.report.removals.pending) == (1, 1)
    report = await synced(service, people("bob"), path, **ALL)
    assert (report.unchanged, report.removals.accepted) == (1, 1)
    assert service.members.keys() == handles("bob")


@pytest.mark.parametrize("packing", ["single", "packed"])
async def test_a_sync_that_was_stopped_goes_on_with_what_was_not_accepted(path: Path, packing: Any) -> None:
    everybody = people(*(f"p{number}" for number in range(10)))
    service = ModelService([None, None, refusal(403)])
    options: dict[str, Any] = {**ALL, "packing": packing, "concurrency": 1}
    options["settings"] = {"max_operations": 2 if packing == "single" else 100, "max_batch_bytes": 400}
    with pytest.raises(BulkError, match=r"while adding: POST /.*: 403") as caught:
        await synced(service, everybody, path, **options)
    assert isinstance(caught.value.report, SyncReport)
    taken = caught.value.report.additions.accepted
    assert taken == len(service.members) >= 2
    report = await synced(service, everybody, path, **options)
    assert (report.unchanged, report.additions.accepted) == (taken, 10 - taken)
    service._script = iter([None, None, refusal(403)])
    with pytest.raises(BulkError, match=r"while removing: POST /.*: 403") as caught:
        await synced(service, NOBODY, path, **options)
    assert isinstance(caught.value.report, SyncReport)
    gone = caught.value.report.removals.accepted
    assert gone == 10 - len(service.members) >= 2
    assert caught.value.report.removals.pending == caught.value.report.identifiers_after == 10 - gone
    report = await synced(service, NOBODY, path, **options)
    assert (report.identifiers_before, report.removals.accepted) == (10 - gone, 10 - gone)
    assert not service.members


async def test_what_was_accepted_before_a_sync_is_interrupted_is_not_sent_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when all of the input has been read, and one last request is waited for."""

    def answer_nothing_more(operations: list[Any]) -> Any:
        service.gate = asyncio.Event()
        silent.set()
        return service.process(operations)

    noted = 0
    accept = Snapshot.accept

    async def watched(self: Snapshot, operation: Any, numbers: Any) -> None:
        nonlocal noted
        await accept(self, operation, numbers)
        noted += sum(map(len, numbers))
        if noted == 3_000:
            everything_noted.set()

    everything_noted, silent = asyncio.Event(), asyncio.Event()
    monkeypatch.setattr(Snapshot, "accept", watched)
    everybody = people(*(f"p{number}" for number in range(4_000)))
    service = ModelService([None, None, None, answer_nothing_more])
    options: dict[str, Any] = {"concurrency": 1, "settings": {"max_operations": 1_000}}
    running = asyncio.create_task(synced(service, everybody, path, **options))
    async with asyncio.timeout(10):
        await everything_noted.wait()
        await silent.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    service.gate = None
    report = await synced(service, everybody, path, **options)
    assert (report.unchanged, report.additions.accepted) == (3_000, 1_000)
    assert service.members.keys() == handles(*(f"p{number}" for number in range(4_000)))


async def test_what_never_went_out_is_neither_held_nor_removed_later(path: Path) -> None:
    service = ModelService([refusal(403)])
    options: dict[str, Any] = {"concurrency": 1, "settings": {"max_operations": 100}}
    with pytest.raises(BulkError, match=r"while adding: POST /.*: 403") as caught:
        await synced(service, people(*(f"p{number}" for number in range(20_000))), path, **options)
    assert isinstance(caught.value.report, SyncReport)
    assert caught.value.report.identifiers_after <= 3 * ROWS_PER_PAGE
    assert caught.value.report.additions.pending == caught.value.report.pending == 20_000
    report = await synced(service, NOBODY, path, **options, **ALL)
    assert report.removals.accepted == caught.value.report.identifiers_after


async def test_a_row_refused_after_a_lost_answer_may_be_held_and_is_removed_later(path: Path) -> None:
    def lose(operations: list[Any]) -> Any:
        service.process(operations)
        return refusal(500)

    service = ModelService([lose, operation_errors([0])])
    report = await synced(service, people("ada"), path)
    assert (report.rejected, report.identifiers_after) == (1, 1)
    assert service.members.keys() == handles("ada")
    report = await synced(service, NOBODY, path, **ALL)
    assert report.removals.accepted == 1
    assert not service.members


async def test_two_syncs_at_once_do_not_share_a_snapshot(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    found = await asyncio.gather(
        *(audience.sync(people(name), snapshot=path) for name in ("ada", "bob")), return_exceptions=True
    )
    refused = [type(each) for each in found].count(ConfigurationError)
    assert refused in {1, 2}  # each of them, if both come upon a file that is just being made
    assert len(members(socialapi_emulator)) == 2 - refused


async def test_a_snapshot_that_breaks_on_the_way_stops_the_sync(
    audience: CustomAudience, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise sqlite3.OperationalError("no more")

    monkeypatch.setattr("socialapi.bulk.sync.scratch.RowFile.page", fail)
    with pytest.raises(
        BulkError, match=r"the sync stopped while adding: the snapshot .* cannot be written: no more"
    ) as it:
        await audience.sync(people("ada"), snapshot=path)
    assert isinstance(it.value.__cause__, ConfigurationError)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_removal_share": 1.5}, "max_removal_share must be a number from 0 to 1"),
        ({"max_removal_share": float("nan")}, "max_removal_share must be a number from 0 to 1"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "invalid upload options"),
        ({"columns": {"shoe": "size"}}, '"shoe" is not a kind of identifier'),
        ({"rejects": "audience.snapshot"}, "is the rejects file, too"),
        (
            {"journal": "audience.journal"},
            "a sync has no journal: to continue it, run the sync again with the same snapshot",
        ),
        ({"desired": "audience.snapshot"}, "is the input itself"),
    ],
)
async def test_options_that_make_no_sense_are_refused_and_leave_no_file(
    audience: CustomAudience,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=says):
        await audience.sync(**{"desired": people("ada"), "snapshot": "audience.snapshot"} | options)
    assert not names_in(tmp_path)


# Times -------------------------------------------------------------------------------------------------------------


async def test_what_is_added_gets_the_times_and_a_row_may_have_its_own(
    audience: CustomAudience, socialapi_emulator: Emulator, path: Path
) -> None:
    own, others = "2089-01-01T00:00:00Z", "2088-01-01T00:00:00Z"
    await audience.sync(
        [{"handle": "ada", "expires_at": own}, *people("bob")],
        snapshot=path,
        expires_at=others,
        effective_at=others[:0],
    )
    kept = socialapi_emulator.state.audiences[ACCOUNT, AUDIENCE].members._by_kind["handle"]
    assert {name: kept[digest(name)][1] for name in ("ada", "bob")} == {"ada": 3_755_376_000.0, "bob": 3_723_753_600.0}


async def test_who_is_to_stay_is_sent_again_in_the_last_week_of_thirteen_months(path: Path) -> None:
    clock, service = VirtualClock(), ModelService()
    await synced(service, people("ada", "bob"), path, clock=clock)
    clock.advance(396 * 86_400 - RENEWED_AHEAD_SECONDS)
    assert (await synced(service, people("ada", "bob"), path, clock=clock)).requests == 0
    clock.advance(1)
    assert (await synced(service, people("ada", "bob"), path, clock=clock)).additions.accepted == 2
    assert (await synced(service, people("ada", "bob"), path, clock=clock)).requests == 0


# Reports, progress, dry runs ---------------------------------------------------------------------------------------


async def test_a_dry_run_sends_nothing_changes_nothing_and_forecasts(
    audience: CustomAudience,
    socialapi_emulator: Emulator,
    path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    report = await audience.sync(people("ada", "bob", "eve"), snapshot=path, dry_run=True)
    assert (report.pending, report.accepted, report.additions.pending) == (3, 0, 3)
    assert report.forecast is not None
    assert report.forecast.requests == 1
    assert not names_in(path.parent)
    assert not names_in(temporary)
    await audience.sync(people("ada", "bob", "eve"), snapshot=path)
    report = await audience.sync(people("ada", "zoe"), snapshot=path, dry_run=True, **ALL)
    assert (report.unchanged, report.additions.pending, report.removals.pending) == (1, 1, 2)
    assert report.forecast is not None
    assert report.forecast.requests == 2
    assert report.identifiers_before == report.identifiers_after == 3
    assert (await audience.sync(people("ada", "bob", "eve"), snapshot=path)).unchanged == 3
    assert len(socialapi_emulator.requests) == 1
    with pytest.raises(BulkError, match="2 of the 3 identifiers"):
        await audience.sync(people("ada"), snapshot=path, dry_run=True)


async def test_a_dry_run_needs_no_credentials(path: Path) -> None:
    async with Client() as client:
        target = client.ads.account(ACCOUNT).custom_audience(AUDIENCE)
        assert (await target.sync(people("ada"), snapshot=path, dry_run=True)).pending == 1
        with pytest.raises(ConfigurationError, match="no ads_url is configured"):
            await target.sync(people("ada"), snapshot=path)
    assert not names_in(path.parent)


async def test_the_report_is_json_ready_and_adds_up(audience: CustomAudience, path: Path) -> None:
    await audience.sync(people("ada", "bob"), snapshot=path)
    report = await audience.sync(people("ada", "eve", "eve"), snapshot=path, **ALL)
    data = orjson.loads(orjson.dumps(report.summary()))
    shown = (
        "read",
        "accepted",
        "duplicate",
        "repeated",
        "unchanged",
        "held_back",
        "identifiers_before",
        "identifiers_after",
    )
    assert {name: data[name] for name in shown} == {
        "read": 3,
        "accepted": 3,
        "duplicate": 0,
        "repeated": 1,
        "unchanged": 1,
        "held_back": 0,
        "identifiers_before": 2,
        "identifiers_after": 2,
    }
    assert (data["additions"]["read"], data["removals"]["accepted"], data["requests"]) == (2, 1, 2)
    assert "rejects" not in data["additions"]
    assert report.adds_up
    assert not attrs.evolve(report, unchanged=2).adds_up


async def test_progress_is_of_the_sync_as_a_whole(audience: CustomAudience, path: Path) -> None:
    seen: list[Progress] = []
    await audience.sync(people("ada", "bob"), snapshot=path)
    report = await audience.sync(people("ada", "eve"), snapshot=path, on_progress=seen.append, **ALL)
    assert all(isinstance(each.report, SyncReport) and each.report.adds_up for each in seen)
    assert (seen[0].report.read, seen[0].report.pending, seen[0].report.requests) == (2, 2, 0)
    assert (seen[-1].report.accepted, seen[-1].report.requests, seen[-1].fraction_read) == (2, 2, 1.0)
    assert report.requests == 2


async def test_a_progress_that_fails_stops_the_sync(audience: CustomAudience, path: Path) -> None:
    def fail(progress: Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(BulkError, match="the sync stopped: ZeroDivisionError; nothing was sent"):
        await audience.sync(people("ada"), snapshot=path, on_progress=fail)


async def test_wrong_counts_without_end_stop_it_and_leave_what_may_be_held(path: Path) -> None:
    service = ModelService([counted(0, 1)] * 12)
    with pytest.raises(BulkError, match=r"while adding: .*: the service counted 0 successes") as caught:
        await synced(service, people("ada"), path)
    assert isinstance(caught.value.report, SyncReport)
    assert (caught.value.report.pending, caught.value.report.identifiers_after) == (1, 1)
    assert (await synced(service, people("ada"), path)).identifiers_before == 1


# Inputs of several nights --------------------------------------------------------------------------------------------


async def test_whole_users_are_added_in_the_order_of_the_input_in_the_same_batches(
    tmp_path: Path,
) -> None:
    desired = [{"handle": f"p{number}", "service_id": str(number)} for number in range(1, 51)]
    bodies = []
    for run in ("first", "second"):
        service = ModelService()
        await synced(service, desired, tmp_path / run, settings={"max_operations": 7}, concurrency=1)
        bodies.append(service.bodies)
        assert [values for batch in service.values for values in batch] == [
            [digest(f"p{number}"), digest(str(number))] for number in range(1, 51)
        ]
    assert bodies[0] == bodies[1]
    assert len(bodies[0]) == 8


async def test_rows_with_several_and_with_missing_values_are_sent_as_they_are(path: Path) -> None:
    service = ModelService()
    desired: list[Any] = [
        {"handle": ["a", "b"], "service_id": "1"},
        {"service_id": "2"},
        {"handle": "c", "expires_at": "2089-01-01T00:00:00Z"},
        {"handle": "d", "service_id": ["3", "4"]},
    ]
    await synced(service, desired, path)
    (operations,) = service.requests
    assert [users_of(operation) for operation in operations] == [
        [{"handle": [digest("a"), digest("b")], "service_id": [digest("1")]}],
        [{"service_id": [digest("2")]}],
        [{"handle": [digest("c")]}],
        [{"handle": [digest("d")], "service_id": [digest("3"), digest("4")]}],
    ]
    assert [operation["params"].get("expires_at") for operation in operations] == [
        None,
        None,
        "2089-01-01T00:00:00Z",
        None,
    ]


async def test_scratch_files_that_were_left_behind_match_no_pattern(
    audience: CustomAudience, tmp_path: Path, path: Path
) -> None:
    (tmp_path / "people.csv").write_text("handle\nada\n", "utf-8")
    scratch_folder(path).mkdir()
    for name in FILES:
        (scratch_folder(path) / name).write_text("handle\nleft\n", "utf-8")
    report = await audience.sync(str(tmp_path / "**" / "*"), snapshot=path)
    assert (report.read, report.additions.accepted) == (1, 1)


async def test_of_rows_that_are_not_sent_no_user_object_is_written(
    audience: CustomAudience, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise AssertionError

    file = tmp_path / "people.csv"
    file.write_text("handle,service_id\nada,1\nbob,\n", "utf-8")
    desired: list[Any] = [
        {"handle": "ada", "service_id": "1"},
        {"handle": ["bob"], "expires_at": "2089-01-01T00:00:00Z"},
    ]
    await audience.sync(desired, snapshot=path)
    monkeypatch.setattr("socialapi.bulk.rows.Users", fail)
    assert (await audience.sync(desired, snapshot=path)).unchanged == 2
    assert (await audience.sync(file, snapshot=path)).unchanged == 2


async def test_a_column_that_is_never_hashed_leaves_nothing_in_what_is_sent(
    audience: CustomAudience, socialapi_emulator: Emulator, tmp_path: Path, path: Path, bodies: list[Any]
) -> None:
    file = tmp_path / "people.csv"
    file.write_text("partner_user_id,handle\np,ada\n,bob\n", "utf-8")
    report = await audience.sync(file, snapshot=path)
    assert (report.additions.accepted, report.warnings) == (2, 1)
    assert members(socialapi_emulator) == handles("ada", "bob")
    assert [users_of(operation) for operation in bodies[0]] == [[{"handle": [digest(name)]}] for name in ("ada", "bob")]
