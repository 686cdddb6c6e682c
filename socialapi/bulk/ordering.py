"""What recent rows did with which identifier: who must wait for whom, and which row repeats another.

Pure bookkeeping over batches. It remembers a bounded number of identifiers, and every identifier of a batch that is
not settled, whatever their number.
"""

from typing import Final

import attrs

from socialapi.bulk.batches import Batch
from socialapi.bulk.rows import Action, Row

REMEMBERED: Final = 50_000
"""Identifiers in each of the two generations that the window is made of."""


@attrs.frozen(eq=False)
class _Placement:
    """The last operation on an identifier and the batches that carry it, the latest at the end."""

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
class Verdict:
    """What the recent past means for a row.

    `repeats` is the unsettled batch whose fate decides about a duplicate (None when it is one already), and
    `repeats_too` further ones. `conflicts` are batches that hold another operation on one of the row's identifiers,
    those among them that are unsettled at least.
    """

    duplicate: bool
    repeats: Batch | None = None
    repeats_too: frozenset[Batch] = frozenset()
    conflicts: frozenset[Batch] = frozenset()


_NEW: Final = Verdict(duplicate=False)
_SETTLED_DUPLICATE: Final = Verdict(duplicate=True)


class RecentIdentifiers:
    """The window over recent identifiers, in two generations: when the young one is full, the old one is forgotten."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._turn_at = remembered
        self._young: dict[str, _Placement] = {}
        self._old: dict[str, _Placement] = {}
        self._shared: _Placement | None = None

    def judge(self, row: Row) -> Verdict:
        """What the recent past means for the row."""
        found = [self._young.get(key) or self._old.get(key) for key in row.keys]
        known = [each for each in found if each is not None]
        if not known:
            return _NEW
        if len(known) == len(found) and all(each.does(row.action) for each in known):
            return _duplicate(known)
        conflicts: set[Batch] = set()
        for each in known:
            # What carries the same may still wait for something else, which this row must not overtake either.
            same = each.does(row.action)
            conflicts.update(*(batch.after if same else (batch,) for batch in each.unsettled))
        return Verdict(duplicate=False, conflicts=frozenset(conflicts)) if conflicts else _NEW

    def place(self, row: Row, batch: Batch) -> None:
        """The row travels in the batch, or will if a row is refused that it repeats: who conflicts has to wait for it."""
        shared = self._shared
        if shared is None or shared.action is not row.action or shared.batches[-1] is not batch:
            shared = self._shared = _Placement(row.action, (batch,))
        young, old = self._young, self._old
        for key in row.keys:
            before = young.get(key) or old.get(key)
            if before is None or not before.does(row.action):
                young[key] = shared
            elif before.batches[-1] is batch:
                young[key] = before
            else:
                # Whoever does something else to this identifier has to wait for all of them.
                others = before.unsettled_but(batch)
                young[key] = _Placement(row.action, (*others, batch)) if others else shared
        if len(young) > self._turn_at:
            self._turn()

    def _turn(self) -> None:
        live = {key: each for key, each in self._old.items() if each.unsettled and key not in self._young}
        self._old, self._young = self._young, live
        # Beyond what is unsettled there is room for as many new ones, or every further row would turn again.
        self._turn_at = len(live) + self._remembered

    def forget(self, row: Row, batch: Batch) -> None:
        """The row was refused and its batch is settled: whoever repeats it from now on is not a duplicate."""
        for key in row.keys:
            placement = self._young.get(key) or self._old.get(key)
            if placement is None or batch not in placement.batches:
                continue
            # What the old generation may still say is older, and another row of the batch may have undone it.
            self._young.pop(key, None)
            self._old.pop(key, None)
            if others := placement.unsettled_but(batch):
                self._young[key] = _Placement(placement.action, others)


def _duplicate(placements: list[_Placement]) -> Verdict:
    """The latest batch of each placement decides; earlier ones carried the same and are not asked."""
    unsettled = {each.batches[-1] for each in placements if not each.batches[-1].settled.is_set()}
    if not unsettled:
        return _SETTLED_DUPLICATE
    latest = max(unsettled, key=lambda batch: batch.number)
    return Verdict(duplicate=True, repeats=latest, repeats_too=frozenset(unsettled - {latest}))
