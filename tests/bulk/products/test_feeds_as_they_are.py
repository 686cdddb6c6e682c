"""Feeds as spreadsheets, databases, shops and interfaces write them, each in the words of its situation."""

import csv
import datetime
import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy
import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.linting.product_linter import lint_products
from socialapi.bulk.products.texts import FIRST_OF_SEVERAL, IMAGES, MAY_BE_SEVERAL
from socialapi.errors import InvalidInput
from socialapi.reports import NULL_WORD, UpsertReport
from tests.bulk.catalog_feeds import with_check_digit
from tests.bulk.products.model_catalog import ModelCatalog, job_of, product, read

Shape = Mapping[str, Any]


def as_csv(folder: Path, rows: Iterable[Shape]) -> Path:
    rows, text = list(rows), io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    path = folder / "feed.csv"
    path.write_text(text.getvalue(), "utf-8")
    return path


def as_xml(folder: Path, rows: Iterable[Shape]) -> Path:
    items = ("".join(f"<g:{name}>{escape(str(cell))}</g:{name}>" for name, cell in row.items()) for row in rows)
    path = folder / "feed.xml"
    text = "".join(f"<item>{item}</item>" for item in items)
    path.write_text(f'<rss xmlns:g="http://base.google.com/ns/1.0"><channel>{text}</channel></rss>', "utf-8")
    return path


def as_json(folder: Path, rows: Iterable[Shape]) -> Path:
    path = folder / "feed.json"
    path.write_text(json.dumps(list(rows)), "utf-8")
    return path


def as_json_lines(folder: Path, rows: Iterable[Shape]) -> Path:
    path = folder / "feed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def as_parquet(folder: Path, rows: Iterable[Shape]) -> Path:
    path = folder / "feed.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def as_mappings(folder: Path, rows: Iterable[Shape]) -> list[Shape]:
    return list(rows)


EVERY_FORMAT = pytest.mark.parametrize("written", [as_csv, as_xml, as_json, as_json_lines, as_parquet, as_mappings])


async def load(source: Any, **options: Any) -> tuple[UpsertReport, dict[str, Any]]:
    catalog = ModelCatalog()
    report = await job_of(catalog, source, **options).run()
    return report, catalog.products


def warned(report: UpsertReport) -> list[str]:
    return sorted(issue.field for issue in report.warning_details)


@EVERY_FORMAT
async def test_ids_that_a_spreadsheet_was_to_keep_as_text_are_the_ids(written: Any, tmp_path: Path) -> None:
    rows = [
        product('="00123"', gtin='="0012345678905"', mpn="x"),
        product("'00124", gtin="'0012345678912", mpn="'M-1"),
    ]
    report, stored = await load(written(tmp_path, rows))
    assert stored.keys() == {"00123", "00124"}
    assert [stored[each]["gtin"] for each in ("00123", "00124")] == ["0012345678905", "0012345678912"]
    assert stored["00124"]["mpn"] == "M-1"
    assert warned(report) == ["gtin", "gtin", "id", "id", "mpn"]
    assert all("spreadsheet" in issue.reason for issue in report.warning_details)


@pytest.mark.parametrize("written", [as_xml, as_json, as_parquet, as_mappings])
@pytest.mark.parametrize("around", ['"{}"', "“{}”", "\ufeff{}", "{}\u200b", "\u200e{}", "\u00a0{}", '"=""{}"""'])
async def test_an_id_that_was_copied_with_marks_or_invisible_characters_is_the_same_product(
    written: Any, around: str, tmp_path: Path
) -> None:
    report, stored = await load(
        written(
            tmp_path,
            [product("x") | {name: around.format(value) for name, value in (("id", "SKU-1"), ("item_group_id", "G"))}],
        )
    )
    assert [(each, stored[each]["item_group_id"]) for each in stored] == [("SKU-1", "G")]
    assert warned(report) == ([] if around.startswith("\u00a0") else ["id", "item_group_id"])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("title", "'Tis the season"),
        ("brand", "'47"),
        ("title", "'Quoted'"),
        ("size", "'34'"),
        ("mpn", "'12'"),
        ("mpn", "5'11"),
    ],
)
async def test_other_apostrophes_are_part_of_the_text(field: str, text: str) -> None:
    (row,) = await read([product("a", **{field: text})])
    assert (row.shape[field], list(row.warnings)) == (text, [])


@pytest.mark.parametrize(
    ("field", "text"),
    [
        *(("availability", "in stock"), ("condition", "new"), ("link", "https://shop.example/a")),
        *(("gender", "male"), ("color", "red"), ("custom_label_0", "sale"), ("size", "36")),
    ],
)
async def test_an_apostrophe_that_keeps_a_cell_as_text_is_left_out(field: str, text: str) -> None:
    plain, marked = await read([product("a", **{field: text}), product("a", **{field: f"'{text}"})])
    assert marked.shape == plain.shape
    assert [each for each, _ in marked.warnings] == [field]


@pytest.mark.parametrize("name", ["id*", "sku_id", "'id", '="id"', "i\u200bd", "\u00ef\u00bb\u00bfid"])
async def test_marks_around_the_name_of_a_column_are_no_part_of_it(name: str) -> None:
    row = product("a") | {"additional_image_link_1": "https://shop.example/1.png"}
    (found,) = await read([{name: row.pop("id"), **row}])
    assert found.shape["id"] == "a"
    assert found.shape["additional_image_link"] == "https://shop.example/1.png"


async def test_an_apostrophe_before_a_sign_is_that_of_an_export_for_spreadsheets() -> None:
    (row,) = await read([product("a", title="'-20% on boots")])
    assert row.shape["title"] == "-20% on boots"
    assert [field for field, _ in row.warnings] == ["title"]


@EVERY_FORMAT
@pytest.mark.parametrize("field", ["id", "gtin", "mpn", "item_group_id"])
async def test_products_whose_numbers_were_rounded_are_refused(written: Any, tmp_path: Path, field: str) -> None:
    rows = [product("a", **{field: "1.23457E+11"}), product("b", **{field: "1,23457E+11"})]
    report, stored = await load(written(tmp_path, rows))
    assert not stored
    assert [issue.field for issue in report.rejects] == [field, field]
    assert all("digits are lost" in issue.reason for issue in report.rejects)


@EVERY_FORMAT
async def test_a_gtin_loses_the_decimals_of_a_number_and_an_id_keeps_them(written: Any, tmp_path: Path) -> None:
    report, stored = await load(written(tmp_path, [product("1000.0", gtin="4006381333931.0")]))
    assert stored["1000.0"]["gtin"] == "4006381333931"
    assert warned(report) == ["gtin", "id"]


@EVERY_FORMAT
async def test_words_for_nothing_are_not_sent(written: Any, tmp_path: Path) -> None:
    words = {"gtin": "N/A", "mpn": "\\N", "item_group_id": "NULL", "size": "null", "color": "None", "sale_price": "nan"}
    words |= {"inventory": "null", "custom_label_0": "undefined", "additional_image_link": "#N/A", "gender": "-"}
    words |= {"age_group": "#NV", "custom_label_1": "Err:502", "custom_label_2": "#¡VALOR!", "custom_label_3": "#WERT!"}
    report, stored = await load(written(tmp_path, [product("a", **words)]))
    assert stored["a"] == product("a")
    assert warned(report) == sorted(words)
    assert {issue.reason for issue in report.warning_details} == {NULL_WORD}


