"""Reports of bulk jobs and of linting an input, as plain data."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from socialapi.internal import notebook
from socialapi.internal.lazy import own_classes
from socialapi.internal.records import FrozenRecord

MAX_ISSUES_KEPT: Final = 1_000
"""How many rejected rows and how many warnings a report names. The counts are always complete."""
DEFAULT_REMOVAL_SHARE: Final = 0.1
"""The share of a snapshot that a sync may remove unless `max_removal_share` is given."""
CLEANED: Final = "was cleaned"
"""The start of the reason of a warning about a value that was sent without its leftovers."""
LOOKS_LIKE_FLOAT: Final = (
    "looks like a number that a spreadsheet or a program has written in another way (1000.0, 1E+15), and is sent as it is: "
    "export the column as text"
)
"""The reason of a warning about a string that should be an id or a code."""
LOOKS_WRAPPED: Final = 'has marks around it (="…", an apostrophe), as spreadsheets leave them, and is sent as it is: export the column without them'
"""The reason of a warning about an id of the partner."""
MAY_BE_FOREIGN: Final = (
    "has no plus sign and is read as a number of the default region or of the row's country, and could be one of another "
    'country as well: phone_format="national" or phone_format="international" says which'
)
"""The reason of a warning about phone numbers; the report has one for each column."""
UNKNOWN_COUNTRY: Final = (
    "names no country that is known, so that the phone number is taken only if it is valid in the default region: write two "
    "or three letters of ISO 3166 (DE, DEU), the name of the country or a calling code (49)"
)
"""The reason of a warning about countries of rows; the report has one for each column."""
MOJIBAKE: Final = (
    "looks like UTF-8 that was read in another encoding (MÃ¼ller for Müller), and is sent as it is: export the file again as "
    "UTF-8"
)
"""The reason of a warning about e-mail addresses; the report has one for each column."""
NULL_WORD: Final = 'stands for no value, as "null" and "n/a" do'
NULL_DIGEST: Final = f"is a digest of an empty text or of a word that {NULL_WORD}, or a placeholder"
"""The reasons of warnings about values that are none; of identifiers, the report has one for each column."""
EMPTY_KEY: Final = "is empty: the lines of these rows in the outcomes file have no key"
"""The reason of a warning about keys; the report has one for the column."""
HOLDS_IDENTIFIERS: Final = "is not read, and its first rows hold"
"""The start of the reason of a warning about a column as a whole, whose `row` is 0."""


@attrs.frozen
class RowIssue(FrozenRecord):
    """Why a row, or one field of it, was not used. No value is quoted.

    `row` counts the data rows from 1. For products, `product_id` is the product's id if it could be
    read, and `row` is 0 for a product that is in no row. For an input of several files, whose rows
    are numbered consecutively, `file` and `file_row` say where the row is.
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
    """The first of these rows, at most 5. Their `row` is 0 if the reason concerns the input or a column as a whole."""


@attrs.frozen(kw_only=True)
class Forecast(FrozenRecord):
    """What sending the valid rows would take: the result of a dry run."""

    requests: int
    bytes: int
    quota_minutes: float
    """The minimum time that the rate limit allows for these requests, in minutes."""

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "Forecast":
        """The forecast within a report may be that of a catalog load."""
        is_load = cls is Forecast and isinstance(data, dict) and "vanished" in data
        forecast: Forecast = read(data, LoadForecast if is_load else cls)
        return forecast


@attrs.frozen(kw_only=True)
class LoadForecast(Forecast):
    """The result of a dry run of a catalog load with a digest file, compared with what was loaded last."""

    new: int
    """Products that were never loaded."""
    changed: int
    """Products that are not as they were loaded last."""
    unchanged: int
    """Products that a load would skip."""
    vanished: int
    """Products of earlier loads that are not in this input."""


_OF_ROWS: Final = ("rejects", "warning_details", "reject_groups", "warning_groups")


