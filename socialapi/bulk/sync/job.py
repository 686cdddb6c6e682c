"""The sync job: reads the desired rows, compares them with the snapshot, and sends the differences."""

import contextlib
import functools
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import attrs

from socialapi.bulk.audiences.job import Destination, UploadOptions, UploadStage, batch_sender
from socialapi.bulk.audiences.normalize import NORMALIZER_VERSION
from socialapi.bulk.audiences.prepare import PreparedBlock
from socialapi.bulk.counters import IssueGroups, RowCounters, quota_used
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.job import FILE_ERRORS, JobDescription, LimitExceeded, log_groups, run_job, same_files
from socialapi.bulk.rows import RowBlock
from socialapi.bulk.settled import call_settled, explained
from socialapi.bulk.sync.reading import ReadingJob, SyncOptions
from socialapi.bulk.sync.scratch import DUE, ranges_of
from socialapi.bulk.sync.snapshot import Difference, Snapshot
from socialapi.errors import BulkError, InvalidInput, SocialApiError
from socialapi.internal.fairness import yield_if_due
from socialapi.internal.unset import UNSET
from socialapi.models.audiences import OperationType
from socialapi.models.validation import Faults
from socialapi.reports import MAX_ISSUES_KEPT, Forecast, Progress, RowIssue, SyncReport, UploadReport
from socialapi.routes.route import RateLimit
from socialapi.session.options import CallOptions
from socialapi.session.session import Session


class SyncCounts:
    """The counters of a sync. Desired rows are pending until they are unchanged, added or rejected."""

    def __init__(self, session: Session, limit: RateLimit | None, *, dry_run: bool) -> None:
        self._clock = session.clock
        self.rate: RateLimit | None = limit.configured(session.config.rate_limits) if limit else None
        self._dry_run = dry_run
        self._started = session.clock.monotonic()
        self.reading: UploadReport = UploadReport()
        """The report of the reading phase. Staged rows count as accepted."""
        self.unchanged: int = 0
        self.before: int = 0
        self.after: int = 0
        self.held_back: int = 0
        self.planned: dict[str, int] = {"additions": 0, "removals": 0}
        self._parts = {"additions": UploadReport(), "removals": UploadReport()}
        self._refused: dict[str, list[RowIssue]] = {"additions": [], "removals": []}
        """The first rows that the service rejected in each phase, with their row numbers in the input."""
        self._refused_groups = {"additions": IssueGroups(), "removals": IssueGroups()}

    def compared(self, found: Difference) -> None:
        """Sets the number of rows to add and the number of identifiers to remove."""
        self.unchanged = self.reading.accepted - found.additions
        self.before = found.known
        self.after = found.known
        self.planned = {"additions": found.additions, "removals": found.removals}

    def hold_back(self) -> None:
        """Records that this sync removes nothing."""
        self.held_back, self.planned["removals"] = self.planned["removals"], 0

    def take(self, phase: str, report: UploadReport) -> None:
        """Stores the counts of a phase of the sync."""
        if phase == "reading":
            self.reading = report
        else:
            self._parts[phase] = report

    def refuse(self, phase: str, issues: Sequence[RowIssue]) -> None:
        """Records rows that the service rejected in a phase of the sync."""
        refused = self._refused[phase]
        refused += issues[: MAX_ISSUES_KEPT - len(refused)]
        self._refused_groups[phase].add(issues)

    def _part(self, phase: str) -> UploadReport:
        """Returns the counts of a phase. Planned rows that the phase has not read yet count as pending."""
        part, planned = self._parts[phase], self.planned[phase]
        pending = planned - part.accepted - part.rejected
        groups = tuple(self._refused_groups[phase].groups())
        return attrs.evolve(
            part, read=planned, pending=pending, rejects=tuple(self._refused[phase]), reject_groups=groups
        )

    def report(self) -> SyncReport:
        """Returns the report with the current counts."""
        reading, additions, removals = self.reading, self._part("additions"), self._part("removals")
        elapsed_seconds, requests = self._clock.monotonic() - self._started, additions.requests + removals.requests
        forecasts = [each.forecast for each in (additions, removals) if each.forecast is not None]
        return SyncReport(
            read=reading.read,
            accepted=self.unchanged + additions.accepted,
            rejected=reading.rejected + additions.rejected,
            pending=reading.pending + reading.accepted - self.unchanged - additions.accepted - additions.rejected,
            warnings=reading.warnings,
            requests=requests,
            retries=additions.retries + removals.retries,
            repeated=additions.repeated,
            bytes_sent=additions.bytes_sent + removals.bytes_sent,
            elapsed_seconds=elapsed_seconds,
            quota_used=quota_used(self.rate, requests, elapsed_seconds),
            rejects=(*reading.rejects, *additions.rejects)[:MAX_ISSUES_KEPT],
            warning_details=reading.warning_details,
            reject_groups=(*reading.reject_groups, *additions.reject_groups),
            warning_groups=reading.warning_groups,
            rejects_path=reading.rejects_path,
            columns=reading.columns,
            ignored_columns=reading.ignored_columns,
            # The phases follow one another and share one rate limit.
            forecast=Forecast(
                requests=sum(each.requests for each in forecasts),
                bytes=sum(each.bytes for each in forecasts),
                quota_minutes=sum(each.quota_minutes for each in forecasts),
            )
            if self._dry_run
            else None,
            unchanged=self.unchanged,
            additions=additions,
            removals=removals,
            held_back=self.held_back,
            identifiers_before=self.before,
            identifiers_after=self.after,
        )


