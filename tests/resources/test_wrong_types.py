"""Every public method is called with values of wrong types, one argument at a time.

Either the call is refused with an error of this package, or it succeeds; and nothing arrives at the service that it
refuses for its type.
"""

import functools
import inspect
import math
import re
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, InvalidInput, SocialApiError
from socialapi.resources.resource import Resource
from socialapi.session.pager import Pager
from socialapi.streams.stream import Stream
from socialapi.types import Website
from tests.support.clients import client_of

WRONG: Final[tuple[Any, ...]] = (
    None,
    5,
    1.5,
    math.nan,
    True,
    b"x",
    "x",
    [],
    {},
    object(),
    Website("https://northwind.example"),
    ["x"],
    [5],
    [None],
    [object()],
    [b"x"],
    {"x": object()},
    {5: "x"},
    print,
    int,
)
NOT_A_CALL: Final = ("aclose", "config", "from_env", "limits", "usage", "with_options")
ABOUT_TYPES: Final = re.compile(
    "must be (a string|an array|an object|a whole number|a number|true or false|null|an ISO 8601)|not valid JSON"
)
"""What the service says of a value whose type is not the declared one."""
TAKES_ANY_BODY: Final = "client.request(json)"
NO_BODY: Final = re.compile("GET /2/tweets: 415: this endpoint takes no body ")
"""What the service says of any value at all that `request` sends to an endpoint without a body."""
FURTHER: Final = "further"
"""Stands for keywords that are sent as they are."""
POSITIONS: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

SAID_AS: Final[Mapping[str, str]] = {
    "desired": "records",
    "json": "cannot be sent as JSON",
    "operations": "Operation",
    "rules": "add[0]",
}
"""Arguments that are told otherwise than by their names."""


@attrs.frozen
class Call:
    """A public method by its name, found from a client, and one of its arguments."""

    name: str
    argument: str
    find: Callable[[Client], Callable[..., Any]] = attrs.field(repr=False)

    def __str__(self) -> str:
        return f"{self.name}({self.argument})"


def methods(kind: Any, name: str, find: Callable[[Client], Any]) -> Iterator[tuple[str, Callable[[Client], Any]]]:
    """The public methods of a class and of what is below it."""
    for each in sorted(vars(kind)):
        if each.startswith("_") or each in NOT_A_CALL:
            continue
        found = inspect.getattr_static(kind, each)
        here = functools.partial(_attribute, find, each)
        if isinstance(found, (property, functools.cached_property)):
            yield from methods(type(here(ANYONE)), f"{name}.{each}", here)
            continue
        yield f"{name}.{each}", here
        if isinstance(result := _scoped(here, ANYONE), Resource):
            yield from methods(type(result), f"{name}.{each}('1')", functools.partial(_scoped, here))


def _attribute(find: Callable[[Client], Any], name: str, client: Client) -> Any:
    return getattr(find(client), name)


def _scoped(find: Callable[[Client], Callable[..., Any]], client: Client) -> Any:
    """What belongs to the thing with an id, where a method gives that."""
    method = find(client)
    returned = inspect.signature(method).return_annotation
    return (
        method("1")
        if not inspect.iscoroutinefunction(method)
        and "Pager" not in str(returned)
        and len(inspect.signature(method).parameters) == 1
        else None
    )


def arguments(method: Callable[..., Any]) -> Iterator[str]:
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield parameter.name
            continue
        kind = typing.get_type_hints(method)[parameter.name]
        keywords = typing.get_args(kind)
        yield from typing.get_type_hints(keywords[0]) if keywords else (FURTHER,)


ANYONE: Final = client_of("http://localhost:1")
CALLS: Final = [
    Call(name, argument, find)
    for name, find in methods(Client, "client", lambda client: client)
    for argument in arguments(find(ANYONE))
]


def fill(call: Call, method: Callable[..., Any], value: Any) -> tuple[list[Any], dict[str, Any]]:
    """The arguments: the value for the one in question, and a text for each that is required beside it."""
    given, keywords = [], {}
    parameters = inspect.signature(method).parameters
    for parameter in parameters.values():
        chosen = parameter.name == call.argument
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and chosen:
            given.append(value)
        elif parameter.kind in POSITIONS and (chosen or parameter.default is parameter.empty):
            given.append(value if chosen else GOOD.get(parameter.name, "1"))
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and (chosen or parameter.default is parameter.empty):
            keywords[parameter.name] = value if chosen else GOOD.get(parameter.name, "1")
    return given, keywords if call.argument in parameters else keywords | {call.argument: value}


GOOD: Final[Mapping[str, Any]] = {
    "callback": "oob",
    "content_state": {},
    "granularity": "DAY",
    "item": dict,
    "method": "GET",
    "path": "/2/tweets",
    "redirect_uri": "https://northwind.example/",
    "code_verifier": "v" * 43,
    "records": [{"email": "ada@northwind.example"}],
    "desired": [{"email": "ada@northwind.example"}],
    "snapshot": "audience.snapshot",
}


async def made(result: Any) -> Any:
    if isinstance(result, Pager):
        return await result.first()
    if isinstance(result, Stream):
        async with result:
            return await anext(aiter(result))
    return await result if isinstance(result, Awaitable) else result


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=str)
async def test_a_value_of_a_wrong_type_is_refused_by_name_or_makes_sense(
    client: Client, service: Emulator, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where a text is a path
    service.faults.add("status", status=404, method="GET", path="/2/tweets/search/stream", times=100)
    service.faults.add("status", status=404, method="GET", path="/2/activity/stream", times=100)
    method = call.find(client)
    errors = [error for value in WRONG if (error := await error_of(method, *fill(call, method, value))) is not None]
    assert not [each for each in errors if "object at 0x" in str(each)]
    without_body = [each for each in errors if str(call) == TAKES_ANY_BODY and NO_BODY.match(str(each))]
    assert sum(each.status in (415, 500) for each in service.requests) == len(without_body)
    if call.argument == FURTHER:
        return
    assert not [
        each for each in errors if isinstance(each, ApiError) and each.status and ABOUT_TYPES.search(repr(vars(each)))
    ]
    error = await error_of(method, *fill(call, method, object()))
    assert isinstance(error, InvalidInput)
    assert SAID_AS.get(call.argument, call.argument) in str(error)


async def error_of(method: Callable[..., Any], given: list[Any], keywords: dict[str, Any]) -> SocialApiError | None:
    try:
        await made(method(*given, **keywords))
    except SocialApiError as error:
        return error
    return None
