"""Rules of the filtered stream, and its link to a webhook."""

from collections.abc import AsyncIterator

import pytest

from socialapi import Client, Fields, errors
from socialapi.emulator import Emulator
from socialapi.problems import Problem, RuleCap
from socialapi.types import RuleDraft
from tests.emulator.platform.receiving import URL, owner_of_webhook
from tests.support.clients import client_of
from tests.support.server import Server, answer


@pytest.fixture
async def webhook_id(client: Client, service: Emulator) -> AsyncIterator[str]:
    async with owner_of_webhook(service.ready["api_key_secret"]) as owner:
        service.webhook_targets[URL] = owner.address
        yield (await client.webhooks.create(URL)).id


async def values(client: Client) -> list[str]:
    return [rule.value for rule in await client.filtered_stream.rules().collect()]


async def test_rules_are_added_listed_and_deleted(client: Client) -> None:
    page = await client.filtered_stream.add_rules("cats has:images", RuleDraft("dogs", tag="dogs"))
    assert [(rule.value, rule.tag) for rule in page.data] == [("cats has:images", None), ("dogs", "dogs")]
    assert page.meta["summary"] == {"created": 2, "not_created": 0, "valid": 2, "invalid": 0}
    assert await client.filtered_stream.rules().collect() == list(page.data)
    cats, dogs = (rule.id or "" for rule in page.data)
    only = await client.filtered_stream.rules(ids=[dogs])
    assert [rule.value for rule in only.data] == ["dogs"]
    # One id is no sequence of digits.
    assert [rule.value for rule in await client.filtered_stream.rules(ids=cats)
            .collect()] == ["cats has:images"]  # fmt: skip
    gone = await client.filtered_stream.delete_rules(cats)
    assert gone.meta["summary"] == {"deleted": 1, "not_deleted": 0}
    assert await values(client) == ["dogs"]


async def test_rules_are_deleted_by_their_values(client: Client, service: Emulator) -> None:
    page = await client.filtered_stream.add_rules("cats", "dogs", "birds", "fish")
    by_value = await client.filtered_stream.delete_rules(values=["cats", "dogs"])
    assert by_value.meta["summary"] == {"deleted": 2, "not_deleted": 0}
    both = await client.filtered_stream.delete_rules(page.data[2].id or "", values="fish")
    assert both.meta["summary"] == {"deleted": 2, "not_deleted": 0}
    with pytest.raises(errors.NotFound) as unknown:
        await client.filtered_stream.delete_rules(values="fish")
    assert unknown.value.problems[0].extra["parameter"] == "values"
    assert await values(client) == []


async def test_rules_and_ids_can_be_given_as_sequences(client: Client) -> None:
    page = await client.filtered_stream.add_rules(["cats", RuleDraft("dogs")])
    ids = [rule.id or "" for rule in page.data]
    assert (await client.filtered_stream.delete_rules(ids)).meta["summary"]["deleted"] == 2


async def test_a_link_carries_all_six_parameters(client: Client, service: Emulator, webhook_id: str) -> None:
    await client.filtered_stream.add_rules("cats")
    fields = Fields(
        post=["created_at", "author_id"],
        expansions=["author_id", "attachments.media_keys"],
        media=["variants"],
        poll=["options"],
        user=["verified"],
        place=["country"],
    )
    link = await client.filtered_stream.link(webhook_id, fields=fields)
    assert (link.provisioned, link.errors) == (True, ())
    assert service.state.platform.links[webhook_id] == fields.parameters()
    assert set(fields.parameters()) == {
        *("tweet.fields", "expansions", "media.fields", "poll.fields", "user.fields", "place.fields")
    }
    await client.filtered_stream.link(webhook_id)
    assert service.state.platform.links[webhook_id] == {}


async def test_problems_beside_a_link_are_kept() -> None:
    problem = {"type": "https://x/problems/rule-cap", "title": "Cap"}
    coded = {"code": 17, "message": "odd"}
    script = [
        answer({"data": {"provisioned": True}, "errors": [problem]}),
        answer({"provisioned": False}),
        answer({"code": 17, "message": "no"}, status=400),
        answer({"data": {}, "errors": [coded]}),
    ]
    async with Server(*script) as server, client_of(server) as client:
        link = await client.filtered_stream.link("1")
        assert link.errors == (RuleCap(type="https://x/problems/rule-cap", title="Cap"),)
        assert all(isinstance(each, Problem) for each in link.errors)
        assert (await client.filtered_stream.link("1")).provisioned is False
        with pytest.raises(errors.ApiError) as refused:
            await client.filtered_stream.link("1")
        assert refused.value.codes == (17,)
        with pytest.raises(errors.ApiError, match="17: odd"):  # an error in the place of the link
            await client.filtered_stream.link("1")
