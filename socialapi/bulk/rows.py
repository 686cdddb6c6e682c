"""The shapes that rows have on their way: as they were read, one by one or as a table, and ready to be sent."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs

from socialapi.models.audiences import IdentifierKind, OperationType

ROWS_PER_CHUNK: Final = 1_250
"""Rows read, or encoded, in one go: few enough that the event loop is not held for more than about 10 ms."""


@attrs.define(eq=False, repr=False, weakref_slot=False)
class RawRow:
    """A row of the input before anything is judged.

    `number` counts data rows from 1. `identifiers` are (field, kind, raw text) triples: `field` is what the input
    calls it (a column header), for messages. The three overrides are None when the row does not have them. `problem`
    is a (field, reason) pair when the row could not even be read; `unusable` are such pairs for values that are no text,
    beside identifiers that are.
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
    """The cells of one kind of identifier: texts, empty where a row has none. `field` is what the input calls it."""

    field: str
    kind: IdentifierKind
    cells: Sequence[str]


@attrs.frozen(eq=False, repr=False)
class RawTable:
    """Rows of the input side by side, which are looked at a column at a time as long as nothing is odd about them.

    `first_number` is the number of the first of `size` rows. `overrides` are the columns of operation types, times of
    effect and expiries, each None where the input has no such column. `problems` are those of rows that could not be
    read, by their place in the table.
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

    @property
    def has_overrides(self) -> bool:
        """Whether a row can say for itself what is done with it, or when."""
        return self.overrides != (None, None, None)


@attrs.frozen
class Action:
    """What is done with a row's identifiers, as it stands in the request; times are ISO 8601 UTC texts or None."""

    operation_type: OperationType
    effective_at: str | None = None
    expires_at: str | None = None


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Row:
    """A row ready to be sent.

    `keys` identify its identifiers (kind and normalised value in one text) for order and duplicates; `user_json` is
    its user object, encoded.
    """

    number: int
    action: Action
    keys: tuple[str, ...]
    user_json: bytes
