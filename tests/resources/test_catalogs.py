"""Products of a catalog, put and loaded, against the emulator."""

from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, BulkError, InvalidInput, NotFound
from socialapi.models.products import Product
from socialapi.resources.catalogs import Catalog
from tests.bulk.products.model_catalog import numbered, product, products

CATALOG: Final = "7pc01"


@pytest.fixture
def catalog(client: Client) -> Catalog:
    return client.catalog(CATALOG)


def plain(held: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    made = ("product_key", "item_group_key")
    return {key: {name: each[name] for name in each if name not in made} for key, each in held.items()}


# Products ----------------------------------------------------------------------------------------------------------


async def test_products_are_created_updated_or_as_they_were(catalog: Catalog, service: Emulator) -> None:
    one = Product(**product("a", product_type="Shoes"))
    for status in ("CREATE_SUCCESS", "NO_CHANGE"):
        (result,) = await catalog.products.put([one])
        assert (result.id, result.status, result.errors, result.warnings) == ("a", status, (), ())
    one.price = "11.00 EUR"
    (result,) = await catalog.products.put([one])
    assert result.status == "UPDATE_SUCCESS"
    assert result.product_key == service.products(CATALOG)["a"]["product_key"]
    assert service.products(CATALOG)["a"]["price"] == "11.00 EUR"


async def test_warnings_of_the_service_come_with_the_product(catalog: Catalog) -> None:
    (result,) = await catalog.products.put([product("a", title="BOOTS")])
    assert [each["field"] for each in result.warnings] == ["title", "product_type"]


async def test_every_broken_rule_names_product_field_and_rule_and_nothing_is_sent(
    catalog: Catalog, service: Emulator
) -> None:
    bad = [product("a", price="free"), product("b"), product("b"), {"title": "x"}, "c"]
    with pytest.raises(InvalidInput) as caught:
        await catalog.products.put(bad)  # type: ignore[arg-type]  # on purpose
    said = [str(rule) for rule in caught.value.broken_rules]
    assert said[0].startswith("products[0] (a).price: must be a number with a decimal point")
    assert "products[3].id: is required" in said
    assert "products[4]: must be an object" in said
    assert said[-1] == (
        "products[2] (b).id: stands in this request more than once, which makes the service ignore all of them"
    )
    assert not service.requests


@pytest.mark.parametrize("count", [0, 26])
async def test_none_and_26_are_refused_here_and_by_the_service(client: Client, service: Emulator, count: int) -> None:
    with pytest.raises(InvalidInput, match="products: must have at"):
        await client.catalog(CATALOG).products.put(numbered(count))
    assert not service.requests
    with pytest.raises(ApiError) as caught:
        await client.request(
            "PUT", f"/12/product_catalogs/{CATALOG}/products", json={"products": numbered(count)}, api="ads"
        )
    assert caught.value.status == 400


# Loads -------------------------------------------------------------------------------------------------------------


async def test_a_load_puts_every_product_and_reports_it(catalog: Catalog, service: Emulator) -> None:
    before = plain(service.products(CATALOG))
    rows: list[Any] = [*numbered(60), product("p3", title="New"), product("x", price="free"), Product(**product("y"))]
    report = await catalog.products.upsert(rows)
    assert (report.read, report.created, report.updated, report.rejected) == (63, 61, 1, 1)
    assert report.rejects[0].product_id == "x"
    expected = {each["id"]: each for each in [*numbered(60), product("p3", title="New"), product("y")]}
    assert plain(service.products(CATALOG)) == before | expected
    assert max(each.operations or 0 for each in service.requests) == 25


async def test_a_catalog_that_is_not_there_stops_the_load(client: Client) -> None:
    with pytest.raises(BulkError) as caught:
        await client.catalog("nowhere").products.upsert(products("a"))
    assert isinstance(caught.value.__cause__, NotFound)
    assert caught.value.report.pending == 1
