"""Numbers that are digits again, as long as no digit can have been lost."""

import fractions
import math
import uuid
from decimal import Decimal
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.inputs.numbers import (
    EXACT_LIMIT,
    INEXACT,
    NOT_TEXT,
    NoDigits,
    ShortFloat,
    digits_of,
    is_missing,
    texts_of,
)


def reason(value: Any) -> str:
    with pytest.raises(NoDigits) as problem:
        digits_of(value)
    return problem.value.reason


@given(st.integers(-EXACT_LIMIT, EXACT_LIMIT))
def test_a_whole_number_has_the_same_digits_in_every_type_that_holds_it(number: int) -> None:
    for value in (number, float(number), Decimal(number), numpy.float64(number), numpy.int64(number)):
        assert digits_of(value) == str(number)
    assert digits_of(Decimal(f"{number}.00")) == str(number)
    assert digits_of(fractions.Fraction(number)) == str(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_floating_point_number_becomes_digits_only_if_it_is_that_number_and_no_other(value: float) -> None:
    if value != int(value):
        assert reason(value) == NOT_TEXT
    elif abs(value) > EXACT_LIMIT:
        assert reason(value) == INEXACT
    else:
        assert float(digits_of(value)) == value


def test_a_short_float_is_written_as_the_number_that_it_is_and_not_shown() -> None:
    assert (str(ShortFloat(41.5, 4)), repr(ShortFloat(41.5, 4))) == ("41.5", "ShortFloat(<hidden>)")


class Odd:
    def __ne__(self, other: object) -> bool:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "value",
    [
        None,
        math.nan,
        numpy.float32("nan"),
        Decimal("NaN"),
        Decimal("sNaN"),
        pandas.NA,
        pandas.NaT,
        numpy.datetime64("NaT", "s"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_stands_for_no_value_says_nothing(value: Any) -> None:
    assert is_missing(value)


@pytest.mark.parametrize(
    "value",
    ["", "nan", 0, False, 0.0, Decimal(0), [], {}, numpy.array([]), numpy.array([1, 2]), object(), Odd()],
    ids=lambda value: type(value).__name__,
)
def test_whatever_else_says_something(value: Any) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(("text", "reason"), [("1E+1000000", INEXACT), ("1E-1000000", NOT_TEXT), ("-1E+400", INEXACT)])
def test_a_decimal_of_absurd_size_is_no_identifier_and_takes_no_time(text: str, reason: str) -> None:
    with pytest.raises(NoDigits) as error:
        digits_of(Decimal(text))
    assert error.value.reason == reason


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (uuid.UUID("ea7583cd-a667-48bc-b806-42ecb2b48606").bytes, "ea7583cd-a667-48bc-b806-42ecb2b48606"),
        (bytes.fromhex("0cc175b9c0f1b6a831c399e269772661"), ""),  # the MD5 digest of "a"
        (b"ada@example.comm", "ada@example.comm"),
    ],
)
def test_16_bytes_are_text_or_a_uuid_of_random_bits_but_no_digest(data: bytes, expected: str) -> None:
    assert [text for text, _ in texts_of(data)] == [expected]
