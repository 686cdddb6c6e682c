"""The table of recent identifiers in C does what its twin in Python does."""

import contextlib
import gc
import hashlib
import importlib
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi._speedups import IS_ENABLED
from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.dedup import PythonIdentifierTable, RecentIdentifiers
from socialapi.bulk.rows import Action, Row, runs_of
from socialapi.models.audiences import IDENTIFIER_KINDS

if not IS_ENABLED:
    pytest.skip("the extension is not used here", allow_module_level=True)

native: Any = importlib.import_module("socialapi._speedups._native")


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
COLUMNS: Final = st.lists(VALUES, max_size=200) | st.lists(st.sampled_from(["", *DIGESTS]), max_size=200).map(
    native.Digests
)


class Text(str):
    """A text whose class says nothing about what it holds."""

    __slots__ = ()


class Placement:
    """Stands for one; equal to itself alone."""


PLACEMENTS: Final = [Placement() for _ in range(4)]
TABLE: Final = st.integers(0, 2)


def columns_of_one_length(columns: Sequence[Sequence[str]]) -> tuple[Sequence[str], ...]:
    rows = min(map(len, columns))
    return tuple(column[:rows] for column in columns)


OPERATIONS: Final = st.one_of(
    st.tuples(st.just("put"), TABLE, VALUES, st.sampled_from(PLACEMENTS)),
    st.tuples(st.just("put_column"), TABLE, COLUMNS, st.sampled_from(PLACEMENTS)),
    st.tuples(st.just("repeated"), TABLE, st.lists(COLUMNS, min_size=1, max_size=3).map(columns_of_one_length)),
    st.tuples(st.just("take_over"), TABLE, TABLE, st.sets(st.sampled_from(PLACEMENTS))),
    st.tuples(st.just("get"), TABLE, VALUES),
)


def done(tables: list[Any], operation: tuple[Any, ...]) -> object:
    name, at, *arguments = operation
    if name == "repeated":
        return tables[at].repeated(*arguments, tuple(tables[:at] + tables[at + 1 :]))
    if name == "take_over":
        arguments[0] = tables[arguments[0]]
    return getattr(tables[at], name)(*arguments)


@given(st.lists(OPERATIONS, max_size=30))
def test_every_sequence_of_operations_has_the_same_answers_as_in_python(operations: list[tuple[Any, ...]]) -> None:
    ours: list[Any] = [native.IdentifierTable() for _ in range(3)]
    twins: list[Any] = [PythonIdentifierTable() for _ in range(3)]
    for operation in operations:
        assert done(ours, operation) == done(twins, operation)
        for table, twin in zip(ours, twins, strict=True):
            assert len(table) == len(twin)
            assert table.placements() == twin.placements()
    for value in [*DIGESTS, *TEXTS]:
        assert [table.get(value) for table in ours] == [twin.get(value) for twin in twins]


UPDATE: Final = Action("Update")
ACTIONS: Final = (UPDATE, Action("Update"), Action("Delete"), Action("Update", None, "2091-01-01T00:00:00Z"))
ROW: Final = st.builds(
    lambda action, identifiers: Row(1, action, tuple(dict.fromkeys(identifiers)), "{}"),
    st.sampled_from(ACTIONS),
    st.lists(
        st.tuples(st.sampled_from(IDENTIFIER_KINDS[-2:]), st.sampled_from([*DIGESTS, *TEXTS[:4]])),
        min_size=1,
        max_size=3,
    ),
)
ROWS: Final = st.lists(ROW, min_size=1, max_size=6)
EVENTS: Final = st.one_of(
    st.tuples(st.just("judge"), ROW),
    st.tuples(st.just("take"), ROWS),
    st.tuples(st.just("refuse"), st.integers(0, 20), ROW),
    st.tuples(st.just("settle"), st.integers(0, 20)),
    st.tuples(st.just("next batch")),
    st.tuples(st.just("differ")),
)


