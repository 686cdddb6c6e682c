"""Reads JSON Lines, and JSON arrays of any size in bounded memory."""

import codecs
import contextlib
import functools
import json
import operator
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from typing import Any, Final, TypeVar

import orjson

from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT, noted_as, quoted
from socialapi.bulk.inputs.layouts import Layout
from socialapi.bulk.inputs.objects import MAX_NAMES_PER_OBJECT, Item, blocks_of_items, with_paths
from socialapi.bulk.inputs.reader import (
    BYTES_PER_BLOCK,
    CUT,
    IS_BLANK,
    MAX_BLANK_ROWS,
    Block,
    NoRows,
    RowProblem,
    Selection,
    note_skipped_blanks,
)
from socialapi.errors import InvalidInput
from socialapi.reports import RowIssue

L = TypeVar("L", bound=Layout)

MAX_OBJECT_BYTES: Final = 1_048_576
MAX_WRAPPERS: Final = 8
"""The maximum number of objects that enclose the array of rows, not counting the outermost object."""
READ_BYTES: Final = 131_072
_MAX_DIGITS: Final = 4_300
"""The maximum number of digits that Python converts to an integer. A longer number becomes a string."""
_TAIL: Final = 16
"""The number of characters at the end of the window in which an error may be due to a literal or escape that is cut
off.
"""

TOO_LONG: Final = RowProblem(f"is longer than {MAX_OBJECT_BYTES:,} bytes", MAX_OBJECT_BYTES + 1)
NOT_READABLE: Final = "is nested too deeply"
_COMMA: Final = ": the line ends in a comma, which JSON Lines forbids: remove it, or write one array of all objects"
_NOT_IN_ROWS: Final = "{} is outside of the array {}, and is not read"
_LONG_ITEM: Final = f"an item is longer than {MAX_OBJECT_BYTES:,} characters"


