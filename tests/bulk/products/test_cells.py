"""Products that are read a column at a time are those that are read cell by cell."""

import datetime
import uuid
from decimal import Decimal
from typing import Any, Final

import attrs
import numpy
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.inputs.reader import IS_BLANK, Block, RowProblem
from socialapi.bulk.products.cells import product_rows
from socialapi.bulk.products.feed import ProductColumns, ProductLayout
from socialapi.bulk.products.job import broken_fields, prepare_json
from socialapi.bulk.products.merchant_values import OTHER_VALUES, ambiguity, has_entity, unchanged_tests, understood
from socialapi.bulk.products.rows import FIELDS, REQUIRED, ProductRow
from socialapi.internal.unset import UNSET
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules
from tests.bulk.products.model_catalog import product

NOW: Final = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)
URLS: Final = (
    "https://a.example/1.jpg",
    "HTTPS://a.example/2",
    "http://a.example/3.png",
    "https://a.example/4.pdf",
    "a",
)
PRICES: Final[tuple[Any, ...]] = (
    "9.99 EUR",
    "10 USD",
    "1.299 USD",
    "9,99 eur",
    "€ 5",
    "$5",
    "1.299,00 EUR",
    "1,299 JPY",
    "7",
    "9.99 XXX",
    "19.989999999999998 EUR",
    "19.98765 EUR",
    "19.98765",
    "n/a",
    0.1 + 0.2,
)
WRITTEN: Final[dict[str, tuple[Any, ...]]] = {
    "id": ("SKU-1", "1.0E+5", "123", 123, 10**17, "1e5", "'00123", '="00123"', "null", "a\x03"),
    "gtin": ("4006381333931", "4006381333931.0", "N/A", "0000", "Does not apply", "'00123"),
    "title": ("Boots", "x" * 150, "x" * 151, "Schuhe für Ü", "Salt &amp; Pepper", "'-20%", "'Tis", "a\x03b", "None"),
    "size": ("-", "na", "null", "'34", '="34"'),
    "price": PRICES,
    "sale_price": (*PRICES, "1.00 EUR"),
    "link": URLS,
    "image_link": URLS,
    "mobile_link": URLS,
    "additional_image_link": (
        *URLS,
        "https://a.example/1.jpg;https://a.example/2.jpg",
        "https://a.example/w_5,h_5/1.jpg",
    ),
    "product_type": (
        "simple",
        "Tom &amp; Jerry",
        "Shoes > Boots",
        "Shoes>Boots",
        "A &gt; B",
        "> A",
        ["A > B", "C"],
        ["A", "A"],
    ),
    "sale_price_effective_date": (
        "2026-01-01T00:00+01:00/2026-01-31T23:59+01:00",
        "2026-01-01 00:00+0100 / 2026-01-31 23:59+0100",
        "2026-02-01T00:00Z/2026-01-01T00:00Z",
    ),
    "inventory": (
        "-3.0",
        "n/a",
        "7",
        "0",
        "7.0",
        " 12 ",
        "-1",
        "1" * 19,
        "many",
        0,
        7,
        -1,
        2**63,
        10**18,
        7.0,
        7.5,
        True,
    ),
    "color": ("red", "#fff", "red/#00ff00"),
    **{field: (*values, "in_stock", "https://schema.org/New", "NEW") for field, values in OTHER_VALUES.items()},
}
"""What feeds have under the names of fields, right and wrong."""


class OddText(str):
    __slots__ = ()


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __hash__ = None  # type: ignore[assignment]  # as of an array


ODD: Final[tuple[Any, ...]] = (
    *(None, UNSET, "", "  ", "\ufeff", "\x1f", "a\0b", "caf\udce9", "\ud800", "\U0001f45f", " padded\u00a0", "1.50"),
    *(True, 0, -5, 10**18, -(10**18), 10**5000, 1.0, 1.5, float("nan"), float("inf"), Decimal("2.0"), Decimal("NaN")),
    *([], [None], ["a"], ["a", "b"], ("x",), {"a": 1}, b"bytes", uuid.UUID(int=5), OddText("red"), Hostile()),
    *(numpy.float64(3.0), numpy.int64(4), numpy.str_("text"), numpy.array(["a", "b"]), numpy.array([1])),
    datetime.date(2026, 1, 1),
)
"""What no field expects."""


USUAL: Final[dict[str, tuple[Any, ...]]] = {
    **{field: (value,) for field, value in product("a").items()},
    "price": ("10.00 EUR", "9.5 EUR", "20,00 EUR"),
    "sale_price": ("", "5.00 EUR"),
    "availability": ("in stock", "in_stock"),
    "inventory": ("", "3", 4),
    "mobile_link": ("https://a.example/m",),
    "additional_image_link": ("https://a.example/1.jpg,https://a.example/2.jpg", None),
    "product_type": ("A > B", UNSET, "A>B"),
    "sale_price_effective_date": ("2026-01-01T00:00+01:00/2026-01-31T23:59+01:00",),
    "gender": ("male",),
    "age_group": ("adult",),
    "currency": ("EUR", ""),
}
"""What a product that is taken may have under these names."""


