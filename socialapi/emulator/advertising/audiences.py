"""Handlers for audience and do-not-reach uploads, and audience permissions."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from socialapi.emulator.advertising.audience_members import Members, Period
from socialapi.emulator.advertising.line_items import may_target, owner_of, permissions
from socialapi.emulator.advertising.records import (
    answer_record,
    asked_for,
    collection,
    delete_record,
    new_record,
    require_record,
)
from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import epoch_of, timestamp
from socialapi.emulator.faults import BATCH_FAULTS
from socialapi.emulator.handlers import Call, serves
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, Refusal, ads_data, ads_not_found, forbidden, invalid
from socialapi.emulator.state import DoNotReach
from socialapi.models.audiences import DEFAULT_EXPIRY_MONTHS, MAX_OPERATIONS, months_later
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes import audiences as routes

ERRORS_PER_OPERATION: Final = 10
"""The maximum number of errors listed for one operation, which may contain tens of thousands of users."""

SMALLEST_TARGETABLE_LIST: Final = 100
"""A do-not-reach list with fewer members is TOO_SMALL. The documentation does not specify the number."""

Counts = dict[str, int]


def count_operations(received: Received) -> tuple[int | None, int | None]:
    """Returns the numbers of operations and users in a body, or None if the body cannot be read."""
    try:
        operations = received.json()
        return len(operations), sum(len(operation["params"]["users"]) for operation in operations)
    except (ValueError, TypeError, KeyError):
        return None, None


@serves(routes.CUSTOM_AUDIENCE_USERS, checks_body=False, measure=count_operations, faults=BATCH_FAULTS)
async def upload_to_audience(call: Call) -> Answer:
    """Adds and removes identifiers. The response counts the user objects in the complete batch."""
    audience = call.state.audiences.get((call.account_id, call.path["custom_audience_id"]))
    if audience is None:
        raise ads_not_found("custom_audience_id")
    total = sum(_upload(call, audience.members))
    return ads_data(_counts(call, [total])[0], call.path)


@serves(routes.DO_NOT_REACH_USERS, checks_body=False, measure=count_operations, faults=BATCH_FAULTS)
async def upload_to_do_not_reach_list(call: Call) -> Answer:
    """Adds and removes identifiers. The response has one pair of user counts for each operation."""
    return ads_data(_counts(call, _upload(call, _list(call).members)), call.path)


@serves(routes.DO_NOT_REACH_LIST_DELETE)
async def delete_do_not_reach_list(call: Call) -> Answer:
    """Deletes the list, and returns it. Later deletions and uploads no longer find it."""
    found = _list(call)
    found.deleted = True
    found.updated_at = call.now
    size = len(found.members.in_force(found.updated_at))
    record = {
        "id": found.id,
        "name": found.name,
        "description": found.description,
        "targetable": False,
        "reasons_not_targetable": ["TOO_SMALL"] if size < SMALLEST_TARGETABLE_LIST else [],
        "list_size": size,
        "created_at": timestamp(found.created_at),
        "updated_at": timestamp(found.updated_at),
        "deleted": True,
    }
    return ads_data(record, call.path)


def _list(call: Call) -> DoNotReach:
    key = (call.account_id, call.path["do_not_reach_list_id"])
    found = call.state.do_not_reach_lists.get(key)
    if found is None or found.deleted:
        raise ads_not_found("do_not_reach_list_id")
    return found


def _upload(call: Call, members: Members) -> list[int]:
    """Checks the complete batch, then applies it. Returns the number of users of each operation."""
    operations = call.body
    # The number is checked first, so that an oversized batch is refused without validating its operations.
    if isinstance(operations, list) and len(operations) > MAX_OPERATIONS:
        raise Refusal(400, "INVALID_PARAMETER", f"a batch has at most {MAX_OPERATIONS:,} operations")
    if broken := broken_rules(call.route.body, operations, now=call.state.clock.datetime()):
        errors = list(_operation_errors(broken))
        raise Refusal(400, "INVALID_PARAMETER", f"the body {broken[0].reason}", operation_errors=errors)
    # The fault `count_mismatch` accepts the batch but does not apply it.
    if call.fault is None:
        _apply(call, operations, members)
    return [len(operation["params"]["users"]) for operation in operations]


_IN_OPERATION: Final = re.compile(r"\[(\d+)\]\.?(.*)", re.DOTALL)


def _operation_errors(broken: Iterable[BrokenRule]) -> Iterable[dict[str, Any]]:
    """Yields the errors of single operations, as the response lists them."""
    listed: dict[int, int] = {}
    for rule in broken:
        if (found := _IN_OPERATION.fullmatch(rule.path)) is None:
            continue
        index = int(found[1])
        listed[index] = listed.get(index, 0) + 1
        if listed[index] > ERRORS_PER_OPERATION:
            continue
        yield {"index": index, "code": rule.code, "message": rule.reason} | (
            {"parameter": found[2]} if found[2] else {}
        )


def _apply(call: Call, operations: list[Mapping[str, Any]], members: Members) -> None:
    now = call.state.clock.datetime()
    default = (now.timestamp(), months_later(now, DEFAULT_EXPIRY_MONTHS).timestamp())
    known: dict[tuple[str | None, str | None], Period] = {(None, None): default}
    for operation in operations:
        params = operation["params"]
        if operation["operation_type"] == "Delete":
            members.delete(params["users"], _seconds(params.get("effective_at"), default[0]), default[0])
            continue
        given = (params.get("effective_at"), params.get("expires_at"))
        times = known.get(given)
        if times is None:
            times = known[given] = (_seconds(given[0], default[0]), _seconds(given[1], default[1]))
        members.update(params["users"], times, default[0])


def _seconds(text: str | None, default: float) -> float:
    """Returns an already validated time in epoch seconds, or the default."""
    return default if text is None else epoch_of(text)


def _counts(call: Call, users: list[int]) -> list[Counts]:
    """Returns the counts of users. With a fault, one success is missing. For a batch without users, the counts then
    include a user that was never sent.
    """
    counts = [{"success_count": count, "total_count": count} for count in users]
    if call.fault is None:
        return counts
    for each in counts:
        if each["success_count"]:
            each["success_count"] -= 1
            return counts
    return [{"success_count": 0, "total_count": 1}, *counts[1:]]


SHARING: Final = "SHARE_AUDIENCE_OUTSIDE_BUSINESS"
"""The feature that lets an account share audiences with accounts of other businesses."""

_KIND: Final = "audience_permissions"
_ID: Final = "tailored_audience_permission_id"


@serves(routes.AUDIENCE_PERMISSIONS)
async def list_permissions(call: Call) -> Answer:
    """Returns the permissions of an audience. The owner sees all of them, and other accounts only their own."""
    account_id, audience_id = call.account_id, call.path["tailored_audience_id"]
    owner = owner_of(call.state, audience_id)
    if owner is None or not may_target(call.state, account_id, audience_id):
        raise ads_not_found("tailored_audience_id")
    is_asked_for = asked_for(
        call.query, granted_account_ids="granted_account_id", tailored_audience_permission_ids="id"
    )

    def is_listed(permission: Record) -> bool:
        is_seen = account_id in (owner, permission["granted_account_id"])
        return is_seen and permission["tailored_audience_id"] == audience_id and is_asked_for(permission)

    return collection(call, call.state.advertising.table(owner, _KIND), where=is_listed)


@serves(routes.AUDIENCE_PERMISSION_CREATE)
async def grant(call: Call) -> Answer:
    """Grants another account permission to use the audience, and returns the permission."""
    _check_owner(call)
    audience_id, granted_id = call.path["tailored_audience_id"], call.query["granted_account_id"]
    granted = call.state.advertising.accounts.get(granted_id)
    if granted is None:
        raise ads_not_found("granted_account_id")
    if granted_id == call.account_id:
        raise invalid("granted_account_id", "owns the audience")
    if granted["business_id"] != call.account["business_id"] and SHARING not in call.account["features"]:
        message = f"the accounts belong to different businesses, and the owner does not have the feature {SHARING}"
        raise forbidden(message, "granted_account_id")
    if any(each["granted_account_id"] == granted_id for each in permissions(call.state, audience_id)):
        raise invalid("granted_account_id", "already has access to the audience")
    return answer_record(call, call.table(_KIND).add(new_record(call, tailored_audience_id=audience_id, **call.query)))


@serves(routes.AUDIENCE_PERMISSION_DELETE)
async def revoke(call: Call) -> Answer:
    """Ends the account's permission to target the audience in new campaigns. Running campaigns continue."""
    _check_owner(call)
    if require_record(call, _KIND, _ID)["tailored_audience_id"] != call.path["tailored_audience_id"]:
        raise ads_not_found(_ID)
    return delete_record(call, _KIND, _ID)


def _check_owner(call: Call) -> None:
    """Refuses the call unless the account owns the audience, because only the owner may change who can use it."""
    owner = owner_of(call.state, call.path["tailored_audience_id"])
    if owner is None:
        raise ads_not_found("tailored_audience_id")
    if owner != call.account_id:
        raise forbidden("the account does not own the audience", "tailored_audience_id")
