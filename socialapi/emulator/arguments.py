"""What a platform request says, read and checked by the declarations of its route: path, query, body (section 7.1)."""

import functools
import re
import typing
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import attrs
import orjson

from socialapi.emulator.call import Call, body_limit
from socialapi.emulator.envelopes import Refusal, invalid_request
from socialapi.emulator.received import split
from socialapi.models.rules import broken_rules
from socialapi.problems import BrokenRule

LONGEST_ECHO: Final = 100
"""How many characters of a bad value are repeated in the answer."""


@attrs.frozen
class Arguments:
    """The parameters of the path and of the query, with their declared types, and the decoded JSON body."""

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any = None


class InvalidArguments(Refusal):
    """A request that breaks declared rules; every one of them is listed in the answer."""

    def __init__(self, broken: Sequence[BrokenRule], given: Callable[[str], Sequence[str]]) -> None:
        errors = [{"message": str(rule), "parameters": {rule.path: list(given(rule.path))}} for rule in broken]
        rules = "1 rule" if len(broken) == 1 else f"{len(broken)} rules"
        super().__init__(
            400, "INVALID_PARAMETER", f"the request breaks {rules}", problem="invalid-request", errors=errors
        )
        self.broken = tuple(broken)


def read_arguments(call: Call) -> Arguments:
    """The checked arguments of a call. Raises InvalidArguments, or Refusal for a body that cannot be read at all."""
    now = call.state.clock.datetime()
    route = call.route
    broken: list[BrokenRule] = []
    for name, declared in route.path_rules.items():
        broken += broken_rules(declared, call.path_parameters[name], now=now, path=name)
    pairs = parse_qsl(call.received.query, keep_blank_values=True)
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    broken += [BrokenRule(path=name, reason="is given more than once") for name in repeated]
    query = _coerced(route.query, dict(pairs))
    broken += broken_rules(route.query or NoQuery, query, now=now)
    body = None
    if route.body is not None:
        body = _json(call)
        broken += broken_rules(route.body, body, now=now)
    if broken:
        raise InvalidArguments(broken, functools.partial(_given, {**call.path_parameters, **dict(pairs)}, body))
    return Arguments(call.path_parameters, query, body)


class NoQuery(typing.TypedDict):
    """The query of a route that takes none."""


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


def _coerced(declared: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """The texts as their declared types where they can be read as such, and otherwise as they are, to be refused."""
    readers = _readers(declared)
    return {name: readers[name](text) if name in readers else text for name, text in texts.items()}


@functools.cache
def _readers(declared: Any) -> Mapping[str, Callable[[str], Any]]:
    hints = {} if declared is None else typing.get_type_hints(declared)
    return {name: reader for name, kind in hints.items() if (reader := _reader(kind)) is not None}


def _reader(kind: Any) -> Callable[[str], Any] | None:
    if typing.get_origin(kind) is tuple:
        return split
    return {int: _whole, bool: _boolean}.get(kind)


def _whole(text: str) -> Any:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text


def _boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), text)
