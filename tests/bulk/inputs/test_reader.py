"""Blocks of rows, and their parts."""

import contextlib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.columns import IdentifierLayout
from socialapi.bulk.inputs.reader import CUT, ROWS_PER_BLOCK, Block, RowProblem, in_lists

LAYOUT = IdentifierLayout((), ())
CELLS = st.sampled_from(("", " ", "a", "b", 1, None))


@st.composite
def blocks(draw: st.DrawFn) -> UserBlock:
    size = draw(st.integers(0, 8))
    indexes = st.integers(0, size - 1) if size else st.nothing()
    faults = st.dictionaries(
        indexes, st.builds(RowProblem, st.sampled_from(("why", "because")), st.none() | st.just(2))
    )
    columns = draw(st.lists(st.lists(CELLS, min_size=size, max_size=size), max_size=3))
    lines = draw(st.none() | st.lists(st.integers(1, 100), min_size=size, max_size=size))
    return Block(
        draw(st.integers(1, 100)), size, LAYOUT, columns, draw(faults), draw(faults), lines, draw(st.booleans())
    )


def told(block: UserBlock) -> list[tuple[Any, ...]]:
    """Everything that a block says of each of its rows."""
    return [
        (
            block.first_number + index,
            [column[index] for column in block.columns],
            *(
                block.unreadable.get(index),
                block.ambiguous.get(index),
                block.location_of(index),
                block.location_of(index, 3),
            ),
            *(block.layout is LAYOUT, block.is_text),
        )
        for index in range(len(block))
    ]


@given(blocks(), st.data())
def test_a_part_of_a_block_has_its_rows(block: UserBlock, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(block)))
    stop = data.draw(st.integers(start, len(block) + 3))
    part = block.part(start, stop)
    assert told(part) == told(block)[start:stop]
    assert len(part) == len(told(block)[start:stop])
    assert {*part.unreadable, *part.ambiguous} <= {*range(len(part))}
    assert (part is block) == (start == 0 and stop >= len(block))
    middle = data.draw(st.integers(0, len(part)))
    assert told(part.part(0, middle)) + told(part.part(middle, len(part))) == told(part)


def some_items(count: int, cuts: AbstractSet[int], error_at: int | None) -> Iterator[tuple[Any, int] | tuple[()]]:
    for number in range(count):
        if number == error_at:
            raise LookupError
        yield (number, number)
        if number in cuts:
            yield CUT
    if error_at is not None and error_at >= count:
        raise LookupError


@given(
    count=st.integers(0, 3 * ROWS_PER_BLOCK),
    cuts=st.sets(st.integers(0, 3 * ROWS_PER_BLOCK), max_size=6)
    | st.sets(st.sampled_from((ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, 2 * ROWS_PER_BLOCK - 1))),
    error_at=st.none() | st.integers(0, 4 * ROWS_PER_BLOCK),
)
def test_lists_end_at_cuts_and_every_item_before_an_error_is_in_one(
    count: int, cuts: set[int], error_at: int | None
) -> None:
    lists: list[list[Any]] = []
    with contextlib.suppress(LookupError):
        lists.extend(in_lists(some_items(count, cuts, error_at)))
        assert error_at is None
    whole = range(count if error_at is None else min(count, error_at))
    assert [number for some in lists for number, _ in some] == list(whole)
    assert all(0 < len(some) <= ROWS_PER_BLOCK for some in lists)
    assert all(number not in cuts for some in lists for number, _ in some[:-1])
