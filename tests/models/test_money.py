"""Money: whole millionths on the wire, exact decimals for people, never floats."""

import decimal
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import InvalidInput
from socialapi.models.line_items import LineItem
from socialapi.models.money import Micros

LARGEST = 9_223_372_036_854_775_807


@pytest.mark.parametrize(
    ("amount", "value"),
    [
        ("5.50", 5_500_000),
        (Decimal("5.50"), 5_500_000),
        (5, 5_000_000),
        ("0", 0),
        ("-0.25", -250_000),
        ("0.000001", 1),
        (Decimal("1e3"), 1_000_000_000),
        ("+05.5", 5_500_000),
        ("1.5000000", 1_500_000),
        ("9223372036854.775807", LARGEST),
        ("-9223372036854.775807", -LARGEST),
    ],
)
def test_units_of_the_currency_become_millionths(amount: Any, value: int) -> None:
    assert Micros.of(amount, "EUR") == Micros(value, "EUR")


@pytest.mark.parametrize("amount", [5.5, 5.0, float("nan"), True, None, b"5", (0, (5,), 0)])
def test_only_decimals_whole_numbers_and_texts_are_taken(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="never a float"):
        Micros.of(amount, "EUR")


@pytest.mark.parametrize("amount", ["0.0000001", "5.1234567", Decimal("1e-7"), "1." + "0" * 70 + "1"])
def test_there_are_at_most_six_decimal_places(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="at most six decimal places"):
        Micros.of(amount, "EUR")


@pytest.mark.parametrize(
    "amount",
    [
        *(
            "",
            "five",
            "5,50",
            "NaN",
            "sNaN",
            "Infinity",
            "-inf",
            "1e3",
            "1E3",
            "1_000",
            "\u0665",
            "\uff15",
            ".5",
            "5.",
            " 5",
        ),
        *("5\n", "--5", "+", "0x10", Decimal("NaN"), Decimal("-Infinity")),
    ],
)
def test_a_text_is_a_plain_decimal_number(amount: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a decimal number, for example 5\.50"):
        Micros.of(amount, "EUR")


@pytest.mark.parametrize(
    "amount", ["9223372036854.775808", "-10000000000000", Decimal("1e100"), Decimal("1e999999"), 10**40]
)
def test_what_64_bits_do_not_hold_is_refused(amount: Any) -> None:
    with pytest.raises(InvalidInput, match="the amount is too large"):
        Micros.of(amount, "EUR")


@pytest.mark.parametrize("value", [5.5, 5_500_000.0, True, "5500000", Decimal(5)])
def test_millionths_are_whole_numbers(value: Any) -> None:
    with pytest.raises(InvalidInput, match="an amount in millionths is a whole number"):
        Micros(value, "EUR")


@given(st.integers(-LARGEST, LARGEST))
def test_every_amount_survives_the_way_to_decimal_and_back(value: int) -> None:
    amount = Micros(value, "JPY")
    assert Micros.of(amount.decimal, "JPY") == amount
    assert Micros.of(str(amount).removesuffix(" JPY"), "JPY") == amount
    assert int(amount) == value


@given(st.integers(-LARGEST, LARGEST), st.integers(1, 28))
def test_the_context_of_the_caller_changes_nothing(value: int, precision: int) -> None:
    with decimal.localcontext() as context:
        context.prec = precision
        assert Micros.of(Micros(value, "EUR").decimal, "EUR").value == value


def test_an_amount_is_shown_with_its_currency_and_never_in_powers_of_ten() -> None:
    assert str(Micros.of("5.50", "EUR")) == "5.5 EUR"
    assert str(Micros(1, "EUR")) == "0.000001 EUR"
    assert str(Micros.of("1000000000", "JPY")) == "1000000000 JPY"
    assert Micros(1, "EUR") != Micros(1, "USD")


def test_a_line_item_gives_its_amounts_in_its_currency() -> None:
    item = LineItem(id="1", currency="EUR", bid_amount_local_micro=1_250_000, total_budget_amount_local_micro=0)
    assert item.money("bid_amount") == Micros.of("1.25", "EUR")
    assert item.money("total_budget_amount") == Micros(0, "EUR")
    assert item.money("bid_amount_local_micro") == item.money("bid_amount")
    assert item.money("daily_budget_amount") is item.money("daily_budget_amount_local_micro") is None
    assert item.money("target_cpa") is None
    assert LineItem(id="1", bid_amount_local_micro=1).money("bid_amount") is None
