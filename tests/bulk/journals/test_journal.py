"""The journal of a job: what is kept, what is refused, and what becomes of a disk that fails."""

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.bulk.journals.journal import JobIdentity, Journal, Opened, Outcome, RecordedBatch, digest64, fingerprint
from socialapi.bulk.journals.journal_view import look
from socialapi.bulk.journals.sqlite_journal import SqliteJournal
from socialapi.errors import ConfigurationError, InvalidInput
from tests.bulk.input_files import open_users, write
from tests.support.files import content_of, names_in

NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
IDENTITY: Final = JobIdentity(
    kind="audience upload",
    target={"host": "https://ads.example", "account_id": "a", "custom_audience_id": "c"},
    source={"path": "/data/people.csv", "size": 1_234, "digest of the beginning": "ab"},
    settings={"operation": "Update", "region": None, "share": 0.5, "exact": True},
)
REFUSED: Final = Outcome(
    7, "rejected", "email", "is not known — ¡no!", digest64(b"seven"), (("", "odd"), ("title", "all capitals"))
)


def modes_in(folder: Path) -> set[int]:
    return {each.stat().st_mode & 0o777 for each in folder.iterdir()}


def batch(number: int, *, first: int = 1, last: int = 10, digest: bytes = b"\x00\xffdigest") -> RecordedBatch:
    return RecordedBatch(number, first, last, last - first + 1, digest)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "job.journal"


@contextlib.asynccontextmanager
async def opened(path: Path, identity: JobIdentity = IDENTITY, now: datetime = NOW) -> AsyncIterator[SqliteJournal]:
    journal = SqliteJournal(path)
    await journal.open(identity, now)
    try:
        yield journal
    finally:
        await journal.aclose()


async def reopened(path: Path, identity: JobIdentity = IDENTITY, now: datetime = NOW) -> Opened:
    journal = SqliteJournal(path)
    try:
        return await journal.open(identity, now)
    finally:
        await journal.aclose()


# What is kept ------------------------------------------------------------------------------------------------------


async def test_what_is_confirmed_is_there_when_it_is_opened_again(path: Path) -> None:
    async with opened(path) as journal:
        assert isinstance(journal, Journal)
        assert await journal.recall(1) is None
        for number in (1, 2, 3):
            await journal.begin(batch(number, first=10 * number - 9, last=10 * number))
        await journal.confirm(1, [REFUSED])
        await journal.confirm(2, [])
        await journal.note([Outcome(31, "created", digest=-5)])
    async with opened(path) as journal:
        assert await journal.recall(1) == attrs.evolve(batch(1), confirmed=True, outcomes=(REFUSED,))
        assert await journal.recall(2) == attrs.evolve(batch(2, first=11, last=20), confirmed=True)
        assert await journal.recall(3) == batch(3, first=21, last=30)
        assert await journal.recall(4) is None
        assert await journal.outcomes(7, 31) == {7: REFUSED, 31: Outcome(31, "created", digest=-5)}
        assert await journal.outcomes(8, 30) == {}


async def test_the_first_run_says_when_the_job_began_and_what_it_is_called(path: Path) -> None:
    first = await reopened(path)
    assert first == Opened(job_id=first.job_id, started_at=NOW, is_new=True)
    assert len(first.job_id) == 8
    async with opened(path) as journal:
        for number in (1, 2, 4):
            await journal.begin(batch(number))
        await journal.confirm(2, [])
        await journal.finish("stopped", {"read": 10})
    later = await reopened(path, now=NOW + timedelta(days=3))
    assert later == Opened(job_id=first.job_id, started_at=NOW, is_new=False, runs=2, last_batch=2)
    async with opened(path) as journal:
        await journal.finish("finished", {"read": 10, "accepted": 10})
    assert (await reopened(path)).is_finished


async def states_after(path: Path, *, work: bool, state: Any) -> tuple[str, Any]:
    async with opened(path) as journal:
        if work:
            await journal.note([Outcome(11, "rejected")])
        await journal.finish(state, {"read": 11})
    view = look(path)
    assert view is not None
    return view.state, view.counts


