"""Reads JSON Lines: one object per line, whose keys are column names."""

import json
from collections.abc import Generator, Iterator
from io import BufferedReader
from typing import Any, Final

import orjson

from socialapi.bulk.inputs.columns import Wanted
from socialapi.bulk.inputs.iterables import RecordRows
from socialapi.bulk.inputs.reader import NoRows, in_chunks
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput

MAX_LINE_BYTES: Final = 1_048_576

IS_BLANK: Final = ("", "is blank")
NOT_AN_OBJECT: Final = ("", "is not a JSON object")
TOO_LONG: Final = ("", "is longer than 1 MiB")


def read_json_lines(file: BufferedReader, wanted: Wanted) -> Generator[list[RawRow], None, None]:
    """The rows of a file, in chunks. Every line is a row: a blank one, or one that is no object, has a problem.

    Raises NoRows when there is nothing but blank lines, InvalidInput when the first chunk with anything in it holds no
    object, or none with a column that has to be there.
    """
    records = RecordRows(wanted)
    judged = False
    for chunk in in_chunks(_rows(file, records)):
        if not judged and any(row.problem != IS_BLANK for row in chunk):
            judged = True
            if all(row.problem is not None for row in chunk):
                raise InvalidInput("none of the first lines is a JSON object: JSON Lines has one object on each line")
            records.check()
        yield chunk


def _rows(file: BufferedReader, records: RecordRows) -> Iterator[RawRow]:
    for number, line in lines_of(file, MAX_LINE_BYTES):
        if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            skip_line(file)
            yield RawRow(number, [], problem=TOO_LONG)
        elif line.isspace():
            yield RawRow(number, [], problem=IS_BLANK)
        elif isinstance(item := _decoded(line), dict):
            yield records.from_object(item, number)
        else:
            yield RawRow(number, [], problem=NOT_AN_OBJECT)


def lines_of(file: BufferedReader, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines with their numbers, of each no more than a byte beyond the most. Raises NoRows if all of them are blank.

    Those before the first one that is not are handed out with it: alone they are nothing.
    """
    lines = iter(lambda: file.readline(most_bytes + 1), b"")
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007  # it is looked at below
        if not line.isspace():
            break
    else:
        raise NoRows("the file is empty")
    yield from ((blank, b"\n") for blank in range(1, number))
    yield number, line
    yield from enumerate(lines, number + 1)


def skip_line(file: BufferedReader) -> None:
    """Reads on to the end of a line that is too long, a piece at a time."""
    while (line := file.readline(MAX_LINE_BYTES)) and not line.endswith(b"\n"):
        pass


def _decoded(line: bytes) -> Any:
    """The value on a line; None when it is not JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    try:
        # Slower, and lets a value that is not UTF-8, or a number of any length, through: its neighbours may be fine.
        return json.loads(line.decode("utf-8", "surrogateescape"), parse_int=str)
    except (ValueError, RecursionError):
        return None
