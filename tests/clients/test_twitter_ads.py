"""twitter-ads against the emulator, used as its documentation shows."""

import pytest

from socialapi.emulator import Emulator
from tests.clients.program import Program


@pytest.fixture
def program(emulator: Emulator) -> Program:
    return Program("with_twitter_ads", emulator)


async def test_it_walks_the_accounts(program: Program) -> None:
    found = await program("accounts")
    assert len(found["names"]) == 2
    assert found["names"] == sorted(found["names"])
    assert found["exhausted"] is True
    assert found["one"] in found["names"]
    assert "REACH_FREQUENCY_CAP" in found["features"]


async def test_it_changes_and_deletes_a_line_item(program: Program) -> None:
    found = await program("line_items")
    assert found["changed"] == ["Huts & more", "PAUSED", "EUR"]
    assert found["deleted"] is True
    assert found["again"][:2] == ["NotFound", ["NOT_FOUND"]]


@pytest.mark.parametrize("lenient_fields", [False, True])
@pytest.mark.parametrize(("scenario", "name"), [("saved_line_item", "Huts & more"), ("updated_medium", "Up there")])
async def test_it_saves_what_it_has_read(scenario: str, name: str, lenient_fields: bool) -> None:
    async with Emulator(lenient_fields=lenient_fields) as emulator:
        assert await Program("with_twitter_ads", emulator)(scenario) == name


async def test_it_makes_and_changes_cards(program: Program) -> None:
    assert await program("cards") == {
        "uri": True,
        "read": "More huts",
        "components": ["MEDIA", "DETAILS"],
        "listed": ["More huts"],
        "poll": ["Hut", 60, "TEXT_POLLS"],
    }


async def test_it_keeps_a_media_library(emulator: Emulator, program: Program) -> None:
    found = await program("media_library")
    assert found["added"] == [emulator.seed["uploaded_media_keys"][0], "Summit", "VIDEO"]
    assert found["title"] == "Up there"
    assert (found["listed"], found["unique"], found["deleted"]) == (True, True, True)


async def test_it_shares_an_audience(program: Program) -> None:
    assert await program("permissions") == {"level": "READ_ONLY", "listed": True, "deleted": True}


async def test_it_uploads_to_an_audience(emulator: Emulator, program: Program) -> None:
    found = await program("audience_users")
    assert (found["counts"], found["gone"]) == ([2, 2], [1, 1])
    members = emulator.members(emulator.seed["account_ids"][0], emulator.seed["custom_audience_ids"][0])
    assert ("phone_number", found["digests"][1]) in members
    assert ("email", found["digests"][0]) not in members


async def test_it_reads_what_targets_an_audience(emulator: Emulator, program: Program) -> None:
    campaigns = await program("targeted")
    assert {campaign for campaign, _ in campaigns} <= set(emulator.seed["campaign_ids"])
    assert all(items for _, items in campaigns)


async def test_it_makes_a_test_account_in_the_sandbox(program: Program) -> None:
    assert await program("sandbox") == {"made": True, "deleted": True}


async def test_refusals_become_its_errors(program: Program) -> None:
    found = await program("refusals")
    assert found["nothing there"][:2] == ["NotFound", ["NOT_FOUND"]]
    assert found["wrong token"][:2] == ["NotAuthorized", [89]]
    assert found["invalid"][:2] == ["BadRequest", ["INVALID_PARAMETER", "INVALID_PARAMETER"]]
    assert found["not one's own"][0] == "Forbidden"


async def test_a_limit_tells_when_it_ends() -> None:
    async with Emulator(rate_limits={"GET /12/accounts": (1, 900.0)}) as emulator:
        first, second, _ = await Program("with_twitter_ads", emulator)("limit")
        now = emulator.state.clock.now()
    assert first is None
    assert second[:2] == ["RateLimit", ["TOO_MANY_REQUESTS"]]
    assert now < int(second[2]) <= now + 901
