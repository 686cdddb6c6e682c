"""A journal in a SQLite file. Confirmed batches are not sent again, even after a kill."""

import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs
import orjson

from socialapi.bulk.journals.journal import JobIdentity, Opened, Outcome, RecordedBatch, State, refuse_other
from socialapi.internal.sqlite_file import Schema, SqliteFile, damage

Row = tuple[Any, ...]

RUNNING: Final = "running"
FINISHED: Final = "finished"
SCHEMA: Final = Schema(
    application_id=0x534A4F42,  # "SJOB"
    version=2,  # since version 2, the settings include the version of the normalizer, on which rows depend
    remedy=(
        "finish the job with that version, or delete the journal with `socialapi jobs forget` and start again: sending rows "
        "twice changes nothing"
    ),
    statements=(
        "CREATE TABLE job (number INTEGER PRIMARY KEY, id, identity, started_at, last_run_at, runs, state, counts, seal)",
        "CREATE TABLE batches (number INTEGER PRIMARY KEY, first_row, last_row, rows, digest, confirmed, seal)",
        "CREATE TABLE outcomes (row INTEGER PRIMARY KEY, outcome, field, reason, warnings, digest, batch, seal)",
        "CREATE TABLE kept (name PRIMARY KEY, value, seal)",
    ),
)


class SqliteJournal:
    """A journal in a separate SQLite file. Waiting writes share one commit.

    Every row has a checksum of its content, so damage is detected and an unconfirmed batch never counts as confirmed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        self._database = SqliteFile(path, SCHEMA, purpose="journal")

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        """Opens the file, or creates it. Any job may use a journal without records."""
        return await self._database.open(lambda connection: self._begin_run(connection, identity, now))

    async def recall(self, number: int) -> RecordedBatch | None:
        """Returns the batch with this number, or None if it was never begun."""
        return await self._database.run(lambda connection: _batch(connection, number))

    async def begin(self, batch: RecordedBatch) -> None:
        """Records that the batch is about to be sent."""
        await self._database.write(lambda connection: _begin(connection, batch))

    async def confirm(self, number: int, outcomes: Sequence[Outcome]) -> None:
        """Records that every row of the batch has its outcome."""
        await self._database.write(lambda connection: _confirm(connection, number, outcomes))

    async def outcomes(self, first_row: int, last_row: int) -> Mapping[int, Outcome]:
        """Returns the recorded outcomes of a range of rows, by row number."""
        query = "SELECT * FROM outcomes WHERE row BETWEEN ? AND ?"
        found = await self._database.run(lambda connection: _unsealed(connection.execute(query, (first_row, last_row))))
        return {row[0]: _outcome(row) for row in found}

    async def note(self, outcomes: Sequence[Outcome]) -> None:
        """Records outcomes of rows that belong to no batch, or whose batch is not complete yet."""
        if outcomes:
            await self._database.write(lambda connection: _note(connection, outcomes))

    async def keep(self, name: str, number: int) -> int:
        """Stores a number under a name unless one is stored there already. Returns the stored number."""
        statement = "INSERT OR IGNORE INTO kept VALUES (?, ?, ?)"
        await self._database.write(lambda connection: _insert(connection, statement, [(name, number)]))
        first = await self.kept(name)
        assert first is not None
        return first

    async def kept(self, name: str) -> int | None:
        """Returns the number stored under a name, or None."""
        query = "SELECT * FROM kept WHERE name = ?"
        found = await self._database.run(lambda connection: _unsealed(connection.execute(query, (name,))))
        return found[0][1] if found else None

    async def remember(self, name: str, text: str) -> None:
        """Stores a string under a name and replaces an earlier one. A new job that uses an empty journal removes it."""
        statement = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?)"
        await self._database.write(lambda connection: _insert(connection, statement, [(name, text)]))

    async def last_row(self) -> int:
        """Returns the number of the last row that has an outcome or is in a recorded batch, or 0."""
        query = """SELECT max(
        (SELECT coalesce(max(last_row), 0) FROM batches), (SELECT coalesce(max(row), 0) FROM outcomes))"""
        found = await self._database.run(lambda connection: connection.execute(query).fetchone())
        return int(found[0])

    async def finish(self, state: State, counts: Mapping[str, int]) -> None:
        """Records the end of the run and its counts."""
        counts_json = orjson.dumps(dict(counts)).decode()
        await self._database.write(lambda connection: _finish(connection, state, counts_json))

    async def aclose(self) -> None:
        """Closes the file once pending operations are done. Idempotent."""
        await self._database.aclose()

    def _begin_run(self, connection: sqlite3.Connection, identity: JobIdentity, now: datetime) -> Opened:
        identity_json, time = orjson.dumps(attrs.asdict(identity)).decode(), now.isoformat()
        inspect(connection)
        before = job_of(connection)
        if before is None or not has_records(connection):
            # Eight digits are enough to distinguish the jobs of one user.
            digest = hashlib.sha256("\n".join((str(self.path.absolute()), identity_json, time)).encode()).hexdigest()
            job_id = digest[:8] if before is None else before.id
            connection.execute("DELETE FROM kept")
            _put_job(connection, JobLine(job_id, identity_json, time, time))
            return Opened(job_id=job_id, started_at=now, is_new=True)
        refuse_other(str(self._database), before.job, identity)
        # A finished job stays finished if a repeated call has nothing to do. It counts as running
        # once a batch is begun or an outcome is recorded.
        state = FINISHED if before.state == FINISHED else RUNNING
        job = attrs.evolve(before, last_run_at=time, runs=before.runs + 1, state=state)
        _put_job(connection, job)
        return Opened(
            job_id=job.id,
            started_at=datetime.fromisoformat(job.started_at),
            is_new=False,
            is_finished=before.state == FINISHED,
            runs=job.runs,
            last_batch=connection.execute("SELECT coalesce(max(number), 0) FROM batches WHERE confirmed").fetchone()[0],
        )


@attrs.frozen
class JobLine:
    """The row of a journal file that describes its job."""

    id: str
    identity: str
    started_at: str
    last_run_at: str
    runs: int = 1
    state: str = RUNNING
    counts: str = "{}"

    @property
    def job(self) -> JobIdentity:
        """The identity of the job."""
        return JobIdentity(**orjson.loads(self.identity))


# The functions below run on the thread of the database.


def inspect(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError if the file is damaged. Must be called before anything is read."""
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # the checksum detects changes
    # Not `quick_check`, which does not compare indexes with their tables.
    if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        raise damage("its pages are inconsistent")


