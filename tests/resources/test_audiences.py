"""Custom audiences over a real socket: one request, and jobs."""

import datetime
import hashlib
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.client import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, BulkError, Forbidden, InvalidInput, NotFound
from socialapi.models.audiences import AudienceUser, Operation, UploadCounts
from socialapi.resources.audiences import CustomAudience
from tests.support.clients import client_of

ADSAPI: Final = "49e0be2aeccfb51a8dee4c945c8a70a9ac500cf6f5cb08112575f74db9b1470d"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def ids(emulator: Emulator) -> tuple[str, str]:
    return emulator.seed["account_ids"][0], emulator.seed["custom_audience_ids"][0]


def members(emulator: Emulator) -> set[tuple[str, str]]:
    return emulator.members(*ids(emulator))


@pytest.fixture
def audience(socialapi_client: Client, socialapi_emulator: Emulator) -> CustomAudience:
    account_id, audience_id = ids(socialapi_emulator)
    return socialapi_client.ads.account(account_id).custom_audience(audience_id)


async def test_send_is_one_request_with_raw_identifiers_normalised_and_hashed(
    audience: CustomAudience, socialapi_emulator: Emulator
) -> None:
    user = AudienceUser(
        email=[" Jane@Example.com ", ADSAPI.upper()],
        phone_number="(415) 555-2671",
        handle="@AdsAPI",
        device_id="9774D56D682E549C",
        service_id="12",
        partner_user_id=" Crm-7 ",
    )
    counts = await audience.send([Operation.update([user, AudienceUser(email="bob@example.com")])], default_region="US")
    assert counts == UploadCounts(success_count=2, total_count=2)
    assert members(socialapi_emulator) == {
        ("email", digest("jane@example.com")),
        ("email", ADSAPI),
        ("phone_number", digest("+14155552671")),
        ("handle", ADSAPI),
        ("device_id", digest("9774d56d682e549c")),
        ("service_id", digest("12")),
        ("partner_user_id", "Crm-7"),
        ("email", digest("bob@example.com")),
    }
    (request,) = socialapi_emulator.requests
    assert (request.operations, request.users, request.status) == (1, 2, 200)
    await audience.send([Operation.delete([user])], default_region="US")
    assert members(socialapi_emulator) == {("email", digest("bob@example.com"))}


async def test_send_lists_every_broken_rule_with_its_path_and_sends_nothing(
    audience: CustomAudience, socialapi_emulator: Emulator
) -> None:
    past = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
    operations = [
        Operation.update([AudienceUser(email=["planted-not-an-address", "fine@example.com", " "])]),
        Operation.update([AudienceUser(), AudienceUser(phone_number="555 2671")], expires_at=past),
        Operation("Upsert", Operation.update([AudienceUser(handle="a/b")]).params),  # type: ignore[arg-type]
    ]
    with pytest.raises(InvalidInput) as caught:
        await audience.send(operations)
    assert [(rule.path, rule.reason) for rule in caught.value.broken_rules] == [
        ("[0].params.users[0].email[0]", "is not a plausible e-mail address"),
        ("[0].params.users[0].email[2]", "is empty"),
        ("[1].params.users[0]", "has no identifier"),
        (
            "[1].params.users[1].phone_number[0]",
            "has no country code: write it as +<country code>…, or set a default region",
        ),
        ("[2].params.users[0].handle[0]", "is not a handle (at most 15 letters A to Z, digits and _)"),
        ("[1].params.expires_at", "must be later than effective_at, which defaults to now"),
        ("[2].operation_type", "must be one of Update, Delete"),
    ]
    assert str(caught.value).startswith("the request breaks 7 rules of the service; nothing was sent\n  - [0].params")
    assert "planted" not in str(caught.value)
    assert not socialapi_emulator.requests


async def test_2_500_operations_are_sent_and_2_501_are_not(
    audience: CustomAudience, socialapi_emulator: Emulator
) -> None:
    operations = [Operation.update([AudienceUser(partner_user_id=str(number))]) for number in range(2_501)]
    assert await audience.send(operations[:2_500]) == UploadCounts(success_count=2_500, total_count=2_500)
    with pytest.raises(InvalidInput, match="must have at most 2,500 items"):
        await audience.send(operations)
    assert len(socialapi_emulator.requests) == 1


