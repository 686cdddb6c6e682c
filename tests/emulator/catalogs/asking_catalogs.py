"""Requests about product catalogs, signed by oauthlib."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import attrs
import orjson
from oauthlib.oauth1 import Client

from tests.emulator.asking import Asker, Method, Reply

CATALOGS = "/ads/12/product_catalogs"
PROCESSING_SECONDS = 30


def product(number: int | str = 1, **fields: Any) -> dict[str, Any]:
    """A product that keeps every rule and is warned about in nothing; a field that is None is left out."""
    given = {
        "id": f"SKU-{number}",
        "title": f"Kettle {number}",
        "description": "Boils water.",
        "availability": "in stock",
        "condition": "new",
        "price": "19.90 EUR",
        "link": f"https://shop.example/{number}",
        "image_link": f"https://shop.example/{number}.jpg",
        "brand": "Kettles & Co",
        "product_type": "Kitchen > Kettles",
        **fields,
    }
    return {name: value for name, value in given.items() if value is not None}


@attrs.frozen
class Catalogs:
    """Asks as the first user about the catalog of the seed data, unless told otherwise."""

    ask: Asker
    signer: Client | None = None
    catalog: str = ""

    @property
    def id(self) -> str:
        return self.catalog or self.ask.emulator.seed["product_catalog_ids"][0]

    @property
    def products(self) -> str:
        return f"{CATALOGS}/{self.id}/products"

    @property
    def sets(self) -> str:
        return f"{CATALOGS}/{self.id}/product_sets"

    async def send(self, method: Method, path: str, **query: Any) -> Reply:
        text = urlencode(query, quote_via=quote)
        return await self.ask.signed(method, f"{path}?{text}" if text else path, signer=self.signer)

    async def json(self, method: Method, path: str, body: Any, *, kind: str = "application/json") -> Reply:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        return await self.ask.signed(method, path, data=data, headers={"Content-Type": kind}, signer=self.signer)

    async def put(self, *products: Any) -> list[dict[str, Any]]:
        """What became of the products."""
        reply = await self.json("PUT", self.products, {"products": list(products)})
        assert reply.status == 200, reply.text
        assert set(reply.data) == {"products_response"}
        results: list[dict[str, Any]] = reply.data["products_response"]
        for result in results:
            assert set(result) == {"id", "product_key", "status", "warnings", "errors"}
        return results

    async def keys(self, *products: Any) -> list[str]:
        """The keys of products that are taken."""
        results = await self.put(*products)
        assert all(not result["errors"] for result in results), results
        return [result["product_key"] for result in results]

    async def delete(self, keys: Sequence[str]) -> list[dict[str, str]]:
        reply = await self.json("DELETE", self.products, {"product_keys": keys})
        assert reply.status == 200, reply.text
        results: list[dict[str, str]] = reply.data["delete_products"]
        return results

    async def pages(self, **query: Any) -> list[list[str]]:
        """The ids on each page of products, until there is no next page."""
        found: list[list[str]] = []
        while True:
            reply = await self.send("GET", self.products, **query)
            assert reply.status == 200, reply.text
            found.append([each["id"] for each in reply.data])
            query["cursor"] = reply.json["next_cursor"]
            if query["cursor"] is None:
                return found

    async def make_set(self, **body: Any) -> Reply:
        return await self.json("POST", self.sets, {"name": "Kettles", **body})

    def stored(self) -> dict[str, dict[str, Any]]:
        return self.ask.emulator.products(self.id)


async def of_second_user(ask: Asker) -> Catalogs:
    """The second user, with a catalog of their own."""
    signer = await ask.as_user(ask.emulator.seed["user_ids"][1])
    made = await Catalogs(ask, signer).send("POST", CATALOGS, name="Books")
    assert made.status == 200, made.text
    return Catalogs(ask, signer, made.data["id"])


def broken_fields(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Code and field of each error about a product that was not taken."""
    assert (result["status"], result["warnings"]) == ("ERROR", []), result
    for error in result["errors"]:
        assert set(error) == {"code", "message", "field"}
        assert error["message"].startswith(error["field"])
    return [(error["code"], error["field"]) for error in result["errors"]]
