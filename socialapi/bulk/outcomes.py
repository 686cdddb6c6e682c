"""The outcomes file: one line per row, with its key and its outcome."""

import asyncio
import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, islice, repeat
from pathlib import Path
from typing import IO, Any, ClassVar, Final

import orjson

from socialapi.bulk.output_file import OutputFile
from socialapi.bulk.rejects import FILE_COLUMNS
from socialapi.errors import InvalidInput
from socialapi.internal.private_files import is_written_through, replacement

NAMES: Final = ("row", "key", "outcome", "reason")
LINES_PER_ROW_GROUP: Final = 100_000
END_OF_PARQUET: Final = 8_192
"""How many bytes at the end of a Parquet file are searched for the column names, which are in its footer."""
Columns = Sequence[Iterable[Any]]
"""Row numbers, keys, outcomes and reasons; if the input has several files, also file names and row
numbers in the file.
"""


class _CsvFormat:
    """CSV, whose first line names the columns."""

    def head(self, names: Sequence[str]) -> bytes:
        """Returns the first bytes of the file."""
        return self.lines([[name] for name in names])

    def is_plain(self, keys: str) -> bool:
        """Returns whether these joined keys need no quotation marks or escapes."""
        return not any(mark in keys for mark in ',"\r\n')

    def plain_lines(self, numbers: Iterable[int], keys: Iterable[str], outcome: str) -> bytes:
        """Returns the lines of rows with plain keys and no reason, three times as fast as `lines`."""
        return "".join([f"{number},{key},{outcome},\r\n" for number, key in zip(numbers, keys, strict=True)]).encode()

    def lines(self, columns: Columns) -> bytes:
        """Returns the lines of the given rows."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows(zip(*columns, strict=True))
        return text.getvalue().encode("utf-8", "surrogateescape")


class _JsonFormat(_CsvFormat):
    """JSON Lines."""

    def head(self, names: Sequence[str]) -> bytes:
        return b""

    def is_plain(self, keys: str) -> bool:
        return len(orjson.dumps(keys)) == len(keys.encode()) + 2

    def plain_lines(self, numbers: Iterable[int], keys: Iterable[str], outcome: str) -> bytes:
        rest = f'"outcome":"{outcome}","reason":""}}\n'
        return "".join(
            [f'{{"row":{number},"key":"{key}",{rest}' for number, key in zip(numbers, keys, strict=True)]
        ).encode()

    def lines(self, columns: Columns) -> bytes:
        names = (*NAMES, *FILE_COLUMNS)
        lines = (dict(zip(names, line, strict=False)) for line in zip(*columns, strict=True))
        return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)


class _ParquetFormat(_JsonFormat):
    """Parquet. Lines are written as JSON until the file is complete, because a Parquet file is unreadable without its
    footer.
    """

    def __init__(self) -> None:
        from socialapi.bulk.inputs.arrow import pyarrow_for  # most jobs do not need pyarrow

        self._pyarrow = pyarrow_for("or writing Parquet")

    def convert(self, part: Path, path: Path, names: Sequence[str]) -> None:
        """Replaces the file at the path with the lines in `part`, converted to Parquet. Raises OSError."""
        from pyarrow.json import ParseOptions, ReadOptions, read_json
        from pyarrow.parquet import ParquetWriter

        kinds = {"row": self._pyarrow.int64(), "file_row": self._pyarrow.int64()}
        schema = self._pyarrow.schema([(name, kinds.get(name, self._pyarrow.string())) for name in names])
        parsing = ParseOptions(explicit_schema=schema)
        with part.open("rb") as lines, replacement(path) as file, ParquetWriter(file, schema) as writer:
            while group := b"".join(islice(lines, LINES_PER_ROW_GROUP)):
                reading = ReadOptions(use_threads=False, block_size=len(group))
                writer.write_table(read_json(io.BytesIO(group), reading, parsing))


FORMATS: Final[Mapping[str, type[_CsvFormat]]] = {".csv": _CsvFormat, ".jsonl": _JsonFormat, ".parquet": _ParquetFormat}


class OutcomesFile(OutputFile):
    """A file with a line for each row, in the order in which rows were settled. The extension of its name determines
    the format: CSV if there is none, for example for a device.
    """

    noun: ClassVar[str] = "outcomes file"
    heads: ClassVar[tuple[bytes, ...]] = (",".join(NAMES).encode(), b'{"row":', b"PAR1")

    def __init__(
        self, path: str | os.PathLike[str], *, sources: Sequence[object] = (), keeps_earlier: bool = False
    ) -> None:
        """Opens the file as `OutputFile` does. Also raises InvalidInput if the library for Parquet is missing."""
        self._format = FORMATS.get(ending_of(path), _CsvFormat)()
        self._names: Sequence[str] = NAMES
        if isinstance(self._format, _ParquetFormat):
            self.ending_of_part = ".jsonl"
            if is_written_through(Path(path)):
                raise InvalidInput(f"the {self.noun} {path} cannot be written: Parquet needs a regular file")
        super().__init__(path, sources=sources, keeps_earlier=keeps_earlier)

    def _opened(self, keeps_earlier: bool) -> IO[bytes]:
        if self.path.is_file() and not self.is_like(self.path):
            raise OSError(0, "it was not written by a job: choose another path, or delete it")
        return super()._opened(keeps_earlier)

    @classmethod
    def is_like(cls, path: str | os.PathLike[str]) -> bool:
        """Returns whether an earlier job may have written the file. Looks for the column names at the end of a Parquet
        file.
        """
        is_like = super().is_like(path)
        if not is_like or ending_of(path) != ".parquet":
            return is_like
        with Path(path).open("rb") as file:
            file.seek(-min(Path(path).stat().st_size, END_OF_PARQUET), os.SEEK_END)
            end = file.read(END_OF_PARQUET)
        return not end or all(name.encode() in end for name in NAMES)

    def begin(self, *, has_places: bool) -> None:
        """Writes the names of the columns on the first call. Raises InvalidInput if the disk is full."""
        if self._begun:
            return
        self._begun = True
        self._names = (*NAMES, *FILE_COLUMNS) if has_places else NAMES
        with self._writing():
            self._file.write(self._format.head(self._names))

    def write(
        self,
        first: int,
        mask: bytearray,
        keys: Sequence[str] | None,
        outcome: str,
        reasons: Sequence[str] = (),
        places: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Appends a line for each row whose byte in `mask` is not 0; `first` is the row number of the first byte, and
        `keys` has a key for each byte. Raises InvalidInput if the disk is full.
        """
        rows = mask.count(1)
        numbers: Iterable[int] = range(first, first + len(mask))
        kept = keys or [""] * len(mask)
        if rows < len(mask):
            numbers, kept = compress(numbers, mask), list(compress(kept, mask))
        if reasons or places or not self._format.is_plain("".join(kept)):
            columns = (numbers, kept, repeat(outcome, rows), reasons or repeat("", rows), *zip(*places, strict=True))
            lines = self._format.lines(columns)
        else:
            lines = self._format.plain_lines(numbers, kept, outcome)
        with self._writing():
            self._file.write(lines)

    async def sync(self) -> None:
        """Waits until the lines written so far are on disk. Raises InvalidInput if the disk is full."""
        with self._writing():
            self._file.flush()
            if not self._is_direct:
                await asyncio.to_thread(os.fsync, self._file.fileno())

    def _publish(self, path: Path) -> None:
        if isinstance(self._format, _ParquetFormat):
            self._format.convert(self._part, path, self._names)
            self._part.unlink()
        else:
            super()._publish(path)


def ending_of(path: str | os.PathLike[str]) -> str:
    """Returns the extension of the file name, in lower case."""
    return Path(os.fsdecode(path)).suffix.lower()


def mask_of(numbers: Sequence[int]) -> bytearray:
    """Returns one byte for each number from the first to the last of these ascending numbers: 1 if it is among them,
    else 0.
    """
    first, parts = numbers[0], [numbers]
    mask = bytearray(numbers[-1] + 1 - first)
    while parts:  # most numbers are in long gapless ranges, and finding these is faster than visiting each number
        some = parts.pop()
        size, at = len(some), some[0] - first
        if some[-1] - some[0] == size - 1:
            mask[at : at + size] = b"\1" * size
        elif size <= 32:
            for number in some:
                mask[number - first] = 1
        else:
            parts += (some[: size // 2], some[size // 2 :])
    return mask
