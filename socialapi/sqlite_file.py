"""A SQLite file on a thread of its own, so that no event loop ever waits for a disk."""

import asyncio
import contextlib
import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import attrs

from socialapi.errors import ConfigurationError
from socialapi.file_lock import FileLock

T = TypeVar("T")

LOOK_SECONDS: Final = 2.0
"""How long a file that is ours alone may be looked into by somebody else, as `socialapi jobs` does, when it is opened."""
_POLL_SECONDS: Final = 0.01

USE_THAT_VERSION: Final = "use that version, or choose another path"

_IN_USE: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NOT_OURS: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT})
SHARED_WAIT_SECONDS: Final = 10.0
"""How long a file that several processes use may be busy with another one of them."""
_ERASE_WAIT_MS: Final = 200
_PRIMARY_CODE: Final = 0xFF
"""The part of a result code that says what kind of failure it is; the rest says where it happened."""


@attrs.frozen(kw_only=True)
class Schema:
    """What a file holds: a number that tells its kind from other files, its version, and the statements that make it.

    `remedy` says what to do with a file of an earlier version.
    """

    application_id: int
    version: int
    statements: tuple[str, ...]
    remedy: str = USE_THAT_VERSION


class SqliteFile:
    """One connection on one thread, and no other process or task beside it: the file is locked from `open` to `aclose`.

    With `shared`, several processes of this machine use the file at once, and wait for each other. A file that is not
    there is made with mode 0600. What is committed has reached the disk. `purpose` names the file in messages, for
    example "inbox".

    What SQLite raises becomes a ConfigurationError that names the file and says what to do. With `raw` that holds for
    `open` alone: for who goes on after a failure.
    """

    def __init__(
        self, path: str | os.PathLike[str], schema: Schema, *, purpose: str, raw: bool = False, shared: bool = False
    ) -> None:
        self.path: Path = Path(path)
        self._shared = shared
        self._schema = schema
        self._purpose = purpose
        self._raw = raw
        self._lock = None if shared else FileLock(path)
        self._executor: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._changes: deque[Callable[[sqlite3.Connection], None]] = deque()
        self._asked = self._written = 0
        self._failure: Exception | None = None

    async def open(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        """Opens the file, makes what is not there, and returns what `prepare` finds in it.

        Raises ConfigurationError when it cannot be written, is damaged, is of another kind or version, or is in use.
        """
        self._changes.clear()
        self._asked = self._written = 0
        self._failure = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"socialapi-{self._purpose}")
        try:
            return await self._submit(lambda: self._explained(lambda: self._open(prepare)))
        except BaseException:
            await self.aclose()
            raise

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What the work returns, done in one transaction; if it raises, nothing of it is left.

        A caller that is cancelled does not wait any longer; the work is done nevertheless. Raises ConfigurationError, or
        sqlite3.Error if it is raw, and what the work raises.
        """
        return await self._do(lambda: self._transact(work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """As `run`, for work that changes nothing: in a shared file it waits for nobody who writes."""
        return await self._do(lambda: self._transact(work, "BEGIN"))

    async def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Returns once the change has reached the disk, in one transaction with all others that waited meanwhile.

        When one such transaction fails, so does every later `write`: which of the changes belong together is not known
        here. Raises as `run` does.
        """
        self._changes.append(change)
        self._asked = number = self._asked + 1
        await self._do(lambda: self._write_all(number))

    async def erase(self) -> None:
        """Takes what was deleted out of the log, where it is still to be read otherwise. Raises as `run` does."""
        await self._do(self._truncate_log)

    async def aclose(self) -> None:
        """Closes the file after the work that is under way. Idempotent."""
        executor, self._executor = self._executor, None
        if executor is not None:
            closing = executor.submit(self._close)
            executor.shutdown(wait=False)  # nothing comes after it; the thread ends by itself
            await asyncio.shield(asyncio.wrap_future(closing))

    async def _do(self, work: Callable[[], T]) -> T:
        return await self._submit(work if self._raw else lambda: self._explained(work))

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._executor is None:
            raise RuntimeError(f"the {self._purpose} is not open")
        # Shielded, as work that waits behind other work would be dropped if its caller were cancelled.
        return await asyncio.shield(asyncio.wrap_future(self._executor.submit(work)))

    # What follows runs on the thread.

    def _open(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        # SQLite's own lock is taken in steps, and of two that take it at the same instant neither may get it.
        if self._lock is not None and (holder := self._lock.take()) is not None:
            raise self._error(f"is in use by another process: wait for that one, or end it ({holder})")
        until = time.monotonic() + (SHARED_WAIT_SECONDS if self._shared else LOOK_SECONDS)
        while True:
            try:
                return self._connect(prepare)
            except sqlite3.Error as problem:
                # Two that make a shared file at the same instant are in each other's way, and SQLite does not wait then.
                if not is_in_use(problem) or time.monotonic() >= until:
                    raise
            self._disconnect()
            time.sleep(_POLL_SECONDS)

    def _connect(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        self._create()
        # Not to wait for a lock, unless the file is shared: whoever has it open for longer than a look keeps it for good.
        wait_seconds = SHARED_WAIT_SECONDS if self._shared else 0
        self._connection = sqlite3.connect(self.path, timeout=wait_seconds, isolation_level=None)
        for name, value in (
            # Before the first access, so that the index of the log is in memory.
            ("locking_mode", "NORMAL" if self._shared else "EXCLUSIVE"),
            ("synchronous", "FULL"),
            ("secure_delete", "ON"),
            ("journal_mode", "WAL"),
        ):
            self._connection.execute(f"PRAGMA {name} = {value}")
        self._transact(self._check)
        return self._transact(prepare)

    def _create(self) -> None:
        """The file with the right mode from its beginning. One that is there is left alone: opening and closing it
        here would give up the locks that this process may have on it.
        """
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))

    def _check(self, connection: sqlite3.Connection) -> None:
        kind, version, tables = (
            connection.execute(query).fetchone()[0]
            for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        schema = self._schema
        if (kind, version, tables) == (0, 0, 0):
            for statement in schema.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {schema.application_id}")
            connection.execute(f"PRAGMA user_version = {schema.version}")
        elif kind != schema.application_id:
            raise self._error("holds something else: choose another path")
        elif version != schema.version:
            raise self._error(f"was written by {other_version(version, schema)}")

    def _transact(self, work: Callable[[sqlite3.Connection], T], begin: str = "BEGIN IMMEDIATE") -> T:
        connection = self._connection
        assert connection is not None
        connection.execute(begin)
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # some failures end it by themselves
                connection.execute("ROLLBACK")
            raise
        return result

    def _write_all(self, number: int) -> None:
        if number <= self._written:  # it went with an earlier one
            return
        if self._failure is not None:
            raise self._failure
        try:
            self._written += self._transact(self._apply_all)
        except Exception as problem:
            self._failure = problem
            raise

    def _apply_all(self, connection: sqlite3.Connection) -> int:
        changes = [self._changes.popleft() for _ in range(len(self._changes))]
        for change in changes:
            change(connection)
        return len(changes)

    def _truncate_log(self) -> None:
        assert self._connection is not None
        wait_ms = _ERASE_WAIT_MS if self._shared else 0  # while it waits, nothing else is done here
        self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        try:
            (is_busy, *_) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            if self._shared:
                self._connection.execute(f"PRAGMA busy_timeout = {int(SHARED_WAIT_SECONDS * 1000)}")
        if is_busy:
            problem = sqlite3.OperationalError("the log is in use by another process")
            problem.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise problem

    def _close(self) -> None:
        try:
            self._disconnect()
        finally:
            if self._lock is not None:
                self._lock.release()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _explained(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as problem:
            error = self._error(f"cannot be written: {problem.strerror}")
        except sqlite3.Error as problem:
            error = self.explanation(problem)
        raise error  # out here, so that what SQLite raised is not even its context

    def explanation(self, problem: sqlite3.Error) -> ConfigurationError:
        """What to raise in the place of what SQLite raises: it names the file and says what to do."""
        code = primary_code(problem)
        if is_in_use(problem):
            return self._error("is in use by another process: wait for that one, or end it")
        if code in _NOT_OURS:
            return self._error("is damaged, or was never one: restore it, or choose another path")
        if code == sqlite3.SQLITE_FULL:
            return self._error("cannot be written: the disk is full; make room, and run it again")
        if code == sqlite3.SQLITE_IOERR:
            return self._error(f"cannot be read or written: {problem}; see to the disk, and run it again")
        return self._error(f"cannot be written: {problem}")

    def _error(self, says: str) -> ConfigurationError:
        return ConfigurationError(f"the {self} {says}")

    def __str__(self) -> str:
        return f"{self._purpose} {self.path}"

    def __repr__(self) -> str:
        return f"SqliteThread({str(self.path)!r})"


def other_version(version: int, schema: Schema) -> str:
    """Which version wrote a file of another format, and what to do, as the end of a sentence."""
    remedy = schema.remedy if version < schema.version else USE_THAT_VERSION
    formats = f"(its format is {version}, here it is {schema.version})"
    return f"another version of this package {formats}: {remedy}"


def damage(what: str) -> sqlite3.DatabaseError:
    """What is raised for content that cannot be as it was written, like SQLite's own error for a damaged file."""
    problem = sqlite3.DatabaseError(what)
    problem.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return problem


def is_in_use(problem: sqlite3.Error) -> bool:
    """Whether somebody else has the file."""
    return primary_code(problem) in _IN_USE


def primary_code(problem: sqlite3.Error) -> int:
    """What kind of failure it is, as one of the `sqlite3.SQLITE_…` numbers; 0 for one that SQLite does not number."""
    return getattr(problem, "sqlite_errorcode", 0) & _PRIMARY_CODE
