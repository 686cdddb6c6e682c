"""A lock file beside a file, so that only one job at a time uses it.

The operating system releases the lock when the process ends, however it ends. A lock file that is
left behind has no effect. While the lock is held, the file names its holder.
"""

import contextlib
import datetime
import json
import os
import time
import weakref
from pathlib import Path
from typing import Any, Final

import attrs

from socialapi.internal.records import FrozenRecord

SUFFIX: Final = ".lock"

_MARK: Final = b' {"socialapi_lock": '
"""How a lock file begins. The blank is the byte that Windows locks, which nobody else can read."""
_MAX_BYTES: Final = 512
_NOTED_WITHIN_SECONDS: Final = 0.1
"""How long to wait until a process that has just taken the lock has written its note."""
_POLL_SECONDS: Final = 0.002
_ATTEMPTS: Final = 100

_held: "Final[weakref.WeakSet[FileLock]]" = weakref.WeakSet()
"""The locks that this process holds."""


@attrs.frozen
class Holder(FrozenRecord):
    """The holder of a lock: its process id, and an ISO 8601 time since when.

    A value is None if it could not be read.
    """

    process_id: int | None = None
    since: str | None = None

    def __str__(self) -> str:
        if self.process_id is None:
            return "which one is not known"
        which = f"process {self.process_id}" + (", which is this one," if self.process_id == os.getpid() else "")
        return f"{which} has it" + (f" since {self.since}" if self.since else "")


class FileLock:
    """The lock of one file. `take` never waits for the holder. Forked processes do not
    inherit it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._locked = Path(path)
        self._path = Path()
        self._descriptor: int | None = None

    def take(self) -> Holder | None:
        """Takes the lock until `release`. Returns the holder if another process or task has it.

        Raises OSError if the lock file cannot be created or another file is in its place, and
        ValueError if the path is invalid.
        """
        self._path = lock_path(self._locked)
        try:
            return self._take()
        except FileNotFoundError:  # the folder is missing, which concerns the file itself
            raise
        except OSError as problem:
            says = f"the lock file beside it cannot be made: {problem.strerror}"
            raise OSError(problem.errno, says, str(self._path)) from None

    def _take(self) -> Holder | None:
        for _ in range(_ATTEMPTS):
            descriptor = self._open()
            try:
                if not _lock(descriptor):
                    return _holder(descriptor)
                if not self._is_at_path(descriptor):
                    continue  # the former holder removed the file after it was opened here
                _note(descriptor, self._path)
                self._descriptor = descriptor
                _held.add(self)
                return None
            finally:
                if self._descriptor is None:
                    os.close(descriptor)
        return Holder()

    def release(self) -> None:
        """Releases the lock and removes its file. Safe to call twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        from filelock import unlock_descriptor

        _held.discard(self)
        # Removed before it is unlocked: whoever opens it later creates a new one, and whoever has
        # it open notices.
        # Windows does not remove an open file; it stays, without effect.
        with contextlib.suppress(OSError):
            self._path.unlink()
        try:
            unlock_descriptor(descriptor)
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Closes the lock file without releasing the lock, which belongs to the parent process."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        return os.open(self._path, flags, 0o600)

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False


def lock_path(path: str | os.PathLike[str]) -> Path:
    """Returns the path of a file's lock file, the same for all links to the file."""
    return Path(os.path.realpath(path) + SUFFIX)


def is_lock_file(path: str | os.PathLike[str]) -> bool:
    """Returns whether the file is a lock file of this package, possibly a stale one."""
    if not os.fsdecode(path).endswith(SUFFIX):
        return False
    try:
        with Path(path).open("rb") as file:
            return _is_ours(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return False


def _lock(descriptor: int) -> bool:
    from filelock import lock_descriptor  # imported here: it takes a tenth of aiohttp's import time

    return lock_descriptor(descriptor, blocking=False)


def _note(descriptor: int, path: Path) -> None:
    """Writes who holds the lock. Raises OSError if the file is not a lock file."""
    if not _is_ours(os.read(descriptor, _MAX_BYTES)):
        raise OSError(0, f"{path} holds something else")
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    said = json.dumps({"socialapi_lock": {"pid": os.getpid(), "since": now.isoformat().replace("+00:00", "Z")}})
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f" {said}\n".encode())


def _is_ours(content: bytes) -> bool:
    """Returns whether the content may be overwritten: it is empty, or a note of a lock's holder."""
    return not content.strip() or content.startswith(_MARK)


def _holder(descriptor: int) -> Holder:
    """Returns the holder of the lock. Waits briefly, because the note is written after locking."""
    until = time.monotonic() + _NOTED_WITHIN_SECONDS
    while True:
        found = _noted(descriptor)
        if (found is not None and _is_alive(found)) or time.monotonic() >= until:
            return found or Holder()
        time.sleep(_POLL_SECONDS)


def _noted(descriptor: int) -> Holder | None:
    try:
        os.lseek(descriptor, 1, os.SEEK_SET)  # after the byte that Windows lets nobody read
        said: Any = json.loads(os.read(descriptor, _MAX_BYTES))["socialapi_lock"]
        return Holder(int(said["pid"]), str(said["since"])[:32])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _is_alive(holder: Holder) -> bool:
    """Returns whether the process may be alive. A note may be left from one that was killed."""
    if os.name != "posix" or holder.process_id is None:
        return True
    try:
        os.kill(holder.process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it exists, under another user
        return True
    return True


def _let_go() -> None:
    """Closes inherited lock files in a forked process, which would otherwise keep the locks.

    The locks forget the descriptor too, because the child may reuse its number for another file.
    """
    for lock in list(_held):
        lock.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
