"""Uploads rows to an audience: the destination, the options and the job."""

import asyncio
import datetime
import functools
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import compress
from operator import itemgetter
from typing import Any, Final, Generic, Self, TypeVar

import attrs

from socialapi.bulk.audiences import phone_numbers
from socialapi.bulk.audiences.batches import PACKINGS, Batch, Carriers, Packer, Packing
from socialapi.bulk.audiences.cells import UserBlock
from socialapi.bulk.audiences.columns import IdentifierColumns, is_personal
from socialapi.bulk.audiences.dedup import NumbersOf, RecentIdentifiers, Repeated, WaitingDuplicates
from socialapi.bulk.audiences.normalize import NORMALIZER_VERSION
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.audiences.prepare import PreparedBlock, Preparer
from socialapi.bulk.audiences.resume import Recorder
from socialapi.bulk.audiences.sender import BatchSender, OnAccept
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.inputs.columns import ColumnMapping
from socialapi.bulk.inputs.formats import Records, open_records
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.job import JobDescription, JobOptions, JobRun, bulk_options, prepare_input, run_job
from socialapi.bulk.journals.journal import Setting, columns_setting
from socialapi.bulk.rows import RowBlock
from socialapi.config import Config
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due, yield_to_others
from socialapi.internal.records import FrozenRecord
from socialapi.models.audiences import (
    MAX_BATCH_BYTES,
    MAX_OPERATIONS,
    IdentifierKind,
    OperationType,
    UploadCounts,
    months_later,
)
from socialapi.models.validation import Faults, format_timestamp, invalid
from socialapi.reports import RowIssue, UploadReport
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session


@attrs.frozen(kw_only=True)
class Destination(FrozenRecord):
    """The destination of an upload, and the values that it accepts."""

    kind: str
    """The name that journals use for uploads to this destination."""
    target: Target[UploadCounts]
    kinds: tuple[IdentifierKind, ...]
    takes_effective_at: bool
    default_expiry_months: int | None = None
    """The default expiry to send, in months from the start of the job; None to send no expiry."""


@attrs.frozen(kw_only=True)
class UploadOptions(JobOptions):
    """The options of `upload`."""

    operation: OperationType = "Update"
    packing: Packing = "single"
    columns: ColumnMapping | None = None
    default_region: str | None = None
    phone_format: PhoneFormat = "auto"
    require_hashed: bool = False
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None

    def with_columns(self, kinds: Iterable[IdentifierKind]) -> tuple[Self, IdentifierColumns]:
        """Returns the options, completed from their layout file, and the columns to read. Raises InvalidInput if either
        is invalid.
        """
        options = self if self.layout is None else self.laid_out(IdentifierColumns.of(None, kinds))
        return options, IdentifierColumns.of(options.columns, kinds, options.form, options.key, options.default_region)

    @property
    def is_packed(self) -> bool:
        """Whether a request holds many users."""
        return self.packing == "packed"

    def problems(self) -> Iterator[InvalidInput]:
        """Yields an error for each invalid option."""
        if self.packing not in PACKINGS:
            yield invalid("packing", f"must be one of {', '.join(PACKINGS)}")
        if self.journal is not None and self.flush_after_seconds:
            yield invalid(
                "flush_after_seconds",
                "cannot be used with a journal: a journal recognizes batches, so they must depend only on the rows and not "
                "on the time at which rows arrive; for a slow input, commit the offset of its consumer instead",
            )
        yield from super().problems()


def default_expiry(destination: Destination, now: datetime.datetime) -> str | None:
    """Returns the expiry to send for rows without one; None if the service applies its own default."""
    if destination.default_expiry_months is None:
        return None
    return format_timestamp(months_later(now, destination.default_expiry_months).replace(microsecond=0))


def settings_of(options: UploadOptions, config: Config) -> Mapping[str, Setting]:
    """Returns the settings that affect the requests, for the journal. They contain no personal data."""
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
        **options.form_settings,
    }


def _written(time: datetime.datetime | str | None) -> str | None:
    return time.isoformat() if isinstance(time, datetime.datetime) else time


