"""Reads products from CSV, TSV and Parquet tables."""

import csv
import re
from array import array
from collections.abc import Generator, Iterator
from io import BufferedReader, TextIOWrapper
from itertools import chain
from typing import Any, Final, Self

import attrs

from socialapi.bulk.inputs.arrow import parquet_chunks, pyarrow_for
from socialapi.bulk.inputs.csv import DELIMITERS
from socialapi.bulk.inputs.numbers import ShortFloat
from socialapi.bulk.inputs.reader import Chunk, NoRows, in_chunks
from socialapi.bulk.products.feed import Feed, field_of
from socialapi.bulk.products.rows import FIELDS, ProductRow
from socialapi.bulk.rows import ROWS_PER_CHUNK
from socialapi.errors import InvalidInput

MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_CELL_CHARACTERS: Final = 131_072
"""What Python's parser takes by default; the longest field of a product has 5,000."""

_QUOTING: Final = "text follows a quotation mark that closes the cell: write a quotation mark within a cell twice"
_NEVER_CLOSED: Final = "a quotation mark is not closed before the end of the file"
_LONG_CELL: Final = f"a cell has more than {MAX_CELL_CHARACTERS:,} characters"
_SEPARATOR: Final = re.compile(r'"?sep=([^\w\s"]|\t)"?[\r\n]*', re.IGNORECASE).fullmatch
"""The line that Excel puts before a table, with its delimiter."""


class _Lines:
    """The lines of a text, with the number of the last one read, and those of the current
    record.
    """

    def __init__(self, text: TextIOWrapper) -> None:
        self._text = text
        self.number = 0
        self.record: list[str] = []
        self.quotes = 0
        """Quotation marks of the record: when they are odd, one is not closed yet."""

    def begin(self) -> None:
        """The next line begins a record."""
        self.record.clear()
        self.quotes = 0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = self._text.readline(MAX_LINE_CHARACTERS)
        if not line:
            raise StopIteration
        self.number += 1
        self.record.append(line)
        self.quotes += line.count('"')
        if len(line) == MAX_LINE_CHARACTERS and line[-1] not in "\r\n":
            self._skip_line()
            raise csv.Error("line too long")
        return line

    def _skip_line(self) -> None:
        while rest := self._text.readline(MAX_LINE_CHARACTERS):
            self.quotes += rest.count('"')
            if rest[-1] in "\r\n":
                return


def read_table(file: BufferedReader, feed: Feed) -> Generator[list[ProductRow], None, None]:
    """The products below the line of names, in chunks; a blank line is one that cannot be used, as is a line with a
    cell that is far too long. Blank lines alone are none.

    Raises NoRows when there are none, InvalidInput, which names line and column, for names that are missing and, after the rows before it, where
    quotation marks do not fit: nobody knows then where the next product begins.
    """
    text = TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield from _read(_Lines(text), feed)
    finally:
        text.detach()  # whoever opened the file closes it


def _read(lines: _Lines, feed: Feed) -> Iterator[list[ProductRow]]:
    delimiter = None
    try:
        first = _not_blank(lines)
        if (separator := _SEPARATOR(first)) is not None:
            delimiter = separator[1]
            first = _not_blank(lines)
    except csv.Error:
        raise InvalidInput(_fault(lines, delimiter or ",", lines.number, _LONG_CELL)) from None
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    begins = lines.number
    parser = csv.reader(chain((first,), lines), delimiter=delimiter, strict=True)
    try:
        names = next(parser)
    except csv.Error as problem:
        raise InvalidInput(_fault(lines, delimiter, begins, _meaning(problem))) from None
    feed.take_header(names, begins)
    is_empty = True
    rows = _rows(parser, lines, feed, delimiter)
    for chunk in in_chunks(_unless_alone(rows, feed)):
        is_empty = False
        yield chunk
    if is_empty:
        raise NoRows("the file has no products, only column names")


def _not_blank(lines: _Lines) -> str:
    lines.begin()
    for line in lines:
        if not line.isspace():
            return line
        lines.begin()
    raise NoRows("the file is empty")


