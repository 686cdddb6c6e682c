"""Tables, lists and documents in the structures that people have, as others reported them."""

import base64
import datetime
import hashlib
import io
import json
import random
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from socialapi.bulk.audiences.cells import user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.prepare import Preparer
from socialapi.bulk.inputs.formats import open_records
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK, TableForm
from socialapi.bulk.products.cells import product_rows
from socialapi.bulk.products.feed import ProductColumns
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS
from socialapi.reports import RowIssue
from tests.bulk.blocks import prepared_of
from tests.bulk.products.model_catalog import product
from tests.bulk.written_tables import WRITERS, damaged, table, wrong_of, wrong_of_damaged

ANN, BOB, CYD = "ann@example.com", "bob@example.com", "cyd@example.com"
NO_GUESS = TableForm(guesses=False)


class Reading:
    """What a reader makes of a file of people, and what it says."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.lines: list[int] = []
        self.rejected: dict[int, str] = {}
        self.error = ""
        self.remarks: list[str] = []


async def reading(
    content: Any, columns: Any = None, form: TableForm | None = None, name: str = "people.csv"
) -> Reading:
    found, selection = Reading(), IdentifierColumns.of(columns, IDENTIFIER_KINDS, form or TableForm())
    if isinstance(content, str):
        content = io.BytesIO(content.encode())
        content.name = name
    try:
        async with open_records(content, selection) as reader:
            async for block in reader:
                found.lines += block.lines or []
                assert block.size
                for row in user_rows(block):
                    found.rows.append([text for _, _, text in row.identifiers])
                    if row.problem is not None:
                        found.rejected[row.number] = row.problem[1]
    except InvalidInput as error:
        found.error = error.message.removeprefix(f"{name}: ")
    found.remarks = [remark.reason for remark in selection.remarks]
    return found


# Quotation marks -----------------------------------------------------------------------------------------------------


def sixty(delimiter: str, names: dict[int, str]) -> str:
    people = [("id", "name", "email"), *((str(i), names.get(i, f"Name {i}"), f"p{i}@example.com") for i in range(60))]
    return "".join(delimiter.join(row) + "\n" for row in people)


LONE = {20: '"Name 20', 23: 'Name 23"'}


@pytest.mark.parametrize(
    "names",
    [
        LONE,
        {20: '"Name 20'},
        {20: '"Name 20', 21: 'Name 21"'},
        dict.fromkeys(range(60), '"'),
        {20: '"Name" 20'},
        {20: '""x'},
    ],
)
async def test_in_tab_separated_text_a_mark_that_swallows_rows_is_a_character(names: dict[int, str]) -> None:
    found = await reading(sixty("\t", names))
    assert found.rows == [[f"p{i}@example.com"] for i in range(60)]
    assert (found.error, found.lines) == ("", list(range(2, 62)))


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
@pytest.mark.parametrize("names", [LONE, {20: '"Name 20', 21: 'Name 21"'}])
async def test_elsewhere_it_ends_the_input_where_it_begins(delimiter: str, names: dict[int, str]) -> None:
    found = await reading(sixty(delimiter, names))
    assert found.rows == [[f"p{i}@example.com"] for i in range(20)]
    assert found.error == (
        "line 22, column 2: a quotation mark begins a cell that contains other rows of the file: remove the mark, or quote the cell "
        "and double the mark"
    )


async def test_a_mark_that_swallows_products_ends_the_feed_where_it_begins() -> None:
    rows = [list(product(f"p{n}").values()) for n in range(9)]
    at = list(product("")).index("title")
    rows[3][at], rows[5][at] = '"Mug', 'Mug"'
    text = "\n".join(",".join(map(str, row)) for row in [list(product("")), *rows])
    read, error = list[str](), ""
    try:
        async with open_records(io.BytesIO(text.encode()), ProductColumns.of(None)) as reader:
            async for block in reader:
                read += [row.shape["id"] for row in product_rows(block)]
    except InvalidInput as broken:
        error = broken.message
    assert f"line 5, column {at + 1}: a quotation mark begins a cell that contains" in error
    assert read == ["p0", "p1", "p2"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_cells_of_several_lines_stay_what_they_are(delimiter: str) -> None:
    note = '"Dear all,\n\nask ""Ann"" first: ann@office.example,\r\nor call; thanks\n"'
    text = delimiter.join(("note", "email", "name")) + "\n"
    text += "".join(delimiter.join((note, f"p{n}@example.com", f'"two\nlines {n}"')) + "\n" for n in range(3))
    found = await reading(text)
    assert (found.rows, found.error) == ([[f"p{n}@example.com"] for n in range(3)], "")
    assert found.lines == [2, 8, 14]


async def test_names_with_a_lone_mark_are_a_fault_or_in_tab_separated_text_names() -> None:
    found = await reading(f'id,"name,email\n1,Ann,{ANN}\n2,"Bob",{BOB}\n')
    assert found.error.startswith("line 1, column 2: ")
    found = await reading(f'id\t"name\temail\n1\tAnn\t{ANN}\n2\t"Bob\t{BOB}\n')
    assert found.rows == [[ANN], [BOB]]


DIGEST = hashlib.sha256(b"x").digest()
SWALLOWED = {
    "a delimiter behind each row": ("note,email,x", "{note},p{n}@example.com,1,"),
    "rows without their last empty cells, as Outlook leaves them": ("email,note,fax", "p{n}@example.com,{note}"),
    "three rows alone without them": ("note,email,x,y", "{note},p{n}@example.com{full}"),
    "a digest for a handle": ("note,handle", "{note}," + DIGEST.hex()),
    "the address of a profile": ("note,handle", "{note},https://x.com/ann_{n}"),
    "a digest in base64": ("note,email", "{note}," + base64.b64encode(DIGEST).decode()),
    "a name around an address": ("note,email", "{note},Ann <p{n}@example.com>"),
    "an Android id": ("note,android_id", "{note},9774d56d682e5{n:03}"),
    "ids of a partner": ("note,partner_user_id", "{note},c-{n}"),
    "a list of handles": ("handle", "{note}"),
    "a list of digests": ("handle", "{mark}" + DIGEST.hex() + "{end}"),
    "a mark before the identifier": ("handle,name", "{mark}ann_{n},Ann{end}"),
}


@pytest.mark.parametrize("name", SWALLOWED)
async def test_whatever_rows_look_like_a_mark_that_swallows_them_ends_the_input(name: str) -> None:
    names, row = SWALLOWED[name]
    marks = {20: ('"', ""), 22: ("", '"')}
    rows = []
    for n in range(60):
        mark, end = marks.get(n, ("", ""))
        full = "" if n in (20, 21, 22) else ",1,2"
        rows.append(row.format(n=n, note=f"{mark}N{n}{end}", mark=mark, end=end, full=full))
    found = await reading("\n".join([names, *rows]))
    assert len(found.rows) == 20
    assert re.match("line 22, column [12]: .* quotation mark", found.error)


HANDLES = ("name,handle,note", "N{n},user_{n},note {n}")


@pytest.mark.parametrize(
    ("table", "first", "last", "end"),
    [
        (HANDLES, '"Joe, Ann,user_5,x', 'TV 19",user_9,x', 9),
        (HANDLES, '"Joe, Ann,user_5,x', 'TV 19",user_7,x', 7),
        (HANDLES, 'N,user_5,"x, y', 'N,user_9,x, 19"', 9),
        (("id,name,handle", "{n},N{n},user_{n}"), '5,"Joe, Ann,user_5', '6,TV 19",user_6', 6),
        (("name,email,n", "N{n},p{n}@example.com,n"), '"TV, 27"",p5@example.com,n', 'TV 27",p6@example.com,n', 6),
        (("email,name,n", "p{n}@example.com,N{n},n"), 'p5@example.com,"TV, 27"",n', 'p6@example.com,TV 27",n', 6),
        (("note,handle", "N{n},user_{n}"), '"note,user_5', 'note",user_6', 6),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
async def test_a_lone_mark_in_a_row_with_a_delimiter_too_many_swallows_no_row_in_silence(
    table: tuple[str, str], first: str, last: str, end: int, delimiter: str
) -> None:
    names, row = table
    rows = [first if n == 5 else last if n == end else row.format(n=n) for n in range(20)]
    found = await reading("\n".join([names, *rows]).replace(",", delimiter))
    if delimiter == "\t":  # where the mark is a character
        assert (len(found.rows), found.error) == (20, "")
    else:
        assert len(found.rows) == 5
        assert re.match("line 7, column [1-3]: a quotation mark begins a cell that contains other rows", found.error)


@pytest.mark.parametrize(
    "row",
    [
        'ann_lee,"Hi,\nthanks, x\nbye, y",1',
        'ann_lee,"Main Street 1\n10115, Berlin",1',
        'ann_lee,"Regards,\nBob, bob@example.com\n",1',
        'ann_lee,"Ms,\nAnn, Lee, x\nUlm",1',
    ],
)
async def test_words_and_numbers_within_a_cell_of_several_lines_are_no_rows(row: str) -> None:
    for names in ("handle,note,x", "service_id,note,x", "email,note,x"):
        found = await reading(f"{names}\n{row}\n")
        assert (len(found.rows), found.error) == (1, "")


# Backslashes ---------------------------------------------------------------------------------------------------------


async def test_backslashes_count_where_the_rows_are_even_with_them_alone() -> None:
    found = await reading(f'email,note\n{ANN},"She said \\"hi, you\\" and\nleft"\n{BOB},"\\"x\\""\n')
    assert (found.rows, found.error) == ([[ANN], [BOB]], "")
    found = await reading(f"email\tnote\tphone\n{ANN}\ta\\\tb\\\nc\t\\N\n{BOB}\t\\N\t+14155550132\n")
    assert (found.rows, found.lines) == ([[ANN, "\\N"], [BOB, "+14155550132"]], [2, 4])
    found = await reading(f'email,path\n{ANN},"C:\\"\n{BOB},D:\\\n')
    assert (found.rows, found.error) == ([[ANN], [BOB]], "")


async def test_a_cell_that_begins_with_a_doubled_mark_shows_that_backslashes_are_characters() -> None:
    """As LibreOffice writes inches with a backslash before the closing mark, and cells of several lines."""
    rows = [
        f'"x","5\\",,,"{ANN}",',
        f'"y",""", O\'Neil","""""x5nullrue ",,"{BOB}",',
        f'"z",""", O\'Neil\\\n",,,"{CYD}",",\n\n\nrue5"',
    ]
    found = await reading("\n".join(['"mark","name","note","a","email","city"', *rows, ""]))
    assert (found.rows, found.error) == ([[ANN], [BOB], [CYD]], "")


