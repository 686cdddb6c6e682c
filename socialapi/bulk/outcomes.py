"""The outcomes file: one line per row, with its key and its outcome."""

import asyncio
import csv
import functools
import io
import os
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, repeat
from pathlib import Path
from typing import IO, Any, ClassVar, Final

import orjson

from socialapi.bulk.output_file import OutputFile
from socialapi.bulk.rejects import FILE_COLUMNS

NAMES: Final = ("row", "key", "outcome", "reason")
ENDINGS: Final = (".csv", ".jsonl", ".parquet")
LINES_PER_ROW_GROUP: Final = 100_000
END_OF_PARQUET: Final = 8_192
"""The number of bytes at the end of a Parquet file that name the columns of its last row group."""
_CSV: Final = (("", ","), ",%s,\r\n")
_JSON: Final = (('{"row":', ',"key":"'), '","outcome":"%s","reason":""}\n')
"""The fixed parts of a line without a reason: before the row number, before the key, and after the key."""
Columns = Sequence[Iterable[Any]]
"""Row numbers, keys, outcomes and reasons; if the input has several files, also file names and row
numbers in the file.
"""


class OutcomesFile(OutputFile):
    """A file with a line for each row, in the order in which rows were settled. The ending of its
    name decides the format; a name without an ending, such as a device, means CSV.
    """

    noun: ClassVar[str] = "outcomes file"
    heads: ClassVar[tuple[bytes, ...]] = (",".join(NAMES).encode(), b'{"row":', b"PAR1")

    def __init__(
        self, path: str | os.PathLike[str], *, sources: Sequence[object] = (), keeps_earlier: bool = False
    ) -> None:
        """Opens the file as `OutputFile` does. Also raises InvalidInput if the library for Parquet is missing."""
        ending = ending_of(path)
        if ending == ".parquet":
            _pyarrow()
        super().__init__(path, sources=sources, keeps_earlier=keeps_earlier)
        self._names: Sequence[str] = NAMES
        self._encode: Callable[[Columns], bytes] = _json_lines if ending == ".jsonl" else _csv_lines
        self._parquet: _ParquetLines | None = _ParquetLines(self._file) if ending == ".parquet" else None

    def _opened(self, keeps_earlier: bool) -> IO[bytes]:
        if self.path.is_file() and not self.is_like(self.path):
            raise OSError(0, "it was not written by a job: choose another path, or delete it")
        return super()._opened(keeps_earlier)

    @classmethod
    def is_like(cls, path: str | os.PathLike[str]) -> bool:
        """Returns whether an earlier job may have written the file. A complete Parquet file names its columns at its end."""
        is_like = super().is_like(path)
        if not is_like or ending_of(path) != ".parquet":
            return is_like
        with Path(path).open("rb") as file:
            file.seek(-min(Path(path).stat().st_size, END_OF_PARQUET), os.SEEK_END)
            end = file.read(END_OF_PARQUET)
        return not end.endswith(b"PAR1") or all(name.encode() in end for name in NAMES)

    def begin(self, *, has_places: bool) -> None:
        """Writes the names of the columns on the first call. Raises InvalidInput if the disk is full."""
        if self._begun:
            return
        self._begun = True
        self._names = (*NAMES, *FILE_COLUMNS) if has_places else NAMES
        if self._encode is _csv_lines and self._parquet is None:
            with self._writing():
                self._file.write(_csv_lines([[name] for name in self._names]))

    def write(
        self,
        first: int,
        mask: bytearray,
        keys: Sequence[str] | None,
        outcome: str,
        reasons: Sequence[str] = (),
        places: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Appends a line for each row whose byte in `mask` is not 0; `first` is the number of the row
        of the first byte, and `keys` has a key for each byte. Raises InvalidInput if the disk is full.
        """
        rows, kept = mask.count(1), keys and list(compress(keys, mask))
        with self._writing():
            if self._parquet is None and not (reasons or places) and self._is_plain("".join(kept or ())):
                form, after = _CSV if self._encode is _csv_lines else _JSON
                self._file.write(_plain_lines(first, mask, kept, form, after % outcome))
                return
            numbers = compress(range(first, first + len(mask)), mask)
            columns = [numbers, kept or repeat("", rows), repeat(outcome, rows)]
            columns += [reasons or repeat("", rows), *zip(*places, strict=True)]
            if self._parquet is not None:
                self._parquet.add(columns, self._names)
            else:
                self._file.write(self._encode(columns))

    def _is_plain(self, keys: str) -> bool:
        """Returns whether these joined keys need no quotation marks or escapes."""
        if self._encode is _csv_lines:
            return not any(mark in keys for mark in ',"\r\n')
        return len(orjson.dumps(keys)) == len(keys.encode()) + 2

    async def sync(self) -> None:
        """Waits until the lines written so far are on the disk; Parquet still keeps an incomplete
        row group in memory. Raises InvalidInput if the disk is full.
        """
        with self._writing():
            self._file.flush()
            if not self._is_direct:
                await asyncio.to_thread(os.fsync, self._file.fileno())

    def _finish(self) -> None:
        if self._parquet is not None and self._begun and not self.is_incomplete:
            self._parquet.close(self._names)
        super()._finish()


def ending_of(path: str | os.PathLike[str]) -> str:
    """Returns the ending of the file name, in lower case."""
    return Path(os.fsdecode(path)).suffix.lower()


def mask_of(numbers: Sequence[int]) -> bytearray:
    """Returns a byte for each number from the first to the last: 1 if it is among the ascending numbers, else 0."""
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


def _plain_lines(first: int, mask: bytearray, keys: Iterable[str] | None, form: tuple[str, str], after: str) -> bytes:
    """Returns the lines of rows whose keys need no quotation marks or escapes, with the arguments of `write`.

    Formatting the numbers one by one would take most of the time, so the rows of each thousand share
    its digits, and the last three digits are looked up.
    """
    pieces, each_key, start = list[str](), repeat("") if keys is None else iter(keys), 0
    before, between = form
    while start < len(mask):
        thousand, begin = divmod(first + start, 1_000)
        stop = min(start + 1_000 - begin, len(mask))
        endings = (
            _endings(between)[begin:] if thousand else [f"{start + first + at}{between}" for at in range(stop - start)]
        )
        head = f"{after}{before}{thousand or ''}"
        pieces += chain.from_iterable(zip(repeat(head), compress(endings, mask[start:stop]), each_key, strict=False))
        start = stop
    return f"{''.join(pieces)[len(after) :]}{after}".encode()


@functools.cache
def _endings(between: str) -> Sequence[str]:
    """Returns the last three digits of a row number, from 000 to 999, each with the string that follows it."""
    return [f"{number:03}{between}" for number in range(1_000)]


def _csv_lines(columns: Columns) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(zip(*columns, strict=True))
    return text.getvalue().encode("utf-8", "surrogateescape")


def _json_lines(columns: Columns) -> bytes:
    names = (*NAMES, *FILE_COLUMNS)
    lines = (orjson.dumps(dict(zip(names, line, strict=False))) for line in zip(*columns, strict=True))
    return b"".join(line + b"\n" for line in lines)


def _pyarrow() -> Any:
    from socialapi.bulk.inputs.arrow import pyarrow_for  # most jobs do not need pyarrow

    return pyarrow_for("or writing Parquet")


class _ParquetLines:
    """A writer that collects lines and writes them in row groups of `LINES_PER_ROW_GROUP`."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._columns: list[list[Any]] = []
        self._writer: Any = None

    def add(self, columns: Columns, names: Sequence[str]) -> None:
        """Adds lines, and writes a row group whenever there are enough lines."""
        self._columns = self._columns or [[] for _ in names]
        for gathered, more in zip(self._columns, columns, strict=True):
            gathered.extend(more)
        while len(self._columns[0]) >= LINES_PER_ROW_GROUP:
            self._write([gathered[:LINES_PER_ROW_GROUP] for gathered in self._columns], names)
            for gathered in self._columns:
                del gathered[:LINES_PER_ROW_GROUP]

    def close(self, names: Sequence[str]) -> None:
        """Writes the remaining lines and the end of the file."""
        if self._writer is None or self._columns[0]:
            self._write(self._columns or [[] for _ in names], names)
        self._writer.close()

    def _write(self, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> None:
        pyarrow = _pyarrow()
        from pyarrow.parquet import ParquetWriter

        kinds = {"row": pyarrow.int64(), "file_row": pyarrow.int64()}
        schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in names])
        if self._writer is None:
            self._writer = ParquetWriter(self._file, schema)
        arrays = [pyarrow.array(cells, kind) for cells, kind in zip(columns, schema.types, strict=True)]
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))
