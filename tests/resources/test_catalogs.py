"""Products of a catalog, put and loaded, against the emulator."""

from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, InvalidInput
from socialapi.models.products import Product
from socialapi.resources.catalogs import Catalog
from tests.bulk.products.model_catalog import numbered, product

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
        "products[2] (b).id: occurs more than once in this request, so the service would ignore all of them"
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
