"""Reports of bulk jobs and lints, as plain data."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from socialapi.internal import notebook
from socialapi.internal.lazy import own_classes
from socialapi.internal.records import FrozenRecord

MAX_ISSUES_KEPT: Final = 1_000
"""The maximum number of rejected rows, and of warnings, that a report lists. The counts are always complete."""
DEFAULT_REMOVAL_SHARE: Final = 0.1
"""The share of a snapshot that a sync may remove if `max_removal_share` is not given."""
CLEANED: Final = "was cleaned"
"""The beginning of a warning's reason if a value was cleaned before it was sent."""
LOOKS_LIKE_FLOAT: Final = (
    "looks like a number that a spreadsheet or a program has reformatted (1000.0, 1E+15), and is sent unchanged: "
    "export the column as text"
)
"""The reason for a warning about a string that should be an id or a code."""
LOOKS_WRAPPED: Final = (
    'has spreadsheet marks around it (="…", an apostrophe), and is sent unchanged: export the column without them'
)
"""The reason for a warning about a partner's id."""
MAY_BE_FOREIGN: Final = (
    "has no plus sign and is read as a number of the default region or the row's country, but may belong to another "
    'country: set phone_format="national" or phone_format="international"'
)
"""The reason for a warning about phone numbers; the report contains one per column."""
NOT_VALID: Final = (
    "has no country code, and is sent although it is not a valid number of the default region or the row's country: "
    "check the region, and write a plus sign and the country code before foreign numbers"
)
"""The reason for a warning about phone numbers; the report contains one per column."""
UNKNOWN_COUNTRY: Final = (
    "is not a known country, so the phone number is accepted only if it is valid in the default region: use two "
    "or three letters from ISO 3166 (DE, DEU), the name of the country, or a calling code (49)"
)
"""The reason for a warning about the countries of rows; the report contains one per column."""
ROUNDED_ID: Final = (
    "ends in zeros, like all long ids near it, and is sent unchanged: a spreadsheet or JavaScript may have rounded it, so "
    "export the column as text"
)
"""The reason for a warning about user ids; the report contains one per column."""
MOJIBAKE: Final = (
    "looks like UTF-8 that was read in a different encoding (MÃ¼ller for Müller), and is sent unchanged: export the file again as "
    "UTF-8"
)
"""The reason for a warning about e-mail addresses, of which a report contains one per column, and about products."""
NULL_WORD: Final = 'represents a missing value, like "null" and "n/a"'
NULL_DIGEST: Final = f"is a digest of an empty string, of a word that {NULL_WORD}, or of a placeholder"
"""The reasons for warnings about placeholders for missing values; for identifiers, the report contains one per column.
"""
EMPTY_KEY: Final = "is empty: these rows have no key in the outcomes file"
"""The reason for a warning about keys; the report contains one for the column."""
_ABOUT_PHONES: Final = (MAY_BE_FOREIGN, NOT_VALID, UNKNOWN_COUNTRY)
ABOUT_VALUES: Final = (CLEANED, LOOKS_LIKE_FLOAT, LOOKS_WRAPPED, ROUNDED_ID, EMPTY_KEY, *_ABOUT_PHONES)
"""The beginnings of reasons that follow the name of a field whose value was sent."""
IS_NOT_READ: Final = "is not read, "
"""The beginning of the reason for a warning about a complete column, which has the `row` 0."""
HOLDS_IDENTIFIERS: Final = f"{IS_NOT_READ}but its first rows contain"


@attrs.frozen
class RowIssue(FrozenRecord):
    """The reason why a row, or one of its fields, was not used. It quotes no value.

    `row` counts the data rows from 1. For products, `product_id` is the product's id if it could be read, and `row` is
    0 for a product that is not in any row. If the input has several files, rows are numbered consecutively, and `file`
    and `file_row` locate the row.
    """

    row: int
    field: str
    reason: str
    product_id: str | None = None
    file: str | None = None
    file_row: int | None = None


@attrs.frozen
class IssueGroup(FrozenRecord):
    """The rows that were rejected, or sent with a warning, for one reason."""

    field: str
    reason: str
    count: int
    first: tuple[RowIssue, ...]
    """The first of these rows, at most 5. Their `row` is 0 if the reason concerns the complete input or a complete
    column.
    """


