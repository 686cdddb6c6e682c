"""Several files as one input: which they are, in which order, and where a row of it is."""

import csv
import gzip
import os
import re
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from socialapi.bulk.inputs.files import FilesReader
from socialapi.bulk.inputs.reader import ROWS_PER_BLOCK
from socialapi.errors import BulkError, InvalidInput
from tests.bulk.input_files import open_users, read, read_until_error, values, why_empty, write
from tests.bulk.model_service import ModelService, job_of


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    """A folder of exports of all sorts, each with columns of its own."""
    folder = tmp_path / "exports"
    folder.mkdir()
    write(folder / "2026-01.csv", "email\na1@b.example\na2@b.example\n")
    write(folder / "2026-02.csv.gz", gzip.compress(b"id;Phone;E-Mail\n1;+14155550101;c1@d.example\n"))
    write(folder / "2026-03.jsonl", '{"handle": "h1"}\n\n{"handle": "h3"}\n')
    parquet.write_table(pyarrow.table({"mail": ["p1@q.example"]}), folder / "2026-04.parquet")
    write(folder / "notes.md", "no export")
    (folder / "2026-05.d").mkdir()
    return folder


async def test_the_files_of_a_pattern_come_in_the_order_of_their_names_numbered_through(exports: Path) -> None:
    rows = await read(f"{exports}/2026-*")
    assert [row.number for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert values(rows) == [
        *(["a1@b.example"], ["a2@b.example"], ["c1@d.example", "+14155550101"]),
        *(["h1"], [], ["h3"], ["p1@q.example"]),
    ]


async def test_the_files_of_a_list_come_as_listed_and_may_be_patterns(exports: Path) -> None:
    rows = await read([f"{exports}/*.jsonl", exports / "2026-01.csv"])
    assert values(rows) == [["h1"], [], ["h3"], ["a1@b.example"], ["a2@b.example"]]
    assert [row.number for row in await read((exports / "2026-01.csv",))] == [1, 2]


async def test_files_whose_names_are_shown_alike_are_told_apart_by_their_place_in_the_list(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("ada@b.example", "x.csv", "bob@b.example")]
    for path in paths:
        write(path, "email\na@b.example\n")
    async with open_users([*paths, paths[1]]) as reader:
        async for _ in reader:
            pass
    names = [place[0] for number in range(1, 5) if (place := reader.file_row_of(number)) is not None]
    hidden = "the path (hidden because it looks like data)"
    assert names == [f"{hidden} (1)", str(paths[1]), f"{hidden} (3)", str(paths[1])]


async def test_what_is_read_is_measured_over_all_files(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"{number}.csv", "email\n" + "a@b.example\n" * 40 * ROWS_PER_BLOCK)
    async with open_users(f"{tmp_path}/*.csv") as reader:
        fractions = [reader.fraction_read or 0.0 async for _ in reader]
    assert fractions == sorted(fractions)
    assert fractions[0] < 0.2
    assert 0.5 <= fractions[40] < 0.7
    assert reader.fraction_read == 1.0


@pytest.mark.parametrize("name", ["data[1].csv", "what?.csv", "*.csv"])
async def test_what_exists_is_no_pattern(tmp_path: Path, name: str) -> None:
    write(tmp_path / "data1.csv", "email\nwrong@b.example\n")
    write(tmp_path / name, "email\na@b.example\n")
    assert values(await read(tmp_path / name)) == [["a@b.example"]]


async def test_a_pattern_without_a_match_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "2026.csv").mkdir()
    for pattern in (f"{tmp_path}/*.csv", [f"{tmp_path}/*.csv"]):
        with pytest.raises(InvalidInput, match="there is no such file, and no file matches it as a pattern"):
            open_users(pattern)


async def test_a_file_that_is_missing_is_said_before_any_is_read(exports: Path) -> None:
    rows, error = await read_until_error([exports / "2026-01.csv", exports / "2026-13.csv"], InvalidInput)
    assert not rows
    assert str(error) == f"{exports}/2026-13.csv: there is no such file"


async def test_a_file_of_column_names_alone_is_fine_beside_others(exports: Path) -> None:
    write(exports / "2026-01b.csv", "email\n")
    assert len(await read(f"{exports}/2026-01*")) == 2
    write(exports / "2026-01c.csv", "")
    assert len(await read(f"{exports}/2026-01*")) == 2
    assert await why_empty([exports / "2026-01b.csv", exports / "2026-01c.csv"]) == "none of the files has any rows"


async def test_a_file_without_rows_beside_others_is_named_in_a_warning(tmp_path: Path) -> None:
    contents = {"1.csv": "email\na@b.example\n", "2.csv": "email\n", "3.csv": "", "4.json": "[]"}
    for name, text in contents.items():
        write(tmp_path / name, text)
    report = await job_of(ModelService(), f"{tmp_path}/*.*").run()
    assert report.accepted == 1
    names = ", ".join(f"{tmp_path}/{name}" for name in list(contents)[1:])
    assert [issue.reason for issue in report.warning_details] == [f"3 files have no rows: {names}"]