RENEWED_AHEAD_SECONDS: Final = 7 * 24 * 3_600
"""A member is sent again if it expires within this number of seconds, because the next sync may not run before the
expiry.
"""

Phase = Literal["reading", "additions", "removals"]
PHASES: Final[Mapping[Phase, str]] = {"reading": "reading", "additions": "adding", "removals": "removing"}
NextPage = Callable[[], Awaitable[Sequence[RowBlock]]]
"""A function that returns the next page of rows."""


@attrs.frozen(eq=False, repr=False)
class Page:
    """Blocks of rows that are read together."""

    blocks: Sequence[RowBlock]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))


class PageReader(Reader[Page]):
    """A reader of the pages of a snapshot. The rows are already digests and need no normalization."""

    def __init__(self, next_page: NextPage, total_rows: int) -> None:
        self._next_page = next_page
        self.total_rows = total_rows

    @property
    def fraction_read(self) -> float | None:
        """Always None, because the number of rows is known."""
        return None

    async def read_block(self) -> Page | None:
        """Returns the next page; None after the last one."""
        blocks = await self._next_page()
        return Page(blocks) if blocks else None

    async def aclose(self) -> None:
        """Does nothing: the caller closes the snapshot."""


def prepared_blocks(page: Page) -> Iterator[PreparedBlock]:
    """Yields the blocks of a page, which need no preparation."""
    return map(PreparedBlock, ([block] for block in page.blocks))


async def sync(
    session: Session,
    destination: Destination,
    desired: Records,
    options: SyncOptions,
    call: CallOptions,
    faults: Faults | None = None,
) -> SyncReport:
    """Runs a sync and returns its report. `faults` are errors already found in the caller's arguments.

    Raises InvalidInput if no row could be read, ConfigurationError if the snapshot cannot be used, and BulkError if the
    sync stops later.
    """
    faults = Faults() if faults is None else faults
    faults += [*options.problems(), *same_files("snapshot", options.snapshot, {"the input itself": desired})]
    ids = destination.target.path_parameters
    with _snapshot_path(options) as path:
        with faults:
            snapshot = Snapshot(path, str(ids["account_id"]), str(ids["custom_audience_id"]))
            job = SyncJob(session, destination, desired, snapshot, options, call)
        faults.refuse()
        if session.telemetry is None:
            return await job.run()
        return await session.telemetry.job("sync", job.run(), job.counts)


@contextlib.contextmanager
def _snapshot_path(options: SyncOptions) -> Iterator[Path]:
    """Yields the path of the snapshot. A dry run without a snapshot gets a temporary one."""
    path = Path(options.snapshot)
    if not options.dry_run or path.exists():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="socialapi-") as folder:
        yield Path(folder) / "snapshot"


