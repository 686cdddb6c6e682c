"""Prepares rows for an upload: validates and normalises them, and encodes users as ASCII JSON.

In ASCII, the number of characters is the number of bytes.
"""

import datetime
import functools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, compress, groupby
from typing import TYPE_CHECKING, Any, Final, Union, cast, get_args

import attrs

from socialapi._speedups import IS_ENABLED
from socialapi.bulk.audiences.cells import UserBlock, UserRow, When, overrides_of, texts_of_cells
from socialapi.bulk.audiences.normalize import (
    Normalizer,
    Unusable,
    column_normalizers,
    hashed_plain,
    normalizers,
)
from socialapi.bulk.inputs.numbers import texts_of
from socialapi.bulk.inputs.reader import ROWS_PER_STEP
from socialapi.bulk.rows import Action, Column, RowBlock, are_digests, gaps_of, kept_of, rendered, repeated_within_rows
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

if TYPE_CHECKING or IS_ENABLED:
    from socialapi._speedups._native import Digests

_as_json: Final = json.JSONEncoder(ensure_ascii=True).encode


def user_json(values: Mapping[IdentifierKind, Sequence[str]]) -> str:
    """The user object with these values, of which every kind has at least one, in the order of the
    kinds.
    """
    members = [f'"{kind}":[{",".join(_quoted(kind, values[kind]))}]' for kind in IDENTIFIER_KINDS if kind in values]
    return f"{{{','.join(members)}}}"


def write_users(columns: Sequence[tuple[IdentifierKind, Sequence[str | None]]]) -> list[str]:
    """The user objects of rows that have one value of each of these kinds. Rows that lack one have
    an invalid object, for the caller to replace.
    """
    ordered = sorted(columns, key=lambda column: IDENTIFIER_KINDS.index(column[0]))
    texts = [map(_as_json, values) if kind == "partner_user_id" else values for kind, values in ordered]
    return _writer(tuple(kind for kind, _ in ordered))(*texts)


def users_of(columns: Sequence[Column], rows: int) -> list[str]:
    """The user objects of rows, of which each has a value in at least one column."""
    odd = {at for _, values in columns if "" in values for at, value in enumerate(values) if not value}
    if len({kind for kind, _ in columns}) < len(columns):
        odd = set(range(rows))
    users = write_users(columns) if len(odd) < rows else [""] * rows
    for at in odd:
        found: dict[IdentifierKind, list[str]] = {}
        for kind, values in columns:
            if values[at]:
                found.setdefault(kind, []).append(values[at])
        users[at] = user_json(found)
    return users


def _quoted(kind: IdentifierKind, values: Sequence[str]) -> Iterable[str]:
    return map(_as_json, values) if kind == "partner_user_id" else [f'"{value}"' for value in values]


@functools.cache
def _writer(kinds: tuple[IdentifierKind, ...]) -> Callable[..., list[str]]:
    """A function written for these kinds: to fill in a template of any number of them takes three
    times as long.
    """
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
Values = Union[list[str | None], "Digests"]
NormalizedColumn = tuple[IdentifierKind, Values]
"""A kind and a value for each row: empty if there is none, None if that takes a look of its own."""


