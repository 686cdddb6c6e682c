"""Who waits for whom and who repeats whom, row by row."""

import time
from typing import Final

from socialapi.bulk.batches import Batch
from socialapi.bulk.ordering import RecentIdentifiers, Verdict
from socialapi.bulk.rows import Action, Row

UPDATE: Final = Action("Update")
DELETE: Final = Action("Delete")
LATER: Final = Action("Update", None, "2091-01-01T00:00:00Z")
NEW: Final = Verdict(duplicate=False)


def row(action: Action, *keys: str) -> Row:
    return Row(1, action, keys, b"{}")


def batch(number: int) -> Batch:
    return Batch(number, 2)


def settled(*batches: Batch) -> None:
    for each in batches:
        each.release()
        each.settled.set()


def waits_for(verdict: Verdict) -> set[int]:
    assert not verdict.duplicate
    return {each.number for each in verdict.conflicts if not each.settled.is_set()}


def test_an_identifier_that_was_never_seen_waits_for_nobody() -> None:
    assert RecentIdentifiers().judge(row(UPDATE, "a")) == NEW


def test_the_same_again_is_a_duplicate_whose_fate_is_that_of_the_row_it_repeats() -> None:
    recent, first = RecentIdentifiers(), batch(1)
    recent.place(row(UPDATE, "a", "b"), first)
    assert recent.judge(row(Action("Update"), "b")) == Verdict(duplicate=True, repeats=first)
    settled(first)
    assert recent.judge(row(UPDATE, "a")) == Verdict(duplicate=True)


def test_another_operation_or_other_times_wait_while_the_earlier_one_is_unsettled() -> None:
    recent, first = RecentIdentifiers(), batch(1)
    recent.place(row(UPDATE, "a"), first)
    assert waits_for(recent.judge(row(DELETE, "a"))) == {1}
    assert waits_for(recent.judge(row(LATER, "a", "b"))) == {1}
    settled(first)
    assert waits_for(recent.judge(row(DELETE, "a"))) == set()


def test_a_row_with_one_new_identifier_is_no_duplicate() -> None:
    recent = RecentIdentifiers()
    recent.place(row(UPDATE, "a"), batch(1))
    assert recent.judge(row(UPDATE, "a", "b")) == NEW


def test_a_duplicate_of_rows_in_two_batches_depends_on_both() -> None:
    recent, first, second = RecentIdentifiers(), batch(1), batch(2)
    recent.place(row(UPDATE, "a"), first)
    recent.place(row(UPDATE, "b"), second)
    expected = Verdict(duplicate=True, repeats=second, repeats_too=frozenset({first}))
    assert recent.judge(row(UPDATE, "a", "b")) == expected


def test_a_conflict_waits_for_every_batch_that_carries_the_identifier() -> None:
    recent = RecentIdentifiers()
    for number in (1, 2, 3):
        recent.place(row(UPDATE, "a", f"new {number}"), batch(number))
    assert waits_for(recent.judge(row(DELETE, "a"))) == {1, 2, 3}


def test_that_is_so_too_when_a_batch_carries_the_identifier_twice() -> None:
    recent, second = RecentIdentifiers(), batch(2)
    recent.place(row(UPDATE, "a"), batch(1))
    recent.place(row(UPDATE, "a", "b"), second)
    recent.place(row(UPDATE, "a", "c"), second)
    assert waits_for(recent.judge(row(DELETE, "a"))) == {1, 2}


def test_who_does_the_same_as_somebody_waiting_waits_for_the_same() -> None:
    recent, first, second = RecentIdentifiers(), batch(1), batch(2)
    recent.place(row(UPDATE, "a"), first)
    second.after.add(first)
    recent.place(row(DELETE, "a"), second)
    assert waits_for(recent.judge(row(DELETE, "a", "b"))) == {1}


def test_a_row_that_may_still_be_sent_with_the_one_it_repeats_is_waited_for() -> None:
    recent, first, second = RecentIdentifiers(), batch(1), batch(2)
    recent.place(row(UPDATE, "a"), first)
    settled(first)
    recent.place(row(UPDATE, "b"), second)
    follower = row(UPDATE, "a", "b")
    verdict = recent.judge(follower)
    assert verdict.repeats is second
    recent.place(follower, second)
    assert waits_for(recent.judge(row(DELETE, "a"))) == {2}


def test_after_a_refusal_the_same_is_no_duplicate_any_more() -> None:
    recent, first = RecentIdentifiers(), batch(1)
    refused = row(UPDATE, "a", "b")
    recent.place(refused, first)
    recent.forget(refused, first)
    settled(first)
    assert recent.judge(row(UPDATE, "a")) == NEW


def test_a_refusal_leaves_alone_what_later_batches_do() -> None:
    recent, first, second = RecentIdentifiers(), batch(1), batch(2)
    refused = row(UPDATE, "a", "b", "c")
    recent.place(refused, first)
    recent.place(row(DELETE, "a"), second)
    recent.place(row(UPDATE, "b", "d"), second)
    recent.forget(refused, first)
    recent.forget(row(UPDATE, "unknown"), first)
    settled(first)
    assert waits_for(recent.judge(row(UPDATE, "a"))) == {2}
    assert recent.judge(row(UPDATE, "b")) == Verdict(duplicate=True, repeats=second)
    assert recent.judge(row(UPDATE, "c")) == NEW


def test_a_refusal_does_not_bring_back_what_was_before_it() -> None:
    """Another row of the batch may have done the same to the identifier, and was taken."""
    recent, first, second = RecentIdentifiers(remembered=3), batch(1), batch(2)
    recent.place(row(DELETE, "a", "b", "c", "d"), first)  # more than are remembered: they are the old generation now
    settled(first)
    refused = row(UPDATE, "a", "bad")
    recent.place(refused, second)
    recent.place(row(UPDATE, "a", "good"), second)
    recent.forget(refused, second)
    settled(second)
    assert not recent.judge(row(DELETE, "a")).duplicate


def test_what_is_settled_is_forgotten_after_two_generations_and_what_is_not_never() -> None:
    recent, first, second, third = RecentIdentifiers(remembered=10), batch(1), batch(2), batch(3)
    recent.place(row(UPDATE, "settled"), first)
    recent.place(row(UPDATE, "unsettled"), second)
    settled(first)
    for number in range(40):
        recent.place(row(UPDATE, f"other {number}"), third)
    assert recent.judge(row(UPDATE, "settled")) == NEW
    assert recent.judge(row(UPDATE, "unsettled")).repeats is second


def test_the_window_stays_bounded_however_many_identifiers_come() -> None:
    recent = RecentIdentifiers(remembered=100)
    for number in range(10_000):
        current = batch(number)
        recent.place(row(UPDATE, f"person {number}"), current)
        settled(current)
    assert len(recent._young) + len(recent._old) <= 202


def test_more_unsettled_identifiers_than_are_remembered_do_not_make_every_row_slow() -> None:
    recent, only = RecentIdentifiers(remembered=1_000), batch(1)
    started = time.process_time()
    for number in range(50_000):
        recent.place(row(UPDATE, f"person {number}"), only)
    assert time.process_time() - started < 5  # a fraction of a second; minutes if every row turned the generations
    assert len(recent._young) + len(recent._old) == 50_000
