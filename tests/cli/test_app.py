"""The command line as a whole: help, wrong usage, and what becomes of errors."""

import gc
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cyclopts import App

from socialapi import _speedups, cli
from socialapi.cli import app, output
from socialapi.emulator import Emulator
from socialapi.errors import BulkError, ConfigurationError, InvalidInput, TransportError
from socialapi.reports import UploadReport
from tests.cli.terminal import Printed


def commands(group: App, *names: str) -> Iterator[tuple[str, ...]]:
    """The groups and commands below a group, by their names."""
    yield names
    for name in group:
        if not name.startswith("-") and group[name].help_flags:
            yield from commands(group[name], *names, name)


@pytest.mark.parametrize("command", list(commands(app.app)), ids=" ".join)
def test_every_command_helps_with_its_examples_before_its_options(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert app.run([*command, "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith(" ".join(("Usage: socialapi", *command)))
    assert not shown.err
    assert app.run(["help", *command]) == 0
    assert capsys.readouterr() == shown
    assert not re.search(r"default: False|\b(STR|INT|FLOAT|PATH|BOOL)\b|\x1b", shown.out)
    if "Commands" not in shown.out or command == ("emulator",):
        examples = re.findall(r"^  (socialapi .*)$", shown.out.partition("\n╭")[0], re.MULTILINE)
        assert examples
        for example in examples:
            assert example.removeprefix("socialapi ").startswith(" ".join(command))
            app.app.parse_args(shlex.split(example)[1:], exit_on_error=False, print_error=False)


def test_help_shows_what_is_required_first_and_texts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["help", "audience", "upload"]) == 0
    text = capsys.readouterr().out
    usage, summary, examples, columns, statuses, *_ = text.split("\n\n")
    assert " ".join(usage.split()) == (
        "Usage: socialapi audience upload --audience AUDIENCE --account ACCOUNT [OPTIONS] FILE..."
    )
    assert summary == "Upload one or more files to a custom audience."
    assert examples.startswith("Examples:\n  socialapi audience upload crm.csv --account")
    assert columns.startswith("Identifiers are found by")
    assert statuses.startswith("Exit status: 0 nothing rejected, 1 ")
    assert "('exports/*.csv')" in " ".join(re.sub("[│\n]", " ", text).split())
    options = re.findall(r"^│[ *]*(--[\w-]+)", text, re.MULTILINE)
    assert options[:5] == ["--account", "--audience", "--operation", "--dry-run", "--journal"]
    assert options[-1] == "--json"
    assert app.run(["help", "audience", "uplaod"]) == 2
    assert capsys.readouterr().err == (
        "socialapi: there is no command audience uplaod: did you mean audience upload? (see `socialapi help audience`)\n"
    )


def test_it_tells_its_version_and_whether_the_extension_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == 0
    version, speedups = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"socialapi \d+\.\d+\.\d+", version)
    assert speedups == _speedups.description()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            "jobs show x extra",
            "unexpected argument 'extra' (see `socialapi jobs show",
        ),
        ("bogus", 'Unknown command "bogus"'),
        ("audience upload - --account a --audience b --bogus", "Unknown option: --bogus"),
        ("audience upload --account a --audience b", "FILE is missing: CSV (any usual delimiter), JSON Lines"),
        ("audience upload people.csv --acount=a --audience b", "no option --acount=a; did you mean --account? (see"),
        ("audience lint people.csv --smaple 3", "no option --smaple; did you mean --sample? (see"),
        ("audience lint people.csv --no-json", "no option --no-json; to use a file of this name, write ./--no-json"),
        ("audience lint people.csv --fast", "no option --fast; to use a file of this name, write ./--fast (see"),
        ("jobs show --jsan", "Unknown option: --jsan. Did you mean --json? (see"),
        ("jobs show", "JOB is missing: Id of a job"),
        ("demo --rows", "--rows needs a value"),
        ("demo --rows many", "Invalid value for --rows: must be a whole number"),
        ("webhooks inbox retry events.sqlite x", "Invalid value for NUMBERS: must be a whole number"),
        ("jobs show x --json=maybe", "Invalid value for --json: must be true or false"),
        ("catalog upsert f --catalog c --max-reject-share ten", "for --max-reject-share: must be a number"),
        ("audience upload - --account a --audience b --concurrency many", "--concurrency"),
        ("do-not-reach upload - --account a --list b --effective-at 2090", "--effective-at"),
        ("ads targeted a b --limit 0", "Must be >= 1"),
        ("emulator --port 65536", 'Invalid value "65536" for --port. Must be <= 65535'),
    ],
)
def test_wrong_usage_is_one_sentence_and_status_2(
    arguments: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(arguments.split()) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("socialapi: ")
    assert says in printed.err
    assert printed.err.endswith(" --help`)\n")
    assert "(see `socialapi" in printed.err
    assert printed.err.count("\n") == 1
    assert not printed.out


@pytest.mark.parametrize(
    ("problem", "status", "says"),
    [
        (InvalidInput("no such thing"), 2, "no such thing"),
        (ConfigurationError("nothing is set"), 2, "nothing is set"),
        (TransportError("no connection", "example.com"), 3, "example.com: no connection"),
        (OSError(28, "No space left on device"), 2, "the output cannot be written: No space left on device"),
        (PermissionError(13, "Permission denied", "/x"), 2, "/x cannot be written: Permission denied"),
        (OSError(), 2, "the output cannot be written: the system gives no reason"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_become_a_sentence_and_a_status(
    problem: BaseException,
    status: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(arguments: list[str]) -> None:
        raise problem

    monkeypatch.setattr(app, "call", fail)
    assert app.run([]) == status
    assert capsys.readouterr().err == f"socialapi: {says}\n"


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(arguments: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(app, "call", fail)
    with pytest.raises(ZeroDivisionError):
        app.run([])


def test_a_stopped_job_has_the_status_of_its_cause() -> None:
    def caused_by(cause: BaseException | None) -> BulkError:
        error = BulkError("stopped", UploadReport())
        error.__cause__ = cause
        return error

    assert output.status_of(caused_by(InvalidInput("bad row"))) == 2
    assert output.status_of(caused_by(TransportError("gone"))) == 3
    assert output.status_of(caused_by(ValueError("of an iterable"))) == 2
    assert output.status_of(caused_by(None)) == 3


class Full(io.TextIOWrapper):
    """A standard output that takes nothing."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(io.BytesIO(), "ascii")
        self.descriptor = descriptor

    def reconfigure(self, **settings: object) -> None:
        return

    def flush(self) -> None:
        raise OSError(28, "No space left on device")

    def fileno(self) -> int:
        return self.descriptor

    def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("status", "ends_with", "says"),
    [
        (0, 2, "socialapi: the output cannot be written: No space left on device\n"),
        (1, 2, "socialapi: the output cannot be written: No space left on device\n"),
        (2, 2, ""),
        (3, 3, ""),
    ],
)
def test_output_that_cannot_be_written_at_the_end_is_said_once(
    status: int,
    ends_with: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with (tmp_path / "output").open("w") as file:
        monkeypatch.setattr(sys, "stdout", Full(file.fileno()))
        monkeypatch.setattr(app, "run", lambda: status)
        with pytest.raises(SystemExit) as caught:
            app.main()
        assert os.fstat(file.fileno()).st_rdev == Path(os.devnull).stat().st_rdev
    assert caught.value.code == ends_with
    assert capsys.readouterr().err == says


@pytest.fixture
def _own_sigterm() -> Iterator[None]:
    """`main` handles SIGTERM for the rest of its process, which is that of the tests here."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("_own_sigterm")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_everything_is_imported_is_no_traceback(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "socialapi.cli.app":
                signal.raise_signal(number)

    # Of the process that runs the tests.
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.delitem(sys.modules, "socialapi.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupting, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == output.INTERRUPTED


SETTINGS_OF_GC = "print(*gc.get_threshold(), gc.get_freeze_count() > 0)"


def in_a_process(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", f"import atexit, gc, sys\natexit.register(lambda: {SETTINGS_OF_GC})\n{program}"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()[-1]


def test_a_process_of_the_command_line_collects_garbage_less_often(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("email\nada@example.com\n")
    main = "from socialapi.cli import main\nmain()"
    assert in_a_process(main, "audience", "lint", str(people)) == "50000 20 100 True"


def test_the_package_leaves_the_settings_of_the_garbage_collector_to_the_program(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("email\nada@example.com\n")
    job = f"""
import asyncio
from socialapi import Client, OAuth1
from socialapi.cli import app

async def upload():
    async with Client(credentials=[OAuth1("k", "s", "t", "ts")]) as client:
        report = await client.ads.account("a").custom_audience("c").upload({str(people)!r}, dry_run=True)
        assert report.read == 1

asyncio.run(upload())
assert app.run(["audience", "lint", {str(people)!r}]) == 0
"""
    untouched = subprocess.run(
        [sys.executable, "-c", f"import gc; {SETTINGS_OF_GC}"], capture_output=True, text=True, check=True
    )
    assert in_a_process(job) == untouched.stdout.strip()
    assert untouched.stdout.endswith(" False\n")


def test_a_command_loads_no_other_command() -> None:
    program = "from socialapi.cli import main\nsys.argv[1:] = ['--version']\natexit.register(lambda: print(*sys.modules))\nmain()"
    command = [sys.executable, "-c", f"import atexit, sys\n{program}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split()
    assert {name for name in loaded if name.startswith("socialapi.cli.")} == {
        "socialapi.cli.app",
        "socialapi.cli.output",
    }
    assert not {"aiohttp", "cattrs", "socialapi.bulk", "socialapi.models"} & set(loaded)


def test_words_in_brackets_are_words_and_no_json(service: Emulator, printed: Printed) -> None:
    assert app.run(["jobs", "list", "[ab].journal"]) == 2
    assert "[ab].journal" in printed.readouterr().err
    assert app.run(["stream", "rules", "add", "[cats]"]) in (0, 3)
    assert "JSON" not in printed.readouterr().err
