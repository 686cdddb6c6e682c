"""The counters of a running product load."""

from collections.abc import Sequence
from typing import ClassVar, Final

import attrs

from socialapi.bulk.counters import RowCounters, report_of
from socialapi.bulk.journals.journal import Outcome
from socialapi.bulk.products.feed import ProductColumns
from socialapi.bulk.products.resume import REFUSED
from socialapi.bulk.products.rows import FIELDS, ProductRow
from socialapi.bulk.rejects import FILE_COLUMNS
from socialapi.reports import Forecast, LoadForecast, RowIssue, UpsertReport

COUNTED: Final = {"CREATE_SUCCESS": "created", "UPDATE_SUCCESS": "updated", "NO_CHANGE": "unchanged"}
"""Maps the service's status for an accepted product to the name of its counter."""

Refused = tuple[ProductRow, str, str]
"""A rejected product, its invalid fields, and the reason."""


@attrs.define(eq=False, repr=False)
class ProductCounters(RowCounters):
    """The counts of a load's products. Products that are skipped as unchanged also count as accepted."""

    OUTCOMES: ClassVar[tuple[str, ...]] = ("created", "updated", "unchanged", "skipped", "rejected")

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    vanished: int = 0
    """The number of products of earlier loads that are missing from this one. `vanished_ids` are the first of them."""
    deleted: int = 0
    unconfirmed: int = 0
    unreadable: int = 0
    """The number of rejected rows whose id could not be read, so that their product is unknown."""
    vanished_ids: list[str] = attrs.field(factory=list)
    foreseen_new: int = 0
    """The number of products read so far that are not in the digest file."""
    foreseen_changed: int = 0
    """The number of products read so far that have changed since the last load."""
    compares: bool = False
    """Whether the load has a digest file."""
    selection: ProductColumns = attrs.field(factory=ProductColumns)

    def columns(self) -> Sequence[str]:
        """Returns the columns of the rejects file: the columns of the feed, or the product fields if the input has
        several files.
        """
        return self.selection.table_names if self.file_row_of(1) is None else (*FILE_COLUMNS, *FIELDS)

    def count(self, name: str, rows: Sequence[ProductRow]) -> None:
        """Counts accepted products under the name of their outcome."""
        self.accept(sorted([row.number for row in rows]), name)
        self.repeated += sum([row.is_repeated for row in rows])
        setattr(self, name, getattr(self, name) + len(rows))

    def resume(self, row: ProductRow, outcome: Outcome) -> None:
        """Counts a product whose outcome an earlier run recorded."""
        self.resumed += 1
        self.warn([RowIssue(row.number, field, reason, row.known_id) for field, reason in outcome.warnings])
        if outcome.outcome == REFUSED:
            self.refuse([(row, outcome.field, outcome.reason)])
        else:
            self.count(outcome.outcome, [row])

    def refuse(self, rows: Sequence[Refused]) -> None:
        """Counts products as rejected, by this job or by the service."""
        issues = [RowIssue(row.number, field, reason, row.known_id) for row, field, reason in rows]
        self.unreadable += sum(not row.is_blank and not row.has_sure_id(field) for row, field, _ in rows)
        self.reject(issues, [self._values(row) for row, _, _ in rows] if self.rejects_file is not None else ())

    def _values(self, row: ProductRow) -> Sequence[object]:
        """Returns the cells of the complete row, so that it can be corrected and loaded again."""
        file_row = self.file_row_of(row.number)
        if row.values is not None and file_row is None:
            return row.values
        return [*(file_row or ()), *(_text(row.shape.get(name, "")) for name in FIELDS)]

    def _forecast(self) -> Forecast:
        forecast = super()._forecast()
        if not self.compares:
            return forecast
        return LoadForecast(
            **attrs.asdict(forecast),
            new=self.foreseen_new,
            changed=self.foreseen_changed,
            unchanged=self.skipped,
            vanished=self.vanished,
        )

    def report(self, elapsed_seconds: float, *, dry_run: bool) -> UpsertReport:
        """Returns the report with the current counts."""
        return report_of(UpsertReport, self, self.sending(elapsed_seconds, dry_run=dry_run))


def _text(value: object) -> str:
    """Returns the value as a string, or an empty string for a value that cannot be converted, such as a number of 5,000
    digits.
    """
    try:
        return str(value)
    except Exception:  # noqa: BLE001  # any error of a user's object
        return ""
