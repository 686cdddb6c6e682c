"""Reads CSV and TSV files with a line of column names."""

import codecs
import csv
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from io import BufferedReader, StringIO
from itertools import chain, islice, tee
from operator import itemgetter
from typing import Final, TypeVar

import attrs

from socialapi.bulk.inputs.reader import (
    BYTES_PER_BLOCK,
    COLUMNS_LOOKED_AT,
    IS_BLANK,
    ROWS_LOOKED_AT,
    ROWS_PER_BLOCK,
    Block,
    Fault,
    Layout,
    NoRows,
    Selection,
)
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)

DELIMITERS: Final = (",", ";", "\t", "|")
MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_CELL_CHARACTERS: Final = 131_072
"""What Python's parser takes by default."""
MAX_ROW_CHARACTERS: Final = 2_097_152
"""Of all lines of a row."""
MAX_COLUMNS: Final = 16_384
"""As many as a spreadsheet may have."""
CELLS_PER_BLOCK: Final = 250_000
READ_BYTES: Final = 65_536

_QUOTING: Final = "text follows a quotation mark that closes the cell: write a quotation mark within a cell twice"
_NEVER_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_LONG_CELL: Final = f"a cell has more than {MAX_CELL_CHARACTERS:,} characters"
_LONG_LINE: Final = f"the line has more than {MAX_LINE_CHARACTERS:,} characters"
_LONG_ROW: Final = f"the row has more than {MAX_ROW_CHARACTERS:,} characters"
_PROBABLY: Final = "; probably a quotation mark is not closed"
_SEPARATOR: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE).fullmatch
"""The line that Excel puts before a table, with its delimiter."""
_FILLER: Final = "x" * (MAX_CELL_CHARACTERS + 1)
_OTHER_ROW: Final = "\ud800"
"""A row that no file can hold, since bytes that are not UTF-8 are decoded to other lone
surrogates.
"""


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
    parts = _Parts(file)
    lines = parts.lines()
    line, text = _first_line(lines, parts, 0)
    delimiter = None
    if (separator := _SEPARATOR(text)) is not None:
        delimiter = separator[1]
        line, text = _first_line(lines, parts, line)
    table = _Table(chain((text,), lines), delimiter or _delimiter(text), line, parts)
    names = table.names()
    if len(names) > MAX_COLUMNS:
        raise InvalidInput(f"line {line}: there are {len(names):,} columns, and at most {MAX_COLUMNS:,} are read")
    layout = selection.of_table(names, line)
    yield from _unless_blank(table, layout, names, selection)


def _unless_blank(table: "_Table", layout: L, names: Sequence[str], selection: Selection[L]) -> Iterator[Block[L]]:
    """The rows in blocks; blank ones at the beginning are counted, and handed out only if there are
    others.
    """
    number, blank, width = 0, True, len(names)
    first_line = table.line
    for rows in table.blocks():
        if blank:
            if not rows.faults and all(map(_is_blank, rows.records)):
                number += len(rows.records)
                continue
            blank = False
            looked_at = rows.records[:ROWS_LOOKED_AT]
            selection.look_at(
                (name, [row[at] for row in looked_at if at < len(row)])
                for at, name in enumerate(names[:COLUMNS_LOOKED_AT])
            )
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
    """Rows as they were parsed, the lines on which they begin, and what is wrong with some, by
    index.
    """

    records: list[list[str]]
    lines: range | list[int]
    faults: dict[int, Fault] = attrs.field(factory=dict)
    doubts: dict[int, Fault] = attrs.field(factory=dict)

    def extend(self, more: "_Rows") -> None:
        """Adds rows that follow, of which nothing is wrong."""
        self.records += more.records
        self.lines = list(self.lines) if isinstance(self.lines, range) else self.lines
        self.lines += more.lines


