"""Reads products from JSON Lines, and from JSON arrays of any size in bounded memory."""

import codecs
import json
from collections.abc import Generator, Iterator
from io import BufferedReader
from typing import Any, Final

import orjson

from socialapi.bulk.inputs.json import lines_of, skip_line
from socialapi.bulk.inputs.reader import NoRows, in_chunks
from socialapi.bulk.products.feed import Feed
from socialapi.bulk.products.rows import ProductRow
from socialapi.errors import InvalidInput

MAX_OBJECT_BYTES: Final = 1_048_576
READ_BYTES: Final = 131_072
_TAIL: Final = 16
"""A fault so close to the end of the window may only be that the window ends there: in a literal, or an escape."""


class JsonWindow:
    """The part of a JSON text that is in memory."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._line = 1
        self._line_start = 0

    def items(self) -> Iterator[tuple[Any, int]]:
        """The items of the array with the line on which each begins."""
        self._skip("[")
        if self._peek() != "]":
            yield self._item()
            while self._peek() == ",":
                self._skip(",")
                yield self._item()
        self._skip("]")
        if self._peek():
            raise self._fault("nothing is expected after the end of the array")

    def _peek(self) -> str:
        """The next character that is no blank; empty at the end of the file."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._go_to(self._at + 1)
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _skip(self, sign: str) -> None:
        """Goes past a sign that has to come."""
        if self._peek() != sign:
            raise self._fault(f"{sign} is expected here")
        self._at += 1

    def _item(self) -> tuple[Any, int]:
        """The next value, whole, and its line."""
        self._peek()
        line = self._line
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as problem:
                self._read_on(problem)
            except (ValueError, RecursionError):
                raise self._fault("a number that is too long, or what is nested too deeply") from None
            else:
                # A number at the very end of the window may go on.
                if end < len(self._text) or not self._more():
                    self._go_to(min(end, len(self._text)))
                    return value, line

    def _read_on(self, problem: json.JSONDecodeError) -> None:
        """Enlarges the window after a fault that may be due to its end."""
        at_end = problem.pos >= len(self._text) - _TAIL or problem.msg.startswith("Unterminated string")
        says = "is not JSON"
        if at_end:
            if len(self._text) - self._at <= MAX_OBJECT_BYTES:
                gone = self._at
                if self._more():
                    return
                problem.pos -= gone  # what was before the item is not in the window any more
            else:
                says = f"a product is longer than {MAX_OBJECT_BYTES:,} characters"
        self._go_to(min(problem.pos, len(self._text)))
        raise self._fault(says) from None

    def _go_to(self, place: int) -> None:
        newlines = self._text.count("\n", self._at, place)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rindex("\n", self._at, place) + 1
        self._at = place

    def _more(self) -> bool:
        """Reads on, and forgets what lies before the present place."""
        chunk = self._file.read(READ_BYTES)
        rest = self._decoder.decode(chunk, final=not chunk)
        self._line_start -= self._at
        self._text = self._text[self._at :] + rest
        self._at = 0
        return bool(chunk)

    def _fault(self, says: str) -> InvalidInput:
        return InvalidInput(f"line {self._line}, column {self._at - self._line_start + 1}: {says}")


NOT_AN_OBJECT: Final = "is not a JSON object"


def read_json_lines(file: BufferedReader, feed: Feed) -> Generator[list[ProductRow], None, None]:
    """The products of a file, one on each line, in chunks; a line that is no object is a row that cannot be used.

    Raises NoRows when there is nothing but blank lines.
    """
    yield from in_chunks(_lines(file, feed))


def _lines(file: BufferedReader, feed: Feed) -> Iterator[ProductRow]:
    for number, line in lines_of(file, MAX_OBJECT_BYTES):
        place = f"line {number}"
        if len(line) > MAX_OBJECT_BYTES and not line.endswith(b"\n"):
            skip_line(file)
            yield _unusable(
                number, f"{place}, column {MAX_OBJECT_BYTES + 1}: is longer than {MAX_OBJECT_BYTES:,} bytes"
            )
        elif line.isspace():
            yield ProductRow(number, {}, ("", f"{place}: is blank"), is_blank=True)
        else:
            item, fault = _decoded(line)
            if fault is not None:
                yield _unusable(number, f"{place}, {fault}")
            else:
                yield _row(item, feed, number, f"{place}: ")


def _decoded(line: bytes) -> tuple[Any, str | None]:
    """The value on a line, or where and why there is none."""
    try:
        return orjson.loads(line), None
    except orjson.JSONDecodeError:
        pass
    try:
        # Slower, and lets a value that is not UTF-8 through, so that it can be said which one it is.
        return json.loads(line.decode("utf-8", "surrogateescape")), None
    except json.JSONDecodeError as problem:
        return None, f"column {problem.colno}: is not JSON"
    except (ValueError, RecursionError):
        return None, "column 1: holds a number that is too long, or is nested too deeply"


def read_json_array(file: BufferedReader, feed: Feed) -> Generator[list[ProductRow], None, None]:
    """The products of one array, in chunks, without the file ever being in memory as a whole.

    Raises NoRows for an empty one, InvalidInput, which names line and column, where it cannot be read any further.
    """
    found = False
    for chunk in in_chunks(_items(file, feed)):
        found = True
        yield chunk
    if not found:
        raise NoRows("the array is empty")


def _items(file: BufferedReader, feed: Feed) -> Iterator[ProductRow]:
    for number, (item, line) in enumerate(JsonWindow(file).items(), 1):
        yield _row(item, feed, number, f"line {line}: ")


def _row(item: Any, feed: Feed, number: int, place: str) -> ProductRow:
    if not isinstance(item, dict):
        return _unusable(number, f"{place}{NOT_AN_OBJECT}")
    return feed.from_object(item, number, place)


def _unusable(number: int, reason: str) -> ProductRow:
    return ProductRow(number, {}, ("", reason))
