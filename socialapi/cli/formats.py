"""The formats that lists are printed in: a table, JSON, JSON Lines, CSV and Parquet."""

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Generic, Literal, TypeVar, get_args

import attrs
from rich.cells import cell_len, set_cell_size

from socialapi.cli import output
from socialapi.cli.output import Output, iso_moment, moment, printable
from socialapi.errors import InvalidInput
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
"""The formats of files by what their names end with."""


@attrs.frozen
class Column(Generic[T]):
    """A column of a table. `value` returns what is in the cell of an item; None is shown as a dash.

    A text is cut if the terminal is narrow. Ids and times are of use only as a whole. A time has
    its seconds on a terminal if `has_seconds` is true, and elsewhere always.
    """

    name: str
    value: Callable[[T], str | datetime.datetime | None]
    is_whole: bool = attrs.field(default=False, kw_only=True)
    has_seconds: bool = attrs.field(default=False, kw_only=True)

    def cell(self, item: T, *, is_shown: bool) -> str:
        """Returns the cell of an item, as a terminal shows it or as programs read it, without
        characters that move the cursor.
        """
        value = self.value(item)
        if isinstance(value, datetime.datetime):
            value = moment(value, seconds=self.has_seconds) if is_shown else iso_moment(value)
        return printable(value or "-")


@attrs.frozen(kw_only=True)
class ListKind(Generic[T]):
    """What the items of a list are called, and how they look.

    `columns` are those of a table. JSON has what `to_json` returns. The columns of CSV and Parquet
    are the fields of the class `record`, an object of which `to_record` makes of an item.
    """

    name: str
    columns: Sequence[Column[T]]
    record: type[Any]
    to_json: Callable[[T], Any] = json_shape
    to_record: Callable[[T], Any] = lambda item: item


