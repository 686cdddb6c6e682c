"""Keyword insights (section 4.6)."""

from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import Ads, broken
from tests.emulator.asking import Reply

PATH = "/ads/12/insights/keywords/search"
BASE = {
    "granularity": "DAY",
    "keywords": "snow,ski",
    "start_time": "2025-01-01T00:00:00Z",
    "end_time": "2025-01-08T00:00:00Z",
}


async def search(ads: Ads, **query: str) -> Reply:
    return await ads.send("GET", PATH, {**BASE, **query})


async def insights(ads: Ads, **query: str) -> Any:
    reply = await search(ads, **query)
    assert reply.status == 200, reply.text
    return reply.data


async def test_there_are_30_related_keywords_and_a_number_a_day(ads: Ads) -> None:
    reply = await search(ads)
    assert set(reply.data) == {"related_keywords", "tweet_volume"}
    assert len(set(reply.data["related_keywords"])) == 30
    assert not {"snow", "ski"} & set(reply.data["related_keywords"])
    assert len(reply.data["tweet_volume"]) == 7
    assert all(isinstance(each, int) and each >= 0 for each in reply.data["tweet_volume"])
    assert reply.json["request"]["params"]["keywords"] == ["snow", "ski"]
    assert (await search(ads)).data == reply.data


@pytest.mark.parametrize(
    ("granularity", "end", "units"),
    [
        ("DAY", "2025-01-01T00:00:01Z", 1),
        ("DAY", "2025-01-02T00:00:00Z", 1),
        ("DAY", "2025-01-02T00:00:01Z", 2),
        ("HOUR", "2025-01-01T01:00:00Z", 1),
        ("HOUR", "2025-01-01T02:30:00Z", 3),
        ("HOUR", "2025-01-08T00:00:00Z", 168),
    ],
)
async def test_there_is_a_number_for_each_unit_of_the_range(ads: Ads, granularity: str, end: str, units: int) -> None:
    assert len((await insights(ads, granularity=granularity, end_time=end))["tweet_volume"]) == units


async def test_only_the_keywords_decide_and_in_any_order_and_case(ads: Ads) -> None:
    assert await insights(ads, keywords="SKI, Snow") == await insights(ads)
    snow, ski, both = [(await insights(ads, keywords=words))["tweet_volume"] for words in ("snow", "ski", "snow,ski")]
    assert [one + other for one, other in zip(snow, ski, strict=True)] == both
    fewer = (await insights(ads, negative_keywords="powder"))["tweet_volume"]
    assert all(less <= more for less, more in zip(fewer, both, strict=True))
    assert fewer != both


async def test_results_are_of_one_country(ads: Ads) -> None:
    everywhere, germany = await insights(ads), await insights(ads, location="DE")
    assert everywhere != germany
    assert await insights(ads, location="fdcd221ac44fa326") == germany
    for location in ("5a110d312052166f", "de", "DEU", "Berlin", ""):
        assert broken(await search(ads, location=location)) == [("INVALID_PARAMETER", "location")]


async def test_the_end_is_now_unless_given(ads: Ads) -> None:
    query = {name: value for name, value in BASE.items() if name != "end_time"}
    ads.ask.emulator.advance(0)
    now = ads.ask.emulator.state.clock.datetime()
    start = now.replace(microsecond=0).timestamp() - 3 * 3_600
    start_time = now.fromtimestamp(start, now.tzinfo).isoformat().replace("+00:00", "Z")
    reply = await ads.send("GET", PATH, query | {"granularity": "HOUR", "start_time": start_time})
    assert len(reply.data["tweet_volume"]) == 3
    assert broken(await ads.send("GET", PATH, query)) == [("INVALID_PARAMETER", "start_time")]
    ahead = query | {"start_time": now.replace(year=now.year + 1, day=1, microsecond=0).isoformat()[:19] + "Z"}
    assert broken(await ads.send("GET", PATH, ahead)) == [("INVALID_PARAMETER", "start_time")]