TOO_LARGE: Final = "does not fit into a request"
MAX_WAITING_DUPLICATES: Final = 100_000
"""The number of waiting duplicates at which reading pauses, so that memory stays flat."""

C = TypeVar("C", bound=Sized)

Prepare = Callable[[C], Iterable[PreparedBlock]]
"""A function that prepares the rows of a block in steps, so that other tasks can run in between."""


class UploadStage(Generic[C]):
    """The stage that puts rows into batches, sends them, and gives each row its outcome.

    `prepare_at` takes the start time and returns the function that prepares the rows of a block. If the rows are
    ready to be sent, the function only wraps them in a `PreparedBlock`.
    """

    def __init__(
        self,
        prepare_at: Callable[[datetime.datetime], Prepare[C]],
        sender: BatchSender,
        *,
        dry_run: bool = False,
        numbers_of: NumbersOf | None = None,
    ) -> None:
        self._prepare_at = prepare_at
        self._sender = sender
        self._packer = sender.packer
        self._counters = sender.counters
        self._dry_run = dry_run
        self._prepare: Prepare[C] | None = None
        self._recorder: Recorder | None = None
        self._recent = RecentIdentifiers()
        self._duplicates = WaitingDuplicates(sender.counters, numbers_of)
        self._open = Batch()
        self._positions = self._sent = 0

    async def open(self, run: JobRun[C, Batch, UploadReport]) -> None:
        """Connects the sender to this run, and continues from its journal."""
        self._run, self._dispatcher = run, run.dispatcher
        self._sender.observe = run.observe
        if run.journal is not None and run.opened is not None:
            # Expiries are computed from the first start of the job, so that a resumed job sends the same bodies.
            self._prepare = self._prepare_at(run.opened.started_at)
            self._recorder = self._sender.recorder = Recorder(run.journal, run.opened, self._packer)

    async def take(self, block: C) -> None:
        """Puts the valid rows of a block into batches, and counts the others as rejected."""
        # Without a journal, expiries are computed from the first row after a flush, because an input may deliver rows for
        # months.
        prepare = self._prepare = self._prepare or self._prepare_at(self._sender.session.now())
        for prepared in prepare(block):
            if prepared.rejects:
                self._counters.reject(prepared.rejects)
            if prepared.warnings or prepared.cleaned:
                self._counters.warn([*prepared.warnings, *prepared.cleaned])
            for rows in prepared.blocks:
                await self._place_block(rows)
                await yield_if_due()
            await yield_if_due()

    @property
    def first_waiting(self) -> int | None:
        """The number of the first row in the open batch; None if it is empty."""
        return self._open.blocks[0].numbers[0] if self._open.blocks else None

    async def flush(self) -> None:
        """Submits the open batch."""
        if self._recorder is None:
            self._prepare = None
        await self._dispatch_open()

    async def settle(self, batch: Batch) -> None:
        """Sends the batch, and gives its rows and their duplicates an outcome."""
        try:
            await self._sender.settle(batch)
        except BaseException:
            batch.failed = True
            raise
        finally:
            batch.settled.set()
            await self._duplicates.settle()

    async def finish(self) -> None:
        """Raises InvalidInput if the input is shorter than in an earlier run."""
        if self._recorder is not None:
            self._recorder.check_end(self._positions)

    async def aclose(self) -> None:
        """Releases the recent identifiers, which a reference cycle would otherwise keep in memory."""
        self._recent = RecentIdentifiers()

    def report(self, elapsed_seconds: float) -> UploadReport:
        """Returns the report with the current counts."""
        return self._counters.report(elapsed_seconds, dry_run=self._dry_run)

    async def _place_block(self, block: RowBlock) -> None:
        if self._recent.contradicts(block.action):
            await self._dispatcher.drain()
            self._recent.begin_to_differ()
        repeated, start = self._recent.repeated(block), 0
        if repeated.are_duplicates and 0 < len(repeated.indexes) < MAX_WAITING_DUPLICATES - self._open.duplicates:
            start = await self._place_apart(block, repeated)
        found: dict[int, Carriers] = {}
        for index in repeated.indexes[bisect_left(repeated.indexes, start) :]:
            if start < index:
                await self._place_new(block, start, index)
            if self._dispatcher.failure is not None:
                return
            if (carriers := await self._place(block, index)) is not None:
                found[index] = carriers
            start = index + 1
            await yield_if_due()
        if start < (size := len(block)):
            await self._place_new(block, start, size)
        if found:
            await self._wait_for(block.compress(_mask(size, found)), list(found.values()))

    async def _place_apart(self, block: RowBlock, repeated: Repeated) -> int:
        """Places the rows of a block whose duplicates are already known.

        Returns the index of the first row that it could not place. Such a row is too large for a request, or the window
        may have dropped its original row.
        """
        duplicates = repeated.indexes
        is_new = _mask(len(block), duplicates, 0)
        new, indexes = block.compress(is_new), list(compress(range(len(block)), is_new))
        start = done = 0
        while start < len(new) and self._dispatcher.failure is None:
            if count := self._packer.add(self._open, new.part(start, len(new))):
                self._recent.place_new(self._open.blocks[-1], self._open, may_move=not repeated.are_apart)
                start += count
                continue
            done = await self._follow(block, duplicates, done, indexes[start])
            if not (self._open.blocks and self._packer.alone_fits(new, start)) or await self._dispatch_open():
                return indexes[start]
        await self._follow(block, duplicates, done, len(block))
        return len(block)

    async def _follow(self, block: RowBlock, duplicates: Sequence[int], done: int, stop: int) -> int:
        """Adds the duplicates from index `done` to row `stop` (exclusive) to the waiting duplicates. Returns the next
        index.
        """
        some = duplicates[done : bisect_left(duplicates, stop)]
        if some:
            rows = block.compress(_mask(len(block), some))
            self._open.duplicates += len(rows)
            await self._wait_for(rows, self._recent.carriers_of_all(rows))
        return done + len(some)

    async def _wait_for(self, rows: RowBlock, carriers: Sequence[Carriers]) -> None:
        while len(self._duplicates) + len(rows) > MAX_WAITING_DUPLICATES:
            batch = self._duplicates.first_unsettled
            if batch is None or batch is self._open:  # the open batch is submitted once it has enough duplicates
                break
            await batch.settled.wait()
            await self._duplicates.settle()
        await self._duplicates.add(rows, carriers)

    async def _place_new(self, block: RowBlock, start: int, stop: int) -> None:
        """Puts rows with at least one new identifier each into batches. Rejects a row that is too large for a request."""
        while start < stop and self._dispatcher.failure is None:
            rest = block.part(start, stop)
            if count := self._packer.add(self._open, rest):
                self._recent.place_new(self._open.blocks[-1], self._open)
                start += count
            elif self._open.blocks and self._packer.alone_fits(rest, 0):
                await self._dispatch_open()
            else:
                self._counters.reject([RowIssue(rest.numbers[0], "", TOO_LARGE)])
                start += 1

    async def _place(self, block: RowBlock, index: int) -> Carriers | None:
        """Puts a row into a batch. If the row is a duplicate, returns the batches that contain its identifiers instead."""
        row = block.row(index)
        if (carriers := self._recent.carriers(row)) is not None:
            self._open.duplicates += 1
            if self._open.duplicates >= MAX_WAITING_DUPLICATES:
                await self._dispatch_open()
            return carriers
        if not self._packer.alone_fits(block, index):
            self._counters.reject([RowIssue(row.number, "", TOO_LARGE)])
            return None
        conflicts = self._recent.conflicts(row)
        if self._open in conflicts:
            await self._dispatch_open()
        if not self._packer.add(self._open, block.part(index, index + 1)):
            await self._dispatch_open()
            self._packer.add(self._open, block.part(index, index + 1))
        self._open.after.update(batch for batch in conflicts if not batch.settled.is_set())
        self._recent.place(row, self._open)
        return None

    async def _dispatch_open(self) -> bool:
        """Submits the open batch. Returns whether a generation of recent identifiers was dropped."""
        batch, self._open = self._open, Batch()
        has_forgotten = self._recent.turn()
        if not batch.blocks:
            return has_forgotten
        if self._dispatcher.failure is None:  # after a failure, the batch may be incomplete
            self._positions += 1
            recorder, broken = self._recorder, self._run.broken_input
            if broken is None:
                batch.position = self._positions
                if recorder is not None:
                    await recorder.take_over(batch)
            elif recorder is not None and self._positions <= recorder.opened.last_batch:
                # This may be part of a batch that an earlier run confirmed. Sending it again could undo batches
                # confirmed after it.
                self._dispatcher.stop(broken)
        if self._dry_run:
            self._counters.planned(batch.size_bytes)
            batch.release()
            batch.settled.set()
            await self._duplicates.settle()
        else:
            self._sent += 1
            batch.number = self._sent
            await self._dispatcher.submit(batch)
        return has_forgotten


