"""Names and values of feeds as merchants write them."""

import datetime
import re
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.products.merchant_values import (
    COMPANION_NAMES,
    FIELD_SYNONYMS,
    NO_CURRENCY,
    ONLY_WITHOUT_ID,
    OTHER_NAMES,
    OTHER_VALUES,
    SHARED_SIGN,
    SHARED_SIGNS,
    SIGNS,
    TWO_READINGS,
    ambiguity,
    companion_of,
    field_of,
    fields_of,
    understood,
    with_currency,
)
from socialapi.bulk.products.rows import FIELDS
from socialapi.models.products import Product
from socialapi.models.validation import broken_rules

PAGE: Final = Path(__file__).parents[3] / "docs" / "catalogs.md"
VALID: Final[dict[str, Any]] = {
    "id": "1",
    "title": "Mug",
    "description": "Enamel",
    "availability": "out of stock",
    "condition": "new",
    "price": "9999999999.00 EUR",
    "link": "https://shop.example/1",
    "image_link": "https://shop.example/1.jpg",
    "brand": "Hut",
}


NOW: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def keeps_rules(field: str, text: str) -> bool:
    broken = broken_rules(Product, VALID | {field: text}, now=NOW)
    return not any(rule.path == field for rule in broken)


def unchanged(field: str, text: str) -> bool:
    return understood(field, text) == text


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        ("in stock", "in stock|in_stock|In Stock|INSTOCK|InStock|in-stock|LIMITED_AVAILABILITY|LimitedAvailability"),
        ("in stock", "http://schema.org/InStock|https://schema.org/InStock|https://www.schema.org/OnlineOnly|schema.org/instock"),
        ("out of stock", "out_of_stock|outofstock|OUT OF STOCK|sold out|SoldOut|https://schema.org/SoldOut"),
        ("preorder", "preorder|pre-order|Pre Order|http://schema.org/PreOrder|https://schema.org/PreSale"),
        ("available for order", "backorder|back order|onbackorder|available_for_order|https://schema.org/BackOrder|MadeToOrder"),
        ("discontinued", "Discontinued|https://schema.org/Discontinued"),
    ],
)  # fmt: skip
def test_availability_is_understood_as_google_meta_and_schema_org_write_it(expected: str, written: str) -> None:
    for text in written.split("|"):
        assert understood("availability", text) == expected


@pytest.mark.parametrize(
    "text",
    ["true", "1", "yes", "auf Lager", "available", "in stock (3)", "https://schema.org/InStoreOnly", "Reserved", ""],
)
def test_an_availability_that_would_be_a_guess_stays(text: str) -> None:
    assert unchanged("availability", text)


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("condition", "New", "new"),
        ("condition", "https://schema.org/NewCondition", "new"),
        ("condition", "http://schema.org/UsedCondition", "used"),
        ("condition", "RefurbishedCondition", "refurbished"),
        *(("condition", text, "used") for text in ("used_good", "Used - Like New", "UsedVeryGood", "USED_FAIR")),
        ("condition", "https://schema.org/DamagedCondition", "https://schema.org/DamagedCondition"),
        ("condition", "like new", "like new"),
        ("gender", "Female", "female"),
        ("gender", "men", "men"),
        ("age_group", "ALL_AGES", "all ages"),
        ("age_group", "Newborn", "newborn"),
        ("age_group", "3-6 months", "3-6 months"),
        ("product_type", "A>B >C", "A > B > C"),
        ("product_type", "A &gt; B &amp; C", "A > B & C"),
        ("product_type", "A / B", "A / B"),
        ("product_type", "A -> B->C", "A > B > C"),
        ("product_type", "A >> B => C", "A > B > C"),
        ("product_type", "T-Shirts > A-B", "T-Shirts > A-B"),
        ("product_type", "A > > B", "A > > B"),
        ("product_type", "A >", "A >"),
        ("product_type", "A  >  B", "A  >  B"),
        ("product_type", "Tom &amp; Jerry", "Tom & Jerry"),
        ("description", "Tom &amp; Jerry", "Tom &amp; Jerry"),
        ("color", "Black/White", "Black/White"),
        ("gtin", "0012345", "0012345"),
        ("description", "<b>x</b>", "<b>x</b>"),
        ("no such field", "InStock", "InStock"),
    ],
)
def test_a_value_is_understood_or_stays(field: str, text: str, expected: str) -> None:
    assert understood(field, text) == expected


