"""Every resource of the advertising API (section 2), read from a response with all its fields and with none."""

import datetime
from typing import Any

import attrs
import pytest

from socialapi import types
from socialapi.errors import DecodeError
from socialapi.models.pages import Page
from socialapi.wire.decode import structure
from socialapi.wire.paging import read_page
from tests.support.comparing import assert_holds

TIMES = {"created_at": "2024-09-02T08:00:00Z", "updated_at": "2025-01-10T23:50:28Z"}
LINE_ITEM = {
    "id": "8xdpe",
    "campaign_id": "8wku2",
    "name": "Jackets",
    "objective": "WEBSITE_CLICKS",
    "product_type": "PROMOTED_TWEETS",
    "goal": "LINK_CLICKS",
    "bid_strategy": "MAX",
    "bid_amount_local_micro": 1_250_000,
    "pay_by": "LINK_CLICK",
    "currency": "EUR",
    "placements": ["ALL_ON_TWITTER", "PUBLISHER_NETWORK"],
    "categories": ["IAB17"],
    "start_time": "2024-10-01T00:00:00Z",
    "end_time": "2027-09-30T22:00:00Z",
    "duration_in_days": 7,
    "frequency_cap": 3,
    "total_budget_amount_local_micro": 5_000_000_000,
    "daily_budget_amount_local_micro": 25_000_000,
    "entity_status": "ACTIVE",
    "creative_source": "MANUAL",
    "advertiser_user_id": "2244994945",
    "advertiser_domain": "northwind.example",
    "android_app_store_identifier": "com.northwind.shop",
    "ios_app_store_identifier": "1234567890",
    "target_cpa_local_micro": 7_000_000,
    "primary_web_event_tag": "tag",
    "standard_delivery": True,
    "automatic_tweet_promotion": False,
    "deleted": False,
    **TIMES,
}
SNAPSHOT = {
    "name": "Winter jackets",
    "start_time": "2024-10-01T00:00:00Z",
    "end_time": "2027-09-30T22:00:00Z",
    "purchase_order_number": "NW-1",
    "daily_budget_amount_local_micro": 120_000_000,
    "total_budget_amount_local_micro": 30_000_000_000,
    "duration_in_days": 30,
    "standard_delivery": True,
    "entity_status": "ACTIVE",
    "frequency_cap": 5,
    "deleted": False,
    **TIMES,
}
FULL: dict[Any, dict[str, Any]] = {
    types.Account: {
        "id": "18ce54d4x5t",
        "name": "Northwind Outdoor",
        "business_name": "Northwind Group",
        "business_id": "4503599",
        "timezone": "Europe/Berlin",
        "timezone_switch_at": "2023-03-13T23:00:00Z",
        "approval_status": "ACCEPTED",
        "industry_type": "RETAIL",
        "deleted": False,
        **TIMES,
    },
    types.AccountApp: {
        "id": "7kzxp",
        "app_store_identifier": "com.northwind.shop",
        "conversion_tracking_enabled": True,
        "deep_link_pattern": "northwind://product/{id}",
        "os_type": "ANDROID",
        "deleted": True,
        **TIMES,
    },
    types.HistoryEntry: {
        "entity": "CAMPAIGN",
        "entity_id": "8wku2",
        "entity_data": SNAPSHOT,
        "change_type": "CREATE",
        "change_time": "2025-01-06T00:00:00Z",
        "changes": {"name": {"before": "a", "after": None}},
        "change_by": {"user_id": "17", "platform": "API"},
    },
    types.CampaignSnapshot: SNAPSHOT,
    types.ChangedBy: {"user_id": "17", "platform": "WEB"},
    types.BusinessCategory: {"id": "b17", "name": "Sports", "iab_categories": ["IAB17", "IAB17-1"]},
    types.CuratedCategory: {
        "id": "cc0000",
        "name": "Alpine Sports",
        "description": "Highlights",
        "country_codes": ["US", "CA"],
        "publisher_user_ids": ["3000000000"],
        "videos_monetized_in_last_thirty_days": 37,
        **TIMES,
    },
    types.LineItemCuratedCategory: {
        "id": "c00000",
        "line_item_id": "8xdpe",
        "curated_category_id": "cc0000",
        "deleted": False,
        **TIMES,
    },
    types.LineItem: LINE_ITEM,
    types.AudiencePermission: {
        "id": "p",
        "tailored_audience_id": "1nmth",
        "granted_account_id": "18ce54u7r2k",
        "permission_level": "READ_WRITE",
        "deleted": False,
        **TIMES,
    },
    types.TargetingCampaign: {
        "campaign_id": "8wku2",
        "campaign_name": "Winter jackets",
        "line_items": [{"id": "8xdpe", "name": "Jackets", "servable": True}],
    },
    types.TargetingLineItem: {"id": "8xdpe", "name": "Jackets", "servable": False},
    types.DoNotReachList: {
        "id": "7b2f1",
        "name": "Unsubscribed",
        "description": "All of them",
        "targetable": False,
        "reasons_not_targetable": ["PROCESSING", "TOO_SMALL"],
        "list_size": 99,
        "deleted": True,
        **TIMES,
    },
    types.KeywordInsights: {"related_keywords": ["snow"], "tweet_volume": [0, 17]},
}
OF_ALL = [pytest.param(model, record, id=model.__name__) for model, record in FULL.items()]


