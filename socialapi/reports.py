"""What a bulk job did, as plain data: returned at the end, carried by `BulkError`, shown while it runs; and what a look
at its input found before.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs

MAX_ISSUES_KEPT: Final = 1_000
"""How many rejected rows and how many warnings a report names; the counts are always complete."""
MENDED: Final = "was mended"
"""How the reason of a warning begins that is about a value which was sent without what stood around it."""
LOOKS_LIKE_FLOAT: Final = (
    "looks like a number that a spreadsheet or a program has written in another way (1000.0, 1E+15), and is sent as it is: "
    "export the column as text"
)
"""The reason of a warning about a text that is meant to be an id or a code."""


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
    resumed: int = 0
    """Rows whose outcome an earlier run had confirmed in the journal; they were not sent again."""
    bytes_sent: int = 0
    elapsed_seconds: float = 0.0
    quota_used: float = 0.0
    """Requests sent as a share of what the rate limit allows in the time the job took (at least one window)."""
    rejects: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first rejected rows, at most `MAX_ISSUES_KEPT`; the rejects file has all of them."""
    warning_details: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first warnings, at most `MAX_ISSUES_KEPT`: fields left out of rows that were sent, and values that were mended."""
    rejects_path: str | None = None
    forecast: Forecast | None = None

    @property
    def adds_up(self) -> bool:
        """Whether every row read has exactly one outcome."""
        return self.read == self.accepted + self.rejected + self.duplicate + self.pending

    @property
    def counts(self) -> dict[str, int]:
        """Everything in it that is a number of something."""
        return {name: value for name, value in self.to_dict().items() if type(value) is int}

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
    were loaded last. `vanished` were loaded earlier and are not in this feed; `deleted` of them are gone, and `unconfirmed`
    ones were to be deleted, which the service has refused or not confirmed: the next load tries again.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    vanished: int = 0
    deleted: int = 0
    unconfirmed: int = 0
    vanished_ids: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The first vanished products, at most `MAX_ISSUES_KEPT`."""

    @property
    def adds_up(self) -> bool:
        """Whether every product read has exactly one outcome."""
        return super().adds_up and self.accepted == self.created + self.updated + self.unchanged + self.skipped


@attrs.frozen(kw_only=True)
class SyncReport(UploadReport):
    """The counts of a sync. `read` are the rows of the desired state; accepted ones are unchanged, or were added now.

    `additions` counts the rows to be sent, whole, since something of them is not in the snapshot; `removals` counts
    identifiers, each sent as a user of its own. Of both, what a stop leaves undone is pending. `requests`, `retries` and
    `bytes_sent` are those of both.
    """

    unchanged: int = 0
    """Rows of which every identifier is in the snapshot already."""
    additions: UploadReport = UploadReport()
    removals: UploadReport = UploadReport()
    held_back: int = 0
    """Identifiers that are not desired any more, and were not removed since rows were rejected or the share is too large."""
    identifiers_before: int = 0
    """Identifiers in the snapshot that had not expired."""
    identifiers_after: int = 0
    """Identifiers that the service holds, or may hold because an answer is missing."""

    @property
    def adds_up(self) -> bool:
        """Whether every row of the desired state has exactly one outcome."""
        return super().adds_up and self.accepted == self.unchanged + self.additions.accepted

    def to_dict(self) -> dict[str, Any]:
        """As that of an upload, with those of the additions and of the removals in it."""
        return super().to_dict() | {"additions": self.additions.to_dict(), "removals": self.removals.to_dict()}


@attrs.frozen(kw_only=True)
class Progress:
    """A look at a running job: the counts so far, and how much of the input is read (0 to 1; None if unknown)."""

    report: UploadReport
    fraction_read: float | None = None
    in_flight: int = 0
    """Requests on their way now."""
    note: str | None = None
    """Why the job is waiting, if it is: for example `retrying after HTTP 503`."""


Risk = Literal["low", "medium", "high"]


@attrs.frozen
class Finding:
    """Something that a look at an input found. `is_error` when it keeps rows, or some of their values, from any use.

    `risk` is how much it says about the matches to expect.
    """

    text: str
    risk: Risk
    is_error: bool = False


@attrs.frozen(kw_only=True)
class ColumnLint:
    """A column that identifiers are read from. A name that may be data is not shown."""

    name: str
    kind: str
    present: int
    digests: int


@attrs.frozen(kw_only=True)
class KindLint:
    """What an input has of one kind of identifier: counts of values, blank ones left out."""

    kind: str
    present: int = 0
    usable: int = 0
    """What an upload would send, be it good for anything or not."""
    mended: int = 0
    """Values among them around which something stands that an upload would remove: quotation marks, `mailto:`, …"""
    like_floats: int = 0
    """Values of `partner_user_id` among them that look like numbers which a spreadsheet has rewritten."""
    digests: int = 0
    """SHA-256 digests: 64 hexadecimal digits, which are sent as they are, in lower case."""
    upper_case: int = 0
    """Digests among them that are not in lower case."""
    wrong_length: int = 0
    """Hexadecimal texts as long as other digests (MD5, SHA-1, …), or nearly as long as those of SHA-256."""
    of_nothing: int = 0
    """Digests of an empty text."""
    hashed_twice: int = 0
    """Digests of digests of an empty text or of a placeholder. Others cannot be told from digests of a value."""
    placeholders: int = 0
    """Values that stand for none, such as `n/a` or `test@example.com`, hashed or not."""
    no_country_code: int = 0
    """Phone numbers without a country code."""
    by_region: int = 0
    """Those of them that the default region makes usable."""
    reasons: Mapping[str, int] = attrs.field(factory=dict)
    """Why values are not usable, and how many."""


@attrs.frozen(kw_only=True)
class LintReport:
    """What a look at an input found, before anything is uploaded. No value of it is anywhere in here."""

    rows: int
    unusable_rows: int
    """Rows that an upload would reject, since they have no usable identifier or cannot be read."""
    rows_with_several: int
    """Rows with several usable identifiers."""
    duplicates: int
    """Rows with the same identifiers as an earlier one."""
    duplicates_are_exact: bool
    """False when there are too many different rows to remember all: then it is an estimate by a sample of them."""
    kinds: tuple[KindLint, ...]
    columns: tuple[ColumnLint, ...]
    ignored_columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    broken_off: str | None = None
    """Why the input could not be read any further, if it could not."""

    @property
    def match_risk(self) -> Risk:
        """How likely it is that few of the rows are matched: a judgement by rule of thumb, with the findings as reasons."""
        found = {finding.risk for finding in self.findings}
        return "high" if "high" in found else "medium" if "medium" in found else "low"

    @property
    def has_errors(self) -> bool:
        """Whether rows, or some of their values, are of no use."""
        return any(finding.is_error for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values, and the judgement as `match_risk`."""
        return attrs.asdict(self) | {"match_risk": self.match_risk}