async def test_what_is_said_of_a_file_as_a_whole_names_it_if_there_are_several(tmp_path: Path) -> None:
    for name, other in (("1.csv", "Kontakt"), ("2.csv", "Ansprech")):
        write(tmp_path / name, f"Export\n\nemail,{other}\na@b.example,c@d.example\n")
    report = await job_of(ModelService(), f"{tmp_path}/*.csv").run()
    said = [(issue.file, issue.field, issue.reason[:25]) for issue in report.warning_details]
    assert said == [
        (f"{tmp_path}/1.csv", "", "line 3 names the columns;"),
        (f"{tmp_path}/1.csv", "Kontakt", "is not read, but its firs"),
        (f"{tmp_path}/2.csv", "", "line 3 names the columns;"),
        (f"{tmp_path}/2.csv", "Ansprech", "is not read, but its firs"),
    ]


async def test_what_is_wrong_with_a_file_is_said_with_its_name_after_the_rows_before_it(exports: Path) -> None:
    write(exports / "2026-01b.csv", "colour\nred\n")
    rows, error = await read_until_error(f"{exports}/2026-01*", InvalidInput)
    assert values(rows) == [["a1@b.example"], ["a2@b.example"]]
    assert str(error).startswith(f"{exports}/2026-01b.csv: no column of identifiers was found")


async def test_an_upload_says_in_which_file_a_row_was_rejected(exports: Path, tmp_path: Path) -> None:
    write(exports / "2026-02b.csv", "email,phone\nfine@b.example,12\nnothing,\n")
    rejects = tmp_path / "rejects.csv"
    report = await job_of(ModelService(), f"{exports}/2026-0[12]*", rejects=rejects).run()
    assert (report.read, report.accepted, report.rejected, report.warnings) == (5, 4, 1, 1)
    (issue,), (warning,) = report.rejects, report.warning_details
    assert (issue.row, issue.file, issue.file_row) == (5, f"{exports}/2026-02b.csv", 2)
    assert (warning.row, warning.file, warning.file_row) == (4, f"{exports}/2026-02b.csv", 1)
    with rejects.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [
            ["row", "field", "reason", "file", "file_row"],
            ["5", "email", "is not a plausible e-mail address", f"{exports}/2026-02b.csv", "2"],
        ]


async def test_a_file_that_breaks_stops_the_upload_after_what_was_before_it(exports: Path) -> None:
    write(exports / "2026-02.csv.gz", gzip.compress(os.urandom(100) + b"email\n")[:60])
    with pytest.raises(BulkError, match=r"the input broke off: .*2026-02\.csv\.gz: ") as stopped:
        await job_of(ModelService(), f"{exports}/2026-0[12]*").run()
    assert (stopped.value.report.read, stopped.value.report.accepted) == (2, 2)


@pytest.mark.parametrize("name", ["20261120-235959.parquet", "20261120-235959.csv.zst", "20261120-*.jsonl.gz"])
async def test_a_name_of_many_digits_is_shown_where_it_ends_as_files_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"{tmp_path}/{name}: there is no such file")):
        await read(f"{tmp_path}/{name}")


@pytest.mark.parametrize("given", [["secret@example.com", "b.csv"], ["a\0secret"]])
async def test_data_given_as_paths_is_not_quoted(given: Any) -> None:
    with pytest.raises(InvalidInput) as error:
        await read(given)
    assert "secret" not in str(error.value)
    assert isinstance(open_users(given), FilesReader)


async def test_a_pattern_leaves_out_what_the_job_itself_writes(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "email\na@b.example\nbad\n")
    write(tmp_path / "b.csv", "email\nc@d.example\n")
    journal, rejects = tmp_path / "journal.csv", tmp_path / "rejects.csv"
    for companion in ("-wal", "-shm"):
        write(tmp_path / f"journal.csv{companion}", "")
    for resumed in (0, 2):
        job = job_of(ModelService(), f"{tmp_path}/*.csv*", journal=journal, rejects=rejects)
        report = await job.run()
        assert (report.read, report.accepted, report.rejected, report.resumed) == (3, 2, 1, resumed)
        assert rejects.read_text("utf-8").count("\n") == 2
    with pytest.raises(InvalidInput, match="is the input itself"):
        await job_of(ModelService(), [f"{tmp_path}/*.csv", rejects], rejects=rejects).run()
    assert rejects.read_text("utf-8").count("\n") == 2


async def test_lock_files_that_were_left_behind_are_none_of_the_files(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "email\na@b.example\n")
    write(tmp_path / "older.csv.lock", ' {"socialapi_lock": {"pid": 1, "since": "2026-01-01T00:00:00Z"}}\n')
    write(tmp_path / "rejects.csv.lock", "")
    report = await job_of(ModelService(), f"{tmp_path}/*", rejects=tmp_path / "rejects.csv").run()
    assert (report.read, report.accepted) == (1, 1)
    write(tmp_path / "mine.lock", "email\nc@d.example\n")
    assert (await job_of(ModelService(), f"{tmp_path}/*", rejects=tmp_path / "rejects.csv").run()).read == 2


async def test_a_pattern_that_matches_nothing_else_is_said(tmp_path: Path) -> None:
    write(tmp_path / "rejects.csv", "row,field,reason\n")
    with pytest.raises(InvalidInput, match="the pattern matches only files that the job itself writes"):
        job_of(ModelService(), f"{tmp_path}/*.csv", rejects=tmp_path / "rejects.csv")
