"""The enumerations of problems (platform documentation, section 7.1), value by value, and what is beside data."""

import pickle
import typing
from typing import Any

import attrs
import orjson
import pytest

from socialapi import errors, problems
from socialapi.problems import PROBLEM_TYPES, InvalidParameters, Problem, ServiceError
from socialapi.wire.decode import read_partial_error, read_problem, read_service_error
from socialapi.wire.response import Reply, read_error

BASE = "https://api.example.com/problems"
RESOURCE_TYPES = ("user", "tweet", "media", "list", "space")
NAME_A_RESOURCE = (
    *("disallowed-resource", "not-authorized-for-field", "not-authorized-for-resource"),
    *("resource-not-found", "resource-unavailable"),
)
ENUMERATIONS: dict[tuple[str, str], tuple[str, ...]] = {
    ("client-forbidden", "reason"): ("official-client-forbidden", "client-not-enrolled"),
    ("disallowed-resource", "section"): ("data", "includes"),
    ("not-authorized-for-field", "section"): ("data", "includes"),
    ("not-authorized-for-resource", "section"): ("data", "includes"),
    ("operational-disconnect", "disconnect_type"): (
        "OperationalDisconnect",
        "UpstreamOperationalDisconnect",
        "ForceDisconnect",
        "UpstreamUncleanDisconnect",
        "SlowReader",
        "InternalError",
        "ClientApplicationStateDegraded",
        "InvalidRules",
    ),
    ("streaming-connection", "connection_issue"): (
        "TooManyConnections",
        "ProvisioningSubscription",
        "RuleConfigurationIssue",
        "RulesInvalidIssue",
    ),
    ("usage-capped", "period"): ("Daily", "Monthly"),
    ("usage-capped", "scope"): ("Account", "Product"),
    **{(slug, "resource_type"): RESOURCE_TYPES for slug in NAME_A_RESOURCE},
}


def problem(slug: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"{BASE}/{slug}", "title": "A title", **fields}


def literals(annotation: Any) -> tuple[str, ...]:
    """The values of the Literal in an annotation."""
    if typing.get_origin(annotation) is typing.Literal:
        return typing.get_args(annotation)
    return tuple(value for member in typing.get_args(annotation) for value in literals(member))


@pytest.mark.parametrize(("slug", "name"), ENUMERATIONS)
def test_an_enumeration_has_the_documented_values_and_takes_others(slug: str, name: str) -> None:
    cls = PROBLEM_TYPES[slug]
    assert literals(typing.get_type_hints(cls)[name]) == ENUMERATIONS[slug, name]
    for value in (*ENUMERATIONS[slug, name], "SomethingNew"):
        found = read_problem(problem(slug, **{name: value}))
        assert type(found) is cls
        assert getattr(found, name) == value
        assert found.extra == {}


@pytest.mark.parametrize("slug", PROBLEM_TYPES)
def test_each_type_reads_without_its_fields_and_keeps_those_it_does_not_know(slug: str) -> None:
    found = read_problem(problem(slug, colour="blue", since={"a": 1}))
    assert type(found) is PROBLEM_TYPES[slug]
    assert (found.title, found.slug) == ("A title", slug)
    assert found.extra == {"colour": "blue", "since": {"a": 1}}
    empty: tuple[Any, ...] = (None, (), {})
    own = [field.name for field in attrs.fields(type(found)) if field.name not in ("type", "title", "extra")]
    assert all(getattr(found, name) in empty for name in own)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("slug", [*PROBLEM_TYPES, "made-yesterday"])
def test_each_type_is_on_the_error_and_beside_data(slug: str) -> None:
    body = problem(slug, detail="A detail", status=403)
    error = read_error(Reply(403, {"content-type": "application/problem+json"}, orjson.dumps(body)))
    assert isinstance(error, errors.Forbidden)
    assert [type(each) for each in error.problems] == [PROBLEM_TYPES.get(slug, Problem)]
    assert str(error) == "HTTP 403: A detail"
    beside = read_partial_error(body)
    assert beside == error.problems[0]


def test_an_invalid_request_whose_list_is_odd_is_a_plain_problem() -> None:
    found = read_problem(problem("invalid-request", errors=[{"message": "no", "parameters": {"ids": {}}}]))
    assert type(found) is Problem
    assert found.extra["errors"] == [{"message": "no", "parameters": {"ids": {}}}]
    for ids in ("17", ["17"], 17):
        good = read_problem(problem("invalid-request", errors=[{"parameters": {"ids": ids}}]))
        assert isinstance(good, problems.InvalidRequest)
        assert good.errors == (InvalidParameters(parameters={"ids": ("17",)}),)


@pytest.mark.parametrize("kind", [None, 5, ["x"]])
def test_a_type_that_is_no_text_does_not_matter(kind: Any) -> None:
    found = read_problem({"type": kind, "title": "Odd"})
    assert type(found) is Problem
    assert found.title == "Odd"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"code": 89, "message": "x"}, ServiceError(code=89, message="x")),
        ({"code": "GONE", "detail": "x"}, ServiceError(code="GONE", message="x")),
        ({"code": 1.5, "message": 5, "parameter": []}, ServiceError()),
        ({}, ServiceError()),
    ],
)
def test_coded_errors_take_what_they_can(body: dict[str, Any], found: ServiceError) -> None:
    assert read_service_error(body) == read_partial_error(body) == found
