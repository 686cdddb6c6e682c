"""Who has an inbox open: each of them holds the lock of a name of its own beside it for as long as it lives."""

import secrets
from pathlib import Path
from typing import Final

from socialapi.file_lock import FileLock

_NAME_BYTES: Final = 8


class Holder:
    """One who has an inbox open.

    The operating system frees the lock when the process ends, in whatever way. So whoever can take the lock of another
    knows that this one is gone; how long nothing was heard of it says nothing.
    """

    def __init__(self, inbox: Path, name: str = "") -> None:
        self.name = name  # made with the lock, since processes may have forked from the one that made this object
        self._inbox = inbox
        self._lock: FileLock | None = None

    def hold(self) -> bool:
        """Takes the lock; whether that was possible. Idempotent. Raises OSError when the file cannot be made."""
        if self._lock is None:
            self.name = self.name or secrets.token_hex(_NAME_BYTES)
            lock = FileLock(self._inbox.with_name(f"{self._inbox.name}.{self.name}"))
            if lock.take() is not None:
                return False
            self._lock = lock
        return True

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
            lock.release()
