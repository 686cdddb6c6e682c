"""The rules about changing a line item at their edges (section 4.4), alone and with the line item as it is."""

import datetime
from typing import Any

import pytest

from socialapi.models.line_items import LineItemUpdate, rules_with_campaign, rules_with_stored
from socialapi.models.validation import broken_rules

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
BID, STRATEGY, GOAL = "bid_amount_local_micro", "bid_strategy", "goal"
TOTAL, DAILY = "total_budget_amount_local_micro", "daily_budget_amount_local_micro"
ANDROID, IOS = "android_app_store_identifier", "ios_app_store_identifier"
LARGEST = 9_223_372_036_854_775_807


def broken(**changes: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(LineItemUpdate, changes, now=NOW)]


def with_stored(
    changes: dict[str, Any], budget_optimization: str | None = None, **stored: Any
) -> list[tuple[str, str]]:
    return [(rule.path, rule.code) for rule in rules_with_stored(changes, stored, budget_optimization)]


WRONG, MISSING = "INVALID_PARAMETER", "MISSING_PARAMETER"


# Values by themselves


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("audience_expansion", ["BROAD", "DEFINED", "EXPANDED"]),
        (STRATEGY, ["AUTO", "MAX", "TARGET"]),
        ("duration_in_days", [1, 7, 30]),
        ("entity_status", ["ACTIVE", "PAUSED"]),
        (
            GOAL,
            [
                *("APP_CLICKS", "APP_INSTALLS", "APP_PURCHASES", "ENGAGEMENT", "FOLLOWERS", "LINK_CLICKS", "MAX_REACH"),
                *("PREROLL", "PREROLL_STARTS", "REACH_WITH_ENGAGEMENT", "VIDEO_VIEW", "VIEW_3S_100PCT", "VIEW_6S"),
                *("VIEW_15S", "WEBSITE_CONVERSIONS"),
            ],
        ),
        ("pay_by", ["APP_CLICK", "IMPRESSION", "LINK_CLICK"]),
    ],
)
def test_a_value_is_one_of_those_that_are_documented(name: str, values: list[Any]) -> None:
    for value in values:
        assert broken(**{name: value}) == []
    for wrong in ("NONE", "auto", 2, 0, 31, True):
        (found,) = broken(**{name: wrong})
        assert found == f"{name}: must be one of {', '.join(map(str, values))}"


@pytest.mark.parametrize(
    ("name", "fine", "wrong"),
    [
        (BID, [1, 5_500_000, LARGEST, None], [0, -1, 1.5, "5", True, LARGEST + 1]),
        (TOTAL, [0, 5_500_000, LARGEST, None], [-1, 5.5, "5", LARGEST + 1]),
        (DAILY, [0, 5_500_000, LARGEST, None], [-1, 5.5, "5", LARGEST + 1]),
        (
            "advertiser_domain",
            ["example.com", "shop-1.Example.co.uk", "xn--bcher-kva.example", None],
            [
                *(
                    "https://example.com",
                    "example.com/shop",
                    "a b.com",
                    "",
                    "a,b",
                    "a_b.com",
                    "bücher.example",
                    "٣.com",
                ),
                *("example.com.", "a..b", ".com", "me@example.com", "example.com:80", "example.com\n"),
            ],
        ),
        ("categories", [["IAB1"], ["IAB1-2", "IAB2"], [], None], ["IAB1", [1], [""], ["IAB1", " "], ["IAB1,IAB2"]]),
        ("frequency_cap", [1, None], [0, -1, "1", 1.5]),
        ("start_time", ["2026-01-31T09:00:00Z"], ["2026-01-31", "2026-01-31T09:00:00+01:00", None]),
        ("end_time", ["2026-01-31T09:00:00Z", None], ["soon"]),
        ("name", ["Jackets", " "], [None, 5, ""]),
        ("advertiser_user_id", ["17", None], [17, "", "1,7"]),
        (ANDROID, ["com.example", None], [5, ""]),
        (IOS, ["1234567890", None], [1_234_567_890, ""]),
        ("entity_status", [], [None]),
        ("duration_in_days", [None], [8]),
        ("objective", [], ["REACH"]),
        ("currency", [], ["EUR"]),
    ],
)
def test_a_value_is_of_its_kind_and_within_its_bounds(name: str, fine: list[Any], wrong: list[Any]) -> None:
    for value in fine:
        assert broken(**{name: value}) == []
    for value in wrong:
        (found,) = broken(**{name: value})
        assert found.startswith(name)


# What is sent together


