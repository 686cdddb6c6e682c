"""The upload job: its destination, its options, and how it runs."""

import asyncio
import datetime
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from typing import Final, Generic, TypeVar

import attrs

from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.batches import PACKINGS, Batch, Packer, Packing
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.dedup import Decision, RecentIdentifiers
from socialapi.bulk.audiences.normalize import NORMALIZER_VERSION
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.audiences.resume import Recorder
from socialapi.bulk.audiences.sender import BatchSender, OnAccept
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.inputs.formats import Records, open_records
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.job import JobContext, JobDescription, JobOptions, JobRun, bulk_options, prepare_input, run_job
from socialapi.bulk.journals.journal import Setting, columns_setting
from socialapi.bulk.rows import Identifier, Row, RowBlock
from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due, yield_to_others
from socialapi.internal.records import FrozenRecord
from socialapi.models.audiences import MAX_OPERATIONS, IdentifierKind, OperationType, UploadCounts, months_later
from socialapi.models.validation import format_timestamp
from socialapi.reports import RowIssue, UploadReport
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session


@attrs.frozen(kw_only=True)
class Destination(FrozenRecord):
    """The destination of an upload, and what the service accepts there."""

    kind: str
    """What an upload there is called in a journal."""
    target: Target[UploadCounts]
    kinds: tuple[IdentifierKind, ...]
    takes_effective_at: bool
    default_expiry_months: int | None = None
    """Months from the start of the job that are sent as expiry when nothing else is said; None
    leaves it out.
    """


@attrs.frozen(kw_only=True)
class UploadOptions(JobOptions):
    """The options of `upload`."""

    operation: OperationType = "Update"
    packing: Packing = "single"
    columns: Mapping[str, str | Sequence[str]] | None = None
    default_region: str | None = None
    phone_format: PhoneFormat = "auto"
    require_hashed: bool = False
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        if self.packing not in PACKINGS:
            raise InvalidInput(f"packing must be one of {', '.join(PACKINGS)}")
        super().check()


def default_expiry(destination: Destination, now: datetime.datetime) -> str | None:
    """The expiry, as it is sent, of what starts now and says none itself; None where the service's
    default holds.
    """
    if destination.default_expiry_months is None:
        return None
    return format_timestamp(months_later(now, destination.default_expiry_months).replace(microsecond=0))


def settings_of(options: UploadOptions, config: Config) -> Mapping[str, Setting]:
    """For a journal, everything that changes what is sent; no personal value."""
    return {
        "normalizer": NORMALIZER_VERSION,
        "operation": str(options.operation),
        "packing": options.packing,
        "columns": columns_setting(options.columns) if options.columns else None,
        "default_region": options.default_region,
        "phone_format": options.phone_format,
        "require_hashed": options.require_hashed,
        "effective_at": _written(options.effective_at),
        "expires_at": _written(options.expires_at),
        "max_operations": config.max_operations,
        "max_batch_bytes": config.max_batch_bytes,
    }


def _written(time: datetime.datetime | str | None) -> str | None:
    return time.isoformat() if isinstance(time, datetime.datetime) else time


TOO_LARGE: Final = "is larger than a request may be"
MAX_WAITING_DUPLICATES: Final = 25_000
"""Rows that may repeat unsettled ones before the reading waits, so that memory stays flat."""

C = TypeVar("C", bound=Sized)

Prepare = Callable[[C], Iterable[PreparedBlock]]
"""Prepares the rows of a block, in steps between which other jobs get their turn."""


