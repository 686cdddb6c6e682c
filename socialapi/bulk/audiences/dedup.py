"""Finds duplicates and conflicts among the recent rows of an upload, and keeps each duplicate until the original row
has an outcome.

This module does no I/O. It remembers a bounded number of identifiers, plus all identifiers of unsettled batches.

Which rows are duplicates, and therefore where batches end, depends only on the rows and not on when batches are
settled, because a resumed job must produce the same batches again. Timing only decides which batches wait for each
other.
"""

from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain
from typing import Final

import attrs

from socialapi._speedups import IdentifierTable
from socialapi.bulk.audiences.batches import Batch, Carriers
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.rows import Action, Row, RowBlock
from socialapi.internal.records import FrozenRecord
from socialapi.models.audiences import IdentifierKind
from socialapi.reports import RowIssue

REMEMBERED: Final = 50_000
"""The number of identifiers in each of the two generations of the window."""


@attrs.frozen(eq=False, repr=False)
class _Placement:
    """The last operation on an identifier, and the batches that contain the identifier, in order of creation."""

    action: Action
    batches: tuple[Batch, ...]

    def does(self, action: Action) -> bool:
        return self.action is action or self.action == action

    @property
    def unsettled(self) -> tuple[Batch, ...]:
        return tuple(batch for batch in self.batches if not batch.settled.is_set())


@attrs.frozen
class Repeated(FrozenRecord):
    """Rows that may repeat earlier rows. If `are_duplicates` is true, these are exactly the rows without a new
    identifier. If `are_apart` is true, all other rows have only new identifiers.
    """

    indexes: list[int]
    are_duplicates: bool = False
    are_apart: bool = False


_Window = defaultdict[IdentifierKind, "IdentifierTable[_Placement]"]
"""Maps each identifier, by kind and value, to its last placement."""