def test_a_bid_that_is_cleared_does_not_go_with_a_strategy_that_needs_one() -> None:
    for strategy in ("MAX", "TARGET"):
        assert broken(bid_strategy=strategy, bid_amount_local_micro=1) == []
        assert broken(bid_strategy=strategy, bid_amount_local_micro=None) == [
            f"{BID}: is required with bid_strategy {strategy}"
        ]
        # It may be stored.
        assert broken(bid_strategy=strategy) == []
    assert broken(bid_strategy="AUTO", bid_amount_local_micro=None) == broken(bid_amount_local_micro=None) == []
    assert broken(bid_strategy="AUTO", bid_amount_local_micro=5) == []


def test_a_daily_budget_is_at_most_the_total_one() -> None:
    assert broken(**{DAILY: 7, TOTAL: 7}) == broken(**{DAILY: 8}) == broken(**{DAILY: 8, TOTAL: None}) == []
    assert broken(**{DAILY: 8, TOTAL: 7}) == [f"{DAILY}: must be at most {TOTAL}"]


def test_link_clicks_are_not_paid_by_impression_with_a_target() -> None:
    together = {GOAL: "LINK_CLICKS", "pay_by": "IMPRESSION", STRATEGY: "TARGET"}
    assert broken(**together) == ["pay_by: cannot be IMPRESSION with the goal LINK_CLICKS and the bid strategy TARGET"]
    for name, other in ((GOAL, "MAX_REACH"), ("pay_by", "LINK_CLICK"), (STRATEGY, "MAX")):
        assert broken(**together | {name: other}) == []


# With the line item as it is


@pytest.mark.parametrize("strategy", ["MAX", "TARGET"])
def test_the_bid_may_be_stored(strategy: str) -> None:
    objective = "WEBSITE_CLICKS"
    stored: dict[str, Any] = {"objective": objective, BID: 1_250_000}
    assert with_stored({STRATEGY: strategy}, **stored) == []
    assert with_stored({STRATEGY: strategy}, objective=objective) == [(BID, MISSING)]
    assert with_stored({BID: None}, **stored, bid_strategy=strategy) == [(BID, MISSING)]
    assert with_stored({BID: None, STRATEGY: "AUTO"}, **stored, bid_strategy=strategy) == []


@pytest.mark.parametrize(
    ("strategy", "refused"),
    [
        ("MAX", {"REACH", "FOLLOWERS"}),
        (
            "TARGET",
            {"FOLLOWERS", "ENGAGEMENTS", "VIDEO_VIEWS", "PREROLL_VIEWS", "APP_INSTALLS", "APP_ENGAGEMENTS"},
        ),
        ("AUTO", set()),
    ],
)
def test_a_strategy_goes_with_its_objectives(strategy: str, refused: set[str]) -> None:
    objectives = {
        *("REACH", "FOLLOWERS", "WEBSITE_CLICKS", "ENGAGEMENTS", "VIDEO_VIEWS", "PREROLL_VIEWS"),
        *("APP_INSTALLS", "APP_ENGAGEMENTS"),
    }
    found = {objective for objective in objectives if with_stored({STRATEGY: strategy, BID: 1}, objective=objective)}
    assert found == refused


@pytest.mark.parametrize("objective", ["REACH", "ENGAGEMENTS", "VIDEO_VIEWS", "PREROLL_VIEWS"])
def test_four_objectives_take_a_frequency_cap(objective: str) -> None:
    assert with_stored({"frequency_cap": 1}, objective=objective) == []


@pytest.mark.parametrize("objective", ["WEBSITE_CLICKS", "FOLLOWERS", "APP_INSTALLS", "APP_ENGAGEMENTS"])
def test_other_objectives_take_none(objective: str) -> None:
    assert with_stored({"frequency_cap": 1}, objective=objective) == [("frequency_cap", WRONG)]
    assert with_stored({"frequency_cap": None}, objective=objective) == []


def test_what_is_paid_for_changes_for_app_installs_only() -> None:
    change = {"pay_by": "IMPRESSION"}
    assert with_stored(change, objective="APP_INSTALLS", pay_by="APP_CLICK") == []
    assert with_stored(change, objective="REACH", pay_by="APP_CLICK") == [("pay_by", WRONG)]
    assert with_stored(change, objective="REACH", pay_by="IMPRESSION") == []


def test_of_what_is_paid_for_only_one_thing_is_said() -> None:
    stored: dict[str, Any] = {
        "objective": "WEBSITE_CLICKS",
        "pay_by": "LINK_CLICK",
        GOAL: "LINK_CLICKS",
        STRATEGY: "TARGET",
        BID: 1,
    }
    assert with_stored({"pay_by": "IMPRESSION"}, **stored) == [("pay_by", WRONG)]
    assert with_stored({STRATEGY: "TARGET"}, **stored | {"pay_by": "IMPRESSION", STRATEGY: "MAX"}) == [
        ("pay_by", WRONG)
    ]


