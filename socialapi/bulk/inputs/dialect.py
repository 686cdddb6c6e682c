"""Detects how a CSV or TSV file is written: its delimiter, the line that names its columns, and its escapes."""

import csv
import functools
import re
from collections.abc import Iterable, Sequence
from io import BufferedReader, StringIO
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, Final

import attrs

from socialapi.bulk.inputs.columns import may_be_value
from socialapi.bulk.inputs.layouts import DELIMITERS, Escapes
from socialapi.bulk.inputs.reader import Selection

if TYPE_CHECKING:
    import _csv

MAX_CELL_CHARACTERS: Final = 131_072
"""The longest cell that Python's parser accepts."""
READ_BYTES: Final = 65_536
NAMES_COMPARED: Final = 500
"""The maximum number of cells of a line that are compared with the known column names."""
SAMPLE_BYTES: Final = 1_048_576
"""The size of the sample that shows whether backslashes are escapes."""
LINES_READ_AGAIN: Final = 50_000
"""The maximum number of sample lines that are parsed again after a row with the wrong number of cells."""
FEW_MARKS: Final = 2
"""The number of quotation marks without a backslash above which the cells of a file count as quoted."""


_OPTIONS: Final[Sequence[Escapes]] = ("quotes", "unquoted", "everything")
_find_escape: Final = re.compile(rb"\\[\"\r\n,;\t|]").search
_find_doubled: Final = re.compile(r'(?<=[^\\",;\t|\r\n])""|(?<![^,;\t|\r\n])"""').findall
"""Finds doubled quotation marks within a cell or at its start, unless a backslash escapes them."""
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_QUOTE: Final = re.compile(r'\\([\\"])')
_ends_escaped: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\r\Z").search
_CONTINUED_LINE: Final = re.compile(r"(?:[^\\\r\n]++|\\.?)*+(?:\r\n|\r|\n|\Z)", re.DOTALL)


@attrs.define
class ScannedRow:
    """The cells of a row that the parser rejects, and the numbers, from 1, of the columns that cause the error."""

    cells: list[str] = attrs.field(factory=list)
    misquoted: list[int] = attrs.field(factory=list)
    """The columns in which text follows a closing quotation mark."""
    too_long: int | None = None
    is_open: bool = False
    """Whether the row continues on the next line, because a quotation mark is not closed or the line end is escaped."""


