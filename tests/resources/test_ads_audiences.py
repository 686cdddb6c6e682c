"""Keyword insights, permissions and targeting lookups (sections 4.6 to 4.8), over a real socket."""

import datetime

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.emulator.advertising.line_items import target

FIRST, SECOND, BOOKS = "18ce54d4x5t", "18ce54u7r2k", "18ce55a9q0m"
DAY = datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC)
DAYS = datetime.timedelta(days=1)


async def test_there_is_a_number_for_each_day_or_hour(client: Client) -> None:
    week = await client.ads.keyword_insights(
        ["ski", "snow"], granularity="DAY", start_time=DAY, end_time=DAY + 7 * DAYS
    )
    assert (len(week.related_keywords), len(week.tweet_volume)) == (30, 7)
    hours = await client.ads.keyword_insights("ski", granularity="HOUR", start_time=DAY, end_time=DAY + DAYS)
    assert len(hours.tweet_volume) == 24
    assert all(type(each) is int for each in hours.tweet_volume)


async def test_a_country_and_keywords_that_do_not_count_change_the_numbers(client: Client) -> None:
    plain, there, fewer = [
        await client.ads.keyword_insights(
            "ski",
            granularity="DAY",
            start_time=DAY,
            end_time=DAY + DAYS,
            **more,
        )
        for more in ({}, {"location": "06ef846bfc783874"}, {"negative_keywords": "race"})
    ]
    assert plain.tweet_volume != there.tweet_volume
    assert plain.tweet_volume > fewer.tweet_volume


async def test_a_range_without_an_end_ends_now(client: Client, service: Emulator) -> None:
    now = datetime.datetime.now(datetime.UTC)
    found = await client.ads.keyword_insights("ski", granularity="DAY", start_time=now - 3 * DAYS)
    assert len(found.tweet_volume) in (3, 4)


async def test_every_broken_rule_is_listed_and_nothing_is_sent(client: Client, service: Emulator) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        await client.ads.keyword_insights(
            [f"k{number}" for number in range(9)],
            granularity="DAY",
            start_time=DAY,
            end_time=DAY + 7 * DAYS + datetime.timedelta(seconds=1),
            negative_keywords=["a", "b,c"],
        )
    assert [rule.path for rule in caught.value.broken_rules] == ["keywords", "negative_keywords", "end_time"]
    assert list(service.requests) == []


async def test_a_place_that_is_no_country_is_refused_by_the_service(client: Client) -> None:
    with pytest.raises(errors.ApiError) as caught:
        await client.ads.keyword_insights("ski", granularity="DAY", start_time=DAY, end_time=DAY + DAYS, location="x")
    assert [(error.code, error.parameter) for error in caught.value.errors] == [("INVALID_PARAMETER", "location")]


# Permissions


async def test_an_audience_is_shared_within_the_business_and_taken_back(client: Client) -> None:
    permissions = client.ads.account(FIRST).tailored_audience("1nmth").permissions
    assert await permissions.list().collect() == []
    made = await permissions.create(SECOND, "READ_WRITE")
    assert (made.tailored_audience_id, made.granted_account_id, made.permission_level) == (
        "1nmth",
        SECOND,
        "READ_WRITE",
    )
    assert (await permissions.list(with_total_count=True)).total_count == 1
    assert await permissions.list(granted_account_ids=(SECOND,)).collect() == [made]
    assert await permissions.list(tailored_audience_permission_ids=("other",)).collect() == []
    # Who was granted it sees so.
    theirs = client.ads.account(SECOND).tailored_audience("1nmth").permissions
    assert await theirs.list().collect() == [made]
    assert (await permissions.delete(made.id)).deleted
    with pytest.raises(errors.NotFound):
        await permissions.delete(made.id)
    assert await permissions.list().collect() == []


@pytest.mark.parametrize(
    ("owner", "granted", "kind", "status"),
    [
        (FIRST, BOOKS, errors.Forbidden, 403),
        (SECOND, FIRST, errors.Forbidden, 403),
        (FIRST, FIRST, errors.ApiError, 400),
        (FIRST, "nosuch", errors.NotFound, 404),
    ],
)
async def test_who_may_share_with_whom(
    client: Client, owner: str, granted: str, kind: type[errors.ApiError], status: int
) -> None:
    with pytest.raises(kind) as caught:
        await client.ads.account(owner).tailored_audience("1nmth").permissions.create(granted, "READ_ONLY")
    assert caught.value.status == status


async def test_an_audience_is_shared_with_an_account_once(client: Client) -> None:
    permissions = client.ads.account(FIRST).tailored_audience("1nmti").permissions
    await permissions.create(SECOND, "READ_ONLY")
    with pytest.raises(errors.ApiError) as caught:
        await permissions.create(SECOND, "READ_WRITE")
    assert (caught.value.status, [each.parameter for each in caught.value.errors]) == (400, ["granted_account_id"])


# Targeting


async def test_what_targets_an_audience_is_walked_through_with_its_line_items(client: Client) -> None:
    audience = client.ads.account(FIRST).custom_audience("1nmth")
    servable = await audience.targeted().collect()
    everything = await audience.targeted(with_active=False).collect()
    assert (len(servable), len(everything)) == (207, 230)
    assert all(item.servable for campaign in servable for item in campaign.line_items)
    assert {item.servable for campaign in everything for item in campaign.line_items} == {True, False}
    assert sum(len(campaign.line_items) for campaign in everything) == 307
    assert all(campaign.campaign_name for campaign in everything)
    pages = [len(page.data) async for page in audience.targeted().pages()]
    assert pages == [200, 7]


async def test_an_audience_that_nothing_targets_has_no_campaigns(client: Client) -> None:
    assert await client.ads.account(FIRST).custom_audience("1nmtj").targeted().collect() == []
    with pytest.raises(errors.NotFound):
        await client.ads.account(FIRST).custom_audience("nosuch").targeted()


async def test_running_campaigns_keep_an_audience_that_was_taken_back(client: Client, service: Emulator) -> None:
    permissions = client.ads.account(FIRST).tailored_audience("1nmtj").permissions
    made = await permissions.create(SECOND, "READ_ONLY")
    target(service.state, SECOND, "8xg1a", "1nmtj")
    await permissions.delete(made.id)
    (campaign,) = await client.ads.account(SECOND).custom_audience("1nmtj").targeted().collect()
    assert [item.id for item in campaign.line_items] == ["8xg1a"]
