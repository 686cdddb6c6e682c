"""How many requests are on their way: rate times latency, with a little room, within bounds."""

from hypothesis import given
from hypothesis import strategies as st

from socialapi.bulk.dispatcher import Concurrency

RATE = 1_500 / 60


def measured(seconds: float, *, most: int = 32) -> Concurrency:
    concurrency = Concurrency(None, most=most)
    for _ in range(200):
        concurrency.succeeded(seconds)
    return concurrency


def test_short_replies_still_leave_four_on_their_way_and_long_ones_never_more_than_the_most() -> None:
    assert measured(0.001).limit(RATE) == 4
    assert measured(60.0).limit(RATE) == 32
    assert measured(60.0, most=3).limit(RATE) == 3


def test_before_anything_is_measured_a_fifth_of_a_second_is_assumed() -> None:
    assert Concurrency(None, most=32).limit(RATE) == 7


def test_a_failure_halves_it_once_per_round_trip_and_successes_bring_it_back_one_by_one() -> None:
    concurrency = measured(1.0)
    assert concurrency.limit(RATE) == 32
    concurrency.failed(10.0)
    concurrency.failed(10.5)
    assert concurrency.limit(RATE) == 16
    concurrency.failed(11.0)
    assert concurrency.limit(RATE) == 8
    concurrency.succeeded(1.0)
    assert concurrency.limit(RATE) == 9
    for _ in range(100):
        concurrency.succeeded(1.0)
    assert concurrency.limit(RATE) == 32


def test_a_fixed_number_stays_as_it_is() -> None:
    concurrency = Concurrency(50, most=32)
    concurrency.failed(0.0)
    assert concurrency.limit(RATE) == 50


@given(
    st.integers(1, 64),
    st.lists(st.one_of(st.floats(0, 100), st.none()), max_size=50),
    st.one_of(st.none(), st.floats(0.01, 1_000)),
)
def test_it_is_at_least_one_and_never_above_the_most(
    most: int, outcomes: list[float | None], rate: float | None
) -> None:
    concurrency = Concurrency(None, most=most)
    for at, seconds in enumerate(outcomes):
        if seconds is None:
            concurrency.failed(float(at))
        else:
            concurrency.succeeded(seconds)
        assert 1 <= concurrency.limit(rate) <= most
