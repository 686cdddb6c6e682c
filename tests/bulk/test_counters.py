"""The counts of a job."""

from typing import Final

import attrs
import pytest

from socialapi.bulk.counters import RowCounters
from socialapi.bulk.products.counters import ProductCounters
from socialapi.reports import MAX_ISSUES_KEPT, Forecast, RowIssue, UploadReport, UpsertReport
from socialapi.routes.route import RateLimit
from socialapi.wire.retry import Attempt

LIMIT: Final = RateLimit("uploads", 1_500, 60.0)


def issues(count: int) -> list[RowIssue]:
    return [RowIssue(number, "email", "is wrong") for number in range(count)]


def test_every_row_read_is_pending_until_it_has_its_one_outcome() -> None:
    counters = RowCounters(LIMIT)
    counters.take_in(10)
    assert counters.report(1.0, dry_run=False).pending == 10
    counters.accept(range(1, 5))
    counters.repeat([5, 6])
    counters.reject(issues(3))
    report = counters.report(1.0, dry_run=False)
    assert (report.read, report.accepted, report.duplicate, report.rejected, report.pending) == (10, 4, 2, 3, 1)
    assert report.adds_up


def test_a_report_names_a_bounded_number_of_rows_and_counts_all() -> None:
    counters = RowCounters(None)
    for _ in range(3):
        counters.reject(issues(700))
        counters.warn(issues(600))
    report = counters.report(1.0, dry_run=False)
    assert (report.rejected, len(report.rejects)) == (2_100, MAX_ISSUES_KEPT)
    assert (report.warnings, len(report.warning_details)) == (1_800, MAX_ISSUES_KEPT)


def test_every_rejected_row_can_be_watched_also_those_that_the_report_has_no_room_for() -> None:
    told: list[int] = []
    counters = RowCounters(None, on_settle=lambda numbers, _outcome, _issues: told.extend(numbers))
    counters.reject(issues(700))
    counters.reject(issues(700))
    assert told == [*range(700), *range(700)]


def test_repeats_are_the_requests_beyond_the_first_of_each_batch() -> None:
    counters = RowCounters(LIMIT, sent_first=2)
    for _ in range(5):
        counters.attempted(Attempt(0.1, 1_000, None))
    report = counters.report(1.0, dry_run=False)
    assert (report.requests, report.retries, report.bytes_sent) == (5, 3, 5_000)


def test_the_quota_used_is_a_share_of_the_windows_that_the_job_took_at_least_one() -> None:
    counters = RowCounters(LIMIT, attempts=750)
    assert counters.report(1.0, dry_run=False).quota_used == 0.5
    assert counters.report(120.0, dry_run=False).quota_used == 0.25
    assert RowCounters(None, attempts=750).report(1.0, dry_run=False).quota_used == 0.0


def test_a_forecast_says_how_long_the_limit_makes_it() -> None:
    counters = RowCounters(LIMIT)
    for _ in range(3_000):
        counters.planned(1_000)
    assert counters.report(1.0, dry_run=True).forecast == Forecast(requests=3_000, bytes=3_000_000, quota_minutes=2.0)
    assert counters.report(1.0, dry_run=False).forecast is None
    assert RowCounters(None, forecast_requests=1).report(1.0, dry_run=True).forecast == Forecast(
        requests=1, bytes=0, quota_minutes=0.0
    )


@pytest.mark.parametrize(
    ("kind", "counters"), [(UploadReport, RowCounters(LIMIT)), (UpsertReport, ProductCounters(None))]
)
def test_every_field_of_a_report_is_what_the_counters_hold_or_follows_from_it(
    kind: type[UploadReport], counters: RowCounters
) -> None:
    held = [field.name for field in attrs.fields(kind) if type(getattr(counters, field.name, None)) is int]
    for value, name in enumerate(held, 1):
        setattr(counters, name, value)
    report = counters.report(2.5, dry_run=True)
    assert type(report) is kind
    assert [getattr(report, name) for name in held] == [*range(1, len(held) + 1)]
    assert report.elapsed_seconds == 2.5
    assert report.forecast is not None
    assert report.rejects == report.warning_details == ()