def _mask(size: int, indexes: Iterable[int], value: int = 1) -> bytearray:
    """Returns one byte per row: `value` (0 or 1) at these indexes, and the opposite elsewhere."""
    mask = bytearray((1 - value,)) * size
    for index in indexes:
        mask[index] = value
    return mask


class _UserStage(UploadStage[UserBlock]):
    """An upload stage that loads the phone number library in a thread before it reads the first phone number."""

    _may_meet_phone_numbers = False

    async def take(self, block: UserBlock) -> None:
        """Loads the library if it may be needed, and puts the rows of the block into batches."""
        if not self._may_meet_phone_numbers and "phone_number" in map(itemgetter(2), block.layout.identifiers):
            await asyncio.to_thread(phone_numbers.load)
            self._may_meet_phone_numbers = True
            await yield_to_others()  # all jobs that waited for the library resume at the same time
        await super().take(block)


def batch_sender(
    session: Session,
    target: Target[UploadCounts],
    options: UploadOptions,
    call: CallOptions,
    counters: RowCounters,
    on_accept: OnAccept | None = None,
) -> BatchSender:
    """Returns a sender whose batches are as large as the options, the configuration and the endpoint allow."""
    config = session.config
    packer = Packer(
        options.packing,
        max_operations=config.max_operations or MAX_OPERATIONS,
        max_bytes=config.max_batch_bytes or target.route.max_body_bytes or MAX_BATCH_BYTES,
    )
    return BatchSender(session, target, bulk_options(config, call), packer, counters, on_accept=on_accept)


