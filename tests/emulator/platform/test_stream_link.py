"""The link from the filtered stream to a webhook (platform documentation, sections 2.2 and 4.1), and webhook targets."""

import pytest

from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import URL, Owner, create_webhook, validity

SIX = {
    "tweet.fields": "author_id,created_at",
    "expansions": "author_id,attachments.media_keys",
    "media.fields": "type",
    "poll.fields": "options",
    "user.fields": "name",
    "place.fields": "country",
}


async def test_the_stream_is_linked_to_a_valid_webhook_with_its_fields(ask: Asker, owner: Owner) -> None:
    webhook_id = (await create_webhook(ask)).data["id"]
    path = f"/2/tweets/search/webhooks/{webhook_id}"
    for query in (SIX, {}):
        reply = await ask.bearer("POST", path, params=query)
        assert (reply.status, reply.json) == (200, {"data": {"provisioned": True}})
        parameters = ask.emulator.state.platform.links[webhook_id]
        assert parameters == {name: tuple(text.split(",")) for name, text in query.items()}
    await ask.bearer("DELETE", f"/2/webhooks/{webhook_id}")
    assert not ask.emulator.state.platform.links


async def test_only_a_known_and_valid_webhook_can_be_linked(ask: Asker, owner: Owner) -> None:
    reply = await ask.bearer("POST", "/2/tweets/search/webhooks/17")
    assert (reply.status, reply.slug, reply.json["parameter"]) == (404, "about:blank", "webhook_id")
    webhook_id = (await create_webhook(ask)).data["id"]
    owner.secret = "another"
    await ask.control("POST", "clock", {"advance": 3_600})
    reply = await ask.bearer("POST", f"/2/tweets/search/webhooks/{webhook_id}")
    assert reply.at_fault == ["webhook_id"]
    assert not ask.emulator.state.platform.links


async def test_a_link_takes_enterprise_access(ask: Asker) -> None:
    """Section 8. An app has it by its tier, or by the setting `stream_webhooks`; the first one has the setting."""
    path = "/2/tweets/search/webhooks/17"
    app = await ask.another_app()
    reply = await ask.bearer("POST", path, token=app["bearer_token"])
    assert (reply.status, reply.slug, reply.json["reason"]) == (403, "client-forbidden", "client-not-enrolled")
    settings: tuple[dict[str, object], ...] = ({"tier": "enterprise"}, {"tier": "self-serve", "stream_webhooks": True})
    for setting in settings:
        await ask.control("POST", f"apps/{app['api_key']}", setting)
        assert (await ask.bearer("POST", path, token=app["bearer_token"])).status == 404, "as far as the webhook"
    await ask.control("POST", f"apps/{ask.emulator.ready['api_key']}", {"stream_webhooks": False})
    assert (await ask.bearer("POST", path)).slug == "client-forbidden"


async def test_a_fault_has_errors_beside_provisioned(ask: Asker, owner: Owner) -> None:
    path = f"/2/tweets/search/webhooks/{(await create_webhook(ask)).data['id']}"
    ask.emulator.faults.add("link_error", problem="rule-cap")
    assert (await ask.bearer("GET", "/2/webhooks")).status == 200, "it is for links alone"
    reply = await ask.bearer("POST", path)
    assert (reply.status, reply.data, reply.slugs) == (200, {"provisioned": False}, ["rule-cap"])
    assert not ask.emulator.state.platform.links
    assert (await ask.bearer("POST", path)).json == {"data": {"provisioned": True}}


# Targets -----------------------------------------------------------------------------------------------------------


async def test_targets_are_mapped_over_http_taken_back_and_forgotten_by_a_reset(ask: Asker, owner: Owner) -> None:
    url = URL + "/other"
    reply = await ask.control("POST", "webhook-targets", {"url": url, "target": owner.address})
    assert (reply.status, reply.json) == (200, {URL: owner.address, url: owner.address})
    assert (await create_webhook(ask, url)).status == 200
    reply = await ask.control("POST", "webhook-targets", {"url": url, "target": None})
    assert reply.json == {URL: owner.address}
    await ask.control("POST", "reset")
    assert (dict(ask.emulator.webhook_targets), await validity(ask)) == ({}, [])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": URL},
        {"url": "http://x.example/", "target": "http://127.0.0.1/"},
        {"url": URL, "target": "127.0.0.1"},
        {"url": URL, "target": 5},
    ],
)
async def test_a_mapping_that_makes_no_sense_is_refused(ask: Asker, body: dict[str, object]) -> None:
    assert (await ask.control("POST", "webhook-targets", body)).status == 400
