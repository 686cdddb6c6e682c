"""The rows of an upload that are ready to be sent, one by one or in blocks."""

import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs

from socialapi.models.audiences import IdentifierKind, OperationType


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
"""A kind and a normalised value for each row, empty where there is none."""


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
    columns. Strings, rather than an object per row, save work for the garbage collector, which took
    100 ms at a time for the rows in progress.
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
        found = tuple([(kind, values[place]) for kind, values in self.columns if values[place]])
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
    chain = itertools.chain.from_iterable
    columns = tuple(
        (kind, list(chain(run.columns[at][1] for run in runs))) for at, (kind, _) in enumerate(runs[0].columns)
    )
    numbers, users = list(chain(run.numbers for run in runs)), list(chain(run.users for run in runs))
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
