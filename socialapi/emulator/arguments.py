"""Reads and validates the arguments of platform requests by the declarations of their routes."""

import functools
import re
import types
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs
import orjson

from socialapi.emulator.handlers import Call, body_limit
from socialapi.emulator.request import FORM, Received, split
from socialapi.emulator.responses import Refusal, invalid_request
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.routes.route import Route

LONGEST_ECHO: Final = 100
"""How many characters of a bad value are repeated in the answer."""


@attrs.frozen
class Arguments:
    """The path and query parameters with their declared types, and the decoded JSON body.

    For an advertising write, `query` includes the parameters of a form.
    """

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any = None

    @property
    def echo(self) -> dict[str, Any]:
        """What an advertising answer repeats."""
        return {**self.query, **self.path}


class InvalidArguments(Refusal):
    """A request that breaks declared rules. The answer lists all of them."""

    def __init__(self, broken: Sequence[BrokenRule], given: Callable[[str], Sequence[str]]) -> None:
        errors = [{"message": str(rule), "parameters": {rule.path: list(given(rule.path))}} for rule in broken]
        rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
        super().__init__(
            400, "INVALID_PARAMETER", f"the request breaks {rules}", problem="invalid-request", errors=errors
        )
        self.broken: tuple[BrokenRule, ...] = tuple(broken)


def read_arguments(call: Call) -> Arguments:
    """The checked arguments of a call. Raises InvalidArguments, or Refusal for a body that cannot be read at all."""
    now = call.state.clock.datetime()
    route = call.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, call.path_parameters[name], now=now, path=name)
    pairs = parse_qsl(call.received.query, keep_blank_values=True)
    broken += repetitions(pairs)
    query = typed(route.query, dict(pairs))
    broken += broken_rules(route.query or NoQuery, query, now=now)
    body = None
    if route.body is not None:
        body = _json(call)
        broken += broken_rules(route.body, body, now=now)
    if broken:
        raise InvalidArguments(broken, functools.partial(_given, {**call.path_parameters, **dict(pairs)}, body))
    return Arguments(call.path_parameters, query, body)


class NoQuery(typing.TypedDict):
    """The query of a route without query parameters."""


def _json(call: Call) -> Any:
    if call.received.content_type != "application/json":
        raise Refusal(415, "UNSUPPORTED_MEDIA_TYPE", "the body must be sent as application/json")
    if not call.received.complete:
        raise invalid_request(f"the body has more than {body_limit(call.route):,} bytes", {"body": []})
    try:
        return call.received.json()
    except ValueError:
        raise invalid_request("the body is not valid JSON", {"body": []}) from None


def _given(texts: Mapping[str, str], body: Any, path: str) -> Sequence[str]:
    """What was given at the path of a broken rule, or at the nearest place above it; nothing if nothing was."""
    if path in texts:
        return [texts[path][:LONGEST_ECHO]]
    value = body
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


def repetitions(pairs: Sequence[tuple[str, str]]) -> list[BrokenRule]:
    """What is wrong about parameters that are given more than once."""
    counts = Counter(name for name, _ in pairs)
    return [BrokenRule(path=name, reason="is given more than once") for name, count in counts.items() if count > 1]


def parameter_pairs(route: Route[Any], received: Received) -> list[tuple[str, str]]:
    """The query; for a write whose parameters travel in the query also those of a form (advertising section 4.4)."""
    pairs = parse_qsl(received.query, keep_blank_values=True)
    if route.method != "GET" and route.body_in == "query" and received.content_type == FORM:
        pairs += parse_qsl(received.body.decode("utf-8", "replace"), keep_blank_values=True)
    return pairs


def declared_parameters(route: Route[Any]) -> Any:
    """The declaration of what `parameter_pairs` reads: the body of such a write, or the query; None if there is none."""
    return route.body if route.body is not None and route.body_in == "query" else route.query


def echo(route: Route[Any], path: Mapping[str, str], received: Received) -> dict[str, Any]:
    """The parameters of a request as an advertising answer repeats them: of the path, and the others as typed values."""
    return {**typed(declared_parameters(route), dict(parameter_pairs(route, received))), **path}


def typed(declared: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """The texts as their declared types where they can be read as such, and otherwise as they are, to be refused."""
    readers = _readers(declared)
    return {name: readers[name](text) if name in readers else text for name, text in texts.items()}


def without_conditions(declared: Any) -> Any:
    """The bare class of a declaration that may have rules beside it which span several fields."""
    return typing.get_args(declared)[0] if typing.get_origin(declared) is typing.Annotated else declared


@functools.cache
def _readers(declared: Any) -> Mapping[str, Callable[[str], Any]]:
    hints = {} if declared is None else typing.get_type_hints(without_conditions(declared))
    return {name: reader for name, kind in hints.items() if (reader := _reader(kind)) is not None}


def _reader(kind: Any) -> Callable[[str], Any] | None:
    """How a text becomes a value of the type; None where it stays a text."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        reader = _reader(members[0]) if str not in members else None
        return _nullable(reader) if len(members) < len(arguments) else reader
    if origin is tuple:
        return split
    if origin is typing.Literal:
        return _whole if all(isinstance(value, int) for value in arguments) else None
    return {int: _whole, bool: _boolean}.get(kind)


def _nullable(reader: Callable[[str], Any] | None) -> Callable[[str], Any]:
    """An empty text stands for null."""
    return lambda text: (reader(text) if reader else text) if text else None


_INT64: Final = range(-(2**63), 2**63)


def _whole(text: str) -> Any:
    """Of up to 64 bits, as far as JSON carries them everywhere."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) and int(text) in _INT64 else text


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), text)
