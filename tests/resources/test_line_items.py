"""Line items and the curated categories beside which they run (sections 4.3 to 4.5), over a real socket."""

import datetime
from typing import Any

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.models.line_items import LineItem
from socialapi.models.money import Micros
from tests.support.clients import client_of
from tests.support.server import Fault, Server, answer

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
        with pytest.raises(errors.InvalidInput, match="_id must be a text or a whole number"):
            await call()
    for choose in (client.ads.account, client.ads.account(FIRST).custom_audience, client.catalog):
        with pytest.raises(errors.InvalidInput, match="_id must be a text or a whole number"):
            choose(odd)
    assert list(service.requests) == []


async def test_a_bid_sent_with_auto_is_ignored_and_not_refused(client: Client) -> None:
    item = await client.ads.account(FIRST).line_items.update(FOLLOWERS, bid_amount_local_micro=5)
    assert (item.bid_strategy, item.bid_amount_local_micro) == ("AUTO", None)


async def test_a_deleted_line_item_is_found_no_more(client: Client) -> None:
    line_items = client.ads.account(FIRST).line_items
    deleted = await line_items.delete(WEBSITE)
    assert (deleted.id, deleted.deleted) == (WEBSITE, True)
    for again in (line_items.delete(WEBSITE), line_items.update(WEBSITE, name="x")):
        with pytest.raises(errors.NotFound) as caught:
            await again
        assert [(error.code, error.parameter) for error in caught.value.errors] == [("NOT_FOUND", "line_item_id")]


async def test_a_deletion_whose_outcome_is_unknown_is_not_repeated_and_a_change_is() -> None:
    done = answer({"data": {"id": "l"}})
    async with Server(Fault.CLOSE, Fault.CLOSE, then=done) as server, client_of(server) as client:
        line_items = client.ads.account("a").line_items
        with pytest.raises(errors.OutcomeUnknown):
            await line_items.delete("l")
        assert (await line_items.update("l", name="x")).id == "l"
    assert [request.method for request in server.requests] == ["DELETE", "PUT", "PUT"]


# Categories


async def test_business_categories_have_the_categories_of_preroll_line_items(client: Client) -> None:
    businesses = await client.ads.business_categories().collect()
    assert len(businesses) == 23
    sports = next(each for each in businesses if each.name == "Sports")
    assert sports.iab_categories[:2] == ("IAB17", "IAB17-1")
    line_items = client.ads.account(FIRST).line_items
    item = await line_items.update("8xdpj", categories=sports.iab_categories)
    assert item.categories == sports.iab_categories
    with pytest.raises(errors.ApiError, match="one or two"):
        await line_items.update("8xdpj", categories=("IAB1", "IAB2", "IAB3"))


async def test_curated_categories_are_those_of_the_countries_with_how_many_there_are(client: Client) -> None:
    categories = client.ads.account(FIRST).curated_categories
    page = await categories.list(count=3)
    assert (page.total_count, len(page.data)) == (1_300, 3)
    found = await categories.list(["JP", "GB"], count=1_000).collect()
    assert len(found) == 520
    assert all({"JP", "GB"} & set(each.country_codes) for each in found)
    assert len(await categories.list("JP").collect(limit=1_000)) == 260
    one = await categories.get(found[0].id)
    assert one == found[0]
    assert isinstance(one.videos_monetized_in_last_thirty_days, int)
    with pytest.raises(errors.NotFound):
        await categories.get("nosuch")


async def test_a_pair_is_made_changed_and_deleted(client: Client) -> None:
    pairs = client.ads.account(FIRST).line_item_curated_categories
    made = await pairs.create(WEBSITE, "cc0000")
    assert (made.line_item_id, made.curated_category_id, made.deleted) == (WEBSITE, "cc0000", False)
    with pytest.raises(errors.ApiError) as twice:
        await pairs.create(WEBSITE, "cc0000")
    assert (twice.value.status, [each.parameter for each in twice.value.errors]) == (400, ["curated_category_id"])
    changed = await pairs.update(made.id, curated_category_id="cc0001")
    assert await pairs.get(made.id) == changed
    assert (changed.line_item_id, changed.curated_category_id) == (WEBSITE, "cc0001")
    assert (await pairs.delete(made.id)).deleted
    for again in (pairs.get(made.id), pairs.delete(made.id), pairs.update(made.id, line_item_id=REACH)):
        with pytest.raises(errors.NotFound):
            await again
    assert (await pairs.get(made.id, with_deleted=True)).deleted


async def test_a_pair_of_what_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(errors.NotFound) as caught:
        await client.ads.account(FIRST).line_item_curated_categories.create("nosuch", "nowhere")
    assert [error.parameter for error in caught.value.errors] == ["line_item_id", "curated_category_id"]
