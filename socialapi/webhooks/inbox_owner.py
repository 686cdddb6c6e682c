"""The processes that have an inbox open. Each process holds its own lock file while it is running."""

import secrets
from pathlib import Path
from typing import Final

from socialapi.internal.file_lock import FileLock

_NAME_BYTES: Final = 8


class InboxOwner:
    """A process that has an inbox open, identified by the lock that it holds.

    The operating system releases the lock however the process ends. So if the lock is free, the process has ended; no
    timeout is needed.
    """

    def __init__(self, inbox: Path, name: str = "") -> None:
        # Set when the lock is taken, because processes may fork after this object was created.
        self.name: str = name
        self._inbox = inbox
        self._lock: FileLock | None = None

    def hold(self) -> bool:
        """Takes the lock and returns whether it was free. Safe to call twice. Raises OSError if its
        file cannot be created.
        """
        if self._lock is None:
            self.name = self.name or secrets.token_hex(_NAME_BYTES)
            lock = FileLock(self._inbox.with_name(f"{self._inbox.name}.{self.name}"))
            if lock.take() is not None:
                return False
            self._lock = lock
        return True

    def other(self, name: str) -> "InboxOwner":
        """Returns the owner of the same inbox with this name."""
        return InboxOwner(self._inbox, name)

    def is_gone(self) -> bool:
        """Returns whether the process has ended, and if so removes its lock file."""
        try:
            is_free = self.hold()
        except OSError:
            return False  # unknown, so the process counts as running
        self.release()
        return is_free

    def release(self) -> None:
        """Releases the lock and removes its file. Safe to call twice."""
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()