@EVERY_FORMAT
async def test_ids_titles_and_sizes_may_be_such_words(written: Any, tmp_path: Path) -> None:
    report, stored = await load(
        written(tmp_path, [product("null", title="None", description="n/a", size="-", color="NA")])
    )
    assert stored["null"] == product("null", title="None", description="n/a", size="-", color="NA")
    assert not report.warnings


async def test_a_product_whose_only_code_is_a_word_for_nothing_is_refused() -> None:
    report, stored = await load([product("a", brand="n/a"), product("b", brand=None, gtin="0000000000000")])
    assert not stored
    assert [issue.reason for issue in report.rejects] == ["or gtin or mpn is required"] * 2


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("19.989999999999998 USD", "19.99 USD"),
        ("19,989999999999998 EUR", "19.99 EUR"),
        ("USD 20.000000000000004", "20.00 USD"),
        ("1499.9999999999998 JPY", "1500 JPY"),
        ("1.2340000000000002 KWD", "1.234 KWD"),
        ("34.0000 USD", "34.0000 USD"),
        ("9.9 USD", "9.9 USD"),
    ],
)
async def test_noise_of_floating_point_numbers_is_rounded_away(written: str, sent: str) -> None:
    (row,) = await read([product("a", price=written)])
    assert (row.shape["price"], row.problem) == (sent, None)


@pytest.mark.parametrize("price", ["19.98765 USD", "0.33333333 EUR", "1499.5001 JPY", "$19.9876 USD"])
async def test_a_price_with_more_decimals_than_its_currency_is_refused(price: str) -> None:
    report, stored = await load([product("a", price=price)])
    assert not stored
    assert (report.rejects[0].field, "decimals" in report.rejects[0].reason) == ("price", True)


async def test_prices_next_to_their_currency_are_rounded_and_refused_as_well() -> None:
    noisy = {**product("a", price=0.1 + 0.2), "currency": "USD"}
    precise = {**product("b", price="19.98765"), "currency": "USD"}
    report, stored = await load([noisy, precise])
    assert {key: shape["price"] for key, shape in stored.items()} == {"a": "0.30 USD"}
    assert [(issue.product_id, issue.field) for issue in report.rejects] == [("b", "price")]


async def test_a_sale_price_of_0_is_refused() -> None:
    report, stored = await load([product("a", sale_price="0.00 EUR"), product("b", price="0.00 EUR")])
    assert stored.keys() == {"b"}
    assert report.rejects[0].field == "sale_price"
    assert "no sale" in report.rejects[0].reason


@pytest.mark.parametrize("stock", ["-3", "-3.0", -3, -3.0])
async def test_stock_below_0_is_none(stock: Any) -> None:
    report, stored = await load([product("a", inventory=stock)])
    assert stored["a"]["inventory"] == 0
    assert warned(report) == ["inventory"]


@pytest.mark.parametrize("written", [as_csv, as_json, as_json_lines, as_parquet, as_mappings])
async def test_control_characters_are_left_out_of_texts_and_refused_in_ids(written: Any, tmp_path: Path) -> None:
    rows = [product("a", title="Bad \x03 one\x0bmore", brand="N\x7f"), product("b\x02c")]
    report, stored = await load(written(tmp_path, rows))
    assert stored == {"a": product("a", title="Bad  one more", brand="N")}
    assert [(issue.field, issue.reason[-17:]) for issue in report.rejects] == [("id", "control character")]
    assert warned(report) == ["brand", "title"]


@EVERY_FORMAT
async def test_invisible_characters_are_no_part_of_prices_and_addresses(written: Any, tmp_path: Path) -> None:
    plain = {"sale_price": "9.50 ILS", "mobile_link": "https://m.example/a", "gender": "male"}
    plain["additional_image_link"] = "https://a.example/1.jpg,https://a.example/2.jpg"
    row = product("a", price="12.50 ILS", title="a\u200bb", **plain)
    marked = {
        "price": "\u200f12.50 ILS",
        "sale_price": "\u202a9.50 \u200bILS\u202c",
        "link": f"{row['link']}\u200b",
        "image_link": f"\ufeff{row['image_link']}",
        "mobile_link": "https://m.exam\u00adple/a",
        "additional_image_link": "https://a.example/1.jpg\u200b,https://a.example/2.jpg\u200e",
    }
    report, stored = await load(written(tmp_path, [row | marked]))
    assert stored == {"a": row}
    assert warned(report) == sorted(marked)


@EVERY_FORMAT
async def test_texts_that_another_program_has_damaged_are_sent_with_a_warning(written: Any, tmp_path: Path) -> None:
    fine = {
        "title": "Müsli à la façon, 5 €",
        "brand": "Ökoland",
        "size": "½",
        "custom_label_0": "Ångström",
        "color": "青",
    }
    damaged = {"title": "Müsli".encode().decode("cp1252"), "description": "M\ufffdsli", "color": "gr\ufffdn"}
    report, stored = await load(written(tmp_path, [product("a", **fine), product("b", **fine | damaged)]))
    assert stored == {"a": product("a", **fine), "b": product("b", **fine | damaged)}
    assert (warned(report), {issue.product_id for issue in report.warning_details}) == (sorted(damaged), {"b"})
    assert all("as UTF-8" in issue.reason for issue in report.warning_details)


@EVERY_FORMAT
async def test_entities_of_html_are_characters_in_names_and_addresses(written: Any, tmp_path: Path) -> None:
    row = product(
        "a",
        title="English Pear &amp;amp; Freesia &#8211; 8&#39;&nbsp;long",
        brand="Marks &amp; Spencer",
        link="https://shop.example/?a=1&amp;b=2&copy=3",
        image_link="https://shop.example/1.jpg?w=1&#038;h=2",
        description="<b>1 &lt; 2 &amp; 3</b>",
    )
    _, stored = await load(written(tmp_path, [row]))
    assert stored["a"]["title"] == "English Pear & Freesia \N{EN DASH} 8' long"
    assert stored["a"]["brand"] == "Marks & Spencer"
    assert stored["a"]["link"] == "https://shop.example/?a=1&b=2&copy=3"
    assert stored["a"]["image_link"] == "https://shop.example/1.jpg?w=1&h=2"
    assert stored["a"]["description"] == "<b>1 &lt; 2 &amp; 3</b>"


@pytest.mark.parametrize("title", ["Salt & Pepper", "AT&T;", "R&D; lab", "&;", "&nosuchname;", "&#3;", "&#0;"])
async def test_what_is_no_entity_stays(title: str) -> None:
    (row,) = await read([product("a", title=title)])
    assert row.shape["title"] == title


@EVERY_FORMAT
async def test_an_id_after_a_number_sign_is_warned_of_because_its_row_may_be_commented_out(
    written: Any, tmp_path: Path
) -> None:
    report, stored = await load(written(tmp_path, [product("1"), product("#2", link="https://a.example/2")]))
    assert [*stored] == ["1", "#2"]
    (issue,) = report.warning_details
    assert (issue.product_id, issue.field, "commented out" in issue.reason) == ("#2", "id", True)


