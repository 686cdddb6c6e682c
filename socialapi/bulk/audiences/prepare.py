"""Prepares rows for an upload: validates and normalises them, and encodes users as ASCII JSON.

In ASCII, the number of characters is the number of bytes.
"""

import datetime
import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Final, cast, get_args

import attrs

from socialapi.bulk.audiences.normalize import Normalizer, Unusable, column_normalizers, normalizers
from socialapi.bulk.inputs.iterables import texts_of
from socialapi.bulk.rows import Action, Column, RawRow, RawTable, Row, RowBlock, When, runs_of
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    NO_IDENTIFIER,
    AudienceUser,
    DoNotReachUser,
    IdentifierKind,
    OperationType,
)
from socialapi.models.validation import format_timestamp
from socialapi.problems import BrokenRule
from socialapi.reports import MENDED, RowIssue

_as_json: Final = json.JSONEncoder(ensure_ascii=True).encode


def user_json(values: Mapping[IdentifierKind, Sequence[str]]) -> str:
    """The user object with these values, of which every kind has at least one, in the order of the kinds."""
    members = [f'"{kind}":[{",".join(_quoted(kind, values[kind]))}]' for kind in IDENTIFIER_KINDS if kind in values]
    return f"{{{','.join(members)}}}"


def write_users(columns: Sequence[tuple[IdentifierKind, Sequence[str | None]]]) -> list[str]:
    """The user objects of rows that have one value of each of these kinds; those of other rows make no sense."""
    ordered = sorted(columns, key=lambda column: IDENTIFIER_KINDS.index(column[0]))
    texts = [map(_as_json, values) if kind == "partner_user_id" else values for kind, values in ordered]
    return _writer(tuple(kind for kind, _ in ordered))(*texts)


def _quoted(kind: IdentifierKind, values: Sequence[str]) -> Iterable[str]:
    return map(_as_json, values) if kind == "partner_user_id" else [f'"{value}"' for value in values]


@functools.cache
def _writer(kinds: tuple[IdentifierKind, ...]) -> Callable[..., list[str]]:
    """A function written for these kinds: to fill in a template of any number of them takes three times as long."""
    names = [f"v{place}" for place in range(len(kinds))]
    members = []
    for kind, name in zip(kinds, names, strict=True):
        value = f"{{{name}}}" if kind == "partner_user_id" else f'"{{{name}}}"'  # a digest needs no escaping
        members.append(f'"{kind}":[{value}]')
    columns = ", ".join(f"column_{name}" for name in names)
    rows = f"for {', '.join(names)}, in zip({columns}, strict=True)"
    text = f"lambda {columns}: [f'{{{{{','.join(members)}}}}}' {rows}]"
    writer: Callable[..., list[str]] = eval(text)  # noqa: S307  # made of the names of our own kinds
    return writer


NO_OPERATION: Final = "is neither Update nor Delete"
NO_TIME: Final = "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"
NO_TIME_ZONE: Final = "has no time zone, for example Z as in 2026-01-31T09:00:00Z"
NOT_LATER: Final = "is not later than effective_at"
NOT_IN_FUTURE: Final = "is not in the future"
NOT_TAKEN_TIME: Final = "cannot be given for this target"
IS_EMPTY: Final = "is empty"
NOT_BARE: Final = (
    "has something around it (quotation marks, mailto:, …) that `upload` would remove: give the value alone"
)

_OPERATION_TYPES: Final[dict[str, OperationType]] = {name.lower(): name for name in get_args(OperationType)}
_ACTIONS_KEPT: Final = 4_096

Problem = tuple[str, str]


@attrs.define(eq=False)
class PreparedChunk:
    """The result of preparing some rows. Each row is in either `runs` or `rejects`.

    Of the rows in `runs`, `warnings` are about values that were left out, and `mended` about values
    that were sent without the leftovers of exports around them.
    """

    runs: list[RowBlock] = attrs.field(factory=list, repr=False)
    rejects: list[RowIssue] = attrs.field(factory=list)
    warnings: list[RowIssue] = attrs.field(factory=list)
    mended: list[RowIssue] = attrs.field(factory=list)


