"""Records the outcome of each product in the journal of a load. Recording batches would not suffice, because a
product's batch depends on timing.

Products with the same id are sent one after another, each after its predecessor is confirmed. An unconfirmed product
therefore never precedes a confirmed product with the same id, and sending it in a later run cannot undo a newer
version.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.journals.journal import Journal, Outcome, RecordedBatch, digest64
from socialapi.bulk.products.rows import ProductBatch, ProductRow
from socialapi.errors import InvalidInput

REFUSED: Final = "rejected"
"""The service rejected the product."""
INVALID: Final = "invalid"
"""The product is invalid and was not sent."""
SKIPPED: Final = "skipped"
"""The product is unchanged since the last load and was not sent."""
KNOWN_BEFORE: Final = "products known before"
"""The name under which the journal stores the number of products that the digest file had before the first run."""
DELETED: Final = "vanished products deleted"
"""The name under which the journal stores the number of deleted products, once all vanished products are handled."""


@attrs.frozen(eq=False, repr=False)
class LoadJournal:
    """The journal of a load. Every method raises ConfigurationError if the journal cannot be read or written."""

    journal: Journal
    batches_before: int
    """The highest batch number that earlier runs have used."""

    async def set_aside(self, rows: Sequence[ProductRow], outcome: str) -> None:
        """Records the outcome of rows that are not sent, before any later row is sent."""
        # An invalid product may have no JSON, and then has no digest.
        await self.journal.note([Outcome(r.number, outcome, digest=digest64(r.json) if r.json else None) for r in rows])

    async def begin(self, batch: ProductBatch) -> None:
        """Records that the batch is about to be sent. If this fails, the batch must not be sent."""
        numbers = [row.number for row in batch.rows]
        digest = hashlib.blake2b(b",".join(row.json for row in batch.rows), digest_size=16).digest()
        number = self.batches_before + batch.number
        await self.journal.begin(RecordedBatch(number, min(numbers), max(numbers), len(numbers), digest))

    async def answered(self, batch: ProductBatch, outcomes: Sequence[Outcome], *, is_settled: bool) -> None:
        """Records outcomes of products in the batch. `is_settled` is true if no outcome of the batch is missing
        afterwards.
        """
        if is_settled:
            await self.journal.confirm(self.batches_before + batch.number, outcomes)
        else:
            await self.journal.note(outcomes)

    async def check_end(self, rows: int) -> None:
        """Raises InvalidInput if the complete input has fewer rows than earlier runs have processed."""
        last = await self.journal.last_row()
        if rows < last:
            raise InvalidInput(
                f"the input has changed since the journal was written: it had at least {last:,} rows, and now has "
                f"{rows:,}; give the same input or another journal"
            )


def recalled(row: ProductRow, known: Mapping[int, Outcome], *, is_good: bool) -> Outcome | None:
    """Returns the outcome of the row in an earlier run, or None. Raises InvalidInput if the row has changed."""
    outcome = known.get(row.number)
    if outcome is None:
        return None
    if is_good == (outcome.outcome == INVALID) or (is_good and outcome.digest != digest64(row.json)):
        raise InvalidInput(
            f"row {row.number:,} differs from an earlier run with this journal: the input has changed. Give the "
            "same input, or start again with another journal: loading products twice is safe"
        )
    return outcome
