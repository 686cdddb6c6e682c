"""Feeds that are tables: what is read of them, and one clear sentence about what cannot be."""

from pathlib import Path
from typing import Final

import pytest

from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import InvalidInput
from tests.bulk.products.model_catalog import HEADER, csv_file, line, product, read, read_until

MB: Final = 1_000_000
NOT_UTF8: Final = "is not UTF-8 text: save the file as UTF-8"


async def test_a_row_is_a_product_and_an_empty_cell_says_nothing(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", f"{line('a')},7, ", f"{line('b')},,L", header=f"{HEADER},inventory,gtin")
    first, second = await read(file)
    assert first.shape == product("a", inventory=7)
    assert second.shape == product("b", gtin="L")
    assert (first.number, second.number) == (1, 2)
    assert first.values == [*line("a").split(","), "7", ""]
    assert first.problem is None


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (
            "sku,name,price",
            (
                "line 1: there is no column description, availability, condition, link, image_link "
                "(columns: sku, name, price); specify the column with "
                'columns={"description": "<column>"}; if it is the same for all products, '
                'give constants={"availability": "in stock"}'
            ),
        ),
        (
            HEADER.replace("availability", "avaliability"),
            (
                "line 1: there is no column availability; avaliability might be meant for availability "
                f"(columns: {HEADER.replace('availability', 'avaliability').replace(',', ', ')}); specify the column "
                'with columns={"availability": "<column>"}; if it is the same for all products, '
                'give constants={"availability": "in stock"}'
            ),
        ),
        (
            HEADER.removesuffix(",brand"),
            (
                "line 1: there is no column brand or gtin or mpn "
                f"(columns: {HEADER.removesuffix(',brand').replace(',', ', ')})"
            ),
        ),
        (f"{HEADER},Price", "line 1: the columns 6 and 10 are both called price"),
        (f'{HEADER},"never closed', "line 1: the quotation mark"),
    ],
)
async def test_wrong_headers_are_one_sentence_with_the_line(tmp_path: Path, header: str, says: str) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a"), header=header)
    rows, said = await read_until(file, InvalidInput)
    assert not rows
    if "quotation" in says:
        says = "line 1, column 10: a quotation mark is not closed before the end of the file"
    assert said == f"{file}: {says}"


@pytest.mark.parametrize(
    ("bad", "field", "says"),
    [
        (line("b").encode().replace(b"Boots", b"Stiefel f\xfcr"), "title", f"line 3, column 2: {NOT_UTF8}"),
        (line("b").replace("10.00", "10\0"), "price", "line 3, column 6: holds a NUL byte"),
        (
            line("b") + ",more",
            "",
            "line 3, column 10: has 10 cells where there are 9 columns: quote cells that contain a delimiter",
        ),
        ("", "", "line 3: is blank"),
        (" , ,", "", "line 3: is blank"),
        (line("b", title="x" * 200_000), "", "line 3, column 2: a cell has more than 131,072 characters"),
        (line("b", description="x" * 10 * MB), "", "line 3, column 3: a cell has more than 131,072 characters"),
        (line("b", title=f'"{"x" * 10 * MB}"'), "", "line 3, column 2: a cell has more than 131,072 characters"),
    ],
)
async def test_a_row_that_cannot_be_read_says_where_and_the_next_one_is_read(
    tmp_path: Path, bad: str | bytes, field: str, says: str
) -> None:
    rows = await read(csv_file(tmp_path / "feed.csv", line("a"), bad, line("c")))
    assert [row.problem for row in rows] == [None, (field, says), None]
    assert rows[2].shape == product("c")
    assert [row.number for row in rows] == [1, 2, 3]


async def test_of_a_row_with_too_many_cells_the_id_is_known_where_it_comes_first(tmp_path: Path) -> None:
    (row,) = await read(csv_file(tmp_path / "feed.csv", line("a", title="Boots, red")))
    assert row.known_id == "a"
    again = f"row,field,reason,{HEADER}"
    (row,) = await read(csv_file(tmp_path / "again.csv", f"1,,no,{line('a', title='Boots, red')}", header=again))
    assert row.known_id == "a"
    (row,) = await read(csv_file(tmp_path / "late.csv", f"Boots, red,{line('a')}", header=f"notes,{HEADER}"))
    assert row.known_id is None


async def test_two_titles_that_begin_with_a_quotation_mark_do_not_become_one_product(tmp_path: Path) -> None:
    quoted = (line(each, title='"Boots') for each in "bc")
    rows, said = await read_until(csv_file(tmp_path / "feed.csv", line("a"), *quoted, line("d")), InvalidInput)
    assert [row.shape["id"] for row in rows] == ["a"]
    assert said == (
        f"{tmp_path / 'feed.csv'}: line 3, column 2: text follows the closing quotation mark of a cell: "
        "double each quotation mark within a cell"
    )


@pytest.mark.parametrize(
    ("bad", "column"),
    [(line("b", title='"Boots" of b'), 2), (line("b", title='"12"" of, b"', description='"x"y'), 3)],
)
async def test_text_after_a_quoted_cell_rejects_its_product_and_the_next_one_is_read(
    tmp_path: Path, bad: str, column: int
) -> None:
    first, second, third = await read(csv_file(tmp_path / "feed.csv", line("a"), bad, line("c")))
    assert second.problem is not None
    assert second.problem[1].startswith(f"line 3, column {column}: text follows the closing quotation mark of a cell")
    assert [row.problem for row in (first, third)] == [None, None]
    assert (second.number, second.known_id, third.shape) == (2, "b", product("c"))


async def test_names_that_break_quoting_are_said(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a"), header=f'\n"id"x,{HEADER}')
    _, said = await read_until(file, InvalidInput)
    assert "line 2, column 1: text follows the closing quotation mark" in said


async def test_a_column_that_no_product_has_may_hold_anything(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "feed.csv", line("a").encode() + b",\xff\0", header=f"{HEADER},notes")
    (row,) = await read(file)
    assert row.problem is None
    assert row.shape == product("a")


async def test_the_columns_of_a_rejects_file_do_not_count_as_ignored(tmp_path: Path) -> None:
    text = f"row,field,reason,file,file_row,{HEADER},shelf\n7,price,wrong,a.csv,2,{line('a')},9\n"
    (tmp_path / "again.csv").write_text(text, "utf-8")
    selection = ProductColumns.of(None)
    async with open_records(tmp_path / "again.csv", selection) as reader:
        assert [len(block) async for block in reader] == [1]
    assert selection.ignored_columns() == ("shelf",)