A, B, C = "https://shop.example/a.jpg", "http://shop.example/b.jpg?x=1;y=2", "https://cdn.example/w_5,h_5/c.jpg"
C_ESCAPED = "https://cdn.example/w_5%2Ch_5/c.jpg"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{A},{B}", f"{A},{B}"),
        (f"{A}, {B}", f"{A},{B}"),
        (f"{A}, https://a.example/1", f"{A},https://a.example/1"),
        (f"{A}<br>{B}<BR />", f"{A},{B}"),
        (f"<p>{A}</p><p>{B}</p>", f"{A},{B}"),
        (f"{A}&lt;br&gt;{B}", f"{A},{B}"),
        (f"{A} {B}", f"{A},{B}"),
        (f"{A}\n{B}\n", f"{A},{B}"),
        (f"{A};{B}", f"{A},{B}"),
        (f"{A} | {B}", f"{A},{B}"),
        (f"{A},{C},{B},", f"{A},{C_ESCAPED},{B}"),
        (C, C_ESCAPED),
        (f"{A},null", A),
        (f"null,{A}", A),
        (f"{A}|N/A", A),
        (f"{A};null", A),
        (f"{A} - {B}", f"{A},{B}"),
        ("null,N/A", ""),
        (f"{A}, {A}", A),
        (f"{A},{C},{B} {A}", f"{A},{C_ESCAPED},{B}"),
        (f'["{A}", null, "{B}"]', f"{A},{B}"),
        ('["https:\\/\\/a.example\\/1.jpg"]', "https://a.example/1.jpg"),
        ("[]", ""),
        (f"{A}?rect=0,0,10,10", f"{A}?rect=0%2C0%2C10%2C10"),
        ("", ""),
    ],
)
def test_addresses_of_images_have_commas_between_them_and_none_within(text: str, expected: str) -> None:
    assert understood("additional_image_link", text) == expected


