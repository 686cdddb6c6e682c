"""`socialapi audience sync`: files in, exit statuses and reports out, and what a kill leaves behind."""

import json
import re
from pathlib import Path
from typing import Final

import pytest

from socialapi.cli import app
from socialapi.emulator import Emulator
from tests.cli.terminal import write_people

ACCOUNT: Final = "18ce54d4x5t"
AUDIENCE: Final = "1nmth"
TARGET: Final = ("--account", ACCOUNT, "--audience", AUDIENCE, "--snapshot", "audience.snapshot")


@pytest.fixture
def service(service: Emulator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Emulator:
    """As everywhere, for commands in the folder of the test, which is where snapshots are."""
    monkeypatch.chdir(tmp_path)
    return service


def synced(file: Path, *more: str) -> int:
    return app.run(["audience", "sync", str(file), *TARGET, *more])


def table_of(out: str) -> dict[str, str]:
    return {" ".join(words[:-1]): words[-1] for words in map(str.split, out.splitlines()) if words[1:]}


def test_a_file_is_synced_and_the_table_says_what_was_done(
    service: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synced(write_people(tmp_path / "people.csv", 20)) == 0
    assert synced(write_people(tmp_path / "people.csv", 19, "new@example.com")) == 0
    out, err = capsys.readouterr()
    shown = table_of(out[out.rindex("read ") :])
    assert {name: shown[name] for name in list(shown)[:15]} == {
        "read": "20",
        "accepted": "20",
        "unchanged": "19",
        "added": "1",
        "rejected": "0",
        "duplicate": "0",
        "pending": "0",
        "warnings": "0",
        "requests": "2",
        "retries": "0",
        "identifiers before": "20",
        "removed": "1",
        "held back": "0",
        "identifiers after": "20",
        "rows/s": shown["rows/s"],
    }
    assert not err
    assert len(service.members(ACCOUNT, AUDIENCE)) == 20


def test_too_many_removals_end_with_2_until_they_are_allowed(
    service: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synced(write_people(tmp_path / "people.csv", 20)) == 0
    file = write_people(tmp_path / "people.csv", 10)
    capsys.readouterr()
    assert synced(file, "--json") == 2
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert (report["held_back"], report["unchanged"], report["requests"]) == (10, 10, 0)
    assert err.startswith("socialapi: the sync stopped before anything was sent: 10 of the 20 identifiers")
    assert "--max-removal-share 1.0" in err
    assert synced(file) == 2
    assert capsys.readouterr() == ("", err)
    assert len(service.requests) == 1
    assert synced(file, "--max-removal-share", "0.5") == 0
    assert len(service.members(ACCOUNT, AUDIENCE)) == 10


def test_rejected_rows_end_with_1_and_hold_removals_back(
    service: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synced(write_people(tmp_path / "people.csv", 20)) == 0
    capsys.readouterr()
    assert synced(write_people(tmp_path / "people.csv", 18, "wrong"), "--rejects", "rejects.csv") == 1
    out = capsys.readouterr().out
    assert "row 19: email: is not a plausible e-mail address\n" in out
    assert "2 identifiers that are missing from the input were kept, because rejected rows may contain them" in out
    assert (tmp_path / "rejects.csv").read_text("utf-8").splitlines()[1:] == [
        "19,email,is not a plausible e-mail address"
    ]
    assert len(service.members(ACCOUNT, AUDIENCE)) == 20


def test_a_removal_that_is_refused_ends_with_1(
    service: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synced(write_people(tmp_path / "people.csv", 2)) == 0
    service.faults.add("operation_error", index=0)
    assert synced(write_people(tmp_path / "people.csv", 1), "--max-removal-share", "1") == 1
    out = capsys.readouterr().out
    assert "an identifier params.users: was not removed: INVALID_PARAMETER: a scripted fault\n" in out


def test_a_refusal_of_the_service_ends_with_3_and_says_what_to_do(
    service: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_people(tmp_path / "people.csv", 2)
    command = ["audience", "sync", str(file), "--account", ACCOUNT, "--audience", "unknown", "--snapshot", "other"]
    assert app.run(command) == 3
    out, err = capsys.readouterr()
    assert "syncing the same file again is safe" in out
    assert err.startswith("socialapi: the accepted changes are saved in other. To continue, run the same command")
    assert re.search("socialapi: the sync stopped while adding: POST /.*: 404 NOT_FOUND", err)


@pytest.mark.parametrize(
    ("name", "content", "more", "says"),
    [
        ("empty.csv", "", "", "the file is empty: an empty list would remove every member"),
        ("empty.csv", "", "--allow-empty", "--allow-empty"),
        ("people.csv", "email\na@b.cd\nnobody\n", "--max-reject-share 0.4", "1 of 2 rows were rejected"),
        ("people.csv", "email\na@b.cd\n", "--max-removal-share 2", "for --max-removal-share. Must be <= 1."),
        ("people.csv", "email,operation_type\na@b.cd,delete\n", "", "--column operation_type="),
        ("people.csv", 'email\na@b.cd\n"never closed\n', "", "the input broke off"),
        ("people.csv", "email\na@b.cd\n", "--rejects audience.snapshot", "is the rejects file, too"),
    ],
)
def test_what_cannot_be_used_ends_with_2_and_nothing_is_sent(
    service: Emulator,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    more: str,
    says: str,
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_text(content, "utf-8")
    assert synced(file, *more.split()) == 2
    assert says in capsys.readouterr().err
    assert not service.requests
