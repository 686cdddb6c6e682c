"""A SQLite file on a thread of its own."""

import asyncio
import contextlib
import functools
import gc
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from socialapi.errors import ConfigurationError
from socialapi.internal import sqlite_file
from socialapi.internal.sqlite_file import Schema, SqliteFile, application_id_of, primary_code

SCHEMA = Schema(application_id=7, version=1, statements=("CREATE TABLE items (name TEXT UNIQUE)",))


@pytest.fixture
def database(tmp_path: Path) -> SqliteFile:
    return SqliteFile(tmp_path / "file.sqlite", SCHEMA, purpose="journal")


def add(*names: str) -> str:
    return f"INSERT INTO items VALUES {', '.join(f'({name!r})' for name in names)}"


def names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM items ORDER BY rowid")]


async def test_work_is_done_whole_or_not_at_all(database: SqliteFile) -> None:
    await database.open(names)

    def half(connection: sqlite3.Connection) -> None:
        connection.execute(add("a"))
        connection.execute(add("a"))

    with pytest.raises(ConfigurationError, match=r"the journal .* cannot be written: UNIQUE constraint failed"):
        await database.run(half)
    assert await database.run(names) == []
    await database.run(lambda connection: connection.execute(add("b", "c")))
    await database.aclose()
    again = SqliteFile(database.path, SCHEMA, purpose="journal")
    assert await again.open(names) == ["b", "c"]
    await again.aclose()


async def test_work_is_done_also_for_a_caller_who_does_not_wait(database: SqliteFile) -> None:
    await database.open(names)
    going = threading.Event()
    blocking = asyncio.ensure_future(database.run(lambda _: going.wait(10)))
    waiting = asyncio.ensure_future(database.run(lambda connection: connection.execute(add("a"))))
    await asyncio.sleep(0)
    for each in (blocking, waiting):
        each.cancel()
    going.set()
    assert await database.run(names) == ["a"]
    assert blocking.cancelled()
    assert waiting.cancelled()
    await database.aclose()


async def test_a_failure_that_nobody_waits_for_any_more_is_not_reported_as_unhandled(database: SqliteFile) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    await database.open(names)
    goes_on = threading.Event()

    def fail(connection: sqlite3.Connection) -> None:
        goes_on.wait(10)
        raise ValueError

    caller = asyncio.create_task(database.run(fail))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.wait([caller])
    assert caller.cancelled()
    goes_on.set()
    assert await database.run(names) == []
    gc.collect()
    assert not reported
    await database.aclose()


async def test_the_file_is_its_own_and_private(database: SqliteFile) -> None:
    before = os.umask(0)
    try:
        await database.open(names)
    finally:
        os.umask(before)
    assert {each.stat().st_mode & 0o777 for each in database.path.parent.iterdir()} == {0o600}
    second = SqliteFile(database.path, SCHEMA, purpose="journal")
    with pytest.raises(ConfigurationError, match=r"^the journal .*file\.sqlite is in use by another process"):
        await second.open(names)
    await database.run(lambda connection: connection.execute(add("a")))
    await database.aclose()
    assert [each.name for each in database.path.parent.iterdir()] == ["file.sqlite"]
    assert await second.open(names) == ["a"]
    await second.aclose()


