"""A column of digests behaves as the list of its cells does, in C and in Python."""

import copy
import sys
import tracemalloc
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.speedups.implementations import EACH, IN_C, NATIVE

A: Final = "0123456789abcdef" * 4
B: Final = "f" * 64
DIGEST: Final = st.binary(min_size=32, max_size=32).map(bytes.hex)
CELL: Final = st.sampled_from((A, B, "", None)) | DIGEST
CELLS: Final = st.lists(CELL, max_size=12)
BOUND: Final = st.none() | st.integers(-15, 15)


@EACH
@given(CELLS)
def test_it_has_the_cells_that_it_was_made_of(speedups: Any, cells: list[str | None]) -> None:
    column = speedups.Digests(cells)
    assert (len(column), list(column)) == (len(cells), cells)
    assert [column[at] for at in range(-len(cells), len(cells))] == cells + cells
    assert list(reversed(column)) == cells[::-1]
    assert list(speedups.Digests(column)) == list(speedups.Digests(iter(cells))) == cells
    for cell in (A, B, "", None, "x", 7, b""):
        assert (cell in column, column.count(cell)) == (cell in cells, cells.count(cell))  # type: ignore[arg-type]
        if cell in cells:
            assert column.index(cell) == cells.index(cell)


class Text(str):
    """A text whose class says nothing about what it holds."""

    __slots__ = ()


@EACH
def test_a_text_of_a_subclass_is_what_it_holds(speedups: Any) -> None:
    column = speedups.Digests([Text(A), Text(""), B])
    assert list(column) == [A, "", B]
    assert (Text(B) in column, column.index(Text(B)), column.count(Text(A))) == (True, 2, 1)
    with pytest.raises(ValueError, match="64 lower-case"):
        column[0] = Text("é" * 64)


@EACH
@given(CELLS, BOUND, BOUND, st.none() | st.integers(-3, 3).filter(bool), BOUND, BOUND)
def test_slices_and_slices_of_slices_have_the_cells_of_a_list(
    speedups: Any,
    cells: list[str | None],
    start: int | None,
    stop: int | None,
    step: int | None,
    later: int | None,
    end: int | None,
) -> None:
    part = speedups.Digests(cells)[start:stop:step]
    assert list(part) == cells[start:stop:step]
    assert list(part[later:end]) == cells[start:stop:step][later:end]


@EACH
@given(CELLS.filter(bool), st.data())
def test_a_cell_that_is_set_changes_no_other(speedups: Any, cells: list[str | None], data: st.DataObject) -> None:
    column = speedups.Digests(cells)
    at, value = data.draw(st.integers(-len(cells), len(cells) - 1)), data.draw(CELL)
    column[at] = cells[at] = value
    assert list(column) == cells


@IN_C
def test_a_slice_shares_its_cells_and_outlives_the_column() -> None:
    column = NATIVE.Digests([A, "", B])
    part = column[1:][1:]
    column[2] = A
    del column
    assert list(part) == [A]
    part[0] = None
    assert list(part) == [None]


@IN_C
def test_a_slice_with_little_of_the_memory_of_its_column_is_a_copy() -> None:
    column = NATIVE.Digests([A, "", B, None] * 10)
    small, whole = column[1:10], column[:10]
    column[1] = column[2] = A
    assert list(small) == ["", B, None, A, "", B, None, A, ""]
    assert list(whole[:3]) == [A, A, A]
    assert list(column[30:][1:4]) == [None, A, ""]
    assert list(column[40:]) == []


@IN_C
def test_small_slices_keep_none_of_the_columns_that_they_were_cut_from() -> None:
    tracemalloc.start()
    try:
        parts = [NATIVE.Digests([A] * 1_250)[500:][at : at + 1] for at in range(100)]
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [list(part) for part in parts] == [[A]] * 100
    assert kept_bytes < 100 * 1_000  # where each column has 41,250


@EACH
@given(st.lists(st.tuples(CELL, st.booleans()), max_size=12))
def test_rows_are_chosen_by_bytes(speedups: Any, rows: list[tuple[str | None, bool]]) -> None:
    column, kept = speedups.Digests(cell for cell, _ in rows), bytes(is_kept for _, is_kept in rows)
    assert (
        list(column.compress(kept)) == list(column.compress(bytearray(kept))) == [cell for cell, kept in rows if kept]
    )


