"""Reads CSV and TSV files.

If every row is on one line, Python's parser reads many lines at once. If that parser fails, or if a row spans several
lines, rows are parsed one by one. Each row that spans several lines is then checked for a misplaced quotation mark,
which can turn several rows into one cell. The `dialect` module detects the delimiter and the escapes of a file.
"""

import codecs
import contextlib
import csv
import functools
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from io import BufferedReader, StringIO
from itertools import chain, islice
from operator import eq, itemgetter
from statistics import median_low
from typing import Any, Final, Generic, TypeVar

import attrs

from socialapi.bulk.inputs.columns import (
    MAX_NAME_LENGTH,
    MAX_NAMES_KEPT,
    folded_name,
    identifies_person,
    is_value,
    is_value_without_time,
    may_be_value,
)
from socialapi.bulk.inputs.dialect import (
    MAX_CELL_CHARACTERS,
    READ_BYTES,
    Dialect,
    are_rows,
    is_blank_row,
    is_comment,
    line_ends_in,
    read_head,
    sample_with_escapes,
    width_of,
    with_escapes,
    without_comment_mark,
)
from socialapi.bulk.inputs.layouts import DELIMITERS, Layout
from socialapi.bulk.inputs.null_words import is_null_word
from socialapi.bulk.inputs.reader import (
    BYTES_PER_BLOCK,
    COLUMNS_LOOKED_AT,
    IS_BLANK,
    MAX_BLANK_ROWS,
    ROWS_PER_BLOCK,
    Block,
    NoRows,
    RowProblem,
    Selection,
    convert_from,
    has_undecoded,
    note_skipped_blanks,
    rows_looked_at,
)
from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue

L = TypeVar("L", bound=Layout)

MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_ROW_CHARACTERS: Final = 2_097_152
MAX_COLUMNS: Final = 16_384
"""The maximum number of columns, the same as in a spreadsheet."""
CELLS_PER_BLOCK: Final = 250_000
HEAD_LINES: Final = 20
"""The number of lines that are searched for the column names, not counting comments."""
HEAD_CHARACTERS: Final = 65_536
"""The number of characters after which the search for the column names stops."""
_FEWEST_IN_ROW: Final = 3
"""A line above the names counts as full if it has as many filled cells as there are names, and at least this many."""
_ROWS_OF_REPORT: Final = 2
"""The number of rows, the blank one included, of a first table that describes the report and is not read."""
FEWEST_SHORT: Final = 3
"""A row width counts as usual if more than this many of the first rows have it."""
NAMES_SOUGHT: Final = (
    *("id", "sku", "title", "name", "first_name", "email", "e-mail", "mail", "phone", "mobile", "handle", "twitter"),
    *("username", "user_id", "country", "date", "created_at", "first name", "customer_id", "link", "price", "brand"),
    *("last_name", "last name", "surname", "company", "city", "fax", "vorname", "nachname", "firma", "ort", "stadt"),
    *("kundennummer", "kundennr", "telefon", "handy", "artikelnummer", "artikelnr", "titel", "beschreibung", "preis"),
    *("nom", "prénom", "ville", "téléphone", "nombre", "apellidos", "correo", "teléfono"),
)
"""Common names of a first column, which show where a second file was appended."""


def _spellings(names: Sequence[str]) -> frozenset[str]:
    changed = (map(str.lower, names), map(str.upper, names), map(str.capitalize, names), map(str.title, names))
    return frozenset(names).union(*changed)


_FOLDED_SOUGHT: Final = frozenset(map(folded_name, NAMES_SOUGHT))
_SPELLINGS_SOUGHT: Final = _spellings(NAMES_SOUGHT)
_MISQUOTED: Final = "text follows the closing quotation mark of a cell: double each quotation mark within a cell"
_NEVER_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_HOLDS_ROWS: Final = (
    "a quotation mark begins a cell that contains other rows of the file: remove the mark, or quote the cell and double "
    "the mark"
)
_OTHER_WIDTH: Final = (
    "the row spans several lines and does not have one cell for each name: look for a misplaced quotation mark or "
    "backslash"
)
LONG_CELL: Final = f"a cell has more than {MAX_CELL_CHARACTERS:,} characters"
_LONG_LINE: Final = f"the line has more than {MAX_LINE_CHARACTERS:,} characters"
LONG_ROW: Final = f"the row has more than {MAX_ROW_CHARACTERS:,} characters"
_PROBABLY: Final = "; probably a quotation mark is not closed"
_QUOTE_CELL: Final = "quote cells that contain a delimiter"
_OTHER_NAMES: Final = "names the columns again, but differently"
_SEPARATELY: Final = "give files with different columns separately, not joined"
_REPEATS_NAMES: Final = RowProblem("repeats the column names")
_ENCODINGS: Final = ("SHIFT_JIS", "EUC-JP", "WINDOWS-1252", "WINDOWS-1250")
"""Common encodings of tables, under names that both Python and iconv accept."""
_SEPARATOR: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE).fullmatch
"""Matches the line above a table in which Excel specifies the delimiter."""
_FILLER: Final = "x" * (MAX_CELL_CHARACTERS + 1)
"""The text that replaces the end of a line that is too long. It exceeds the maximum length of a cell, so parsers reject
the line.
"""


