"""Business categories with their IAB categories, and 1,300 curated categories."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from socialapi.emulator.advertising.records import Record
from socialapi.emulator.clock import timestamp

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