async def test_backslashes_are_found_anywhere_in_the_first_megabyte() -> None:
    rows = "".join(f"p{n}@example.com,Name {n}\n" for n in range(20_000))
    text = f'email,name\n{rows}{ANN},"Ann \\"A\\", Lee"\n'
    found = await reading(text)
    assert (len(found.rows), found.rows[-1], found.error) == (20_001, [ANN], "")


# Delimiters and names ------------------------------------------------------------------------------------------------


async def test_the_delimiter_is_judged_by_the_first_lines_together() -> None:
    found = await reading(f"Mail;Name, Vorname, Titel;Phone\n{ANN};Lee, Ann, Dr.;+14155550132\n")
    assert found.rows == [[ANN, "+14155550132"]]
    found = await reading(f"email;score;share\n{ANN};1,5;0,25\n{BOB};2,5;0,75\n")
    assert found.rows == [[ANN], [BOB]]


GOOGLE = (
    "# Instructions:\n# Files must be in the CSV format, with these names\n# Headers must be: Email, Phone, First Name\n#\n"
    + "# More of it\n" * 25
)


@pytest.mark.parametrize("form", [TableForm(), NO_GUESS])
async def test_comments_above_the_names_are_skipped(form: TableForm) -> None:
    names = "Email,First Name,Zip,Email,Phone,Phone"
    found = await reading(f"{GOOGLE}{names}\n{ANN},ann,1,,,\n{BOB},bob,2,{CYD},+14155550132,\n", form=form)
    assert (found.rows, found.lines) == ([[ANN], [BOB, CYD, "+14155550132"]], [31, 32])
    assert found.remarks == [
        "line 30 names the columns; the lines above it are ignored (choose another line with header_line=…)"
    ]