class Job:
    """Rows that go through both windows; each answer has to be the same."""

    def __init__(self, remembered: int) -> None:
        make: Callable[[], Any] = native.IdentifierTable
        self.ours = RecentIdentifiers(remembered, make)
        self.twin = RecentIdentifiers(remembered, PythonIdentifierTable)
        self.batches = [Batch(1)]

    def same(self, ask: Callable[[RecentIdentifiers], Any]) -> Any:
        answer = ask(self.ours)
        assert answer == ask(self.twin)
        return answer

    def take(self, rows: Sequence[Row]) -> None:
        for run in runs_of(rows):
            start = 0
            for place in [*self.same(lambda recent: recent.repeated(run)), len(run)]:  # noqa: B023  # asked at once
                if start < place:
                    new = run.part(start, place)
                    self.same(lambda recent: recent.place_new(new, self.batches[-1]))  # noqa: B023
                if place < len(run):
                    self.take_repeated(run.row(place))
                start = place + 1

    def take_repeated(self, row: Row) -> None:
        decision = self.same(lambda recent: recent.judge(row))
        if decision.duplicate and decision.duplicate_of is None and not decision.refused:
            self.same(lambda recent: recent.refresh(row))
        else:
            batch = decision.duplicate_of or self.batches[-1]
            self.same(lambda recent: recent.place(row, batch))

    def run(self, event: str, *details: Any) -> None:
        match event:
            case "judge":
                self.same(lambda recent: recent.judge(details[0]))
            case "take":
                self.take(details[0])
            case "refuse":
                self.batches[details[0] % len(self.batches)].refused.update(details[1].identifiers)
            case "settle":
                self.batches[details[0] % len(self.batches)].settled.set()
            case "next batch":
                self.same(lambda recent: recent.turn())
                self.batches.append(Batch(len(self.batches) + 1))
            case _:
                self.same(lambda recent: recent.begin_to_differ())


@given(st.integers(1, 12), st.lists(EVENTS, max_size=40))
def test_every_decision_is_the_same_as_in_python(remembered: int, events: list[tuple[Any, ...]]) -> None:
    job = Job(remembered)
    for event in events:
        job.run(*event)
        assert len(job.ours._young) == len(job.twin._young)
        assert len(job.ours._old) == len(job.twin._old)
        assert len(job.ours._forgotten) == len(job.twin._forgotten)


@pytest.mark.parametrize("text", ["", *DIGESTS, *TEXTS])
def test_a_text_of_a_subclass_is_what_it_holds(text: str) -> None:
    table: Any = native.IdentifierTable()
    table.put(Text(text), 1)
    assert table.get(text) == table.get(Text(text)) == (1 if text else None)
    table.put_column([text], 2)
    assert (len(table), table.placements()) == ((1, {2}) if text else (0, set()))