@attrs.define(eq=False)
class PreparedBlock:
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
    that are not later are refused. Without `writes_users`, rows get an empty text for their user
    object.

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
        writes_users: bool = True,
    ) -> None:
        kinds = tuple(kinds)
        self._normalizers = normalizers(kinds, default_region)
        self._column_normalizers = column_normalizers(kinds, default_region)
        self._hashed_kinds = frozenset(kinds) - {"partner_user_id"}
        self._now = now
        self._allow_effective = allow_effective
        self._writes_users = writes_users
        self._job: tuple[str, When, When] = (operation, effective_at, expires_at)
        self._expires_default = expires_default
        # Rows repeat a few actions; when every row has times of its own, forgetting some costs
        # time, not memory.
        self._interned = functools.lru_cache(_ACTIONS_KEPT)(Action)
        self._action = functools.lru_cache(_ACTIONS_KEPT)(self._decide)
        default = self._action(None, None, None)
        if not isinstance(default, Action):
            named = [("operation" if field == "operation_type" else field, reason) for field, reason in default]
            raise InvalidInput("the upload cannot be done so", [BrokenRule(path=f, reason=r) for f, r in named])
        self._default = default

    def faults_of(self, row: UserRow) -> Sequence[Problem]:
        """What is wrong with the operation type and the times of a row, for which it would be
        rejected.
        """
        if row.operation_type is None and row.effective_at is None and row.expires_at is None:
            return ()
        decided = self._action(row.operation_type, row.effective_at, row.expires_at)
        return () if isinstance(decided, Action) else decided

    def prepare(self, block: UserBlock) -> Iterator[PreparedBlock]:
        """As `prepare_block`, in parts of which none takes long."""
        hashed = self._hashed_columns(block)
        if self._is_quick(block, hashed):
            yield self._prepare(block, hashed)
            return
        start = 0
        for step in block.steps():
            stop = start + len(step)
            yield self._prepare(step, [values and values[start:stop] for values in hashed])
            start = stop

    def prepare_block(self, block: UserBlock) -> PreparedBlock:
        """The rows that can be sent, in their order, and why others, or parts of them, cannot."""
        return self._prepare(block, self._hashed_columns(block))

    def _hashed_columns(self, block: UserBlock) -> list["Digests | None"]:
        """The columns of identifiers whose plain cells were hashed in C; None for each other one."""
        return [
            hashed_plain(kind, block.columns[at]) if IS_ENABLED and kind in self._hashed_kinds else None
            for at, _, kind in block.layout.identifiers
        ]

    def _is_quick(self, block: UserBlock, hashed: Sequence["Digests | None"]) -> bool:
        """Whether there is little in the block that takes a look of its own."""
        if block.layout.has_overrides or block.faults or block.doubts:
            return False
        odd = sum(len(block) if values is None else values.count(None) for values in hashed)
        return odd <= ROWS_PER_STEP

    def _prepare(self, block: UserBlock, hashed: Sequence["Digests | None"]) -> PreparedBlock:
        done = PreparedBlock()
        left_out: set[int] = set()
        for index, fault in block.faults.items():
            done.rejects.append(RowIssue(block.first_number + index, "", fault.reason))
            left_out.add(index)
        actions = self._actions_of(block, done, left_out) if block.layout.has_overrides else None
        columns = self._normalized_columns(block, hashed)
        odd = self._odd_rows(block, columns)
        users = self._users_of(columns, len(block), len(odd))
        further = _Further(len(block))
        for index in sorted(odd - left_out):
            found = self._complete(block, index, columns, further, done)
            if not found:
                left_out.add(index)
            elif users is not None and self._writes_users:
                users[index] = user_json(found)
        done.runs = _runs(block, further.beside(columns), users, actions or self._default, left_out)
        done.rejects.sort(key=operator.attrgetter("row"))
        return done

    def _users_of(self, columns: Sequence[NormalizedColumn], rows: int, odd: int) -> list[str] | None:
        """The user objects, of which those of odd rows are to be replaced; None if they are made of
        the columns later.
        """
        if IS_ENABLED and self._writes_users:
            return None
        return write_users(columns) if self._writes_users and odd < rows else [""] * rows

    def _actions_of(
        self, block: UserBlock, done: PreparedBlock, left_out: set[int]
    ) -> Sequence[Action | tuple[Problem, ...]] | None:
        """The action of each row; None if all do what the job says."""
        overrides = overrides_of(block)
        if not any(map(any, overrides)):
            return None
        decided = list(map(self._action, *overrides))
        for index, action in enumerate(decided):
            if not isinstance(action, Action) and index not in left_out:
                done.rejects.append(_issue(block.first_number + index, action))
                left_out.add(index)
        return decided

    def _normalized_columns(self, block: UserBlock, hashed: Sequence["Digests | None"]) -> list[NormalizedColumn]:
        """The values of each column of identifiers; None for each that has to be looked at by
        itself.
        """
        columns = list[NormalizedColumn]()
        for (at, _, kind), found in zip(block.layout.identifiers, hashed, strict=True):
            cells = block.columns[at]
            values: Values = self._values(kind, cells, is_text=block.is_text) if found is None else found
            if found is not None and None in found:
                odd = found.odd()
                others = self._values(kind, [cells[index] for index in odd], is_text=block.is_text)
                for index, value in zip(odd, others, strict=True):
                    found[index] = value
            for index in _misquoted(block, at):
                values[index] = None
            columns.append((kind, values))
        return columns

    def _values(self, kind: IdentifierKind, cells: Sequence[Any], *, is_text: bool) -> list[str | None]:
        texts, several = (cells, ()) if is_text else texts_of_cells(cells)
        values = self._column_normalizers[kind](texts)
        for index in several:
            values[index] = None
        return values

    def _odd_rows(self, block: UserBlock, columns: Sequence[NormalizedColumn]) -> set[int]:
        """The rows that have to be looked at by themselves."""
        if not IS_ENABLED:
            if not columns or len({kind for kind, _ in columns}) < len(columns):
                return set(range(len(block)))
            return {index for _, values in columns for index in gaps_of(values)}
        # A row that lacks a value is rendered like the others, but for one that lacks all of them.
        gaps = [set(gaps_of(values)) for _, values in columns] or [set(range(len(block)))]
        odd = set.intersection(*gaps)
        for (_, values), found in zip(columns, gaps, strict=False):
            odd.update(index for index in found if values[index] is None)
        for (kind, values), (other_kind, others) in combinations(columns, 2):
            if kind == other_kind:
                odd.update(repeated_within_rows(values, others))
        return odd

    def _complete(
        self,
        block: UserBlock,
        index: int,
        columns: Sequence[NormalizedColumn],
        further: "_Further",
        done: PreparedBlock,
    ) -> Mapping[IdentifierKind, Sequence[str]]:
        """Completes a row that is not like the others; returns its values, none if it cannot be sent."""
        problems, mended = list[Problem](), list[Problem]()
        found: dict[IdentifierKind, list[str]] = {}
        for own, ((at, field, kind), (_, values)) in enumerate(zip(block.layout.identifiers, columns, strict=True)):
            value = values[index]
            several = [value]
            if value is None and index in _misquoted(block, at):
                problems.append((field, block.doubts[index].reason))
            elif value is None:
                several = self._values_of(block.columns[at][index], field, kind, problems, mended)
            same_kind = found.setdefault(kind, [])
            new = [value for value in dict.fromkeys(several) if value and value not in same_kind]
            same_kind += new
            values[index] = new[0] if new else ""
            further.add(index, own, new[1:])
        number = block.first_number + index
        if not any(found.values()):
            done.rejects.append(_issue(number, problems or (("", NO_IDENTIFIER),)))
            return {}
        done.warnings += [RowIssue(number, *problem) for problem in problems]
        done.mended += [RowIssue(number, *each) for each in mended]
        return {kind: values for kind, values in found.items() if values}

    def _values_of(
        self, cell: Any, field: str, kind: IdentifierKind, problems: list[Problem], mended: list[Problem]
    ) -> list[str | None]:
        several = list[str | None]()
        for text, reason in texts_of(cell):
            if reason:
                problems.append((field, reason))
            else:
                several.append(_value(field, self._normalizers[kind], text, problems, mended))
        return several

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