class RecentIdentifiers:
    """A window of recent identifiers in two generations. When the young generation is full, the old one is dropped."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._remembered = remembered
        self._young = _Window(IdentifierTable)
        self._old = _Window(IdentifierTable)
        self._forgotten = list[_Window]()
        """Identifiers of unsettled batches that have left the window, latest first. They are checked for conflicts, but
        not for duplicates.
        """
        self._moved: defaultdict[IdentifierKind, IdentifierTable[tuple[int, Batch]]] = defaultdict(IdentifierTable)
        """For each identifier that `place_new` has moved into the open batch: the number of the first row with the
        identifier, and its previous batch.
        """
        self._shared: _Placement | None = None
        self._only: Action | None = None
        self._differs = False

    def contradicts(self, action: Action) -> bool:
        """Returns whether this action is the first that differs from earlier actions; see `begin_to_differ`."""
        self._only = self._only or action
        return not self._differs and action != self._only

    def begin_to_differ(self) -> None:
        """Records that actions may differ from now on. Call it once all placed rows are settled or in the open batch.

        Before this call, all rows have the same action, and no row has to wait for another.
        """
        self._differs = True

    def repeated(self, block: RowBlock) -> Repeated:
        """Returns the rows that repeat or contradict earlier rows, or might, and so need a closer check."""
        kinds = dict(block.columns)
        if self._differs or len(kinds) < len(block.columns):
            found = set[int]()
            for kind in kinds:
                several = tuple([values for other, values in block.columns if other == kind])
                others = (self._old[kind], *(window[kind] for window in self._forgotten))
                found.update(self._young[kind].repeated(several, others))
            return Repeated(sorted(found))
        # As long as all rows have the same action, one new identifier makes a row new.
        left, known = None, set[int]()
        for _, kind, gaps in sorted([(len(gaps := values.gaps()), kind, gaps) for kind, values in block.columns]):
            found = set(self._young[kind].repeated((kinds[kind],), (self._old[kind],)))
            known |= found
            left = found.union(gaps) if left is None else left & found.union(gaps)
            if not left:  # the column with the fewest gaps comes first, because it often rules out every row
                break
        return Repeated(sorted(left or ()), are_duplicates=True, are_apart=known == left)

    def carriers(self, row: Row) -> Carriers | None:
        """Returns the latest batch of each identifier if the row is a duplicate, and marks its identifiers as recent;
        None for other rows.
        """
        found = [self._recent(kind, value) for kind, value in row.identifiers]
        known = [each for each in found if each is not None and each.does(row.action)]
        if len(known) < len(found):
            return None
        for (kind, value), placement in zip(row.identifiers, known, strict=True):
            self._young[kind].put(value, placement)
        return tuple([each.batches[-1] for each in known])

    def carriers_of_all(self, block: RowBlock) -> list[Carriers]:
        """Returns the result of `carriers` for each row of a block of duplicates. Rows after a duplicate may already be
        placed, but only in the open batch and with `may_move`.
        """
        columns = list[list[Batch | None]]()
        for kind, values in block.columns:
            found = self._young[kind].get_column(values)
            for index, placement in enumerate(found) if None in found else ():
                if placement is None and (value := values[index]) and (known := self._old[kind].get(value)):
                    self._young[kind].put(value, known)
                    found[index] = known
            batches = [None if each is None else each.batches[-1] for each in found]
            for index, moved in enumerate(self._moved[kind].get_column(values)) if kind in self._moved else ():
                if moved is not None and block.numbers[index] < moved[0]:
                    batches[index] = moved[1]
            columns.append(batches)
        kept: dict[Carriers, Carriers] = {}
        return [kept.setdefault(row, row) for row in zip(*columns, strict=True)]

    def conflicts(self, row: Row) -> set[Batch]:
        """Returns the batches that the row must wait for because of a different operation on one of its identifiers.
        Some may already be settled.
        """
        conflicts = set[Batch]()
        for kind, value in row.identifiers:
            for known in (self._recent(kind, value), *(window[kind].get(value) for window in self._forgotten)):
                if known is not None:
                    # A batch with the same action may still wait for another batch, which this row must not overtake.
                    same = known.does(row.action)
                    conflicts.update(*(batch.after if same else (batch,) for batch in known.unsettled))
        return conflicts

    def place(self, row: Row, batch: Batch) -> None:
        """Records that the row is in the batch, so that later conflicting rows wait for the batch."""
        shared = self._placement(row.action, batch)
        for kind, value in row.identifiers:
            placement, before = shared, self._recent(kind, value) or self._left(kind, value)
            if before is not None and before.does(row.action):
                if before.batches[-1] is batch:
                    placement = before
                elif others := [each for each in before.unsettled if each is not batch]:
                    # A later row with another action on this identifier has to wait for all these batches.
                    placement = _Placement(row.action, (*others, batch))
            self._young[kind].put(value, placement)

    def place_new(self, block: RowBlock, batch: Batch, *, may_move: bool = False) -> None:
        """Records that the rows of a block, each with at least one new identifier, are in the open batch. With
        `may_move`, they may also have known identifiers, and duplicates of earlier rows may be looked up later.
        """
        shared = self._placement(block.action, batch)
        for kind, values in block.columns:
            recent = (
                (self._young[kind].get_column(values), self._old[kind].get_column(values)) if may_move else ((), ())
            )
            for index, (young, old) in enumerate(zip(*recent, strict=True)):
                known = young or old
                if known is None or known.batches[-1] is batch:
                    continue
                if (value := values[index]) and self._moved[kind].get(value) is None:
                    self._moved[kind].put(value, (block.numbers[index], known.batches[-1]))
            self._young[kind].put_column(values, shared)

    def _placement(self, action: Action, batch: Batch) -> _Placement:
        shared = self._shared
        if shared is None or shared.action is not action or shared.batches[-1] is not batch:
            shared = self._shared = _Placement(action, (batch,))
        return shared

    def _recent(self, kind: IdentifierKind, value: str) -> _Placement | None:
        return self._young[kind].get(value) or self._old[kind].get(value)

    def _left(self, kind: IdentifierKind, value: str) -> _Placement | None:
        return next(filter(None, (window[kind].get(value) for window in self._forgotten)), None)

    def turn(self) -> bool:
        """Drops the old generation if the young one is full, and returns whether it did. Call it only between batches."""
        self._moved.clear()
        if sum(map(len, self._young.values())) < self._remembered:
            return False
        self._forgotten = [left for each in (self._old, *self._forgotten) if (left := _unsettled(each))]
        self._old, self._young = self._young, _Window(IdentifierTable)
        return True


def _unsettled(window: _Window) -> _Window:
    """Returns a window with only those identifiers that are in unsettled batches. A table with no other identifiers is
    reused instead of copied, because packed jobs have hundreds of thousands of identifiers in flight.
    """
    left = _Window(IdentifierTable)
    for kind, table in window.items():
        placements = table.placements()
        unsettled = {each for each in placements if each.unsettled}
        if unsettled and len(unsettled) < len(placements):
            left[kind].take_over(table, unsettled)
        elif unsettled:
            left[kind] = table
    return left


NumbersOf = Callable[[Sequence[int]], Awaitable[Mapping[int, int]]]
"""A function that maps row numbers of an upload to row numbers of the input, where they differ."""


@attrs.frozen(eq=False, repr=False)
class _Duplicates:
    rows: RowBlock
    carriers: Sequence[Carriers]
    batches: frozenset[Batch]


class WaitingDuplicates:
    """The duplicates without an outcome, in input order.

    A duplicate is rejected if the service refuses the original row. To detect this, the identifiers of duplicates are
    kept in packed columns, about 100 bytes per row.
    """

    def __init__(self, counters: RowCounters, numbers_of: NumbersOf | None = None) -> None:
        self._counters = counters
        self._numbers_of = numbers_of
        self._waiting = deque[_Duplicates]()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def first_unsettled(self) -> Batch | None:
        """An unsettled batch on which the oldest waiting duplicates depend; None if they can be settled."""
        batches = self._waiting[0].batches if self._waiting else ()
        return next((batch for batch in batches if not batch.settled.is_set()), None)

    async def add(self, rows: RowBlock, carriers: Sequence[Carriers]) -> None:
        """Adds duplicates. For each of them, `carriers` has the batches of its original rows."""
        batches = frozenset(batch for batch in chain.from_iterable(set(carriers)) if batch is not None)
        self._waiting.append(_Duplicates(rows, carriers, batches))
        self._count += len(rows)
        await self.settle()

    async def settle(self) -> None:
        """Settles duplicates in order, up to the first whose original row has no outcome yet."""
        while self._waiting and self.first_unsettled is None:
            duplicates = self._waiting.popleft()
            self._count -= len(duplicates.rows)
            if any(batch.failed or batch.refused for batch in duplicates.batches):
                await self._settle_one_by_one(duplicates)
            else:
                self._counters.repeat(duplicates.rows.numbers)

    async def _settle_one_by_one(self, duplicates: _Duplicates) -> None:
        repeated, refusals = list[int](), dict[int, RowIssue]()
        for row, carriers in zip(duplicates.rows, duplicates.carriers, strict=True):
            batches = [batch for batch in carriers if batch is not None]
            if any(batch.failed for batch in batches):
                continue  # the job is stopping, and the row stays pending
            pairs = zip(row.identifiers, batches, strict=True)
            found = (batch.refusal_of(identifier, row.number) for identifier, batch in pairs)
            if (refusal := next(filter(None, found), None)) is None:
                repeated.append(row.number)
            else:
                refusals[row.number] = refusal
        self._counters.repeat(repeated)
        if refusals:
            originals = [refusal.row for refusal in refusals.values()]
            numbers = {} if self._numbers_of is None else await self._numbers_of(originals)
            issues = [(number, each, numbers.get(each.row, each.row)) for number, each in refusals.items()]
            says = "repeats row {}, which the service refused: {}"
            self._counters.reject(
                [RowIssue(number, each.field, says.format(original, each.reason)) for number, each, original in issues]
            )
