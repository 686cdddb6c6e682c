"""Lints the records of an upload: counts usable, suspicious and duplicate values in bounded
memory.
"""

import datetime
import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Final

import attrs

from socialapi.bulk.audiences.cells import UserRow, user_rows
from socialapi.bulk.audiences.cleanup import digest_in
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.normalize import Normalizer, Normalizers, Unusable, normalizers, trimmed
from socialapi.bulk.audiences.phone_numbers import NO_REGION, PhoneFormat
from socialapi.bulk.audiences.prepare import Preparer
from socialapi.bulk.inputs.columns import MAX_NAMES_KEPT, ColumnMapping, shown_name
from socialapi.bulk.inputs.formats import Records, open_records
from socialapi.bulk.inputs.reader import NoRows
from socialapi.bulk.linting.duplicates import DuplicateCounter
from socialapi.bulk.linting.findings import count_reason, findings_of, is_placeholder, known_as
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind
from socialapi.reports import LOOKS_LIKE_FLOAT, MAY_BE_FOREIGN, MENDED, ColumnLint, KindLint, LintReport

_is_hexadecimal: Final = re.compile("[0-9a-fA-F]{30,130}").fullmatch
_OTHER_LENGTHS: Final = frozenset({32, 40, 56, 96, 128, *range(60, 64), *range(65, 69)})


async def lint_records(
    records: Records,
    *,
    columns: ColumnMapping | None = None,
    kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
    default_region: str | None = None,
    phone_format: PhoneFormat = "auto",
    require_hashed: bool = False,
    sample: int | None = None,
    takes_effective_at: bool = True,
    now: datetime.datetime | None = None,
    allow_empty: bool = True,
) -> LintReport:
    """Reads the records, or the first `sample` of them, and says what an upload of them has to
    expect.

    `takes_effective_at` says whether the target takes a time of effect, and `now` when the rows
    would be uploaded: at once, if it is left out. Nothing is sent, and memory stays flat. Raises
    InvalidInput for options and input that cannot be used at all, and NoRows for an input without
    rows that is not allowed; where the input breaks later, the report says so.
    """
    if sample is not None and sample < 1:
        raise InvalidInput("sample must be a number of rows of at least 1")
    selection = IdentifierColumns.of(columns, kinds)
    preparer = Preparer(
        now=now or datetime.datetime.now(datetime.UTC),
        default_region=default_region,
        phone_format=phone_format,
        require_hashed=require_hashed,
        kinds=selection.kinds,
        allow_effective=takes_effective_at,
    )
    normalize = normalizers(selection.kinds, default_region, phone_format, require_hashed=require_hashed)
    linter = Linter(selection, preparer, normalize, has_region=default_region is not None)
    try:
        async with open_records(records, selection) as reader:
            async for block in reader:
                for some in block.steps():
                    rows = user_rows(some)
                    linter.take(rows if sample is None else islice(rows, sample - linter.rows))
                    await yield_if_due()
                if linter.rows == sample:
                    break
        if not (linter.rows or allow_empty):
            raise NoRows(reader.why_empty or "the input has no rows")
    except InvalidInput as error:
        if not linter.rows:
            raise
        return linter.report(str(error))
    return linter.report()