async def test_names_in_a_comment_are_names_if_no_other_line_has_any() -> None:
    found = await reading(f"# exported 2026-11-01\n#email,phone\n{ANN},+14155550132\n")
    assert found.rows == [[ANN, "+14155550132"]]


TITLED = "Customer export,,\nGenerated,2026-11-01,\n,,\nEmail,Phone,Name\n"


async def test_names_below_a_title_are_found_and_the_report_says_so() -> None:
    found = await reading(f"{TITLED}{ANN},+14155550132,Ann\n")
    assert (found.rows, found.lines) == ([[ANN, "+14155550132"]], [5])
    assert "line 4 names the columns" in found.remarks[0]


async def test_what_deletes_does_not_guess_where_the_names_are() -> None:
    found = await reading(f"{TITLED}{ANN},+14155550132,Ann\n", form=NO_GUESS)
    assert found.rows == []
    assert found.error == ("line 4 seems to name the columns, but is not the first line: confirm it with header_line=4")
    found = await reading(f"{TITLED}{ANN},+14155550132,Ann\n", form=TableForm(header_line=4, guesses=False))
    assert (found.rows, found.remarks) == ([[ANN, "+14155550132"]], [])


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (f"{ANN},Al\nemail,name\n{BOB},Bo\n", 1),
        (f"Al,{ANN}\nBo,{BOB}\nname,email\nCy,{CYD}\n", 1),
        (f"contact\n{ANN}\nemail\n{BOB}\n", 2),
        ("Kunden,2026\n+4915112345678,x\nname,phone\ny,+4915112345679\n", 2),
        (f"{'ab' * 32};x\nname;email\ny;{BOB}\n", 1),
        (f"Al,4711,Ulm\nemail,name,city\n{BOB},Bo,Ulm\n", 1),
    ],
)
async def test_a_row_above_the_names_is_not_taken_for_a_title(text: str, row: int) -> None:
    found, names = await reading(text), text.count("\n") - 1
    assert found.rows == []
    assert found.error.startswith(f"line {row} looks like a row, but is above the names on line {names}: ")
    assert found.error.endswith(f"header_line={names}")
    found = await reading(text, form=TableForm(header_line=names))
    assert (len(found.rows), found.error) == (1, "")


@pytest.mark.parametrize("names", ["email,phone,country", "name,phone,email", "first name,city,email,phone"])
@pytest.mark.parametrize(
    "above",
    [
        f"Exported by,{ANN}",
        f"User,{ANN}\nRows,1",
        "Account ID,4829130045",
        "Report,Jan 2024,Account 123-456-7890",
        "Export 2024-11-27 16:00,3 rows,id 48291300451",
        "Customers,2024,EU",
        "Export,27.11.2024,Shop",
        f"List,,\nOwner,{ANN}",
    ],
)
async def test_the_head_of_an_export_is_not_taken_for_rows(above: str, names: str) -> None:
    cells = {"email": BOB, "phone": "+14155550132"}
    row = ",".join(cells.get(name, "") for name in names.split(","))
    found = await reading(f"{above}\n{names}\n{row}\n")
    assert (len(found.rows), found.error) == (1, "")
    assert ["the lines above it are ignored" in remark for remark in found.remarks] == [True]


@pytest.mark.parametrize(
    "above", ["", "4,Mug,https://shop.example/4,7.20 EUR", "Mug,https://shop.example/4,7.20 EUR,4711"]
)
async def test_a_product_above_the_names_is_not_taken_for_a_title(above: str) -> None:
    rest = {"image_link": "https://shop.example/1.jpg", "availability": "in stock", "condition": "new", "brand": "B"}
    feed = ProductColumns.of(None, constants={**rest, "description": "d"})
    text = f"Shop,info@shop.example\n{above}\nid,title,link,price\n1,Mug,https://shop.example/1,7.20 EUR\n"
    async with open_records(io.BytesIO(text.encode()), feed) as reader:
        if above:
            with pytest.raises(InvalidInput, match="line 2 looks like a row, but is above the names on line 3"):
                await anext(reader)
        else:
            assert [row.shape["id"] for row in product_rows(await anext(reader))] == ["1"]