async def test_a_finished_job_stays_finished_until_something_is_begun_or_noted(path: Path) -> None:
    counts = {"read": 10, "accepted": 10}
    async with opened(path) as journal:
        await journal.begin(batch(1))
        await journal.confirm(1, [])
        await journal.finish("finished", counts)
    assert await states_after(path, work=False, state="stopped") == ("finished", counts)
    async with opened(path):
        pass  # as a kill leaves it
    assert await states_after(path, work=False, state="interrupted") == ("finished", counts)
    assert (await reopened(path)).runs == 5
    assert await states_after(path, work=False, state="finished") == ("finished", {"read": 11})
    assert await states_after(path, work=True, state="stopped") == ("stopped", {"read": 11})


async def test_a_batch_that_was_not_confirmed_is_begun_anew(path: Path) -> None:
    async with opened(path) as journal:
        await journal.begin(batch(1, digest=b"old"))
        await journal.begin(batch(1, digest=b"new"))
        await journal.confirm(1, [REFUSED])
        await journal.confirm(1, [REFUSED])
        assert await journal.recall(1) == attrs.evolve(batch(1, digest=b"new"), confirmed=True, outcomes=(REFUSED,))
        with pytest.raises(RuntimeError, match="batch 2 was confirmed but never begun"):
            await journal.confirm(2, [])


async def test_the_file_is_for_its_owner_alone_and_closing_leaves_one_file(path: Path) -> None:
    async with opened(path) as journal:
        await journal.begin(batch(1))
        assert modes_in(path.parent) == {0o600}
        with pytest.raises(
            ConfigurationError, match=r"^the journal .* is in use by another process: wait for that one"
        ):
            await SqliteJournal(path).open(IDENTITY, NOW)
    assert names_in(path.parent) == [path.name]


async def test_what_waits_while_the_disk_is_busy_is_one_transaction(path: Path) -> None:
    async with opened(path) as journal:
        commits: list[int] = []
        await journal._database.run(lambda connection: connection.set_trace_callback(_counting(commits)))
        await asyncio.gather(*(journal.begin(batch(number)) for number in range(1, 201)))
        assert len(commits) < 20
        await asyncio.gather(*(journal.confirm(number, [Outcome(number, "rejected")]) for number in range(1, 201)))
        assert len(commits) < 40
    assert (await reopened(path)).last_batch == 200


def _counting(commits: list[int]) -> Any:
    return lambda statement: commits.append(1) if statement == "COMMIT" else None


async def test_what_was_written_survives_a_caller_that_does_not_wait(path: Path) -> None:
    async with opened(path) as journal:
        waiting = [asyncio.ensure_future(journal.begin(batch(number))) for number in range(1, 30)]
        await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        assert await journal.recall(29) == batch(29)


# Whose it is -------------------------------------------------------------------------------------------------------


async def begun(path: Path) -> None:
    async with opened(path) as journal:
        await journal.begin(batch(1))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"source": {**IDENTITY.source, "size": 1_240, "digest of the beginning": "cd"}},
            (
                "belongs to another input: size 1,234 bytes then, 1,240 bytes now; digest of the beginning ab then, cd now; "
                "choose another path, or delete it with `socialapi jobs forget`"
            ),
        ),
        (
            {"source": {"type": "list"}},
            (
                "belongs to another input: path /data/people.csv then, not given now; size 1,234 bytes then, not given now; "
                "digest of the beginning ab then, not given now; type not given then, list now; choose"
            ),
        ),
        (
            {"target": {**IDENTITY.target, "account_id": "b"}},
            "belongs to another job: account_id a then, b now; choose",
        ),
        ({"kind": "catalog load"}, "belongs to another job: kind audience upload then, catalog load now; choose"),
        (
            {"settings": {**IDENTITY.settings, "region": "US", "exact": False, "share": 0.25}},
            (
                "belongs to the same job with different settings: region not given then, US now; share 0.5 then, 0.25 now; "
                "exact yes then, no now; use the earlier settings, choose another path"
            ),
        ),
        (
            {
                "settings": {
                    **IDENTITY.settings,
                    "columns": '{"email":"jane@private.example"}',
                    "digests": "/a@b/digests",
                }
            },
            "belongs to the same job with different settings: columns not given then, <hidden> now; digests not given then, /a@b/digests now; use the earlier settings, choose",
        ),
    ],
)
async def test_another_job_is_refused_with_all_that_differs(path: Path, changes: dict[str, Any], says: str) -> None:
    await begun(path)
    with pytest.raises(InvalidInput) as caught:
        await reopened(path, attrs.evolve(IDENTITY, **changes))
    assert f"the journal {path} {says}" in str(caught.value)
    assert not (await reopened(path)).is_new


