"""The reader of rules: every kind of declaration it understands."""

import datetime
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Required, TypedDict

import annotated_types
import attrs
import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.products import Product
from socialapi.models.validation import (
    Conditions,
    Pattern,
    Tagged,
    broken_rules,
    format_timestamp,
    parse_timestamp,
    text_tests,
)
from socialapi.problems import BrokenRule

NOW = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)


def reasons(declared: Any, value: Any) -> list[str]:
    return [rule.reason for rule in broken_rules(declared, value, now=NOW)]


@pytest.mark.parametrize(
    ("declared", "fine", "wrong", "reason"),
    [
        (str, ["", "a"], [1, None, b"a", ["a"]], "must be a string"),
        (bool, [True, False], [0, 1, "true", None], "must be true or false"),
        (int, [0, -1, 2**70], [True, 1.0, "1", None], "must be a whole number"),
        (float, [0, 1.5, -2], [True, "1", None], "must be a number"),
        (type(None), [None], [0, "", False], "must be null"),
        (Literal["a"], ["a"], ["b", 1, None, ["a"]], "must be a"),
        (Literal["a", "b"], ["a", "b"], ["c", {}], "must be one of a, b"),
        (tuple[int, ...], [[], [1, 2], (1,)], [1, {}, "ab"], "must be an array"),
        (list[str], [[], ["a"]], [{"a": 1}], "must be an array"),
        (Annotated[int, Ge(5)], [5, 6], [4], "must be at least 5"),
        (Annotated[int, Gt(5)], [6], [5], "must be greater than 5"),
        (Annotated[int, Le(5)], [5], [6], "must be at most 5"),
        (Annotated[float, Lt(5)], [4.9], [5.0], "must be less than 5"),
        (Annotated[str, MinLen(2)], ["ab"], ["a"], "must have at least 2 characters"),
        (Annotated[tuple[int, ...], MaxLen(1)], [[], [1]], [[1, 2]], "must have at most 1 item"),
        (Annotated[str, Pattern("[a-z]+", "must be letters")], ["ab"], ["", "a1", "ab\n"], "must be letters"),
        (str | None, ["a", None], [1], "must be a string"),
        (Literal["a"] | Unset, ["a"], ["b"], "must be a"),
        (dict[str, Any], [{}, {"a": None}], [5, None, [], "x"], "must be an object"),
        (Mapping[str, int], [{}, {"a": "x"}], ["x"], "must be an object"),
        (Any, [None, object()], [], ""),
    ],
)
def test_each_kind_of_declaration_is_checked(declared: Any, fine: list[Any], wrong: list[Any], reason: str) -> None:
    for value in fine:
        assert reasons(declared, value) == []
    for value in wrong:
        assert reasons(declared, value) == [reason]


def test_constraints_are_asked_only_of_a_value_that_has_the_type() -> None:
    assert reasons(Annotated[int, Ge(0), Le(9)], "5") == ["must be a whole number"]
    assert reasons(Annotated[int, Ge(3), Lt(2)], 2) == ["must be at least 3", "must be less than 2"]
    assert reasons(Annotated[str, MinLen(1)], 5) == ["must be a string"]
    assert reasons(Annotated[tuple[int, ...], MinLen(1)], [True]) == ["must be a whole number"]


@given(
    st.text() | st.sampled_from(["in stock", "9.99 EUR", "https://a.example/1.pdf", "A > B", "#fff", " ", "x" * 151])
)
def test_the_tests_of_texts_take_what_keeps_the_rules(text: str) -> None:
    for field in attrs.fields(attrs.resolve_types(Product, include_extras=True)):
        if field.name != "inventory":
            passes = all(test(text) for test in text_tests(field.type))
            assert passes == (reasons(field.type, text) == []), field.name


@pytest.mark.parametrize("declared", [int, Annotated[int, Ge(0)], int | str, tuple[str, ...], Product])
def test_of_what_is_no_text_there_are_no_tests_of_texts(declared: Any) -> None:
    with pytest.raises(TypeError, match="is not a string type"):
        text_tests(declared)


