"""What a load refuses by itself, and what it says: product, field and rule."""

from pathlib import Path
from typing import Any

import pytest

from socialapi.bulk.products.merchant_values import NO_CURRENCY
from tests.bulk.products.model_catalog import HEADER, ModelCatalog, csv_file, job_of, line, product, products


async def refusals(source: Any) -> list[tuple[int, str, str, str | None]]:
    service = ModelCatalog()
    report = await job_of(service, source).run()
    assert report.rejected == len(report.rejects)
    return [(each.row, each.field, each.reason, each.product_id) for each in report.rejects]


async def test_a_broken_rule_names_product_field_and_rule() -> None:
    said = await refusals([product("a"), product("b", price="10"), product("c", brand=None)])
    assert said == [
        (2, "price", NO_CURRENCY, "b"),
        (3, "brand", "or gtin or mpn is required", "c"),
    ]


async def test_several_broken_rules_are_all_said() -> None:
    ((row, fields, reason, product_id),) = await refusals([{"id": "a", "title": "x" * 151, "condition": "shiny"}])
    assert (row, product_id) == (1, "a")
    assert fields == "description, availability, price, link, image_link, condition, title"
    assert "title: must have at most 150 characters" in reason
    assert "condition: must be one of new, used, refurbished" in reason
    assert "price: is required" in reason


OBJECT = 'is an object: give the path of the value in it, as in columns={"title": "<column>.value"}'


@pytest.mark.parametrize(
    ("fields", "field", "says"),
    [
        ({"inventory": 2**70}, "inventory", "is larger than 64 bits"),
        ({"inventory": 10**5000}, "inventory", "is larger than 64 bits"),
        ({"title": 10**5000}, "title", "must be a string"),
        ({"additional_image_link": [10**5000]}, "additional_image_link", "must be a string"),
        ({"title": "\ud800"}, "title", "is not UTF-8 text"),
        ({"id": "\udcff"}, "id", "is not UTF-8 text"),
        ({"title": "a\0"}, "title", "holds a NUL byte"),
        ({"title": ["a", "b"]}, "title", "is a list: give one value"),
        ({"title": {"en": "a"}}, "title", OBJECT),
        ({"title": [{"en": "a"}]}, "title", OBJECT),
        ({"title": True}, "title", "must be a string"),
        ({"inventory": "٣"}, "inventory", "must be a whole number"),
        ({"additional_image_link": ["\udcff"]}, "additional_image_link", "is not UTF-8 text"),
    ],
)
async def test_values_that_no_request_can_carry_are_refused_one_by_one(
    tmp_path: Path, fields: dict[str, Any], field: str, says: str
) -> None:
    service = ModelCatalog()
    rows = [product("a"), {**product("b"), **fields}, product("c")]
    report = await job_of(service, rows, rejects=tmp_path / "rejects.csv", digests=tmp_path / "digests").run()
    assert [(each.row, each.field, each.reason) for each in report.rejects] == [(2, field, says)]
    assert set(service.products) == {"a", "c"}
    assert len((tmp_path / "rejects.csv").read_bytes().splitlines()) == 2


@pytest.mark.parametrize("product_id", ["b\x1b[31m", "b\u00a0c", "b\nc", "b\0"])
async def test_every_id_that_is_text_is_known(product_id: str) -> None:
    ((_, _, _, known),) = await refusals([product(product_id, title="")])
    assert known == product_id


@pytest.mark.parametrize("product_id", ["b\udcff", None, " ", True, ["b", "c"]])
async def test_an_id_that_is_none_is_not(product_id: object) -> None:
    ((_, _, _, known),) = await refusals([{**product("b"), "id": product_id, "title": ""}])
    assert known is None