@pytest.mark.parametrize(
    ("text", "sent", "warning"),
    [
        ("Home > Mugs,Sale > Mugs", "Home > Mugs", FIRST_OF_SEVERAL),
        ("Shoes > Men,Women > Boots", "Shoes > Men,Women > Boots", MAY_BE_SEVERAL),
        ("Home>Mugs|Sale>Mugs>Blue", "Home > Mugs", FIRST_OF_SEVERAL),
        ("Home > Mugs; Sale > Mugs", "Home > Mugs", FIRST_OF_SEVERAL),
        ("Home > Mugs, Home > Cups", "Home > Mugs", FIRST_OF_SEVERAL),
        ("Home > Mugs, Sale > Mugs", "Home > Mugs, Sale > Mugs", MAY_BE_SEVERAL),
        ("Food > Grains, Rice & Cereal > Rice", "Food > Grains, Rice & Cereal > Rice", None),
        ("Food, Drinks > Tea", "Food, Drinks > Tea", None),
        ("Home > Mugs, Cups", "Home > Mugs, Cups", None),
        ("Home,Sale", "Home,Sale", None),
    ],
)
@EVERY_FORMAT
async def test_several_categories_in_a_text_are_the_first_one_where_that_is_certain(
    written: Any, text: str, sent: str, warning: str | None, tmp_path: Path
) -> None:
    report, stored = await load(written(tmp_path, [product("a", product_type=text)]))
    assert stored["a"]["product_type"] == sent
    assert [issue.reason for issue in report.warning_details] == ([warning] if warning else [])


@pytest.mark.parametrize("kind", ["simple", "Configurable", "variable", "VARIATION"])
async def test_the_kind_of_product_of_a_shop_system_is_no_category(kind: str) -> None:
    report, stored = await load([product("a", product_type=kind), product("b", product_type="Simple shoes")])
    assert ("product_type" in stored["a"], stored["b"]["product_type"]) == (False, "Simple shoes")
    assert warned(report) == ["product_type"]


CONTENT_API = {
    "kind": "content#product",
    "id": "online:en:US:C1",
    "offerId": "C1",
    "contentLanguage": "en",
    "targetCountry": "US",
    "channel": "online",
    "title": "Thing",
    "description": "Some text.",
    "link": "https://shop.example/c",
    "imageLink": "https://shop.example/c.jpg",
    "additionalImageLinks": ["https://shop.example/1.jpg", "https://shop.example/2.jpg"],
    "availability": "in stock",
    "condition": "new",
    "price": {"value": "9.99", "currency": "USD"},
    "salePrice": {"amountMicros": "8990000", "currencyCode": "USD"},
    "salePriceEffectiveDate": {"startTime": "2026-01-01T00:00:00Z", "endTime": "2026-02-01T00:00:00Z"},
    "brand": "Acme",
    "gtins": ["4006381333931", "4006381333948"],
    "googleProductCategory": "1604",
    "productTypes": ["A > B", "C"],
    "itemGroupId": "G1",
    "ageGroup": "ADULT",
    "gender": "UNISEX",
    "sizes": ["M"],
    "customLabel0": "spring",
}


@pytest.mark.parametrize("written", [as_json, as_json_lines, as_parquet, as_mappings])
async def test_products_of_googles_interfaces_for_merchants_are_read(written: Any, tmp_path: Path) -> None:
    report, stored = await load(written(tmp_path, [CONTENT_API]))
    assert stored == {
        "C1": {
            "id": "C1",
            "title": "Thing",
            "description": "Some text.",
            "link": "https://shop.example/c",
            "image_link": "https://shop.example/c.jpg",
            "additional_image_link": "https://shop.example/1.jpg,https://shop.example/2.jpg",
            "availability": "in stock",
            "condition": "new",
            "price": "9.99 USD",
            "sale_price": "8.99 USD",
            "sale_price_effective_date": "2026-01-01T00:00:00Z/2026-02-01T00:00:00Z",
            "brand": "Acme",
            "gtin": "4006381333931",
            "taxonomy_product_category": "1604",
            "product_type": "A > B",
            "item_group_id": "G1",
            "age_group": "adult",
            "gender": "unisex",
            "size": "M",
            "custom_label_0": "spring",
        }
    }
    assert warned(report) == ["gtin", "product_type"]


@pytest.mark.parametrize("written", [as_json, as_json_lines, as_mappings])
@pytest.mark.parametrize("member", ["productAttributes", "attributes"])
async def test_products_of_the_merchant_api_have_their_attributes_in_an_object(
    written: Any, member: str, tmp_path: Path
) -> None:
    google = ("kind", "id", "channel", "targetCountry", "offerId", "contentLanguage")
    item = {
        "name": "accounts/1/productInputs/en~US~C1",
        "offerId": "C1",
        "contentLanguage": "en",
        "feedLabel": "US",
        member: {name: value for name, value in CONTENT_API.items() if name not in google},
    }
    _, stored = await load(written(tmp_path, [item, item | {"offerId": "C2"}]))
    _, content = await load([CONTENT_API, CONTENT_API | {"offerId": "C2"}])
    assert stored == content
    assert stored["C2"]["title"] == "Thing"


@pytest.mark.parametrize("code", ["Does not apply", "Nicht zutreffend", "False"])
async def test_what_marketplaces_and_odoo_write_for_no_code_is_not_sent(code: str) -> None:
    report, stored = await load([product("a", gtin=code, mpn=code, item_group_id=code, custom_label_0="False")])
    assert stored["a"] == product("a", custom_label_0="False")
    assert warned(report) == ["gtin", "item_group_id", "mpn"]


async def test_truth_values_and_dates_in_labels_are_sent_as_text() -> None:
    labels = [True, numpy.False_, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.UTC)]
    row = product("a", **{f"custom_label_{at}": label for at, label in enumerate(labels)})
    report, stored = await load([row])
    assert [stored["a"][f"custom_label_{at}"] for at in range(4)] == [
        *("true", "false", "2026-01-02", "2026-01-02 03:00:00+00:00")
    ]
    assert (report.warnings, (await load([product("a", title=True)]))[0].rejected) == (0, 1)


async def test_products_in_binary_columns_are_those_in_columns_of_text() -> None:
    row = product("ä", price="9.99", currency="EUR", inventory="3", sale_price="5", on_sale="yes")
    table = pyarrow.Table.from_pylist([row])
    table = table.cast(pyarrow.schema([(name, pyarrow.binary()) for name in table.column_names]))
    report, stored = await load(table)
    assert stored == {"ä": product("ä", price="9.99 EUR", inventory=3, sale_price="5 EUR")}
    report, _ = await load([product("a", title=b"M\xfcsli")])
    assert [(issue.field, issue.reason) for issue in report.rejects] == [("title", "is not UTF-8 text")]


async def test_entities_that_xml_does_not_know_end_the_feed_with_advice(tmp_path: Path) -> None:
    feed = as_xml(tmp_path, [product("a", title="Mat TO 8")])
    feed.write_text(feed.read_text("utf-8").replace("TO", "&ndash;"), "utf-8")
    with pytest.raises(InvalidInput, match=r"line 1, column .*write the character itself"):
        await load(feed)