@pytest.mark.parametrize("other", ["b.jpg", "/img/b.jpg", "//cdn.example/b.jpg", "["])
@pytest.mark.parametrize("sign", [",", ", ", "|", " "])
def test_a_relative_address_is_refused_and_never_a_part_of_the_one_before(sign: str, other: str) -> None:
    for text in (A + sign + other, other + sign + A, other, "[" * 5_000):
        found = understood("additional_image_link", text)
        assert not keeps_rules("additional_image_link", found)
        assert understood("additional_image_link", found) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"2026-01-01T00:00{one}/2026-01-31T23:59{two}", f"2026-01-01T00:00{one}/2026-01-31T23:59{two}")
        for one, two in (("+01:00", "+01:00"), ("+01", "-08"), ("Z", "Z"), (":00Z", ":00Z"))
    ]
    + [
        ("20260101T0000+0100/20260131T2359+0100", "20260101T0000+0100/20260131T2359+0100"),
        ("2026-01-01T00:00+0100 / 2026-01-31T23:59 -0800", "2026-01-01T00:00+01:00/2026-01-31T23:59-08:00"),
        ("20260101T00:00 +01/2026-01-31T235900.Z", "2026-01-01T00:00+01:00/2026-01-31T23:59:00Z"),
        (" 2026-01-01 00:00+01:00/2026-01-31 23:59z ", "2026-01-01T00:00+01:00/2026-01-31T23:59Z"),
        ("2026-01-01/2026-01-31", "2026-01-01/2026-01-31"),
        ("2026-01-01T00:00Z", "2026-01-01T00:00Z"),
        ("01/02/2026", "01/02/2026"),
    ],
)
def test_a_sale_window_is_two_times_with_a_slash_between_them(text: str, expected: str) -> None:
    assert understood("sale_price_effective_date", text) == expected


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        ("9.99 USD", "9.99 USD|USD 9.99|9.99USD|USD9.99|9.99 usd|9,99 USD|US$9.99|$9.99 USD|US$ 9.99 USD| 9.99  USD "),
        ("9.99 EUR", "€ 9,99|€9.99|9,99 €|9,99 EUR|EUR 9,99|€9,99 EUR|9.99\u00a0EUR|&euro;9,99|9,99&nbsp;&#8364;"),
        ("1299.00 EUR", "1.299,00 EUR|1,299.00 EUR|1 299,00 EUR|1\u00a0299,00 €|1\u202f299.00 EUR|1'299.00 EUR|1\u2019299,00 EUR"),
        ("1299 EUR", "1 299 EUR|1'299 EUR|EUR 1299"),
        ("1234567.89 INR", "12,34,567.89 INR|1,234,567.89 INR|₹ 1.234.567,89"),
        ("1234567 IDR", "1.234.567 IDR|1,234,567 IDR|12,34,567 IDR"),
        ("1299 JPY", "1,299 JPY|JPY 1,299|¥1,299 JPY|1299JPY|1.299 JPY|JPY 1.299|1.299JPY"),
        ("12500 CLP", "12.500 CLP|CLP 12.500|$12.500 CLP|12,500 clp"),
        ("12500 VND", "12.500 ₫|12.500 VND|₫ 12,500"),
        ("12.5 CLP", "12.5 CLP|12,5 CLP"),
        ("0.999 EUR", "0,999 EUR|EUR 0.999"),
        ("1299.500 KWD", "1299,500 KWD|1,299.500 KWD|1 299,500 KWD"),
        ("99999.99 BRL", "R$ 99999,99|R$ 99.999,99"),
        ("120.00 PLN", "120,00 zł"),
        ("9.00 GBP", "£9.00 GBP|9.00 £ GBP"),
        ("9.99 CAD", "CAD $9.99|$CAD 9.99|9.99$CAD|C$ 9.99 CAD|CA$9.99"),
        ("9.90 CHF", "Fr. 9.90 CHF|CHF SFr. 9,90"),
        ("99.50 TRY", "99,50 TL|₺99,50 TRY"),
        ("12800 JPY", "12,800円|12,800 円|￥12,800 JPY"),
        ("12.90 USD", "US $12.90|12,90 US $|US $12.90 USD"),
        ("99.50 UAH", "99,50 грн|99.50 грн.|99,50 грн. UAH"),
        ("99.50 RUB", "99,50 руб. RUB|99.50 руб RUB"),  # noqa: RUF001
        ("12500 VND", "12.500 đ|12,500đ"),
        ("10000 KRW", "₩10,000 KRW|KRW 10.000"),
        ("10000 IDR", "Rp 10.000|Rp10.000|Rp. 10.000|10.000 IDR|Rp 10.000 IDR"),
        ("99.99 ZAR", "R 99.99|R99,99|99.99 ZAR"),
        ("99.00 SEK", "99:- SEK|99,- kr SEK|SEK 99:-|99.00 kr SEK"),
        ("0.50 USD", ".50 USD|USD .50|$.50 USD|,50 USD"),
        ("9.99 EUR", "9,99 Euro|9.99 EURO|euro 9.99"),
        ("12.00 EUR", "12,- EUR|12,\u2013 €|EUR 12.-|12.\u2014 EUR"),
        ("1299.00 CHF", "CHF 1'299.\u2013|1.299,- CHF|CHF 1'299.--"),
        ("1299.00 INR", "INR 1,299/-|Rs. 1,299/- INR|Rs 1299/- INR"),
    ],
)  # fmt: skip
def test_prices_are_understood_where_they_can_only_be_read_in_one_way(expected: str, written: str) -> None:
    for text in written.split("|"):
        assert understood("price", text) == expected, text
        assert understood("sale_price", text) == expected, text


