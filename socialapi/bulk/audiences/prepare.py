"""Validates the operations and times of rows for an upload, and normalizes their identifiers."""

import datetime
import functools
import operator
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations, compress, groupby
from typing import Any, Final, Protocol, cast, get_args

import attrs

from socialapi._speedups import Digests
from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.cells import (
    SEPARATOR,
    UserBlock,
    When,
    count_texts,
    countries_of,
    country_of,
    overrides_of,
    texts_in,
    texts_of_cells,
)
from socialapi.bulk.audiences.countries import region_of
from socialapi.bulk.audiences.normalize import (
    Normalized,
    Normalizer,
    Unusable,
    digest_only,
    hashed_column,
    normalizers,
    plain_partner_user_ids,
    plain_value,
)
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.inputs.columns import shown_name
from socialapi.bulk.inputs.numbers import texts_of
from socialapi.bulk.inputs.reader import ROWS_PER_STEP
from socialapi.bulk.rows import Action, Column, RowBlock, Texts, Values
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    BEFORE_DEFAULT_EXPIRY,
    IDENTIFIER_KINDS,
    NO_IDENTIFIER,
    AudienceUser,
    DoNotReachUser,
    IdentifierKind,
    OperationType,
    is_beyond_default_expiry,
)
from socialapi.models.validation import Faults, format_timestamp, moment_in_utc
from socialapi.problems import BrokenRule
from socialapi.reports import CLEANED, ROUNDED_ID, UNKNOWN_COUNTRY, RowIssue

NO_OPERATION: Final = "is neither Update nor Delete"
NOT_LATER: Final = "is not later than effective_at"
NOT_IN_FUTURE: Final = "is not in the future"
NOT_BEFORE_DEFAULT_EXPIRY: Final = f"is not {BEFORE_DEFAULT_EXPIRY}"
NOT_TAKEN_TIME: Final = "is not supported for this target"
IS_EMPTY: Final = "is empty"
NOT_PLAIN: Final = (
    "is surrounded by other characters (quotation marks, mailto:, …), which only `upload` removes: pass only the value"
)

_OPERATION_TYPES: Final[dict[str, OperationType]] = {name.lower(): name for name in get_args(OperationType)}
_ACTIONS_KEPT: Final = 4_096
_COLUMNS_COMPARED: Final = 50
MAX_IDENTIFIERS_PER_ROW: Final = 250
"""The maximum number of different identifiers in a row. Every value after the first in a cell needs another column."""
_MANY_IDENTIFIERS: Final = f"has more than {MAX_IDENTIFIERS_PER_ROW} identifiers"
_VALUES_AT_ONCE: Final = 5_000
"""The maximum number of values of plain rows that are prepared in one step."""

_PHONES_AT_ONCE: Final = 8
"""The maximum number of unusual phone numbers that are parsed in one step. The slowest take 0.2 ms each."""

names_digests: Final = re.compile(
    r"(?!.*(?:un|non|not|pre)hash|.*(?<![a-z])(?:un|non|not|pre|before|without|\(no)[ _-]hash).*(?:hash|sha[ _-]?256)",
    re.IGNORECASE | re.DOTALL,
).match
"""Matches the name of a column of digests. Names such as `gaid_unhashed` and `IDFA (not hashed)` do not match."""
_MAX_DIGITS_KEPT: Final = 15
"""The number of digits that spreadsheets keep. They replace further digits with zeros."""
_MAX_DIGITS_OF_FLOAT: Final = 17
"""The number of digits that JavaScript writes of a number, followed by zeros, because it has only 64-bit floats."""
_LONGEST_ID: Final = 20
_FEWEST_ZEROS: Final = 6
"""The number of zeros that are unlikely to be a coincidence."""
_CELLS_WITHOUT_LONG_ID: Final = 100
"""The number of cells that are examined in a column of short ids."""

Problem = tuple[str, str]
"""A field and a reason."""


