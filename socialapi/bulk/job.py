"""Runs bulk jobs, which are composed of a reader, a stage and counters; and the options of every
job.
"""

import asyncio
import functools
import inspect
import math
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, Final, Generic, Literal, Protocol, Self, TypedDict, TypeVar, cast

import attrs

from socialapi.bulk.counters import RowCounters
from socialapi.bulk.dispatcher import Concurrency, Dispatcher, Sendable
from socialapi.bulk.inputs.addresses import is_address
from socialapi.bulk.inputs.layouts import OPTIONS, FileLayout, with_layout
from socialapi.bulk.inputs.reader import Block, NoRows, Reader, TableForm
from socialapi.bulk.journals.journal import JobIdentity, Journal, Opened, Setting, State, fingerprint
from socialapi.bulk.ledger import Ledger
from socialapi.bulk.outcomes import ENDINGS, OutcomesFile, ending_of
from socialapi.bulk.output_file import part_of, same_file
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.settled import OnSettled, SettledCalls
from socialapi.bulk.timed_reading import TimedReading
from socialapi.config import Config
from socialapi.errors import BulkError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.internal.fairness import yield_if_due, yield_to_others
from socialapi.internal.file_lock import SUFFIX
from socialapi.internal.records import FrozenRecord
from socialapi.internal.unset import UNSET, Unset
from socialapi.models.validation import Faults, invalid
from socialapi.reports import Progress, UploadReport
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.retry import Attempt, RetryPolicy

OnProgress = Callable[[Progress], None]

MIN_ATTEMPTS: Final = 12
FLUSH_AFTER_SECONDS: Final = 5


