"""Collections: pages, cursors, orders, deleted records and totals (sections 4.1 and 4.11)."""

import itertools

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken

PAIRS = "/line_item_curated_categories"


async def test_a_page_has_200_records_by_default_and_a_cursor_while_there_are_more(ads: Ads) -> None:
    seed = ads.ask.emulator.seed["line_item_curated_category_ids"]
    reply = await ads.get(PAIRS)
    assert [each["id"] for each in reply.data] == list(seed[:200])
    assert isinstance(reply.json["next_cursor"], str)
    assert "total_count" not in reply.json
    reply = await ads.get("/account_apps")
    assert (len(reply.data), reply.json["next_cursor"]) == (4, None)


async def test_a_cursor_is_good_for_another_count(ads: Ads) -> None:
    cursor = (await ads.get(PAIRS, count=3)).json["next_cursor"]
    reply = await ads.get(PAIRS, count=2, cursor=cursor)
    assert [each["id"] for each in reply.data] == ["c00003", "c00004"]
    # What is the default may be said or not.
    assert (await ads.get(PAIRS, cursor=cursor, with_deleted="false")).status == 200


async def test_a_cursor_of_another_request_is_refused(ads: Ads) -> None:
    cursor = (await ads.get(PAIRS, count=3, sort_by="created_at-asc")).json["next_cursor"]
    assert (await ads.get(PAIRS, sort_by="created_at-asc", cursor=cursor)).status == 200
    wrong = [("INVALID_PARAMETER", "cursor")]
    assert broken(await ads.get(PAIRS, cursor=cursor)) == wrong
    assert broken(await ads.get(PAIRS, sort_by="created_at-desc", cursor=cursor)) == wrong
    assert broken(await ads.get(PAIRS, sort_by="created_at-asc", with_deleted="true", cursor=cursor)) == wrong
    assert broken(await ads.get("/account_apps", sort_by="created_at-asc", cursor=cursor)) == wrong
    second = Ads(ads.ask, account=ads.ask.emulator.seed["account_ids"][1])
    assert broken(await second.get(PAIRS, sort_by="created_at-asc", cursor=cursor)) == wrong
    for forged in ("", "x", "ä", cursor[:-2], cursor + "AA", "A" + cursor[1:]):
        assert broken(await ads.get(PAIRS, sort_by="created_at-asc", cursor=forged)) == wrong


@pytest.mark.parametrize("field", ["id", "line_item_id", "curated_category_id", "created_at", "updated_at"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
async def test_records_are_sorted_by_a_field_and_then_as_they_were_made(ads: Ads, field: str, direction: str) -> None:
    made = {each["id"]: each for each in ads.ask.emulator.state.advertising.table(ads.ask.account, PAIRS[1:]).live()}
    expected = sorted(made, key=lambda each: str(made[each][field]), reverse=direction == "desc")
    pages = await ads.ids(PAIRS, count=999, sort_by=f"{field}-{direction}")
    assert list(itertools.chain(*pages)) == expected


@pytest.mark.parametrize("field", ["industry_typo", "extra", "features", "is_sandbox", "name-asc-x"])
async def test_an_unknown_field_cannot_be_sorted_by(ads: Ads, field: str) -> None:
    reply = await ads.send("GET", "/ads/12/accounts", {"sort_by": f"{field}-asc"})
    assert broken(reply) == [("INVALID_PARAMETER", "sort_by")]


async def test_lists_cannot_be_sorted_by(ads: Ads) -> None:
    table = ads.ask.emulator.state.advertising.table(ads.ask.account, "line_items")
    assert "placements" in table.rows[0]
    reply = await ads.get("/account_apps", sort_by="placements-asc")
    assert broken(reply) == [("INVALID_PARAMETER", "sort_by")]


async def test_deleted_records_are_shown_when_asked_for(ads: Ads) -> None:
    assert [each["deleted"] for each in (await ads.get("/account_apps")).data] == [False] * 4
    reply = await ads.get("/account_apps", with_deleted="true", with_total_count="true")
    assert [each["deleted"] for each in reply.data] == [False] * 4 + [True]
    assert reply.json["total_count"] == 5


async def test_a_total_is_counted_on_demand_and_not_with_a_cursor(ads: Ads) -> None:
    reply = await ads.get(PAIRS, count=1, with_total_count="true")
    assert reply.json["total_count"] == 10_000
    assert (await ads.get(PAIRS, count=1, with_total_count="true", with_deleted="true")).json["total_count"] == 10_025
    cursor = reply.json["next_cursor"]
    reply = await ads.get(PAIRS, count=1, with_total_count="true", cursor=cursor)
    assert broken(reply) == [("EXCLUSIVE_PARAMETERS", "with_total_count")]
    assert (await ads.get(PAIRS, count=1, with_total_count="false", cursor=cursor)).status == 200
