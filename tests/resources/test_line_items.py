"""Line items: changes, amounts and the record at hand (section 4.4), over a real socket."""

import datetime
from typing import Any

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.models.line_items import LineItem
from socialapi.models.money import Micros

FIRST = "18ce54d4x5t"
WEBSITE, REACH, FOLLOWERS, INSTALLS, NETWORK, SHARED = "8xdpe", "8xdpf", "8xdpg", "8xdpk", "8xdpm", "8xdpn"
BID, DAILY = "bid_amount_local_micro", "daily_budget_amount_local_micro"


def broken(problem: errors.InvalidInput) -> list[tuple[str, str]]:
    return [(rule.path, rule.code) for rule in problem.broken_rules]


async def test_a_change_is_made_and_the_new_record_comes_back(client: Client) -> None:
    line_items = client.ads.account(FIRST).line_items
    before = await line_items.update(WEBSITE)
    start = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    after = await line_items.update(
        WEBSITE,
        {"name": "Jackets, all", "entity_status": "PAUSED"},
        bid_amount_local_micro=Micros.of("1.75", "EUR").value,
        start_time=start,
        end_time=None,
        categories=("IAB1", "IAB2"),
    )
    assert (after.name, after.entity_status, after.start_time, after.end_time) == (
        "Jackets, all",
        "PAUSED",
        start,
        None,
    )
    assert after.categories == ("IAB1", "IAB2")
    assert after.money("bid_amount") == Micros.of("1.75", "EUR")
    assert after.money("total_budget_amount") == before.money("total_budget_amount") == Micros.of(5_000, "EUR")


async def test_amounts_survive_the_whole_way_exactly(client: Client) -> None:
    line_items = client.ads.account(FIRST).line_items
    for text in ("0.000001", "9007199254.740993", "9223372036854.775807"):
        amount = Micros.of(text, "EUR")
        item = await line_items.update(
            WEBSITE, total_budget_amount_local_micro=amount.value, daily_budget_amount_local_micro=None
        )
        assert item.money("total_budget_amount") == amount
        assert type(item.total_budget_amount_local_micro) is int


async def test_floats_are_refused_before_anything_is_sent(client: Client, service: Emulator) -> None:
    wrong: Any = {BID: 1.5, DAILY: 10.0}
    with pytest.raises(errors.InvalidInput) as caught:
        await client.ads.account(FIRST).line_items.update(WEBSITE, wrong)
    assert [rule.path for rule in caught.value.broken_rules] == [BID, DAILY]
    assert list(service.requests) == []


@pytest.mark.parametrize(
    ("line_item_id", "changes", "found"),
    [
        (FOLLOWERS, {"bid_strategy": "MAX", BID: 1}, [("bid_strategy", "INVALID_PARAMETER")]),
        (FOLLOWERS, {"frequency_cap": 1}, [("frequency_cap", "INVALID_PARAMETER")]),
        (WEBSITE, {BID: None}, [(BID, "MISSING_PARAMETER")]),
        (WEBSITE, {DAILY: 5_000_000_001}, [(DAILY, "INVALID_PARAMETER")]),
        (NETWORK, {"pay_by": "IMPRESSION"}, [("pay_by", "INVALID_PARAMETER")]),
        (NETWORK, {"advertiser_domain": None}, [("advertiser_domain", "MISSING_PARAMETER")]),
        (
            INSTALLS,
            {"android_app_store_identifier": None, "ios_app_store_identifier": None},
            [("ios_app_store_identifier", "MISSING_PARAMETER")],
        ),
    ],
)
async def test_the_record_at_hand_tells_what_the_service_would_refuse(
    client: Client, service: Emulator, line_item_id: str, changes: Any, found: list[tuple[str, str]]
) -> None:
    line_items = client.ads.account(FIRST).line_items
    current = await line_items.update(line_item_id)
    asked = len(service.requests)
    with pytest.raises(errors.InvalidInput) as here:
        await line_items.update(line_item_id, changes, current=current)
    assert broken(here.value) == found
    assert len(service.requests) == asked
    with pytest.raises(errors.ApiError) as there:
        await line_items.update(line_item_id, changes)
    assert there.value.status == 400
    assert [(error.parameter, error.code) for error in there.value.errors] == found


async def test_the_budget_of_the_campaign_is_asked_about_with_and_without_the_record(
    client: Client, service: Emulator
) -> None:
    line_items = client.ads.account(FIRST).line_items
    current = await line_items.update(SHARED)
    asked = len(service.requests)
    for record in (current, None):
        with pytest.raises(errors.InvalidInput) as caught:
            await line_items.update(
                SHARED, current=record, budget_optimization="CAMPAIGN", daily_budget_amount_local_micro=5
            )
        assert broken(caught.value) == [(DAILY, "INVALID_PARAMETER")]
    assert len(service.requests) == asked
    with pytest.raises(errors.ApiError, match="budget_optimization is LINE_ITEM"):
        await line_items.update(SHARED, current=current, daily_budget_amount_local_micro=5)
    item = await line_items.update(
        WEBSITE, budget_optimization="LINE_ITEM", daily_budget_amount_local_micro=5_000_000_000
    )
    assert item.daily_budget_amount_local_micro == 5_000_000_000


async def test_values_of_a_wrong_kind_are_listed_also_beside_the_record_at_hand(client: Client) -> None:
    wrong: Any = {DAILY: "10", "name": 5}
    current = LineItem(id=WEBSITE, total_budget_amount_local_micro=1, objective="REACH")
    with pytest.raises(errors.InvalidInput) as caught:
        await client.ads.account(FIRST).line_items.update(WEBSITE, wrong, current=current)
    assert [str(rule) for rule in caught.value.broken_rules] == [
        f"{DAILY}: must be a whole number",
        "name: must be a string",
    ]


async def test_a_record_of_which_little_is_known_forbids_nothing(client: Client) -> None:
    item = await client.ads.account(FIRST).line_items.update(
        REACH, current=LineItem(id=REACH), frequency_cap=5, bid_strategy="TARGET", bid_amount_local_micro=1
    )
    assert (item.frequency_cap, item.bid_amount_local_micro) == (5, 1)


@pytest.mark.parametrize("current", [LineItem(id=REACH), {"id": WEBSITE}, WEBSITE, 5])
async def test_the_record_at_hand_is_that_of_the_line_item(client: Client, service: Emulator, current: Any) -> None:
    with pytest.raises(errors.InvalidInput, match=f"current must be the LineItem with the id {WEBSITE}"):
        await client.ads.account(FIRST).line_items.update(WEBSITE, current=current, name="x")
    assert list(service.requests) == []


@pytest.mark.parametrize("odd", [None, True, 1.5, b"8xdpe", ("8xdpe",)])
async def test_an_id_is_a_text_or_a_whole_number(client: Client, service: Emulator, odd: Any) -> None:
    for call in (
        lambda: client.ads.account(FIRST).line_items.update(odd, name="x"),
        lambda: client.ads.account(FIRST).line_items.delete(odd),
        lambda: client.ads.accounts.get(odd),
    ):
        with pytest.raises(errors.InvalidInput, match="_id must be a string or a whole number"):
            await call()
    for choose in (client.ads.account, client.ads.account(FIRST).custom_audience, client.catalog):
        with pytest.raises(errors.InvalidInput, match="_id must be a string or a whole number"):
            choose(odd)
    assert list(service.requests) == []
