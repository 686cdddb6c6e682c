"""A SQLite file on a thread of its own."""

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from socialapi.errors import ConfigurationError
from socialapi.sqlite_thread import Schema, SqliteThread, primary_code

SCHEMA = Schema(application_id=7, version=1, statements=("CREATE TABLE items (name TEXT UNIQUE)",))


@pytest.fixture
def database(tmp_path: Path) -> SqliteThread:
    return SqliteThread(tmp_path / "file.sqlite", SCHEMA, purpose="journal")


def add(*names: str) -> str:
    return f"INSERT INTO items VALUES {', '.join(f'({name!r})' for name in names)}"


def names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM items ORDER BY rowid")]


async def test_everything_is_done_on_one_thread_that_ends(database: SqliteThread) -> None:
    threads = [await database.open(lambda _: threading.current_thread())]
    threads += [await database.run(lambda _: threading.current_thread()) for _ in range(3)]
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()
    assert threads[0].name.startswith("socialapi-journal")
    await database.aclose()
    await asyncio.to_thread(threads[0].join, 10)
    assert not threads[0].is_alive()


async def test_work_is_done_whole_or_not_at_all(database: SqliteThread) -> None:
    await database.open(names)

    def half(connection: sqlite3.Connection) -> None:
        connection.execute(add("a"))
        connection.execute(add("a"))

    with pytest.raises(sqlite3.IntegrityError) as caught:
        await database.run(half)
    assert primary_code(caught.value) == sqlite3.SQLITE_CONSTRAINT
    assert await database.run(names) == []
    await database.run(lambda connection: connection.execute(add("b", "c")))
    await database.aclose()
    again = SqliteThread(database.path, SCHEMA, purpose="journal")
    assert await again.open(names) == ["b", "c"]
    await again.aclose()


async def test_work_is_done_also_for_a_caller_who_does_not_wait(database: SqliteThread) -> None:
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


async def test_the_file_is_its_own_and_private(database: SqliteThread) -> None:
    before = os.umask(0)
    try:
        await database.open(names)
    finally:
        os.umask(before)
    assert {each.stat().st_mode & 0o777 for each in database.path.parent.iterdir()} == {0o600}
    second = SqliteThread(database.path, SCHEMA, purpose="journal")
    with pytest.raises(ConfigurationError, match=r"^the journal .*file\.sqlite is in use by another process"):
        await second.open(names)
    await database.run(lambda connection: connection.execute(add("a")))
    await database.aclose()
    assert [each.name for each in database.path.parent.iterdir()] == ["file.sqlite"]
    assert await second.open(names) == ["a"]
    await second.aclose()


async def test_it_has_to_be_open(database: SqliteThread) -> None:
    with pytest.raises(RuntimeError, match="the journal is not open"):
        await database.run(names)
    await database.aclose()
    assert not await asyncio.to_thread(database.path.exists)


async def test_what_is_raised_while_it_is_prepared_closes_it(database: SqliteThread) -> None:
    def bug(connection: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await database.open(bug)
    assert await database.open(names) == []
    await database.aclose()


def test_it_names_its_file(database: SqliteThread) -> None:
    assert str(database) == f"journal {database.path}"
    assert repr(database) == f"SqliteThread({str(database.path)!r})"
    assert primary_code(sqlite3.InterfaceError()) == 0
