"""The snapshot of a sync: a SQLite file of digests, and the statements that compare them.

Each statement reads the tables it compares side by side in order; random access would wait for the
disk.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, TypeVar

import attrs

from socialapi.bulk.audiences.normalize import NORMALIZER_VERSION
from socialapi.errors import ConfigurationError
from socialapi.models.audiences import AudienceUser, IdentifierKind, Operation, OperationType
from socialapi.models.validation import parse_timestamp
from socialapi.sqlite_file import Schema, SqliteFile
from socialapi.unset import UNSET

_IDENTIFIERS: Final = "kind INTEGER NOT NULL, digest BLOB NOT NULL"
_OF_ROW: Final = "number INTEGER NOT NULL, until INTEGER NOT NULL"
_BOUNDS: Final = "sure_until INTEGER NOT NULL, perhaps_until INTEGER NOT NULL"
SCHEMA: Final = Schema(
    application_id=0x53594E43,
    version=2,
    remedy=(
        "sync with that version, or delete the snapshot and sync anew: everybody is added again then, and nobody is removed "
        "who has left since the last sync"
    ),
    statements=(
        # The normaliser is the version by which the members became digests.
        "CREATE TABLE target (account_id TEXT NOT NULL, custom_audience_id TEXT NOT NULL, normalizer INTEGER NOT NULL)",
        f"CREATE TABLE members ({_IDENTIFIERS}, {_BOUNDS}, PRIMARY KEY (kind, digest)) WITHOUT ROWID",
        # What follows belongs to one sync, and is empty between two of them.
        "CREATE TABLE rows (number INTEGER PRIMARY KEY, until INTEGER NOT NULL, effective_at TEXT, expires_at TEXT)",
        f"CREATE TABLE staged (number INTEGER NOT NULL, {_IDENTIFIERS}, PRIMARY KEY (number, kind, digest)) WITHOUT ROWID",
        f"CREATE TABLE desired ({_IDENTIFIERS}, {_OF_ROW}, PRIMARY KEY (kind, digest, number)) WITHOUT ROWID",
        "CREATE TABLE additions (position INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
        f"CREATE TABLE removals (position INTEGER PRIMARY KEY, {_IDENTIFIERS})",
        """CREATE TABLE accepted (operation TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
        PRIMARY KEY (operation, first)) WITHOUT ROWID""",
        # Of additions that were announced; empty before that.
        "CREATE TABLE handed_out (last INTEGER NOT NULL)",
    ),
)
TABLES_OF_ONE_SYNC: Final = ("rows", "staged", "desired", "additions", "removals", "accepted", "handed_out")
NEW: Final = -1
"""In `sure_until`: not held before this sync, which has announced it and got no answer so far."""

FILL_DESIRED: Final = """
INSERT INTO desired SELECT s.kind, s.digest, s.number, r.until
FROM staged AS s CROSS JOIN rows AS r ON r.number = s.number ORDER BY s.kind, s.digest, s.number
"""
FILL_ADDITIONS: Final = """
INSERT INTO additions (number) SELECT d.number
FROM desired AS d LEFT JOIN members AS m ON m.kind = d.kind AND m.digest = d.digest
WHERE coalesce(m.sure_until, 0) < min(d.until, :soon) GROUP BY d.number ORDER BY d.number
"""
FILL_REMOVALS: Final = """
INSERT INTO removals (kind, digest) SELECT kind, digest FROM members AS m WHERE perhaps_until > :now
AND NOT EXISTS (SELECT 1 FROM desired AS d WHERE d.kind = m.kind AND d.digest = m.digest) ORDER BY kind, digest
"""
# The order of the joins is fixed: it follows the rows as they stand in the file.
_SENT: Final = """
FROM additions AS a CROSS JOIN rows AS r ON r.number = a.number CROSS JOIN staged AS s ON s.number = a.number
"""
EXPECT_ADDITIONS: Final = f"""
INSERT INTO members SELECT s.kind, s.digest, {NEW}, max(r.until) {_SENT} WHERE true GROUP BY s.kind, s.digest
ON CONFLICT (kind, digest) DO UPDATE SET sure_until = 0, perhaps_until = max(perhaps_until, excluded.perhaps_until)
"""
_HANDED_OUT: Final = "(SELECT last FROM handed_out)"
# Of the rows that have an identifier the shortest is for sure: of those accepted, or of all that may be in force.
TAKE_OVER_ADDITIONS: Final = f"""
INSERT INTO members SELECT kind, digest, min(until), max(until) FROM (
    SELECT s.kind AS kind, s.digest AS digest, r.until AS until, coalesce((
        SELECT last FROM accepted WHERE operation = 'Update' AND first <= a.position ORDER BY first DESC LIMIT 1
    ) >= a.position, 0) AS is_accepted {_SENT} WHERE a.position <= {_HANDED_OUT}
) WHERE is_accepted OR :others_in_doubt GROUP BY kind, digest HAVING max(is_accepted)
ON CONFLICT (kind, digest) DO UPDATE SET
    sure_until = excluded.sure_until, perhaps_until = max(perhaps_until, excluded.perhaps_until)
