"""Reading requests whose route takes a JSON body and has rules about its path."""

from typing import Annotated, Any, TypedDict

import attrs
import orjson
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.arguments import read_arguments
from socialapi.emulator.auth import NOBODY, signed_in_user
from socialapi.emulator.handlers import Call, Endpoint
from socialapi.emulator.request import Received
from socialapi.emulator.responses import Answer, InvalidRequest, refused
from socialapi.models.validation import Pattern
from socialapi.routes.route import ADS, Route


@attrs.define
class Part:
    size: int


@attrs.define
class Body:
    name: str
    parts: tuple[Part, ...] = ()


class Query(TypedDict, total=False):
    dry: bool


ROUTE: Route[Any] = Route(
    "POST",
    ADS,
    "/12/things/{thing_id}",
    dict,
    Body,
    "json",
    query=Query,
    path_rules={"thing_id": Annotated[str, Pattern("[a-z]+", "must be letters")]},
)


async def unused(call: Call) -> Answer:
    raise NotImplementedError


def read(
    emulator: Emulator, body: bytes, *, thing: str = "abc", query: str = "", kind: str = "application/json"
) -> Call:
    received = Received("POST", f"/ads/12/things/{thing}", query, {"Content-Type": kind}, body)
    made = Call(emulator._service, emulator.state, ROUTE, {"thing_id": thing}, received, NOBODY)
    read_arguments(Endpoint(ROUTE, unused, signed_in_user), made)
    return made


def test_path_query_and_body_are_read_together(emulator: Emulator) -> None:
    body = {"name": "A", "parts": [{"size": 1}]}
    call = read(emulator, orjson.dumps(body), query="dry=true")
    assert (call.path, call.query, call.body) == ({"thing_id": "abc"}, {"dry": True}, body)


def test_what_is_wrong_in_any_of_them_is_listed_with_its_place(emulator: Emulator) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(emulator, orjson.dumps({"parts": [{"size": "x"}]}), thing="A1", query="dry=maybe")
    assert [(rule.code, rule.path) for rule in caught.value.broken] == [
        ("INVALID_PARAMETER", "thing_id"),
        ("INVALID_PARAMETER", "dry"),
        ("MISSING_PARAMETER", "name"),
        ("INVALID_PARAMETER", "parts[0].size"),
    ]


def test_a_body_that_is_no_object_is_at_fault_as_a_whole(emulator: Emulator) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read(emulator, b"[]")
    answer = orjson.loads(refused(caught.value, "ads", {}, "").body)
    assert answer["errors"] == [{"code": "INVALID_PARAMETER", "message": "the body must be an object"}]