async def test_a_given_column_on_another_line_shows_where_the_names_are() -> None:
    text = f"Mail,Telephone\nkunde_mail,kunde_tel\n{ANN},+14155550132\n"
    columns = {"email": "kunde_mail"}
    found = await reading(text, columns)
    assert found.error.endswith('the columns are: "Mail", "Telephone"; if line 2 names the columns, give header_line=2')
    assert (await reading(text, columns, TableForm(header_line=2))).rows == [[ANN]]


@pytest.mark.parametrize("line", [3, 7])
async def test_a_line_of_names_that_is_not_there_is_refused(line: int) -> None:
    found = await reading("a\n\n\nemail\n", form=TableForm(header_line=line))
    assert found.error == f"line {line}, given by header_line=…, is blank or missing"


@pytest.mark.parametrize("options", [{"header": False, "header_line": 1}, {"header_line": 0}])
async def test_options_of_names_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(InvalidInput, match="header_line must be the number of the line"):
        IdentifierColumns.of(None, IDENTIFIER_KINDS, TableForm(**options))


async def test_names_are_for_tables_alone() -> None:
    found = await reading('{"email": "a@example.com"}', form=TableForm(header=False), name="people.json")
    assert "work only for CSV and TSV files" in found.error


# Lists without names -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["jack_lee", "ann@example.com", "+14155550132"])
async def test_a_list_without_names_never_loses_its_first_row(first: str) -> None:
    found = await reading(f"{first}\nann_lee\nbob_ray\n")
    assert "header=False" in found.error
    kind = "email" if "@" in first else "handle"
    found = await reading(f"{first}\nann_lee\nbob_ray\n", columns={kind: first})
    assert found.rows == []
    assert "header=False" in found.error
    assert first not in found.error


@pytest.mark.parametrize("name", ["account", "User_Name", "screen name"])
async def test_a_name_that_was_given_is_one_if_it_reads_like_one(name: str) -> None:
    found = await reading(f"{name}\nann_lee\n", columns={"handle": name})
    assert found.rows == [["ann_lee"]]


@pytest.mark.parametrize("number", [2, "2", ["2"]])
async def test_columns_without_names_are_given_by_number(number: Any) -> None:
    form = TableForm(header=False)
    found = await reading(f"1;{ANN};x\n2;{BOB}\n", columns={"email": number}, form=form)
    assert found.rows == [[ANN], [BOB]]
    found = await reading(f"1;{ANN}\n", columns={"email": 3}, form=form)
    assert found.error == 'there is no column "3" for email; the columns are: "1", "2"'


async def test_rows_that_all_have_more_cells_than_names_are_refused() -> None:
    """As R writes them, with a column of row names that has none."""
    found = await reading("handle\tname\n1\tann_lee\tAnn\n2\tbob_ray\tBob\n")
    assert found.error == "line 1: there are 2 names, but each row below has more cells: add the missing names"


@pytest.mark.parametrize("again", ["handle,name", "HANDLE,Name", "Handle,NAME"])
async def test_the_names_again_are_no_row(again: str) -> None:
    """As files that were joined have them."""
    found = await reading(f"handle,name\nann_lee,Ann\n{again}\nbob_ray,Bob\n")
    assert found.rejected == {2: "repeats the column names"}


@pytest.mark.parametrize("again", ["Email,Handle", "name,handle", "email,HANDLE,name", "id,handle"])
async def test_other_names_in_the_middle_end_the_input_there(again: str) -> None:
    found = await reading(f"handle,email\nann_lee,{ANN}\nbob_ray,{BOB}\n{again}\n{CYD},cyd_lee\n")
    assert found.rows == [[ANN, "ann_lee"], [BOB, "bob_ray"]]
    assert found.error.startswith("line 4: names the columns again, but differently")


@pytest.mark.parametrize(
    ("names", "row", "again"),
    [
        ("id,name,email,city", "{n},N,p{n}@example.com,Ulm", "id,email,name,city"),
        ("name,handle", "N,user_{n}", "handle,name"),
        ("id,mobile,fax", "{n},+1415555013{n},", "id,fax,mobile"),
        ("first_name,email", "N,p{n}@example.com", "first_name,parent_email"),
        ("email,phone,name", "p{n}@example.com,,N", "email,fax,phone"),
        ("name,email,city", "N,p{n}@example.com,Ulm", "Vorname,Ort,E-Mail"),
    ],
)
async def test_names_of_a_joined_file_are_noticed_by_columns_that_are_not_read_too(
    names: str, row: str, again: str
) -> None:
    rows = [row.format(n=n) for n in range(4)]
    found = await reading("\n".join([names, *rows, again, *rows]))
    assert len(found.rows) == 4
    assert found.error.startswith("line 6: names the columns again")


async def test_a_small_table_above_another_is_not_read() -> None:
    """A report of a meeting begins with the meeting and its host, who is not one of the participants."""
    report = f"Meeting ID,Topic,User Email,Participants\n1,Demo,{ANN},2\n\nName,User Email,Guest\nBob,{BOB},No\n"
    found = await reading(report)
    assert found.rows == []
    assert (
        found.error
        == "line 4: names the columns again, but differently: if it is the header of this file, give header_line=4"
    )
    found = await reading(report, form=TableForm(header_line=4))
    assert found.rows == [[BOB]]