@pytest.mark.parametrize(
    "text",
    [
        *("$9.99", "£9.99", "¥900", "9,99 kr", "9.99", "1,299 USD", "EUR 1.299", "1.299€", "1,299 KWD", "KWD 1.299"),
        *("9.99 XBT", "9.99 USD EUR", "€9.99 USD", "$9.99 EUR", "-9.99 EUR", "9.99 EUR/kg", "from 9.99 EUR", "9,9,9 EUR"),
        *("1,2345.00 EUR", "1.299.00 EUR", "1 2345 EUR", "٩.٩٩ EUR", "EUR", "", "NaN EUR", "1e3 EUR", "9.99 US Dollar"),
        *("10,-20 EUR", "USD 9.99 - USD 19.99", "free", "0", "C$ 10", "Rs. 1,299/-", "USD.50", "99:-", "₩10,000", "kr 99"),
        *("1299 GBp", "GBp 1299", "12.99GBp", "£12.99 GBp", "1299 GBX", "99 руб.", "￥900", "C $12.90", "EUR US $9"),  # noqa: RUF001
    ],
)  # fmt: skip
def test_prices_that_would_be_guesses_stay_and_are_refused(text: str) -> None:
    assert unchanged("price", text)
    assert not keeps_rules("price", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,299 USD", TWO_READINGS),
        ("EUR 1.299", TWO_READINGS),
        ("1.299 EUR", TWO_READINGS),
        ("1.299 JPY", None),
        ("1,299 KWD", TWO_READINGS),
        ("1.299 KWD", None),
        ("1,299 JPY", None),
        ("$9.99", SHARED_SIGN),
        ("$9.99 USD", None),
        ("9.99 EUR", None),
        ("9.99", NO_CURRENCY),
        ("soon", None),
    ],
)
def test_a_price_with_two_readings_or_a_shared_sign_is_doubted(text: str, expected: str | None) -> None:
    assert ambiguity("price", text) == ambiguity("sale_price", text) == expected
    assert ambiguity("title", text) is None


def test_a_price_may_have_its_currency_elsewhere() -> None:
    assert with_currency("9,99", "eur") == "9.99 EUR"
    assert with_currency("1,299", "JPY") == with_currency("1.299", "JPY") == "1299 JPY"
    assert with_currency("9.99 EUR", "EUR") == "9.99 EUR"
    assert with_currency("€9,99", "EUR") == "9.99 EUR"
    assert with_currency("$9.99", "CAD") == "9.99 CAD"
    assert with_currency("9.99", "dollars") == "9.99"
    assert with_currency("99 kr", "SEK") == "99 SEK"
    assert with_currency("9,99", "€") == "9.99 EUR"
    assert with_currency("Rs. 1,299/-", "INR") == "1299.00 INR"
    assert with_currency("12,800円", "JPY") == "12800 JPY"
    assert with_currency("99 руб.", "BYN") == "99 BYN"  # noqa: RUF001
    assert with_currency("9.99 EUR", "USD") == "9.99 EUR USD"
    assert with_currency("1,299", "USD") == "1,299 USD"
    for companion, names in COMPANION_NAMES.items():
        assert {companion_of(name) for name in names} == {companion}
        assert {field_of(name) for name in names} == {None}


ANYTHING: Final = st.one_of(
    st.text(),
    st.text(alphabet="019.,'€$ \u00a0EURUSDJPYeur"),
    st.text(alphabet="AB >&gt;amp "),
    st.lists(st.sampled_from([A, B, C, ",", ";", "|", " ", ", ", "x"])).map("".join),
    st.lists(st.sampled_from(["2026-01-01", "T", "t", " ", "00:00", "+01:00", "Z", "z", "/", " / "])).map("".join),
    st.lists(
        st.sampled_from(["in", "stock", "_", " ", "-", "https://schema.org/", "New", "Condition", "Order", "Pre"])
    ).map("".join),
)


@given(st.sampled_from(FIELDS), ANYTHING)
def test_a_text_that_keeps_the_rules_stays_and_one_that_is_understood_keeps_them(field: str, text: str) -> None:
    found = understood(field, text)
    if keeps_rules(field, text) and "&gt;" not in text and field != "additional_image_link":
        assert found == text
    if found != text and field not in {"sale_price", "sale_price_effective_date", "additional_image_link"}:
        assert keeps_rules(field, found)


