"""Handlers for ad accounts, their apps, features and history, and for sandbox accounts."""

import functools
from collections.abc import Iterable
from typing import Any, Final

from socialapi.emulator.advertising.records import answer_record, asked_for, collection, new_record, to_wire
from socialapi.emulator.advertising.state import KINDS, Record
from socialapi.emulator.auth import account_user
from socialapi.emulator.clock import epoch_of, timestamp
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.responses import Answer, ads_data, ads_not_found, forbidden
from socialapi.models.accounts import Account, AnyFeatureKey, CampaignSnapshot, HistoryEntry
from socialapi.models.line_items import LineItem
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes import ads as routes

SANDBOX_BUSINESS: Final = ("4503999", "Sandbox")
"""The business of all test accounts."""


@serves(routes.ACCOUNTS)
async def list_accounts(call: Call) -> Answer:
    """Returns the user's ad accounts, or only those with the given ids."""
    is_asked_for = asked_for(call.query, account_ids="id")

    def is_listed(account: Record) -> bool:
        return account["id"] in call.user.account_ids and is_asked_for(account)

    def show(account: Record) -> Record:
        return to_wire(account, Account, without=["industry_type"])

    return collection(call, call.state.advertising.accounts, where=is_listed, show=show)


@serves(routes.ACCOUNT, caller=functools.partial(account_user, with_deleted=True))
async def get_account(call: Call) -> Answer:
    """Returns the account. A deleted account is returned only on request."""
    accounts = call.state.advertising.accounts
    account = accounts.get(call.account_id, with_deleted=call.query.get("with_deleted", False))
    if account is None:
        raise ads_not_found("account_id")
    return answer_record(call, account)


@serves(routes.ACCOUNT_UPDATE)
async def update_account(call: Call) -> Answer:
    """Changes the name or industry of the account, and returns it."""
    if call.query:
        call.state.advertising.accounts.change(call.account, **call.query, updated_at=timestamp(call.now))
    return answer_record(call, call.account)


@serves(routes.SANDBOX_ACCOUNT_CREATE)
async def create_account(call: Call) -> Answer:
    """Creates a test account that is associated with the user. Later calls treat it like any other account."""
    accounts = call.state.advertising.accounts
    business_id, business_name = SANDBOX_BUSINESS
    account = new_record(
        call,
        name=f"Sandbox account {sum(each['is_sandbox'] for each in accounts.rows) + 1}",
        business_name=business_name,
        business_id=business_id,
        timezone="America/Los_Angeles",
        timezone_switch_at=timestamp(call.now),
        approval_status="ACCEPTED",
        industry_type="OTHER",
        features=[],
        is_sandbox=True,
    )
    account["id"] = f"18sb{account['id']}"
    accounts.add(account)
    call.user.account_ids.add(account["id"])
    return answer_record(call, account)


@serves(routes.SANDBOX_ACCOUNT_DELETE)
async def delete_account(call: Call) -> Answer:
    """Deletes the test account, and returns it. Its resources can no longer be found."""
    account = _test_account(call)
    call.state.advertising.accounts.change(account, deleted=True, updated_at=timestamp(call.now))
    return answer_record(call, account)


@serves(routes.ACCOUNT_APPS)
async def list_apps(call: Call) -> Answer:
    """Returns the mobile apps of the account."""
    return collection(call, call.table("account_apps"))


@serves(routes.FEATURES)
async def list_features(call: Call) -> Answer:
    """Returns the features of the account, or only those with the given keys."""
    wanted = call.query.get("feature_keys")
    granted = [key for key in call.account["features"] if not wanted or key in wanted]
    return ads_data(granted, call.echo)


def _check_keys(call: Call) -> Iterable[BrokenRule]:
    keys: tuple[str, ...] = call.query["feature_keys"]
    if broken_rules(tuple[AnyFeatureKey, ...], keys, now=call.state.clock.datetime()):
        yield BrokenRule(path="feature_keys", reason="must be feature keys such as REACH_FREQUENCY_CAP")


@serves(routes.SANDBOX_FEATURES_ADD, rules=_check_keys)
async def add_features(call: Call) -> Answer:
    """Adds features to the test account, and returns all of its features."""
    account = _test_account(call)
    features = list(dict.fromkeys([*account["features"], *call.query["feature_keys"]]))
    call.state.advertising.accounts.change(account, features=features, updated_at=timestamp(call.now))
    return ads_data(features, call.echo)


def _test_account(call: Call) -> Record:
    """Returns the account, which must have been created in the sandbox. Other accounts do not exist there."""
    if not call.account["is_sandbox"]:
        raise ads_not_found("account_id")
    return call.account


_SNAPSHOTS: Final[dict[str, Any]] = {"CAMPAIGN": CampaignSnapshot, "LINE_ITEM": LineItem}


@serves(routes.ACCOUNT_HISTORY)
async def list_history(call: Call) -> Answer:
    """Returns the changes of an entity from the start time until just before the end time, oldest first."""
    query = call.query
    if call.account["is_sandbox"]:
        raise forbidden("account_history is not enabled for this account")
    entity = call.table(KINDS[query["entity_type"]]).get(query["entity_id"], with_deleted=True)
    if entity is None:
        raise ads_not_found("entity_id")
    # In the service's format, times can be compared as strings.
    start, end = (timestamp(epoch_of(query[name])) for name in ("start_time", "end_time"))
    # The id may have leading zeros.
    user_id = str(int(query["user_id"])) if "user_id" in query else None

    def is_asked_for(entry: Record) -> bool:
        return start <= entry["change_time"] < end and user_id in (None, entry["change_by"]["user_id"])

    def show(entry: Record) -> Record:
        model = _SNAPSHOTS.get(entry["entity"])
        entity_data = to_wire(entry["entity_data"], model) if model else entry["entity_data"]
        return to_wire(entry, HistoryEntry) | {"entity_data": entity_data}

    changes = call.state.advertising.history.of(query["entity_type"], entity)
    return collection(call, changes, where=is_asked_for, show=show)
