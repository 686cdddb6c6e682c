"""The hand-written campaigns and line items of the seed data, for every objective and kind
of rule.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from socialapi.emulator.advertising.seed_accounts import BOOKS, FIRST, FUNDING, SECOND
from socialapi.emulator.advertising.state import Record, entry
from socialapi.emulator.clock import timestamp
from socialapi.emulator.platform.seed_users import HARBOUR_BOOKS, NORTHWIND

EUR: Final = 1_000_000
"""A euro in millionths."""

_CREATED_AT: Final = "2024-09-02T08:00:00Z"
_START: Final = "2024-10-01T00:00:00Z"
_END: Final = "2027-09-30T22:00:00Z"

# Id, name, daily and total budget, and what is not the same for all.
_CAMPAIGNS: Final[dict[str, tuple[tuple[str, str, int, int, dict[str, Any]], ...]]] = {
    FIRST: (
        ("8wku2", "Winter jackets", 120, 30_000, {"updated_at": "2025-01-10T23:50:28Z"}),
        ("8wku3", "Be there first", 80, 20_000, {"frequency_cap": 5, "duration_in_days": 7}),
        ("8wku4", "Meet @northwind", 20, 5_000, {}),
        ("8wku5", "Which trail is yours?", 40, 9_000, {}),
        ("8wku6", "The film of the north face", 90, 25_000, {"standard_delivery": False}),
        ("8wku7", "Before the race", 60, 12_000, {}),
        ("8wku8", "The shop in your pocket", 75, 18_000, {}),
        ("8wku9", "Back on the trail", 30, 7_500, {}),
        ("8wkua", "Beyond the timeline", 55, 14_000, {}),
        ("8wkub", "One budget for all", 200, 60_000, {"budget_optimization": "CAMPAIGN"}),
        ("8wkuc", "Summer sale 2024", 150, 15_000, {"entity_status": "PAUSED"}),
        ("8wkud", "Tents", 35, 8_000, {"purchase_order_number": "NW-2024-118"}),
    ),
    SECOND: (
        ("8x0a1", "Lamps for long nights", 45, 9_000, {}),
        ("8x0a2", "Wool blankets", 25, 6_000, {}),
    ),
    BOOKS: (("8x4f1", "Books by the water", 15, 3_000, {}),),
}

_SITE: Final = {
    "goal": "LINK_CLICKS",
    "pay_by": "LINK_CLICK",
    "bid_strategy": "MAX",
    "bid_amount_local_micro": 1_250_000,
}

# Id, campaign, name, objective, and what is not the same for all.
_LINE_ITEMS: Final[dict[str, tuple[tuple[str, str, str, str, dict[str, Any]], ...]]] = {
    FIRST: (
        ("8xdpe", "8wku2", "Jackets, readers", "WEBSITE_CLICKS", _SITE),
        (
            "8xdpf",
            "8wku3",
            "Mountain towns",
            "REACH",
            {
                "goal": "MAX_REACH",
                "bid_strategy": "TARGET",
                "bid_amount_local_micro": 4 * EUR,
                "frequency_cap": 3,
                "duration_in_days": 7,
            },
        ),
        ("8xdpg", "8wku4", "Hikers", "FOLLOWERS", {"goal": "FOLLOWERS", "product_type": "PROMOTED_ACCOUNT"}),
        ("8xdph", "8wku5", "Trail quiz", "ENGAGEMENTS", {"goal": "ENGAGEMENT"}),
        (
            "8xdpi",
            "8wku6",
            "Trailer, 15 seconds",
            "VIDEO_VIEWS",
            {"goal": "VIEW_15S", "bid_strategy": "MAX", "bid_amount_local_micro": 60_000},
        ),
        (
            "8xdpj",
            "8wku7",
            "Before sports clips",
            "PREROLL_VIEWS",
            {
                "goal": "PREROLL",
                "product_type": "MEDIA",
                "bid_strategy": "MAX",
                "bid_amount_local_micro": 90_000,
                "categories": ["IAB17", "IAB17-1", "IAB20"],
                "advertiser_user_id": "2244994945",
            },
        ),
        (
            "8xdpk",
            "8wku8",
            "Shop app",
            "APP_INSTALLS",
            {
                "goal": "APP_INSTALLS",
                "pay_by": "APP_CLICK",
                "bid_strategy": "MAX",
                "bid_amount_local_micro": 2 * EUR,
                "android_app_store_identifier": "com.northwind.shop",
                "ios_app_store_identifier": "1234567890",
            },
        ),
        (
            "8xdpl",
            "8wku9",
            "Trails app",
            "APP_ENGAGEMENTS",
            {"goal": "APP_CLICKS", "pay_by": "APP_CLICK", "android_app_store_identifier": "com.northwind.trails"},
        ),
        (
            "8xdpm",
            "8wkua",
            "In other apps",
            "WEBSITE_CLICKS",
            {
                **_SITE,
                "bid_strategy": "TARGET",
                "placements": ["ALL_ON_TWITTER", "PUBLISHER_NETWORK"],
                "advertiser_domain": "northwind.example",
                "categories": ["IAB17", "IAB18"],
            },
        ),
        (
            "8xdpn",
            "8wkub",
            "Shared, film",
            "VIDEO_VIEWS",
            {"goal": "VIDEO_VIEW", "daily_budget_amount_local_micro": None},
        ),
        ("8xdpo", "8wkuc", "Sale", "WEBSITE_CLICKS", {**_SITE, "entity_status": "PAUSED"}),
        ("8xdpp", "8wkud", "Tents, buyers", "WEBSITE_CLICKS", {**_SITE, "goal": "WEBSITE_CONVERSIONS"}),
        ("8xdpq", "8wkud", "Tents, paused", "WEBSITE_CLICKS", {**_SITE, "entity_status": "PAUSED"}),
    ),
    SECOND: (
        ("8xg1a", "8x0a1", "Lamps", "WEBSITE_CLICKS", _SITE),
        ("8xg1b", "8x0a1", "Lamps, film", "VIDEO_VIEWS", {"goal": "VIDEO_VIEW"}),
        ("8xg1c", "8x0a2", "Blankets", "WEBSITE_CLICKS", _SITE),
    ),
    BOOKS: (("8xk2a", "8x4f1", "Readers nearby", "REACH", {"goal": "MAX_REACH"}),),
}


def campaign_ids(account_id: str) -> list[str]:
    """The ids of the campaigns of an account."""
    return [row[0] for row in _CAMPAIGNS[account_id]]


def line_item_ids(account_id: str) -> list[str]:
    """The ids of the line items of an account."""
    return [row[0] for row in _LINE_ITEMS[account_id]]


def campaigns(account_id: str) -> list[Record]:
    """The campaigns of an account."""
    return [
        campaign(account_id, campaign_id, name, daily * EUR, total * EUR) | other
        for campaign_id, name, daily, total, other in _CAMPAIGNS[account_id]
    ]


def line_items(account_id: str) -> list[Record]:
    """The line items of an account."""
    return [
        line_item(account_id, line_item_id, campaign_id, name, objective) | other
        for line_item_id, campaign_id, name, objective, other in _LINE_ITEMS[account_id]
    ]


def campaign(account_id: str, campaign_id: str, name: str, daily: int, total: int) -> Record:
    """A campaign with what most of them have."""
    return {
        "id": campaign_id,
        "name": name,
        "funding_instrument_id": FUNDING[account_id][0],
        "budget_optimization": "LINE_ITEM",
        "start_time": _START,
        "end_time": _END,
        "purchase_order_number": None,
        "daily_budget_amount_local_micro": daily,
        "total_budget_amount_local_micro": total,
        "duration_in_days": None,
        "standard_delivery": True,
        "entity_status": "ACTIVE",
        "frequency_cap": None,
        "created_at": _CREATED_AT,
        "updated_at": _CREATED_AT,
        "deleted": False,
    }


def line_item(account_id: str, line_item_id: str, campaign_id: str, name: str, objective: str) -> Record:
    """A line item with what most of them have."""
    return {
        "id": line_item_id,
        "campaign_id": campaign_id,
        "name": name,
        "objective": objective,
        "product_type": "PROMOTED_TWEETS",
        "goal": "LINK_CLICKS",
        "bid_strategy": "AUTO",
        "bid_amount_local_micro": None,
        "pay_by": "IMPRESSION",
        "currency": FUNDING[account_id][1],
        "placements": ["ALL_ON_TWITTER"],
        "categories": [],
        "start_time": _START,
        "end_time": _END,
        "duration_in_days": None,
        "frequency_cap": None,
        "total_budget_amount_local_micro": 5_000 * EUR,
        "daily_budget_amount_local_micro": 25 * EUR,
        "entity_status": "ACTIVE",
        "creative_source": "MANUAL",
        "advertiser_user_id": None,
        "advertiser_domain": None,
        "android_app_store_identifier": None,
        "ios_app_store_identifier": None,
        "target_cpa_local_micro": None,
        "primary_web_event_tag": None,
        "standard_delivery": True,
        "automatic_tweet_promotion": None,
        "created_at": _CREATED_AT,
        "updated_at": _CREATED_AT,
        "deleted": False,
    }


BUSIEST: Final = "8wku2"
"""The campaign that was changed most, the first of the first account."""

FIRST_DAY: Final = 1_736_121_600
"""2025-01-06T00:00:00Z."""

DAYS: Final = 5
A_DAY: Final = 500
"""Changes on each of the days, one every 172 seconds from midnight on."""

_APART: Final = 172
_FIFTH: Final = 5


def seeded(entity_type: str, entity: Record) -> Iterable[Record]:
    """The changes of an entity before the start, the oldest first."""
    if entity["id"] == BUSIEST:
        return _busiest(entity)
    return [entry(entity_type, entity, "CREATE", at=entity["created_at"], by=(NORTHWIND, "WEB"))]


def _busiest(campaign: Record) -> Iterator[Record]:
    """Made, then its daily budget changed over and over; every fifth change is by the second user."""
    last = campaign["daily_budget_amount_local_micro"]
    snapshot = dict(campaign)
    for number in range(DAYS * A_DAY):
        day, of_day = divmod(number, A_DAY)
        at = timestamp(FIRST_DAY + day * 86_400 + of_day * _APART)
        is_last = number == DAYS * A_DAY - 1
        before = snapshot["daily_budget_amount_local_micro"]
        budget = last if is_last else (100 + number % 40) * EUR
        snapshot = snapshot | {"daily_budget_amount_local_micro": budget, "updated_at": at}
        changes: dict[str, Any] = {}
        if number:
            changes = {"daily_budget_amount_local_micro": {"before": before, "after": budget}}
        by = (HARBOUR_BOOKS, "API") if number % _FIFTH == _FIFTH - 1 else (NORTHWIND, "WEB")
        yield entry("CAMPAIGN", snapshot, "UPDATE" if number else "CREATE", at=at, by=by, changes=changes)
