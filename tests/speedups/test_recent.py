"""The table of recent identifiers does the same in C and in Python."""

import contextlib
import gc
import hashlib
import subprocess
import sys
import weakref
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speedups.implementations import EACH, IN_C, NATIVE, REFERENCE


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def hexadecimal(number: int) -> str:
    """A text like a digest: small numbers differ in their last byte, others in the first one."""
    return f"{number:064x}"


LONG: Final = "a text that is longer than thirty-one bytes"
SHORT: Final = "short"
DIGESTS: Final = [
    digest("a"),
    digest("b"),
    digest(LONG),
    digest(SHORT),
    *map(hexadecimal, (0, 1, 2, 1 << 255, 1 << 192)),
]
TEXTS: Final = [
    SHORT,
    LONG,
    "x" * 31,
    "x" * 32,
    "é" * 15,
    "é" * 16,
    "\ud800",
    "\ud800" * 20,
    "a\0",
    "a",
    "\0",
    digest("a").upper(),
    digest("a")[:-1],
    # What a table may have made of the short text.
    (SHORT.encode().ljust(31, b"\0") + bytes([len(SHORT)])).hex(),
    "g" + digest("a")[1:],
    "é" + digest("a")[1:],
]
VALUES: Final = st.sampled_from(["", *DIGESTS, *TEXTS])
COLUMNS: Final = st.lists(VALUES, max_size=200).map(lambda values: ("texts", values)) | st.lists(
    st.sampled_from(["", *DIGESTS]), max_size=200
).map(lambda values: ("digests", values))
"""What a column is, and its values: the texts of a list, or digests."""


class Text(str):
    """A text whose class says nothing about what it holds."""

    __slots__ = ()


class Placement:
    """Stands for one; equal to itself alone."""


PLACEMENTS: Final = [Placement() for _ in range(4)]
TABLE: Final = st.integers(0, 2)


Column = tuple[str, list[str]]


def columns_of_one_length(columns: Sequence[Column]) -> list[Column]:
    rows = min(len(values) for _, values in columns)
    return [(form, values[:rows]) for form, values in columns]


def column_in(speedups: Any, column: Column) -> Any:
    form, values = column
    return speedups.Digests(values) if form == "digests" else values


OPERATIONS: Final = st.one_of(
    st.tuples(st.just("put"), TABLE, VALUES, st.sampled_from(PLACEMENTS)),
    st.tuples(st.just("put_column"), TABLE, COLUMNS, st.sampled_from(PLACEMENTS)),
    st.tuples(st.just("repeated"), TABLE, st.lists(COLUMNS, min_size=1, max_size=3).map(columns_of_one_length)),
    st.tuples(st.just("take_over"), TABLE, TABLE, st.sets(st.sampled_from(PLACEMENTS))),
    st.tuples(st.just("get"), TABLE, VALUES),
    st.tuples(st.just("get_column"), TABLE, COLUMNS),
)


def done(speedups: Any, tables: list[Any], operation: tuple[Any, ...]) -> object:
    name, at, *arguments = operation
    if name == "repeated":
        columns = tuple(column_in(speedups, column) for column in arguments[0])
        return tables[at].repeated(columns, tuple(tables[:at] + tables[at + 1 :]))
    if name == "take_over":
        arguments[0] = tables[arguments[0]]
    if name in ("put_column", "get_column"):
        arguments[0] = column_in(speedups, arguments[0])
    return getattr(tables[at], name)(*arguments)


@IN_C
@given(st.lists(OPERATIONS, max_size=30))
def test_every_sequence_of_operations_has_the_same_answers_in_c_and_in_python(
    operations: list[tuple[Any, ...]],
) -> None:
    tables: list[Any] = [NATIVE.IdentifierTable() for _ in range(3)]
    twins: list[Any] = [REFERENCE.IdentifierTable() for _ in range(3)]
    for operation in operations:
        assert done(NATIVE, tables, operation) == done(REFERENCE, twins, operation)
        for table, twin in zip(tables, twins, strict=True):
            assert len(table) == len(twin)
            assert table.placements() == twin.placements()
    for value in [*DIGESTS, *TEXTS]:
        assert [table.get(value) for table in tables] == [twin.get(value) for twin in twins]


