"""Everything that is wrong with a command line is told at once."""

from pathlib import Path

import pytest
from cyclopts import CycloptsError
from hypothesis import given
from hypothesis import strategies as st

from socialapi.cli import app, usage
from tests.cli.terminal import Printed

EMULATOR_TARGET = "takes URL=LOCAL, for example https://hooks.example.com/in=http://127.0.0.1:9000/in, not 'x'"
TOGETHER = {
    "audience upload missing.csv --operation bogus --default-region XX --unknown 3 --concurrency 1.5 --column email": [
        "Unknown option: --unknown.",
        "There is no file missing.csv.",
        "--audience is missing: Id of the custom audience.",
        "--account is missing: Id of the advertising account.",
        "--column takes KIND=NAME, for example --column email=Contact, not 'email'",
        "--default-region: 'XX' is not a region: give two letters of ISO 3166 such as US, DE or GB",
        "Invalid value for --concurrency: must be a whole number",
        'Invalid value "bogus" for --operation. Choose from: "update", "delete".',
    ],
    "audience upload - --account a --audience b --effective-at tomorrow --expires-at 2090-01-01 --max-reject-share 2": [
        "--effective-at is not an ISO 8601 time, for example 2026-01-31T09:00:00Z",
        "--expires-at has no time zone, for example Z as in 2026-01-31T09:00:00Z",
        'Invalid value "2.0" for --max-reject-share. Must be <= 1.',
    ],
    "catalog upsert - --journal load.journal --delete-vanished": [
        "--catalog is missing: Id of the catalog.",
        "standard input cannot be read again, so it takes no journal: give a file, or leave out --journal",
        "--delete-vanished needs --digests: without them nobody knows what was loaded before",
    ],
    "emulator --port 1 --port 2 --detach --stop --empti --webhook-target x": [
        "Parameter --port specified multiple times.",
        "Unknown option: --empti. Did you mean --empty?",
        f"--webhook-target {EMULATOR_TARGET}",
        "--detach and --stop exclude each other",
    ],
    "audience lint one.csv --sample many two.csv": [
        "'two.csv' is one argument too many, or stands apart from the others",
        "There is no file one.csv.",
        "Invalid value for --sample: must be a whole number",
    ],
    "jobs show --jsan": [
        "Unknown option: --jsan. Did you mean --json?",
        "JOB is missing: Id of a job, as `socialapi jobs list` shows it, or the path or name of its journal.",
    ],
    "demo --rows --seed": ["--rows needs a value: Rows of the CRM export.", "Unknown option: --seed."],
}
"""Command lines, and what is wrong with each."""


@pytest.fixture
def _bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOCIALAPI_ADS_URL", raising=False)


@pytest.mark.usefixtures("_bare")
@pytest.mark.parametrize(("words", "faults"), TOGETHER.items())
def test_every_fault_has_a_line(words: str, faults: list[str], printed: Printed) -> None:
    assert app.run(words.split()) == 2
    said = printed.readouterr()
    heading, *lines = said.err.splitlines()
    command = " ".join(words.split()[: 1 if words.startswith(("emulator", "demo")) else 2])
    assert heading == f"socialapi: {len(faults)} things are wrong (see `socialapi {command} --help`):"
    assert [line.removeprefix("  ") for line in lines] == faults
    assert not said.out


@pytest.mark.usefixtures("_bare")
def test_settings_of_the_environment_that_are_wrong_are_told_as_well(
    monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    monkeypatch.setenv("SOCIALAPI_ADS_URL", "http://ads.example")
    monkeypatch.setenv("SOCIALAPI_MAX_OPERATIONS", "some")
    assert app.run(["do-not-reach", "upload", "-", "--account", "a"]) == 2
    assert printed.readouterr().err == (
        "socialapi: 3 things are wrong (see `socialapi do-not-reach upload --help`):\n"
        "  --list is missing: Id of the do-not-reach list.\n"
        "  SOCIALAPI_ADS_URL must be https: credentials are never sent in the clear\n"
        "  SOCIALAPI_MAX_OPERATIONS is not a number: 'some'\n"
    )
    assert app.run(["do-not-reach", "lint"]) == 2  # it does not read them
    assert printed.readouterr().err.count("\n") == 1


def test_the_value_of_an_unknown_option_is_no_file_unless_there_is_none(printed: Printed) -> None:
    account = ["--account", "a", "--audience", "b"]
    assert app.run(["audience", "upload", "-", *account, "--rate", "3", "--sped", "4"]) == 2
    assert printed.readouterr().err.splitlines()[1:] == ["  Unknown option: --rate.", "  Unknown option: --sped."]
    assert app.run(["audience", "upload", "--rate", "3", "-", *account, "--sped"]) == 2
    assert printed.readouterr().err.splitlines()[1:] == ["  Unknown option: --rate.", "  Unknown option: --sped."]
    assert app.run(["audience", "upload", "--fast", "missing.csv", *account]) == 2
    assert printed.readouterr().err.splitlines()[1:] == ["  Unknown option: --fast.", "  There is no file missing.csv."]


WORDS = st.sampled_from(
    [
        "--",
        "-",
        "-1",
        "-x",
        "--bid",
        "1.5",
        "--status",
        "paused",
        "--clear",
        "--json",
        "--json=maybe",
        "--no-json",
        "--=",
        "--unknown",
        "--goal=x",
        "--categories",
        "a,b",
        "x.csv",
        "--help-me",
        "--daily-budget",
        "--account",
        "--audience",
        "--list",
        "--operation",
        "update",
        "--operation=x",
        "--column",
        "a=b",
    ]
)
COMMANDS = st.sampled_from(
    [
        "ads line-item update",
        "audience upload",
        "audience sync",
        "do-not-reach upload",
        "catalog lint",
        "jobs list",
        "jobs show",
        "ads insights",
        "stream rules add",
        "posts by-user",
        "x",
    ]
)


@given(COMMANDS, st.lists(WORDS, max_size=8))
def test_what_cyclopts_takes_has_no_faults_and_what_it_refuses_is_answered_in_words(
    command: str, words: list[str]
) -> None:
    line = [*command.split(), *words]
    try:
        app.app.parse_args(line, exit_on_error=False, print_error=False)
    except CycloptsError as problem:
        said = usage.message(app.app, line, problem, {})
        assert said.strip()
    else:
        _, faults = usage.faults_of(app.app, line)
        assert [each for each in faults if not each.startswith("There is no file ")] == []


def test_words_that_stand_apart_from_others_are_no_fault_where_any_number_is_taken(printed: Printed) -> None:
    assert app.run(["jobs", "list", "a.journal", "--json", "b.journal", "--limt", "3"]) == 2
    assert "Unknown option: --limt." in (said := printed.readouterr().err)
    assert "b.journal" not in said
