"""The rejects file: one line per rejected row, with the reason."""

import csv
import io
import os
from collections.abc import Sequence
from typing import ClassVar, Final

from socialapi.bulk.output_file import OutputFile
from socialapi.reports import RowIssue

HEADER: Final = ("row", "field", "reason")
FILE_COLUMNS: Final = ("file", "file_row")
"""The columns after `HEADER` if the input has several files."""


class RejectsFile(OutputFile):
    """A CSV file with row, field and reason, followed by the additional `columns` of the job.

    The file is meant to be corrected and loaded again, so cells are written unchanged: bytes that are not UTF-8 stay
    as they are, and cells that a spreadsheet reads as formulas are not escaped.
    """

    noun: ClassVar[str] = "rejects file"
    heads: ClassVar[tuple[bytes, ...]] = (",".join(HEADER).encode(),)

    def __init__(
        self, path: str | os.PathLike[str], *, sources: Sequence[object] = (), keeps_earlier: bool = False
    ) -> None:
        super().__init__(path, sources=sources, keeps_earlier=keeps_earlier)
        self.columns: Sequence[str] = ()
        self._file = io.TextIOWrapper(self._file, "utf-8", "surrogateescape", newline="")
        self._writer = csv.writer(self._file)

    def begin(self) -> None:
        """Writes the names of the columns on the first call. Raises InvalidInput if the disk is full."""
        if not self._begun:
            self._begun = True
            with self._writing():
                self._writer.writerow((*HEADER, *map(_writable, self.columns)))

    def write(self, issues: Sequence[RowIssue], values: Sequence[Sequence[object]] = ()) -> None:
        """Appends a line for each issue, with its values for `columns`. Raises InvalidInput if the disk is full."""
        additional = values or [()] * len(issues)
        with self._writing():
            self._writer.writerows(
                (issue.row, issue.field, issue.reason, *map(_writable, cells))
                for issue, cells in zip(issues, additional, strict=True)
            )


def _writable(value: object) -> object:
    """Returns a value that can be written. Lone surrogates become bytes that are not valid UTF-8."""
    if not isinstance(value, str) or not any("\ud800" <= letter <= "\udfff" for letter in value):
        return value
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    return value