SHOP = "sku,product_type,name,description,price,url,base_image,qty\n24-MB01,simple,Bag,Some text.,34.0000,https://s.example/b,/m/b/1.jpg,3\n"


async def test_the_advice_about_missing_columns_names_columns_that_are_free(tmp_path: Path) -> None:
    (tmp_path / "export.csv").write_text(SHOP, "utf-8")
    with pytest.raises(InvalidInput, match="no column availability, condition, image_link ") as error:
        await load(tmp_path / "export.csv")
    assert "description might" not in str(error.value)
    assert 'constants={"availability": "in stock"}' in str(error.value)


@EVERY_FORMAT
async def test_constants_are_the_values_of_products_that_have_none(written: Any, tmp_path: Path) -> None:
    rows = [
        product("a", condition=None, brand=None, price="9.99"),
        product("b", condition=None, brand=None, price="9.99 USD"),
    ]
    constants: dict[str, str | int] = {
        "condition": "New",
        "availability": "out of stock",
        "brand": "Acme",
        "inventory": 5,
        "currency": "eur",
    }
    report, stored = await load(written(tmp_path, rows), constants=constants)
    assert report.rejected == 0
    assert stored["a"] == product("a", brand="Acme", inventory=5, price="9.99 EUR")
    assert stored["b"] == product("b", brand="Acme", inventory=5, price="9.99 USD")
    lint = await lint_products(written(tmp_path, rows), constants=constants)
    assert (lint.rows, lint.unusable_rows) == (2, 0)


@pytest.mark.parametrize("written", [as_csv, as_xml, as_mappings])
async def test_a_constant_fills_cells_that_are_empty_and_replaces_none(written: Any, tmp_path: Path) -> None:
    rows = [
        product(str(at), condition=condition, brand=condition, currency=word, price="9.99")
        for at, (condition, word) in enumerate((("used", "USD"), ("", ""), ("null", "n/a"), (" N/A ", " null ")))
    ]
    report, stored = await load(
        written(tmp_path, rows), constants={"condition": "new", "brand": "Acme", "currency": "EUR"}
    )
    assert report.rejected == 0
    assert [each["condition"] for each in stored.values()] == ["used", "new", "new", "new"]
    assert [each["brand"] for each in stored.values()] == ["used", "Acme", "Acme", "Acme"]
    assert [each["price"] for each in stored.values()] == ["9.99 USD", "9.99 EUR", "9.99 EUR", "9.99 EUR"]