@pytest.mark.parametrize("rows", [2, 40, ROWS_PER_BLOCK])
async def test_the_rows_of_a_joined_file_are_read_whatever_stands_between_it_and_the_next(rows: int) -> None:
    people = "".join(f"p{n}@example.com,N\n" for n in range(rows))
    for blank in ("", "\n"):
        found = await reading(f"email,name\n{people}{blank}phone,name,email\n")
        assert found.error.startswith(
            f"line {rows + len(blank) + 2}: names the columns again, but differently: give files"
        )
        assert len([row for row in found.rows if row]) == rows


async def test_words_that_most_rows_have_in_a_column_are_no_names() -> None:
    found = await reading("handle,wants,by\n" + "".join(f"user_{n},email,phone\n" for n in range(9)))
    assert (len(found.rows), found.error) == (9, "")


async def test_somebody_who_is_called_as_a_column_is_a_row() -> None:
    found = await reading(f"handle,name,email\nemail,Ann,{ANN}\nHandle,Bob,\nemail,email,{BOB}\n")
    assert found.rows == [[ANN, "email"], ["Handle"], [BOB, "email"]]
    assert (found.error, found.rejected) == ("", {})


@pytest.mark.parametrize(
    ("first", "second", "option"),
    [
        (f"Mobile,{ANN}", f"Work,{BOB}", '"email": 2'),
        ("+14155550132,Email", "+14155550133,Phone", '"phone_number": 1'),
        ("Twitter,@ann_lee", "X,@bob_ray", '"handle": 2'),
        ("Twitter,https://x.com/ann_lee", "X,https://x.com/bob_ray", '"handle": 2'),
        (f"Email,{DIGEST.hex()}", f"Phone,{DIGEST.hex()}", '"email": 2'),
        ("IDFA,5d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9", "IDFA,6d1c1a1e-7b3f-4c52-9a64-20f8c3e6b7d9", '"device_id": 2'),
        ("ann_lee,Twitter,2026", "bob_ray,Twitter,2026", "header=False"),
        ("Handy;Tel. 030 901820", "Handy;Tel. 030 901821", '"phone_number": 2'),
        ("TEL;TYPE=CELL:+14155550132", "TEL;TYPE=CELL:+14155550133", '"phone_number": 2'),
    ],
)
async def test_a_first_row_with_a_word_that_is_a_name_elsewhere_is_not_lost(
    first: str, second: str, option: str
) -> None:
    found = await reading(f"{first}\n{second}\n{second}\n")
    assert found.rows == []
    assert found.error.startswith("line 1 looks like data: ")
    assert option in found.error


@pytest.mark.parametrize("above", ["", "Export\n\n"])
@pytest.mark.parametrize(
    "row",
    [
        *("tel:+14155550132", "whatsapp:+14155550132", "Mobile: +14155550132", "Ann;Tel. 030 901820"),
        *("Ann,cell 4155550132", "Handy: 0171/3920012", "GAID:00000000-0000-4000-8000-000000000001"),
        *("twitter:2244994945", "BEGIN:VCARD\nTEL;TYPE=CELL:+14155550132\nEND:VCARD"),
    ],
)
async def test_an_identifier_behind_a_label_names_no_column_and_is_not_shown(above: str, row: str) -> None:
    found = await reading(f"{above}{row}\n{row}\n")
    assert found.rows == []
    assert "no column of identifiers was found" in found.error
    assert not re.search("[0-9]{4}|901820|3920012", found.error)


async def test_dates_and_years_are_names_of_columns() -> None:
    found = await reading(f"email,2025,2026-01-31,31.01.2026\n{ANN},1,2,3\n")
    assert (found.rows, found.error) == ([[ANN]], "")
    found = await reading(f"Export of May\n\nemail,Consent 2024-05-01,name\n{ANN},1,2\n")
    assert (found.rows, found.error) == ([[ANN]], "")
    found = await reading(f'email,"Consent\nsince 2024-05-01"\n{ANN},1\n')
    assert (found.rows, found.error) == ([[ANN]], "")
    found = await reading(f"email,phone,Consent 2024-05-01\n{ANN},,1\nphone,email,Consent 2024-05-01\n")
    assert found.error.startswith("line 3: names the columns again")


async def test_a_row_with_a_delimiter_in_a_cell_is_rejected_since_its_cells_are_under_other_names() -> None:
    text = "name,handle,x\nLee, Bob,bob_ray,1\nAnn,ann_lee,1\nCyd,cyd_lee\nLee, Bob,bob_ray,\n"
    async with open_records(io.BytesIO(text.encode()), IdentifierColumns.of(None, IDENTIFIER_KINDS)) as reader:
        (block,) = [each async for each in reader]
    prepared = prepared_of(Preparer(now=datetime.datetime.now(datetime.UTC)), block)
    assert prepared.rejects == [
        RowIssue(row, "", "has 4 cells where there are 3 columns: quote cells that contain a delimiter")
        for row in (1, 4)
    ]
    (accepted,) = prepared.blocks
    assert list(accepted.columns[0][1]) == [hashlib.sha256(name).hexdigest() for name in (b"ann_lee", b"cyd_lee")]


