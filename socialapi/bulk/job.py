"""Runs bulk jobs, each composed of a reader, a stage and counters, and defines the options that all jobs share."""

import asyncio
import contextlib
import inspect
import math
import os
from collections.abc import AsyncIterable, Callable, Coroutine, Iterator, Mapping, Sequence, Sized
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, Final, Generic, Literal, Protocol, Self, TypedDict, TypeVar, cast

import attrs

from socialapi._speedups import log_if_disabled
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.dispatcher import Concurrency, Dispatcher, Sendable
from socialapi.bulk.inputs.addresses import ONLY_HERE, is_address
from socialapi.bulk.inputs.layouts import OPTIONS, FileLayout, NamedColumns, with_layout
from socialapi.bulk.inputs.reader import Block, NoRows, Reader, TableForm
from socialapi.bulk.journals.journal import JobIdentity, Journal, Opened, Setting, State, fingerprint
from socialapi.bulk.ledger import Ledger
from socialapi.bulk.outcomes import FORMATS, OutcomesFile, ending_of
from socialapi.bulk.output_file import part_of, same_file
from socialapi.bulk.progress import OnProgress, Pace
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.settled import OnSettled, SettledCalls, explained
from socialapi.config import Config
from socialapi.errors import BulkError, ConfigurationError, InvalidInput
from socialapi.internal.fairness import yield_if_due, yield_to_others
from socialapi.internal.file_lock import SUFFIX
from socialapi.internal.logs import LOGGER
from socialapi.internal.private_files import is_written_through
from socialapi.internal.records import FrozenRecord
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.validation import Faults, invalid
from socialapi.reports import UploadReport
from socialapi.routes.route import Target
from socialapi.session.clock import Clock
from socialapi.session.options import CallOptions
from socialapi.session.rate_limiter import seconds_until
from socialapi.session.session import Session
from socialapi.wire.retry import Attempt, RetryPolicy

MIN_ATTEMPTS: Final = 12
FLUSH_AFTER_SECONDS: Final = 5
FILES: Final = {
    "journal": "the journal",
    "snapshot": "the snapshot",
    "digests": "the digest file",
    "outcomes": "the outcomes file",
    "rejects": "the rejects file",
    "layout": "the layout",
}
"""The options that specify a job's files, and the name of each file in messages."""