class UploadJob:
    """An upload that can be run once."""

    def __init__(
        self,
        session: Session,
        destination: Destination,
        records: Records,
        options: UploadOptions,
        call: CallOptions,
    ) -> None:
        config, route = session.config, destination.target.route
        self._session = session

        faults = Faults(options.problems())
        with faults:
            options, selection = options.with_columns(destination.kinds)
        with faults:
            preparer = Preparer(
                operation=options.operation,
                effective_at=options.effective_at,
                expires_at=options.expires_at,
                default_region=options.default_region,
                phone_format=options.phone_format,
                require_hashed=options.require_hashed,
                kinds=destination.kinds,
                expires_default=functools.partial(default_expiry, destination),
                allow_effective=destination.takes_effective_at,
                now=session.now(),
            )
        faults.refuse()
        self._options = options
        rate = route.rate_limit.configured(config.rate_limits) if route.rate_limit else None
        self.counters: RowCounters = RowCounters(
            rate, ignored_columns=selection.ignored_columns, read_columns=selection.read_columns, notes=selection.notes
        )
        sender = batch_sender(session, destination.target, options, call, self.counters)
        self.stage: UploadStage[UserBlock] = _UserStage(preparer.prepare_at, sender, dry_run=options.dry_run)
        self.reader: Reader[UserBlock] = open_records(records, selection, session.network)
        self._description = JobDescription(
            kind=destination.kind,
            target=destination.target,
            source=records,
            settings={} if options.journal is None else settings_of(options, config),
            refuses_key=is_personal if options.require_hashed else None,
        )
        prepare_input(session, self.reader, self._description, options)

    def run(self) -> Coroutine[Any, Any, UploadReport]:
        """Returns a coroutine that runs the upload and returns its report, as `run_job` does."""
        return run_job(self.reader, self.stage, self.counters, self._description, self._options, self._session)
