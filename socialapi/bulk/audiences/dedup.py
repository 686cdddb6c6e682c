"""Finds duplicate rows and conflicts between recent rows of an upload.

It does no I/O and remembers a bounded number of identifiers, plus all identifiers of batches that
are not settled.

Which row is a duplicate, and therefore where a batch ends, depends only on the rows and not on when
batches are settled: a resumed job has to make the same batches again. Time decides only which batch
waits for which.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.rows import Action, Column, Identifier, Row, RowBlock
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

REMEMBERED: Final = 50_000
"""Identifiers in each of the two generations that the window is made of."""


@attrs.frozen(eq=False)
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
class Decision:
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
    refused: frozenset[Identifier] = frozenset()
    conflicts: frozenset[Batch] = frozenset()


_NEW: Final = Decision(duplicate=False)
_SETTLED_DUPLICATE: Final = Decision(duplicate=True)


@attrs.define(eq=False, repr=False)
class _Window:
    """The last placement of each identifier, by kind and value, and all placements."""

    by_kind: dict[IdentifierKind, dict[str, _Placement]] = attrs.field(
        factory=lambda: {kind: {} for kind in IDENTIFIER_KINDS}
    )
    placements: set[_Placement] = attrs.field(factory=set)

    def __getitem__(self, kind: IdentifierKind) -> dict[str, _Placement]:
        return self.by_kind[kind]

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    def put(self, identifier: Identifier, placement: _Placement) -> None:
        kind, value = identifier
        self.by_kind[kind][value] = placement
        self.placements.add(placement)

    def unsettled(self) -> "_Window":
        """What of it is not settled, most often nothing, which is known without a look at every
        identifier.
        """
        placements = {each for each in self.placements if each.unsettled}
        if not placements:
            return _Window()
        return _Window(
            {
                kind: {value: each for value, each in found.items() if each in placements}
                for kind, found in self.by_kind.items()
            },
            placements,
        )

    def add(self, other: "_Window") -> None:
        for kind, found in other.by_kind.items():
            self.by_kind[kind].update(found)
        self.placements |= other.placements


class RecentIdentifiers:
    """The window over recent identifiers, in two generations: when the new one is full, the old one
    is dropped.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._young = _Window()
        self._old = _Window()
        self._forgotten = _Window()
        """What has left the window and is not settled yet: it makes nothing a duplicate, but others
        wait for it.
        """
        self._shared: _Placement | None = None
        self._only: Action | None = None
        self._differs = False

    def contradicts(self, action: Action) -> bool:
        """Whether this is the first row that does something else than all before it; see
        `begin_to_differ`.
        """
        self._only = self._only or action
        return not self._differs and action != self._only

    def begin_to_differ(self) -> None:
        """From now on rows do different things. To be called when all that was placed is settled,
        or in one open batch.

        As long as all rows do the same, nobody has to wait for anybody, and what makes a row new is
        any identifier of it that is: one column tells.
        """
        self._differs = True

    def repeated(self, run: RowBlock) -> list[int]:
        """The places of the rows that have to be judged, since they repeat or contradict others or
        may do so.
        """
        columns = run.columns
        if len({kind for kind, _ in columns}) == len(columns):
            if not self._differs:
                columns = next(((column,) for column in columns if "" not in column[1]), columns)
            if not any(self._repeats(kind, values) for kind, values in columns):
                return []
        return list(self._repeated(columns, len(run)))

    def _repeats(self, kind: IdentifierKind, values: Sequence[str]) -> bool:
        fresh = dict.fromkeys(values)
        if len(fresh) < len(values) and len(fresh) < len(values) - values.count("") + ("" in fresh):
            return True
        windows = (self._young[kind], self._old[kind], self._forgotten[kind])
        return not all(window.keys().isdisjoint(fresh) for window in windows if window)

    def _repeated(self, columns: Iterable[Column], rows: int) -> Iterator[int]:
        seen: dict[IdentifierKind, set[str]] = {kind: set() for kind, _ in columns}
        windows = [
            (values, seen[kind], self._young[kind], self._old[kind], self._forgotten[kind]) for kind, values in columns
        ]
        for place in range(rows):
            known = False
            for values, before, young, old, forgotten in windows:
                if value := values[place]:
                    known = known or value in before or value in young or value in old or value in forgotten
                    before.add(value)
            if known:
                yield place

    def judge(self, row: Row) -> Decision:
        """What the recent past means for the row."""
        found = [self._young[kind].get(value) or self._old[kind].get(value) for kind, value in row.identifiers]
        known = [each for each in found if each is not None]
        if known and len(known) == len(found) and all(each.does(row.action) for each in known):
            return _duplicate(row, known)
        known += [each for kind, value in row.identifiers if (each := self._forgotten[kind].get(value)) is not None]
        conflicts: set[Batch] = set()
        for each in known:
            # What carries the same may still wait for something else, which this row must not
            # overtake either.
            same = each.does(row.action)
            conflicts.update(*(batch.after if same else (batch,) for batch in each.unsettled))
        return Decision(duplicate=False, conflicts=frozenset(conflicts)) if conflicts else _NEW

    def place(self, row: Row, batch: Batch) -> None:
        """The row travels in the batch, or will if a row is refused that it repeats: who conflicts
        has to wait for it.
        """
        shared = self._placement(row.action, batch)
        for identifier in row.identifiers:
            before = self._last(identifier)
            if before is None or not before.does(row.action):
                self._young.put(identifier, shared)
            elif before.batches[-1] is batch:
                self._young.put(identifier, before)
            else:
                # Whoever does something else to this identifier has to wait for all of them.
                others = before.unsettled_but(batch)
                self._young.put(identifier, _Placement(row.action, (*others, batch)) if others else shared)

    def refresh(self, row: Row) -> None:
        """The row is a duplicate: its identifiers are recent again, whatever becomes of what it
        repeats.
        """
        for kind, value in row.identifiers:
            self._young.put((kind, value), self._young[kind].get(value) or self._old[kind][value])

    def place_new(self, run: RowBlock, batch: Batch) -> None:
        """As `place`, for rows none of whose identifiers is known."""
        shared = self._placement(run.action, batch)
        self._young.placements.add(shared)
        for kind, values in run.columns:
            self._young[kind].update(dict.fromkeys(values, shared))
            self._young[kind].pop("", None)  # stands for none

    def _placement(self, action: Action, batch: Batch) -> _Placement:
        shared = self._shared
        if shared is None or shared.action is not action or shared.batches[-1] is not batch:
            shared = self._shared = _Placement(action, (batch,))
        return shared

    def _last(self, identifier: Identifier) -> _Placement | None:
        kind, value = identifier
        return self._young[kind].get(value) or self._old[kind].get(value) or self._forgotten[kind].get(value)

    def turn(self) -> None:
        """Forgets the old generation if the young one is full; to be called between two batches,
        and only there.
        """
        if len(self._young) < self._remembered:
            return
        self._forgotten = self._forgotten.unsettled()
        self._forgotten.add(self._old.unsettled())
        self._old, self._young = self._young, _Window()


def _duplicate(row: Row, placements: list[_Placement]) -> Decision:
    """The latest batch of each placement decides; earlier ones carried the same and are not asked."""
    latest = {each.batches[-1] for each in placements}
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