@pytest.mark.parametrize("bad", [b"f\xfcr", b"f\0r"])
async def test_bytes_that_no_text_has_stay_in_the_rejects_file_and_are_refused_again(
    tmp_path: Path, bad: bytes
) -> None:
    file, rejects, again = (tmp_path / f"{name}.csv" for name in ("feed", "rejects", "again"))
    row = line("b").encode().replace(b"Boots", bad)
    csv_file(file, line("a"), row)
    service = ModelCatalog()
    assert (await job_of(service, file, rejects=rejects).run()).rejected == 1
    assert rejects.read_bytes().endswith(b"," + row + b"\r\n")
    report = await job_of(service, rejects, rejects=again).run()
    assert (report.accepted, report.rejected) == (0, 1)
    assert again.read_bytes().endswith(b"," + row + b"\r\n")
    assert set(service.products) == {"a"}
    rejects.write_bytes(rejects.read_bytes().replace(bad, "für".encode()))
    assert (await job_of(service, rejects).run()).accepted == 1
    assert service.products["b"]["title"] == "für b"


async def test_a_rejects_file_has_the_whole_row_and_can_be_corrected_and_given_again(tmp_path: Path) -> None:
    header = f"shelf,{HEADER},Item Group ID"
    rows = [f"7,{line('a')},g", f"8,{line('b', price='cheap')},g", f"9,{line('c')},g", f"5,{line('d')},g,more"]
    file, rejects = csv_file(tmp_path / "feed.csv", *rows, header=header), tmp_path / "rejects.csv"
    service = ModelCatalog()
    report = await job_of(service, file, rejects=rejects).run()
    assert (report.accepted, report.rejected) == (2, 2)
    assert rejects.read_text("utf-8").splitlines() == [
        f"row,field,reason,{header}",
        (
            '2,price,"must be a number with a decimal point, a space and an ISO 4217 currency code, for example 9.99 USD",'
            f"8,{line('b', price='cheap')},g"
        ),
        f'4,,"line 5, column 12: has 12 cells where there are 11 columns: quote cells that contain a delimiter",5,{line("d")},g,more',
    ]
    corrected = rejects.read_text("utf-8").replace("cheap", "9.99 EUR").replace(",g,more", ",g")
    rejects.write_text(corrected, "utf-8")
    again = tmp_path / "again.csv"
    report = await job_of(service, rejects, rejects=again).run()
    assert (report.accepted, report.rejected) == (2, 0)
    assert again.read_text("utf-8") == f"row,field,reason,{header}\n"
    assert service.products["b"] == product("b", price="9.99 EUR", item_group_id="g")
    assert sorted(service.products) == ["a", "b", "c", "d"]


async def test_products_without_columns_are_rejected_with_every_field(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.csv"
    rows = [product("a", inventory=0, availability="in stock"), product("b", title="f\udcfcr")]
    report = await job_of(ModelCatalog(), rows, rejects=rejects).run()
    assert report.rejected == 2
    text = rejects.read_text("utf-8", "surrogateescape")
    assert text.startswith("row,field,reason,id,title,description,availability,")
    assert "1,inventory,must be at least 1 when availability is in stock,a,Boots a," in text
    corrected = tmp_path / "corrected.csv"
    corrected.write_text(text.replace(",in stock,", ",preorder,").replace("f\udcfcr", "für"), "utf-8")
    service = ModelCatalog()
    assert (await job_of(service, corrected).run()).accepted == 2
    assert service.products["a"] == product("a", inventory=0, availability="preorder")
    assert service.products["b"] == product("b", title="für")


async def test_what_the_service_refuses_is_in_the_rejects_file_as_well(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a") + ",refuse me", header=f"{HEADER},custom_label_0")
    report = await job_of(ModelCatalog(), file, rejects=tmp_path / "rejects.csv").run()
    assert [(each.field, each.reason, each.product_id) for each in report.rejects] == [
        ("custom_label_0", "INVALID_PARAMETER: custom_label_0 is refused", "a")
    ]
    assert (tmp_path / "rejects.csv").read_text("utf-8").splitlines()[1] == (
        f"1,custom_label_0,INVALID_PARAMETER: custom_label_0 is refused,{line('a')},refuse me"
    )


async def test_a_thousand_rejects_are_named_and_all_are_counted() -> None:
    report = await job_of(ModelCatalog(), products(*map(str, range(1_200)), price="free")).run()
    assert (report.rejected, len(report.rejects)) == (1_200, 1_000)
