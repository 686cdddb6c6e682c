"""Keeps the duplicate rows of an upload until the rows that they repeat have an outcome."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import chain

import attrs

from socialapi.bulk.audiences.batches import Batch, Carriers
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.rows import RowBlock
from socialapi.reports import RowIssue

NumbersOf = Callable[[Sequence[int]], Awaitable[Mapping[int, int]]]
"""Returns the numbers that rows have in the input, where those of an upload are others."""


@attrs.frozen(eq=False, repr=False)
class _Duplicates:
    rows: RowBlock
    carriers: Sequence[Carriers]
    batches: frozenset[Batch]


class WaitingDuplicates:
    """The duplicates that have no outcome yet, in the order of the input.

    A duplicate is rejected if the service has refused the row that it repeats. Their identifiers are
    kept in packed columns for that, about 100 bytes a row.
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
        """A batch that the first duplicates wait for; None if nothing waits."""
        batches = self._waiting[0].batches if self._waiting else ()
        return next((batch for batch in batches if not batch.settled.is_set()), None)

    async def add(self, rows: RowBlock, carriers: Sequence[Carriers]) -> None:
        """Adds duplicates and the batches of the rows that they repeat."""
        batches = frozenset(batch for batch in chain.from_iterable(set(carriers)) if batch is not None)
        self._waiting.append(_Duplicates(rows, carriers, batches))
        self._count += len(rows)
        await self.settle()

    async def settle(self) -> None:
        """Counts duplicates up to the first that repeats a row without an outcome."""
        while self._waiting and self.first_unsettled is None:
            duplicates = self._waiting.popleft()
            self._count -= len(duplicates.rows)
            if any(batch.failed or batch.refused for batch in duplicates.batches):
                await self._settle_one_by_one(duplicates)
            else:
                self._counters.repeat(len(duplicates.rows))

    async def _settle_one_by_one(self, duplicates: _Duplicates) -> None:
        repeated, refusals = 0, dict[int, RowIssue]()
        for row, carriers in zip(duplicates.rows, duplicates.carriers, strict=True):
            batches = [batch for batch in carriers if batch is not None]
            if any(batch.failed for batch in batches):
                continue  # the job stops, and the row stays pending
            pairs = zip(row.identifiers, batches, strict=True)
            found = (batch.refusal_of(identifier, row.number) for identifier, batch in pairs)
            if (refusal := next(filter(None, found), None)) is None:
                repeated += 1
            else:
                refusals[row.number] = refusal
        self._counters.repeat(repeated)
        if refusals:
            originals = [refusal.row for refusal in refusals.values()]
            numbers = {} if self._numbers_of is None else await self._numbers_of(originals)
            self._counters.reject([_rejected(number, each, numbers) for number, each in refusals.items()])


def _rejected(number: int, refusal: RowIssue, numbers: Mapping[int, int]) -> RowIssue:
    original = numbers.get(refusal.row, refusal.row)
    return RowIssue(number, refusal.field, f"repeats row {original}, which the service refused: {refusal.reason}")
