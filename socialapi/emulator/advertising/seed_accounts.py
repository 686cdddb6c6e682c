"""The ad accounts, apps and categories of the seed data."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp

FIRST: Final = "18ce54d4x5t"
SECOND: Final = "18ce54u7r2k"
BOOKS: Final = "18ce55a9q0m"

CREATED_AT: Final = "2023-03-14T09:26:53Z"

_FEATURES: Final = ["REACH_AND_FREQUENCY_ANALYTICS", "REACH_FREQUENCY_CAP"]

FUNDING: Final = {FIRST: ("lygyi", "EUR"), SECOND: ("lygyj", "EUR"), BOOKS: ("lygz0", "GBP")}
"""The funding instrument of each account, from which its campaigns have their currency."""


def _account(account_id: str, name: str, business: tuple[str, str], **other: Any) -> Record:
    return {
        "id": account_id,
        "name": name,
        "business_name": business[1],
        "business_id": business[0],
        "timezone": "Europe/Berlin",
        "timezone_switch_at": "2023-03-13T23:00:00Z",
        "approval_status": "ACCEPTED",
        "industry_type": "RETAIL",
        "created_at": CREATED_AT,
        "updated_at": "2024-10-02T07:11:40Z",
        "deleted": False,
        "features": list(_FEATURES),
        "keeps_history": True,
        "is_sandbox": False,
        **other,
    }


_NORTHWIND: Final = ("4503599", "Northwind Group")


def accounts() -> list[Record]:
    """The first two share a business and are the first user's; the third is the second user's."""
    return [
        _account(FIRST, "Northwind Outdoor", _NORTHWIND, features=[*_FEATURES, "PROMOTED_MEDIA_POLLS"]),
        _account(SECOND, "Northwind Home", _NORTHWIND, created_at="2023-04-02T12:00:00Z"),
        _account(BOOKS, "Harbour Books", ("4503701", "Harbour Media"), timezone="Europe/London", industry_type="MEDIA"),
    ]


_APPS: Final = (
    ("7kzxp", "com.northwind.shop", "ANDROID", True, "northwind://product/{id}", False),
    ("7kzxq", "1234567890", "IOS", True, "northwind://product/{id}", False),
    ("7kzxr", "1234567901", "IPAD", False, None, False),
    ("7kzxs", "com.northwind.trails", "ANDROID", False, "trails://route/{id}", False),
    ("7kzxt", "com.northwind.beta", "ANDROID", False, None, True),
)


def apps() -> list[Record]:
    """The apps of the first account; one is deleted."""
    return [
        {
            "id": app_id,
            "app_store_identifier": store_id,
            "conversion_tracking_enabled": tracked,
            "deep_link_pattern": link,
            "os_type": os_type,
            "created_at": f"2023-05-0{number}T08:00:00Z",
            "updated_at": f"2024-06-0{number}T08:00:00Z",
            "deleted": deleted,
        }
        for number, (app_id, store_id, os_type, tracked, link, deleted) in enumerate(_APPS, 1)
    ]


CURATED_CATEGORIES: Final = 1_300

_MADE: Final = 1_690_000_000  # 2023-07-22T04:26:40Z
_A_DAY: Final = 86_400

# Name, and how many subcategories of it the seed data knows.
_BUSINESSES: Final = (
    *(("Arts & Entertainment", 7), ("Automotive", 9), ("Business", 6), ("Careers", 5), ("Education", 6)),
    *(("Family & Parenting", 5), ("Health & Fitness", 9), ("Food & Drink", 8), ("Hobbies & Interests", 9)),
    *(("Home & Garden", 6), ("Law, Government & Politics", 4), ("News", 3), ("Personal Finance", 7)),
    *(("Society", 5), ("Science", 6), ("Pets", 4), ("Sports", 9), ("Style & Fashion", 5)),
    *(
        ("Technology & Computing", 9),
        ("Travel", 8),
        ("Real Estate", 3),
        ("Shopping", 4),
        ("Religion & Spirituality", 6),
    ),
)


def business_categories() -> Iterator[Record]:
    """One for each tier of the IAB's list; no IAB category belongs to two."""
    for number, (name, subcategories) in enumerate(_BUSINESSES, 1):
        iab = [f"IAB{number}", *(f"IAB{number}-{each}" for each in range(1, subcategories + 1))]
        yield {"id": f"b{number:02}", "name": name, "iab_categories": iab}


_THEMES: Final = (
    *("Alpine Sports", "Animation", "Athletics", "Baking", "Basketball", "Board Games", "Books", "Camping", "Climbing"),
    *("Comedy", "Cycling", "Design", "Documentary", "Fishing", "Football", "Gardening", "Hiking", "Jazz", "Motorsport"),
    *("Opera", "Running", "Sailing", "Science", "Street Food", "Trains", "Travel"),
)
_FORMS: Final = (
    *("Highlights", "Interviews", "Live", "Clips", "Behind the Scenes"),
    *("Classics", "Reviews", "How-to", "Short Films", "News"),
)
_REGIONS: Final = (
    ("North America", ["US", "CA"]),
    ("British Isles", ["GB", "IE"]),
    ("Central Europe", ["DE", "AT", "CH"]),
    ("Nordics", ["NO", "SE", "DK", "FI"]),
    ("Asia Pacific", ["JP", "AU", "NZ", "IN"]),
)


def curated_category_id(number: int) -> str:
    """The id of a curated category, counted from 0."""
    return f"cc{number:04x}"


def curated_categories() -> Iterator[Record]:
    """Each in the countries of one region: a fifth of them in each region."""
    for number, (theme, form, (region, countries)) in enumerate(product(_THEMES, _FORMS, _REGIONS)):
        made = _MADE + number % 97 * _A_DAY
        yield {
            "id": curated_category_id(number),
            "name": f"{theme} {form} ({region})",
            "description": f"{form} about {theme.lower()} from publishers in {region}",
            "country_codes": countries,
            "publisher_user_ids": [str(3_000_000_000 + number * 7 + each) for each in range(2 + number % 3)],
            "videos_monetized_in_last_thirty_days": number * 37 % 1_009,
            "created_at": timestamp(made),
            "updated_at": timestamp(made + number % 11 * _A_DAY),
        }
