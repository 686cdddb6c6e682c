"""The rules of advertising requests at their edges, with the literal values of the documentation."""

import datetime
from typing import Any

import pytest

from socialapi.models.insights import range_until_now
from socialapi.models.validation import broken_rules
from socialapi.routes import ads, audiences, line_items
from socialapi.routes.route import Route

NOW = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
HISTORY = {
    "entity_type": "CAMPAIGN",
    "entity_id": "8wku2",
    "start_time": "2025-01-06T00:00:00Z",
    "end_time": "2025-01-07T00:00:00Z",
}
INSIGHTS = {"granularity": "DAY", "keywords": ["ski"], "start_time": "2026-05-30T00:00:00Z"}
REQUIRED: dict[Route[Any], dict[str, Any]] = {ads.ACCOUNT_HISTORY: HISTORY}
COLLECTIONS = [ads.ACCOUNTS, ads.ACCOUNT_APPS, line_items.LINE_ITEM_CURATED_CATEGORIES]


def broken(declared: Any, data: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(declared, data, now=NOW)]


def query(route: Route[Any], **parameters: Any) -> list[str]:
    return broken(route.query, REQUIRED.get(route, {}) | parameters)


# Collections (sections 4.1 and 8)


@pytest.mark.parametrize("route", [*COLLECTIONS, audiences.AUDIENCE_PERMISSIONS], ids=lambda route: route.path)
def test_a_total_count_does_not_go_with_a_cursor(route: Route[Any]) -> None:
    assert query(route, with_total_count=True) == []
    assert query(route, with_total_count=False, cursor="c") == []
    assert query(route, with_total_count=True, cursor="c") == ["with_total_count: cannot be combined with cursor"]
    (rule,) = broken_rules(route.query, {"with_total_count": True, "cursor": "c"}, now=NOW)
    assert rule.code == "EXCLUSIVE_PARAMETERS"


@pytest.mark.parametrize("route", [*COLLECTIONS, audiences.AUDIENCE_PERMISSIONS], ids=lambda route: route.path)
def test_an_order_is_an_attribute_with_its_direction(route: Route[Any]) -> None:
    assert query(route, sort_by="created_at-asc") == query(route, sort_by="id-desc") == []
    for wrong in ("created_at", "created_at-up", "-asc", "created_at asc"):
        assert query(route, sort_by=wrong)[0].startswith("sort_by: must be an attribute with -asc or -desc")


# Accounts (section 4.2)


@pytest.mark.parametrize(
    "industry",
    [
        *("AGENCY", "BUSINESS_TO_BUSINESS", "ONLINE_SERVICES", "EDUCATION", "FINANCIAL", "HEALTH", "GOVERNMENT"),
        *("MEDIA", "MOBILE", "RESTAURANT", "RETAIL", "TECHNOLOGY", "TRAVEL", "OTHER"),
    ],
)
def test_an_account_is_of_one_of_14_industries(industry: str) -> None:
    assert broken(ads.ACCOUNT_UPDATE.body, {"industry_type": industry, "name": "n"}) == []


@pytest.mark.parametrize("key", ["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"])
def test_features_are_asked_for_by_three_keys(key: str) -> None:
    assert query(ads.FEATURES, feature_keys=[key]) == []
    assert len(query(ads.FEATURES, feature_keys=[key, "MAGIC"])) == 1


@pytest.mark.parametrize("name", ["entity_type", "entity_id", "start_time", "end_time"])
def test_history_needs_an_entity_and_two_times(name: str) -> None:
    assert broken(ads.ACCOUNT_HISTORY.query, HISTORY) == []
    rest = {each: value for each, value in HISTORY.items() if each != name}
    assert broken(ads.ACCOUNT_HISTORY.query, rest) == [f"{name}: is required"]


def test_history_is_of_an_entity_with_an_id() -> None:
    for wrong in ("", "a,b", 5):
        (found,) = query(ads.ACCOUNT_HISTORY, entity_id=wrong)
        assert found.startswith("entity_id: must be ")


@pytest.mark.parametrize(
    "entity", ["CAMPAIGN", "LINE_ITEM", "PROMOTED_TWEET", "TARGETING_CRITERIA", "PROMOTED_ACCOUNT"]
)
def test_history_is_of_one_of_five_entities(entity: str) -> None:
    assert query(ads.ACCOUNT_HISTORY, entity_type=entity) == []
    assert len(query(ads.ACCOUNT_HISTORY, entity_type=entity.lower())) == 1


