"""The rejects file: one line per rejected row, with the reason."""

import csv
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from socialapi.errors import InvalidInput
from socialapi.internal.file_lock import FileLock
from socialapi.reports import RowIssue

HEADER: Final = ("row", "field", "reason")
_HEADER_BYTES: Final = ",".join(HEADER).encode()
PLACE: Final = ("file", "file_row")
"""What stands behind these where the input is several files."""


class RejectsFile:
    """A CSV file with row, field and reason (mode 0600), plus values in `columns` if the job has
    any.

    Its former content stays until `begin`, so that a job that never starts working destroys
    nothing. One job at a time uses the file, until `close`. Bytes that are not UTF-8 are written as
    they were read; if the file is loaded uncorrected they are refused again. Cells that a
    spreadsheet would take for formulas are not changed either, because the file is data to be
    corrected and read again.
    """

    def __init__(self, path: str | os.PathLike[str], *, sources: Sequence[object] = ()) -> None:
        """Opens the file and leaves what is in it.

        Raises InvalidInput when it cannot be written, is an input, or another job has it.
        """
        self.path: Path = Path(path)
        paths = (source for source in sources if isinstance(source, str | os.PathLike))
        if any(same_file(self.path, source) for source in paths):
            raise InvalidInput(f"the rejects file {self.path} is the input itself; choose another path")
        self.columns: Sequence[str] = ()
        self._begun = False
        self._is_incomplete = False
        self._is_new = False
        self._lock = FileLock(self.path)
        self._take_lock()
        try:
            self._file: IO[str] = open(  # noqa: SIM115  # pathlib knows no opener; it is closed by `close`
                self.path, "w", encoding="utf-8", errors="surrogateescape", newline="", opener=self._open
            )
        except (OSError, ValueError) as problem:
            self._lock.release()
            raise self._unwritable(problem) from None
        self._writer = csv.writer(self._file)

    def _take_lock(self) -> None:
        try:
            if self.path.exists() and not self.path.is_file():  # of a device or pipe nothing is kept
                return
            holder = self._lock.take()
        except (OSError, ValueError) as problem:
            raise self._unwritable(problem) from None
        if holder is not None:
            raise InvalidInput(
                f"the rejects file {self.path} is in use by another job: wait for that one, or choose another path ({holder})"
            )

    def _open(self, path: str, flags: int) -> int:
        flags &= ~os.O_TRUNC
        try:
            handle = os.open(path, flags | os.O_EXCL, 0o600)
        except FileExistsError:
            return os.open(path, flags, 0o600)
        self._is_new = True
        return handle

    def begin(self) -> None:
        """Empties the file and makes it private to its owner; later calls do nothing. Raises InvalidInput."""
        if self._begun:
            return
        handle = self._file.fileno()
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode):  # neither the mode nor the size of a device or pipe is ours
                if hasattr(os, "fchmod"):  # Windows has it from Python 3.13 on
                    os.fchmod(handle, 0o600)
                os.ftruncate(handle, 0)
            self._writer.writerow((*HEADER, *map(_writable, self.columns)))
        except OSError as problem:
            raise self._unwritable(problem) from None
        self._begun = True

    def write(self, issues: Sequence[RowIssue], values: Sequence[Sequence[object]] = ()) -> None:
        """Appends the rows, each with its values for `columns`. Raises InvalidInput if the disk is full."""
        beside = values or [()] * len(issues)
        try:
            self._writer.writerows(
                (issue.row, issue.field, issue.reason, *map(_writable, cells))
                for issue, cells in zip(issues, beside, strict=True)
            )
        except OSError as problem:
            self._is_incomplete = True
            raise self._unwritable(problem) from None

    def close(self) -> None:
        """Writes what is buffered and closes the file; one that never began is as it was. Idempotent.

        Raises InvalidInput when the disk is full, unless `write` has said so.
        """
        try:
            self._file.close()
            if self._is_new and not self._begun:
                self.path.unlink(missing_ok=True)
        except OSError as problem:
            if not self._is_incomplete:  # from Python 3.14 on, what could not be written is tried again here
                raise self._unwritable(problem) from None
        finally:
            self._lock.release()

    def _unwritable(self, problem: OSError | ValueError) -> InvalidInput:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        return InvalidInput(f"the rejects file {self.path} cannot be written: {reason}")


def is_rejects_file(path: str | os.PathLike[str]) -> bool:
    """Returns whether an earlier job may have written the file: it is empty, or starts like a
    rejects file.
    """
    return _head_of(path) in (b"", _HEADER_BYTES)


def begins_as_rejects(path: str | os.PathLike[str]) -> bool:
    """Returns whether the file starts like a rejects file, whatever follows."""
    return _head_of(path) == _HEADER_BYTES


def _head_of(path: str | os.PathLike[str]) -> bytes | None:
    """Returns as many bytes as the header of a rejects file has; None if the path is no file or
    cannot be read.
    """
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            return file.read(len(_HEADER_BYTES))
    except (OSError, ValueError):  # which whoever opens it says better
        return None


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Returns whether two paths lead to the same file, which need not exist yet."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):
        pass
    try:
        return Path(one).resolve() == Path(other).resolve()
    except (OSError, ValueError, RuntimeError):  # no path at all, which whoever opens it says better
        return False


def _writable(value: object) -> object:
    """Returns the text itself, but for lone surrogates that stand for no byte: they become bytes
    that are not UTF-8 either.
    """
    if not isinstance(value, str) or not any("\ud800" <= letter <= "\udfff" for letter in value):
        return value
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    return value
