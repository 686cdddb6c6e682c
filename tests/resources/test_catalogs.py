"""Catalogs, products, loads and product sets, against the emulator."""

from pathlib import Path
from typing import Any, Final

import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.errors import ApiError, BulkError, InvalidInput, NotFound
from socialapi.models.catalogs import ProductFilter
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


# Catalogs ----------------------------------------------------------------------------------------------------------


async def test_a_user_has_one_catalog_which_is_made_renamed_and_deleted(client: Client) -> None:
    (only,) = await client.catalogs.list().collect()
    assert (only.id, only.name) == (CATALOG, "Northwind Outdoor shop")
    with pytest.raises(ApiError, match="has a catalog already"):
        await client.catalogs.create("Another")
    assert (await client.catalogs.rename(CATALOG, "Shop")).name == "Shop"
    assert (await client.catalogs.delete(CATALOG)).deleted is True
    assert await client.catalogs.list().collect() == []
    made = await client.catalogs.create("New", user_id=2244994945)
    assert await client.catalogs.list().collect() == [made]
    with pytest.raises(NotFound):
        await client.catalog(CATALOG).products.list().first()


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


@pytest.mark.parametrize("count", [1, 25])
async def test_a_request_has_up_to_25(catalog: Catalog, service: Emulator, count: int) -> None:
    results = await catalog.products.put(numbered(count))
    assert {each.status for each in results} == {"CREATE_SUCCESS"}
    assert len(results) == count


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


async def test_of_a_group_the_first_one_is_listed_and_by_its_key_all_of_them(catalog: Catalog) -> None:
    listed = await catalog.products.list(count=7).collect()
    assert len(listed) == 34
    boots = next(each for each in listed if each.title == "Cairn boots, 38")
    assert boots.item_group_key is not None
    variants = await catalog.products.list(item_group_key=boots.item_group_key).collect()
    assert [each.size for each in variants] == ["38", "39", "40", "41", "42", "43", "44", "45"]


async def test_products_are_deleted_by_key_and_what_fails_says_why(catalog: Catalog, service: Emulator) -> None:
    gone, failed = await catalog.products.delete(["pk000", "nothing"])
    assert (gone.product_key, gone.failed_product_key) == ("pk000", None)
    assert (failed.product_key, failed.failed_product_key) == (None, "nothing")
    assert failed.message
    assert "NW-1001" not in service.products(CATALOG)
    with pytest.raises(InvalidInput, match="product_keys: must have at least 1"):
        await catalog.products.delete([])


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


@pytest.mark.parametrize("fault", ["status", "reset_before", "reset_after", "truncate", "html", "product_missing"])
async def test_a_load_survives_every_fault(client: Client, catalog: Catalog, service: Emulator, fault: Any) -> None:
    service.faults.add(fault, times=2)
    report = await catalog.products.upsert(numbered(60), concurrency=2)
    assert (report.accepted, report.pending) == (60, 0)
    assert report.retries >= 2 or fault == "product_missing"
    assert len(service.products(CATALOG)) == 120


async def test_only_the_product_without_an_answer_is_sent_again(catalog: Catalog, service: Emulator) -> None:
    service.faults.add("product_missing")
    report = await catalog.products.upsert(numbered(25))
    assert [each.operations for each in service.requests] == [25, 1]
    assert (report.created, report.retries) == (25, 1)


async def test_what_the_service_refuses_is_rejected_with_its_words(catalog: Catalog, service: Emulator) -> None:
    service.faults.add("product_error")
    report = await catalog.products.upsert(products("a", "b"))
    assert (report.created, report.rejected) == (1, 1)
    assert report.rejects[0].product_id == "a"
    assert "a scripted fault" in report.rejects[0].reason


async def test_with_digests_only_what_has_changed_is_sent_and_what_has_vanished_is_deleted(
    catalog: Catalog, service: Emulator, tmp_path: Path
) -> None:
    memory = tmp_path / "digests"
    await catalog.products.upsert(numbered(60), digests=memory)
    rows = [*numbered(57), product("p57", title="New")]
    report = await catalog.products.upsert(rows, digests=memory, delete_vanished=True)
    assert (report.skipped, report.updated, report.vanished, report.deleted) == (57, 1, 2, 2)
    assert {"p58", "p59"}.isdisjoint(service.products(CATALOG))


async def test_a_catalog_that_is_not_there_stops_the_load(client: Client) -> None:
    with pytest.raises(BulkError) as caught:
        await client.catalog("nowhere").products.upsert(products("a"))
    assert isinstance(caught.value.__cause__, NotFound)
    assert caught.value.report.pending == 1


# Product sets ------------------------------------------------------------------------------------------------------


async def test_a_manual_set_has_the_products_with_the_keys(catalog: Catalog, service: Emulator) -> None:
    made = await catalog.product_sets.create("Front page", "MANUAL", product_keys=["pk000", "pk001"])
    assert made.product_ids == ("NW-1001", "NW-1002")
    assert made.processing_status is None
    assert await catalog.product_sets.get(made.id) == made


async def test_a_filtered_set_is_found_by_and_by(client: Client, catalog: Catalog) -> None:
    filters = [ProductFilter("product_type", "CONTAINS", "Tents"), ProductFilter("price", "GREATER_THAN", "100 EUR")]
    made = await catalog.product_sets.create("Tents", "FILTERED", filters=filters)
    assert (made.processing_status, made.product_ids) == ("PROCESSING", ())
    await client.request("POST", "/_emulator/clock", json={"advance": 30})
    done = await catalog.product_sets.get(made.id)
    assert (done.processing_status, len(done.product_ids)) == ("DONE", 4)
    assert done.filters[0] == {"attribute": "product_type", "operator": "CONTAINS", "value": "Tents"}


async def test_a_set_without_what_its_type_needs_is_refused_before_it_is_sent(
    catalog: Catalog, service: Emulator
) -> None:
    with pytest.raises(InvalidInput, match="filters: is required for the type FILTERED"):
        await catalog.product_sets.create("Tents", "FILTERED")
    with pytest.raises(InvalidInput, match="product_keys: is required for the type MANUAL"):
        await catalog.product_sets.create("Tents", "MANUAL")
    assert not service.requests
