"""Registration of advertising handlers: parameters, errors, records and paging."""

import functools
import types
import typing
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import attrs
import orjson

from socialapi.emulator.advertising.state import Order, Place, Record, Table
from socialapi.emulator.arguments import (
    Arguments,
    NoQuery,
    declared_parameters,
    parameter_pairs,
    repetitions,
    typed,
    without_conditions,
)
from socialapi.emulator.auth import account_user, signed_in_user
from socialapi.emulator.clock import timestamp
from socialapi.emulator.encoding import open_text, seal_text
from socialapi.emulator.handlers import Authenticate, Call, Measure, body_limit, handles
from socialapi.emulator.request import FORM
from socialapi.emulator.responses import Answer, Refusal, ads_data
from socialapi.emulator.state import User
from socialapi.models.pages import Page
from socialapi.models.validation import broken_rules, wire_name
from socialapi.problems import BrokenRule
from socialapi.routes.route import Route

Rules = Callable[[Call, Arguments], Iterable[BrokenRule]]
"""Rules of an endpoint that need what is stored. They may refuse by themselves what cannot be judged at all."""


class InvalidParameters(Refusal):
    """A request that breaks rules. The answer lists all of them."""

    def __init__(self, broken: Sequence[BrokenRule]) -> None:
        errors = [_error(rule) for rule in broken]
        super().__init__(400, errors[0]["code"], errors[0]["message"], errors=errors)
        self.broken: tuple[BrokenRule, ...] = tuple(broken)


def _error(rule: BrokenRule) -> dict[str, Any]:
    error = {"code": rule.code, "message": f"{rule.path or 'the body'} {rule.reason}"}
    return {**error, "parameter": rule.path} if rule.path else error


def invalid(parameter: str, reason: str) -> InvalidParameters:
    """The refusal of a request for one thing."""
    return InvalidParameters([BrokenRule(path=parameter, reason=reason)])


def missing_record(parameter: str) -> Refusal:
    """The refusal of a request about something that is not there, named by the parameter that should say which."""
    return not_found([parameter])


def not_found(parameters: Sequence[str]) -> Refusal:
    """The same for several things."""
    errors = [
        {
            "code": "NOT_FOUND",
            "message": f"there is no such {name.removesuffix('_id').replace('_', ' ')}",
            "parameter": name,
        }
        for name in parameters
    ]
    return Refusal(404, "NOT_FOUND", errors[0]["message"], parameter=parameters[0], errors=errors)


def read_parameters(call: Call, rules: Rules | None = None) -> Arguments:
    """The checked arguments of a call. Raises InvalidParameters, or Refusal for a body that cannot be read at all.

    Values come first: only when each of them is right by itself it is asked how they go together, and with what is
    stored.
    """
    arguments, broken = _read(call)
    if broken:
        raise InvalidParameters(broken)
    now = call.state.clock.datetime()
    broken = broken_rules(_declared(call), arguments.query, now=now)
    if rules is not None:
        broken += [rule for rule in rules(call, arguments) if rule not in broken]
    if broken:
        raise InvalidParameters(broken)
    return arguments


def _declared(call: Call) -> Any:
    return declared_parameters(call.route) or NoQuery


def _read(call: Call) -> tuple[Arguments, list[BrokenRule]]:
    """What was given, and the rules that its single values break."""
    now = call.state.clock.datetime()
    route = call.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, call.path_parameters[name], now=now, path=name)
    body = None
    if route.body_in == "json":
        body = call.json()
    else:
        _refuse_other_bodies(call)
    pairs = parameter_pairs(route, call.received)
    broken += repetitions(pairs)
    query = typed(declared_parameters(route), dict(pairs))
    found = broken_rules(without_conditions(_declared(call)), query, now=now)
    # An element of a list has no name of its own in the query.
    broken += [attrs.evolve(rule, path=rule.path.partition("[")[0]) for rule in found]
    sort_by = query.get("sort_by", "")
    is_order = sort_by and all(rule.path != "sort_by" for rule in found)
    if is_order and sort_by.rpartition("-")[0] not in sortable(route):
        broken.append(BrokenRule(path="sort_by", reason="must name a field with a single value"))
    if route.body_in == "json":
        broken += broken_rules(route.body, body, now=now)
    return Arguments(call.path_parameters, query, body), broken