@pytest.mark.parametrize(
    ("constants", "says"),
    [
        ({"condition": "shiny"}, "the constant condition must be one of"),
        ({"brand": "n/a"}, "the constant brand represents a missing value"),
        ({"id": "1"}, "id cannot be a constant"),
        ({"conditon": "new"}, "did you mean condition"),
        ({"inventory": "many"}, "the constant inventory must be a whole number"),
        ({"currency": "Taler"}, "ISO 4217"),
    ],
)
async def test_constants_that_no_product_can_have_are_refused_at_once(constants: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        await load([product("a")], constants=constants)


async def test_a_journal_is_continued_only_with_the_same_constants(tmp_path: Path) -> None:
    file, journal = as_csv(tmp_path, [product("a", condition=None)]), tmp_path / "load.journal"
    await load(file, constants={"condition": "new"}, journal=journal)
    report, _ = await load(file, constants={"condition": "new"}, journal=journal)
    assert report.accepted == 1
    with pytest.raises(InvalidInput, match="constants"):
        await load(file, constants={"condition": "used"}, journal=journal)


@EVERY_FORMAT
async def test_gtins_are_cleaned_where_that_is_certain_and_wrong_ones_are_sent_with_a_warning(
    written: Any, tmp_path: Path
) -> None:
    codes = [with_check_digit(digits) for digits in ("9638507", "01234567890", "400638133393", "1400638133393")]
    ean, isbn = codes[2], with_check_digit("978316148410")
    wrong = [ean[:-1] + str((int(ean[-1]) + 1) % 10), "9" * 13, f"{ean}0000", codes[1][1:], f"EAN {ean[:-1]}", "L-1"]
    cleaned = {
        f"EAN: {ean}": ean,
        f"ean13 {ean}": ean,
        f"GTIN-14: {codes[3]}": codes[3],
        f"UPC-A {codes[1]}": codes[1],
        f"{ean[0]} {ean[1:7]} {ean[7:]}": ean,
        f"{ean[:7]}-{ean[7:]}": ean,
        f"ISBN 978-3-16-148410-{isbn[-1]}": isbn,
        f"{ean}, {isbn}": ean,
        f"{isbn} {ean}": isbn,
        f"{ean};{ean}": ean,
    }
    expected = dict.fromkeys(codes) | dict.fromkeys(wrong) | cleaned
    rows = [product(str(at), gtin=code) for at, code in enumerate(expected)]
    report, stored = await load(written(tmp_path, rows))
    assert [stored[row["id"]]["gtin"] for row in rows] == [sent or code for code, sent in expected.items()]
    assert [issue.row for issue in report.warning_details] == list(range(len(codes) + 1, len(rows) + 1))
    assert {issue.field for issue in report.warning_details} == {"gtin"}
    reasons = [issue.reason for issue in report.warning_details]
    assert ["check digit" in reason for reason in reasons[: len(wrong)]] == [True, True, *([False] * 4)]
    assert all("is sent unchanged" in reason for reason in reasons[: len(wrong)])
    findings = [each.text for each in (await lint_products(written(tmp_path, rows))).findings]
    assert any(text.startswith("gtin: 2 values") and "check digit" in text for text in findings)
    assert any(text.startswith("gtin: 4 values") and "8, 12, 13 or 14" in text for text in findings)


async def test_a_gtin_that_is_a_number_is_looked_at_too() -> None:
    ean = int(with_check_digit("400638133393"))
    report, stored = await load([product("a", gtin=ean), product("b", gtin=ean + 1), product("c", gtin=0)])
    assert [each.get("gtin") for each in stored.values()] == [str(ean), str(ean + 1), None]
    assert [(issue.row, issue.field) for issue in report.warning_details] == [(2, "gtin"), (3, "gtin")]


@EVERY_FORMAT
@pytest.mark.parametrize("names", [("gtin", "ean", "upc"), ("upc", "ean", "gtin")])
async def test_each_row_takes_the_code_that_it_has(written: Any, names: Sequence[str], tmp_path: Path) -> None:
    one, two, three = (with_check_digit(f"40063813339{digit}") for digit in range(3))
    codes = [{"gtin": one, "ean": two}, {"ean": two}, {"upc": three}, {"gtin": "N/A", "ean": two, "upc": two}]
    rows = [product(str(at)) | {name: code.get(name, "") for name in names} for at, code in enumerate(codes)]
    report, stored = await load(written(tmp_path, rows))
    assert [each["gtin"] for each in stored.values()] == [one, two, three, two]
    assert [(issue.row, issue.reason) for issue in report.warning_details] == [(4, NULL_WORD)]
    assert report.ignored_columns == ()


@EVERY_FORMAT
async def test_a_price_without_its_currency_or_against_it_is_refused_with_what_to_do(
    written: Any, tmp_path: Path
) -> None:
    prices = {"9.99 EUR": "USD", "$9.99": "EUR", "9.99": "Taler", "9,99": "null", "9.98": "", "99:-": "Euro"}
    rows = [product(str(at), price=price, currency=prices[price]) for at, price in enumerate(prices)]
    report, stored = await load(written(tmp_path, rows))
    assert {key: each["price"] for key, each in stored.items()} == {"5": "99.00 EUR"}
    _, stored = await load(written(tmp_path, [product("a", price="$9.99")]), constants={"currency": "USD"})
    assert stored["a"]["price"] == "9.99 USD"
    reasons = [each.reason for each in report.rejects]
    parts = ["contradict", "contradict", "does not contain an ISO 4217 code", *2 * ['constants={"currency": "EUR"}']]
    assert [part in reason for part, reason in zip(parts, reasons, strict=True)] == [True] * 5


@EVERY_FORMAT
@pytest.mark.parametrize("name", ["sale_price_currency", "Sale Currency"])
async def test_a_sale_price_has_its_own_currency_or_that_of_the_price_and_never_another(
    written: Any, name: str, tmp_path: Path
) -> None:
    given = [
        *(("12.50", "9.50", "EUR", "USD"), ("12.50", "9.50", "USD", "USD"), ("12.50", "9.50", "", "USD")),
        *(("12.50 EUR", "9.50", "EUR", ""), ("12.50 EUR", "9.50", "", ""), ("12.50 EUR", "$9.50", "", "")),
        *(("12.50 EUR", "9.50 USD", "", ""), ("12.50", "9.50 EUR", "USD", "EUR"), ("12.50", "9.50", "Taler", "EUR")),
    ]
    names = ("price", "sale_price", name if written is not as_xml else "sale_price_currency", "currency")
    rows = [product(str(at), **dict(zip(names, each, strict=True))) for at, each in enumerate(given)]
    report, stored = await load(written(tmp_path, rows))
    sent = {"1": "9.50 USD", "2": "9.50 USD", "3": "9.50 EUR", "4": "9.50 EUR"}
    assert {key: each["sale_price"] for key, each in stored.items()} == sent
    assert {issue.field for issue in report.rejects} == {"sale_price"}
    assert (report.ignored_columns, report.warnings) == ((), 0)


async def test_the_currency_of_a_price_goes_before_the_constant_one_and_a_missing_price_is_what_is_wrong() -> None:
    rows = [product("a", price="9 EUR", sale_price="8"), product("b", price="9", sale_price="8", currency="EUR")]
    rows += [product("c", price="9", sale_price="8"), product("d", price=None, sale_price=0)]
    report, stored = await load(rows, constants={"currency": "USD"})
    assert {key: each["sale_price"] for key, each in stored.items()} == {"a": "8 EUR", "b": "8 EUR", "c": "8 USD"}
    (reject,) = report.rejects
    assert (reject.product_id, reject.field, reject.reason) == ("d", "price", "is required")
    (row,) = await read([product("e", price="9,999 EUR", sale_price="8")])
    assert row.problem is not None
    assert "three digits" in row.problem[1]


@EVERY_FORMAT
@pytest.mark.parametrize("no", ["No", "false", "0", False])
async def test_the_sale_price_of_a_product_that_is_not_on_sale_is_not_sent(
    written: Any, no: Any, tmp_path: Path
) -> None:
    other = "" if isinstance(no, str) else None
    yes = "Yes" if isinstance(no, str) else True
    flags = {"a": no, "b": yes, "c": other, "d": no}
    rows = [product(key, sale_price="5.00 EUR", **{"On-Sale": flag}) for key, flag in flags.items()]
    report, stored = await load(written(tmp_path, [*rows[:3], rows[3] | {"sale_price": ""}]))
    assert [key for key, each in stored.items() if "sale_price" in each] == ["b", "c"]
    assert [(issue.product_id, issue.field) for issue in report.warning_details] == [("a", "sale_price")]
    assert report.ignored_columns == ()


async def test_the_dates_of_a_sale_decide_and_not_whether_it_is_on_now() -> None:
    dates = "2026-01-01T00:00Z/2036-02-01T00:00Z"
    _, stored = await load([product("a", sale_price="5.00 EUR", on_sale=False, sale_price_effective_date=dates)])
    assert (stored["a"]["sale_price"], stored["a"]["sale_price_effective_date"]) == ("5.00 EUR", dates)


@pytest.mark.parametrize(
    "members",
    [
        "<g:value>9.99</g:value><g:currency>USD</g:currency>",
        "<amount currency='USD'>9.99</amount>",
        "<g:amountMicros>9990000</g:amountMicros><g:currencyCode>USD</g:currencyCode>",
    ],
)
async def test_a_price_of_several_elements_is_read_as_the_object_it_is_in_json(members: str, tmp_path: Path) -> None:
    path = as_xml(tmp_path, [product("a", price="PRICE"), product("b", price="20.00 USD", sale_price="PRICE")])
    path.write_text(path.read_text("utf-8").replace("PRICE", members), "utf-8")
    report, stored = await load(path)
    assert (report.rejected, report.warnings, report.ignored_columns) == (0, 0, ())
    assert (stored["a"]["price"], stored["b"]["sale_price"]) == ("9.99 USD", "9.99 USD")
    path.write_text(path.read_text("utf-8").replace(members, "9.99<currency>USD</currency>", 1), "utf-8")
    assert (await load(path))[1]["a"]["price"] == "9.99 USD"


@pytest.mark.parametrize(
    ("name", "nested", "path", "read"),
    [
        ("brand", "<id>3</id><name>Acme</name>", "brand.id", {"brand": "3"}),
        ("color", "<name>white</name><hex>#fff</hex>", "color.name", {"color": "white"}),
        ("size", "<value>5</value><unit>cm</unit>", "size.value", {"size": "5"}),
        ("quantity", "<available>5</available><reserved>1</reserved>", "quantity.available", {"inventory": 5}),
        ("gtin", "<ean>4006381333931</ean>", "gtin.ean", {"gtin": "4006381333931"}),
    ],
)
async def test_a_field_with_nested_elements_is_not_read_and_a_warning_has_the_path_that_reads_it(
    name: str, nested: str, path: str, read: Shape, tmp_path: Path
) -> None:
    feed = as_xml(tmp_path, [product("a", **{name: "NESTED"}), product("b", **{name: "NESTED"})])
    feed.write_text(feed.read_text("utf-8").replace("NESTED", nested), "utf-8")
    report, stored = await load(feed)
    assert [*stored] == ([] if name == "brand" else ["a", "b"])  # a product needs a brand
    assert all(shape.keys().isdisjoint(read) for shape in stored.values())
    (field,) = read
    (reason,) = [issue.reason for issue in report.warning_details]
    assert reason.startswith(f"<{name}> has nested elements, and is not read as {field}: ")
    assert reason.endswith(f'columns={{"{field}": "{path}"}}')
    report, stored = await load(feed, columns={field: path})
    assert (report.rejected, report.warnings, stored["a"][field]) == (0, 0, read[field])


async def test_the_nested_text_of_a_title_is_the_title(tmp_path: Path) -> None:
    feed = as_xml(tmp_path, [product("a", title="TITLE", description="TEXT")])
    texts = feed.read_text("utf-8").replace("TITLE", "<en>Mug</en>").replace("TEXT", "<de>Tasse</de>")
    feed.write_text(texts, "utf-8")
    report, stored = await load(feed)
    assert (stored["a"]["title"], stored["a"]["description"], report.warnings) == ("Mug", "Tasse", 0)


@pytest.mark.parametrize(
    ("prices", "sent"),
    [
        ('<price decimals="2" currency="EUR">999</price>', {"price": "9.99 EUR"}),
        ('<price value="9.99" currency="EUR"/>', {"price": "9.99 EUR"}),
        ('<price xml:lang="de" xmlns:q="urn:q" q:unit="5">9.99 EUR</price>', {"price": "9.99 EUR"}),
        ('<price currency="EUR">9.99</price><price currency="EUR">9.99</price>', {"price": "9.99 EUR"}),
        (
            '<price>9.99 EUR</price><salePrice currency="EUR">5</salePrice>',
            {"price": "9.99 EUR", "sale_price": "5 EUR"},
        ),
        ('<price>9.99 EUR</price><sale_price unit="EUR" currency="EUR"/>', {"price": "9.99 EUR"}),
        ('<price>9.99 EUR</price><sale_price xsi:nil="true"/>', {"price": "9.99 EUR"}),
        ('<price vat="19" currency="EUR">9.99</price>', {"price": "9.99 EUR"}),
        ('<price country="GR" includes_vat="true">9.99 EUR</price>', {"price": "9.99 EUR"}),  # gr is no grosz here
        ('<price vat="19" decimals="2" currency="EUR">999</price>', {"price": "9.99 EUR"}),
        (
            '<price country="DE" currency="EUR">9.99</price><price country="AT" currency="EUR">9.99</price>',
            {"price": "9.99 EUR"},
        ),
        ('<price vat="19"><value>9.99</value><currency>EUR</currency></price>', {"price": "9.99 EUR"}),
    ],
)
async def test_the_attributes_of_a_price_in_xml_are_members_of_the_price(
    prices: str, sent: dict[str, str], tmp_path: Path
) -> None:
    path = as_xml(tmp_path, [product("a")])
    path.write_text(path.read_text("utf-8").replace("<g:price>10.00 EUR</g:price>", prices), "utf-8")
    report, stored = await load(path)
    assert (report.rejected, report.warnings) == (0, 0)
    assert {name: value for name, value in stored["a"].items() if "price" in name} == sent


async def test_an_unknown_attribute_of_a_price_is_a_warning_unless_the_caller_names_it(tmp_path: Path) -> None:
    path = as_xml(tmp_path, [product("a"), product("b")])
    given = '<price vat="19" net="8.39 EUR" cur="EUR">9.99</price>'
    path.write_text(path.read_text("utf-8").replace("<g:price>10.00 EUR</g:price>", given), "utf-8")
    report, stored = await load(path, columns={"currency": "price@cur"})
    assert [stored[each]["price"] for each in "ab"] == ["9.99 EUR"] * 2
    assert [(each.row, "the attribute net of price is" in each.reason) for each in report.warning_details] == [
        (0, True)
    ]


@pytest.mark.parametrize(
    ("prices", "field", "reason"),
    [
        ('<price currency="EUR" unit="cent">999</price>', "price", "an ambiguous price"),
        ('<price currency="EUR" type="cents">999</price>', "price", "an ambiguous price"),
        ('<price scale="2" factor="10">999 EUR</price>', "price", "an ambiguous price"),
        ('<price vat="19" given-in="cents" currency="EUR">999</price>', "price", "an ambiguous price"),
        ('<price cur="USD">9.99 EUR</price>', "price", "an ambiguous price"),
        ("<price><net><amount>8.39</amount></net><currency>EUR</currency></price>", "price", "an ambiguous price"),
        ("<price>999 EUR<unit>cent</unit></price>", "price", "an ambiguous price"),
        ('<price currency="EUR">9.99</price><price currency="USD">9.99</price>', "price", "is a list"),
        ('<price currency="EUR">9</price><sale_price unit="cent">500</sale_price>', "sale_price", "an ambiguous price"),
        (
            '<price currency="USD">9</price><sale_price currency="EUR">5</sale_price>',
            "sale_price",
            "in the currency of price",
        ),
    ],
)
async def test_a_price_that_its_attributes_or_elements_leave_open_is_refused(
    prices: str, field: str, reason: str, tmp_path: Path
) -> None:
    path = as_xml(tmp_path, [product("a")])
    path.write_text(path.read_text("utf-8").replace("<g:price>10.00 EUR</g:price>", prices), "utf-8")
    report, stored = await load(path)
    assert [(each.field, reason in each.reason) for each in report.rejects] == [(field, True)]
    assert not stored


@pytest.mark.parametrize(
    ("element", "field"),
    [
        (
            "<sale_price_effective_date><start>2026-01-01T00:00Z</start></sale_price_effective_date>",
            "sale_price_effective_date",
        ),
        ("<color>red<hex>#f00</hex></color>", "color"),
        ("<sizes><size>S</size><size>M</size></sizes>", "size"),
    ],
)
async def test_a_product_with_elements_in_dates_or_next_to_a_text_is_refused(
    element: str, field: str, tmp_path: Path
) -> None:
    path = as_xml(tmp_path, [product("a")])
    path.write_text(path.read_text("utf-8").replace("</item>", f"{element}</item>"), "utf-8")
    report, _ = await load(path)
    assert [each.field for each in report.rejects] == [field]


@pytest.mark.parametrize("written", [as_xml, as_json, as_json_lines, as_parquet])
async def test_a_feed_without_a_known_name_is_refused_with_the_names_that_it_has(written: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        await load(written(tmp_path, [{"kod": "1", "nazwa": "Kubek"}]))
    assert "there is no column id, title, " in str(caught.value)
    assert "(columns: kod, nazwa); specify the column with " in str(caught.value)


async def test_ids_in_attributes_are_read_where_that_is_asked_for_and_else_the_warning_says_how(tmp_path: Path) -> None:
    text = as_xml(tmp_path, [product("X1", id=None)]).read_text("utf-8").replace("<item>", "<item id='X1'>")
    path = tmp_path / "feed.xml"
    path.write_text(text.replace("<g:id>None</g:id>", ""), "utf-8")
    report, _ = await load(path)
    assert (report.rejected, report.ignored_columns) == (1, ("@id",))
    assert 'columns={"id": "@id"}' in report.warning_details[0].reason
    report, stored = await load(path, columns={"id": "@id"})
    assert (report.warnings, [*stored]) == (0, ["X1"])


@pytest.mark.parametrize(
    "names",
    [("additional_image_link_1", "additional_image_link_2"), ("additional_image_link", "additional_image_link[1]")],
)
async def test_numbered_columns_of_images_and_the_id_of_tiktok_are_read(names: Sequence[str], tmp_path: Path) -> None:
    images = ["https://a.example/1.jpg", "https://a.example/2.jpg"]
    row = {"sku_id" if name == "id" else name: value for name, value in product("a").items()}
    report, stored = await load(as_csv(tmp_path, [row | dict(zip(names, images, strict=True))]))
    assert stored == {"a": product("a", additional_image_link=",".join(images))}
    assert report.ignored_columns == ()


def images(*numbers: int) -> list[str]:
    return [f"https://a.example/{number}.jpg" for number in numbers]


@EVERY_FORMAT
@pytest.mark.parametrize("between", [",", "|", ";", ", ", " ", "<br>"])
async def test_the_first_of_several_images_is_the_image_and_the_others_are_additional_ones(
    written: Any, between: str, tmp_path: Path
) -> None:
    several = between.join(images(1, 2, 3))
    rows = [product("a", image_link=several, additional_image_link=""), product("b", image_link=several)]
    rows[1]["additional_image_link"] = ",".join(images(2, 9))
    rows += [product("d")]
    report, stored = await load(written(tmp_path, rows))
    assert [each["image_link"] for each in stored.values()] == [*images(1, 1), "https://shop.example/d.jpg"]
    sent = [each.get("additional_image_link") for each in stored.values()]
    assert sent == [",".join(images(2, 3)), ",".join(images(2, 9, 3)), None]
    assert [(issue.product_id, issue.field) for issue in report.warning_details] == [
        ("a", "image_link"),
        ("b", "image_link"),
    ]


@pytest.mark.parametrize("field", ["link", "mobile_link"])
async def test_several_addresses_of_a_page_and_blanks_in_addresses_are_refused_with_the_reason(field: str) -> None:
    rows = [product("a", **{field: "https://a.example/1,https://a.example/2"}), product("b", image_link="")]
    rows += [
        product("c", **{field: "https://a.example/My Mug"}),
        product("d", image_link="https://a.example/My Mug.jpg"),
    ]
    rows += [
        product("e", **{field: "https://a.example/?u=https://b.example/,1;2"}),
        product("f", image_link=images(1)[0]),
    ]
    rows[1]["image_link"] = f"{images(1)[0]},img/2.jpg,{images(3)[0]}"
    report, stored = await load(rows)
    assert [*stored] == ["e", "f"]
    assert [(issue.product_id, issue.field) for issue in report.rejects] == [
        *(("a", field), ("b", "additional_image_link"), ("c", field), ("d", "image_link")),
    ]
    assert ["URL" in issue.reason for issue in report.rejects] == [True] * 4
    assert ["%20" in issue.reason for issue in report.rejects] == [False, False, True, True]


@pytest.mark.parametrize(
    ("field", "url", "images"),
    [
        ("link", "https://track.example/c?a=1;b=2;https://shop.example/1", None),
        ("link", "https://track.example/c|https://shop.example/1", None),
        ("mobile_link", "https://track.example/c?to=1,https://m.shop.example/1", None),
        ("image_link", "https://img.example/fetch/w_100,h_100,https://shop.example/1.jpg", None),
        ("image_link", "https://a.example/1.jpg?v=1,https://b.example/2.jpg?v=2", "https://b.example/2.jpg?v=2"),
        ("image_link", "https://a.example/?n=1,https://a.example/?n=2", "https://a.example/?n=2"),
    ],
)
async def test_an_address_within_another_is_not_cut_off(field: str, url: str, images: str | None) -> None:
    report, stored = await load([product("a", **{field: url})])
    assert stored["a"][field] == (url.partition(",")[0] if images else url)
    assert (stored["a"].get("additional_image_link"), warned(report)) == (images, [field])


@EVERY_FORMAT
async def test_more_than_ten_additional_images_are_the_first_ten(written: Any, tmp_path: Path) -> None:
    columns = {
        "additional_image_link": ",".join(images(*range(8))),
        "additional_image_link_2": ",".join(images(*range(5, 13))),
    }
    first = dict.fromkeys(columns, "") | {IMAGES: ",".join(images(*range(15)))}
    rows = [product("a", **first), product("b", **columns)]
    rows += [
        product("c", additional_image_link=" - ".join(images(*range(10)))),
        product("d", image_link=" ".join(images(*range(12)))),
    ]
    report, stored = await load(written(tmp_path, rows))
    assert [each["additional_image_link"] for each in stored.values()] == [
        *[",".join(images(*range(10)))] * 3,
        ",".join(images(*range(1, 11))),
    ]
    warnings = [(issue.product_id, issue.field) for issue in report.warning_details]
    assert warnings == [*(("a", IMAGES), ("b", IMAGES)), *(("d", "image_link"), ("d", IMAGES))]


async def test_a_line_break_in_a_description_is_no_new_row_whatever_the_order_of_the_columns(tmp_path: Path) -> None:
    more = {"additional_image_link": "https://shop.example/2.jpg", "gtin": with_check_digit("400638133393")}
    rows = [product(each, description="One.\nTwo.", inventory=4, **more) for each in "abc"]
    for seed in range(30):
        # A half of such a row may have a link or a number in the column of the link or the price.
        names = ["id", *random.Random(seed).sample(list(rows[0])[1:], len(rows[0]) - 1)]
        report, stored = await load(as_csv(tmp_path, [{name: row[name] for name in names} for row in rows]))
        assert (report.rejected, {each: stored[each]["description"] for each in stored}) == (
            0,
            dict.fromkeys("abc", "One.\nTwo."),
        )


@EVERY_FORMAT
@pytest.mark.parametrize(("own", "other"), [("id", "sku"), ("id", "offer_id"), ("retailer_id", "sku")])
async def test_a_product_without_the_id_of_the_feed_gets_no_other_column_as_its_id(
    written: Any, own: str, other: str, tmp_path: Path
) -> None:
    rows = [{own: each, other: f"other {each}", **product("x", id=None)} for each in ("a", "", "c")]
    # Exporters leave out the names of empty values, and readers of XML skip empty elements.
    rows = rows if written in (as_csv, as_parquet) else [{name: row[name] for name in row if row[name]} for row in rows]
    report, stored = await load(written(tmp_path, rows))
    assert [(each.row, each.field) for each in report.rejects] == [(2, "id")]
    assert stored.keys() == {"a", "c"}


@pytest.mark.parametrize("written", [as_xml, as_json, as_json_lines, as_mappings])
async def test_a_feed_may_have_its_ids_under_several_names_or_only_as_sku(written: Any, tmp_path: Path) -> None:
    names = ("offer_id", "retailer_id", "sku_id")
    _, stored = await load(written(tmp_path, [{name: name, **product("x", id=None)} for name in names]))
    assert stored.keys() == {*names}
    skus = [{"sku": each, **product("x", id=None)} for each in "ab"]
    # The first object decides, so that it does not matter which objects are read together.
    _, stored = await load(
        written(tmp_path, [*skus, {"sku": "c", **product("d")}, {"sku": "e", **product("x", id=None)}])
    )
    assert stored.keys() == {*"abde"}


@EVERY_FORMAT
@pytest.mark.parametrize("names", [("currency", "price_currency"), ("price_currency", "currency_code")])
async def test_columns_of_currencies_complete_each_other_and_must_not_contradict_each_other(
    written: Any, names: Sequence[str], tmp_path: Path
) -> None:
    given = [("EUR", "USD"), ("EUR", ""), ("", "USD"), ("n/a", "CHF"), ("eur", "€"), ("US Dollar", "USD"), ("", "")]
    sure = ["", "EUR", "USD", "CHF", "EUR", "USD", ""]
    for price in ("9.99", "9,99"):
        rows = [
            {**product(str(at), price=price), **dict(zip(names, pair, strict=True))} for at, pair in enumerate(given)
        ]
        report, stored = await load(written(tmp_path, rows))
        assert [stored.get(str(at), {}).get("price", "") for at in range(len(rows))] == [
            code and f"9.99 {code}" for code in sure
        ]
        assert [each.row for each in report.rejects] == [at for at, code in enumerate(sure, 1) if not code]
        assert "contradict" in report.rejects[0].reason


@pytest.mark.parametrize("written", [as_json, as_json_lines, as_mappings])
async def test_each_value_that_is_no_text_is_named_because_the_rejects_file_writes_it_as_text(
    written: Any, tmp_path: Path
) -> None:
    rows = [product("a", price={"amount": 999, "currency": "USD"}, size=["S", "M"], color={"en": "red"})]
    report, stored = await load(written(tmp_path, rows), rejects=tmp_path / "rejects.csv")
    (reject,) = report.rejects
    assert sorted(reject.field.split(", ")) == ["color", "price", "size"]
    assert all(f"{name}: is a" in reject.reason for name in ("color", "price", "size"))
    assert not stored


@EVERY_FORMAT
@pytest.mark.parametrize(
    ("price", "currency"), [("9.99", "US Dollar"), ("9.99 EUR", "USD"), ("1,299", "USD"), ("9", "GBp")]
)
async def test_a_rejected_price_has_its_currency_in_the_rejects_file(
    written: Any, price: str, currency: str, tmp_path: Path
) -> None:
    again = {"rejects": tmp_path / "rejects.csv", "constants": {"currency": "EUR"}}
    report, _ = await load(written(tmp_path, [product("a", price=price, currency=currency)]), **again)
    assert report.rejected == 1
    report, stored = await load(tmp_path / "rejects.csv", constants=again["constants"])
    assert (report.rejected, stored) == (1, {})


async def test_a_row_of_several_files_with_shifted_cells_is_not_taken_from_the_rejects_file(tmp_path: Path) -> None:
    names = [*(name for name in product("a") if name != "description"), "description"]
    files = []
    for each, text in (("a", "Iron, oak"), ("b", "Oak.")):
        files.append(tmp_path / f"{each}.csv")
        files[-1].write_text(
            ",".join(names) + "\n" + ",".join((product(each) | {"description": text})[n] for n in names)
        )
    report, stored = await load(files, rejects=tmp_path / "rejects")
    assert (report.rejected, set(stored)) == (1, {"b"})
    report, stored = await load(tmp_path / "rejects")
    assert ([each.product_id for each in report.rejects], stored) == (["a"], {})


async def test_a_cell_with_a_stray_mark_keeps_its_marks_in_the_rejects_file(tmp_path: Path) -> None:
    titles = ['"Best" boots', '"Two" and "three"', '"Blank" ', "Plain"]
    rows = [product(f"p{at}", title=title) for at, title in enumerate(titles)]
    path = tmp_path / "feed.csv"
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]))
    report, _ = await load(path, rejects=tmp_path / "rejects")
    assert [each.row for each in report.rejects] == [1, 2, 3]
    with (tmp_path / "rejects").open(newline="") as file:
        assert [row["title"] for row in csv.DictReader(file)] == [*titles[:2], "Blank "]