class Destination:
    """Standard output, or the file that is given, which takes UTF-8.

    Raises OSError if there is no standard output.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file
        self.is_file: bool = file is not None
        self.is_terminal: bool = (output.standard_output() if file is None else file).isatty()

    def use_utf8(self) -> None:
        """Makes standard output take UTF-8 and line ends as they are, whatever the locale says."""
        if self._file is None and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="", errors="backslashreplace")

    def write(self, text: str) -> None:
        """Writes the text at once."""
        if self._file is not None:
            self._file.write(text.encode("utf-8", "backslashreplace"))
        else:
            sys.stdout.write(text)
            sys.stdout.flush()

    @property
    def binary(self) -> IO[bytes]:
        """The file for bytes."""
        return sys.stdout.buffer if self._file is None else self._file


class Writer(ABC, Generic[T]):
    """Writes the items of a list in one format.

    What was added appears with `flush`. `close` completes the output. `break_off` completes what an
    error has ended, as far as the format allows.
    """

    is_readable_in_part: bool = True
    """Whether what was written before an error can be used."""

    def __init__(self, kind: ListKind[T], destination: Destination) -> None:
        self.kind = kind
        self.destination = destination

    @abstractmethod
    def add(self, item: T) -> None:
        """Takes an item."""

    @abstractmethod
    def flush(self) -> None:
        """Writes the items that were added."""

    def close(self) -> None:
        """Writes what stands behind the last item."""
        self.flush()

    def break_off(self) -> None:
        """Writes what was added before an error, and what makes it readable."""
        self.flush()


class TextWriter(Writer[T]):
    """Gathers text and writes it in pieces."""

    def __init__(self, kind: ListKind[T], destination: Destination) -> None:
        super().__init__(kind, destination)
        self.text: list[str] = []
        self.has_begun: bool = False

    def begin(self) -> None:
        """Puts what stands before the first item into `text`."""

    def json(self, shape: Any) -> str:
        """Returns JSON-shaped data as a line that the destination may get."""
        return shown_json(json_line(shape), is_shown=self.destination.is_terminal)

    def flush(self) -> None:
        """Writes the text, and before the first one what begins the output."""
        if self.text:
            waiting, self.text = self.text, []
            if not self.has_begun:
                self.has_begun = True
                self.begin()
            self.destination.write("".join((*self.text, *waiting)))
            self.text = []


# Tables ------------------------------------------------------------------------------------------

_GAP: Final = "  "
_MIN_WIDTH: Final = 8
"""How much of a text is shown at least; rather than less, columns are left out."""


def cells_of(kind: ListKind[T], item: T, *, is_shown: bool = False) -> list[str]:
    """Returns the cells of an item, as a terminal shows them or as programs read them."""
    return [column.cell(item, is_shown=is_shown) for column in kind.columns]


def print_row(kind: ListKind[T], item: T) -> None:
    """Prints the cells of a single item: two blanks between them on a terminal, otherwise tabs."""
    is_shown = output.standard_output().isatty()
    output.print_line((_GAP if is_shown else "\t").join(cells_of(kind, item, is_shown=is_shown)))


class PlainTable(TextWriter[T]):
    """A header and a line for each item, with tabs between the cells and nothing cut.

    No cell is empty or has a tab, so that `cut` and `awk` find the same columns in every line.
    """

    def begin(self) -> None:
        """Puts the header first."""
        self.text.append("\t".join(column.name.upper() for column in self.kind.columns) + "\n")

    def add(self, item: T) -> None:
        """Takes an item."""
        self.text.append("\t".join(cells_of(self.kind, item)) + "\n")


class TerminalTable(Writer[T]):
    """Aligned columns that fit the terminal. Widths follow the first page, and grow with later ones."""

    def __init__(self, kind: ListKind[T], destination: Destination) -> None:
        super().__init__(kind, destination)
        self._console = Output()
        self._header = [column.name.upper() for column in kind.columns]
        self._natural = [cell_len(name) for name in self._header]
        self._rows: list[list[str]] = []
        self._shown = 0
        """How many columns there are, once the header is printed."""

    def add(self, item: T) -> None:
        """Takes an item."""
        self._rows.append(cells_of(self.kind, item, is_shown=True))

    def flush(self) -> None:
        """Prints the items, and before the first ones the header."""
        if not self._rows:
            return
        for at, cells in enumerate(zip(*self._rows, strict=True)):
            self._natural[at] = max(self._natural[at], *map(cell_len, cells))
        may_be_cut, available = [not column.is_whole for column in self.kind.columns], self._console.width
        if not self._shown:
            widths = fitting_widths(self._natural, may_be_cut, available)
            self._begin(widths)
        else:  # a later page has the columns of the header, even if its lines become longer than the terminal is wide
            widths = _narrowed(self._natural[: self._shown], may_be_cut, available - len(_GAP) * (self._shown - 1))
        self.destination.write("".join(aligned(row, widths) + "\n" for row in self._rows))
        self._rows = []

    def _begin(self, widths: Sequence[int]) -> None:
        self._shown = len(widths)
        header = aligned(self._header, widths)
        self._console.print(header, style="bold", markup=False, highlight=False, soft_wrap=True)
        if left_out := self._header[len(widths) :]:
            output.say(f"the terminal is too narrow for {output.listed(left_out)}; --output jsonl shows all")


def aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Returns the cells as a line with columns of these widths; cells beyond them are left out."""
    shown = [_cut(cell, width) for cell, width in zip(cells, widths, strict=False)]
    return _GAP.join((*map(set_cell_size, shown[:-1], widths), *shown[-1:]))


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def fitting_widths(natural: Sequence[int], may_be_cut: Sequence[bool], available: int) -> list[int]:
    """Returns the widths of as many columns, from the left, as fit the available width.

    The widest that may be cut give way first. The first column is there however narrow it gets.
    """
    for count in range(len(natural), 1, -1):
        room = available - len(_GAP) * (count - 1)
        widths = _narrowed(natural[:count], may_be_cut, room)
        if sum(widths) <= room:
            return widths
    return _narrowed(natural[:1], may_be_cut, available)


def _narrowed(natural: Sequence[int], may_be_cut: Sequence[bool], room: int) -> list[int]:
    widths = [
        min(width, max(room, _MIN_WIDTH)) if cut else width for width, cut in zip(natural, may_be_cut, strict=False)
    ]
    while sum(widths) > room:
        width, at = max(((width, at) for at, width in enumerate(widths) if may_be_cut[at]), default=(0, 0))
        if width <= _MIN_WIDTH:
            break
        widths[at] -= 1
    return widths


