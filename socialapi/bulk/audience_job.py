"""The upload job: rows are read, prepared and packed, and one task per batch sees it through.

reader ──chunk──▶ preparer ──rows──▶ order and packing ──batch──▶ task: send, isolate, settle
   │                  └─ rejects, warnings        └─ duplicates         └─ accepted, rejected
   └─ read, pending                                           ▲
                         at most `limit()` tasks live ────────┘
"""

import asyncio
import datetime
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

import attrs

from socialapi.bulk.batches import PACKINGS, Batch, Packer, Packing
from socialapi.bulk.concurrency import Concurrency
from socialapi.bulk.dispatcher import Dispatcher
from socialapi.bulk.ordering import RecentIdentifiers, Verdict
from socialapi.bulk.preparing import Preparer
from socialapi.bulk.readers import Records, open_records
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.rows import RawRow, Row
from socialapi.bulk.settling import BatchSender
from socialapi.bulk.tally import Tally
from socialapi.errors import BulkError, InvalidInput, SocialApiError
from socialapi.models.audiences import MAX_OPERATIONS, IdentifierKind, OperationType, UploadCounts, months_later
from socialapi.models.rules import format_timestamp
from socialapi.reports import Progress, RowIssue, UploadReport
from socialapi.routes.route import Target
from socialapi.session.calls import Attempt, CallOptions
from socialapi.session.session import Session
from socialapi.wire.retry import RetryPolicy

OnProgress = Callable[[Progress], None]

MIN_ATTEMPTS: Final = 12
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
class UploadOptions:
    """What the caller of `upload` asked for; checked before the job opens anything."""

    operation: OperationType = "Update"
    packing: Packing = "single"
    columns: Mapping[str, str | Sequence[str]] | None = None
    default_region: str | None = None
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None
    concurrency: int | Literal["auto"] = "auto"
    rejects: str | os.PathLike[str] | None = None
    dry_run: bool = False
    on_progress: OnProgress | None = None

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        if self.packing not in PACKINGS:
            raise InvalidInput(f"packing must be one of {', '.join(PACKINGS)}")
        number = isinstance(self.concurrency, int) and not isinstance(self.concurrency, bool)
        if self.concurrency != "auto" and not (number and int(self.concurrency) >= 1):
            raise InvalidInput('concurrency must be "auto" or a number of at least 1')
        if inspect.iscoroutinefunction(self.on_progress):
            raise InvalidInput("on_progress is called, not awaited: give a plain function")


