"""Line items, curated categories and the rules about them."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypedDict

import attrs
from annotated_types import Ge, Gt, Le, MinLen

from socialapi.models.model import Model
from socialapi.models.money import LARGEST, Micros
from socialapi.models.queries import TOTAL_OR_CURSOR, CollectionQuery, CountQuery, Element, Id
from socialapi.models.validation import Conditions, ListOf, Pattern
from socialapi.problems import BrokenRule

BidStrategy = Literal["AUTO", "MAX", "TARGET"]
PayBy = Literal["APP_CLICK", "IMPRESSION", "LINK_CLICK"]
Goal = Literal[
    "APP_CLICKS",
    "APP_INSTALLS",
    "APP_PURCHASES",
    "ENGAGEMENT",
    "FOLLOWERS",
    "LINK_CLICKS",
    "MAX_REACH",
    "PREROLL",
    "PREROLL_STARTS",
    "REACH_WITH_ENGAGEMENT",
    "VIDEO_VIEW",
    "VIEW_3S_100PCT",
    "VIEW_6S",
    "VIEW_15S",
    "WEBSITE_CONVERSIONS",
]
Domain = Annotated[
    str,
    Pattern(
        r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*",
        "must be a domain without a protocol, of letters, digits, dots and hyphens (others as xn--…), for example example.com",
    ),
]
BudgetOptimization = Literal["CAMPAIGN", "LINE_ITEM"]
EntityStatus = Literal["ACTIVE", "PAUSED"]
AudienceExpansion = Literal["BROAD", "DEFINED", "EXPANDED"]
Amount = Annotated[int, Ge(0), Le(LARGEST)]

AmountField = Literal[
    "bid_amount",
    "bid_amount_local_micro",
    "total_budget_amount",
    "total_budget_amount_local_micro",
    "daily_budget_amount",
    "daily_budget_amount_local_micro",
    "target_cpa",
    "target_cpa_local_micro",
]

CAPPED_OBJECTIVES: Final = frozenset({"REACH", "ENGAGEMENTS", "VIDEO_VIEWS", "PREROLL_VIEWS"})
APP_OBJECTIVES: Final = frozenset({"APP_INSTALLS", "APP_ENGAGEMENTS"})
NOT_FOR_MAX: Final = frozenset({"REACH", "FOLLOWERS"})
FOR_TARGET: Final = frozenset({"REACH", "WEBSITE_CLICKS"})


@attrs.define(kw_only=True)
class LineItem(Model):
    """A line item.

    Amounts are millionths of a unit of `currency`; `money` returns them as exact decimals.
    """

    id: str
    campaign_id: str | None = None
    name: str | None = None
    objective: str | None = None
    product_type: str | None = None
    goal: Goal | str | None = None
    bid_strategy: BidStrategy | str | None = None
    bid_amount_local_micro: int | None = None
    pay_by: PayBy | str | None = None
    currency: str | None = None
    placements: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    start_time: datetime.datetime | None = None
    end_time: datetime.datetime | None = None
    duration_in_days: int | None = None
    frequency_cap: int | None = None
    total_budget_amount_local_micro: int | None = None
    daily_budget_amount_local_micro: int | None = None
    entity_status: EntityStatus | str | None = None
    creative_source: str | None = None
    advertiser_user_id: str | None = None
    advertiser_domain: str | None = None
    android_app_store_identifier: str | None = None
    ios_app_store_identifier: str | None = None
    target_cpa_local_micro: int | None = None
    primary_web_event_tag: str | None = None
    standard_delivery: bool | None = None
    automatic_tweet_promotion: bool | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None

    def money(self, field: AmountField) -> Micros | None:
        """Returns an amount with its currency; None if either is missing. `_local_micro` is optional in the name."""
        value: int | None = getattr(self, f"{field.removesuffix('_local_micro')}_local_micro")
        return None if value is None or self.currency is None else Micros(value, self.currency)


class LineItemChanges(TypedDict, total=False):
    """The fields of a line item that can be changed. None clears a value; amounts are millionths."""

    advertiser_domain: Domain | None
    """Required while PUBLISHER_NETWORK is among the placements."""
    advertiser_user_id: Id | None
    android_app_store_identifier: Id | None
    ios_app_store_identifier: Id | None
    audience_expansion: AudienceExpansion | None
    bid_amount_local_micro: Annotated[int, Gt(0), Le(LARGEST)] | None
    """Required with the strategies MAX and TARGET; ignored with AUTO."""
    bid_strategy: BidStrategy
    categories: ListOf[Element] | None
    """IAB categories, required while PUBLISHER_NETWORK is among the placements."""
    duration_in_days: Literal[1, 7, 30] | None
    """The number of days over which `frequency_cap` applies."""
    entity_status: EntityStatus
    start_time: datetime.datetime
    end_time: datetime.datetime | None
    frequency_cap: Annotated[int, Ge(1)] | None
    goal: Goal
    name: Annotated[str, MinLen(1)]
    pay_by: PayBy
    total_budget_amount_local_micro: Amount | None
    daily_budget_amount_local_micro: Amount | None
    """At most the total budget. Allowed only if the campaign's budget is optimized by line item."""


