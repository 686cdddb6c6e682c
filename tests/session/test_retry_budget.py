"""How often a host may be asked again."""

from hypothesis import given
from hypothesis import strategies as st

from socialapi.session.session import RetryBudget


def test_a_service_that_answers_nothing_uses_the_budget_up_once() -> None:
    budget = RetryBudget(3)
    assert [budget.spend() for _ in range(5)] == [True, True, True, False, False]


def test_every_success_earns_one_repeat_up_to_the_size() -> None:
    budget = RetryBudget(2)
    budget.earn()
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    budget.earn()
    assert [budget.spend(), budget.spend()] == [True, False]


@given(st.integers(1, 20), st.lists(st.booleans()))
def test_repeats_never_outnumber_successes_by_more_than_the_size(size: int, events: list[bool]) -> None:
    budget, successes, repeats = RetryBudget(size), 0, 0
    for success in events:
        if success:
            successes += 1
            budget.earn()
        else:
            repeats += budget.spend()
    assert repeats <= successes + size


def test_a_service_that_answers_two_of_three_is_never_short() -> None:
    budget = RetryBudget(1)
    for _ in range(100):
        budget.earn()
        budget.earn()
        assert budget.spend()
