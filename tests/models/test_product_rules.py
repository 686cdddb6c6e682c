"""The rules of products, catalogs and product sets at their edges, with the literal values of the documentation."""

import datetime
import itertools
import re
import string
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.models.catalogs import ProductSetDraft
from socialapi.models.money import CURRENCIES
from socialapi.models.products import Product, ProductsQuery, _any_of, _in_any_case
from socialapi.models.validation import broken_rules
from tests.bulk.products.model_catalog import product

NOW: Final = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
A_PRICE: Final = "must be a number with a decimal point, a space and an ISO 4217 currency code, for example 9.99 USD"
A_TIME: Final = "must be two ISO 8601 times with their offsets and a slash between them"
URLS: Final = "must be URLs of images, separated by commas"


def broken(declared: Any, data: Any) -> list[str]:
    return [str(rule) for rule in broken_rules(declared, data, now=NOW)]


def said(**fields: Any) -> list[str]:
    """What is said of a product with these fields."""
    return broken(Product, product("a", **fields))


FIELDS: Final = [
    *("id", "product_key", "title", "description", "availability", "condition", "price", "link", "image_link"),
    *("brand", "gtin", "mpn", "mobile_link", "additional_image_link", "taxonomy_product_category", "product_type"),
    *("inventory", "sale_price", "sale_price_effective_date", "item_group_id", "item_group_key", "gender"),
    *("color", "size", "age_group"),
    *("custom_label_0", "custom_label_1", "custom_label_2", "custom_label_3", "custom_label_4"),
]


def test_a_product_has_every_field_of_the_documentation_and_no_other() -> None:
    whole = {
        **product("a"),
        **dict.fromkeys(FIELDS[FIELDS.index("taxonomy_product_category") :], "x"),
        "product_key": "k",
        "gtin": "4006381333931",
        "mpn": "N-1",
        "mobile_link": "https://m.shop.example/a",
        "additional_image_link": "https://shop.example/2.png",
        "inventory": 3,
        "sale_price": "9.00 EUR",
        "sale_price_effective_date": "2026-06-01T00:00:00+02:00/2026-06-08T00:00:00+02:00",
        "gender": "unisex",
        "age_group": "adult",
        "color": "moss",
    }
    assert set(whole) == set(FIELDS)
    assert len(FIELDS) == 30
    assert broken(Product, whole) == []
    assert said(colour="moss") == ["colour: is not a field of this object"]


@pytest.mark.parametrize(
    "name", ["id", "title", "description", "availability", "condition", "price", "link", "image_link"]
)
def test_what_is_required_is_and_what_the_service_makes_is_not(name: str) -> None:
    assert broken(Product, {key: value for key, value in product("a").items() if key != name}) == [
        f"{name}: is required"
    ]
    assert said() == []


@pytest.mark.parametrize("names", [("brand",), ("gtin",), ("mpn",), ("brand", "gtin", "mpn")])
def test_one_of_brand_gtin_and_mpn_is_enough(names: tuple[str, ...]) -> None:
    assert said(**{"brand": None, **dict.fromkeys(names, "x")}) == []


def test_without_any_of_them_it_is_said() -> None:
    (rule,) = broken_rules(Product, product("a", brand=None), now=NOW)
    assert (str(rule), rule.code) == ("brand: or gtin or mpn is required", "MISSING_PARAMETER")


@pytest.mark.parametrize(("name", "most"), [("title", 150), ("description", 5_000)])
def test_title_and_description_have_a_longest(name: str, most: int) -> None:
    assert said(**{name: "ü" * most}) == []
    assert said(**{name: "x" * (most + 1)}) == [f"{name}: must have at most {most:,} characters"]