@pytest.mark.parametrize(("short", "warns"), [(1, "1 row has"), (3, "3 rows have"), (1_200, "1,200 rows have")])
async def test_rows_with_a_cell_too_few_are_counted_in_one_warning(short: int, warns: str) -> None:
    rows = [f"{n},N{n},user_{n},Ulm" for n in range(20)] + [f"{n},user_{n},Ulm" for n in range(20, 20 + short)]
    found = await reading("\n".join(["id,name,twitter,city", *rows]))
    (remark,) = found.remarks
    assert remark.startswith(
        f"{warns} fewer cells than there are names: if a cell is missing, the cells after it are in"
    )
    assert remark.endswith("; the first such row is on line 22")


@pytest.mark.parametrize(
    ("names", "row", "is_short"),
    [
        ("email,name,phone", f"{ANN},+14155550132", True),
        ("handle,phone", "+14155550132", True),
        ("email,name", ANN, False),
        ("email,name,,", f"{ANN},Ann", False),
        ("email,name,phone", ",,", False),
    ],
)
async def test_a_row_is_short_if_one_of_its_cells_may_be_in_another_column(
    names: str, row: str, is_short: bool
) -> None:
    found = await reading(f"{names}\n\n{row}\n{ANN},Ann,\n")
    assert [remark.rpartition(" ")[2] for remark in found.remarks] == ["3"] * is_short


async def test_a_column_without_a_name_at_the_end_is_a_column() -> None:
    found = await reading(f"email,name,\n{ANN},Ann,x\n{BOB},Bob,y\n")
    assert (found.rows, found.rejected, found.error) == ([[ANN], [BOB]], {}, "")


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        ("{},", "{},"),
        (",{}", ",{}"),
        ("{},,,", "{},,,"),
        ("{},Sale", "{},Sale"),
        ("{}, ", "{}, "),
        ("EUR,{}", "EUR,{}"),
    ],
)
async def test_a_column_that_is_not_read_may_repeat_its_name_or_have_none(names: str, cells: str) -> None:
    fields = product("1") | {"price": "9.99 EUR"}
    rows = [names.format(",".join(fields))] + [
        cells.format(f"{n},{','.join(list(fields.values())[1:])}") for n in (1, 2)
    ]
    async with open_records(io.BytesIO("\n".join(rows).encode()), ProductColumns.of(None)) as reader:
        assert [row.shape["id"] async for block in reader for row in product_rows(block)] == ["1", "2"]


async def test_a_column_that_is_read_and_repeats_its_name_is_no_column() -> None:
    found = await reading("jack_lee,x\njack_lee,x\njack_lee,y\n", {"handle": "jack_lee"})
    assert found.error.startswith("line 1 looks like data: in a column that is read, each row repeats the name")


async def test_rows_with_another_delimiter_than_the_names_are_refused() -> None:
    found = await reading(f"email;phone\n{ANN},+14155550132\n{BOB},\n")
    assert found.error == "line 1: the names are separated by ';', and the rows below by ',': use one of them"

    found = await reading(f'name,email\n"Ann,{ANN}"\n"Bob,{BOB}"\n')
    assert found.error.startswith(
        "line 1: the rows below have one cell each, because entire lines are in quotation marks"
    )


# Encodings -----------------------------------------------------------------------------------------------------------

PEOPLE = f"email\tville\r\n{ANN}\tKöln 東京\r\n{BOB}\t\r\n"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("name", ["people.txt", "people.csv", "people"])
async def test_text_with_a_byte_order_mark_is_read_as_spreadsheets_save_it(encoding: str, name: str) -> None:
    content = io.BytesIO(("\ufeff" * (encoding == "utf-16-be") + PEOPLE).encode(encoding))
    content.name = name
    found = await reading(content)
    assert (found.rows, found.lines, found.error) == ([[ANN], [BOB]], [2, 3], "")


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"])
async def test_text_with_nothing_that_says_its_encoding_is_refused_by_name(encoding: str) -> None:
    for text in (PEOPLE, f"氏名,メール\n山田,{ANN}\n"):
        found = await reading(io.BytesIO(text.encode(encoding)))
        assert f"this looks like {encoding} text: " in found.error
        assert found.error.endswith(f"iconv -f {encoding} -t UTF-8 <file>")


async def test_a_half_of_a_character_at_the_end_of_a_file_that_was_cut_off_is_not_a_letter() -> None:
    found = await reading(io.BytesIO("handle\nann\nbob".encode("utf-16")[:-1]))
    assert found.rows == [["ann"], ["bo\udcff"]]


@pytest.mark.parametrize(
    ("names", "encoding", "advice"),
    [
        ("氏名,電話番号", "cp932", "with iconv -f SHIFT_JIS -t UTF-8 <file>"),
        ("氏名,メール", "euc_jp", "with iconv -f EUC-JP -t UTF-8 <file>"),
        ("Téléphone;Prénom", "latin-1", "with iconv -f WINDOWS-1252 -t UTF-8 <file>"),
        ("Téléphone;Prénom", "mac_roman", "from the encoding in which it was saved"),
        ("Komórka;Imię", "cp1250", "with iconv -f WINDOWS-1252 -t UTF-8 <file>"),  # ó is the same in both
        ("Państwo;Imię", "cp1250", "from the encoding in which it was saved"),  # as in Pañstwo
        ("姓名,手机", "gbk", "from the encoding in which it was saved"),
    ],
)
async def test_names_in_another_encoding_are_the_reason_that_is_said(names: str, encoding: str, advice: str) -> None:
    found = await reading(io.BytesIO(f"{names}\n{ANN},x\n".encode(encoding)))
    assert found.error.startswith("the BytesIO: the column names on line 1 are not UTF-8")
    assert found.error.endswith(advice)