"""  # noqa: S608  # of constants
DOUBT_ADDITIONS: Final = f"""
UPDATE members SET sure_until = 0 WHERE sure_until = {NEW} AND (kind, digest) IN (
    SELECT s.kind, s.digest {_SENT} WHERE a.position <= {_HANDED_OUT}
)
"""  # noqa: S608  # of constants
FORGET_ADDITIONS: Final = f"DELETE FROM members WHERE sure_until = {NEW}"  # noqa: S608  # of constants
REMOVALS: Final = "SELECT kind, digest FROM removals ORDER BY position"
REMOVALS_TAKEN: Final = """
SELECT r.kind, r.digest FROM accepted AS a CROSS JOIN removals AS r ON r.position BETWEEN a.first AND a.last
WHERE a.operation = 'Delete' ORDER BY a.first
"""
PAGE_OF_ADDITIONS: Final = f"""
SELECT a.position, r.effective_at, r.expires_at, s.kind, s.digest {_SENT}
WHERE a.position BETWEEN ? AND ? ORDER BY a.position, s.kind, s.digest
"""
PAGE_OF_REMOVALS: Final = "SELECT kind, digest FROM removals WHERE position BETWEEN ? AND ? ORDER BY position"


T = TypeVar("T")

CODES: Final[Mapping[IdentifierKind, int]] = {
    "email": 1,
    "device_id": 2,
    "handle": 3,
    "service_id": 4,
    "phone_number": 5,
}
"""What the file says for each kind that is hashed. Numbers are never given another meaning: files outlive versions."""
ROWS_PER_PAGE: Final = 1_250
"""Rows taken from the file at a time: a few milliseconds of work."""

_KINDS: Final[Mapping[int, IdentifierKind]] = {code: kind for kind, code in CODES.items()}
_CACHE_KIB: Final = 32_768


@attrs.frozen(repr=False)
class StagedRow:
    """A desired row: its identifiers as (code, digest) pairs, and its times as they are sent.

    `until` is when the service removes it, in epoch seconds.
    """

    number: int
    identifiers: Sequence[tuple[int, bytes]]
    until: int
    effective_at: str | None
    expires_at: str | None


@attrs.frozen(kw_only=True)
class Difference:
    """The difference to apply: identifiers that may be in force, rows to add, identifiers to
    remove.
    """

    known: int
    additions: int
    removals: int


class Snapshot:
    """The snapshot of one audience, to be used between `open` and `aclose`. It stores digests only.

    A sync stages the desired rows, compares them, announces what it is about to send, records what
    is accepted while it sends, and confirms each part at its end. Every method raises
    ConfigurationError if the file cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], account_id: str, custom_audience_id: str) -> None:
        self._target = (account_id, custom_audience_id)
        self.normalizer: int = NORMALIZER_VERSION
        """The version by which the members became digests, known once it is open."""
        self._database = SqliteFile(path, SCHEMA, purpose="snapshot")

    async def open(self) -> None:
        """Opens the file, or makes it, and takes over what an earlier sync was accepted before it was ended.

        Raises as well when it is of another audience.
        """
        self.normalizer = await self._database.open(self._begin)

    async def aclose(self) -> None:
        """Closes the file. Idempotent."""
        await self._database.aclose()

    async def stage(self, rows: Sequence[StagedRow]) -> None:
        """Takes in further rows of the desired state, whose numbers are higher than those before."""

        def insert(connection: sqlite3.Connection) -> None:
            times = ((row.number, row.until, row.effective_at, row.expires_at) for row in rows)
            identifiers = ((row.number, *each) for row in rows for each in sorted(row.identifiers))
            connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", times)
            connection.executemany("INSERT INTO staged VALUES (?, ?, ?)", identifiers)

        await self._database.run(insert)

    async def compare(self, *, now: int, soon: int) -> Difference:
        """What the desired state asks for.

        A row is to be added if one of its identifiers is not held for sure, or not beyond `soon` although the row
        asks for longer. Identifiers that have expired count as absent.
        """

        def compare(connection: sqlite3.Connection) -> Difference:
            connection.execute(FILL_DESIRED)
            connection.execute(FILL_ADDITIONS, {"soon": soon})
            connection.execute(FILL_REMOVALS, {"now": now})
            return Difference(
                known=_number(connection, "SELECT count(*) FROM members WHERE perhaps_until > ?", now),
                additions=_number(connection, "SELECT count(*) FROM additions"),
                removals=_number(connection, "SELECT count(*) FROM removals"),
            )

        return await self._database.run(compare)

    async def hold_back(self) -> None:
        """Nothing is removed in this sync."""

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM removals")

        await self._database.run(run)

    async def expect_additions(self, *, now: int) -> None:
        """The additions are about to be sent. What has expired is forgotten."""

        def expect(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM members WHERE perhaps_until <= ?", (now,))
            connection.execute(EXPECT_ADDITIONS)
            connection.execute("INSERT INTO handed_out VALUES (0)")

        await self._database.run(expect)

    async def accept(self, operation: OperationType, numbers: Sequence[Sequence[int]]) -> None:
        """The service has taken additions (Update) or removals (Delete) at these positions, each sequence ascending.

        To be said before anything else is: whoever waits for it and is cancelled has said it nevertheless.
        """

        def note(connection: sqlite3.Connection) -> None:
            ranges = ((operation, *each) for some in numbers for each in _ranges(some))
            connection.executemany("INSERT INTO accepted VALUES (?, ?, ?)", ranges)

        await self._database.write(note)

    async def confirm_additions(self, *, refused: bool, repeated: bool) -> None:
        """All additions have their outcome: those that were accepted are held for sure.

        What is new in others that were `refused` is forgotten, unless attempts were `repeated`: one without an answer may
        have brought it into force.
        """

        def confirm(connection: sqlite3.Connection) -> None:
            _take_over_additions(connection, others_in_doubt=refused and repeated, forget=refused)

        await self._database.run(confirm)

    async def expect_removals(self) -> None:
        """The removals are about to be sent: none of them is held for sure any more."""

        def expect(connection: sqlite3.Connection) -> None:
            update = "UPDATE members SET sure_until = 0 WHERE kind = ? AND digest = ?"
            connection.executemany(update, connection.execute(REMOVALS))

        await self._database.run(expect)

    async def numbers_of(self, positions: Sequence[int]) -> dict[int, int]:
        """The numbers that the additions at these positions have in the input."""

        def find(connection: sqlite3.Connection) -> dict[int, int]:
            query = "SELECT number FROM additions WHERE position = ?"
            return {position: _number(connection, query, position) for position in positions}

        return await self._database.run(find)

    async def additions(self, first: int) -> Sequence[AudienceUser | Operation]:
        """A page of the users to be added, whose positions count from `first`; nothing behind the last.

        What was never handed out was never sent, and does not count as held after a sync that was ended.
        """

        def hand_out(connection: sqlite3.Connection) -> list[Any]:
            page = connection.execute(PAGE_OF_ADDITIONS, _bounds(first)).fetchall()
            if page:
                connection.execute("UPDATE handed_out SET last = ?", (page[-1][0],))
            return page

        return list(_users(await self._database.run(hand_out)))

    async def removals(self, first: int) -> Sequence[AudienceUser]:
        """A page of users of the identifiers to be removed, one each."""
        page = await self._database.run(lambda c: c.execute(PAGE_OF_REMOVALS, _bounds(first)).fetchall())
        return [AudienceUser(**{_KINDS[code]: digest.hex()}) for code, digest in page]

    async def count(self) -> int:
        """How many identifiers are held, or may be."""
        return await self._database.run(lambda connection: _number(connection, "SELECT count(*) FROM members"))

    async def finish(self) -> None:
        """The sync is over, however far it got: what the service has taken of it is brought to the members, and nothing else
        of it stays, nor is anything that was removed left to be read.
        """
        await self._database.run(_clear)
        await self._database.erase()

    async def renewed(self) -> None:
        """A sync is finished: all members are digests of what they are desired as, by the present version."""
        statement = "UPDATE target SET normalizer = ?"
        await self._database.run(lambda connection: _execute(connection, statement, NORMALIZER_VERSION))
        self.normalizer = NORMALIZER_VERSION

    def _begin(self, connection: sqlite3.Connection) -> int:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        found = connection.execute("SELECT account_id, custom_audience_id, normalizer FROM target").fetchone()
        if found is None:
            connection.execute("INSERT INTO target VALUES (?, ?, ?)", (*self._target, NORMALIZER_VERSION))
            found = (*self._target, NORMALIZER_VERSION)
        elif found[:2] != self._target:
            account_id, audience_id = self._target
            raise ConfigurationError(
                f"the {self._database} is of the audience {found[1]} of the account {found[0]}, not of the audience "
                f"{audience_id} of the account {account_id}: choose another path"
            )
        _clear(connection)
        return int(found[2])


def _clear(connection: sqlite3.Connection) -> None:
    """Drops what belongs to one sync, after it was taken over what became of it."""
    if _number(connection, "SELECT count(*) FROM handed_out"):
        _take_over_additions(connection, others_in_doubt=True, forget=True)
    _take_over_removals(connection)
    for table in TABLES_OF_ONE_SYNC:
        connection.execute(f"DELETE FROM {table}")  # noqa: S608  # names from above


def _take_over_additions(connection: sqlite3.Connection, *, others_in_doubt: bool, forget: bool) -> None:
    connection.execute(TAKE_OVER_ADDITIONS, {"others_in_doubt": others_in_doubt})
    if others_in_doubt:
        connection.execute(DOUBT_ADDITIONS)
    if forget:
        connection.execute(FORGET_ADDITIONS)
    connection.execute("DELETE FROM handed_out")
    connection.execute("DELETE FROM accepted WHERE operation = 'Update'")


def _take_over_removals(connection: sqlite3.Connection) -> None:
    connection.executemany("DELETE FROM members WHERE kind = ? AND digest = ?", connection.execute(REMOVALS_TAKEN))
    connection.execute("DELETE FROM accepted WHERE operation = 'Delete'")


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of those that follow one another."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _bounds(first: int) -> tuple[int, int]:
    """The first and the last position of a page."""
    return first, first + ROWS_PER_PAGE - 1


def _execute(connection: sqlite3.Connection, statement: str, *values: int) -> None:
    """Returns nothing: a cursor must not leave its thread, not even to be thrown away."""
    connection.execute(statement, values)


def _number(connection: sqlite3.Connection, query: str, *values: int) -> int:
    return int(connection.execute(query, values).fetchone()[0])


def _users(page: Sequence[Any]) -> Iterator[AudienceUser | Operation]:
    """The user of each row of a page; one whose row has times comes in an operation with these."""
    for (_, effective_at, expires_at), found in groupby(page, key=itemgetter(0, 1, 2)):
        values: dict[str, list[str]] = {}
        for *_, code, digest in found:
            values.setdefault(_KINDS[code], []).append(digest.hex())
        user = AudienceUser(**values)
        if effective_at is None and expires_at is None:
            yield user
            continue
        yield Operation.update(
            [user],
            effective_at=parse_timestamp(effective_at or "") or UNSET,
            expires_at=parse_timestamp(expires_at or "") or UNSET,
        )