class Preparer:
    """Prepares the rows of one job.

    `operation` (Update or Delete, in any case), `effective_at` and `expires_at` apply to rows that
    do not override them; times are ISO 8601 strings or datetimes, with a time zone.
    `expires_default` is the expiry, as sent, of rows without one. `allow_effective` says whether
    the target accepts a time of effect, `kinds` which identifiers it accepts, and `default_region`
    is the region of phone numbers without a country code. `now` is the start of the job; expiries
    that are not later are refused.

    Raises InvalidInput if one of these is invalid.
    """

    def __init__(
        self,
        *,
        now: datetime.datetime,
        operation: str = "Update",
        effective_at: When = None,
        expires_at: When = None,
        default_region: str | None = None,
        kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
        expires_default: str | None = None,
        allow_effective: bool = True,
    ) -> None:
        kinds = tuple(kinds)
        self._normalizers = normalizers(kinds, default_region)
        self._column_normalizers = column_normalizers(kinds, default_region)
        self._now = now
        self._allow_effective = allow_effective
        self._job: tuple[str, When, When] = (operation, effective_at, expires_at)
        self._expires_default = expires_default
        # Rows repeat a few actions; when every row has times of its own, forgetting some costs time, not memory.
        self._interned = functools.lru_cache(_ACTIONS_KEPT)(Action)
        self._action = functools.lru_cache(_ACTIONS_KEPT)(self._decide)
        default = self._action(None, None, None)
        if not isinstance(default, Action):
            named = [("operation" if field == "operation_type" else field, reason) for field, reason in default]
            raise InvalidInput("the upload cannot be done so", [BrokenRule(path=f, reason=r) for f, r in named])
        self._default = default

    def faults_of(self, raw: RawRow) -> Sequence[Problem]:
        """What is wrong with the operation type and the times of a row, for which it would be rejected."""
        if raw.operation_type is None and raw.effective_at is None and raw.expires_at is None:
            return ()
        decided = self._action(raw.operation_type, raw.effective_at, raw.expires_at)
        return () if isinstance(decided, Action) else decided

    def prepare_chunk(self, raw_rows: Iterable[RawRow]) -> PreparedChunk:
        """The rows that can be sent, in their order, and why others, or parts of them, cannot."""
        if isinstance(raw_rows, RawTable) and not raw_rows.has_overrides:
            return self._prepare_table(raw_rows)
        done, rows = PreparedChunk(), []
        for raw in raw_rows:
            if raw.problem is not None:
                done.rejects.append(RowIssue(raw.number, *raw.problem))
                continue
            action = self._default
            if raw.operation_type is not None or raw.effective_at is not None or raw.expires_at is not None:
                decided = self._action(raw.operation_type, raw.effective_at, raw.expires_at)
                if not isinstance(decided, Action):
                    done.rejects.append(_issue(raw.number, decided))
                    continue
                action = decided
            if (row := self._prepare(raw, action, done)) is not None:
                rows.append(row)
        done.runs = runs_of(rows)
        return done

    def _prepare(self, raw: RawRow, action: Action, done: PreparedChunk) -> Row | None:
        problems, mended = list[Problem](raw.unusable), list[Problem]()
        values = _normalized(raw.identifiers, self._normalizers, problems, mended)
        if not values:
            done.rejects.append(_issue(raw.number, problems or (("", NO_IDENTIFIER),)))
            return None
        done.warnings += [RowIssue(raw.number, *problem) for problem in problems]
        done.mended += [RowIssue(raw.number, *each) for each in mended]
        identifiers = tuple([(kind, value) for kind, each in values.items() for value in each])
        return Row(raw.number, action, identifiers, user_json(values))

    def _prepare_table(self, table: RawTable) -> PreparedChunk:
        done = PreparedChunk()
        columns = [(each.kind, self._column_normalizers[each.kind](each.cells)) for each in table.columns]
        kinds = tuple(kind for kind, _ in columns)
        odd = set(table.problems)
        if len(set(kinds)) < len(kinds) or not kinds:
            odd.update(range(len(table)))
        for _, values in columns:
            if None in values or "" in values:
                odd.update(place for place, value in enumerate(values) if not value)
        users = write_users(columns) if len(odd) < len(table) else [""] * len(table)
        left_out = {place for place in sorted(odd) if not self._mend(table, place, columns, users, done)}
        numbers: Sequence[int] = range(table.first_number, table.first_number + len(table))
        if left_out:
            kept = [place not in left_out for place in range(len(table))]
            numbers, users = list(compress(numbers, kept)), list(compress(users, kept))
            columns = [(kind, list(compress(values, kept))) for kind, values in columns]
        if users:
            # The cast: no cell without a value is left by now.
            done.runs.append(RowBlock(self._default, numbers, users, cast("tuple[Column, ...]", tuple(columns))))
        return done

    def _mend(
        self,
        table: RawTable,
        place: int,
        columns: Sequence[tuple[IdentifierKind, list[str | None]]],
        users: list[str],
        done: PreparedChunk,
    ) -> bool:
        """Completes a row that is not like the others; says whether it can be sent."""
        number = table.first_number + place
        if (problem := table.problems.get(place)) is not None:
            done.rejects.append(RowIssue(number, *problem))
            return False
        problems, mended = list[Problem](), list[Problem]()
        found: dict[IdentifierKind, list[str]] = {}
        for column, (kind, values) in zip(table.columns, columns, strict=True):
            value = values[place]
            if value is None:
                value = _value(column.field, self._normalizers[kind], column.cells[place], problems, mended)
            same_kind = found.setdefault(kind, [])
            values[place] = value = "" if value in same_kind else value
            if value:
                same_kind.append(value)
        if not any(found.values()):
            done.rejects.append(_issue(number, problems or (("", NO_IDENTIFIER),)))
            return False
        done.warnings += [RowIssue(number, *problem) for problem in problems]
        done.mended += [RowIssue(number, *each) for each in mended]
        users[place] = user_json({kind: values for kind, values in found.items() if values})
        return True

    def _decide(self, operation: str | None, effective_at: When, expires_at: When) -> Action | tuple[Problem, ...]:
        """The action of a row with these overrides, or everything that is wrong with it."""
        job_operation, job_effective_at, job_expires_at = self._job
        problems: list[Problem] = []
        operation_type = _OPERATION_TYPES.get((operation or job_operation).strip().lower())
        starts = _moment("effective_at", effective_at or job_effective_at, problems)
        ends = _moment("expires_at", expires_at or job_expires_at, problems)
        if starts is not None and not self._allow_effective:
            problems.append(("effective_at", NOT_TAKEN_TIME))
        elif ends is not None and ends <= (starts or self._now):
            problems.append(("expires_at", NOT_LATER if starts else NOT_IN_FUTURE))
        if operation_type is None:
            problems.insert(0, ("operation_type", NO_OPERATION))
        if operation_type is None or problems:
            return tuple(problems)
        return self._interned(
            operation_type,
            format_timestamp(starts) if starts else None,
            format_timestamp(ends) if ends else self._expires_default,
        )