async def test_many_differences_are_counted(path: Path) -> None:
    await begun(path)
    other = attrs.evolve(IDENTITY, settings={f"setting {n}": n for n in range(20)})
    with pytest.raises(InvalidInput, match=r"and 15 more; use the earlier settings, choose"):
        await reopened(path, other)


async def test_a_journal_in_which_nothing_is_recorded_takes_any_job(path: Path) -> None:
    first = await reopened(path)
    other = attrs.evolve(IDENTITY, source={"type": "list"})
    second = await reopened(path, other, NOW + timedelta(hours=1))
    assert second == Opened(job_id=first.job_id, started_at=NOW + timedelta(hours=1), is_new=True)
    await begun_by(path, other)
    with pytest.raises(InvalidInput, match="type list then"):
        await reopened(path)


async def begun_by(path: Path, identity: JobIdentity) -> None:
    async with opened(path, identity) as journal:
        await journal.begin(batch(1))


# Of which input ----------------------------------------------------------------------------------------------------


async def fingerprint_of(records: Any) -> Mapping[str, str | int]:
    async with open_users(records) as reader:
        return await fingerprint(records, reader)


async def test_a_file_is_known_by_path_size_and_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.csv"
    write(file, b"x" * 65_536 + b"a")
    found = await fingerprint_of(file)
    assert (found["path"], found["size"]) == (str(file), 65_537)
    monkeypatch.chdir(tmp_path)
    assert await fingerprint_of("people.csv") == found
    write(file, b"x" * 65_536 + b"b")
    assert await fingerprint_of(file) == found
    write(file, b"y" + b"x" * 65_535 + b"a")
    assert {name for name, value in (await fingerprint_of(file)).items() if found[name] != value} == {
        "digest of the beginning"
    }


async def test_files_are_known_one_by_one_and_other_inputs_by_their_type(tmp_path: Path) -> None:
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for number, file in enumerate(files):
        write(file, b"a" * number)
    found = await fingerprint_of(files)
    assert (found["files"], found["path of file 2"], found["size of file 2"]) == (2, str(files[1]), 1)
    assert await fingerprint_of(files[1:]) == await fingerprint_of(files[1])
    assert await fingerprint_of([{"email": "ada@example.com"}]) == {"type": "list"}
    assert await fingerprint_of(iter([])) == {"type": "list_iterator"}


