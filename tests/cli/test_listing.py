"""Lists on the command line: every one of them has the same formats, files and ways to go on."""

import asyncio
import contextlib
import csv
import fcntl
import io
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from cyclopts import App
from pyarrow import parquet
from rich.cells import cell_len

from socialapi.cli import app
from socialapi.cli.formats import ENDINGS, FORMATS, Format, ListKind
from socialapi.cli.listing import PagedFlags, print_pages
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError
from socialapi.models.model import Model
from socialapi.models.pages import Page
from socialapi.session.pager import Pager
from socialapi.webhooks import Receiver
from tests.cli.running import Shell
from tests.cli.terminal import Printed, program
from tests.support.server import Fault, Server, answer

NO_LISTS: Final = {
    "a job, whose report is no list": (
        "audience upload, audience sync, audience lint, do-not-reach upload, do-not-reach lint, catalog upsert, catalog lint, "
        "jobs resume, demo"
    ),
    "one thing that was found or made": (
        "ads account, ads line-item update, catalog create, webhooks create, webhooks validate, webhooks replay, jobs show"
    ),
    "what was done": "webhooks delete, webhooks inbox retry, webhooks inbox drop, jobs forget, auth login, auth logout, stream rules add, stream rules delete",
    "what happens, as it was sent and for as long as one looks on": "stream posts, stream activity, webhooks listen",
    "this program and its settings": "auth status, emulator, emulator target, completion, doctor, limits, help",
}
"""The commands that list nothing, and why that is so."""

LISTS: Final = {
    "ads accounts": "",
    "ads history": "18ce54d4x5t --entity-type campaign --entity-id 8wku2 --start-time 2025-01-06 --end-time 2025-01-07",
    "ads insights": "ski --granularity hour --start 2025-01-06 --end 2025-01-07",
    "ads targeted": "18ce54d4x5t 1nmth",
    "catalog list": "",
    "catalog products": "7pc01",
    "jobs list": "",
    "posts by-user": "2244994945 --limit 120",
    "stream rules list": "",
    "webhooks inbox list": "INBOX",
    "webhooks list": "",
}
"""Every list, with arguments for which the emulator has something."""