@EACH
@given(st.lists(CELLS, max_size=4))
def test_columns_are_joined(speedups: Any, columns: list[list[str | None]]) -> None:
    assert list(speedups.Digests.joined(tuple(map(speedups.Digests, columns)))) == [
        cell for cells in columns for cell in cells
    ]


@EACH
@given(CELLS)
def test_digests_are_packed_and_unpacked(speedups: Any, cells: list[str | None]) -> None:
    column = speedups.Digests(cells)
    assert column.packed() == b"".join(bytes.fromhex(cell) for cell in cells if cell)
    assert column.gaps() == [at for at, cell in enumerate(cells) if not cell]
    assert column.undecided() == [at for at, cell in enumerate(cells) if cell is None]
    assert list(speedups.Digests.unpacked(column.packed(), column.gaps())) == [cell or "" for cell in cells]


@EACH
@given(st.lists(st.tuples(CELL, CELL), max_size=12))
def test_rows_with_the_same_digest_are_found(speedups: Any, rows: list[tuple[str | None, str | None]]) -> None:
    first, second = speedups.Digests(one for one, _ in rows), speedups.Digests(other for _, other in rows)
    assert first.same_as(second) == [at for at, (one, other) in enumerate(rows) if one and one == other]


@EACH
@pytest.mark.parametrize("cell", ["x", A[1:], A + "0", A.upper(), "g" * 64, "é" * 64, "\0" * 64, "\ud800"])
def test_texts_that_are_no_digests_are_refused(speedups: Any, cell: str) -> None:
    column = speedups.Digests([""])
    with pytest.raises(ValueError, match="64 lower-case"):
        speedups.Digests([cell])
    with pytest.raises(ValueError, match="64 lower-case"):
        column[0] = cell
    assert list(column) == [""]


@EACH
@pytest.mark.parametrize("cell", [b"0" * 64, 7, [], object()])
def test_what_is_no_text_is_refused(speedups: Any, cell: Any) -> None:
    with pytest.raises(TypeError, match=r"a str or None|string"):
        speedups.Digests([cell])


@EACH
@pytest.mark.parametrize("at", [2, -3, 2**70, -(2**70)])
def test_a_row_beyond_the_column_is_refused(speedups: Any, at: int) -> None:
    column = speedups.Digests(["", None])
    with pytest.raises(IndexError):
        column[at]
    with pytest.raises(IndexError):
        column[at] = ""


@IN_C
def test_its_length_stays_and_it_is_no_key() -> None:
    column: Any = NATIVE.Digests([A])
    with pytest.raises(TypeError):
        del column[0]
    with pytest.raises(TypeError, match="cell by cell"):
        column[0:1] = [A]
    with pytest.raises(TypeError, match="cell by cell"):
        del column[:]
    with pytest.raises(TypeError):
        hash(column)
    with pytest.raises(TypeError):
        column["0"]


@IN_C
@pytest.mark.parametrize(
    "call",
    [
        lambda: NATIVE.Digests(*()),
        lambda: NATIVE.Digests(7),
        lambda: NATIVE.Digests([A]).compress([True]),
        lambda: NATIVE.Digests([A]).compress(b""),
        lambda: NATIVE.Digests.joined([NATIVE.Digests([A])]),
        lambda: NATIVE.Digests.joined((NATIVE.Digests([A]), [A])),
        lambda: NATIVE.Digests([A]).same_as(NATIVE.Digests([])),
        lambda: NATIVE.Digests([A]).same_as([A]),
        lambda: NATIVE.Digests.unpacked(b"", [1]),
        lambda: NATIVE.Digests.unpacked(b"x" * 33, []),
        lambda: NATIVE.Digests.unpacked(b"x" * 64, [1, 1]),
        lambda: NATIVE.Digests.unpacked(b"x" * 64, [-1]),
        lambda: NATIVE.Digests.unpacked(b"x" * 64, [2**70]),
        lambda: NATIVE.Digests.unpacked(b"x" * 64, ["0"]),
        lambda: NATIVE.Digests.unpacked("x", []),
        lambda: copy.deepcopy(NATIVE.Digests([A])),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        call()


@IN_C
def test_it_is_a_sequence_that_shows_no_digest_and_takes_33_bytes_a_cell() -> None:
    column = NATIVE.Digests([A] * 1_000)
    assert isinstance(column, Sequence)
    assert repr(column) == str(column) == "<Digests of 1000 cells>"
    assert sys.getsizeof(column) - sys.getsizeof(column[:]) == 33_000
    match column[:2]:
        case [first, second]:
            assert first == second == A
        case _:
            pytest.fail("it matches no sequence")
