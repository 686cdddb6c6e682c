"""Reads CSV and TSV files with a line of column names."""

import codecs
import csv
from collections.abc import Generator, Iterator, Sequence
from io import BufferedReader, StringIO
from itertools import chain
from typing import Final

from socialapi.bulk.inputs.columns import Columns, Wanted
from socialapi.bulk.inputs.reader import NoRows, in_chunks
from socialapi.bulk.rows import ROWS_PER_CHUNK, RawColumn, RawTable
from socialapi.errors import InvalidInput

DELIMITERS: Final = (",", ";", "\t", "|")
MAX_LINE_CHARACTERS: Final = 1_048_576
BLOCK_BYTES: Final = 65_536

IS_BLANK: Final = ("", "is blank")

# Given to the parser as the last line. If it comes back as a row of its own, all is well; if it comes back at the end
# of a cell, a quotation mark was never closed and the cell swallowed it, with all rows in between. No file can hold
# it: bytes that are not UTF-8 are decoded to other lone surrogates.
_END: Final = "\ud800end"
_NOT_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_TOO_LONG: Final = "a cell or a line is far too long; probably a quotation mark is not closed"


def read_csv(file: BufferedReader, wanted: Wanted) -> Generator[RawTable, None, None]:
    """The rows below the column names, in chunks; blank lines below them count as rows if there are others, above them
    they do not.

    The delimiter is the one of `DELIMITERS` that finds the most columns. Bytes that are not UTF-8 become lone
    surrogates, so that only their cell is unusable. A row may be longer or shorter than the first one.

    Raises NoRows when there is nothing but blank lines, or only the column names beside them, InvalidInput for columns as `Wanted` does, and, after the rows before it, when a row cannot be parsed.
    """
    lines = _lines(file)
    try:
        first = next((line for line in lines if not line.isspace()), None)
        if first is None:
            raise NoRows("the file is empty")
        parser = csv.reader(chain((first,), lines, (_END,)), delimiter=_delimiter(first), skipinitialspace=True)
        names = next(parser)
    except csv.Error:
        names = [_END]
    if names[-1].endswith(_END):
        raise InvalidInput(f"the line of column names cannot be read: {_TOO_LONG}")
    columns = wanted.find(names)
    wanted.require(names, found_identifiers=bool(columns.identifiers))
    yield from _chunks(parser, columns)


def _chunks(parser: Iterator[list[str]], columns: Columns) -> Iterator[RawTable]:
    number, fault = 0, ""
    blank: int | None = 0  # rows at the beginning, until there is another one
    try:
        for records in in_chunks(parser):
            if records[-1] and records[-1][-1].endswith(_END):
                fault = "" if records.pop() == [_END] else _NOT_CLOSED
            if not records:
                continue
            if blank is not None and all(map(_is_blank_line, records)):
                blank = number = number + len(records)
                continue
            for start in range(0, blank or 0, ROWS_PER_CHUNK):
                yield _table([[]] * min(ROWS_PER_CHUNK, (blank or 0) - start), columns, start + 1)
            blank = None
            yield _table(records, columns, number + 1)
            number += len(records)
    except csv.Error:
        fault = _TOO_LONG
    if fault:
        raise InvalidInput(f"row {number + 1} cannot be read: {fault}")
    if blank is not None:
        raise NoRows("the file has no rows, only column names")


def _is_blank_line(cells: Sequence[str]) -> bool:
    """Whether there was nothing but blanks on the line, and no delimiter."""
    return not cells or (len(cells) == 1 and not cells[0].strip())


def _table(records: Sequence[list[str]], columns: Columns, first_number: int) -> RawTable:
    def cells(at: int) -> list[str]:
        try:
            return [record[at] for record in records]
        except IndexError:  # a short row, whose missing cells are empty
            return [record[at] if at < len(record) else "" for record in records]

    def override(at: int | None) -> list[str | None] | None:
        return None if at is None else [cell.strip() or None for cell in cells(at)]

    found = tuple(RawColumn(name, kind, cells(at)) for at, name, kind in columns.identifiers)
    return RawTable(
        first_number,
        len(records),
        found,
        (override(columns.operation_type), override(columns.effective_at), override(columns.expires_at)),
        problems=_blank_rows(records, found[0].cells if found else [""] * len(records)),
    )


def _blank_rows(records: Sequence[list[str]], cells: Sequence[str]) -> dict[int, tuple[str, str]]:
    """The rows of nothing but blanks; `cells` are those of one column, in which such a row is blank, too."""
    return {
        place: IS_BLANK
        for place, cell in enumerate(cells)
        if (not cell or cell.isspace()) and not any(other and not other.isspace() for other in records[place])
    }


def _lines(file: BufferedReader) -> Iterator[str]:
    """The lines, each of bounded length: a file without line ends must not end up in memory whole."""
    return chain.from_iterable(StringIO(part, newline="") for part in _parts(file))


def _parts(file: BufferedReader) -> Iterator[str]:
    """The text in parts that end where a line does: to take one line after another from the file costs twice as much.

    A pipe is read as far as there is something in it: a chunk waits for its own last row, and not for a block to be full.
    """
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    begun = ""
    while block := file.read1(BLOCK_BYTES):
        begun += decode(block)
        # A carriage return at the very end may be half of a line end.
        end = max(begun.rfind("\n"), begun.rfind("\r", 0, -1)) + 1
        if end:
            yield begun[:end]
            begun = begun[end:]
        elif len(begun) >= MAX_LINE_CHARACTERS:
            raise csv.Error("line too long")
    if begun := begun + decode(b"", final=True):
        yield begun


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader((line,), delimiter=delimiter))))