def read_json_lines(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the objects of a file with one object on each line. A line that is blank or not an object becomes an
    unreadable row.

    Raises NoRows if all lines are blank, and InvalidInput if none of the first lines is an object or none of the
    first objects has a required key.
    """
    yield from blocks_of_items(
        _line_items(file, selection), selection, "lines is a JSON object: JSON Lines has one object per line"
    )


def read_json_array(
    file: BufferedReader, selection: Selection[L], path: Sequence[str] = ()
) -> Generator[Block[L], None, None]:
    """Yields the items of an array, or of the array at a path within objects, in bounded memory.

    Raises NoRows for an empty array. Raises InvalidInput, with line and column, if the file cannot be read to its
    end, or if another array has rows and no layout chooses one.
    """
    is_row, is_given, noted = _row_test(selection), selection.form.layout is not None, selection.noted

    def refuse_rows(item: Any, place: Sequence[str]) -> None:
        if not isinstance(item, dict | list) and place[:-1] == path[: len(place) - 1] and is_row({place[-1]: item}):
            remark = RowIssue(0, "", _NOT_IN_ROWS.format(quoted(".".join(place)), quoted(".".join(path))))
            selection.remarks.extend([] if remark in selection.remarks else [remark])
        if isinstance(item, dict) and len(noted) < MAX_NAMES_KEPT:
            noted.setdefault(noted_as(".".join(place)), "")
        if not is_given and (other := _path_of_row(item, place, is_row)) is not None:
            raise _unclear(path, other)

    items = JsonWindow(file).items(path, refuse_rows)
    yield from blocks_of_items(items, selection, "items of the array is a JSON object")


RowTest = Callable[[Mapping[str, Any]], bool]
"""Finds out whether an object outside of the rows may be a row."""


def _row_test(selection: Selection[Any]) -> RowTest:
    """Returns the function that finds out whether an object outside of the rows may be a row."""
    may_be_rows = functools.lru_cache(16)(selection.may_be_rows)  # many objects have the same names
    return lambda item: len(item) <= MAX_NAMES_PER_OBJECT and may_be_rows(tuple(with_paths([item], selection)[0]))


def _path_of_row(item: Any, path: Sequence[str], is_row: RowTest) -> Sequence[str] | None:
    """Returns the path of an array with a row: `path` itself if the item is a row, or the path of an array inside the
    item. Returns None if there is no row.
    """
    waiting: list[tuple[Any, Sequence[str]]] = [([item], path)]
    while waiting:
        value, place = waiting.pop()
        if isinstance(value, list) and any(is_row(each) for each in value if isinstance(each, dict)):
            return place
        if isinstance(value, dict):
            waiting += [(inner, (*place, name)) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(inner, place) for inner in value]
    return None


def _unclear(path: Sequence[str], other: Sequence[str]) -> InvalidInput:
    """Returns the error that two places in a document may contain the rows. An empty path stands for the object around
    an array.
    """
    first, second = quoted(".".join(path)), quoted(".".join(other)) if other else "the object around it"
    advice = f"choose an array with a layout, as in rows = [{', '.join(map(quoted, path))}]"
    advice += "" if other else ", or name the file .jsonl to read the object"
    return InvalidInput(f"both {first} and {second} may be rows: keep only one of them, or {advice}")


def _line_items(file: BufferedReader, selection: Selection[Any]) -> Iterator[Item | tuple[()]]:
    """Yields the value on each line. Blank lines are yielded only if the file has a value, and at most `MAX_BLANK_ROWS`
    consecutive ones. Adds a remark if more were skipped.
    """
    held, number, skipped, room, has_value = list[int](), 0, 0, BYTES_PER_BLOCK, False
    while line := file.readline(MAX_OBJECT_BYTES + 1):
        number += 1
        if line.isspace() and len(line) <= MAX_OBJECT_BYTES:
            if len(held) < MAX_BLANK_ROWS:
                held.append(number)
                continue
            more = _skip_blank_lines(file)
            skipped += 1 + more
            number += more
            continue
        yield from ((IS_BLANK, blank) for blank in held)
        held.clear()
        has_value = True
        yield _line_item(file, line), number
        room -= len(line)
        if room < 0:
            room = BYTES_PER_BLOCK
            yield CUT
    if not has_value:
        raise NoRows("the file is empty")
    yield from ((IS_BLANK, blank) for blank in held)
    note_skipped_blanks(skipped, selection)


def _skip_blank_lines(file: BufferedReader) -> int:
    """Skips the next lines if they are blank, and returns their number."""
    skipped = 0
    while (found := _blank_lines(file.peek())) is not None:
        skipped += file.read(found.end()).count(b"\n")
    return skipped


def _line_item(file: BufferedReader, line: bytes) -> Any:
    if len(line) > MAX_OBJECT_BYTES and not line.endswith(b"\n"):
        while (line := file.readline(MAX_OBJECT_BYTES)) and not line.endswith(b"\n"):
            pass
        return TOO_LONG
    try:
        found = orjson.loads(line)
        # If there are more colons than names, a string contains a colon, or a name occurs twice.
        if found.__class__ is not dict or line.count(b'":') + line.count(b'" :') <= _count_names(found):
            return found
    except orjson.JSONDecodeError:
        pass
    try:
        # This slower parser also accepts text that is not UTF-8 and numbers of any length, because the object's other
        # values may be usable.
        return _UNIQUE.decode(line.decode("utf-8", "surrogateescape"))
    except _RepeatedName as problem:
        return RowProblem(str(problem))
    except json.JSONDecodeError as problem:
        is_comma = problem.msg == "Extra data" and line[problem.pos :].strip() == b","
        return RowProblem(f"is not JSON{_COMMA if is_comma else ''}", problem.colno)
    except RecursionError:
        return RowProblem(NOT_READABLE, 1)


def _whole_number(text: str) -> int | str:
    return int(text) if len(text) < _MAX_DIGITS else text


class _RepeatedName(Exception):
    """Raised if an object has a name twice, with different values."""


def _with_unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) and (name := next((name for name, value in pairs if found[name] != value), None)):
        raise _RepeatedName(f"has the name {quoted(name)} twice, with different values")
    return found


def _count_names(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        some = waiting.pop()
        if some.__class__ is dict:
            count += len(some)
            some = some.values()
        waiting += [each for each in some if each.__class__ is dict or each.__class__ is list]
    return count


_DECODER: Final = json.JSONDecoder(parse_int=_whole_number)
_UNIQUE: Final = json.JSONDecoder(parse_int=_whole_number, object_pairs_hook=_with_unique_names)


_find_names: Final = re.compile(r'"((?:[^"\\]|\\.)*)"\s*:').findall
_blanks: Final = re.compile(r"[ \t\r\n]*").match
_blank_lines: Final = re.compile(rb"\s*\n").match
_LOOKED_AT: Final = 16_384
"""The number of characters that are searched for names if the head of a file contains only part of an object."""


def path_of_rows(head: bytes, selection: Selection[Any], given: Sequence[str] | None) -> Sequence[str] | None:
    """Returns the path of names that leads to the array of rows, such as `data`, `products` for `{"data": {"products":
    […]}}`. Returns None if the file is not a single object with such an array.

    If the first line is a complete object and other lines follow, the file is JSON Lines. Otherwise the objects in an
    array are the rows if they have more known names than the enclosing object, or if `given` is the path of the array.
    Raises InvalidInput if several arrays, or both an array and the enclosing object, may be the rows.
    """
    line, _, rest = head.partition(b"\n")
    single: Any = _object(line)
    if single is not None and rest and not rest.isspace():
        return None
    found, is_whole = list[tuple[Sequence[str], Sequence[str], Mapping[str, Any]]](), False
    text = head.decode("utf-8", "surrogateescape")
    with contextlib.suppress(ValueError, IndexError, RecursionError):  # not an object, or longer than the head
        _find_arrays(text, _end_of_blanks(text, 0), (), [], found)
        is_whole = True
    if given in [path for path, _, _ in found] or (given and found and not is_whole):
        return given
    if not found:
        return None

    roots = {path.partition(".")[0] for path in selection.paths}

    def known(names: Iterable[str]) -> int:
        return sum(name in roots or selection.role_of(name) != "" for name in names)

    is_row = _row_test(selection)
    rows = [array for array in found if is_row(array[2])]
    if len(rows) > 1 and given is None:
        raise _unclear(rows[0][0], rows[1][0])
    path, around, inner = rows[0] if rows else max(found, key=lambda array: (known(array[2]), bool(array[2])))
    if known(inner) > known(around) or not known(around):
        return path
    if not rows or (single and _is_part(functools.reduce(operator.getitem, path, single), around, selection, is_row)):
        return None
    if is_row(dict.fromkeys(around)) and given is None:
        raise _unclear(path, ())
    return path


def _is_part(array: Sequence[Any], around: Sequence[str], selection: Selection[Any], is_row: RowTest) -> bool:
    """Returns whether an array belongs to the row that contains it: a product's variants, which have no titles, or a
    single object with more identifiers of the same person.
    """
    inner, outer = ({*map(selection.role_of, names)} - {""} for names in (array[0], around))
    if selection.reads == "products":
        return "title" in outer - inner
    return len(array) == 1 and is_row(dict.fromkeys(around)) and inner.isdisjoint(outer)


def _find_arrays(
    text: str,
    at: int,
    path: Sequence[str],
    around: list[str],
    found: list[tuple[Sequence[str], Sequence[str], Mapping[str, Any]]],
) -> int:
    """Finds the arrays of objects in the object at this position. Adds to `found` the path of each array, the other
    names in the objects around it, and its first object.

    Returns the position after the object. Raises ValueError or IndexError at the end of the text.
    """
    while text[at] in "{,":
        name, at = _DECODER.raw_decode(text, _end_of_blanks(text, at + 1))
        at = _end_of_blanks(text, _end_of_blanks(text, at) + 1)  # after the colon
        inner = text[_end_of_blanks(text, at + 1)]
        if text[at] == "{" and inner == '"' and len(path) < MAX_WRAPPERS:
            at = _find_arrays(text, at, (*path, name), [*around], found)
        else:
            if text[at] == "[" and inner in "{]":
                first = _object_at(text, _end_of_blanks(text, at + 1)) if inner == "{" else {}
                found.append(((*path, name), around, first))
            else:
                around.append(str(name))
            _, at = _DECODER.raw_decode(text, at)
        at = _end_of_blanks(text, at)
    return at + 1


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        found = _DECODER.decode(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _object_at(text: str, start: int) -> Mapping[str, Any]:
    """Returns the object at this position. If it does not end in the text, returns its first names without values."""
    try:
        found: Mapping[str, Any] = _DECODER.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return dict.fromkeys(_find_names(text[start : start + _LOOKED_AT]))
    return found


def _end_of_blanks(text: str, start: int) -> int:
    found = _blanks(text, start)
    assert found is not None  # the pattern also matches an empty string
    return found.end()


class JsonWindow:
    """The part of a JSON document that is in memory."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._text = ""
        self._at = 0
        self._line = 1
        self._line_start = 0
        self._is_found = False
        """Whether the array at the path was found."""
        self._taken = 0
        """The number of bytes that were read since the last `CUT`."""

    def items(
        self, path: Sequence[str] = (), refuse_rows: Callable[[Any, Sequence[str]], None] = lambda *_: None
    ) -> Iterator[Item | tuple[()]]:
        """Yields the items of the array, or of the array at a path of names, each with the number of its first line.

        Calls `refuse_rows` with each value outside that array and its path, except for the objects around the array.
        """
        yield from self._members(path, (), refuse_rows) if path else self._array()
        if self._peek():
            raise self._error("nothing is expected after the end of the array")
        if path and not self._is_found:
            raise InvalidInput(f"there is no array {quoted('.'.join(path))}")

    def _members(
        self, path: Sequence[str], around: Sequence[str], refuse_rows: Callable[[Any, Sequence[str]], None]
    ) -> Iterator[Item | tuple[()]]:
        self._skip("{")
        while self._peek() != "}":
            here = (*around, self._name())
            mark = self._peek()
            if mark == "[" and here == path:
                self._is_found = True
                yield from self._array()
            elif mark == "{" and len(here) <= MAX_WRAPPERS:
                yield from self._members(path, here, refuse_rows)
            else:
                for item in self._array() if mark == "[" else (self._item(),):
                    if item:
                        refuse_rows(item[0], here)
            if self._peek() != "}":
                self._skip(",")
        self._skip("}")

    def _name(self) -> str:
        name, _ = self._item()
        if not isinstance(name, str):
            raise self._error("an object key is expected here")
        self._skip(":")
        return name

    def _array(self) -> Iterator[Item | tuple[()]]:
        self._skip("[")
        if self._peek() != "]":
            yield self._item()
            while self._peek() == ",":
                self._skip(",")
                yield self._item()
                if self._taken > BYTES_PER_BLOCK:
                    self._taken = 0
                    yield CUT
        self._skip("]")

    def _peek(self) -> str:
        """Returns the next character that is not blank, or an empty string at the end of the file."""
        while True:
            if self._text[self._at : self._at + 1].isspace():
                self._go_to(_end_of_blanks(self._text, self._at))
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def _skip(self, sign: str) -> None:
        """Skips this character. Raises InvalidInput if the next character is different."""
        if self._peek() != sign:
            raise self._error(f"{sign} is expected here")
        self._at += 1

    def _item(self) -> Item:
        self._peek()
        line = self._line
        while True:
            try:
                value, end = self._decoded()
            except json.JSONDecodeError as problem:
                self._read_on(problem)
            except RecursionError:
                raise self._error(NOT_READABLE) from None
            else:
                # A number at the end of the window may continue: the parser would read `1.` as `1`.
                start, is_number = self._at, self._text[self._at] in "-0123456789"
                if end < len(self._text) - (_TAIL if is_number else 0) or not self._more_of_item(self._at):
                    self._go_to(end - (start - self._at))
                    return value, line

    def _decoded(self) -> tuple[Any, int]:
        try:
            return _UNIQUE.raw_decode(self._text, self._at)
        except _RepeatedName as problem:
            return RowProblem(str(problem)), _DECODER.raw_decode(self._text, self._at)[1]

    def _more_of_item(self, index: int) -> bool:
        """Reads more of an item. Raises InvalidInput with the position of this index if the item is already too long."""
        if len(self._text) - self._at > MAX_OBJECT_BYTES:
            self._go_to(index)
            raise self._error(_LONG_ITEM) from None
        return self._more()

    def _read_on(self, problem: json.JSONDecodeError) -> None:
        """Extends the window if the error may be due to its end. Raises InvalidInput for any other error."""
        if problem.pos >= len(self._text) - _TAIL or problem.msg.startswith("Unterminated string"):
            removed = self._at  # the text before the item is dropped from the window
            if self._more_of_item(problem.pos):
                return
            problem.pos -= removed
        self._go_to(min(problem.pos, len(self._text)))
        raise self._error("is not JSON") from None

    def _go_to(self, index: int) -> None:
        newlines = self._text.count("\n", self._at, index)
        if newlines:
            self._line += newlines
            self._line_start = self._text.rindex("\n", self._at, index) + 1
        self._at = index

    def _more(self) -> bool:
        """Reads more bytes, and drops the text before the current position. Returns False at the end of the file."""
        data = self._file.read1(READ_BYTES)
        self._taken += len(data)
        rest = self._decoder.decode(data, final=not data)
        self._line_start -= self._at
        self._text = self._text[self._at :] + rest
        self._at = 0
        return bool(data)

    def _error(self, reason: str) -> InvalidInput:
        return InvalidInput(f"line {self._line}, column {self._at - self._line_start + 1}: {reason}")
