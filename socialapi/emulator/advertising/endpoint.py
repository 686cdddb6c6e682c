"""Registering handlers of the advertising API: who may call (section 5), and arguments that keep the rules."""

from collections.abc import Awaitable, Callable
from typing import Any

from socialapi.emulator.advertising.parameters import Rules, missing_record, read_parameters
from socialapi.emulator.advertising.records import Record, Table
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.authentication import account_user, signed_in_user
from socialapi.emulator.call import Authenticate, Call, Measure, handles
from socialapi.emulator.clock import timestamp
from socialapi.emulator.envelopes import Answer
from socialapi.emulator.state import User
from socialapi.routes.route import Route

AdvertisingHandler = Callable[[Call, Arguments], Awaitable[Answer]]


def serves(
    route: Route[Any],
    *,
    rules: Rules | None = None,
    caller: Authenticate | None = None,
    measure: Measure | None = None,
    faults: tuple[str, ...] = (),
) -> Callable[[AdvertisingHandler], AdvertisingHandler]:
    """Registers the function below for a route of the advertising API; its arguments break no rule.

    `rules` are those that need what is stored. `caller` is a user whom the account in the path belongs to, or any
    user where there is none, unless given. `measure` and `faults` are as for `handles`.
    """

    def register(handler: AdvertisingHandler) -> AdvertisingHandler:
        async def checked(call: Call) -> Answer:
            return await handler(call, read_parameters(call, rules))

        who = caller or (account_user if "{account_id}" in route.path else signed_in_user)
        handles(route, caller=who, measure=measure, faults=faults)(checked)
        return handler

    return register


def user_of(call: Call) -> User:
    """The user who asks: there is one for every advertising endpoint."""
    assert call.caller.user is not None
    return call.caller.user


def account_of(call: Call) -> str:
    """The id of the account in the path."""
    return call.path_parameters["account_id"]


def the(call: Call, kind: str, parameter: str, *, with_deleted: bool = False) -> Record:
    """The record of the account that a path parameter names; a refusal if there is none."""
    return named(call, call.state.advertising.table(account_of(call), kind), parameter, with_deleted=with_deleted)


def named(call: Call, table: Table, parameter: str, *, with_deleted: bool = False) -> Record:
    """The record that a path parameter names; a refusal if there is none."""
    record = table.get(call.path_parameters[parameter], with_deleted=with_deleted)
    if record is None:
        raise missing_record(parameter)
    return record


def new_record(call: Call, **fields: Any) -> Record:
    """A record made now."""
    now = timestamp(call.now)
    record_id = call.state.advertising.new_id()
    return {"id": record_id, **fields, "created_at": now, "updated_at": now, "deleted": False}
