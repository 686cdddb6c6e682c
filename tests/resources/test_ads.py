"""Test accounts, the history of an account, and versions and hosts (section 4.2), over a real socket."""

import datetime

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.models.accounts import CampaignSnapshot
from tests.support.clients import client_of
from tests.support.server import Server, answer

FIRST, SECOND, BOOKS = "18ce54d4x5t", "18ce54u7r2k", "18ce55a9q0m"
DAY = datetime.datetime(2025, 1, 6, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


async def test_a_test_account_is_made_given_features_and_deleted(client: Client) -> None:
    made = await client.ads.sandbox.create_account()
    assert [each.id for each in await client.ads.accounts.list().collect()] == [FIRST, SECOND, made.id]
    given = await client.ads.sandbox.add_features(made.id, ["REACH_FREQUENCY_CAP", "BRAND_NEW"])
    assert given == await client.ads.account(made.id).features() == ("REACH_FREQUENCY_CAP", "BRAND_NEW")
    assert await client.ads.sandbox.add_features(made.id, "BRAND_NEW") == given
    assert (await client.ads.sandbox.delete_account(made.id)).deleted
    with pytest.raises(errors.NotFound):
        await client.ads.accounts.get(made.id)
    with pytest.raises(errors.NotFound):
        await client.ads.sandbox.delete_account(made.id)
    assert (await client.ads.accounts.get(made.id, with_deleted=True)).deleted
    assert made.id in [each.id for each in await client.ads.accounts.list(with_deleted=True).collect()]


async def test_a_days_history_is_walked_through_the_oldest_first(client: Client, service: Emulator) -> None:
    pager = client.ads.account(FIRST).history(
        entity_type="CAMPAIGN", entity_id="8wku2", start_time=DAY, end_time=DAY + 24 * HOUR, count=150
    )
    entries = await pager.collect()
    times = [entry.change_time for entry in entries if entry.change_time]
    assert len(times) == 500
    assert times == sorted(times)
    assert DAY <= times[0] < times[-1] < DAY + 24 * HOUR
    assert (entries[0].change_type, entries[1].change_type) == ("CREATE", "UPDATE")
    snapshot = entries[1].entity_data
    assert isinstance(snapshot, CampaignSnapshot)
    after = snapshot.daily_budget_amount_local_micro
    assert entries[1].changes["daily_budget_amount_local_micro"]["after"] == after == 101_000_000
    by_second = service.seed["user_ids"][1]
    theirs = await client.ads.account(FIRST).history(
        entity_type="CAMPAIGN",
        entity_id="8wku2",
        start_time=DAY,
        end_time=DAY + 24 * HOUR,
        user_id=int(by_second),
    )
    assert len(theirs.data) == 100
    assert {entry.change_by and entry.change_by.user_id for entry in theirs.data} == {by_second}


async def test_a_whole_hour_of_another_zone_is_one(client: Client, service: Emulator) -> None:
    there = DAY.astimezone(datetime.timezone(datetime.timedelta(hours=-8)))
    page = await client.ads.account(FIRST).history(
        entity_type="CAMPAIGN", entity_id="8wku2", start_time=there, end_time=there + HOUR
    )
    assert len(page.data) == 21
    assert page.params["start_time"] == "2025-01-06T00:00:00Z"


async def test_versions_and_hosts_are_those_of_the_configuration() -> None:
    one = answer({"data": {"id": "a"}})
    empty = answer({"data": [], "next_cursor": None})
    versions = {"12": "13", "5": "6"}
    async with Server(one, one, empty) as server, client_of(server, ads_versions=versions) as client:
        await client.ads.accounts.get("a")
        await client.ads.sandbox.create_account()
        await client.ads.account("a").tailored_audience("t").permissions.list()
    assert [request.path for request in server.requests] == [
        "/ads/13/accounts/a",
        "/ads-sandbox/13/accounts",
        "/ads/6/accounts/a/tailored_audiences/t/permissions",
    ]