@attrs.frozen(kw_only=True)
class Forecast(FrozenRecord):
    """The result of a dry run: what sending the valid rows would take."""

    requests: int
    bytes: int
    quota_minutes: float
    """The minimum time that the rate limit allows for these requests, in minutes."""

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "Forecast":
        """Reads the forecast in a report, which may come from a catalog load."""
        is_load = cls is Forecast and isinstance(data, dict) and "vanished" in data
        forecast: Forecast = read(data, LoadForecast if is_load else cls)
        return forecast


@attrs.frozen(kw_only=True)
class LoadForecast(Forecast):
    """The result of a dry run of a catalog load with a digest file, compared with the last load."""

    new: int
    """Products that were never loaded."""
    changed: int
    """Products that differ from the last load."""
    unchanged: int
    """Products that a load would skip."""
    vanished: int
    """Products of earlier loads that are not in this input."""


_OF_ROWS: Final = ("rejects", "warning_details", "reject_groups", "warning_groups")


@attrs.frozen(kw_only=True)
class UploadReport(FrozenRecord):
    """The result of an upload.

    Every row read counts as exactly one of accepted, rejected, duplicate and pending.
    """

    read: int = 0
    accepted: int = 0
    rejected: int = 0
    duplicate: int = 0
    pending: int = 0
    warnings: int = 0
    requests: int = 0
    retries: int = 0
    repeated: int = 0
    """Accepted products whose id had already occurred in the input; they were sent in input order. In a sync, accepted
    rows known to be duplicates of a row that was sent.
    """
    resumed: int = 0
    """Rows whose outcome an earlier run had recorded in the journal. They were not sent again."""
    bytes_sent: int = 0
    elapsed_seconds: float = 0.0
    quota_used: float = 0.0
    """Requests sent, as a share of the requests that the rate limit allows during the job (at least one window)."""
    rejects: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first rejected rows, at most 1,000. The rejects file contains all of them."""
    warning_details: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first warnings, at most `MAX_ISSUES_KEPT`, about omitted fields and cleaned values. Warnings about the
    complete input have row 0.
    """
    reject_groups: tuple[IssueGroup, ...] = attrs.field(default=(), repr=False)
    """The reasons for all rejected rows with their counts, most frequent first: at most 100, and the rest as one."""
    warning_groups: tuple[IssueGroup, ...] = attrs.field(default=(), repr=False)
    """The reasons for all warnings, in the same form."""
    rejects_path: str | None = None
    columns: Mapping[str, str] = attrs.field(factory=dict, repr=False, hash=False)
    """How each used column or key was read: as an identifier kind, an override, `region` for the country of phone
    numbers, or a product field. A name that may be data is not shown.
    """
    ignored_columns: tuple[str, ...] = ()
    """The names of columns or keys that are not used. A name that may be data is not shown."""
    forecast: Forecast | None = None

    @property
    def adds_up(self) -> bool:
        """Whether every row read has exactly one outcome."""
        return self.read == self.accepted + self.rejected + self.duplicate + self.pending

    @property
    def counts(self) -> dict[str, int]:
        """All integer counts of the report."""
        return {name: value for name, value in self.summary().items() if type(value) is int}

    @property
    def rows_per_second(self) -> float:
        """Rows read per second of the job."""
        return self.read / self.elapsed_seconds if self.elapsed_seconds else 0.0

    def summary(self) -> dict[str, Any]:
        """Returns the counts as JSON-ready values, without the lists of rows.

        `forecast` is included only after a dry run.
        """
        data = attrs.asdict(self, filter=attrs.filters.exclude(*_OF_ROWS, "columns"))
        if self.forecast is None:
            del data["forecast"]
        return data

    def to_dict(self) -> dict[str, Any]:
        """Returns the complete report as JSON-ready values, including the listed rows.

        `forecast` is included only after a dry run.
        """
        data = super().to_dict()
        if self.forecast is None:
            del data["forecast"]
        return data

    def _repr_html_(self) -> str:
        return notebook.table(type(self).__name__, ["", "value"], [*self._shown().items()])

    def _shown(self) -> dict[str, Any]:
        """Returns the values that a notebook shows, by name: the same as in the repr, except nested reports."""
        names = (field.name for field in attrs.fields(type(self)) if field.repr)
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if not isinstance(value, UploadReport)}

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "UploadReport":
        """Reads the report in a `Progress`, which may come from any job."""
        names = data if cls is UploadReport and isinstance(data, dict) else {}
        kind = SyncReport if "additions" in names else UpsertReport if "vanished_ids" in names else cls
        report: UploadReport = read(data, kind)
        return report


