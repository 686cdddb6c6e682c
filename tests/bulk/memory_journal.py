"""A journal in memory that can die at any step: what a process that is killed leaves behind."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from socialapi.bulk.journals.journal import JobIdentity, Opened, Outcome, RecordedBatch, State, refuse_other
from socialapi.errors import ConfigurationError


@attrs.define(eq=False)
class MemoryJournal:
    """Keeps what it is told. `lives` is how many times it writes before it is dead until `revive`.

    The write at which it dies is kept if `keeps_last`: a process may be killed before it hears that a write is done.
    """

    lives: int | None = None
    keeps_last: bool = False
    identity: JobIdentity | None = None
    started_at: datetime | None = None
    runs: int = 0
    state: str = ""
    counts: Mapping[str, int] = attrs.field(factory=dict)
    batches: dict[int, RecordedBatch] = attrs.field(factory=dict)
    by_row: dict[int, Outcome] = attrs.field(factory=dict)
    numbers: dict[str, int] = attrs.field(factory=dict)
    closed: int = 0

    def revive(self, lives: int | None, *, keeps_last: bool = False) -> None:
        self.lives, self.keeps_last = lives, keeps_last

    def _write(self) -> bool:
        """Whether the write is kept, of which nobody hears when it dies."""
        if self.lives is None:
            return True
        self.lives -= 1
        if self.lives > 0:
            return True
        if self.lives == 0 and self.keeps_last:
            return True
        raise ConfigurationError("the journal is dead")

    def _heard(self) -> None:
        if self.lives == 0:
            raise ConfigurationError("the journal is dead")

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        is_new = not self.batches and not self.by_row
        if not is_new and self.identity is not None:
            refuse_other("journal", self.identity, identity)
        self.identity = identity
        self.started_at = now if is_new or self.started_at is None else self.started_at
        self.runs += 1
        last = max((number for number, batch in self.batches.items() if batch.confirmed), default=0)
        was, self.state = self.state, "running"
        return Opened(
            job_id="j",
            started_at=self.started_at,
            is_new=is_new,
            is_finished=was == "finished",
            runs=self.runs,
            last_batch=last,
        )

    async def recall(self, number: int) -> RecordedBatch | None:
        return self.batches.get(number)

    async def begin(self, batch: RecordedBatch) -> None:
        if self._write():
            self.batches[batch.number] = batch
        self._heard()

    async def confirm(self, number: int, outcomes: Sequence[Outcome]) -> None:
        if self._write():
            self.batches[number] = attrs.evolve(self.batches[number], confirmed=True)
            self.by_row |= {each.row: each for each in outcomes}
        self._heard()

    async def outcomes(self, first_row: int, last_row: int) -> Mapping[int, Outcome]:
        return {row: each for row, each in self.by_row.items() if first_row <= row <= last_row}

    async def note(self, outcomes: Sequence[Outcome]) -> None:
        if outcomes and self._write():
            self.by_row |= {each.row: each for each in outcomes}
        self._heard()

    async def keep(self, name: str, number: int) -> int:
        return self.numbers.setdefault(name, number)

    async def kept(self, name: str) -> int | None:
        return self.numbers.get(name)

    async def last_row(self) -> int:
        return max((*self.by_row, *(batch.last_row for batch in self.batches.values())), default=0)

    async def finish(self, state: State, counts: Mapping[str, int]) -> None:
        if self._write():
            self.state, self.counts = state, counts
        self._heard()

    async def aclose(self) -> None:
        self.closed += 1
