"""One window as arithmetic: when the next request may go out."""

import pytest

from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import UNKNOWN, LimitStatus, SlidingWindow
from socialapi.wire.rate_limit_headers import LimitReading
from tests.support.pacing import TEN_A_MINUTE


def window(documented: RateLimit | None = TEN_A_MINUTE, reserve_share: float = 0.0) -> SlidingWindow:
    return SlidingWindow(documented, reserve_share=reserve_share)


def wait(of: SlidingWindow, now: float, *, bulk: bool = False, ahead: int = 0) -> float:
    return of.wait_seconds(now, bulk=bulk, ahead=ahead)


def used(count: int, *, at: float, documented: RateLimit | None = TEN_A_MINUTE) -> SlidingWindow:
    made = window(documented)
    for _ in range(count):
        made.take(0.0)
    for _ in range(count):
        made.replied(at, None)
    return made


def test_a_place_comes_back_one_window_after_the_reply_and_not_after_the_request() -> None:
    made = window()
    for _ in range(10):
        made.take(0.0)
    for second in range(10):
        made.replied(30.0 + second, None)
    assert wait(made, 60.0) == 30.0
    assert wait(made, 89.999) == pytest.approx(0.001)
    assert wait(made, 90.0) == 0.0


def test_who_stands_behind_others_waits_for_a_later_place() -> None:
    made = window()
    for _ in range(10):
        made.take(0.0)
    for second in range(10):
        made.replied(float(second), None)
    assert [wait(made, 10.0, ahead=n) for n in (0, 1, 9)] == [50.0, 51.0, 59.0]
    assert wait(made, 10.0, ahead=10) == 110.0, "the first place for the second time"
    assert wait(made, 10.0, ahead=25) == 175.0


def test_a_place_that_is_on_its_way_comes_back_in_a_window_at_best() -> None:
    made = window()
    for _ in range(10):
        made.take(0.0)
    assert wait(made, 5.0) == 60.0


def test_what_did_not_reach_the_service_frees_its_place_at_once() -> None:
    made = window()
    for _ in range(10):
        made.take(0.0)
    made.unsent()
    assert wait(made, 0.0) == 0.0


def test_an_outcome_that_is_not_known_counts() -> None:
    assert wait(used(10, at=0.0), 0.0) == 60.0


def test_bulk_leaves_two_in_a_hundred_and_at_least_one_to_others() -> None:
    for limit, reserve in ((1_500, 30), (200, 4), (10, 1), (2, 1)):
        made = window(RateLimit("x", limit, 60.0), reserve_share=0.02)
        for _ in range(limit - reserve):
            assert wait(made, 0.0, bulk=True) == 0.0
            made.take(0.0)
        assert wait(made, 0.0, bulk=True) > 0
        assert wait(made, 0.0, bulk=False) == 0.0


def test_a_limit_of_one_is_not_reserved_away() -> None:
    assert wait(window(RateLimit("x", 1, 60.0), reserve_share=0.5), 0.0, bulk=True) == 0.0
    most = window(RateLimit("x", 4, 60.0), reserve_share=0.99)
    assert wait(most, 0.0, bulk=True) == 0.0


# What the service reports


def test_while_nothing_is_known_one_request_goes_and_the_others_wait_for_its_answer() -> None:
    made = window(None)
    assert made.probe_seconds(0.0) == 0.0
    made.take(0.0)
    assert made.probe_seconds(0.0) == 5.0
    assert made.probe_seconds(5.0) == 0.0, "the answer does not come: others go out as well"
    made.replied(1.0, None)
    assert made.probe_seconds(1.0) == 0.0
    assert wait(made, 1.0, ahead=100) == 0.0, "an answer without headers: nobody counts"


def test_a_probe_that_did_not_arrive_lets_the_next_one_go() -> None:
    made = window(None)
    made.take(0.0)
    made.unsent()
    assert wait(made, 0.0) == 0.0
    assert made.probe_seconds(0.0) == 0.0
    made.take(0.0)
    assert made.probe_seconds(0.0) == 5.0


