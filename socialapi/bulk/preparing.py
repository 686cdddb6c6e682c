"""From rows as they were read to rows ready to be sent, with a reason for whatever is left out.

A row with at least one usable identifier is sent with those it has; each unusable one is a warning. A row with none,
and a row whose operation type or times make no sense, is rejected (advertising documentation, sections 4.9 and 4.10).
"""

import datetime
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

import attrs
import orjson

from socialapi.bulk.normalizing import Normalizer, Unusable, normalizers
from socialapi.bulk.records import NOT_TEXT, texts_of
from socialapi.bulk.rows import Action, RawRow, Row
from socialapi.errors import InvalidInput
from socialapi.models.audiences import (
    IDENTIFIER_KINDS,
    AudienceUser,
    DoNotReachUser,
    IdentifierKind,
    OperationType,
)
from socialapi.models.rules import format_timestamp
from socialapi.problems import BrokenRule
from socialapi.reports import RowIssue

NO_IDENTIFIER: Final = "has no identifier"
NO_OPERATION: Final = "is neither Update nor Delete"
NO_TIME: Final = "is not an ISO 8601 time, for example 2026-01-31T09:00:00Z"
NO_TIME_ZONE: Final = "has no time zone, for example Z as in 2026-01-31T09:00:00Z"
NOT_LATER: Final = "is not later than effective_at"
NOT_IN_FUTURE: Final = "is not in the future"
NOT_TAKEN_TIME: Final = "cannot be given for this target"
IS_EMPTY: Final = "is empty"

_OPERATION_TYPES: Final[dict[str, OperationType]] = {name.lower(): name for name in get_args(OperationType)}
_ACTIONS_KEPT: Final = 4_096

When = str | datetime.datetime | None
Problem = tuple[str, str]


@attrs.define(eq=False)
class PreparedChunk:
    """What became of some rows: each is either in `rows` or in `rejects`; `warnings` are about rows in `rows`."""

    rows: list[Row] = attrs.field(factory=list, repr=False)
    rejects: list[RowIssue] = attrs.field(factory=list)
    warnings: list[RowIssue] = attrs.field(factory=list)


class Preparer:
    """Prepares the rows of one job.

    `operation` (Update or Delete, in any case), `effective_at` and `expires_at` hold for rows that do not say
    otherwise; times are ISO 8601 texts or datetimes, with a time zone. `expires_default` is the expiry, as it is sent,
    of rows that have none by then. `allow_effective` says whether the target takes a time of effect, `kinds` which
    identifiers it takes, `default_region` what a phone number without a country code means, and `now` when the job
    starts: expiries that are not later are refused.

    Raises InvalidInput when one of these makes no sense.
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
        self._normalizers = normalizers(kinds, default_region)
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

    def prepare_chunk(self, raw_rows: Iterable[RawRow]) -> PreparedChunk:
        """The rows that can be sent, in their order, and why others, or parts of them, cannot."""
        done = PreparedChunk()
        for raw in raw_rows:
            if raw.problem is not None:
                done.rejects.append(RowIssue(raw.number, *raw.problem))
                continue
            action = self._default
            if raw.operation_type is not None or raw.effective_at is not None or raw.expires_at is not None:
                decided = self._action(raw.operation_type, raw.effective_at, raw.expires_at)
                if not isinstance(decided, Action):
                    done.rejects.append(_issue(raw, decided))
                    continue
                action = decided
            self._add(raw, action, done)
        return done

    def _add(self, raw: RawRow, action: Action, done: PreparedChunk) -> None:
        problems: list[Problem] = list(raw.unusable)
        values = _normalized(raw.identifiers, self._normalizers, problems)
        if not values:
            done.rejects.append(_issue(raw, problems or (("", NO_IDENTIFIER),)))
            return
        keys = tuple([f"{kind}:{value}" for kind, each in values.items() for value in each])
        done.rows.append(Row(raw.number, action, keys, _user_json(values)))
        for problem in problems:
            done.warnings.append(RowIssue(raw.number, *problem))

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


def _issue(raw: RawRow, problems: Sequence[Problem]) -> RowIssue:
    fields, reasons = zip(*problems, strict=True)
    return RowIssue(raw.number, ", ".join(fields), "; ".join(reasons))


def _normalized(
    identifiers: Iterable[tuple[str, str, str | None]],
    normalize: Mapping[str, Normalizer],
    problems: list[Problem],
    *,
    blank: str | None = None,
) -> dict[str, list[str]]:
    """The different values of each kind; `problems` gets the others, and with the reason `blank` those of blanks."""
    found: dict[str, list[str]] = {}
    for field, kind, text in identifiers:
        if text is None:
            problems.append((field, NOT_TEXT))
            continue
        try:
            value = normalize[kind](text)
        except Unusable as unusable:
            problems.append((field, unusable.reason))
            continue
        if not value:
            if blank is not None:
                problems.append((field, blank))
        elif kind not in found:
            found[kind] = [value]
        elif value not in found[kind]:
            found[kind].append(value)
    return found


def _user_json(values: Mapping[str, Sequence[str]]) -> bytes:
    """The user object with these values, in the order of the kinds."""
    members = []
    for kind in IDENTIFIER_KINDS:
        if (each := values.get(kind)) is None:
            continue
        # A digest needs no escaping.
        texts = '["' + '","'.join(each) + '"]' if kind != "partner_user_id" else orjson.dumps(each).decode()
        members.append(f'"{kind}":{texts}')
    return f"{{{','.join(members)}}}".encode()


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
) -> tuple[dict[str, list[str]], list[BrokenRule]]:
    """The user object to send, and a broken rule for every identifier that cannot be sent, such as `email[0]`.

    For a single request, in which nothing is left out silently: a blank identifier is a broken rule, too, and so is a
    user without any (path `""`). A value given twice is sent once. Raises InvalidInput for an unknown
    `default_region`.
    """
    problems: list[Problem] = []
    identifiers: list[tuple[str, str, str | None]] = [
        (f"{kind}[{index}]", kind, text)
        for kind in IDENTIFIER_KINDS
        for index, text in enumerate(texts_of(getattr(user, kind, ())))
    ]
    data = _normalized(identifiers, normalizers(kinds, default_region), problems, blank=IS_EMPTY)
    if not data and not problems:
        problems.append(("", NO_IDENTIFIER))
    return data, [BrokenRule(path=path, reason=reason) for path, reason in problems]
