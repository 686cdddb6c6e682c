"""Reads CSV and TSV files.

`csv.reader` parses the rows. What it cannot know is decided here: which line names the columns, whether a
quotation mark is one, and whether a cell of several lines has swallowed other rows.
"""

import codecs
import csv
import functools
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from io import BufferedReader, StringIO
from itertools import accumulate, chain, islice, pairwise, tee
from operator import eq, itemgetter
from typing import Any, Final, Generic, Literal, Protocol, Self, TypeVar

import attrs

from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT, folded_name, is_value
from socialapi.bulk.inputs.layouts import DELIMITERS
from socialapi.bulk.inputs.reader import (
    BYTES_PER_BLOCK,
    COLUMNS_LOOKED_AT,
    IS_BLANK,
    ROWS_PER_BLOCK,
    Block,
    Fault,
    Layout,
    NoRows,
    Selection,
    TableForm,
    convert_from,
    has_undecoded,
    rows_looked_at,
)
from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue

L = TypeVar("L", bound=Layout)

MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_CELL_CHARACTERS: Final = 131_072
"""What Python's parser takes by default."""
MAX_ROW_CHARACTERS: Final = 2_097_152
"""Of all lines of a row."""
MAX_COLUMNS: Final = 16_384
"""As many as a spreadsheet may have."""
CELLS_PER_BLOCK: Final = 250_000
READ_BYTES: Final = 65_536
HEAD_LINES: Final = 20
"""The lines of which one names the columns, but for comments."""
HEAD_CHARACTERS: Final = 65_536
"""Of these lines together, after which no more are looked at."""
NAMES_COMPARED: Final = 500
"""Cells of such a line that are looked up."""
ESCAPES_SOUGHT: Final = 1_048_576
"""Bytes that decide whether a backslash escapes what follows it."""
LINES_READ_ANEW: Final = 50_000
"""Of those that are looked at for escapes."""
FEW_MARKS: Final = 2
"""Quotation marks without a backslash that do not mean that cells are quoted."""
FEWEST_SHORT: Final = 3
"""Of the first rows, more that have the same number of cells below that of the names are no accident."""
NAMES_SOUGHT: Final = (
    *("id", "sku", "title", "name", "first_name", "email", "e-mail", "mail", "phone", "mobile", "handle", "twitter"),
    *("username", "user_id", "country", "date", "created_at", "first name", "customer_id", "link", "price", "brand"),
)
"""Names that another file may have for its column where this one has the first one that is read."""
FEW_ROWS: Final = 32
"""Rows that are parsed at a time after a doubtful quotation mark: those behind the next one are parsed again."""

_QUOTING: Final = "text follows a quotation mark that closes the cell: write a quotation mark within a cell twice"
_NEVER_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_HOLDS_ROWS: Final = (
    "a quotation mark opens a cell that holds other rows of the file: remove the mark, or write it twice within "
    "quotation marks"
)
_GOES_ON: Final = "the row goes on over several lines and is not as wide as the names: look for a quotation mark or a backslash that is wrong"
_LONG_CELL: Final = f"a cell has more than {MAX_CELL_CHARACTERS:,} characters"
_LONG_LINE: Final = f"the line has more than {MAX_LINE_CHARACTERS:,} characters"
_LONG_ROW: Final = f"the row has more than {MAX_ROW_CHARACTERS:,} characters"
_PROBABLY: Final = "; probably a quotation mark is not closed"
_QUOTE_CELL: Final = "quote cells that have a delimiter"
_OTHER_NAMES: Final = (
    "names columns again, and not as the first names do: give files with different columns one by one, not joined"
)
_REPEATS_NAMES: Final = Fault("repeats the names of the columns")
_UNEXPECTED_END: Final = "unexpected end of data"
"""What the parser says of a quotation mark that is not closed."""
_maybe_escape: Final = re.compile(rb"\\[\"\r\n,;\t|]").search
_find_doubled: Final = re.compile(r'(?<=[^\\",;\t|\r\n])""').finditer
"""Finds marks within a cell that are written twice, and so not with a backslash."""
_SEPARATOR: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE).fullmatch
"""The line that Excel puts before a table, with its delimiter."""
_FILLER: Final = "x" * (MAX_CELL_CHARACTERS + 1)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ends_escaped: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\Z").search
_ESCAPED_QUOTE: Final = re.compile(r'\\([\\"])')
_OTHER_ROW: Final = "\ud800"
"""A row that no file can hold, since bytes that are not UTF-8 are decoded to other lone
surrogates.
"""


Escapes = Literal["nothing", "quotes", "everything", "unquoted"]
"""What a backslash gives another meaning: quotation marks, or whatever is behind it. Unquoted, it does all that
quotation marks do elsewhere, and these are characters.
"""

_ESCAPES: Final[Sequence[Escapes]] = ("quotes", "unquoted", "everything")


