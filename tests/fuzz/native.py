"""Targets: every function of the extension in C, beside that of reference.py, and with arguments of
any kind.
"""

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import orjson

from socialapi._speedups import reference
from socialapi._speedups._native import (
    INTERFACE,
    Digests,
    IdentifierTable,
    ObjectReader,
    Users,
    add_null_word,
    add_phone_start,
    hash_column,
    identifier_hash,
    sha256_implementation,
    sha256_pair,
)
from socialapi.bulk.audiences.normalize import add_null_words, hashed_column, normalizers
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.wire.class_readers import UNREADABLE
from socialapi.wire.decode import decode_json
from tests.fuzz.target import Pieces, outcome, target
from tests.speedups.test_decode import MODELS, NATIVE, PLAIN
from tests.speedups.test_decode import outcome as read_by

HASHED: Final = tuple(kind for kind in IDENTIFIER_KINDS if kind != "partner_user_id")
WRONG: Final = (TypeError, ValueError, OverflowError, IndexError, MemoryError)
"""What a function may raise for arguments that it does not take."""
for _word in add_null_words():  # which tells the extension alone
    reference.add_null_word(_word)


class Text(str):
    """A text whose class may mean anything."""

    __slots__ = ()


class Number(int):
    """A number whose class may mean anything."""

    __slots__ = ()


ODD: Final[tuple[Any, ...]] = (
    *(None, "", 0, -1, True, 2**31, -(2**63), 2**63, 2**200, 1.5, float("nan"), b"", b"x" * 300, bytearray(9)),
    *(memoryview(b"abc"), (), [], {}, set(), object, Ellipsis, Text("a@b.example"), Number(7), "\ud800", "x" * 5_000),
    *(range(5), [None], ("a",), [Text("x")], slice(1, None), slice(None, None, -1), slice(None, None, 2**70)),
    *(
        Digests([]),
        Digests(["0" * 64, "", None]),
        Users((("email", (Digests(["0" * 64]),)),)),
        IdentifierTable(),
        iter(()),
        print,
        "email",
        "handle",
    ),
)


def any_value(pieces: Pieces) -> Any:
    """A value of any kind."""
    at = pieces.number(len(ODD) + 4)
    return ODD[at] if at < len(ODD) else pieces.text()


def _digest(pieces: Pieces) -> str:
    return hashlib.sha256(bytes([pieces.number(6)])).hexdigest()


@target("native-column", "_native:hash_column", "_native:Digests.undecided", "bulk.audiences.phone_starts:load_starts")
def _column(data: bytes) -> None:
    """A cell is what Python makes of it, or left to Python."""
    pieces = Pieces(data)
    kind: IdentifierKind = pieces.one_of(*HASHED)
    count = pieces.number(12)
    cells = [any_value(pieces) if pieces.number(5) == 4 else pieces.text() for _ in range(count)]
    found = hashed_column(kind, tuple(cells) if count % 2 else cells)
    assert len(found) == len(cells)
    for cell, value in zip(cells, found, strict=True):
        if cell is None or (type(cell) is str and cell == ""):
            assert value == ""
        elif value is not None:
            assert type(cell) is str
            assert (value, "") == normalizers([kind])[kind](cell)
    if kind != "phone_number":  # of whose countries the reference was not told
        assert list(found) == list(reference.hash_column(cells, kind))
    assert found.undecided() == [at for at, value in enumerate(found) if value is None]


@target(
    "native-digests",
    *(
        f"_native:Digests{name}"
        for name in (
            "",
            ".compress",
            ".joined",
            ".unpacked",
            ".packed",
            ".gaps",
            ".same_as",
            ".index",
            ".count",
            ".undecided",
        )
    ),
    refusals=(),
)
def _digests(data: bytes) -> None:
    """A column of digests behaves as the list of its cells."""
    pieces = Pieces(data)
    cells: list[Any] = [(_digest(pieces), "", None)[pieces.number(4) % 3] for _ in range(pieces.number(12))]
    other: list[Any] = [(_digest(pieces), "")[pieces.number(2)] for _ in cells]
    column, second = Digests(cells), Digests(iter(other))
    start, stop = pieces.number(20) - 10, pieces.number(20) - 10
    part = column[start:stop]
    assert list(part) == cells[start:stop]
    step = pieces.one_of(1, 2, -1, -3)
    assert list(column[::step]) == cells[::step]
    kept = bytes(pieces.number(2) for _ in cells)
    assert list(column.compress(kept)) == list(itertools.compress(cells, kept))
    assert list(Digests.joined((part, second, column))) == cells[start:stop] + other + cells
    assert column.same_as(second) == [
        at for at, (one, two) in enumerate(zip(cells, other, strict=True)) if one and one == two
    ]
    assert column.undecided() == [at for at, cell in enumerate(cells) if cell is None]
    for cell in cells:
        assert (column.count(cell), column.index(cell)) == (cells.count(cell), cells.index(cell))
    texts = Digests([cell or "" for cell in cells])
    assert list(Digests.unpacked(texts.packed(), texts.gaps())) == [cell or "" for cell in cells]
    if cells:
        at, value = pieces.number(len(cells)), pieces.one_of("", None, "a" * 64)
        column[at] = cells[at] = value
        assert list(column) == cells
    for run in _odd_calls(column, pieces):
        outcome(run, *WRONG)
    assert list(column) == cells or not cells


