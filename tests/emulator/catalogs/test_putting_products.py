"""Putting products: what becomes of each (section 4.7)."""

import hashlib
import json
import random
from typing import Any

import pytest

from tests.emulator.advertising.asking_ads import broken, missing
from tests.emulator.catalogs.asking_catalogs import CATALOGS, Catalogs, broken_fields, product


def statuses(results: list[dict[str, Any]]) -> list[str]:
    return [result["status"] for result in results]


async def test_an_update_replaces_the_whole_product(own: Catalogs) -> None:
    await own.put(product(color="red", inventory=3))
    assert statuses(await own.put(product(color="red"))) == ["UPDATE_SUCCESS"]
    stored = own.stored()["SKU-1"]
    assert "inventory" not in stored
    assert {name: value for name, value in stored.items() if name != "product_key"} == product(color="red")


async def test_the_order_of_fields_and_generated_keys_are_no_change(own: Catalogs) -> None:
    await own.put(product(item_group_id="G", size="1 litre"))
    read = (await own.send("GET", own.products)).data[0]
    assert {"product_key", "item_group_key"} <= set(read)
    assert statuses(await own.put(dict(reversed(read.items())))) == ["NO_CHANGE"]
    assert statuses(await own.put({**read, "product_key": "another"})) == ["NO_CHANGE"]
    assert own.stored()["SKU-1"] == read


async def test_a_bad_product_does_not_keep_the_others_out(own: Catalogs) -> None:
    await own.put(product(2))
    results = await own.put(product(1), product(2, price="free"), product(3, title=None), product(4))
    assert statuses(results) == ["CREATE_SUCCESS", "ERROR", "ERROR", "CREATE_SUCCESS"]
    assert broken_fields(results[1]) == [("INVALID_PARAMETER", "price")]
    assert broken_fields(results[2]) == [("MISSING_PARAMETER", "title")]
    stored = own.stored()
    assert (results[1]["product_key"], results[2]["product_key"]) == (stored["SKU-2"]["product_key"], None)
    assert stored["SKU-2"]["price"] == "19.90 EUR"
    assert list(stored) == ["SKU-2", "SKU-1", "SKU-4"]


@pytest.mark.parametrize("wrong", [5, None, True, "text", [], ["id"]])
async def test_what_is_no_product_has_no_id(own: Catalogs, wrong: object) -> None:
    results = await own.put(wrong, product(1), wrong)
    assert statuses(results) == ["ERROR", "CREATE_SUCCESS", "ERROR"]
    assert results[0] == {
        "id": None,
        "product_key": None,
        "status": "ERROR",
        "warnings": [],
        "errors": [{"code": "INVALID_PARAMETER", "message": "the product must be an object"}],
    }


async def test_25_products_and_no_more_fit_into_a_request(own: Catalogs) -> None:
    assert len(await own.put(*map(product, range(25)))) == 25
    reply = await own.json("PUT", own.products, {"products": list(map(product, range(26)))})
    assert broken(reply) == [("INVALID_PARAMETER", "products")]
    assert len(own.stored()) == 25
    assert broken(await own.json("PUT", own.products, {"products": []})) == [("INVALID_PARAMETER", "products")]
    assert broken(await own.json("PUT", own.products, {})) == [("MISSING_PARAMETER", "products")]
    assert broken(await own.json("PUT", own.products, {"products": {}})) == [("INVALID_PARAMETER", "products")]
    assert broken(await own.json("PUT", own.products, {"products": [{}], "x": 1})) == [("INVALID_PARAMETER", "x")]


async def test_the_body_is_json(own: Catalogs) -> None:
    assert (await own.json("PUT", own.products, b"{")).status == 400
    assert (await own.json("PUT", own.products, [])).status == 400
    assert (await own.json("PUT", own.products, b"{}", kind="text/plain")).status == 415
    assert missing(await own.json("PUT", f"{CATALOGS}/nosuch/products", {"products": [product()]})) == [
        "product_catalog_id"
    ]


async def test_warnings_come_beside_what_is_taken(own: Catalogs) -> None:
    strange = product(title="KETTLE 1", product_type=None, item_group_id="G")
    (result,) = await own.put(strange)
    assert result["status"] == "CREATE_SUCCESS"
    assert [(each["code"], each["field"]) for each in result["warnings"]] == [
        ("TITLE_IN_CAPITALS", "title"),
        ("RECOMMENDED_FIELD", "product_type"),
        ("RECOMMENDED_FIELD", "item_group_id"),
    ]
    (again,) = await own.put(strange)
    assert (again["status"], again["warnings"]) == ("NO_CHANGE", result["warnings"])
    harmless = product(title="123", product_type=None, taxonomy_product_category="638", item_group_id="G", size="L")
    assert (await own.put(harmless))[0]["warnings"] == []


async def test_the_log_has_the_number_of_products(own: Catalogs) -> None:
    await own.put(product(1), product(2), product(2))
    assert own.ask.emulator.requests[-1].operations == 3
    assert own.ask.emulator.requests[-1].users is None
    await own.json("PUT", own.products, [])
    assert own.ask.emulator.requests[-1].operations is None
    await own.send("GET", own.products)
    assert own.ask.emulator.requests[-1].operations is None


async def test_the_ledger_sums_up_what_clients_said(own: Catalogs) -> None:
    empty = own.ask.emulator.ledger()["products"][own.id]
    assert empty == {"count": 0, "checksum": "0" * 16}
    products = [product(number, title=f"Käse {number} 🧀", inventory=number + 1) for number in range(40)]
    random.Random(7).shuffle(products)
    await own.put(*products[:25])
    await own.put(*products[25:])
    total = 0
    for each in products:
        text = json.dumps(each, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        total ^= int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    reply = await own.ask.control("GET", "ledger")
    assert reply.json["products"][own.id] == {"count": 40, "checksum": f"{total:016x}"}


async def test_the_control_plane_lists_what_is_stored(own: Catalogs) -> None:
    await own.put(product(2, item_group_id="G", size="L"), product(1, item_group_id="G", size="M"))
    reply = await own.ask.control("GET", f"catalogs/{own.id}/products")
    assert reply.headers["Content-Type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in reply.text.splitlines()]
    assert {each["id"]: each for each in lines} == own.stored()
    assert [each["id"] for each in lines] == ["SKU-2", "SKU-1"]
    assert {"product_key", "item_group_key", *product(1, size="M", item_group_id="G")} == set(lines[1])


@pytest.mark.parametrize("text", ["<b>Warm</b> and dry", "Warm<br/>and dry", "<p class='x'>Warm"])
async def test_tags_in_a_description_are_warned_of(own: Catalogs, text: str) -> None:
    (result,) = await own.put(product("a", description=text))
    assert result["status"] == "CREATE_SUCCESS"
    assert ("TAGS_IN_DESCRIPTION", "description") in [(each["code"], each["field"]) for each in result["warnings"]]
    (plain,) = await own.put(product("b", description="2 < 3 > 1, and <3"))
    assert "TAGS_IN_DESCRIPTION" not in [each["code"] for each in plain["warnings"]]
