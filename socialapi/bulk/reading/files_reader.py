"""Reading several files one after another: those that match a pattern, or a list of them."""

import bisect
import contextlib
import glob
import os
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeGuard

import attrs

from socialapi.bulk.reading.columns import Wanted
from socialapi.bulk.reading.file_reader import Formats, read_file
from socialapi.bulk.reading.input_files import InputFile, advice_for, name_of, opened, why
from socialapi.bulk.reading.reader_base import Chunk, NoRows
from socialapi.bulk.reading.threaded_reader import ThreadedReader
from socialapi.bulk.rejects import same_file
from socialapi.bulk.rows import RawRow, RawTable
from socialapi.errors import InvalidInput
from socialapi.file_lock import is_lock_file

NO_ROWS: Final = "none of the files has any rows"


def is_pattern(records: Any) -> TypeGuard[str | os.PathLike[str]]:
    """Whether it stands for the files that match it; the path of something that exists never does."""
    if not isinstance(records, str | os.PathLike):
        return False
    text = os.fsdecode(records)
    return glob.has_magic(text) and text.isprintable() and not os.path.lexists(text)


def are_paths(records: Any) -> TypeGuard[Sequence[str | os.PathLike[str]]]:
    """Whether it lists paths and patterns, and nothing else."""
    return (
        isinstance(records, list | tuple)
        and bool(records)
        and all(isinstance(each, str | os.PathLike) for each in records)
    )


class FilesReader(ThreadedReader[RawRow]):
    """Reads several files as one input, whose rows are numbered through.

    The files of a pattern come in the order of their names, those of a list as listed. Each has columns of its own. They
    are looked at before the first one is read, so that one that is missing is said before anything is sent.

    Raises InvalidInput for a pattern that nothing matches.
    """

    def __init__(
        self, given: Sequence[str | os.PathLike[str]], wanted: Wanted, formats: Formats[Wanted, RawRow]
    ) -> None:
        # At once: a file that appears while the job runs is none of them.
        self._found = [(each, path) for each in given for path in _matching(each, formats)]
        self.paths = [path for _, path in self._found]
        self._wanted = wanted
        self._formats = formats
        self._size = 0
        self._bytes_before = 0
        self._bytes_read = 0
        self._names: list[str] = []
        self._starts: list[int] = []
        super().__init__()

    def leave_out(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """As `Reader` says. Raises InvalidInput when a pattern matches nothing else."""
        self.paths = []
        for given, path in self._found:
            if not (is_pattern(given) and any(same_file(path, own) for own in paths)):
                self.paths.append(path)
        if not self.paths:
            raise InvalidInput("no file matches the pattern but those that the job itself writes")

    def place_of(self, number: int) -> tuple[str, int] | None:
        """The file that has this row, which is read, and the row's number there; None for the rows of a single file."""
        if len(self.paths) < 2 or not self._starts:
            return None
        at = bisect.bisect_right(self._starts, number) - 1
        return self._names[at], number - self._starts[at] + 1

    def _fraction(self) -> float | None:
        return min(1.0, (self._bytes_before + self._bytes_read) / self._size) if self._size else None

    def _read(self) -> Generator[Chunk[RawRow], None, None]:
        sizes = [_size(path, self._formats) for path in self.paths]
        self._size = sum(sizes)
        number = 0
        for path, size in zip(self.paths, sizes, strict=True):
            self._starts.append(number + 1)
            self._names.append(name_of(path, self._formats.extensions))
            opening = opened(path, self._formats.extensions, self._formats.instead_of_paths)
            with opening as file, contextlib.closing(self._rows(file)) as chunks:
                for chunk in chunks:
                    yield _moved(chunk, number)
                    number += len(chunk)
            self._bytes_before += size
            self._bytes_read = 0
        if not number:
            raise NoRows(NO_ROWS)

    def _rows(self, file: InputFile) -> Generator[Chunk[RawRow], None, None]:
        with contextlib.suppress(NoRows), contextlib.closing(read_file(file, self._wanted, self._formats)) as chunks:
            for chunk in chunks:
                self._bytes_read = max(self._bytes_read, file.position)
                yield chunk


def _matching(given: str | os.PathLike[str], formats: Formats[Wanted, RawRow]) -> Iterable[str]:
    if not is_pattern(given):
        return (os.fsdecode(given),)
    text = os.fsdecode(given)
    matching = glob.glob(text, recursive=True)  # noqa: PTH207 - which knows no patterns that begin at the root
    found = sorted(path for path in matching if not Path(path).is_dir() and not is_lock_file(path))
    if not found:
        name = name_of(given, formats.extensions)
        raise InvalidInput(f"{name}: there is no such file, and no file that matches it as a pattern")
    return found


def _size(path: str, formats: Formats[Wanted, RawRow]) -> int:
    try:
        found = Path(path).stat()
    except ValueError:
        return 0  # no path at all, which is said when it is opened
    except OSError as error:
        fault = why(error) + advice_for(path, formats.extensions, error, formats.instead_of_paths)
    else:
        return found.st_size
    # Out here, so that the path, which may be an address that was given for one, is in no context.
    raise InvalidInput(f"{name_of(path, formats.extensions)}: {fault}")


def _moved(chunk: Chunk[RawRow], by: int) -> Chunk[RawRow]:
    """The rows with numbers that go on where the files before ended."""
    if not by:
        return chunk
    if isinstance(chunk, RawTable):
        return attrs.evolve(chunk, first_number=chunk.first_number + by)
    rows = list(chunk)
    for row in rows:
        row.number += by
    return rows
