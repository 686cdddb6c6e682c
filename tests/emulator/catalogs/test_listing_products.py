"""Reading products by pages, groups of variants, and deletion (section 4.7)."""

import itertools

import pytest

from tests.emulator.advertising.asking_ads import broken, missing
from tests.emulator.catalogs.asking_catalogs import CATALOGS, Catalogs, product


async def fill(own: Catalogs, count: int) -> list[str]:
    keys = []
    for start in range(0, count, 25):
        keys += await own.keys(*map(product, range(start, min(start + 25, count))))
    return keys


async def test_a_page_has_100_products_in_the_order_of_submission(own: Catalogs) -> None:
    await fill(own, 101)
    await own.put(product(0, title="Changed"))
    pages = await own.pages()
    assert [len(page) for page in pages] == [100, 1]
    assert list(itertools.chain(*pages)) == [f"SKU-{number}" for number in range(101)]
    reply = await own.send("GET", own.products, count=2)
    assert [each["id"] for each in reply.data] == ["SKU-0", "SKU-1"]
    assert reply.data[0] == own.stored()["SKU-0"]
    assert set(reply.json) == {"request", "data", "next_cursor"}
    assert reply.json["request"]["params"] == {"product_catalog_id": own.id, "count": 2}


async def test_count_is_from_1_to_100(own: Catalogs) -> None:
    await fill(own, 3)
    assert [len(page) for page in await own.pages(count=1)] == [1, 1, 1]
    assert await own.pages(count=3) == [["SKU-0", "SKU-1", "SKU-2"]]
    assert (await own.send("GET", own.products, count=100)).status == 200
    for wrong in ("0", "101", "-1", "x", ""):
        reply = await own.send("GET", own.products, count=wrong)
        assert broken(reply) == [("INVALID_PARAMETER", "count")]
    for unknown in ("sort_by", "with_deleted", "with_total_count"):
        assert broken(await own.send("GET", own.products, **{unknown: "true"})) == [("INVALID_PARAMETER", unknown)]


async def test_a_cursor_is_good_for_one_collection(own: Catalogs, catalogs: Catalogs) -> None:
    await fill(own, 3)
    cursor = (await own.send("GET", own.products, count=1)).json["next_cursor"]
    assert len((await own.send("GET", own.products, count=2, cursor=cursor)).data) == 2
    for reply in (
        await catalogs.send("GET", catalogs.products, cursor=cursor),
        await own.send("GET", own.products, cursor=cursor, item_group_key="x"),
        await own.send("GET", own.products, cursor="x"),
    ):
        assert broken(reply) == [("INVALID_PARAMETER", "cursor")]


async def test_of_a_group_the_first_submitted_product_is_listed(own: Catalogs) -> None:
    await own.put(
        product(1, item_group_id="A", size="S"),
        product(2),
        product(3, item_group_id="A", size="M"),
        product(4, item_group_id="B", size="S"),
        product(5, item_group_id="A", size="L"),
    )
    assert await own.pages() == [["SKU-1", "SKU-2", "SKU-4"]]
    stored = own.stored()
    group_key = stored["SKU-1"]["item_group_key"]
    assert {stored[f"SKU-{number}"].get("item_group_key") for number in (3, 5)} == {group_key}
    assert stored["SKU-4"]["item_group_key"] != group_key
    assert "item_group_key" not in stored["SKU-2"]
    assert await own.pages(item_group_key=group_key) == [["SKU-1", "SKU-3", "SKU-5"]]
    assert await own.pages(item_group_key=group_key, count=2) == [["SKU-1", "SKU-3"], ["SKU-5"]]
    assert await own.pages(item_group_key="nosuch") == [[]]


async def test_deletion_is_for_good_and_said_key_by_key(own: Catalogs) -> None:
    keys = await fill(own, 3)
    results = await own.delete([keys[1], "nosuch", keys[1], keys[0]])
    assert results[0] == {"product_key": keys[1]}
    assert results[3] == {"product_key": keys[0]}
    assert [set(each) for each in results[1:3]] == [{"failed_product_key", "message"}] * 2
    assert [each["failed_product_key"] for each in results[1:3]] == ["nosuch", keys[1]]
    assert list(own.stored()) == ["SKU-2"]
    assert await own.pages() == [["SKU-2"]]
    (again,) = await own.put(product(1))
    assert again["status"] == "CREATE_SUCCESS"
    assert again["product_key"] not in keys
    assert await own.pages() == [["SKU-2", "SKU-1"]]
    assert own.ask.emulator.ledger()["products"][own.id]["count"] == 2


@pytest.mark.parametrize("body", [{}, {"product_keys": []}, {"product_keys": "x"}, {"product_keys": [5]}, [], b"{"])
async def test_deletion_needs_keys(own: Catalogs, body: object) -> None:
    assert (await own.json("DELETE", own.products, body)).status == 400
    reply = await own.json("DELETE", f"{CATALOGS}/nosuch/products", {"product_keys": ["x"]})
    assert missing(reply) == ["product_catalog_id"]
