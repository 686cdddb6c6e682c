"""Reading CSV: tables of text with a line of column names."""

import csv
from collections.abc import Generator, Iterator, Sequence
from io import BufferedReader, TextIOWrapper
from itertools import chain
from typing import Final

from socialapi.bulk.columns import Columns, Wanted
from socialapi.bulk.reader_base import in_chunks
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput

DELIMITERS: Final = (",", ";", "\t", "|")
MAX_LINE_CHARACTERS: Final = 1_048_576

IS_BLANK: Final = ("", "is blank")

# Given to the parser as the last line. If it comes back as a row of its own, all is well; if it comes back at the end
# of a cell, a quotation mark was never closed and the cell swallowed it, with all rows in between. No file can hold
# it: bytes that are not UTF-8 are decoded to other lone surrogates.
_END: Final = "\ud800end"
_NOT_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_TOO_LONG: Final = "a cell or a line is far too long; probably a quotation mark is not closed"


def read_csv(file: BufferedReader, wanted: Wanted) -> Generator[list[RawRow], None, None]:
    """The rows below the column names, in chunks; blank lines below them count as rows, above them they do not.

    The delimiter is the one of `DELIMITERS` that finds the most columns. Bytes that are not UTF-8 become lone
    surrogates, so that only their cell is unusable. A row may be longer or shorter than the first one.

    Raises InvalidInput when there is nothing but blank lines, when there are no rows, for columns as `Wanted`
    does, and, after the rows before it, when a row cannot be parsed.
    """
    text = TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield from _read_text(text, wanted)
    finally:
        text.detach()  # whoever opened the file closes it


def _read_text(text: TextIOWrapper, wanted: Wanted) -> Iterator[list[RawRow]]:
    lines = _lines(text)
    try:
        first = next((line for line in lines if not line.isspace()), None)
        if first is None:
            raise InvalidInput("the file is empty")
        parser = csv.reader(chain((first,), lines, (_END,)), delimiter=_delimiter(first), skipinitialspace=True)
        names = next(parser)
    except csv.Error:
        names = [_END]
    if names[-1].endswith(_END):
        raise InvalidInput(f"the line of column names cannot be read: {_TOO_LONG}")
    columns = wanted.find(names)
    wanted.require(names, found_identifiers=bool(columns.identifiers))
    yield from _chunks(parser, columns)


def _chunks(parser: Iterator[list[str]], columns: Columns) -> Iterator[list[RawRow]]:
    number, fault = 0, ""
    try:
        for records in in_chunks(parser):
            if records[-1] and records[-1][-1].endswith(_END):
                fault = "" if records.pop() == [_END] else _NOT_CLOSED
            if records:
                yield _rows(records, columns, number + 1)
                number += len(records)
    except csv.Error:
        fault = _TOO_LONG
    if fault:
        raise InvalidInput(f"row {number + 1} cannot be read: {fault}")
    if not number:
        raise InvalidInput("the file has no rows, only column names")


def _rows(records: Sequence[list[str]], columns: Columns, first_number: int) -> list[RawRow]:
    wanted = columns.identifiers
    rows: list[RawRow] = []
    for number, cells in enumerate(records, first_number):
        try:
            found = [(n, kind, cell) for at, n, kind in wanted if (cell := cells[at]) and not cell.isspace()]
        except IndexError:  # a short row, whose missing cells are empty
            found = [(n, kind, cell) for at, n, kind in wanted if (cell := _cell(cells, at))]
        rows.append(RawRow(number, found))
        if not found and not any(cell and not cell.isspace() for cell in cells):
            rows[-1].problem = IS_BLANK
    if columns.has_overrides:
        for row, cells in zip(rows, records, strict=True):
            row.operation_type, row.effective_at, row.expires_at = (
                None if at is None else _cell(cells, at) or None for at in columns.overrides
            )
    return rows


def _cell(cells: Sequence[str], at: int) -> str:
    return cells[at].strip() if at < len(cells) else ""


def _lines(text: TextIOWrapper) -> Iterator[str]:
    """The lines, each of bounded length: a file without line ends must not end up in memory whole."""
    readline = text.readline
    while line := readline(MAX_LINE_CHARACTERS):
        if len(line) == MAX_LINE_CHARACTERS and line[-1] not in "\r\n":
            raise csv.Error("line too long")
        yield line


def _delimiter(line: str) -> str:
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader((line,), delimiter=delimiter))))