@attrs.define
class _Counts:
    """The counts of one kind, named as in `KindLint`; for a column, only the first two."""

    present: int = 0
    digests: int = 0
    usable: int = 0
    mended: int = 0
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
    """Counts row by row."""

    def __init__(
        self, selection: IdentifierColumns, preparer: Preparer, normalize: Normalizers, *, has_region: bool
    ) -> None:
        self.rows: int = 0
        self._selection = selection
        self._preparer = preparer
        self._normalizers = normalize
        self._has_region = has_region
        self._kinds: dict[str, _Counts] = {kind: _Counts() for kind in selection.kinds}
        self._columns: dict[tuple[str, str], _Counts] = {}
        self._unusable_rows = 0
        self._rows_with_several = 0
        self._broken_rows = Counter[str]()
        self._refused_rows = Counter[str]()
        self._duplicates = DuplicateCounter()

    def take(self, rows: Iterable[UserRow]) -> None:
        """Takes some rows in."""
        for row in rows:
            self.rows += 1
            if row.problem is not None:
                count_reason(self._broken_rows, row.problem[1])
            for field, reason in self._preparer.faults_of(row):
                count_reason(self._refused_rows, f"{field} {reason}")
            normalize = self._normalizers.in_country(row.country) if row.country else self._normalizers
            values = {
                (kind, value)
                for field, kind, text in row.identifiers
                if (value := self._judge(field, kind, text, normalize[kind]))
            }
            for field, reason in row.unusable:
                self._refuse(field, reason)
            if values:
                self._rows_with_several += len(values) > 1
                self._duplicates.add(frozenset(values))
            else:
                self._unusable_rows += 1

    def _refuse(self, field: str, reason: str) -> None:
        """A value is of a type that is no text."""
        counts = self._kinds.get(self._selection.noted.get(field, field))
        if counts is not None:
            counts.present += 1
            count_reason(counts.reasons, reason)

    def _column(self, field: str, kind: str) -> _Counts:
        """The counts of a column; of ever new ones, the first are kept."""
        column = self._columns.get((field, kind))
        if column is None:
            column = _Counts()
            if len(self._columns) < MAX_NAMES_KEPT:
                self._columns[field, kind] = column
        return column

    def _judge(self, field: str, kind: IdentifierKind, text: str, normalize: Normalizer) -> str:
        """What an upload would send, or an empty text."""
        if not trimmed(text):
            return ""
        counts, column = self._kinds[kind], self._column(field, kind)
        counts.present += 1
        column.present += 1
        value, reason = "", ""
        try:
            value, remark = normalize(text)
            counts.usable += 1
            counts.mended += remark.startswith(MENDED)
            counts.like_floats += remark == LOOKS_LIKE_FLOAT
            counts.may_be_foreign += remark == MAY_BE_FOREIGN
        except Unusable as unusable:
            reason = unusable.reason
            count_reason(counts.reasons, reason)
        text = trimmed(text)
        if kind == "partner_user_id":
            counts.placeholders += is_placeholder(kind, text)
            return value
        if value and digest_in(text) == value:
            counts.digests += 1
            column.digests += 1
            counts.upper_case += len(text) == len(value) and value != text
        elif kind == "phone_number" and (reason == NO_REGION or (value and "+" not in text)):
            counts.no_country_code += 1
            counts.by_region += bool(value)
        _look_closer(kind, text, value, counts)
        return value

    def report(self, broken_off: str | None = None) -> LintReport:
        """What was found."""
        kinds = tuple(
            KindLint(kind=kind, **attrs.asdict(counts) | {"reasons": dict(counts.reasons.most_common())})
            for kind, counts in self._kinds.items()
            if counts.present
        )
        columns = tuple(
            ColumnLint(name=shown_name(name), kind=kind, present=counts.present, digests=counts.digests)
            for (name, kind), counts in self._columns.items()
        )
        report = LintReport(
            rows=self.rows,
            unusable_rows=self._unusable_rows,
            rows_with_several=self._rows_with_several,
            duplicates=self._duplicates.duplicates,
            duplicates_are_exact=self._duplicates.is_exact,
            kinds=kinds,
            columns=columns,
            ignored_columns=tuple(self._selection.ignored_columns()),
            findings=(),
            broken_off=broken_off,
        )
        findings = findings_of(
            report, self._broken_rows, self._refused_rows, self._selection.notes(), has_region=self._has_region
        )
        return attrs.evolve(report, findings=tuple(findings))


def _look_closer(kind: IdentifierKind, text: str, value: str, counts: _Counts) -> None:
    """Counts what is of no use though it may be sent."""
    known = known_as(kind, value)
    if known == "nothing":
        counts.of_nothing += 1
    elif known == "twice":
        counts.hashed_twice += 1
    elif known == "placeholder" or is_placeholder(kind, text):
        counts.placeholders += 1
    elif len(text) in _OTHER_LENGTHS and _is_other_digest(kind, text):
        counts.wrong_length += 1


def _is_other_digest(kind: IdentifierKind, text: str) -> bool:
    """Whether it looks like a digest of another kind than SHA-256, or like a part of one."""
    if _is_hexadecimal(text) is None or text.isdigit() or text.isalpha():
        return False
    return kind != "device_id" or len(text) != 32  # a device identifier may be written without its hyphens
