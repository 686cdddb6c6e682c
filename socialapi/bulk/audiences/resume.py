"""Records the batches of an upload in its journal, and skips batches that an earlier run confirmed.

The same input always produces the same batches, so a confirmed batch is recognized by its position and digest, and is
not sent again.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch, Packer
from socialapi.bulk.journals.journal import Journal, Opened, RecordedBatch
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due

REJECTED: Final = "rejected"


@attrs.frozen(eq=False, repr=False)
class Recorder:
    """The writer of an upload's journal."""

    journal: Journal
    opened: Opened
    packer: Packer

    async def take_over(self, batch: Batch) -> None:
        """Sets `batch.earlier` to the outcomes that an earlier run confirmed, if any. Raises InvalidInput if that run's
        batch was different.
        """
        if batch.position > self.opened.last_batch:
            return
        known = await self.journal.recall(batch.position)
        if known is None or not known.confirmed:
            return
        found = _recorded(batch, await _digest(self.packer.encode(batch.blocks)))
        if attrs.evolve(found, confirmed=True, outcomes=known.outcomes) != known:
            raise InvalidInput(
                f"the input has changed since the journal was written: batch {batch.position:,} was "
                f"{_described(known)}, and is now {_described(found)}; give the same input or another journal"
            )
        batch.earlier = known.outcomes

    def check_end(self, batches: int) -> None:
        """Raises InvalidInput if the complete input has fewer batches than an earlier run confirmed."""
        if batches < self.opened.last_batch:
            raise InvalidInput(
                f"the input has changed since the journal was written: it had at least {self.opened.last_batch:,} "
                f"batches, and now has {batches:,}; give the same input or another journal"
            )

    async def begin(self, batch: Batch, body: Sequence[bytes]) -> None:
        """Records that the batch is about to be sent, with the body of its first request."""
        if batch.position:
            await self.journal.begin(_recorded(batch, await _digest(body)))

    async def confirm(self, batch: Batch) -> None:
        """Records that every row of the batch has an outcome."""
        outcomes, batch.outcomes = batch.outcomes, []
        if batch.position:
            await self.journal.confirm(batch.position, outcomes)


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