def _odd_calls(column: Any, pieces: Pieces) -> Sequence[Callable[[], Any]]:
    one, two = any_value(pieces), any_value(pieces)
    return [
        functools.partial(Digests, one),
        functools.partial(Digests.joined, one),
        functools.partial(Digests.joined, (one, two)),
        functools.partial(Digests.unpacked, one, two),
        functools.partial(Digests.unpacked, bytes(pieces.number(97)), [pieces.number(9) - 3, pieces.number(9)]),
        functools.partial(column.compress, one),
        functools.partial(column.same_as, two),
        functools.partial(column.__getitem__, one),
        functools.partial(column.__contains__, two),
        functools.partial(column.count, one),
        functools.partial(column.index, two),
    ]


def _in_python(column: Any) -> Any:
    return reference.Digests(column) if isinstance(column, Digests) else column


@target(
    "native-users", *(f"_native:Users{name}" for name in ("", ".fitting", ".render", ".index", ".count")), refusals=()
)
def _users(data: bytes) -> None:
    """User objects are those that the reference writes, whole and in part."""
    pieces = Pieces(data)
    rows = 1 + pieces.number(6)
    members: list[tuple[str, list[Any]]] = [("email", [Digests(_digest(pieces) for _ in range(rows))])]
    for _ in range(pieces.number(4)):
        kind: IdentifierKind = pieces.one_of(*IDENTIFIER_KINDS)
        texts = [pieces.part().decode("utf-8", "replace") for _ in range(rows)]
        is_json = kind == "partner_user_id"
        column = (
            tuple(text and json.dumps(text) for text in texts) if is_json else Digests(map(_digest, [pieces] * rows))
        )
        members.append((kind, [column]))
    in_c = Users(tuple((kind, tuple(columns)) for kind, columns in members))
    expected = reference.Users(tuple((kind, tuple(map(_in_python, columns))) for kind, columns in members))
    assert list(in_c) == list(expected)
    start, stop = pieces.number(9) - 4, pieces.number(9) - 4
    part = in_c[start:stop]
    assert list(part) == list(expected)[start:stop]
    between, before = pieces.part()[:9], pieces.part()[:9]
    assert part.render(between, before) == before + between.join(each.encode() for each in part)
    assert in_c.count(expected[0]) == list(expected).count(expected[0])
    assert in_c.index(expected[-1]) == list(expected).index(expected[-1])
    more, room = pieces.number(9), pieces.number(900)
    count, size = in_c.fitting(9, more, room)
    sizes = list(itertools.accumulate(len(each) + more for each in in_c))
    assert count >= sum(each <= room for each in sizes)
    assert size == (sizes[count - 1] if count else 0)
    one, two = any_value(pieces), any_value(pieces)
    for run in (
        functools.partial(Users, one),
        functools.partial(Users, ((one, (two,)),)),
        functools.partial(Users, (("email", one),)),
        functools.partial(Users, (("email", (Digests(["0" * 64]), two)),)),
        functools.partial(in_c.fitting, one, two, one),
        functools.partial(in_c.render, one, two),
        functools.partial(in_c.__getitem__, one),
        functools.partial(in_c.index, one),
    ):
        outcome(run, *WRONG)


@target(
    "native-table",
    "_native:identifier_hash",
    *(
        f"_native:IdentifierTable{name}"
        for name in ("", ".get", ".put", ".put_column", ".get_column", ".repeated", ".placements", ".take_over")
    ),
    refusals=(),
)
def _table(data: bytes) -> None:
    """A sequence of operations has the answers that it has in Python."""
    pieces = Pieces(data)
    ours: list[Any] = [IdentifierTable() for _ in range(2)]
    twins: list[Any] = [reference.IdentifierTable() for _ in range(2)]
    for _ in range(40):
        at, operation = pieces.number(2), pieces.number(6)
        column = [_value(pieces) for _ in range(pieces.number(9))]
        placement = f"placement {pieces.number(3)}"
        answers = [_operate(tables, at, operation, column, placement) for tables in (ours, twins)]
        assert answers[0] == answers[1]
        if operation == 5:
            _call_oddly(ours[at], pieces)
        assert [len(table) for table in ours] == [len(table) for table in twins]
        assert [table.placements() for table in ours] == [table.placements() for table in twins]


def _value(pieces: Pieces) -> str:
    return pieces.one_of(_digest, _digest, _digest, lambda _: "", lambda _: "x" * 40, Pieces.text)(pieces)