class _Parser(Protocol):
    """What `csv.reader` returns."""

    @property
    def line_num(self) -> int:
        """How many lines were read."""

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


@attrs.frozen
class _Dialect:
    """How a table is written. With escapes, the parser gets the lines as `prepared` returns them."""

    delimiter: str
    escapes: Escapes = "nothing"

    def reader(self, lines: Iterable[str], *, strict: bool = True) -> "_Parser":
        """Returns a parser of these lines."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            escapechar="\\" if self.joins_lines else None,
            quoting=csv.QUOTE_NONE if self.escapes == "unquoted" else csv.QUOTE_MINIMAL,
            skipinitialspace=True,
            strict=strict,
        )

    @property
    def joins_lines(self) -> bool:
        """Whether a backslash before a line end is part of a cell."""
        return self.escapes in ("everything", "unquoted")

    def records(self, lines: Iterable[str]) -> list[list[str]]:
        """Returns the rows of these lines, as far as they can be told."""
        return [
            each for each in _parsed(self.reader(self.prepared(iter(lines)), strict=False)) if isinstance(each, list)
        ]

    def cells_of(self, line: str) -> list[str]:
        """Returns the cells of a line by itself: a quotation mark that does not close a cell on it is a character."""
        found = _cell_pattern(self).finditer(line.rstrip("\r\n") + self.delimiter)
        cells = [cell[2].lstrip(" ") if cell[1] is None else cell[1].replace('""', '"') for cell in found]
        return [_ESCAPED.sub(r"\1", cell) for cell in cells] if self.joins_lines else cells

    def are_rows(self, lines: Sequence[Sequence[str]], width: int) -> bool:
        """Returns whether the first of several lines and another one are as wide as rows: those of a cell are not."""
        widths = [_width_of(cells, width) for cells in lines]
        return width == widths[0] > 1 and width in widths[1:]

    def prepared(self, lines: Iterator[str], line_end: str = "") -> Iterator[str]:
        r"""Returns lines with escapes that the parser knows.

        `\N`, which databases write for nothing, stays as it is. A line that does not end with `line_end` goes on.
        """
        if self.escapes == "nothing":
            return lines
        if self.escapes == "quotes":
            return (_ESCAPED_QUOTE.sub(lambda found: '""' if found[1] == '"' else "\\", line) for line in lines)
        return self._joined(lines, line_end)

    def _joined(self, lines: Iterator[str], line_end: str) -> Iterator[str]:
        """Yields lines that go on behind a line end together."""
        begun = ""
        for line in lines:
            text = begun + line
            is_escaped = _ends_escaped(text.removesuffix("\n").removesuffix("\r")) is not None
            if len(text) < MAX_LINE_CHARACTERS and (is_escaped or not text.endswith(line_end)):
                begun = text if is_escaped else f"{text[:-1]}\\{text[-1:]}"
                continue
            begun = ""
            yield _null_pattern(self.delimiter).sub(r"\\\\N", text).replace("\\\r\n", "\\\n")
        if begun:
            yield begun


@functools.lru_cache
def _cell_pattern(dialect: _Dialect) -> re.Pattern[str]:
    delimiter = re.escape(dialect.delimiter)
    escaped, other = (r"|\\.", r"\\") if dialect.joins_lines else ("", "")
    quoted = "(?!)()" if dialect.escapes == "unquoted" else rf' *"((?:[^"{other}]++|""{escaped})*+)"(?={delimiter})'
    return re.compile(rf"(?:{quoted}|((?:[^{delimiter}{other}]++{escaped})*+)){delimiter}", re.DOTALL)


@functools.lru_cache
def _null_pattern(delimiter: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^{re.escape(delimiter)}])\\N(?=[{re.escape(delimiter)}\r\n]|$)")


def read_csv(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the rows below the column names; blank lines below them count as rows if there are others.

    The delimiter is that of a `sep=` line, or the one of `DELIMITERS` that suits the first lines best. Bytes that
    are not UTF-8 become lone surrogates, so that only their cell is unusable. A row may be shorter than the names,
    and one that is longer or wrongly quoted has a doubt. A cell that is far too long is a fault of its row, as long
    as it is clear where the next one begins. In a tab-separated file, a quotation mark that cannot be one is a
    character.

    Raises NoRows when there is nothing but blank lines, or only the column names, InvalidInput for columns as the
    selection does, and, after the rows before it, where quotation marks do not fit.
    """
    sample = _sample_with_escapes(file)
    parts = _Parts(file)
    lines, form = parts.lines(), selection.form
    line, text = _next_line(lines, parts, 0)
    separator = _SEPARATOR(text)
    if separator is not None:
        line, text = _next_line(lines, parts, line)
    if form.header_line is not None:
        line, text = _given_line(chain((text,), lines), parts, line, form.header_line)
    first_lines = _first_lines(chain((text,), lines), parts)
    delimiters = form.delimiters or (DELIMITERS if separator is None else (separator[1],))
    heads = [_Head.of(first_lines, _Dialect(each), selection) for each in delimiters]
    if not any(each.known for each in heads) or first_lines[0].startswith("#"):
        heads = [each.with_names_below(first_lines, selection) for each in heads]
    head = max(heads, key=_Head.score)
    line += head.index
    _say_what_is_skipped(first_lines[: head.index], line, selection)
    dialect = _with_escapes(head.dialect, sample, line, form)
    records = head.records if dialect == head.dialect else dialect.records(first_lines[head.index :])
    selection.files.note(
        delimiter=dialect.delimiter, escapes=dialect.escapes, header_line=line if form.header else None
    )
    line_end = "\n" if first_lines[0].endswith("\n") else ""  # then a carriage return ends none
    table = _Table(chain(first_lines[head.index :], lines), dialect, line, parts, line_end)
    names = table.names() if form.header else [str(at + 1) for at in range(max(map(len, records)))]
    if len(names) > MAX_COLUMNS:
        raise InvalidInput(f"line {line}: there are {len(names):,} columns, and at most {MAX_COLUMNS:,} are read")
    shown = _unmarked(names) if form.header and _is_comment(names) else names
    layout = _layout_of(shown, selection, line)
    columns = _Columns(layout, names if form.header else None, len(names))
    if form.header:
        sought = layout.positions if form.header_line is None else ()
        _refuse_rows_of_other_columns(records[1:], names, sought, dialect.delimiter, line)
    table.expect(layout, len(names), map(len, records))
    look_at = functools.partial(_look_at, selection, shown)
    yield from _unless_blank(table, columns, look_at)


