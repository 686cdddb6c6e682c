"""The snapshot of a sync: a SQLite file with the digests that an audience holds."""

import contextlib
import functools
import os
import sqlite3
from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from operator import itemgetter
from typing import Final

import attrs

from socialapi._speedups import Digests
from socialapi.bulk.audiences.normalize import NORMALIZER_VERSION
from socialapi.bulk.rows import Action, RowBlock
from socialapi.bulk.sync import members
from socialapi.bulk.sync.buckets import BUCKETS, KINDS
from socialapi.bulk.sync.members import ACCEPTED, IN_DOUBT, NOT_SENT, Outcomes
from socialapi.bulk.sync.scratch import DUE, RowPosition, Scratch, ranges_of, remove_scratch, scratch_folder
from socialapi.errors import ConfigurationError
from socialapi.internal.sqlite_file import Schema, SqliteFile
from socialapi.models.audiences import OperationType

SCHEMA: Final = Schema(
    application_id=0x53594E43,
    version=3,
    remedy=(
        "sync with that version, or delete the snapshot and sync again: everyone is then added again, and people who left "
        "since the last sync are not removed"
    ),
    statements=(
        # `normalizer` is the version of the normalizer that produced the members' digests.
        "CREATE TABLE target (account_id TEXT NOT NULL, custom_audience_id TEXT NOT NULL, normalizer INTEGER NOT NULL)",
        members.MEMBERS,
        # The tables below belong to one sync, and are empty between two syncs. While
        # `announced` has a row, the scratch files are needed.
        """CREATE TABLE announced (sizes TEXT NOT NULL, additions INTEGER NOT NULL, removals INTEGER NOT NULL,
        last_addition INTEGER NOT NULL, last_removal INTEGER NOT NULL, in_doubt INTEGER NOT NULL,
        taken_over INTEGER NOT NULL)""",
        "CREATE TABLE accepted (operation TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL)",
    ),
)
ROWS_PER_PAGE: Final = 2_500
"""The number of rows read from the scratch files at a time. Reading them takes a few milliseconds."""
BYTES_PER_TRANSACTION: Final = 16_000_000
"""The approximate number of bytes of digests that are applied to the members in one transaction."""
UNITS: Final = (max(KINDS) + 1) * BUCKETS
"""The number of units. A unit consists of all digests of one kind that begin with the same byte."""
BUCKETS_PER_STEP: Final = 32
"""The number of buckets that are compared in one step. A cancelled sync completes the step."""


@attrs.frozen(kw_only=True)
class Difference:
    """The number of identifiers that the service may hold, and the numbers of rows to add and identifiers to remove."""

    known: int
    additions: int
    removals: int


@attrs.frozen
class _Announced:
    """The row of the table `announced`, which describes a sync that has started to send.

    `sizes` are the sizes of the scratch files. Positions of additions and removals count from 1; entries after the
    last positions were never sent. `in_doubt` is true if the service may hold additions that have no response, and
    `taken_over` is the number of units already applied.
    """

    sizes: str
    additions: int
    removals: int
    last_addition: int = 0
    last_removal: int = 0
    in_doubt: int = 1
    taken_over: int = 0