@attrs.frozen(kw_only=True)
class UpsertReport(UploadReport):
    """The result of a catalog load. Accepted products were created, updated, unchanged or skipped.

    `unchanged` products were sent and reported as unchanged by the service. `skipped` products were not sent, because
    they have not changed since the last load. `vanished` products were loaded earlier and are not in this input:
    `deleted` of them were deleted, and the deletion of `unconfirmed` of them was refused or not confirmed, so the next
    load tries again.
    """

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    vanished: int = 0
    deleted: int = 0
    unconfirmed: int = 0
    vanished_ids: tuple[str, ...] = attrs.field(default=(), repr=False)
    """The first vanished products, at most 1,000."""

    @property
    def adds_up(self) -> bool:
        """Whether every product read has exactly one outcome."""
        return super().adds_up and self.accepted == self.created + self.updated + self.unchanged + self.skipped


@attrs.frozen(kw_only=True)
class SyncReport(UploadReport):
    """The result of a sync. `read` counts the desired rows, and `accepted` those that were unchanged or added.

    A sync reports no duplicates: a row that repeats an accepted row counts as accepted, so the same input produces the
    same counts every night.

    `additions` counts rows to be sent because one of their identifiers is not in the snapshot; they are sent with all
    identifiers. `removals` counts identifiers, each sent as a separate user. Unfinished additions and removals are
    pending. `requests`, `retries` and `bytes_sent` include additions and removals.
    """

    unchanged: int = 0
    """Rows whose identifiers were all in the snapshot already."""
    additions: UploadReport = UploadReport()
    removals: UploadReport = UploadReport()
    held_back: int = 0
    """Identifiers that are no longer desired but were kept, because rows were rejected or the share of removals is too
    large.
    """
    identifiers_before: int = 0
    """Identifiers in the snapshot that had not expired."""
    identifiers_after: int = 0
    """Identifiers that are in the audience, or may be in it because a response is missing. They are not recounted after
    an interruption.
    """

    @property
    def adds_up(self) -> bool:
        """Whether every desired row has exactly one outcome."""
        return super().adds_up and self.accepted == self.unchanged + self.additions.accepted

    def summary(self) -> dict[str, Any]:
        """Returns the counts as JSON-ready values, including additions and removals."""
        return super().summary() | {"additions": self.additions.summary(), "removals": self.removals.summary()}

    def to_dict(self) -> dict[str, Any]:
        """Returns the complete report as JSON-ready values, including additions and removals."""
        return super().to_dict() | {"additions": self.additions.to_dict(), "removals": self.removals.to_dict()}

    def _repr_html_(self) -> str:
        whole, *parts = (each._shown() for each in (self, self.additions, self.removals))  # noqa: SLF001  # of this class
        rows = [(name, value, *(part.get(name) for part in parts)) for name, value in whole.items()]
        return notebook.table("SyncReport", ["", "whole", "additions", "removals"], rows)


@attrs.frozen(kw_only=True)
class Progress(FrozenRecord):
    """The state of a running job: its counts so far, how far along it is, and the estimated time remaining.

    `fraction_read` is from 0 to 1, or None if unknown.
    """

    report: UploadReport
    fraction_read: float | None = None
    in_flight: int = 0
    """Requests currently in flight."""
    note: str | None = None
    """The reason why the job is waiting, for example `retrying after HTTP 503`; None if it is not waiting."""
    phase: str = ""
    """The current phase of a sync: `reading`, `adding` or `removing`. Each phase counts its rows separately."""
    rows_done: int = 0
    """Rows that have an outcome."""
    rows_total: int | None = None
    """The total number of rows, or None if unknown."""
    is_total_estimated: bool = False
    """Whether `rows_total` is estimated from the share of the input that was read."""
    rows_per_second: float = 0.0
    seconds_left: float | None = None
    """The estimated time for the remaining rows, based on the speed so far and the rate limit; None if unknown."""

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


