"""The limit of reads that ask for a total: 200 in 15 minutes (sections 4.1 and 8)."""

import aiohttp

from socialapi.emulator import Emulator
from tests.emulator.advertising.asking_ads import Ads
from tests.emulator.asking import Asker


async def test_the_201st_read_with_a_total_has_to_wait(ads: Ads, ask: Asker) -> None:
    second = Ads(ask, account=ask.emulator.seed["account_ids"][1])
    begins = ask.emulator.state.clock.now()
    for number in range(200):
        # Whatever is read, and of whichever account.
        which = ads if number % 2 else second
        rest = "/account_apps" if number % 3 else "/line_item_curated_categories"
        reply = await which.get(rest, with_total_count="true", count=1)
        assert reply.status == 200
        assert reply.headers["x-rate-limit-remaining"] == str(199 - number)
    assert reply.headers["x-rate-limit-limit"] == "200"
    assert reply.headers["x-rate-limit-reset"] == str(int(begins) + 900)
    assert "x-account-rate-limit-limit" not in reply.headers
    reply = await ads.send("GET", "/ads/12/accounts", {"with_total_count": "TRUE"})
    assert (reply.status, reply.codes) == (429, ["TOO_MANY_REQUESTS"])
    assert reply.headers["x-rate-limit-reset"] == str(int(begins) + 900)
    assert reply.json["request"]["params"] == {"with_total_count": True}
    for query in ({}, {"with_total_count": "false"}):
        reply = await ads.get("/account_apps", **query)
        assert reply.status == 200
        assert "x-rate-limit-limit" not in reply.headers
    ask.emulator.advance(899)
    assert (await ads.get("/account_apps", with_total_count="true")).status == 429
    ask.emulator.advance(1)
    assert (await ads.get("/account_apps", with_total_count="true")).status == 200


async def test_it_is_counted_by_user(ads: Ads, ask: Asker) -> None:
    other_app = Ads(ask, await ask.as_user(ask.emulator.seed["user_ids"][0]))
    other = Ads(ask, await ask.as_user(ask.emulator.seed["user_ids"][1]), "18ce55a9q0m")
    left = [
        (await each.get("/account_apps", with_total_count="true")).headers["x-rate-limit-remaining"]
        for each in (ads, other_app, other)
    ]
    assert left == ["199", "198", "199"]


async def test_the_limit_can_be_given_another_value(session: aiohttp.ClientSession) -> None:
    async with Emulator(rate_limits={"total_count_reads": (1, 10.0)}) as emulator:
        ads = Ads(Asker(emulator, session))
        statuses = [(await ads.get("/account_apps", with_total_count="true")).status for _ in range(2)]
        assert statuses == [200, 429]


async def test_other_advertising_routes_have_no_limit_until_they_are_given_one(session: aiohttp.ClientSession) -> None:
    async with Emulator(rate_limits={"PUT /12/accounts/{account_id}/line_items/{line_item_id}": (1, 10.0)}) as emulator:
        ads = Ads(Asker(emulator, session))
        assert [(await ads.put("/line_items/8xdpe")).status for _ in range(2)] == [200, 429]
        assert (await ads.put("")).status == 200