def _issue(number: int, problems: Sequence[Problem]) -> RowIssue:
    fields, reasons = zip(*problems, strict=True)
    return RowIssue(number, ", ".join(fields), "; ".join(reasons))


def _value(field: str, normalize: Normalizer, text: str, problems: list[Problem], mended: list[Problem]) -> str:
    """The normalised value; empty, and a problem more, if there is none."""
    try:
        value, removed = normalize(text)
    except Unusable as unusable:
        problems.append((field, unusable.reason))
        return ""
    if removed:
        mended.append((field, removed))
    return value


def _normalized(
    identifiers: Iterable[tuple[str, IdentifierKind, str]],
    normalize: Mapping[IdentifierKind, Normalizer],
    problems: list[Problem],
    mended: list[Problem],
    *,
    blank: str | None = None,
) -> dict[IdentifierKind, list[str]]:
    """The different values of each kind; `problems` gets the others, and with the reason `blank` those of blanks."""
    found: dict[IdentifierKind, list[str]] = {}
    for field, kind, text in identifiers:
        before = len(problems)
        value = _value(field, normalize[kind], text, problems, mended)
        if len(problems) > before:
            continue
        if not value:
            if blank is not None:
                problems.append((field, blank))
        elif kind not in found:
            found[kind] = [value]
        elif value not in found[kind]:
            found[kind].append(value)
    return found


def _moment(field: str, value: When, problems: list[Problem]) -> datetime.datetime | None:
    """The time in UTC, or None and a problem."""
    if value is None or value == "":
        return None
    try:
        moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
        if moment.utcoffset() is not None:
            return moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):  # no time, or one that is before the first or after the last year in UTC
        problems.append((field, NO_TIME))
    else:
        problems.append((field, NO_TIME_ZONE))
    return None


def prepare_user(
    user: AudienceUser | DoNotReachUser,
    kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
    default_region: str | None = None,
) -> tuple[dict[IdentifierKind, list[str]], list[BrokenRule]]:
    """The user object to send, and a broken rule for every identifier that cannot be sent, such as `email[0]`.

    For a single request, in which nothing is left out and nothing is mended silently: a blank identifier is a broken rule,
    too, as are one with something around it and a user without any (path `""`). A value given twice is sent once. Raises
    InvalidInput for an unknown `default_region`.
    """
    problems, mended = list[Problem](), list[Problem]()
    identifiers: list[tuple[str, IdentifierKind, str]] = []
    for kind in IDENTIFIER_KINDS:
        for index, (text, reason) in enumerate(texts_of(getattr(user, kind, ()))):
            if reason:
                problems.append((f"{kind}[{index}]", reason))
            else:
                identifiers.append((f"{kind}[{index}]", kind, text))
    data = _normalized(identifiers, normalizers(kinds, default_region), problems, mended, blank=IS_EMPTY)
    problems += [(path, NOT_BARE) for path, remark in mended if remark.startswith(MENDED)]
    if not data and not problems:
        problems.append(("", NO_IDENTIFIER))
    return data, [BrokenRule(path=path, reason=reason) for path, reason in problems]
