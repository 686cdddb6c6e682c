"""Line items: changes, with every rule about them, and deletion (section 4.4)."""

from collections.abc import Iterable
from typing import Any, Final

from socialapi.emulator.advertising.endpoint import account_of, serves, the, user_of
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.advertising.showing import answer_record
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.envelopes import Answer
from socialapi.models.line_items import rules_with_stored
from socialapi.models.validation import parse_timestamp
from socialapi.problems import BrokenRule
from socialapi.routes import ads as routes

_TIMES: Final = ("start_time", "end_time")
_MOST_BUSINESS_CATEGORIES: Final = 2


def _rules(call: Call, arguments: Arguments) -> Iterable[BrokenRule]:
    """What a change breaks together with what is stored."""
    stored = the(call, "line_items", "line_item_id")
    campaign = call.state.advertising.table(account_of(call), "campaigns").get(stored["campaign_id"], with_deleted=True)
    optimization = campaign["budget_optimization"] if campaign else None
    yield from rules_with_stored(arguments.query, stored, optimization)
    if stored["objective"] == "PREROLL_VIEWS" and "categories" in arguments.query:
        yield from _preroll_categories(call, arguments.query["categories"] or ())


def _preroll_categories(call: Call, categories: Iterable[str]) -> Iterable[BrokenRule]:
    """The IAB categories of one or two business categories (section 4.3); no two of these share one."""
    business_of = {
        iab: business["id"]
        for business in call.state.advertising.business_categories.rows
        for iab in business["iab_categories"]
    }
    if not all(iab in business_of for iab in categories):
        yield BrokenRule(path="categories", reason="must be iab_categories of advertiser business categories")
    elif not 1 <= len({business_of[iab] for iab in categories}) <= _MOST_BUSINESS_CATEGORIES:
        yield BrokenRule(path="categories", reason="must be of one or two advertiser business categories")


@serves(routes.LINE_ITEM_UPDATE, rules=_rules)
async def update_line_item(call: Call, arguments: Arguments) -> Answer:
    """The line item as it is from now on. A bid is ignored while the service bids by itself."""
    line_item = the(call, "line_items", "line_item_id")
    changes = {name: _stored(name, value) for name, value in arguments.query.items()}
    if changes.get("bid_strategy", line_item["bid_strategy"]) == "AUTO":
        changes.pop("bid_amount_local_micro", None)
    if changes:
        _change(call, line_item, changes)
    return answer_record(call, arguments, line_item)


@serves(routes.LINE_ITEM_DELETE)
async def delete_line_item(call: Call, arguments: Arguments) -> Answer:
    """The line item, deleted for good. Its promoted posts are not deleted, only seen no more without asking."""
    line_item = the(call, "line_items", "line_item_id")
    _change(call, line_item, {"deleted": True})
    return answer_record(call, arguments, line_item)


def _change(call: Call, line_item: Record, changes: dict[str, Any]) -> None:
    before, now = dict(line_item), timestamp(call.now)
    advertising = call.state.advertising
    advertising.table(account_of(call), "line_items").change(line_item, **changes, updated_at=now)
    advertising.history.note("LINE_ITEM", before, line_item, at=now, user_id=user_of(call).id)


def _stored(name: str, value: Any) -> Any:
    """Times are kept as the service writes them, lists as lists, also one that is cleared."""
    if name in _TIMES and value is not None:
        parsed = parse_timestamp(value)
        assert parsed is not None, "the rules have checked it"
        return timestamp(parsed.timestamp())
    return list(value or ()) if name == "categories" else value