def has_records(connection: sqlite3.Connection) -> bool:
    """Returns whether any batch or outcome was recorded."""
    query = "SELECT EXISTS (SELECT 1 FROM batches) OR EXISTS (SELECT 1 FROM outcomes)"
    return bool(connection.execute(query).fetchone()[0])


def job_of(connection: sqlite3.Connection) -> JobLine | None:
    """Returns the job of the file, or None before the first job."""
    lines = _unsealed(connection.execute("SELECT * FROM job WHERE number = 1"))
    return JobLine(*lines[0][1:]) if lines else None


def remembered(connection: sqlite3.Connection) -> dict[str, str]:
    """Returns the strings that `remember` stored, by name."""
    return dict(_unsealed(connection.execute("SELECT * FROM kept WHERE typeof(value) = 'text'")))


def _job(connection: sqlite3.Connection) -> JobLine:
    job = job_of(connection)
    if job is None:
        raise damage("it contains no job")
    return job


def _put_job(connection: sqlite3.Connection, job: JobLine) -> None:
    values = (1, *attrs.astuple(job))
    _insert(connection, "INSERT OR REPLACE INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", [values])


def _mark_running(connection: sqlite3.Connection) -> None:
    job = _job(connection)
    if job.state != RUNNING:
        _put_job(connection, attrs.evolve(job, state=RUNNING))


def _finish(connection: sqlite3.Connection, state: State, counts: str) -> None:
    job = _job(connection)
    if job.state == RUNNING or state == FINISHED:
        _put_job(connection, attrs.evolve(job, state=state, counts=counts))


def _begin(connection: sqlite3.Connection, batch: RecordedBatch) -> None:
    _mark_running(connection)
    _put_batch(connection, batch)


def _note(connection: sqlite3.Connection, outcomes: Sequence[Outcome]) -> None:
    _mark_running(connection)
    _put_outcomes(connection, outcomes, None)


def _put_batch(connection: sqlite3.Connection, batch: RecordedBatch) -> None:
    values = (batch.number, batch.first_row, batch.last_row, batch.rows, batch.digest, int(batch.confirmed))
    _insert(connection, "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)", [values])


def _batch(connection: sqlite3.Connection, number: int) -> RecordedBatch | None:
    lines = _unsealed(connection.execute("SELECT * FROM batches WHERE number = ?", (number,)))
    if not lines:
        return None
    ((number, first_row, last_row, rows, digest, confirmed),) = lines
    query = "SELECT * FROM outcomes WHERE row BETWEEN ? AND ? AND batch = ? ORDER BY row"
    found = _unsealed(connection.execute(query, (first_row, last_row, number)))
    outcomes = tuple(map(_outcome, found))
    return RecordedBatch(number, first_row, last_row, rows, digest, bool(confirmed), outcomes)


def _confirm(connection: sqlite3.Connection, number: int, outcomes: Sequence[Outcome]) -> None:
    batch = _batch(connection, number)
    if batch is None:
        raise RuntimeError(f"batch {number} was confirmed but never begun, which is a bug in this package")
    _put_batch(connection, attrs.evolve(batch, confirmed=True))
    _put_outcomes(connection, outcomes, number)


def _put_outcomes(connection: sqlite3.Connection, outcomes: Iterable[Outcome], batch: int | None) -> None:
    lines = (
        (
            each.row,
            each.outcome,
            each.field or None,
            each.reason or None,
            orjson.dumps(each.warnings).decode() if each.warnings else None,
            each.digest,
            batch,
        )
        for each in outcomes
    )
    _insert(connection, "INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", lines)


def _outcome(line: Row) -> Outcome:
    row, outcome, field, reason, warnings, digest, _ = line
    pairs = tuple((field, reason) for field, reason in orjson.loads(warnings or "[]"))
    return Outcome(row, outcome, field or "", reason or "", digest, pairs)


def _insert(connection: sqlite3.Connection, statement: str, lines: Iterable[Row]) -> None:
    """Inserts rows with their checksums. Returns None, because the cursor must not leave its thread."""
    connection.executemany(statement, ((*values, _seal(values)) for values in lines))


def _unsealed(lines: Iterable[Row]) -> list[Row]:
    """Returns rows without their checksums. Raises sqlite3.DatabaseError if a row was changed."""
    found = []
    for *values, seal in lines:
        if seal != _seal(tuple(values)):
            raise damage("a row does not match its checksum")
        found.append(tuple(values))
    return found


def _seal(values: Row) -> int:
    return zlib.crc32(ascii(values).encode())
