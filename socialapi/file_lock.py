"""The right to use a file, for one job at a time: a lock file beside it, held by the process that has the right.

The system lets go of the lock when the process ends, however it ends; what is left behind then is the lock file, which
means nothing. Who is refused reads in it who has the lock.
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

SUFFIX: Final = ".lock"

_MARK: Final = b' {"socialapi_lock": '
"""How a lock file begins. The blank is what Windows locks, and nobody else can read there then."""
_MAX_BYTES: Final = 512
_NOTED_WITHIN_SECONDS: Final = 0.1
"""How long it is waited for the note of somebody who has just taken the lock."""
_POLL_SECONDS: Final = 0.002
_ATTEMPTS: Final = 100

_held: "Final[weakref.WeakSet[FileLock]]" = weakref.WeakSet()
"""The locks that this process has."""


@attrs.frozen
class Holder:
    """Who has a lock: the id of the process, and since when, as an ISO 8601 time; None for what could not be read."""

    process_id: int | None = None
    since: str | None = None

    def __str__(self) -> str:
        if self.process_id is None:
            return "which one is not known"
        which = f"process {self.process_id}" + (", which is this one," if self.process_id == os.getpid() else "")
        return f"{which} has it" + (f" since {self.since}" if self.since else "")


class FileLock:
    """The lock of one file. `take` never waits for who has it; a process that is forked does not have it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._locked = Path(path)
        self._path = Path()
        self._descriptor: int | None = None

    def take(self) -> Holder | None:
        """Takes the lock until `release`; returns who has it if somebody else does.

        Raises OSError when the lock file cannot be made, or another file is in its place, and ValueError for what is no
        path.
        """
        self._path = lock_path(self._locked)
        try:
            return self._take()
        except FileNotFoundError:  # there is no such folder, which concerns the file itself
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
                    continue  # who had it before removed the file after it was opened here
                _note(descriptor, self._path)
                self._descriptor = descriptor
                _held.add(self)
                return None
            finally:
                if self._descriptor is None:
                    os.close(descriptor)
        return Holder()

    def release(self) -> None:
        """Gives the lock back and removes its file. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        from filelock import unlock_descriptor

        _held.discard(self)
        # Before it is unlocked: who opens the file afterwards makes another one, and who has it open notices.
        with contextlib.suppress(OSError):  # Windows removes no file that is open: it stays, and means nothing
            self._path.unlink()
        try:
            unlock_descriptor(descriptor)
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Closes the lock file without giving the lock back, which another process has."""
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
    """The lock file of a file, the same one by whichever links the file is reached."""
    return Path(os.path.realpath(path) + SUFFIX)


def is_lock_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a lock file of this package, perhaps one that was left behind."""
    if not os.fsdecode(path).endswith(SUFFIX):
        return False
    try:
        with Path(path).open("rb") as file:
            return _is_ours(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return False


def _lock(descriptor: int) -> bool:
    from filelock import lock_descriptor  # here, because importing it takes a tenth of aiohttp's time

    return lock_descriptor(descriptor, blocking=False)


def _note(descriptor: int, path: Path) -> None:
    """Writes down who has the lock. Raises OSError for a file that is none of ours."""
    if not _is_ours(os.read(descriptor, _MAX_BYTES)):
        raise OSError(0, f"{path} holds something else")
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    said = json.dumps({"socialapi_lock": {"pid": os.getpid(), "since": now.isoformat().replace("+00:00", "Z")}})
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, f" {said}\n".encode())


def _is_ours(content: bytes) -> bool:
    """Whether it can be lost: it is empty, or a note of who had the lock."""
    return not content.strip() or content.startswith(_MARK)


def _holder(descriptor: int) -> Holder:
    """Who has the lock, by what is noted there, for which a moment is waited: a lock is taken before it is noted."""
    until = time.monotonic() + _NOTED_WITHIN_SECONDS
    while True:
        found = _noted(descriptor)
        if (found is not None and _is_alive(found)) or time.monotonic() >= until:
            return found or Holder()
        time.sleep(_POLL_SECONDS)


def _noted(descriptor: int) -> Holder | None:
    try:
        os.lseek(descriptor, 1, os.SEEK_SET)  # behind what Windows lets nobody read
        said: Any = json.loads(os.read(descriptor, _MAX_BYTES))["socialapi_lock"]
        return Holder(int(said["pid"]), str(said["since"])[:32])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_alive(holder: Holder) -> bool:
    """Whether the process may be there: a note may be that of somebody who was killed."""
    if os.name != "posix" or holder.process_id is None:
        return True
    try:
        os.kill(holder.process_id, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # there, and somebody else's
        return True
    return True


def _let_go() -> None:
    """What a forked process inherits is closed: it would keep the locks of one that has ended.

    The locks themselves forget it, too: the child's next file may get the same descriptor.
    """
    for lock in list(_held):
        lock.forget()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