def test_what_the_service_says_remains_is_what_remains() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(10, 9, 900.0))
    for _ in range(9):
        assert wait(made, 1.0) == 0.0
        made.take(0.0)
    assert wait(made, 1.0) == 899.0
    assert made.status(1.0) == LimitStatus(10, 0, 9, 899.0)


def test_another_process_that_uses_the_limit_up_is_obeyed() -> None:
    made = window()
    made.take(0.0)
    made.replied(0.0, LimitReading(10, 0, 25.0))
    assert wait(made, 0.0) == 25.0
    assert made.status(0.0).remaining == 0


def test_requests_on_their_way_are_taken_off_what_is_reported() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(10, 9, 60.0))
    for _ in range(5):
        made.take(0.0)
    made.replied(1.0, LimitReading(10, 8, 59.0))
    assert made.status(1.0).remaining == 4
    made.unsent()
    assert made.status(1.0).remaining == 5


def test_a_request_that_ended_without_a_word_is_taken_off_as_well() -> None:
    made = window(None)
    for remaining in (9, 8):
        made.take(0.0)
        made.replied(0.0, LimitReading(10, remaining, 60.0))
    made.take(0.0)
    made.replied(1.0, None)
    assert made.status(1.0).remaining == 7
    made.take(0.0)
    made.replied(1.0, LimitReading(10, None, None))
    assert made.status(1.0).remaining == 6


def test_an_answer_that_was_overtaken_does_not_raise_what_remains() -> None:
    """Two answers of one window arrive the wrong way round; the lower count is the newer one."""
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(10, 9, 60.0))
    made.take(0.0)
    made.take(0.0)
    made.replied(1.0, LimitReading(10, 7, 59.0))
    made.replied(1.5, LimitReading(10, 8, 58.5))
    assert made.status(1.5).remaining == 7


def test_a_late_answer_of_the_window_before_does_not_replace_the_present_one() -> None:
    made = window(None)
    for _ in range(2):
        made.take(0.0)
    made.replied(0.0, LimitReading(10, 5, 10.0))
    made.take(0.0)
    made.replied(11.0, LimitReading(10, 9, 60.0))
    made.replied(11.5, LimitReading(10, 0, 0.5))
    assert wait(made, 11.5) == 0.0
    assert made.status(11.5).remaining == 9
    assert wait(made, 13.0, ahead=8) == 0.0
    assert wait(made, 13.0, ahead=9) == 58.0


def test_a_reset_that_was_wrong_is_replaced_by_an_earlier_one() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(10, 5, 86_400.0))
    made.take(0.0)
    made.replied(1.0, LimitReading(10, 9, 60.0))
    assert made.status(1.0) == LimitStatus(10, 9, 0, 60.0)


def test_after_the_reset_as_many_go_as_the_window_holds_until_an_answer_tells() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(3, 0, 60.0))
    assert wait(made, 59.0) == 1.0
    for _ in range(3):
        assert wait(made, 60.0) == 0.0
        made.take(0.0)
    assert wait(made, 60.0) == UNKNOWN


def test_a_remaining_count_without_a_limit_is_obeyed_too() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(None, 0, 60.0))
    assert wait(made, 1.0) == 59.0
    assert wait(made, 60.0) == 0.0


def test_a_remaining_count_without_a_reset_cannot_be_obeyed() -> None:
    made = window(None)
    made.take(0.0)
    made.replied(0.0, LimitReading(None, 0, None))
    assert wait(made, 1.0) == 0.0


def test_a_limit_that_the_service_reports_replaces_the_documented_one() -> None:
    made = used(3, at=0.0)
    made.take(0.0)
    made.replied(0.0, LimitReading(4, 4, 60.0))
    assert made.limit == 4
    assert wait(made, 0.0) == 60.0


def test_a_limit_below_what_is_used_already_waits_until_enough_is_free() -> None:
    made = window()
    for second in range(5):
        made.take(0.0)
        made.replied(float(second), LimitReading(2, None, None))
    assert wait(made, 5.0) == 58.0, "the fourth of five places"