async def test_of_names_in_another_encoding_those_in_ascii_are_read_and_the_report_warns() -> None:
    found = await reading(io.BytesIO(f"Email;Téléphone\n{ANN};0171 3920012\n".encode("latin-1")))
    assert found.rows == [[ANN]]
    assert found.remarks[0].startswith("the column names on line 1 are not UTF-8")


@pytest.mark.parametrize(
    "text",
    [
        f"Emails\nName,Email\nAnn,{ANN}\n",
        f"Telefon;;\n\nName;Email;Telefon\nAnn;{ANN};\n",
        f"Email\t\nName\tEmail\nAnn\t{ANN}\n",
    ],
)
async def test_a_title_with_a_known_word_is_no_line_of_names(text: str) -> None:
    found = await reading(io.BytesIO(text.encode()))
    assert [ANN in row for row in found.rows] == [True]
    line = text[: text.index("Name")].count("\n") + 1
    assert f"line {line} names the columns" in found.remarks[0]
    asked = await reading(io.BytesIO(text.encode()), form=TableForm(guesses=False))
    assert asked.error.endswith(f"confirm it with header_line={line}")


@pytest.mark.parametrize("text", ["Kunden;Phone;\nPhone;Mail;Name\n0;{};Ann\n", "Mail,Report\nName,Mail,x\nAnn,{},\n"])
async def test_a_title_of_several_cells_is_refused_with_the_line_to_give(text: str) -> None:
    found = await reading(io.BytesIO(text.format(ANN).encode()))
    assert found.error.endswith("give header_line=2")
    found = await reading(io.BytesIO(text.format(ANN).encode()), form=TableForm(header_line=2))
    assert ANN in found.rows[0]


@pytest.mark.parametrize(
    ("row", "is_read"),
    [
        (f"Ann,{ANN},+14155550130,DE,,,", True),
        (f"Ann,{ANN},,,,", True),
        (f"Ann,{ANN},,,,x", False),
        (f"Lee, Ann,{ANN},,", False),  # which has moved by a cell
        (f"Ann,{ANN},94110,+14155550130,", False),
        ("Ann,,,,,", False),
    ],
)
async def test_further_empty_cells_lose_nothing_unless_other_cells_may_have_moved(row: str, is_read: bool) -> None:
    text = "Name,Email,Phone,Country\n" + f"Bob,{BOB},,\n" * 5
    records = io.BytesIO(f"{text}{row}\n".encode())
    async with open_records(records, IdentifierColumns.of(None, IDENTIFIER_KINDS)) as reader:
        (block,) = [block async for block in reader]
    prepared = prepared_of(Preparer(now=datetime.datetime.now(datetime.UTC)), block)
    assert [issue.row for issue in prepared.rejects] == [6] * (not is_read)


ANN_DIGEST = hashlib.sha256(ANN.encode()).hexdigest()


@pytest.mark.parametrize(
    ("names", "row", "moved"),
    [
        ("name,email,partner_user_id", f"Bob,{BOB},", f"Lee, Ann,{ANN},"),
        ("name,phone,service_id", "Bob,+14155550130,", "Lee, Ann,4915112345678,"),
        ("name,service_id,phone", "Bob,12,", "Lee, Ann,4915112345678,"),
        ("name,email_sha256,phone_sha256", f"Bob,{ANN_DIGEST},", f"Lee, Ann,{ANN_DIGEST},"),
    ],
)
async def test_a_value_that_moved_into_a_column_of_another_kind_is_not_sent_as_that_kind(
    names: str, row: str, moved: str
) -> None:
    records = io.BytesIO("\n".join([names, *[row] * 5, moved]).encode())
    async with open_records(records, IdentifierColumns.of(None, IDENTIFIER_KINDS)) as reader:
        (block,) = [block async for block in reader]
    prepared = prepared_of(Preparer(now=datetime.datetime.now(datetime.UTC)), block)
    assert [issue.row for issue in prepared.rejects] == [6]


@pytest.mark.parametrize("mark", ["\ufeff", "\u00ef\u00bb\u00bf", "\ufeff\ufeff", "\ufeff\u00ef\u00bb\u00bf"])
async def test_a_byte_order_mark_in_any_state_is_no_part_of_the_first_name_or_value(mark: str) -> None:
    found = await reading(io.BytesIO(f'{mark}"Name, first",Email\nAnn,{ANN}\n'.encode()))
    assert (found.rows, found.error) == ([[ANN]], "")
    found = await reading(io.BytesIO(f"{mark}{ANN}\n".encode()), columns={"email": 1}, form=TableForm(header=False))
    assert found.rows == [[ANN]]


@pytest.mark.parametrize("mark", "~^:")
async def test_an_unusual_delimiter_is_named_with_the_line_that_says_it(mark: str) -> None:
    text = f"email{mark}phone\n{ANN}{mark}+14155550130\n"
    found = await reading(io.BytesIO(text.encode()))
    assert found.error.endswith(f"write the line sep={mark} above the names")
    found = await reading(io.BytesIO(f"sep={mark}\n{text}".encode()))
    assert found.rows == [[ANN, "+14155550130"]]


# JSON ----------------------------------------------------------------------------------------------------------------


