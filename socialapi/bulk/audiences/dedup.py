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
from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.rows import Action, Identifier, Row, RowBlock, Values
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
class Decision(FrozenRecord):
    """What recent rows mean for a row.

    `duplicate_of` is the batch whose outcome decides about a duplicate (None if it is one already),
    and `also_duplicate_of` are further ones. `refused` are the identifiers of the row that the
    service has refused in the rows that it repeats, once no such batch is in flight any more.
    `conflicts` are batches with another operation on one of the row's identifiers, at least those
    that are not settled.
    """

    duplicate: bool
    duplicate_of: Batch | None = None
    also_duplicate_of: frozenset[Batch] = frozenset()
    refused: frozenset[Identifier] = attrs.field(default=frozenset(), repr=False)
    conflicts: frozenset[Batch] = frozenset()


_NEW: Final = Decision(duplicate=False)
_SETTLED_DUPLICATE: Final = Decision(duplicate=True)


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

        As long as all rows have the same action, no row waits for another, and a row is new if any of
        its identifiers is: one column decides.
        """
        self._differs = True

    def repeated(self, block: RowBlock) -> list[int]:
        """Returns the indexes of the rows that need a decision, since they repeat or contradict others
        or may do so.
        """
        columns: dict[IdentifierKind, tuple[Values, ...]] = {}
        for kind, values in block.columns:
            columns[kind] = (*columns.get(kind, ()), values)
        if not self._differs and len(columns) == len(block.columns):
            columns = next(({kind: (values,)} for kind, values in block.columns if "" not in values), columns)
        found = [
            self._young[kind].repeated(several, (self._old[kind], self._forgotten[kind]))
            for kind, several in columns.items()
        ]
        return found[0] if len(found) == 1 else sorted({index for indexes in found for index in indexes})

    def decide(self, row: Row) -> Decision:
        """Returns what the recent past means for the row."""
        found = [self._recent(kind, value) for kind, value in row.identifiers]
        known = [each for each in found if each is not None]
        if known and len(known) == len(found) and all(each.does(row.action) for each in known):
            return _duplicate(row, known)
        known += [each for kind, value in row.identifiers if (each := self._forgotten[kind].get(value)) is not None]
        conflicts: set[Batch] = set()
        for each in known:
            # A batch with the same action may still wait for another one, which this row must not
            # overtake either.
            same = each.does(row.action)
            conflicts.update(*(batch.after if same else (batch,) for batch in each.unsettled))
        return Decision(duplicate=False, conflicts=frozenset(conflicts)) if conflicts else _NEW

    def place(self, row: Row, batch: Batch) -> None:
        """Notes that the row is in the batch, or will be if a row that it repeats is refused: rows
        that conflict with it wait for the batch.
        """
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

    def refresh(self, row: Row) -> None:
        """Makes the identifiers of a duplicate recent again, whatever becomes of the row that it
        repeats.
        """
        for kind, value in row.identifiers:
            known = self._recent(kind, value)
            assert known is not None
            self._young[kind].put(value, known)

    def place_new(self, block: RowBlock, batch: Batch) -> None:
        """Notes that rows are in the batch. None of their identifiers is known."""
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

    def turn(self) -> None:
        """Forgets the old generation if the young one is full. Call it between two batches only."""
        if len(self._young) < self._remembered:
            return
        forgotten = _Window()
        forgotten.take_over_unsettled(self._forgotten)
        forgotten.take_over_unsettled(self._old)
        self._forgotten, self._old, self._young = forgotten, self._young, _Window()


def _duplicate(row: Row, placements: list[_Placement]) -> Decision:
    """Returns the decision about a duplicate. The latest batch of each placement decides; earlier ones
    carried the same action.
    """
    latest = {each.batches[-1] for each in placements}
    if len(latest) == 1:
        (only,) = latest
        if not only.settled.is_set():
            return Decision(duplicate=True, duplicate_of=only)
        if not only.refused:
            return _SETTLED_DUPLICATE
    unsettled = {batch for batch in latest if not batch.settled.is_set()}
    refusing = {batch for batch in latest - unsettled if not batch.refused.isdisjoint(row.identifiers)}
    if not unsettled:
        carried = zip(row.identifiers, placements, strict=True)
        refused = frozenset(each for each, by in carried if each in by.batches[-1].refused)
        return Decision(duplicate=True, refused=refused) if refused else _SETTLED_DUPLICATE
    original = max(unsettled, key=lambda batch: batch.number)
    return Decision(
        duplicate=True, duplicate_of=original, also_duplicate_of=frozenset((unsettled | refusing) - {original})
    )
