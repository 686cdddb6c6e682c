"""Scripted faults of products that are put."""

from tests.emulator.catalogs.asking_catalogs import Catalogs, product

PATH = "/ads/12/product_catalogs/*/products"


async def test_a_product_is_lost_and_nothing_is_said(own: Catalogs) -> None:
    own.ask.emulator.faults.add("product_missing", method="PUT", path=PATH, index=1)
    results = await own.put(product(1), product(2), product(3))
    assert [result["id"] for result in results] == ["SKU-1", "SKU-3"]
    assert list(own.stored()) == ["SKU-1", "SKU-3"]
    assert own.ask.emulator.requests[-1].fault == "product_missing"
    assert len(await own.put(product(1), product(2), product(3))) == 3


async def test_a_product_is_not_taken(own: Catalogs) -> None:
    await own.put(product(1))
    own.ask.emulator.faults.add("product_error")
    results = await own.put(product(1, title="Pot"), product(2))
    assert [result["status"] for result in results] == ["ERROR", "CREATE_SUCCESS"]
    assert results[0]["errors"] == [{"code": "INVALID_PARAMETER", "message": "a scripted fault"}]
    assert results[0]["product_key"] == own.stored()["SKU-1"]["product_key"]
    assert own.stored()["SKU-1"]["title"] == "Kettle 1"


async def test_there_may_be_fewer_products_than_the_fault_counts(own: Catalogs) -> None:
    for kind in ("product_missing", "product_error"):
        own.ask.emulator.faults.add(kind, index=5)
        assert len(await own.put(product(1))) == 1
        assert own.ask.emulator.requests[-1].fault == kind


async def test_faults_of_one_kind_of_request_pass_the_others_by(own: Catalogs) -> None:
    faults = own.ask.emulator.faults
    faults.add("count_mismatch")
    faults.add("operation_error")
    faults.add("product_missing")
    faults.add("stream_close")
    assert (await own.send("GET", own.products)).status == 200
    assert own.ask.emulator.requests[-1].fault is None
    assert await own.put(product(1)) == []
    assert len(await own.put(product(1))) == 1
    assert own.ask.emulator.requests[-1].fault is None
    faults.clear()
    faults.add("product_error")
    reply = await own.ask.upload([])
    assert (reply.status, own.ask.emulator.requests[-1].fault) == (200, None)
