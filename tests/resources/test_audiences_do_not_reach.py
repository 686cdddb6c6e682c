"""Do-not-reach lists over a real socket."""

import datetime
import hashlib

import pytest

from socialapi.client import Client
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, InvalidInput, NotFound
from socialapi.models.audiences import AudienceUser, Operation, UploadCounts
from socialapi.resources.audiences import DoNotReachListResource


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def ids(emulator: Emulator) -> tuple[str, str]:
    return emulator.seed["account_ids"][0], emulator.seed["do_not_reach_list_ids"][0]


def members(emulator: Emulator) -> set[tuple[str, str]]:
    return emulator.do_not_reach_members(*ids(emulator))


def expiries(emulator: Emulator) -> set[float]:
    held = emulator.state.do_not_reach_lists[ids(emulator)].members
    return {ends for values in held._by_kind.values() for _, ends in values.values()}


@pytest.fixture
def resource(socialapi_client: Client, socialapi_emulator: Emulator) -> DoNotReachListResource:
    account_id, list_id = ids(socialapi_emulator)
    return socialapi_client.ads.account(account_id).do_not_reach_list(list_id)


PERSON = AudienceUser(email="Jane@Example.com", phone_number="+1 415 555 2671")


async def test_send_sums_the_counts_of_all_operations(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    operations = [Operation.update([PERSON]), Operation.update([AudienceUser(email=f"{n}@example.com") for n in "ab"])]
    assert await resource.send(operations) == UploadCounts(success_count=3, total_count=3)
    assert members(socialapi_emulator) == {
        ("email", digest("jane@example.com")),
        ("phone_number", digest("+14155552671")),
        ("email", digest("a@example.com")),
        ("email", digest("b@example.com")),
    }


async def test_send_always_says_when_it_expires(resource: DoNotReachListResource, socialapi_emulator: Emulator) -> None:
    before = datetime.datetime.now(datetime.UTC)
    await resource.send([Operation.update([PERSON])])
    (at,) = expiries(socialapi_emulator)
    # The emulator's own default has fractions of a second, ours has none.
    assert at == int(at)
    assert at - before.timestamp() > 394 * 86_400
    chosen = datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC)
    await resource.send([Operation.update([PERSON], expires_at=chosen)])
    assert expiries(socialapi_emulator) == {chosen.timestamp()}


async def test_send_takes_two_kinds_and_no_time_of_effect(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    now = datetime.datetime.now(datetime.UTC)
    with pytest.raises(InvalidInput) as caught:
        await resource.send([Operation.update([AudienceUser(handle="jane", email="j@example.com")], effective_at=now)])
    assert [(rule.path, rule.reason) for rule in caught.value.broken_rules] == [
        ("[0].params.users[0].handle[0]", "is a kind of identifier that is not accepted here"),
        ("[0].params.effective_at", "is not a field of this object"),
    ]
    assert not socialapi_emulator.requests


async def test_a_job_always_says_when_rows_expire(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    report = await resource.upload([{"email": "a@example.com"}, {"phone_number": "+14155552671"}])
    assert report.accepted == 2
    (at,) = expiries(socialapi_emulator)
    assert at == int(at)
    report = await resource.upload([{"email": "a@example.com", "expires_at": "2090-01-01T00:00:00Z"}])
    assert datetime.datetime(2090, 1, 1, tzinfo=datetime.UTC).timestamp() in expiries(socialapi_emulator)


async def test_other_kinds_are_warnings_beside_these_two_and_rejects_alone(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    users = [AudienceUser(email="a@example.com", handle="a"), AudienceUser(handle="b")]
    report = await resource.upload(users)
    taken = "is a kind of identifier that is not accepted here"
    assert [(issue.row, issue.field, issue.reason) for issue in report.warning_details] == [(1, "handle", taken)]
    assert [(issue.row, issue.field, issue.reason) for issue in report.rejects] == [(2, "handle", taken)]
    assert members(socialapi_emulator) == {("email", digest("a@example.com"))}


async def test_a_job_sums_the_counts_of_every_operation_and_survives_wrong_ones(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    socialapi_emulator.faults.add("count_mismatch")
    rows = [{"email": f"{number}@example.com"} for number in range(100)]
    report = await resource.upload(rows)
    assert (report.accepted, report.requests, report.retries) == (100, 2, 1)
    report = await resource.upload(rows, operation="Delete", packing="packed")
    assert (report.accepted, report.requests) == (100, 1)
    assert members(socialapi_emulator) == set()


async def test_delete_gives_the_last_record_and_a_second_time_there_is_nothing(
    resource: DoNotReachListResource, socialapi_emulator: Emulator
) -> None:
    await resource.send([Operation.update([PERSON])])
    deleted = await resource.delete()
    assert (deleted.id, deleted.deleted, deleted.targetable) == (ids(socialapi_emulator)[1], True, False)
    assert deleted.list_size == 2
    with pytest.raises(NotFound):
        await resource.delete()
    with pytest.raises(NotFound):
        await resource.send([Operation.update([PERSON])])
    with pytest.raises(BulkError) as caught:
        await resource.upload([{"email": "a@example.com"}])
    assert isinstance(caught.value.__cause__, NotFound)
