"""Rules of the filtered stream, and its link to a webhook."""

from collections.abc import AsyncIterator

import pytest

from socialapi import Client, Fields, errors
from socialapi.emulator import Emulator
from socialapi.models.streams import summary_of
from socialapi.problems import ClientForbidden, DuplicateRules, InvalidRequest, InvalidRules, Problem, RuleCap
from socialapi.types import RuleDraft
from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import URL, owner_of_webhook
from tests.support.clients import client_of
from tests.support.server import Server, answer

RULES = "/2/tweets/search/stream/rules"


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
    assert summary_of(page.meta) == {"created": 2, "not_created": 0, "valid": 2, "invalid": 0}
    assert await client.filtered_stream.rules().collect() == list(page.data)
    cats, dogs = (rule.id or "" for rule in page.data)
    only = await client.filtered_stream.rules(ids=[dogs])
    assert [rule.value for rule in only.data] == ["dogs"]
    # One id is no sequence of digits.
    assert [rule.value for rule in await client.filtered_stream.rules(ids=cats)
            .collect()] == ["cats has:images"]  # fmt: skip
    gone = await client.filtered_stream.delete_rules(cats)
    assert summary_of(gone.meta) == {"deleted": 1, "not_deleted": 0}
    assert await values(client) == ["dogs"]


async def test_rules_are_deleted_by_their_values(client: Client, service: Emulator) -> None:
    page = await client.filtered_stream.add_rules("cats", "dogs", "birds", "fish")
    by_value = await client.filtered_stream.delete_rules(values=["cats", "dogs"])
    assert summary_of(by_value.meta) == {"deleted": 2, "not_deleted": 0}
    both = await client.filtered_stream.delete_rules(page.data[2].id or "", values="fish")
    assert summary_of(both.meta) == {"deleted": 2, "not_deleted": 0}
    with pytest.raises(errors.NotFound) as unknown:
        await client.filtered_stream.delete_rules(values="fish")
    assert unknown.value.problems[0].extra["parameter"] == "values"
    assert await values(client) == []


async def test_rules_and_ids_can_be_given_as_sequences(client: Client) -> None:
    page = await client.filtered_stream.add_rules(["cats", RuleDraft("dogs")])
    ids = [rule.id or "" for rule in page.data]
    assert summary_of((await client.filtered_stream.delete_rules(ids)).meta)["deleted"] == 2


async def test_a_dry_run_changes_nothing(client: Client) -> None:
    page = await client.filtered_stream.add_rules("cats", dry_run=True)
    assert summary_of(page.meta)["created"] == 1
    assert await values(client) == []
    (rule,) = (await client.filtered_stream.add_rules("cats")).data
    assert rule.id is not None
    assert summary_of((await client.filtered_stream.delete_rules(rule.id, dry_run=True)).meta)["deleted"] == 1
    assert await values(client) == ["cats"]


async def test_rules_that_are_refused_stand_beside_those_that_are_taken(client: Client) -> None:
    (first,) = (await client.filtered_stream.add_rules("cats")).data
    page = await client.filtered_stream.add_rules("cats", "(dogs", "birds")
    assert [rule.value for rule in page.data] == ["birds"]
    duplicate, invalid = page.errors
    assert isinstance(duplicate, DuplicateRules)
    assert (duplicate.id, duplicate.value) == (first.id, "cats")
    assert isinstance(invalid, InvalidRules)
    assert summary_of(page.meta) == {"created": 1, "not_created": 2, "valid": 2, "invalid": 1}


async def test_a_change_that_does_nothing_raises_with_its_problems(client: Client) -> None:
    await client.filtered_stream.add_rules("cats")
    with pytest.raises(errors.ApiError) as refused:
        await client.filtered_stream.add_rules("cats", '"unfinished')
    assert [type(each) for each in refused.value.problems] == [DuplicateRules, InvalidRules]
    with pytest.raises(errors.ApiError) as refused:
        await client.filtered_stream.delete_rules("17")
    (unknown,) = refused.value.problems
    assert (type(unknown), unknown.says_not_found) == (Problem, True)
    assert (unknown.extra["parameter"], unknown.extra["value"]) == ("ids", "17")