@attrs.frozen(kw_only=True)
class JobOptions(FrozenRecord):
    """The options that all jobs share, validated before a job opens any file."""

    concurrency: int | Literal["auto"] = "auto"
    journal: str | os.PathLike[str] | Journal | None = None
    rejects: str | os.PathLike[str] | None = None
    key: str | int | None = None
    """The name or number of the column whose values identify the rows in the outcomes file."""
    outcomes: str | os.PathLike[str] | None = None
    on_settled: OnSettled | None = None
    """Called with the largest n such that the rows 1 to n have their outcomes."""
    dry_run: bool = False
    on_progress: OnProgress | None = None
    max_reject_share: float | None = None
    """The largest share of the rows read that may be rejected."""
    allow_empty: bool = True
    """Whether a job returns an empty report for an input without rows. Otherwise, it raises InvalidInput."""
    header: bool = True
    header_line: int | None = None
    flush_after_seconds: float | Unset | None = UNSET
    """The maximum time that a row waits for further rows before it is sent; None for no limit."""
    layout: str | os.PathLike[str] | FileLayout | None = None
    """The path of a layout file; once the job runs, the layout that was read from it."""

    def laid_out(self, selection: NamedColumns) -> Self:
        """Returns the options completed from their layout file; `selection` must not contain columns from the user."""
        names = attrs.fields_dict(type(self)).keys() & {*OPTIONS, "layout"}
        return attrs.evolve(self, **with_layout({name: getattr(self, name) for name in names}, selection))

    @property
    def is_packed(self) -> bool:
        """Whether requests hold so many users that a few requests fill the usual in-flight budget."""
        return False

    @property
    def form(self) -> TableForm:
        """The options for finding the column names of a CSV or TSV file. A job that deletes does not guess."""
        if isinstance(self.layout, FileLayout):
            return TableForm(self.layout.header, self.layout.header_line, guesses=False, layout=self.layout)
        return TableForm(self.header, self.header_line, guesses=self.why_not_empty is None)

    @property
    def form_settings(self) -> Mapping[str, Setting]:
        """The header options for a journal. Defaults are omitted, because earlier versions did not record them."""
        is_default = self.header and self.header_line is None
        return {} if is_default else {"header": self.header, "header_line": self.header_line}

    @property
    def why_not_empty(self) -> str | None:
        """The reason why the job never accepts an input without rows; None if it may accept one."""
        return None

    @property
    def journal_path(self) -> str | os.PathLike[str] | None:
        """The path of the journal, if it is a file."""
        given = getattr(self.journal, "path", None) if isinstance(self.journal, Journal) else self.journal
        return given if isinstance(given, str | os.PathLike) else None

    @property
    def databases(self) -> Mapping[str, str | os.PathLike[str]]:
        """The SQLite files that the job writes, by option."""
        return {} if self.journal_path is None else {"journal": self.journal_path}

    @property
    def own_files(self) -> Sequence[str | os.PathLike[str]]:
        """The files that the job writes, and its layout file. Excludes a file at the path of the rejects file or
        outcomes file that no job has written, such as an export.
        """
        found = [
            os.fsdecode(path) + ending for path in self.databases.values() for ending in ("", "-wal", "-shm", SUFFIX)
        ]
        found += [] if self.rejects is None else RejectsFile.own_files(self.rejects)
        found += [os.fsdecode(self.layout.path)] if isinstance(self.layout, FileLayout) else []
        return found + ([] if self.outcomes is None else list(OutcomesFile.own_files(self.outcomes)))

    @property
    def files(self) -> Mapping[str, str | os.PathLike[str]]:
        """The paths of the job's files, by option. If two options specify the same file, the first option is invalid."""
        further = {"outcomes": self.outcomes, "rejects": self.rejects, "layout": self.layout}
        return {
            **self.databases,
            **{name: path for name, path in further.items() if isinstance(path, str | os.PathLike)},
        }

    def problems(self) -> Iterator[InvalidInput]:
        """Yields an error for each invalid option."""
        number: object = self.concurrency
        if number != "auto" and not (isinstance(number, int) and number >= 1):
            yield invalid("concurrency", 'must be "auto" or a number of at least 1')
        if self.max_reject_share is not None and not 0 <= self.max_reject_share <= 1:
            yield invalid("max_reject_share", "must be a number from 0 to 1")
        files = self.files
        at_addresses = [name for name, path in files.items() if name != "layout" and is_address(os.fsdecode(path))]
        for name in at_addresses:
            yield invalid(name, ONLY_HERE)
        if inspect.iscoroutinefunction(self.on_progress):
            yield invalid("on_progress", "is called, not awaited: pass a plain function")
        seconds = self.flush_after_seconds
        if seconds is not None and seconds is not UNSET and not 0 < seconds < math.inf:
            yield invalid("flush_after_seconds", "must be a number above 0, or None")
        if self.key is not None and self.outcomes is None:
            yield invalid("key", "needs outcomes=…, the file to which keys are written")
        if self.outcomes is not None and "outcomes" not in at_addresses and ending_of(self.outcomes) not in FORMATS:
            path = Path(self.outcomes)
            if path.is_dir() or not is_written_through(path):  # a device or a pipe gets CSV
                yield invalid("outcomes", f"must end in one of {', '.join(FORMATS)}")
        yield from self._clashes(files)

    def _clashes(self, files: Mapping[str, str | os.PathLike[str]]) -> Iterator[InvalidInput]:
        if self.outcomes is not None and self.dry_run and Path(self.outcomes).is_file():
            why = "is a file that a dry run does not replace: choose another path, or omit the option"
            yield invalid("outcomes", why)
        for (name, path), (other, second) in combinations(files.items(), 2):
            yield from same_files(name, path, {f"{FILES[other]}, too": second})
        for (name, path), (other, second) in permutations(files.items(), 2):
            if other in ("outcomes", "rejects"):
                yield from same_files(name, path, {f"the temporary path of {FILES[other]}": part_of(second)})