async def test_operation_errors_of_the_service_are_raised(
    audience: CustomAudience, socialapi_emulator: Emulator
) -> None:
    socialapi_emulator.faults.add("operation_error", index=1)
    operations = [Operation.update([AudienceUser(partner_user_id=name)]) for name in "ab"]
    with pytest.raises(ApiError) as caught:
        await audience.send(operations)
    (error,) = caught.value.operation_errors
    assert (caught.value.status, error.index, error.parameter) == (400, 1, "params.users")
    assert members(socialapi_emulator) == set()


async def test_wrong_counts_are_sent_again(audience: CustomAudience, socialapi_emulator: Emulator) -> None:
    socialapi_emulator.faults.add("count_mismatch")
    counts = await audience.send([Operation.update([AudienceUser(partner_user_id="a")])])
    assert counts == UploadCounts(success_count=1, total_count=1)
    assert [request.fault for request in socialapi_emulator.requests] == ["count_mismatch", None]
    assert members(socialapi_emulator) == {("partner_user_id", "a")}


async def test_a_job_isolates_the_rows_that_the_service_refuses(
    audience: CustomAudience, socialapi_emulator: Emulator
) -> None:
    socialapi_emulator.faults.add("operation_error", index=2)
    report = await audience.upload([{"partner_user_id": name} for name in "abcd"])
    assert [(issue.row, issue.reason) for issue in report.rejects] == [(3, "INVALID_PARAMETER: a scripted fault")]
    assert members(socialapi_emulator) == {("partner_user_id", name) for name in "abd"}


@pytest.mark.parametrize(
    ("account", "audience_id", "kind"),
    [
        ("18ce54d4x5t", "unknown", NotFound),
        ("unknown", "1nmth", NotFound),
        ("18ce55a9q0m", "1nmvl", Forbidden),
    ],
)
async def test_a_wrong_account_or_audience_stops_the_job(
    socialapi_client: Client, account: str, audience_id: str, kind: type[ApiError]
) -> None:
    with pytest.raises(BulkError) as caught:
        await socialapi_client.ads.account(account).custom_audience(audience_id).upload([{"partner_user_id": "a"}])
    assert isinstance(caught.value.__cause__, kind)
    assert caught.value.report.pending == 1


async def test_the_timeout_of_an_attempt_is_the_callers(socialapi_client: Client, socialapi_emulator: Emulator) -> None:
    socialapi_emulator.faults.add("stall", times=2)
    account_id, audience_id = ids(socialapi_emulator)
    view = socialapi_client.with_options(timeout_seconds=0.1)
    report = await view.ads.account(account_id).custom_audience(audience_id).upload([{"partner_user_id": "a"}])
    assert (report.accepted, report.retries) == (1, 2)


async def test_send_takes_operations_and_says_how_to_make_one_of_users(audience: CustomAudience) -> None:
    with pytest.raises(InvalidInput, match=r"send takes Operation, not AudienceUser: wrap users in Operation\.update"):
        await audience.send([AudienceUser(handle="ada")])  # type: ignore[list-item]  # the mistake


async def test_another_number_of_operations_can_be_configured_for_send_as_for_upload(
    socialapi_emulator: Emulator,
) -> None:
    account_id, audience_id = ids(socialapi_emulator)
    config = attrs.evolve(socialapi_emulator.config, max_operations=2)
    async with Client(config, socialapi_emulator.credentials) as client:
        target = client.ads.account(account_id).custom_audience(audience_id)
        operations = [Operation.update([AudienceUser(handle=f"ada{number}")]) for number in range(3)]
        with pytest.raises(InvalidInput, match=r"3 operations are more than the 2 of Config\.max_operations"):
            await target.send(operations)
        assert (await target.send(operations[:2])).success_count == 2


@pytest.mark.parametrize("odd", ["a\0b", "\ud800", "", Path("a\0b")])
@pytest.mark.parametrize("option", ["journal", "rejects", "digests", "snapshot"])
async def test_a_file_name_that_no_file_can_have_is_refused_by_the_name_of_the_option(option: str, odd: Any) -> None:
    options: Any = {option: odd}
    async with client_of("http://localhost:1") as client:
        audience, products = client.ads.account("1").custom_audience("2"), client.catalog("3").products
        jobs: dict[str, Any] = {"digests": products.upsert, "snapshot": audience.sync}
        job = jobs.get(option, audience.upload)
        with pytest.raises(InvalidInput, match=f"^{option} must be a path that is not empty and contains neither NUL"):
            await job([], **options)
        for call in (audience.upload, audience.lint, products.upsert):
            with pytest.raises(InvalidInput):
                await call(odd)