def _rows(parser: Iterator[list[str]], lines: _Lines, feed: Feed, delimiter: str) -> Iterator[tuple[ProductRow, int]]:
    """Every row with the number of the line that it begins in."""
    number = 0
    while True:
        lines.begin()
        begins = lines.number + 1
        try:
            cells = next(parser, None)
        except csv.Error as problem:
            meaning = _meaning(problem)
            says = _fault(lines, delimiter, begins, meaning)
            if meaning != _LONG_CELL:
                raise InvalidInput(says) from None
            if lines.quotes % 2 or len(lines.record) > 1:
                raise InvalidInput(f"{says}; probably a quotation mark is not closed") from None
            number += 1
            yield ProductRow(number, {}, ("", says), ()), begins
            continue
        if cells is None:
            return
        number += 1
        yield feed.from_cells(cells, number, begins), begins


def _unless_alone(rows: Iterator[tuple[ProductRow, int]], feed: Feed) -> Iterator[ProductRow]:
    """The rows; blank ones at the beginning, which are remembered by their lines alone, only if there are others."""
    lines = array("Q")
    for row, line in rows:
        if row.is_blank:
            lines.append(line)
            continue
        yield from (feed.from_cells([], number, blank) for number, blank in enumerate(lines, 1))
        yield row
        break
    yield from (row for row, _ in rows)


def _meaning(problem: csv.Error) -> str:
    """What is wrong with a record, by what the parser says of it."""
    says = str(problem)
    if "expected after" in says:
        return _QUOTING
    return _NEVER_CLOSED if says == "unexpected end of data" else _LONG_CELL


def _fault(lines: _Lines, delimiter: str, begins: int, meaning: str) -> str:
    """Which cell the parser gave up at, told by walking through the record once more."""
    column, length, at = 1, 0, "begin"
    for letter in "".join(lines.record):
        length += 1
        if length > MAX_CELL_CHARACTERS:
            break
        if at == "quoted":
            at = "closed" if letter == '"' else at
        elif letter == '"' and at in ("begin", "closed"):
            at = "quoted"
        elif letter == delimiter:
            column, length, at = column + 1, 0, "begin"
        elif at == "closed":
            break
        else:
            at = "plain"
    return f"line {begins}, column {column}: {meaning}"


@attrs.frozen(eq=False)
class ProductBatches:
    """Turns record batches into chunks of products. Each row is validated as an object."""

    feed: Feed

    def chunks(self, batch: Any, first_number: int) -> Iterator[list[ProductRow]]:
        """The products of a batch, numbered from `first_number`."""
        wanted = batch.select(_of_interest(batch.schema))
        short = _short_floats(wanted.schema)
        for start in range(0, batch.num_rows, ROWS_PER_CHUNK):
            try:
                items = wanted.slice(start, ROWS_PER_CHUNK).to_pylist()
            except (ValueError, OverflowError):  # text that is not UTF-8, or times that Python does not know
                raise InvalidInput(
                    f"a value among rows {first_number + start} to {first_number + start + ROWS_PER_CHUNK - 1} cannot "
                    "be read: export the columns as text in UTF-8"
                ) from None
            for item in items if short else ():
                for name, size in short.items():
                    if item[name] is not None:
                        item[name] = ShortFloat(item[name], size)
            yield [self.feed.from_object(item, number, "") for number, item in enumerate(items, first_number + start)]


def _short_floats(schema: Any) -> dict[str, int]:
    """The columns of floating-point numbers that hold fewer digits than Python's, with their bytes."""
    types = pyarrow_for("a table").types
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in schema.types]
    found = {
        name: kind.bit_width // 8 for name, kind in zip(schema.names, kinds, strict=True) if types.is_floating(kind)
    }
    return {name: size for name, size in found.items() if size < 8}


def read_parquet(file: BufferedReader, feed: Feed) -> Generator[Chunk[ProductRow], None, None]:
    """The products of a Parquet file, in chunks; columns that no product has are not read."""
    yield from parquet_chunks(file, _of_interest, lambda _: ProductBatches(feed))


def _of_interest(schema: Any) -> list[str]:
    return [name for name in schema.names if field_of(name) in FIELDS]
