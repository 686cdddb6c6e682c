"""Prices that shops and their interfaces give as objects: read exactly, or refused."""

from decimal import Decimal
from typing import Any

import numpy
import pandas
import pyarrow
import pytest

from socialapi.bulk.linting.product_linter import lint_products
from socialapi.bulk.products.merchant_values import IN_PENCE
from socialapi.bulk.products.price_objects import UNCLEAR_PRICE
from socialapi.errors import InvalidInput
from tests.bulk.products.model_catalog import ModelCatalog, job_of, product, read

CENTS = {"amount": 999, "currency": "USD"}


@pytest.mark.parametrize(
    "given",
    [
        {"value": "9.99", "currency": "USD"},
        {"value": Decimal("9.99"), "currency": {"code": "USD"}},
        {"value": "9.99 USD", "currency": "USD"},
        {"amount": "9.99", "currency_code": "usd", "formatted": "$9.99"},  # Shopify
        {"amount": 9.99, "fractionalAmount": 999, "fractionDigits": 2, "currency": "USD"},  # Saleor
        *(CENTS | {name: 2} for name in ("precision", "fractionDigits", "exponent", "scale", "decimals", "minorUnits")),
        CENTS | {"exponent": -2, "value": None},
        {"amount": "9.99", "decimals": 2, "currency": "USD"},
        {"type": "centPrecision", "centAmount": 999, "currencyCode": "USD", "fractionDigits": 2},  # commercetools
        {"centAmount": 999, "preciseAmount": 99900000, "currencyCode": "USD", "fractionDigits": 7},
        {
            "object": "price",
            "unit_amount": 999,
            "unit_amount_decimal": "999",
            "currency": "usd",
            "active": True,
        },  # Stripe
        {"amountMicros": "9990000", "currencyCode": "USD"},  # Google
        {"units": "9", "nanos": 990_000_000, "currency_code": "USD"},
        [{"value": "9.99", "currency": "USD"}],
    ],
    ids=str,
)
async def test_known_objects_are_read_exactly(given: Any) -> None:
    (row,) = await read([product("a", price=given)])
    assert (row.shape["price"], row.problem) == ("9.99 USD", None)


@pytest.mark.parametrize(
    ("names", "price"),
    [
        ({"price.amount": "9.99", "price.currency": "EUR", "price.regular.amount": "19.99"}, "9.99 EUR"),
        ({"price.amount": "9.99", "price.amount@currency": "EUR"}, "9.99 EUR"),
        ({"price.amount": "9.99", "price.amount@currency": "EUR", "price.currency": "EUR"}, "9.99 EUR"),
        ({"price.amount": "9.99", "price.amount@currency": "USD", "price.currency": "EUR"}, None),
        ({"price.regular.amount": "19.99", "price.regular.currency": "EUR"}, None),
    ],
)
async def test_only_the_direct_members_of_a_flattened_price_are_its_amount_and_currency(
    names: dict[str, str], price: str | None
) -> None:
    (row,) = await read([product("a", price=None, **names)])
    assert (row.shape.get("price") if row.problem is None else None) == price


async def test_a_member_of_a_price_that_the_caller_names_stays_a_column_whatever_the_other_rows_have() -> None:
    names = {"price.value": "12.00 EUR", "price.sale.value": "9.99 EUR", "price.tier": "gold"}
    rows = [product("a", price=None, **names), product("b", price=None, **{**names, "offerId": "b"})]
    found = await read(rows, columns={"price": "price.sale.value", "custom_label_0": "price.tier"})
    assert [(row.shape["price"], row.shape["custom_label_0"]) for row in found] == [("9.99 EUR", "gold")] * 2


@pytest.mark.parametrize(
    ("given", "price"),
    [
        ({"unit_amount": 999, "currency": "jpy"}, "999 JPY"),
        ({"unit_amount": 9990, "currency": "kwd"}, "9.99 KWD"),
        ({"amount": 999, "currency": "JPY"}, "999 JPY"),
        ({"value": 30, "currency": "USD"}, "30 USD"),
        ({"amount": 30.5, "currency": "USD"}, "30.5 USD"),
        ({"amount": Decimal("30.00"), "currency": "USD"}, "30.00 USD"),
        ({"amount": 999.0, "currency": "JPY"}, "999.0 JPY"),
    ],
)
async def test_the_smallest_unit_is_that_of_the_currency(given: Any, price: str) -> None:
    (row,) = await read([product("a", price=given)])
    assert (row.shape["price"], row.problem) == (price, None)


@pytest.mark.parametrize(
    ("amounts", "sent"),
    [
        ((10.0, 10.5, 20.0), ("10.0 EUR", "10.5 EUR", "20.0 EUR")),
        ((numpy.float32(7), float("nan"), numpy.float64(9.99)), ("7.0 EUR", None, "9.99 EUR")),
        ((1999.0, float("nan"), 499.0), (None, None, None)),
        ((19.99 * 100, 499.0), (None, None)),  # 1998.9999999999998
    ],
)
async def test_a_fraction_in_a_column_shows_that_its_round_prices_are_not_in_cents(amounts: Any, sent: Any) -> None:
    rows = [product(str(at), price={"amount": each, "currency": "EUR"}) for at, each in enumerate(amounts)]
    with_other_keys = [row | ({"color": "red"} if at % 2 else {}) for at, row in enumerate(rows)]
    for given in (rows, with_other_keys, pandas.DataFrame(rows)):
        read_as = [row.shape.get("price") if row.problem is None else None for row in await read(given)]
        assert tuple(each or None for each in read_as) == sent