@pytest.mark.parametrize("written", [as_json, as_json_lines, as_mappings])
async def test_an_empty_object_is_no_value(written: Any, tmp_path: Path) -> None:
    fields: dict[str, Any] = {name: {} for name in ("gtin", "size", "sale_price", "item_group_id", IMAGES, "inventory")}
    report, stored = await load(written(tmp_path, [product("a") | fields, product("b", title={"de": "Topf"})]))
    assert stored == {"a": product("a")}
    assert [each.field for each in report.rejects] == ["title"]


@pytest.mark.parametrize("written", [as_json, as_json_lines, as_mappings, as_parquet])
@pytest.mark.parametrize("images", [["a.jpg", "b.jpg", "c.jpg"], ["w_5,h_5/a", "b"], ["a.jpg"], ["a.jpg", "a.jpg"]])
async def test_the_first_image_of_a_list_is_the_image_and_the_others_are_additional(
    written: Any, images: Sequence[str], tmp_path: Path
) -> None:
    links = [f"https://{each[0]}.example/{each}" for each in images]
    report, stored = await load(written(tmp_path, [product("x", image_link=links)]))
    first, *others = dict.fromkeys(links)
    assert (stored["x"]["image_link"], stored["x"].get(IMAGES, "")) == (first, ",".join(others))
    assert warned(report) == ["image_link"] * bool(others)


