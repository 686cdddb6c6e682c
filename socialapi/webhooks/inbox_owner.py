"""Which processes have an inbox open: each holds a lock file of its own beside it for as long as it lives."""

import secrets
from pathlib import Path
from typing import Final

from socialapi.file_lock import FileLock

_NAME_BYTES: Final = 8


class InboxOwner:
    """A process that has an inbox open, known by the lock that it holds.

    The operating system frees the lock when the process ends, in whatever way. A process whose lock
    can be taken is therefore gone; how long it has been silent does not matter.
    """

    def __init__(self, inbox: Path, name: str = "") -> None:
        self.name: str = name  # made with the lock, since processes may have forked from the one that made this object
        self._inbox = inbox
        self._lock: FileLock | None = None

    def hold(self) -> bool:
        """Takes the lock; returns whether it was free. Idempotent. Raises OSError when its file cannot be made."""
        if self._lock is None:
            self.name = self.name or secrets.token_hex(_NAME_BYTES)
            lock = FileLock(self._inbox.with_name(f"{self._inbox.name}.{self.name}"))
            if lock.take() is not None:
                return False
            self._lock = lock
        return True

    def other(self, name: str) -> "InboxOwner":
        """Another owner of the same inbox."""
        return InboxOwner(self._inbox, name)

    def is_gone(self) -> bool:
        """Whether the process has ended; the file of its lock is removed then."""
        try:
            is_free = self.hold()
        except OSError:
            return False  # unknown, so it counts as alive
        self.release()
        return is_free

    def release(self) -> None:
        """Gives the lock back, and removes its file. Idempotent."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
