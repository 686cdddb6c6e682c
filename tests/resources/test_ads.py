"""Accounts, their apps, history and features, and test accounts (section 4.2), over a real socket."""

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


async def test_a_users_accounts_are_listed_and_found_by_the_beginning_of_their_names(client: Client) -> None:
    assert [account.id async for account in client.ads.accounts.list()] == [FIRST, SECOND]
    assert [account.id async for account in client.ads.accounts.list(q="NORTHWIND h")] == [SECOND]
    assert await client.ads.accounts.list(q="outdoor").collect() == []
    (first,) = await client.ads.accounts.list(account_ids=(FIRST, BOOKS, "nosuch")).collect()
    assert (first.name, first.approval_status, first.industry_type) == ("Northwind Outdoor", "ACCEPTED", None)
    assert first.timezone_switch_at == datetime.datetime(2023, 3, 13, 23, tzinfo=datetime.UTC)


async def test_pages_say_what_they_were_asked_for(client: Client) -> None:
    page = await client.ads.accounts.list(count=1, with_total_count=True, sort_by="name-desc")
    assert page.params == {"count": 1, "with_total_count": True, "sort_by": "name-desc"}
    assert (page.total_count, [account.name for account in page.data]) == (2, ["Northwind Outdoor"])


async def test_one_account_has_its_industry_and_can_be_changed(client: Client) -> None:
    account = await client.ads.accounts.get(FIRST)
    assert (account.industry_type, account.deleted) == ("RETAIL", False)
    changed = await client.ads.accounts.update(FIRST, name="Northwind Trails", industry_type="TRAVEL")
    assert (changed.name, changed.industry_type) == ("Northwind Trails", "TRAVEL")
    assert await client.ads.accounts.get(FIRST) == changed


async def test_an_account_of_somebody_else_is_forbidden_and_another_not_found(client: Client) -> None:
    with pytest.raises(errors.Forbidden) as caught:
        await client.ads.accounts.get(BOOKS)
    assert caught.value.codes == ("FORBIDDEN",)
    with pytest.raises(errors.NotFound) as missing:
        await client.ads.accounts.get("nosuch")
    assert [(each.code, each.parameter) for each in missing.value.errors] == [("NOT_FOUND", "account_id")]


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


async def test_the_sandbox_knows_only_its_own_accounts(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        await client.ads.sandbox.delete_account(FIRST)


async def test_features_are_those_that_are_there_of_those_that_are_asked_for(client: Client) -> None:
    account = client.ads.account(FIRST)
    all_of_them = ("REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP", "PROMOTED_MEDIA_POLLS")
    assert await account.features() == all_of_them
    assert await account.features("REACH_FREQUENCY_CAP") == ("REACH_FREQUENCY_CAP",)
    assert await account.features(["WEBSITE_CLICKS_CPM_BILLING"]) == ()


async def test_apps_are_listed_deleted_ones_on_demand(client: Client) -> None:
    apps = await client.ads.account(FIRST).apps(sort_by="os_type-asc").collect()
    assert [app.os_type for app in apps] == ["ANDROID", "ANDROID", "IOS", "IPAD"]
    assert [app.deep_link_pattern for app in apps if app.os_type == "IPAD"] == [None]
    everything = await client.ads.account(FIRST).apps(with_deleted=True, count=2).collect()
    assert [app.deleted for app in everything] == [False, False, False, False, True]


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


async def test_the_end_of_a_history_does_not_belong_to_it(client: Client) -> None:
    async def count(start: datetime.datetime, end: datetime.datetime) -> int:
        history = client.ads.account(FIRST).history(
            entity_type="CAMPAIGN", entity_id="8wku2", start_time=start, end_time=end, count=1_000
        )
        return len(await history.collect())

    assert await count(DAY - HOUR, DAY) == 0
    assert await count(DAY, DAY + HOUR) == 21
    assert await count(DAY, DAY + 2 * HOUR) == 42


@pytest.mark.parametrize(
    "time",
    [
        DAY.replace(minute=1),
        DAY.replace(second=1),
        DAY.replace(microsecond=1),
        # A whole hour there is none in UTC.
        DAY.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
    ],
)
async def test_times_that_are_no_whole_hours_in_utc_are_not_sent(
    client: Client, service: Emulator, time: datetime.datetime
) -> None:
    for start, end in ((time, DAY + 48 * HOUR), (DAY - 48 * HOUR, time)):
        with pytest.raises(errors.InvalidInput) as caught:
            await client.ads.account(FIRST).history(
                entity_type="CAMPAIGN", entity_id="8wku2", start_time=start, end_time=end
            )
        (rule,) = caught.value.broken_rules
        assert rule.reason == "must be a whole hour in UTC: no minutes, no seconds"
    assert list(service.requests) == []


async def test_a_whole_hour_of_another_zone_is_one(client: Client, service: Emulator) -> None:
    there = DAY.astimezone(datetime.timezone(datetime.timedelta(hours=-8)))
    page = await client.ads.account(FIRST).history(
        entity_type="CAMPAIGN", entity_id="8wku2", start_time=there, end_time=there + HOUR
    )
    assert len(page.data) == 21
    assert page.params["start_time"] == "2025-01-06T00:00:00Z"


async def test_a_time_without_a_zone_is_refused(client: Client) -> None:
    naive = DAY.replace(tzinfo=None)
    with pytest.raises(errors.InvalidInput, match="has no time zone"):
        await client.ads.account(FIRST).history(
            entity_type="CAMPAIGN", entity_id="8wku2", start_time=naive, end_time=DAY
        )


async def test_an_account_that_is_not_on_the_list_has_no_history(client: Client) -> None:
    made = await client.ads.sandbox.create_account()
    with pytest.raises(errors.Forbidden, match="not on the list"):
        await client.ads.account(made.id).history(
            entity_type="CAMPAIGN", entity_id="8wku2", start_time=DAY, end_time=DAY + HOUR
        )


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
