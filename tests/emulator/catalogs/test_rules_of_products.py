"""Every rule about a product, at its edge and one past it (sections 4.7 and 8)."""

from typing import Any

import pytest

from tests.emulator.catalogs.asking_catalogs import Catalogs, broken_fields, product

AVAILABILITY = ("in stock", "available for order", "preorder", "out of stock", "discontinued")
CONDITION = ("new", "used", "refurbished")
GENDER = ("female", "male", "unisex")
AGE_GROUP = ("adult", "all ages", "teen", "kids", "toddler", "infant", "newborn")

REQUIRED = ("id", "title", "description", "availability", "condition", "price", "link", "image_link")

IMAGE = "https://shop.example/1.png"

TAKEN: list[dict[str, Any]] = [
    {"title": "x" * 150},
    {"description": "x" * 5_000},
    *({"availability": value} for value in AVAILABILITY),
    *({"condition": value} for value in CONDITION),
    *({"gender": value} for value in GENDER),
    *({"age_group": value} for value in AGE_GROUP),
    *({"price": value} for value in ("0 JPY", "1.5 USD", "0.001 KWD", "100000000000000000 EUR")),
    {"link": "https://a"},
    {"mobile_link": "https://m.shop.example/1?a=b#c"},
    *({name: "1", "brand": None} for name in ("gtin", "mpn")),
    {"additional_image_link": ",".join([IMAGE] * 10)},
    {"inventory": 1},
    {"inventory": 0, "availability": "out of stock"},
    {"sale_price": "19.89 EUR"},
    {"sale_price_effective_date": "2026-01-01T00:00:00+01:00/2026-01-01T00:00:01+01:00"},
    {"sale_price_effective_date": "2026-01-01T00:00:00Z/2026-02-01T00:00Z"},
    {"color": "moss"},
    {"taxonomy_product_category": "Home > Kitchen", "item_group_id": "G", "size": "L"},
    {f"custom_label_{number}": f"label {number}" for number in range(5)},
]

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"title": "x" * 151}, "title"),
    ({"title": " "}, "title"),
    ({"description": "x" * 5_001}, "description"),
    ({"description": ""}, "description"),
    *(({"availability": value}, "availability") for value in ("In stock", "in_stock", "", 1)),
    *(({"condition": value}, "condition") for value in ("New", "broken")),
    *(({"gender": value}, "gender") for value in ("Female", "other")),
    *(({"age_group": value}, "age_group") for value in ("adults", "baby")),
    *(
        ({"price": value}, "price")
        for value in ("19.90", "19.90EUR", "19,90 EUR", "19.90 eur", "19.90  EUR", "-1 EUR", "1. EUR", ".5 EUR", 19.9)
    ),
    *(({"price": value}, "price") for value in ("19.90 XYZ", "19.90 EU", "1e3 EUR", "EUR 1", "\u0661 EUR", "NaN EUR")),
    *(({"link": value}, "link") for value in ("http://shop.example/1", "shop.example", "https://", "https:///x")),
    *(({"image_link": value}, "image_link") for value in ("shop.example/1.jpg", "ftp://shop.example/1.jpg", "")),
    ({"mobile_link": "http://m.shop.example/1"}, "mobile_link"),
    ({"additional_image_link": ",".join([IMAGE] * 11)}, "additional_image_link"),
    ({"additional_image_link": f"{IMAGE},,{IMAGE}"}, "additional_image_link"),
    ({"additional_image_link": ""}, "additional_image_link"),
    ({"inventory": 0}, "inventory"),
    ({"inventory": -1, "availability": "out of stock"}, "inventory"),
    ({"inventory": "3"}, "inventory"),
    ({"inventory": 1.5}, "inventory"),
    ({"inventory": True}, "inventory"),
    ({"sale_price": "19.90 EUR"}, "sale_price"),
    ({"sale_price": "9.90 USD"}, "sale_price"),
    ({"sale_price": "cheap"}, "sale_price"),
    *(
        ({"sale_price_effective_date": value}, "sale_price_effective_date")
        for value in (
            "2026-01-01T00:00:00+01:00",
            "2026-01-01T00:00:00/2026-01-02T00:00:00",
            "2026-01-01T00:00:00Z/2026-01-01T00:00:00Z",
            "2026-01-02T00:00:00Z/2026-01-01T00:00:00Z",
            "2026-01-01/2026-01-02",
            "2026-01-01T00:00:00Z/2026-01-02T00:00:00Z/2026-01-03T00:00:00Z",
        )
    ),
    *(({"color": value}, "color") for value in ("#fff", "#A1B2C3", 5)),
    ({"custom_label_0": 5}, "custom_label_0"),
    ({"custom_label_5": "x"}, "custom_label_5"),
    ({"colour": "red"}, "colour"),
    ({"item_group_id": ""}, "item_group_id"),
]


async def test_every_value_that_keeps_the_rules_is_taken(own: Catalogs) -> None:
    for start in range(0, len(TAKEN), 25):
        batch = [product(number, **fields) for number, fields in enumerate(TAKEN[start : start + 25], start)]
        assert {result["status"]: result["errors"] for result in await own.put(*batch)} == {"CREATE_SUCCESS": []}
    assert len(own.stored()) == len(TAKEN)


async def test_one_past_every_rule_is_an_error_about_the_field(own: Catalogs) -> None:
    for start in range(0, len(REFUSED), 25):
        some = REFUSED[start : start + 25]
        results = await own.put(*(product(number, **fields) for number, (fields, _) in enumerate(some)))
        for result, (fields, field) in zip(results, some, strict=True):
            assert broken_fields(result) == [("INVALID_PARAMETER", field)], fields
    assert own.stored() == {}


@pytest.mark.parametrize("name", REQUIRED)
async def test_what_is_required_is_missed(own: Catalogs, name: str) -> None:
    without = {field: value for field, value in product().items() if field != name}
    assert broken_fields((await own.put(without))[0]) == [("MISSING_PARAMETER", name)]
    assert broken_fields((await own.put({**without, name: None}))[0]) == [("INVALID_PARAMETER", name)]


async def test_one_of_brand_gtin_and_mpn_is_required(own: Catalogs) -> None:
    (result,) = await own.put(product(brand=None))
    assert broken_fields(result) == [("MISSING_PARAMETER", "brand")]


async def test_every_broken_rule_of_a_product_is_listed(own: Catalogs) -> None:
    (result,) = await own.put({"id": "SKU-1", "title": "x" * 151, "colour": "red"})
    assert broken_fields(result) == [
        *(("MISSING_PARAMETER", name) for name in REQUIRED[2:]),
        ("INVALID_PARAMETER", "title"),
        ("INVALID_PARAMETER", "colour"),
    ]
