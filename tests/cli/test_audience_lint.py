"""`audience lint` and `do-not-reach lint`: what they print, and what they end with."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from socialapi.cli import app

EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    return tmp_path


def test_a_clean_input_ends_with_0_and_needs_neither_account_nor_credentials(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("crm.csv").write_text("id,E-Mail,Phone\n1,ada@b.example,+14155550101\n2,ada@b.example,+14155550101\n", "utf-8")
    assert app.run(["audience", "lint", "crm.csv"]) == 0
    out, err = capsys.readouterr()
    note = "note: 1 of 2 rows: duplicates of an earlier row; each distinct row is sent once"
    risk = (
        "risk of few matches: medium (a rule of thumb: 2 of 2 rows have a usable identifier; how many of them the "
        "service can match is unknown)"
    )
    assert [line.split() for line in out.splitlines()] == [
        ["rows", "2"],
        ["without", "a", "usable", "identifier", "0"],
        ["with", "several", "2"],
        ["duplicates", "1"],
        [],
        ["kind", "present", "usable", "digests", "placeholders"],
        ["email", "2", "2", "0", "0"],
        ["phone_number", "2", "2", "0", "0"],
        [],
        ["column", "E-Mail:", "email"],
        ["column", "Phone:", "phone_number"],
        ["ignored:", "id"],
        note.split(),
        risk.split(),
    ]
    assert not err


@pytest.mark.parametrize("value", ["wrong", EMPTY])
def test_what_is_of_no_use_ends_with_1(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("crm.csv").write_text(f"email\nada@b.example\n{value}\n", "utf-8")
    assert app.run(["audience", "lint", "crm.csv"]) == 1
    out = capsys.readouterr().out
    assert "error: " in out
    assert value not in out


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    Path("1.csv.gz").write_bytes(gzip.compress(b"Contact,phone\nada@b.example,415 555 0101\nwrong,\n"))
    Path("2.csv").write_text("Contact\ngrace@b.example\n", "utf-8")
    command = ["audience", "lint", "*.csv*", "--column", "email=Contact", "--default-region", "US", "--json"]
    assert app.run(command) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"], report["unusable_rows"], report["match_risk"]) == (3, 1, "high")
    assert [each["by_region"] for each in report["kinds"]] == [0, 1]
    assert app.run([*command, "--sample", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 1


def test_a_do_not_reach_list_looks_at_its_own_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("crm.csv").write_text("email,handle\nada@b.example,ada\n", "utf-8")
    assert app.run(["do-not-reach", "lint", "crm.csv"]) == 0
    assert "ignored: handle\n" in capsys.readouterr().out


@pytest.mark.parametrize("area", ["audience", "do-not-reach"])
def test_a_file_without_rows_is_a_mistake_unless_it_is_allowed(area: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("crm.csv").write_bytes(b"")
    assert app.run([area, "lint", "crm.csv"]) == 2
    assert capsys.readouterr().err == "socialapi: crm.csv: the file is empty; --allow-empty accepts that\n"
    assert app.run([area, "lint", "crm.csv", "--allow-empty"]) == 0
    assert "note: there are no rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "more", "says"),
    [
        (b"email\na@b.example\n", ("--sample", "0"), "sample"),
        (
            b'email\na@b.example\n"never closed\n',
            (),
            "the input broke off: crm.csv: line 3, column 1: a quotation mark",
        ),
    ],
)
def test_what_cannot_be_used_ends_with_2(
    content: bytes, more: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("crm.csv").write_bytes(content)
    assert app.run(["audience", "lint", "crm.csv", *more]) == 2
    out, err = capsys.readouterr()
    assert says in err
    assert err.count("\n") == 1
    assert bool(out) == ("broke off" in says)