class UploadStage(Generic[C]):
    """Puts the rows of an upload into batches, and gives each its outcome.

    `prepare_at` returns what prepares the rows of a job that began at a time. Rows that are ready
    to be sent need no more than a `PreparedBlock` around them.
    """

    def __init__(
        self,
        prepare_at: Callable[[datetime.datetime], Prepare[C]],
        sender: BatchSender,
        context: JobContext,
        *,
        dry_run: bool = False,
    ) -> None:
        self._prepare_at = prepare_at
        self._sender = sender
        self._packer = sender.packer
        self._counters = sender.counters
        self._context = context
        self._dry_run = dry_run
        self._prepare = prepare_at(context.now())
        self._recorder: Recorder | None = None
        self._recent = RecentIdentifiers()
        self._originals: set[Batch] = set()
        self._open = Batch()
        self._resend = Batch()
        """Rows that repeat refused ones, which have to be sent nevertheless."""
        self._places = self._sent = 0

    async def open(self, run: JobRun[C, Batch, UploadReport]) -> None:
        """Has the sender report to this run, and goes on from its journal."""
        self._run, self._dispatcher = run, run.dispatcher
        self._sender.observe, self._sender.wait_for = run.observe, run.dispatcher.wait_for
        if run.journal is not None and run.opened is not None:
            # What an expiry is reckoned from must be the same as when the job was begun, or every
            # body would change.
            self._prepare = self._prepare_at(run.opened.started_at)
            self._recorder = self._sender.recorder = Recorder(run.journal, run.opened, self._packer)

    async def take(self, block: C) -> None:
        """Puts the rows of a block that can be sent into batches."""
        for prepared in self._prepare(block):
            if prepared.rejects:
                self._counters.reject(prepared.rejects)
            if prepared.warnings or prepared.cleaned:
                self._counters.warn([*prepared.warnings, *prepared.cleaned])
            for run in prepared.runs:
                await self._place_run(run)
            await yield_if_due()

    async def flush(self) -> None:
        """Submits the batches that are being filled."""
        await self._dispatch_again()
        await self._dispatch_open()

    async def settle(self, batch: Batch) -> None:
        """Sends the batch, and gives every row of it its outcome."""
        await self._sender.settle(batch)

    async def finish(self) -> None:
        """Checks that the input is not shorter than in an earlier run."""
        if self._recorder is not None:
            self._recorder.check_end(self._places)

    async def aclose(self) -> None:
        """Lets go of the recent identifiers: what runs and what is run know each other, and would
        keep them.
        """
        self._recent = RecentIdentifiers()

    def report(self, elapsed_seconds: float) -> UploadReport:
        """The counts as they stand."""
        return self._counters.report(elapsed_seconds, dry_run=self._dry_run)

    async def _place_run(self, run: RowBlock) -> None:
        if self._recent.contradicts(run.action):
            await self._dispatch_again()
            await self._dispatcher.drain()
            self._recent.begin_to_differ()
        start = 0
        for place in self._recent.repeated(run):
            if start < place:
                await self._place_new(run.part(start, place))
            if self._dispatcher.failure is not None:
                return
            await self._place(run, place)
            start = place + 1
        if start < len(run):
            await self._place_new(run.part(start, len(run)))

    async def _place_new(self, run: RowBlock) -> None:
        """Places rows none of whose identifiers is known."""
        start = 0
        while start < len(run) and self._dispatcher.failure is None:
            rest = run.part(start, len(run))
            if count := self._packer.add(self._open, rest):
                self._recent.place_new(self._open.runs[-1], self._open)
                start += count
            elif self._open.runs and self._packer.alone_fits(rest, 0):
                await self._dispatch_open()
            else:
                self._counters.reject([RowIssue(rest.numbers[0], "", TOO_LARGE)])
                start += 1

    async def _place(self, run: RowBlock, place: int) -> None:
        """Places a row some of whose identifiers are known."""
        if not self._packer.alone_fits(run, place):
            self._counters.reject([RowIssue(run.numbers[place], "", TOO_LARGE)])
            return
        row = run.row(place)
        decision = self._recent.decide(row)
        if decision.duplicate:
            self._recent.refresh(row)
            await self._follow(row, run, place, decision)
            return
        if self._resend in decision.conflicts:
            await self._dispatch_again()
        if self._open in decision.conflicts:
            await self._dispatch_open()
        if not self._packer.add(self._open, run.part(place, place + 1)):
            await self._dispatch_open()
            self._packer.add(self._open, run.part(place, place + 1))
        self._open.after.update(batch for batch in decision.conflicts if not batch.settled.is_set())
        self._recent.place(row, self._open)

    async def _follow(self, row: Row, run: RowBlock, place: int, decision: Decision) -> None:
        """A duplicate is one at once when the row it repeats was accepted, else as soon as it is."""
        original, others = decision.duplicate_of, decision.also_duplicate_of
        if original is not None:
            if self._open in others:
                original, others = self._open, (others | {original}) - {self._open}
            if self._resend in others:
                # What is sent must not wait for what is not: there may be no room for it. Meanwhile
                # others are settled.
                await self._dispatch_again()
                await self._place(run, place)
                return
            original.waiting_duplicates.append(row)
            original.also_original_of |= others
            # It may still be sent, with the original: until then nobody does something else to its
            # identifiers.
            self._recent.place(row, original)
            await self._bound_waiting_duplicates(original)
        elif decision.refused:
            await self._send_again(row, run.part(place, place + 1), decision.refused)
        else:
            self._counters.repeat(1)

    async def _send_again(self, row: Row, run: RowBlock, refused: AbstractSet[Identifier]) -> None:
        """The row repeats refused identifiers, and others that were accepted, and stay so whatever
        becomes of it.

        Its batch is not one of the input's: when it is known is up to the service.
        """
        if self._recorder is not None and (known := await self._recorder.outcomes_of([row])):
            settled = Batch()
            settled.settled.set()
            if self._sender.take_over([row], known):
                settled.refused |= refused
            self._recent.place(row, settled)
            return
        if not self._packer.add(self._resend, run):
            await self._dispatch_again()
            self._packer.add(self._resend, run)
        self._resend.refused_before |= refused
        self._recent.place(row, self._resend)

    async def _bound_waiting_duplicates(self, original: Batch) -> None:
        if original is self._open:
            if len(original.waiting_duplicates) >= MAX_WAITING_DUPLICATES:
                await self._dispatch_open()
            return
        self._originals = {batch for batch in (*self._originals, original) if not batch.settled.is_set()}
        if sum(len(batch.waiting_duplicates) for batch in self._originals) >= MAX_WAITING_DUPLICATES:
            if original is self._resend:
                await self._dispatch_again()
            await original.settled.wait()

    async def _dispatch_open(self) -> None:
        batch, self._open = self._open, Batch()
        self._recent.turn()
        if batch.runs and self._dispatcher.failure is None:  # after one, the batch is whatever it had got to
            await self._give_place(batch)
        await self._send_off(batch)

    async def _give_place(self, batch: Batch) -> None:
        self._places += 1
        if self._run.broken_input is None:
            batch.place = self._places
            if self._recorder is not None:
                await self._recorder.take_over(batch)
        elif self._recorder is not None and self._places <= self._recorder.opened.last_batch:
            # Part of a batch that may be confirmed: sent again, it would overtake what was
            # confirmed after it.
            self._dispatcher.stop(self._run.broken_input)

    async def _dispatch_again(self) -> None:
        batch, self._resend = self._resend, Batch()
        await self._send_off(batch)

    async def _send_off(self, batch: Batch) -> None:
        if not batch.runs:
            return
        if self._dry_run:
            self._counters.planned(batch.size_bytes)
            self._counters.repeat(len(batch.waiting_duplicates))
            batch.release()
            batch.settled.set()
            return
        self._sent += 1
        batch.number = self._sent
        await self._dispatcher.submit(batch)


