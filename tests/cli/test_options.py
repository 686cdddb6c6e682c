"""Options that several commands share: dates in the names of files."""

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from socialapi.cli import app, options
from socialapi.emulator import Emulator
from tests.cli.terminal import Printed, write_people

TO_AUDIENCE: Final = ("--account", "18ce54d4x5t", "--audience", "1nmth", "--json")
START: Final = datetime.datetime(2026, 1, 31, 23, 59, 58, tzinfo=datetime.UTC)


@pytest.fixture
def at_the_end_of_january(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which commands run that started then."""
    monkeypatch.setattr(options, "started_at", lambda: START)
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "50%Y off"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def upload(*more: str) -> int:
    return app.run(["audience", "upload", "people.csv", *TO_AUDIENCE, *more])


def resumed(printed: Printed) -> int:
    rows: int = json.loads(printed.readouterr().out.splitlines()[-1])["resumed"]
    return rows


def test_a_journal_and_a_rejects_file_may_have_the_date_of_the_run(
    at_the_end_of_january: Path, service: Emulator, printed: Printed
) -> None:
    write_people(Path("people.csv"), 8, "nobody")
    named = ("--journal", "audience-%Y-%m-%d.journal", "--rejects", "100%% wrong %F.csv")
    assert upload(*named) == 1
    assert sorted(path.name for path in at_the_end_of_january.iterdir()) == [
        "100% wrong 2026-01-31.csv",
        "audience-2026-01-31.journal",
        "people.csv",
    ]
    printed.readouterr()
    assert app.run(["jobs", "list", "audience-2026-01-31.journal"]) == 0
    assert "finished" in printed.readouterr().out
    assert app.run(["jobs", "show", "audience-2026-01-31.journal", "--json"]) == 0
    shown = json.loads(printed.readouterr().out)
    assert shown["path"] == str(at_the_end_of_january / "audience-2026-01-31.journal")
    assert app.run(["jobs", "resume", "audience-2026-01-31.journal"]) == 1
    assert resumed(printed) == 8
    assert app.run(["jobs", "resume", shown["id"]]) == 1
    assert resumed(printed) == 8
    assert app.run(["jobs", "forget", "audience-2026-01-31.journal"]) == 0
    assert [path.name for path in at_the_end_of_january.iterdir()] == ["people.csv"]


def test_a_job_is_resumed_with_the_files_of_its_first_day(
    at_the_end_of_january: Path, service: Emulator, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_people(Path("people.csv"), 3)
    assert upload("--journal", "%F.journal") == 0
    printed.readouterr()
    monkeypatch.setattr(options, "started_at", lambda: START + datetime.timedelta(days=1))
    assert app.run(["jobs", "resume", "2026-01-31.journal"]) == 0
    assert resumed(printed) == 3
    assert upload("--journal", "%F.journal") == 0
    assert resumed(printed) == 0
    assert sorted(path.name for path in at_the_end_of_january.glob("*.journal")) == [
        "2026-01-31.journal",
        "2026-02-01.journal",
    ]


@pytest.mark.parametrize(
    ("name", "code"), [("%Q.journal", "%Q"), ("a-%Y-%", "%"), ("%x", "%x"), ("100%.journal", "%.")]
)
def test_what_is_no_part_of_a_date_is_told(name: str, code: str, printed: Printed) -> None:
    arguments = ["catalog", "upsert", "-", "--catalog", "7pc01"]
    for option in ("--journal", "--rejects"):
        assert app.run([*arguments[:2], "feed.csv", *arguments[3:], option, name]) == 2
        said = printed.readouterr().err
        assert f"Invalid value for {option}: {code} is not part of a date: use %Y, %y, %m, %d, " in said
        assert "%% for a percent sign" in said


@pytest.mark.parametrize(
    ("option", "arguments"),
    [
        ("--snapshot", ["audience", "sync", "-", *TO_AUDIENCE]),
        ("--digests", ["catalog", "upsert", "-", "--catalog", "7pc01"]),
    ],
)
def test_a_file_that_every_run_needs_takes_no_date(option: str, arguments: list[str], printed: Printed) -> None:
    assert app.run([*arguments, option, "members-%Y-%m.file"]) == 2
    said = printed.readouterr().err
    assert said == f"socialapi: {option} is the same file in every run, so its name cannot contain a date: remove %Y\n"


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_date_is_that_of_the_place_as_date_says_it(zone: str) -> None:
    codes = "".join(f"%{code} " for code in options.DATE_CODES if code not in "MS")
    environment = {**os.environ, "TZ": zone}
    program = f"from socialapi.cli import options\nprint(options.started_at().strftime({codes!r}))"
    date = ["date", f"+{codes}"]
    before = subprocess.check_output(date, env=environment, text=True)
    said = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert said in (before, subprocess.check_output(date, env=environment, text=True))