@pytest.mark.parametrize("name", ["id", "title", "description", "brand", "gtin", "mpn", "item_group_id"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_blank_is_nothing(name: str, blank: str) -> None:
    assert said(**{name: blank}) == [f"{name}: must not be blank"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("availability", ["in stock", "available for order", "preorder", "out of stock", "discontinued"]),
        ("condition", ["new", "used", "refurbished"]),
        ("gender", ["female", "male", "unisex"]),
        ("age_group", ["adult", "all ages", "teen", "kids", "toddler", "infant", "newborn"]),
    ],
)
def test_every_value_of_an_enumeration_is_accepted_and_no_other(name: str, values: list[str]) -> None:
    assert [said(**{name: value}) for value in values] == [[]] * len(values)
    for other in ("other", values[0].upper(), f" {values[0]}", 1, True):
        assert said(**{name: other}) == [f"{name}: must be one of {', '.join(values)}"]


@pytest.mark.parametrize("price", ["0 EUR", "10 EUR", "10.5 USD", "0.001 KWD", "123456789.99 JPY", "007 CHF"])
def test_a_price_is_a_number_a_space_and_a_currency(price: str) -> None:
    assert said(price=price) == []


@pytest.mark.parametrize(
    "price",
    [
        *("10", "10EUR", "EUR 10", "10,00 EUR", "10 eur", "10  EUR", " 10 EUR", "10 EUR ", "10. EUR", ".5 EUR"),
        *(
            "-1 EUR",
            "+1 EUR",
            "1e3 EUR",
            "\u0661\u0660 EUR",
            "10 XXX",
            "10 XTS",
            "10 ABC",
            "10 EU",
            "10 EURO",
            "",
            "10 EUR\n",
        ),
    ],
)
def test_anything_else_is_none(price: str) -> None:
    assert said(price=price) == [f"price: {A_PRICE}"]
    assert said(sale_price=price) == [f"sale_price: {A_PRICE}"]


def test_a_sale_price_is_lower_and_in_the_same_currency() -> None:
    assert said(sale_price="9.999 EUR") == []
    for price in ("10 EUR", "10.00 EUR", "10.01 EUR"):
        assert said(sale_price=price) == ["sale_price: must be lower than price"]
    assert said(sale_price="9 USD") == ["sale_price: must be in the currency of price"]
    assert said(price="0.3 EUR", sale_price="0.29999999999999999999 EUR") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-06-01T00:00:00+02:00/2026-06-01T00:00:01+02:00", None),
        ("2026-06-01T00:00+02:00/2026-06-08T00:00Z", None),
        ("20260601T0000+0200/20260608T000000.5Z", None),
        ("2026-06-01T00:00+02/2026-W24-1T00Z", None),
        ("2026-06-01T00:00:00Z/2026-06-01T00:00:00Z", "must end later than it begins"),
        ("2026-06-01T00:00:00Z/2026-06-01T01:00:00+02:00", "must end later than it begins"),
        ("2026-06-01T00:00:00/2026-06-02T00:00:00", A_TIME),
        ("2026-06-01/2026-06-02", A_TIME),
        ("2026-06-01T00:00:00Z", A_TIME),
        ("2026-06-01T00:00:00Z/", A_TIME),
        ("2026-06-01T00:00:00Z/2026-06-02T00:00:00Z/2026-06-03T00:00:00Z", A_TIME),
        ("2026-06-01 00:00:00Z/2026-06-02 00:00:00Z", A_TIME),
        *(
            (f"2026-06-01T00:00:00Z/{end}", A_TIME)
            for end in (
                *("2026-06-02T00:00:00 Z", "2026-06-02T00:00:00 +02:00", "2026-06-02T00:00:00.Z"),
                *("2026-06-02T000000Z", "20260602T00:00:00Z", "2026-06-02T00:00+0200", "20260602T0000+02:00"),
                *("2026-06-02T00:0000Z", "2026-06-02T24:00Z", "2026-06-02t00:00Z", "2026-06-02T00:00z"),
            )
        ),
        ("", A_TIME),
    ],
)
def test_a_sale_lasts_from_one_time_to_a_later_one(text: str, says: str | None) -> None:
    expected = [] if says is None else [f"sale_price_effective_date: {says}"]
    assert said(sale_price_effective_date=text) == expected


@pytest.mark.parametrize("name", ["link", "mobile_link"])
@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        ("https://shop.example", True),
        ("https://shop.example/a?b=1&c=%20#d", True),
        ("https://shop.example/für", True),
        ("http://shop.example", False),
        ("HTTPS:/shop.example", False),
        ("https://", False),
        ("https:///a", False),
        ("https://shop.example/a b", False),
        ("shop.example", False),
        ("", False),
    ],
)
def test_links_are_https(name: str, url: str, *, is_one: bool) -> None:
    assert said(**{name: url}) == ([] if is_one else [f"{name}: must be an https URL"])


@pytest.mark.parametrize(
    ("url", "is_one"),
    [("https://a.b/c.jpg", True), ("http://a.b/c", True), ("ftp://a.b/c.jpg", False), ("c.jpg", False), ("", False)],
)
def test_an_image_is_a_url(url: str, *, is_one: bool) -> None:
    assert said(image_link=url) == ([] if is_one else ["image_link: must be the URL of an image"])


KIND: Final = "must be a JPG, GIF, WEBP or PNG, but its extension is for another type of file"


@pytest.mark.parametrize(
    ("url", "is_one"),
    [
        *((f"https://a.b/c.{kind}", True) for kind in ("jpg", "JPEG", "gif", "webp", "PNG", "php", "2", "example")),
        *((f"https://a.b/c.{kind}", False) for kind in ("svg", "TIFF", "bmp", "pdf", "mp4", "HeiC", "avif")),
        *((f"https://a.b/c.svg{rest}", False) for rest in ("?v=1", "#top", "?name=c.jpg")),
        *((f"https://a.b/c{rest}", True) for rest in (".jpg?format=svg", "?file=c.svg", "#c.svg", ".svg/large")),
        *(("HTTPS://a.svg", False), ("Http://A.B/c.jpg", True)),
    ],
)
def test_an_image_whose_extension_names_another_kind_is_refused(url: str, *, is_one: bool) -> None:
    """Catalogs section 4.7: JPG, GIF, WEBP or PNG. An address without an extension may lead to one of these."""
    assert said(image_link=url) == ([] if is_one else [f"image_link: {KIND}"])
    assert said(additional_image_link=f"https://a.b/1.jpg,{url}") == (
        [] if is_one else [f"additional_image_link: {KIND}"]
    )


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((text, True) for text in ("Home", "Home > Garden", "Home > Garden > Chairs & more", "A  >  B", "1 > 2", "")),
        *((text, False) for text in ("Home>Garden", "Home >Garden", "Home> Garden", "> Home", "Home > ", "A > > B")),
    ],
)
def test_levels_of_a_category_are_separated_by_a_sign_between_blanks(text: str, *, is_one: bool) -> None:
    assert said(product_type=text) == ([] if is_one else ["product_type: must have levels, separated by ' > '"])


