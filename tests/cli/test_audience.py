"""The upload commands, run in this process against an emulator in another thread."""

import asyncio
import hashlib
import json
import stat
from pathlib import Path
from typing import Final

import pytest

from socialapi.bulk.progress import OnProgress
from socialapi.cli import app, run_job
from socialapi.client import Client
from socialapi.emulator import Emulator
from socialapi.reports import UploadReport
from tests.cli.terminal import Printed, last_json, write_people

ACCOUNT: Final = "18ce54d4x5t"
TO_AUDIENCE: Final = ("--account", ACCOUNT, "--audience", "1nmth")
TO_LIST: Final = ("--account", ACCOUNT, "--list", "7b2f1")
JSON_KEYS: Final = {"read", "accepted", "rejected", "duplicate", "pending", "warnings", "requests", "retries"}


def test_a_clean_file_ends_with_0_and_a_table(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    file = write_people(tmp_path / "people.csv", 3, "P1@example.com")
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE]) == 0
    out, err = printed.readouterr()
    assert [line.split() for line in out.splitlines()[:8]] == [
        ["read", "4"],
        ["accepted", "3"],
        ["rejected", "0"],
        ["duplicate", "1"],
        ["pending", "0"],
        ["warnings", "0"],
        ["requests", "1"],
        ["retries", "0"],
    ]
    assert "rows/s" in out
    assert "\x1b" not in out + err
    assert not err
    assert len(service.members(ACCOUNT, "1nmth")) == 3
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--operation", "delete"]) == 0
    assert not service.members(ACCOUNT, "1nmth")


def test_an_export_of_a_crm_is_read_as_its_columns_and_options_say(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    """By hand: 447911123456 is British, 1512 3456789 German or in Austin, and who is to be asked is said for neither."""
    file = tmp_path / "kunden.csv"
    file.write_text(
        "Kunde,Handy,Land,Kontakt\nA,1512 3456789,DE,a@example.com\nB,447911123456,DE,b@example.com\nC,(415) 555-0132,,c@example.com\n",
        "utf-8",
    )
    command = ["audience", "upload", str(file), *TO_AUDIENCE, "--default-region", "US", "--column", "region=Land"]
    assert app.run(command) == 1
    out, err = printed.readouterr()
    assert err == "reading Handy as phone_number; Land as region\n"
    assert "columns that were not read: Kunde, Kontakt" in out
    assert "column Kontakt is not read, but its first rows contain e-mail addresses" in out
    assert "row 1: Handy has no plus sign and is read as a number of the default region" in out
    assert "row 2: Handy: has no plus sign, and is valid only with the country code of another country" in out
    numbers = {("phone_number", hashlib.sha256(each).hexdigest()) for each in (b"+4915123456789", b"+14155550132")}
    assert service.members(ACCOUNT, "1nmth") == numbers
    assert app.run([*command, "--phone-format", "international", "--require-hashed"]) == 1
    assert service.members(ACCOUNT, "1nmth") == numbers
    assert app.run(["audience", "lint", str(file), "--default-region", "US", "--column", "region=Land"]) == 1
    assert 'the column "Kontakt" is not read, but its first rows contain e-mail addresses' in printed.readouterr().out


def test_rejected_rows_end_with_1_and_are_shown(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    file = write_people(tmp_path / "people.csv", 1, *["[planted]"] * 7)
    rejects = tmp_path / "rejects.csv"
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE]) == 1
    out = printed.readouterr().out
    rows = "row 2, row 3, row 4, row 5, row 6, …"
    assert f"7 rows: email: is not a plausible e-mail address ({rows})\n" in out
    assert "… 2 more rejected rows; list all with --rejects FILE" in out
    assert "planted" not in out
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--rejects", str(rejects)]) == 1
    assert "… 2 more rejected rows; all of them in" in printed.readouterr().out
    assert len(rejects.read_text("utf-8").splitlines()) == 8
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600


def test_warnings_are_printed_by_their_reason_with_their_number_and_first_rows(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    file = write_people(tmp_path / "people.csv", 0, *(f'="p{n}@example.com"' for n in range(7)))
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE]) == 0
    out = printed.readouterr().out
    rows = "row 1, row 2, row 3, row 4, row 5, …"
    assert f"7 rows: email was cleaned: a formula, quotation marks removed ({rows})\n" in out