def test_every_field_has_its_own_name_and_no_synonym_is_one_of_another_field() -> None:
    assert {field_of(field) for field in FIELDS} == set(FIELDS)
    assert set(FIELD_SYNONYMS.values()) == set(FIELDS)
    assert len(FIELD_SYNONYMS) == len(FIELDS) + sum(map(len, OTHER_NAMES.values()))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("g:image_link", "image_link"),
        ("Image Link", "image_link"),
        ("imageLink", "image_link"),
        ("\ufeffID", "id"),
        ("custom label 0", "custom_label_0"),
        ("g:google_product_category", "taxonomy_product_category"),
        ("quantity_to_sell_on_facebook", "inventory"),
        ("EAN", "gtin"),
        ("stock", None),
        ("product_id", None),
        ("manufacturer", None),
        ("shipping.price", None),
        ("@id", None),
        ("", None),
    ],
)
def test_a_name_is_a_field_however_it_is_written(name: str, field: str | None) -> None:
    assert field_of(name) == field


def test_another_name_of_the_id_is_ignored_next_to_it_and_sku_is_the_id_only_without_one() -> None:
    assert fields_of(["id", "sku_id", "sku", "name", "url"]) == ["id", None, None, "title", "link"]
    assert fields_of(["SKU", "name", "x"]) == ["id", "title", None]
    assert fields_of(["ean", "upc"]) == ["gtin", "gtin"]
    assert fields_of(["id", "ID"]) == ["id", "id"]
    assert fields_of([]) == []


def tables(heading: str) -> list[list[list[str]]]:
    """The cells of the tables of a section of the page, without their heads."""
    text = PAGE.read_text("utf-8").partition(f"\n{heading}\n")[2]
    section = re.split(r"\n#+ ", text)[0]
    found = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in table.splitlines()[2:]]
        for table in found
    ]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]*)`", cell)


def test_the_documentation_lists_every_name_that_is_understood() -> None:
    (rows,) = tables("### Names")
    listed = {quoted(field)[0]: tuple(quoted(names)) for field, names in rows}
    assert listed == {
        field: (*names, ONLY_WITHOUT_ID) if field == "id" else names for field, names in OTHER_NAMES.items()
    }
    section = PAGE.read_text("utf-8").partition("\n### Names\n")[2].partition("\n### ")[0]
    assert {name for names in COMPANION_NAMES.values() for name in names} <= set(quoted(section))


def test_the_documentation_lists_every_value_that_is_understood_and_what_it_says_is_so() -> None:
    words, forms, refused = tables("### Values")
    listed = {(quoted(field)[0], quoted(value)[0]): tuple(quoted(others)) for field, value, others in words}
    expected = {(field, value): others for field, values in OTHER_VALUES.items() for value, others in values.items()}
    assert listed == {key: others for key, others in expected.items() if others}
    assert {quoted(row[0])[0] for row in (*words, *forms)} >= {"availability", "condition", "price", "product_type"}
    for field, written, sent in forms:
        for text in quoted(written):
            assert understood(quoted(field)[0], text) == quoted(sent)[0], text
    for field, written, _ in refused:
        for text in quoted(written):
            assert unchanged(quoted(field)[0], text), text
            assert not keeps_rules(quoted(field)[0], text), text


def test_the_documentation_names_every_sign_of_a_currency() -> None:
    section = PAGE.read_text("utf-8").partition("\n### Values\n")[2].partition("\n## ")[0]
    assert set(quoted(section)) >= {*SIGNS, *SHARED_SIGNS}


def test_a_long_run_of_blanks_between_addresses_takes_no_longer_than_any_other_text() -> None:
    text = "https://a.example/1.jpg" + " " * 500_000 + "x"
    assert understood("additional_image_link", text) == "https://a.example/1.jpg, x"
    apart = "https://a.example/1.jpg" + " " * 500_000 + "https://a.example/2.jpg"
    assert understood("additional_image_link", apart) == "https://a.example/1.jpg,https://a.example/2.jpg"
