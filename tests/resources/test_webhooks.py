"""Webhook configurations: the states of section 3.1 and the failures of section 7.2, with an owner who answers."""

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.models.webhooks import WEBHOOK_FAILURES
from tests.emulator.platform.receiving import URL, Owner, owner_of_webhook
from tests.support.clients import client_of
from tests.support.server import Server, answer

OTHER = "https://hooks.example.com/other?kind=a"


@pytest.fixture
async def owner(service: Emulator) -> AsyncIterator[Owner]:
    async with owner_of_webhook(service.ready["api_key_secret"]) as owner:
        service.webhook_targets[URL] = service.webhook_targets[OTHER] = owner.address
        yield owner


async def wrong(token: str) -> web.Response:
    return web.json_response({"response_token": "sha256=" + token})


async def validity(client: Client) -> list[bool | None]:
    return [webhook.valid for webhook in await client.webhooks.list().collect()]


async def test_an_invalid_webhook_is_removed_as_well(client: Client, owner: Owner) -> None:
    webhook = await client.webhooks.create(URL)
    owner.respond = wrong
    with pytest.raises(errors.WebhookRejected):
        await client.webhooks.validate(webhook.id)
    assert (await client.webhooks.delete(webhook.id)).deleted is True


async def test_the_five_failures_have_their_reasons(owner: Owner, service: Emulator) -> None:
    seen: dict[str, errors.WebhookRejected] = {}

    async with Client(service.config, service.credentials) as client:
        service.state.platform.max_webhooks = 1
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "CrcValidationFailed": lambda: client.webhooks.create("https://unmapped.example.com/"),
            "UrlValidationFailed": lambda: client.webhooks.create("https://127.0.0.1/hook"),
            "WebhookIdInvalid": lambda: client.webhooks.validate("17"),
        }
        for name, call in calls.items():
            with pytest.raises(errors.WebhookRejected) as refused:
                await call()
            seen[name] = refused.value
        await client.webhooks.create(URL)
        for name, url in (("DuplicateUrlFailed", URL), ("WebhookLimitExceeded", OTHER)):
            with pytest.raises(errors.WebhookRejected) as refused:
                await client.webhooks.create(url)
            seen[name] = refused.value
    assert {name: error.reason for name, error in seen.items()} == {name: name for name in WEBHOOK_FAILURES}
    for name, error in seen.items():
        assert error.status == 400
        assert f": 400: {name}: " in str(error)


async def test_an_answer_that_only_says_invalid_is_taken() -> None:
    async with Server(answer({"data": {"valid": False}})) as server, client_of(server) as client:
        assert (await client.webhooks.validate("17")).valid is False
    assert [(each.method, each.path) for each in server.requests] == [("PUT", "/2/webhooks/17")]


async def test_a_replay_takes_times_and_returns_its_job(client: Client, service: Emulator) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    replay = await client.webhooks.replay(
        webhook_id=17, from_date=datetime.datetime(2026, 6, 1, 1, 30, tzinfo=zone), to_date="2026-06-02T00:00:00Z"
    )
    assert replay.job_id is not None
    assert replay.created_at is not None
    assert (replay.extra["webhook_id"], replay.extra["from_date"]) == ("17", "202605312330")


async def test_the_fields_of_webhooks_can_be_chosen(client: Client, owner: Owner) -> None:
    webhook = await client.webhooks.create(URL)
    (listed,) = await client.webhooks.list(webhook_config_fields="valid").collect()
    assert (listed.id, listed.valid, listed.url, listed.created_at) == (webhook.id, True, None, None)
    with pytest.raises(errors.InvalidInput, match="webhook_config_fields has no name 'vaild': did you mean 'valid'"):
        client.webhooks.list(webhook_config_fields=["vaild"])


# Whatever there is already


def sent(service: Emulator) -> list[str]:
    return [each.method for each in service.requests if each.path.startswith("/2/webhooks")]


async def test_a_webhook_is_made_sure_of_as_often_as_one_likes(client: Client, owner: Owner, service: Emulator) -> None:
    made = await client.webhooks.ensure(URL)
    assert (made.url, made.valid) == (URL, True)
    assert await client.webhooks.ensure(URL) == made
    assert sent(service) == ["GET", "POST", "GET"]
    assert len(owner.challenges) == 1


async def test_an_invalid_webhook_is_challenged_anew(client: Client, owner: Owner, service: Emulator) -> None:
    made = await client.webhooks.create(URL)
    service.state.platform.webhooks[made.id].valid = False
    again = await client.webhooks.ensure(URL)
    assert (again.id, again.valid) == (made.id, True)
    assert await validity(client) == [True]
    owner.respond = wrong
    service.state.platform.webhooks[made.id].valid = False
    with pytest.raises(errors.WebhookRejected) as refused:
        await client.webhooks.ensure(URL)
    assert refused.value.reason == "CrcValidationFailed"


async def test_several_who_make_sure_at_once_all_end_well(client: Client, owner: Owner, service: Emulator) -> None:
    service.state.platform.max_webhooks = 1
    async with Client(service.config, service.credentials) as other:
        found = await asyncio.gather(*(each.webhooks.ensure(URL) for each in (client, other) * 4))
    assert len({webhook.id for webhook in found}) == 1
    assert all(webhook.valid for webhook in found)