def cell_of(field: str) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.sampled_from(USUAL.get(field, ("text",))),
        st.sampled_from(WRITTEN.get(field, ("text",))),
        st.sampled_from(ODD),
        st.text(),
    )


@st.composite
def blocks(draw: st.DrawFn) -> Block[ProductLayout]:
    further = draw(st.lists(st.sampled_from([*FIELDS, "currency", "name", "url", "shelf"]), unique=True, max_size=8))
    names = draw(st.permutations(list(dict.fromkeys([*REQUIRED, "brand", *further]))))
    if draw(st.integers(0, 9)) == 0:
        names = names[1:]
    selection = ProductColumns.of(None, constants=draw(st.sampled_from([{}, {"brand": "B", "currency": "EUR"}])))
    is_table = draw(st.booleans())
    try:
        layout = selection.of_table(names, 1) if is_table else selection.of_keys(names)
    except ValueError:
        layout = selection.of_keys(names)
    size = draw(st.integers(1, 5))
    doubtful = draw(st.sets(st.sampled_from(names), max_size=3))
    columns = []
    for name in (names[at] for at in layout.positions):
        cell = cell_of(name) if name in doubtful else st.sampled_from(USUAL.get(name, ("text", "")))
        columns.append([draw(cell) for _ in range(size)])
    rows = st.integers(0, size - 1)
    unreadable = draw(st.dictionaries(rows, st.sampled_from([IS_BLANK, RowProblem("is cut off", 3)]), max_size=1))
    ambiguous = draw(st.dictionaries(rows, st.just(RowProblem("has more cells", 2, ("x",))), max_size=1))
    lines = draw(st.none() | st.just(range(7, 7 + size)))
    return Block(3, size, layout, columns, unreadable, ambiguous, lines, is_text=is_table)


def written(value: Any) -> str:
    return hex(value) if isinstance(value, int) else repr(value)


def seen_of(row: ProductRow) -> Any:
    """Everything that a job or a report can see of a row."""
    fault, broken = prepare_json(row, NOW), broken_fields(row, NOW)
    values = {field.name: getattr(row, field.name) for field in attrs.fields(ProductRow)}
    del values["keeps_field_rules"]
    values["shape"] = [(name, value.__class__, written(value)) for name, value in row.shape.items()]
    values["values"] = None if row.values is None else [written(value) for value in row.values]
    values["warnings"], values["converted"] = list(row.warnings), list(row.converted)
    return fault, broken, values


@given(blocks())
def test_rows_read_together_are_those_read_by_themselves(block: Block[ProductLayout]) -> None:
    alone = [seen_of(row) for index in range(len(block)) for row in product_rows(block.part(index, index + 1))]
    assert [seen_of(row) for row in product_rows(block)] == alone


def block_of(*items: dict[str, Any]) -> Block[ProductLayout]:
    names = tuple(dict.fromkeys(name for item in items for name in item))
    layout = ProductColumns.of(None).of_keys(names)
    columns = [[item.get(names[at]) for item in items] for at in layout.positions]
    return Block(1, len(items), layout, columns)


def test_a_cell_that_raises_a_question_leaves_its_neighbours_to_be_read_at_once() -> None:
    items = [product("a"), product("b", price="9,999 EUR"), product("c", price="20,00 EUR"), product("d", size="XL")]
    rows = product_rows(block_of(*items))
    assert [row.keeps_field_rules for row in rows] == [True, False, True, True]
    assert [row.shape for row in rows] == [items[0], items[1], product("c", price="20.00 EUR"), items[3]]
    assert [list(row.converted) for row in rows] == [[], [], ["price"], []]


def test_products_are_read_at_once_whatever_they_leave_out() -> None:
    items = [Product(**product(name)) for name in "ab"]
    layout, columns = ProductColumns.of(None).of_models(items)
    rows = product_rows(Block(1, 2, layout, columns))
    assert [row.shape for row in rows] == [product("a"), product("b")]
    assert all(row.keeps_field_rules for row in rows)


def test_prices_beside_their_currencies_are_read_at_once_unless_they_contradict_them() -> None:
    items = [product("a", price="10.00", currency="eur"), product("b", price="9.00 USD", currency="EUR")]
    rows = product_rows(block_of(*items))
    assert [(row.shape["price"], row.keeps_field_rules) for row in rows] == [
        ("10.00 EUR", True),
        ("9.00 USD EUR", False),
    ]


@given(st.sampled_from(FIELDS), st.data())
def test_what_keeps_a_rule_and_passes_its_tests_is_sent_as_it_was_written(field: str, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([*filter(_is_text, WRITTEN.get(field, ())), "text"]) | st.text())
    fields = attrs.fields_dict(attrs.resolve_types(Product, include_extras=True))
    keeps_rule = not broken_rules(fields[field].type, text, now=NOW)
    if keeps_rule and has_entity(text) is None and all(test(text) for test in unchanged_tests(field)):
        assert (understood(field, text), ambiguity(field, text)) == (text, None)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
