"""The counters of a running job, and the report that is made of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeVar

import attrs

from socialapi.bulk.ledger import Ledger
from socialapi.bulk.rejects import PLACE, RejectsFile
from socialapi.reports import (
    EMPTY_KEY,
    MAX_ISSUES_KEPT,
    MAY_BE_FOREIGN,
    MOJIBAKE,
    NULL_DIGEST,
    NULL_WORD,
    UNKNOWN_COUNTRY,
    Forecast,
    RowIssue,
    UploadReport,
)
from socialapi.routes.route import RateLimit
from socialapi.wire.retry import Attempt

P = TypeVar("P", bound=UploadReport)

OnSettle = Callable[[Sequence[int], str, Sequence[RowIssue]], None]
"""Takes the ascending numbers of rows, their outcome, and why they were rejected."""
MAX_GROUPS: Final = 100
_GROUPED: Final = (MAY_BE_FOREIGN, UNKNOWN_COUNTRY, MOJIBAKE, NULL_WORD, NULL_DIGEST, EMPTY_KEY)
"""The reasons of which a report has one warning for each column, with the count of the rows."""


@attrs.define(eq=False, repr=False)
class RowCounters:
    """Counts rows. Every row read is pending until exactly one of `accept`, `reject` and `repeat`
    is called for it. `repeats_are` names the count of rows that repeat others.
    """

    OUTCOMES: ClassVar[tuple[str, ...]] = ("accepted", "rejected", "duplicate")
    """The counts of which each row that was read ends in one."""

    rate: RateLimit | None
    rejects_file: RejectsFile | None = None
    read: int = 0
    accepted: int = 0
    rejected: int = 0
    duplicate: int = 0
    repeated: int = 0
    pending: int = 0
    warnings: int = 0
    resumed: int = 0
    attempts: int = 0
    sent_first: int = 0
    bytes_sent: int = 0
    forecast_requests: int = 0
    forecast_bytes: int = 0
    rejects: list[RowIssue] = attrs.field(factory=list)
    warning_details: list[RowIssue] = attrs.field(factory=list)
    read_columns: Callable[[], Mapping[str, str]] = dict
    """The columns of the input that are read, as far as they are known by now, and as what."""
    ignored_columns: Callable[[], Sequence[str]] = tuple
    """The columns of the input that are not read, as far as they are known by now."""
    notes: Callable[[], Sequence[RowIssue]] = tuple
    """The warnings about the input as a whole, and about columns as a whole."""
    grouped: dict[tuple[str, str], tuple[int, int]] = attrs.field(factory=dict)
    """The first row and the count of rows of each field and reason of which there is one warning."""
    on_settle: OnSettle | None = None
    """Called with every row that gets an outcome, before it counts."""
    ledger: Ledger | None = None
    file_row_of: Callable[[int], tuple[str, int] | None] = lambda _: None
    """Of an input of several files: which one has a row, and its number there."""
    repeats_are: Literal["duplicate", "accepted", "pending"] = "duplicate"

    def take_in(self, rows: int) -> None:
        """Counts rows that were read. Raises InvalidInput if the rejects file cannot be started."""
        if self.rejects_file is not None:
            self.rejects_file.columns = self.columns()
            self.rejects_file.begin()  # what it held before goes only now that there is an input
        self.read += rows
        self.pending += rows

    def columns(self) -> Sequence[str]:
        """Returns further columns of the rejects file, known once the first rows are read."""
        return PLACE if self.file_row_of(1) is not None else ()

    def outcomes(self) -> Mapping[str, int]:
        """Returns how many rows have had each outcome so far."""
        return {name: getattr(self, name) for name in self.OUTCOMES}

    def accept(self, numbers: Sequence[int], outcome: str = "accepted") -> None:
        """Counts pending rows that the service accepted, which get this outcome; an empty one comes later."""
        self._settle(numbers, outcome)
        self.pending -= len(numbers)
        self.accepted += len(numbers)

    def repeat(self, numbers: Sequence[int]) -> None:
        """Counts pending rows that repeat others."""
        if self.repeats_are != "pending":
            self._settle(numbers, self.repeats_are)
        rows = len(numbers)
        self.pending -= rows
        setattr(self, self.repeats_are, getattr(self, self.repeats_are) + rows)
        self.repeated += rows if self.repeats_are == "accepted" else 0

    def _settle(self, numbers: Sequence[int], outcome: str, issues: Sequence[RowIssue] = ()) -> None:
        if self.on_settle is not None and numbers and outcome:
            self.on_settle(numbers, outcome, issues)

    def reject(self, issues: Sequence[RowIssue], values: Sequence[Sequence[object]] = ()) -> None:
        """Counts pending rows that cannot be used, with an issue each. `values` are further cells
        of the rejects file.
        """
        for issue in issues if self.on_settle is not None else ():
            self._settle([issue.row], "rejected", [issue])
        self.pending -= len(issues)
        self.rejected += len(issues)
        issues = self._placed(issues)
        self.rejects.extend(issues[: MAX_ISSUES_KEPT - len(self.rejects)])
        if self.rejects_file is not None:
            file_rows = [(issue.file, issue.file_row) for issue in issues if issue.file is not None]
            self.rejects_file.write(issues, values or file_rows)

    def warn(self, issues: Sequence[RowIssue]) -> None:
        """Counts warnings about values of rows that are sent."""
        single = list[RowIssue]()
        for issue in issues:
            group = (issue.field, issue.reason)
            if issue.reason not in _GROUPED or issue.product_id is not None:
                single.append(issue)
            elif group in self.grouped or len(self.grouped) < MAX_GROUPS:
                first, count = self.grouped.get(group, (issue.row, 0))
                self.grouped[group] = (first, count + 1)
        self.warnings += len(single)
        room = MAX_ISSUES_KEPT - len(self.warning_details)
        self.warning_details.extend(self._placed(single[:room]))

    def _placed(self, issues: Sequence[RowIssue]) -> Sequence[RowIssue]:
        """Returns the issues with the file that each is about, if there are several files."""
        if not issues or self.file_row_of(issues[0].row) is None:
            return issues
        file_rows = [self.file_row_of(issue.row) or (None, None) for issue in issues]
        return [
            attrs.evolve(issue, file=file, file_row=row) for issue, (file, row) in zip(issues, file_rows, strict=True)
        ]

    def attempted(self, attempt: Attempt) -> None:
        """Counts a request that was sent."""
        self.attempts += 1
        self.bytes_sent += attempt.body_bytes

    def planned(self, size_bytes: int) -> None:
        """Counts a request that a dry run would have sent."""
        self.forecast_requests += 1
        self.forecast_bytes += size_bytes

    def report(self, elapsed_seconds: float, *, dry_run: bool) -> UploadReport:
        """Returns the counts so far."""
        return report_of(UploadReport, self, self.sending(elapsed_seconds, dry_run=dry_run))

    def sending(self, elapsed_seconds: float, *, dry_run: bool) -> Mapping[str, object]:
        """Returns the fields of a report that follow from several counts."""
        grouped = [
            RowIssue(row, field, f"{reason} ({count:,} rows, of which this is the first)" if count > 1 else reason)
            for (field, reason), (row, count) in self.grouped.items()
        ]
        groups = [*self.notes(), *self._placed(grouped)]
        rate, used = self.rate, 0.0
        if rate is not None:
            used = self.attempts / (rate.requests * max(1.0, elapsed_seconds / rate.window_seconds))
        return {
            "requests": self.attempts,
            "retries": max(0, self.attempts - self.sent_first),
            "elapsed_seconds": elapsed_seconds,
            "quota_used": used,
            "rejects_path": str(self.rejects_file.path) if self.rejects_file is not None else None,
            "forecast": self._forecast() if dry_run else None,
            "columns": self.read_columns(),
            "ignored_columns": tuple(self.ignored_columns()),
            "warnings": self.warnings + len(groups),
            "warning_details": tuple((*groups, *self.warning_details)[:MAX_ISSUES_KEPT]),
        }

    def _forecast(self) -> Forecast:
        minutes = 0.0
        if self.rate is not None:
            minutes = self.forecast_requests / self.rate.requests * self.rate.window_seconds / 60
        return Forecast(requests=self.forecast_requests, bytes=self.forecast_bytes, quota_minutes=minutes)


def report_of(kind: type[P], counters: object, computed: Mapping[str, object]) -> P:
    """Returns a report of this class: each field is computed, or is what the counters have under
    its name.
    """
    fields: dict[str, Any] = {}
    for field in attrs.fields(kind):
        value = computed[field.name] if field.name in computed else getattr(counters, field.name)
        fields[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**fields)
