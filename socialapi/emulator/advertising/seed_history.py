"""The history of the seed data's campaigns. One has 2,500 changes on five days in January 2025."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from socialapi.emulator.advertising.seed_campaigns import EUR
from socialapi.emulator.advertising.state import Record, entry
from socialapi.emulator.clock import timestamp
from socialapi.emulator.platform.seed_users import HARBOUR_BOOKS, NORTHWIND

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
