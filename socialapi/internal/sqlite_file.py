"""Accesses a SQLite file on a separate thread, so that the event loop never waits for the disk."""

import asyncio
import contextlib
import functools
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
from socialapi.internal.file_lock import FileLock
from socialapi.internal.shielded import shielded

T = TypeVar("T")

EXCLUSIVE_WAIT_SECONDS: Final = 2.0
"""How long opening waits while another process, such as `socialapi jobs`, reads an exclusive file."""
_POLL_SECONDS: Final = 0.01

USE_THAT_VERSION: Final = "use that version, or choose another path"

_IN_USE: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NOT_OURS: Final = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT})
_GONE: Final = sqlite3.SQLITE_READONLY_DBMOVED
SHARED_WAIT_SECONDS: Final = 10.0
"""How long to wait while another process uses a shared file."""
_ERASE_WAIT_MS: Final = 200
_MAGIC: Final = b"SQLite format 3\0"
_HEAD_BYTES: Final = 72
"""The number of bytes up to the end of the application id, which identifies the kind of file."""
_COMPANION_SUFFIXES: Final = ("-wal", "-shm", "-journal")
_PRIMARY_CODE: Final = 0xFF
"""The bits of a result code that encode the kind of failure. The other bits give the details."""


@attrs.frozen(kw_only=True)
class Schema:
    """The format of a file: its application id, its version, and the statements that create it.

    `remedy` is the advice for a file of an earlier version.
    """

    application_id: int
    version: int
    statements: tuple[str, ...]
    remedy: str = USE_THAT_VERSION


LEAST_PAGE_BYTES: Final = 512


