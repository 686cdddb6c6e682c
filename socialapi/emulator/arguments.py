"""Reads the arguments of requests as their routes declare them, and checks their rules."""

import copy
import functools
import re
import types
import typing
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs
import orjson

from socialapi.emulator.handlers import Call, Endpoint
from socialapi.emulator.platform.selection import known_names
from socialapi.emulator.request import FORM, Received, body_limit, split
from socialapi.emulator.responses import LONGEST_ECHO, InvalidRequest, Refusal, invalid, style_of
from socialapi.models.validation import UNKNOWN_FIELD, broken_rules, printable_name, wire_name
from socialapi.problems import BrokenRule
from socialapi.routes.route import Route

Pairs = Sequence[tuple[str, str]]
"""The parameters of a request in order, including repeated ones."""


def read_arguments(endpoint: Endpoint, call: Call) -> None:
    """Sets the query and body of the call.

    Raises InvalidRequest, or Refusal for a body that cannot be read at all. Single values are checked first. If all of
    them are valid, their combinations are checked, and then the rules that depend on stored data. The OAuth endpoints
    check their parameters themselves, according to their protocols.
    """
    if endpoint.style == "oauth":
        call.query = call.received.parameters()
        return
    if not endpoint.checks_arguments:
        return
    try:
        _read(endpoint, call)
    except InvalidRequest as refusal:
        raise (endpoint.refuse(refusal) if endpoint.refuse else refusal) from None


def _read(endpoint: Endpoint, call: Call) -> None:
    pairs = parameter_pairs(call.route, call.received)
    call.query = _query(call, pairs)
    call.body = _body(endpoint, call)
    broken = _broken_values(call, pairs)
    if takes_json(call.route) and endpoint.checks_body:
        broken += broken_rules(call.route.body, call.body, now=call.state.clock.datetime())
    check(call, broken)
    broken = _broken_conditions(call)
    if endpoint.rules is not None:
        broken += [rule for rule in endpoint.rules(call) if rule not in broken]
    check(call, broken)


def read_query(call: Call) -> dict[str, Any]:
    """Returns the query, converted to its declared types. Raises InvalidRequest. The OAuth pages call this function
    directly, because they have their own error messages.
    """
    pairs = parameter_pairs(call.route, call.received)
    call.query = _query(call, pairs)
    check(call, _broken_values(call, pairs))
    check(call, _broken_conditions(call))
    return call.query


def _query(call: Call, pairs: Pairs) -> dict[str, Any]:
    declared, passed_over = declared_parameters(call.route), read_only_fields(call.route)
    query = typed(declared, {name: text for name, text in pairs if name not in passed_over})
    if not call.service.settings.lenient_fields:
        return query
    hints = typing.get_type_hints(without_conditions(declared))
    return known_names({name: value for name, value in query.items() if name in hints or "extra" in hints})


def known_fields(call: Call, declared: Any, value: Any) -> Any:
    """Returns the value, or a copy without unknown fields if those are allowed."""
    if not call.service.settings.lenient_fields:
        return value
    known = copy.deepcopy(value)
    for rule in broken_rules(declared, known, now=call.state.clock.datetime()):
        if rule.reason == UNKNOWN_FIELD:
            _remove(known, rule.path)
    return known


def _remove(value: Any, path: str) -> None:
    """Removes the field at a path. Field names may contain dots."""
    if isinstance(value, list) and (item := re.fullmatch(r"\[(\d+)\]\.?(.+)", path, re.DOTALL)):
        _remove(value[int(item[1])], item[2])
    elif isinstance(value, dict):
        for name in list(value):
            shown = printable_name(name)
            if shown == path:
                del value[name]
            elif path.startswith((f"{shown}.", f"{shown}[")):
                _remove(value[name], path[len(shown) :].removeprefix("."))


def check(call: Call, broken: Sequence[BrokenRule]) -> None:
    """Refuses the call if it breaks any rules."""
    if broken:
        raise InvalidRequest(broken, functools.partial(_given, call))


def _broken_values(call: Call, pairs: Pairs) -> list[BrokenRule]:
    """Returns the rules that individual parameters break."""
    now, route = call.state.clock.datetime(), call.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, call.path[name], now=now, path=name)
    counts = Counter(name for name, _ in pairs)
    repeated = [name for name, count in counts.items() if count > 1 and name in call.query]
    broken += [BrokenRule(path=name, reason="is given more than once") for name in repeated]
    found = broken_rules(without_conditions(declared_parameters(route)), call.query, now=now)
    # The elements of a list have no separate names in the query.
    broken += [attrs.evolve(rule, path=rule.path.partition("[")[0]) for rule in found]
    is_order = "sort_by" in call.query and all(rule.path != "sort_by" for rule in found)
    if is_order and call.query["sort_by"].rpartition("-")[0] not in sortable_fields(route):
        broken.append(BrokenRule(path="sort_by", reason="must name a field with a single value"))
    return broken


def _broken_conditions(call: Call) -> list[BrokenRule]:
    """Returns the rules that combinations of parameters break."""
    return broken_rules(declared_parameters(call.route), call.query, now=call.state.clock.datetime())


