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
COUNTED = [*COLLECTIONS, ads.ACCOUNT_HISTORY, line_items.CURATED_CATEGORIES, audiences.AUDIENCE_PERMISSIONS]


def broken(declared: Any, data: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(declared, data, now=NOW)]


def query(route: Route[Any], **parameters: Any) -> list[str]:
    return broken(route.query, REQUIRED.get(route, {}) | parameters)


# Collections (sections 4.1 and 8)


@pytest.mark.parametrize("route", COUNTED, ids=lambda route: route.path)
def test_a_page_has_1_to_1000_records(route: Route[Any]) -> None:
    for good in (1, 200, 1_000):
        assert query(route, count=good) == []
    assert query(route, count=0) == ["count: must be at least 1"]
    assert query(route, count=1_001) == ["count: must be at most 1000"]
    assert query(route, cursor="anything") == []


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


@pytest.mark.parametrize(
    ("route", "name"),
    [
        (ads.ACCOUNTS, "account_ids"),
        (audiences.AUDIENCE_PERMISSIONS, "granted_account_ids"),
        (audiences.AUDIENCE_PERMISSIONS, "tailored_audience_permission_ids"),
    ],
)
def test_a_filter_takes_1_to_200_ids(route: Route[Any], name: str) -> None:
    assert query(route, **{name: ["a"]}) == query(route, **{name: ["a"] * 200}) == []
    assert query(route, **{name: ["a"] * 201}) == [f"{name}: must have at most 200 items"]
    assert query(route, **{name: []}) == [f"{name}: must have at least 1 item"]
    assert query(route, **{name: "a"}) == [f"{name}: must be an array"]
    for wrong in ("", "a,b", " "):
        (found,) = query(route, **{name: ["a", wrong]})
        assert found.startswith(f"{name}[1]: must be an id")


@pytest.mark.parametrize(
    ("route", "name"),
    [
        (ads.ACCOUNT, "count"),
        (ads.FEATURES, "cursor"),
        (ads.ACCOUNT_HISTORY, "with_total_count"),
        (line_items.CURATED_CATEGORIES, "with_total_count"),
        (audiences.TARGETED, "count"),
        (audiences.AUDIENCE_PERMISSIONS, "with_deleted"),
    ],
)
def test_what_an_endpoint_does_not_take_is_refused(route: Route[Any], name: str) -> None:
    assert query(route, **{name: 1}) == [f"{name}: is not a field of this object"]


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


def test_another_industry_is_refused() -> None:
    assert len(broken(ads.ACCOUNT_UPDATE.body, {"industry_type": "SPACE"})) == 1
    assert len(broken(ads.ACCOUNT_UPDATE.body, {"name": ""})) == 1
    assert broken(ads.ACCOUNT_UPDATE.body, {"timezone": "UTC"}) == ["timezone: is not a field of this object"]
    assert query(ads.ACCOUNTS, q="nor") == []
    assert query(ads.ACCOUNTS, q=5) == ["q: must be a string"]


@pytest.mark.parametrize("key", ["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP", "WEBSITE_CLICKS_CPM_BILLING"])
def test_features_are_asked_for_by_three_keys(key: str) -> None:
    assert query(ads.FEATURES, feature_keys=[key]) == []
    assert len(query(ads.FEATURES, feature_keys=[key, "MAGIC"])) == 1


def test_features_are_added_by_any_key_and_at_least_one() -> None:
    assert broken(ads.SANDBOX_FEATURES_ADD.body, {"feature_keys": ["MOBILE_CONVERSION_TRANSACTION_VALUE"]}) == []
    assert broken(ads.SANDBOX_FEATURES_ADD.body, {}) == ["feature_keys: is required"]
    assert len(broken(ads.SANDBOX_FEATURES_ADD.body, {"feature_keys": []})) == 1
    for wrong in ("", "A,B", "A B", "\t"):
        assert broken(ads.SANDBOX_FEATURES_ADD.body, {"feature_keys": ["A", wrong]}) == [
            "feature_keys[1]: must not be empty or contain spaces or commas"
        ]


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


def test_the_time_of_a_history_runs_forward() -> None:
    assert query(ads.ACCOUNT_HISTORY, end_time="2025-01-06T01:00:00Z") == []
    for end in ("2025-01-06T00:00:00Z", "2025-01-05T23:00:00Z"):
        assert query(ads.ACCOUNT_HISTORY, end_time=end) == ["end_time: must be later than start_time"]


def test_a_user_is_a_number_of_up_to_63_bits_as_text_or_number() -> None:
    for good in ("2244994945", 2_244_994_945, 0, "0", "000", "0" * 30 + "7", str(2**63 - 1), 2**63 - 1):
        assert query(ads.ACCOUNT_HISTORY, user_id=good) == []
    for wrong in ("", str(2**63), "9" * 19, "9" * 10_000, "-1", "1.5", "\u0661", "1_0", -1, 2**63, True, 1.5):
        assert query(ads.ACCOUNT_HISTORY, user_id=wrong) in (
            ["user_id: must be a whole number of at most 9223372036854775807"],
            ["user_id: must be a string"],
        )


# Categories (sections 4.3 and 4.5)


def test_a_country_is_two_capital_letters() -> None:
    assert query(line_items.CURATED_CATEGORIES, country_codes=["US", "GB"]) == []
    for wrong in ("us", "USA", "U", ""):
        (found,) = query(line_items.CURATED_CATEGORIES, country_codes=["US", wrong])
        assert found == "country_codes[1]: must be a country code of two capital letters"
    assert len(query(line_items.CURATED_CATEGORIES, country_codes=[])) == 1


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


def test_there_are_at_most_10_keywords_of_both_kinds_together() -> None:
    says = "keywords: must be at most 10 together with negative_keywords"
    assert insights(keywords=["k"] * 10) == insights(keywords=["k"] * 7, negative_keywords=["n"] * 3) == []
    assert insights(keywords=["k"] * 11) == insights(keywords=["k"] * 7, negative_keywords=["n"] * 4) == [says]


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


# Audiences (sections 4.7 and 4.8)


@pytest.mark.parametrize("level", ["READ_ONLY", "READ_WRITE"])
def test_a_permission_has_one_of_two_levels(level: str) -> None:
    declared = audiences.AUDIENCE_PERMISSION_CREATE.body
    assert broken(declared, {"granted_account_id": "a", "permission_level": level}) == []
    assert len(broken(declared, {"granted_account_id": "a", "permission_level": level.lower()})) == 1
    assert broken(declared, {}) == ["granted_account_id: is required", "permission_level: is required"]
    assert len(broken(declared, {"granted_account_id": "", "permission_level": level})) == 1
