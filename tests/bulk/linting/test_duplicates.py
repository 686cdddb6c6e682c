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


def test_few_rows_are_counted_exactly() -> None:
    counter = counted(1_000, 300, most=1_000)
    assert (counter.duplicates, counter.is_exact) == (300, True)


@pytest.mark.parametrize("repeats", [0, 4_000, 100_000])
def test_of_many_rows_the_repeats_are_estimated_in_bounded_memory(repeats: int) -> None:
    counter = counted(100_000, repeats, most=5_000)
    assert not counter.is_exact
    assert len(counter._repeats) <= 5_000
    assert counter.duplicates == pytest.approx(repeats, rel=0.3)


def test_one_row_over_and_over_is_followed_or_not_but_takes_no_room() -> None:
    counter = DuplicateCounter(10)
    for _ in range(1_000):
        counter.add("same")
    assert (counter.duplicates, counter.is_exact) == (999, True)
