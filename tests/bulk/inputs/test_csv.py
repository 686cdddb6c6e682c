"""Reading CSV as exports write it."""

import csv
import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from socialapi.bulk.audiences.cells import UserRow, user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import MAX_BLANK_ROWS, ROWS_PER_BLOCK
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS
from tests.bulk.input_files import Repeated, open_users, read, read_until_error, values, why_empty, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crm.csv"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("extension", [".csv", ".tsv", ".txt", ""])
async def test_delimiters_line_ends_and_byte_order_marks(
    tmp_path: Path, delimiter: str, end: str, mark: bytes, extension: str
) -> None:
    lines = [delimiter.join(cells) for cells in (["email", "name, x; y|z", "phone"], ["a@b.example", "n", "1"])]
    lines[0] = lines[0].replace("name, x; y|z", '"name, x; y|z"')
    path = tmp_path / f"crm{extension}"
    write(path, mark + end.join([*lines, ""]).encode())
    assert values(await read(str(path))) == [["a@b.example", "1"]]


async def test_short_and_long_rows_keep_what_they_have(path: Path) -> None:
    write(path, "name,email,phone\nx,a@b.example\nx,c@d.example,1,2,3\nx\n")
    rows = await read(path)
    assert values(rows) == [["a@b.example"], ["c@d.example", "1"], []]
    assert rows[2].problem is None


async def test_blank_rows_count_and_say_so(path: Path) -> None:
    write(path, "\n \nemail,name\n\na@b.example,x\n  \n\u00a0,\t\n,\n,x\n")
    rows = await read(path)
    assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.problem for row in rows] == [("", "is blank"), None, *[("", "is blank")] * 3, None]


@pytest.mark.parametrize("blank", ["\n", "\n\n\n", " \n\t\n", "\r\n", "\n" * (MAX_BLANK_ROWS + 1), ",\r\n" * 70_000])
@pytest.mark.parametrize(
    ("names", "row", "why"),
    [
        ("email,name\n", "a@b.example\n", "the file has no rows, only column names"),
        ("email\n", '"a@b.example"\n', "the file has no rows, only column names"),
        ("", '{"email": "a@b.example"}\n', "the file is empty"),
    ],
    ids=["csv", "one column", "jsonl"],
)
async def test_blank_rows_count_only_beside_others_and_no_more_than_a_block_of_them_in_a_row(
    tmp_path: Path, names: str, row: str, why: str, blank: str
) -> None:
    path = tmp_path / ("crm.csv" if names else "crm.jsonl")
    blank = blank if "," in names else blank.replace(",", "")
    write(path, names + blank)
    assert await why_empty(path) == f"{path}: {why}"
    lines, selection = blank.count("\n"), IdentifierColumns.of(None, IDENTIFIER_KINDS)
    write(path, f"{names}{blank}{row}\n{row}{blank}")
    async with open_records(path, selection) as reader:
        blocks = [block async for block in reader]
    kept, header = min(lines, MAX_BLANK_ROWS), bool(names)
    rows = [row for block in blocks for row in user_rows(block)]
    good = [header + lines + 1, header + lines + 3]
    assert [row.number for row in rows] == list(range(1, 2 * kept + 4))
    assert [row.number for row in rows if row.problem is None] == [kept + 1, kept + 3]
    assert [line for block in blocks for at, line in enumerate(block.lines or ()) if at not in block.unreadable] == good
    skipped = [issue.reason for issue in selection.remarks]
    assert [each.split(":")[0] for each in skipped] == [f"{2 * (lines - kept):,} blank lines were skipped"] * (
        lines > kept
    )


async def test_blank_lines_in_a_quoted_cell_are_its_content(path: Path) -> None:
    lines = "\n" * 2 * MAX_BLANK_ROWS
    write(path, f'email,name\n{lines}"a@b.example","Ann{lines}Lee"\n"c@d.example{lines}",Bob\n')
    rows = await read(path)
    assert values(rows)[MAX_BLANK_ROWS:] == [["a@b.example"], [f"c@d.example{lines}"]]


async def test_rows_come_in_chunks_and_the_share_that_is_read_grows(path: Path) -> None:
    count = 3 * ROWS_PER_BLOCK + 1
    write(path, "email\n" + "".join(f"somebody.with.a.name.of.some.length.{i}@b.example\n" for i in range(count)))
    async with open_users(path) as reader:
        assert reader.fraction_read is None
        sizes: list[int] = []
        fractions: list[Any] = []
        async for chunk in reader:
            sizes.append(len(chunk))
            fractions.append(reader.fraction_read)
        assert reader.fraction_read == 1.0
        assert await reader.read_block() is None
    assert sizes == [ROWS_PER_BLOCK] * 3 + [1]
    assert 0 < fractions[0] < 1
    assert fractions == sorted(fractions)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('"email,phone\na@b.example,1\n', "column 1: a quotation mark is not closed before the end of the file"),
        ("email," + "x" * 3_000_000, "column 2: a cell has more than 131,072 characters"),
        ('"' + "x\n" * 200_000, "column 1: a cell has more than 131,072 characters"),
    ],
)
async def test_column_names_that_cannot_be_read(path: Path, content: str, says: str) -> None:
    write(path, content)
    with pytest.raises(InvalidInput, match=f"line 1, {says}"):
        await read(path)