def commands(group: App, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    """Every command below a group; words with a hyphen first are help and version."""
    words = [word for word in group if not word.startswith("-")]
    if not words:
        yield name, group
    for word in words:
        yield from commands(group[word], (*name, word))


def options(command: App) -> set[str]:
    """The names of the options of a command."""
    return {name for argument in command.assemble_argument_collection() for name in argument.names}


def test_every_command_lists_in_every_format_or_it_is_said_why_it_is_no_list() -> None:
    no_lists = {name for names in NO_LISTS.values() for name in names.split(", ")}
    lacking = []
    found = set()
    for words, command in commands(app.app):
        name = " ".join(words)
        if {"--output", "--output-file", "--json"} <= options(command):
            found.add(name)
        elif name not in no_lists:
            lacking.append(name)
    assert not lacking, f"no --output: {', '.join(lacking)}"
    assert found == LISTS.keys()
    assert not found & no_lists


@pytest.fixture
def with_something(ready: Shell, emulator: Emulator, tmp_path: Path) -> Shell:
    ready.put(STATE_DIR=str(tmp_path / "state"))
    return ready


def count_of(format_: Format, path: Path) -> int:
    """How many items a file has."""
    if format_ == "parquet":
        return int(parquet.read_table(path).num_rows)
    text = path.read_bytes().decode()
    if format_ == "json":
        return len(json.loads(text))
    rows = [*csv.reader(io.StringIO(text, newline=""))] if format_ == "csv" else text.splitlines()
    return len(rows) - (format_ != "jsonl" and len(rows) > 0)


@pytest.mark.slow
@pytest.mark.parametrize("command", LISTS)
async def test_every_format_has_the_same_items(command: str, with_something: Shell, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox.sqlite"
    async with Receiver("secret", inbox=inbox):
        pass
    words = [str(inbox) if word == "INBOX" else word for word in f"{command} {LISTS[command]}".split()]
    await with_something.run("stream", "rules", "add", "snow", "--tag", "=cold")
    (tmp_path / "feed.json").write_text('[{"id": "A-1"}]')
    journal = tmp_path / "load.journal"
    await with_something.run(
        "catalog", "upsert", str(tmp_path / "feed.json"), "--catalog", "7pc01", "--journal", str(journal)
    )
    counts = {}
    for format_ in FORMATS:
        path = tmp_path / f"list.{format_}"
        done = await with_something.run(*words, "--output", format_, "--output-file", str(path))
        assert (done.status, done.out) == (0, ""), done.err
        counts[format_] = count_of(format_, path)
        for ending in (each for each, meant in ENDINGS.items() if meant == format_):
            by_name = await with_something.run(*words, "--output-file", str(tmp_path / f"again{ending}"))
            assert by_name.status == 0
            if format_ not in ("table", "parquet"):
                assert (tmp_path / f"again{ending}").read_bytes() == path.read_bytes()
    assert len(set(counts.values())) == 1, counts
    assert counts["json"] > 0 or command in {"webhooks list", "webhooks inbox list"}
    if command != "ads insights":
        flag = await with_something.run(*words, "--json")
        assert flag.out == (tmp_path / "list.jsonl").read_text()


async def test_stopping_and_going_on_gives_every_item_once_in_each_format(ready: Shell, tmp_path: Path) -> None:
    read = ("ads", "targeted", "18ce54d4x5t", "1nmth")
    whole = [each["campaign_id"] for each in (await ready.run(*read, "--json")).objects]
    ids: Mapping[str, Callable[[str], list[str]]] = {
        "table": lambda text: [line.split("\t")[0] for line in text.splitlines()[1:]],
        "json": lambda text: [each["campaign_id"] for each in json.loads(text)],
        "jsonl": lambda text: [json.loads(line)["campaign_id"] for line in text.splitlines()],
        "csv": lambda text: [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:],
    }
    for format_, read_ids in ids.items():
        first = await ready.run(*read, "--output", format_, "--limit", "130")
        position = re.search(r"stopped after 130 campaigns; continue with --start (\S+)\n", first.err)
        assert position is not None
        rest = await ready.run(*read, "--output", format_, "--start", shlex.split(position[1])[0])
        assert read_ids(first.out) + read_ids(rest.out) == whole
    path = tmp_path / "first.parquet"
    assert "--start" in (await ready.run(*read, "--limit", "130", "--output-file", str(path))).err
    assert parquet.read_table(path)["campaign_id"].to_pylist() == whole[:130]


async def test_a_list_that_fails_leaves_the_earlier_file_and_nothing_to_go_on_with(
    shell: Shell, tmp_path: Path
) -> None:
    page = {"data": [{"id": "1", "text": "one"}], "meta": {"result_count": 1, "next_token": "page-1"}}
    path = tmp_path / "posts.json"
    path.write_text("[]")
    async with Server(answer(page), then=answer(status=404)) as server:
        shell.put(BASE_URL=server.url, BEARER_TOKEN="b")
        done = await shell.run("posts", "by-user", "1", "--output-file", str(path))
        assert (done.status, done.out, path.read_text()) == (3, "", "[]")
        assert "stopped after" not in done.err
        assert os.listdir(tmp_path) == ["posts.json"]  # noqa: PTH208  # which nothing awaits
    async with Server(answer(page), then=answer(status=404)) as server:
        shell.put(BASE_URL=server.url)
        printed = await shell.run("posts", "by-user", "1", "--output", "json")
    assert (printed.status, json.loads(printed.out)) == (3, [{"id": "1", "text": "one"}])
    assert "stopped after 1 post; continue with --start 0:page-1" in printed.err


async def test_a_list_that_its_settings_end_says_how_to_go_on(printed: Printed) -> None:
    async def fetch(token: str | None, size: int | None = None) -> Page[Model]:
        if token is None:
            return Page(data=(Model(extra={"id": "1"}),), next_token="page-1")
        raise ConfigurationError("the file of tokens is damaged")

    pager = Pager(fetch, asyncio.create_task)
    with pytest.raises(ConfigurationError):
        await print_pages(pager, ListKind(name="thing", record=Model, columns=()), PagedFlags(output="jsonl"))
    out, err = printed.readouterr()
    assert json.loads(out) == {"id": "1"}
    assert "stopped after 1 thing; continue with --start 0:page-1" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--json --output csv", "--json is the same as --output jsonl, and cannot be combined with --output csv"),
        ("--escape-formulas", "--escape-formulas works only with --output csv"),
        ("--fields id --json", "--fields works only with --output table or csv"),
        ("--fields id,timzone", "--fields: there is no column 'timzone': did you mean timezone?"),
        (
            "--fields shoe --output csv",
            "--fields: there is no column 'shoe': the columns are id, state, name, business_name, ",
        ),
        ("--output xml", '"xml" for --output'),
        (
            "--output-file accounts.xlsx",
            "--output-file: unknown extension .xlsx (known: .json, .jsonl, .ndjson, .csv, ",
        ),
        ("--output-file accounts.json.gz", "unknown extension .gz"),
        ("--output-file missing/accounts.csv", "missing/accounts.csv cannot be written: No such file or directory"),
    ],
)
async def test_options_that_contradict_each_other_are_said_before_anything_is_asked(
    arguments: str, says: str, ready: Shell, emulator: Emulator
) -> None:
    done = await ready.run("ads", "accounts", *arguments.split())
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert not [request for request in emulator.requests if request.path.startswith("/ads")]


