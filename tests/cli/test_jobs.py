"""Jobs with a journal, on the command line: they are listed, go on after whatever ended them, and are forgotten."""

import asyncio
import contextlib
import json
import re
import shlex
import sqlite3
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from socialapi.bulk.erasure import erase
from socialapi.bulk.journals.journal import JobIdentity, RecordedBatch
from socialapi.bulk.journals.journal_view import look
from socialapi.bulk.journals.sqlite_journal import SCHEMA, SqliteJournal
from socialapi.cli import app, output
from socialapi.cli.jobs import CommandJournal
from socialapi.emulator import Emulator
from socialapi.errors import ConfigurationError
from socialapi.internal.file_lock import FileLock
from socialapi.internal.sqlite_file import SqliteFile
from tests.bulk.products.model_catalog import HEADER, csv_file, line
from tests.cli.terminal import Printed, last_json

CATALOG: Final = "7pc01"
PRODUCTS: Final = "/ads/12/product_catalogs/*/products"
NOW: Final = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
IDENTITY: Final = JobIdentity(
    kind="audience upload",
    target={"host": "https://ads.example", "path": "/12/x", "account_id": "a1", "custom_audience_id": "c1"},
    source={"path": "/data/people.csv", "size": 12},
    settings={"operation": "Update", "region": None},
)


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SOCIALAPI_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def service(service: Emulator, state: Path) -> Emulator:
    """As everywhere, with the list of jobs in a folder of the test."""
    return service


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    return csv_file(tmp_path / "feed.csv", *(line(f"p{n}") for n in range(60)))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "load.journal"


def upsert(file: Path | str, journal: Path, *options: str) -> int:
    return app.run(["catalog", "upsert", str(file), "--catalog", CATALOG, "--journal", str(journal), *options])


def ids_in(state: Path) -> list[str]:
    """The ids of the jobs that are listed wherever the user is."""
    return [link.name for link in (state / "jobs").iterdir()]


def jobs(*arguments: str | Path) -> int:
    return app.run(["jobs", *map(str, arguments)])


async def record(path: Path, *, state: str | None, batches: int = 2) -> None:
    """A journal of a job that is as far as that; without a state as a kill leaves it."""
    job = SqliteJournal(path)
    await job.open(IDENTITY, NOW)
    for number in range(1, batches + 1):
        await job.begin(RecordedBatch(number, number * 10 - 9, number * 10, 10, b"digest"))
        if number < batches:
            await job.confirm(number, [])
    if state is not None:
        await job.finish(state, {"read": 20, "accepted": 10, "rejected": 0})  # type: ignore[arg-type]
    await job.aclose()


@contextlib.asynccontextmanager
async def in_use(path: Path) -> AsyncIterator[None]:
    """Another process has the journal open."""
    held = (
        "import asyncio, sys; from socialapi.bulk.journals.sqlite_journal import SqliteJournal; "
        "from tests.cli.test_jobs import IDENTITY, NOW\n"
        "async def main():\n"
        "    await SqliteJournal(sys.argv[1]).open(IDENTITY, NOW)\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "asyncio.run(main())\n"
    )
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", held, str(path), stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"open\n"
        yield
    finally:
        process.kill()
        await process.wait()


# Starting, stopping, going on --------------------------------------------------------------------------------------