class Snapshot:
    """The snapshot of one audience, to be used between `open` and `aclose`. It stores digests only.

    A sync stages the desired rows, compares them, announces what it is about to send, records what
    is accepted while it sends, confirms the additions, and finishes. Until then it keeps scratch
    files in a folder next to the snapshot. Every method raises ConfigurationError if the snapshot
    or the folder cannot be used.
    """

    def __init__(self, path: str | os.PathLike[str], account_id: str, custom_audience_id: str) -> None:
        self._target = (account_id, custom_audience_id)
        self.normalizer: int = NORMALIZER_VERSION
        """The version of the normalizer that produced the members' digests, known once the file is open."""
        self._database = SqliteFile(path, SCHEMA, purpose="snapshot")
        self._folder = scratch_folder(path)
        self._is_open = False
        self._opened: Scratch | None = None
        self._outcomes: Outcomes | None = None
        self._pages = [(0, RowPosition())]
        """For each page of additions, the number of rows before it, and the position at which it begins."""
        self._removals_returned = 0

    @property
    def _scratch(self) -> Scratch:
        """The scratch files, which are created on first use."""
        if self._opened is None:
            self._opened = Scratch(self._folder, is_new=True)
        return self._opened

    async def open(self) -> None:
        """Opens the file and applies the outcomes of a sync that was killed. Raises ConfigurationError if the file
        belongs to another audience.
        """
        self.normalizer = await self._database.open(self._begin)
        self._is_open = True
        try:
            await self._take_over()
            await self._database.read(self._remove_scratch)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Closes the file. Idempotent."""
        is_open, self._is_open = self._is_open, False
        try:
            if is_open:
                with contextlib.suppress(ConfigurationError):  # `open` removes the files next time
                    await self._database.read(self._remove_scratch)
        finally:
            await self._database.aclose()

    async def stage(self, blocks: Sequence[tuple[RowBlock, int]]) -> None:
        """Adds blocks of desired rows, each with its expiry in epoch seconds. Row numbers must ascend."""

        def stage(_: sqlite3.Connection) -> None:
            for block, expiry in blocks:
                self._scratch.add(block, expiry)

        await self._database.read(stage)

    async def compare(self, *, now: int, soon: int) -> Difference:
        """Returns how the desired rows differ from the members.

        A row must be added unless the service certainly holds all its identifiers until `soon`, or until the row's
        expiry if that is earlier. Expired identifiers count as absent.
        """

        def begin(connection: sqlite3.Connection) -> tuple[int, set[int]]:
            self._scratch.entries.flush()
            if not members.count(connection):
                self._scratch.state = bytearray((DUE,)) * len(self._scratch.state)
                return 0, set()
            return members.count(connection, after=now), members.kinds(connection, self._scratch)

        known, kinds = await self._database.read(begin)
        for kind in sorted(kinds):
            for start in range(0, BUCKETS, BUCKETS_PER_STEP):
                step = range(start, start + BUCKETS_PER_STEP)
                await self._database.read(functools.partial(self._compare, kind, step, now, soon))
        scratch = self._scratch
        return Difference(known=known, additions=scratch.state.count(DUE), removals=len(scratch.removals))

    def _compare(self, kind: int, step: range, now: int, soon: int, connection: sqlite3.Connection) -> None:
        for first in step:
            for bucket in members.buckets_of(connection, self._scratch, kind, first):
                members.compare(bucket, self._scratch, now=now, soon=soon)

    async def staged(self) -> AsyncIterator[tuple[list[int], bytearray]]:
        """Yields the numbers and the states of the staged rows, block by block. `compare` sets the states."""
        place = RowPosition()
        while self._opened is not None and place.row < len(self._opened.state):
            before = place
            numbers, place = await self._database.read(functools.partial(self._numbers_at, before))
            yield numbers, self._opened.state[before.row : place.row]

    async def hold_back(self) -> None:
        """Drops the removals of this sync."""
        await self._database.read(lambda _: self._scratch.removals.clear())

    async def announce(self, *, now: int) -> None:
        """Records that the additions and removals are about to be sent, and deletes expired members."""

        def announce(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM members WHERE perhaps <= ?", (now,))
            additions, removals = self._scratch.state.count(DUE), len(self._scratch.removals)
            if additions or removals:
                announced = _Announced(self._scratch.persist(), additions, removals)
                connection.execute("INSERT INTO announced VALUES (?, ?, ?, ?, ?, ?, ?)", attrs.astuple(announced))

        await self._database.run(announce)

    async def accept(self, operation: OperationType, numbers: Sequence[Sequence[int]]) -> None:
        """Records that the service has accepted the additions (Update) or removals (Delete) at these positions. The
        positions in each sequence must ascend.

        Call it right after the service has accepted them. The record is written even if the caller is cancelled in the
        meantime.
        """

        def note(connection: sqlite3.Connection) -> None:
            ranges = ((operation, *each) for some in numbers for each in ranges_of(some))
            connection.executemany("INSERT INTO accepted VALUES (?, ?, ?)", ranges)

        await self._database.write(note)

    async def confirm_additions(self, *, refused: bool, repeated: bool) -> None:
        """Records that all additions have their outcome.

        `refused` is true if the service rejected some additions. The service does not hold these
        rows, unless requests were retried (`repeated`): an attempt without a response may have
        added them.
        """
        statement = "UPDATE announced SET in_doubt = ?"
        await self._database.run(lambda connection: _execute(connection, statement, refused and repeated))

    async def numbers_of(self, positions: Sequence[int]) -> dict[int, int]:
        """Returns the input row numbers of the additions at these positions."""

        def find(_: sqlite3.Connection) -> dict[int, int]:
            pages: dict[int, list[int]] = {}
            found: dict[int, int] = {}
            for position in positions:
                before, start = self._pages[bisect_left(self._pages, position, key=itemgetter(0)) - 1]
                if before not in pages:
                    blocks, _after = self._scratch.rows.page(start, self._scratch.state, ROWS_PER_PAGE)
                    pages[before] = [number for block in blocks for number in block.numbers]
                found[position] = pages[before][position - before - 1]
            return found

        return await self._database.read(find)

    async def additions(self) -> Sequence[RowBlock]:
        """Returns the next page of rows to add, numbered by their positions; an empty list after
        the last page.

        A page that was never returned was never sent. If the sync is killed, the rows of such a page therefore do not
        count as maybe held.
        """

        def read_page(connection: sqlite3.Connection) -> list[RowBlock]:
            before, position = self._pages[-1]
            blocks, position = self._scratch.rows.page(position, self._scratch.state, ROWS_PER_PAGE)
            numbered = list[RowBlock]()
            for block in blocks:
                numbered.append(RowBlock(block.action, range(before + 1, before + 1 + len(block)), block.columns))
                before += len(block)
            self._pages.append((before, position))
            _execute(connection, "UPDATE announced SET last_addition = ?", before)
            return numbered

        return await self._database.run(read_page)

    async def removals(self) -> Sequence[RowBlock]:
        """Returns the next page of identifiers to remove, one per row; an empty list after the last page."""

        def read_page(connection: sqlite3.Connection) -> list[RowBlock]:
            blocks = list[RowBlock]()
            for kind, packed in self._scratch.removals.page(self._removals_returned, ROWS_PER_PAGE):
                values, first = Digests.unpacked(packed, []), self._removals_returned + 1
                self._removals_returned += len(values)
                numbers = range(first, first + len(values))
                blocks.append(RowBlock(Action("Delete"), numbers, ((KINDS[kind], values),)))
            _execute(connection, "UPDATE announced SET last_removal = ?", self._removals_returned)
            return blocks

        return await self._database.run(read_page)

    async def count(self) -> int:
        """Returns the number of identifiers that the service holds, or may hold."""
        return await self._database.read(members.count)

    async def finish(self) -> None:
        """Applies the outcomes of the sync, even if it stopped early, and permanently erases the other data of the
        sync.
        """
        await self._take_over()
        await self._database.read(self._remove_scratch)
        await self._database.erase()

    async def renewed(self) -> None:
        """Records that the current version of the normalizer produced all digests. Call it only after a finished sync."""
        statement = "UPDATE target SET normalizer = ?"
        await self._database.run(lambda connection: _execute(connection, statement, NORMALIZER_VERSION))
        self.normalizer = NORMALIZER_VERSION

    # The methods below run on the thread of the database file.

    def _begin(self, connection: sqlite3.Connection) -> int:
        found = connection.execute("SELECT account_id, custom_audience_id, normalizer FROM target").fetchone()
        if found is None:
            connection.execute("INSERT INTO target VALUES (?, ?, ?)", (*self._target, NORMALIZER_VERSION))
            found = (*self._target, NORMALIZER_VERSION)
        elif found[:2] != self._target:
            account_id, audience_id = self._target
            raise ConfigurationError(
                f"the {self._database} belongs to audience {found[1]} of account {found[0]}, not to audience "
                f"{audience_id} of account {account_id}: choose another path, or delete the file if it is not needed "
                f"(socialapi jobs forget {self._database.path})"
            )
        return int(found[2])

    def _numbers_at(self, place: RowPosition, _: sqlite3.Connection) -> tuple[list[int], RowPosition]:
        return self._scratch.rows.numbers(place)

    def _reopened(self, announced: _Announced) -> Scratch:
        """Returns the scratch files of an earlier sync. Raises ConfigurationError if they are not complete."""
        try:
            scratch = Scratch(self._folder, is_new=False)
            if scratch.sizes == announced.sizes:
                return scratch
            scratch.close()
        except OSError:
            pass  # the error below covers it
        raise ConfigurationError(
            f"the {self._database} needs the folder {self._folder}, where the last sync recorded what it was sending, but "
            "the folder is missing or damaged: restore it, or delete the snapshot and sync again: everyone is then added "
            "again, and people who left since are not removed"
        )

    def _remove_scratch(self, connection: sqlite3.Connection) -> None:
        """Removes the scratch files, unless the outcomes of an announced sync must still be applied."""
        scratch, self._opened = self._opened, None
        if scratch is not None:
            scratch.close()
        if _announced(connection) is None:
            remove_scratch(self._folder)

    async def _take_over(self) -> None:
        """Applies the outcomes of an announced sync to the members, in several transactions."""
        while await self._database.run(self._take_over_some):
            pass

    def _take_over_some(self, connection: sqlite3.Connection) -> bool:
        """Applies the next outcomes in one transaction. Returns True if some remain."""
        announced = _announced(connection)
        if announced is None:
            return False
        if self._outcomes is None:
            self._opened = self._opened or self._reopened(announced)
            self._outcomes = _outcomes(connection, self._scratch, announced)
        unit, written, kinds = announced.taken_over, 0, members.kinds(connection, self._scratch)
        while unit < UNITS and written < BYTES_PER_TRANSACTION:
            kind, first = divmod(unit, BUCKETS)
            if kind in kinds:
                written += members.take_over(connection, self._scratch, self._outcomes, kind, first)
            unit += 1
        if unit < UNITS:
            _execute(connection, "UPDATE announced SET taken_over = ?", unit)
            return True
        connection.execute("DELETE FROM announced")
        connection.execute("DELETE FROM accepted")
        self._outcomes = None
        return False


def _announced(connection: sqlite3.Connection) -> _Announced | None:
    found = connection.execute("SELECT * FROM announced").fetchone()
    return None if found is None else _Announced(*found)


def _outcomes(connection: sqlite3.Connection, scratch: Scratch, announced: _Announced) -> Outcomes:
    additions = bytearray((IN_DOUBT if announced.in_doubt else NOT_SENT,)) * announced.last_addition
    additions += bytes(announced.additions - announced.last_addition)
    removals = bytearray((IN_DOUBT,)) * announced.last_removal
    removals += bytes(announced.removals - announced.last_removal)
    for operation, first, last in connection.execute("SELECT operation, first, last FROM accepted"):
        outcomes = additions if operation == "Update" else removals
        outcomes[first - 1 : last] = bytes((ACCEPTED,)) * (last + 1 - first)
    return members.outcomes_of(scratch, additions, removals)


def _execute(connection: sqlite3.Connection, statement: str, *values: int) -> None:
    """Executes the statement. Returns None, because the cursor must not leave its thread."""
    connection.execute(statement, values)