@attrs.define(eq=False)
class PreparedBlock:
    """The result of preparing some rows. Each row is in either `blocks` or `rejects`.

    For the rows in `blocks`, `warnings` report values that are not sent, and `cleaned` has remarks about values that
    are sent, for example after cleaning.
    """

    blocks: list[RowBlock] = attrs.field(factory=list, repr=False)
    rejects: list[RowIssue] = attrs.field(factory=list)
    warnings: list[RowIssue] = attrs.field(factory=list)
    cleaned: list[RowIssue] = attrs.field(factory=list)


_PAUSE: Final = PreparedBlock()
"""Yielded at the points where other tasks can run."""


class Observer(Protocol):
    """An observer of a job's values as they are prepared."""

    def saw_column(self, field: str, kind: IdentifierKind, cells: Sequence[Any], values: Values) -> None:
        """Called for each column of a block. A value that is not plain is None here, and is passed to `saw_value`
        later.
        """

    def saw_value(self, field: str, kind: IdentifierKind, text: str, value: str, remark: str) -> None:
        """Called for each value that is not plain. If it is unusable, `value` is empty and `remark` is the reason."""


class Preparer:
    """A preparer for the rows of one job.

    `operation` (Update or Delete, in any case), `effective_at` and `expires_at` apply to rows that do not override
    them. Times are ISO 8601 strings or datetimes, with a time zone. `expires_default` takes the start of the job and
    returns the expiry of rows without one. `kinds` are the kinds of identifiers that the target accepts, and
    `allow_effective` is true if it accepts a start time. If a row has no country, `default_region` is the region of its
    phone numbers without a country code, and `phone_format` decides which numbers have no country code. With
    `require_hashed`, values that are not digests are unusable. `now` is the start of the job; expiries must be later.

    Raises InvalidInput if an argument is invalid.
    """

    def __init__(
        self,
        *,
        now: datetime.datetime,
        operation: str = "Update",
        effective_at: When = None,
        expires_at: When = None,
        default_region: str | None = None,
        phone_format: PhoneFormat = "auto",
        require_hashed: bool = False,
        kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
        expires_default: Callable[[datetime.datetime], str | None] = lambda _: None,
        allow_effective: bool = True,
    ) -> None:
        kinds = tuple(kinds)
        self.observer: Observer | None = None
        """The observer of every value, or None."""
        faults = Faults()
        with faults:
            found = functools.partial(normalizers, kinds, default_region, phone_format, require_hashed=require_hashed)
            self._normalizers, self._of_models = found(), found(of_models=True)
            self._reads_national = phone_format != "international"
            self._region = phone_numbers.check_region(default_region) if self._reads_national else None
        """The region of national numbers; None if there is none or `phone_format` is "international"."""
        self._require_hashed = require_hashed
        self._hashed_kinds = frozenset(kinds) - {"partner_user_id"}
        self._takes_partner_user_ids = "partner_user_id" in kinds
        self._allow_effective = allow_effective
        self._job: tuple[str, When, When] = (operation, effective_at, expires_at)
        self._default_expiry = expires_default
        self._interned = functools.lru_cache(_ACTIONS_KEPT)(Action)
        with faults:
            self.prepare_at(now)
        faults.refuse()

    def prepare_at(self, now: datetime.datetime) -> Callable[[UserBlock], Iterator[PreparedBlock]]:
        """Sets the start of the job, and returns `prepare`. Raises InvalidInput if the operation or a time of the job
        is invalid.
        """
        self._now, self._expires_default = now, self._default_expiry(now)
        # Most rows share a few actions. If every row has different times, the bounded caches slow the job down, but
        # memory stays flat.
        self._action = functools.lru_cache(_ACTIONS_KEPT)(self._decide)
        default = self._action(None, None, None)
        if not isinstance(default, Action):
            named = [("operation" if field == "operation_type" else field, reason) for field, reason in default]
            raise InvalidInput("invalid upload options", [BrokenRule(path=f, reason=r) for f, r in named])
        self._default = default
        return self.prepare

    def prepare(self, block: UserBlock) -> Iterator[PreparedBlock]:
        """Yields the prepared rows of a block, in parts that are each prepared quickly. Some parts are empty."""
        rows = max(1, _VALUES_AT_ONCE // max(1, len(block.layout.identifiers)))
        for first in range(0, block.size, rows):
            part = block.part(first, first + rows)
            columns = list[Column]()
            for at, field, kind in part.layout.identifiers:
                if kind in self._hashed_kinds:
                    by_country = kind == "phone_number" and self._reads_national and part.layout.countries
                    countries = countries_of(part, field) if by_country else ()
                    region = self._region if countries or not part.layout.countries else None
                    cells, require_hashed = part.columns[at], self._require_hashed or _is_of_digests(field, kind)
                    columns.append((kind, hashed_column(kind, cells, region, countries, require_hashed=require_hashed)))
                elif kind == "partner_user_id" and self._takes_partner_user_ids:
                    columns.append((kind, Texts(plain_partner_user_ids(part.columns[at]))))
                else:
                    columns.append((kind, (Texts if kind == "partner_user_id" else Digests)([None] * part.size)))
                yield PreparedBlock(cleaned=_rounded_ids(part, at, field)) if kind == "service_id" else _PAUSE
            # A row takes time for each undecided value, and for its overrides and problems.
            is_plain = not (part.layout.has_overrides or part.unreadable or part.ambiguous)
            costs, start = [0 if is_plain else 1] * part.size, 0
            for (at, _, _), (_, values) in zip(block.layout.identifiers, columns, strict=True):
                for index in values.undecided():
                    costs[index] += count_texts(part.columns[at][index])
            if sum(costs) <= ROWS_PER_STEP:  # as in most files: slicing all columns takes a third of the time of a row
                yield from self._prepare(part, columns)
                continue
            for stop in _ends_of_steps(costs):
                some = [(kind, values[start:stop]) for kind, values in columns]
                yield from self._prepare(part.part(start, stop), some)
                start = stop

    def _prepare(self, block: UserBlock, columns: Sequence[Column]) -> Iterator[PreparedBlock]:
        done = PreparedBlock()
        skipped: set[int] = set()
        for index, problem in {**block.ambiguous, **block.unreadable}.items():
            if problem.surplus or index in block.unreadable:
                done.rejects.append(RowIssue(block.first_number + index, "", problem.reason))
                skipped.add(index)
        actions = self._actions_of(block, done, skipped) if block.layout.has_overrides else None
        yield from self._normalize_undecided(block, columns, done)
        if self.observer is not None:
            for (at, field, kind), (_, values) in zip(block.layout.identifiers, columns, strict=True):
                self.observer.saw_column(field, kind, block.columns[at], values)
                yield _PAUSE
        further: dict[tuple[int, int], list[str]] = {}
        for index in sorted(_slow_rows(columns, block.size) - skipped):
            if not (yield from self._complete(block, index, columns, further, done)):
                skipped.add(index)
        all_columns, positions = list[Column](), sorted(further, reverse=True)
        for own, (kind, values) in enumerate(columns):  # keeps the order of a user's values
            all_columns.append((kind, values))
            while positions and positions[-1][0] == own:
                all_columns.append((kind, type(values)(further[positions.pop()])))
        done.blocks = _row_blocks(block, all_columns, actions or self._default, skipped)
        done.rejects.sort(key=operator.attrgetter("row"))
        yield done

    def _actions_of(
        self, block: UserBlock, done: PreparedBlock, skipped: set[int]
    ) -> Sequence[Action | tuple[Problem, ...]] | None:
        """Returns the action of each row, and rejects rows with invalid overrides; None if no row has overrides."""
        overrides = overrides_of(block)
        if not any(map(any, overrides)):
            return None
        decided = list(map(self._action, *overrides))
        for index, action in enumerate(decided):
            if not isinstance(action, Action) and index not in skipped:
                # A membership file may have such a column for another purpose.
                advice = "" if block.layout.is_of_models else ' (to ignore the column: columns={{"{0}": ""}})'
                problems = [(field, reason + advice.format(field)) for field, reason in action]
                done.rejects.append(_issue(block.first_number + index, problems))
                skipped.add(index)
        return decided

    def _normalize_undecided(
        self, block: UserBlock, columns: Sequence[Column], done: PreparedBlock
    ) -> Iterator[PreparedBlock]:
        """Normalizes undecided values in cells with at most one string. Skips values that need a remark."""
        for (at, field, kind), (_, values) in zip(block.layout.identifiers, columns, strict=True):
            if undecided := values.undecided():
                cells = block.columns[at]
                texts, several = texts_of_cells([cells[index] for index in undecided])
                normalize = self._normalizer(block, 0, field, kind)
                by_country = kind == "phone_number" and block.layout.countries
                for count, (index, text) in enumerate(zip(undecided, texts, strict=True), 1):
                    if by_country:
                        name, country = country_of(block, index, field)
                        normalize = self._normalizers.in_country(country)[kind]
                        is_unknown = isinstance(country, str) and region_of(country) is None
                        if country and text and "+" not in text and is_unknown:
                            done.cleaned.append(_issue(block.first_number + index, [(name, UNKNOWN_COUNTRY)]))
                    values[index] = plain_value(normalize, text) if SEPARATOR not in text else None
                    if kind == "phone_number" and not count % _PHONES_AT_ONCE:
                        yield _PAUSE
                for position in several:
                    values[undecided[position]] = None
                yield _PAUSE
            for index in _misquoted(block, at) if block.ambiguous else ():
                values[index] = None

    def _normalizer(self, block: UserBlock, index: int, field: str, kind: IdentifierKind) -> Normalizer:
        if kind == "phone_number" and block.layout.countries:
            return self._normalizers.in_country(country_of(block, index, field)[1])[kind]
        if kind in self._hashed_kinds and _is_of_digests(field, kind):
            return digest_only
        return (self._of_models if block.layout.is_of_models else self._normalizers)[kind]

    def _complete(
        self,
        block: UserBlock,
        index: int,
        columns: Sequence[Column],
        further: dict[tuple[int, int], list[str]],
        done: PreparedBlock,
    ) -> Generator[PreparedBlock, None, bool]:
        """Decides the remaining values of a row. Returns whether the row can be sent, and rejects it otherwise.

        The second and later values of a cell are put into additional columns in `further`. The keys of `further` are
        the index of the cell's column and the position of the value, where 0 is the second value.
        """
        problems, cleaned = list[Problem](), list[Problem]()
        found: dict[IdentifierKind, set[str]] = {}
        for own, ((at, field, kind), (_, values)) in enumerate(zip(block.layout.identifiers, columns, strict=True)):
            several = [values[index]]
            if several == [None]:
                texts: Iterable[tuple[str, str]]
                if index in _misquoted(block, at):
                    texts = [("", block.ambiguous[index].reason)]
                else:
                    texts = texts_in(block.columns[at][index], field, kind)
                normalize = self._normalizer(block, index, field, kind)
                several = yield from self._values_of(texts, field, kind, normalize, problems, cleaned)
            same_kind = found.setdefault(kind, set())
            new = [value for value in dict.fromkeys(several) if value and value not in same_kind]
            same_kind.update(new)
            if sum(map(len, found.values())) > MAX_IDENTIFIERS_PER_ROW:
                done.rejects.append(RowIssue(block.first_number + index, "", _MANY_IDENTIFIERS))
                return False
            values[index] = new[0] if new else ""
            for position, value in enumerate(new[1:]):
                further.setdefault((own, position), [""] * block.size)[index] = value
        yield _PAUSE
        number = block.first_number + index
        if not any(found.values()):
            done.rejects.append(_issue(number, problems or (("", NO_IDENTIFIER),)))
            return False
        done.warnings += [_issue(number, [problem]) for problem in problems]
        done.cleaned += [_issue(number, [each]) for each in cleaned]
        return True

    def _values_of(
        self,
        texts: Iterable[tuple[str, str]],
        field: str,
        kind: IdentifierKind,
        normalize: Normalizer,
        problems: list[Problem],
        cleaned: list[Problem],
    ) -> Generator[PreparedBlock, None, list[str | None]]:
        several = list[str | None]()
        for text, reason in texts:
            value, remark = ("", reason) if reason else _normalized(normalize, text)
            if remark:
                (cleaned if value else problems).append((field, remark))
            several.append(value)
            if self.observer is not None:
                self.observer.saw_value(field, kind, text, value, remark)
            yield _PAUSE
        return several

    def _decide(self, operation: str | None, effective_at: When, expires_at: When) -> Action | tuple[Problem, ...]:
        """Returns the action of a row with these overrides, or their problems if they are invalid."""
        job_operation, job_effective_at, job_expires_at = self._job
        problems: list[Problem] = []
        operation_type = _OPERATION_TYPES.get((operation or job_operation).strip().lower())
        starts = _moment("effective_at", effective_at or job_effective_at, problems)
        ends = _moment("expires_at", expires_at or job_expires_at, problems)
        if starts is not None and not self._allow_effective:
            problems.append(("effective_at", NOT_TAKEN_TIME))
        elif ends is not None and ends <= (starts or self._now):
            problems.append(("expires_at", NOT_LATER if starts else NOT_IN_FUTURE))
        elif starts is not None and ends is None and is_beyond_default_expiry(starts, self._now):
            problems.append(("effective_at", NOT_BEFORE_DEFAULT_EXPIRY))
        if operation_type is None:
            problems.insert(0, ("operation_type", NO_OPERATION))
        if operation_type is None or problems:
            return tuple(problems)
        return self._interned(
            operation_type,
            format_timestamp(starts) if starts else None,
            format_timestamp(ends) if ends else self._expires_default,
        )


def _is_of_digests(field: str, kind: IdentifierKind) -> bool:
    """Returns whether a column has digests of device ids, by its name. Without the name, an MD5 digest looks like an id."""
    return kind == "device_id" and names_digests(field) is not None


def _rounded_ids(block: UserBlock, at: int, field: str) -> list[RowIssue]:
    """Returns a warning for each user id of more than fifteen digits, if all these ids end in zeros, as a spreadsheet or
    JavaScript writes them.
    """
    rows, zeros = list[int](), 0
    for index, cell in enumerate(block.columns[at]):
        is_id = isinstance(cell, int) and 0 < cell < 10**_LONGEST_ID
        text = cell.strip() if isinstance(cell, str) else str(cell) if is_id else ""
        if _MAX_DIGITS_KEPT < len(text) <= _LONGEST_ID and text.isdigit():
            kept = len(text.rstrip("0"))
            if kept > _MAX_DIGITS_OF_FLOAT or kept == len(text):
                return []
            rows.append(block.first_number + index)
            zeros += len(text) - max(kept, _MAX_DIGITS_KEPT)
        elif index == _CELLS_WITHOUT_LONG_ID and not rows:
            return []
    return [RowIssue(row, shown_name(field), ROUNDED_ID) for row in rows] if zeros >= _FEWEST_ZEROS else []


def _ends_of_steps(costs: Sequence[int]) -> Iterator[int]:
    """Splits rows with these costs into short steps, and yields the index after each step."""
    start = total = 0
    for index, cost in enumerate(costs):
        if start < index and total + cost > ROWS_PER_STEP:
            yield index
            start, total = index, 0
        total += cost
    yield len(costs)


def _misquoted(block: UserBlock, at: int) -> Sequence[int]:
    """Returns the indexes of the rows whose cell in this column has misplaced quotation marks."""
    column = block.layout.positions[at] + 1
    return [index for index, problem in block.ambiguous.items() if column in problem.columns]


def _slow_rows(columns: Sequence[Column], rows: int) -> set[int]:
    """Returns the indexes of the rows with an undecided value, without a value, or with the same value twice."""
    gaps = [set(values.gaps()) for _, values in columns] or [set(range(rows))]
    slow = set.intersection(*gaps)
    for _, values in columns:
        slow.update(values.undecided())
    if len(columns) > _COLUMNS_COMPARED:  # comparing all pairs of columns would take longer than checking all rows
        return set(range(rows))
    for (kind, values), (other_kind, others) in combinations(columns, 2):
        if kind == other_kind:
            slow.update(values.same_as(others))
    return slow


def _row_blocks(
    block: UserBlock,
    columns: Sequence[Column],
    actions: Action | Sequence[Action | tuple[Problem, ...]],
    skipped: AbstractSet[int],
) -> list[RowBlock]:
    numbers: Sequence[int] = range(block.first_number, block.first_number + block.size)
    if skipped:
        kept = bytes([index not in skipped for index in range(block.size)])
        numbers, columns = list(compress(numbers, kept)), [(kind, values.compress(kept)) for kind, values in columns]
        actions = actions if isinstance(actions, Action) else list(compress(actions, kept))
    if not numbers:
        return []
    if isinstance(actions, Action):
        return [RowBlock(actions, numbers, tuple(columns))]
    blocks, start = list[RowBlock](), 0
    for action, same in groupby(cast("Sequence[Action]", actions)):  # rows without a valid action were skipped
        stop = start + len(list(same))
        blocks.append(RowBlock(action, numbers, tuple(columns)).part(start, stop))
        start = stop
    return blocks


def _issue(number: int, problems: Sequence[Problem]) -> RowIssue:
    fields, reasons = zip(*problems, strict=True)
    return RowIssue(number, ", ".join(map(shown_name, filter(None, fields))), "; ".join(reasons))


def _normalized(normalize: Normalizer, text: str) -> Normalized:
    """Returns the normalized value and a remark, or an empty string and the reason if the value is unusable."""
    try:
        return normalize(text)
    except Unusable as unusable:
        return "", unusable.reason


def _moment(field: str, value: When, problems: list[Problem]) -> datetime.datetime | None:
    """Returns the time in UTC; None if the value is empty or invalid. Adds a problem if it is invalid."""
    if value is None or value == "":
        return None
    try:
        return moment_in_utc(value)
    except InvalidInput as problem:
        problems.append((field, problem.message))
    return None


def prepare_user(
    user: AudienceUser | DoNotReachUser,
    kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS,
    default_region: str | None = None,
    phone_format: PhoneFormat = "auto",
    *,
    require_hashed: bool = False,
) -> tuple[dict[IdentifierKind, list[str]], list[BrokenRule]]:
    """Returns the user object to send, and a `BrokenRule` for every identifier that cannot be sent, with a path such as
    `email[0]`.

    Single requests must not skip or clean anything silently. So a blank identifier, an identifier that would be
    cleaned, and a user without identifiers (path `""`) also break a rule. A value that occurs twice is sent once.
    Raises InvalidInput for an unknown `default_region`.
    """
    normalize = normalizers(kinds, default_region, phone_format, require_hashed=require_hashed, of_models=True)
    problems, data = list[Problem](), dict[IdentifierKind, list[str]]()
    for kind in IDENTIFIER_KINDS:
        for index, (text, reason) in enumerate(texts_of(getattr(user, kind, ()))):
            value, remark = ("", reason) if reason else _normalized(normalize[kind], text)
            if not value:
                problems.append((f"{kind}[{index}]", remark or IS_EMPTY))
            elif value not in data.setdefault(kind, []):
                data[kind].append(value)
            if value and remark.startswith(CLEANED):
                problems.append((f"{kind}[{index}]", NOT_PLAIN))
    if not data and not problems:
        problems.append(("", NO_IDENTIFIER))
    return data, [BrokenRule(path=path, reason=reason) for path, reason in problems]