@pytest.mark.parametrize(
    "color", ["#FFF", " #FF8800 ", "red/#00ff00", "0xFF00AA", "ff00aa", "00FF00", "#FF8800CC", "12345678"]
)
def test_a_color_in_any_hexadecimal_form_is_refused(color: str) -> None:
    assert said(color=color) == ["color: must be a word, not a hexadecimal code"]


def test_there_are_up_to_ten_additional_images() -> None:
    urls = [f"https://shop.example/{number}.jpg" for number in range(11)]
    assert said(additional_image_link=",".join(urls[:10])) == []
    assert said(additional_image_link=", ".join(urls[:10])) == []
    assert said(additional_image_link=",".join(urls)) == ["additional_image_link: must have at most 10 URLs"]
    for wrong in ("", "a.jpg", f"{urls[0]},", f"{urls[0]},,{urls[1]}", f"{urls[0]} {urls[1]}"):
        assert said(additional_image_link=wrong) == [f"additional_image_link: {URLS}"]


def test_what_is_in_stock_is_there_at_least_once() -> None:
    assert said(availability="in stock") == []
    assert said(availability="in stock", inventory=1) == []
    rule = ["inventory: must be at least 1 when availability is in stock"]
    assert said(availability="in stock", inventory=0) == rule
    for other in ("available for order", "preorder", "out of stock", "discontinued"):
        assert said(availability=other, inventory=0) == []
    assert said(inventory=-1) == ["inventory: must be at least 0"]
    assert said(inventory="1") == ["inventory: must be a whole number"]
    assert said(inventory=True) == ["inventory: must be a whole number"]


def test_a_page_has_1_to_100_products() -> None:
    assert broken(ProductsQuery, {"count": 1, "item_group_key": "g", "cursor": "c"}) == []
    assert broken(ProductsQuery, {"count": 100}) == []
    assert broken(ProductsQuery, {"count": 0}) == ["count: must be at least 1"]
    assert broken(ProductsQuery, {"count": 101}) == ["count: must be at most 100"]


# Product sets ------------------------------------------------------------------------------------------------------


def with_filter(**filtered: Any) -> dict[str, Any]:
    one = {"attribute": "price", "operator": "LESS_THAN", "value": "20 EUR", **filtered}
    return {"name": "Cheap", "type": "FILTERED", "filters": [one]}


def test_no_other_attribute_and_operator_is_accepted() -> None:
    attribute, operator = broken(ProductSetDraft, with_filter(attribute="brand", operator="IS"))
    assert attribute.startswith("filters[0].attribute: must be one of price, product_type, ")
    assert operator.startswith("filters[0].operator: must be one of GREATER_THAN, EQUAL_TO, ")


def test_a_set_has_what_its_type_needs() -> None:
    manual = {"name": "Front page", "type": "MANUAL", "product_keys": ["k"], "description": "By hand"}
    assert broken(ProductSetDraft, manual) == []
    assert broken(ProductSetDraft, {**manual, "filters": with_filter()["filters"]}) == []
    for kind, needed in (("MANUAL", "product_keys"), ("FILTERED", "filters")):
        (rule,) = broken_rules(ProductSetDraft, {"name": "x", "type": kind}, now=NOW)
        assert (str(rule), rule.code) == (f"{needed}: is required for the type {kind}", "MISSING_PARAMETER")
    assert broken(ProductSetDraft, {"name": "", "type": "OTHER", "product_keys": []}) == [
        "name: must have at least 1 character",
        "type: must be one of MANUAL, FILTERED",
        "product_keys: must have at least 1 item",
    ]


def test_the_currencies_of_prices_are_those_of_iso_4217_and_no_others() -> None:
    codes = {"".join(letters) for letters in itertools.product(string.ascii_uppercase, repeat=3)}
    assert {code for code in codes if not said(price=f"9.99 {code}")} == CURRENCIES & codes
    assert said(price="9.99 EU") == said(price="9.99 EURO") == [f"price: {A_PRICE}"]


@given(st.sets(st.text("abc", min_size=1, max_size=4), min_size=1), st.text("abcABC", max_size=5))
def test_an_expression_for_words_takes_each_of_them_and_nothing_else(words: set[str], text: str) -> None:
    assert (re.fullmatch(_any_of(words), text) is not None) == (text in words)
    assert (re.fullmatch(_any_of(words, _in_any_case), text) is not None) == (text.lower() in words)
    assert all(re.fullmatch(_any_of(words), word) for word in words)