@pytest.mark.parametrize("written", [as_csv, as_xml, as_json_lines])
async def test_products_that_are_rejected_for_the_same_reason_are_one_group_whatever_their_lines(
    written: Any, tmp_path: Path
) -> None:
    prices = ["1,299 USD"] * 3 + ["$5"]
    report, _ = await load(written(tmp_path, [product(str(at), price=price) for at, price in enumerate(prices)]))
    assert [(each.count, [row.row for row in each.first]) for each in report.reject_groups] == [
        (3, [1, 2, 3]),
        (1, [4]),
    ]
    assert ["line " in each.reason for each in report.reject_groups] == [False, True]


@EVERY_FORMAT
@pytest.mark.parametrize("empty", ['=""', "\u200b", "\ufeff \u200b", "\u00ad"])
async def test_a_cell_with_nothing_but_marks_and_invisible_characters_is_empty(
    written: Any, empty: str, tmp_path: Path
) -> None:
    optional = ("gtin", "mpn", "item_group_id", "size", "color", "product_type", "custom_label_0", "sale_price", IMAGES)
    rows = [product("a", **dict.fromkeys(optional, empty)), product("x") | dict.fromkeys(("id", *optional), empty)]
    report, stored = await load(written(tmp_path, rows))
    assert stored == {"a": product("a")}
    assert [(each.row, each.field) for each in report.rejects] == [(2, "id")]
    assert {each.field for each in report.warning_details if each.row == 1} == {*optional}


@EVERY_FORMAT
@pytest.mark.parametrize("mark", ['="{}"', "'{}", "{}\u200b"])
async def test_marks_around_a_currency_and_around_what_is_on_sale_are_no_part_of_them(
    written: Any, mark: str, tmp_path: Path
) -> None:
    plain = [
        {"currency": "EUR", "on_sale": "no"},
        {"currency": "usd", "on_sale": "yes"},
        {"currency": "", "on_sale": ""},
    ]
    rows = [
        product(str(at), price="9.99", sale_price="5.00") | {name: mark.format(each[name]) for name in each}
        for at, each in enumerate(plain)
    ]
    report, stored = await load(written(tmp_path, rows))
    prices = {key: (each["price"], each.get("sale_price")) for key, each in stored.items()}
    assert prices == {"0": ("9.99 EUR", None), "1": ("9.99 USD", "5.00 USD")}
    assert ["has no currency: " in each.reason for each in report.rejects] == [True]