class SyncJob:
    """One run of a sync."""

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
        self._added = bytearray()
        """One byte per addition: 1 if the service accepted it. Used only if there is a ledger."""
        self._is_compared = self._is_settled = False
        shown = None if options.on_progress is None else self._show
        options = attrs.evolve(options, on_progress=shown, journal=None, flush_after_seconds=UNSET)
        self._reading = ReadingJob(session, destination, desired, snapshot, options)

    async def run(self) -> SyncReport:
        """Runs the sync and returns its report, as `sync` does."""
        try:
            await self._snapshot.open()
            await self._sync()
        finally:
            try:
                with contextlib.suppress(SocialApiError):  # an earlier error is raised instead
                    await self._settle_rows()
                with contextlib.suppress(InvalidInput):
                    self._close_rejects()
            finally:
                await self._snapshot.aclose()
                log_groups("sync", self._counts.report())
        report, ledger = self._counts.report(), self._reading.counters.ledger
        counts = {name: getattr(report, name) for name in ("unchanged", "rejected", "pending")}
        if ledger is not None and not ledger.agrees_with(counts | {"added": report.additions.accepted}):
            raise RuntimeError(f"the rows of the sync do not add up, which is a bug in this package: {report}")
        if self._options.on_progress is not None:  # for all rows, after the progress of each phase
            done = report.read if self._options.dry_run else report.read - report.pending
            self._options.on_progress(
                Progress(
                    report=report,
                    fraction_read=1.0,
                    rows_done=done,
                    rows_total=report.read,
                    rows_per_second=report.rows_per_second,
                    seconds_left=0.0,
                )
            )
        return report

    def counts(self) -> Mapping[str, int]:
        """Returns the current counts of the report."""
        return self._counts.report().counts

    async def _sync(self) -> None:
        try:
            try:
                await self._reading.run()
            except BulkError as stopped:
                raise BulkError(f"{stopped.message}; nothing was sent", stopped.report) from stopped.__cause__
            finally:
                self._counts.reading = self._reading.stage.report(0.0)
            now = int(self._session.clock.time())
            with self._stopping("before anything was sent"):
                found = await self._snapshot.compare(now=now, soon=now + RENEWED_AHEAD_SECONDS)
                self._counts.compared(found)
                self._is_compared = True
                if found.removals:
                    await self._check_share(found)
            self._phase = "additions"
            with self._stopping("while adding"):
                if not self._options.dry_run:
                    await self._snapshot.announce(now=int(self._session.clock.time()))
                report = await self._upload("Update", self._snapshot.additions)
                if not self._options.dry_run:
                    await self._snapshot.confirm_additions(refused=report.rejected > 0, repeated=report.retries > 0)
            self._phase = "removals"
            with self._stopping("while removing"):
                await self._upload("Delete", self._snapshot.removals)
            with self._stopping("at the end"):
                self._close_rejects()
        except SocialApiError as stop:
            with contextlib.suppress(SocialApiError):  # the first problem is raised below
                await self._finish()
            if isinstance(stop, BulkError):  # the counts after the sync are known only now
                raise BulkError(stop.message, self._counts.report()) from stop.__cause__
            raise
        with self._stopping("at the end"):
            await self._finish()
            if not (self._options.dry_run or self._counts.held_back):
                await self._snapshot.renewed()

    async def _finish(self) -> None:
        """Applies the outcomes of the sync to the members, even if it stopped early."""
        try:
            await self._settle_rows()
        finally:
            await self._snapshot.finish()
        self._counts.after = await self._snapshot.count()

    async def _check_share(self, found: Difference) -> None:
        """Raises InvalidInput if more identifiers would be removed than allowed.

        An unusable row or value may belong to a member who only seems to have left. If the share is
        exceeded only when unusable rows and values count as removals, the sync removes no member
        and continues.
        """
        share, most = found.removals / found.known, self._options.max_removal_share
        if share > most:
            self._counts.hold_back()
            then, now = self._snapshot.normalizer, NORMALIZER_VERSION
            why_others = (
                ""
                if then == now
                # digests may have changed even though the input has not
                else (
                    f". The snapshot was made by version {then} of the normalizer, and this is version {now}: a value "
                    "whose digest has changed counts as removed and added"
                )
            )
            raise LimitExceeded(
                f"{found.removals:,} of the {found.known:,} identifiers in the snapshot are missing from the input, which is "
                f"{share:.1%}, but only {most:.1%} may be removed: is the input complete? If so, set "
                f"max_removal_share=1.0{why_others}"
            )
        unusable = self._reading.stage.unusable
        if unusable and min(1.0, (found.removals + unusable) / found.known) > most:
            self._counts.hold_back()
            await self._snapshot.hold_back()

    async def _upload(self, operation: OperationType, next_page: NextPage) -> UploadReport:
        async def read_page() -> Sequence[RowBlock]:
            await self._note_refused()
            return await next_page()

        target, given = self._destination.target, self._options
        options = UploadOptions(  # without times, because each row has its own
            packing=given.packing,
            concurrency=given.concurrency,
            max_reject_share=given.max_reject_share if self._phase == "additions" else None,
            dry_run=given.dry_run,
            on_progress=None if given.on_progress is None else self._show,
        )
        counters = RowCounters(
            self._counts.rate,
            on_settle=self._note_settled,
            repeats_are="pending" if options.dry_run else "accepted",
        )
        accept = functools.partial(self._snapshot.accept, operation)
        sender = batch_sender(self._session, target, options, self._call, counters, accept)
        numbers_of = self._snapshot.numbers_of
        stage = UploadStage(lambda _: prepared_blocks, sender, dry_run=options.dry_run, numbers_of=numbers_of)
        description = JobDescription(
            telemetry_kind=f"sync.{self._phase}", target=target, source=None, part_of=self._counts.reading
        )
        pages, started = PageReader(read_page, self._counts.planned[self._phase]), self._session.clock.monotonic()
        try:
            return await run_job(pages, stage, counters, description, options, self._session)
        finally:
            self._counts.take(self._phase, stage.report(self._session.clock.monotonic() - started))
            await self._note_refused()

    def _note_settled(self, numbers: Sequence[int], outcome: str, issues: Sequence[RowIssue]) -> None:
        self._refused += issues
        if self._phase == "additions" and outcome == "accepted" and self._reading.counters.ledger is not None:
            if len(self._added) < numbers[-1]:
                self._added += bytes(numbers[-1] - len(self._added))
            for first, last in ranges_of(numbers):
                self._added[first - 1 : last] = b"\1" * (last + 1 - first)

    async def _settle_rows(self) -> None:
        """Writes the outcomes of the staged rows, and closes the ledger. Only the first call has an effect."""
        ledger, is_settled, self._is_settled = self._reading.counters.ledger, self._is_settled, True
        if ledger is None or is_settled:
            return
        try:
            await self._note_refused()
            if self._is_compared:
                position = 0
                async for numbers, states in self._snapshot.staged():
                    unchanged, added = list[int](), list[int]()
                    for number, state in zip(numbers, states, strict=True):
                        if state != DUE:
                            unchanged.append(number)
                            continue
                        if self._added[position : position + 1] == b"\1":
                            added.append(number)
                        position += 1
                    ledger.settle(unchanged, "unchanged")
                    ledger.settle(added, "added")
                    await yield_if_due()
            call, rows = self._options.on_settled, ledger.settled_rows()
            if call is not None and rows and not self._options.dry_run:
                try:
                    await call_settled(call, ledger, rows)
                except Exception as problem:
                    raise BulkError("on_settled failed", self._counts.report()) from problem
        except BaseException:
            with contextlib.suppress(InvalidInput):  # the error that stopped the sync is raised instead
                await ledger.close(is_finished=False)
            raise
        await ledger.close(is_finished=False)

    async def _note_refused(self) -> None:
        """Records the rejected rows with their row numbers in the input. Removals have no row numbers."""
        refused = list(self._refused)
        if not refused:
            return
        if self._phase == "additions":
            numbers = await self._snapshot.numbers_of([issue.row for issue in refused])
            issues = [attrs.evolve(issue, row=numbers[issue.row]) for issue in refused]
        else:
            issues = [RowIssue(0, issue.field, f"was not removed: {issue.reason}") for issue in refused]
        del self._refused[
            : len(refused)
        ]  # only after the awaits: a stopping job may cancel this method, and calls it again at the end
        self._counts.refuse(self._phase, issues)
        if (ledger := self._reading.counters.ledger) is not None:
            for issue in issues if self._phase == "additions" else ():
                ledger.settle([issue.row], "rejected", [issue])
        if (file := self._reading.counters.rejects_file) is not None:
            file.begin()
            file.write(issues)

    def _show(self, progress: Progress) -> None:
        self._counts.take(self._phase, progress.report)
        assert self._options.on_progress is not None
        self._options.on_progress(
            attrs.evolve(
                progress,
                report=self._counts.report(),
                fraction_read=progress.fraction_read if self._phase == "reading" else 1.0,
                phase=PHASES[self._phase],
            )
        )

    @contextlib.contextmanager
    def _stopping(self, when: str) -> Iterator[None]:
        try:
            yield
        except BulkError as stopped:
            cause = stopped.__cause__
        except FILE_ERRORS as problem:
            cause = problem
        else:
            return
        raise BulkError(f"the sync stopped {when}: {explained(cause)}", self._counts.report()) from cause

    def _close_rejects(self) -> None:
        if (file := self._reading.counters.rejects_file) is not None:
            file.close()
