"""What the tests of resumed jobs share: a journal in memory, and a service during which an upload is ended."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import attrs
import pytest

from socialapi.bulk.audiences import job as audience_job
from socialapi.bulk.audiences.dedup import RecentIdentifiers
from socialapi.bulk.audiences.job import UploadJob
from socialapi.bulk.inputs import reader
from socialapi.bulk.journals.journal import JobIdentity, Opened, Outcome, RecordedBatch, State, refuse_other
from socialapi.errors import BulkError, ConfigurationError, Forbidden
from socialapi.internal import fairness
from socialapi.reports import UploadReport
from socialapi.wire.response import Reply
from tests.bulk.model_service import ModelService, Operation, job_of
from tests.bulk.model_transport import refusal

FULL: Final = "the journal in memory cannot be written: the disk is full"
How = Literal["cancelled", "lost", "refused", "full", "full but kept", "broken input"]
HOWS: Final[tuple[How, ...]] = ("cancelled", "lost", "refused", "full", "full but kept", "broken input")


@attrs.frozen
class End:
    """How a run is ended, at which request (or write of the journal, or row), counted from 1.

    `cancelled` before that request is processed, `lost` after it; `refused` is an answer that stops the job. A write
    to the journal fails with nothing kept, or with everything kept and nobody told.
    """

    how: How
    at: int


class MemoryJournal:
    """What a journal keeps, for as long as the object lives. It also keeps what was said to it, in order."""

    def __init__(self) -> None:
        self.batches: dict[int, RecordedBatch] = {}
        self.noted: dict[int, Outcome] = {}
        self.numbers: dict[str, int] = {}
        self.events: list[tuple[str, Any]] = []
        self.is_open = False
        self.end: End | None = None
        self.state: State | None = None
        self.counts: Mapping[str, int] = {}
        self._identity: JobIdentity | None = None
        self._started_at: datetime | None = None
        self._runs = 0
        self._writes = 0
        self._is_full = False

    @property
    def confirmed(self) -> set[int]:
        return {number for number, batch in self.batches.items() if batch.confirmed}

    @property
    def by_row(self) -> dict[int, Outcome]:
        return {each.row: each for batch in self.batches.values() for each in batch.outcomes} | self.noted

    async def open(self, identity: JobIdentity, now: datetime) -> Opened:
        is_new = not (self.batches or self.noted)
        if self._identity is not None and not is_new:
            refuse_other("journal in memory", self._identity, identity)
        if is_new:
            self._identity, self._started_at = identity, now
        assert self._started_at is not None
        assert not self.is_open
        self.is_open, self._is_full, self._writes = True, False, 0
        self._runs += 1
        return Opened(
            job_id="memory",
            started_at=self._started_at,
            is_new=is_new,
            is_finished=self.state == "finished",
            runs=self._runs,
            last_batch=max(self.confirmed, default=0),
        )

    async def recall(self, number: int) -> RecordedBatch | None:
        await self._turn()
        return self.batches.get(number)

    async def begin(self, batch: RecordedBatch) -> None:
        self.events.append(("begin", batch))
        kept, told = self._write()
        if kept:
            self.batches[batch.number] = batch
        await self._turn(told)

    async def confirm(self, number: int, outcomes: Sequence[Outcome]) -> None:
        self.events.append(("confirm", number))
        kept, told = self._write()
        if kept:
            self.batches[number] = attrs.evolve(self.batches[number], confirmed=True, outcomes=tuple(outcomes))
        await self._turn(told)

    async def outcomes(self, first_row: int, last_row: int) -> Mapping[int, Outcome]:
        await self._turn()
        return {row: each for row, each in self.by_row.items() if first_row <= row <= last_row}

    async def note(self, outcomes: Sequence[Outcome]) -> None:
        self.events.append(("note", tuple(outcomes)))
        kept, told = self._write()
        if kept:
            self.noted |= {each.row: each for each in outcomes}
        await self._turn(told)

    async def keep(self, name: str, number: int) -> int:
        return self.numbers.setdefault(name, number)

    async def kept(self, name: str) -> int | None:
        return self.numbers.get(name)

    async def last_row(self) -> int:
        return max((*self.by_row, *(batch.last_row for batch in self.batches.values())), default=0)

    async def finish(self, state: State, counts: Mapping[str, int]) -> None:
        kept, told = self._write()
        if kept:
            self.state, self.counts = state, counts
        await self._turn(told)

    async def aclose(self) -> None:
        self.is_open = False

    def _write(self) -> tuple[bool, bool]:
        """Whether a change is kept, and whether that is told: after the first failure, neither."""
        assert self.is_open
        self._writes += 1
        if self.end is None or self._writes < self.end.at or not self.end.how.startswith("full"):
            return True, True
        kept = self.end.how == "full but kept" and not self._is_full
        self._is_full = True
        return kept, False

    async def _turn(self, told: bool = True) -> None:
        """As on the way to a disk, others get their turn; who is cancelled meanwhile has written nevertheless."""
        await asyncio.sleep(0)
        if not told:
            raise ConfigurationError(FULL)


class EndingService(ModelService):
    """A service that outlives the jobs, each of which may be ended at one of its requests."""

    def __init__(self, journal: MemoryJournal | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.end: End | None = None
        self.running: asyncio.Task[UploadReport] | None = None
        self._journal = journal
        self._answers = 0

    def begin_run(self, running: asyncio.Task[UploadReport], end: End | None) -> None:
        self.running, self.end, self._answers = running, end, 0
        self.requests.clear()
        self.bodies.clear()

    def _answer(self, asked: list[Operation], process: Callable[[Any], Reply]) -> Reply:
        self._answers += 1
        if self._journal is not None:
            self._journal.events.append(("request", digest_of(self.bodies[self.requests.index(asked)])))
        if self.end is None or self._answers != self.end.at or self.end.how not in ("cancelled", "lost", "refused"):
            return super()._answer(asked, process)
        if self.end.how == "refused":
            return refusal(403)
        if self.end.how == "lost":
            process(asked)
        assert self.running is not None
        self.running.cancel()
        return refusal(503)


def digest_of(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


class BrokenInput(Exception):
    """What an input raises that is ended."""


def read(rows: Sequence[Mapping[str, Any]], end: End | None) -> Iterator[Mapping[str, Any]]:
    """The rows, up to where the input is to break."""
    if end is None or end.how != "broken input":
        yield from rows
        return
    yield from rows[: end.at]
    raise BrokenInput


@attrs.frozen(kw_only=True)
class Way:
    """How a job is done, as far as it does not change what is sent (`Shape` does)."""

    concurrency: int = 1
    slow: bool = False
    """Whether others get their turn between any two rows."""


@attrs.frozen(kw_only=True)
class Shape:
    """What changes the batches of a job."""

    packing: str = "single"
    max_operations: int = 2
    max_bytes: int = 5_000_000
    remembered: int = 1_000
    waiting_duplicates: int = 1_000


@attrs.frozen
class Ran:
    """What came of a run; `report` is None of one that was cancelled."""

    report: UploadReport | None
    bodies: tuple[bytes, ...]


async def run_once(
    rows: Sequence[Mapping[str, Any]],
    service: EndingService,
    journal: Any,
    shape: Shape,
    way: Way,
    *,
    end: End | None = None,
    **options: Any,
) -> tuple[Ran, bool]:
    """One run, and whether it came to its end."""
    job = job_of(
        service,
        read(rows, end),
        settings={"max_operations": shape.max_operations, "max_batch_bytes": shape.max_bytes},
        packing=shape.packing,
        concurrency=way.concurrency,
        journal=journal,
        **options,
    )
    job.stage._recent = RecentIdentifiers(shape.remembered)
    if isinstance(journal, MemoryJournal):
        journal.end = end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audience_job, "MAX_WAITING_DUPLICATES", shape.waiting_duplicates)
        if way.slow:
            patch.setattr(reader, "ROWS_PER_STEP", 1)
            patch.setattr(fairness, "BUDGET_SECONDS", -1.0)
        report, finished = await _outcome(job, service, end)
    assert report is None or report.adds_up
    assert not asyncio.all_tasks() - {asyncio.current_task()}
    assert not isinstance(journal, MemoryJournal) or not journal.is_open
    return Ran(report, tuple(service.bodies)), finished


async def _outcome(job: UploadJob, service: EndingService, end: End | None) -> tuple[UploadReport | None, bool]:
    running = asyncio.create_task(job.run())
    service.begin_run(running, end)
    await asyncio.wait({running}, timeout=10)
    if running.cancelled():
        assert end is not None
        assert end.how in ("cancelled", "lost")
        return None, False
    stopped = running.exception()
    if stopped is None:
        return running.result(), True
    assert isinstance(stopped, BulkError), stopped
    assert end is not None, stopped
    expected = {"refused": Forbidden, "broken input": BrokenInput}.get(end.how, ConfigurationError)
    assert isinstance(stopped.__cause__, expected), stopped
    return stopped.report, False