class _Table:
    """Parses the lines of a table, of which the first one has the number `line`."""

    def __init__(self, lines: Iterator[str], delimiter: str, line: int, parts: "_Parts") -> None:
        # The second iterator keeps the lines of the rows at hand, for when one of them cannot be
        # parsed.
        given, self._again = tee(lines)
        self._parser = csv.reader(given, delimiter=delimiter, skipinitialspace=True, strict=True)
        self._delimiter = delimiter
        self._parts = parts
        self._rows_per_block = ROWS_PER_BLOCK
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
            raise self._error(line, self._take_lines(), _meaning(error)) from None
        self._take_lines()
        # Every row of a block gets a cell for each name.
        self._rows_per_block = max(1, min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(1, len(names))))
        return names

    def blocks(self) -> Iterator[_Rows]:
        """The rows. Raises InvalidInput, after those before it, where nobody knows where the next
        one begins.
        """
        broken: InvalidInput | None = None
        while broken is None:
            self._parts.begin_block()
            rows, error = self._parse(self._rows_per_block)
            while error is not None and broken is None:
                broken = self._add_unparsed(rows, _meaning(error))
                room = self._rows_per_block - len(rows.records)
                if broken is not None or room <= 0 or self._parts.full:
                    break
                more, error = self._parse(room)
                rows.extend(more)
            if rows.records:
                yield rows
            elif broken is None:
                return
        raise broken

    def _parse(self, room: int) -> tuple[_Rows, csv.Error | None]:
        records: list[list[str]] = []
        append, full, error = records.append, self._parts.full, None
        try:
            for record in islice(self._parser, room):
                append(record)
                if full:
                    break
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
        """Adds the row that could not be parsed if the next one begins on the next line; else
        returns the error.
        """
        line, raw = self.line, self._take_lines()
        if (cells := self._parsed_alone(raw[0], reason) if len(raw) == 1 else None) is None:
            return self._error(line, raw, reason)
        columns = self._misquoted_columns(raw[0]) if reason == _QUOTING else ()
        says = _LONG_LINE if self._is_cut(raw, reason) else reason
        fault = Fault(says, self._column_of_fault(raw), columns=columns)
        problems = rows.faults if reason == _LONG_CELL else rows.doubts
        problems[len(rows.records)] = fault
        rows.extend(_Rows([cells], [line]))
        return None

    def _error(self, line: int, raw: Sequence[str], reason: str) -> InvalidInput:
        """Why the row on these lines, and so the rest of the file, cannot be read."""
        if self._is_cut(raw, reason):
            return InvalidInput(f"line {line}: {_LONG_LINE}")
        if reason == _LONG_ROW:
            return InvalidInput(f"line {line}: {reason}{_PROBABLY}")
        probably = _PROBABLY if reason == _LONG_CELL else ""
        return InvalidInput(f"line {line}, column {self._column_of_fault(raw)}: {reason}{probably}")

    def _is_cut(self, raw: Sequence[str], reason: str) -> bool:
        """Whether the row is one line that was cut off, and none of its cells is too long by
        itself.
        """
        if reason != _LONG_CELL or len(raw) != 1 or len(raw[0]) <= MAX_LINE_CHARACTERS + MAX_CELL_CHARACTERS:
            return False
        _, has_long_cell = self._walk([raw[0].rstrip('"\n').removesuffix(_FILLER)])
        return not has_long_cell

    def _parsed_alone(self, text: str, reason: str) -> list[str] | None:
        """The cells of a line, as far as they can be told; None if the row may go on beyond it."""
        if reason == _LONG_CELL:
            return None if text.count('"') % 2 else []
        lines = (text, _OTHER_ROW)
        rows = list(csv.reader(lines, delimiter=self._delimiter, skipinitialspace=True, strict=False))
        return rows[0] if len(rows) == 2 and reason == _QUOTING else None

    def _misquoted_columns(self, text: str) -> tuple[int, ...]:
        """The cells of a line in which text follows a quotation mark that closes them."""
        columns, column, at = list[int](), 1, "begin"
        for letter in text.rstrip("\r\n"):
            if at == "quoted":
                at = "closed" if letter == '"' else at
            elif letter == '"' and at in ("begin", "closed"):
                at = "quoted"
            elif letter == self._delimiter:
                column, at = column + 1, "begin"
            elif at == "closed":
                columns.append(column)
                at = "plain"
            elif letter != " " or at != "begin":
                at = "plain"
        return tuple(columns)

    def _column_of_fault(self, lines: Sequence[str]) -> int:
        """In which cell the parser gave up."""
        return self._walk(lines)[0]

    def _walk(self, lines: Sequence[str]) -> tuple[int, bool]:
        """In which cell the parser gives up, or else the last one, and whether that is too long."""
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
        return column, length > MAX_CELL_CHARACTERS


