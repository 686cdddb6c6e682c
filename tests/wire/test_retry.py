"""When a failed attempt is repeated, and after how long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.wire.retry import Failure, GiveUp, RetryPolicy, Wait, decide, failure_of_status

POLICY = RetryPolicy(max_attempts=5, max_wait_seconds=120.0)
JITTER = st.floats(0.0, 1.0)


def decision(
    failure: Failure,
    *,
    policy: RetryPolicy = POLICY,
    repeatable: bool = True,
    attempt: int = 1,
    elapsed_seconds: float = 0.0,
    jitter: float = 1.0,
) -> Wait | GiveUp:
    return decide(
        policy,
        repeatable=repeatable,
        attempt=attempt,
        failure=failure,
        elapsed_seconds=elapsed_seconds,
        jitter=jitter,
    )


def test_a_failed_connect_is_always_repeated_and_a_lost_one_when_the_route_allows() -> None:
    assert decision(Failure("no", "refused"), repeatable=False) == Wait(0.25)
    assert decision(Failure("unknown", "lost"), repeatable=True) == Wait(0.25)
    assert decision(Failure("unknown", "lost"), repeatable=False) == GiveUp("not repeatable")


@given(st.integers(1, 10_000), JITTER, st.sampled_from([500, 502, 503, 504]))
def test_the_backoff_has_full_jitter_below_a_doubling_ceiling(attempt: int, jitter: float, status: int) -> None:
    policy = RetryPolicy(max_attempts=20_000, max_wait_seconds=120.0)
    found = decision(failure_of_status(status, None), policy=policy, attempt=attempt, jitter=jitter)
    assert isinstance(found, Wait)
    assert found.seconds == pytest.approx(jitter * min(10.0, 0.25 * 2 ** min(attempt - 1, 20)))
    assert 0 <= found.seconds <= 10.0


@given(st.integers(1, 10_000), JITTER)
def test_a_429_without_a_wait_backs_off_from_half_a_second_to_a_minute_and_never_at_once(
    attempt: int, jitter: float
) -> None:
    """A peer without a reset header asked again 971 times in 0.6 s."""
    policy = RetryPolicy(max_attempts=20_000, max_wait_seconds=120.0)
    found = decision(failure_of_status(429, None), policy=policy, attempt=attempt, jitter=jitter)
    assert isinstance(found, Wait)
    ceiling = min(60.0, 2.0 ** min(attempt - 1, 20))
    assert ceiling / 2 <= found.seconds <= ceiling


@given(st.floats(0.001, 119.0), JITTER, st.sampled_from([429, 503]))
def test_a_wait_that_is_told_is_honoured_with_up_to_a_second_on_top(told: float, jitter: float, status: int) -> None:
    assert decision(failure_of_status(status, told), jitter=jitter) == Wait(told + jitter)


@pytest.mark.parametrize("status", [500, 502, 504])
def test_limit_headers_of_another_failure_say_nothing_about_its_end(status: int) -> None:
    assert decision(failure_of_status(status, 100.0)) == Wait(0.25)


@given(JITTER)
def test_a_wait_longer_than_allowed_is_refused_whatever_the_jitter_and_one_just_as_long_is_not(jitter: float) -> None:
    assert decision(failure_of_status(429, 120.5), jitter=jitter) == GiveUp("wait too long")
    assert decision(failure_of_status(429, 120.0), jitter=jitter) == Wait(120.0)


def test_a_backoff_is_cut_to_the_longest_wait() -> None:
    policy = RetryPolicy(max_attempts=10, max_wait_seconds=0.1)
    assert decision(failure_of_status(503, None), policy=policy, attempt=5) == Wait(0.1)


def test_the_last_attempt_allowed_is_the_last() -> None:
    failure = failure_of_status(503, None)
    assert decision(failure, attempt=4) == Wait(2.0)
    assert decision(failure, attempt=5) == GiveUp("attempts")
    assert decision(failure, policy=RetryPolicy(max_attempts=1, max_wait_seconds=1.0)) == GiveUp("attempts")


@pytest.mark.parametrize(
    ("attempt", "elapsed_seconds", "goes_on"),
    [(1, 1_000.0, True), (11, 89.9, True), (11, 90.0, True), (12, 89.9, True), (12, 90.0, False), (500, 89.9, True)],
)
def test_with_a_time_both_the_time_and_the_attempts_must_be_used_up(
    attempt: int, elapsed_seconds: float, goes_on: bool
) -> None:
    policy = RetryPolicy(max_attempts=12, max_wait_seconds=960.0, max_elapsed_seconds=90.0)
    found = decision(failure_of_status(503, None), policy=policy, attempt=attempt, elapsed_seconds=elapsed_seconds)
    assert isinstance(found, Wait) is goes_on
