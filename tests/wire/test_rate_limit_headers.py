"""What headers say about waits, in every form that is met."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.wire.rate_limit_headers import LimitHeaders, LimitReading, service_time

PREFIXES = ("x-account-rate-limit-", "x-rate-limit-")
NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("1800000042", 42.0),
        ("1800000042.5", 42.5),
        ("1800000042000", 42.0),
        ("42", 42.0),
        ("0.5", 0.5),
        ("Fri, 15 Jan 2027 08:00:42 GMT", 42.0),
        ("Friday, 15-Jan-27 08:00:42 GMT", 42.0),
        ("Fri Jan 15 08:00:42 2027", 42.0),
        ("Fri, 15 Jan 2027 10:00:42 +0200", 42.0),
        *[(text, 42.0) for text in ('"42"', "42;", "42;w=60", "42, 42", "42 s", "42000ms", "2027-01-15T08:00:42Z")],
        ("2027-01-15T10:00:42.0+02:00, 2027-01-15T08:00:40Z", 42.0),
    ],
)
def test_a_moment_is_read_in_every_form(reset: str, seconds: float) -> None:
    assert LimitHeaders(PREFIXES).retry_after_seconds({"retry-after": reset}, NOW) == seconds
    assert LimitHeaders(PREFIXES).retry_after_seconds({"x-rate-limit-reset": reset}, NOW) == seconds


@pytest.mark.parametrize(
    "reset",
    [
        "1799999999",
        "Fri, 15 Jan 2027 07:59:59 GMT",
        "0",
        "-5",
        "",
        "soon",
        "nan",
        "inf",
        "1e300",
        "9999999999999999999",
        "2026-01-15T08:00:42Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+14:00",
        "PT30S",
        "Fri, 99 Foo 2027 08:00:00 GMT",
        "Fri, 15 Jan 0000 08:00:00 GMT",
        "Fri, 15 Jan 2027 08:00:00 +9999999",
    ],
)
def test_a_moment_in_the_past_or_garbage_counts_as_silence(reset: str) -> None:
    """The official ads SDK failed with TypeError and ValueError on these."""
    assert LimitHeaders(PREFIXES).retry_after_seconds({"retry-after": reset}, NOW) is None
    assert LimitHeaders(PREFIXES).retry_after_seconds({"x-rate-limit-reset": reset}, NOW) is None


@given(
    st.dictionaries(
        st.sampled_from(
            ["retry-after", "date", *(f"{p}{n}" for p in PREFIXES for n in ("limit", "remaining", "reset"))]
        ),
        st.text(st.characters(codec="latin-1")) | st.integers().map(str) | st.floats().map(str),
    )
)
def test_no_header_whatsoever_raises_or_makes_an_endless_wait(headers: dict[str, str]) -> None:
    told = LimitHeaders(PREFIXES).retry_after_seconds(headers, NOW)
    assert told is None or 0 < told <= 366 * 86_400
    reading = LimitHeaders(PREFIXES).read(headers, NOW)
    if reading is not None and reading.resets_in_seconds is not None:
        assert 0 <= reading.resets_in_seconds <= 366 * 86_400


def test_retry_after_goes_before_the_reset_of_a_limit() -> None:
    headers = {"retry-after": "7", "x-rate-limit-reset": "1800000042"}
    assert LimitHeaders(PREFIXES).retry_after_seconds(headers, NOW) == 7.0


def test_the_clock_of_the_service_counts_and_not_ours() -> None:
    """Its Date header is an hour behind this machine's clock."""
    headers = {"date": "Fri, 15 Jan 2027 07:00:00 GMT", "x-rate-limit-reset": "1799996442", "x-rate-limit-limit": "15"}
    assert service_time(headers, NOW) == NOW - 3600
    assert LimitHeaders(PREFIXES).retry_after_seconds(headers, NOW) == 42.0
    assert LimitHeaders(PREFIXES).read(headers, NOW) == LimitReading(15, None, 42.0)


def test_a_date_that_cannot_be_read_leaves_our_clock() -> None:
    assert service_time({"date": "yesterday"}, NOW) == NOW


def test_a_date_without_a_zone_is_in_utc_wherever_this_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert service_time({"date": "Fri Jan 15 08:00:42 2027"}, 0.0) == NOW + 42
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_limit_is_read_whole() -> None:
    headers = {"x-rate-limit-limit": "1500", "x-rate-limit-remaining": "1499", "x-rate-limit-reset": "1800000060"}
    assert LimitHeaders(PREFIXES).read(headers, NOW) == LimitReading(1500, 1499, 60.0)


def test_the_headers_of_the_account_are_preferred_when_present() -> None:
    headers = {
        "x-rate-limit-limit": "1500",
        "x-rate-limit-remaining": "1499",
        "x-rate-limit-reset": "1800000060",
        "x-account-rate-limit-limit": "100",
        "x-account-rate-limit-remaining": "3",
        "x-account-rate-limit-reset": "1800000900",
    }
    assert LimitHeaders(PREFIXES).read(headers, NOW) == LimitReading(100, 3, 900.0)
    assert LimitHeaders(tuple(reversed(PREFIXES))).read(headers, NOW) == LimitReading(1500, 1499, 60.0)


def test_the_limit_that_is_used_up_is_the_one_to_wait_for() -> None:
    headers = {
        "x-account-rate-limit-remaining": "500",
        "x-account-rate-limit-reset": "1800000900",
        "x-rate-limit-remaining": "0",
        "x-rate-limit-reset": "1800000030",
    }
    assert LimitHeaders(PREFIXES).retry_after_seconds(headers, NOW) == 30.0
    assert LimitHeaders(PREFIXES).retry_after_seconds(headers | {"x-rate-limit-remaining": "9"}, NOW) is None


def test_numbers_that_are_none_are_left_out() -> None:
    headers = {"x-rate-limit-limit": "many", "x-rate-limit-remaining": "-3", "x-rate-limit-reset": "later"}
    assert LimitHeaders(PREFIXES).read(headers, NOW) == LimitReading(None, 0, None)
    assert LimitHeaders(PREFIXES).read({"x-rate-limit-limit": "-1", "x-rate-limit-remaining": "-1"}, NOW) is None


@pytest.mark.parametrize("name", ["limit", "remaining", "reset"])
def test_a_number_beyond_all_bounds_is_as_if_it_were_not_there(name: str) -> None:
    headers = {"x-rate-limit-limit": "10", "x-rate-limit-remaining": "5", "x-rate-limit-reset": "30"}
    reading = LimitHeaders(["x-rate-limit-"]).read({**headers, f"x-rate-limit-{name}": "9" * 400}, 0.0)
    assert reading is not None
    assert getattr(reading, {"reset": "resets_in_seconds"}.get(name, name)) is None
