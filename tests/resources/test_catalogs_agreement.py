"""Every endpoint of catalogs, asked by the SDK and by a client that shares nothing with it."""

from typing import Final

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.models.catalogs import ProductFilter
from socialapi.models.products import Product
from socialapi.routes import catalogs as routes
from socialapi.routes.route import Route
from tests.bulk.products.model_catalog import product
from tests.resources.agreeing import Both, assert_same

CATALOG: Final = "7pc01"
AT: Final = f"/product_catalogs/{CATALOG}"
WHOLE: Final = product(
    "für/1",
    title="Stiefel “für” immer 🥾",
    gtin="4006381333931",
    mpn="N-1",
    mobile_link="https://m.shop.example/a",
    additional_image_link="https://shop.example/1.jpg,https://shop.example/2.jpg",
    taxonomy_product_category="Shoes",
    product_type="Shoes > Boots",
    inventory=7,
    sale_price="9.00 EUR",
    sale_price_effective_date="2026-06-01T00:00:00+02:00/2026-06-08T00:00:00+02:00",
    item_group_id="G",
    gender="unisex",
    color="moss",
    size="42",
    age_group="adult",
    **{f"custom_label_{number}": str(number) for number in range(5)},
)
FILTER: Final = {"attribute": "price", "operator": "LESS_THAN", "value": "20 EUR"}

ROWS: Final = [
    Both(routes.CATALOGS, lambda c: c.catalogs.list(user_id="2244994945").first(), "/product_catalogs", {"user_id": "2244994945"}),
    Both(routes.CATALOG_RENAME, lambda c: c.catalogs.rename(CATALOG, "New"), AT, {"name": "New"}),
    Both(routes.CATALOG_DELETE, lambda c: c.catalogs.delete(CATALOG), AT),
    Both(routes.PRODUCTS, lambda c: c.catalog(CATALOG).products.list(count=7).first(), f"{AT}/products", {"count": "7"}),
    Both(
        routes.PRODUCTS_PUT,
        lambda c: c.catalog(CATALOG).products.put([Product(**WHOLE), product("NW-1001")]),
        f"{AT}/products",
        json={"products": [WHOLE, product("NW-1001")]},
        inside="products_response",
    ),
    Both(
        routes.PRODUCTS_DELETE,
        lambda c: c.catalog(CATALOG).products.delete(["pk000", "nothing", "pk003"]),
        f"{AT}/products",
        json={"product_keys": ["pk000", "nothing", "pk003"]},
        inside="delete_products",
    ),
    Both(
        routes.PRODUCT_SET,
        lambda c: c.catalog(CATALOG).product_sets.get("7ps02"),
        f"{AT}/product_sets/7ps02",
    ),
    Both(
        routes.PRODUCT_SET_CREATE,
        lambda c: c.catalog(CATALOG).product_sets.create(
            "Cheap", "FILTERED", description="x", filters=[ProductFilter("price", "LESS_THAN", "20 EUR")]
        ),
        f"{AT}/product_sets",
        json={"name": "Cheap", "type": "FILTERED", "description": "x", "filters": [FILTER]},
    ),
]  # fmt: skip


@pytest.mark.parametrize("both", ROWS, ids=lambda both: both.name)
async def test_the_sdk_and_an_independent_client_get_the_same(
    service: Emulator, http: aiohttp.ClientSession, both: Both
) -> None:
    await assert_same(service, http, both)


def test_every_endpoint_of_catalogs_is_compared_but_for_the_one_below() -> None:
    declared = {name for name, each in vars(routes).items() if isinstance(each, Route)}
    compared = {name for name, each in vars(routes).items() if any(each is row.route for row in ROWS)}
    assert declared - compared == {"CATALOG_CREATE"}