async def test_a_fraction_counts_for_all_rows_of_a_table_in_a_load_and_in_a_lint() -> None:
    amounts = [*map(float, range(1, 200)), 0.5]
    rows = [product(f"p{at}", price={"amount": each, "currency": "EUR"}) for at, each in enumerate(amounts)]
    for given in (rows, pandas.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        catalog = ModelCatalog()
        await job_of(catalog, given).run()
        assert [catalog.products[f"p{at}"]["price"] for at in range(200)] == [f"{each} EUR" for each in amounts]
        assert (await lint_products(given)).unusable_rows == 0


@pytest.mark.parametrize(
    "given",
    [
        CENTS,
        CENTS | {"amount": 999.0},
        CENTS | {"amount": numpy.float32(999)},
        *(CENTS | {"precision": 2} | more for more in ({"unit": "cents"}, {"divisor": 100}, {"scale": 3})),
        {"value": 999, "currency": "USD", "centAmount": 999},
        {"value": "999", "currency": "USD", "type": "cents"},
        {"amount": 999.0, "currency": "USD", "decimals": 2},
        {"unit_amount": 999, "currency": "usd", "transform_quantity": {"divide_by": 10}},
        {"unit_amount": 999, "currency": "ugx"},
        {"value": 999, "amount": 9.99, "currency": "USD"},
        {"value": "9.99", "currency": "USD", "currencyCode": "EUR"},
        {"amount": 10**5000, "precision": 2, "currency": "USD"},
        {"amount": 999, "precision": "two", "currency": "USD"},
        {"USD": 9.99},
    ],
    ids=",".join,
)
async def test_objects_that_leave_the_price_open_are_refused_with_what_is_understood(given: Any) -> None:
    (row,) = await read([product("a", price=given)])
    assert row.problem == ("price", UNCLEAR_PRICE)


async def test_an_object_may_have_its_currency_elsewhere_and_keeps_its_own() -> None:
    rows = [product("a", price={"amount": 999, "precision": 2}, currency="USD")]
    rows += [product("b", price={"value": "9.99", "currency": "EUR"})]
    catalog = ModelCatalog()
    await job_of(catalog, rows, constants={"currency": "USD"}).run()
    assert [catalog.products[each]["price"] for each in "ab"] == ["9.99 USD", "9.99 EUR"]


@pytest.mark.parametrize("price", ["1299 GBp", "1299", "12.99 GBP", {"value": "1299", "currency": "GBp"}], ids=str)
@pytest.mark.parametrize("pence", ["GBp", "GBX"])
async def test_pence_are_never_pounds_wherever_they_are_written(price: Any, pence: str) -> None:
    (row,) = await read([product("a", price=price, currency=pence)])
    assert row.problem == ("price", IN_PENCE)
    (row,) = await read([product("a", price="1299 GBp", currency="GBP")])
    assert row.problem == ("price", IN_PENCE)
    (row,) = await read([product("a", price="12.99", currency="gbp")])
    assert row.shape["price"] == "12.99 GBP"


async def test_a_sale_price_without_an_amount_is_none() -> None:
    (row,) = await read([product("a", sale_price={"value": None, "currency": "EUR"})])
    assert (row.shape, row.problem) == (product("a"), None)


@pytest.mark.parametrize(
    "name",
    [
        "unit_amount",
        "price.centAmount",
        "prices.0.amount_micros",
        "price_cents",
        "priceCents",
        "Price (cents)",
        "price_in_cents",
        "pricecents",
        "sale_price_minor",
        "preis_cent",
        "centimes",
        "pennies",
        "prix_centimes",
        "PRICE_PENCE",
        "Preis (ct)",
        "precio céntimos",
        "price_cents.EUR",
        "Price (GBX)",
        "Price GBp",
    ],
)
@pytest.mark.parametrize("field", ["price", "sale_price"])
async def test_a_column_of_cents_is_no_column_of_prices(name: str, field: str) -> None:
    with pytest.raises(InvalidInput, match="in cents or micros"):
        await read([product("a")], columns={field: name})


@pytest.mark.parametrize(
    "name",
    [
        "recent_price",
        "Center price",
        "MinorkaPrice",
        "accent",
        "price_ex_vat",
        "Grundpreis",
        "price_gbp",
        "Price (GBP)",
    ],
)
async def test_a_name_that_only_resembles_cents_is_one_of_prices(name: str) -> None:
    (row,) = await read([{**product("a"), "price": None, name: "9.99 USD"}], columns={"price": name})
    assert row.shape["price"] == "9.99 USD"
