"""The use of the journal by an upload: what it records, and what it takes over from an earlier run.

Batches are made again from the input, and are the same again. What an earlier run confirmed is
recognised by its position and digest, and is not sent. Rows that had to be sent outside their
batch, because the service refused the row that they repeat, have outcomes of their own.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch, Packer
from socialapi.bulk.journals.journal import Journal, Opened, Outcome, RecordedBatch
from socialapi.bulk.rows import Row
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due

ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
SENT: Final = "sent"
"""On its way, which says nothing yet."""


@attrs.frozen(eq=False, repr=False)
class Recorder:
    """The journal of one upload."""

    journal: Journal
    opened: Opened
    packer: Packer

    async def take_over(self, batch: Batch) -> None:
        """Notes what an earlier run has confirmed of the batch. Raises InvalidInput when it was
        another one.
        """
        if batch.position > self.opened.last_batch:
            return
        known = await self.journal.recall(batch.position)
        if known is None or not known.confirmed:
            return
        found = _recorded(batch, await _digest(self.packer.encode(batch.blocks)))
        if attrs.evolve(found, confirmed=True, outcomes=known.outcomes) != known:
            raise InvalidInput(
                f"the input is not what it was when the journal was written: batch {batch.position:,} was "
                f"{_described(known)}, and is now {_described(found)}; give the same input, or another journal"
            )
        batch.earlier = known.outcomes

    def check_end(self, batches: int) -> None:
        """Raises InvalidInput when the whole input makes fewer batches than an earlier run has
        confirmed.
        """
        if batches < self.opened.last_batch:
            raise InvalidInput(
                f"the input is not what it was when the journal was written: it had at least {self.opened.last_batch:,} "
                f"batches, and now has {batches:,}; give the same input, or another journal"
            )

    async def begin(self, batch: Batch, body: Sequence[bytes]) -> None:
        """To be awaited before the batch is sent, with the body of its first request."""
        if batch.position:
            await self.journal.begin(_recorded(batch, await _digest(body)))
        else:
            await self.journal.note([Outcome(number, SENT) for block in batch.blocks for number in block.numbers])

    async def confirm(self, batch: Batch) -> None:
        """Every row of the batch has its outcome."""
        if not batch.position:
            await self.note(batch)
            return
        outcomes, batch.outcomes = batch.outcomes, []
        await self.journal.confirm(batch.position, outcomes)

    async def note(self, batch: Batch) -> None:
        """Rows that repeat refused ones of the batch have their outcomes."""
        outcomes, batch.outcomes = batch.outcomes, []
        if outcomes:
            await self.journal.note(outcomes)

    async def outcomes_of(self, rows: Sequence[Row]) -> Mapping[int, Outcome]:
        """What an earlier run has confirmed of single rows."""
        if self.opened.is_new or not rows:
            return {}
        numbers = {row.number for row in rows}
        found = await self.journal.outcomes(min(numbers), max(numbers))
        return {number: each for number, each in found.items() if number in numbers and each.outcome != SENT}


async def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        await yield_if_due()
    return digest.digest()


def _recorded(batch: Batch, digest: bytes) -> RecordedBatch:
    first, last = batch.blocks[0].numbers[0], batch.blocks[-1].numbers[-1]
    return RecordedBatch(batch.position, first, last, batch.row_count, digest)


def _described(batch: RecordedBatch) -> str:
    return (
        f"{batch.rows:,} rows from {batch.first_row:,} to {batch.last_row:,} with the digest {batch.digest.hex()[:16]}"
    )