@attrs.frozen
class Dialect:
    """The format of a table. `line_end` is the line ending of all lines, or an empty string if it is unknown."""

    delimiter: str
    escapes: Escapes = "nothing"
    line_end: str = ""

    def escaping(self, escapes: Escapes, first_line: str) -> "Dialect":
        """Returns the dialect with other escapes, for a file that begins with `first_line`."""
        line_end = "\n" if escapes == "unquoted" and first_line.endswith("\n") else ""
        return attrs.evolve(self, escapes=escapes, line_end=line_end)

    @property
    def escapes_line_ends(self) -> bool:
        """Whether a line that ends with a backslash continues on the next one."""
        return self.escapes in ("everything", "unquoted")

    def parser(self, prepared: Iterable[str], *, strict: bool = True) -> "_csv.Reader":
        """Returns a parser for lines that `prepare` returned."""
        return csv.reader(
            prepared,
            delimiter=self.delimiter,
            escapechar="\\" if self.escapes_line_ends else None,
            quoting=csv.QUOTE_NONE if self.escapes == "unquoted" else csv.QUOTE_MINIMAL,
            skipinitialspace=True,
            strict=strict,
        )

    def prepare(self, lines: list[str]) -> list[str]:
        r"""Returns lines with their escapes rewritten for Python's parser. Keeps `\N`, which
        databases write for a missing value.
        """
        if self.escapes == "nothing":
            return lines
        if self.escapes == "quotes":
            return [_ESCAPED_QUOTE.sub(lambda found: '""' if found[1] == '"' else "\\", line) for line in lines]
        null = _null_pattern(self.delimiter)
        prepared = [null.sub(r"\\\\N", line).replace("\\\r\n", "\\\n") for line in lines]
        if self.line_end == "\n":  # in this case, a carriage return is an ordinary character
            prepared = [
                line[:-1] + "\\\r" if line.endswith("\r") and not _ends_escaped(line) else line for line in prepared
            ]
        return prepared

    def parse_all(self, lines: list[str]) -> list[list[str]]:
        """Returns the rows of the first lines of a file, and skips rows that cannot be parsed."""
        parser, rows = self.parser(self.prepare(lines), strict=False), list[list[str]]()
        while True:
            try:
                rows.extend(parser)
            except csv.Error:
                continue
            return rows

    def parse_row(self, lines: Iterable[str]) -> tuple[list[str] | None, int]:
        """Returns the cells of the row that begins on the first line, and its number of lines. The cells are None if
        the row cannot be parsed.
        """
        parser = self.parser(lines)
        try:
            return next(parser), parser.line_num
        except csv.Error:
            return None, parser.line_num

    def cells_of(self, line: str) -> list[str]:
        """Returns the cells of a line that is parsed on its own. A quotation mark that closes no cell is an ordinary
        character.
        """
        found = _cell_pattern(self).finditer(line.rstrip("\r\n") + self.delimiter)
        cells = [cell[2].lstrip(" ") if cell[1] is None else cell[1].replace('""', '"') for cell in found]
        return [_ESCAPED.sub(r"\1", cell) for cell in cells] if self.escapes_line_ends else cells

    def continued(self, lines: Sequence[str]) -> Sequence[str]:
        """Returns the lines of a row, with lines joined where a backslash escapes the line end."""
        if not self.escapes_line_ends or len(lines) == 1:
            return lines
        return [line for line in _CONTINUED_LINE.findall("".join(lines)) if line]

    def scan(self, text: str) -> ScannedRow:
        """Returns the cells of a row that the parser rejects. A cell with text after its closing quotation mark keeps
        its marks.
        """
        row, cell, state, end = ScannedRow(), list[str](), "start", 0
        letters = iter(text.rstrip("\r\n"))
        for letter in letters:
            if letter == self.delimiter and state != "quoted":
                row.cells.append("".join(cell))
                cell, state = [], "start"
                continue
            if letter == '"' and self.escapes != "unquoted" and state not in ("plain", "after"):
                if state == "closed":
                    cell.append(letter)
                state = "closed" if state == "quoted" else "quoted"
                continue
            if letter == " " and state == "start":
                continue
            if state == "closed":
                row.misquoted.append(len(row.cells) + 1)
                state, end = "after", len(cell)
            if state == "after" and not letter.isspace():
                cell, state = ['"', *cell[:end], '"', *cell[end:]], "plain"
            state = "plain" if state == "start" else state
            if letter == "\\" and self.escapes_line_ends:
                letter = next(letters, "")  # noqa: PLW2901 - the escaped letter
                row.is_open = not letter
            cell.append(letter)
            if len(cell) > MAX_CELL_CHARACTERS:
                row.too_long = len(row.cells) + 1
                break
        row.cells.append("".join(cell))
        row.is_open |= state == "quoted"
        return row


@functools.lru_cache
def _cell_pattern(dialect: Dialect) -> re.Pattern[str]:
    delimiter = re.escape(dialect.delimiter)
    escaped, other = (r"|\\.", r"\\") if dialect.escapes_line_ends else ("", "")
    quoted = "(?!)()" if dialect.escapes == "unquoted" else rf' *"((?:[^"{other}]++|""{escaped})*+)"(?={delimiter})'
    return re.compile(rf"(?:{quoted}|((?:[^{delimiter}{other}]++{escaped})*+)){delimiter}", re.DOTALL)


@functools.lru_cache
def _null_pattern(delimiter: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^{re.escape(delimiter)}])\\N(?=[{re.escape(delimiter)}\r\n]|$)")


