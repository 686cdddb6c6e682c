"""The output formats of lists: a table, JSON, JSON Lines, CSV and Parquet."""

import contextlib
import csv
import datetime
import io
import json
import re
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Generic, Literal, TextIO, TypeVar, get_args

import attrs
from rich.cells import cell_len, set_cell_size

from socialapi.cli import output
from socialapi.cli.output import iso_moment, moment, printable
from socialapi.errors import InvalidInput
from socialapi.internal.console import Output
from socialapi.models.spelling import near_name
from socialapi.models.validation import wire_name
from socialapi.wire.encode import json_shape
from socialapi.wire.export import json_text

T = TypeVar("T")

Format = Literal["table", "json", "jsonl", "csv", "parquet"]
FORMATS: Final[Sequence[Format]] = get_args(Format)
ENDINGS: Final[Mapping[str, Format]] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".tsv": "table",
    ".txt": "table",
}
"""The format for each file name extension."""


@attrs.frozen
class Column(Generic[T]):
    """A column of a table. `value` returns the cell of an item; None is shown as a dash.

    Text is truncated in a narrow terminal, but ids and times never are. On a terminal, times have seconds only if
    `has_seconds` is true.
    """

    name: str
    value: Callable[[T], str | datetime.datetime | None]
    is_whole: bool = attrs.field(default=False, kw_only=True)
    has_seconds: bool = attrs.field(default=False, kw_only=True)

    def cell(self, item: T, *, is_shown: bool) -> str:
        """Returns the cell of an item, formatted for a terminal or a program, without characters that move the cursor."""
        value = self.value(item)
        if isinstance(value, datetime.datetime):
            value = moment(value, seconds=self.has_seconds) if is_shown else iso_moment(value)
        return printable(value or "-")


