"""Reads the state of a job from its journal while the job is not running."""

import contextlib
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import orjson

from socialapi.bulk.journals.journal import JobIdentity
from socialapi.bulk.journals.sqlite_journal import FINISHED, RUNNING, SCHEMA, job_of, remembered
from socialapi.errors import ConfigurationError
from socialapi.internal.sqlite_file import SqliteFile, application_id_of, is_in_use, other_version, readable


@attrs.frozen(kw_only=True)
class JournalView:
    """The content of a journal that no job is using.

    `state` is `finished`, `stopped`, `interrupted` (including after a kill) or `empty`. `batches` and `rows` count
    confirmed batches and their rows, and `unconfirmed` counts batches that were begun but not confirmed. `outcomes` is
    the number of rows with each outcome. `counts` are the counts in the last run's report, empty if the run was killed.
    `texts` are the strings stored with `SqliteJournal.remember`.
    """

    path: Path
    state: str
    job_id: str = ""
    identity: JobIdentity | None = None
    started_at: str = ""
    last_run_at: str = ""
    runs: int = 0
    batches: int = 0
    rows: int = 0
    unconfirmed: int = 0
    outcomes: Mapping[str, int] = attrs.field(factory=dict)
    counts: Mapping[str, int] = attrs.field(factory=dict)
    texts: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether every row has its outcome."""
        return self.state == FINISHED

    def to_dict(self) -> dict[str, Any]:
        """Returns the view as JSON-ready values."""
        return attrs.asdict(
            self, value_serializer=lambda _, __, value: str(value) if isinstance(value, Path) else value
        )


def look(path: str | os.PathLike[str]) -> JournalView | None:
    """Returns the content of a journal, or None while a job uses it. Raises ConfigurationError for any other file."""
    path = Path(path)
    if not path.is_file():
        raise ConfigurationError(f"there is no journal {path}")
    try:
        return readable(lambda: _view(path))
    except sqlite3.Error as error:
        problem = error
    if is_in_use(problem):
        return None
    raise SqliteFile(path, SCHEMA, purpose="journal").explanation(problem)


def is_journal(path: Path) -> bool:
    """Returns whether the file starts like a journal."""
    return application_id_of(path) == SCHEMA.application_id


def _view(path: Path) -> JournalView:
    """Returns the content of a journal, read in one transaction. Raises ConfigurationError if the file is not a journal
    of this version of the package, and sqlite3.Error if it cannot be read.
    """
    # Opened without creating or changing the file, because it may not be a journal.
    address = f"{path.absolute().as_uri()}?mode=rw"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.execute("BEGIN")
        kind = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if kind != SCHEMA.application_id:
            raise ConfigurationError(f"{path} is not a journal, or was written by another version of this package")
        if version != SCHEMA.version:
            raise ConfigurationError(f"the journal {path} was written by {other_version(version, SCHEMA)}")
        job = job_of(connection)
        if job is None:
            return JournalView(path=path, state="empty")
        query = "SELECT confirmed, count(*), coalesce(sum(rows), 0) FROM batches GROUP BY confirmed"
        batches = {bool(confirmed): (number, rows) for confirmed, number, rows in connection.execute(query)}
        confirmed, rows = batches.get(True, (0, 0))
        outcomes = connection.execute("SELECT outcome, count(*) FROM outcomes GROUP BY outcome ORDER BY outcome")
        return JournalView(
            path=path,
            state="interrupted" if job.state == RUNNING else job.state,
            job_id=job.id,
            identity=job.job,
            started_at=job.started_at,
            last_run_at=job.last_run_at,
            runs=job.runs,
            batches=confirmed,
            rows=rows,
            unconfirmed=batches.get(False, (0, 0))[0],
            outcomes=dict(outcomes.fetchall()),
            counts={} if job.state == RUNNING else orjson.loads(job.counts),
            texts=remembered(connection),
        )
