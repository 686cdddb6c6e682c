"""Feeds of JSON objects, line by line and in one array, and products that a program gives."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.bulk.inputs import json as json_window
from socialapi.bulk.products.cells import product_rows
from socialapi.bulk.products.rows import FIELDS
from socialapi.errors import InvalidInput
from socialapi.models.products import Product
from tests.bulk.products.model_catalog import (
    ModelCatalog,
    job_of,
    open_feed,
    product,
    products,
    read,
    read_until,
)

MB: Final = 1_000_000


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# One on each line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "field", "says"),
    [
        (b"{'id': 1}", "", "line 2, column 2: is not JSON"),
        (b'{"id": "b",, }', "", "line 2, column 12: is not JSON"),
        (b"[1]", "", "line 2: is not a JSON object"),
        (b"null", "", "line 2: is not a JSON object"),
        (b"", "", "line 2: is blank"),
        (b'{"id": "b", "title": "f\xfcr"}', "title", "line 2: is not UTF-8 text: save the file as UTF-8"),
        (b'{"id": "b", "title": "\\ud800"}', "title", "line 2: is not UTF-8 text"),
        (b'{"id": "b", "title": "a\\u0000b"}', "title", "line 2: holds a NUL byte"),
        (b"[" * 100_000, "", "line 2, column 1: is nested too deeply"),
        (
            b'{"id": "b", "title": "' + b"x" * 10 * MB + b'"}',
            "",
            "line 2, column 1048577: is longer than 1,048,576 bytes",
        ),
    ],
)
async def test_a_line_that_cannot_be_read_says_where_and_the_next_one_is_read(
    tmp_path: Path, bad: bytes, field: str, says: str
) -> None:
    a, c = (json.dumps(each).encode() for each in products("a", "c"))
    rows = await read(write(tmp_path / "feed.jsonl", b"\n".join((a, bad, c))))
    assert [row.problem for row in rows] == [None, (field, says), None]
    assert rows[2].shape == product("c")


# One array ---------------------------------------------------------------------------------------------------------


GOOD: Final = json.dumps(product("a"))
LONG: Final = "x" * 10 * MB


@pytest.mark.parametrize("size", [5, 131_072])
@pytest.mark.parametrize(
    ("content", "found", "says"),
    [
        (f"[{GOOD},\n {{'id': 1}}]", 1, "line 2, column 3: is not JSON"),
        (f'[{GOOD},\n {{"id": "b",\n   "title" "x"}}]', 1, "line 3, column 12: is not JSON"),
        (f"[{GOOD}\n {GOOD}]", 1, "line 2, column 2: ] is expected here"),
        (f"[{GOOD},\n {GOOD}", 2, f"line 2, column {len(GOOD) + 2}: ] is expected here"),
        (f"[{GOOD},\n", 1, "line 2, column 1: is not JSON"),
        (f'[{GOOD},\n{{"id": "b', 1, "line 2, column 8: is not JSON"),
        (f'[{GOOD},\n{{"id": tru', 1, "line 2, column 8: is not JSON"),
        (f"[{GOOD}]\n[{GOOD}]", 1, "line 2, column 1: nothing is expected after the end of the array"),
        ("[", 0, "line 1, column 2: is not JSON"),
        (f"[{GOOD}, {'[' * 200_000}", 1, "nested too deeply"),
    ],
)
async def test_an_array_that_breaks_says_where_after_what_was_before(
    tmp_path: Path, content: str, found: int, says: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_window, "READ_BYTES", size)
    file = write(tmp_path / "feed.json", content)
    rows, said = await read_until(file, InvalidInput)
    assert len(rows) == found
    assert says in said
    assert said.startswith(f"{file}: ")


async def test_a_product_that_is_far_too_long_is_said(tmp_path: Path) -> None:
    file = write(tmp_path / "feed.json", f'[{GOOD},\n{{"id": "b",\n"title": "{LONG}"}}, {GOOD}]')
    rows, said = await read_until(file, InvalidInput)
    assert len(rows) == 1
    assert said == f"{file}: line 3, column 10: an item is longer than 1,048,576 characters"


async def test_a_file_none_of_whose_first_lines_is_an_object_is_refused_as_a_whole(tmp_path: Path) -> None:
    rows, said = await read_until(write(tmp_path / "feed.jsonl", "{'id': 1}\n7\n"), InvalidInput)
    assert not rows
    assert "none of the first lines is a JSON object" in said


# What a program gives ----------------------------------------------------------------------------------------------


async def test_products_mappings_and_asynchronous_ones_are_read_alike() -> None:
    async def later() -> AsyncIterator[Any]:
        for each in (Product(**product("a")), product("b")):
            yield each

    for source in ([Product(**product("a")), product("b")], iter(products("a", "b")), later()):
        assert [row.shape for row in await read(source)] == products("a", "b")


async def test_nan_and_blank_texts_say_nothing() -> None:
    images = ["https://a.b/1", None, " ", float("nan")]
    said_nothing = {"gtin": float("nan"), "color": " \t", "size": "\n", "inventory": float("nan"), 7: "x"}
    (row,) = await read([{**product("a"), **said_nothing, "additional_image_link": images}])
    assert row.problem is None
    assert row.shape == product("a", additional_image_link="https://a.b/1")
    (row,) = await read([{**product("a"), "additional_image_link": [None]}])
    assert row.shape == product("a")


async def test_nan_in_a_file_says_nothing_and_infinity_is_a_fault(tmp_path: Path) -> None:
    good, bad = (json.dumps({**product("a"), "gtin": float(number)}) for number in ("nan", "-inf"))
    first, second = await read(write(tmp_path / "feed.jsonl", f"{good}\n{bad}\n"))
    assert (first.problem, first.shape) == (None, product("a"))
    assert second.problem == ("gtin", "line 2: is not a finite number")


@pytest.mark.parametrize("field", ["gtin", "inventory", "price"])
async def test_infinity_is_a_fault_of_its_row(field: str) -> None:
    (row,) = await read([product("a", **{field: float("inf")})])
    assert row.problem == (field, "is not a finite number")


async def test_two_names_for_one_field_are_a_fault_of_their_row() -> None:
    twice = {**product("a"), "Image-Link": "https://a.b/other"}
    first, second = await read([twice, {**product("b"), "g:price": None, "PRICE": " "}])
    assert first.problem == ("image_link", "occurs twice, as Image-Link and as image_link")
    assert second.problem is None
    (row,) = await read([{**product("a"), "ID": "b"}])
    assert row.problem == ("id", "occurs twice, as ID and as id")
    assert row.known_id is None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (Product(**product("a")), "a single Product is not an iterable of products: put it in a list"),
        (product("a"), "a single dict is not an iterable of products: put it in a list"),
        (b"id,title", "records of type bytes are not supported: give the path of a file, or wrap them in io.BytesIO"),
        (7, "int contains no products: give the path of a file, or an iterable of Product"),
    ],
)
def test_what_holds_no_products_is_said_at_once(source: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_feed(source)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"node": product("a")}, '{"id": "node.id"}'),
        ({"type": "product", "id": "a", "attributes": product("a", id=None)}, '{"title": "attributes.title"}'),
        ({"_id": "a", "_source": product("a")}, '{"id": "_source.id"}'),
        ({"artikel": "a", "preis_brutto": 1}, ""),
    ],
)
@pytest.mark.parametrize("form", ["[{}]", '{{"data": [{}]}}', "{}\n{0}\n"])
async def test_a_file_of_unknown_names_is_refused_with_the_names_and_a_path(
    tmp_path: Path, item: dict[str, Any], path: str, form: str
) -> None:
    file = write(tmp_path / "feed.json", form.replace("{}", "{0}").format(json.dumps(item)))
    with pytest.raises(InvalidInput) as refused:
        await read(file)
    assert f"(columns: {', '.join(item)})" in str(refused.value)
    advice = str(refused.value).removesuffix("; write objects that are rows as an array")
    assert advice.endswith(f"give its path, as in columns={path}") is bool(path)


@pytest.mark.parametrize(
    "other",
    [
        {"categories": [{"id": "c1", "name": "Mugs", "description": "d", "url": "https://a.b/c1", "image": "x.jpg"}]},
        {"shipping": [{"id": "s1", "title": "Parcel", "price": "4.90 EUR"}]},
        {"errors": [{"id": "1", "title": "Not found", "links": {"about": "https://a.b"}}]},
    ],
)
async def test_arrays_without_products_are_ignored_before_and_after_the_products(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    found = {"products": [product("a", price="1.00 EUR")]}
    for document in (found | other, other | found):
        (row,) = await read(write(tmp_path / "feed.json", json.dumps(document)))
        assert row.known_id == "a"


@pytest.mark.parametrize("variants", [1, 2])
async def test_the_variants_of_a_single_product_are_a_part_of_it(tmp_path: Path, variants: int) -> None:
    variant = {"id": "v", "price": "1.00 EUR", "image": "https://shop.example/v.jpg"}
    (row,) = await read(write(tmp_path / "feed.json", json.dumps(product("a") | {"variants": [variant] * variants})))
    assert row.known_id == "a"


async def test_a_product_around_an_array_of_products_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "feed.json", json.dumps(product("a") | {"related": products("b", "c")}))
    with pytest.raises(InvalidInput, match='both "related" and the object around it may be rows'):
        await read(file)


async def test_an_item_that_is_no_product_ends_the_input() -> None:
    def items() -> Iterator[Any]:
        yield from products("a", "b")
        yield 7

    rows, said = await read_until(items(), InvalidInput)
    assert len(rows) == 2
    assert said == "item 3 is an int: give Product objects, mappings of product fields, or rows with these names"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [20, 300, 900])
async def test_a_value_that_is_nested_as_deeply_as_parsers_allow_is_a_fault_of_its_row(
    tmp_path: Path, depth: int
) -> None:
    text = json.dumps(product("b")).replace('"Boots b"', "[" * depth + "]" * depth)
    file = write(tmp_path / "feed.jsonl", f"{json.dumps(product('a'))}\n{text}\n")
    service = ModelCatalog()
    report = await job_of(service, file).run()
    assert (report.accepted, report.rejected, [(each.row, each.field) for each in report.rejects]) == (
        1,
        1,
        [(2, "title")],
    )


async def test_a_value_of_a_program_may_be_nested_without_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    report = await job_of(ModelCatalog(), [product("a", title=endless), product("b", brand=nested(5_000))]).run()
    assert [(each.row, each.field) for each in report.rejects] == [(1, "title"), (2, "brand")]


async def test_an_array_of_a_hundred_thousand_values_is_not_looked_into() -> None:
    report = await job_of(ModelCatalog(), [product("a", mpn=[*[[]] * 100_000, "1"])]).run()
    assert [(each.row, each.field) for each in report.rejects] == [(1, "mpn")]


@pytest.mark.slow
async def test_objects_with_ever_other_names_are_read_with_their_own(tmp_path: Path) -> None:
    optional = ("mpn", "color", "size", "gender", "age_group", "pattern", "gtin", "product_type", "sale_price", "sku")
    rows = [
        product(f"p{number}", **{name: "x" for bit, name in enumerate(optional) if number >> bit & 1})
        for number in range(2_500)
    ]
    file = write(tmp_path / "feed.jsonl", "\n".join(map(json.dumps, rows)))
    async with open_feed(file) as reader:
        found = [row.shape async for block in reader for row in product_rows(block)]
    assert found == [{name: value for name, value in row.items() if name in FIELDS} for row in rows]


async def test_the_currency_of_a_row_is_found_whatever_those_beside_it_call_theirs() -> None:
    rows = await read([product("a", price="10.00", currency="EUR"), product("b", price="10.00", currency_code="USD")])
    assert [row.shape["price"] for row in rows] == ["10.00 EUR", "10.00 USD"]


async def test_an_object_with_more_names_than_columns_can_have_is_a_fault_of_its_row(tmp_path: Path) -> None:
    wide = {**product("b"), **{f"name {number}": 1 for number in range(10_001)}}
    file = write(tmp_path / "feed.jsonl", "\n".join(map(json.dumps, [product("a"), wide, product("c")])))
    for source in (file, [product("a"), wide, product("c")]):
        report = await job_of(ModelCatalog(), source).run()
        (issue,) = report.rejects
        assert (report.accepted, issue.row, issue.reason.rpartition(": ")[2]) == (2, 2, "has more than 10,000 names")