async def test_a_pipe_is_not_read_and_a_file_that_cannot_be_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert await fingerprint_of(tmp_path / "pipe") == {"path": str(tmp_path / "pipe"), "type": "not a regular file"}
    for name in ("nowhere.csv", "crm-2026-05-01.csv"):
        with pytest.raises(InvalidInput) as caught:
            await fingerprint_of(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: there is no such file"
    with pytest.raises(InvalidInput) as caught:
        await fingerprint_of("ada@example.com")
    assert str(caught.value) == "the path (hidden because it looks like data): there is no such file"


# Disks that fail ---------------------------------------------------------------------------------------------------


async def test_nothing_that_waited_for_a_failed_write_passes_for_written(path: Path) -> None:
    async with opened(path) as journal:
        await journal._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 8").fetchall())
        results = await asyncio.gather(
            *(journal.begin(batch(number, digest=bytes(200))) for number in range(1, 2_001)), return_exceptions=True
        )
    failed = [index for index, result in enumerate(results) if isinstance(result, ConfigurationError)]
    assert failed
    written = failed[0]
    assert failed == list(range(written, 2_000))
    async with opened(path) as journal:
        assert [await journal.recall(n) is not None for n in (written, written + 1)] == [written > 0, False]


async def test_a_database_of_something_else_is_refused(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(ConfigurationError, match="holds something else: choose another path"):
        await reopened(path)


@pytest.mark.parametrize("missing", [1, 100, 4_000, 4_095])
async def test_a_journal_without_its_last_bytes_is_refused(path: Path, missing: int) -> None:
    """SQLite takes what is missing of a page for zeros. The page was that of an index, and what is kept was not found."""
    async with opened(path) as journal:
        await journal.begin(batch(1))
        await journal.keep("limit", 1_000)
    write(path, content_of(path)[:-missing])
    with pytest.raises(ConfigurationError, match=r"^the journal .* is damaged, or was never one"):
        await reopened(path)


@pytest.mark.slow
async def test_no_changed_byte_of_what_is_recorded_is_believed(path: Path) -> None:
    """Each byte of the pages is changed in turn: either the file is refused, or it says what it said before."""
    async with opened(path) as journal:
        await journal.begin(batch(1))
        await journal.confirm(1, [REFUSED])
        await journal.begin(batch(2))
    whole, page = content_of(path), 4_096
    places = [at for at in range(page, len(whole)) if whole[at]]
    refused = sum([await _refused_or_right(path, whole, at) for at in places])
    assert refused > 300


async def _refused_or_right(path: Path, whole: bytes, at: int) -> bool:
    write(path, whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    journal = SqliteJournal(path)
    try:
        await journal.open(IDENTITY, NOW)
        first, second = await journal.recall(1), await journal.recall(2)
        outcomes = await journal.outcomes(1, 10)
    except ConfigurationError as problem:
        return "damaged" in str(problem)
    finally:
        await journal.aclose()
    assert first in (None, attrs.evolve(batch(1), confirmed=True, outcomes=(REFUSED,)))
    assert second in (None, batch(2))
    assert outcomes in ({}, {7: REFUSED})
    return False


LIMITED: Final = """
import asyncio, resource, sys
from tests.bulk.journals.test_journal import IDENTITY, NOW, SqliteJournal, batch

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    journal = SqliteJournal(sys.argv[1])
    await journal.open(IDENTITY, NOW)
    try:
        for number in range(1, 10_000):
            await journal.begin(batch(number, digest=bytes(1_000)))
            await journal.confirm(number, [])
            print(number)
    finally:
        await journal.aclose()

asyncio.run(main())
"""


async def test_a_file_that_may_not_grow_is_said_and_what_was_confirmed_before_stays(path: Path) -> None:
    pipe = asyncio.subprocess.PIPE
    limited = await asyncio.create_subprocess_exec(sys.executable, "-c", LIMITED, str(path), stdout=pipe, stderr=pipe)
    out, err = await limited.communicate()
    says = f"the journal {path} cannot be read or written: disk I/O error; check the disk, and try again"
    assert err.decode().splitlines()[-1] == f"socialapi.errors.ConfigurationError: {says}"
    assert (await reopened(path)).last_batch == int(out.split()[-1]) > 10


KILLED: Final = """
import asyncio, os, signal, sys
from tests.bulk.journals.test_journal import IDENTITY, NOW, SqliteJournal, batch

async def main():
    journal = SqliteJournal(sys.argv[1])
    await journal.open(IDENTITY, NOW)
    for number in range(1, 51):
        await journal.begin(batch(number))
        if number % 2:
            await journal.confirm(number, [])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_what_was_confirmed_before_a_kill_is_confirmed(path: Path) -> None:
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path))
    assert await killed.wait() == -9
    assert "job.journal-wal" in names_in(path.parent)
    assert (await reopened(path)).last_batch == 49
    async with opened(path) as journal:
        assert [(await journal.recall(n)) for n in (49, 50)] == [attrs.evolve(batch(49), confirmed=True), batch(50)]