@pytest.mark.parametrize(
    "hour", ["2025-01-06T00:00:00Z", "2025-01-06T00:00:00.000Z", "2025-01-06T00:00+00:00", "2025-01-06T00Z"]
)
def test_a_whole_hour_can_be_written_in_several_ways(hour: str) -> None:
    assert query(ads.ACCOUNT_HISTORY, start_time=hour) == []


@pytest.mark.parametrize(
    "time", ["2025-01-06T00:00:01Z", "2025-01-06T00:01:00Z", "2025-01-06T00:59:59Z", "2025-01-06T00:00:00.000001Z"]
)
def test_another_time_is_no_whole_hour(time: str) -> None:
    says = "must be a whole hour in UTC: no minutes, no seconds"
    assert query(ads.ACCOUNT_HISTORY, start_time=time) == [f"start_time: {says}"]
    assert query(ads.ACCOUNT_HISTORY, end_time="2025-01-07" + time[10:]) == [f"end_time: {says}"]


def test_a_user_is_a_number_of_up_to_63_bits_as_text_or_number() -> None:
    for good in ("2244994945", 2_244_994_945, 0, "0", "000", "0" * 30 + "7", str(2**63 - 1), 2**63 - 1):
        assert query(ads.ACCOUNT_HISTORY, user_id=good) == []
    for wrong in ("", str(2**63), "9" * 19, "9" * 10_000, "-1", "1.5", "\u0661", "1_0", -1, 2**63, True, 1.5):
        assert query(ads.ACCOUNT_HISTORY, user_id=wrong) in (
            ["user_id: must be a whole number of at most 9223372036854775807"],
            ["user_id: must be a string"],
        )


# Categories (sections 4.3 and 4.5)


def test_a_new_pair_needs_both_and_a_change_neither() -> None:
    pair = {"line_item_id": "1", "curated_category_id": "2"}
    create, update = (
        line_items.LINE_ITEM_CURATED_CATEGORY_CREATE.body,
        line_items.LINE_ITEM_CURATED_CATEGORY_UPDATE.body,
    )
    assert broken(create, pair) == broken(update, pair) == broken(update, {}) == []
    assert broken(create, {}) == ["curated_category_id: is required", "line_item_id: is required"]
    assert len(broken(update, {"line_item_id": None})) == 1
    for declared in (create, update):
        for name in pair:
            for wrong in ("", "a,b", "a b"):
                (found,) = broken(declared, pair | {name: wrong})
                assert found.startswith(f"{name}: must be an id")


# Keyword insights (section 4.6)


def insights(**parameters: Any) -> list[str]:
    return broken(line_items.KEYWORD_INSIGHTS.query, INSIGHTS | parameters)


def until_now(start: str, **parameters: Any) -> list[str]:
    return [str(rule) for rule in range_until_now({"start_time": start, **parameters}, NOW)]


def test_insights_need_keywords_a_granularity_and_a_start() -> None:
    assert insights() == insights(granularity="HOUR") == insights(location="96683cc9126741d1") == []
    assert len(insights(granularity="WEEK")) == 1
    assert broken(line_items.KEYWORD_INSIGHTS.query, {}) == [
        "granularity: is required",
        "keywords: is required",
        "start_time: is required",
    ]
    assert insights(keywords=[]) == ["keywords: must have at least 1 item"]


@pytest.mark.parametrize("name", ["keywords", "negative_keywords"])
def test_a_keyword_has_something_in_it_and_no_comma(name: str) -> None:
    assert insights(**{name: ["ski pass", "été"]}) == []
    for wrong in ("a,b", "", " "):
        (found,) = insights(**{name: ["k", wrong]})
        assert found.startswith(f"{name}: must have no empty keyword and no comma")


def test_a_range_is_at_most_7_days() -> None:
    says = "end_time: must be at most 7 days after start_time"
    assert insights(start_time="2026-05-20T00:00:00Z", end_time="2026-05-27T00:00:00Z") == []
    assert insights(start_time="2026-05-20T00:00:00Z", end_time="2026-05-27T00:00:01Z") == [says]
    # Without an end it is now, by the clock of the service alone.
    assert insights(start_time="2020-01-01T00:00:00Z") == insights(start_time="2030-01-01T00:00:00Z") == []
    assert until_now("2026-05-25T12:00:00Z") == []
    assert until_now("2026-05-25T11:59:59Z") == ["start_time: must be at most 7 days ago if no end_time is given"]
    assert until_now("2026-05-20T00:00:00Z", end_time="2026-05-27T00:00:00Z") == []