class _UserStage(UploadStage[UserBlock]):
    """Loads the library for phone numbers off the event loop, before the first row that may have
    one.
    """

    _may_meet_phone_numbers = False

    async def take(self, block: UserBlock) -> None:
        """As `UploadStage` says."""
        if not self._may_meet_phone_numbers and any(kind == "phone_number" for *_, kind in block.layout.identifiers):
            await asyncio.to_thread(phone_numbers.load)
            self._may_meet_phone_numbers = True
            await yield_to_others()  # all jobs that waited for it are resumed at the same time
        await super().take(block)


def batch_sender(
    session: Session,
    target: Target[UploadCounts],
    options: UploadOptions,
    call: CallOptions,
    counters: RowCounters,
    on_accept: OnAccept | None = None,
) -> BatchSender:
    """A sender of batches that are as large as the options, the configuration and the endpoint
    allow.
    """
    config = session.config
    packer = Packer(
        options.packing,
        max_operations=config.max_operations or MAX_OPERATIONS,
        max_bytes=config.max_batch_bytes or target.route.max_body_bytes or config.max_bytes_in_flight,
    )
    return BatchSender(session, target, bulk_options(config, call), packer, counters, on_accept=on_accept)


class UploadJob:
    """An upload: a reader, a stage and counters, composed to be run once."""

    def __init__(
        self,
        session: Session,
        destination: Destination,
        records: Records,
        options: UploadOptions,
        call: CallOptions,
    ) -> None:
        options.check()
        config, route = session.config, destination.target.route
        self._options = options
        self._context = JobContext.of(session)
        rate = route.rate_limit.configured(config.rate_limits) if route.rate_limit else None
        selection = IdentifierColumns.of(options.columns, destination.kinds)
        self.counters: RowCounters = RowCounters(
            rate, read_columns=selection.read_columns, ignored_columns=selection.ignored_columns, notes=selection.notes
        )
        sender = batch_sender(session, destination.target, options, call, self.counters)
        prepare_at = functools.partial(_prepare_at, destination, options)
        self.stage: UploadStage[UserBlock] = _UserStage(prepare_at, sender, self._context, dry_run=options.dry_run)
        self.reader: Reader[UserBlock] = open_records(records, selection)
        self._description = JobDescription(
            kind=destination.kind,
            target=destination.target,
            source=records,
            settings={} if options.journal is None else settings_of(options, config),
        )
        prepare_input(session, self.reader, self._description, options)

    async def run(self) -> UploadReport:
        """As `run_job`."""
        return await run_job(self.reader, self.stage, self.counters, self._description, self._options, self._context)


def _prepare_at(destination: Destination, options: UploadOptions, now: datetime.datetime) -> Prepare[UserBlock]:
    return _preparer(destination, options, now).prepare


def _preparer(destination: Destination, options: UploadOptions, now: datetime.datetime) -> Preparer:
    return Preparer(
        operation=options.operation,
        effective_at=options.effective_at,
        expires_at=options.expires_at,
        default_region=options.default_region,
        phone_format=options.phone_format,
        require_hashed=options.require_hashed,
        kinds=destination.kinds,
        expires_default=default_expiry(destination, now),
        allow_effective=destination.takes_effective_at,
        now=now,
    )
