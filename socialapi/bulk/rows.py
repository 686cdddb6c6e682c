"""The rows of an upload: as read, one by one or as a table, and ready to be sent."""

import datetime
import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from socialapi.models.audiences import IdentifierKind, OperationType

ROWS_PER_CHUNK: Final = 1_250
"""Rows read, or encoded, in one go: few enough that the event loop is not held for more than about 10 ms."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RawRow:
    """A row of the input before validation.

    `number` counts data rows from 1. `identifiers` are (field, kind, raw text) triples; `field` is
    the name in the input, for messages. The three overrides are None if the row has none. `problem`
    is a (field, reason) pair if the row could not be read. `unusable` are such pairs for values
    that are not text, beside identifiers that are.
    """

    number: int
    identifiers: list[tuple[str, IdentifierKind, str]]
    operation_type: str | None = None
    effective_at: str | datetime.datetime | None = None
    expires_at: str | datetime.datetime | None = None
    problem: tuple[str, str] | None = None
    unusable: tuple[tuple[str, str], ...] = ()


When = str | datetime.datetime | None


@attrs.frozen(eq=False, repr=False)
class RawColumn:
    """The cells of one identifier column: texts, empty for rows without one. `field` is its name in
    the input.
    """

    field: str
    kind: IdentifierKind
    cells: Sequence[str]


@attrs.frozen(eq=False, repr=False)
class RawTable:
    """A table of input rows, processed by column as long as nothing in it is irregular.

    `first_number` is the number of the first of `size` rows. `overrides` are the columns of
    operation types, times of effect and expiries, each None if the input has none. `problems` are
    those of rows that could not be read, by their index in the table.
    """

    first_number: int
    size: int
    columns: tuple[RawColumn, ...]
    overrides: tuple[Sequence[str | None] | None, Sequence[When] | None, Sequence[When] | None] = (None, None, None)
    problems: Mapping[int, tuple[str, str]] = {}

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[RawRow]:
        return map(self.row, range(self.size))

    def row(self, place: int) -> RawRow:
        """The row at this place in the table."""
        operation_types, effective_ats, expires_ats = self.overrides
        return RawRow(
            self.first_number + place,
            [
                (column.field, column.kind, cell)
                for column in self.columns
                if (cell := column.cells[place]) and not cell.isspace()
            ],
            operation_types[place] if operation_types is not None else None,
            effective_ats[place] if effective_ats is not None else None,
            expires_ats[place] if expires_ats is not None else None,
            self.problems.get(place),
        )

    def part(self, start: int, stop: int) -> "RawTable":
        """The rows from one place up to another, or up to the last one."""
        stop = min(stop, self.size)
        if start == 0 and stop == self.size:
            return self
        operation_types, effective_ats, expires_ats = self.overrides
        return RawTable(
            self.first_number + start,
            stop - start,
            tuple([RawColumn(each.field, each.kind, each.cells[start:stop]) for each in self.columns]),
            (
                operation_types[start:stop] if operation_types is not None else None,
                effective_ats[start:stop] if effective_ats is not None else None,
                expires_ats[start:stop] if expires_ats is not None else None,
            ),
            {place - start: why for place, why in self.problems.items() if start <= place < stop},
        )

    @property
    def has_overrides(self) -> bool:
        """Whether a row can say for itself what is done with it, or when."""
        return self.overrides != (None, None, None)


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
        return len(self.users)

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
