"""The rejects file: one line for each row that was not accepted, and why."""

import csv
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final

from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue

HEADER: Final = ("row", "field", "reason")


class RejectsFile:
    """A CSV file of row, field and reason, mode 0600; without values, which may be personal."""

    def __init__(self, path: str | os.PathLike[str], *, source: object = None) -> None:
        """Creates or empties the file. Raises InvalidInput when that is not possible, or when it is the input."""
        self.path = Path(path)
        if isinstance(source, str | os.PathLike) and _same(self.path, Path(source)):
            raise InvalidInput(f"the rejects file {self.path} is the input itself; choose another path")
        try:
            self._file: IO[str] = open(self.path, "w", encoding="utf-8", newline="", opener=_private)  # noqa: SIM115  # pathlib knows no opener; it is closed by `close`
        except (OSError, ValueError) as problem:
            raise self._unwritable(problem) from None
        self._writer = csv.writer(self._file)
        self._writer.writerow(HEADER)

    def write(self, issues: Iterable[RowIssue]) -> None:
        """Appends the rows. Raises InvalidInput when the disk is full."""
        try:
            self._writer.writerows((issue.row, issue.field, issue.reason) for issue in issues)
        except OSError as problem:
            raise self._unwritable(problem) from None

    def close(self) -> None:
        """Writes what is buffered and closes the file. Idempotent."""
        try:
            self._file.close()
        except OSError as problem:
            raise self._unwritable(problem) from None

    def _unwritable(self, problem: OSError | ValueError) -> InvalidInput:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        return InvalidInput(f"the rejects file {self.path} cannot be written: {reason}")


def _private(path: str, flags: int) -> int:
    """Opens a file that only its owner may read, also when others could until now."""
    handle = os.open(path, flags, 0o600)
    try:
        if stat.S_ISREG(os.fstat(handle).st_mode):  # the mode of a device or pipe is not ours to change
            os.fchmod(handle, 0o600)
    except OSError:
        os.close(handle)
        raise
    return handle


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them does not exist, which whoever opens it says better
        return False
