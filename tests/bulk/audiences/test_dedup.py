"""Who waits for whom and who repeats whom, row by row."""

import time
from collections.abc import Mapping
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from socialapi._speedups import IdentifierTable
from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.rows import Action, Identifier, Row
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from tests.bulk.blocks import blocks_of, rows_of

UPDATE: Final = Action("Update")
DELETE: Final = Action("Delete")


def row(action: Action, *values: str, kind: IdentifierKind = "partner_user_id") -> Row:
    return Row(1, action, tuple((kind, value) for value in values))


def batch(number: int) -> Batch:
    return Batch(number, 2)


def settled(*batches: Batch) -> None:
    for each in batches:
        each.release()
        each.settled.set()


def carriers(recent: RecentIdentifiers, row: Row) -> list[int] | None:
    """The numbers of the batches that a duplicate repeats; None for a row that is none."""
    found = recent.carriers(row)
    return None if found is None else [each.number for each in found if each is not None]


def waits_for(recent: RecentIdentifiers, row: Row) -> set[int]:
    """The numbers of the batches that a row that is no duplicate waits for."""
    assert recent.carriers(row) is None
    return {each.number for each in recent.conflicts(row) if not each.settled.is_set()}


def size(*windows: "Mapping[IdentifierKind, IdentifierTable[Any]]") -> int:
    return sum(len(table) for window in windows for table in window.values())


def test_the_same_value_of_another_kind_is_another_identifier() -> None:
    recent = RecentIdentifiers()
    recent.place(row(UPDATE, "a", kind="email"), batch(1))
    assert waits_for(recent, row(UPDATE, "a", kind="device_id")) == set()
    assert waits_for(recent, row(DELETE, "a", kind="device_id")) == set()
    assert carriers(recent, row(UPDATE, "a", kind="email")) == [1]


def test_a_conflict_waits_for_every_batch_that_carries_the_identifier() -> None:
    recent = RecentIdentifiers()
    for number in (1, 2, 3):
        recent.place(row(UPDATE, "a", f"new {number}"), batch(number))
    assert waits_for(recent, row(DELETE, "a")) == {1, 2, 3}


def test_that_is_so_too_when_a_batch_carries_the_identifier_twice() -> None:
    recent, second = RecentIdentifiers(), batch(2)
    recent.place(row(UPDATE, "a"), batch(1))
    recent.place(row(UPDATE, "a", "b"), second)
    recent.place(row(UPDATE, "a", "c"), second)
    assert waits_for(recent, row(DELETE, "a")) == {1, 2}


def test_who_does_the_same_as_somebody_waiting_waits_for_the_same() -> None:
    recent, first, second = RecentIdentifiers(), batch(1), batch(2)
    recent.place(row(UPDATE, "a"), first)
    second.after.add(first)
    recent.place(row(DELETE, "a"), second)
    assert waits_for(recent, row(DELETE, "a", "b")) == {1}


def test_what_is_settled_is_forgotten_after_two_generations_and_what_is_not_is_waited_for_ever_after() -> None:
    recent, first, second, third = RecentIdentifiers(remembered=10), batch(1), batch(2), batch(3)
    recent.place(row(UPDATE, "settled"), first)
    recent.place(row(UPDATE, "unsettled"), second)
    settled(first)
    for number in range(40):
        recent.place(row(UPDATE, f"other {number}"), third)
        recent.turn()
    assert waits_for(recent, row(DELETE, "settled")) == waits_for(recent, row(UPDATE, "settled")) == set()
    assert waits_for(recent, row(DELETE, "unsettled")) == {2}
    settled(second)
    assert waits_for(recent, row(DELETE, "unsettled")) == set()


def test_what_has_left_the_window_is_no_duplicate_whether_it_is_settled_or_not() -> None:
    """Else the rows of a batch would depend on how fast the service is."""
    recent, first, second, third = RecentIdentifiers(remembered=10), batch(1), batch(2), batch(3)
    second.after.add(first)
    recent.place(row(UPDATE, "a"), second)
    for number in range(40):
        recent.place(row(UPDATE, f"other {number}"), third)
        recent.turn()
    # As who did the same: it must not overtake what that waits for.
    assert waits_for(recent, row(UPDATE, "a")) == {1}
    settled(second)
    assert waits_for(recent, row(UPDATE, "a")) == set()


def test_generations_change_between_two_batches_only() -> None:
    recent, first = RecentIdentifiers(remembered=3), batch(1)
    for number in range(50):
        recent.place(row(UPDATE, f"person {number}"), first)
    settled(first)
    assert carriers(recent, row(UPDATE, "person 0")) == [1]
    recent.turn()
    assert carriers(recent, row(UPDATE, "person 0")) == [1]
    recent.turn()  # the young generation has nothing yet
    assert carriers(recent, row(UPDATE, "person 0")) == [1]


