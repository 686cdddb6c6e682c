"""The counters of a running job, and its report."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeVar

import attrs

from socialapi.bulk.ledger import Ledger
from socialapi.bulk.rejects import FILE_COLUMNS, RejectsFile
from socialapi.reports import (
    EMPTY_KEY,
    MAX_ISSUES_KEPT,
    MAY_BE_FOREIGN,
    MOJIBAKE,
    NOT_VALID,
    NULL_DIGEST,
    NULL_WORD,
    ROUNDED_ID,
    UNKNOWN_COUNTRY,
    Forecast,
    IssueGroup,
    RowIssue,
    UploadReport,
)
from socialapi.routes.route import RateLimit
from socialapi.wire.retry import Attempt

P = TypeVar("P", bound=UploadReport)

OnSettle = Callable[[Sequence[int], str, Sequence[RowIssue]], None]
"""A callback that receives row numbers in ascending order, their outcome, and an issue for each rejected row."""
MAX_GROUPS: Final = 100
_GROUPED: Final = (MAY_BE_FOREIGN, NOT_VALID, ROUNDED_ID, UNKNOWN_COUNTRY, MOJIBAKE, NULL_WORD, NULL_DIGEST, EMPTY_KEY)
"""Warnings with these reasons are merged into one per column in a report, with the number of rows."""


OTHER_REASONS: Final = "other reasons"
ROWS_OF_A_GROUP: Final = 5
_place: Final = re.compile(r"\Aline [0-9]+(?:, column [0-9]+)?: ").sub
"""Removes the place in the file at the beginning of a reason, which would make each row a group of its own."""


@attrs.define(eq=False, repr=False)
class IssueGroups:
    """The number of issues for each field and reason, with the first few issues."""

    _counts: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    _first: dict[tuple[str, str], list[RowIssue]] = attrs.field(factory=dict)

    def add(self, issues: Sequence[RowIssue]) -> None:
        """Counts issues."""
        for issue in issues:
            key = (issue.field, _place("", issue.reason))
            if key not in self._first and len(self._first) >= MAX_GROUPS:
                key = ("", OTHER_REASONS)
            self._counts[key] += 1
            first = self._first.setdefault(key, [])
            if len(first) < ROWS_OF_A_GROUP:
                first.append(issue)

    def groups(self, placed: Callable[[Sequence[RowIssue]], Sequence[RowIssue]] = tuple) -> Sequence[IssueGroup]:
        """Returns the groups, most frequent first. `placed` adds the file to each issue. Only the reason of a single issue
        contains its place in the file.
        """
        groups = list[IssueGroup]()
        for (field, reason), count in self._counts.most_common():
            first = tuple(placed(self._first[field, reason]))
            is_single = count == 1 and reason != OTHER_REASONS
            groups.append(IssueGroup(field, first[0].reason if is_single else reason, count, first))
        return groups


@attrs.define(eq=False, repr=False)
class RowCounters:
    """The counts of a job's rows. Every row read is pending until exactly one of `accept`, `reject` and `repeat` is
    called for it. `repeats_are` is the name of the counter for duplicate rows.
    """

    OUTCOMES: ClassVar[tuple[str, ...]] = ("accepted", "rejected", "duplicate")
    """The names of the outcomes. Each row that is read gets exactly one of them."""

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
    """Returns the columns to read that are known so far, each with its field."""
    ignored_columns: Callable[[], Sequence[str]] = tuple
    """Returns the ignored columns that are known so far."""
    notes: Callable[[], Sequence[RowIssue]] = tuple
    """Returns the warnings about the entire input and about entire columns."""
    grouped: IssueGroups = attrs.field(factory=IssueGroups)
    """The warnings that the report merges into one per field and reason."""
    rejected_groups: IssueGroups = attrs.field(factory=IssueGroups)
    warned_groups: IssueGroups = attrs.field(factory=IssueGroups)
    """The warnings that are not in `grouped`."""
    on_settle: OnSettle | None = None
    """Called with the rows that get an outcome, before they are counted."""
    ledger: Ledger | None = None
    file_row_of: Callable[[int], tuple[str, int] | None] = lambda _: None
    """Returns the file of a row and its row number in that file; None if the input does not consist of several files.
    """
    repeats_are: Literal["duplicate", "accepted", "pending"] = "duplicate"

    def take_in(self, rows: int) -> None:
        """Counts rows that were read, and starts the rejects file. Raises InvalidInput if the file cannot be written."""
        if self.rejects_file is not None:
            self.rejects_file.columns = self.columns()
            self.rejects_file.begin()  # an earlier file is replaced only once there is input
        self.read += rows
        self.pending += rows

    def columns(self) -> Sequence[str]:
        """Returns the additional columns of the rejects file, which are known once the first rows are read."""
        return FILE_COLUMNS if self.file_row_of(1) is not None else ()

    def outcomes(self) -> Mapping[str, int]:
        """Returns the number of rows with each outcome so far."""
        return {name: getattr(self, name) for name in self.OUTCOMES}

    def accept(self, numbers: Sequence[int], outcome: str = "accepted") -> None:
        """Counts pending rows as accepted with this outcome. If the outcome is empty, the caller records it later."""
        self._settle(numbers, outcome)
        self.pending -= len(numbers)
        self.accepted += len(numbers)

    def repeat(self, numbers: Sequence[int]) -> None:
        """Counts pending rows that repeat earlier rows."""
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
        """Counts pending rows as rejected, one issue per row. `values` are the cells of each row
        for the additional columns of the rejects file.
        """
        if self.on_settle is not None:
            in_order = sorted(issues, key=operator.attrgetter("row"))
            self._settle([issue.row for issue in in_order], "rejected", in_order)
        self.pending -= len(issues)
        self.rejected += len(issues)
        self.rejected_groups.add(issues)
        issues = self._placed(issues)
        self.rejects.extend(issues[: MAX_ISSUES_KEPT - len(self.rejects)])
        if self.rejects_file is not None:
            file_rows = [(issue.file, issue.file_row) for issue in issues if issue.file is not None]
            self.rejects_file.write(issues, values or file_rows)

    def warn(self, issues: Sequence[RowIssue]) -> None:
        """Counts warnings about values in rows that are sent."""
        single, grouped = list[RowIssue](), list[RowIssue]()
        for issue in issues:
            (single if issue.reason not in _GROUPED or issue.product_id is not None else grouped).append(issue)
        self.warnings += len(single)
        self.grouped.add(grouped)
        self.warned_groups.add(single)
        room = MAX_ISSUES_KEPT - len(self.warning_details)
        self.warning_details.extend(self._placed(single[:room]))

    def _placed(self, issues: Sequence[RowIssue]) -> Sequence[RowIssue]:
        """Returns the issues. If the input has several files, adds each issue's file and row number in that file."""
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
        """Returns the report with the current counts."""
        return report_of(UploadReport, self, self.sending(elapsed_seconds, dry_run=dry_run))

    def sending(self, elapsed_seconds: float, *, dry_run: bool) -> Mapping[str, object]:
        """Returns the fields of a report that are computed from the counts."""
        notes, grouped = self.notes(), self.grouped.groups(self._placed)
        of_groups = [
            attrs.evolve(each.first[0], reason=f"{each.reason} ({each.count:,} rows; this is the first)")
            if each.count > 1
            else each.first[0]
            for each in grouped
        ]
        groups = [*notes, *of_groups]
        of_notes = (IssueGroup(each.field, each.reason, 1, (each,)) for each in notes)
        return {
            "requests": self.attempts,
            "retries": max(0, self.attempts - self.sent_first),
            "elapsed_seconds": elapsed_seconds,
            "quota_used": quota_used(self.rate, self.attempts, elapsed_seconds),
            "rejects_path": str(self.rejects_file.path) if self.rejects_file is not None else None,
            "forecast": self._forecast() if dry_run else None,
            "columns": self.read_columns(),
            "ignored_columns": tuple(self.ignored_columns()),
            "reject_groups": tuple(self.rejected_groups.groups(self._placed)),
            "warning_groups": (*of_notes, *grouped, *self.warned_groups.groups(self._placed)),
            "warnings": self.warnings + len(groups),
            "warning_details": tuple((*groups, *self.warning_details)[:MAX_ISSUES_KEPT]),
        }

    def _forecast(self) -> Forecast:
        minutes = 0.0
        if self.rate is not None:
            minutes = self.forecast_requests / self.rate.requests * self.rate.window_seconds / 60
        return Forecast(requests=self.forecast_requests, bytes=self.forecast_bytes, quota_minutes=minutes)


def quota_used(rate: RateLimit | None, requests: int, elapsed_seconds: float) -> float:
    """Returns the requests sent as a share of those that the rate limit allows in this time, at least one window."""
    return requests / (rate.requests * max(1.0, elapsed_seconds / rate.window_seconds)) if rate is not None else 0.0


def report_of(kind: type[P], counters: object, computed: Mapping[str, object]) -> P:
    """Returns a report of class `kind`. Each field comes from `computed`, or else from the
    attribute of `counters` with the same name.
    """
    fields: dict[str, Any] = {}
    for field in attrs.fields(kind):
        value = computed[field.name] if field.name in computed else getattr(counters, field.name)
        fields[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**fields)
