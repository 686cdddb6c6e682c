"""Lints the records of an upload: counts usable, suspicious and duplicate values in bounded memory."""

import datetime
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.cleanup import DIGEST_LENGTHS, digest_in, why_no_digest
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.audiences.job import UploadOptions
from socialapi.bulk.audiences.normalize import trimmed
from socialapi.bulk.audiences.phone_numbers import NO_REGION
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT, OVERRIDES, shown_name
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.inputs.numbers import texts_of
from socialapi.bulk.linting.findings import (
    count_reason,
    findings_of,
    is_counted,
    known_digests,
    linted,
    remarks_of,
)
from socialapi.bulk.rows import Values
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import IDENTIFIER_KINDS, NO_IDENTIFIER, IdentifierKind
from socialapi.models.validation import Faults, invalid
from socialapi.reports import (
    CLEANED,
    LOOKS_LIKE_FLOAT,
    LOOKS_WRAPPED,
    MAY_BE_FOREIGN,
    MOJIBAKE,
    NULL_DIGEST,
    NULL_WORD,
    UNKNOWN_COUNTRY,
    ColumnLint,
    KindLint,
    LintReport,
    RowIssue,
)
from socialapi.session.network import Network

_OVERRIDES: Final = frozenset(OVERRIDES)
_OF_COLUMNS: Final = frozenset({MOJIBAKE, UNKNOWN_COUNTRY})
"""The reasons for warnings that a lint reports once per column."""


async def lint_records(
    records: Records,
    *,
    kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
    sample: int | None = None,
    write_layout: str | os.PathLike[str] | None = None,
    takes_effective_at: bool = True,
    now: datetime.datetime | None = None,
    allow_empty: bool = True,
    network: Network | None = None,
    **reading: Any,
) -> LintReport:
    """Returns the report that predicts an upload of the records, or of the first `sample` records.

    `reading` are the upload options for reading the input. `takes_effective_at` is true if the target accepts a start
    time. `now` is the time of the upload. Nothing is sent, and memory use stays flat. Raises InvalidInput for invalid
    options and unreadable input, and NoRows for an empty input unless `allow_empty` is true. If reading fails later,
    the report contains the error.
    """
    faults, kinds, options = Faults(), tuple(kinds), UploadOptions(**reading)
    if sample is not None and sample < 1:
        faults.append(invalid("sample", "must be at least 1 row"))
    with faults:
        options, selection = options.with_columns(kinds)
    with faults:
        preparer = Preparer(
            now=now or datetime.datetime.now(datetime.UTC),
            default_region=options.default_region,
            phone_format=options.phone_format,
            require_hashed=options.require_hashed,
            kinds=kinds,
            allow_effective=takes_effective_at,
        )
    faults.refuse()
    linter = preparer.observer = Linter(selection, has_region=options.default_region is not None)
    source = records, selection, options, network
    return await linted(
        linter, preparer.prepare, source, sample=sample, write_layout=write_layout, allow_empty=allow_empty
    )


@attrs.define
class _Counts:
    """The counts of one kind, named as in `KindLint`; columns use only the first two."""

    present: int = 0
    digests: int = 0
    usable: int = 0
    cleaned: int = 0
    like_floats: int = 0
    may_be_foreign: int = 0
    upper_case: int = 0
    wrong_length: int = 0
    of_nothing: int = 0
    hashed_twice: int = 0
    placeholders: int = 0
    no_country_code: int = 0
    by_region: int = 0
    reasons: Counter[str] = attrs.field(factory=Counter)


