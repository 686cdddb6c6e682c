"""Counting repeats: exactly while there is room, and then closely."""

import pytest

from socialapi.bulk.linting.product_linter import DuplicateCounter


def counted(rows: int, repeats: int, most: int) -> DuplicateCounter:
    counter = DuplicateCounter(most)
    for number in range(rows):
        counter.add((number * 7_919, 1))
    for number in range(repeats):
        counter.add((number * 7_919, 1))
    return counter


@pytest.mark.parametrize("repeats", [0, 4_000, 100_000])
def test_of_many_rows_the_repeats_are_estimated_in_bounded_memory(repeats: int) -> None:
    counter = counted(100_000, repeats, most=5_000)
    assert not counter.is_exact
    assert len(counter._repeats) <= 5_000
    assert counter.duplicates == pytest.approx(repeats, rel=0.3)