async def test_the_rest_of_a_list_never_replaces_its_first_part(
    ready: Shell, emulator: Emulator, tmp_path: Path
) -> None:
    read, path = ("ads", "accounts", "--json", "--output-file"), tmp_path / "accounts.jsonl"
    first = await ready.run(*read, str(path), "--limit", "1")
    assert first.err == "socialapi: stopped after 1 account; continue with --start 1@18ce54d4x5t:, into another file\n"
    before, asked = path.read_bytes(), len(emulator.requests)
    again = await ready.run(*read, str(path), "--start", "1@18ce54d4x5t:")
    assert (again.status, path.read_bytes(), len(emulator.requests)) == (2, before, asked)
    assert (
        again.err == f"socialapi: --start writes the rest of the list, but {path} already exists: name another file\n"
    )
    rest = await ready.run(*read, str(tmp_path / "rest.jsonl"), "--start", "1@18ce54d4x5t:")
    assert rest.status == 0
    whole = (await ready.run("ads", "accounts", "--json")).out
    assert path.read_text() + (tmp_path / "rest.jsonl").read_text() == whole


async def test_the_date_in_the_name_of_a_file_is_filled_in(ready: Shell, tmp_path: Path) -> None:
    done = await ready.run("ads", "accounts", "--output-file", str(tmp_path / "a-%Y-%%.csv"))
    assert (done.status, done.err) == (0, "")
    (made,) = os.listdir(tmp_path)  # noqa: PTH208  # which nothing awaits
    assert re.fullmatch(r"a-\d{4}-%\.csv", made)


@pytest.mark.slow
def test_what_leads_to_an_open_file_adds_to_it(running: Emulator, tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "out"):
        command = f"echo before; {shlex.quote(sys.executable)} -m socialapi ads accounts --json --output-file {name}; echo after"
        log = tmp_path / "log"
        with log.open("wb") as file:
            environment = dict(os.environ) | running.environment
            subprocess.run(["sh", "-c", command], env=environment, stdout=file, check=True, cwd=tmp_path)
        lines = log.read_text().splitlines()
        assert (lines[0], json.loads(lines[1])["id"], lines[-1]) == ("before", "18ce54d4x5t", "after")
    assert (tmp_path / "out").is_symlink()


async def test_a_pipe_with_a_name_is_written_and_stays(ready: Shell, tmp_path: Path) -> None:
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    reading = asyncio.create_task(asyncio.to_thread(path.read_bytes))
    done = await ready.run("ads", "accounts", "--limit", "1", "--output-file", str(path))
    assert done.err == "socialapi: stopped after 1 account; continue with --start 1@18ce54d4x5t:\n"
    assert (await reading).startswith(b"id,name,")
    assert path.is_fifo()


async def test_a_list_without_a_standard_output_fails(emulator: Emulator) -> None:
    without = ("sh", "-c", 'exec "$@" >&-', "sh")
    async with program("ads", "accounts", environment=emulator.environment, before=without) as listing:
        status, _, err = await listing.ended()
    assert (status, err) == (2, "socialapi: the output cannot be written: standard output is closed\n")