def _layout_of(names: Sequence[str], selection: Selection[L], line: int) -> L:
    """Returns what the columns hold. Notes names that are not UTF-8, or raises InvalidInput where none is known then."""
    if has_undecoded("".join(names)) is None:
        return selection.of_table(names, line)
    says = f"the names on line {line} are not UTF-8, and such names are not known: {convert_from('WINDOWS-1252')}"
    try:
        layout = selection.of_table(names, line)
    except InvalidInput:
        raise InvalidInput(says) from None
    selection.remarks.append(RowIssue(0, "", says))
    return layout


def _look_at(selection: Selection[Any], names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Shows the selection the first cells of all columns."""
    selection.look_at(
        (name, [row[at] for row in rows[: rows_looked_at(len(names))] if at < len(row)])
        for at, name in enumerate(names[:COLUMNS_LOOKED_AT])
    )


def _next_line(lines: Iterator[str], parts: "_Parts", before: int) -> tuple[int, str]:
    """Returns the next line that is not blank, with its number. Raises NoRows if there is none."""
    for number, text in enumerate(lines, before + 1):
        parts.begin_block()
        if not text.isspace():
            return number, text
    raise NoRows("the file is empty")


def _given_line(lines: Iterator[str], parts: "_Parts", first: int, wanted: int) -> tuple[int, str]:
    """Returns the line of this number. Raises InvalidInput if it is blank, or the file is shorter."""
    for number, text in enumerate(lines, first):
        parts.begin_block()
        if number >= wanted and not text.isspace():
            if number == wanted:
                return number, text
            break
    raise InvalidInput(f"line {wanted}, which header_line or --header-line gives, is blank or not there")


def _first_lines(lines: Iterator[str], parts: "_Parts") -> list[str]:
    """Returns the first lines, of which one names the columns."""
    found, lines_left, room = list[str](), HEAD_LINES, HEAD_CHARACTERS
    while lines_left and room > 0 and (text := next(lines, None)) is not None:
        parts.begin_block()
        found.append(text)
        room -= len(text)
        lines_left -= not text.startswith("#")
    return found


@attrs.frozen
class _Head:
    """The first lines of a table, as a dialect reads them.

    `index` is that of the line that names the columns, of which `known` are of interest, and `records` are the names
    and the rows below them.
    """

    dialect: _Dialect
    index: int
    known: int
    records: Sequence[Sequence[str]]

    @classmethod
    def of(cls, lines: Sequence[str], dialect: _Dialect, selection: Selection[Any]) -> Self:
        """Reads the lines, of which the first one names the columns."""
        records = dialect.records(_seen(lines))
        if not selection.form.header:
            return cls(dialect, 0, 0, records)
        known = max(_known(records[0], selection), _known(dialect.cells_of(lines[0][:MAX_CELL_CHARACTERS]), selection))
        return cls(dialect, 0, known, records)

    def with_names_below(self, lines: Sequence[str], selection: Selection[Any]) -> Self:
        """Returns the lines from the one on that names the columns, if that is not the first one."""
        if not selection.form.header or selection.form.header_line is not None:
            return self
        seen = _seen(lines)
        alone = [self.dialect.cells_of(line) for line in seen]
        if not (below := _line_of_names(alone, selection)):
            return self
        records = self.dialect.records(seen[below:])
        return attrs.evolve(self, index=below, known=_known(alone[below], selection), records=records)

    def score(self) -> tuple[bool, int, float, int]:
        """Returns how well the dialect suits the lines: by known names, equal rows and columns, in this order."""
        width, rows = len(self.records[0]), [each for each in self.records[1:] if each]
        even = sum(len(row) == width for row in rows) / len(rows) if rows and width > 1 else 0.0
        return (self.known > 0 and self.index == 0, self.known, even, width)


def _seen(lines: Sequence[str]) -> Sequence[str]:
    """Returns the lines, cut so that no cell is too long for the parser."""
    return list(StringIO("".join(lines)[:MAX_CELL_CHARACTERS], newline=""))


def _known(cells: Sequence[str], selection: Selection[Any]) -> int:
    return sum(selection.knows_any((name,)) for name in dict.fromkeys(cells[:NAMES_COMPARED]))


def _line_of_names(lines: Sequence[Sequence[str]], selection: Selection[Any]) -> int:
    """Returns the index of the line that names the columns below a title or comments; 0 if there is none.

    A comment names them only if no other line does.
    """
    most, seen_other = 0, False
    for index, cells in enumerate(lines):
        filled = [cell.strip() for cell in cells if cell.strip()]
        if _is_comment(cells):
            continue
        is_once = not seen_other or len(set(filled)) == len(filled)
        is_names = index > 0 and is_once and len(filled) >= most and not any(map(is_value, filled))
        if is_names and _known(cells, selection):
            return index
        most, seen_other = max(most, len(filled)), seen_other or bool(filled)
    comments = [index for index, cells in enumerate(lines) if _is_comment(cells)]
    return next((index for index in reversed(comments) if _known(_unmarked(lines[index]), selection)), 0)


def _is_comment(cells: Sequence[str]) -> bool:
    return cells[0].startswith("#")


def _say_what_is_skipped(above: Sequence[str], line: int, selection: Selection[Any]) -> None:
    """Notes that the names are below other lines. Raises InvalidInput if that has to be sure, and they may be rows."""
    if not above:
        return
    if not selection.form.guesses and not all(text.startswith("#") or text.isspace() for text in above):
        raise InvalidInput(
            f"line {line} seems to name the columns, below lines that do not: to be sure, say so with header_line={line} "
            f"or --header-line {line}"
        )
    if len(selection.remarks) < MAX_NAMES_KEPT:
        reason = (
            f"line {line} names the columns; what is above it is not read (header_line, --header-line says which line it "
            "is)"
        )
        selection.remarks.append(RowIssue(0, "", reason))


def _unmarked(names: Sequence[str]) -> Sequence[str]:
    """Returns the names in a comment."""
    return [names[0].lstrip("# "), *names[1:]]


def _refuse_rows_of_other_columns(
    records: Sequence[Sequence[str]], names: Sequence[str], read: Sequence[int], delimiter: str, line: int
) -> None:
    """Raises InvalidInput if the first rows, and their cells in the columns that are `read`, show that the names are not
    theirs.
    """
    rows, width = [each for each in records if not _is_blank(each)], len(names)
    if len(rows) > 1 and all(not _is_blank(each[width:]) for each in rows):
        raise InvalidInput(
            f"line {line}: there are {width} names, and each row below has more cells: add the names that are missing"
        )
    if any(len(rows) > 1 and all(each[at : at + 1] == [names[at]] for each in rows) for at in read):
        raise InvalidInput(
            f"line {line} looks like data: in a column that is read, each row has the same word as its name. A file "
            "without names is read with header=False or --no-header; header_line or --header-line says that a line names them"
        )
    for other in DELIMITERS if rows and width > 1 and all(len(each) == 1 for each in rows) else ():
        if all(each[0].count(other) == width - 1 for each in rows):
            raise InvalidInput(
                f"line {line}: the names are separated by {delimiter!r}, and the rows below by {other!r}: use one of them"
            )


def _sample_with_escapes(file: BufferedReader) -> bytes:
    """Returns the beginning of the file if a backslash may escape something there; else nothing.

    Of a file that cannot be read again, such as a pipe, it is what has come.
    """
    if not file.seekable():
        sample = file.peek()
        return sample if _maybe_escape(sample) else b""
    start, last, is_found = file.tell(), b"", False
    for _ in range(0, ESCAPES_SOUGHT, READ_BYTES):
        chunk = file.read(READ_BYTES)
        if not chunk or (is_found := _maybe_escape(last + chunk) is not None):
            break
        last = chunk[-1:]
    file.seek(start)
    if not is_found:
        return b""
    sample = file.read(ESCAPES_SOUGHT)
    file.seek(start)
    return sample


def _with_escapes(dialect: _Dialect, sample: bytes, line: int, form: TableForm) -> _Dialect:
    """Returns the dialect with the escapes with which most lines from this one on are as wide as the names, or those
    of a layout.
    """
    if form.layout is not None and form.delimiters:
        return attrs.evolve(dialect, escapes=form.layout.escapes)
    if not sample:
        return dialect
    text = sample.decode("utf-8", "surrogateescape")
    lines = list(StringIO(text, newline=""))[line - 1 :]
    if is_cut := len(sample) >= ESCAPES_SOUGHT:
        del lines[-1:]
    escaped, is_tab = text.count('\\"'), dialect.delimiter == "\t"
    is_quoted = '"' in lines[0] or (not is_tab and text.count('"') > escaped + FEW_MARKS)
    skipped = {"unquoted"} if is_quoted else set[str]()
    if sum(1 for _ in _find_doubled(text)) > escaped:
        skipped |= {"quotes", "everything"}
    most, chosen = _evenness(dialect, lines, is_cut=is_cut), dialect
    for escapes in _ESCAPES if most[1] else ():
        if escapes in skipped:
            continue
        other = attrs.evolve(dialect, escapes=escapes)
        found = _evenness(other, lines, is_cut=is_cut)
        if found > most and found[0] > 1:
            chosen, most = other, found
    return chosen


def _evenness(dialect: _Dialect, lines: Sequence[str], *, is_cut: bool) -> tuple[int, int]:
    """Returns how many lines begin a row that is as wide as the names, and the negative number of those that do not.

    What comes behind the first line of such a row is read anew, so that damage costs no row but its own.
    """
    line_end = "\n" if dialect.escapes == "unquoted" and lines[0].endswith("\n") else ""
    given = list(dialect.prepared(iter(lines), line_end))
    lines_left, start, width, even, uneven = LINES_READ_ANEW, 0, 0, 0, 0
    while start < len(given):
        begin, parser = start, dialect.reader(map(given.__getitem__, range(start, len(given))))
        for record in _parsed(parser):
            raw = given[start : begin + parser.line_num]
            if is_cut and isinstance(record, csv.Error) and str(record) == _UNEXPECTED_END:
                start = len(given)  # the row may go on behind the sample
                break
            cells = [] if isinstance(record, csv.Error) else record
            width = width or len(cells)
            is_even, alone = len(cells) == width > 0, [dialect.cells_of(text) for text in raw if len(raw) > 1]
            is_whole = is_even and width not in map(len, alone[1:-1])
            if dialect.delimiter == "\t" and alone and (not is_even or dialect.are_rows(alone, width)):
                is_even, is_whole = len(alone[0]) == width, False  # a quotation mark is none
            else:
                is_even = is_whole
            even, uneven = even + is_even, uneven + (not is_even)
            lines_left -= len(alone)
            start += len(raw) if is_whole or lines_left < 0 else 1
            if start < begin + parser.line_num:
                break
    return even, -uneven


def _parsed(parser: "_Parser") -> Iterator[list[str] | csv.Error]:
    """Yields each row, or why there is none."""
    while True:
        try:
            yield next(parser)
        except csv.Error as error:
            yield error
        except StopIteration:
            return


def _unless_blank(
    table: "_Table", columns: "_Columns[L]", look_at: Callable[[Sequence[Sequence[str]]], None]
) -> Iterator[Block[L]]:
    """Yields the rows in blocks; blank ones at the beginning are counted, and yielded only if there are others.

    Raises InvalidInput, after the rows before it, at a line that names the columns of another file.
    """
    number, blank = 0, True
    first_line = table.line
    for rows in table.blocks():
        if blank:
            if not rows.faults and all(map(_is_blank, rows.records)):
                number += len(rows.records)
                continue
            blank = False
            look_at(rows.records)
            for start in range(0, number, ROWS_PER_BLOCK):
                records: list[list[str]] = [[]] * min(ROWS_PER_BLOCK, number - start)
                lines = range(first_line + start, first_line + start + len(records))
                yield columns.block(_Rows(records, lines), start + 1)
        block = columns.block(rows, number + 1)
        if (end := columns.end_of(block, rows)) is not None:
            if end:
                yield block.part(0, end)
            raise InvalidInput(f"line {rows.lines[end]}: {_OTHER_NAMES}")
        yield block
        number += len(rows.records)
    if blank:
        raise NoRows("the file has no rows, only column names")


@attrs.define(eq=False)
class _Rows:
    """Rows as they were parsed, the lines on which they begin, and what is wrong with some, by
    index.
    """

    records: list[list[str]] = attrs.field(factory=list)
    lines: range | list[int] = attrs.field(factory=list)
    faults: dict[int, Fault] = attrs.field(factory=dict)
    doubts: dict[int, Fault] = attrs.field(factory=dict)

    def extend(self, records: list[list[str]], lines: range | list[int]) -> None:
        """Adds rows that follow, of which nothing is wrong."""
        if not self.records:
            self.records, self.lines = records, lines
            return
        self.records += records
        self.lines = list(self.lines) if isinstance(self.lines, range) else self.lines
        self.lines += lines


class _Table:
    """Parses the lines of a table, of which the first one has the number `line`."""

    def __init__(self, lines: Iterator[str], dialect: _Dialect, line: int, parts: "_Parts", line_end: str) -> None:
        self._source = dialect.prepared(lines, line_end)
        self._dialect = dialect
        self._parts = parts
        self._rows_per_block = ROWS_PER_BLOCK
        self._width = 0
        self._widths: AbstractSet[int] = frozenset()
        self._layout: Layout | None = None
        self.line = line
        """The number of the line on which the next row begins."""
        self._lines_taken = 0
        self._waiting: Iterator[str] = iter(())
        self._parse_again(())

    def _parse_again(self, lines: Sequence[str]) -> None:
        """Goes on with these lines, which the parser has read before, and then with those behind them."""
        self._waiting = iter([*lines, *self._waiting])
        # The second iterator keeps the lines of the rows at hand, for when one of them cannot be parsed.
        given, self._again = tee(chain(self._waiting, self._source))
        self._parser = self._dialect.reader(given)
        self.line -= self._count(lines)
        self._lines_taken = 0

    def _count(self, lines: Sequence[str]) -> int:
        """Returns how many lines of the file these are, of which several may be joined."""
        return sum(map(_line_ends, lines)) if self._dialect.joins_lines else len(lines)

    def names(self) -> list[str]:
        """Returns the column names. Raises InvalidInput when they cannot be parsed."""
        line, reason = self.line, _HOLDS_ROWS
        try:
            names = next(self._parser)
        except csv.Error as error:
            names, reason = [], _meaning(error)
        raw = self._take_lines()
        cells = [cell for each in raw for cell in self._dialect.cells_of(each)]
        if names and (len(raw) == 1 or not any(map(is_value, cells))):
            return names
        if self._is_character(raw, reason):
            self._parse_again(raw[1:])
            return self._dialect.cells_of(raw[0])
        raise self._error(line, raw, reason)

    def expect(self, layout: Layout, width: int, widths: Iterable[int]) -> None:
        """Takes over what the columns hold, and how many cells the first rows have, by which a row is known."""
        self._layout, self._width = layout, width
        counts = Counter(widths)
        usual = {each for each, count in counts.items() if count > max(FEWEST_SHORT, counts.total() // 4)}
        self._widths = {width, *(each for each in usual if each > 1)}
        # Every row of a block gets a cell for each name.
        self._rows_per_block = max(1, min(ROWS_PER_BLOCK, CELLS_PER_BLOCK // max(1, width)))

    def blocks(self) -> Iterator[_Rows]:
        """Yields the rows. Raises InvalidInput, after those before it, where nobody knows where the next one begins."""
        broken: InvalidInput | None = None
        while broken is None:
            self._parts.begin_block()
            rows, step, is_more = _Rows(), self._rows_per_block, True
            while broken is None and is_more:
                is_more, doubtful = self._parse(rows, min(step, self._rows_per_block - len(rows.records)))
                if doubtful is not None:
                    broken, step = self._add_doubtful(rows, doubtful), FEW_ROWS
                is_more = is_more and len(rows.records) < self._rows_per_block and not self._parts.full
            if rows.records:
                yield rows
            elif broken is None:
                return
        raise broken

    def _parse(self, rows: _Rows, room: int) -> tuple[bool, str | None]:
        """Adds rows, up to one that is doubtful. Returns whether there may be more, and the doubt."""
        records: list[list[str]] = []
        append, full, doubt = records.append, self._parts.full, None
        is_joined, ends = self._dialect.joins_lines, list[int]()
        try:
            for record in islice(self._parser, room):
                append(record)
                if is_joined:
                    ends.append(self._parser.line_num - self._lines_taken)
                if full:
                    break
        except csv.Error as problem:
            doubt = _meaning(problem)
        first, is_more = self.line, len(records) == room or doubt is not None
        if doubt is None and not is_joined and self._parser.line_num - self._lines_taken == len(records):
            self._take_lines()
            rows.extend(records, range(first, first + len(records)))
            return is_more, None
        starts = [0, *(ends or accumulate(1 + _line_ends("|".join(record)) for record in records))]
        raw = self._take_lines(starts[-1])
        for index, (start, stop) in enumerate(pairwise(starts)):
            if (fault := self._fault_of(records[index], raw[start:stop])) is not None:
                # Those behind it are parsed again.
                self._lines_taken -= len(raw) - start
                self.line -= self._count(raw[start:])
                self._again = chain(raw[start:], self._again)
                records, doubt, is_more = records[:index], fault, True
                break
        if is_joined:
            lines = list(accumulate(map(_line_ends, raw), initial=0))
            starts = [lines[start] for start in starts]
        rows.extend(records, [first + start for start in starts[: len(records)]])
        return is_more, doubt

    def _take_lines(self, count: int | None = None) -> list[str]:
        """Returns the next lines that the parser has read, all of them by default."""
        count = self._parser.line_num - self._lines_taken if count is None else count
        self._lines_taken += count
        lines = list(islice(self._again, count))
        self.line += self._count(lines)
        return lines

    def _fault_of(self, record: Sequence[str], raw: Sequence[str]) -> str | None:
        """Returns what is wrong with a row of several lines that is none, or has others in it."""
        if len(raw) == 1 and not (self._dialect.joins_lines and _line_ends(raw[0]) > 1):
            return None
        if len(record) not in self._widths:
            cells = [*record, *[""] * (self._width - len(record))][: self._width]
            if not _is_blank(record[self._width :]) or (self._layout and self._layout.is_row(cells) is False):
                return _GOES_ON
        lines = [self._dialect.cells_of(line) for line in raw]
        if self._is_row(lines[0]) is True and self._is_row(record) is not True:
            return _HOLDS_ROWS
        first, sizes = 0, [size for cell in record if (size := _line_ends(cell))]
        if self._dialect.joins_lines:  # by which lines are not told apart
            sizes = [len(raw) - 1] if len(sizes) == 1 < len(raw) else []
        for size in sizes:
            if self._holds_rows(lines[first : first + size + 1]):
                return _HOLDS_ROWS
            first += size
        return None

    def _holds_rows(self, lines: Sequence[Sequence[str]]) -> bool:
        """Returns whether some of the lines of a cell, taken by themselves, are other rows.

        A line between two others is one if it has as many cells as rows have, and an identifier or the like in the
        right one. The first one is only if the last one is too. Words and short rows are if every line may be a row.
        """
        likely = list(map(self._is_row, lines))
        if True in likely[1:-1] or likely[0] is likely[-1] is True:
            return True
        if self._dialect.delimiter == "\t":
            return self._dialect.are_rows(lines, self._width)
        if len(lines) == 2 and self._width > 1:
            is_short = [len(cells) < min(self._widths) for cells in lines]
            return False not in likely and self._width > 2 and is_short[0] is is_short[1]
        return False not in likely

    def _is_row(self, cells: Sequence[str]) -> bool | None:
        """Returns whether a line with these cells is a row by itself; None if it may be."""
        if self._layout is None or not _is_blank(cells[self._width :]):
            return False
        found = self._layout.is_row([*cells, *[""] * (self._width - len(cells))])
        if len(cells) in self._widths or (found and len(cells) > self._width):
            return found
        return None if found and len(cells) > 1 else False

    def _add_doubtful(self, rows: _Rows, reason: str) -> InvalidInput | None:
        """Adds the row that is doubtful if the next one begins on the next line; else returns the error."""
        line, raw = self.line, self._take_lines()
        if self._is_character(raw, reason):
            self._parse_again(raw[1:])
            rows.extend([self._dialect.cells_of(raw[0])], [line])
            return None
        if (cells := self._parsed_alone(raw[0], reason) if len(raw) == 1 else None) is None:
            return self._error(line, raw, reason)
        column, misquoted, _ = self._walk(raw)
        says = _LONG_LINE if self._is_cut(raw, reason) else reason
        fault = Fault(says, column, columns=tuple(misquoted))
        # With fewer cells or more, those after the mark may be under the names of others.
        is_fault = reason == _LONG_CELL or _width_of(cells, self._width) not in self._widths
        problems = rows.faults if is_fault else rows.doubts
        problems[len(rows.records)] = fault
        rows.extend([cells], [line])
        return None

    def _is_character(self, raw: Sequence[str], reason: str) -> bool:
        """Returns whether the quotation mark that causes a doubt is a character of a tab-separated file."""
        if self._dialect.delimiter != "\t" or len(raw[0]) > MAX_LINE_CHARACTERS:
            return False
        if reason == _GOES_ON:
            return not self._dialect.joins_lines
        return reason in (_QUOTING, _NEVER_CLOSED, _HOLDS_ROWS) or (reason == _LONG_CELL and len(raw) > 1)

    def _error(self, line: int, raw: Sequence[str], reason: str) -> InvalidInput:
        """Returns why the row on these lines, and so the rest of the file, cannot be read."""
        if self._is_cut(raw, reason):
            return InvalidInput(f"line {line}: {_LONG_LINE}")
        if reason == _LONG_ROW:
            return InvalidInput(f"line {line}: {reason}{_PROBABLY}")
        column, _, _ = self._walk(raw[:1] if reason in (_HOLDS_ROWS, _GOES_ON) else raw)
        probably = _PROBABLY if reason == _LONG_CELL else ""
        return InvalidInput(f"line {line}, column {column}: {reason}{probably}")

    def _is_cut(self, raw: Sequence[str], reason: str) -> bool:
        """Returns whether the row is one line that was cut off, and none of its cells is too long by itself."""
        if reason != _LONG_CELL or len(raw) != 1 or len(raw[0]) <= MAX_LINE_CHARACTERS + MAX_CELL_CHARACTERS:
            return False
        _, _, has_long_cell = self._walk([raw[0].rstrip('"\n').removesuffix(_FILLER)])
        return not has_long_cell

    def _parsed_alone(self, text: str, reason: str) -> list[str] | None:
        """Returns the cells of a line, as far as they can be told; None if the row may go on beyond it."""
        if reason == _LONG_CELL:
            return None if text.count('"') % 2 else []
        rows = list(_parsed(self._dialect.reader((text, _OTHER_ROW), strict=False)))
        if len(rows) != 2 or reason != _QUOTING:
            return None
        return rows[0] if isinstance(rows[0], list) else self._dialect.cells_of(text)

    def _walk(self, lines: Sequence[str]) -> tuple[int, list[int], bool]:
        """Returns in which cell of a row the parser gives up, the cells in which text follows a quotation mark that
        closes them, and whether a cell is too long.
        """
        column, length, at, misquoted = 1, 0, "begin", list[int]()
        for letter in "".join(lines).rstrip("\r\n"):
            length += 1
            if length > MAX_CELL_CHARACTERS:
                return column, misquoted, True
            if at == "quoted":
                at = "closed" if letter == '"' else at
            elif letter == '"' and at in ("begin", "closed"):
                at = "quoted"
            elif letter == self._dialect.delimiter:
                column, length, at = column + 1, 0, "begin"
            elif at == "closed":
                misquoted.append(column)
                at = "plain"
            elif letter != " " or at != "begin":
                at = "plain"
        return misquoted[0] if misquoted else column, misquoted, False


def _meaning(error: csv.Error) -> str:
    """Returns what is wrong with a row, by what the parser says of it."""
    says = str(error)
    if says == _LONG_ROW:
        return says
    if "expected after" in says or "new-line" in says:
        return _QUOTING
    return _NEVER_CLOSED if says == _UNEXPECTED_END else _LONG_CELL


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def _is_blank(cells: Sequence[str]) -> bool:
    """Returns whether there is nothing but blanks in a row."""
    return not any(cell and not cell.isspace() for cell in cells)


def _width_of(cells: Sequence[str], width: int) -> int:
    """Returns how many cells a row has, without surplus ones that are blank."""
    return width if len(cells) > width and _is_blank(cells[width:]) else len(cells)


class _Columns(Generic[L]):
    """The columns of a table, of which `names` are None if it has none."""

    def __init__(self, layout: L, names: Sequence[str] | None, width: int) -> None:
        self.layout = layout
        self.width = width
        self._read = [] if names is None else [names[at] for at in layout.positions]
        self._folded = list(map(folded_name, self._read))
        variants = (str, str.lower, str.upper, str.capitalize, str.title)
        names = (*self._read, *NAMES_SOUGHT) if self._read else ()
        self._spellings = frozenset(variant(name) for name in names for variant in variants)

    def block(self, rows: _Rows, first_number: int) -> Block[L]:
        """Returns the columns that are read. A row with surplus cells that are not blank has a doubt."""
        records, faults, width = rows.records, rows.faults, self.width
        if not set(map(len, records)) <= {width}:
            padded = []
            for index, record in enumerate(records):
                if len(record) > width and not _is_blank(record[width:]):
                    says = f"has {len(record)} cells where there are {width} columns: {_QUOTE_CELL}"
                    rows.doubts[index] = Fault(says, width + 1, tuple(record[width:]))
                padded.append([*record, *[""] * (width - len(record))] if len(record) < width else record)
            records = padded
        columns = [list(map(itemgetter(at), records)) for at in self.layout.positions]
        first = columns[0] if columns else [""] * len(records)
        if not all(first) or any(map(str.isspace, first)):
            for index, cell in enumerate(first):
                if (not cell or cell.isspace()) and index not in faults and _is_blank(records[index]):
                    faults[index] = IS_BLANK
        return Block(first_number, len(records), self.layout, columns, faults, rows.doubts, rows.lines, is_text=True)

    def end_of(self, block: Block[L], rows: _Rows) -> int | None:
        """Returns the index of the first row that names the columns of another file, as joined files have it, and
        makes those that repeat the names of this one faults. None if there is no such row.
        """
        first = block.columns[0] if block.columns else ()
        if self._spellings.isdisjoint(first):
            return None
        for index in [index for index, cell in enumerate(first) if cell in self._spellings]:
            names = [folded_name(cells[index]) for cells in block.columns]
            in_place = sum(map(eq, names, self._folded))
            is_elsewhere = len({*names} & {*self._folded}) > in_place
            if in_place == len(names):
                rows.faults[index] = _REPEATS_NAMES
            elif (is_elsewhere or in_place > 1) and not any(map(is_value, rows.records[index])):
                return index
        return None


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
