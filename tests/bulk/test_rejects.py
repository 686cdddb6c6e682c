"""The rejects file."""

import os
from pathlib import Path

import pytest

from socialapi.bulk.output_file import same_file
from socialapi.bulk.rejects import RejectsFile
from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue
from tests.support.files import mode_of

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def test_it_has_a_line_for_each_row_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    file = RejectsFile(path)
    file.begin()
    file.write([RowIssue(2, "email", 'is "odd", really'), RowIssue(7, "", "is blank")])
    file.close()
    file.close()
    assert path.read_bytes() == b'row,field,reason\r\n2,email,"is ""odd"", really"\r\n7,,is blank\r\n'
    assert mode_of(path) == 0o600


def test_a_file_that_others_could_read_is_emptied_and_closed_to_them(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    path.write_text("what was here before", "utf-8")
    path.chmod(0o644)
    file = RejectsFile(str(path))
    file.begin()
    file.begin()
    file.close()
    assert path.read_bytes() == b"row,field,reason\r\n"
    assert mode_of(path) == 0o600


def test_the_mode_of_a_device_is_left_alone() -> None:
    before = mode_of(Path(os.devnull))
    file = RejectsFile(os.devnull)
    file.begin()
    file.close()
    assert mode_of(Path(os.devnull)) == before


@pytest.mark.parametrize("name", ["missing/rejects.csv", "", "with\0zero"])
def test_a_path_that_cannot_be_written_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"the rejects file .* cannot be written: \w+"):
        RejectsFile(f"{tmp_path}/{name}")


def test_files_that_are_not_there_yet_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert same_file(tmp_path / "new", tmp_path / "link" / "." / "new")
    assert not same_file(tmp_path / "new", tmp_path / "other")
    assert not same_file("with\0zero", "with\0zero")
    with pytest.raises(InvalidInput, match="is the input itself"):
        RejectsFile(tmp_path / "new", sources=[tmp_path / "link" / "new"])
    assert [each.name for each in tmp_path.iterdir()] == ["link"]


def test_values_that_are_not_utf8_are_written_as_bytes_that_are_not_either(tmp_path: Path) -> None:
    file = RejectsFile(tmp_path / "rejects.csv")
    file.columns = ("gr\udcf6\udcdfe",)
    file.begin()
    file.write([RowIssue(1, "", "no")] * 3, [["f\udcfcr"], ["\ud800\udcfc"], ["a\0b"]])
    file.close()
    assert (tmp_path / "rejects.csv").read_bytes().splitlines() == [
        b"row,field,reason,gr\xf6\xdfe",
        b"1,,no,f\xfcr",
        b"1,,no,\xed\xa0\x80\xed\xb3\xbc",
        b"1,,no,a\0b",
    ]


def test_an_input_that_is_missing_is_somebody_elses_business(tmp_path: Path) -> None:
    (tmp_path / "rejects.csv").touch()
    RejectsFile(tmp_path / "rejects.csv", sources=[tmp_path / "missing.csv"]).close()
    RejectsFile(tmp_path / "rejects.csv", sources=[[{"email": "a@example.com"}]]).close()


@needs_full
def test_a_full_disk_is_said_while_writing() -> None:
    file = RejectsFile(FULL)
    file.begin()
    with pytest.raises(InvalidInput, match="/dev/full cannot be written: No space left on device"):
        file.write([RowIssue(number, "email", "is wrong " * 10) for number in range(10_000)])
    file.close()


def test_one_job_at_a_time_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "rejects.csv"
    first = RejectsFile(path)
    with pytest.raises(
        InvalidInput, match=rf"{path} is in use by another job: .*\(held by this process, {os.getpid()}, since"
    ):
        RejectsFile(path)
    first.begin()
    first.write([RowIssue(1, "email", "=cmd|' /C calc'!A0")])  # as it is: this is data
    first.close()
    second = RejectsFile(path)
    assert path.read_text("utf-8").splitlines() == ["row,field,reason", "1,email,=cmd|' /C calc'!A0"]
    second.close()
    assert [each.name for each in tmp_path.iterdir()] == ["rejects.csv"]


def test_where_there_is_something_else_in_the_place_of_its_lock_it_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "rejects.csv.lock").write_text("mine", "utf-8")
    with pytest.raises(InvalidInput, match=r"cannot be written: its lock file cannot be created: .* something else"):
        RejectsFile(tmp_path / "rejects.csv")
    assert (tmp_path / "rejects.csv.lock").read_text("utf-8") == "mine"
    assert not (tmp_path / "rejects.csv").exists()
