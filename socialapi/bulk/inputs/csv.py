"""Reads CSV and TSV files with a line of column names."""

import codecs
import csv
import re
from collections.abc import Generator, Iterator, Sequence
from io import BufferedReader, StringIO
from itertools import chain, islice, tee
from operator import itemgetter
from typing import Final, TypeVar

import attrs

from socialapi.bulk.inputs.reader import IS_BLANK, ROWS_PER_BLOCK, Block, Fault, Layout, NoRows, Selection
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)

DELIMITERS: Final = (",", ";", "\t", "|")
MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_CELL_CHARACTERS: Final = 131_072
"""What Python's parser takes by default."""
READ_BYTES: Final = 65_536

_QUOTING: Final = "text follows a quotation mark that closes the cell: write a quotation mark within a cell twice"
_NEVER_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_LONG_CELL: Final = f"a cell has more than {MAX_CELL_CHARACTERS:,} characters"
_SEPARATOR: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE).fullmatch
"""The line that Excel puts before a table, with its delimiter."""
_OTHER_ROW: Final = "\ud800"
"""A row that no file can hold, since bytes that are not UTF-8 are decoded to other lone surrogates."""


def read_csv(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """The rows below the column names; blank lines below them count as rows if there are others.

    The delimiter is the one of a `sep=` line, or the one of `DELIMITERS` that finds the most
    columns. Bytes that are not UTF-8 become lone surrogates, so that only their cell is unusable. A
    row may be shorter than the names, and one that is longer or wrongly quoted has a doubt. A cell
    that is far too long is a fault of its row, as long as it is clear where the next one begins.

    Raises NoRows when there is nothing but blank lines, or only the column names beside them,
    InvalidInput for columns as the selection does, and, after the rows before it, where quotation
    marks do not fit.
    """
    lines = _lines(file)
    line, text = _first_line(lines, 0)
    delimiter = None
    if (separator := _SEPARATOR(text)) is not None:
        delimiter = separator[1]
        line, text = _first_line(lines, line)
    table = _Table(chain((text,), lines), delimiter or _delimiter(text), line)
    names = table.names()
    layout = selection.of_table(names, line)
    yield from _unless_blank(table, layout, len(names))


def _unless_blank(table: "_Table", layout: L, width: int) -> Iterator[Block[L]]:
    """The rows in blocks; blank ones at the beginning are counted, and handed out only if there are others."""
    number, blank = 0, True
    first_line = table.line
    for rows in table.blocks():
        if blank:
            if not rows.faults and all(map(_is_blank, rows.records)):
                number += len(rows.records)
                continue
            blank = False
            for start in range(0, number, ROWS_PER_BLOCK):
                records: list[list[str]] = [[]] * min(ROWS_PER_BLOCK, number - start)
                lines = range(first_line + start, first_line + start + len(records))
                yield _block(_Rows(records, lines), layout, width, start + 1)
        yield _block(rows, layout, width, number + 1)
        number += len(rows.records)
    if blank:
        raise NoRows("the file has no rows, only column names")


@attrs.define(eq=False)
class _Rows:
    """Rows as they were parsed, the lines on which they begin, and what is wrong with some, by index."""

    records: list[list[str]]
    lines: Sequence[int]
    faults: dict[int, Fault] = attrs.field(factory=dict)
    doubts: dict[int, Fault] = attrs.field(factory=dict)


class _Table:
    """Parses the lines of a table, of which the first one has the number `line`."""

    def __init__(self, lines: Iterator[str], delimiter: str, line: int) -> None:
        # The second iterator keeps the lines of the rows at hand, for when one of them cannot be parsed.
        given, self._again = tee(lines)
        self._parser = csv.reader(given, delimiter=delimiter, skipinitialspace=True, strict=True)
        self._delimiter = delimiter
        self._lines_before = line - 1
        self._lines_taken = 0

    @property
    def line(self) -> int:
        """The number of the line on which the next row begins."""
        return self._lines_before + self._lines_taken + 1

    def names(self) -> list[str]:
        """The column names. Raises InvalidInput when they cannot be parsed."""
        line = self.line
        try:
            names = next(self._parser)
        except csv.Error as error:
            raw = self._take_lines()
            raise InvalidInput(f"line {line}, column {self._column_of_fault(raw)}: {_meaning(error)}") from None
        self._take_lines()
        return names

    def blocks(self) -> Iterator[_Rows]:
        """The rows. Raises InvalidInput, after those before it, where nobody knows where the next one begins."""
        while True:
            rows, error = self._parse()
            broken = None if error is None else self._add_unparsed(rows, _meaning(error))
            if rows.records:
                yield rows
            elif error is None:
                return
            if broken is not None:
                raise broken

    def _parse(self) -> tuple[_Rows, csv.Error | None]:
        records: list[list[str]] = []
        error: csv.Error | None = None
        try:
            records.extend(islice(self._parser, ROWS_PER_BLOCK))
        except csv.Error as problem:
            error = problem
        first = self.line
        if error is None and self._parser.line_num - self._lines_taken == len(records):
            self._take_lines()
            return _Rows(records, range(first, first + len(records))), None
        starts, line = list[int](), first
        for record in records:
            starts.append(line)
            line += 1 + sum(map(_line_ends, record))
        self._take_lines(line - first)
        return _Rows(records, starts), error

    def _take_lines(self, count: int | None = None) -> list[str]:
        """The next lines that the parser has read, all of them by default."""
        count = self._parser.line_num - self._lines_taken if count is None else count
        self._lines_taken += count
        return list(islice(self._again, count))

    def _add_unparsed(self, rows: _Rows, reason: str) -> InvalidInput | None:
        """Adds the row that could not be parsed if the next one begins on the next line; else returns the error."""
        line, raw = self.line, self._take_lines()
        fault = Fault(reason, self._column_of_fault(raw))
        cells = self._parsed_alone(raw[0], reason) if len(raw) == 1 else None
        if cells is None:
            probably = "; probably a quotation mark is not closed" if reason == _LONG_CELL else ""
            return InvalidInput(f"line {line}, column {fault.column}: {reason}{probably}")
        problems = rows.faults if reason == _LONG_CELL else rows.doubts
        problems[len(rows.records)] = fault
        rows.records.append(cells)
        rows.lines = [*rows.lines, line]
        return None

    def _parsed_alone(self, text: str, reason: str) -> list[str] | None:
        """The cells of a line, as far as they can be told; None if the row may go on beyond it."""
        if reason == _LONG_CELL:
            return None if text.count('"') % 2 else []
        lines = (text, _OTHER_ROW)
        rows = list(csv.reader(lines, delimiter=self._delimiter, skipinitialspace=True, strict=False))
        return rows[0] if len(rows) == 2 and reason == _QUOTING else None

    def _column_of_fault(self, lines: Sequence[str]) -> int:
        """In which cell the parser gave up, found by walking through the row once more."""
        column, length, at = 1, 0, "begin"
        for letter in "".join(lines):
            length += 1
            if length > MAX_CELL_CHARACTERS:
                break
            if at == "quoted":
                at = "closed" if letter == '"' else at
            elif letter == '"' and at in ("begin", "closed"):
                at = "quoted"
            elif letter == self._delimiter:
                column, length, at = column + 1, 0, "begin"
            elif at == "closed":
                break
            elif letter != " " or at != "begin":
                at = "plain"
        return column


def _meaning(error: csv.Error) -> str:
    """What is wrong with a row, by what the parser says of it."""
    says = str(error)
    if "expected after" in says:
        return _QUOTING
    return _NEVER_CLOSED if says == "unexpected end of data" else _LONG_CELL


def _line_ends(cell: str) -> int:
    return cell.count("\n") + cell.count("\r") - cell.count("\r\n")


def _is_blank(cells: Sequence[str]) -> bool:
    """Whether there is nothing but blanks in a row."""
    return not any(cell and not cell.isspace() for cell in cells)


def _block(rows: _Rows, layout: L, width: int, first_number: int) -> Block[L]:
    records, doubts = rows.records, rows.doubts
    if any(len(record) != width for record in records):
        padded = []
        for index, record in enumerate(records):
            if len(record) > width and not _is_blank(record[width:]):
                says = f"has {len(record)} cells where there are {width} columns"
                doubts.setdefault(index, Fault(says, width + 1, tuple(record[width:])))
            padded.append([*record, *[""] * (width - len(record))] if len(record) < width else record)
        records = padded
    columns = [list(map(itemgetter(at), records)) for at in layout.positions]
    faults = rows.faults
    for index, cell in enumerate(columns[0] if columns else [""] * len(records)):
        if (not cell or cell.isspace()) and index not in faults and _is_blank(records[index]):
            faults[index] = IS_BLANK
    return Block(first_number, len(records), layout, columns, faults, doubts, rows.lines, is_text=True)


def _first_line(lines: Iterator[str], before: int) -> tuple[int, str]:
    """The next line that is not blank, with its number. Raises NoRows if there is none."""
    for number, text in enumerate(lines, before + 1):
        if not text.isspace():
            return number, text
    raise NoRows("the file is empty")


def _delimiter(line: str) -> str:
    head = line[:MAX_CELL_CHARACTERS]
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader((head,), delimiter=delimiter))))


