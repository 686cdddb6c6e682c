"""The rejects file: one line for each row that was not accepted, and why."""

import csv
import os
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
        if isinstance(source, str | os.PathLike) and self.path.exists() and self.path.samefile(source):
            raise InvalidInput(f"the rejects file {self.path} is the input itself; choose another path")
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.fchmod(handle, 0o600)
        except OSError as problem:
            raise InvalidInput(f"the rejects file {self.path} cannot be written: {problem.strerror}") from None
        self._file: IO[str] = os.fdopen(handle, "w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(HEADER)

    def write(self, issues: Iterable[RowIssue]) -> None:
        """Appends the rows. Raises InvalidInput when the disk is full."""
        try:
            self._writer.writerows((issue.row, issue.field, issue.reason) for issue in issues)
        except OSError as problem:
            raise InvalidInput(f"the rejects file {self.path} cannot be written: {problem.strerror}") from None

    def close(self) -> None:
        """Writes what is buffered and closes the file. Idempotent."""
        try:
            self._file.close()
        except OSError as problem:
            raise InvalidInput(f"the rejects file {self.path} cannot be written: {problem.strerror}") from None