def test_an_expression_for_any_character_takes_line_ends() -> None:
    declared = Annotated[str, Pattern(r"a[\s\S]*z", "must end with z")]
    assert reasons(declared, "a\n\r\u2028z") == []
    assert reasons(declared, "a\nz\n") == ["must end with z"]


def test_a_rule_that_nobody_can_check_is_a_mistake_in_the_declaration() -> None:
    with pytest.raises(KeyError, match="MultipleOf"):
        broken_rules(Annotated[int, annotated_types.MultipleOf(3)], 3, now=NOW)


@attrs.define
class Range:
    low: int
    high: int | Unset = UNSET
    kept: str = attrs.field(default="", metadata={"name": "kept-as"})

    @staticmethod
    def conditions(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
        if data.get("high", data["low"]) < data["low"]:
            yield BrokenRule(path="high", reason="must not be below low", code="EXCLUSIVE_PARAMETERS")
        if data["low"] > now.year:
            yield BrokenRule(path="low", reason="lies in the future")


class Bounds(TypedDict, total=False):
    low: Required[int]
    high: int


def _high_is_above(data: Mapping[str, Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    if data.get("high", data["low"]) < data["low"]:
        yield BrokenRule(path="high", reason=f"must not be below low in {now.year}")


BOUNDS = Annotated[Bounds, Conditions(_high_is_above)]


def test_rules_across_parameters_are_asked_when_each_of_them_is_right() -> None:
    assert reasons(BOUNDS, {"low": 5}) == reasons(BOUNDS, {"low": 5, "high": 5}) == []
    listed = broken_rules(BOUNDS, {"low": 5, "high": 4}, now=NOW, path="query")
    assert [(rule.path, rule.reason) for rule in listed] == [("query.high", "must not be below low in 2026")]
    assert reasons(BOUNDS, {"low": "5", "high": 4}) == ["must be a whole number"]
    assert reasons(BOUNDS, {"high": 4}) == ["is required"]
    assert reasons(BOUNDS, [5]) == ["must be an object"]


@attrs.define
class Circle:
    kind: Literal["circle"]
    radius: Annotated[int, Gt(0)]
    inner: "tuple[Shape, ...] | Unset" = UNSET


@attrs.define
class Square:
    kind: Literal["square"]


Shape = Annotated[Circle | Square, Tagged("kind")]


def test_the_rules_of_a_union_are_those_of_the_member_that_the_tag_names() -> None:
    assert reasons(Shape, {"kind": "square"}) == []
    assert reasons(Shape, {"kind": "circle", "radius": 1, "inner": [{"kind": "square"}]}) == []
    listed = broken_rules(Shape, {"kind": "circle", "radius": 0, "inner": [{"kind": "square", "side": 1}]}, now=NOW)
    assert [str(rule) for rule in listed] == [
        "radius: must be greater than 0",
        "inner[0].side: is not a field of this object",
    ]


@pytest.mark.parametrize(
    ("shape", "path", "reason", "code"),
    [
        ({}, "kind", "is required", "MISSING_PARAMETER"),
        ({"kind": "star"}, "kind", "must be one of circle, square", "INVALID_PARAMETER"),
        ({"kind": ["circle"]}, "kind", "must be one of circle, square", "INVALID_PARAMETER"),
        ("circle", "", "must be an object", "INVALID_PARAMETER"),
    ],
)
def test_an_object_without_a_known_tag_is_refused(shape: Any, path: str, reason: str, code: str) -> None:
    (rule,) = broken_rules(Shape, shape, now=NOW)
    assert (rule.path, rule.reason, rule.code) == (path, reason, code)


@attrs.define
class Open:
    id: str
    extra: dict[str, Any] = attrs.field(factory=dict)


def test_rules_across_fields_are_asked_when_the_fields_are_right() -> None:
    listed = broken_rules(tuple[Range, ...], [{"low": 5, "high": 4}, {"low": "5", "high": 4}, {"low": 9999}], now=NOW)
    assert [(rule.path, rule.reason, rule.code) for rule in listed] == [
        ("[0].high", "must not be below low", "EXCLUSIVE_PARAMETERS"),
        ("[1].low", "must be a whole number", "INVALID_PARAMETER"),
        ("[2].low", "lies in the future", "INVALID_PARAMETER"),
    ]


def test_fields_go_by_the_name_that_the_service_gives_them() -> None:
    assert reasons(Range, {"low": 1, "kept-as": "x"}) == []
    assert reasons(Range, {"low": 1, "kept": "x"}) == ["is not a field of this object"]


def test_an_open_class_takes_further_fields_and_a_closed_one_does_not() -> None:
    assert reasons(Open, {"id": "1", "more": 5}) == []
    assert reasons(Range, {"low": 1, "more": 5}) == ["is not a field of this object"]


def test_a_path_can_begin_somewhere() -> None:
    (rule,) = broken_rules(Range, {"low": None}, now=NOW, path="body")
    assert rule.path == "body.low"
    (top,) = broken_rules(int, "5", now=NOW)
    assert str(top) == "must be a whole number"


def test_any_mapping_is_an_object() -> None:
    class Headers(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            return {"low": 1}[name]

        def __iter__(self) -> Iterator[str]:
            return iter(["low"])

        def __len__(self) -> int:
            return 1

    assert reasons(Range, Headers()) == []


@pytest.mark.parametrize("date", ["2026-01-31", "20260131"])
@pytest.mark.parametrize("time", ["09", "09:00", "0900", "09:00:00", "090000", "09:0000", "09:00:00.25", "090000,25"])
@pytest.mark.parametrize("offset", ["Z", "+00", "+00:00", "+0000"])
def test_a_time_has_one_form_of_iso_8601(date: str, time: str, offset: str) -> None:
    """All with hyphens and colons, or all without; what has neither goes with both."""
    extended = ("-" in date, time.count(":") == len(time.partition(".")[0].replace(":", "")) // 2 - 1, ":" in offset)
    basic = ("-" not in date, ":" not in time, ":" not in offset)
    neutral = (False, len(time) == 2, offset in ("Z", "+00"))
    is_extended = all(map(max, zip(extended, neutral, strict=True)))
    is_basic = all(map(max, zip(basic, neutral, strict=True)))
    hour = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)
    expected = hour.replace(microsecond=250_000 if "25" in time else 0) if is_extended or is_basic else None
    assert parse_timestamp(f"{date}T{time}{offset}") == expected


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-31T09:00:00 Z", "2026-01-31T09:00:00 +00:00", "2026-01-31T09:00:00.Z", "2026-01-31T09:00:00,+00:00"),
        *("2026-01-31 09:00:00Z", "2026-01-31t09:00:00Z", "2026-01-31T09:00:00z", "2026-01-31T24:00:00Z", "2026-01-31"),
        *("2026-02-30T09:00:00Z", "2026-01-31T09:00:60Z", "2026-01-31T09:00:00+00:00:00", "2026-01-31T09:00:00+01:00"),
        *("2026-01-31T09:00:00", "2026-01-31T09:00:00Z\n", "", "T"),
    ],
)
def test_other_forms_are_no_times(text: str) -> None:
    assert parse_timestamp(text) is None


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"has no time zone, for example Z"):
        format_timestamp(datetime.datetime(2026, 1, 31))  # noqa: DTZ001


@pytest.mark.parametrize("name", ["anna@example.com", "+15550147180", "two words", "", "a" * 65, 5, None, "\ud800"])
def test_a_name_that_could_be_a_value_is_not_shown(name: Any) -> None:
    (rule,) = broken_rules(Bounds, {"low": 5, name: 1}, now=NOW)
    assert str(rule) == "(a name that is not shown): is not a field of this object"