def _misquoted(block: UserBlock, at: int) -> Sequence[int]:
    """The rows whose cell in a column may not be what was meant, because of its quotation marks."""
    column = block.layout.positions[at] + 1
    return [index for index, doubt in block.doubts.items() if column in doubt.columns] if block.doubts else ()


class _Further:
    """Values beside the first one of a cell, which few rows have: in columns of their own."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._columns: dict[tuple[int, int], list[str]] = {}
        """By the column that they stand beside, and their place behind it."""

    def add(self, index: int, at: int, values: Sequence[str]) -> None:
        """Takes the further values that a row has in one of its columns."""
        for nth, value in enumerate(values):
            self._columns.setdefault((at, nth), [""] * self._rows)[index] = value

    def beside(self, columns: Sequence[NormalizedColumn]) -> list[tuple[IdentifierKind, Sequence[str | None]]]:
        """The columns, each with its further ones behind it: the values of a user keep their order."""
        found = list[tuple[IdentifierKind, Sequence[str | None]]]()
        for at, (kind, values) in enumerate(columns):
            found.append((kind, values))
            for place in sorted(place for place in self._columns if place[0] == at):
                further = self._columns[place]
                found.append((kind, Digests(further) if are_digests(values) else further))
        return found


def _runs(
    block: UserBlock,
    columns: Sequence[tuple[IdentifierKind, Sequence[str | None]]],
    users: Sequence[str] | None,
    actions: Action | Sequence[Action | tuple[Problem, ...]],
    left_out: AbstractSet[int],
) -> list[RowBlock]:
    """The rows that are not left out, in blocks of the same action; without `users`, these are made
    of the columns.
    """
    numbers: Sequence[int] = range(block.first_number, block.first_number + len(block))
    if left_out:
        kept = bytes([index not in left_out for index in range(len(block))])
        numbers, columns = list(compress(numbers, kept)), [(kind, kept_of(values, kept)) for kind, values in columns]
        users = users and list(compress(users, kept))
        actions = actions if isinstance(actions, Action) else list(compress(actions, kept))
    if not numbers:
        return []
    # The casts: neither a cell without a value nor a row without an action is left by now.
    done = cast("tuple[Column, ...]", tuple(columns))
    users = rendered(done) if users is None else users
    if isinstance(actions, Action):
        return [RowBlock(actions, numbers, users, done)]
    runs, start = list[RowBlock](), 0
    for action, same in groupby(cast("Sequence[Action]", actions)):
        stop = start + len(list(same))
        runs.append(RowBlock(action, numbers, users, done).part(start, stop))
        start = stop
    return runs


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
    """The different values of each kind; `problems` gets the others, and with the reason `blank`
    those of blanks.
    """
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
    """The user object to send, and a broken rule for every identifier that cannot be sent, such as
    `email[0]`.

    For a single request, in which nothing is left out and nothing is mended silently: a blank
    identifier is a broken rule, too, as are one with something around it and a user without any
    (path `""`). A value given twice is sent once. Raises InvalidInput for an unknown
    `default_region`.
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