@attrs.frozen(kw_only=True)
class JobOptions(FrozenRecord):
    """The options of every job, validated before the job opens anything."""

    concurrency: int | Literal["auto"] = "auto"
    journal: str | os.PathLike[str] | Journal | None = None
    rejects: str | os.PathLike[str] | None = None
    key: str | int | None = None
    """The column, or its number, whose values name the rows in the outcomes file."""
    outcomes: str | os.PathLike[str] | None = None
    on_settled: OnSettled | None = None
    """Called with the largest n such that the rows 1 to n have their outcomes."""
    dry_run: bool = False
    on_progress: OnProgress | None = None
    max_reject_share: float | None = None
    """Largest share of the rows read that may be rejected."""
    allow_empty: bool = True
    """Whether an input without rows gives an empty report, rather than InvalidInput."""
    header: bool = True
    header_line: int | None = None
    flush_after_seconds: float | Unset | None = UNSET
    """How long a row waits for further ones; None for as long as it takes."""
    layout: str | os.PathLike[str] | FileLayout | None = None
    """The file of a layout; what it says, in the options of a job that runs."""

    def laid_out(self, selection: Any) -> Self:
        """Returns the options with what their layout says; `selection` is one without given columns."""
        names = attrs.fields_dict(type(self)).keys() & {*OPTIONS, "layout"}
        return attrs.evolve(self, **with_layout({name: getattr(self, name) for name in names}, selection))

    @property
    def form(self) -> TableForm:
        """Where a CSV or TSV file names its columns. A job that deletes does not guess."""
        return TableForm.of(
            header=self.header,
            header_line=self.header_line,
            layout=self.layout,
            guesses=self.why_not_empty is None,
        )

    @property
    def form_settings(self) -> Mapping[str, Setting]:
        """The settings of the names of columns for a journal; empty if they are as in earlier versions."""
        is_default = self.header and self.header_line is None
        return {} if is_default else {"header": self.header, "header_line": self.header_line}

    @property
    def why_not_empty(self) -> str | None:
        """The reason why the job always refuses an input without rows; None if it may accept one."""
        return None

    @property
    def journal_path(self) -> str | os.PathLike[str] | None:
        """The path of the journal, if it is a file."""
        given = getattr(self.journal, "path", None) if isinstance(self.journal, Journal) else self.journal
        return given if isinstance(given, str | os.PathLike) else None

    @property
    def databases(self) -> Sequence[str | os.PathLike[str]]:
        """The SQLite files that the job writes."""
        return [] if self.journal_path is None else [self.journal_path]

    @property
    def own_files(self) -> Sequence[str | os.PathLike[str]]:
        """The files that such a job writes, and its layout: an export in the place of the rejects file is none of
        them.
        """
        found = [os.fsdecode(path) + ending for path in self.databases for ending in ("", "-wal", "-shm", SUFFIX)]
        found += [] if self.rejects is None else RejectsFile.own_files(self.rejects)
        found += [os.fsdecode(self.layout.path)] if isinstance(self.layout, FileLayout) else []
        return found + ([] if self.outcomes is None else list(OutcomesFile.own_files(self.outcomes)))

    @property
    def outputs(self) -> Mapping[str, object]:
        """The files with lines for rows, and those that they are until the job ends, by what they are."""
        files = {"the rejects file, too": self.rejects, "the outcomes file, too": self.outcomes}
        parts = {
            f"what {role.removesuffix(', too')} is written to": part_of(path)
            for role, path in files.items()
            if isinstance(path, str | os.PathLike)
        }
        return files | parts

    def problems(self) -> Iterator[InvalidInput]:
        """Yields what is wrong with each option that makes no sense."""
        number = isinstance(self.concurrency, int) and not isinstance(self.concurrency, bool)
        if self.concurrency != "auto" and not (number and int(self.concurrency) >= 1):
            yield invalid("concurrency", 'must be "auto" or a number of at least 1')
        share = self.max_reject_share
        if share is not None and (isinstance(share, bool) or not 0 <= share <= 1):
            yield invalid("max_reject_share", "must be a number from 0 to 1")
        for name in ("journal", "rejects", "outcomes", "snapshot", "digests"):
            path = getattr(self, name, None)
            if isinstance(path, str) and is_address(path):
                yield invalid(name, "is a file of this machine, not one at an address")
        if inspect.iscoroutinefunction(self.on_progress):
            yield invalid("on_progress", "is called, not awaited: give a plain function")
        if self.journal is not None and not isinstance(self.journal, str | os.PathLike | Journal):
            yield invalid("journal", "must be a path, or an object with the methods of Journal")
        seconds = self.flush_after_seconds
        if seconds is not None and seconds is not UNSET and not 0 < seconds < math.inf:
            yield invalid("flush_after_seconds", "must be a number above 0, or None")
        for name, path in (("journal", self.journal_path), ("rejects", self.rejects), ("outcomes", self.outcomes)):
            yield from same_files(name, path, {"the layout, too": self.layout})
        yield from same_files("journal", self.journal_path, self.outputs)
        yield from self._problems_of_outcomes()

    def _problems_of_outcomes(self) -> Iterator[InvalidInput]:
        if self.key is not None and self.outcomes is None:
            yield invalid("key", "needs outcomes, the file that it is written to")
        if self.outcomes is not None and not _is_outcomes(self.outcomes):
            yield invalid("outcomes", f"must end in one of {', '.join(ENDINGS)}")
        rejects = {role: path for role, path in self.outputs.items() if "rejects" in role}
        yield from same_files("outcomes", self.outcomes, rejects)
        if self.outcomes is not None:
            yield from same_files(
                "rejects", self.rejects, {"what the outcomes file is written to": part_of(self.outcomes)}
            )


class OutcomeKeywords(TypedDict, total=False):
    """The options of every job that tell what became of each row. All are optional."""

    outcomes: str | os.PathLike[str] | None
    """File with a line for each row, `row,key,outcome,reason`: .csv, .jsonl or .parquet. It takes its name when
    the job ends, and each run writes it anew.
    """
    key: str | int | None
    """The column, or its number, that names each row in `outcomes`. It is written as it is, so it should identify
    nobody by itself.
    """
    on_settled: OnSettled | None
    """Function or coroutine function that is called with the largest n such that the rows 1 to n have their
    outcome, so that a consumer can commit its offset. What it raises stops the job.
    """


