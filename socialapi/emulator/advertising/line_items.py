"""Handlers for line items: creation and updates with their rules, deletion, and targeting."""

from collections.abc import Iterable
from typing import Any, Final

from socialapi.emulator.advertising.records import answer_record, collection, require_record
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import epoch_of, timestamp
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_not_found, forbidden
from socialapi.emulator.state import State
from socialapi.models.line_items import rules_with_stored
from socialapi.problems import BrokenRule
from socialapi.routes import audiences
from socialapi.routes import line_items as routes

_TIMES: Final = ("start_time", "end_time")
_MAX_BUSINESS_CATEGORIES: Final = 2


def _rules(call: Call) -> Iterable[BrokenRule]:
    """Yields the rules that a change would break in combination with the stored line item. Raises Refusal if the user
    does not exist, or if the app may not set an advertiser.
    """
    stored = require_record(call, "line_items", "line_item_id")
    campaign = call.table("campaigns").get(stored["campaign_id"], with_deleted=True)
    optimization = campaign["budget_optimization"] if campaign else None
    yield from rules_with_stored(call.query, stored, optimization)
    if (user_id := call.query.get("advertiser_user_id")) is not None:
        if not call.caller.app.names_advertisers:
            reason = "advertiser_user_id is restricted to certain apps, and this app is not one of them"
            raise forbidden(reason, "advertiser_user_id")
        if user_id not in call.state.users:
            raise ads_not_found("advertiser_user_id")
    if stored["objective"] == "PREROLL_VIEWS" and "categories" in call.query:
        # The categories must belong to one or two business categories. Each belongs to exactly one.
        categories = call.query["categories"] or ()
        business_of = {
            iab: business["id"]
            for business in call.state.advertising.business_categories.rows
            for iab in business["iab_categories"]
        }
        if not all(iab in business_of for iab in categories):
            reason = "must be IAB categories from the iab_categories that advertiser_business_categories lists"
            yield BrokenRule(path="categories", reason=reason)
        elif not 1 <= len({business_of[iab] for iab in categories}) <= _MAX_BUSINESS_CATEGORIES:
            yield BrokenRule(path="categories", reason="must belong to one or two advertiser business categories")


@serves(routes.LINE_ITEM_UPDATE, rules=_rules)
async def update_line_item(call: Call) -> Answer:
    """Changes the line item, and returns it. Bids are ignored while the service sets them automatically."""
    line_item = require_record(call, "line_items", "line_item_id")
    changes = {name: _stored(name, value) for name, value in call.query.items()}
    if changes.get("bid_strategy", line_item["bid_strategy"]) == "AUTO":
        changes.pop("bid_amount_local_micro", None)
    if changes:
        _change(call, line_item, changes)
    return answer_record(call, line_item)


@serves(routes.LINE_ITEM_DELETE)
async def delete_line_item(call: Call) -> Answer:
    """Permanently deletes the line item, and returns it. Its promoted posts are not deleted, but are shown only on
    request.
    """
    line_item = require_record(call, "line_items", "line_item_id")
    _change(call, line_item, {"deleted": True})
    return answer_record(call, line_item)


def _change(call: Call, line_item: Record, changes: dict[str, Any]) -> None:
    before, now = dict(line_item), timestamp(call.now)
    call.table("line_items").change(line_item, **changes, updated_at=now)
    call.state.advertising.history.note("LINE_ITEM", before, line_item, at=now, user_id=call.user.id)


def _stored(name: str, value: Any) -> Any:
    """Returns a value in its stored form: times in the service's format, and a cleared list as an empty list."""
    if name in _TIMES and value is not None:
        return timestamp(epoch_of(value))
    return list(value or ()) if name == "categories" else value


@serves(audiences.TARGETED)
async def list_targeting_campaigns(call: Call) -> Answer:
    """Returns the account's own campaigns with the line items that target the audience."""
    audience_id, criteria = call.path["custom_audience_id"], call.table("targeting_criteria").live()
    targeting = [each for each in criteria if each["custom_audience_id"] == audience_id]
    if not (may_target(call.state, call.account_id, audience_id) or targeting):
        raise ads_not_found("custom_audience_id")
    campaigns, line_items = call.table("campaigns"), call.table("line_items")
    only_servable = call.query.get("with_active", True)
    by_campaign: dict[str, list[Record]] = {}
    for each in targeting:
        line_item = line_items.get(each["line_item_id"])
        campaign = campaigns.get(line_item["campaign_id"]) if line_item else None
        if line_item is None or campaign is None:
            continue
        # Posts are served if neither the line item nor its campaign is paused or deleted.
        servable = all(each["entity_status"] == "ACTIVE" and not each["deleted"] for each in (line_item, campaign))
        if servable or not only_servable:
            shown = {"id": line_item["id"], "name": line_item["name"], "servable": servable}
            by_campaign.setdefault(campaign["id"], []).append(shown)

    def show(campaign: Record) -> Record:
        return {
            "campaign_id": campaign["id"],
            "campaign_name": campaign["name"],
            "line_items": by_campaign[campaign["id"]],
        }

    return collection(call, campaigns, where=lambda campaign: campaign["id"] in by_campaign, show=show)


def owner_of(state: State, audience_id: str) -> str | None:
    """Returns the account that an audience belongs to."""
    return next((account_id for account_id, each in state.audiences if each == audience_id), None)


def permissions(state: State, audience_id: str) -> list[Record]:
    """Returns the current permissions to use an audience."""
    owner = owner_of(state, audience_id)
    if owner is None:
        return []
    table = state.advertising.table(owner, "audience_permissions")
    return [each for each in table.live() if each["tailored_audience_id"] == audience_id]


def may_target(state: State, account_id: str, audience_id: str) -> bool:
    """Returns whether an account may target an audience in new campaigns, because it owns the audience or has
    permission to use it.
    """
    granted = {each["granted_account_id"] for each in permissions(state, audience_id)}
    return account_id in granted or owner_of(state, audience_id) == account_id


def target(state: State, account_id: str, line_item_id: str, audience_id: str) -> None:
    """Targets a line item at an audience. Only for tests: the endpoint is not documented.

    Raises Refusal if the account may not target the audience.
    """
    if not may_target(state, account_id, audience_id):
        raise forbidden("the account may not target this audience", "custom_audience_id")
    now = timestamp(state.clock.now())
    state.advertising.table(account_id, "targeting_criteria").add(
        {
            "id": state.advertising.new_id(),
            "line_item_id": line_item_id,
            "custom_audience_id": audience_id,
            "created_at": now,
            "updated_at": now,
            "deleted": False,
        }
    )
