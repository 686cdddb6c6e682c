"""Handlers for business and curated categories, and their line items."""

from collections.abc import Iterable
from typing import Final

from socialapi.emulator.advertising.records import (
    answer_record,
    collection,
    delete_record,
    named,
    new_record,
    read_record,
    require_record,
)
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_not_found
from socialapi.problems import BrokenRule
from socialapi.routes import line_items as routes

_KIND: Final = "line_item_curated_categories"
_ID: Final = "line_item_curated_category_id"


@serves(routes.BUSINESS_CATEGORIES)
async def list_business_categories(call: Call) -> Answer:
    """Returns all business categories, which fit on one page."""
    return collection(call, call.state.advertising.business_categories)


@serves(routes.CURATED_CATEGORIES)
async def list_curated_categories(call: Call) -> Answer:
    """Returns the curated categories that are available in at least one of the countries, always with the total count."""
    countries = frozenset(call.query.get("country_codes", ()))

    def is_available(category: Record) -> bool:
        return not countries or not countries.isdisjoint(category["country_codes"])

    table = call.state.advertising.curated_categories
    return collection(call, table, where=is_available, always_total=True)


@serves(routes.CURATED_CATEGORY)
async def get_curated_category(call: Call) -> Answer:
    """Returns a curated category. The categories are the same for all accounts."""
    return answer_record(call, named(call, call.state.advertising.curated_categories, "curated_category_id"))


@serves(routes.LINE_ITEM_CURATED_CATEGORIES)
async def list_line_item_curated_categories(call: Call) -> Answer:
    """Returns the curated categories of the account's line items."""
    return collection(call, call.table(_KIND))


@serves(routes.LINE_ITEM_CURATED_CATEGORY)
async def get_line_item_curated_category(call: Call) -> Answer:
    """Returns a curated category of a line item; a deleted record only on request."""
    return answer_record(call, read_record(call, _KIND, _ID))


@serves(routes.LINE_ITEM_CURATED_CATEGORY_CREATE, rules=lambda call: _pair_rules(call, None))
async def create_line_item_curated_category(call: Call) -> Answer:
    """Assigns a curated category to a line item, and returns the new record."""
    return answer_record(call, call.table(_KIND).add(new_record(call, **call.query)))


@serves(
    routes.LINE_ITEM_CURATED_CATEGORY_UPDATE,
    rules=lambda call: _pair_rules(call, require_record(call, _KIND, _ID)),
)
async def update_line_item_curated_category(call: Call) -> Answer:
    """Changes the line item or the category of the record, and returns it."""
    record = require_record(call, _KIND, _ID)
    if call.query:
        call.table(_KIND).change(record, **call.query, updated_at=timestamp(call.now))
    return answer_record(call, record)


@serves(routes.LINE_ITEM_CURATED_CATEGORY_DELETE)
async def delete_line_item_curated_category(call: Call) -> Answer:
    """Deletes the curated category of a line item, and returns it."""
    return delete_record(call, _KIND, _ID)


def _pair_rules(call: Call, changed: Record | None) -> Iterable[BrokenRule]:
    """Yields a violation if the resulting pair already exists in another record. Raises Refusal if the line item or the
    category does not exist.
    """
    places = {
        "line_item_id": call.table("line_items"),
        "curated_category_id": call.state.advertising.curated_categories,
    }
    if missing := [name for name, value in call.query.items() if places[name].get(value) is None]:
        raise ads_not_found(*missing)
    changed_to = {**(changed or {}), **call.query}
    pair = changed_to["line_item_id"], changed_to["curated_category_id"]
    for record in call.table(_KIND).live():
        if record is not changed and (record["line_item_id"], record["curated_category_id"]) == pair:
            yield BrokenRule(path="curated_category_id", reason="is already assigned to this line item")
            return