async def test_the_author_has_columns_where_it_was_asked_for(ready: Shell) -> None:
    read = ("posts", "by-user", "2244994945", "--limit", "2", "--output", "csv")
    bare = [*csv.DictReader(io.StringIO((await ready.run(*read)).out, newline=""))]
    full = [*csv.DictReader(io.StringIO((await ready.run(*read, "--expansions", "author_id")).out, newline=""))]
    assert not any(name.startswith("author.") for name in bare[0])
    assert {(post["author.id"], post["author_id"]) for post in full} == {("2244994945", "2244994945")}
    assert [post["text"] for post in bare] == [post["text"] for post in full]


async def test_fields_choose_the_columns_of_tables_and_csv(ready: Shell) -> None:
    done = await ready.run("ads", "accounts", "--fields", "id,timezone")
    assert done.rows == [["ID", "TIMEZONE"], ["18ce54d4x5t", "Europe/Berlin"], ["18ce54u7r2k", "Europe/Berlin"]]
    done = await ready.run("ads", "accounts", "--fields", "name, id", "--output", "csv")
    assert done.out == "name,id\r\nNorthwind Outdoor,18ce54d4x5t\r\nNorthwind Home,18ce54u7r2k\r\n"
    read = (
        "posts",
        "by-user",
        "2244994945",
        "--limit",
        "1",
        "--fields",
        "created_at,public_metrics",
        "--output",
        "csv",
    )
    header, row = csv.reader(io.StringIO((await ready.run(*read)).out, newline=""))
    assert header[:4] == ["id", "text", "created_at", "public_metrics.retweet_count"]
    assert all(row)
    done = await ready.run(*read, "--expansions", "author_id")
    assert {"author_id", "author.username"} < set(done.out.splitlines()[0].split(","))


async def test_an_empty_list_says_so_beside_a_table_only(ready: Shell) -> None:
    nobody = ("ads", "accounts", "--q", "nobody", "--output")
    assert (await ready.run(*nobody, "table")).err == "socialapi: there are no such accounts\n"
    for format_, out in (("json", "[]\n"), ("jsonl", "")):
        done = await ready.run(*nobody, format_)
        assert (done.status, done.out, done.err) == (0, out, "")
    header = (await ready.run(*nobody, "csv")).out
    assert header.startswith("id,name,business_name,")
    assert header.count("\r\n") == 1


@pytest.mark.slow
async def test_rows_appear_before_the_next_page_is_there(shell: Shell) -> None:
    page = {"data": [{"id": "1", "text": "one"}], "meta": {"result_count": 1, "next_token": "page-1"}}
    expected = {"table": b"ID\tTEXT\n1\tone\n", "json": b'[\n{"id":"1","text":"one"}', "csv": b"id,text,"}
    for format_, begin in expected.items():
        async with Server(answer(page), then=Fault.SILENCE) as server:
            environment = {"SOCIALAPI_BASE_URL": server.url, "SOCIALAPI_BEARER_TOKEN": "b"}
            command = ("posts", "by-user", "1", "--output", format_)
            async with program(*command, environment=environment) as running, asyncio.timeout(30):
                assert running.process.stdout is not None
                assert await running.process.stdout.readexactly(len(begin)) == begin


# Terminals


def on_terminal(columns: int, arguments: str, environment: Mapping[str, str]) -> list[str]:
    """The lines that a command shows on a terminal of this width, without colours if some are wanted."""
    process, terminal = pty.fork()
    if not process:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        command = [sys.executable, "-m", "socialapi", *arguments.split()]
        os.execve(sys.executable, command, kept | dict(environment) | {"TERM": "xterm"})
    shown = b""
    with contextlib.suppress(OSError):  # Linux's word for the end
        while some := os.read(terminal, 65_536):
            shown += some
    os.close(terminal)
    os.waitpid(process, 0)
    return re.sub("" if "NO_COLOR" in environment else r"\x1b\[[\d;]*m", "", shown.decode()).splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("columns", [50, 80, 200])