Risk = Literal["low", "medium", "high"]


@attrs.frozen
class Finding(FrozenRecord):
    """A finding of linting an input.

    `is_error` is true if rows, or some of their values, cannot be used. `risk` is how much the finding lowers the
    expected number of matches.
    """

    text: str
    risk: Risk
    is_error: bool = False


@attrs.frozen(kw_only=True)
class ColumnLint(FrozenRecord):
    """A column from which identifiers are read. A name that may be data is not shown."""

    name: str
    kind: str
    present: int
    digests: int


@attrs.frozen(kw_only=True)
class KindLint(FrozenRecord):
    """The counts of values of one identifier kind in an input. Blank values are not counted."""

    kind: str
    present: int = 0
    usable: int = 0
    """Values that an upload would send, including values that cannot match anyone."""
    cleaned: int = 0
    """Usable values with export artifacts that an upload would remove, such as quotation marks or `mailto:`."""
    like_floats: int = 0
    """Usable values of `partner_user_id` that look like numbers rewritten by a spreadsheet."""
    digests: int = 0
    """SHA-256 digests, which are sent as lowercase hexadecimal digits."""
    upper_case: int = 0
    """Digests with uppercase letters."""
    wrong_length: int = 0
    """Hexadecimal strings as long as other digests (MD5, SHA-1, …), or nearly as long as SHA-256."""
    of_nothing: int = 0
    """Digests of an empty string."""
    hashed_twice: int = 0
    """Digests of digests of an empty string or of a placeholder. Other double hashes cannot be detected."""
    placeholders: int = 0
    """Placeholders for missing values, such as `n/a` or `test@example.com`, hashed or not. Words such as `n/a` are not
    usable.
    """
    no_country_code: int = 0
    """Phone numbers without a country code."""
    by_region: int = 0
    """Phone numbers that are usable only because of the default region or of the row's country."""
    may_be_foreign: int = 0
    """Phone numbers without a plus sign that are read as numbers of the region, but may belong to another country."""
    reasons: Mapping[str, int] = attrs.field(factory=dict)
    """The reasons why values are not usable, with their counts."""


@attrs.frozen(kw_only=True)
class LintReport(FrozenRecord):
    """The result of linting an input before an upload. It contains no values of the input."""

    rows: int
    unusable_rows: int
    """Rows that an upload would reject: without a usable identifier, or unreadable."""
    rows_with_several: int
    """Rows with more than one usable identifier."""
    duplicates: int
    """Rows that an upload would count as duplicates; for products, rows whose id occurred before."""
    duplicates_are_exact: bool
    """False if there are too many distinct products to remember; then `duplicates` is an estimate from a sample."""
    kinds: tuple[KindLint, ...]
    columns: tuple[ColumnLint, ...]
    ignored_columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    broken_off: str | None = None
    """The reason why reading the input stopped early; None if it did not."""

    @property
    def match_risk(self) -> Risk:
        """The risk that few rows match: the highest risk among the findings, as a rule of thumb."""
        found = {finding.risk for finding in self.findings}
        return "high" if "high" in found else "medium" if "medium" in found else "low"

    @property
    def has_errors(self) -> bool:
        """Whether there are rows, or values in rows, that cannot be used."""
        return any(finding.is_error for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as JSON-ready values, with `match_risk`."""
        return super().to_dict() | {"match_risk": self.match_risk}

    def _repr_html_(self) -> str:
        caption = f"LintReport: {self.rows:,} rows, {self.unusable_rows:,} unusable, match risk {self.match_risk}"
        names = [field.name for field in attrs.fields(KindLint) if field.name != "reasons"]
        kinds = [[getattr(kind, name) for name in names] for kind in self.kinds]
        findings = [(found.risk, found.text) for found in self.findings[: notebook.MAX_ROWS]]
        return notebook.table(caption, names, kinds) + (
            notebook.table("", ["risk", "finding"], findings) if findings else ""
        )


__dir__ = own_classes(__name__)