class OutcomeKeywords(TypedDict, total=False):
    """The options for reporting the outcome of each row, which all jobs accept. All are optional."""

    outcomes: str | os.PathLike[str] | None
    """File with a line for each row, `row,key,outcome,reason`: .csv, .jsonl or .parquet. It appears
    under this name when the job ends, and each run replaces it.
    """
    key: str | int | None
    """The name or number of the column whose values identify the rows in `outcomes`. The values are
    written unchanged, so they should not identify a person by themselves.
    """
    on_settled: OnSettled | None
    """Function or coroutine function that is called with the largest n such that the rows 1 to n
    have their outcome, so that a consumer can commit its offset. The job stops if it raises.
    """


def same_files(name: str, file: object, others: Mapping[str, object]) -> Iterator[InvalidInput]:
    """Yields an error for each path in `others` that leads to the same file. The keys describe the paths."""
    for role, path in others.items():
        if isinstance(file, str | os.PathLike) and same_file(file, path):
            yield invalid(name, f"is {role} ({os.fsdecode(file)}); choose another path")


def bulk_options(config: Config, call: CallOptions) -> CallOptions:
    """Returns the caller's options with the waits and retries of jobs."""
    policy = RetryPolicy(
        max_attempts=MIN_ATTEMPTS,
        max_wait_seconds=config.bulk_max_wait_seconds,
        max_elapsed_seconds=config.max_elapsed_seconds,
    )
    return attrs.evolve(call, policy=policy, bulk=True)


class LimitExceeded(InvalidInput):
    """More rows would be rejected, removed or deleted than the options of the job allow."""


def log_groups(noun: str, report: UploadReport) -> None:
    """Logs the number of rejected rows and of warnings for each reason, with the first row numbers.

    The reasons are not logged, only reported: they may quote the service, which may quote a value.
    """
    for groups, what in ((report.reject_groups, "rejected"), (report.warning_groups, "warned about")):
        for group in groups:
            rows = ", ".join(str(each.row) for each in group.first if each.row)
            LOGGER.info("%s: %s %s for the same reason (rows %s)", noun, f"{group.count:,}", what, rows or "none")


B = TypeVar("B", bound=Sendable)
P = TypeVar("P", bound=UploadReport)
C = TypeVar("C", bound=Sized)

CHECKED_FROM_ROWS: Final = 10_000
"""The share of rejected rows is checked once this many rows are read, or else at the end."""
FILE_ERRORS: Final = (InvalidInput, ConfigurationError)
"""The errors that stop a job when one of its files can no longer be written."""


@attrs.frozen(kw_only=True)
class JobDescription(FrozenRecord):
    """The names of a job, the properties that identify it, and the rules for its share of rejected rows."""

    noun: str = "upload"
    """The name of the job in messages."""
    kind: str = ""
    """The name of the job in its journal; empty if the job never has one."""
    telemetry_kind: str = "upload"
    """The name of the job in spans and metrics."""
    target: Target[Any]
    source: object = attrs.field(repr=False)
    """The input, as the caller passed it."""
    settings: Mapping[str, Setting] = {}
    """All settings that affect the requests, for the journal. They contain no personal data."""
    checks_whole_input: bool = False
    """Whether the share of rejected rows is checked only once all rows are read."""
    part_of: UploadReport | None = None
    """The counts of the larger job that contains this one. The share of rejected rows is computed from them."""
    keeps_files_open: bool = False
    """Whether the caller closes the rejects file and the ledger, because more rows are settled after this job."""
    refuses_key: Callable[[str], bool] | None = None
    """Returns whether a key must not be written to a file. None if every key may be written."""


class Stage(Protocol[C, B, P]):
    """The part of a job that processes the rows after they are read. A subclass defines what it needs.

    `open` is called first and `aclose` last, even after an error. In between, `take` is called with
    each block and `flush` after the last one; `finish` follows if nothing has stopped the job. The
    dispatcher calls `settle` with each batch that the stage submits.
    """

    async def open(self, run: "JobRun[C, B, P]") -> None:
        """Prepares the stage before anything is read."""
        return

    async def take(self, block: C) -> None:
        """Checks the rows of a block, and puts the valid ones into batches."""

    @property
    def first_waiting(self) -> int | None:
        """The number of the first row in an incomplete batch; None if no row is waiting."""
        return None

    async def flush(self) -> None:
        """Submits the incomplete batches once all rows are read or a row has waited long enough."""

    async def settle(self, batch: B) -> None:
        """Sends the batch until every row has its outcome. Raises the error that stops the job."""
        return

    async def finish(self) -> None:
        """Does the work that remains after the last row is settled. Not called if the job has stopped."""
        return

    async def aclose(self) -> None:
        """Closes what `open` has opened. Called even if `open` has failed."""
        return

    def report(self, elapsed_seconds: float) -> P:
        """Returns the report with the current counts."""