def test_json_is_the_last_line_of_standard_output(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    file = write_people(tmp_path / "people.csv", 3, "wrong")
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--json"]) == 1
    report = last_json(printed.readouterr().out)
    assert report.keys() >= JSON_KEYS
    assert {key: report[key] for key in JSON_KEYS} == {
        "read": 4,
        "accepted": 3,
        "rejected": 1,
        "duplicate": 0,
        "pending": 0,
        "warnings": 0,
        "requests": 1,
        "retries": 0,
    }


@pytest.mark.parametrize(("last", "status"), [("fine@example.com", 0), ("wrong", 1)])
def test_a_dry_run_needs_no_environment_and_forecasts(last: str, status: int, tmp_path: Path, printed: Printed) -> None:
    file = write_people(tmp_path / "people.csv", 3_000, last)
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--dry-run"]) == status
    out = printed.readouterr().out
    assert "requests needed" in out
    assert ["pending", f"{3_001 - status:,}"] in [line.split() for line in out.splitlines()]
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--dry-run", "--json"]) == status
    report = json.loads(printed.readouterr().out)
    assert report["forecast"]["requests"] == 2


def test_columns_regions_times_and_packing_are_passed_on(service: Emulator, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("Who;Second;email\n(415) 555-2671;4155552672;ignored@example.com\n", "utf-8")
    command = [
        *("audience", "upload", str(file), *TO_AUDIENCE, "--packing", "packed", "--concurrency", "1"),
        *("--column", "phone_number=Who", "--column", "phone_number=Second", "--column", "email="),
        *("--default-region", "US", "--effective-at", "2089-01-01T00:00:00Z", "--expires-at", "2090-01-01T00:00:00Z"),
    ]
    assert app.run(command) == 0
    held = service.state.audiences[ACCOUNT, "1nmth"].members._by_kind
    assert {kind: len(values) for kind, values in held.items()} == {"phone_number": 2}
    assert set(held["phone_number"].values()) == {(3_755_376_000.0, 3_786_912_000.0)}


@pytest.mark.parametrize("content", ["", "email\n", "\n\n"])
@pytest.mark.parametrize("command", [("audience", *TO_AUDIENCE), ("do-not-reach", *TO_LIST)], ids=lambda each: each[0])
def test_a_file_without_rows_is_a_mistake_unless_it_is_allowed(
    service: Emulator, tmp_path: Path, printed: Printed, content: str, command: tuple[str, ...]
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(content, "utf-8")
    area, *target = command
    for more in ([], ["--dry-run"]):
        assert app.run([area, "upload", str(file), *target, *more]) == 2
        out, err = printed.readouterr()
        assert not out
        assert err.startswith(f"socialapi: {file}: the file ")
        assert err.endswith("; --allow-empty accepts that\n")
        assert app.run([area, "upload", str(file), *target, *more, "--allow-empty", "--json"]) == 0
        report = json.loads(printed.readouterr().out)
        assert (report["read"], report["accepted"], report["requests"]) == (0, 0, 0)
    assert not service.requests


@pytest.mark.parametrize("command", [("audience", *TO_AUDIENCE), ("do-not-reach", *TO_LIST)], ids=lambda each: each[0])
def test_more_rejected_rows_than_may_be_end_with_2_and_a_report(
    service: Emulator, tmp_path: Path, printed: Printed, command: tuple[str, ...]
) -> None:
    file, journal = write_people(tmp_path / "people.csv", 8, "nobody", "nowhere"), tmp_path / "job.journal"
    area, *target = command
    upload = [area, "upload", str(file), *target, "--json"]
    assert app.run([*upload, "--max-reject-share", "0.1", "--journal", str(journal)]) == 2
    out, err = printed.readouterr()
    report = json.loads(out.splitlines()[-1])
    assert (report["read"], report["accepted"], report["rejected"]) == (10, 8, 2)
    assert "2 of 10 rows were rejected, which is 20.0%, but at most 10.0% may be" in err
    assert journal.exists()
    assert app.run([*upload, "--max-reject-share", "0.2", "--journal", str(journal)]) == 1
    assert json.loads(printed.readouterr().out.splitlines()[-1])["resumed"] == 8
    assert app.run([*upload, "--max-reject-share", "2"]) == 2
    assert 'Invalid value "2.0" for --max-reject-share. Must be <= 1.' in printed.readouterr().err


def test_a_do_not_reach_list_is_uploaded_to(service: Emulator, tmp_path: Path) -> None:
    file = write_people(tmp_path / "people.csv", 3)
    assert app.run(["do-not-reach", "upload", str(file), *TO_LIST, "--json"]) == 0
    assert len(service.do_not_reach_members(ACCOUNT, "7b2f1")) == 3


@pytest.mark.parametrize(
    ("name", "content", "more", "says"),
    [
        ("empty.csv", b"", "", "the file is empty"),
        ("header.csv", b"email\n", "", "the file has no rows, only column names"),
        ("binary.csv", b"\x00\x01\x02" * 100, "", "this looks like a binary file"),
        ("book.xlsx", b"PK\x03\x04....", "", "an Excel workbook or a zip archive"),
        ("odd.csv", b"name,size\nBob,4\n", "", "no column of identifiers was found"),
        ("missing.csv", None, "", "there is no such file"),
        (".", None, "", "this is a directory, not a file"),
        ("exports/*.csv", None, "", "no file matches it as a pattern"),
        ("ok.csv", b"email\na@b.cd\n", "--jsan", "Unknown option: --jsan. Did you mean --json?"),
        ("ok.csv", b"email\na@b.cd\n", "--rejects missing/rejects.csv", "cannot be written: No such file"),
        ("ok.csv", b"email\na@b.cd\n", "--rejects ok.csv", "is the input itself"),
        ("ok.csv", b"email\na@b.cd\n", "--column email", "--column takes KIND=NAME"),
        ("ok.csv", b"email\na@b.cd\n", "--column =email", "--column takes KIND=NAME"),
        ("ok.csv", b"email\na@b.cd\n", "--column shoe=size", '"shoe" is not a kind of identifier'),
        ("ok.csv", b"email\na@b.cd\n", "--column email=Contact", 'there is no column "Contact" for email'),
        ("ok.csv", b"email\na@b.cd\n", "--concurrency 0", "for --concurrency. Must be >= 1."),
        ("ok.csv", b"email\na@b.cd\n", "--expires-at 2001-01-01T00:00:00Z", "is not in the future"),
        ("ok.csv", b"email\na@b.cd\n", "--expires-at tomorrow", "is not an ISO 8601 time"),
        ("ok.csv", b"email\na@b.cd\n", "--default-region Atlantis", "region"),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_says_why_and_nothing_is_sent(
    service: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    printed: Printed,
    name: str,
    content: bytes | None,
    more: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path(name).write_bytes(content)
    assert app.run(["audience", "upload", name, *TO_AUDIENCE, *more.split()]) == 2
    out, err = printed.readouterr()
    assert err.startswith("socialapi: ")
    assert says in err
    assert not out
    assert not service.requests


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["--jsan"], "there is no option --jsan; did you mean --json?"),
        (["a.csv", "-"], "standard input cannot be combined with other files"),
    ],
)
def test_what_stands_where_files_do_and_is_none(
    service: Emulator, printed: Printed, files: list[str], says: str
) -> None:
    assert app.run(["audience", "upload", *files, *TO_AUDIENCE]) == 2
    assert says in printed.readouterr().err


def test_several_files_and_patterns_are_one_upload_that_says_where_its_rows_are(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    monkeypatch.chdir(tmp_path)
    write_people(Path("b.csv"), 2, "wrong")
    write_people(Path("a.csv"), 1)
    Path("c.csv").write_text("email,phone\nc@example.com,4155552671\n", "utf-8")
    assert app.run(["audience", "upload", "[ab].csv", "c.csv", *TO_AUDIENCE]) == 1
    out = printed.readouterr().out
    assert ["read", "5"] in [line.split() for line in out.splitlines()]
    assert "row 4 (b.csv, row 3): email: is not a plausible e-mail address\n" in out
    assert "row 5 (c.csv, row 1), sent without phone: has no country code" in out
    assert len(service.members(ACCOUNT, "1nmth")) == 3


def test_a_file_that_breaks_midway_ends_with_2_and_its_report(
    service: Emulator, tmp_path: Path, printed: Printed
) -> None:
    file = write_people(tmp_path / "people.csv", 3, '"never closed')
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE, "--json"]) == 2
    out, err = printed.readouterr()
    assert json.loads(out)["accepted"] == 3
    assert "the input broke off" in err


@pytest.mark.parametrize(
    ("variable", "value", "status", "says"),
    [
        ("SOCIALAPI_ACCESS_TOKEN_SECRET", "planted", 3, "`socialapi auth status` shows which"),
        ("SOCIALAPI_ADS_URL", "", 2, "no ads_url is configured: set SOCIALAPI_ADS_URL"),
        ("SOCIALAPI_ADS_URL", "http://example.com", 2, "SOCIALAPI_ADS_URL must be https"),
        ("SOCIALAPI_TIMEOUT_SECONDS", "soon", 2, "SOCIALAPI_TIMEOUT_SECONDS is not a number"),
    ],
)
def test_a_wrong_environment_is_said(
    service: Emulator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    printed: Printed,
    variable: str,
    value: str,
    status: int,
    says: str,
) -> None:
    monkeypatch.setenv(variable, value)
    file = write_people(tmp_path / "people.csv", 3)
    assert app.run(["audience", "upload", str(file), *TO_AUDIENCE]) == status
    err = printed.readouterr().err
    assert err.startswith("socialapi: ")
    assert says in err
    assert err.count("\n") == 1
    assert "planted" not in err


def test_without_credentials_it_says_what_to_set(
    service: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    for name in ("API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET", "BEARER_TOKEN"):
        monkeypatch.delenv(f"SOCIALAPI_{name}")
    assert app.run(["audience", "upload", str(write_people(tmp_path / "people.csv", 3)), *TO_AUDIENCE]) == 2
    assert "the credentials given are: none. Set SOCIALAPI_API_KEY" in printed.readouterr().err


@pytest.mark.parametrize(
    ("account", "audience", "says"),
    [(ACCOUNT, "unknown", ": 404 NOT_FOUND"), ("18ce55a9q0m", "1nmvl", ": 403")],
)
def test_a_wrong_account_or_audience_ends_with_3_and_the_report(
    service: Emulator,
    tmp_path: Path,
    printed: Printed,
    account: str,
    audience: str,
    says: str,
) -> None:
    file = write_people(tmp_path / "people.csv", 3)
    command = ["audience", "upload", str(file), "--account", account, "--audience", audience, "--json"]
    assert app.run(command) == 3
    out, err = printed.readouterr()
    assert last_json(out)["pending"] == 3
    assert says in err
    assert err.count("\n") == 1


async def test_a_job_that_is_cancelled_before_it_began_has_nothing_to_report(
    printed: Printed,
) -> None:
    async def job(client: Client, display: OnProgress) -> UploadReport:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run_job.run_job(job, "people.csv", dry_run=False, as_json=False)
    assert printed.readouterr() == ("", "")


def test_outcomes_and_their_key_are_options_of_every_job(service: Emulator, tmp_path: Path, printed: Printed) -> None:
    people = tmp_path / "people.csv"
    people.write_text("id,email\n7,ada@example.com\n8,\n", "utf-8")
    options = ["--key", "id", "--outcomes", str(tmp_path / "of %Y.jsonl")]
    for command, outcome in (
        (["do-not-reach", "upload", "--account", ACCOUNT, "--list", "1dnr", "--dry-run"], "pending"),
        (["audience", "upload", *TO_AUDIENCE], "accepted"),
        (["audience", "sync", *TO_AUDIENCE, "--snapshot", str(tmp_path / "snapshot")], "added"),
    ):
        assert app.run([*command, str(people), *options]) == 1, printed.readouterr().err
        (path,) = tmp_path.glob("of 20??.jsonl")
        lines = sorted(map(json.loads, path.read_text("utf-8").splitlines()), key=lambda line: line["row"])
        assert [(line["key"], line["outcome"]) for line in lines] == [("7", outcome), ("8", "rejected")]
    assert app.run(["audience", "upload", str(people), *TO_AUDIENCE, "--key", "id"]) == 2
    assert "socialapi: --key needs --outcomes" in printed.readouterr().err
