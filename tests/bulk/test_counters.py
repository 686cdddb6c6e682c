"""The counts of a job."""

from typing import Final

import attrs
import pytest

from socialapi.bulk.counters import RowCounters
from socialapi.bulk.products.counters import ProductCounters
from socialapi.reports import Forecast, UploadReport, UpsertReport
from socialapi.routes.route import RateLimit

LIMIT: Final = RateLimit("uploads", 1_500, 60.0)


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
