"""The upload job: rows are read, prepared and packed, and one task per batch sees it through.

reader ──chunk──▶ preparer ──rows──▶ order and packing ──batch──▶ task: send, isolate, settle
   │                  └─ rejects, warnings        └─ duplicates         └─ accepted, rejected
   └─ read, pending                                           ▲
                         at most `limit()` tasks live ────────┘
"""

import asyncio
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.batches import PACKINGS, Batch, Packer, Packing
from socialapi.bulk.job import Job, JobOptions, bulk_options
from socialapi.bulk.ordering import RecentIdentifiers, Verdict
from socialapi.bulk.preparing import Preparer
from socialapi.bulk.readers import Records, open_records
from socialapi.bulk.rows import RawRow, Row
from socialapi.bulk.settling import BatchSender
from socialapi.bulk.tally import Tally
from socialapi.errors import InvalidInput
from socialapi.models.audiences import MAX_OPERATIONS, IdentifierKind, OperationType, UploadCounts, months_later
from socialapi.models.rules import format_timestamp
from socialapi.reports import RowIssue, UploadReport
from socialapi.routes.route import Target
from socialapi.session.calls import CallOptions
from socialapi.session.session import Session

ROWS_PER_TURN: Final = 125
"""Rows prepared before others get their turn: the slowest ones, with odd phone numbers, take 40 microseconds each."""
MAX_FOLLOWERS: Final = 25_000
"""Rows that may repeat unsettled ones before the reading waits, so that memory stays flat."""


@attrs.frozen(kw_only=True)
class Destination:
    """Where the users go, and what the service takes there."""

    target: Target[UploadCounts]
    kinds: tuple[IdentifierKind, ...]
    takes_effective_at: bool
    default_expiry_months: int | None = None
    """Months from the start of the job that are sent as expiry when nothing else is said; None leaves it out."""


@attrs.frozen(kw_only=True)
class UploadOptions(JobOptions):
    """What the caller of `upload` asked for."""

    operation: OperationType = "Update"
    packing: Packing = "single"
    columns: Mapping[str, str | Sequence[str]] | None = None
    default_region: str | None = None
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        if self.packing not in PACKINGS:
            raise InvalidInput(f"packing must be one of {', '.join(PACKINGS)}")
        super().check()


class UploadJob(Job[RawRow, Batch, UploadReport]):
    """One upload, run once. `on_reject` is told of every row that is not accepted, as the batches are settled."""

    def __init__(
        self,
        session: Session,
        destination: Destination,
        records: Records,
        options: UploadOptions,
        call: CallOptions,
        *,
        on_reject: Callable[[Sequence[RowIssue]], None] | None = None,
    ) -> None:
        options.check()
        config, route = session.config, destination.target.route
        rate = route.rate_limit.configured(config.rate_limits) if route.rate_limit else None
        tally = Tally(rate, on_reject=on_reject)
        self._preparer = _preparer(destination, options, session.now())
        reader = open_records(records, columns=options.columns, kinds=destination.kinds)
        super().__init__(session, destination.target, records, reader, tally, options)
        self._packer = Packer(
            options.packing,
            max_operations=config.max_operations or MAX_OPERATIONS,
            max_bytes=config.max_batch_bytes or route.max_body_bytes or config.max_bytes_in_flight,
        )
        self._sender = BatchSender(
            session, destination.target, bulk_options(session, call), self._packer, tally, self._observe
        )
        self._recent = RecentIdentifiers()
        self._leaders: set[Batch] = set()
        self._open = self._packer.new_batch()

    async def _place_chunk(self, chunk: list[RawRow]) -> None:
        for start in range(0, len(chunk), ROWS_PER_TURN):
            prepared = self._preparer.prepare_chunk(chunk[start : start + ROWS_PER_TURN])
            self._tally.reject(prepared.rejects)
            self._tally.warn(prepared.warnings)
            for row in prepared.rows:
                if self._dispatcher.failure is not None:
                    return
                await self._place(row)
            await asyncio.sleep(0)  # preparing never waits, and requests under way need a turn

    async def _place(self, row: Row) -> None:
        verdict = self._recent.judge(row)
        if verdict.duplicate:
            await self._follow(row, verdict)
            return
        if self._open in verdict.conflicts:
            await self._dispatch()
        if not self._packer.add(self._open, row):
            if not self._packer.alone_fits(row):
                self._tally.reject([RowIssue(row.number, "", "is larger than a request may be")])
                return
            await self._dispatch()
            self._packer.add(self._open, row)
        self._open.after.update(batch for batch in verdict.conflicts if not batch.settled.is_set())
        self._recent.place(row, self._open)

    async def _follow(self, row: Row, verdict: Verdict) -> None:
        """A duplicate is one at once when the row it repeats was accepted, else as soon as it is."""
        leader = verdict.repeats
        if leader is None:
            self._tally.repeat(1)
            return
        leader.followers.append(row)
        leader.followed_too |= verdict.repeats_too
        # It may still be sent, with the leader: until then nobody does something else to its identifiers.
        self._recent.place(row, leader)
        self._leaders = {batch for batch in (*self._leaders, leader) if not batch.settled.is_set()}
        if sum(len(batch.followers) for batch in self._leaders) >= MAX_FOLLOWERS:
            if leader is self._open:
                await self._dispatch()
            await leader.settled.wait()

    async def _dispatch(self) -> None:
        batch = self._open
        self._open = self._packer.new_batch()
        if not batch.rows:
            return
        if self._options.dry_run:
            self._tally.planned(batch.size_bytes)
            self._tally.repeat(len(batch.followers))
            batch.release()
            batch.settled.set()
            return
        await self._dispatcher.submit(batch)

    async def _settle(self, batch: Batch) -> None:
        await self._sender.settle(batch, self._recent)

    def _report(self) -> UploadReport:
        return self._tally.report(self._elapsed_seconds(), dry_run=self._options.dry_run)


def default_expiry(destination: Destination, now: datetime.datetime) -> str | None:
    """The expiry, as it is sent, of what starts now and says none itself; None where the service's default holds."""
    if destination.default_expiry_months is None:
        return None
    return format_timestamp(months_later(now, destination.default_expiry_months).replace(microsecond=0))


def _preparer(destination: Destination, options: UploadOptions, now: datetime.datetime) -> Preparer:
    return Preparer(
        operation=options.operation,
        effective_at=options.effective_at,
        expires_at=options.expires_at,
        default_region=options.default_region,
        kinds=destination.kinds,
        expires_default=default_expiry(destination, now),
        allow_effective=destination.takes_effective_at,
        now=now,
    )
