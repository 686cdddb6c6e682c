"""The sync of an audience: what is desired is compared with what was synced last, and the difference is sent.

read and stage ──▶ compare ──▶ check the share ──▶ additions: an upload job ──▶ removals: an upload job
                                                     └─ announced, sent, confirmed in the snapshot ─┘

Additions go first, so that an audience never dips below what it needs; no identifier is in both.
"""

import contextlib
import datetime
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import attrs

from socialapi.bulk.audiences.audience_job import UploadJob
from socialapi.bulk.audiences.batches import Packing
from socialapi.bulk.audiences.normalizing import NORMALIZER_VERSION
from socialapi.bulk.audiences.upload_options import Destination, UploadOptions
from socialapi.bulk.job import OURS
from socialapi.bulk.job_options import JobOptions
from socialapi.bulk.reading.readers import Record, Records
from socialapi.bulk.rejects import same_file
from socialapi.bulk.sync.sync_counts import SyncCounts
from socialapi.bulk.sync.sync_reading import ReadingJob
from socialapi.bulk.sync.sync_snapshot import ROWS_PER_PAGE, Difference, Snapshot
from socialapi.errors import BulkError, InvalidInput, SocialApiError
from socialapi.models.audiences import OperationType
from socialapi.reports import Progress, RowIssue, SyncReport, UploadReport
from socialapi.session.session import CallOptions, Session

DEFAULT_REMOVAL_SHARE: Final = 0.1
RENEWED_AHEAD_SECONDS: Final = 7 * 24 * 3_600
"""Who is to stay is sent again so long before the service would let go, since nobody syncs at that very second."""

Phase = Literal["reading", "additions", "removals"]
Pages = Callable[[int], Awaitable[Sequence[Record]]]
"""Hands out the page of records that begins at a position."""


@attrs.frozen(kw_only=True)
class SyncOptions(JobOptions):
    """What the caller of `sync` asked for."""

    snapshot: str | os.PathLike[str]
    max_removal_share: float = DEFAULT_REMOVAL_SHARE
    packing: Packing = "single"
    columns: Mapping[str, str | Sequence[str]] | None = None
    default_region: str | None = None
    effective_at: datetime.datetime | str | None = None
    expires_at: datetime.datetime | str | None = None

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        if not 0 <= self.max_removal_share <= 1:
            raise InvalidInput("max_removal_share must be a number from 0 to 1")
        if self.journal is not None:
            raise InvalidInput("a sync takes no journal: the snapshot says from where the same sync goes on")
        super().check()

    def check_files(self, desired: object) -> None:
        """Raises InvalidInput where two of the files are one."""
        if isinstance(desired, str | os.PathLike) and same_file(self.snapshot, desired):
            raise InvalidInput(f"the snapshot {self.snapshot} is the input itself; choose another path")
        if self.rejects is not None and same_file(self.snapshot, self.rejects):
            raise InvalidInput(f"the snapshot {self.snapshot} is the rejects file, too; choose another path")


async def sync(
    session: Session, destination: Destination, desired: Records, options: SyncOptions, call: CallOptions
) -> SyncReport:
    """The report of the finished sync.

    Raises InvalidInput when nothing of the input could be read, ConfigurationError when the snapshot cannot be used,
    BulkError when the sync stopped, before anything was sent or on the way.
    """
    options.check()
    options.check_files(desired)
    ids = destination.target.path_parameters
    with _place(options) as path:
        snapshot = Snapshot(path, str(ids["account_id"]), str(ids["custom_audience_id"]))
        return await SyncJob(session, destination, desired, snapshot, options, call).run()


@contextlib.contextmanager
def _place(options: SyncOptions) -> Iterator[Path]:
    """Where the snapshot is. A dry run makes none where there is none."""
    path = Path(options.snapshot)
    if not options.dry_run or path.exists():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="socialapi-") as folder:
        yield Path(folder) / "snapshot"