def same_files(name: str, file: object, others: Mapping[str, object]) -> Iterator[InvalidInput]:
    """Yields an error for each of the others, by what they are, that is the same file."""
    for role, path in others.items():
        if isinstance(file, str | os.PathLike) and same_file(file, path):
            yield invalid(name, f"is {role} ({os.fsdecode(file)}); choose another path")


def _is_outcomes(path: str | os.PathLike[str]) -> bool:
    """Returns whether the name of an outcomes file says its format, or it is a device or pipe, which takes CSV."""
    is_device = Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir()
    return is_device or ending_of(path) in ENDINGS


def bulk_options(config: Config, call: CallOptions) -> CallOptions:
    """Returns the options of the calls of a job, which waits and retries by its own rules: only the
    timeout of an attempt and the headers are taken from the caller's.
    """
    policy = RetryPolicy(
        max_attempts=MIN_ATTEMPTS,
        max_wait_seconds=config.bulk_max_wait_seconds,
        max_elapsed_seconds=config.max_elapsed_seconds,
    )
    return attrs.evolve(call, policy=policy, bulk=True)


B = TypeVar("B", bound=Sendable)
P = TypeVar("P", bound=UploadReport)
C = TypeVar("C", bound=Sized)

JUDGED_FROM_ROWS: Final = 10_000
"""Rows read before the share of rejected ones is judged; of fewer it is at the end."""
OURS: Final = (InvalidInput, ConfigurationError)
"""What is said of files that cannot be written any more."""


@attrs.frozen(kw_only=True)
class JobDescription(FrozenRecord):
    """What a job is called, what identifies it, and how its rejected rows are judged."""

    noun: str = "upload"
    """What it is called when it stops."""
    kind: str = ""
    """What it is called in a journal; empty for one that keeps none."""
    telemetry_kind: str = "upload"
    """What it is called in spans and metrics."""
    target: Target[Any]
    source: object = attrs.field(repr=False)
    """The input as it was given."""
    settings: Mapping[str, Setting] = {}
    """For the journal, everything that changes what is sent; no personal value."""
    judges_whole_input: bool = False
    """Whether the share of rejected rows is judged only once everything is read."""
    part_of: UploadReport | None = None
    """The counts of a job of which this one uploads a part: the share is one of all of its rows."""
    keeps_files_open: bool = False
    """Whether the caller closes the files for rows, because more of them are settled later."""
    refuses_key: Callable[[str], bool] | None = None
    """Whether a key must not be written."""


class Stage(Protocol[C, B, P]):
    """What a job does with the rows that are read.

    `open` comes first and `aclose` last, whatever happens. In between each block is taken, what is
    left is flushed, and the job is finished if nothing has stopped it. The dispatcher calls
    `settle` with each batch that the stage submits to it.
    """

    async def open(self, run: "JobRun[C, B, P]") -> None:
        """Starts the work, before anything is read."""

    async def take(self, block: C) -> None:
        """Checks the rows of a block, and puts those that can be sent into batches."""

    @property
    def first_waiting(self) -> int | None:
        """The number of the first row that waits in a batch for further ones; None if none does."""

    async def flush(self) -> None:
        """Submits what is left in batches, once everything is read or a row has waited long enough."""

    async def settle(self, batch: B) -> None:
        """Gives every row of the batch its outcome. Raises what stops the job."""

    async def finish(self) -> None:
        """Does what comes after the last row was settled, if nothing has stopped the job."""

    async def aclose(self) -> None:
        """Closes what `open` has opened. Called even if that has failed."""

    def report(self, elapsed_seconds: float) -> P:
        """Returns the counts as they stand."""


