"""Who else may use an audience (section 4.7). Tailored and custom audience are two names of the same thing."""

from typing import Final

from socialapi.emulator.advertising.endpoint import account_of, new_record, serves, the
from socialapi.emulator.advertising.paging import collection
from socialapi.emulator.advertising.parameters import invalid, missing_record
from socialapi.emulator.advertising.records import Record
from socialapi.emulator.advertising.showing import answer_record
from socialapi.emulator.advertising.targeting import may_target, owner_of, permissions
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.clock import timestamp
from socialapi.emulator.envelopes import Answer, Refusal
from socialapi.routes import ads as routes

SHARING: Final = "SHARE_AUDIENCE_OUTSIDE_BUSINESS"
"""The feature of an account that may share its audiences with accounts of other businesses."""

_KIND: Final = "audience_permissions"
_ID: Final = "tailored_audience_permission_id"

_FILTERS: Final = (
    ("granted_account_ids", "granted_account_id"),
    ("tailored_audience_permission_ids", "id"),
)


@serves(routes.AUDIENCE_PERMISSIONS)
async def list_permissions(call: Call, arguments: Arguments) -> Answer:
    """The permissions of an audience: all for the account that owns it, its own for one that was granted one."""
    account_id, audience_id = account_of(call), arguments.path["tailored_audience_id"]
    owner = owner_of(call.state, audience_id)
    if owner is None or not may_target(call.state, account_id, audience_id):
        raise missing_record("tailored_audience_id")
    wanted = [(field, frozenset(arguments.query[name])) for name, field in _FILTERS if name in arguments.query]

    def is_asked_for(permission: Record) -> bool:
        is_seen = account_id in (owner, permission["granted_account_id"])
        is_of_audience = permission["tailored_audience_id"] == audience_id
        return is_seen and is_of_audience and all(permission[field] in ids for field, ids in wanted)

    return collection(call, arguments, call.state.advertising.table(owner, _KIND), where=is_asked_for)


@serves(routes.AUDIENCE_PERMISSION_CREATE)
async def grant(call: Call, arguments: Arguments) -> Answer:
    """Another account may use the audience."""
    _check_owner(call)
    audience_id, granted_id = arguments.path["tailored_audience_id"], arguments.query["granted_account_id"]
    granted = call.state.advertising.accounts.get(granted_id)
    if granted is None:
        raise missing_record("granted_account_id")
    if granted_id == account_of(call):
        raise invalid("granted_account_id", "owns the audience")
    _check_business(call, granted)
    if any(each["granted_account_id"] == granted_id for each in permissions(call.state, audience_id)):
        raise invalid("granted_account_id", "has been granted the audience already")
    permission = new_record(call, tailored_audience_id=audience_id, **arguments.query)
    call.state.advertising.table(account_of(call), _KIND).add(permission)
    return answer_record(call, arguments, permission)


@serves(routes.AUDIENCE_PERMISSION_DELETE)
async def revoke(call: Call, arguments: Arguments) -> Answer:
    """The account can no longer target the audience in new campaigns; those that run go on."""
    _check_owner(call)
    permission = the(call, _KIND, _ID)
    if permission["tailored_audience_id"] != arguments.path["tailored_audience_id"]:
        raise missing_record(_ID)
    call.state.advertising.table(account_of(call), _KIND).change(
        permission, deleted=True, updated_at=timestamp(call.now)
    )
    return answer_record(call, arguments, permission)


def _check_owner(call: Call) -> None:
    """The account that owns an audience alone may change who else uses it."""
    owner = owner_of(call.state, call.path_parameters["tailored_audience_id"])
    if owner is None:
        raise missing_record("tailored_audience_id")
    if owner != account_of(call):
        raise Refusal(403, "FORBIDDEN", "the account does not own the audience", parameter="tailored_audience_id")


def _check_business(call: Call, granted: Record) -> None:
    owner = call.state.advertising.accounts.get(account_of(call))
    assert owner is not None, "who calls was found by it"
    if granted["business_id"] != owner["business_id"] and SHARING not in owner["features"]:
        message = f"the accounts are not under one business, and the owner has no feature {SHARING}"
        raise Refusal(403, "FORBIDDEN", message, parameter="granted_account_id")