@attrs.frozen(kw_only=True)
class UploadReport(FrozenRecord):
    """The result of an upload.

    Every row read is in exactly one of accepted, rejected, duplicate and pending.
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
    """Accepted products whose id came before, which were sent in their order; of a sync, accepted rows
    that repeat one that was sent, as far as that is known.
    """
    resumed: int = 0
    """Rows whose outcome an earlier run had recorded in the journal. They were not sent again."""
    bytes_sent: int = 0
    elapsed_seconds: float = 0.0
    quota_used: float = 0.0
    """Requests sent, as a share of those that the rate limit allows in the job's time (at least one window)."""
    rejects: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first rejected rows, at most 1,000. The rejects file has all of them."""
    warning_details: tuple[RowIssue, ...] = attrs.field(default=(), repr=False)
    """The first warnings, at most `MAX_ISSUES_KEPT`, about fields left out and values that were
    cleaned; those about the input as a whole have row 0.
    """
    reject_groups: tuple[IssueGroup, ...] = attrs.field(default=(), repr=False)
    """The reasons of all rejected rows, with their counts: the most frequent first, at most 100 and the rest as one."""
    warning_groups: tuple[IssueGroup, ...] = attrs.field(default=(), repr=False)
    """The same for warnings."""
    rejects_path: str | None = None
    columns: Mapping[str, str] = attrs.field(factory=dict, repr=False, hash=False)
    """What each column or key that is read was read as: an identifier kind, an override, `region` for
    the country of phone numbers, or a field of a product. A name that may be data is not shown.
    """
    ignored_columns: tuple[str, ...] = ()
    """The names of columns or keys that are not read. A name that may be data is not shown."""
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
        """Returns the counts as JSON-ready values, without the lists of single rows.

        `forecast` is included only after a dry run.
        """
        data = attrs.asdict(self, filter=attrs.filters.exclude(*_OF_ROWS, "columns"))
        if self.forecast is None:
            del data["forecast"]
        return data

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole report as JSON-ready values, with the rows that it names.

        `forecast` is included only after a dry run.
        """
        data = super().to_dict()
        if self.forecast is None:
            del data["forecast"]
        return data

    def _repr_html_(self) -> str:
        return notebook.table(type(self).__name__, ["", "value"], [*self._shown().items()])

    def _shown(self) -> dict[str, Any]:
        """Returns what a notebook shows by name: what the repr does, but for reports within."""
        names = (field.name for field in attrs.fields(type(self)) if field.repr)
        found = {name: getattr(self, name) for name in names}
        return {name: value for name, value in found.items() if not isinstance(value, UploadReport)}

    @classmethod
    def _from_wire(cls, data: Any, read: Callable[..., Any]) -> "UploadReport":
        """The report within a progress may be that of any job."""
        names = data if cls is UploadReport and isinstance(data, dict) else {}
        kind = SyncReport if "additions" in names else UpsertReport if "vanished_ids" in names else cls
        report: UploadReport = read(data, kind)
        return report


@attrs.frozen(kw_only=True)
class UpsertReport(UploadReport):
    """The result of a catalog load. Accepted products were created, updated, unchanged or skipped.

    `unchanged` products were sent and reported as unchanged by the service. `skipped` ones were not
    sent, because they equal what was loaded last. `vanished` ones were loaded earlier and are not
    in this input: `deleted` of them were deleted, and the deletion of `unconfirmed` ones was
    refused or not confirmed, so that the next load tries again.
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
    """The result of a sync. `read` counts the desired rows; accepted ones were unchanged or added.

    A sync has no duplicates: a row that repeats another one is accepted like that one, so that the
    same input has the same counts every night.

    `additions` counts rows to be sent, whole, because an identifier of them is not in the snapshot.
    `removals` counts identifiers, each sent as a user of its own. Whatever of both is left undone
    is pending. `requests`, `retries` and `bytes_sent` cover both.
    """

    unchanged: int = 0
    """Rows of which every identifier was in the snapshot already."""
    additions: UploadReport = UploadReport()
    removals: UploadReport = UploadReport()
    held_back: int = 0
    """Identifiers that are no longer desired but were kept, because rows were rejected or their share is too large."""
    identifiers_before: int = 0
    """Identifiers in the snapshot that had not expired."""
    identifiers_after: int = 0
    """Identifiers that the service holds, or may hold because an answer is missing. After an
    interruption they are not counted anew.
    """

    @property
    def adds_up(self) -> bool:
        """Whether every desired row has exactly one outcome."""
        return super().adds_up and self.accepted == self.unchanged + self.additions.accepted

    def summary(self) -> dict[str, Any]:
        """Returns the counts as JSON-ready values, including those of additions and removals."""
        return super().summary() | {"additions": self.additions.summary(), "removals": self.removals.summary()}

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole report as JSON-ready values, with those of additions and removals."""
        return super().to_dict() | {"additions": self.additions.to_dict(), "removals": self.removals.to_dict()}

    def _repr_html_(self) -> str:
        whole, *parts = (each._shown() for each in (self, self.additions, self.removals))  # noqa: SLF001  # of this class
        rows = [(name, value, *(part.get(name) for part in parts)) for name, value in whole.items()]
        return notebook.table("SyncReport", ["", "whole", "additions", "removals"], rows)


