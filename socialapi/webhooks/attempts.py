"""Counts how many times the events of an inbox were delivered, and puts aside events delivered too many times.

It uses separate tables, which earlier versions ignore, so processes of different versions can share the file. All
functions run on the database thread.
"""

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Final

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS attempts (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, holder TEXT NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS dead_letters (number INTEGER PRIMARY KEY, content BLOB NOT NULL,"
        " attempts INTEGER NOT NULL, put_aside_at REAL NOT NULL)"
    ),
)
_SUSPECTS: Final = (
    "attempts JOIN waiting USING (number) JOIN queues ON queues.id = waiting.queue"
    " WHERE queues.holder = :owner AND attempts.holder <> :owner"
)
"""The events of an owner that an earlier owner did not finish, because its process ended or its handler failed."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Creates the tables if an earlier version created the file. Deletes the counts of finished events, which an
    earlier version does not delete.
    """
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute("DELETE FROM attempts WHERE number NOT IN (SELECT number FROM waiting)")


def count(numbers: Iterable[int], owner: str, connection: sqlite3.Connection) -> None:
    """Adds events to the count of an owner's deliveries before they are delivered."""
    connection.executemany(
        "INSERT INTO attempts VALUES (?, 1, ?)"
        " ON CONFLICT (number) DO UPDATE SET count = count + 1, holder = excluded.holder",
        ((number, owner) for number in numbers),
    )


def forget(numbers: Iterable[int], connection: sqlite3.Connection) -> None:
    """Deletes the counts of finished events."""
    connection.executemany("DELETE FROM attempts WHERE number = ?", ((each,) for each in numbers))


def take_back(numbers: Iterable[int], connection: sqlite3.Connection) -> None:
    """Subtracts one from the counts of events that were being handled when the process shut down normally."""
    connection.executemany("UPDATE attempts SET count = count - 1 WHERE number = ?", ((each,) for each in numbers))
    connection.execute("DELETE FROM attempts WHERE count < 1")


def suspects(owner: str, connection: sqlite3.Connection) -> int:
    """Returns how many of the owner's events an earlier owner did not finish."""
    found: int = connection.execute(f"SELECT count(*) FROM {_SUSPECTS}", {"owner": owner}).fetchone()[0]  # noqa: S608  # of constants
    return found


def next_suspect(owner: str, connection: sqlite3.Connection) -> tuple[int, bytes] | None:
    """Returns the number and body of the suspect with the fewest deliveries, and counts another delivery. Returns None
    if there are no suspects.
    """
    query = f"SELECT number, content FROM {_SUSPECTS} ORDER BY count, number LIMIT 1"  # noqa: S608  # of constants
    found: tuple[int, bytes] | None = connection.execute(query, {"owner": owner}).fetchone()
    if found is not None:
        count([found[0]], owner, connection)
    return found


def put_aside(owner: str, max_attempts: int, connection: sqlite3.Connection) -> int:
    """Puts aside the suspects that were delivered `max_attempts` times. Returns their number."""
    moved = connection.execute(
        f"INSERT INTO dead_letters SELECT number, content, count, :now FROM {_SUSPECTS} AND count >= :most",  # noqa: S608  # of constants
        {"owner": owner, "most": max_attempts, "now": time.time()},
    ).rowcount
    for table in ("waiting", "attempts"):
        connection.execute(f"DELETE FROM {table} WHERE number IN (SELECT number FROM dead_letters)")  # noqa: S608  # of constants
    return moved


def dead_letters(connection: sqlite3.Connection) -> int:
    """Returns the number of dead letters."""
    found: int = connection.execute("SELECT count(*) FROM dead_letters").fetchone()[0]
    return found


def letter_after(number: int, connection: sqlite3.Connection) -> tuple[int, bytes, int, float] | None:
    """Returns the number, body, deliveries and time of the first dead letter after this number; None if there is none."""
    query = "SELECT number, content, attempts, put_aside_at FROM dead_letters WHERE number > ? ORDER BY number LIMIT 1"
    found: tuple[int, bytes, int, float] | None = connection.execute(query, (number,)).fetchone()
    return found


def retry(numbers: Sequence[int] | None, connection: sqlite3.Connection) -> int:
    """Moves the given dead letters, or all of them, back to the waiting events, in a queue that any process may claim.
    Returns the number of events moved.
    """
    chosen = _chosen(numbers, connection)
    if chosen:
        queue = connection.execute("INSERT INTO queues (holder) VALUES (NULL)").lastrowid
        move = "INSERT INTO waiting SELECT number, ?, content FROM dead_letters WHERE number = ?"
        connection.executemany(move, ((queue, each) for each in chosen))
        _delete(chosen, connection)
    return len(chosen)


def drop(numbers: Sequence[int] | None, connection: sqlite3.Connection) -> int:
    """Deletes the given dead letters, or all of them. Returns the number of events deleted."""
    chosen = _chosen(numbers, connection)
    _delete(chosen, connection)
    connection.execute("UPDATE state SET waiting = waiting - ?", (len(chosen),))
    return len(chosen)


def _chosen(numbers: Sequence[int] | None, connection: sqlite3.Connection) -> list[int]:
    """Returns those of the given numbers that belong to dead letters, or the numbers of all dead letters."""
    if numbers is None:
        return [number for (number,) in connection.execute("SELECT number FROM dead_letters")]
    query = "SELECT 1 FROM dead_letters WHERE number = ?"
    return [each for each in dict.fromkeys(numbers) if connection.execute(query, (each,)).fetchone()]


def _delete(numbers: Sequence[int], connection: sqlite3.Connection) -> None:
    connection.executemany("DELETE FROM dead_letters WHERE number = ?", ((each,) for each in numbers))
