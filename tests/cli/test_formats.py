"""The formats of lists: what is written, byte by byte."""

import contextlib
import csv
import io
import json
import re
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from rich.cells import cell_len

from socialapi.cli.formats import (
    Column,
    Format,
    ListKind,
    aligned,
    fitting_widths,
    json_line,
    shown_json,
    writing,
)
from socialapi.errors import InvalidInput
from socialapi.models.model import Model
from tests.cli.terminal import Printed


@attrs.define(kw_only=True)
class Metrics(Model):
    like_count: int | None = None


@attrs.define(kw_only=True)
class Thing(Model):
    id: str
    text: str | None = None
    tags: tuple[str, ...] = ()
    metrics: Metrics | None = None


THINGS = ListKind[Thing](
    name="thing",
    record=Thing,
    columns=(
        Column("id", lambda thing: thing.id, is_whole=True),
        Column("text", lambda thing: thing.text),
    ),
)
ONE = Thing(id="1", text="a\x1b[2J\tb", tags=("x", "y"), metrics=Metrics(like_count=7, extra={"new": 1}))
TWO = Thing(id="2", text='say "hi",\nÄ', extra={"odd": [True]})


CSV = """\
id,text,tags,metrics.like_count,extra
1,a\x1b[2J\tb,"[""x"",""y""]",7,"{""metrics"":{""new"":1}}"
2,"say ""hi"",
Ä",[],,"{""odd"":[true]}"
""".replace("\n", "\r\n").replace(",\r\n", ",\n")  # the one line break within a text is as it is there


def written(format_: Format, *items: Thing, path: Path | None = None, escape_formulas: bool = False) -> None:
    with writing(THINGS, format_, path, escape_formulas=escape_formulas) as writer:
        for item in items:
            writer.add(item)
            writer.flush()


def broken_off(format_: Format, *items: Thing, path: Path | None = None) -> None:
    """Writes items, and then something fails."""
    with contextlib.suppress(ZeroDivisionError), writing(THINGS, format_, path) as writer:
        for item in items:
            writer.add(item)
            writer.flush()
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("format_", "none", "two"),
    [
        ("table", "", 'ID\tTEXT\n1\ta [2J b\n2\tsay "hi", Ä\n'),
        ("jsonl", "", '{"id":"1",…}\n{"id":"2",…}\n'),
        ("json", "[]\n", '[\n{"id":"1",…},\n{"id":"2",…}\n]\n'),
        (
            "csv",
            "id,text,tags,metrics.like_count,extra\r\n",
            CSV,
        ),
    ],
)
def test_a_list_is_written_in_each_format(
    format_: Format, none: str, two: str, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    lines = [json_line(each.to_dict()) for each in (ONE, TWO)]
    for short, line in zip(('{"id":"1",…}', '{"id":"2",…}'), lines, strict=True):
        two = two.replace(short, line)
    for items, expected in (((), none), ((ONE, TWO), two)):
        written(format_, *items)
        assert capsysbinary.readouterr().out.decode() == expected
        written(format_, *items, path=tmp_path / "list")
        assert (tmp_path / "list").read_bytes().decode() == expected


def test_json_and_csv_are_utf_8_whatever_the_locale_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for format_ in ("json", "jsonl", "csv"):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "latin-1", newline="\r\n"))
        written(format_, TWO)
        text = raw.getvalue().decode("utf-8")
        assert "Ä" in text
        assert "\r\r" not in text
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("format_", "expected"),
    [("jsonl", f"{json_line(TWO.to_dict())}\n"), ("table", 'ID\tTEXT\n2\tsay "hi", Ä\n')],
)
def test_an_output_that_only_takes_texts_gets_them(
    format_: Format, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    written(format_, TWO)
    assert out.getvalue() == expected


@pytest.mark.parametrize("format_", ["table", "json", "csv", "parquet"])
def test_without_a_standard_output_a_file_alone_can_be_written(
    format_: Format, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        written(format_, ONE)
    written(format_, ONE, path=tmp_path / "list")
    assert (tmp_path / "list").stat().st_size > 0


# JSON


@given(st.text())
def test_a_line_of_json_is_one_line_and_says_the_same(text: str) -> None:
    line = json_line({"text": text})
    assert json.loads(line) == {"text": text}
    assert not any(letter < " " or "\x7f" <= letter <= "\x9f" for letter in line)


@given(st.text())
def test_json_on_a_terminal_says_the_same_without_what_turns_or_hides_text(text: str) -> None:
    line = json_line({"text": text})
    shown = shown_json(line, is_shown=True)
    assert json.loads(shown) == {"text": text}
    assert not any(unicodedata.category(letter) in ("Cc", "Cf", "Zl", "Zp") for letter in shown)
    assert shown_json(line, is_shown=False) == line


def test_an_array_that_an_error_ends_is_closed(capsys: Printed) -> None:
    for items, expected in (((), ""), ((ONE,), [ONE.to_dict()])):
        broken_off("json", *items)
        out = capsys.readouterr().out
        assert (json.loads(out) if out else "") == expected


# CSV


@given(st.lists(st.tuples(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.none() | st.integers())))
def test_csv_gives_texts_and_numbers_back(values: Sequence[tuple[str, int | None]]) -> None:
    things = [Thing(id=text, text=text, metrics=Metrics(like_count=count)) for text, count in values]
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        written("csv", *things)
    header, *rows = csv.reader(io.StringIO(out.getvalue(), newline=""))
    assert header == ["id", "text", "tags", "metrics.like_count", "extra"]
    assert rows == [[text, text, "[]", "" if count is None else str(count), ""] for text, count in values]


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "@ada hello"])
def test_cells_that_a_spreadsheet_would_run_are_said_or_escaped(text: str, capsys: Printed) -> None:
    written("csv", Thing(id="1", text=text))
    plain = capsys.readouterr()
    assert [*csv.reader(io.StringIO(plain.out, newline=""))][1][1] == text
    assert plain.err == (
        "socialapi: 1 cell begins with =, +, -, @, a tab or a carriage return, which a spreadsheet may run as a formula; "
        "--escape-formulas puts an apostrophe first\n"
    )
    written("csv", Thing(id="1", text=text), escape_formulas=True)
    escaped = capsys.readouterr()
    assert [*csv.reader(io.StringIO(escaped.out, newline=""))][1][1] == f"'{text}"
    assert escaped.err == ""