class UploadJob:
    """One upload, run once."""

    def __init__(
        self, session: Session, destination: Destination, records: Records, options: UploadOptions, call: CallOptions
    ) -> None:
        options.check()
        config, route = session.config, destination.target.route
        if not options.dry_run:
            # What is missing is better said now than after a batch was read.
            config.host(route.family.host)
            session.authenticators.choose(route.family)
        self._session = session
        self._options = options
        self._source = records
        self._target = destination.target
        self._started = session.clock.monotonic()
        self._preparer = _preparer(destination, options, session.now())
        self._reader = open_records(records, columns=options.columns, kinds=destination.kinds)
        self._tally = Tally(route.rate_limit.configured(config.rate_limits) if route.rate_limit else None)
        self._packer = Packer(
            options.packing,
            max_operations=config.max_operations or MAX_OPERATIONS,
            max_bytes=config.max_batch_bytes or route.max_body_bytes or config.max_bytes_in_flight,
        )
        fixed = None if options.concurrency == "auto" else options.concurrency
        self._concurrency = Concurrency(fixed, most=config.max_concurrency)
        self._sender = BatchSender(
            session, self._target, _bulk_options(session, call), self._packer, self._tally, self._observe
        )
        self._dispatcher = Dispatcher(
            self._settle, self._limit, max_bytes=config.max_bytes_in_flight, on_settled=self._show
        )
        self._recent = RecentIdentifiers()
        self._leaders: set[Batch] = set()
        self._open = self._packer.new_batch()
        self._on_progress = options.on_progress
        self._broken_input: Exception | None = None
        self._note: str | None = None

    async def run(self) -> UploadReport:
        """The report of the finished job.

        Raises InvalidInput when nothing of the input could be read, BulkError when the job stopped on the way.
        """
        if self._options.rejects is not None:
            self._tally.rejects_file = RejectsFile(self._options.rejects, source=self._source)
        try:
            try:
                await self._read()
            finally:
                await self._close_reader()
            await self._dispatch()
            await self._dispatcher.drain()
        finally:
            # After an error of ours, or cancelled: what is on its way is ended, and its rows stay pending.
            await self._dispatcher.cancel()
            self._close_rejects()
            self._show()
        return self._report_or_raise()

    async def _read(self) -> None:
        chunks = aiter(self._reader)
        while self._dispatcher.failure is None:
            try:
                chunk = await anext(chunks, None)
            except Exception as problem:  # noqa: BLE001  # whatever a user's iterable raises ends the reading
                self._broken_input = problem
                return
            if chunk is None:
                return
            try:
                await self._take_in(chunk)
            except InvalidInput as problem:  # the rejects file cannot be written any more
                self._dispatcher.stop(problem)

    async def _take_in(self, chunk: list[RawRow]) -> None:
        if self._tally.rejects_file is not None:
            self._tally.rejects_file.begin()  # what it held before goes only now that there is an input
        self._tally.take_in(len(chunk))
        for start in range(0, len(chunk), ROWS_PER_TURN):
            prepared = self._preparer.prepare_chunk(chunk[start : start + ROWS_PER_TURN])
            self._tally.reject(prepared.rejects)
            self._tally.warn(prepared.warnings)
            for row in prepared.rows:
                if self._dispatcher.failure is not None:
                    return
                await self._place(row)
            await asyncio.sleep(0)
        self._show()

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

    def _limit(self) -> int:
        route = self._target.route
        return self._concurrency.limit(
            self._session.pacer.requests_per_second(self._target.limit_key(route.rate_limit), route.rate_limit)
        )

    def _observe(self, attempt: Attempt) -> None:
        self._tally.attempted(attempt)
        self._note = None
        if attempt.failure is None:
            self._concurrency.succeeded(attempt.seconds)
        elif attempt.failure.executed != "yes":
            self._concurrency.failed(self._session.clock.monotonic())
            self._note = f"repeating after: {attempt.failure.summary}"
            self._show()

    def _report(self) -> UploadReport:
        return self._tally.report(self._session.clock.monotonic() - self._started, dry_run=self._options.dry_run)

    def _show(self) -> None:
        if self._on_progress is None:
            return
        progress = Progress(
            report=self._report(),
            fraction_read=self._reader.fraction_read,
            in_flight=self._dispatcher.in_flight,
            note=self._note,
        )
        try:
            self._on_progress(progress)
        except Exception as problem:  # noqa: BLE001  # raised at the end of the job, wherever it came up
            self._on_progress = None
            self._dispatcher.stop(problem)

    async def _close_reader(self) -> None:
        try:
            await self._reader.aclose()
        except Exception as problem:  # noqa: BLE001  # a user's generator may fail as it is closed, too
            self._broken_input = self._broken_input or problem

    def _close_rejects(self) -> None:
        if self._tally.rejects_file is None:
            return
        try:
            self._tally.rejects_file.close()
        except InvalidInput as problem:
            self._dispatcher.stop(problem)

    def _report_or_raise(self) -> UploadReport:
        report = self._report()
        problem = self._dispatcher.failure or self._broken_input
        if not report.adds_up or (problem is None and report.pending and not self._options.dry_run):
            raise RuntimeError(f"the rows of the job do not add up, which is a bug of this package: {report}")
        if problem is None:
            return report
        if isinstance(problem, InvalidInput) and not report.read:
            raise problem
        what = "the input broke off" if problem is self._broken_input else "the upload stopped"
        says = str(problem) if isinstance(problem, SocialApiError) else type(problem).__name__
        raise BulkError(f"{what}: {says}", report) from problem


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


def _bulk_options(session: Session, call: CallOptions) -> CallOptions:
    """A job waits and repeats by its own rules; of the call's options only the timeout of an attempt holds for it."""
    config = session.config
    policy = RetryPolicy(
        max_attempts=MIN_ATTEMPTS,
        max_wait_seconds=config.bulk_max_wait_seconds,
        max_elapsed_seconds=config.max_elapsed_seconds,
    )
    return CallOptions(timeout_seconds=call.timeout_seconds, policy=policy, bulk=True)