def test_a_limit_of_zero_is_no_limit_that_can_be_meant() -> None:
    made = window()
    made.take(0.0)
    made.replied(0.0, LimitReading(0, 5, 60.0))
    assert made.limit == 10
    assert wait(made, 0.0) == 0.0


def test_after_a_429_nothing_goes_until_the_reset() -> None:
    made = window()
    made.take(0.0)
    made.replied(0.0, None, refused_for_seconds=42.0)
    assert wait(made, 0.0) == 42.0
    assert made.status(0.0) == LimitStatus(10, 0, 0, 42.0)
    made.take(0.0)
    made.replied(1.0, None, refused_for_seconds=1.0)
    assert wait(made, 2.0) == 40.0, "the longer wait holds"
    assert wait(made, 42.0) == 0.0


def test_the_status_says_what_is_known() -> None:
    assert window(None).status(0.0) == LimitStatus(None, None, 0, None)
    assert window().status(0.0) == LimitStatus(10, 10, 0, None)
    made = used(3, at=0.0)
    made.take(0.0)
    assert made.status(1.0) == LimitStatus(10, 6, 1, None)
    assert made.status(61.0) == LimitStatus(10, 9, 1, None)


def test_a_report_that_our_own_requests_explain_is_not_waited_for() -> None:
    """Its reset is told in whole seconds twice over, and waiting for it would waste up to two of every window."""
    window = SlidingWindow(RateLimit("uploads", 2, 60.0), reserve_share=0.0)
    for remaining in (1, 0):
        window.take(0.0)
        window.replied(10.0, LimitReading(2, remaining, 62.0))
    assert window.wait_seconds(10.0, bulk=False) == 60.0
    assert window.wait_seconds(70.0, bulk=False) == 0.0


def test_a_report_that_counts_requests_of_others_is_waited_for() -> None:
    window = SlidingWindow(RateLimit("uploads", 5, 60.0), reserve_share=0.0)
    window.take(0.0)
    window.replied(10.0, LimitReading(5, 0, 62.0))
    assert window.wait_seconds(10.0, bulk=False) == 62.0


def test_requests_from_before_the_windows_of_the_service_opened_do_not_explain_its_count() -> None:
    window = SlidingWindow(RateLimit("uploads", 5, 60.0), reserve_share=0.0)
    for _ in range(3):
        window.take(0.0)
        window.replied(0.0, None)
    window.take(50.0)
    window.replied(50.0, LimitReading(5, 1, 58.0))  # a window that opened at 48, with three requests of others in it
    assert window.wait_seconds(50.0, bulk=False, ahead=1) == 58.0


@pytest.mark.parametrize(("reported", "then"), [(1_500, 3), (3, 3), (2, 2)])
def test_a_configured_limit_is_lowered_by_a_report_and_never_raised(reported: int, then: int) -> None:
    share = RateLimit("uploads", 1_500, 60.0).configured({"uploads": (3, 60.0)})
    window = SlidingWindow(share, reserve_share=0.0)
    sent = 0
    while window.try_take(10.0, bulk=False):
        sent += 1
        window.replied(10.0, LimitReading(reported, reported - sent, 60.0))
    assert sent == then
    assert window.status(10.0).limit == then


def test_a_share_of_a_limit_gives_way_when_others_have_used_up_more() -> None:
    window = SlidingWindow(RateLimit("uploads", 1_500, 60.0).configured({"uploads": (500, 60.0)}), reserve_share=0.0)
    window.take(0.0)
    window.replied(10.0, LimitReading(1_500, 2, 50.0))
    assert [window.try_take(10.0, bulk=False) for _ in range(3)] == [True, True, False]
    assert window.wait_seconds(10.0, bulk=False) == 50.0


def test_a_documented_limit_is_what_the_service_reports() -> None:
    assert RateLimit("uploads", 1_500, 60.0).configured({"others": (3, 60.0)}).corrected(2_000) == 2_000