@EACH
def test_rows_are_repeated_that_have_an_identifier_of_a_table_or_an_earlier_row_or_one_twice(speedups: Any) -> None:
    table, other = speedups.IdentifierTable(), speedups.IdentifierTable()
    table.put("known", 1)
    other.put_column(["elsewhere", ""], 2)
    columns = (["new", "", "known", "x", "a", "b", "new"], ["", "", "y", "elsewhere", "a", "x", "z"])
    assert table.repeated(columns, (other,)) == [2, 3, 4, 5, 6]
    assert table.repeated(columns, ()) == [2, 4, 5, 6]
    assert (len(table), len(other), other.get("elsewhere"), other.get("")) == (1, 1, 2, None)


@IN_C
@pytest.mark.parametrize("text", ["", *DIGESTS, *TEXTS])
def test_a_text_of_a_subclass_is_what_it_holds(text: str) -> None:
    table: Any = NATIVE.IdentifierTable()
    table.put(Text(text), 1)
    assert table.get(text) == table.get(Text(text)) == (1 if text else None)
    table.put_column([text], 2)
    assert (len(table), table.placements()) == ((1, {2}) if text else (0, set()))


@IN_C
@pytest.mark.parametrize("found", [b"short", bytearray(32), None])
def test_a_hash_that_is_no_digest_is_refused(found: Any) -> None:
    program = f"""
import hashlib
sha256 = hashlib.sha256
class Hash:
    def __init__(self, data): self.hexdigest = sha256(data).hexdigest
    def digest(self): return {found!r}
hashlib.sha256 = Hash
from socialapi._speedups._native import IdentifierTable
try:
    IdentifierTable().put("x" * 32, 1)
except TypeError as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "hashlib.sha256 did not return 32 bytes\n"


def table_of(count: int) -> Any:
    table = NATIVE.IdentifierTable()
    for start in range(0, count, 1_000):
        table.put_column([digest(str(number)) for number in range(start, start + 1_000)], start)
    return table


@IN_C
def test_a_table_grows_with_what_it_holds_and_loses_nothing() -> None:
    table = table_of(70_000)
    assert len(table) == 70_000
    assert [table.get(digest(str(number))) for number in range(70_000)] == [n - n % 1_000 for n in range(70_000)]
    assert table.get(digest("70000")) is None
    assert table.repeated(([digest(str(number)) for number in (70_000, 69_999, 70_001, 0)],), ()) == [1, 3]


@IN_C
def test_an_identifier_takes_less_than_64_bytes() -> None:
    assert sys.getsizeof(table_of(50_000)) < 64 * 50_000
    assert sys.getsizeof(NATIVE.IdentifierTable()) < 200


@IN_C
def test_digests_that_begin_or_end_alike_are_different() -> None:
    alike = [hexadecimal(number << shift) for shift in (0, 64, 128, 192) for number in range(1, 3_000)]
    table = NATIVE.IdentifierTable()
    assert table.repeated((alike,), ()) == []
    table.put_column(NATIVE.Digests(alike), "placement")
    assert len(table) == len(alike)
    assert table.repeated((alike,), ()) == list(range(len(alike)))
    assert table.get(hexadecimal(3_000)) is None


# Digits of a digest are hexadecimal, two a byte: the places at which the words of 2, 4 and 8 bytes have their highest or
# lowest bits, on machines of either byte order.
@IN_C
@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("offset", [0, 1, -2, -1])
def test_digests_that_differ_in_the_same_bits_of_each_word_have_hashes_of_their_own(width: int, offset: int) -> None:
    places = range(offset % width, 64, width)
    alike = []
    for number in range(16 ** min(4, len(places))):
        digits = ["a"] * 64
        for place, digit in zip(places, f"{number:x}".rjust(len(places), "0"), strict=True):
            digits[place] = digit
        alike.append("".join(digits))
    hashes = [NATIVE.identifier_hash(each) for each in alike]
    assert len(set(hashes)) > 0.999 * len(alike)
    table = NATIVE.IdentifierTable()
    table.put_column(alike, "placement")
    assert table.repeated((alike,), ()) == list(range(len(alike)))


@IN_C
def test_a_placement_is_let_go_with_its_last_identifier() -> None:
    table, first, second = NATIVE.IdentifierTable(), Placement(), Placement()
    table.put_column([digest("a"), digest("b")], first)
    alive = weakref.ref(first)
    del first
    table.put(digest("a"), second)
    assert table.placements() == {alive(), second}
    table.put(digest("b"), second)
    assert alive() is None
    assert table.placements() == {second}


@IN_C
def test_placements_that_come_and_go_take_no_room() -> None:
    table = NATIVE.IdentifierTable()
    for number in range(10):
        table.put(str(number), object())
    size = sys.getsizeof(table)
    for number in range(10_000):
        table.put(str(number % 10), object())
    assert sys.getsizeof(table) == size
    assert len(table.placements()) == 10


@IN_C
def test_what_a_placement_does_when_it_is_let_go_meets_a_whole_table() -> None:
    table = NATIVE.IdentifierTable()

    class Last:
        def __del__(self) -> None:
            table.put_column([str(number) for number in range(500)], "last")

    table.put("a", Last())
    table.put_column(["a", "b"], "first")
    assert len(table) == 502
    assert [table.get(each) for each in ("a", "b", "0", "499")] == ["first", "first", "last", "last"]


@IN_C
def test_a_table_that_is_reached_from_its_own_placement_is_collected() -> None:
    table, placement = NATIVE.IdentifierTable(), Placement()
    placement.table = table  # type: ignore[attr-defined]
    table.put("a", placement)
    alive = weakref.ref(placement)
    del table, placement
    gc.collect()
    assert alive() is None


@IN_C
def test_nothing_is_leaked() -> None:
    placement, columns = Placement(), ([digest("a"), "", LONG, "é"], NATIVE.Digests([digest("a"), "", "", digest("b")]))

    def use() -> None:
        table, other = NATIVE.IdentifierTable(), NATIVE.IdentifierTable()
        for column in columns:
            table.put_column(column, placement)
        table.put(LONG, placement)
        other.take_over(table, {placement})
        assert table.get(LONG) is other.get(LONG) is placement
        assert table.repeated(columns, (other,)) == [0, 2, 3]
        assert table.placements() == {placement}
        with contextlib.suppress(TypeError):
            table.repeated((["a", None],), ())
        with contextlib.suppress(TypeError):
            table.put_column([LONG, 1], placement)

    use()
    gc.collect()
    references, blocks = sys.getrefcount(placement), sys.getallocatedblocks()
    for _ in range(1_000):
        use()
    gc.collect()
    assert sys.getrefcount(placement) == references
    assert sys.getallocatedblocks() - blocks < 250  # of a thousand rounds; Python itself keeps some


@IN_C
@pytest.mark.parametrize(
    ("method", "arguments", "reason"),
    [
        ("put", (1, None), "an identifier must be a str, not int"),
        ("put", ("a",), "put"),
        ("get", (b"a",), "an identifier must be a str, not bytes"),
        ("put_column", (["a", None], None), "an identifier must be a str, not NoneType"),
        ("put_column", (1, None), "a column must be a sequence"),
        ("get_column", (["a", 1],), "an identifier must be a str, not int"),
        ("get_column", (1,), "a column must be a sequence"),
        ("repeated", ((["a"],), ("a table",)), "the others must be IdentifierTables"),
        ("repeated", ([["a"]], ()), "tuple"),
        ("take_over", (NATIVE and NATIVE.IdentifierTable(), [1]), "set"),
        ("take_over", ({}, set()), "IdentifierTable"),
    ],
)
def test_what_is_of_another_type_is_refused(method: str, arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        getattr(NATIVE.IdentifierTable(), method)(*arguments)


@IN_C
def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        NATIVE.IdentifierTable().repeated((["a"], ["b", "c"]), ())


@IN_C
def test_a_comparison_that_fails_leaves_the_tables_as_they_were() -> None:
    class Odd:
        def __hash__(self) -> int:
            raise ArithmeticError

    table, other = NATIVE.IdentifierTable(), NATIVE.IdentifierTable()
    other.put("a", Odd())
    with pytest.raises(ArithmeticError):
        table.take_over(other, {1})
    with pytest.raises(ArithmeticError):
        other.placements()
    assert (len(table), len(other)) == (0, 1)


@IN_C
def test_neither_table_shows_what_it_holds() -> None:
    tables: tuple[Any, ...] = (NATIVE.IdentifierTable(), REFERENCE.IdentifierTable())
    for table in tables:
        table.put("planted", Placement())
        assert "planted" not in repr(table)