def read_csv(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the rows below the column names in blocks. Blank lines count as rows if the file has any other row, but at
    most `MAX_BLANK_ROWS` consecutive blank lines.

    The delimiter is taken from a `sep=` line. Without such a line, it is the one in `DELIMITERS` that fits the first
    lines best. Bytes that are not UTF-8 become lone surrogates, which make only their own cell unusable. A row may have
    fewer cells than there are names. Rows with too many cells or misplaced quotation marks are `ambiguous` or
    `unreadable` in their block. If a cell is too long but it is clear where the next row begins, only that row is
    unreadable. In a tab-separated file, a quotation mark that cannot quote a cell is an ordinary character.

    Raises NoRows if the file is blank or has only column names, and InvalidInput if the selection rejects the
    columns. If misplaced quotation marks make it unclear where a row ends, yields the rows before it and then raises
    InvalidInput.
    """
    sample, source, form = sample_with_escapes(file), _Lines(file), selection.form
    text, separator = source.first(), None
    if found := _SEPARATOR(text):
        text, separator = source.first(), found[1]
    if form.header_line is not None:
        text = source.line_of_names(text, form.header_line)
    line, first_lines = source.number, source.head(text)
    of_layout = None if form.layout is None else form.layout.delimiter
    head = read_head(first_lines, of_layout or separator, selection)
    line += head.index
    above, first_lines, rows = first_lines[: head.index], first_lines[head.index :], head.rows
    if above:
        _note_skipped_lines(above, line, selection)
    dialect = with_escapes(head.dialect, sample, line) if sample and not of_layout else head.dialect
    if form.layout is not None and of_layout:
        dialect = dialect.escaping(form.layout.escapes, first_lines[0])
    if dialect != head.dialect:
        rows = dialect.parse_all(first_lines)
    facts = selection.files.current
    facts.delimiter, facts.escapes = dialect.delimiter, dialect.escapes
    facts.header_line = line if form.header else None
    table = _Table(first_lines, source, dialect, line)
    names = table.names() if form.header else [str(at + 1) for at in range(max(map(len, rows)))]
    if len(names) > MAX_COLUMNS:
        raise InvalidInput(f"line {line}: there are {len(names):,} columns, but at most {MAX_COLUMNS:,} are supported")
    shown = without_comment_mark(names) if form.header and is_comment(names) else names
    layout = _layout_of(shown, selection, line, rows[1:])
    if form.header:
        _refuse_rows_above(map(dialect.cells_of, above), shown, layout, line - len(above), selection)
        _refuse_rows_of_other_columns(rows[1:], shown, layout, dialect.delimiter, line, selection)
    usual_width = median_low([*filter(None, map(len, rows[form.header :]))] or [0])
    columns = _Columns(layout, names if form.header else None, len(names), usual_width, selection.role_of)
    shape = _RowShape.of(dialect, layout, len(names), rows)
    yield from _blocks(table, shape, columns, selection, shown)


def _layout_of(names: Sequence[str], selection: Selection[L], line: int, below: Iterable[Sequence[str]]) -> L:
    """Returns the layout of the columns, and adds a remark if their names are not UTF-8. Raises InvalidInput if the
    selection rejects the columns. `below` are the rows below, one of which may have the given names.
    """
    reason = ""
    if has_undecoded("".join(names)) is not None:
        encodings = (_encoding_of(name, selection) for name in names if has_undecoded(name))
        reason = f"the column names on line {line} are not UTF-8: {convert_from(next(filter(None, encodings), None))}"
    try:
        layout = selection.of_table(names, line)
    except InvalidInput as error:
        given = {*chain(*selection.given.values())} if selection.form.header else set[str]()
        other = next((at for at, cells in enumerate(below, line + 1) if given and given.issubset(cells)), None)
        advice = "" if other is None else f"; if line {other} names the columns, give header_line={other}"
        raise InvalidInput(reason or error.message + advice) from None
    selection.remarks.extend([RowIssue(0, "", reason)] if reason else ())
    return layout


def _encoding_of(name: str, selection: Selection[Any]) -> str | None:
    """Returns the encoding in which a column name that is not UTF-8 is a known name, or None if no encoding or several
    encodings result in known names.
    """
    found = dict[str, str]()
    for encoding in _ENCODINGS:
        with contextlib.suppress(UnicodeDecodeError):
            text = name.encode("utf-8", "surrogateescape").decode(encoding)
            if selection.role_of(text):
                found.setdefault(text, encoding)
    return next(iter(found.values())) if len(found) == 1 else None


def _note_skipped_lines(above: Sequence[str], line: int, selection: Selection[Any]) -> None:
    """Adds a remark that lines above the column names are skipped. Raises InvalidInput if these lines may be rows and
    the caller does not allow guessing.
    """
    if not selection.form.guesses and not all(text.startswith("#") or text.isspace() for text in above):
        raise InvalidInput(
            f"line {line} seems to name the columns, but is not the first line: confirm it with header_line={line}"
        )
    if len(selection.remarks) < MAX_NAMES_KEPT:
        reason = (
            f"line {line} names the columns; the lines above it are ignored (choose another line with header_line=…)"
        )
        selection.remarks.append(RowIssue(0, "", reason))


def _refuse_rows_above(
    above: Iterable[Sequence[str]], names: Sequence[str], layout: Layout, first: int, selection: Selection[Any]
) -> None:
    """Raises InvalidInput if a line above the column names is a row and not a title. `first` is the number of the first
    line.
    """
    width, fewest = len(names), max(_FEWEST_IN_ROW, sum(bool(name.strip()) for name in names))
    roles, lines = dict(layout.roles), [*enumerate(above, first)]
    line = first + len(lines)
    for number, cells in lines:
        filled = [cell for cell in cells if cell.strip()]
        is_full = len(filled) >= fewest and any(map(is_value_without_time, filled))
        is_person = selection.reads == "people" and any(map(identifies_person, filled[:1]))
        # Exports begin with lines such as `Account,4829130045`: with a label, and often without delimiters at the end.
        is_cut = len(cells) < width and not any(map(is_value, filled[:1]))
        is_label = any(_is_label(cell, roles.get(name)) for cell, name in zip(cells, names, strict=False))
        is_row = not is_cut and not is_label and layout.is_row([*cells, *[""] * (width - len(cells))][:width])
        if not is_comment(cells) and (is_full or is_person or is_row):
            raise InvalidInput(
                f"line {number} looks like a row, but is above the names on line {line}: move it below them, or, if it "
                f"is not a row, set header_line={line}"
            )


def _is_label(cell: str, role: str | None) -> bool:
    """Returns whether a cell in a column of e-mail addresses or phone numbers is a word, which no row has there."""
    is_known = role in {"email", "phone_number"}
    return is_known and bool(cell.strip()) and not may_be_value(cell) and not is_null_word(cell.strip())


def _refuse_rows_of_other_columns(
    rows: Sequence[Sequence[str]],
    names: Sequence[str],
    layout: Layout,
    delimiter: str,
    line: int,
    selection: Selection[Any],
) -> None:
    """Raises InvalidInput if the first rows show that the names do not belong to their columns."""
    below, width = rows, len(names)
    rows = [each for each in below if not is_blank_row(each)]
    if len(rows) > 1 and all(not is_blank_row(each[width:]) for each in rows):
        there_are = "is 1 name" if width == 1 else f"are {width} names"
        first = line + 1 + below.index(rows[0])
        advice = "add the missing names"
        if any(map(selection.role_of, rows[0])) and not any(map(may_be_value, rows[0])):
            advice = f"if line {first} names the columns, give header_line={first}"
        raise InvalidInput(f"line {line}: there {there_are}, but each row below has more cells: {advice}")
    read = {name for name, _ in layout.roles if name.strip()} if selection.form.header_line is None else ()
    repeats = (name in read and all(each[at : at + 1] == [name] for each in rows) for at, name in enumerate(names))
    if len(rows) > 1 and any(repeats):
        raise InvalidInput(
            f"line {line} looks like data: in a column that is read, each row repeats the name. For a file without names, "
            f"give header=False; if the line does name the columns, give header_line={line}"
        )
    for other in DELIMITERS if rows and width > 1 and all(len(each) == 1 for each in rows) else ():
        if all(each[0].count(other) == width - 1 for each in rows):
            if other == delimiter:
                raise InvalidInput(
                    f"line {line}: the rows below have one cell each, because entire lines are in quotation marks: quote "
                    "individual cells or nothing"
                )
            raise InvalidInput(
                f"line {line}: the names are separated by {delimiter!r}, and the rows below by {other!r}: use one of them"
            )


@attrs.define(eq=False)
class _Rows:
    """Parsed rows, the number of the line on which each begins, and the problems of individual rows by row index."""

    records: list[list[str]] = attrs.field(factory=list)
    lines: list[int] = attrs.field(factory=list)
    unreadable: dict[int, RowProblem] = attrs.field(factory=dict)
    ambiguous: dict[int, RowProblem] = attrs.field(factory=dict)


def _blocks(
    table: "_Table", shape: "_RowShape", columns: "_Columns[L]", selection: Selection[L], names: Sequence[str]
) -> Iterator[Block[L]]:
    """Yields the rows in blocks. Blank rows at the beginning are yielded only if other rows follow.

    If a line names other columns, as the first line of an appended file does, yields the rows before it and then raises
    InvalidInput. Raises NoRows if all rows are blank.
    """
    number, is_blank, first_line = 0, True, table.line
    for rows in table.blocks(shape):
        if is_blank:
            if not rows.unreadable and all(map(is_blank_row, rows.records)):
                number += len(rows.records)
                continue
            is_blank, shown = False, rows.records[: rows_looked_at(len(names))]
            selection.look_at(
                (name, [row[at] for row in shown if at < len(row)]) for at, name in enumerate(names[:COLUMNS_LOOKED_AT])
            )
            if number:  # at most `MAX_BLANK_ROWS`, and on lines without a gap
                yield columns.block(_Rows([[]] * number, [*range(first_line, first_line + number)]), 1)
        block = columns.block(rows, number + 1)
        if (end := columns.end_of(block, rows)) is not None:
            # Some reports begin with a row about themselves, such as the host of a meeting, and a blank line.
            is_report = number == 0 and (end == 0 or (end == _ROWS_OF_REPORT and is_blank_row(rows.records[end - 1])))
            if end and not is_report:
                yield block.part(0, end)
            line = rows.lines[end]
            reason = f"if it is the header of this file, give header_line={line}" if is_report else _SEPARATELY
            raise InvalidInput(f"line {line}: {_OTHER_NAMES}: {reason}")
        yield block
        number += len(rows.records)
    if is_blank:
        raise NoRows("the file has no rows, only column names")
    note_skipped_blanks(table.skipped, selection)
    if columns.short:
        rows_have = "1 row has" if columns.short == 1 else f"{columns.short:,} rows have"
        reason = (
            f"{rows_have} fewer cells than there are names: if a cell is missing, the cells after it are in the wrong "
            f"columns; the first such row is on line {columns.first_short}"
        )
        selection.remarks.append(RowIssue(0, "", reason))


@attrs.frozen(eq=False)
class _RowShape:
    """The usual widths of rows, by which a quotation mark that encloses other rows is detected.

    `width` is the number of names, and `widths` are the usual numbers of cells in a row.
    """

    dialect: Dialect
    layout: Layout
    width: int
    widths: AbstractSet[int]

    @classmethod
    def of(cls, dialect: Dialect, layout: Layout, width: int, rows: Sequence[Sequence[str]]) -> "_RowShape":
        """Returns the usual widths of the first rows. A width counts as usual if many of these rows have it."""
        fewest, counts = max(FEWEST_SHORT, len(rows) // 4), Counter(map(len, rows))
        usual = [each for each, count in counts.items() if count > fewest and each > 1]
        return cls(dialect, layout, width, {width, *usual})

    def problem_of(self, record: Sequence[str], raw: Sequence[str]) -> str | None:
        """Checks a row of several lines. Returns the reason if it is malformed or contains other rows, or None."""
        has_surplus = not is_blank_row(record[self.width :])
        if len(record) not in self.widths and (has_surplus or self.layout.is_row(self._padded(record)) is False):
            return _OTHER_WIDTH
        lines = [self.dialect.cells_of(line) for line in self.dialect.continued(raw)]
        if self._is_row(lines[0]) is True and self._is_row(record) is not True:
            return _HOLDS_ROWS
        tall = [(size, cell) for cell in record if (size := line_ends_in(cell))]
        if self.dialect.escapes_line_ends:  # here, an escaped line end does not start a new line
            tall = [(len(lines) - 1, tall[0][1])] if len(tall) == 1 < len(lines) else []
        first, is_whole = 0, len(record) == self.width
        for size, cell in tall:
            is_prose = f"{self.dialect.delimiter} " in cell
            if self._are_rows(lines[first : first + size + 1], is_prose=is_prose, is_whole=is_whole):
                return _HOLDS_ROWS
            first += size
        return None

    def _are_rows(self, lines: Sequence[Sequence[str]], *, is_prose: bool, is_whole: bool) -> bool:
        """Returns whether a cell that spans these lines contains other rows of the file.

        `is_prose` is true if a space follows a delimiter in the cell. This matters only in a table of two columns.
        `is_whole` is true if the row has one cell for each name.
        """
        first, middle, last = lines[0], lines[1:-1], lines[-1]
        is_prose = is_prose and self.width == 2
        is_tab, is_pair = self.dialect.delimiter == "\t", len(lines) == 2
        are_wide = all(not is_blank_row(cells[self.width :]) for cells in (first, last))
        is_edge = self._is_row if are_wide and self.width == 2 else self._is_end
        edges, inner = [is_edge(first), is_edge(last)], [self._is_row(cells) for cells in middle]
        # A line with a usable identifier in the right column is a row. The first line may instead be the start of the
        # real row.
        if True in inner or edges == [True, True]:
            return True
        # Without such identifiers, most lines must have the usual number of cells.
        usual = [found is None and len(cells) in self.widths for found, cells in zip(inner, middle, strict=True)].count(
            True
        )
        are_short = [len(cells) < min(self.widths) for cells in (first, last)]
        is_table = 2 * usual > len(middle) and (self.width - 1) * usual > 1
        if is_table and not is_prose and (len(middle) > 2 or not any(are_short)):
            return True
        if is_tab and are_rows(lines, self.width):
            return True
        # Two lines are usually the halves of one row, especially if their lengths differ, or if both are too short to be
        # rows and the row is complete. Any value of a half may look like a price or a link in the column where it stands.
        is_split = self.width > 1 and (are_short[0] != are_short[1] or (is_whole and all(are_short)))
        if is_pair and (are_wide or is_prose or is_split):
            return False
        # Few or short lines count as rows only if every line could be a row.
        return (is_pair or not is_tab) and False not in (*inner, *edges)

    def _is_row(self, cells: Sequence[str]) -> bool | None:
        """Returns True if a line with these cells is a row by itself, False if not, and None if that is unclear."""
        if not is_blank_row(cells[self.width :]):
            return False
        found = self.layout.is_row(self._padded(cells))
        if len(cells) in self.widths or (found and len(cells) > self.width):
            return found
        return None if found and len(cells) > 1 else False

    def _is_end(self, cells: Sequence[str]) -> bool | None:
        """Returns True if the first or last line of a quoted cell is a row by itself, False if it is
        not, and None if that is unclear. The line may have one delimiter too many.
        """
        if self.width == 1 or is_blank_row(cells[self.width :]):
            return self._is_row(cells)
        found = {self.layout.is_row(cells[at : at + self.width]) for at in range(len(cells) - self.width + 1)}
        return True if True in found else None if None in found and self.width > 2 else False

    def _padded(self, cells: Sequence[str]) -> Sequence[str]:
        return [*cells, *[""] * (self.width - len(cells))][: self.width]


class _Table:
    """The rows of a file, starting at line number `line`. `first_lines` are lines that were already read."""

    def __init__(self, first_lines: list[str], source: "_Lines", dialect: Dialect, line: int) -> None:
        self._waiting = dialect.prepare(first_lines)
        self._source = source
        self._dialect = dialect
        self._parser = functools.partial(csv.reader, dialect=dialect.parser(()).dialect)  # a checked dialect is faster
        self.line = line
        """The number of the line on which the next row begins."""
        self.skipped = 0
        """The number of blank lines that were skipped."""
        self._blank_rows = 0
        """The number of consecutive blank rows before the next row."""

    def names(self) -> list[str]:
        """Returns the names of the columns. Raises InvalidInput if their line cannot be parsed."""
        lines = self._take(1)
        names, count = self._parse_row(lines, 0)
        if names is None:
            names, count = self._misquoted_row(lines[:count], None)
        elif count > 1 and any(is_value(cell) for line in lines[:count] for cell in self._dialect.cells_of(line)):
            names, count = self._misquoted_row(lines[:count], _HOLDS_ROWS)
        self._waiting[:0] = lines[count:]
        self.line += count
        return names

    def blocks(self, shape: _RowShape) -> Iterator[_Rows]:
        """Yields the rows. If it is unclear where a row ends, yields the rows before it and then
        raises InvalidInput.
        """
        # Short rows are padded to one cell for each name.
        most = max(1, min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(1, shape.width)))
        error: InvalidInput | None = None
        is_end = False
        while error is None and not is_end:
            rows, end = _Rows(), self._source.taken + BYTES_PER_BLOCK
            while error is None and len(rows.records) < most and self._source.taken < end:
                if self._blank_rows == MAX_BLANK_ROWS:
                    self._blank_rows = 0
                    skipped = 0 if self._waiting else self._source.skip_blank_lines(self._dialect.delimiter)
                    self.skipped, self.line = self.skipped + skipped, self.line + skipped
                # Limits the number of lines so that at most `MAX_BLANK_ROWS` consecutive lines are blank.
                lines = self._take(min(most - len(rows.records), MAX_BLANK_ROWS - self._blank_rows))
                if is_end := not lines:
                    break
                before = len(rows.records)
                try:
                    if not self._parse_together(lines, rows):
                        self._parse_singly(lines, rows, shape, most)
                except InvalidInput as failure:
                    error = failure
                new = rows.records[before:]
                blank = next((at for at, cells in enumerate(reversed(new)) if not is_blank_row(cells)), len(new))
                self._blank_rows = blank + (self._blank_rows if blank == len(new) else 0)
            if rows.records:
                yield rows
        if error is not None:
            raise error

    def _parse_together(self, lines: list[str], rows: _Rows) -> bool:
        """Parses the lines in one call if every row is on one line. Returns whether that was possible."""
        try:
            records = list(self._parser(lines))
        except csv.Error:
            return False
        if len(records) != len(lines):
            return False
        rows.records += records
        rows.lines += range(self.line, self.line + len(lines))
        self.line += len(lines)
        return True

    def _parse_singly(self, lines: list[str], rows: _Rows, shape: _RowShape, most: int) -> None:
        """Parses lines row by row, and checks rows that span several lines for misplaced quotation marks."""
        start = tried = 0
        while start < len(lines) and (room := most - len(rows.records)) > 0:
            if start >= tried:  # lines with an even number of quotation marks are probably complete rows
                last = min(start + room, len(lines))
                tried = next((at for at in range(start, last) if lines[at].count('"') % 2), last)
                if tried > start and self._parse_together(lines[start:tried], rows):
                    start = tried
                    continue
            cells, count = self._parse_row(lines, start)
            problem = None
            if cells is not None and count > 1:
                problem = shape.problem_of(cells, lines[start : start + count])
            if cells is None or problem:
                cells, count = self._misquoted_row(lines[start : start + count], problem, rows, shape)
            rows.records.append(cells)
            rows.lines.append(self.line)
            start += count
            self.line += count
        self._waiting[:0] = lines[start:]

    def _parse_row(self, lines: list[str], start: int) -> tuple[list[str] | None, int]:
        """Returns the cells of the row that begins at index `start`, and its number of lines. The
        cells are None if the row cannot be parsed.

        If the row continues after the last of `lines`, appends further lines of the file to them.
        """

        def following() -> Iterator[str]:
            index, size = start, 0
            while size <= MAX_ROW_CHARACTERS:
                if index == len(lines):
                    lines.extend(self._take(1))
                    if index == len(lines):
                        return
                size += len(lines[index])
                yield lines[index]
                index += 1

        return self._dialect.parse_row(following())

    def _misquoted_row(
        self, raw: Sequence[str], problem: str | None, rows: _Rows | None = None, shape: _RowShape | None = None
    ) -> tuple[list[str], int]:
        """Returns the cells of a row with misplaced quotation marks and its number of lines, and adds the problem to
        `rows`.

        In tab-separated text, a misplaced quotation mark is an ordinary character, and the row ends
        with its first line. In other text, raises InvalidInput unless it is clear that the next row
        begins on the next line.
        """
        if problem is None and sum(map(len, raw)) > MAX_ROW_CHARACTERS:
            raise InvalidInput(f"line {self.line}: {LONG_ROW}{_PROBABLY}")
        lines = self._dialect.continued(raw)
        first = lines[0].rstrip('"\n')  # `_Lines` adds these at the end of a line that it cuts off
        is_cut = len(raw[0]) > MAX_LINE_CHARACTERS + MAX_CELL_CHARACTERS and first.endswith(_FILLER)
        if is_cut:
            row = self._dialect.scan(first.removesuffix(_FILLER))
        else:
            row = self._dialect.scan(lines[0] if problem else "".join(raw))
        is_long = is_cut or row.too_long is not None
        if problem is None and is_long:
            problem = _LONG_LINE if row.too_long is None else LONG_CELL
        elif problem is None:
            problem = _MISQUOTED if row.misquoted else _NEVER_CLOSED

        # In tab-separated text, a misplaced quotation mark is an ordinary character.
        is_mark = not is_cut and (len(raw) > 1 or not is_long)
        if (
            self._dialect.delimiter == "\t"
            and is_mark
            and not (problem == _OTHER_WIDTH and self._dialect.escapes_line_ends)
        ):
            return self._dialect.cells_of(raw[0]), 1

        # If the row may continue on the next line, it is unclear where the next row begins.
        is_complete = raw[0].count('"') % 2 == 0 if is_long else problem == _MISQUOTED and not row.is_open
        column = row.misquoted[0] if row.misquoted and not is_long else len(row.cells)
        if rows is None or shape is None or len(lines) > 1 or not is_complete:
            location = "" if problem == _LONG_LINE else f", column {column}"
            raise InvalidInput(f"line {self.line}{location}: {problem}{_PROBABLY if problem == LONG_CELL else ''}")

        # If the number of cells is wrong, the cells after the mark may be in the wrong columns.
        is_unreadable = is_long or width_of(row.cells, shape.width) not in shape.widths
        problems = rows.unreadable if is_unreadable else rows.ambiguous
        problems[len(rows.records)] = RowProblem(problem, column, columns=tuple(row.misquoted))
        return [] if is_long else row.cells, len(raw)

    def _take(self, wanted: int) -> list[str]:
        lines = self._waiting[:wanted]
        del self._waiting[:wanted]
        if len(lines) < wanted:
            lines += self._dialect.prepare(self._source.take(wanted - len(lines)))
        return lines


class _Columns(Generic[L]):
    """The columns of a table. `names` is None for a table without names.

    Most rows have at most `usual_width` cells. `role_of` returns the field that the job reads from a column with a
    given name, or an empty string.
    """

    def __init__(
        self,
        layout: L,
        names: Sequence[str] | None,
        width: int,
        usual_width: int,
        role_of: Callable[[str], str],
    ) -> None:
        self.layout = layout
        self.width = width
        self._usual_width = max(width, usual_width)
        self._role_of = role_of
        named = [at for at, name in enumerate(names or (), 1) if name.strip()]
        self._fewest = width if names is None else max(named, default=0)
        """The number of columns, not counting columns without a name at the end."""
        self.short = self.first_short = 0
        """The number of returned rows with fewer cells than columns, not counting blank rows, and the line of the first."""
        self._folded = [] if names is None else [folded_name(names[at]) for at in layout.positions]
        self._names = _FOLDED_SOUGHT.union(filter(None, map(folded_name, names or ())))
        self._spellings = _SPELLINGS_SOUGHT | _spellings(names or ())

    def block(self, rows: _Rows, first_number: int) -> Block[L]:
        """Returns a block with the selected columns. A row with more cells than names is `ambiguous` if the extra cells
        are not blank. If they are blank but most rows are shorter, it is `ambiguous` unless its last identifier shows
        that no cell has moved.
        """
        records, unreadable, width = rows.records, rows.unreadable, self.width
        if not set(map(len, records)) <= {width}:
            padded = []
            for index, record in enumerate(records):
                cells = record
                if len(record) < width:
                    cells = [*record, *[""] * (width - len(record))]
                    # A single cell that is certainly in the right column has not moved.
                    is_alone = len(record) == 1 and self.layout.is_aligned(cells)
                    if len(record) < self._fewest and not is_alone and not is_blank_row(record):
                        self.short, self.first_short = self.short + 1, self.first_short or rows.lines[index]
                is_surplus = len(record) > self._usual_width and not is_blank_row(record)
                if not is_blank_row(record[width:]) or (is_surplus and not self.layout.is_aligned(record)):
                    reason = f"has {len(record)} cells where there are {width} columns: {_QUOTE_CELL}"
                    rows.ambiguous[index] = RowProblem(reason, width + 1, tuple(record[width:]))
                padded.append(cells)
            records = padded
        columns = [list(map(itemgetter(at), records)) for at in self.layout.positions]
        first = columns[0] if columns else [""] * len(records)
        if not all(first) or any(map(str.isspace, first)):
            for index, cell in enumerate(first):
                if (not cell or cell.isspace()) and index not in unreadable and is_blank_row(records[index]):
                    unreadable[index] = IS_BLANK
        return Block(
            first_number, len(records), self.layout, columns, unreadable, rows.ambiguous, rows.lines, is_text=True
        )

    def end_of(self, block: Block[L], rows: _Rows) -> int | None:
        """Returns the index of the row at which an appended file with other columns starts, or None. Marks rows that
        repeat the names of this file as unreadable.
        """
        if not self._folded:
            return None
        records, spellings = rows.records, self._spellings
        found = set[int]()
        is_first_read = 0 in self.layout.positions[:2]
        firsts = () if is_first_read else ([record[0] if record else "" for record in records],)
        for cells in (*block.columns[:2], *firsts):
            if not spellings.isdisjoint(cells):
                found.update(index for index, cell in enumerate(cells) if cell in spellings)
        for index in sorted(found):
            names = [folded_name(cells[index]) for cells in block.columns]
            if names == self._folded:
                rows.unreadable[index] = _REPEATS_NAMES
            elif self._names_other_columns(records[index], records[index - 1] if index else (), names):
                return index
        return None

    def _names_other_columns(self, cells: Sequence[str], above: Sequence[str], read: Sequence[str]) -> bool:
        """Returns whether a row names columns. Such a row has no values, and has a cell in a column that is read. In
        addition, at least two known names differ from the cells above them, or a name of this file is in a different
        column. `read` are the normalized cells of the columns that are read.
        """
        if not any(read) or any(map(is_value, cells)):
            return False
        is_elsewhere = len({*read} & {*self._folded}) > sum(map(eq, read, self._folded))
        changed = [cell for at, cell in enumerate(cells[:COLUMNS_LOOKED_AT]) if [cell] != above[at : at + 1]]
        return is_elsewhere or len({*filter(self._is_name, changed)}) > 1

    def _is_name(self, cell: str) -> bool:
        """Returns whether a cell is a name of this table or a known name, or ends with a known name."""
        if len(cell) > MAX_NAME_LENGTH or not (folded := folded_name(cell)):
            return False
        return folded in self._names or any(map(self._role_of, (cell, re.split(r"[\s_.-]", cell)[-1])))


class _Lines:
    """The lines of a file. A line that is too long is cut off, and a cell that parsers reject is added at its end."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._parts = self._read_parts()
        self._part = ""
        self._lines = StringIO()
        """The lines of `_part`."""
        self.taken = 0
        """The approximate number of characters that were returned."""
        self.number = 0
        """The number of the last line that `first` or `line_of_names` returned."""

    def take(self, wanted: int) -> list[str]:
        """Returns the next `wanted` lines, or fewer at the end of the file or after about `BYTES_PER_BLOCK`."""
        lines, end = list(islice(self._lines, wanted)), self.taken + BYTES_PER_BLOCK
        while len(lines) < wanted and self.taken < end and self._next_part():
            lines += islice(self._lines, wanted - len(lines))
        return lines

    def _next_part(self) -> bool:
        """Reads the next part of the file. Returns False at the end."""
        self._part = next(self._parts, "")
        self.taken += len(self._part)
        self._lines = StringIO(self._part, newline="")
        return bool(self._part)

    def skip_blank_lines(self, delimiter: str = "") -> int:
        """Skips lines that contain only whitespace and delimiters, and returns their number."""
        find = re.compile(rf"(?:[\s{re.escape(delimiter)}]*[\r\n])?").match
        skipped, is_more = 0, True
        while is_more:
            found = find(self._part, self._lines.tell())
            assert found is not None  # the pattern also matches an empty string
            skipped += line_ends_in(found[0])
            self._lines.seek(found.end())
            is_more = found.end() == len(self._part) and self._next_part()
        return skipped

    def first(self) -> str:
        """Returns the next line that is not blank. Raises NoRows if there is none."""
        self.number += self.skip_blank_lines() + 1
        if not (lines := self.take(1)) or lines[0].isspace():  # a last line without a line end may be blank
            raise NoRows("the file is empty")
        return lines[0]

    def line_of_names(self, text: str, wanted: int) -> str:
        """Returns line number `wanted`. `text` is the line that was read last. Raises InvalidInput if that line is
        blank or missing.
        """
        lines = [text]
        while lines and self.number < wanted:
            lines = self.take(1)
            self.number += 1
        if not lines or self.number > wanted or lines[0].isspace():
            raise InvalidInput(f"line {wanted}, given by header_line=…, is blank or missing")
        return lines[0]

    def head(self, text: str) -> list[str]:
        """Returns the line `text` and the lines after it, until there are `HEAD_LINES` lines that are not comments."""
        lines, found, characters = [text], 0, HEAD_CHARACTERS
        while (characters := characters - len(lines[-1])) > 0:
            found += not lines[-1].startswith("#")
            if found == HEAD_LINES or not (line := self.take(1)):
                break
            lines += line
        return lines

    def _read_parts(self) -> Iterator[str]:
        """Yields the text in parts, each of which ends with a complete line.

        A pipe is read without waiting for a full buffer.
        """
        begun: list[str] = []
        length, text = 0, ""
        while text or (data := self._file.read1(READ_BYTES)):
            text = text or self._decoder.decode(data)
            if begun and begun[-1].endswith("\r"):
                begun[-1], text = begun[-1][:-1], "\r" + text
            # A carriage return at the very end may be the first half of a line end.
            end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
            if end:
                yield "".join((*begun, text[:end]))
                begun, length, text = [], 0, text[end:]
            begun.append(text)
            length, text = length + len(text), ""
            if length >= MAX_LINE_CHARACTERS:
                marks, text = self._skip_line()
                yield "".join((*begun, _FILLER, '"' * (marks % 2), "\n"))
                begun, length = [], 0
        if last := "".join((*begun, self._decoder.decode(b"", final=True))):
            yield last

    def _skip_line(self) -> tuple[int, str]:
        """Skips the rest of a line. Returns its number of quotation marks, and the text after the line that was read
        along with it.
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