# Parquet


def test_parquet_has_the_schema_of_the_class_and_all_items(tmp_path: Path) -> None:
    path = tmp_path / "things.parquet"
    written("parquet", path=path)
    empty = parquet.read_table(path)
    assert (empty.num_rows, empty.schema.names) == (0, ["id", "text", "tags", "metrics", "extra"])
    written("parquet", ONE, TWO, path=path)
    full = parquet.read_table(path)
    assert full.schema == empty.schema
    assert full["tags"].to_pylist() == [["x", "y"], []]
    assert full["extra"].to_pylist() == [None, '{"odd":[true]}']


def test_parquet_gathers_many_pages_into_groups(tmp_path: Path) -> None:
    path = tmp_path / "things.parquet"
    with writing(THINGS, "parquet", path) as writer:
        for number in range(45_000):
            writer.add(Thing(id=str(number)))
            if number % 100 == 99:
                writer.flush()
    file = parquet.ParquetFile(path)
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [20_000, 20_000, 5_000]
    assert file.read(columns=["id"])["id"].to_pylist() == [str(number) for number in range(45_000)]


def test_standard_output_gets_a_parquet_file_when_it_is_complete(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    written("parquet", ONE)
    whole = capsysbinary.readouterr().out
    assert parquet.read_table(io.BytesIO(whole))["id"].to_pylist() == ["1"]
    broken_off("parquet", ONE)
    assert capsysbinary.readouterr().out == b""


# Files


def test_parquet_takes_its_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "things.parquet").write_bytes(b"earlier")
    with pytest.raises(InvalidInput, match=r"needs pyarrow: pip install 'aiosocialapi\[arrow\]'"):
        written("parquet", path=tmp_path / "things.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["things.parquet"]
    assert (tmp_path / "things.parquet").read_bytes() == b"earlier"


@pytest.mark.parametrize("format_", ["table", "json", "jsonl", "csv", "parquet"])
def test_an_earlier_file_stays_if_the_list_breaks_off(format_: Format, tmp_path: Path) -> None:
    path = tmp_path / "list"
    path.write_text("earlier")
    broken_off(format_, ONE, path=path)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_for_its_owner_alone(tmp_path: Path) -> None:
    whole = tmp_path / "whole.csv"
    whole.write_text("earlier")
    whole.chmod(0o644)
    written("jsonl", ONE, path=whole)
    assert json.loads(whole.read_text())["id"] == "1"
    assert whole.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("path", "says"),
    [("/dev/full", "No space left on device"), ("missing/list", "No such file or directory"), (".", "Is a directory")],
)
def test_a_file_that_cannot_be_written_is_named(
    path: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=says) as caught:
        written("jsonl", ONE, path=Path(path))
    assert caught.value.filename == path
    assert list(tmp_path.iterdir()) == []


# Widths


@given(
    st.lists(st.tuples(st.integers(0, 200), st.booleans()), min_size=1, max_size=6),
    st.integers(min_value=8, max_value=200),
)
def test_columns_fit_and_what_is_whole_is_not_cut(columns: Sequence[tuple[int, bool]], available: int) -> None:
    natural, may_be_cut = zip(*columns, strict=True)
    widths = fitting_widths(natural, may_be_cut, available)
    assert 1 <= len(widths) <= len(natural)
    assert len(widths) == 1 or sum(widths) + 2 * (len(widths) - 1) <= available
    for width, needed, is_cut in zip(widths, natural, may_be_cut, strict=False):
        assert width <= needed
        assert width == needed or (is_cut and width >= 8)
    if sum(natural) + 2 * (len(natural) - 1) <= available:
        assert widths == list(natural)


@given(st.lists(st.text(), min_size=2, max_size=4), st.lists(st.integers(1, 12), min_size=2, max_size=4))
def test_a_line_is_as_wide_as_its_columns_however_wide_its_letters_are(cells: list[str], widths: list[int]) -> None:
    count = min(len(cells), len(widths))
    shown = [each.replace("\n", " ") for each in cells]
    assert cell_len(aligned(shown, widths)) <= sum(widths[:count]) + 2 * (count - 1)


def test_a_later_page_has_the_columns_of_the_header_however_wide_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    wide = Thing(id="9" * 30, text="one more text")
    written("table", ONE, wide)
    header, first, second = (re.sub(r"\x1b\[\d*m", "", line) for line in capsys.readouterr().out.splitlines())
    assert header.split() == ["ID", "TEXT"]
    assert first.split() == ["1", "a", "[2J", "b"]
    assert second.split(maxsplit=1)[0] == wide.id
    assert second.split(maxsplit=1)[1].startswith("one")