def _refuse_other_bodies(call: Call) -> None:
    """Refuses a body that would not be read, rather than doing without what it says."""
    if not call.received.complete:
        raise Refusal(400, "INVALID_PARAMETER", f"the body has more than {body_limit(call.route):,} bytes")
    if call.received.body and (call.received.method == "GET" or call.received.content_type != FORM):
        raise Refusal(
            415, "UNSUPPORTED_MEDIA_TYPE", "the parameters go into the query, those of a write also into a form"
        )


def to_wire(record: Record, model: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The documented fields of a record that it has."""
    return {name: record[name] for name in _fields(model) if name in record and name not in without}


def answer_record(call: Call, arguments: Arguments, record: Record) -> Answer:
    """The answer of an endpoint about one record."""
    return ads_data(to_wire(record, call.route.result), arguments.echo)


def item_of(route: Route[Any]) -> Any:
    """The model of what a route answers, or of an item of the collection that it answers."""
    return typing.get_args(route.result)[0] if typing.get_origin(route.result) is Page else route.result


def sortable(route: Route[Any]) -> Collection[str]:
    """The fields that the items of a collection can be sorted by: those with a single value."""
    return frozenset(name for name, kind in _fields(item_of(route)).items() if _is_scalar(kind))


@functools.cache
def _fields(model: Any) -> Mapping[str, Any]:
    """The names of the fields of a model on the wire, with their types."""
    attrs.resolve_types(model)
    return {wire_name(field): field.type for field in attrs.fields(model) if field.name != "extra"}


def _is_scalar(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return all(map(_is_scalar, typing.get_args(kind)))
    return origin is typing.Literal or (origin is None and not attrs.has(kind))


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


def require_record(call: Call, kind: str, parameter: str, *, with_deleted: bool = False) -> Record:
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


DEFAULT_COUNT: Final = 200

_OF_A_PAGE: Final = frozenset({"cursor", "count", "with_total_count"})
_DEFAULTS: Final[Mapping[str, Any]] = {"with_deleted": False, "with_active": True, "include_legacy_cards": False}
"""Parameters that say nothing when they have these values."""


def collection(
    call: Call,
    arguments: Arguments,
    table: Table,
    *,
    where: Callable[[Record], bool] | None = None,
    show: Callable[[Record], Any] | None = None,
    default_count: int = DEFAULT_COUNT,
    always_total: bool = False,
) -> Answer:
    """The page that is asked for, of the records that `where` accepts, each as `show` has it or as documented.

    A cursor names the record that the page begins behind, and what it was sorted by then: whatever is made or deleted
    in the meantime, no other record is repeated or left out. The last page is the one with nothing behind it.
    """
    query = arguments.query
    with_deleted = query.get("with_deleted", False)

    def accepted(record: Record) -> bool:
        return (with_deleted or not record.get("deleted")) and (where is None or where(record))

    order = _order(query.get("sort_by"))
    size = query.get("count", default_count)
    rows = table.rows
    behind = table.behind(order, place_asked(call, arguments))
    found = list(islice((position for position in behind if accepted(rows[position])), size + 1))
    cursor = cursor_to(call, arguments, table.place_of(order, found[size - 1])) if len(found) > size else None
    present = show or (lambda record: to_wire(record, item_of(call.route)))
    beside: dict[str, Any] = {"next_cursor": cursor}
    if always_total or query.get("with_total_count"):
        beside["total_count"] = sum(map(accepted, rows))
    return ads_data([present(rows[position]) for position in found[:size]], arguments.echo, **beside)


def place_asked(call: Call, arguments: Arguments) -> Place | None:
    """The place that the page begins behind; None for the first page."""
    if "cursor" not in arguments.query:
        return None
    content = open_text(arguments.query["cursor"], _name(call, arguments))
    if content is None:
        raise invalid("cursor", "is not one of this collection with these parameters")
    return Place(*orjson.loads(content))


def cursor_to(call: Call, arguments: Arguments, place: Place) -> str:
    """A cursor to what is behind a place."""
    return seal_text(orjson.dumps([place.value, place.position]), _name(call, arguments))


def _order(sort_by: str | None) -> Order | None:
    """The rules have checked it."""
    if sort_by is None:
        return None
    field, _, direction = sort_by.rpartition("-")
    return Order(field, direction == "desc")


def _name(call: Call, arguments: Arguments) -> str:
    """What a cursor is good for: the same reader, path, filters and order, in pages of whatever size."""
    asked = {name: value for name, value in arguments.query.items() if name not in _OF_A_PAGE}
    filters = sorted((name, value) for name, value in asked.items() if _DEFAULTS.get(name) is not value)
    user_id = call.caller.user.id if call.caller.user else ""
    return repr((user_id, call.route.path, sorted(arguments.path.items()), filters))
