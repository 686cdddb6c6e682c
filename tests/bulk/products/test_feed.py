"""Feeds as merchants have them: which column is which field, and what their cells say."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.products.feed import ProductColumns
from socialapi.bulk.products.rows import FIELDS
from socialapi.errors import InvalidInput
from tests.bulk.catalog_feeds import FORMATS, generated
from tests.bulk.products.model_catalog import (
    HEADER,
    ModelCatalog,
    csv_file,
    job_of,
    line,
    open_feed,
    product,
    products,
    read,
    read_until,
)

# Columns -----------------------------------------------------------------------------------------------------------


async def test_synonyms_of_names_are_found_in_tables_and_in_objects(tmp_path: Path) -> None:
    names = {"id": "sku", "title": "Name", "link": "URL", "image_link": "g:Image Link"}
    header = ",".join(names.get(field, field) for field in HEADER.split(","))
    objects = [{names.get(field, field): value for field, value in product("a").items()}]
    for source in (csv_file(tmp_path / "feed.csv", line("a"), header=header), objects):
        (row,) = await read(source)
        assert (row.shape, row.problem) == (product("a"), None)


async def test_a_column_that_is_given_is_read_and_its_field_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", f"{line('a')},Red boots", header=f"{HEADER},Bezeichnung")
    (row,) = await read(file, {"title": "bezeichnung"})
    assert row.shape == product("a", title="Red boots")
    (row,) = await read([{**product("a"), "Bezeichnung": "Red boots"}], {"title": "Bezeichnung"})
    assert row.shape == product("a", title="Red boots")


@pytest.mark.parametrize("columns", [{"gtin": "Code", "mpn": "Code"}, {"id": "Code", "mpn": "code"}])
async def test_a_column_that_is_given_for_two_fields_is_refused_and_not_read_as_one_of_them(
    columns: Any, tmp_path: Path
) -> None:
    file = csv_file(tmp_path / "feed.csv", f"{line('a')},4006381333931", header=f"{HEADER},Code")
    for source in (file, [{**product("a"), "Code": "4006381333931"}]):
        with pytest.raises(InvalidInput, match=f"Code is given for {' and for '.join(columns)}"):
            await read(source, columns)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"titel": "Name"}, '"titel" is not a field of a product; did you mean title?'),
        ({"title": ["Name", "Titel"]}, "title must come from one column, but 2 are given"),
    ],
)
def test_a_mapping_of_columns_that_makes_no_sense_is_refused_at_once(columns: Any, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_feed([], columns)
    assert str(caught.value).startswith(says)


async def test_a_given_column_that_is_not_there_is_said(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a"))
    for source in (file, [product("a")]):
        with pytest.raises(InvalidInput, match='there is no column "Name" for title; the columns are: "id", "title"'):
            await read(source, {"title": "Name"})


async def test_the_own_name_of_a_field_takes_precedence_in_each_row_by_itself() -> None:
    names = [
        {"title": "", "name": "A", "product_name": ""},
        {"title": "T", "name": "", "product_name": "P"},
        {"title": "T", "name": "A", "product_name": "P"},
        {"title": "", "name": "A", "product_name": "P"},
    ]
    titles = ["A", "T", "T", None]  # in the last row, either may be meant
    for start in range(len(names)):
        rows = await read([product(str(at)) | each for at, each in enumerate(names[start:])])
        assert [None if row.problem else row.shape["title"] for row in rows] == titles[start:]


async def test_two_synonyms_of_a_field_are_a_problem_of_the_rows_in_which_they_differ(tmp_path: Path) -> None:
    rows = [f"{line('a')},Boots a", f"{line('b')},Sandals", f"{line('c')},"]
    header = f"{HEADER.replace('title', 'name')},product_name"
    first, second, third = await read(csv_file(tmp_path / "feed.csv", *rows, header=header))
    assert [first.problem, third.problem, first.shape, third.shape] == [None, None, product("a"), product("c")]
    assert second.problem == ("title", "line 3, column 10: occurs twice, as name and as product_name")


async def test_several_columns_and_elements_of_images_are_one_list(tmp_path: Path) -> None:
    one, two = "https://a.example/1.jpg", "https://a.example/2.jpg"
    expected = product("a", additional_image_link=f"{one},{two}")
    header = f"{HEADER},additional_image_link,additional image link"
    file = csv_file(tmp_path / "feed.csv", f"{line('a')},{one},{two}", header=header)
    for source in (file, [{**product("a"), "additionalImageLinks": [one, two]}]):
        (row,) = await read(source)
        assert (row.shape, row.problem) == (expected, None)
    file = csv_file(tmp_path / "given.csv", f"{line('a')},{one},{two}", header=f"{HEADER},Bild 1,Bild 2")
    (row,) = await read(file, {"additional_image_link": ["Bild 1", "Bild 2"]})
    assert (row.shape, row.problem) == (expected, None)


# Values ------------------------------------------------------------------------------------------------------------


async def test_a_price_takes_its_currency_from_a_column_of_its_own(tmp_path: Path) -> None:
    for name, columns in (("currency", {}), ("Currency Code", {}), ("Währung", {"currency": "Währung"})):
        file = csv_file(tmp_path / "feed.csv", line("a", price="10.00") + ",EUR", header=f"{HEADER},{name}")
        for source in (file, [{**product("a", price="10.00"), name: "EUR"}]):
            (row,) = await read(source, columns=columns)
            assert (row.shape, row.problem) == (product("a"), None)
    ignored = {**product("a", price="10.00"), "Devise": "EUR", "currency": "USD"}
    (row,) = await read([ignored], columns={"currency": "Devise"})
    assert row.shape == product("a")


CELLS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=12)
    | st.sampled_from(("9,99 EUR", "1.234 USD", "in_stock", "https://a.example/1.jpg", "\udcff", "a\0")),
    lambda cells: st.lists(cells, max_size=3) | st.dictionaries(st.text(max_size=3), cells, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from((*FIELDS, "sku", "name", "g:price", "Image-Link", "currency", "imageLink", "ID", "x", 7, ""))


# Whether "sku" is the id depends on the other objects.
@given(st.lists(st.dictionaries(NAMES.filter(lambda name: name != "sku"), CELLS, max_size=6), min_size=1, max_size=5))
async def test_whatever_the_values_of_an_object_are_it_is_one_row_that_its_neighbours_do_not_change(
    objects: list[dict[Any, Any]],
) -> None:
    rows = await read(objects)
    assert [row.number for row in rows] == list(range(1, len(objects) + 1))
    for row, single in zip(rows, objects, strict=True):
        (alone,) = await read([single])
        assert (repr(row.shape), row.problem) == (repr(alone.shape), alone.problem)


@given(st.lists(st.dictionaries(NAMES, CELLS, max_size=6).map(lambda found: product("a") | found), max_size=4))
async def test_whatever_the_values_of_a_product_are_it_is_loaded_or_rejected(objects: list[dict[Any, Any]]) -> None:
    report = await job_of(ModelCatalog(), objects).run()
    assert report.read == len(objects) == report.accepted + report.rejected


# Files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
async def test_a_catalog_is_loaded_as_it_is_from_every_format(tmp_path: Path, name: str) -> None:
    expected = generated(60, seed=2)
    file = tmp_path / name
    file.write_bytes(FORMATS[name](expected))
    service = ModelCatalog()
    report = await job_of(service, file).run()
    assert (report.read, report.created, report.rejected, report.warnings) == (60, 60, 0, 0)
    assert service.products == {each["id"]: each for each in expected}


async def test_a_feed_in_xml_says_on_which_line_the_item_at_fault_begins(tmp_path: Path) -> None:
    file = tmp_path / "feed.xml"
    good, bad = (
        "".join(f"<g:{field}>{value}</g:{field}>\n" for field, value in each.items())
        for each in (product("a"), product("b", price="$10"))
    )
    file.write_text(
        f'<rss xmlns:g="http://base.google.com/ns/1.0"><channel>\n<item>{good}</item>\n<item>{bad}</item>\n'
        "</channel></rss>",
        "utf-8",
    )
    first, second = await read(file)
    assert (first.problem, first.shape) == (None, product("a"))
    assert second.problem is not None
    assert second.problem[0] == "price"
    assert second.problem[1].startswith("line 12: ")


async def test_a_pattern_and_a_list_of_paths_are_one_feed(tmp_path: Path) -> None:
    first = csv_file(tmp_path / "1.csv", line("a"), line("b", price="free"))
    second = csv_file(tmp_path / "2.csv", line("c"), line("d", price="free"))
    for source in (str(tmp_path / "*.csv"), [first, second]):
        assert [row.known_id for row in await read(source)] == ["a", "b", "c", "d"]
    rejects = tmp_path / "rejected"
    report = await job_of(ModelCatalog(), [first, second], rejects=rejects).run()
    assert (report.accepted, [(each.row, each.product_id) for each in report.rejects]) == (2, [(2, "b"), (4, "d")])
    places = [each.split(",")[:5] for each in rejects.read_text("utf-8").splitlines()]
    assert places[0] == ["row", "field", "reason", "file", "file_row"]
    assert str(second) in rejects.read_text("utf-8").splitlines()[2]


async def test_a_few_nul_bytes_are_faults_of_their_cells_and_many_make_a_file_no_text(tmp_path: Path) -> None:
    bad = line("b", title="a\0")
    rows = await read(csv_file(tmp_path / "few.csv", *[line("a")] * 10, bad))
    assert [row.problem for row in rows if row.problem] == [("title", "line 12, column 2: holds a NUL byte")]
    _, said = await read_until(csv_file(tmp_path / "many.csv", line("b", title="\0" * 40)), InvalidInput)
    assert "this looks like a binary file" in said


async def test_products_with_other_columns_in_every_file_are_read(tmp_path: Path) -> None:
    first = csv_file(tmp_path / "1.csv", line("a"))
    second = csv_file(tmp_path / "2.csv", f"7,{line('b')}", header=f"inventory,{HEADER}")
    assert [row.shape for row in await read([first, second])] == [product("a"), product("b", inventory=7)]
    lines = tmp_path / "3.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in products("c")), "utf-8")
    assert [row.known_id for row in await read([first, lines])] == ["a", "c"]


def test_of_a_wide_table_only_the_first_names_are_compared_with_those_that_are_missing() -> None:
    names = [f"column_{number}" for number in range(100_000)]
    with pytest.raises(InvalidInput, match=r"there is no column id, .*titel might be meant for title") as caught:
        ProductColumns.of(None).of_table(["titel", "x" * 1_000_000, *names], 1)
    assert len(str(caught.value)) < 2_000


async def test_names_that_may_be_data_or_cannot_be_shown_are_not_in_the_message(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", "1,2", header="ada@b.example,+14155550123,t\0tle\x1b[31m,name")
    with pytest.raises(InvalidInput) as caught:
        await read(file)
    assert "(columns: <hidden>, <hidden>, t?tle?[31m, name)" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("names", "is_told"),
    [
        *((("sale_price", "sale_price_start_date", "sale_price_end_date"), True), (("sale_price", "g:sale end"), True)),
        *((("sale_price", f"sale_price_effective_{end}"), True) for end in ("start_date", "end", "dates")),  # Snapchat
        *((("sale_price", name), True) for name in ("special_from_date", "special_price_to_date")),  # Magento
        *((("sale_price", name), True) for name in ("sale_price_dates_from", "date_on_sale_to_gmt")),  # WooCommerce
        *((("sale_price", name), True) for name in ("Sale Price Valid Until", "discount_start_date", "promo.from")),
        *((("sale_price", name), True) for name in ("offer_end", "Promotional price expiration", "sale_period")),
        *(
            (("sale_price", name), False)
            for name in ("sale_total", "discount", "special_offer", "offer_id", "promo_id")
        ),
        *((("sale_price", "Date sale price ends"), True), (("sale_price", "date_on_sale_from"), True)),
        *((("sale_price_end_date",), False), (("sale_price", "sales"), False)),
        (("sale_price", "sale_price_end_date", "sale_price_effective_date"), False),
    ],
)
def test_one_warning_says_that_separate_dates_of_a_sale_are_not_read(names: tuple[str, ...], is_told: bool) -> None:
    columns = ProductColumns()
    columns.of_table((*HEADER.split(","), *names))
    columns.of_keys(("id", *names))
    assert ["sale_price_effective_date" in each.reason for each in columns.remarks] == [True] * is_told