CELLS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)


@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), delimiter=st.sampled_from(",;\t|"))
async def test_whatever_a_csv_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    # In a file with tabs, a quotation mark may be an ordinary character, and such a cell looks like several rows.
    assume(delimiter != "\t" or not any("\t" in cell and cell.splitlines() != [cell] for row in rows for cell in row))
    path = tmp_path_factory.mktemp("csv") / "crm.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("email", "phone"), *rows])
    found = await read(path)
    expected = [[cell for cell in row if cell and not cell.isspace()] for row in rows]
    assert values(found) == (expected if any(expected) else [])
    assert [row.number for row in found] == list(range(1, len(found) + 1))


@pytest.mark.parametrize("first", ["sep=;", "SEP=;\r", '"sep=;"', "\nsep=;\n"])
async def test_the_line_that_spreadsheets_put_first_decides_the_delimiter(path: Path, first: str) -> None:
    write(path, f"{first}\nname,a,b,c;email\nx;a@b.example\n")
    assert values(await read(path)) == [["a@b.example"]]


async def test_a_row_over_more_lines_than_a_row_may_have_stops_after_the_rows_before_it() -> None:
    rows, error = await read_until_error(
        Repeated(b"email,note\na@b.example,\nc@d.example,", b'"\n",', 50_000_000), InvalidInput
    )
    assert values(rows) == [["a@b.example"]]
    assert str(error) == (
        "the Repeated: line 3: the row has more than 2,097,152 characters; probably a quotation mark is not closed"
    )


@pytest.mark.parametrize("columns", [16_384, 16_385])
async def test_a_table_has_at_most_as_many_columns_as_a_spreadsheet(path: Path, columns: int) -> None:
    write(path, "email" + "," * (columns - 1) + "\n" + "a@b.example\n" * 100)
    if columns == 16_384:
        async with open_users(path) as reader:
            assert [len(block) async for block in reader] == [15] * 6 + [10]
    else:
        with pytest.raises(InvalidInput, match="line 1: there are 16,385 columns, but at most 16,384 are supported"):
            await read(path)


async def test_column_names_of_ten_megabytes_are_said_to_be_too_long() -> None:
    with pytest.raises(InvalidInput, match=r"line 1: the line has more than 1,048,576 characters$"):
        await read(Repeated(b"email,", b"some name,", 10_000_000, b"\na@b.example\n"))


async def test_a_line_of_short_cells_that_is_too_long_is_a_fault_of_its_row() -> None:
    row = b"c@d.example," + b"some text," * 300_000 + b"\n"
    problems = [row.problem for row in await read(io.BytesIO(b"email,note\na@b.example,\n" + row + b"e@f.example,\n"))]
    assert problems == [None, ("", "the line has more than 1,048,576 characters"), None]


async def test_rows_with_wrong_quotes_share_a_block_with_those_around_them() -> None:
    lines = [b'"a"b@c.example,1' if number % 3 else b'"a@b.example","\n"' for number in range(3_000)]
    async with open_users(io.BytesIO(b"email,note\n" + b"\n".join(lines) + b"\n")) as reader:
        blocks = [block async for block in reader]
    assert [len(block) for block in blocks] == [ROWS_PER_BLOCK, ROWS_PER_BLOCK, 500]
    found = [line for block in blocks for line in block.lines or ()]
    assert found == list(itertools.accumulate((1 + (number % 3 == 0) for number in range(2_999)), initial=2))
    unclear = [block.first_number + index for block in blocks for index in block.ambiguous]
    assert unclear == [number + 1 for number in range(3_000) if number % 3]


class Trickle:
    """A pipe that gives a byte at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int) -> bytes:
        return self._content.read(1)


@given(st.text(st.sampled_from('a",;\r\n é'), max_size=40))
async def test_the_text_is_the_same_however_it_arrives(text: str) -> None:
    content = f"email,note\na,\n{text}".encode()

    async def outcome(file: Any) -> tuple[Any, ...]:
        rows: list[UserRow] = []
        try:
            async with open_users(file) as reader:
                async for block in reader:
                    rows += user_rows(block)
        except InvalidInput as error:
            return values(rows), [row.problem for row in rows], error.message.partition(": ")[2]
        return values(rows), [row.problem for row in rows], None

    assert await outcome(Trickle(content)) == await outcome(io.BytesIO(content))
