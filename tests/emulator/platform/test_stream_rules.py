"""Filtered-stream and powerstream rules (platform documentation, sections 4.1, 4.4, 7.1 and 8)."""

from typing import Any

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.platform.rule_matching import fault_of
from tests.emulator.asking import Asker, Reply

PATH = "/2/tweets/search/stream/rules"


async def change(ask: Asker, query: str = "", **body: Any) -> Reply:
    return await ask.bearer("POST", PATH + query, json=body)


async def add(ask: Asker, *values: str, query: str = "") -> Reply:
    return await change(ask, query, add=[{"value": value} for value in values])


async def values(ask: Asker, **query: Any) -> list[str]:
    return [rule["value"] for rule in (await ask.get(PATH, **query)).data]


def summary(reply: Reply) -> dict[str, int]:
    found: dict[str, int] = reply.json["meta"]["summary"]
    return found


async def test_rules_are_listed_by_ids_and_in_pages(ask: Asker) -> None:
    made = (await add(ask, "a", "b", "c", "d", "e")).data
    reply = await ask.get(PATH, ids=f"{made[3]['id']},{made[1]['id']},17,x")
    assert [rule["value"] for rule in reply.data] == ["b", "d"]
    assert [error["value"] for error in reply.json["errors"]] == ["17", "x"]
    first = await ask.get(PATH, max_results=2)
    second = await ask.get(PATH, max_results=2, pagination_token=first.json["meta"]["next_token"])
    third = await ask.get(PATH, max_results=2, pagination_token=second.json["meta"]["next_token"])
    assert [[rule["value"] for rule in page.data] for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert "next_token" not in third.json["meta"]
    back = await ask.get(PATH, max_results=2, pagination_token=third.json["meta"]["previous_token"])
    assert back.data == second.data
    back = await ask.get(PATH, max_results=3, pagination_token=second.json["meta"]["previous_token"])
    assert back.data == first.data


async def test_every_app_has_rules_of_its_own(ask: Asker) -> None:
    await add(ask, "cats")
    other = (await ask.another_app())["bearer_token"]
    assert (await ask.bearer("GET", PATH, token=other)).data == []


async def test_some_rules_are_taken_and_the_others_are_problems(ask: Asker) -> None:
    (first,) = (await add(ask, "cats")).data
    reply = await add(ask, "dogs", "cats", "(birds", "dogs", " ")
    assert reply.status == 201
    assert [rule["value"] for rule in reply.data] == ["dogs"]
    assert reply.slugs == ["duplicate-rules", "invalid-rules", "duplicate-rules", "invalid-rules"]
    duplicates = [error for error in reply.json["errors"] if "id" in error]
    assert [(each["id"], each["value"]) for each in duplicates] == [
        (first["id"], "cats"),
        (reply.data[0]["id"], "dogs"),
    ]
    assert summary(reply) == {"created": 1, "not_created": 4, "valid": 3, "invalid": 2}


async def test_where_nothing_was_changed_there_are_errors_and_no_data(ask: Asker) -> None:
    await add(ask, "cats")
    reply = await add(ask, "cats")
    assert (reply.status, "data" in reply.json, reply.slugs) == (200, False, ["duplicate-rules"])
    assert summary(reply)["created"] == 0
    reply = await change(ask, delete={"ids": ["17", "18", "17"]})
    assert (reply.status, "data" in reply.json, reply.slugs) == (200, False, ["about:blank"] * 2)
    assert summary(reply) == {"deleted": 0, "not_deleted": 2}


async def test_a_dry_run_says_the_same_and_changes_nothing(ask: Asker) -> None:
    reply = await add(ask, "cats", "(dogs", query="?dry_run=true")
    assert (reply.status, reply.slugs, len(reply.data)) == (200, ["invalid-rules"], 1)
    assert summary(reply)["created"] == 1
    assert await values(ask) == []
    (made,) = (await add(ask, "cats", query="?dry_run=false")).data
    reply = await change(ask, "?dry_run=true", delete={"ids": [made["id"]]})
    assert summary(reply) == {"deleted": 1, "not_deleted": 0}
    assert await values(ask) == ["cats"]


async def test_beyond_the_cap_no_rule_is_added(session: aiohttp.ClientSession) -> None:
    async with Emulator(max_rules=2) as emulator:
        ask = Asker(emulator, session)
        reply = await add(ask, "a", "b", "c", "(")
        assert (reply.status, len(reply.data), reply.slugs) == (201, 2, ["rule-cap", "invalid-rules"])
        reply = await add(ask, "d")
        assert (reply.status, reply.slugs) == (200, ["rule-cap"])


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("cats", None),
        ('"black cats" (from:ada OR from:marco) -is:retweet', None),
        ("-(cats dogs) likes_count:10", None),
        ("   ", "empty"),
        ('"cats', "quotation"),
        ('"a" "b', "quotation"),
        ("(cats", "opening"),
        ("cats)", "closing"),
        (")cats(", "closing"),
        ("()", "parentheses"),
        ("cats ()", "parentheses"),
        ("OR cats", "before"),
        ("cats OR", "after"),
        ("cats OR OR dogs", "before"),
        ("(cats OR) dogs", "after"),
    ],
)
def test_a_rule_that_cannot_be_read_is_found(rule: str, fault: str | None) -> None:
    found = fault_of(rule)
    assert found is None if fault is None else fault in str(found)


async def test_the_powerstream_has_rules(ask: Asker) -> None:
    reply = await ask.get("/2/powerstream/rules")
    assert reply.json["meta"] == {"result_count": 2}
    assert all(set(rule) == {"id", "value", "tag"} for rule in reply.data)