class SyncJob:
    """One sync, run once."""

    def __init__(
        self,
        session: Session,
        destination: Destination,
        desired: Records,
        snapshot: Snapshot,
        options: SyncOptions,
        call: CallOptions,
    ) -> None:
        self._session = session
        self._destination = destination
        self._snapshot = snapshot
        self._options = options
        self._call = call
        self._counts = SyncCounts(session, destination.target.route.rate_limit, dry_run=options.dry_run)
        self._phase: Phase = "reading"
        self._refused: list[RowIssue] = []
        self._reading = ReadingJob(session, destination, desired, snapshot, self._upload_options("Update"))

    async def run(self) -> SyncReport:
        """As `sync`."""
        try:
            await self._snapshot.open()
            await self._sync()
        finally:
            with contextlib.suppress(InvalidInput):  # said already, or the sync stops for another reason
                self._close_rejects()
            await self._snapshot.aclose()
        return self._counts.report()

    async def _sync(self) -> None:
        try:
            await self._read()
            await self._compare()
            await self._add()
            await self._remove()
            with self._stopping("at its end"):
                self._close_rejects()
        except SocialApiError as stop:
            with contextlib.suppress(SocialApiError):  # the first problem is the one that counts
                await self._finish()
            if isinstance(stop, BulkError):  # what is held is known only now
                raise BulkError(stop.message, self._counts.report()) from stop.__cause__
            raise
        with self._stopping("at its end"):
            await self._finish()
            if not (self._options.dry_run or self._counts.held_back):
                await self._snapshot.renewed()

    async def _finish(self) -> None:
        """Brings to the members what became of the sync, however far it got."""
        await self._snapshot.finish()
        self._counts.after = await self._snapshot.count()

    async def _read(self) -> None:
        try:
            self._counts.reading = await self._reading.run()
        except BulkError as stopped:
            self._counts.reading = stopped.report
            raise BulkError(f"{stopped.message}; nothing was sent", self._counts.report()) from stopped.__cause__

    async def _compare(self) -> None:
        now = int(self._session.clock.time())
        with self._stopping("before anything was sent"):
            found = await self._snapshot.compare(now=now, soon=now + RENEWED_AHEAD_SECONDS)
            self._counts.compared(found)
            if found.removals:
                await self._check_share(found)

    async def _check_share(self, found: Difference) -> None:
        """Raises InvalidInput for more removals than are allowed.

        Nobody knows whom rejected rows mean, nor values that were left out of others: each may be one of those who seem
        to have left. Where they make the difference, nobody is removed, and the sync goes on.
        """
        share, most = found.removals / found.known, self._options.max_removal_share
        if share > most:
            self._counts.hold_back()
            raise InvalidInput(
                f"{found.removals:,} of the {found.known:,} identifiers in the snapshot are not desired any more, which is "
                f"{share:.1%}, and {most:.1%} may be removed: is the input complete? max_removal_share=1.0 "
                f"(--max-removal-share 1.0) allows it{self._said_of_normalizer()}"
            )
        doubtful = self._reading.doubtful
        if doubtful and min(1.0, (found.removals + doubtful) / found.known) > most:
            self._counts.hold_back()
            await self._snapshot.hold_back()

    def _said_of_normalizer(self) -> str:
        """Why identifiers may be others than before though the input is not."""
        then, now = self._snapshot.normalizer, NORMALIZER_VERSION
        if then == now:
            return ""
        return (
            f". The snapshot was made by version {then} of the normaliser, and this is version {now}: what it makes another "
            "digest of counts as removed and added"
        )

    async def _add(self) -> None:
        self._phase = "additions"
        with self._stopping("while adding"):
            if not self._options.dry_run:
                await self._snapshot.expect_additions(now=int(self._session.clock.time()))
                self._counts.after = await self._snapshot.count()  # as it may be if the sync ends here
            report = await self._upload("Update", self._snapshot.additions)
            if not self._options.dry_run:
                await self._snapshot.confirm_additions(refused=report.rejected > 0, repeated=report.retries > 0)
                self._counts.after = await self._snapshot.count()

    async def _remove(self) -> None:
        self._phase = "removals"
        with self._stopping("while removing"):
            if not self._options.dry_run:
                await self._snapshot.expect_removals()
            await self._upload("Delete", self._snapshot.removals)

    async def _upload(self, operation: OperationType, page_from: Pages) -> UploadReport:
        async def note_accepted(numbers: Sequence[Sequence[int]]) -> None:
            await self._snapshot.accept(operation, numbers)

        job = UploadJob(
            self._session,
            self._destination,
            self._records(page_from),
            self._upload_options(operation),
            self._call,
            on_accept=note_accepted,
            on_reject=self._refused.extend,
            part_of=self._counts.reading,
        )
        try:
            report = await job.run()
        except BulkError as stopped:
            self._counts.take(self._phase, stopped.report)
            raise
        else:
            self._counts.take(self._phase, report)
            return report
        finally:
            await self._note_refused()

    async def _records(self, page_from: Pages) -> AsyncIterator[Record]:
        first = 1
        while page := await page_from(first):
            for record in page:
                yield record
            first += ROWS_PER_PAGE
            await self._note_refused()

    async def _note_refused(self) -> None:
        """Writes down what the service refused, by the numbers that the rows have in the input; removals have none."""
        refused = list(self._refused)
        if not refused or self._options.dry_run:
            return
        if self._phase == "additions":
            numbers = await self._snapshot.numbers_of([issue.row for issue in refused])
            issues = [attrs.evolve(issue, row=numbers[issue.row]) for issue in refused]
        else:
            issues = [RowIssue(0, issue.field, f"was not removed: {issue.reason}") for issue in refused]
        del self._refused[: len(refused)]  # not before: a job that stops cancels this, and it is done again at the end
        self._counts.refuse(self._phase, issues)
        if (file := self._reading.rejects_file) is not None:
            file.begin()
            file.write(issues)

    def _upload_options(self, operation: OperationType) -> UploadOptions:
        """The options of a part of the sync; the rows that are sent carry their times themselves."""
        options = self._options
        is_reading = self._phase == "reading"
        return UploadOptions(
            operation=operation,
            packing=options.packing,
            columns=options.columns if is_reading else None,
            default_region=options.default_region if is_reading else None,
            effective_at=options.effective_at if is_reading else None,
            expires_at=options.expires_at if is_reading else None,
            concurrency=options.concurrency,
            rejects=options.rejects if is_reading else None,
            snapshot=options.snapshot if is_reading else None,
            max_reject_share=None if operation == "Delete" else options.max_reject_share,
            dry_run=options.dry_run,
            on_progress=None if options.on_progress is None else self._show,
        )

    def _show(self, progress: Progress) -> None:
        self._counts.take(self._phase, progress.report)
        assert self._options.on_progress is not None
        self._options.on_progress(
            attrs.evolve(
                progress,
                report=self._counts.report(),
                fraction_read=progress.fraction_read if self._phase == "reading" else 1.0,
            )
        )

    @contextlib.contextmanager
    def _stopping(self, when: str) -> Iterator[None]:
        try:
            yield
        except BulkError as stopped:
            cause = stopped.__cause__
        except OURS as problem:
            cause = problem
        else:
            return
        says = str(cause) if isinstance(cause, SocialApiError) else type(cause).__name__
        raise BulkError(f"the sync stopped {when}: {says}", self._counts.report()) from cause

    def _close_rejects(self) -> None:
        if (file := self._reading.rejects_file) is not None:
            file.close()