@pytest.mark.parametrize("spelling", [URL.replace("https", "HTTPS"), URL.replace("hooks.", "HooKs.")])
async def test_scheme_and_host_may_be_in_any_case(
    client: Client, owner: Owner, service: Emulator, spelling: str
) -> None:
    assert spelling != URL
    made = await client.webhooks.ensure(spelling)
    assert made.url == URL
    assert (await client.webhooks.ensure(spelling)).id == (await client.webhooks.ensure(URL)).id == made.id
    assert (await client.webhooks.ensure(OTHER)).id != made.id


@pytest.mark.parametrize(
    "url", ["http://example.com/", "https://example.com:8443/hook", "", "https://", None, 5, b"https://a.example", []]
)
async def test_no_address_is_taken_that_breaks_the_rule_and_both_ways_say_the_same(
    client: Client, service: Emulator, url: Any
) -> None:
    said = set()
    for call in (client.webhooks.create, client.webhooks.ensure):
        with pytest.raises(errors.WebhookUrlRejected, match="url") as refused:
            await call(url)
        assert isinstance(refused.value, errors.InvalidInput)
        said.add((str(refused.value), refused.value.reason, refused.value.status, refused.value.broken_rules))
    assert len(said) == 1
    assert not service.requests


@pytest.mark.parametrize("fault", ["reset_after", "status"])
async def test_a_lost_answer_to_the_registration_is_looked_after(
    client: Client, owner: Owner, service: Emulator, fault: str
) -> None:
    options = {"status": 500} if fault == "status" else {}
    service.faults.add(fault, method="POST", path="/2/webhooks", times=1, **options)
    if fault == "status":
        with pytest.raises(errors.ServerError):
            await client.webhooks.ensure(URL)
    assert (await client.webhooks.ensure(URL)).valid
    assert await validity(client) == [True]


async def test_other_refusals_are_told(client: Client, owner: Owner, service: Emulator) -> None:
    with pytest.raises(errors.WebhookRejected) as refused:
        await client.webhooks.ensure("https://unmapped.example.com/")
    assert refused.value.reason == "CrcValidationFailed"
    service.state.platform.max_webhooks = 1
    await client.webhooks.ensure(URL)
    with pytest.raises(errors.WebhookRejected) as refused:
        await client.webhooks.ensure(OTHER)
    assert refused.value.reason == "WebhookLimitExceeded"


async def test_an_answer_that_only_says_that_it_stays_invalid_is_a_refusal() -> None:
    listed = answer({"data": [{"id": "1", "url": URL, "valid": False}], "meta": {"result_count": 1}})
    async with Server(listed, then=answer({"data": {"valid": False}})) as server, client_of(server) as client:
        with pytest.raises(errors.WebhookRejected, match="webhook 1 stays invalid") as refused:
            await client.webhooks.ensure(URL)
    assert refused.value.reason == "CrcValidationFailed"


async def test_of_several_webhooks_a_valid_one_is_taken() -> None:
    listed = [{"id": str(number), "url": URL, "valid": number == 2} for number in range(4)]
    async with Server(then=answer({"data": listed, "meta": {}})) as server, client_of(server) as client:
        assert (await client.webhooks.ensure(URL)).id == "2"
    assert len(server.requests) == 1


def webhook(*, valid: bool | None) -> dict[str, Any]:
    return {"id": "1", "url": URL} | ({} if valid is None else {"valid": valid})


def listed(*webhooks: dict[str, Any]) -> bytes:
    return answer({"data": list(webhooks), "meta": {"result_count": len(webhooks)}})


async def test_a_registration_whose_answer_cannot_be_read_is_looked_after() -> None:
    unreadable = answer({"data": {"id": {}, "url": URL}})
    async with Server(listed(), unreadable, listed(webhook(valid=True))) as server, client_of(server) as client:
        assert (await client.webhooks.ensure(URL)).id == "1"
    async with Server(listed(), unreadable, then=listed()) as server, client_of(server) as client:
        with pytest.raises(errors.DecodeError) as unread:
            await client.webhooks.ensure(URL)
    assert unread.value.executed
    assert [each.method for each in server.requests] == ["GET", "POST", "GET"]


@pytest.mark.parametrize("validated", [{"data": {}}, {"data": {"valid": "perhaps"}}])
@pytest.mark.parametrize("valid", [True, False, None])
async def test_where_the_challenge_says_nothing_the_list_does(validated: Any, valid: bool | None) -> None:
    replies = [listed(webhook(valid=False)), answer(validated), listed(webhook(valid=valid))]
    async with Server(*replies) as server, client_of(server) as client:
        if valid:
            assert (await client.webhooks.ensure(URL)).valid
        else:
            with pytest.raises(errors.WebhookRejected, match="webhook 1 stays invalid") as refused:
                await client.webhooks.ensure(URL)
            assert refused.value.reason == "CrcValidationFailed"


@pytest.mark.parametrize("valid", [False, None])
async def test_a_new_webhook_that_is_not_said_to_be_valid_is_challenged(valid: bool | None) -> None:
    replies = [listed(), answer({"data": webhook(valid=valid)}), answer({"data": {"valid": True}}), listed()]
    async with Server(*replies) as server, client_of(server) as client:
        made = await client.webhooks.ensure(URL)
    assert (made.id, made.valid) == ("1", True)
    assert [each.method for each in server.requests] == ["GET", "POST", "PUT", "GET"]