def prepare_input(session: Session, reader: Reader[Any], description: JobDescription, options: JobOptions) -> None:
    """Keeps the files of the job out of its input.

    Raises InvalidInput if the journal would overwrite the input or the input cannot be flushed,
    ConfigurationError if the host or the credentials are missing, which is better said now than
    after a batch was read.
    """
    if options.flush_after_seconds and reader.why_not_flushed is not None:
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
    """Reads the input, has the stage send it, and closes everything. To be awaited for the report.

    Raises InvalidInput when nothing of the input could be read, BulkError when the job stopped on
    the way.
    """
    run = JobRun(reader, stage, counters, description, options, session)
    if session.telemetry is None:
        return run.run()
    return session.telemetry.job(description.telemetry_kind, run.run(), run.counts)


class JobRun(Generic[C, B, P]):
    """A run of a job: it reads the input, and stops, cancels and closes everything.

    A stage uses the public attributes: it submits batches to the dispatcher, has its sender call
    `observe` after every attempt, and asks whether the input has broken off.
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
        self._on_progress = options.on_progress
        self._note: str | None = None
        self.is_reading = True
        fixed = None if options.concurrency == "auto" else options.concurrency
        self._concurrency = Concurrency(fixed, most=session.config.max_concurrency)
        settle = stage.settle if session.telemetry is None else self._settle_in_span
        self.dispatcher: Dispatcher[B] = Dispatcher(
            settle, self._limit, budget=session.budget, on_settled=self._look_again
        )
        seconds = options.flush_after_seconds
        if seconds is UNSET:
            waits = reader.why_not_flushed is not None or options.journal is not None or description.judges_whole_input
            seconds = None if waits else FLUSH_AFTER_SECONDS
        self._reading = TimedReading(reader, self.dispatcher, session.clock, seconds)
        self._counted: Mapping[str, int] = {}
        """The rows that the telemetry knows of, by their outcome."""
        # A dry run gives most rows no outcome.
        telemetry = () if session.telemetry is None or options.dry_run else (self._count_rows,)
        self._reporting: Sequence[Callable[[], None]] = (
            *telemetry,
            *(() if options.on_progress is None else (self.show,)),
        )
        """What tells others about the counts, if anybody listens."""
        self.broken_input: Exception | None = None
        """Why reading the input has ended early, if it has."""
        self._settled_calls: SettledCalls | None = None
        self.journal: Journal | None = None
        self.opened: Opened | None = None
        counters.file_row_of = reader.file_row_of

    def observe(self, attempt: Attempt) -> None:
        """Counts an attempt, and lets it decide about the requests in flight."""
        self._counters.attempted(attempt)
        self._note = None
        if attempt.failure is None:
            self._concurrency.succeeded(attempt.seconds)
        elif attempt.failure.executed != "yes":
            self._concurrency.failed(self._session.clock.monotonic())
            self._note = f"repeating after: {attempt.failure.summary}"
            self.show()

    def show(self) -> None:
        """Shows the progress."""
        if self._on_progress is None:
            return
        progress = Progress(
            report=self._report(),
            fraction_read=self._reader.fraction_read,
            in_flight=self.dispatcher.in_flight,
            note=self._note,
        )
        try:
            self._on_progress(progress)
        except Exception as problem:  # noqa: BLE001  # raised at the end of the job, wherever it came up
            self._on_progress = None
            self.dispatcher.stop(problem)

    def judge_rejects(self, *, at_end: bool = False) -> None:
        """Stops the job if a larger share of the rows is rejected than allowed."""
        most, part_of = self._options.max_reject_share, self._description.part_of
        if most is None or (self.is_reading and self._description.judges_whole_input):
            return
        read, rejected = self._counters.read, self._counters.rejected
        if part_of is not None:
            read, rejected = part_of.read, part_of.rejected + rejected
        if not rejected or not (at_end or read >= JUDGED_FROM_ROWS) or rejected / read <= most:
            return
        self.dispatcher.stop(
            InvalidInput(
                f"{rejected:,} of {read:,} rows were rejected, which is {rejected / read:.1%}, and {most:.1%} may be "
                "(max_reject_share, --max-reject-share)"
            )
        )

    async def run(self) -> P:
        """Does the same as `run_job`."""
        state: State = "stopped"
        try:
            if self._options.rejects is not None:
                # Before the journal, so that a path that cannot be written does not count as a run of
                # the job.
                self._counters.rejects_file = RejectsFile(self._options.rejects, sources=self._sources)
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
            # After an error of ours, or cancelled: what is on its way is ended, and its rows stay
            # pending.
            # Cancelling twice still closes the files.
            try:
                await self.dispatcher.cancel()
            finally:
                await self._close(state)
            for report in self._reporting:
                report()
        return self._report_or_raise()

    @property
    def _sources(self) -> Sequence[object]:
        return (self._description.source, *self._reader.paths)

    def _open_ledger(self) -> None:
        """Opens the outcomes file, and what needs to know the outcome of each row."""
        options, counters = self._options, self._counters
        if options.outcomes is None and options.on_settled is None:
            return
        file = None if options.outcomes is None else OutcomesFile(options.outcomes, sources=self._sources)
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
                    # An input may be silent for as long as it likes, such as a pipe; the job ends
                    # nevertheless when it stops.
                    block = await self.dispatcher.unless_stopped(self._reading.read_block())
                except Exception as problem:  # noqa: BLE001  # whatever a user's iterable raises ends the reading
                    self.broken_input = problem
                    return
                if block is None and not self._reading.is_due:
                    if not self._counters.read:
                        self._refuse_nothing()
                    return
                try:
                    await self._take(block)
                except OURS as problem:
                    self.dispatcher.stop(problem)
                self._look_again()
                await yield_to_others()  # an iterable is read without ever waiting, and others go on
        finally:
            try:
                await self._reading.aclose()
            except Exception as problem:  # noqa: BLE001  # a user's generator may fail as it is closed, too
                self.broken_input = self.broken_input or problem

    async def _take(self, block: C | None) -> None:
        """Has the stage take a block, if there is one, and send what has come, if that is due."""
        read = self._counters.read
        if block is not None:
            if self._counters.ledger is not None:
                self._counters.warn(self._counters.ledger.enter(cast("Block[Any]", block)))
            self._counters.take_in(len(block))
            if not read:
                self.show()  # what is read as what is known now, and nothing was sent yet
            await yield_to_others()  # others were read to at the same time
            await self._stage.take(block)
        if self._reading.is_due:
            await self._stage.flush()
        self._reading.took(read + 1, self._stage.first_waiting)

    def _look_again(self) -> None:
        """Checks and reports the counts after a block is read or a batch is settled."""
        self.judge_rejects()
        if self._settled_calls is not None:
            self._settled_calls.look()
        for report in self._reporting:
            report()

    def _count_rows(self) -> None:
        """Reports to the telemetry the rows that got their outcome since the last call."""
        assert self._session.telemetry is not None
        counts, before = self._counters.outcomes(), self._counted
        self._counted = counts
        new = {outcome: rows - before.get(outcome, 0) for outcome, rows in counts.items()}
        self._session.telemetry.count_rows(self._description.telemetry_kind, new)

    async def _settle_in_span(self, batch: B) -> None:
        assert self._session.telemetry is not None
        # Settled, it has no rows any more.
        number, rows, size_bytes = batch.number, batch.row_count, batch.size_bytes
        settling = self._stage.settle(batch)
        await self._session.telemetry.batch(settling, number=number, rows=rows, size_bytes=size_bytes)

    def counts(self) -> Mapping[str, int]:
        """Returns the counts of the report as they stand."""
        return self._report().counts

    def _refuse_nothing(self) -> None:
        """Stops the job at the end of an input without rows, if rows are required."""
        says = self._reader.why_empty or "the input has no rows"
        if (reason := self._options.why_not_empty) is not None:
            self.broken_input = InvalidInput(f"{says}: {reason}")
        elif not self._options.allow_empty:
            self.broken_input = NoRows(says)

    async def _send_rest(self) -> None:
        """Sends what is left once everything is read."""
        self.is_reading = False
        try:
            await self._stage.flush()
            await self.dispatcher.drain()
            if self.broken_input is None:
                self.judge_rejects(at_end=True)
            if self.dispatcher.failure is None and self.broken_input is None:
                await self._stage.finish()
        except OURS as problem:
            self.dispatcher.stop(problem)
        await self.dispatcher.drain()

    async def _open_journal(self, given: str | os.PathLike[str] | Journal) -> None:
        description = self._description
        if not description.kind:
            raise InvalidInput(f"this {description.noun} keeps no journal")
        route = description.target.route
        where = {"host": self._session.config.host(route.family.host), "path": route.path}
        identity = JobIdentity(
            kind=description.kind,
            target=where | {name: str(value) for name, value in description.target.path_parameters.items()},
            source=await fingerprint(description.source, self._reader),
            settings=description.settings,
        )
        if isinstance(given, str | os.PathLike):
            from socialapi.bulk.journals.sqlite_journal import SqliteJournal  # jobs without a journal need no database

            given = SqliteJournal(given)
        self.opened = await given.open(identity, self._session.now())
        self.journal = given

    def _limit(self) -> int:
        target = self._description.target
        key = target.limit_key(target.route.rate_limit)
        return self._concurrency.limit(self._session.pacer.requests_per_second(key, target.route.rate_limit))

    async def _close(self, state: State) -> None:
        """Closes the files for rows, the stage, and the journal, where it records how the run ended. What
        cannot be written stops the job, even now.
        """
        try:
            if self._settled_calls is not None:
                await self._settled_calls.aclose()
        finally:
            try:
                if not self._description.keeps_files_open:
                    self._close_files(is_finished=state == "finished" and not self._has_failed)
            finally:
                try:
                    await self._stage.aclose()
                finally:
                    if self.journal is not None:
                        await self._close_journal(self.journal, state)

    def _close_files(self, *, is_finished: bool) -> None:
        counters = self._counters
        counts = {**counters.outcomes(), "pending": counters.pending}
        closings: list[Callable[[], None]] = []
        if counters.rejects_file is not None:
            closings.append(counters.rejects_file.close)
        if counters.ledger is not None:
            closings.append(functools.partial(counters.ledger.close, counts, is_finished=is_finished))
        for close in closings:
            try:
                close()
            except InvalidInput as problem:
                self.dispatcher.stop(problem)

    @property
    def _has_failed(self) -> bool:
        return self.dispatcher.failure is not None or self.broken_input is not None

    async def _close_journal(self, journal: Journal, state: State) -> None:
        try:
            await journal.finish("stopped" if self._has_failed else state, self._report().counts)
        except OURS as problem:
            self.dispatcher.stop(problem)
        finally:
            await journal.aclose()

    def _report(self) -> P:
        return self._stage.report(self._session.clock.monotonic() - self._started)

    def _report_or_raise(self) -> P:
        report = self._report()
        problem = self.dispatcher.failure or self.broken_input
        if not report.adds_up or (problem is None and report.pending and not self._options.dry_run):
            raise RuntimeError(f"the rows of the job do not add up, which is a bug of this package: {report}")
        if problem is None:
            return report
        if isinstance(problem, InvalidInput) and not report.read:
            raise problem
        what = "the input broke off" if problem is self.broken_input else f"the {self._description.noun} stopped"
        says = str(problem) if isinstance(problem, SocialApiError) else type(problem).__name__
        raise BulkError(f"{what}: {says}", report) from problem
