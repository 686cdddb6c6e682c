"""A lock file next to a file, so that only one job at a time uses it.

The operating system releases the lock when the process ends, even if it is killed. A leftover lock file has no effect.
While the lock is held, the file names its holder.
"""

import contextlib
import datetime
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from socialapi.internal.records import FrozenRecord

if TYPE_CHECKING:
    import filelock

SUFFIX: Final = ".lock"

_MARK: Final = b' {"socialapi_lock": '
"""The first bytes of a lock file. On Windows, the first byte (a space) is locked, and no other process can read it."""
_MAX_BYTES: Final = 512
_NOTED_WITHIN_SECONDS: Final = 0.1
"""How long to wait for the note of a process that has just taken the lock."""
_POLL_SECONDS: Final = 0.002
_ATTEMPTS: Final = 100

_HELD: "Final[set[filelock.FileLock]]" = set()
"""The locks of this process. Without a reference, filelock would release them."""


@attrs.frozen
class Holder(FrozenRecord):
    """The holder of a lock: its process id, and the ISO 8601 time at which it took the lock.

    A value is None if it could not be read.
    """

    process_id: int | None = None
    since: str | None = None

    def __str__(self) -> str:
        if self.process_id is None:
            return "holder unknown"
        is_own = self.process_id == os.getpid()
        which = f"this process, {self.process_id}," if is_own else f"process {self.process_id}"
        return f"held by {which}" + (f" since {self.since}" if self.since else "")


class FileLock:
    """The lock of one file. `take` never waits for the holder. Forked processes do not inherit it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._locked = Path(path)
        self._lock: filelock.FileLock | None = None

    def take(self) -> Holder | None:
        """Takes the lock until `release`. Returns the holder if another process or task has the lock.

        Raises OSError if the lock file cannot be created or another kind of file exists at its path, and ValueError if
        the path is invalid.
        """
        path = lock_path(self._locked)
        try:
            return self._take(path)
        except FileNotFoundError:  # the folder is missing; opening the file itself reports this
            raise
        except OSError as problem:
            says = f"its lock file cannot be created: {problem.strerror}"
            raise OSError(problem.errno, says, str(path)) from None

    def _take(self, path: Path) -> Holder | None:
        from filelock import FileLock, Timeout  # imported here: it takes a tenth of aiohttp's import time

        path.parent.stat()  # filelock 3 would create a missing folder
        lock = FileLock(path, mode=0o600, thread_local=False, on_acquired=_note)
        for _ in range(_ATTEMPTS):
            # filelock detects links and does not follow them.
            with contextlib.suppress(FileNotFoundError, PermissionError):  # Windows does not read a locked file
                if not _is_ours(_read(path)):
                    raise OSError(0, f"{path} holds something else")
            try:
                lock.acquire(blocking=False)
            except Timeout:
                holder = _holder(path)
                if holder is not None:
                    return holder
            else:
                self._lock = lock
                _HELD.add(lock)
                return None
        return Holder()

    def release(self) -> None:
        """Releases the lock and removes its file. Safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        _HELD.discard(lock)
        if not lock.is_locked:  # it belongs to the process that forked this one
            return
        # Removed before it is unlocked: a process that opens the path later creates a new file, and filelock detects
        # that a file opened before was removed. On Windows, where an open file cannot be removed, the file remains,
        # which is harmless.
        with contextlib.suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


def lock_path(path: str | os.PathLike[str]) -> Path:
    """Returns the path of a file's lock file, the same for all links to the file."""
    return Path(os.path.realpath(path) + SUFFIX)


def is_lock_file(path: str | os.PathLike[str]) -> bool:
    """Returns whether the file is a lock file of this package, possibly a stale one."""
    if not os.fsdecode(path).endswith(SUFFIX):
        return False
    try:
        return _is_ours(_read(path))
    except (OSError, ValueError):
        return False


def _read(path: str | os.PathLike[str], start: int = 0) -> bytes:
    with Path(path).open("rb", buffering=0) as file:
        file.seek(start)
        return file.read(_MAX_BYTES)


def _is_ours(content: bytes) -> bool:
    """Returns whether the content may be overwritten: it is empty, or a note of a lock's holder."""
    return not content.strip() or content.startswith(_MARK)


def _note(descriptor: int) -> None:
    """Writes the holder's note into the lock file."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    note = json.dumps({"socialapi_lock": {"pid": os.getpid(), "since": now.isoformat().replace("+00:00", "Z")}})
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f" {note}\n".encode())


def _holder(path: Path) -> Holder | None:
    """Returns the holder of a lock, or None if the file is gone because the lock was just released.

    Waits briefly, because the note is written after locking.
    """
    until = time.monotonic() + _NOTED_WITHIN_SECONDS
    while True:
        try:
            found = _noted(_read(path, start=1))  # skips the byte that Windows locks
        except FileNotFoundError:
            return None
        if (found is not None and _is_alive(found)) or time.monotonic() >= until:
            return found or Holder()
        time.sleep(_POLL_SECONDS)


def _noted(note: bytes) -> Holder | None:
    """Returns the holder in a note; None if it cannot be read."""
    try:
        said: Any = json.loads(note)["socialapi_lock"]
        return Holder(int(said["pid"]), str(said["since"])[:32])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _is_alive(holder: Holder) -> bool:
    """Returns whether the process may be alive. A killed process leaves its note behind."""
    if os.name != "posix" or holder.process_id is None:
        return True
    try:
        os.kill(holder.process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # the process exists and belongs to another user
        return True
    return True
