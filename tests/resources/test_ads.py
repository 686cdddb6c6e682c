"""Test accounts, the history of an account, and versions and hosts (section 4.2), over a real socket."""

import datetime

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
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
