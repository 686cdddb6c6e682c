"""The findings of a lint, and the digests that it recognizes."""

import functools
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, Protocol, TypeVar

from socialapi.bulk.audiences.prepare import names_digests
from socialapi.bulk.inputs.formats import Records, check_layout_place, open_records
from socialapi.bulk.inputs.layouts import write_layout_of
from socialapi.bulk.inputs.null_words import null_digests, phone_digests
from socialapi.bulk.inputs.reader import NoRows
from socialapi.bulk.job import JobOptions
from socialapi.bulk.progress import ReadingPace
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due
from socialapi.reports import MAY_BE_FOREIGN, ColumnLint, Finding, KindLint, LintReport, Risk, RowIssue
from socialapi.session.network import Network

is_counted: Final = re.compile("(?:[+]?1)?0?1234567890?").fullmatch
"""Matches consecutive digits that somebody typed in place of a phone number."""

MAX_REASONS_KEPT: Final = 100
"""The maximum number of reasons that are counted separately, per field or for entire rows."""
OTHER_REASONS: Final = "other reasons"


def count_reason(reasons: Counter[str], reason: str) -> None:
    """Counts a reason separately, or under `OTHER_REASONS` if there are too many different reasons."""
    reasons[reason if reason in reasons or len(reasons) < MAX_REASONS_KEPT else OTHER_REASONS] += 1


@functools.cache
def known_digests() -> Mapping[str, Literal["nothing", "twice"]]:
    """Returns the digests of empty strings, and the digests of the digests of empty strings and placeholders."""
    nothing = [_digest(text) for text in ("", " ", "\n", "\r\n")]
    twice = [_digest(form) for each in (*null_digests(), *phone_digests(), *nothing) for form in (each, each.upper())]
    found: dict[str, Literal["nothing", "twice"]] = dict.fromkeys(twice, "twice")
    return found | dict.fromkeys(nothing, "nothing")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


S_contra = TypeVar("S_contra", contravariant=True)


class RowCounter(Protocol[S_contra]):
    """Counts the rows of an input."""

    rows: int
    unusable_rows: int

    async def take(self, step: S_contra, /) -> None:
        """Counts some rows."""

    def report(self, broken_off: str | None = None) -> LintReport:
        """Returns the report of the lint."""


async def linted(
    linter: RowCounter[S_contra],
    steps: Callable[[Any], Iterable[S_contra]],
    reading: tuple[Records, Any, JobOptions, Network | None],
    *,
    sample: int | None,
    write_layout: str | os.PathLike[str] | None,
    allow_empty: bool,
) -> LintReport:
    """Lints the rows that a job with these options would read, or the first `sample` rows, and returns the report."""
    records, selection, options, network = reading
    check_layout_place(write_layout, records)
    try:
        async with open_records(records, selection, network) as reader:
            reader.leave_out([*options.own_files, *([] if write_layout is None else [write_layout])])
            pace = ReadingPace(reader, sample, options.on_progress)
            async for block in reader:
                for step in steps(block if sample is None else block.part(0, sample - linter.rows)):
                    await linter.take(step)
                    await yield_if_due()
                pace.show(linter.rows, linter.unusable_rows)
                if linter.rows == sample:
                    break
        if not (linter.rows or allow_empty):
            raise NoRows(reader.why_empty or "the input has no rows")
    except InvalidInput as error:
        if not linter.rows:
            raise
        return linter.report(str(error))
    written = {name: getattr(options, name) for name in ("default_region", "phone_format") if hasattr(options, name)}
    write_layout_of(selection, write_layout, **written)
    return linter.report()


_MUCH: Final = 0.25
_SOME: Final = 0.05
_LITTLE: Final = 0.01

_SAYS_OTHER_DIGEST: Final = re.compile("md5|sha.?1(?!\\d)", re.IGNORECASE).search


def findings_of(
    report: LintReport,
    broken_rows: Mapping[str, int],
    refused_rows: Mapping[str, int],
    *,
    has_region: bool,
) -> Iterator[Finding]:
    """Yields all findings, starting with the findings about entire rows."""

    def risk_of(share: float) -> Risk:
        return _risk(share, _MUCH, _SOME)

    yield from of_rows(report, broken_rows, "no usable identifier; an upload would reject them", risk_of)
    if report.duplicates:
        text = (
            f"{_of(report.duplicates, report.rows)} rows: duplicates of an earlier row; each distinct row is sent once"
        )
        yield Finding(text, "medium" if report.duplicates > _MUCH * report.rows else "low")
    for reason, count in refused_rows.items():
        text = f"{_of(count, report.rows)} rows: {reason}; an upload would reject them"
        yield Finding(text, risk_of(count / report.rows), is_error=True)
    for kind in report.kinds:
        yield from _of_kind(kind, has_region=has_region)
    for column in report.columns:
        yield from _of_column(column)
    for name in report.ignored_columns:
        if _SAYS_OTHER_DIGEST(name):
            yield Finding(f'the column "{name}" is ignored: only SHA-256 is accepted', "low")