async def test_who_has_the_file_is_told_and_somebody_who_looks_into_it_is_waited_for(
    database: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.open(names)
    second = SqliteFile(database.path, SCHEMA, purpose="journal")
    with pytest.raises(ConfigurationError, match=rf"\(held by this process, {os.getpid()}, since .*Z\)$"):
        await second.open(names)
    await database.aclose()
    looking = sqlite3.connect(database.path, isolation_level=None, check_same_thread=False)
    looking.execute("BEGIN")
    names(looking)
    monkeypatch.setattr("socialapi.internal.sqlite_file.time.sleep", lambda _: looking.close())
    assert await second.open(names) == []
    await second.aclose()


async def test_somebody_who_has_the_file_open_for_longer_than_a_look_has_it(
    database: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.open(names)
    await database.aclose()
    monkeypatch.setattr(sqlite_file, "EXCLUSIVE_WAIT_SECONDS", 0.0)
    with contextlib.closing(sqlite3.connect(database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ConfigurationError, match=r"is in use by another process: wait for that one, or end it$"):
            await database.open(names)
    assert await database.open(names) == []
    await database.aclose()


async def test_without_exclusive_others_may_have_the_file_as_well(tmp_path: Path) -> None:
    shared = [SqliteFile(tmp_path / "file", SCHEMA, purpose="inbox", shared=True) for _ in range(2)]
    for each in shared:
        await each.open(names)
    await shared[0].run(lambda connection: connection.execute(add("a")))
    assert await shared[1].run(names) == ["a"]
    for each in shared:
        await each.aclose()


@pytest.mark.parametrize(
    ("version", "says"),
    [(1, "begin it anew"), (3, "use that version, or choose another path")],
)
async def test_a_file_of_another_version_is_refused_with_what_to_do(tmp_path: Path, version: int, says: str) -> None:
    old = SqliteFile(tmp_path / "file", attrs.evolve(SCHEMA, version=version), purpose="journal")
    await old.open(names)
    await old.run(lambda connection: connection.execute(add("a")))
    await old.aclose()
    new = SqliteFile(tmp_path / "file", attrs.evolve(SCHEMA, version=2, remedy="begin it anew"), purpose="journal")
    formats = f"(its format is {version}, this version uses 2)"
    with pytest.raises(
        ConfigurationError, match=re.escape(f"was written by another version of this package {formats}: {says}")
    ):
        await new.open(names)
    assert await old.open(names) == ["a"]
    await old.aclose()


async def test_what_is_raised_while_it_is_prepared_closes_it(database: SqliteFile) -> None:
    def bug(connection: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.open(bug)
    assert await database.open(names) == []
    await database.aclose()


def refuse(code: int) -> Callable[[sqlite3.Connection], None]:
    def fail(connection: sqlite3.Connection) -> None:
        problem = sqlite3.OperationalError("no words of SQLite about rows")
        problem.sqlite_errorcode = code
        raise problem

    return fail


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (sqlite3.SQLITE_BUSY, "is in use by another process: wait for that one, or end it"),
        (sqlite3.SQLITE_CORRUPT, "is damaged, or was never one: restore it, or choose another path"),
        (sqlite3.SQLITE_FULL, "cannot be written: the disk is full; free some space and try again"),
    ],
)
async def test_what_sqlite_raises_becomes_a_sentence_that_says_what_to_do(
    database: SqliteFile, code: int, says: str
) -> None:
    await database.open(names)
    for _ in range(2):  # what cannot be written is said to everybody who comes later, too
        for call in (database.run, database.write):
            with pytest.raises(ConfigurationError) as caught:
                await call(refuse(code))
            assert str(caught.value) == f"the journal {database.path} {says}"
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    await database.aclose()


async def test_a_log_that_cannot_be_erased_is_said_so_too(
    database: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    await database.open(names)
    connection = await database.run(lambda connection: connection)
    monkeypatch.setattr(database, "_truncate_log", functools.partial(refuse(sqlite3.SQLITE_FULL), connection))
    with pytest.raises(ConfigurationError, match="the disk is full; free some space"):
        await database.erase()
    await database.aclose()


async def test_who_goes_on_after_a_failure_gets_what_sqlite_raises(tmp_path: Path) -> None:
    database = SqliteFile(tmp_path / "file.sqlite", SCHEMA, purpose="inbox", raw=True)
    await database.open(names)
    for call in (database.run, database.write):
        with pytest.raises(sqlite3.OperationalError) as caught:
            await call(refuse(sqlite3.SQLITE_FULL))
        assert primary_code(caught.value) == sqlite3.SQLITE_FULL
    await database.aclose()
    (tmp_path / "file.sqlite").write_bytes(b"no database" * 1_000)
    with pytest.raises(ConfigurationError, match="is damaged, or was never one"):
        await database.open(names)


def test_a_strangers_database_is_not_opened_to_ask_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA application_id = 4711")
        connection.execute("CREATE TABLE theirs (value)")
    (tmp_path / "theirs.db-wal").write_bytes(b"left by somebody")
    assert application_id_of(path) == 4711
    assert (tmp_path / "theirs.db-wal").read_bytes() == b"left by somebody"
    assert not (tmp_path / "theirs.db-shm").exists()


@pytest.mark.parametrize("raw", [False, True])
async def test_a_file_whose_damage_sqlite_quotes_is_damaged(database: SqliteFile, raw: bool) -> None:
    """Python cannot make an error of a message that is not UTF-8, and raised UnicodeDecodeError instead."""
    await database.open(names)
    await database.aclose()
    content = database.path.read_bytes().replace(b"tableitems", b"table\xcf\xcfems")
    database.path.write_bytes(content)
    with contextlib.closing(sqlite3.connect(database.path)) as connection, pytest.raises(UnicodeDecodeError):
        connection.execute("SELECT * FROM sqlite_master")
    damaged = SqliteFile(database.path, SCHEMA, purpose="inbox", raw=raw)
    with pytest.raises(ConfigurationError, match="is damaged, or was never one: restore it"):
        await damaged.open(names)
    assert application_id_of(database.path) == SCHEMA.application_id
    assert database.path.read_bytes() == content


async def test_a_text_that_is_not_utf_8_is_damage_to_who_reads_it(database: SqliteFile) -> None:
    await database.open(names)
    await database.run(lambda connection: connection.execute(add("abc")))
    await database.aclose()
    database.path.write_bytes(database.path.read_bytes().replace(b"abc", b"\xcf" * 3))
    with pytest.raises(ConfigurationError, match=f"the journal {re.escape(str(database.path))} "):
        await database.open(names)


async def test_a_file_that_sqlite_would_take_for_empty_is_not_written_over(database: SqliteFile) -> None:
    database.path.write_bytes(b"x")
    with pytest.raises(ConfigurationError, match="holds something else: choose another path"):
        await database.open(names)
    assert database.path.read_bytes() == b"x"
