"""What a bulk job did, as plain data: returned at the end, carried by `BulkError`, shown while it runs."""

from typing import Any, Final

import attrs

MAX_ISSUES_KEPT: Final = 1_000
"""How many rejected rows and how many warnings a report names; the counts are always complete."""


@attrs.frozen
class RowIssue:
    """Why a row, or one field of it, was not used. `row` counts the data rows from 1; no value is quoted.

    Of products, `product_id` says which one, as far as it could be read; `row` is 0 for one that is in no row. Of an input
    of several files, whose rows are numbered through, `file` and `file_row` say where the row is.
    """

    row: int
    field: str
    reason: str
    product_id: str | None = None
    file: str | None = None
    file_row: int | None = None


@attrs.frozen(kw_only=True)
class Forecast:
    """What sending the valid rows would take; the result of a dry run."""

    requests: int
    bytes: int
    quota_minutes: float
    """The least time that the rate limit allows for so many requests, in minutes."""


@attrs.frozen(kw_only=True)
class UploadReport:
    """The counts of an upload. Every row read is in exactly one of accepted, rejected, duplicate and pending."""

    read: int = 0
    accepted: int = 0
    rejected: int = 0
    duplicate: int = 0
    pending: int = 0
    warnings: int = 0
    requests: int = 0
    retries: int = 0
    bytes_sent: int = 0
    elapsed_seconds: float = 0.0
    quota_used: float = 0.0
    """Requests sent as a share of what the rate limit allows in the time the job took (at least one window)."""
    rejects: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first rejected rows, at most `MAX_ISSUES_KEPT`; the rejects file has all of them."""
    warning_details: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first warnings, at most `MAX_ISSUES_KEPT`: fields left out of rows that were sent."""
    rejects_path: str | None = None
    forecast: Forecast | None = None

    @property
    def adds_up(self) -> bool:
        """Whether every row read has exactly one outcome."""
        return self.read == self.accepted + self.rejected + self.duplicate + self.pending

    @property
    def rows_per_second(self) -> float:
        """Rows read per second of the job."""
        return self.read / self.elapsed_seconds if self.elapsed_seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON-ready values, without the lists of single rows; `forecast` only after a dry run."""
        data = attrs.asdict(self, filter=attrs.filters.exclude("rejects", "warning_details"))
        if self.forecast is None:
            del data["forecast"]
        return data


@attrs.frozen(kw_only=True)
class UpsertReport(UploadReport):
    """The counts of a catalog load. Accepted products were created, updated, unchanged, or skipped.

    `unchanged` is what the service says of products that it was sent, `skipped` were not sent, since they are as they
    were loaded last. `vanished` were loaded earlier and are not in this feed; `deleted` of them are gone.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    vanished: int = 0
    deleted: int = 0
    vanished_ids: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The first vanished products, at most `MAX_ISSUES_KEPT`."""

    @property
    def adds_up(self) -> bool:
        """Whether every product read has exactly one outcome."""
        return super().adds_up and self.accepted == self.created + self.updated + self.unchanged + self.skipped


@attrs.frozen(kw_only=True)
class Progress:
    """A look at a running job: the counts so far, and how much of the input is read (0 to 1; None if unknown)."""

    report: UploadReport
    fraction_read: float | None = None
    in_flight: int = 0
    """Requests on their way now."""
    note: str | None = None
    """Why the job is waiting, if it is: for example `retrying after HTTP 503`."""