# JSON --------------------------------------------------------------------------------------------

_ODD_CONTROLS: Final = re.compile("[\x7f-\x9f]")
"""Matches what JSON need not escape, and what some terminals obey."""


_NOT_SHOWN: Final = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that a terminal may obey, as it does those that turn the direction of
text, or that nobody sees.
"""


def shown_json(text: str, *, is_shown: bool | None = None) -> str:
    """Returns JSON for standard output: the same, but that on a terminal characters that it may
    obey are escaped. `is_shown` says whether it is for a terminal; by default standard output is
    asked.
    """
    if text.isprintable() or not (output.standard_output().isatty() if is_shown is None else is_shown):
        return text
    return "".join(_escaped(letter) if unicodedata.category(letter) in _NOT_SHOWN else letter for letter in text)


def _escaped(letter: str) -> str:
    """Returns an escape of JSON. It keeps white space, which may stand between values."""
    return letter if letter in "\t\n\r" else json.dumps(letter)[1:-1]


def json_line(shape: Any) -> str:
    """Returns JSON-shaped data as a line, in which no control character moves the cursor of a
    terminal.
    """
    return _ODD_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text(shape))


class JsonLines(TextWriter[T]):
    """An object on a line."""

    def add(self, item: T) -> None:
        """Takes an item."""
        self.text.append(self.json(self.kind.to_json(item)) + "\n")


class JsonArray(TextWriter[T]):
    """One array, with an object on a line."""

    def begin(self) -> None:
        """Opens the array."""
        self.text.append("[\n")

    def add(self, item: T) -> None:
        """Takes an item."""
        comma = ",\n" if self.has_begun or self.text else ""
        self.text.append(comma + self.json(self.kind.to_json(item)))

    def close(self) -> None:
        """Closes the array, which may be empty."""
        self.flush()
        self.destination.write("\n]\n" if self.has_begun else "[]\n")

    def break_off(self) -> None:
        """Closes the array if there is one."""
        self.flush()
        if self.has_begun:
            self.destination.write("\n]\n")


# CSV ---------------------------------------------------------------------------------------------

_FORMULA: Final = re.compile(r"[=+\-@\t\r](?![0-9.]*\Z)")
"""Matches what a spreadsheet may run when it opens a CSV file. A number with a sign is harmless."""
EXTRA: Final = "extra"


class Csv(TextWriter[T]):
    """A header and a line for each item, as RFC 4180 has them.

    Columns are the fields of the class. Members of nested objects have names with dots; lists, and
    objects of unknown shape, are JSON. The column `extra` has, as JSON, the members that the class
    does not know. Cells that a spreadsheet would take for formulas are counted; with
    `escape_formulas` they begin with an apostrophe.
    """

    def __init__(self, kind: ListKind[T], destination: Destination, *, escape_formulas: bool = False) -> None:
        super().__init__(kind, destination)
        self._paths = list(csv_paths(kind.record))
        self._has_extra = EXTRA in attrs.fields_dict(kind.record)
        self._escape_formulas = escape_formulas
        self._formulas = 0

    def begin(self) -> None:
        """Puts the header first."""
        self.text.append(_csv_line([*map(".".join, self._paths), *([EXTRA] if self._has_extra else [])]))

    def add(self, item: T) -> None:
        """Takes an item."""
        shape = json_shape(self.kind.to_record(item))
        cells = [self._cell(_taken(shape, path)) for path in self._paths]
        if self._has_extra:
            cells.append(self._cell(_without_empty(shape) or None))
        self.text.append(_csv_line(cells))

    def _cell(self, value: Any) -> str:
        if value is None or isinstance(value, str):
            text = value or ""
            if _FORMULA.match(text):
                self._formulas += 1
                text = f"'{text}" if self._escape_formulas else text
            return printable(text) if self.destination.is_terminal else text
        return self.json(value)

    def close(self) -> None:
        """Writes the header if there were no items, and says whether there are formulas."""
        self.flush()
        if not self.has_begun:
            self.begin()
            self.destination.write("".join(self.text))
        if self._formulas and not self._escape_formulas:
            one = self._formulas == 1
            output.say(
                f"{self._formulas:,} cell{'' if one else 's'} begin{'s' if one else ''} with =, +, -, @, a tab or a carriage return, "
                "which a spreadsheet may run as a formula; --escape-formulas puts an apostrophe first"
            )


def csv_paths(record: type[Any], within: tuple[type[Any], ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the columns of a class in CSV: the names on the way to each value that is no object."""
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
    except TypeError:  # a field of several kinds
        return object


