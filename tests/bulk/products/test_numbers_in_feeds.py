"""Ids, codes and counts that a program or a spreadsheet has made floating-point numbers of."""

import io
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.inputs.numbers import INEXACT, INFINITE, NOT_TEXT
from socialapi.bulk.products.texts import INVISIBLE, NO_GTIN, ROUNDED, TWO_COUNTS
from socialapi.models.products import Product
from socialapi.reports import LOOKS_LIKE_FLOAT
from tests.bulk.products.model_catalog import HEADER, ModelCatalog, csv_file, job_of, line, product, read

IDENTIFIERS = ("id", "gtin", "mpn", "item_group_id")


def with_numbers(**numbers: Any) -> dict[str, Any]:
    return {**product("a", brand=None), **numbers}


@pytest.mark.parametrize(
    "number",
    [1000, 1000.0, Decimal(1000), Decimal("1000.0"), numpy.int64(1000), numpy.float64(1000), numpy.float32(1000)],
    ids=lambda number: type(number).__name__,
)
@pytest.mark.parametrize("field", IDENTIFIERS)
async def test_a_whole_number_of_any_type_is_the_same_identifier(field: str, number: Any) -> None:
    rows = [with_numbers(**{field: number}), Product(**{**product("a"), field: number})]
    warnings = [("gtin", NO_GTIN)] if field == "gtin" else []
    for row in await read(rows):
        assert (row.shape[field], row.problem, [*row.warnings]) == ("1000", None, warnings)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (2.0**53, INEXACT),
        (numpy.float32(2**24), INEXACT),
        (Decimal("1E+20"), INEXACT),
        (math.inf, INFINITE),
        (Decimal("-Infinity"), INFINITE),
        (1000.5, NOT_TEXT),
        (Fraction(1, 2), NOT_TEXT),
        (Decimal("0.1"), NOT_TEXT),
    ],
    ids=str,
)
@pytest.mark.parametrize("field", IDENTIFIERS)
async def test_a_number_that_may_have_lost_digits_rejects_its_row(field: str, number: Any, reason: str) -> None:
    (row,) = await read([with_numbers(**{field: number})])
    assert row.problem == (field, reason)


@pytest.mark.parametrize("value", [True, False, numpy.True_])
async def test_truth_values_are_no_identifiers_and_no_counts(value: Any) -> None:
    catalog = ModelCatalog()
    rows = [product("b", gtin=value), product("c", inventory=value), product("d", item_group_id=value)]
    report = await job_of(catalog, [*rows, {**product("e"), "id": value}]).run()
    assert (report.rejected, report.accepted) == (4, 0)


@pytest.mark.parametrize(
    "missing", [None, math.nan, pandas.NA, pandas.NaT, Decimal("NaN"), numpy.float32("nan")], ids=repr
)
async def test_what_stands_for_no_value_says_nothing(missing: Any) -> None:
    (row,) = await read([product("a", gtin=missing, inventory=missing, color=missing)])
    assert row.shape == product("a")
    assert row.problem is None


@pytest.mark.parametrize(
    ("number", "read_as"),
    [
        (7, 7),
        (7.0, 7),
        (Decimal("7.00"), 7),
        (numpy.int8(7), 7),
        (numpy.float16(7), 7),
        ("7", 7),
        ("7.0", 7),
        ("7.00", 7),
        ("7,0", 7),
        ("7.0000", 7),
        ("0.000", 0),
        ("1 000", 1000),
        ("1'000", 1000),
        ("1.000.000", 1_000_000),
        ("1,234.00", 1234),
        ("-2.0", 0),
    ],
    ids=repr,
)
async def test_a_count_is_a_whole_number(number: Any, read_as: int) -> None:
    (row,) = await read([product("a", inventory=number)])
    assert row.shape["inventory"] == read_as
    assert type(row.shape["inventory"]) is int
    assert row.problem is None


@pytest.mark.parametrize(
    "number",
    [7.5, Decimal("7.5"), "7.5", "7e1", "1.0e+1", "10+", ">10", "∞", "in stock", 2.0**53, f"{10**15}.0", 10**5_000],
    ids=lambda number: type(number).__name__,
)
async def test_what_is_no_whole_number_is_no_count(number: Any) -> None:
    report = await job_of(ModelCatalog(), [product("a", inventory=number)]).run()
    assert report.rejected == 1
    assert report.rejects[0].field == "inventory"


@pytest.mark.parametrize("text", ["1.000", "1,000", "-1.000", "12.345"])
async def test_a_count_that_may_have_thousands_or_decimals_is_refused(text: str) -> None:
    (row,) = await read([product("a", inventory=text)])
    assert row.problem == ("inventory", TWO_COUNTS)


@pytest.mark.parametrize("text", ["4.0125E+12", "4,0125E+12", "4.0125e12", "4E+12", "4e12"])
async def test_a_gtin_that_was_rounded_is_refused_however_it_is_written(text: str) -> None:
    (row,) = await read([product("a", gtin=text)])
    assert row.problem == ("gtin", ROUNDED)


@pytest.mark.parametrize(
    "text", ["1\u200b28", "C\u00ad2", "4006381\u2060333931", "1\n2", "1\t2", "1\ufe0f2", "1\u20282"]
)
@pytest.mark.parametrize("field", IDENTIFIERS)
async def test_an_invisible_character_or_a_line_break_inside_an_id_or_a_code_rejects_the_product(
    field: str, text: str
) -> None:
    rows = [with_numbers(**{field: text}), with_numbers(**{field: f'"\u200b{text}"'})]
    assert [row.problem for row in await read(rows)] == [(field, INVISIBLE)] * 2