def _meaning(error: csv.Error) -> str:
    """What is wrong with a row, by what the parser says of it."""
    says = str(error)
    if says == _LONG_ROW:
        return says
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
    if not set(map(len, records)) <= {width}:
        padded = []
        for index, record in enumerate(records):
            if len(record) > width and not _is_blank(record[width:]):
                says = f"has {len(record)} cells where there are {width} columns"
                doubts.setdefault(index, Fault(says, width + 1, tuple(record[width:])))
            padded.append([*record, *[""] * (width - len(record))] if len(record) < width else record)
        records = padded
    columns = [list(map(itemgetter(at), records)) for at in layout.positions]
    faults = rows.faults
    first = columns[0] if columns else [""] * len(records)
    if not all(first) or any(map(str.isspace, first)):
        for index, cell in enumerate(first):
            if (not cell or cell.isspace()) and index not in faults and _is_blank(records[index]):
                faults[index] = IS_BLANK
    return Block(first_number, len(records), layout, columns, faults, doubts, rows.lines, is_text=True)


def _first_line(lines: Iterator[str], parts: "_Parts", before: int) -> tuple[int, str]:
    """The next line that is not blank, with its number. Raises NoRows if there is none."""
    for number, text in enumerate(lines, before + 1):
        parts.begin_block()
        if not text.isspace():
            return number, text
    raise NoRows("the file is empty")


def _delimiter(line: str) -> str:
    head = line[:MAX_CELL_CHARACTERS]
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader((head,), delimiter=delimiter))))


class _Parts:
    """The text of a file in parts that end where a line does, and how much was taken since the last
    block began.

    To take one line after another from the file costs twice as much. A pipe is read as far as there
    is something in it: a block of rows waits for its own last row, and not for a buffer to be full.
    """

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._taken = 0
        self.full: list[int] = []
        """Not empty if the block has to end with the row that is being parsed. A list, for it is
        asked after every row.
        """

    def begin_block(self) -> None:
        """Counts anew."""
        self._taken = 0
        self.full.clear()

    def lines(self) -> Iterator[str]:
        """The lines, each of bounded length: a file without line ends must not end up in memory
        whole.
        """
        return chain.from_iterable(map(self._lines_of, self._parts()))

    def _lines_of(self, part: str) -> Iterable[str]:
        # Whoever parses asks for more after every row: what is in excess belongs to a single one.
        if self._taken > BYTES_PER_BLOCK + MAX_ROW_CHARACTERS:
            raise csv.Error(_LONG_ROW)
        self._taken += len(part)
        if self._taken > BYTES_PER_BLOCK:
            self.full.append(self._taken)
        return StringIO(part, newline="")

    def _parts(self) -> Iterator[str]:
        begun: list[str] = []
        length, text = 0, ""
        while text or (data := self._file.read1(READ_BYTES)):
            text = text or self._decoder.decode(data)
            if begun and begun[-1].endswith("\r"):
                begun[-1], text = begun[-1][:-1], "\r" + text
            # A carriage return at the very end may be half of a line end.
            end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
            if end:
                part = "".join((*begun, text[:end]))
                begun, length, text = [], 0, text[end:]
                yield part
            begun.append(text)
            length, text = length + len(text), ""
            if length >= MAX_LINE_CHARACTERS:
                quotes, text = self._skip_line()
                mark = '"'
                # So that the parser takes no line that was cut off for a whole one, its last cell
                # is too long for it.
                part = "".join((*begun, _FILLER, mark * (quotes % 2), "\n"))
                begun, length = [], 0
                yield part
        if last := "".join((*begun, self._decoder.decode(b"", final=True))):
            yield last

    def _skip_line(self) -> tuple[int, str]:
        """Reads to the end of a line: how many quotation marks it has, and what was read of the
        next line.
        """
        quotes = 0
        while data := self._file.read1(READ_BYTES):
            text = self._decoder.decode(data)
            found = re.search("\r\n|\n|\r", text)
            if found is not None:
                if text.endswith("\r") and found.end() == len(text) and self._file.peek(1)[:1] == b"\n":
                    self._file.read(1)
                return quotes + text.count('"', 0, found.end()), text[found.end() :]
            quotes += text.count('"')
        return quotes, ""
