"""Loads the products of a shop's own API into a catalog.

Use it if your shop has an API but no feed. Pages are fetched while earlier products are loaded, so even a
large shop needs little memory and time.

SHOP_URL is the address at which the shop answers `GET /products?page=1` with `{"products": […], "next_page": 2}`.
Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    SHOP_URL=https://shop.example/api python examples/catalog_from_shop_json.py 7pc01

What to change:

- `product`: the mapping of your shop's fields to product fields
- `products`: your API's paging, and the headers that it needs
- `digests`: a path on a persistent disk; without the file, every product is sent again
- remove `delete_vanished` to keep products that the shop no longer sells
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from socialapi import Client, errors


def product(item: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a product of the shop to the catalog's fields. The load checks the values."""
    return {
        "id": item["sku"],
        "title": item["name"],
        "description": item["text"],
        "availability": "in stock" if item["in_stock"] > 0 else "out of stock",
        "inventory": item["in_stock"],
        "condition": "new",
        "price": f"{item['price_cents'] / 100:.2f} {item['currency']}",
        "link": item["url"],
        "image_link": item["images"][0] if item["images"] else None,
        "additional_image_link": item["images"][1:],
        "brand": item["maker"],
    }


async def products(shop: aiohttp.ClientSession, url: str) -> AsyncIterator[dict[str, Any]]:
    """Yields every product of the shop. Raises aiohttp.ClientError if a page cannot be fetched."""
    page: int | None = 1
    while page is not None:
        async with shop.get(f"{url}/products", params={"page": page}) as response:
            answer = await response.json()
        for item in answer["products"]:
            yield product(item)
        page = answer["next_page"]


async def main(catalog_id: str) -> int:
    """Loads the shop's products. Once all have arrived, products that are no longer sold are deleted.

    Returns the exit status, as `scheduler_task.py` does.
    """
    async with aiohttp.ClientSession(raise_for_status=True) as shop, Client.from_env() as client:
        try:
            report = await client.catalog(catalog_id).products.upsert(
                products(shop, os.environ["SHOP_URL"]), digests="shop.digests", delete_vanished=True
            )
        except errors.BulkError as stopped:
            print(stopped)
            if isinstance(stopped.__cause__, aiohttp.ClientError):
                print(f"the shop: {stopped.__cause__}")
                return 3
            return 2 if stopped.is_lasting else 3
    print(f"{report.created} created, {report.updated} updated, {report.skipped} as before, {report.deleted} deleted")
    for reject in report.rejects:
        print(f"{reject.product_id} was rejected: {reject.field}: {reject.reason}")
    return 1 if report.rejected else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