def rules_within_change(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    """Yields the violations among the fields of one change. Does not check fields that are not sent."""
    if "bid_amount_local_micro" in data:
        yield from _bid_is_there(data)
    yield from _daily_within_total(data)
    yield from _payment_goes_with_goal(data)


LineItemUpdate = Annotated[LineItemChanges, Conditions(rules_within_change)]


def rules_with_stored(
    changes: Mapping[str, Any], stored: Mapping[str, Any], budget_optimization: str | None = None
) -> Iterator[BrokenRule]:
    """Yields the violations of rules that depend on the stored line item and its campaign.

    A rule applies only if the change touches one of its fields, so that existing invalid values do not block other
    changes. An unknown objective does not break any rule.
    """
    after = {**stored, **changes}
    if _touches(changes, "bid_strategy", "bid_amount_local_micro"):
        yield from _bid_is_there(after)
    if _touches(changes, "bid_strategy"):
        yield from _strategy_goes_with_objective(after)
    if _touches(changes, "daily_budget_amount_local_micro", "total_budget_amount_local_micro"):
        yield from _daily_within_total(after)
    yield from rules_with_campaign(changes, budget_optimization)
    if _touches(changes, "frequency_cap"):
        yield from _cap_goes_with_objective(after)
    if _touches(changes, "goal", "pay_by", "bid_strategy"):
        yield from _payment(changes, stored)
    if "PUBLISHER_NETWORK" in (after.get("placements") or ()):
        for name in ("advertiser_domain", "categories"):
            if name in changes and not after[name]:
                reason = "is required where PUBLISHER_NETWORK is among the placements"
                yield BrokenRule(path=name, reason=reason, code="MISSING_PARAMETER")
    if _touches(changes, "android_app_store_identifier", "ios_app_store_identifier"):
        yield from _an_app_is_named(after)
    yield from _advertiser_goes_with_objective(changes, after)


def rules_with_campaign(changes: Mapping[str, Any], budget_optimization: str | None) -> Iterator[BrokenRule]:
    """Yields the violation of the rule that depends only on the campaign's budget optimization."""
    if changes.get("daily_budget_amount_local_micro") is not None and budget_optimization not in (None, "LINE_ITEM"):
        reason = "is only for campaigns whose budget_optimization is LINE_ITEM"
        yield BrokenRule(path="daily_budget_amount_local_micro", reason=reason)


def _touches(changes: Mapping[str, Any], *names: str) -> bool:
    return not changes.keys().isdisjoint(names)


def _advertiser_goes_with_objective(changes: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[BrokenRule]:
    if changes.get("advertiser_user_id") is not None and after.get("objective") not in (None, "PREROLL_VIEWS"):
        yield BrokenRule(path="advertiser_user_id", reason="is only for the objective PREROLL_VIEWS")


def _bid_is_there(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    strategy = data.get("bid_strategy")
    if strategy in ("MAX", "TARGET") and data.get("bid_amount_local_micro") is None:
        reason = f"is required with bid_strategy {strategy}"
        yield BrokenRule(path="bid_amount_local_micro", reason=reason, code="MISSING_PARAMETER")


def _strategy_goes_with_objective(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    strategy, objective = data.get("bid_strategy"), data.get("objective")
    if strategy == "MAX" and objective in NOT_FOR_MAX:
        yield BrokenRule(path="bid_strategy", reason=f"cannot be MAX with the objective {objective}")
    if strategy == "TARGET" and objective is not None and objective not in FOR_TARGET:
        yield BrokenRule(path="bid_strategy", reason="can be TARGET with the objectives REACH and WEBSITE_CLICKS only")


def _daily_within_total(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    daily, total = data.get("daily_budget_amount_local_micro"), data.get("total_budget_amount_local_micro")
    if daily is not None and total is not None and daily > total:
        yield BrokenRule(
            path="daily_budget_amount_local_micro", reason="must be at most total_budget_amount_local_micro"
        )


def _cap_goes_with_objective(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    objective = data.get("objective")
    if data.get("frequency_cap") is not None and objective is not None and objective not in CAPPED_OBJECTIVES:
        reason = f"is only for the objectives {', '.join(sorted(CAPPED_OBJECTIVES))}"
        yield BrokenRule(path="frequency_cap", reason=reason)


def _payment(changes: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[BrokenRule]:
    """Yields the violations that involve payment and goal, or a single one if the payment cannot be changed."""
    objective = stored.get("objective")
    is_changed = "pay_by" in changes and changes["pay_by"] != stored.get("pay_by")
    if is_changed and objective not in (None, "APP_INSTALLS"):
        yield BrokenRule(path="pay_by", reason="can be changed for the objective APP_INSTALLS only")
    else:
        yield from _payment_goes_with_goal({**stored, **changes})


def _payment_goes_with_goal(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    if (data.get("goal"), data.get("pay_by"), data.get("bid_strategy")) == ("LINK_CLICKS", "IMPRESSION", "TARGET"):
        reason = "cannot be IMPRESSION with the goal LINK_CLICKS and the bid strategy TARGET"
        yield BrokenRule(path="pay_by", reason=reason)


def _an_app_is_named(data: Mapping[str, Any]) -> Iterator[BrokenRule]:
    identifiers = (data.get("android_app_store_identifier"), data.get("ios_app_store_identifier"))
    if data.get("objective") in APP_OBJECTIVES and not any(identifiers):
        reason = f"or android_app_store_identifier is required for the objective {data['objective']}"
        yield BrokenRule(path="ios_app_store_identifier", reason=reason, code="MISSING_PARAMETER")


CountryCode = Annotated[str, Pattern("[A-Z]{2}", "must be a country code of two capital letters")]


@attrs.define(kw_only=True)
class BusinessCategory(Model):
    """A business category. Its `iab_categories` are valid `categories` of PREROLL_VIEWS line items."""

    id: str
    name: str | None = None
    iab_categories: tuple[str, ...] = ()


@attrs.define(kw_only=True)
class CuratedCategory(Model):
    """A group of publishers, available only in the countries of `country_codes`."""

    id: str
    name: str | None = None
    description: str | None = None
    country_codes: tuple[str, ...] = ()
    publisher_user_ids: tuple[str, ...] = ()
    videos_monetized_in_last_thirty_days: int | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None


@attrs.define(kw_only=True)
class LineItemCuratedCategory(Model):
    """A line item, paired with a curated category on whose content it runs."""

    id: str
    line_item_id: str | None = None
    curated_category_id: str | None = None
    created_at: datetime.datetime | None = None
    updated_at: datetime.datetime | None = None
    deleted: bool | None = None


class CuratedCategoriesQuery(CountQuery, total=False):
    """Parameters that select curated categories by country. The parameters for paging are not documented for this endpoint."""

    country_codes: Annotated[ListOf[CountryCode], MinLen(1)]


LineItemCuratedCategoriesQuery = Annotated[CollectionQuery, TOTAL_OR_CURSOR]


class LineItemCuratedCategoryDraft(TypedDict):
    """A line item and a curated category to pair."""

    line_item_id: Id
    curated_category_id: Id


class LineItemCuratedCategoryChanges(TypedDict, total=False):
    """The new line item or curated category of a pair."""

    line_item_id: Id
    curated_category_id: Id