class Linter:
    """Counts the rows that are prepared for an upload, and examines their values."""

    def __init__(self, selection: IdentifierColumns, *, has_region: bool) -> None:
        self.rows: int = 0
        self._selection = selection
        self._has_region = has_region
        self._kinds: dict[str, _Counts] = {kind: _Counts() for kind in selection.kinds}
        self._columns: dict[tuple[str, str], _Counts] = {}
        self.unusable_rows: int = 0
        self._rows_with_several = 0
        self._broken_rows = Counter[str]()
        self._refused_rows = Counter[str]()
        self._remarks = Counter[tuple[str, str]]()
        self._duplicates = 0
        self._recent = RecentIdentifiers()
        self._batch = Batch()
        self._batch.settled.set()

    async def take(self, prepared: PreparedBlock) -> None:
        """Counts prepared rows, which an upload would send or reject."""
        self.rows += len(prepared.rejects)
        for issue in prepared.rejects:
            self._reject(issue)
            await yield_if_due()
        for each in prepared.cleaned:
            known = (each.field, each.reason)
            if each.reason in _OF_COLUMNS and (known in self._remarks or len(self._remarks) < MAX_NAMES_KEPT):
                self._remarks[known] += 1
        for block in prepared.blocks:
            self.rows += len(block)
            identifiers = [len(block.columns)] * len(block)
            for _, values in block.columns if len(block.columns) > 1 else ():
                for gap in values.gaps():
                    identifiers[gap] -= 1
            self._rows_with_several += sum(count > 1 for count in identifiers)
            if self._recent.contradicts(block.action):
                self._recent.begin_to_differ()
            start = 0
            for index in self._recent.repeated(block).indexes:
                self._recent.place_new(block.part(start, index), self._batch)
                row, start = block.row(index), index + 1
                if self._recent.carriers(row) is None:
                    self._recent.place(row, self._batch)
                else:
                    self._duplicates += 1
                await yield_if_due()
            self._recent.place_new(block.part(start, len(block)), self._batch)
            self._recent.turn()
            await yield_if_due()

    def _reject(self, issue: RowIssue) -> None:
        fields = issue.field.split(", ")
        if _OVERRIDES.issuperset(fields):
            for field, reason in zip(fields, issue.reason.split("; "), strict=True):
                count_reason(self._refused_rows, f"{field} {reason}")
            return
        self.unusable_rows += 1
        if not issue.field and issue.reason != NO_IDENTIFIER:
            count_reason(self._broken_rows, issue.reason)

    def saw_column(self, field: str, kind: IdentifierKind, cells: Sequence[Any], values: Values) -> None:
        """Counts the plain values of a column, and examines unusual ones."""
        plain = len(cells) - len(values.gaps())
        if not plain:
            return
        counts, column = self._kinds[kind], self._column(field, kind)
        counts.present += plain
        counts.usable += plain
        column.present += plain
        is_phone, without_code, known = kind == "phone_number", 0, known_digests()
        for cell, value in zip(cells, values, strict=True):
            if value:
                text = cell.strip() if isinstance(cell, str) else next(text for text, _ in texts_of(cell))
                if value in known or len(text) in DIGEST_LENGTHS or (is_phone and is_counted(text)):
                    self._look_closer(kind, text, value, "", column)
                elif is_phone:
                    without_code += "+" not in text
        counts.no_country_code += without_code
        counts.by_region += without_code

    def saw_value(self, field: str, kind: IdentifierKind, text: str, value: str, remark: str) -> None:
        """Counts a value that is not plain, and its problem if it has one."""
        text = trimmed(text)
        if not (text or remark):
            return
        counts, column = self._kinds[kind], self._column(field, kind)
        counts.present += 1
        column.present += bool(text)
        if value:
            counts.usable += 1
            counts.cleaned += remark.startswith((CLEANED, LOOKS_WRAPPED))
            counts.like_floats += remark == LOOKS_LIKE_FLOAT
            counts.may_be_foreign += remark == MAY_BE_FOREIGN
        else:
            count_reason(counts.reasons, remark)
        self._look_closer(kind, text, value, remark, column)

    def _column(self, field: str, kind: str) -> _Counts:
        """Returns the counts of a column. If there are too many columns, only the first ones appear in the report."""
        column = self._columns.get((field, kind))
        if column is None:
            column = _Counts()
            if len(self._columns) < MAX_NAMES_KEPT:
                self._columns[field, kind] = column
        return column

    def _look_closer(self, kind: IdentifierKind, text: str, value: str, remark: str, column: _Counts) -> None:
        """Counts digests, placeholders, missing country codes and other properties of a value."""
        counts = self._kinds[kind]
        if kind == "partner_user_id":
            counts.placeholders += remark == NULL_WORD
            return
        if value and digest_in(text) == value:
            counts.digests += 1
            column.digests += 1
            counts.upper_case += len(text) == len(value) and value != text
        elif kind == "phone_number" and (remark == NO_REGION or (value and "+" not in text)):
            counts.no_country_code += 1
            counts.by_region += bool(value)
        known = known_digests().get(value or digest_in(text))
        if known == "nothing":
            counts.of_nothing += 1
        elif known == "twice":
            counts.hashed_twice += 1
        elif remark in (NULL_WORD, NULL_DIGEST) or (kind == "phone_number" and is_counted(text)):
            counts.placeholders += 1
        elif why_no_digest(text) is not None and not (value and kind == "device_id"):
            counts.wrong_length += 1

    def report(self, broken_off: str | None = None) -> LintReport:
        """Returns the report of the lint."""
        kinds = tuple(
            KindLint(kind=kind, **attrs.asdict(counts) | {"reasons": dict(counts.reasons.most_common())})
            for kind, counts in self._kinds.items()
            if counts.present
        )
        columns = (
            *(
                ColumnLint(name=shown_name(name), kind=kind, present=counts.present, digests=counts.digests)
                for (name, kind), counts in self._columns.items()
            ),
            *(
                ColumnLint(name=name, kind=kind, present=self.rows, digests=0)
                for name, kind in self._selection.read_columns().items()
                if kind not in IDENTIFIER_KINDS
            ),
        )
        report = LintReport(
            rows=self.rows,
            unusable_rows=self.unusable_rows,
            rows_with_several=self._rows_with_several,
            duplicates=self._duplicates,
            duplicates_are_exact=True,
            kinds=kinds,
            columns=columns,
            ignored_columns=tuple(self._selection.ignored_columns()),
            findings=(),
            broken_off=broken_off,
        )
        findings = findings_of(report, self._broken_rows, self._refused_rows, has_region=self._has_region)
        counted = [
            RowIssue(0, shown_name(field), f"has {count:,} values, each of which {reason}")
            for (field, reason), count in self._remarks.items()
        ]
        return attrs.evolve(report, findings=(*remarks_of((*self._selection.remarks, *counted)), *findings))
