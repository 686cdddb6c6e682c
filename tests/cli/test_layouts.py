"""`--write-layout` and `--layout` of every command, and `layout=` of every method, against an emulator."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from socialapi.cli import app
from socialapi.emulator import Emulator
from tests.bulk.products.model_catalog import product
from tests.cli.terminal import Printed

ACCOUNT = "18ce54d4x5t"
TO_AUDIENCE = ("--account", ACCOUNT, "--audience", "1nmth")
TO_LIST = ("--account", ACCOUNT, "--list", "7b2f1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_feed(path: str, rows: Sequence[Any], delimiter: str = ";") -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


JOBS = {
    "upload": (["audience", "upload"], ["audience", "lint"], TO_AUDIENCE),
    "sync": (["audience", "sync"], ["audience", "lint"], (*TO_AUDIENCE, "--snapshot", "snapshot")),
    "do-not-reach": (["do-not-reach", "upload"], ["do-not-reach", "lint"], TO_LIST),
    "catalog": (["catalog", "upsert"], ["catalog", "lint"], ("--catalog", "7pc01")),
}


@pytest.mark.parametrize("job", JOBS)
def test_a_lint_writes_a_layout_and_a_job_of_a_file_that_has_changed_ends_with_2_before_the_first_request(
    job: str, service: Emulator, printed: Printed
) -> None:
    command, lint, target = JOBS[job]
    option: tuple[str, ...]
    if job == "catalog":
        write_feed("a", [product("p1"), product("p2")])
        write_feed("b", [product("p3")], "|")
        option, says = ("--column", "title=title"), "the delimiter is '|', not ';'"
    else:
        Path("a").write_text("Kontakt;Telefon\nann@example.com;0171 3920012\n", "utf-8")
        Path("b").write_text("Kontakt,Mail\nann@example.com,bob@example.com\n", "utf-8")
        option = ("--column", "email=Kontakt", "--default-region", "DE")
        says = "the delimiter is ',', not ';'; missing: \"Telefon\" (phone_number); new: \"Mail\" (email)"
    assert app.run([*lint, "a", *option, "--write-layout", "l.toml"]) == 0
    assert app.run([*command, "b", *target, "--layout", "l.toml"]) == 2
    assert f"b: the file differs from the layout l.toml: {says}\n" in printed.readouterr().err
    assert app.run([*lint, "b", "--layout", "l.toml"]) == 2
    assert app.run([*command, "a", *target, "--layout", "l.toml", *option[:1], option[1].replace("=", "=x")]) == 2
    assert "columns contradicts the layout l.toml" in printed.readouterr().err
    assert not [each for each in service.requests if each.method in ("POST", "PUT")]
    assert app.run([*command, "a", *target, "--layout", "l.toml", "--json"]) == 0
    assert [each for each in service.requests if each.method in ("POST", "PUT")]


@pytest.mark.parametrize("name", ["outcomes.csv", "key.csv", "journal", "layout.csv", "expires_at.csv"])
def test_messages_leave_the_names_of_files_and_columns_as_they_are(
    name: str, service: Emulator, printed: Printed
) -> None:
    Path(name).write_text("Mail\nann@example.com\n", "utf-8")
    assert app.run(["audience", "lint", name, "--write-layout", "l.toml"]) == 0
    Path(name).write_text("Mail,expires_at\nann@example.com,\n", "utf-8")
    assert app.run(["audience", "upload", name, *TO_AUDIENCE, "--layout", "l.toml"]) == 2
    assert (
        f'{name}: the file differs from the layout l.toml: new: "expires_at" (expires_at)\n' in printed.readouterr().err
    )
    assert app.run(["audience", "upload", name, *TO_AUDIENCE, "--outcomes", "a_b.csv", "--rejects", "a_b.csv"]) == 2
    assert "--outcomes is the rejects file, too (a_b.csv)" in printed.readouterr().err


def test_a_job_is_resumed_by_its_command_with_the_layout(service: Emulator, printed: Printed) -> None:
    Path("a.csv").write_text("Mail;x\nann@example.com;1\n", "utf-8")
    assert app.run(["audience", "lint", "a.csv", "--write-layout", "l.toml"]) == 0
    command = ["audience", "upload", "a.csv", *TO_AUDIENCE, "--layout", "l.toml", "--journal", "j"]
    assert app.run(command) == 0
    printed.readouterr()
    assert app.run(["jobs", "show", "j"]) == 0
    assert "--layout" in printed.readouterr().out
    assert app.run([*command[:-4], "--journal", "j", "--json"]) == 0
    assert '"resumed":1' in printed.readouterr().out