def prepare_input(session: Session, reader: Reader[Any], description: JobDescription, options: JobOptions) -> None:
    """Checks a job before it starts, and excludes the job's own files from its input.

    Raises InvalidInput if the journal would overwrite the input, or if `flush_after_seconds` is
    given for an input that does not support it. Raises ConfigurationError if the host or the
    credentials are missing, so that the user sees the error before any row is read.
    """
    if reader.why_not_flushed is not None and options.flush_after_seconds not in (UNSET, None):
        raise invalid("flush_after_seconds", f"is for async iterables: {reader.why_not_flushed}")
    if not options.dry_run:
        route = description.target.route
        session.plan(route)
        session.authenticators.choose(route.family)
    if reader.paths:
        reader.leave_out(options.own_files)
    for path in (description.source, *reader.paths) if options.journal is not None else ():
        Faults(same_files("journal", options.journal_path, {"the input itself": path})).refuse()


def run_job(
    reader: Reader[C],
    stage: Stage[C, B, P],
    counters: RowCounters,
    description: JobDescription,
    options: JobOptions,
    session: Session,
) -> Coroutine[Any, Any, P]:
    """Returns a coroutine that runs the job. It raises InvalidInput if no row could be read, and BulkError if the job
    stops later.
    """
    log_if_disabled()
    run = JobRun(reader, stage, counters, description, options, session)
    if session.telemetry is None:
        return run.run()
    return session.telemetry.job(description.telemetry_kind, run.run(), run.counts)


class TimedReading(Generic[C]):
    """A reader of a job's blocks that limits how long rows wait. `is_due` is true if the rows read so far must be sent
    now.

    A row waits in the reader until its block is complete, and then in the open batch of the stage. Once the first row
    has waited for `seconds` and another request may start, the reader returns the rows that it has collected. Until
    then, more rows can join.
    """

    def __init__(self, reader: Reader[C], dispatcher: Dispatcher[Any], clock: Clock, seconds: float) -> None:
        self._reader = reader
        self._dispatcher = dispatcher
        self._clock = clock
        self._seconds = seconds
        self._reader_since: float | None = None
        """The arrival time of the first row that waits in the reader."""
        self._block_since: float | None = None
        self._batch_since: float | None = None
        """The arrival time of the first row of the open batch, or of an earlier row."""
        self._has_rows = asyncio.Event()
        """Set while rows are waiting in the reader."""
        self._fell_due = False
        self.is_due: bool = False
        reader.on_first_row = self._note_first_row

    async def read_block(self) -> C | None:
        """Returns the next block; None at the end, or if waiting rows are due and no new row has arrived."""
        is_rest = self._reader.has_block
        flush = asyncio.create_task(self._end_block_when_due(), name="socialapi flush")
        try:
            block = await self._reader.read_block()
            if not is_rest:
                self._block_since, self._reader_since = self._reader_since, None
                self._has_rows.clear()
        finally:
            flush.cancel()
            await asyncio.gather(flush, return_exceptions=True)
        self.is_due = self._fell_due and not self._reader.has_block
        self._fell_due = self._fell_due and not self.is_due
        return block

    def note_waiting(self, first_number: int, first_waiting: int | None) -> None:
        """Records the number of the first row in a block that the stage has taken, and of the first row in the stage's
        open batch (None if it is empty).
        """
        if first_waiting is None:
            self._batch_since = None
        elif first_waiting >= first_number:
            self._batch_since = self._block_since

    def _note_first_row(self) -> None:
        self._reader_since = self._clock.monotonic()
        self._has_rows.set()

    async def _end_block_when_due(self) -> None:
        first = self._batch_since
        if first is None:
            await self._has_rows.wait()
            first = self._reader_since
        assert first is not None
        await self._clock.sleep(max(0.0, first + self._seconds - self._clock.monotonic()))
        await self._dispatcher.until_room()
        self._fell_due = True
        self._reader.end_block()