@pytest.mark.parametrize("found", [b"short", bytearray(32), None])
def test_a_hash_that_is_no_digest_is_refused(found: Any) -> None:
    program = f"""
import hashlib
class Hash:
    def __init__(self, data): pass
    def digest(self): return {found!r}
hashlib.sha256 = Hash
from socialapi._speedups._native import IdentifierTable
try:
    IdentifierTable().put("x" * 32, 1)
except TypeError as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "hashlib.sha256 gives no digest of 32 bytes\n"


def table_of(count: int) -> Any:
    table = native.IdentifierTable()
    for start in range(0, count, 1_000):
        table.put_column([digest(str(number)) for number in range(start, start + 1_000)], start)
    return table


def test_a_table_grows_with_what_it_holds_and_loses_nothing() -> None:
    table = table_of(70_000)
    assert len(table) == 70_000
    assert [table.get(digest(str(number))) for number in range(70_000)] == [n - n % 1_000 for n in range(70_000)]
    assert table.get(digest("70000")) is None
    assert table.repeated(([digest(str(number)) for number in (70_000, 69_999, 70_001, 0)],), ()) == [1, 3]


def test_an_identifier_takes_less_than_64_bytes() -> None:
    assert sys.getsizeof(table_of(50_000)) < 64 * 50_000
    assert sys.getsizeof(native.IdentifierTable()) < 200


def test_digests_that_begin_or_end_alike_are_different() -> None:
    alike = [hexadecimal(number << shift) for shift in (0, 64, 128, 192) for number in range(1, 3_000)]
    table = native.IdentifierTable()
    assert table.repeated((alike,), ()) == []
    table.put_column(native.Digests(alike), "placement")
    assert len(table) == len(alike)
    assert table.repeated((alike,), ()) == list(range(len(alike)))
    assert table.get(hexadecimal(3_000)) is None


# Digits of a digest are hexadecimal, two a byte: the places at which the words of 2, 4 and 8 bytes have their highest or
# lowest bits, on machines of either byte order.
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
    hashes = [native.identifier_hash(each) for each in alike]
    assert len(set(hashes)) > 0.999 * len(alike)
    table = native.IdentifierTable()
    table.put_column(alike, "placement")
    assert table.repeated((alike,), ()) == list(range(len(alike)))


def test_a_placement_is_let_go_with_its_last_identifier() -> None:
    table, first, second = native.IdentifierTable(), Placement(), Placement()
    table.put_column([digest("a"), digest("b")], first)
    alive = weakref.ref(first)
    del first
    table.put(digest("a"), second)
    assert table.placements() == {alive(), second}
    table.put(digest("b"), second)
    assert alive() is None
    assert table.placements() == {second}


def test_placements_that_come_and_go_take_no_room() -> None:
    table = native.IdentifierTable()
    for number in range(10):
        table.put(str(number), object())
    size = sys.getsizeof(table)
    for number in range(10_000):
        table.put(str(number % 10), object())
    assert sys.getsizeof(table) == size
    assert len(table.placements()) == 10


def test_what_a_placement_does_when_it_is_let_go_meets_a_whole_table() -> None:
    table = native.IdentifierTable()

    class Last:
        def __del__(self) -> None:
            table.put_column([str(number) for number in range(500)], "last")

    table.put("a", Last())
    table.put_column(["a", "b"], "first")
    assert len(table) == 502
    assert [table.get(each) for each in ("a", "b", "0", "499")] == ["first", "first", "last", "last"]


def test_a_table_that_is_reached_from_its_own_placement_is_collected() -> None:
    table, placement = native.IdentifierTable(), Placement()
    placement.table = table  # type: ignore[attr-defined]
    table.put("a", placement)
    alive = weakref.ref(placement)
    del table, placement
    gc.collect()
    assert alive() is None


def test_nothing_is_leaked() -> None:
    placement, columns = Placement(), ([digest("a"), "", LONG, "é"], native.Digests([digest("a"), "", "", digest("b")]))

    def use() -> None:
        table, other = native.IdentifierTable(), native.IdentifierTable()
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


@pytest.mark.parametrize(
    ("method", "arguments", "reason"),
    [
        ("put", (1, None), "an identifier is a str, not int"),
        ("put", ("a",), "put"),
        ("get", (b"a",), "an identifier is a str, not bytes"),
        ("put_column", (["a", None], None), "an identifier is a str, not NoneType"),
        ("put_column", (1, None), "a column is a sequence"),
        ("repeated", ((["a"],), ("a table",)), "the others are IdentifierTables"),
        ("repeated", ([["a"]], ()), "tuple"),
        ("take_over", (native.IdentifierTable(), [1]), "set"),
        ("take_over", ({}, set()), "IdentifierTable"),
    ],
)
def test_what_is_of_another_type_is_refused(method: str, arguments: tuple[Any, ...], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        getattr(native.IdentifierTable(), method)(*arguments)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        native.IdentifierTable().repeated((["a"], ["b", "c"]), ())


def test_a_comparison_that_fails_leaves_the_tables_as_they_were() -> None:
    class Odd:
        def __hash__(self) -> int:
            raise ArithmeticError

    table, other = native.IdentifierTable(), native.IdentifierTable()
    other.put("a", Odd())
    with pytest.raises(ArithmeticError):
        table.take_over(other, {1})
    with pytest.raises(ArithmeticError):
        other.placements()
    assert (len(table), len(other)) == (0, 1)


def test_neither_table_shows_what_it_holds() -> None:
    tables: tuple[Any, ...] = (native.IdentifierTable(), PythonIdentifierTable())
    for table in tables:
        table.put("planted", Placement())
        assert "planted" not in repr(table)