async def test_a_table_fits_the_terminal_and_cuts_no_id(columns: int, ready: Shell, emulator: Emulator) -> None:
    command = "posts by-user 2244994945 --fields created_at --expansions author_id --limit 120"
    lines = await asyncio.to_thread(on_terminal, columns, command, emulator.environment)
    assert lines[0].split()[:2] == ["ID", "TIME"]
    rows = [line for line in lines[1:] if not line.startswith("socialapi: ")]
    posts = (await ready.run("posts", "by-user", "2244994945", "--limit", "120", "--json")).objects
    assert [row.split()[0] for row in rows] == [post["id"] for post in posts]
    assert all(cell_len(line) <= columns for line in (lines[0], *rows))
    assert any(row.endswith("…") for row in rows) == (columns > 50)
    assert ("AUTHOR" in lines[0], "TEXT" in lines[0]) == (True, columns > 50)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            "audience upload people.csv --account a1 --audience c1 --dry-run",
            "7 rows: email: is not a plausible e-mail address (row 1, row 2, row 3, row 4, row 5, …)",
        ),
        (
            "audience lint people.csv",
            "risk of few matches: high (a rule of thumb: 0 of 7 rows have a usable identifier; how many of them the service",
        ),
        (
            "audience upload",
            "optionally compressed with gzip or Zstandard, or Parquet (see `socialapi audience upload --help`)",
        ),
        (
            "ads insights --granularity day --start 2025-01-06",
            "socialapi: the request breaks 1 rule of the service; nothing was sent - KEYWORDS: must have at least 1",
        ),
    ],
)
def test_reports_and_messages_are_folded_between_words_for_a_terminal(
    columns: int, command: str, sentence: str, running: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("email\n" + "wrong\n" * 7)
    lines = on_terminal(columns, f"{command} -q", running.environment)
    assert all(cell_len(line) <= columns for line in lines)
    assert sentence in " ".join(line.strip() for line in lines)


async def test_columns_is_the_width_if_it_is_set(emulator: Emulator) -> None:
    lines = await asyncio.to_thread(
        on_terminal, 200, "ads targeted 18ce54d4x5t 1nmth", emulator.environment | {"COLUMNS": "40"}
    )
    assert max(map(cell_len, lines)) == 40


@pytest.mark.slow
async def test_a_terminal_gets_no_parquet_and_no_signs_that_it_would_obey(emulator: Emulator) -> None:
    refused = await asyncio.to_thread(on_terminal, 80, "ads accounts --output parquet", emulator.environment)
    assert refused == ["socialapi: Parquet needs a file: specify one with --output-file"]
    page = {"data": [{"id": "1", "text": "a\x1b[2Jb\x9b2Jc\u202ed\u2066\U000e0041"}], "meta": {"result_count": 1}}
    async with Server(then=answer(page)) as server:
        environment = {"SOCIALAPI_BASE_URL": server.url, "SOCIALAPI_BEARER_TOKEN": "b"}
        for format_ in ("table", "json", "jsonl", "csv"):
            command = f"posts by-user 1 --output {format_}"
            shown = "\n".join(await asyncio.to_thread(on_terminal, 80, command, environment))
            assert not {"\x1b", "\x9b", "\u202e", "\u2066", "\U000e0041"} & set(shown)
            assert "2Jb" in shown


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_help_fits_the_terminal_and_has_no_colours_where_none_are_wanted(columns: int) -> None:
    for command in ("help", "help audience upload", "help posts by-user"):
        lines = on_terminal(columns, command, {"NO_COLOR": "1"})
        assert not any("\x1b" in line for line in lines)
        assert all(cell_len(line) <= columns for line in lines if not line.startswith("  socialapi "))
        assert max(map(cell_len, lines)) >= columns


def test_columns_can_be_cut_out_of_a_pipe(running: Emulator) -> None:
    command = f"{shlex.quote(sys.executable)} -m socialapi ads accounts | cut -f3"
    environment = dict(os.environ) | running.environment
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "NAME\nNorthwind Outdoor\nNorthwind Home\n"


def examples(command: str) -> list[str]:
    """The examples in the help of a command, without the program's name."""
    group = app.app
    for word in command.split():
        group = group[word]
    found = re.findall(r"`socialapi\s([^`]*)`", (group.help or "").partition("For example")[2])
    return [" ".join(example.split()) for example in found if " ".join(example.split()).startswith(command)]


@pytest.mark.parametrize("command", LISTS)
async def test_the_examples_in_the_help_of_a_list_work(
    command: str, with_something: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Receiver("secret", inbox=tmp_path / "events.sqlite"):
        pass
    (tmp_path / "feed.json").write_text('[{"id": "A-1"}]')
    await with_something.run("catalog", "upsert", "feed.json", "--catalog", "7pc01", "--journal", "nightly.journal")
    assert examples(command)
    for example in examples(command):
        done = await with_something.run(*example.split())
        assert done.status == 0, (example, done.err)
