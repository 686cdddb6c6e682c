"""Business categories, curated categories, and which line items run beside these (sections 4.3 and 4.5)."""

import itertools

from tests.emulator.advertising.asking_ads import Ads, broken, missing

BUSINESSES = "/ads/12/advertiser_business_categories"
CURATED = "/curated_categories"
PAIRS = "/line_item_curated_categories"
FIELDS = {"id", "line_item_id", "curated_category_id", "created_at", "updated_at", "deleted"}


async def test_business_categories_come_all_at_once(ads: Ads) -> None:
    reply = await ads.send("GET", BUSINESSES)
    assert set(reply.json) == {"request", "data", "next_cursor"}
    assert (reply.json["next_cursor"], reply.json["request"]) == (None, {"params": {}})
    assert len(reply.data) == 23
    assert all(set(each) == {"id", "name", "iab_categories"} for each in reply.data)
    iab = list(itertools.chain(*(each["iab_categories"] for each in reply.data)))
    assert len(iab) == len(set(iab))
    assert broken(await ads.send("GET", BUSINESSES, {"count": "1"})) == [("INVALID_PARAMETER", "count")]


async def test_curated_categories_always_come_with_their_total(ads: Ads) -> None:
    reply = await ads.get(CURATED)
    assert (len(reply.data), reply.json["total_count"]) == (200, 1_300)
    pages = await ads.ids(CURATED, count=1_000)
    assert list(itertools.chain(*pages)) == list(ads.ask.emulator.seed["curated_category_ids"])
    reply = await ads.get(CURATED, cursor=reply.json["next_cursor"])
    assert reply.json["total_count"] == 1_300


async def test_curated_categories_of_any_of_the_countries(ads: Ads) -> None:
    reply = await ads.get(CURATED, country_codes="NO", count=1_000)
    assert (len(reply.data), reply.json["total_count"], reply.json["next_cursor"]) == (260, 260, None)
    assert all("NO" in each["country_codes"] for each in reply.data)
    assert reply.json["request"]["params"]["country_codes"] == ["NO"]
    assert (await ads.get(CURATED, country_codes="NO,SE,JP")).json["total_count"] == 520
    assert (await ads.get(CURATED, country_codes="ZZ")).data == []
    for wrong in ("", "no", "NOR", "NO,,SE"):
        assert {name for _, name in broken(await ads.get(CURATED, country_codes=wrong))} == {"country_codes"}


async def test_a_curated_category_has_the_documented_fields(ads: Ads) -> None:
    listed = (await ads.get(CURATED, count=2)).data[1]
    reply = await ads.get(f"{CURATED}/{listed['id']}")
    assert reply.data == listed
    assert set(listed) == {
        *("id", "name", "description", "country_codes", "publisher_user_ids"),
        *("videos_monetized_in_last_thirty_days", "created_at", "updated_at"),
    }
    assert missing(await ads.get(f"{CURATED}/nosuch")) == ["curated_category_id"]


async def test_a_line_item_is_put_beside_a_category_once(ads: Ads) -> None:
    made = await ads.post(PAIRS, line_item_id="8xdpj", curated_category_id="cc0000")
    assert made.status == 200
    assert set(made.data) == FIELDS
    assert (made.data["line_item_id"], made.data["curated_category_id"]) == ("8xdpj", "cc0000")
    assert made.data["created_at"] == made.data["updated_at"]
    assert (await ads.get(f"{PAIRS}/{made.data['id']}")).data == made.data
    again = await ads.post(PAIRS, line_item_id="8xdpj", curated_category_id="cc0000")
    assert broken(again) == [("INVALID_PARAMETER", "curated_category_id")]
    await ads.delete(f"{PAIRS}/{made.data['id']}")
    again = await ads.post(PAIRS, line_item_id="8xdpj", curated_category_id="cc0000")
    assert again.data["id"] != made.data["id"]
    last = (await ads.get(PAIRS, count=1, sort_by="id-asc")).data[0]
    assert last == again.data


async def test_what_does_not_exist_cannot_be_put_together(ads: Ads) -> None:
    await ads.delete("/line_items/8xdpe")
    for line_item_id in ("8xdpe", "nosuch", "8xg1a"):
        reply = await ads.post(PAIRS, line_item_id=line_item_id, curated_category_id="cc0000")
        assert missing(reply) == ["line_item_id"]
    reply = await ads.form("POST", ads.path(PAIRS), {"line_item_id": "nosuch", "curated_category_id": "nosuch"})
    assert missing(reply) == ["line_item_id", "curated_category_id"]
    assert reply.json["request"]["params"]["line_item_id"] == "nosuch"


async def test_either_side_is_changed(ads: Ads) -> None:
    before = (await ads.get(f"{PAIRS}/c00000")).data
    ads.ask.emulator.advance(60)
    reply = await ads.put(f"{PAIRS}/c00000", line_item_id="8xdpe")
    assert reply.data == before | {"line_item_id": "8xdpe", "updated_at": reply.data["updated_at"]}
    assert reply.data["updated_at"] > before["updated_at"]
    reply = await ads.put(f"{PAIRS}/c00000", curated_category_id="cc0001")
    assert (reply.data["line_item_id"], reply.data["curated_category_id"]) == ("8xdpe", "cc0001")
    assert (await ads.put(f"{PAIRS}/c00000", line_item_id="8xdpe", curated_category_id="cc0001")).status == 200
    assert (await ads.put(f"{PAIRS}/c00000")).data == reply.data
    assert missing(await ads.put(f"{PAIRS}/c00000", curated_category_id="nosuch")) == ["curated_category_id"]
    await ads.put(f"{PAIRS}/c00001", line_item_id="8xdpe")
    reply = await ads.put(f"{PAIRS}/c00001", curated_category_id="cc0001")
    assert broken(reply) == [("INVALID_PARAMETER", "curated_category_id")]


async def test_the_category_is_changed_even_where_the_line_item_was_deleted(ads: Ads) -> None:
    made = (await ads.post(PAIRS, line_item_id="8xdpe", curated_category_id="cc0000")).data
    await ads.delete("/line_items/8xdpe")
    assert (await ads.put(f"{PAIRS}/{made['id']}", curated_category_id="cc0001")).status == 200


async def test_a_deleted_one_is_found_when_asked_for(ads: Ads) -> None:
    reply = await ads.delete(f"{PAIRS}/c00000")
    assert (reply.status, reply.data["deleted"]) == (200, True)
    for again in (
        await ads.delete(f"{PAIRS}/c00000"),
        await ads.put(f"{PAIRS}/c00000", line_item_id="8xdpe"),
        await ads.get(f"{PAIRS}/c00000"),
        await ads.get(f"{PAIRS}/c00000", with_deleted="false"),
        await ads.get(f"{PAIRS}/nosuch", with_deleted="true"),
    ):
        assert missing(again) == ["line_item_curated_category_id"]
    assert (await ads.get(f"{PAIRS}/c00000", with_deleted="true")).data == reply.data