async def test_there_is_a_cap(service: Emulator, client: Client) -> None:
    service.state.platform.max_rules = 2
    page = await client.filtered_stream.add_rules("a", "b", "c")
    assert [rule.value for rule in page.data] == ["a", "b"]
    assert [type(each) for each in page.errors] == [RuleCap]
    with pytest.raises(errors.ApiError, match="as many as it may") as refused:
        await client.filtered_stream.add_rules("d")
    assert [type(each) for each in refused.value.problems] == [RuleCap]


async def test_a_rule_of_2048_characters_is_taken_and_a_longer_one_is_not_even_sent(client: Client, raw: Asker) -> None:
    longest = "x" * 2_048
    assert (await client.filtered_stream.add_rules(longest)).data[0].value == longest
    before = len(raw.emulator.requests)
    with pytest.raises(errors.InvalidInput, match=r"add\[1\]\.value: must have at most 2,048") as refused:
        await client.filtered_stream.add_rules("good", longest + "y")
    assert [rule.path for rule in refused.value.broken_rules] == ["add[1].value"]
    assert len(raw.emulator.requests) == before
    reply = await raw.bearer("POST", RULES, json={"add": [{"value": "good"}, {"value": longest + "y"}]})
    assert reply.at_fault == ["add[1].value"]
    with pytest.raises(errors.ApiError) as told:
        await client.request("POST", RULES, json={"add": [{"value": longest + "y"}]})
    assert [type(each) for each in told.value.problems] == [InvalidRequest]


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
    assert service.state.platform.links[webhook_id].parameters == fields.parameters()
    assert set(fields.parameters()) == {
        *("tweet.fields", "expansions", "media.fields", "poll.fields", "user.fields", "place.fields")
    }
    await client.filtered_stream.link(webhook_id)
    assert service.state.platform.links[webhook_id].parameters == {}


async def test_a_link_needs_a_valid_webhook_of_ones_own(client: Client, service: Emulator, webhook_id: str) -> None:
    with pytest.raises(errors.NotFound):
        await client.filtered_stream.link("17")
    service.state.platform.webhooks[webhook_id].valid = False
    with pytest.raises(errors.ApiError, match="a webhook that is not valid") as refused:
        await client.filtered_stream.link(webhook_id)
    assert [type(each) for each in refused.value.problems] == [InvalidRequest]


async def test_a_fault_of_a_link_has_errors_beside_provisioned(
    client: Client, service: Emulator, webhook_id: str
) -> None:
    service.faults.add("link_error", problem="rule-cap")
    link = await client.filtered_stream.link(webhook_id)
    assert (link.provisioned, [type(each) for each in link.errors]) == (False, [RuleCap])
    assert (await client.filtered_stream.link(webhook_id)).provisioned


async def test_a_link_without_enterprise_access_is_forbidden(
    client: Client, service: Emulator, raw: Asker, webhook_id: str
) -> None:
    await raw.control("POST", f"apps/{service.ready['api_key']}", {"stream_webhooks": False})
    with pytest.raises(errors.Forbidden, match="enterprise access") as refused:
        await client.filtered_stream.link(webhook_id)
    (problem,) = refused.value.problems
    assert isinstance(problem, ClientForbidden)
    assert problem.reason == "client-not-enrolled"


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


async def test_powerstream_rules_are_read(client: Client) -> None:
    rules = await client.powerstream.rules(max_results=1).collect()
    assert [(rule.value, rule.tag) for rule in rules] == [
        ("from:northwind has:media", "northwind"),
        ("#OutThere -is:retweet", "campaign"),
    ]
