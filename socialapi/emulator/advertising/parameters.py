"""The parameters of an advertising request, checked by the declarations of its route; every broken rule is listed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from socialapi.emulator.advertising.showing import sortable
from socialapi.emulator.arguments import (
    Arguments,
    NoQuery,
    declared_parameters,
    parameter_pairs,
    repetitions,
    typed,
    without_conditions,
)
from socialapi.emulator.call import Call, body_limit
from socialapi.emulator.envelopes import Refusal
from socialapi.emulator.received import FORM
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule

Rules = Callable[[Call, Arguments], Iterable[BrokenRule]]
"""Rules of an endpoint that need what is stored. They may refuse by themselves what cannot be judged at all."""


class InvalidParameters(Refusal):
    """A request that breaks rules; every one of them is listed in the answer."""

    def __init__(self, broken: Sequence[BrokenRule]) -> None:
        errors = [_error(rule) for rule in broken]
        super().__init__(400, errors[0]["code"], errors[0]["message"], errors=errors)
        self.broken = tuple(broken)


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