@pytest.mark.parametrize("objective", ["APP_INSTALLS", "APP_ENGAGEMENTS"])
def test_an_app_keeps_one_of_its_identifiers(objective: str) -> None:
    stored: dict[str, Any] = {"objective": objective, ANDROID: "com.example", IOS: "1"}
    assert with_stored({ANDROID: None}, **stored) == with_stored({IOS: None}, **stored) == []
    assert with_stored({ANDROID: None, IOS: None}, **stored) == [(IOS, MISSING)]
    assert with_stored({ANDROID: None, IOS: None}, **stored | {"objective": "REACH"}) == []


def test_the_publisher_network_needs_a_domain_and_categories() -> None:
    stored: dict[str, Any] = {
        "placements": ["PUBLISHER_NETWORK"],
        "advertiser_domain": "example.com",
        "categories": ["IAB1"],
    }
    assert with_stored({"advertiser_domain": "example.org", "categories": ["IAB2"]}, **stored) == []
    cleared: dict[str, Any] = {"advertiser_domain": None, "categories": []}
    assert with_stored(cleared, **stored) == [("advertiser_domain", MISSING), ("categories", MISSING)]
    assert with_stored(cleared, **stored | {"placements": ["ALL_ON_TWITTER"]}) == []


@pytest.mark.parametrize("optimization", [None, "LINE_ITEM"])
def test_a_daily_budget_goes_with_line_items_that_have_budgets_of_their_own(optimization: str | None) -> None:
    assert with_stored({DAILY: 5}, optimization, **{TOTAL: 5}) == []
    assert with_stored({DAILY: 6}, optimization, **{TOTAL: 5}) == [(DAILY, WRONG)]
    assert with_stored({TOTAL: 4}, optimization, **{DAILY: 5}) == [(DAILY, WRONG)]


def test_a_campaign_that_has_the_budget_takes_no_daily_one_of_a_line_item() -> None:
    assert with_stored({DAILY: 5}, "CAMPAIGN") == [(DAILY, WRONG)]
    assert with_stored({DAILY: None}, "CAMPAIGN") == with_stored({TOTAL: 5}, "CAMPAIGN") == []
    assert len(list(rules_with_campaign({DAILY: 5}, "CAMPAIGN"))) == 1
    assert list(rules_with_campaign({DAILY: 5}, None)) == []


BROKEN_ALREADY: dict[str, Any] = {
    "objective": "APP_INSTALLS",
    STRATEGY: "TARGET",
    GOAL: "LINK_CLICKS",
    "pay_by": "IMPRESSION",
    "frequency_cap": 3,
    TOTAL: 1,
    DAILY: 2,
    "placements": ["PUBLISHER_NETWORK"],
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"name": "x", "entity_status": "PAUSED"},
        {"start_time": "2026-01-31T09:00:00Z", "end_time": None},
        {"duration_in_days": 7, "audience_expansion": "BROAD", "advertiser_user_id": None},
    ],
)
def test_what_is_wrong_already_does_not_stand_in_the_way_of_another_change(changes: dict[str, Any]) -> None:
    assert with_stored(changes, "CAMPAIGN", **BROKEN_ALREADY) == []


def test_each_change_is_held_against_its_own_rules_only() -> None:
    assert with_stored({BID: None}, **BROKEN_ALREADY) == [(BID, MISSING)]
    assert with_stored({DAILY: 3}, **BROKEN_ALREADY) == [(DAILY, WRONG)]
    assert with_stored({"categories": ["IAB1"]}, **BROKEN_ALREADY) == []
    assert with_stored({GOAL: "LINK_CLICKS"}, **BROKEN_ALREADY) == [("pay_by", WRONG)]
    assert with_stored({IOS: None}, **BROKEN_ALREADY) == [(IOS, MISSING)]


def test_nothing_is_concluded_from_what_the_record_does_not_say() -> None:
    changes = {STRATEGY: "TARGET", BID: 1, "frequency_cap": 1, "pay_by": "IMPRESSION", IOS: None, "categories": None}
    assert with_stored(changes) == with_stored(changes, objective=None, placements=None) == []


@pytest.mark.parametrize("objective", [None, "PREROLL_VIEWS", "REACH", "VIDEO_VIEWS"])
def test_an_advertiser_is_named_for_prerolls_only(objective: str | None) -> None:
    """Section 4.4: the platform user id promoting a PREROLL_VIEWS ad. An unknown objective breaks no rule."""
    broken = [] if objective in (None, "PREROLL_VIEWS") else [("advertiser_user_id", "INVALID_PARAMETER")]
    assert with_stored({"advertiser_user_id": "17"}, objective=objective) == broken
    assert with_stored({"advertiser_user_id": None}, objective=objective) == []
