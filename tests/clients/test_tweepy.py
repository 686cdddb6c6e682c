"""tweepy against the emulator, used as its documentation shows."""

from typing import Any

import pytest

from socialapi.emulator import Emulator
from tests.clients.program import Program

CALLBACK = "http://127.0.0.1:7/back"


@pytest.fixture
def program(emulator: Emulator) -> Program:
    return Program("with_tweepy", emulator)


async def test_it_gets_the_app_only_token(emulator: Emulator, program: Program) -> None:
    assert await program("app_token") == emulator.ready["bearer_token"]


async def test_it_looks_posts_up_with_what_they_refer_to(emulator: Emulator, program: Program) -> None:
    found = await program("lookup")
    assert found["ids"] == list(emulator.seed["post_ids"][:40])
    assert found["created"].endswith("+00:00")
    assert set(found["authors"]) <= set(found["users"])
    assert found["media"]
    assert ["17", "resource-not-found"] in found["missing"]


async def test_it_walks_the_pages_of_a_timeline(program: Program) -> None:
    ids = await program("paging")
    assert len(set(ids)) == len(ids) == 70
    assert ids == sorted(ids, key=int, reverse=True)


async def test_it_posts_and_answers(program: Program) -> None:
    made = await program("post")
    assert made["text"] == "Grüße & more 🌊"
    assert made["replies_to"] == [made["made"]]
    assert made["conversation"] == made["made"]


async def test_it_adds_lists_and_deletes_rules(program: Program) -> None:
    found = await program("rules")
    assert found["summary"] == {"created": 2, "not_created": 0, "valid": 2, "invalid": 0}
    assert found["again"] == ["duplicate-rules"]
    assert found["removed"]["deleted"] == 2
    assert found["left"] == []
    assert [value for value, _ in found["listed"]] == ["cats has:images", "dogs"]


async def test_it_reads_the_filtered_stream(emulator: Emulator, program: Program) -> None:
    assert await _snow(emulator, program, "weather") == [
        {"text": "Snow is coming", "tag": "weather", "users": ["northwind"]}
    ]


async def test_it_reads_a_post_that_matches_a_rule_without_a_tag(emulator: Emulator, program: Program) -> None:
    assert await _snow(emulator, program, None) == [{"text": "Snow is coming", "tag": "", "users": ["northwind"]}]


async def _snow(emulator: Emulator, program: Program, tag: str | None) -> Any:
    async def snow() -> None:
        await emulator.publish({"events": [{"post": {"text": "Snow is coming"}}]})

    program.reached = snow
    return await program("stream", tag=tag)


@pytest.mark.parametrize("signs_in", [False, True])
async def test_a_user_signs_in_with_a_pin(program: Program, signs_in: bool) -> None:
    assert await program("three_legged", callback="oob", signs_in=signs_in) == "Signed in"


async def test_a_user_signs_in_with_pkce(program: Program) -> None:
    found = await program("pkce", callback=CALLBACK)
    assert found == {
        "scope": ["offline.access", "tweet.read", "tweet.write", "users.read"],
        "text": "By OAuth 2.0",
        "newer": True,
    }


async def test_refusals_become_its_errors(program: Program) -> None:
    found = await program("refusals")
    assert found["nothing there"][0] == "NotFound"
    assert found["wrong token"][:3] == ["Unauthorized", [89], ["Invalid or expired token."]]
    assert found["invalid"][0] == "BadRequest"
    assert "nonsense" in str(found["invalid"][2]) or "tweet.fields" in str(found["invalid"][2])
    assert found["blank"][0] == "BadRequest"
    assert found["app alone"][0] == "Forbidden"
    assert "acts for a user" in found["app alone"][2][0]


async def test_a_limit_tells_when_it_ends() -> None:
    async with Emulator(rate_limits={"GET /2/tweets": (1, 900.0)}) as emulator:
        first, second, third = await Program("with_tweepy", emulator)("limit")
        now = emulator.state.clock.now()
    assert first is None
    assert second[0] == third[0] == "TooManyRequests"
    assert now < second[3] <= now + 901