def line_ends_in(text: str) -> int:
    """Returns the number of line ends in a string."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def is_blank_row(cells: Sequence[str]) -> bool:
    """Returns whether all cells are empty or blank."""
    return not "".join(cells).strip()


def width_of(cells: Sequence[str], width: int) -> int:
    """Returns the number of cells of a row, not counting blank cells after the last named column."""
    return width if len(cells) > width and is_blank_row(cells[width:]) else len(cells)


def is_comment(cells: Sequence[str]) -> bool:
    """Returns whether the first cell of a line begins with `#`."""
    return cells[0].startswith("#")


def without_comment_mark(names: Sequence[str]) -> Sequence[str]:
    """Returns column names from a comment line without its `#`."""
    return [names[0].lstrip("# "), *names[1:]]


@attrs.frozen
class Head:
    """The first lines of a table, parsed with one dialect.

    `index` is the index of the line that names the columns, and `known` is the number of known
    names on it. `rows` are the names and the rows below them.
    """

    dialect: Dialect
    index: int
    known: int
    rows: Sequence[Sequence[str]]

    def score(self) -> tuple[bool, int, float, int]:
        """Returns a sort key for how well the dialect fits: by known names, then by rows of equal length, then by
        columns.
        """
        width, rows = len(self.rows[0]), list(filter(None, self.rows[1:]))
        even = list(map(len, rows)).count(width) / len(rows) if rows and width > 1 else 0.0
        return (self.known > 0 and self.index == 0, self.known, even, width)


def read_head(lines: Sequence[str], separator: str | None, selection: Selection[Any]) -> Head:
    """Returns the first lines of a file, parsed with the delimiter that fits best. The column names may be below the
    first line.
    """
    text = "".join(lines)[:MAX_CELL_CHARACTERS]  # the parser rejects longer cells
    shown = list(StringIO(text, newline=""))
    absent = [*filterfalse(text.__contains__, DELIMITERS)]  # splitting by any of these gives one cell per line
    delimiters = [*filterfalse(absent[1:].__contains__, DELIMITERS)] if separator is None else [separator]
    heads, most = list[Head](), 0
    for dialect in map(Dialect, delimiters):
        rows, known = dialect.parse_all(shown), 0
        if selection.form.header:
            known = _known(rows[0], selection)
            if '"' in shown[0]:  # the quotation mark may not be closed
                known = max(known, _known(dialect.cells_of(shown[0]), selection))
        heads.append(Head(dialect, 0, known, rows))
        most = max(most, known)
    is_first = most > 0 and not text.startswith("#")
    is_alone = all(sum(bool(cell.strip()) for cell in head.rows[0]) == 1 for head in heads)
    if is_first and is_alone and any(_is_title(head.rows, selection) for head in heads):
        heads, is_first = [attrs.evolve(head, known=0) for head in heads], False
    if selection.form.header and selection.form.header_line is None and not is_first:
        heads = [_with_names_below(head, shown, selection) for head in heads]
    return max(heads, key=Head.score)


def _is_title(rows: Sequence[Sequence[str]], selection: Selection[Any]) -> bool:
    """Returns whether the first row that is not blank is a title: it has one cell, and the next such row has several
    cells, some of them known names and none of them a value.
    """
    filled = [found for row in rows if (found := [cell for cell in row if cell.strip()])][:2]
    is_below = len(filled) > 1 and len(filled[0]) == 1 < len(filled[1])
    return is_below and not any(map(may_be_value, filled[1])) and _known(filled[1], selection) > 0


def _with_names_below(head: Head, lines: list[str], selection: Selection[Any]) -> Head:
    """Returns a head that starts at the line with the column names, or the same head if no lower line has names."""
    cells = list(map(head.dialect.cells_of, lines))
    if not (index := _line_of_names(cells, selection)):
        return head
    rows = head.dialect.parse_all(lines[index:])
    return Head(head.dialect, index, _known(cells[index], selection), rows)


def _line_of_names(lines: Sequence[Sequence[str]], selection: Selection[Any]) -> int:
    """Returns the index of the line that names the columns below a title or comments, or 0 if no lower line does.

    A comment line counts only if no other line has the names.
    """
    most, has_title = 0, False
    for index, cells in enumerate(lines):
        filled = [cell.strip() for cell in cells if cell.strip()]
        if is_comment(cells):
            continue
        is_once = not has_title or len(set(filled)) == len(filled)
        is_names = index > 0 and is_once and len(filled) >= most and not any(map(may_be_value, filled))
        if is_names and _known(cells, selection):
            return index
        most, has_title = max(most, len(filled)), has_title or bool(filled)
    comments = [index for index, cells in enumerate(lines) if is_comment(cells)]
    return next((index for index in reversed(comments) if _known(without_comment_mark(lines[index]), selection)), 0)


def _known(cells: Sequence[str], selection: Selection[Any]) -> int:
    return len([name for name in dict.fromkeys(cells[:NAMES_COMPARED]) if selection.role_of(name)])


def sample_with_escapes(file: BufferedReader) -> bytes:
    """Returns the beginning of the file if it may use backslashes as escapes, or else no bytes.

    For a pipe or another file that cannot be read twice, uses only the bytes that have arrived.
    """
    if not file.seekable():
        sample = file.peek()
        return sample if _find_escape(sample) else b""
    start, last, is_found = file.tell(), b"", False
    for _ in range(0, SAMPLE_BYTES, READ_BYTES):
        chunk = file.read(READ_BYTES)
        if not chunk or (is_found := _find_escape(last + chunk) is not None):
            break
        last = chunk[-1:]
    file.seek(start)
    if not is_found:
        return b""
    sample = file.read(SAMPLE_BYTES)
    file.seek(start)
    return sample


def with_escapes(dialect: Dialect, sample: bytes, line: int) -> Dialect:
    """Returns the dialect with the escapes under which the most rows have as many cells as there are names in `line`."""
    text = sample.decode("utf-8", "surrogateescape")
    lines = list(StringIO(text, newline=""))[line - 1 :]
    if is_cut := len(sample) >= SAMPLE_BYTES:
        del lines[-1:]
    escaped, is_tab = text.count('\\"'), dialect.delimiter == "\t"
    is_quoted = '"' in lines[0] or (not is_tab and text.count('"') > escaped + FEW_MARKS)
    excluded = {"unquoted"} if is_quoted else set[str]()
    if len(_find_doubled(text)) > escaped:
        excluded |= {"quotes", "everything"}
    best = _fit(dialect, lines, is_cut=is_cut)
    if not best[1]:
        return dialect
    chosen = dialect
    for escapes in _OPTIONS:
        if escapes not in excluded:
            other = dialect.escaping(escapes, lines[0])
            found = _fit(other, lines, is_cut=is_cut)
            if found > best and found[0] > 1:
                chosen, best = other, found
    return chosen


def _fit(dialect: Dialect, lines: list[str], *, is_cut: bool) -> tuple[int, int]:
    """Returns the number of rows with as many cells as there are names, and the negated number of
    other rows.

    After a row with the wrong number of cells, parsing continues on the row's second line, so that a misplaced
    quotation mark affects only one row.
    """
    prepared = dialect.prepare(lines)
    lines_left, start, width, even, uneven = LINES_READ_AGAIN, 0, 0, 0, 0
    while start < len(prepared):
        cells, count = dialect.parse_row(map(prepared.__getitem__, range(start, len(prepared))))
        if cells is None and is_cut and start + count == len(prepared):
            break  # the row may continue after the sample
        width = width or len(cells or ())
        raw = dialect.continued(prepared[start : start + count])
        alone = [dialect.cells_of(text) for text in raw if len(raw) > 1]
        is_even = len(cells or ()) == width > 0
        is_complete = is_even and width not in map(len, alone[1:-1])
        if dialect.delimiter == "\t" and alone and (not is_even or are_rows(alone, width)):
            is_even, is_complete = len(alone[0]) == width, False  # assuming that the mark is an ordinary character
        else:
            is_even = is_complete
        even, uneven = even + is_even, uneven + (not is_even)
        lines_left -= len(alone)
        start += count if is_complete or lines_left < 0 else max(1, line_ends_in(raw[0]))
    return even, -uneven


def are_rows(lines: Sequence[Sequence[str]], width: int) -> bool:
    """Returns whether the first of several lines and at least one other line have `width` cells."""
    widths = [width_of(cells, width) for cells in lines]
    return width == widths[0] > 1 and width in widths[1:]
