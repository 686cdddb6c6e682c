"""The history of accounts (section 4.2)."""

import itertools

import pytest

from tests.emulator.advertising.asking_ads import Ads, missing
from tests.emulator.asking import Asker, Reply

PATH = "/account_history"
RANGE = {"start_time": "2025-01-06T00:00:00Z", "end_time": "2025-01-11T00:00:00Z"}
CAMPAIGN = {"entity_type": "CAMPAIGN", "entity_id": "8wku2"}


async def history(ads: Ads, **query: str) -> Reply:
    reply = await ads.get(PATH, **{**CAMPAIGN, **RANGE, **query})
    assert reply.status == 200, reply.text
    return reply


async def changes(ads: Ads, **query: str) -> list[str]:
    """The times of all changes."""
    times: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        reply = await history(ads, count="1000", **query, **cursor)
        times += (each["change_time"] for each in reply.data)
        if reply.json["next_cursor"] is None:
            return times
        cursor = {"cursor": reply.json["next_cursor"]}


async def test_one_campaign_was_changed_2500_times_on_five_days(ads: Ads) -> None:
    times = await changes(ads)
    assert times == sorted(times)
    assert [(day, len(list(each))) for day, each in itertools.groupby(times, key=lambda time: time[:10])] == [
        (f"2025-01-{day:02}", 500) for day in range(6, 11)
    ]
    assert len((await history(ads)).data) == 200


async def test_the_start_is_in_the_range_and_the_end_is_not(ads: Ads) -> None:
    times = await changes(ads, start_time="2025-01-06T00:00:00Z", end_time="2025-01-06T01:00:00Z")
    assert (times[0], times[-1], len(times)) == ("2025-01-06T00:00:00Z", "2025-01-06T00:57:20Z", 21)
    times = await changes(ads, start_time="2025-01-06T01:00:00Z", end_time="2025-01-07T00:00:00Z")
    assert (len(times), times[-1]) == (479, "2025-01-06T23:50:28Z")
    times = await changes(ads, start_time="2025-01-07T00:00:00Z", end_time="2025-01-07T01:00:00Z")
    assert times[0] == "2025-01-07T00:00:00Z"


async def test_changes_are_filtered_by_who_made_them(ads: Ads) -> None:
    first, second = ads.ask.emulator.seed["user_ids"][:2]
    assert len(await changes(ads, user_id=first)) == 2_000
    assert len(await changes(ads, user_id=second)) == 500
    assert len(await changes(ads, user_id="0" + second)) == 500
    assert await changes(ads, user_id="1") == []


async def test_an_unknown_entity_is_not_found(ads: Ads) -> None:
    for entity_type, entity_id in (("CAMPAIGN", "nosuch"), ("LINE_ITEM", "8wku2"), ("CAMPAIGN", "8x0a1")):
        reply = await ads.get(PATH, **RANGE, entity_type=entity_type, entity_id=entity_id)
        assert missing(reply) == ["entity_id"]


@pytest.mark.parametrize(
    ("entity_type", "entity_id"),
    [("LINE_ITEM", "8xdpf"), ("PROMOTED_TWEET", "pt000"), ("TARGETING_CRITERIA", "tc0000")],
)
async def test_other_entities_were_made(ads: Ads, entity_type: str, entity_id: str) -> None:
    times = {"start_time": "2024-09-02T08:00:00Z", "end_time": "2024-09-02T09:00:00Z"}
    reply = await history(ads, entity_type=entity_type, entity_id=entity_id, **times)
    assert [(each["entity"], each["change_type"]) for each in reply.data] == [(entity_type, "CREATE")]


async def test_changes_through_the_api_are_written_down(ads: Ads) -> None:
    before = (await ads.put("/line_items/8xdpe")).data
    await ads.put("/line_items/8xdpe", name="Renamed", entity_status="ACTIVE")
    await ads.put("/line_items/8xdpe")
    await ads.delete("/line_items/8xdpe")
    times = {"start_time": "2024-09-01T00:00:00Z", "end_time": "2099-01-01T00:00:00Z"}
    reply = await history(ads, entity_type="LINE_ITEM", entity_id="8xdpe", **times)
    made, renamed, deleted = reply.data
    assert (made["change_type"], made["entity_data"]["name"]) == ("CREATE", before["name"])
    assert (renamed["change_type"], renamed["changes"]) == (
        "UPDATE",
        {"name": {"before": before["name"], "after": "Renamed"}},
    )
    assert (deleted["change_type"], deleted["changes"]) == ("DELETE", {"deleted": {"before": False, "after": True}})
    user = ads.ask.emulator.seed["user_ids"][0]
    assert renamed["change_by"] == {"user_id": user, "platform": "API"}
    assert set(renamed["entity_data"]) == set(before)


async def test_new_changes_come_behind_the_cursor(ads: Ads) -> None:
    times = {"start_time": "2024-09-01T00:00:00Z", "end_time": "2099-01-01T00:00:00Z"}
    await ads.put("/line_items/8xdpe", name="One")
    query = {"entity_type": "LINE_ITEM", "entity_id": "8xdpe", **times}
    first = await history(ads, count="1", **query)
    await ads.put("/line_items/8xdpe", name="Two")
    rest = await history(ads, **query, cursor=first.json["next_cursor"])
    assert [each["changes"]["name"]["after"] for each in rest.data] == ["One", "Two"]


async def test_a_test_account_is_not_on_the_list(ads: Ads, ask: Asker) -> None:
    account = (await ads.send("POST", "/ads-sandbox/12/accounts")).data["id"]
    reply = await Ads(ask, account=account).get(PATH, **CAMPAIGN, **RANGE)
    assert (reply.status, reply.codes) == (403, ["FORBIDDEN"])