def test_a_duplicate_of_something_old_makes_it_recent_again() -> None:
    recent, first = RecentIdentifiers(remembered=1), batch(1)
    recent.place(row(UPDATE, "a"), first)
    settled(first)
    for number in range(2, 5):
        recent.turn()  # it is old now
        assert carriers(recent, row(UPDATE, "a")) == [1]
        recent.place(row(UPDATE, f"person {number}"), batch(number))
    recent.turn()
    recent.place(row(UPDATE, "somebody else"), batch(5))
    recent.turn()
    assert waits_for(recent, row(UPDATE, "a")) == set()


def test_batches_are_let_go_when_their_identifiers_have_got_into_others() -> None:
    recent = RecentIdentifiers()
    for number in range(1_000):
        current = batch(number)
        recent.place(row((UPDATE, DELETE)[number % 2], "a", "b"), current)
        settled(current)
    assert {each.batches for each in recent._young["partner_user_id"].placements()} == {(current,)}


def test_the_window_stays_bounded_however_many_identifiers_come() -> None:
    recent = RecentIdentifiers(remembered=100)
    for number in range(10_000):
        current = batch(number)
        recent.place(row(UPDATE, f"person {number}"), current)
        settled(current)
        recent.turn()
        assert size(recent._young, recent._old) <= 202
    assert not recent._forgotten


def test_more_unsettled_identifiers_than_are_remembered_do_not_make_every_row_slow() -> None:
    recent, only = RecentIdentifiers(remembered=1_000), batch(1)
    started = time.process_time()
    for number in range(50_000):
        recent.place(row(UPDATE, f"person {number}"), only)
        recent.turn()
    assert time.process_time() - started < 5  # a fraction of a second; minutes if every row turned the generations
    assert size(recent._young, recent._old, *recent._forgotten) == 50_000


ROWS: Final = st.lists(
    st.builds(
        lambda identifiers: Row(1, UPDATE, tuple(dict.fromkeys(identifiers))),
        st.lists(
            st.tuples(st.sampled_from(IDENTIFIER_KINDS[:2]), st.sampled_from("abcdefghijklmnop")),
            min_size=1,
            max_size=3,
        ),
    ),
    min_size=1,
    max_size=8,
)


@given(ROWS, ROWS, st.integers(1, 5), st.booleans())
def test_the_rows_that_are_not_repeated_are_exactly_those_that_are_new(
    before: list[Row], rows: list[Row], generation: int, done: bool
) -> None:
    recent, first = RecentIdentifiers(generation), batch(1)
    for each in before:
        recent.place(each, first)
        recent.turn()
    if done:
        settled(first)
    (run,) = blocks_of(rows)
    has_several = len({kind for kind, _ in run.columns}) < len(run.columns)
    while_all_do_the_same = recent.repeated(run)
    in_window = recently_known_to(recent, rows)
    expected, without_a_new_one = found(rows, in_window)
    if has_several:
        assert set(without_a_new_one) <= set(while_all_do_the_same.indexes)
    else:
        assert while_all_do_the_same.indexes == without_a_new_one
        assert while_all_do_the_same.are_apart == (expected == without_a_new_one) or not without_a_new_one
    known = known_to(recent, [*before, *rows])
    recent.begin_to_differ()
    assert recent.repeated(run).indexes == found(rows, known)[0]


def found(rows: list[Row], known: set[Identifier]) -> tuple[list[int], list[int]]:
    """The rows that have a known identifier, or one of an earlier row, and those that have no other."""
    some, only = [], []
    for index, each in enumerate(rows):
        if not known.isdisjoint(each.identifiers):
            some.append(index)
        if known.issuperset(each.identifiers):
            only.append(index)
        known = known | set(each.identifiers)
    return some, only


def recently_known_to(recent: RecentIdentifiers, rows: list[Row]) -> set[Identifier]:
    asked = {each for row in rows for each in row.identifiers}
    return {(kind, value) for kind, value in asked if recent._recent(kind, value)}


def known_to(recent: RecentIdentifiers, rows: list[Row]) -> set[Identifier]:
    windows = (recent._young, recent._old, *recent._forgotten)
    asked = {each for row in rows for each in row.identifiers}
    return {(kind, value) for kind, value in asked if any(window[kind].get(value) for window in windows)}


@given(ROWS, ROWS)
def test_rows_placed_together_are_known_as_if_they_had_been_placed_one_by_one(
    rows: list[Row], later: list[Row]
) -> None:
    together, single, first = RecentIdentifiers(), RecentIdentifiers(), batch(1)
    for run in blocks_of(rows):
        new = [place for place in range(len(run)) if place not in together.repeated(run).indexes]
        for place in new:
            together.place_new(run.part(place, place + 1), first)
            single.place(run.row(place), first)
    for each in rows_of(blocks_of([*rows, *later])):
        for action in (UPDATE, DELETE):
            asked = Row(1, action, each.identifiers)
            assert together.conflicts(asked) == single.conflicts(asked)
            assert together.carriers(asked) == single.carriers(asked)
