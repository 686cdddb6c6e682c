"""Who has an inbox open: each of them holds a lock on a file of its own beside it for as long as it lives."""

import contextlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from filelock import BaseFileLock

_NAME_BYTES: Final = 8


class Holder:
    """One who has an inbox open.

    The operating system frees the lock when the process ends, in whatever way. So whoever can take the lock of another
    knows that this one is gone; how long nothing was heard of it says nothing.
    """

    def __init__(self, inbox: Path, name: str = "") -> None:
        self.name = name  # made with the lock, since processes may have forked from the one that made this object
        self._inbox = inbox
        self._lock: BaseFileLock | None = None

    def hold(self) -> bool:
        """Takes the lock; whether that was possible. Idempotent. Raises OSError when the file cannot be made."""
        from filelock import FileLock, Timeout  # here, because importing it takes a while

        if self._lock is None:
            self.name = self.name or secrets.token_hex(_NAME_BYTES)
            lock = FileLock(self._path, mode=0o600, thread_local=False)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                return False
            self._lock = lock
        return True

    @property
    def _path(self) -> Path:
        return self._inbox.with_name(f"{self._inbox.name}.{self.name}.lock")

    def other(self, name: str) -> "Holder":
        """Somebody else who had the same inbox open."""
        return Holder(self._inbox, name)

    def is_gone(self) -> bool:
        """Whether nobody has the lock any more; then its file is removed, too."""
        try:
            is_free = self.hold()
        except OSError:
            return False  # as long as that cannot be known
        self.release()
        return is_free

    def release(self) -> None:
        """Gives the lock back, and removes its file. Idempotent."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with contextlib.suppress(OSError):  # an open file cannot be removed everywhere
                self._path.unlink()
            lock.release()
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