def _taken(shape: dict[str, Any], path: Sequence[str]) -> Any:
    """Takes the value at the path out of JSON-shaped data."""
    *parents, name = path
    for parent in parents:
        shape = shape.get(parent) or {}
    return shape.pop(name, None)


def _without_empty(shape: dict[str, Any]) -> dict[str, Any]:
    """Returns the data without what is left of objects whose members were taken."""
    found = {name: _without_empty(each) if isinstance(each, dict) else each for name, each in shape.items()}
    return {name: each for name, each in found.items() if each not in (None, {})}


def _csv_line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


# Parquet -----------------------------------------------------------------------------------------

_ROWS_OF_A_GROUP: Final = 20_000


class Parquet(Writer[T]):
    """A Parquet file. Its schema follows from the class, whatever the items have.

    It is of no use before it is complete, so that standard output gets nothing until then.
    """

    is_readable_in_part = False

    def __init__(self, kind: ListKind[T], destination: Destination) -> None:
        super().__init__(kind, destination)
        if destination.is_terminal:
            raise InvalidInput("Parquet is not for a terminal: name a file with --output-file")
        from socialapi.integrations.arrow import arrow_table, parquet_writer

        self._table_of = arrow_table
        self._spool: IO[bytes] | None = None
        if not destination.is_file:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115  # `close` and `break_off` close it
        self._parquet: Any = parquet_writer(self._spool or destination.binary, kind.record)
        self._records: list[Any] = []

    def add(self, item: T) -> None:
        """Takes an item."""
        self._records.append(self.kind.to_record(item))
        if len(self._records) == _ROWS_OF_A_GROUP:
            self._write_group()

    def flush(self) -> None:
        """Does nothing: pages are gathered, because small groups of rows are slow to read."""

    def _write_group(self) -> None:
        self._parquet.write_table(self._table_of(self._records, self.kind.record))
        self._records = []

    def close(self) -> None:
        """Writes the last items and what makes it a file."""
        if self._records:
            self._write_group()
        self._parquet.close()
        if self._spool is not None:
            with self._spool:
                self._spool.seek(0)
                shutil.copyfileobj(self._spool, self.destination.binary)
                self.destination.binary.flush()

    def break_off(self) -> None:
        """Ends what would otherwise write to its file later. Nothing of it is kept."""
        self._parquet.close()
        if self._spool is not None:
            self._spool.close()


# All of them -------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(
    kind: ListKind[T], format_: Format, path: Path | None, *, escape_formulas: bool = False
) -> Iterator[Writer[T]]:
    """Yields a writer of the format, to standard output or a file.

    An earlier file at the path stays if the block fails. Raises InvalidInput for what is not for a
    terminal, and OSError if nothing can be written there.
    """
    with contextlib.nullcontext() if path is None else output.replacing(path) as file:
        writer = _writer(kind, format_, Destination(file), escape_formulas=escape_formulas)
        try:
            yield writer
        except BaseException:
            with contextlib.suppress(OSError):  # it may be what ended the block
                writer.break_off()
            raise
        writer.close()


def _writer(kind: ListKind[T], format_: Format, destination: Destination, *, escape_formulas: bool) -> Writer[T]:
    if format_ == "table":
        is_shown = destination.is_terminal and not destination.is_file
        return TerminalTable(kind, destination) if is_shown else PlainTable(kind, destination)
    if format_ == "parquet":
        return Parquet(kind, destination)
    destination.use_utf8()
    if format_ == "csv":
        return Csv(kind, destination, escape_formulas=escape_formulas)
    return JsonArray(kind, destination) if format_ == "json" else JsonLines(kind, destination)
