"""Bringing the rules of the filtered stream to those that are wanted, as often as one likes."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.internal.unset import UNSET
from socialapi.models.pages import Page
from socialapi.models.undecoded import Undecoded
from socialapi.problems import DuplicateRules, InvalidRules, RuleCap
from socialapi.resources import streams
from socialapi.resources.streams import FilteredStream
from socialapi.session.pager import Pager
from socialapi.types import RuleDraft
from tests.support.clients import client_of
from tests.support.server import Server, answer

RULES = "/2/tweets/search/stream/rules"
Pairs = set[tuple[str, str | None]]
Wanted = list[str | RuleDraft]


def pairs(rules: Iterable[Any]) -> Pairs:
    return {(rule.value, rule.tag) for rule in rules}


async def held(client: Client) -> Pairs:
    return pairs(await client.filtered_stream.rules().collect())


def changes(service: Emulator) -> int:
    return sum(request.method == "POST" and request.path.startswith(RULES) for request in service.requests)


async def test_what_is_missing_is_added_and_all_rules_come_back(client: Client) -> None:
    await client.filtered_stream.add_rules(RuleDraft("birds", tag="b"))
    rules = await client.filtered_stream.ensure_rules(["cats", RuleDraft("dogs", tag="d")])
    assert pairs(rules) == {("birds", "b"), ("cats", None), ("dogs", "d")}
    assert all(rule.id for rule in rules)
    assert await held(client) == pairs(rules)


@pytest.mark.parametrize("same", [RuleDraft("cats"), RuleDraft("cats", tag=""), RuleDraft("cats", tag=UNSET), "cats"])
async def test_no_tag_is_an_empty_one(client: Client, service: Emulator, same: RuleDraft | str) -> None:
    await client.filtered_stream.add_rules("cats")
    rules = await client.filtered_stream.ensure_rules([same, "cats"], remove_others=True)
    assert pairs(rules) == {("cats", None)}
    assert changes(service) == 1


async def test_others_are_removed_only_where_that_is_asked_for(client: Client) -> None:
    await client.filtered_stream.add_rules("old", "older")
    assert pairs(await client.filtered_stream.ensure_rules("new")) == {("old", None), ("older", None), ("new", None)}
    assert pairs(await client.filtered_stream.ensure_rules("new", remove_others=True)) == {("new", None)}
    assert await client.filtered_stream.ensure_rules([], remove_others=True) == ()
    assert await client.filtered_stream.ensure_rules([]) == ()


async def test_additions_come_before_removals(client: Client, service: Emulator) -> None:
    await client.filtered_stream.add_rules("old")
    service.faults.add("status", method="POST", path=RULES, status=403, times=1)
    with pytest.raises(errors.Forbidden):
        await client.filtered_stream.ensure_rules("new", remove_others=True)
    assert await held(client) == {("old", None)}


async def test_a_rule_gets_another_tag_where_others_may_be_removed(client: Client) -> None:
    await client.filtered_stream.add_rules(RuleDraft("cats", tag="old"), "dogs")
    wanted: Wanted = [RuleDraft("cats", tag="new"), "birds"]
    with pytest.raises(errors.ApiError) as refused:
        await client.filtered_stream.ensure_rules(wanted)
    assert [type(each) for each in refused.value.problems] == [DuplicateRules]
    (there,) = [rule for rule in await client.filtered_stream.rules().collect() if rule.value == "cats"]
    how = "request it with the tag 'old', or replace it with remove_others=True"
    assert str(refused.value).endswith(f"; rule {there.id} is the same rule with the tag 'old': {how}")
    assert await held(client) == {("cats", "old"), ("dogs", None), ("birds", None)}
    rules = await client.filtered_stream.ensure_rules(wanted, remove_others=True)
    assert pairs(rules) == await held(client) == {("cats", "new"), ("birds", None)}


async def test_a_rule_that_is_stored_without_its_tag_is_not_replaced_again_and_again() -> None:
    none, stored = answer({"meta": {}}), answer({"data": [{"id": "5", "value": "cats"}], "meta": {}})
    async with Server(none, stored, then=stored) as server:
        with pytest.raises(errors.ApiError, match=r"rule 5 is the same rule with no tag: request it with no tag$"):
            await client_of(server).filtered_stream.ensure_rules(RuleDraft("cats", tag="a"), remove_others=True)
    assert [request.method for request in server.requests] == ["GET", "POST", "GET"]


async def test_a_rule_that_is_refused_is_told_and_others_are_kept(client: Client) -> None:
    await client.filtered_stream.add_rules("old")
    for remove_others in (False, True):
        with pytest.raises(errors.ApiError, match="the service refused: ") as refused:
            await client.filtered_stream.ensure_rules(["good", "(bad"], remove_others=remove_others)
        assert InvalidRules in [type(each) for each in refused.value.problems]
    assert await held(client) == {("old", None), ("good", None)}


async def test_the_cap_is_told_where_no_room_can_be_made(client: Client, service: Emulator) -> None:
    service.state.platform.max_rules = 2
    await client.filtered_stream.add_rules("old", "older")
    with pytest.raises(errors.ApiError, match="which is the maximum") as refused:
        await client.filtered_stream.ensure_rules("new")
    assert [type(each) for each in refused.value.problems] == [RuleCap]
    assert await held(client) == {("old", None), ("older", None)}
    rules = await client.filtered_stream.ensure_rules(["new", "newer"], remove_others=True)
    assert pairs(rules) == {("new", None), ("newer", None)}
    with pytest.raises(errors.ApiError, match="which is the maximum"):
        await client.filtered_stream.ensure_rules(["new", "newer", "newest"], remove_others=True)


async def test_many_rules_go_in_requests_of_a_bounded_size(
    client: Client, service: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_AT_ONCE", 4)
    wanted = [f"rule{number}" for number in range(10)]
    assert len(await client.filtered_stream.ensure_rules(wanted)) == 10
    assert changes(service) == 3
    assert len(await client.filtered_stream.ensure_rules(wanted[:1], remove_others=True)) == 1
    assert changes(service) == 6


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (None, "wanted must be rules"),
        (5, "wanted must be rules"),
        (b"cats", "wanted must be rules"),
        ({"cats": "c"}, r"add\[0\]\.value: is required"),
        ([{"value": "cats", "colour": "c"}], r"add\[0\]\.colour: is not a field of this object"),
        ([{"value": "cats", "tag": 5}], r"add\[0\]\.tag: must be a string"),
        ([5], r"wanted\[0\] must be a string or a RuleDraft, not int"),
        (["cats", None], r"wanted\[1\] must be a string or a RuleDraft, not NoneType"),
        ([""], r"add\[0\]\.value"),
        (["x" * 2_049], "must have at most 2,048"),
        ([RuleDraft(5)], r"add\[0\]\.value"),  # type: ignore[arg-type]  # what is wrong with it
        ([RuleDraft("cats", tag=["a"])], r"add\[0\]\.tag"),  # type: ignore[arg-type]  # what is wrong with it
    ],
)
async def test_what_is_no_rule_is_refused_before_anything_is_sent(
    client: Client, service: Emulator, wanted: Any, says: str
) -> None:
    with pytest.raises(errors.InvalidInput, match=says):
        await client.filtered_stream.ensure_rules(wanted)
    assert not service.requests


async def test_several_who_start_at_once_all_end_well(client: Client, service: Emulator) -> None:
    wanted: Wanted = ["cats", RuleDraft("dogs", tag="d")]
    async with Client(service.config, service.credentials) as other:
        found = await asyncio.gather(
            *(each.filtered_stream.ensure_rules(wanted, remove_others=True) for each in (client, other) * 5)
        )
    assert {frozenset(pairs(rules)) for rules in found} == {frozenset({("cats", None), ("dogs", "d")})}


@pytest.mark.parametrize("fault", ["reset_after", "reset_before"])
async def test_a_lost_answer_is_looked_after(client: Client, service: Emulator, fault: str) -> None:
    await client.filtered_stream.add_rules("old")
    service.faults.add(fault, method="POST", path=RULES, times=2)
    rules = await client.filtered_stream.ensure_rules("new", remove_others=True)
    assert pairs(rules) == {("new", None)}


async def test_answers_that_are_lost_again_and_again_are_told(client: Client, service: Emulator) -> None:
    service.faults.add("status", method="POST", path=RULES, status=500, times=100)
    with pytest.raises(errors.ServerError):
        await client.filtered_stream.ensure_rules("new")


async def test_where_a_rule_cannot_be_read_nothing_is_removed(
    client: Client, service: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.filtered_stream.add_rules("old")
    rules = FilteredStream.rules

    class Unreadable:
        """The pages with an item that could not be read."""

        def __init__(self, pager: Pager[Any]) -> None:
            self._pager = pager

        async def pages(self) -> Any:
            async for page in self._pager.pages():
                yield PageWith(page)

    class PageWith:
        def __init__(self, page: Page[Any]) -> None:
            self.data = page.data
            self.undecoded = (Undecoded({"id": "5"}, path="data[1].value", reason="is missing"),)

    monkeypatch.setattr(FilteredStream, "rules", lambda self: Unreadable(rules(self)))
    with pytest.raises(errors.DecodeError, match=r"data\[1\]\.value: is missing, so the rule cannot be deleted"):
        await client.filtered_stream.ensure_rules("new", remove_others=True)
    assert changes(service) == 1
    assert pairs(await client.filtered_stream.ensure_rules("new")) == {("old", None), ("new", None)}


async def test_where_a_rule_has_no_id_to_delete_it_by_nothing_is_added_either() -> None:
    listed = answer({"data": [{"id": "1", "value": "new"}, {"value": "old"}], "meta": {}})
    async with Server(then=listed) as server, client_of(server) as client:
        with pytest.raises(errors.DecodeError, match=r"data\.id: is missing, so the rule cannot be deleted"):
            await client.filtered_stream.ensure_rules(["new", "newer"], remove_others=True)
        assert [each.method for each in server.requests] == ["GET"]
        assert len(await client.filtered_stream.ensure_rules(["new", "old"], remove_others=True)) == 2


async def test_rules_that_change_all_the_time_are_not_changed_for_ever() -> None:
    taken = answer({"data": [{"id": "2", "value": "new"}], "meta": {}}, status=201)
    script = [step for _ in range(streams.MAX_ROUNDS) for step in (answer({"data": [], "meta": {}}), taken)]
    async with Server(*script) as server, client_of(server) as client:
        with pytest.raises(errors.ApiError, match="another process kept changing the rules"):
            await client.filtered_stream.ensure_rules("new")
    assert len(server.requests) == 2 * streams.MAX_ROUNDS


VALUES = st.sampled_from(["a", "b", "c", "d"])
RULE_SETS = st.lists(st.tuples(VALUES, st.sampled_from([None, "x", "y"])), max_size=5, unique_by=lambda rule: rule[0])


@settings(max_examples=25, deadline=None)
@given(RULE_SETS, RULE_SETS, st.booleans())
def test_afterwards_the_rules_are_those_that_are_wanted(
    before: list[tuple[str, str | None]], wanted: list[tuple[str, str | None]], remove_others: bool
) -> None:
    def drafts(rules: list[tuple[str, str | None]]) -> list[RuleDraft]:
        return [RuleDraft(value, tag=tag or UNSET) for value, tag in rules]

    async def run() -> None:
        async with Emulator() as emulator, Client(emulator.config, emulator.credentials) as client:
            if before:
                await client.filtered_stream.add_rules(drafts(before))
            tags = dict(before)
            is_in_the_way = any(value in tags and tags[value] != tag for value, tag in wanted)
            if is_in_the_way and not remove_others:
                with pytest.raises(errors.ApiError):
                    await client.filtered_stream.ensure_rules(drafts(wanted))
                return
            rules = await client.filtered_stream.ensure_rules(drafts(wanted), remove_others=remove_others)
            assert pairs(rules) == await held(client) == set(wanted) | (set() if remove_others else set(before))

    asyncio.run(run())
