"""Single values in the ways in which services write them."""

import contextlib
import datetime
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import DecodeError
from socialapi.wire.scalars import (
    MAX_EXACT,
    as_list,
    boolean,
    identifier,
    moment,
    number,
    only,
    only_object,
    text,
    whole_number,
)

WHOLE = st.integers(-MAX_EXACT, MAX_EXACT)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
UTC = datetime.UTC


@given(WHOLE)
def test_a_whole_number_is_the_same_in_every_form(value: int) -> None:
    forms: list[Any] = [
        value,
        float(value),
        str(value),
        f" {value} ",
        f"{value}.",
        f"{value}.00",
        [value],
        [str(value)],
    ]
    assert [whole_number(form) for form in forms] == [value] * len(forms)
    assert {type(whole_number(form)) for form in forms} == {int}
    assert identifier(value) == identifier(float(value)) == text(value) == text(float(value)) == str(value)


@given(st.floats(min_value=MAX_EXACT + 1, allow_infinity=True) | st.floats(max_value=-MAX_EXACT - 1))
def test_a_number_too_large_for_floating_point_is_refused_where_every_digit_counts(value: float) -> None:
    for read in (whole_number, identifier, text):
        if math.isfinite(value):
            with pytest.raises(DecodeError, match="an exact number"):
                read(value)


@given(st.integers(min_value=2**53).filter(lambda n: len(str(n)) <= 30))
def test_a_whole_number_that_never_was_a_float_may_be_of_any_size(value: int) -> None:
    assert whole_number(value) == whole_number(str(value)) == value
    assert identifier(value) == str(value)


@pytest.mark.parametrize(
    "value", [True, False, "x", "1.5", 1.5, "1e3", "0x10", "१", "1,000", "--1", "1_000", "9" * 31, {}, [1, 2]]
)
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError):
        whole_number(value)


@pytest.mark.parametrize("value", [True, "nan", "inf", "-Infinity", "1e999", "x", "१", "1,5", {}, [1, 2]])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError):
        number(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_may_come_as_a_text(value: float) -> None:
    assert number(repr(value)) == number(value) == value


@pytest.mark.parametrize("value", [1.5, -0.25])
def test_a_fraction_is_a_text_and_no_id(value: float) -> None:
    assert text(value) == repr(value)
    with pytest.raises(DecodeError, match="expected a whole number"):
        identifier(value)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("2026-01-31T09:00:00Z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00:00.250Z", datetime.datetime(2026, 1, 31, 9, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-01-31T09:00:00.123456789Z", datetime.datetime(2026, 1, 31, 9, 0, 0, 123_456, tzinfo=UTC)),
        ("2026-01-31T09:00:00,5Z", datetime.datetime(2026, 1, 31, 9, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-31t09:00:00z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31 09:00:00", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        (" 2026-01-31T09:00:00 ", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00Z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09Z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("20260131T090000Z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31", datetime.datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-W05-6T09:00:00Z", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T24:00:00Z", datetime.datetime(2026, 2, 1, tzinfo=UTC)),
        ("2026-01-31T11:00:00+02:00", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T11:00:00+0200", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T11:00:00+02", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T03:30:00-05:30", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("2026-01-31T09:00:00-00:00", datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        (["2026-01-31T09:00:00Z"], datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)),
        ("", None),
        ([], None),
        (None, None),
    ],
)
def test_a_time_may_have_any_offset_and_precision(written: Any, found: datetime.datetime | None) -> None:
    assert moment(written) == found
    assert found is None or moment(written).tzinfo is not None  # type: ignore[union-attr]  # it is the same moment


@pytest.mark.parametrize(
    "value",
    ["soon", 1_800_000_000, True, {}, "2026-13-01", "2026-02-30", "2026-01-31T25:00Z", "2026-01-31T24:01Z", "2026", "2026-031", "09:00",
     "2026-01-31T09:61Z", "2026-01-31T09:00:61Z", "10000-01-01", "9999-12-31T24:00:00Z", "2026-01-31T09:00:00+25:00"],
)  # fmt: skip
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(DecodeError, match="expected an ISO 8601 time"):
        moment(value)


def test_a_time_that_is_one_already_is_taken_with_a_zone_alone() -> None:
    aware = datetime.datetime(2026, 1, 31, 9, tzinfo=UTC)
    assert moment(aware) is aware
    for other in (aware.replace(tzinfo=None), aware.date(), aware.timestamp()):
        with pytest.raises(DecodeError, match="expected an ISO 8601 time"):
            moment(other)


def test_one_is_an_array_of_one_and_several_are_not_one() -> None:
    assert (only([["a"]]), only([]), only({"a": 1}), only([None])) == ("a", None, {"a": 1}, None)
    assert (only_object([{"a": 1}]), only_object(""), only_object([])) == ({"a": 1}, None, None)
    assert (as_list("a"), as_list(["a"]), as_list(None), as_list(""), as_list({})) == (["a"], ["a"], None, None, [{}])
    for read in (only, only_object, text):
        with pytest.raises(DecodeError, match="expected one value, not several"):
            read([1, 2])


@pytest.mark.parametrize("read", [text, identifier, whole_number, number, boolean, moment, only_object])
@given(value=ANY_JSON)
def test_any_json_is_read_or_refused_without_quoting_it(read: Callable[[Any], Any], value: Any) -> None:
    with contextlib.suppress(DecodeError):
        read(value)
        return
    with pytest.raises(DecodeError, match=r"^cannot read the answer at its top: expected [a-zA-Z0-9 ,:]+$"):
        read(value)


@pytest.mark.parametrize("text", ["2026-11-22T03:04.5Z", "2026-11-22T03.5Z", "2026-11-22T0304,5Z"])
def test_a_part_of_a_minute_or_an_hour_is_not_taken_for_one_of_a_second(text: str) -> None:
    with pytest.raises(DecodeError):
        moment(text)


@pytest.mark.parametrize(
    ("fraction", "found"),
    [
        ("0" * 5_000, datetime.datetime(2026, 2, 1, tzinfo=UTC)),
        ("0" * 5_000 + "1", None),
        ("0000001", None),
        ("", None),
    ],
)
def test_midnight_may_have_a_fraction_of_any_length(fraction: str, found: datetime.datetime | None) -> None:
    """Python converts no more than 4,300 digits to a number, and raised ValueError for others."""
    written = f"2026-01-31T24:00:00.{fraction}Z"
    if found is not None:
        assert moment(written) == found
    else:
        with pytest.raises(DecodeError):
            moment(written)
