"""What a lint says of a feed, and that it says what a load would do."""

import datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.inputs.reader import NoRows
from socialapi.bulk.linting.product_linter import lint_products
from socialapi.errors import InvalidInput
from socialapi.models.products import Product
from socialapi.reports import KindLint, LintReport
from tests.bulk.products.model_catalog import HEADER, ModelCatalog, csv_file, job_of, line, product

NOW: Final = datetime.datetime(2026, 1, 31, 9, tzinfo=datetime.UTC)


def texts(report: LintReport) -> list[str]:
    return [finding.text for finding in report.findings]


def field(report: LintReport, name: str) -> KindLint:
    return next(kind for kind in report.kinds if kind.kind == name)


async def test_a_clean_feed_has_no_findings_and_names_the_columns_it_read(tmp_path: Path) -> None:
    report = await lint_products(csv_file(tmp_path / "feed.csv", line("a"), line("b")), now=NOW)
    assert (report.rows, report.unusable_rows, report.duplicates, report.findings) == (2, 0, 0, ())
    assert [(each.name, each.kind) for each in report.columns] == [(name, name) for name in HEADER.split(",")]
    assert (report.match_risk, report.has_errors) == ("low", False)


async def test_every_reason_is_counted_for_its_field_without_the_place() -> None:
    rows = [
        product("a", price="$5", availability="maybe"),
        product("b", price="$6"),
        product("c", image_link="https://a.b/c.tiff", title=None),
    ]
    report = await lint_products(rows, now=NOW)
    assert report.unusable_rows == 3
    price = field(report, "price")
    assert (price.present, price.usable) == (3, 1)
    assert price.reasons == {
        "has a symbol that several currencies share: write the ISO 4217 code, for example 9.99 USD": 2
    }
    assert field(report, "availability").usable == 2
    assert (field(report, "title").present, field(report, "title").reasons) == (2, {"is required": 1})
    assert field(report, "image_link").usable == 2


async def test_a_count_that_no_json_can_hold_is_told_as_a_load_tells_it() -> None:
    rows = [product("a", inventory=2**64), product("b", inventory=2**64 - 1), product("c", inventory=1e30)]
    report = await lint_products(rows, now=NOW)
    loaded = await job_of(ModelCatalog(), rows).run()
    assert [each.reason for each in loaded.rejects] == list(field(report, "inventory").reasons)
    assert field(report, "inventory").reasons["is larger than 64 bits"] == 1


async def test_reasons_of_a_file_are_the_same_on_every_line(tmp_path: Path) -> None:
    report = await lint_products(csv_file(tmp_path / "feed.csv", *(line(each, price="$5") for each in "abc")), now=NOW)
    assert list(field(report, "price").reasons.values()) == [3]


async def test_what_is_understood_and_what_is_ignored_is_said() -> None:
    rows = [product("a", price="9,99 EUR", availability="InStock", shelf="7"), product("b", description="<b>x</b>")]
    report = await lint_products(rows, now=NOW)
    assert report.unusable_rows == 0
    assert (field(report, "price").cleaned, field(report, "availability").cleaned) == (1, 1)
    assert report.ignored_columns == ("shelf",)
    assert texts(report)[-1] == "description: 1 values: HTML tags, about which the service warns"
    assert not report.has_errors


async def test_columns_are_given_as_for_a_load() -> None:
    rows = [{**product("a", price=None), "Preis": "9.99 EUR"}]
    assert (await lint_products(rows, columns={"price": "Preis"}, now=NOW)).unusable_rows == 0
    with pytest.raises(InvalidInput, match='there is no column "Pries" for price; the columns are: "id"'):
        await lint_products(rows, columns={"price": "Pries"}, now=NOW)
    with pytest.raises(InvalidInput, match=r'"prise" is not a field of a product; did you mean price\?'):
        await lint_products(rows, columns={"prise": "Preis"}, now=NOW)


async def test_repeated_ids_are_counted_and_blank_rows_are_faults(tmp_path: Path) -> None:
    report = await lint_products(csv_file(tmp_path / "feed.csv", line("a"), "", line("a")), now=NOW)
    assert (report.duplicates, report.unusable_rows) == (1, 1)
    assert "1 of 3 rows: is blank" in texts(report)


async def test_a_sample_is_the_beginning() -> None:
    endless = (product(f"p{number}") for number in count())
    assert (await lint_products(endless, sample=1_300, now=NOW)).rows == 1_300
    with pytest.raises(InvalidInput, match="sample must be"):
        await lint_products([], sample=0)


async def test_a_lint_says_what_a_load_warns_of() -> None:
    rows = [product("a", price="1.299 USD"), product("b", mpn="null"), product("c", title="x\x01"), product("7.0")]
    report = await lint_products(rows, now=NOW)
    warnings = (await job_of(ModelCatalog(), rows).run()).warning_details
    assert set(texts(report)) >= {f"{each.field}: 1 values: {each.reason}" for each in warnings}
    assert len(warnings) == len(rows)


async def test_an_input_without_rows_is_refused_where_that_is_not_allowed() -> None:
    assert texts(await lint_products([])) == ["there are no rows"]
    with pytest.raises(NoRows):
        await lint_products([], allow_empty=False)


CELLS: Final = st.sampled_from(
    ["", " ", "a", "9.99 EUR", "9,99 EUR", "$5", "new", "in_stock", "https://a.b/c", "https://a.b/c.tiff", 7, 1.5, None]
)
PRODUCTS: Final = st.dictionaries(
    st.sampled_from(["id", "title", "price", "sale_price", "availability", "inventory", "g:price", "color"]), CELLS
).map(lambda some: {**product("x"), **some})


@given(st.lists(PRODUCTS, max_size=6))
async def test_a_load_rejects_as_many_rows_as_the_lint_says(rows: list[dict[str, Any]]) -> None:
    report = await lint_products(rows, now=NOW)
    loaded = await job_of(ModelCatalog(), rows, dry_run=True).run()
    assert (report.rows, report.unusable_rows) == (loaded.read, loaded.rejected)
    assert {kind.kind for kind in report.kinds} <= set(Product.__annotations__)
