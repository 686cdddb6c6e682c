"""Large collections of the first account: campaigns that target an audience, and category pairs."""

from collections.abc import Iterator
from typing import Final

from socialapi.emulator.advertising.seed_accounts import FIRST, curated_category_id
from socialapi.emulator.advertising.seed_campaigns import EUR, campaign, line_item
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp

MANY_CAMPAIGNS: Final = 230
LINE_ITEM_CURATED_CATEGORIES: Final = 10_000

_PLACES: Final = (
    *("Aosta", "Bled", "Chamonix", "Davos", "Ehrwald", "Finse", "Grindelwald", "Hafjell", "Innsbruck", "Jasper"),
    *("Kandersteg", "Lillehammer", "Mayrhofen", "Narvik", "Oberstdorf", "Poprad", "Queyras", "Rauland", "Sestriere"),
    *("Trysil", "Uludağ", "Voss", "Wengen"),
)
_FIRST_DAY: Final = 1_725_264_000  # 2024-09-02T08:00:00Z
_EACH_BESIDE: Final = 40
_FIRST_CATEGORY: Final = 100
_CATEGORIES: Final = 1_200


def campaign_id(number: int) -> str:
    """The id of one of the many campaigns, counted from 0."""
    return f"8y{number:03x}"


def _line_items_of(number: int) -> int:
    return 2 if number % 3 == 0 else 1


def line_item_places() -> Iterator[tuple[str, int]]:
    """The id of each of their line items with the number of its campaign."""
    for number in range(MANY_CAMPAIGNS):
        for each in range(_line_items_of(number)):
            yield f"8z{number:03x}{each}", number


def many_campaigns() -> Iterator[Record]:
    """One for each place and week."""
    for number in range(MANY_CAMPAIGNS):
        name = f"{_PLACES[number % len(_PLACES)]}, week {number // len(_PLACES) + 1}"
        yield campaign(FIRST, campaign_id(number), name, (10 + number % 20) * EUR, (1_000 + number) * EUR)


def many_line_items() -> Iterator[Record]:
    """One or two for each of these campaigns; in every tenth campaign they are paused."""
    for line_item_id, number in line_item_places():
        record = line_item(FIRST, line_item_id, campaign_id(number), f"Readers {line_item_id[-1]}", "REACH")
        yield record | {"goal": "MAX_REACH", "entity_status": "PAUSED" if number % 10 == 7 else "ACTIVE"}


def targeting(audiences: tuple[str, str]) -> Iterator[Record]:
    """The first audience is targeted by all of these line items, the second by three of those written by hand."""
    pairs = [(line_item_id, audiences[0]) for line_item_id, _ in line_item_places()]
    pairs += [(line_item_id, audiences[1]) for line_item_id in ("8xdpe", "8xdpp", "8xdpq")]
    for number, (line_item_id, audience_id) in enumerate(pairs):
        yield {
            "id": f"tc{number:04x}",
            "line_item_id": line_item_id,
            "custom_audience_id": audience_id,
            "created_at": "2024-09-02T08:00:00Z",
            "deleted": False,
        }


def line_item_curated_category_ids() -> list[str]:
    """The ids of those that are not deleted."""
    return [f"c{number:05x}" for number in range(LINE_ITEM_CURATED_CATEGORIES)]


def line_item_curated_categories() -> Iterator[Record]:
    """Forty for each of 250 line items, three made at a time; after each 400 there is one that was deleted."""
    line_items = [line_item_id for line_item_id, _ in line_item_places()]
    for number, record_id in enumerate(line_item_curated_category_ids()):
        item, each = divmod(number, _EACH_BESIDE)
        # 29 and 1,200 have no common factor, so that no line item meets a category twice.
        category = _FIRST_CATEGORY + (item * 7 + each * 29) % _CATEGORIES
        if number % 3 == 0:
            made = timestamp(_FIRST_DAY + number * 61)
        record = {
            "id": record_id,
            "line_item_id": line_items[item],
            "curated_category_id": curated_category_id(category),
            "created_at": made,
            "updated_at": made,
            "deleted": False,
        }
        yield record
        if number % 400 == 399:
            yield record | {"id": f"d{number:05x}", "curated_category_id": curated_category_id(0), "deleted": True}
