"""Finds duplicate rows and conflicts between recent rows of an upload.

It does no I/O and remembers a bounded number of identifiers, plus all identifiers of batches that
are not settled.

Which row is a duplicate, and therefore where a batch ends, depends only on the rows and not on when
batches are settled: a resumed job has to make the same batches again. Time decides only which batch
waits for which.
"""

from typing import Final

import attrs

from socialapi._speedups import IdentifierTable
from socialapi.bulk.audiences.batches import Batch, Carriers
from socialapi.bulk.rows import Action, Row, RowBlock, Values
from socialapi.internal.records import FrozenRecord
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

REMEMBERED: Final = 50_000
"""Identifiers in each of the two generations that the window is made of."""


@attrs.frozen(eq=False, repr=False)
class _Placement:
    """The last operation on an identifier, and the batches that carry it, the latest last."""

    action: Action
    batches: tuple[Batch, ...]

    def does(self, action: Action) -> bool:
        return self.action is action or self.action == action

    @property
    def unsettled(self) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.batches if not batch.settled.is_set())

    def unsettled_but(self, one: Batch) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.unsettled if batch is not one)


@attrs.frozen
class Repeated(FrozenRecord):
    """The rows of a block that repeat others, or may.

    `is_exact` is true if no identifier of these rows is new, and every identifier of all other rows is.
    """

    indexes: list[int]
    is_exact: bool = False


@attrs.define(eq=False, repr=False)
class _Window:
    """The last placement of each identifier, by kind and value."""

    by_kind: dict[IdentifierKind, "IdentifierTable[_Placement]"] = attrs.field(
        factory=lambda: {kind: IdentifierTable() for kind in IDENTIFIER_KINDS}
    )

    def __getitem__(self, kind: IdentifierKind) -> "IdentifierTable[_Placement]":
        return self.by_kind[kind]

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    def take_over_unsettled(self, other: "_Window") -> None:
        """Copies the unsettled placements of another window, most often none. Looks at each
        identifier only if there are some.
        """
        for kind, table in other.by_kind.items():
            if unsettled := {each for each in table.placements() if each.unsettled}:
                self[kind].take_over(table, unsettled)


class RecentIdentifiers:
    """The window over recent identifiers, in two generations: when the new one is full, the old one
    is dropped.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._young = _Window()
        self._old = _Window()
        self._forgotten = _Window()
        """What has left the window and is not settled yet: it makes nothing a duplicate, but rows that
        conflict with it wait for it.
        """
        self._shared: _Placement | None = None
        self._only: Action | None = None
        self._differs = False

    def contradicts(self, action: Action) -> bool:
        """Returns whether this is the first action that differs from all before it; see
        `begin_to_differ`.
        """
        self._only = self._only or action
        return not self._differs and action != self._only

    def begin_to_differ(self) -> None:
        """Notes that actions differ from now on. Call it when all that was placed is settled, or in
        one open batch.

        As long as all rows have the same action, no row waits for another.
        """
        self._differs = True

    def repeated(self, block: RowBlock) -> Repeated:
        """Returns the rows that need a decision, since they repeat or contradict others or may do so."""
        columns: dict[IdentifierKind, tuple[Values, ...]] = {}
        for kind, values in block.columns:
            columns[kind] = (*columns.get(kind, ()), values)
        if not self._differs and len(columns) == len(block.columns):
            return self._without_new_identifiers(block)
        found = set[int]()
        for kind, several in columns.items():
            found.update(self._young[kind].repeated(several, (self._old[kind], self._forgotten[kind])))
        return Repeated(sorted(found))

    def _without_new_identifiers(self, block: RowBlock) -> Repeated:
        """Returns the rows without a new identifier: as long as all rows have the same action, one new
        identifier makes a row new. Every kind has one column.
        """
        left, known = None, set[int]()
        columns = [(set(values.gaps()), kind, values) for kind, values in block.columns]
        for gaps, kind, values in sorted(columns, key=lambda column: len(column[0])):  # the first may leave none
            found = set(self._young[kind].repeated((values,), (self._old[kind],)))
            known |= found
            left = found | gaps if left is None else left & (found | gaps)
            if not left:
                break
        return Repeated(sorted(left or ()), is_exact=known == left)

    def carriers(self, row: Row) -> Carriers | None:
        """Returns the batches that carry the identifiers of a duplicate last, which become recent again;
        None for any other row.
        """
        found = [self._recent(kind, value) for kind, value in row.identifiers]
        known = [each for each in found if each is not None and each.does(row.action)]
        if len(known) < len(found):
            return None
        for (kind, value), placement in zip(row.identifiers, known, strict=True):
            self._young[kind].put(value, placement)
        return tuple([each.batches[-1] for each in known])

    def carriers_of_all(self, block: RowBlock) -> list[Carriers]:
        """Returns the same as `carriers` for each row of a block of duplicates."""
        columns = list[list[Batch | None]]()
        for kind, values in block.columns:
            found = self._young[kind].get_column(values)
            for index, placement in enumerate(found) if None in found else ():
                if placement is None and (value := values[index]) and (known := self._old[kind].get(value)):
                    self._young[kind].put(value, known)
                    found[index] = known
            columns.append([None if each is None else each.batches[-1] for each in found])
        kept: dict[Carriers, Carriers] = {}
        return [kept.setdefault(row, row) for row in zip(*columns, strict=True)]

    def conflicts(self, row: Row) -> set[Batch]:
        """Returns the batches that a row has to wait for, at least those that are not settled: with
        another operation on one of its identifiers.
        """
        conflicts = set[Batch]()
        for kind, value in row.identifiers:
            for known in (self._recent(kind, value), self._forgotten[kind].get(value)):
                if known is not None:
                    # A batch with the same action may still wait for another one, which this row must
                    # not overtake either.
                    same = known.does(row.action)
                    conflicts.update(*(batch.after if same else (batch,) for batch in known.unsettled))
        return conflicts

    def place(self, row: Row, batch: Batch) -> None:
        """Notes that the row is in the batch: rows that conflict with it wait for the batch."""
        shared = self._placement(row.action, batch)
        for kind, value in row.identifiers:
            placement, before = shared, self._recent(kind, value) or self._forgotten[kind].get(value)
            if before is not None and before.does(row.action):
                if before.batches[-1] is batch:
                    placement = before
                elif others := before.unsettled_but(batch):
                    # A row with another action on this identifier has to wait for all of them.
                    placement = _Placement(row.action, (*others, batch))
            self._young[kind].put(value, placement)

    def place_new(self, block: RowBlock, batch: Batch) -> None:
        """Notes that rows, each of which has a new identifier, are in the batch."""
        shared = self._placement(block.action, batch)
        for kind, values in block.columns:
            self._young[kind].put_column(values, shared)

    def _placement(self, action: Action, batch: Batch) -> _Placement:
        shared = self._shared
        if shared is None or shared.action is not action or shared.batches[-1] is not batch:
            shared = self._shared = _Placement(action, (batch,))
        return shared

    def _recent(self, kind: IdentifierKind, value: str) -> _Placement | None:
        return self._young[kind].get(value) or self._old[kind].get(value)

    def turn(self) -> bool:
        """Forgets the old generation if the young one is full, and returns whether it was. Call it
        between two batches only.
        """
        if len(self._young) < self._remembered:
            return False
        forgotten = _Window()
        forgotten.take_over_unsettled(self._forgotten)
        forgotten.take_over_unsettled(self._old)
        self._forgotten, self._old, self._young = forgotten, self._young, _Window()
        return True