class SqliteFile:
    """One connection on one thread. No other process or task can use the file from `open` to `aclose`.

    With `shared`, several processes of this machine can use the file and wait for each other. All methods then fail
    once the file at the path is a different one, because no process would find what they write. A missing file is
    created with mode 0600. Committed data is on the disk. `purpose` is the file's name in messages, for example "inbox".

    SQLite errors are raised as ConfigurationError, which names the file and says what to do. With `raw`, only `open`
    does this, and the other methods raise sqlite3.Error.
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
        self._opened: tuple[Path, os.stat_result] | None = None
        self._changes: deque[Callable[[sqlite3.Connection], None]] = deque()
        self._asked = self._written = 0
        self._failure: Exception | None = None

    async def open(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        """Opens or creates the file and its tables, and returns the result of `prepare`.

        Raises ConfigurationError if the file cannot be written, is damaged or in use, or has a different format or
        version.
        """
        self._changes.clear()
        self._asked = self._written = 0
        self._failure = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"socialapi-{self._purpose}")
        try:
            return await self._submit(lambda: self._explained(lambda: readable(lambda: self._open(prepare))))
        except BaseException:
            await self.aclose()
            raise

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Returns the result of `work`, run in one transaction, which is rolled back if `work` raises.

        If the caller is cancelled, the work is still done. Raises ConfigurationError (sqlite3.Error if `raw`) and the
        errors of the work.
        """
        return await self._do(lambda: self._transact(work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Returns the result of `work`, which must not change the file. In a shared file, it does not wait for writers.
        Raises the same errors as `run`.
        """
        return await self._do(lambda: self._transact(work, "BEGIN"))

    async def write(self, change: Callable[[sqlite3.Connection], None]) -> None:
        """Writes a change to disk, in one transaction with other waiting changes, and returns once it is durable.

        After such a transaction fails, every later `write` fails too, because it is unknown which changes belong
        together. Raises the same errors as `run`.
        """
        self._changes.append(change)
        self._asked = number = self._asked + 1
        await self._do(lambda: self._write_all(number))

    async def erase(self) -> None:
        """Removes deleted data from the log, where it could still be read, and returns its space to the disk unless the
        file is shared. Raises the same errors as `run`.
        """
        await self._do(self._truncate_log)

    async def aclose(self) -> None:
        """Closes the file after the work in progress. Safe to call twice."""
        executor, self._executor = self._executor, None
        if executor is not None:
            closing = executor.submit(self._close)
            executor.shutdown(wait=False)  # no work follows, so the thread ends
            await shielded(asyncio.wrap_future(closing))

    async def _do(self, work: Callable[[], T]) -> T:
        reading = functools.partial(readable, work)
        return await self._submit(reading if self._raw else lambda: self._explained(reading))

    async def _submit(self, work: Callable[[], T]) -> T:
        if self._executor is None:
            raise RuntimeError(f"the {self._purpose} is not open")
        # Queued work would be dropped if its caller were cancelled.
        return await shielded(asyncio.wrap_future(self._executor.submit(work)))

    # The methods below run on the thread.

    def _open(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        # SQLite takes its own lock in steps: if two processes try at once, both may fail.
        if self._lock is not None and (holder := self._lock.take()) is not None:
            raise self._error(f"is in use by another process: wait for that one, or end it ({holder})")
        until = time.monotonic() + (SHARED_WAIT_SECONDS if self._shared else EXCLUSIVE_WAIT_SECONDS)
        while True:
            try:
                return self._connect(prepare)
            except sqlite3.Error as problem:
                # SQLite does not wait if two processes create a shared file at once.
                if not is_in_use(problem) or time.monotonic() >= until:
                    raise
            self._disconnect()
            time.sleep(_POLL_SECONDS)

    def _connect(self, prepare: Callable[[sqlite3.Connection], T]) -> T:
        # Creates a new file with the right mode. An existing file must not be opened and closed, which
        # would release this process's locks on it.
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), 0o600))
        has_log = self._size_of("-wal") > 0
        if not has_log and 0 < self._size_of() < LEAST_PAGE_BYTES:  # SQLite would treat it as empty and overwrite it
            raise self._error("holds something else: choose another path")
        # Does not wait for an exclusive file here, because the caller retries until its time is up.
        wait_seconds = SHARED_WAIT_SECONDS if self._shared else 0
        self._connection = sqlite3.connect(self.path, timeout=wait_seconds, isolation_level=None)
        for name, value in (
            *([] if self._size_of() else [("auto_vacuum", "INCREMENTAL")]),  # it would change an existing file
            # Set before the first access, to keep the index of the log in memory.
            ("locking_mode", "NORMAL" if self._shared else "EXCLUSIVE"),
            ("synchronous", "FULL"),
            ("secure_delete", "ON"),
            ("journal_mode", "WAL"),
        ):
            self._connection.execute(f"PRAGMA {name} = {value}")
        self._transact(self._check)
        # SQLite reads zeros after the end. A log, if there is one, has the missing pages.
        if not has_log and self._size_of() % self._connection.execute("PRAGMA page_size").fetchone()[0]:
            raise damage("it ends in the middle of a page")
        self._opened = (self.path.absolute(), self.path.stat()) if self._shared else None
        return self._transact(prepare)

    def _size_of(self, suffix: str = "") -> int:
        """Returns the size of the file, or of the file with this suffix; 0 if it does not exist."""
        with contextlib.suppress(FileNotFoundError):
            return Path(f"{self.path}{suffix}").stat().st_size
        return 0

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
            if connection.in_transaction:  # some failures end the transaction
                connection.execute("ROLLBACK")
            raise
        self._check_path()
        return result

    def _check_path(self) -> None:
        """Raises sqlite3.OperationalError if the open file was deleted or replaced. SQLite continues to write to it."""
        if self._opened is None:
            return
        path, opened = self._opened  # the path is absolute, because the program may change its working directory
        try:
            if os.path.samestat(path.stat(), opened):
                return
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:  # the program may no longer look there, which says nothing about the file
            return
        problem = sqlite3.OperationalError("it was deleted or replaced")
        problem.sqlite_errorcode = _GONE
        raise problem

    def _write_all(self, number: int) -> None:
        if number <= self._written:  # it was written together with an earlier change
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
        # This thread does nothing else while it waits.
        wait_ms = _ERASE_WAIT_MS if self._shared else 0
        self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        try:
            if not self._shared:  # a shared file soon needs the pages again
                self._connection.executescript("PRAGMA incremental_vacuum")  # `execute` would free a single page
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
        self._opened = None
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
        raise error  # outside the handlers, so that SQLite's error does not become its context

    def explanation(self, problem: sqlite3.Error) -> ConfigurationError:
        """Returns the error to raise for a SQLite error. It names the file and says what to do."""
        code = primary_code(problem)
        if is_in_use(problem):
            return self._error("is in use by another process: wait for that one, or end it")
        if code in _NOT_OURS:
            return self._error("is damaged, or was never one: restore it, or choose another path")
        if _is_gone(problem):
            return self._error("was deleted or replaced while it was open: start the program again")
        if code == sqlite3.SQLITE_FULL:
            return self._error("cannot be written: the disk is full; free some space and try again")
        if code == sqlite3.SQLITE_IOERR:
            return self._error(f"cannot be read or written: {problem}; check the disk, and try again")
        return self._error(f"cannot be written: {problem}")

    def _error(self, says: str) -> ConfigurationError:
        return ConfigurationError(f"the {self} {says}")

    def __str__(self) -> str:
        return f"{self._purpose} {self.path}"


def application_id_of(path: Path) -> int | None:
    """Returns the application id of a SQLite file; None for any other file.

    The file is not opened as a database if its header has the id, because opening it could change the log of a foreign
    database.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    if not head.startswith(_MAGIC) or len(head) < _HEAD_BYTES:
        return None
    in_head = int.from_bytes(head[-4:], "big")
    # After a kill, only the log may have the id.
    if in_head or not Path(f"{os.path.realpath(path)}-wal").is_file():
        return in_head
    address = f"{path.absolute().as_uri()}?mode=rw"
    with (
        contextlib.suppress(sqlite3.Error, UnicodeDecodeError),
        contextlib.closing(sqlite3.connect(address, uri=True, timeout=0)) as connection,
    ):
        return int(connection.execute("PRAGMA application_id").fetchone()[0])
    return in_head


def remove_files(path: Path) -> None:
    """Deletes a SQLite file and its log files. Raises OSError.

    The file itself is deleted last, so that it is still found after an interruption.
    """
    whole = os.path.realpath(path)  # SQLite keeps its log files next to the target of a link
    for suffix in _COMPANION_SUFFIXES:
        Path(whole + suffix).unlink(missing_ok=True)
    remove_file(path)


def remove_file(path: Path) -> None:
    """Deletes a file. If the path is a link, deletes the link and its target. Raises OSError."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def other_version(version: int, schema: Schema) -> str:
    """Returns the end of a message about a file of a different version: the version and the advice."""
    remedy = schema.remedy if version < schema.version else USE_THAT_VERSION
    formats = f"(its format is {version}, this version uses {schema.version})"
    return f"another version of this package {formats}: {remedy}"


def damage(what: str) -> sqlite3.DatabaseError:
    """Returns the error for content that this package cannot have written, like SQLite's error for a damaged file."""
    problem = sqlite3.DatabaseError(what)
    problem.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return problem


def readable(work: Callable[[], T]) -> T:
    """Returns the result of the work. Raises the error for a damaged file if SQLite's message contains invalid UTF-8,
    which Python cannot turn into an exception.
    """
    try:
        return work()
    except UnicodeDecodeError:
        pass
    raise damage("it contains a string that is not UTF-8")


def is_lost(problem: sqlite3.Error) -> bool:
    """Returns whether waiting cannot help, because the file is damaged, is not a SQLite file, or is gone."""
    return primary_code(problem) in _NOT_OURS or _is_gone(problem)


def _is_gone(problem: sqlite3.Error) -> bool:
    return getattr(problem, "sqlite_errorcode", 0) == _GONE


def is_in_use(problem: sqlite3.Error) -> bool:
    """Returns whether another process or connection uses the file."""
    return primary_code(problem) in _IN_USE


def primary_code(problem: sqlite3.Error) -> int:
    """Returns the kind of failure as a `sqlite3.SQLITE_…` number; 0 if SQLite gives none."""
    return getattr(problem, "sqlite_errorcode", 0) & _PRIMARY_CODE