class JobRun(Generic[C, B, P]):
    """One run of a job, which reads the input and passes it to the stage, and closes everything at
    the end.

    A stage uses the public attributes: it submits batches to `dispatcher`, has its sender call
    `observe` after every attempt, and checks `broken_input`.
    """

    def __init__(
        self,
        reader: Reader[C],
        stage: Stage[C, B, P],
        counters: RowCounters,
        description: JobDescription,
        options: JobOptions,
        session: Session,
    ) -> None:
        self._reader = reader
        self._stage = stage
        self._counters = counters
        self._description = description
        self._options = options
        self._session = session
        self._started = session.clock.monotonic()
        rate_limit = description.target.route.rate_limit
        self._limit_key = (description.target.limit_key(rate_limit), rate_limit)
        self._on_progress = options.on_progress
        self._pace = Pace(session.clock, self._seconds_until)
        self._note: str | None = None
        self.is_reading: bool = True
        fixed = None if options.concurrency == "auto" else options.concurrency
        self._concurrency = Concurrency(fixed, most=session.config.max_concurrency)
        settle = stage.settle if session.telemetry is None else self._settle_in_span
        self.dispatcher: Dispatcher[B] = Dispatcher(
            settle,
            self._limit,
            budget=session.packed_budget if options.is_packed else session.budget,
            on_settled=self._check_counts,
        )
        seconds = options.flush_after_seconds
        if seconds is UNSET:
            waits = reader.why_not_flushed is not None or options.journal is not None or description.checks_whole_input
            seconds = None if waits else FLUSH_AFTER_SECONDS
        self._timed = None if seconds is None else TimedReading(reader, self.dispatcher, session.clock, seconds)
        """Reads the blocks if rows may wait only for a limited time; otherwise None."""
        self._counted: Mapping[str, int] = {}
        """The number of rows already reported to the telemetry, by outcome."""
        self.broken_input: Exception | None = None
        """The error that ended the reading early, or None."""
        self._settled_calls: SettledCalls | None = None
        self.journal: Journal | None = None
        self.opened: Opened | None = None
        counters.file_row_of = reader.file_row_of

    def observe(self, attempt: Attempt) -> None:
        """Counts an attempt, and adjusts the number of requests in flight based on its result."""
        self._counters.attempted(attempt)
        self._note = None
        if attempt.failure is None:
            self._concurrency.succeeded(attempt.seconds)
        elif attempt.failure.executed != "yes":
            self._concurrency.failed(self._session.clock.monotonic())
            self._note = f"retrying after: {attempt.failure.summary}"
            self.show()

    def show(self) -> None:
        """Passes the progress to `on_progress`, if it was given."""
        if self._on_progress is None:
            return
        progress = self._pace.progress(
            self._report(),
            fraction_read=self._reader.fraction_read,
            total=self._reader.total_rows,
            in_flight=self.dispatcher.in_flight,
            note=self._note,
        )
        try:
            self._on_progress(progress)
        except Exception as problem:  # noqa: BLE001  # raised at the end of the job, not here
            self._on_progress = None
            self.dispatcher.stop(problem)

    def check_reject_share(self, *, at_end: bool = False) -> None:
        """Stops the job if the share of rejected rows is larger than allowed."""
        most, part_of = self._options.max_reject_share, self._description.part_of
        if most is None or (self.is_reading and self._description.checks_whole_input):
            return
        read, rejected = self._counters.read, self._counters.rejected
        if part_of is not None:
            read, rejected = part_of.read, part_of.rejected + rejected
        if not rejected or not (at_end or read >= CHECKED_FROM_ROWS) or rejected / read <= most:
            return
        self.dispatcher.stop(
            LimitExceeded(
                f"{rejected:,} of {read:,} rows were rejected, which is {rejected / read:.1%}, but at most "
                f"{most:.1%} may be (max_reject_share={most:g})"
            )
        )

    async def run(self) -> P:
        """Runs the job and returns its report; raises the same errors as `run_job`."""
        state: State = "stopped"
        try:
            if self._options.rejects is not None:
                # Opened before the journal, so that the journal records no run if the path cannot be written.
                self._counters.rejects_file = RejectsFile(
                    self._options.rejects, sources=self._sources, keeps_earlier=self._is_continued
                )
            self._open_ledger()
            if self._options.journal is not None and not self._options.dry_run:
                await self._open_journal(self._options.journal)
            await self._stage.open(self)
            await self._read()
            await self._send_rest()
            state = "finished"
        except asyncio.CancelledError:
            state = "interrupted"
            raise
        finally:
            await self._close(state)
            self._count_rows()
            self.show()
        report = self._report()
        problem = self.dispatcher.failure or self.broken_input
        if self._description.part_of is None and not self._description.keeps_files_open:
            log_groups(self._description.noun, report)
        ledger, counts = self._counters.ledger, {**self._counters.outcomes(), "pending": self._counters.pending}
        adds_up = report.adds_up and (
            ledger is None or self._description.keeps_files_open or ledger.agrees_with(counts)
        )
        if not adds_up or (problem is None and report.pending and not self._options.dry_run):
            raise RuntimeError(
                f"the rows of the job do not add up, which is a bug in this package: {report}"
            ) from problem
        if problem is None:
            return report
        if isinstance(problem, InvalidInput) and not report.read:
            raise problem
        what = "the input broke off" if problem is self.broken_input else f"the {self._description.noun} stopped"
        raise BulkError(f"{what}: {explained(problem)}", report) from problem

    @property
    def _is_continued(self) -> bool:
        """Whether the next run continues after the rows of this run, as a consumer that commits offsets does."""
        source, options = self._description.source, self._options
        is_read_once = isinstance(source, AsyncIterable | Iterator) and not self._description.keeps_files_open
        return is_read_once and options.on_settled is not None and options.journal is None

    @property
    def _sources(self) -> Sequence[object]:
        return (self._description.source, *self._reader.paths)

    def _open_ledger(self) -> None:
        options, counters = self._options, self._counters
        if options.outcomes is None and options.on_settled is None:
            return
        file = None
        if options.outcomes is not None:
            file = OutcomesFile(options.outcomes, sources=self._sources, keeps_earlier=self._is_continued)
        counters.ledger = Ledger(file, self._reader.file_row_of, options.key, self._description.refuses_key)
        counters.on_settle = counters.ledger.settle
        if not (options.on_settled is None or options.dry_run or self._description.keeps_files_open):
            self._settled_calls = SettledCalls(options.on_settled, counters.ledger, self.dispatcher.stop)

    async def _read(self) -> None:
        """Reads until the end of the input, or until the job stops, and closes the reader."""
        try:
            await yield_if_due()
            while self.dispatcher.failure is None:
                try:
                    # An input, such as a pipe, may send nothing for a long time, and the job must
                    # still be able to stop.
                    block = await self.dispatcher.unless_stopped((self._timed or self._reader).read_block())
                except Exception as problem:  # noqa: BLE001  # any error of a user's iterable ends the reading
                    self.broken_input = problem
                    return
                if block is None and not (self._timed and self._timed.is_due):
                    if not self._counters.read:
                        says = self._reader.why_empty or "the input has no rows"
                        if (reason := self._options.why_not_empty) is not None:
                            self.broken_input = InvalidInput(f"{says}: {reason}")
                        elif not self._options.allow_empty:
                            self.broken_input = NoRows(says)
                    return
                try:
                    await self._take(block)
                except FILE_ERRORS as problem:
                    self.dispatcher.stop(problem)
                self._check_counts()
                await yield_to_others()  # reading a plain iterable never waits, so other tasks would not run
        finally:
            try:
                await self._reader.aclose()
            except Exception as problem:  # noqa: BLE001  # closing a user's generator may also fail
                self.broken_input = self.broken_input or problem

    async def _take(self, block: C | None) -> None:
        """Passes a block to the stage, if there is one, and sends the waiting rows if they are due."""
        read = self._counters.read
        if block is not None:
            if self._counters.ledger is not None:
                self._counters.warn(self._counters.ledger.enter(cast("Block[Any]", block)))
            self._counters.take_in(len(block))
            if not read:
                self.show()  # shows how columns are read, before anything is sent
            await yield_to_others()  # the reading threads of other jobs may have finished at the same time
            await self._stage.take(block)
        if self._timed is not None:
            if self._timed.is_due:
                await self._stage.flush()
            self._timed.note_waiting(read + 1, self._stage.first_waiting)

    def _check_counts(self) -> None:
        """Checks and reports the counts after a block is read or a batch is settled."""
        self.check_reject_share()
        if self._settled_calls is not None:
            self._settled_calls.start()
        self._count_rows()
        self.show()

    def _count_rows(self) -> None:
        """Reports to the telemetry how many rows got their outcome since the last call. In a dry run, most rows get
        none.
        """
        if self._session.telemetry is None or self._options.dry_run:
            return
        counts, before = self._counters.outcomes(), self._counted
        self._counted = counts
        new = {outcome: rows - before.get(outcome, 0) for outcome, rows in counts.items()}
        self._session.telemetry.count_rows(self._description.telemetry_kind, new)

    async def _settle_in_span(self, batch: B) -> None:
        assert self._session.telemetry is not None
        # Read before the batch is settled, because it has no rows afterwards.
        number, rows, size_bytes = batch.number, batch.row_count, batch.size_bytes
        settling = self._stage.settle(batch)
        await self._session.telemetry.batch(settling, number=number, rows=rows, size_bytes=size_bytes)

    def counts(self) -> Mapping[str, int]:
        """Returns the current counts of the report."""
        return self._report().counts

    async def _send_rest(self) -> None:
        self.is_reading = False
        try:
            await self._stage.flush()
            await self.dispatcher.drain()
            if self.broken_input is None:
                self.check_reject_share(at_end=True)
            if self.dispatcher.failure is None and self.broken_input is None:
                await self._stage.finish()
        except FILE_ERRORS as problem:
            self.dispatcher.stop(problem)
        await self.dispatcher.drain()

    async def _open_journal(self, given: str | os.PathLike[str] | Journal) -> None:
        description = self._description
        route = description.target.route
        where = {"host": self._session.config.host(route.family.host), "path": route.path}
        identity = JobIdentity(
            kind=description.kind,
            target=where | {name: str(value) for name, value in description.target.path_parameters.items()},
            source=await fingerprint(description.source, self._reader),
            settings=description.settings,
        )
        if isinstance(given, str | os.PathLike):
            from socialapi.bulk.journals.sqlite_journal import SqliteJournal  # most jobs need no database

            given = SqliteJournal(given)
        self.opened = await given.open(identity, self._session.now())
        self.journal = given

    def _limit(self) -> int:
        return self._concurrency.limit(self._session.pacer.requests_per_second(*self._limit_key))

    def _seconds_until(self, requests: int) -> float:
        return seconds_until(self._session.pacer, *self._limit_key, requests)

    async def _close(self, state: State) -> None:
        """Cancels the batches in flight, closes the rejects file, the ledger, the stage and the journal, and records in
        the journal how the run ended. Raises the error if a file cannot be written.
        """
        # Closes everything in reverse order, even if a step fails or is cancelled.
        async with contextlib.AsyncExitStack() as closing:
            if self.journal is not None:
                closing.push_async_callback(self._close_journal, self.journal, state)
            closing.push_async_callback(self._stage.aclose)
            if not self._description.keeps_files_open:
                closing.push_async_callback(self._close_files, state)
            if self._settled_calls is not None:
                closing.push_async_callback(self._settled_calls.aclose)
            # After an error or a cancellation, batches may still be in flight: their rows stay pending.
            await self.dispatcher.cancel()

    async def _close_files(self, state: State) -> None:
        rejects_file, ledger = self._counters.rejects_file, self._counters.ledger
        try:
            try:
                if rejects_file is not None:
                    rejects_file.close()
            finally:
                if ledger is not None:
                    await ledger.close(is_finished=state == "finished" and not self._has_failed)
        except InvalidInput as problem:
            self.dispatcher.stop(problem)

    @property
    def _has_failed(self) -> bool:
        return self.dispatcher.failure is not None or self.broken_input is not None

    async def _close_journal(self, journal: Journal, state: State) -> None:
        try:
            await journal.finish("stopped" if self._has_failed else state, self._report().counts)
        except FILE_ERRORS as problem:
            self.dispatcher.stop(problem)
        finally:
            await journal.aclose()

    def _report(self) -> P:
        return self._stage.report(self._session.clock.monotonic() - self._started)