def test_a_load_that_the_service_ended_goes_on_by_its_id(
    service: Emulator, feed: Path, journal: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    service.faults.add("status", method="PUT", path=PRODUCTS, status=403, times=100)
    assert upsert("feed.csv", Path("load.journal"), "--json", "--rejects", "rejects.csv") == 3
    out, err = printed.readouterr()
    assert last_json(out)["pending"] == 60
    said = re.fullmatch(
        r"socialapi: progress is saved in load\.journal\. To resume, run `socialapi jobs resume (\w{8})`\n"
        r"socialapi: the load stopped: PUT /.*: 403.*\n",
        err,
    )
    assert said is not None
    service.faults.clear()
    monkeypatch.chdir("/")
    assert jobs("resume", said[1]) == 0
    report = last_json(printed.readouterr().out)
    assert (report["created"], report["pending"], report["requests"]) == (60, 0, 3)
    assert jobs("resume", journal) == 0
    report = last_json(printed.readouterr().out)
    assert (report["created"], report["resumed"], report["requests"]) == (60, 60, 0)
    assert report["rejects_path"] == str(tmp_path / "rejects.csv")


def test_a_load_goes_on_with_the_values_that_its_feed_lacks(
    service: Emulator, journal: Path, printed: Printed, tmp_path: Path
) -> None:
    cells = line("a").split(",")
    file = csv_file(tmp_path / "feed.csv", ",".join(cells[:8]), header=HEADER.removesuffix(",brand"))
    service.faults.add("status", method="PUT", path=PRODUCTS, status=403, times=100)
    assert upsert(file, journal, "--set", "brand=Set by hand") == 3
    service.faults.clear()
    assert upsert(file, journal, "--set", "brand=Other") == 2
    printed.readouterr()
    assert jobs("resume", journal) == 0
    assert service.products(CATALOG)["a"]["brand"] == "Set by hand"


def test_the_table_says_what_earlier_runs_did(service: Emulator, feed: Path, journal: Path, printed: Printed) -> None:
    assert upsert(feed, journal) == 0
    assert "of earlier runs" not in printed.readouterr().out
    assert upsert(feed, journal) == 0
    assert ["of", "earlier", "runs", "60"] in [each.split() for each in printed.readouterr().out.splitlines()]


def test_a_job_that_cannot_be_listed_runs_and_is_resumed_by_its_journal(
    service: Emulator, feed: Path, journal: Path, state: Path, printed: Printed
) -> None:
    state.write_text("a file where the folder would be")
    service.faults.add("status", method="PUT", path=PRODUCTS, status=403, times=100)
    assert upsert(feed, journal) == 3
    said = printed.readouterr().err
    assert said.startswith(f"socialapi: the job could not be added to the list of jobs: {state}")
    assert f"To resume, run `socialapi jobs resume {journal}`\n" in said
    service.faults.clear()
    assert jobs("resume", journal) == 0


# Looking at them ---------------------------------------------------------------------------------------------------


def listed(printed: Printed) -> list[list[str]]:
    """The cells of the jobs that were listed."""
    header, *lines = printed.readouterr().out.splitlines()
    assert header == "ID\tKIND\tTARGET\tSTATE\tCONFIRMED\tLAST RUN\tJOURNAL"
    return [line.split("\t") for line in lines]


def test_jobs_are_listed_with_what_is_confirmed(
    service: Emulator, feed: Path, journal: Path, printed: Printed, tmp_path: Path
) -> None:
    assert jobs("list") == 0
    assert printed.readouterr().err == "socialapi: there are no jobs; only jobs started with --journal are listed\n"
    assert upsert(feed, journal) == 0
    assert upsert(feed, tmp_path / "second.journal") == 0
    (tmp_path / "second.journal").unlink()
    printed.readouterr()
    assert jobs("list") == 0
    lines = {cells[3]: cells for cells in listed(printed)}
    assert lines.keys() == {"finished", "gone"}
    assert lines["finished"][1:5] == ["catalog load", CATALOG, "finished", "60 rows"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lines["finished"][5])
    assert lines["finished"][6] == journal.name
    assert lines["gone"][4:] == ["-", "-", str(tmp_path / "second.journal")]
    assert jobs("list", "--json") == 0
    out, err = printed.readouterr()
    assert err.startswith("socialapi: a job whose journal is gone cannot be resumed: run its command again")
    told = [json.loads(each) for each in out.splitlines()]
    assert {(each["id"], each["state"]) for each in told} == {(each[0], each[3]) for each in lines.values()}


async def test_journals_anywhere_are_listed_and_shown(state: Path, tmp_path: Path, printed: Printed) -> None:
    paths = [tmp_path / f"{name}.journal" for name in ("stopped", "killed", "empty")]
    await record(paths[0], state="stopped")
    await record(paths[1], state=None)
    await record(paths[2], state=None, batches=0)
    assert await asyncio.to_thread(jobs, "list", *paths) == 0
    cells = listed(printed)
    assert [each[1:] for each in cells] == [
        ["audience upload", "a1/c1", "stopped", "10 rows", "2026-11-20T12:30:00Z", "stopped.journal"],
        ["audience upload", "a1/c1", "interrupted", "10 rows", "2026-11-20T12:30:00Z", "killed.journal"],
        ["audience upload", "a1/c1", "interrupted", "0 rows", "2026-11-20T12:30:00Z", "empty.journal"],
    ]
    assert await asyncio.to_thread(jobs, "show", paths[0]) == 0
    shown = dict(re.split(r"\s{2,}", each, maxsplit=1) for each in printed.readouterr().out.splitlines())
    assert (shown["id"], shown["state"], shown["journal"]) == (cells[0][0], "stopped", str(paths[0]))
    assert shown["confirmed"] == "10 rows in 1 batches; 1 batches are unconfirmed"
    assert shown["its report"] == "20 read, 10 accepted"
    assert (shown["input path"], shown["input size"], shown["operation"]) == ("/data/people.csv", "12", "Update")
    assert "command" not in shown
    assert "region" not in shown
    assert await asyncio.to_thread(jobs, "show", paths[0], "--json") == 0
    told = last_json(printed.readouterr().out)
    assert (told["id"], told["batches"], told["unconfirmed"], told["command"]) == (cells[0][0], 1, 1, None)
    assert told["identity"]["target"]["account_id"] == "a1"


async def test_a_job_that_is_running_is_said_to_be_and_left_alone(
    state: Path, journal: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(journal, state=None)
    (state / "jobs").mkdir(parents=True)
    (state / "jobs" / "0a1b2c3d").symlink_to(journal)
    async with in_use(journal):
        assert look(journal) is None
        assert not erase(journal, "journal")
        assert await asyncio.to_thread(jobs, "list") == 0
        assert listed(printed) == [["0a1b2c3d", "-", "-", "running", "-", "-", "load.journal"]]
        assert await asyncio.to_thread(jobs, "show", "0a1b2c3d") == 0
        assert "state    running\n" in printed.readouterr().out
        for command in ("resume", "forget"):
            assert await asyncio.to_thread(jobs, command, "0a1b2c3d") == 2
            assert printed.readouterr().err.startswith("socialapi: the job 0a1b2c3d is running")
    assert is_there(journal)


def is_there(path: Path) -> bool:
    return path.exists()


@pytest.mark.parametrize("command", ["list", "show", "forget"])
def test_what_is_no_journal_is_refused_and_left_alone(
    state: Path, tmp_path: Path, printed: Printed, command: str
) -> None:
    other, text = tmp_path / "other.sqlite", tmp_path / "text.txt"
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    text.write_text("no journal " * 100)
    contents = [path.read_bytes() for path in (other, text)]
    more = ["--yes"] if command == "forget" else []
    assert jobs(command, other, *more) == 2
    assert printed.readouterr().err == (
        f"socialapi: {other} is not a journal, or was written by another version of this package\n"
    )
    assert jobs(command, text, *more) == 2
    assert "is damaged, or was never one" in printed.readouterr().err
    assert jobs(command, tmp_path / "nowhere", *more) == 2
    assert "nowhere" in printed.readouterr().err
    assert [path.read_bytes() for path in (other, text)] == contents


def test_a_journal_in_another_folder_is_found_by_its_name_if_no_other_has_it(
    state: Path, tmp_path: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "jobs").mkdir(parents=True)
    (state / "jobs" / "0a1b2c3d").symlink_to(tmp_path / "a" / "night.journal")
    (state / "jobs" / "no link").touch()
    monkeypatch.chdir(tmp_path)
    for name, status in (("night.journal", 0), ("0a1b2c3d", 0), ("b/night.journal", 2)):
        assert jobs("show", name) == status
    (state / "jobs" / "another").symlink_to(tmp_path / "b" / "night.journal")
    assert jobs("show", "night.journal") == 2
    assert jobs("show", "night-%Y-%m-%d.journal") == 2
    assert printed.readouterr().err.endswith(
        "nor a file of that name: the date of a run replaces the % codes in the name\n"
    )


async def test_journals_of_a_folder_are_listed_whoever_made_them(
    state: Path, tmp_path: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(tmp_path / "of a program.journal", state="stopped")
    write(tmp_path / "text.txt", b"no journal")
    assert await asyncio.to_thread(jobs, "list", tmp_path) == 0
    assert [cells[-1] for cells in listed(printed)] == ["of a program.journal"]
    monkeypatch.chdir(tmp_path)
    assert await asyncio.to_thread(jobs, "list") == 0
    assert [cells[-1] for cells in listed(printed)] == ["of a program.journal"]
    assert await asyncio.to_thread(jobs, "resume", "of a program.journal") == 2
    assert "run the command or program again with the same journal" in printed.readouterr().err


# Forgetting them ---------------------------------------------------------------------------------------------------


async def test_a_job_that_is_not_finished_is_forgotten_only_on_purpose(
    state: Path, journal: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(journal, state="stopped")
    assert await asyncio.to_thread(jobs, "forget", journal) == 2
    assert (
        "is stopped, and cannot be resumed without its journal: add --yes to delete it anyway\n"
        in printed.readouterr().err
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    for answer, status in (("", 2), ("n", 2), ("Yes ", 0)):
        assert is_there(journal)
        monkeypatch.setattr("builtins.input", lambda _, answer=answer: answer)
        assert await asyncio.to_thread(jobs, "forget", journal) == status
    assert not is_there(journal)
    await record(journal, state="stopped")
    assert await asyncio.to_thread(jobs, "forget", journal, "--yes") == 0
    assert not is_there(journal)


def test_a_job_whose_journal_is_damaged_or_gone_can_be_forgotten(
    service: Emulator, feed: Path, journal: Path, state: Path, printed: Printed
) -> None:
    assert upsert(feed, journal) == 0
    (job_id,) = ids_in(state)
    content = journal.read_bytes()
    journal.write_bytes(content[:4_096] + bytes(len(content) - 4_096))
    printed.readouterr()
    assert jobs("show", job_id) == 0
    shown = printed.readouterr().out
    assert "state    unreadable\n" in shown
    assert "is damaged" in shown
    assert jobs("forget", job_id) == 2
    assert jobs("forget", job_id, "--yes") == 0
    assert not journal.exists()
    assert upsert(feed, journal) == 0
    (job_id,) = ids_in(state)
    other = journal.with_name("other.journal")
    assert upsert(feed, other) == 0
    journal.unlink()
    assert jobs("forget", "--gone", job_id) == 2
    assert jobs("forget", "--gone") == 0
    assert [each != job_id for each in ids_in(state)] == [True]
    assert other.exists()


def test_a_job_whose_journal_is_gone_is_not_begun_anew_by_a_resume(
    service: Emulator, feed: Path, journal: Path, state: Path, printed: Printed
) -> None:
    assert upsert(feed, journal) == 0
    (job_id,) = ids_in(state)
    journal.unlink()
    requests = len(service.requests)
    printed.readouterr()
    assert jobs("resume", job_id) == 2
    out, err = printed.readouterr()
    assert (out, journal.exists(), len(service.requests)) == ("", False, requests)
    assert err == (
        f"socialapi: there is no journal {journal}, so the job {job_id} cannot be resumed; to start over, run its "
        "command again\n"
    )


async def test_a_journal_that_ends_in_its_head_is_still_known_for_one(tmp_path: Path, journal: Path) -> None:
    await record(journal, state="stopped")
    content = bytes_of(journal)
    write(journal, content[:90])
    with pytest.raises(ConfigurationError, match="is damaged"):
        look(journal)
    assert erase(journal, "journal")
    assert not is_there(journal)
    write(journal, content[:60])
    with pytest.raises(ConfigurationError, match="is not a journal"):
        erase(journal, "journal")
    assert bytes_of(journal) == content[:60]


async def test_a_journal_of_an_earlier_version_is_told_from_others_and_can_be_forgotten(
    state: Path, journal: Path, printed: Printed
) -> None:
    await record(journal, state="stopped")
    with contextlib.closing(sqlite3.connect(journal)) as connection:
        connection.execute("PRAGMA user_version = 0")
    assert await asyncio.to_thread(jobs, "show", journal) == 2
    assert f"the journal {journal} was written by another version of this package" in printed.readouterr().err
    assert await asyncio.to_thread(jobs, "forget", journal) == 2
    assert "add --yes to delete it anyway" in printed.readouterr().err
    assert await asyncio.to_thread(jobs, "forget", journal, "--yes") == 0
    assert not is_there(journal)


async def test_a_journal_that_a_job_is_about_to_open_is_not_erased(journal: Path) -> None:
    await record(journal, state="stopped")
    beginning = FileLock(journal)
    assert await asyncio.to_thread(beginning.take) is None
    assert not await asyncio.to_thread(erase, journal, "journal")
    assert is_there(journal)
    beginning.release()
    write(journal.with_name("load.journal.lock"), b"")
    assert await asyncio.to_thread(erase, journal, "journal")
    assert names_in(journal.parent) == []


def names_in(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


async def test_a_journal_of_a_job_that_was_killed_as_it_began_is_empty(
    state: Path, journal: Path, printed: Printed
) -> None:
    database = SqliteFile(journal, SCHEMA, purpose="journal")
    await database.open(lambda _: None)
    await database.aclose()
    assert await asyncio.to_thread(jobs, "list", journal) == 0
    assert listed(printed) == [["-", "-", "-", "empty", "0 rows", "-", "load.journal"]]
    assert await asyncio.to_thread(jobs, "show", journal) == 0
    assert await asyncio.to_thread(jobs, "forget", journal) == 0
    assert not is_there(journal)


# What a journal remembers -------------------------------------------------------------------------------------------


def test_a_journal_remembers_its_command_without_hosts_and_secrets(
    service: Emulator, feed: Path, journal: Path, state: Path, printed: Printed
) -> None:
    assert upsert(feed, journal, "--concurrency", "3") == 0
    printed.readouterr()
    assert jobs("show", journal, "--json") == 0
    command = shlex.split(last_json(printed.readouterr().out)["command"])
    assert command[:4] == ["socialapi", "catalog", "upsert", str(feed)]
    assert set(command[4:]) == {
        f"--catalog={CATALOG}",
        "--concurrency=3",
        "--max-vanished-share=0.1",
        f"--journal={journal}",
    }
    content = bytes_of(journal)
    secrets = [value for name, value in service.environment.items() if "TOKEN" in name or "KEY" in name]
    assert not any(value.encode() in content for value in (*secrets, f"{service.ready['ads_url']}/secret"))
    assert (journal.stat().st_mode & 0o777, (state / "jobs").stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("option", ["--column=email=ada.4711@example.com", "--key=ada.4711@example.com"])
async def test_a_command_that_names_a_column_like_a_person_is_not_remembered(
    option: str, journal: Path, state: Path, printed: Printed
) -> None:
    job = CommandJournal(journal, ["audience", "upload", "/people.csv", option])
    await job.open(IDENTITY, NOW)
    assert job.how_to_resume == "the same command again"
    await job.aclose()
    assert b"ada.4711" not in bytes_of(journal)
    assert await asyncio.to_thread(jobs, "resume", journal) == 2
    assert "is unknown: run the command or program again" in printed.readouterr().err


async def test_a_new_job_takes_the_place_of_the_one_with_the_same_journal(state: Path, tmp_path: Path) -> None:
    for minute in range(2):
        journal = CommandJournal(tmp_path / "a.journal", ["x"])
        opened = await journal.open(IDENTITY, NOW.replace(minute=minute))
        await journal.aclose()
        erase(tmp_path / "a.journal", "journal")
        assert ids_in(state) == [opened.job_id]


def test_a_journal_that_is_not_there_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no journal"):
        look(tmp_path / "nowhere")
    assert jobs("--help") == output.DONE
