"""Line items: what is changed, and how broken rules are told (section 4.4)."""

from typing import Any

import pytest

from socialapi.emulator.clock import timestamp
from tests.emulator.advertising.asking_ads import Ads, broken, missing

WEBSITE, REACH, FOLLOWERS, PREROLL = "8xdpe", "8xdpf", "8xdpg", "8xdpj"


async def test_a_change_is_kept_and_moves_updated_at(ads: Ads) -> None:
    before = (await ads.put(f"/line_items/{WEBSITE}")).data
    ads.ask.emulator.advance(5)
    reply = await ads.put(
        f"/line_items/{WEBSITE}",
        name="Renamed",
        entity_status="PAUSED",
        start_time="2026-03-01T01:00:00+00:00",
        end_time="2026-04-01T00:00:00Z",
        daily_budget_amount_local_micro=5_500_000,
        audience_expansion="BROAD",
    )
    now = timestamp(ads.ask.emulator.state.clock.now())
    assert reply.data == before | {
        "name": "Renamed",
        "entity_status": "PAUSED",
        "start_time": "2026-03-01T01:00:00Z",
        "end_time": "2026-04-01T00:00:00Z",
        "daily_budget_amount_local_micro": 5_500_000,
        "updated_at": now,
    }
    assert (await ads.put(f"/line_items/{WEBSITE}")).data == reply.data


async def test_null_clears(ads: Ads) -> None:
    reply = await ads.put(
        f"/line_items/{REACH}", frequency_cap="", duration_in_days="", daily_budget_amount_local_micro=""
    )
    assert (reply.status, reply.data["frequency_cap"], reply.data["duration_in_days"]) == (200, None, None)
    assert reply.data["daily_budget_amount_local_micro"] is None


async def test_a_list_that_is_cleared_is_empty(ads: Ads) -> None:
    await ads.put(f"/line_items/{WEBSITE}", categories="IAB1")
    assert (await ads.put(f"/line_items/{WEBSITE}", categories="")).data["categories"] == []


BID, DAILY = "bid_amount_local_micro", "daily_budget_amount_local_micro"
WRONG, MISSING = "INVALID_PARAMETER", "MISSING_PARAMETER"


@pytest.mark.parametrize(
    ("line_item_id", "changes", "errors"),
    [
        (PREROLL, {"categories": ""}, [(WRONG, "categories")]),
        (PREROLL, {"categories": "IAB17,IAB18,IAB20"}, [(WRONG, "categories")]),
        (PREROLL, {"categories": "IAB17,SPORTS"}, [(WRONG, "categories")]),
        (WEBSITE, {"objectives": "REACH", "objective": "REACH"}, [(WRONG, "objectives")]),
        (
            FOLLOWERS,
            {"bid_strategy": "MAX", "frequency_cap": 1, DAILY: 2, "total_budget_amount_local_micro": 1},
            [(WRONG, DAILY), (MISSING, BID), (WRONG, "bid_strategy"), (WRONG, "frequency_cap")],
        ),
    ],
)
async def test_what_the_rules_forbid_is_listed_and_not_done(
    ads: Ads, line_item_id: str, changes: dict[str, Any], errors: list[tuple[str, str]]
) -> None:
    before = (await ads.put(f"/line_items/{line_item_id}")).data
    assert broken(await ads.put(f"/line_items/{line_item_id}", **changes)) == errors
    assert (await ads.put(f"/line_items/{line_item_id}")).data == before


async def test_a_bid_sent_with_auto_is_ignored(ads: Ads) -> None:
    reply = await ads.put(f"/line_items/{FOLLOWERS}", bid_amount_local_micro=5)
    assert (reply.status, reply.data["bid_amount_local_micro"]) == (200, None)
    reply = await ads.put(f"/line_items/{WEBSITE}", bid_strategy="AUTO", bid_amount_local_micro=5)
    assert (reply.data["bid_strategy"], reply.data["bid_amount_local_micro"]) == ("AUTO", 1_250_000)
    # The bid that was kept is as good as one that is sent.
    assert (await ads.put(f"/line_items/{WEBSITE}", bid_strategy="MAX")).data["bid_amount_local_micro"] == 1_250_000


async def test_an_advertiser_is_a_user_who_is_named_for_prerolls_by_apps_that_may(ads: Ads) -> None:
    user = ads.ask.emulator.seed["user_ids"][1]
    assert broken(await ads.put(f"/line_items/{WEBSITE}", advertiser_user_id=user)) == [(WRONG, "advertiser_user_id")]
    assert missing(await ads.put(f"/line_items/{PREROLL}", advertiser_user_id="17")) == ["advertiser_user_id"]
    assert (await ads.put(f"/line_items/{PREROLL}", advertiser_user_id=user)).data["advertiser_user_id"] == user
    app = f"apps/{ads.ask.emulator.ready['api_key']}"
    assert (await ads.ask.control("POST", app, {"names_advertisers": False})).json["names_advertisers"] is False
    reply = await ads.put(f"/line_items/{PREROLL}", advertiser_user_id=user)
    assert (reply.status, reply.json["errors"][0]["parameter"]) == (403, "advertiser_user_id")
    assert (await ads.put(f"/line_items/{PREROLL}", advertiser_user_id="")).data["advertiser_user_id"] is None


async def test_a_deleted_line_item_is_found_no_more(ads: Ads) -> None:
    reply = await ads.delete(f"/line_items/{WEBSITE}")
    assert (reply.status, reply.data["id"], reply.data["deleted"]) == (200, WEBSITE, True)
    assert missing(await ads.delete(f"/line_items/{WEBSITE}")) == ["line_item_id"]
    assert missing(await ads.put(f"/line_items/{WEBSITE}", name="x")) == ["line_item_id"]
    # Whatever is wrong with the change together with what is stored.
    assert missing(await ads.put(f"/line_items/{WEBSITE}", bid_strategy="MAX", bid_amount_local_micro="")) == [
        "line_item_id"
    ]


async def test_the_promoted_posts_of_a_deleted_line_item_are_not_deleted(ads: Ads) -> None:
    assert ads.ask.emulator.ledger()["records"][ads.ask.account]["promoted_tweets"] == 8
    await ads.delete(f"/line_items/{WEBSITE}")
    records = ads.ask.emulator.ledger()["records"][ads.ask.account]
    assert (records["promoted_tweets"], records["line_items"]) == (8, 319)
