"""Reading a feed of JSON objects: one on each line, or all of them in one array."""

import json
from collections.abc import Generator, Iterator
from io import BufferedReader
from typing import Any, Final

import orjson

from socialapi.bulk.products.feed import Feed
from socialapi.bulk.products.json_window import MAX_OBJECT_BYTES, JsonWindow
from socialapi.bulk.products.rows import ProductRow
from socialapi.bulk.reading.json_lines_reader import lines_of, skip_line
from socialapi.bulk.reading.reader_base import NoRows, in_chunks

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