def _lines(file: BufferedReader) -> Iterator[str]:
    """The lines, each of bounded length: a file without line ends must not end up in memory whole."""
    return chain.from_iterable(StringIO(part, newline="") for part in _parts(file))


def _parts(file: BufferedReader) -> Iterator[str]:
    """The text in parts that end where a line does: to take one line after another from the file costs twice as much.

    A pipe is read as far as there is something in it: a block of rows waits for its own last row, and not for a buffer
    to be full.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    begun = ""
    while data := file.read1(READ_BYTES):
        begun += decoder.decode(data)
        # A carriage return at the very end may be half of a line end.
        end = max(begun.rfind("\n"), begun.rfind("\r", 0, -1)) + 1
        if end:
            yield begun[:end]
            begun = begun[end:]
        elif len(begun) >= MAX_LINE_CHARACTERS:
            quotes, rest = _skip_line(file, decoder)
            mark = '"'
            # So that the parser takes no line that was cut off for a whole one, its last cell is too long for it.
            yield f"{begun}{'x' * (MAX_CELL_CHARACTERS + 1)}{mark * (quotes % 2)}\n"
            begun = rest
    if begun := begun + decoder.decode(b"", final=True):
        yield begun


def _skip_line(file: BufferedReader, decoder: codecs.IncrementalDecoder) -> tuple[int, str]:
    """Reads to the end of a line: how many quotation marks it has, and what was read of the next line."""
    quotes = 0
    while data := file.read1(READ_BYTES):
        text = decoder.decode(data)
        found = re.search("\r\n|\n|\r", text)
        if found is not None:
            if text.endswith("\r") and found.end() == len(text) and file.peek(1)[:1] == b"\n":
                file.read(1)
            return quotes + text.count('"', 0, found.end()), text[found.end() :]
        quotes += text.count('"')
    return quotes, ""