def _body(endpoint: Endpoint, call: Call) -> Any:
    """Returns the decoded JSON if the route has a body. Otherwise, rejects any body that would be ignored."""
    received = call.received
    if not received.complete:
        raise invalid("", f"has more than {body_limit(call.route):,} bytes")
    if not takes_json(call.route):
        is_ads = endpoint.style == "ads"
        is_form = is_ads and received.content_type == FORM and received.method != "GET"
        if received.body and not is_form:
            message = "send the parameters in the query or in a form" if is_ads else "this endpoint takes no body"
            raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", message)
        return None
    if received.content_type != "application/json":
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be sent as application/json")
    if received.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be sent without a content encoding")
    try:
        body = known_fields(call, call.route.body, received.json())
    except orjson.JSONDecodeError:
        raise invalid("", "is not valid JSON") from None
    except ValueError as problem:
        raise invalid("", str(problem)) from None
    ignored = read_only_fields(call.route)
    return {name: each for name, each in body.items() if name not in ignored} if isinstance(body, dict) else body


@functools.cache
def read_only_fields(route: Route[Any]) -> frozenset[str]:
    """Returns the fields of a record that a PUT may contain but cannot change, because clients send back the complete
    record that they have read. These fields are ignored. Updates of accounts are excluded.
    """
    is_record = route.path.endswith("}") and not route.path.endswith("{account_id}")
    if route.method != "PUT" or not is_record or style_of(route.family) != "ads":
        return frozenset()
    taken: Any = without_conditions(route.body)
    names = typing.get_type_hints(taken) if typing.is_typeddict(taken) else wire_fields(taken)
    return frozenset(wire_fields(item_of(route))) - frozenset(names)


def takes_json(route: Route[Any]) -> bool:
    """Returns whether the parameters of a request are sent in a JSON body."""
    return route.body is not None and route.body_in == "json"


def _given(call: Call, path: str) -> Sequence[str]:
    """Returns the request's value at the path of a violation, or at the nearest parent path."""
    texts = {**call.path, **dict(parameter_pairs(call.route, call.received))}
    if path in texts:
        return [texts[path][:LONGEST_ECHO]]
    value = call.body
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return []
    if value is None:
        return []
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return [text[:LONGEST_ECHO]]


class NoParameters(typing.TypedDict):
    """The parameters of a route that has none."""


def parameter_pairs(route: Route[Any], received: Received) -> list[tuple[str, str]]:
    """Returns the query parameters. For a write that sends its parameters in the query, also returns the form
    parameters.
    """
    is_write = route.method != "GET" and not takes_json(route)
    return received.pairs() if is_write else parse_qsl(received.query, keep_blank_values=True)


def declared_parameters(route: Route[Any]) -> Any:
    """Returns the declaration of the parameters that `parameter_pairs` reads: the declared body of such a write, or the
    declared query.
    """
    declared = route.body if route.body is not None and route.body_in == "query" else route.query
    return declared or NoParameters


def echo(route: Route[Any], path: Mapping[str, str], received: Received) -> dict[str, Any]:
    """Returns the parameters of a request as an advertising response echoes them: path parameters as strings, the
    others as typed values.
    """
    return {**typed(declared_parameters(route), dict(parameter_pairs(route, received))), **path}


def typed(declared: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """Returns the strings, converted to their declared types. A string that cannot be converted stays unchanged and is
    refused later.
    """
    readers = _readers(declared)
    return {name: readers[name](text) if name in readers else text for name, text in texts.items()}


def without_conditions(declared: Any) -> Any:
    """Returns the plain class of a declaration, without rules that span several fields."""
    return typing.get_args(declared)[0] if typing.get_origin(declared) is typing.Annotated else declared


def item_of(route: Route[Any]) -> Any:
    """Returns the model of a route's result, or of a single item if the result is a collection."""
    return typing.get_args(route.result)[0] if route.is_paged else route.result


@functools.cache
def wire_fields(model: Any) -> Mapping[str, Any]:
    """Returns the wire names of a model's fields, with their types."""
    attrs.resolve_types(model)
    return {wire_name(field): field.type for field in attrs.fields(model) if field.name != "extra"}


def sortable_fields(route: Route[Any]) -> Collection[str]:
    """Returns the single-valued fields, by which a collection can be sorted."""
    return tuple(name for name, kind in wire_fields(item_of(route)).items() if _is_scalar(kind))


def _is_scalar(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return all(map(_is_scalar, typing.get_args(kind)))
    return origin is typing.Literal or (origin is None and not attrs.has(kind))


@functools.cache
def _readers(declared: Any) -> Mapping[str, Callable[[str], Any]]:
    hints = typing.get_type_hints(without_conditions(declared))
    return {name: reader for name, kind in hints.items() if (reader := _reader(kind)) is not None}


def _reader(kind: Any) -> Callable[[str], Any] | None:
    """Returns a function that converts a string to a value of the type, or None if it stays a string."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        reader = _reader(members[0]) if str not in members else None
        if len(members) == len(arguments):
            return reader
        return lambda text: (reader(text) if reader else text) if text else None  # an empty string is null
    if origin is tuple:
        return split
    if origin is typing.Literal:
        return _whole if all(isinstance(value, int) for value in arguments) else None
    return {int: _whole, bool: _boolean}.get(kind)


_INT64: Final = range(-(2**63), 2**63)


def _whole(text: str) -> Any:
    """Returns an integer of up to 64 bits, the largest size that every JSON library supports."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) and int(text) in _INT64 else text


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), text)