def remarks_of(remarks: Iterable[RowIssue]) -> Iterator[Finding]:
    """Yields a finding for each remark about the entire input or about a column."""
    for each in remarks:
        file = f"{each.file}: " if each.file else ""
        column = f'the column "{each.field}" ' if each.field else ""
        yield Finding(f"{file}{column}{each.reason}", "medium" if each.field else "low")


def of_rows(
    report: LintReport, broken_rows: Mapping[str, int], unusable: str, risk_of: Callable[[float], Risk]
) -> Iterator[Finding]:
    """Yields the findings about entire rows. `unusable` says what happens to rows that a job cannot use."""
    if report.broken_off is not None:
        yield Finding("the input could not be read to its end; the rest was not checked", "high", is_error=True)
    if not report.rows:
        yield Finding("there are no rows", "high")
    if report.unusable_rows:
        text = f"{_of(report.unusable_rows, report.rows)} rows: {unusable}"
        yield Finding(text, risk_of(report.unusable_rows / report.rows), is_error=True)
    for reason, count in broken_rows.items():
        yield Finding(f"{_of(count, report.rows)} rows: {reason}", "low", is_error=True)


def _of_kind(kind: KindLint, *, has_region: bool) -> Iterator[Finding]:
    nothing = "digests of an empty string; leave empty values empty instead of hashing them"
    twice = "digests of digests of well-known values; the column was probably hashed twice and matches nobody"
    others = "digests of another kind (MD5, SHA-1), or truncated; only SHA-256 is accepted"
    done = "sends" if kind.kind == "partner_user_id" else "removes"
    cleaned = f"extra characters around them, such as mailto: or quotation marks; an upload {done} them"
    by_region = "no country code; an upload uses the default region or the country of the row"
    yield from _counted(kind, kind.of_nothing, nothing, is_error=True)
    yield from _counted(kind, kind.hashed_twice, twice, "high", is_error=True)
    yield from _counted(kind, kind.wrong_length, others, is_error=True)
    yield from _counted(kind, kind.upper_case, "digests not in lower case; an upload sends them in lower case", "low")
    yield from _counted(kind, kind.cleaned, cleaned, "low")
    yield from _counted(kind, kind.like_floats, "written like 1000.0 or 1E+15; an upload sends them unchanged")
    yield from _counted(kind, kind.placeholders, "placeholders instead of values")
    for reason, count in kind.reasons.items():
        # Every export has a few bad values, but a column of only bad values was exported wrongly.
        risk = _risk(count / kind.present, 2 * _MUCH, 2 * _SOME)
        yield from _counted(kind, count, f"cannot be used: {reason}", risk, is_error=not kind.usable)
    yield from _counted(kind, kind.may_be_foreign, f"each {MAY_BE_FOREIGN}", "low")
    yield from _counted(kind, kind.by_region, by_region, "low")
    if not kind.by_region and not has_region:
        yield from _counted(kind, kind.no_country_code, "no country code; lint again with a default region", "low")


def _counted(
    kind: KindLint, count: int, what: str, risk: Risk | None = None, *, is_error: bool = False
) -> Iterator[Finding]:
    """Yields a finding if `count` is not 0. By default, its risk depends on the share of these values."""
    if count:
        text = f"{kind.kind}: {_of(count, kind.present)} values: {what}"
        yield Finding(text, risk or _risk(count / kind.present, _MUCH, _LITTLE), is_error=is_error)


def _of_column(column: ColumnLint) -> Iterator[Finding]:
    plain = column.present - column.digests
    if names_digests(column.name) is not None and plain:
        text = (
            f'the name of the column "{column.name}" says that its values are hashed, but {plain:,} of its '
            f"{column.present:,} values are not"
        )
        yield Finding(text, "medium" if plain > _SOME * column.present else "low")
    elif column.digests and plain and min(column.digests, plain) > _LITTLE * column.present:
        text = f'the column "{column.name}" mixes digests ({column.digests:,}) and plain values ({plain:,})'
        yield Finding(text, "low")


def _risk(share: float, high: float, medium: float) -> Risk:
    return "high" if share > high else "medium" if share > medium else "low"


def _of(count: int, whole: int) -> str:
    return f"{count:,} of {whole:,}"