def _operate(tables: list[Any], at: int, operation: int, column: list[str], placement: str) -> Any:
    table, other = tables[at], tables[1 - at]
    match operation:
        case 0:
            return table.put_column(column, placement)
        case 1:
            return [table.put(each, placement) for each in column]
        case 2:
            return table.repeated((column, column[::-1]), (other,))
        case 3:
            return table.take_over(other, {placement})
        case _:
            return [table.get(each) for each in column], table.get_column(column)


def _call_oddly(table: Any, pieces: Pieces) -> None:
    one, two = any_value(pieces), any_value(pieces)
    make: Any = IdentifierTable
    scratch: Any = IdentifierTable()
    for run in (
        functools.partial(identifier_hash, one),
        functools.partial(table.get, one),
        functools.partial(scratch.put, one, two),
        functools.partial(scratch.put_column, one, two),
        functools.partial(table.get_column, one),
        functools.partial(table.repeated, one, two),
        functools.partial(table.repeated, (one, two), ()),
        functools.partial(scratch.take_over, one, two),
        functools.partial(scratch.take_over, table, two),
        functools.partial(make, one),
    ):
        outcome(run, *WRONG)


@target("native-sha256", "_native:sha256_pair", "_native:sha256_implementation", "_native:INTERFACE", refusals=())
def _sha256(data: bytes) -> None:
    """Any messages have their digests, and what is none is refused."""
    pieces = Pieces(data)
    first, second = pieces.part(), pieces.rest()
    for portable in (True, False):
        found = outcome(functools.partial(sha256_pair, first, second, portable), ValueError)
        one_by_one = hashlib.sha256(first).digest() + hashlib.sha256(second).digest()
        is_short = len(first) <= 247 and len(second) <= 247
        assert (found == one_by_one + one_by_one) == is_short
    outcome(functools.partial(sha256_pair, any_value(Pieces(first)), any_value(Pieces(second)), True), *WRONG)
    assert sha256_implementation()
    assert INTERFACE


@target("native-phone-start", "_native:add_phone_start", refusals=())
def _phone_start(data: bytes) -> None:
    """A start for which there is no room, or that is none, is refused, and changes no number."""
    pieces = Pieces(data)
    given = [any_value(pieces) for _ in range(4)]
    before = list(hash_column(["+14155550123", "+4930901820"], "phone_number"))
    for arguments in (
        (*given, 32 + pieces.number(9)),
        ("", "+", *given[2:], -1),
        (pieces.text() + "ABC", "+", "", "4155", 9),
    ):
        found = outcome(functools.partial(add_phone_start, *arguments), *WRONG)
        assert isinstance(found, tuple)
    assert list(hash_column(["+14155550123", "+4930901820"], "phone_number")) == before


@target("native-null-word", "_native:add_null_word", refusals=())
def _null_word(data: bytes) -> None:
    """A word for which there is no room, or that is none, is refused, and changes no handle."""
    pieces = Pieces(data)
    before = list(hash_column(["ada", "null"], "handle"))
    for word in (any_value(pieces), "x" * (16 + pieces.number(99)), ""):
        if not (isinstance(word, str) and 0 < len(word) < 16):
            assert isinstance(outcome(functools.partial(add_null_word, word), *WRONG), tuple)
    assert list(hash_column(["ada", "null"], "handle")) == before


@target("native-objects", *(f"_native:ObjectReader{name}" for name in ("", ".read", ".replace_each")), refusals=())
def _objects(data: bytes) -> None:
    """Both readers return the same object, or refuse for the same reason."""
    pieces = Pieces(data)
    cls = MODELS[pieces.number(len(MODELS))]
    is_odd, content = pieces.number(4) == 3, pieces.rest()
    if is_odd:
        _read_oddly(Pieces(content))
        return
    value = outcome(lambda: decode_json(content), orjson.JSONDecodeError)
    assert read_by(NATIVE.of(cls), value) == read_by(PLAIN.of(cls), value)
    if isinstance(value, list):
        lists = [list(value), list(value)]
        counts = [twins.of(cls).replace_each(each) for twins, each in zip((NATIVE, PLAIN), lists, strict=True)]
        assert counts[0] == counts[1]
        assert lists[0][: counts[0]] == lists[1][: counts[0]]


def _read_oddly(pieces: Pieces) -> None:
    """Asks readers that were told anything but a plan."""
    one, two, three = (any_value(pieces) for _ in range(3))
    refusals = (*WRONG, AttributeError, KeyError, SystemError)
    plans: tuple[Any, ...] = (
        one,
        (one, two, three, one, two),
        (dict, (), -1, {}, 1),
        (dict, ((one, two, three),), -1, {}, 1),
        (dict, one, two, {}, 1),
    )
    for plan in plans:
        with suppress(*refusals):
            reader = ObjectReader(lambda plan=plan: plan, UNREADABLE)  # type: ignore[misc]
            reader.read({"id": two})
            reader.replace_each([three, {}])
    with suppress(*refusals):
        ObjectReader(one, two).read(three)