def required(model: Any) -> set[str]:
    return {field.name for field in attrs.fields(model) if field.default is attrs.NOTHING}


@pytest.mark.parametrize(("model", "record"), OF_ALL)
def test_a_record_with_every_field_is_read_and_nothing_is_dropped(model: Any, record: dict[str, Any]) -> None:
    assert record.keys() == {field.name for field in attrs.fields(model) if field.init} - {"extra"}
    found = structure(record, model)
    assert_holds(found, record)
    assert found.extra == {}
    for field in attrs.fields(model):
        if field.name.endswith(("_at", "_time")):
            assert getattr(found, field.name).tzinfo is not None
        if field.name.endswith("_micro"):
            assert type(getattr(found, field.name)) is int
    (page,) = read_page(Page[model], {"data": [record], "next_cursor": None}).data
    assert page == found


@pytest.mark.parametrize(("model", "record"), OF_ALL)
def test_a_record_with_none_of_the_optional_fields_is_read(model: Any, record: dict[str, Any]) -> None:
    bare = {name: record[name] for name in required(model)}
    found = structure(bare, model)
    nulls = dict.fromkeys(record) | bare
    assert structure(nulls, model) == found == model(**bare)
    for name in record.keys() - bare.keys() - {"entity_data"}:
        assert getattr(found, name) in (None, (), {})


@pytest.mark.parametrize(("model", "record"), OF_ALL)
def test_an_id_alone_is_required(model: Any, record: dict[str, Any]) -> None:
    assert required(model) <= {"id", "campaign_id"}
    for name in required(model):
        with pytest.raises(DecodeError, match=f"at {name}: is missing"):
            structure({key: value for key, value in record.items() if key != name}, model)


@pytest.mark.parametrize(("model", "record"), OF_ALL)
def test_a_field_that_nobody_knows_is_kept(model: Any, record: dict[str, Any]) -> None:
    assert structure(record | {"brand_new": [1]}, model).extra == {"brand_new": [1]}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (types.Account, "industry_type"),
        (types.Account, "approval_status"),
        (types.HistoryEntry, "change_type"),
        (types.LineItem, "goal"),
        (types.LineItem, "bid_strategy"),
        (types.LineItem, "pay_by"),
        (types.LineItem, "entity_status"),
        (types.AudiencePermission, "permission_level"),
    ],
)
def test_a_value_that_nobody_knows_is_kept(model: Any, name: str) -> None:
    assert getattr(structure(FULL[model] | {name: "BRAND_NEW"}, model), name) == "BRAND_NEW"


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (types.LineItem, "bid_amount_local_micro", 1.5),
        (types.LineItem, "bid_amount_local_micro", "1.5"),
        (types.LineItem, "bid_amount_local_micro", True),
        (types.LineItem, "bid_amount_local_micro", 2.0**53),
        (types.LineItem, "placements", {}),
        (types.Account, "deleted", "gone"),
        (types.Account, "deleted", 1),
        (types.CuratedCategory, "publisher_user_ids", [1.8e19]),
        (types.KeywordInsights, "tweet_volume", [1.5]),
        (types.KeywordInsights, "tweet_volume", [1, None]),
        (types.TargetingCampaign, "line_items", {"name": "without an id"}),
    ],
)
def test_a_value_of_another_kind_is_named(model: Any, field: str, value: Any) -> None:
    with pytest.raises(DecodeError) as caught:
        structure(FULL[model] | {field: value}, model)
    assert caught.value.path.startswith(field)


def test_times_are_aware() -> None:
    item = structure(LINE_ITEM, types.LineItem)
    assert item.start_time == datetime.datetime(2024, 10, 1, tzinfo=datetime.UTC)