async def test_lines_of_json_that_end_in_commas_are_named_as_that() -> None:
    found = await reading(f'{{"email":"{ANN}"}},\n{{"email":"{BOB}"}}\n', name="people.jsonl")
    assert found.rejected == {1: COMMA}
    found = await reading(f'{{"email":"{ANN}"}},\n{{"email":"{BOB}"}},\n', name="people.jsonl")
    assert found.error.endswith(f"The first one {COMMA}")


COMMA = "is not JSON: the line ends in a comma, which JSON Lines forbids: remove it, or write one array of all objects"

NESTED = [{"id": 1, "properties": {"email": ANN}}, {"id": 2, "properties": {"email": BOB}}, {"id": 3}]
PATH = {"email": "properties.email"}


async def asynchronous(items: list[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(NESTED),
        "\n".join(map(json.dumps, NESTED)),
        json.dumps({"paging": {"next": {"after": "3"}}, "results": NESTED}, indent=1),
        json.dumps({"data": {"contacts": {"items": NESTED}}, "errors": []}),
        json.dumps({"meta": {"warnings": [{"code": 1}]}, "results": NESTED}),
    ],
)
async def test_values_within_objects_are_named_by_their_path(content: str) -> None:
    found = await reading(content, columns=PATH, name="people.json")
    assert (found.rows, found.error) == ([[ANN], [BOB], []], "")


@pytest.mark.parametrize("give", [list, iter, asynchronous])
async def test_so_are_those_of_rows_in_memory(give: Any) -> None:
    found = await reading(give(NESTED), columns=PATH)
    assert found.rows == [[ANN], [BOB], []]


async def test_an_error_says_how_to_name_what_is_within_objects() -> None:
    for content in (json.dumps({"results": NESTED}), NESTED):
        found = await reading(content, name="people.json")
        assert found.error.endswith(
            'for a value in a nested object, give its path, as in columns={"email": "properties.email"}; write '
            "objects that are rows as an array"
        )


@pytest.mark.parametrize(
    ("path", "wanted"), [("emails.value", [ANN, BOB]), ("emails.1.value", [BOB]), ("emails.9.value", [])]
)
async def test_paths_lead_through_lists(path: str, wanted: list[str]) -> None:
    items = [{"emails": [{"value": ANN}, {"value": BOB}]}, {"emails": [{"value": CYD}, {"value": CYD}]}]
    found = await reading(items, columns={"email": path})
    assert found.rows[:1] == [wanted] or (not wanted and "there is no column" in found.error)


async def test_a_name_with_dots_is_preferred_to_a_path() -> None:
    found = await reading([{"a.email": ANN, "a": {"email": BOB}}], columns={"email": "a.email"})
    assert found.rows == [[ANN]]


# Tables as other programs write them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("program", WRITERS)
@pytest.mark.parametrize("tables", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_every_row_is_read_as_it_was_written(program: str, tables: int) -> None:
    for number in range(tables):
        chance = random.Random(f"{program} {number}")
        given = table(chance)
        text = WRITERS[program](given, chance)
        assert wrong_of(given, text) is None, text


@pytest.mark.parametrize("program", WRITERS)
@pytest.mark.parametrize("tables", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_damage_at_one_place_costs_its_row_alone_or_ends_the_input_there(program: str, tables: int) -> None:
    for number in range(tables):
        chance = random.Random(f"{program} {number} damaged")
        given = table(chance)
        hurt = damaged(WRITERS[program](given, chance), given, chance)
        wrong = wrong_of_damaged(given, hurt)
        assert wrong is None or hurt.is_ambiguous, hurt.text


# As others reported them ---------------------------------------------------------------------------------------------

REPORTED = {
    "a banner of one cell above the names": f"Generated by a program\nid,email,name\n1,{ANN},Ann\n2,{BOB},Bob\n",
    "a delimiter behind each row": f"id,email,name\n1,{ANN},Ann,\n2,{BOB},Bob,\n",
    "a delimiter behind the names": f"id,email,name,\n1,{ANN},Ann\n2,{BOB},Bob\n",
    "rows without their last empty cells": f"email,name,fax\n{ANN}\n{BOB},Bob\n",
    "empty columns first": f",,,email\n,,,{ANN}\n,,,{BOB}\n",
    "marks with a backslash in quoted cells": f'"a","email"\n"b, \\"who\'s there?\\" c",{ANN}\n"\\"#x,\\" d",{BOB}\n',
    "delimiters with a backslash, unquoted": f"city,email\nnorth rocks\\,au,{ANN}\nx,{BOB}\n",
    "a lone mark in the first column of tab-separated text": f'name\temail\n"Ann\t{ANN}\nBob\t{BOB}\n',
    "two marks at the beginning of a cell": f'email,password\n{ANN},""complex#)!x"\n{BOB},y\n',
    "inches": f'item,email\n16",{ANN}\n5\' 12",{BOB}\n',
    "decimal commas": f"email;score\n{ANN};1,5\n{BOB};2,5\n",
    "a delimiter behind some rows alone": f"email;score;note\n{ANN};25.00;pending, or not;\n{BOB};4.00;\n",
    "a title with more lines, and blank ones": f"Report\n\n\nRegion: all, of them\n\nEmail,Name\n{ANN},Ann\n{BOB},Bob\n",
}


@pytest.mark.parametrize("name", REPORTED)
async def test_structures_that_others_reported_are_read_whole(name: str) -> None:
    found = await reading(REPORTED[name])
    assert (found.rows, found.error, found.rejected) == ([[ANN], [BOB]], "", {})