@pytest.mark.parametrize("text", ["\u200b00128", "\ufeff128", "\u202d128", "128\u202c"])
@pytest.mark.parametrize("field", IDENTIFIERS)
async def test_an_id_or_a_code_loses_invisible_characters_with_a_warning_and_an_mpn_is_refused(
    field: str, text: str
) -> None:
    (row,) = await read([with_numbers(**{field: text})])
    if field == "mpn":  # which is the maker's, and no key of the shop
        assert row.problem == (field, INVISIBLE)
        return
    assert row.shape[field] == "".join(letter for letter in text if letter.isprintable())
    assert {name for name, _ in row.warnings} == {field}


TEXTS = ("1e3", "1E+15", "12e45678", "1000,0")


@pytest.mark.parametrize("text", TEXTS)
async def test_a_text_stays_as_it_is_and_is_warned_of_if_it_looks_like_a_float(tmp_path: Path, text: str) -> None:
    catalog = ModelCatalog()
    file = csv_file(tmp_path / "feed.csv", f'{line("a")},"{text}","{text}"', header=f"{HEADER},mpn,item_group_id")
    lines = io.BytesIO(json.dumps(product("a", mpn=text, item_group_id=text)).encode())
    table = pyarrow.Table.from_pylist([product("a", mpn=text, item_group_id=text)])
    for source in (file, lines, table, [product("a", mpn=text, item_group_id=text)]):
        report = await job_of(catalog, source).run()
        assert (report.accepted, report.warnings) == (1, 2)
        assert (catalog.products["a"]["mpn"], catalog.products["a"]["item_group_id"]) == (text, text)
        assert {(each.row, each.field, each.reason, each.product_id) for each in report.warning_details} == {
            (1, "mpn", LOOKS_LIKE_FLOAT, "a"),
            (1, "item_group_id", LOOKS_LIKE_FLOAT, "a"),
        }


async def test_rows_that_are_rejected_are_not_warned_of_as_well() -> None:
    report = await job_of(ModelCatalog(), [product("1000.0", price="free")]).run()
    assert (report.rejected, report.warnings) == (1, 0)


def night(folder: Path, number: int, kind: str, gap: bool) -> Path:
    """A feed whose columns of whole numbers become floats, as pandas makes them, where one row has none."""
    rows = [
        {**product(""), "id": 1000 + n, "gtin": 4_006_381_333_931 + n, "item_group_id": n, "size": 40 + n}
        for n in range(4)
    ]
    rows = [{**row, "inventory": 5} for row in rows]
    frame = pandas.DataFrame([*rows, {**product(""), "id": None}] if gap else rows)
    assert (str(frame["id"].dtype) == "float64") is gap
    path = folder / f"{number}.{kind}"
    match kind:
        case "parquet":
            frame.to_parquet(path)
        case "jsonl":
            frame.to_json(path, orient="records", lines=True, double_precision=1)
        case "json":
            path.write_text(json.dumps(frame.to_dict("records")).replace("NaN", "null"), "utf-8")
    return path


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
async def test_ids_that_became_floats_over_night_are_the_same_products(tmp_path: Path, kind: str) -> None:
    catalog, digests = ModelCatalog(), tmp_path / "digests"
    first = await job_of(catalog, night(tmp_path, 1, kind, gap=False), digests=digests).run()
    assert first.created == 4
    before = dict(catalog.products)
    report = await job_of(catalog, night(tmp_path, 2, kind, gap=True), digests=digests).run()
    assert (report.skipped, report.created, report.updated, report.vanished) == (4, 0, 0, 0)
    assert (report.rejected, report.rejects[0].field) == (1, "id")
    assert catalog.products == before


@pytest.mark.parametrize("price", ["249.99", "89.99", "19.99", "1299.9", "0.1", "5.0"])
async def test_a_price_in_a_column_of_short_floats_is_the_number_that_was_stored(price: str) -> None:
    table = pyarrow.Table.from_pylist([product("a", price=None, currency="EUR")])
    table = table.append_column("price", pyarrow.array([float(price)], pyarrow.float32()))
    for source in (table, polars.DataFrame(table)):
        (row,) = await read(source)
        assert (row.shape["price"], row.problem) == (f"{price.removesuffix('.0')} EUR", None)


@pytest.mark.parametrize("kind", [pyarrow.float16(), pyarrow.float32()], ids=str)
async def test_a_column_of_short_floats_is_sure_of_fewer_digits(kind: pyarrow.DataType) -> None:
    limit = 2**11 if kind == pyarrow.float16() else 2**24
    numbers = pyarrow.array(numpy.array([limit - 1, limit], kind.to_pandas_dtype()))
    table = pyarrow.Table.from_pylist([product("a"), product("b")]).append_column("gtin", numbers)
    file = io.BytesIO()
    if kind != pyarrow.float16():
        parquet.write_table(table, file)
        file.seek(0)
    encoded = pyarrow.Table.from_pylist([product("a"), product("b")]).append_column("gtin", numbers.dictionary_encode())
    for source in (table, encoded, polars.DataFrame(table), *([file] if file.getvalue() else [])):
        first, second = await read(source)
        assert (first.shape["gtin"], first.problem) == (str(limit - 1), None)
        assert second.problem == ("gtin", INEXACT)