@attrs.frozen(kw_only=True)
class Progress(FrozenRecord):
    """The state of a running job: its counts so far, how far it is and how long it takes yet.

    `fraction_read` is from 0 to 1, or None if unknown.
    """

    report: UploadReport
    fraction_read: float | None = None
    in_flight: int = 0
    """Requests in flight now."""
    note: str | None = None
    """Why the job is waiting, if it is, for example `retrying after HTTP 503`."""
    phase: str = ""
    """What a sync does now: `reading`, `adding` or `removing`, each with rows of its own."""
    rows_done: int = 0
    """Rows that have their outcome."""
    rows_total: int | None = None
    """The number of rows to be done, or None if unknown."""
    is_total_estimated: bool = False
    """Whether `rows_total` is reckoned from the share of the input that was read."""
    rows_per_second: float = 0.0
    seconds_left: float | None = None
    """How long the rest of the rows takes, by the speed so far and by what the rate limit allows; None if unknown."""

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


Risk = Literal["low", "medium", "high"]


@attrs.frozen
class Finding(FrozenRecord):
    """A finding of linting an input.

    `is_error` is true if rows, or some of their values, cannot be used. `risk` says how much the
    finding lowers the expected number of matches.
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
    """Values that an upload would send, whether or not they can match anybody."""
    cleaned: int = 0
    """Usable values with leftovers of exports that an upload would remove, such as quotation marks or `mailto:`."""
    like_floats: int = 0
    """Usable values of `partner_user_id` that look like numbers rewritten by a spreadsheet."""
    digests: int = 0
    """SHA-256 digests, which are sent in lower-case hexadecimal digits."""
    upper_case: int = 0
    """Digests with upper-case letters."""
    wrong_length: int = 0
    """Hexadecimal strings as long as other digests (MD5, SHA-1, …), or nearly as long as SHA-256."""
    of_nothing: int = 0
    """Digests of an empty string."""
    hashed_twice: int = 0
    """Digests of digests of an empty string or of a placeholder. Other double hashes cannot be detected."""
    placeholders: int = 0
    """Values that stand for none, such as `n/a` or `test@example.com`, hashed or not. Words such as `n/a`
    are not usable.
    """
    no_country_code: int = 0
    """Phone numbers without a country code."""
    by_region: int = 0
    """Phone numbers that are usable only because of the default region or of the row's country."""
    may_be_foreign: int = 0
    """Phone numbers without a plus sign that are read by the region, and could be another country's."""
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
    """Rows that an upload would count as duplicates; of products, those whose id came before."""
    duplicates_are_exact: bool
    """False if there are too many distinct products to remember; then `duplicates` is an estimate from a sample."""
    kinds: tuple[KindLint, ...]
    columns: tuple[ColumnLint, ...]
    ignored_columns: tuple[str, ...]
    findings: tuple[Finding, ...]
    broken_off: str | None = None
    """Why reading the input stopped early, if it did."""

    @property
    def match_risk(self) -> Risk:
        """How likely few rows are to match: the highest risk of the findings, a rule of thumb."""
        found = {finding.risk for finding in self.findings}
        return "high" if "high" in found else "medium" if "medium" in found else "low"

    @property
    def has_errors(self) -> bool:
        """Whether rows, or some of their values, cannot be used."""
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
