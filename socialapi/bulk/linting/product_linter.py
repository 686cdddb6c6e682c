"""Lints a product feed: counts the products that a load would reject, convert and ignore, in bounded memory."""

import datetime
import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

import attrs

from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.linting.findings import count_reason, linted, of_rows, remarks_of
from socialapi.bulk.products.cells import product_rows, with_main_units
from socialapi.bulk.products.feed import ProductColumns
from socialapi.bulk.products.job import UpsertOptions, broken_fields
from socialapi.bulk.products.rows import ProductRow
from socialapi.models.products import Product
from socialapi.models.validation import Faults, invalid
from socialapi.reports import CLEANED, LOOKS_LIKE_FLOAT, ColumnLint, Finding, KindLint, LintReport, Risk
from socialapi.session.network import Network

_HTML_TAG: Final = re.compile(r"<[a-zA-Z/!][^<>]*>").search
_MANY: Final = 0.1
_SOME: Final = 0.01
HAS_TAGS: Final = "HTML tags, about which the service warns"
MAX_KEPT: Final = 200_000


async def lint_products(
    products: Records,
    *,
    sample: int | None = None,
    write_layout: str | os.PathLike[str] | None = None,
    now: datetime.datetime | None = None,
    allow_empty: bool = True,
    network: Network | None = None,
    **reading: Any,
) -> LintReport:
    """Returns the report that predicts a load of the products, or of the first `sample` products.

    `reading` are the load options for reading the input. `now` is the time of the load, by default the current time.
    Nothing is sent, and memory use stays flat. Raises InvalidInput for invalid options and unreadable input, and NoRows
    for an empty input unless `allow_empty` is true. If reading fails later, the report contains the error.
    """
    faults, options = Faults(), UpsertOptions(**reading)
    if sample is not None and sample < 1:
        faults.append(invalid("sample", "must be at least 1 row"))
    with faults:
        options, selection = options.with_columns()
    faults.refuse()
    linter = ProductLinter(selection, now or datetime.datetime.now(datetime.UTC))
    return await linted(
        linter,
        lambda block: map(product_rows, with_main_units(block).steps()),
        (products, selection, options, network),
        sample=sample,
        write_layout=write_layout,
        allow_empty=allow_empty,
    )


class DuplicateCounter:
    """Counts duplicate rows. The count is exact up to `most` distinct rows, and approximate beyond that.

    The estimate counts the duplicates in a sample (the rows whose hash ends in a certain number of zero bits) and
    scales the count up. The share of sampled rows shrinks as rows are added. Unlike an estimate of the number of
    distinct rows, this is accurate for few duplicates as well as for many.
    """

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._repeats: dict[int, int] = {}
        self._mask = 0

    def add(self, row: Hashable) -> None:
        """Adds a row."""
        key = hash(row)
        if key & self._mask:
            return
        self._repeats[key] = self._repeats.get(key, -1) + 1
        while len(self._repeats) > self._most:
            self._mask = 2 * self._mask + 1
            self._repeats = {key: count for key, count in self._repeats.items() if not key & self._mask}

    @property
    def is_exact(self) -> bool:
        """Whether every row was compared."""
        return not self._mask

    @property
    def duplicates(self) -> int:
        """The number of rows that repeat an earlier one."""
        return sum(self._repeats.values()) * (self._mask + 1)


@attrs.define
class _Counts:
    """The counts of one field."""

    present: int = 0
    refused: int = 0
    converted: int = 0
    like_floats: int = 0
    reasons: Counter[str] = attrs.field(factory=Counter)
    warnings: Counter[str] = attrs.field(factory=Counter)


class ProductLinter:
    """Counts the products of a feed and their problems."""

    def __init__(self, selection: ProductColumns, now: datetime.datetime) -> None:
        self.rows: int = 0
        self._selection = selection
        self._now = now
        self._fields: dict[str, _Counts] = {field.name: _Counts() for field in attrs.fields(Product)}
        self.unusable_rows: int = 0
        self._whole_rows = Counter[str]()
        self._with_tags = 0
        self._ids = DuplicateCounter()

    async def take(self, rows: Iterable[ProductRow]) -> None:
        """Counts products."""
        for row in rows:
            self.rows += 1
            for field in row.shape:
                self._fields[field].present += 1
            for field in row.converted:
                self._fields[field].converted += 1
            description = row.shape.get("description")
            self._with_tags += isinstance(description, str) and _HTML_TAG(description) is not None
            if row.known_id is not None:
                self._ids.add(row.known_id)
            broken = broken_fields(row, self._now)
            self.unusable_rows += bool(broken)
            for field, reason in row.warnings:
                self._fields[field].like_floats += reason == LOOKS_LIKE_FLOAT
                if not broken:
                    count_reason(self._fields[field].warnings, reason)
            for field, reason in broken:
                counts = self._fields.get(field)
                count_reason(self._whole_rows if counts is None else counts.reasons, reason)
            for field in {field for field, _ in broken} & row.shape.keys():
                self._fields[field].refused += 1

    def report(self, broken_off: str | None = None) -> LintReport:
        """Returns the report of the lint."""
        kinds = tuple(
            KindLint(
                kind=field,
                present=counts.present,
                usable=counts.present - counts.refused,
                cleaned=counts.converted,
                like_floats=counts.like_floats,
                reasons=dict(counts.reasons.most_common()),
            )
            for field, counts in self._fields.items()
            if counts.present or counts.reasons
        )
        noted, present = self._selection.noted, {name: counts.present for name, counts in self._fields.items()}
        report = LintReport(
            rows=self.rows,
            unusable_rows=self.unusable_rows,
            rows_with_several=0,
            duplicates=self._ids.duplicates,
            duplicates_are_exact=self._ids.is_exact,
            kinds=kinds,
            columns=tuple(
                ColumnLint(name=shown_name(name), kind=field, present=present.get(field, self.rows), digests=0)
                for name, field in noted.items()
                if field
            ),
            ignored_columns=tuple(self._selection.ignored_columns()),
            findings=(),
            broken_off=broken_off,
        )
        return attrs.evolve(report, findings=tuple(self._findings(report)))

    def _findings(self, report: LintReport) -> Iterator[Finding]:
        yield from remarks_of(self._selection.remarks)
        yield from of_rows(report, dict(self._whole_rows.most_common()), "a load would reject them", _risk)
        for kind in report.kinds:
            for reason, count in kind.reasons.items():
                text = f"{kind.kind}: {count:,} of {report.rows:,} rows: {reason}"
                yield Finding(text, _risk(count / report.rows), is_error=True)
            if kind.cleaned:
                text = f"{kind.kind}: {kind.cleaned:,} of {kind.present:,} values: converted to the service's format"
                yield Finding(text, "low")
        for field, counts in self._fields.items():
            for reason, count in counts.warnings.items():
                is_much = count > _SOME * report.rows and not reason.startswith(CLEANED)
                yield Finding(f"{field}: {count:,} values: {reason}", "medium" if is_much else "low")
        if report.duplicates:
            about = "" if report.duplicates_are_exact else "about "
            text = (
                f"{about}{report.duplicates:,} of {report.rows:,} rows: have the id of an earlier row, "
                "which they replace"
            )
            yield Finding(text, "medium" if report.duplicates > _MANY * report.rows else "low")
        if self._with_tags:
            yield Finding(f"description: {self._with_tags:,} values: {HAS_TAGS}", "low")


def _risk(share: float) -> Risk:
    return "high" if share > _MANY else "medium" if share > _SOME else "low"