@attrs.frozen(kw_only=True)
class ListKind(Generic[T]):
    """The name of a list's items, and how they are printed in each format.

    `columns` are the columns of a table. `to_json` returns an item for JSON. The columns of CSV and
    Parquet are the fields of the class `record`, to which `to_record` converts an item. `fields`
    selects columns of tables and CSV; by default, all are printed.
    """

    name: str
    columns: Sequence[Column[T]]
    record: type[Any]
    to_json: Callable[[T], Any] = json_shape
    to_record: Callable[[T], Any] = lambda item: item
    fields: Sequence[str] = ()

    def shown_columns(self) -> Sequence[Column[T]]:
        """Returns the columns of a table. Raises InvalidInput for an unknown field."""
        named = {column.name: column for column in self.columns}
        return [named.get(field) or self._column(field) for field in self.fields] or self.columns

    def paths(self) -> list[tuple[str, ...]]:
        """Returns the columns of CSV as paths to their values. Raises InvalidInput for an unknown field."""
        every = [*csv_paths(self.record), *([(EXTRA,)] if EXTRA in attrs.fields_dict(self.record) else [])]
        return [path for field in self.fields for path in self._below(field, every)] or every

    def _below(self, field: str, every: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        names = tuple(field.split("."))
        found = [path for path in every if path[: len(names)] == names]
        if not found:
            known = (*(column.name for column in self.columns), *map(".".join, every))
            meant = near_name(field, known)
            hint = f"did you mean {meant}?" if meant else f"the columns are {', '.join(dict.fromkeys(known))}"
            raise InvalidInput(f"--fields: there is no column {field!r}: {hint}")
        return found

    def _column(self, field: str) -> Column[T]:
        self._below(field, attrs.evolve(self, fields=()).paths())

        def value(item: T) -> str | None:
            found = json_shape(self.to_record(item))
            for name in field.split("."):
                found = (found or {}).get(name)
            return found if found is None or isinstance(found, str) else json_line(found)

        return Column(field, value, is_whole=field.endswith("id"))


class TextWriter(Generic[T]):
    """Collects items as text, and writes `begin`, `between` and `end` around them, or `if_none` for an empty list."""

    is_readable_in_part: bool = True
    """Whether output is usable if an error interrupts it."""

    def __init__(
        self,
        stream: TextIO,
        text: Callable[[T], str],
        *,
        begin: str = "",
        between: str = "",
        end: str = "",
        if_none: str = "",
        at_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._text = text
        self._begin, self._between, self._end, self._if_none = begin, between, end, if_none
        self._at_end = at_end
        self._has_begun = False
        self._texts: list[str] = []

    def add(self, item: T) -> None:
        """Adds an item."""
        self._texts.append(self._text(item))

    def flush(self) -> None:
        """Writes the collected items, preceded by `begin` if they are the first."""
        if self._texts:
            texts, self._texts = self._texts, []
            before, self._has_begun = self._between if self._has_begun else self._begin, True
            self._write(before + self._between.join(texts))

    def close(self, *, is_complete: bool) -> None:
        """Writes the end of the output, even after an error."""
        self.flush()
        if self._has_begun or is_complete:
            self._write(self._end if self._has_begun else self._if_none)
        if is_complete:
            self._at_end()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


# Tables ------------------------------------------------------------------------------------------

_GAP: Final = "  "
_MIN_WIDTH: Final = 8
"""The smallest width to which text is truncated. If that is not enough, columns are omitted."""


def print_row(kind: ListKind[T], item: T) -> None:
    """Prints the cells of a single item, separated by two spaces on a terminal and by tabs otherwise."""
    is_shown = output.standard_output().isatty()
    cells = [column.cell(item, is_shown=is_shown) for column in kind.columns]
    output.print_line((_GAP if is_shown else "\t").join(cells))


class TerminalTable(Generic[T]):
    """Aligned columns that fit the terminal. Widths follow the first page, and grow with later ones."""

    is_readable_in_part = True

    def __init__(self, kind: ListKind[T]) -> None:
        self._console = Output()
        self._columns = kind.shown_columns()
        self._header = [column.name.upper() for column in self._columns]
        self._natural = [cell_len(name) for name in self._header]
        self._rows: list[list[str]] = []
        self._shown = 0
        """The number of columns, once the header is printed."""

    def add(self, item: T) -> None:
        """Adds an item."""
        self._rows.append([column.cell(item, is_shown=True) for column in self._columns])

    def flush(self) -> None:
        """Prints the collected items, after the header if they are the first."""
        if not self._rows:
            return
        for at, cells in enumerate(zip(*self._rows, strict=True)):
            self._natural[at] = max(self._natural[at], *map(cell_len, cells))
        may_be_cut = [not column.is_whole for column in self._columns]
        # Later pages have the same columns as the header, even if their lines are wider than the terminal.
        widths = fitting_widths(self._natural, may_be_cut, self._console.width, shown=self._shown)
        if not self._shown:
            self._shown = len(widths)
            header = aligned(self._header, widths)
            self._console.print(header, style="bold", markup=False, highlight=False, soft_wrap=True)
            if left_out := self._header[len(widths) :]:
                output.say(f"the terminal is too narrow for {output.listed(left_out)}; --output jsonl shows all")
        sys.stdout.write("".join(aligned(row, widths) + "\n" for row in self._rows))
        sys.stdout.flush()
        self._rows = []

    def close(self, *, is_complete: bool) -> None:
        """Prints the last items."""
        self.flush()


def aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Returns the cells as a line with columns of these widths. Cells beyond these columns are omitted."""
    shown = [
        cell if cell_len(cell) <= width else f"{set_cell_size(cell, width - 1)}…"
        for cell, width in zip(cells, widths, strict=False)
    ]
    return _GAP.join((*map(set_cell_size, shown[:-1], widths), *shown[-1:]))


def fitting_widths(natural: Sequence[int], may_be_cut: Sequence[bool], available: int, *, shown: int = 0) -> list[int]:
    """Returns the widths of the columns that fit the available width, from the left, or of the first `shown` columns.

    Shrinks columns that may be truncated, the widest first. The first column is always included.
    """
    for count in (shown,) if shown else range(len(natural), 0, -1):
        room = available - len(_GAP) * (count - 1)
        limit = max(room, _MIN_WIDTH)
        widths = [min(width, limit) if cut else width for width, cut in zip(natural[:count], may_be_cut, strict=False)]
        while sum(widths) > room:
            width, at = max(((width, at) for at, width in enumerate(widths) if may_be_cut[at]), default=(0, 0))
            if width <= _MIN_WIDTH:
                break
            widths[at] -= 1
        if sum(widths) <= room or count in (1, shown):
            return widths
    return []


# JSON --------------------------------------------------------------------------------------------

_ODD_CONTROLS: Final = re.compile("[\x7f-\x9f]")
"""Matches the control characters that JSON does not have to escape, but that some terminals obey."""


_NOT_SHOWN: Final = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that are invisible, or that a terminal may obey, such as those that reverse text."""


def shown_json(text: str, *, is_shown: bool | None = None) -> str:
    """Returns JSON for standard output. If that is a terminal, escapes the characters that a terminal
    may obey. `is_shown` overrides the check for a terminal.
    """
    if text.isprintable() or not (output.standard_output().isatty() if is_shown is None else is_shown):
        return text
    # Keeps whitespace, which may be between values.
    return "".join(
        letter if letter in "\t\n\r" or unicodedata.category(letter) not in _NOT_SHOWN else json.dumps(letter)[1:-1]
        for letter in text
    )


def print_json(item: Any) -> None:
    """Prints an item as a line of JSON, with the service's names."""
    output.print_line(shown_json(json_line(json_shape(item))))


def json_line(shape: Any) -> str:
    """Returns JSON-ready data as one line, without control characters that move the cursor of a terminal."""
    return _ODD_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text(shape))


# CSV ---------------------------------------------------------------------------------------------

_FORMULA: Final = re.compile(r"[=+\-@\t\r](?![0-9.]*\Z)")
"""Matches a cell that a spreadsheet may run as a formula. A number with a sign is harmless."""
EXTRA: Final = "extra"


class Csv(Generic[T]):
    """The lines of items in CSV (RFC 4180).

    Columns are the fields of the class. The names of nested fields contain dots. Lists, and objects with unknown
    fields, are JSON. The column `extra` contains the fields that the class does not declare, as JSON. Cells that a
    spreadsheet would run as formulas are counted or, with `escape_formulas`, begin with an apostrophe.
    """

    def __init__(self, kind: ListKind[T], *, is_shown: bool, escape_formulas: bool = False) -> None:
        self._kind = kind
        self._paths = kind.paths()
        self._is_shown = is_shown
        self._escape_formulas = escape_formulas
        self._formulas = 0

    def header(self) -> str:
        """Returns the names of the columns as a line."""
        return _csv_line(map(".".join, self._paths))

    def line(self, item: T) -> str:
        """Returns the line of an item."""
        shape = json_shape(self._kind.to_record(item))
        found = {path: _taken(shape, path) for path in csv_paths(self._kind.record)}
        found[EXTRA,] = _without_empty(shape) or None
        return _csv_line(self._cell(found[path]) for path in self._paths)

    def _cell(self, value: Any) -> str:
        if value is None or isinstance(value, str):
            text = value or ""
            if _FORMULA.match(text):
                self._formulas += 1
                text = f"'{text}" if self._escape_formulas else text
            return printable(text) if self._is_shown else text
        return shown_json(json_line(value), is_shown=self._is_shown)

    def say_formulas(self) -> None:
        """Prints the number of cells that a spreadsheet would run as formulas, unless they are escaped."""
        if self._formulas and not self._escape_formulas:
            one = self._formulas == 1
            output.say(
                f"{self._formulas:,} cell{'' if one else 's'} begin{'s' if one else ''} with =, +, -, @, a tab or a carriage return, "
                "which a spreadsheet may run as a formula; --escape-formulas puts an apostrophe first"
            )


def csv_paths(record: type[Any], within: tuple[type[Any], ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the CSV columns of a class. A column is the path of names to a value that is not an object."""
    attrs.resolve_types(record, include_extras=True)
    for field in attrs.fields(record):
        if not field.init or field.name == EXTRA:
            continue
        kind = _kind(field)
        if attrs.has(kind) and kind not in (*within, record):
            yield from ((wire_name(field), *rest) for rest in csv_paths(kind, (*within, record)))
        else:
            yield (wire_name(field),)


def _kind(field: "attrs.Attribute[Any]") -> Any:
    from socialapi.wire.class_readers import kind_of

    try:
        return kind_of(field)
    except TypeError:  # a field with several types
        return object


def _taken(shape: dict[str, Any], path: Sequence[str]) -> Any:
    *parents, name = path
    for parent in parents:
        shape = shape.get(parent) or {}
    return shape.pop(name, None)


def _without_empty(shape: dict[str, Any]) -> dict[str, Any]:
    """Returns the data without objects that are empty because their fields were removed."""
    found = {name: _without_empty(each) if isinstance(each, dict) else each for name, each in shape.items()}
    return {name: each for name, each in found.items() if each not in (None, {})}


def _csv_line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


# Parquet -----------------------------------------------------------------------------------------

_ROWS_OF_A_GROUP: Final = 20_000


class Parquet(Generic[T]):
    """A Parquet file with the schema of the class. Nothing is written to standard output before the file is complete."""

    is_readable_in_part = False

    def __init__(self, kind: ListKind[T], binary: IO[bytes], *, is_file: bool) -> None:
        if binary.isatty():
            raise InvalidInput("Parquet needs a file: specify one with --output-file")
        from socialapi.integrations.arrow import arrow_table, parquet_writer

        self._kind = kind
        self._binary = binary
        self._table_of = arrow_table
        self._spool: IO[bytes] | None = None if is_file else tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it
        self._parquet: Any = parquet_writer(self._spool or binary, kind.record)
        self._records: list[Any] = []

    def add(self, item: T) -> None:
        """Adds an item."""
        self._records.append(self._kind.to_record(item))
        if len(self._records) == _ROWS_OF_A_GROUP:
            self._write_group()

    def flush(self) -> None:
        """Does nothing: pages are gathered, because small groups of rows are slow to read."""

    def _write_group(self) -> None:
        self._parquet.write_table(self._table_of(self._records, self._kind.record))
        self._records = []

    def close(self, *, is_complete: bool) -> None:
        """Writes the last items and the footer of the file. An incomplete file is deleted."""
        if self._records and is_complete:
            self._write_group()
        self._parquet.close()  # even after an error: otherwise, the writer would write to its file later
        if self._spool is not None:
            with self._spool:
                self._spool.seek(0)
                if is_complete:
                    shutil.copyfileobj(self._spool, self._binary)
                    self._binary.flush()


# All of them -------------------------------------------------------------------------------------

Writer = TextWriter[T] | TerminalTable[T] | Parquet[T]


@contextlib.contextmanager
def writing(
    kind: ListKind[T], format_: Format, path: Path | None, *, escape_formulas: bool = False
) -> Iterator[Writer[T]]:
    """Yields a writer of the format, to standard output or a file.

    An earlier file at the path is kept if the block fails. Raises InvalidInput if the format cannot
    be printed to a terminal, and OSError if the output cannot be written.
    """
    with contextlib.nullcontext() if path is None else output.replacing(path) as file:
        if file is None:
            stream = output.standard_output()
        else:
            stream = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="", write_through=True)
        writer = _writer(kind, format_, stream, is_file=file is not None, escape_formulas=escape_formulas)
        try:
            yield writer
        except BaseException:
            with contextlib.suppress(OSError):  # the same error may have ended the block
                writer.close(is_complete=False)
            raise
        writer.close(is_complete=True)


def _writer(kind: ListKind[T], format_: Format, stream: TextIO, *, is_file: bool, escape_formulas: bool) -> Writer[T]:
    is_shown = stream.isatty()
    if format_ == "parquet":
        return Parquet(kind, stream.buffer, is_file=is_file)
    if format_ == "table" and is_shown and not is_file:
        return TerminalTable(kind)
    if format_ == "table":
        # No cell is empty or contains a tab, so that `cut` finds the same columns in every line.
        columns = kind.shown_columns()
        header = "\t".join(column.name.upper() for column in columns) + "\n"
        return TextWriter(
            stream, lambda item: "\t".join(column.cell(item, is_shown=False) for column in columns) + "\n", begin=header
        )
    if isinstance(stream, io.TextIOWrapper):  # UTF-8 and unchanged line endings in every locale
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="")
    if format_ == "csv":
        lines = Csv(kind, is_shown=is_shown, escape_formulas=escape_formulas)
        header = lines.header()
        return TextWriter(stream, lines.line, begin=header, if_none=header, at_end=lines.say_formulas)

    def json_of(item: T) -> str:
        return shown_json(json_line(kind.to_json(item)), is_shown=is_shown)

    if format_ == "jsonl":
        return TextWriter(stream, lambda item: f"{json_of(item)}\n")
    return TextWriter(stream, json_of, begin="[\n", between=",\n", end="\n]\n", if_none="[]\n")
