"""Reading a feed that is a table: CSV or TSV with the names of the fields in its first line."""

import csv
from collections.abc import Generator, Iterator
from io import BufferedReader, TextIOWrapper
from itertools import chain
from typing import Final, Self

from socialapi.bulk.csv_reader import DELIMITERS
from socialapi.bulk.products.feed import Feed
from socialapi.bulk.products.rows import ProductRow
from socialapi.bulk.reader_base import in_chunks
from socialapi.errors import InvalidInput

MAX_LINE_CHARACTERS: Final = 1_048_576
MAX_CELL_CHARACTERS: Final = 131_072
"""What Python's parser takes by default; the longest field of a product has 5,000."""

# As the last line: it comes back at the end of a cell when a quotation mark was never closed. No file can hold it.
_END: Final = "\ud800end"


class _Lines:
    """The lines of a text, with the number of the one that was read last, and what the present record has of them."""

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
    cell that is far too long.

    Raises InvalidInput, which names line and column, for names that are missing and, after the rows before it, where a
    quotation mark is never closed.
    """
    text = TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        yield from _read(_Lines(text), feed)
    finally:
        text.detach()  # whoever opened the file closes it


def _read(lines: _Lines, feed: Feed) -> Iterator[list[ProductRow]]:
    delimiter = ","
    try:
        first = next((line for line in lines if not line.isspace()), None)
        if first is None:
            raise InvalidInput("the file is empty")
        delimiter = max(DELIMITERS, key=first.count)
        begins = lines.number
        parser = csv.reader(chain((first,), lines, (_END,)), delimiter=delimiter)
        names = next(parser)
    except csv.Error:
        raise InvalidInput(_too_long(lines, delimiter, lines.number)) from None
    if names[-1].endswith(_END):
        raise _never_closed(begins, names)
    feed.take_header(names, begins)
    is_empty = True
    for chunk in in_chunks(_rows(parser, lines, feed, delimiter)):
        is_empty = False
        yield chunk
    if is_empty:
        raise InvalidInput("the file has no products, only column names")


def _rows(parser: Iterator[list[str]], lines: _Lines, feed: Feed, delimiter: str) -> Iterator[ProductRow]:
    number = 0
    while True:
        lines.begin()
        begins = lines.number + 1
        try:
            cells = next(parser, None)
        except csv.Error:
            says = _too_long(lines, delimiter, begins)
            if lines.quotes % 2 or len(lines.record) > 1:
                raise InvalidInput(f"{says}; probably a quotation mark is not closed") from None
            number += 1
            yield ProductRow(number, {}, ("", says), ())
            continue
        if cells is None or cells == [_END]:
            return
        if cells and cells[-1].endswith(_END):
            raise _never_closed(begins, cells)
        number += 1
        yield feed.from_cells(cells, number, begins)


def _never_closed(line: int, cells: list[str]) -> InvalidInput:
    says = "a quotation mark is not closed before the end of the file"
    return InvalidInput(f"line {line}, column {len(cells)}: {says}")


def _too_long(lines: _Lines, delimiter: str, begins: int) -> str:
    """Which cell is too long, told by walking through the record once more."""
    column, length, quoted = 1, 0, False
    for letter in "".join(lines.record):
        if letter == '"':
            quoted = not quoted
        elif letter == delimiter and not quoted:
            column, length = column + 1, 0
            continue
        length += 1
        if length > MAX_CELL_CHARACTERS:
            break
    return f"line {begins}, column {column}: a cell has more than {MAX_CELL_CHARACTERS:,} characters"
