"""The rows of an upload that are ready to be sent, one by one or in blocks."""

import itertools
import json
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar, cast

import attrs

from socialapi._speedups import IS_ENABLED
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind, OperationType

if TYPE_CHECKING or IS_ENABLED:
    from socialapi._speedups._native import Digests, Users

T = TypeVar("T", bound=str | None)


@attrs.frozen
class Action:
    """The operation on a row's identifiers, as in the request. Times are ISO 8601 UTC strings or
    None.
    """

    operation_type: OperationType
    effective_at: str | None = None
    expires_at: str | None = None


Identifier = tuple[IdentifierKind, str]
"""A kind and the normalised value, as it is sent."""
Column = tuple[IdentifierKind, Sequence[str]]
"""A kind and a normalised value for each row, empty where there is none: a list, or `Digests`."""

_as_json: Final = json.JSONEncoder(ensure_ascii=True).encode


def are_digests(values: Sequence[str | None]) -> "TypeGuard[Digests]":
    """Whether the values of a column are held by the extension in C."""
    return IS_ENABLED and values.__class__ is Digests


def are_rendered(users: Sequence[str]) -> "TypeGuard[Users]":
    """Whether the user objects are made of their columns when they are asked for."""
    return IS_ENABLED and users.__class__ is Users


def gaps_of(values: Sequence[str | None]) -> list[int]:
    """The indexes of the rows without a value."""
    if are_digests(values):
        return values.gaps()
    return [at for at, value in enumerate(values) if not value] if "" in values or None in values else []


def repeated_within_rows(values: Sequence[str | None], others: Sequence[str | None]) -> list[int]:
    """The indexes of the rows that have the same value in both columns."""
    if are_digests(values) and are_digests(others):
        return values.same_as(others)
    return [at for at, (value, other) in enumerate(zip(values, others, strict=True)) if value and value == other]


def kept_of(values: Sequence[T], kept: bytes | bytearray) -> Sequence[T]:
    """The values of the rows whose byte is not zero."""
    if are_digests(values):
        return cast("Sequence[T]", values.compress(kept))
    return list(itertools.compress(values, kept))


def chained(parts: Sequence[Sequence[T]]) -> Sequence[T]:
    """The values of columns one behind the other."""
    if parts and all(map(are_digests, parts)):
        return cast("Sequence[T]", Digests.joined(cast("tuple[Digests, ...]", tuple(parts))))
    return list(itertools.chain.from_iterable(parts))


def rendered(columns: Sequence[Column]) -> "Users":
    """The user objects of rows, of which each has a value in at least one column."""
    found = ((kind, tuple(_in_json(values) for each, values in columns if each == kind)) for kind in IDENTIFIER_KINDS)
    return Users(tuple(member for member in found if member[1]))


def _in_json(values: Sequence[str]) -> "Digests | tuple[str, ...]":
    if are_digests(values):
        return values
    return tuple([value and _as_json(value) for value in values])


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Row:
    """A row ready to be sent. `user_json` is its user object in ASCII."""

    number: int
    action: Action
    identifiers: tuple[Identifier, ...]
    user_json: str


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RowBlock:
    """Consecutive rows that are ready to be sent and have the same action.

    Every column has one value of its kind per row, or an empty string; a kind may have several
    columns. `users` are the user objects in ASCII. Strings, rather than an object per row, save work
    for the garbage collector, which took 100 ms at a time for the rows in progress.
    """

    action: Action
    numbers: Sequence[int]
    users: Sequence[str]
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    def row(self, place: int) -> Row:
        """The row at this place in the run."""
        found = tuple([(kind, value) for kind, values in self.columns if (value := values[place])])
        return Row(self.numbers[place], self.action, found, self.users[place])

    def part(self, start: int, stop: int) -> "RowBlock":
        """The rows from one place up to another."""
        if start == 0 and stop >= len(self):
            return self
        columns = tuple([(kind, values[start:stop]) for kind, values in self.columns])
        return RowBlock(self.action, self.numbers[start:stop], self.users[start:stop], columns)


def rows_of(runs: Iterable[RowBlock]) -> list[Row]:
    """Every row of the runs."""
    return [row for run in runs for row in run]


def runs_of(rows: Iterable[Row]) -> list[RowBlock]:
    """The rows as runs, in their order."""
    return [_run(action, list(same)) for action, same in itertools.groupby(rows, key=operator.attrgetter("action"))]


def joined(runs: Iterable[RowBlock]) -> list[RowBlock]:
    """The runs, of which neighbours that are alike have become one."""
    return [_one(list(alike)) for _, alike in itertools.groupby(runs, key=_likeness)]


def _likeness(run: RowBlock) -> object:
    return run.action, [kind for kind, _ in run.columns]


def _one(runs: Sequence[RowBlock]) -> RowBlock:
    if len(runs) == 1:
        return runs[0]
    columns = tuple(
        (kind, chained([run.columns[at][1] for run in runs])) for at, (kind, _) in enumerate(runs[0].columns)
    )
    numbers = list(itertools.chain.from_iterable(run.numbers for run in runs))
    if columns and all(are_rendered(run.users) for run in runs):
        users: Sequence[str] = rendered(columns)
    else:
        users = list(itertools.chain.from_iterable(run.users for run in runs))
    return RowBlock(runs[0].action, numbers, users, columns)


def halves(runs: Sequence[RowBlock]) -> tuple[list[RowBlock], list[RowBlock]]:
    """The first half of the rows, and the others."""
    before, after = list[RowBlock](), list[RowBlock]()
    left = sum(map(len, runs)) // 2
    for run in runs:
        if left:
            before.append(run.part(0, left))
        if left < len(run):
            after.append(run.part(left, len(run)))
        left -= min(left, len(run))
    return before, after


def _run(action: Action, rows: Sequence[Row]) -> RowBlock:
    columns: dict[tuple[IdentifierKind, int], list[str]] = {}
    for place, row in enumerate(rows):
        seen: Counter[IdentifierKind] = Counter()
        for kind, value in row.identifiers:
            column = columns.get((kind, seen[kind]))
            if column is None:
                column = columns[kind, seen[kind]] = [""] * len(rows)
            column[place] = value
            seen[kind] += 1
    found = tuple((kind, values) for (kind, _), values in columns.items())
    return RowBlock(action, [row.number for row in rows], [row.user_json for row in rows], found)
