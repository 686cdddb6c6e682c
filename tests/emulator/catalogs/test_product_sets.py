"""Product sets: chosen and filtered ones (section 4.8)."""

from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import broken, missing
from tests.emulator.catalogs.asking_catalogs import CATALOGS, PROCESSING_SECONDS, Catalogs, product

PRODUCTS = (
    product(1, price="10.00 EUR", inventory=5, product_type="Kitchen > Tea Kettles", custom_label_0="winter"),
    product(2, price="20 EUR", sale_price="15.00 EUR", inventory=10, product_type="Kitchen > Pots", custom_label_1="x"),
    product(3, price="10.00 USD", product_type="Kettles of tea", taxonomy_product_category="Home & Garden"),
    product(4, price="30.00 EUR", sale_price="25.50 EUR", inventory=20, product_type=None, custom_label_0="Winter"),
)


async def found(own: Catalogs, *filters: tuple[str, str, Any]) -> list[int]:
    """The numbers of the products that the filters find."""
    declared = [{"attribute": a, "operator": o, "value": v} for a, o, v in filters]
    made = await own.make_set(type="FILTERED", filters=declared)
    assert (made.status, made.data["processing_status"], made.data["product_ids"]) == (200, "PROCESSING", [])
    own.ask.emulator.advance(PROCESSING_SECONDS)
    read = (await own.send("GET", f"{own.sets}/{made.data['id']}")).data
    assert read["processing_status"] == "DONE", read
    return [int(each.removeprefix("SKU-")) for each in read["product_ids"]]


FILTERS: list[tuple[str, str, Any, list[int]]] = [
    ("price", "GREATER_THAN", "10 EUR", [2, 4]),
    ("price", "LESS_THAN", "20.00 EUR", [1]),
    ("price", "EQUAL_TO", "20.00 EUR", [2]),
    ("price", "EQUAL_TO", "10 USD", [3]),
    ("sale_price", "LESS_THAN", "25.50 EUR", [2]),
    ("sale_price", "GREATER_THAN", "15 EUR", [4]),
    ("sale_price", "EQUAL_TO", "25.5 EUR", [4]),
    ("inventory", "GREATER_THAN", 5, [2, 4]),
    ("inventory", "LESS_THAN", "10", [1]),
    ("inventory", "EQUAL_TO", 20, [4]),
    ("product_type", "EQUAL_TO", "Kitchen > Pots", [2]),
    ("product_type", "EQUAL_TO", "kitchen > pots", []),
    ("product_type", "MATCH", "tea kettles", [1, 3]),
    ("product_type", "MATCH", "kettle", []),
    ("product_type", "CONTAINS", "kettle", [1, 3]),
    ("product_type", "NOT_CONTAINS", "KETTLE", [2, 4]),
    ("taxonomy_product_category", "CONTAINS", "garden", [3]),
    ("custom_label_0", "EQUAL_TO", "winter", [1]),
    ("custom_label_0", "MATCH", "winter", [1, 4]),
    ("custom_label_1", "EQUAL_TO", "x", [2]),
    ("custom_label_2", "CONTAINS", "x", []),
    ("custom_label_3", "NOT_CONTAINS", "x", [1, 2, 3, 4]),
    ("custom_label_4", "MATCH", "x", []),
]


async def test_every_attribute_and_operator_finds_what_it_should(own: Catalogs) -> None:
    await own.put(*PRODUCTS)
    for attribute, operator, value, numbers in FILTERS:
        assert await found(own, (attribute, operator, value)) == numbers, (attribute, operator, value)


@pytest.mark.parametrize(
    ("attribute", "operator", "value"),
    [
        *(("price", operator, "10 EUR") for operator in ("MATCH", "CONTAINS", "NOT_CONTAINS")),
        *(("inventory", operator, 1) for operator in ("MATCH", "CONTAINS", "NOT_CONTAINS")),
        *(("product_type", operator, "x") for operator in ("GREATER_THAN", "LESS_THAN")),
        ("inventory", "EQUAL_TO", "many"),
    ],
)
async def test_a_filter_that_makes_no_sense_fails(own: Catalogs, attribute: str, operator: str, value: Any) -> None:
    await own.put(*PRODUCTS)
    good = {"attribute": "price", "operator": "EQUAL_TO", "value": "10.00 EUR"}
    filters = [good, {"attribute": attribute, "operator": operator, "value": value}]
    made = await own.make_set(type="FILTERED", filters=filters)
    assert made.data["processing_status"] == "PROCESSING"
    own.ask.emulator.advance(PROCESSING_SECONDS)
    read = (await own.send("GET", f"{own.sets}/{made.data['id']}")).data
    assert (read["processing_status"], read["product_ids"], read["filters"]) == ("FAILED", [], filters)


async def test_a_filtered_set_is_filled_once_when_it_is_due(own: Catalogs) -> None:
    await own.put(*PRODUCTS)
    declared = [{"attribute": "inventory", "operator": "GREATER_THAN", "value": 5}]
    made = (await own.make_set(type="FILTERED", filters=declared, description="Many")).data
    assert set(made) == {"id", "name", "description", "type", "product_ids", "filters", "processing_status"}
    path = f"{own.sets}/{made['id']}"
    own.ask.emulator.advance(PROCESSING_SECONDS - 1)
    (key,) = await own.keys(product(5, inventory=100))
    assert (await own.send("GET", path)).data == made
    own.ask.emulator.advance(1)
    # What is put from now on is not in it, although nobody has looked yet.
    await own.put(product(6, inventory=100), product(2))
    done = {**made, "processing_status": "DONE", "product_ids": ["SKU-2", "SKU-4", "SKU-5"]}
    assert (await own.send("GET", path)).data == done
    await own.delete([key])
    assert (await own.send("GET", path)).data["product_ids"] == ["SKU-2", "SKU-4"]


async def test_a_manual_set_has_the_products_that_are_chosen(own: Catalogs) -> None:
    keys = await own.keys(*map(product, range(4)))
    made = await own.make_set(type="MANUAL", product_keys=[keys[2], keys[0], keys[2]])
    assert made.data == {
        "id": made.data["id"],
        "name": "Kettles",
        "description": None,
        "type": "MANUAL",
        "product_ids": ["SKU-2", "SKU-0"],
    }
    path = f"{own.sets}/{made.data['id']}"
    assert (await own.send("GET", path)).data == made.data
    await own.delete([keys[2]])
    await own.put(product(2))
    assert (await own.send("GET", path)).data["product_ids"] == ["SKU-0"]


async def test_products_of_a_manual_set_have_to_be_there(own: Catalogs, catalogs: Catalogs) -> None:
    (key,) = await own.keys(product())
    (other, *_) = (each["product_key"] for each in catalogs.stored().values())
    reply = await own.make_set(type="MANUAL", product_keys=[key, "nosuch", other])
    assert broken(reply) == [("INVALID_PARAMETER", "product_keys[1]"), ("INVALID_PARAMETER", "product_keys[2]")]


async def test_a_set_belongs_to_one_catalog(own: Catalogs, catalogs: Catalogs) -> None:
    for seeded in catalogs.ask.emulator.seed["product_set_ids"]:
        assert missing(await own.send("GET", f"{own.sets}/{seeded}")) == ["product_set_id"]
    reply = await own.json("POST", f"{CATALOGS}/nosuch/product_sets", {"name": "x", "type": "MANUAL"})
    assert reply.status == 400
    manual = {"name": "x", "type": "MANUAL", "product_keys": ["x"]}
    reply = await own.json("POST", f"{CATALOGS}/nosuch/product_sets", manual)
    assert missing(reply) == ["product_catalog_id"]
