"""The base class of bulk jobs, and the options that all of them have."""

import abc
import asyncio
import datetime
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Literal, TypeVar

import attrs

from socialapi.bulk.counters import RowCounters
from socialapi.bulk.dispatcher import Concurrency, Dispatcher, Sendable
from socialapi.bulk.inputs.reader import Chunk, NoRows, Reader
from socialapi.bulk.journals.journal import JobIdentity, Journal, Opened, Setting, State, fingerprint
from socialapi.bulk.rejects import PLACE, RejectsFile, is_rejects_file, same_file
from socialapi.errors import BulkError, ConfigurationError, InvalidInput, SocialApiError
from socialapi.file_lock import SUFFIX
from socialapi.reports import Progress, UploadReport
from socialapi.routes.route import Target
from socialapi.session.session import Attempt, CallOptions, Session
from socialapi.wire.retry import RetryPolicy

OnProgress = Callable[[Progress], None]

MIN_ATTEMPTS: Final = 12


@attrs.frozen(kw_only=True)
class JobOptions:
    """The options of every job, validated before the job opens anything."""

    concurrency: int | Literal["auto"] = "auto"
    journal: str | os.PathLike[str] | Journal | None = None
    rejects: str | os.PathLike[str] | None = None
    dry_run: bool = False
    on_progress: OnProgress | None = None
    max_reject_share: float | None = None
    """Largest share of the rows read that may be rejected."""
    allow_empty: bool = True
    """Whether an input without rows gives an empty report, rather than InvalidInput."""

    @property
    def why_not_empty(self) -> str | None:
        """Why the job never takes an input without rows, whatever is allowed; None if it may."""
        return None

    @property
    def journal_path(self) -> str | os.PathLike[str] | None:
        """The file of the journal, where it is one."""
        given = getattr(self.journal, "path", None) if isinstance(self.journal, Journal) else self.journal
        return given if isinstance(given, str | os.PathLike) else None

    @property
    def databases(self) -> Sequence[str | os.PathLike[str]]:
        """The SQLite files that such a job writes."""
        return [] if self.journal_path is None else [self.journal_path]

    @property
    def own_files(self) -> Sequence[str | os.PathLike[str]]:
        """The files that such a job writes: an export in the place of the rejects file is none of them."""
        found = [os.fsdecode(path) + ending for path in self.databases for ending in ("", "-wal", "-shm", SUFFIX)]
        if self.rejects is not None:
            found += [os.fsdecode(self.rejects)] * is_rejects_file(self.rejects) + [os.fsdecode(self.rejects) + SUFFIX]
        return found

    def check(self) -> None:
        """Raises InvalidInput for an option that makes no sense."""
        number = isinstance(self.concurrency, int) and not isinstance(self.concurrency, bool)
        if self.concurrency != "auto" and not (number and int(self.concurrency) >= 1):
            raise InvalidInput('concurrency must be "auto" or a number of at least 1')
        share = self.max_reject_share
        if share is not None and (isinstance(share, bool) or not 0 <= share <= 1):
            raise InvalidInput("max_reject_share must be a number from 0 to 1")
        if inspect.iscoroutinefunction(self.on_progress):
            raise InvalidInput("on_progress is called, not awaited: give a plain function")
        if not isinstance(self.journal, str | os.PathLike | Journal | None):
            raise InvalidInput("journal must be a path, or an object with the methods of Journal")
        self.refuse_as_journal(self.rejects, "the rejects file, too")

    def refuse_as_journal(self, path: object, what: str) -> None:
        """Raises InvalidInput when the journal would be written into another file of the job."""
        journal = self.journal_path
        if journal is not None and isinstance(path, str | os.PathLike) and same_file(journal, path):
            raise InvalidInput(f"the journal {os.fsdecode(journal)} is {what}; choose another path")


def bulk_options(session: Session, call: CallOptions) -> CallOptions:
    """A job waits and repeats by its own rules; of the call's options only the timeout of an attempt holds for it."""
    config = session.config
    policy = RetryPolicy(
        max_attempts=MIN_ATTEMPTS,
        max_wait_seconds=config.bulk_max_wait_seconds,
        max_elapsed_seconds=config.max_elapsed_seconds,
    )
    return CallOptions(timeout_seconds=call.timeout_seconds, policy=policy, bulk=True)


B = TypeVar("B", bound=Sendable)
P = TypeVar("P", bound=UploadReport)
R = TypeVar("R")

JUDGED_FROM_ROWS: Final = 10_000
"""Rows read before the share of rejected ones is judged; of fewer it is at the end."""
OURS: Final = (InvalidInput, ConfigurationError)
"""What is said of files that cannot be written any more."""


class Job(abc.ABC, Generic[R, B, P]):
    """A bulk job, run once. `R` is the type of its rows, `B` of its batches, `P` of its report."""

    noun = "upload"
    """What it is called when it stops."""
    kind = ""
    """What it is called in a journal; empty for one that keeps none."""

    def __init__(
        self,
        session: Session,
        target: Target[Any],
        source: object,
        reader: Reader[R],
        counters: RowCounters,
        options: JobOptions,
    ) -> None:
        config = session.config
        if not options.dry_run:
            # What is missing is better said now than after a batch was read.
            config.host(target.route.family.host)
            session.authenticators.choose(target.route.family)
        reader.leave_out(options.own_files)
        for path in (source, *reader.paths):
            options.refuse_as_journal(path, "the input itself")
        self._session = session
        self._target = target
        self._source = source
        self._reader = reader
        self._counters = counters
        self._counters.place_of = reader.place_of
        self._options = options
        self._started = session.clock.monotonic()
        fixed = None if options.concurrency == "auto" else options.concurrency
        self._concurrency = Concurrency(fixed, most=config.max_concurrency)
        self._dispatcher: Dispatcher[B] = Dispatcher(
            self._settle, self._limit, max_bytes=config.max_bytes_in_flight, on_settled=self._ended
        )
        self._on_progress = options.on_progress
        self._broken_input: Exception | None = None
        self._note: str | None = None
        self._journal: Journal | None = None
        self._opened: Opened | None = None

    @abc.abstractmethod
    async def _place_chunk(self, chunk: Chunk[R]) -> None:
        """Judges the rows of a chunk, and puts those that can be sent into batches."""

    @abc.abstractmethod
    async def _dispatch(self) -> None:
        """Sends the batch that is being filled, if there is anything in it."""

    @abc.abstractmethod
    async def _settle(self, batch: B) -> None:
        """Gives every row of the batch its outcome."""

    @abc.abstractmethod
    def _report(self) -> P:
        """The counts as they stand."""

    def _columns(self) -> Sequence[str]:
        """Further columns of the rejects file, known once the first rows are read."""
        return PLACE if self._reader.place_of(1) is not None else ()

    def _settings(self) -> Mapping[str, Setting]:
        """For the journal, everything that changes what is sent; no personal value."""
        return {}

    async def _begin(self) -> None:
        """What comes before the first row."""
        if self._options.rejects is not None:
            # Before the journal, so that a path that cannot be written does not count as a run of the job.
            self._counters.rejects_file = RejectsFile(
                self._options.rejects, sources=(self._source, *self._reader.paths)
            )
        await self._open_journal()

    async def _finish(self) -> None:
        """What comes after the last row was settled, if nothing has stopped the job."""

    def _ended(self) -> None:
        """A batch is settled, or never will be."""
        self._judge_rejects()
        self._show()

    def _reject_counts(self) -> tuple[int, int]:
        """Rows read and rows rejected, of which the share is judged."""
        return self._counters.read, self._counters.rejected

    def _judge_rejects(self, *, at_end: bool = False) -> None:
        """Stops the job when a larger share of the rows is rejected than may be."""
        most = self._options.max_reject_share
        read, rejected = self._reject_counts()
        if most is None or not rejected or not (at_end or read >= JUDGED_FROM_ROWS) or rejected / read <= most:
            return
        self._dispatcher.stop(
            InvalidInput(
                f"{rejected:,} of {read:,} rows were rejected, which is {rejected / read:.1%}, and {most:.1%} may be "
                "(max_reject_share, --max-reject-share)"
            )
        )

    async def run(self) -> P:
        """The report of the finished job.

        Raises InvalidInput when nothing of the input could be read, BulkError when the job stopped on the way.
        """
        state: State = "stopped"
        try:
            await self._begin()
            try:
                await self._read()
            finally:
                await self._close_reader()
            await self._send_rest()
            state = "finished"
        except asyncio.CancelledError:
            state = "interrupted"
            raise
        finally:
            # After an error of ours, or cancelled: what is on its way is ended, and its rows stay pending.
            # Who is impatient cancels again, and files are closed nevertheless.
            try:
                await self._dispatcher.cancel()
            finally:
                try:
                    await self._close()
                finally:
                    await self._close_journal(state)
            self._show()
        return self._report_or_raise()

    async def _read(self) -> None:
        chunks = aiter(self._reader)
        while True:
            await self._session.scheduler.yield_turn()  # an iterable is read without ever waiting, and others go on
            if self._dispatcher.failure is not None:
                return
            try:
                # An input may be silent for as long as it likes, such as a pipe; the job ends nevertheless when it stops.
                chunk = await self._dispatcher.unless_stopped(anext(chunks, None))
            except Exception as problem:  # noqa: BLE001  # whatever a user's iterable raises ends the reading
                self._broken_input = problem
                return
            if chunk is None:
                self._refuse_nothing()
                return
            try:
                if self._counters.rejects_file is not None:
                    self._counters.rejects_file.columns = self._columns()
                    self._counters.rejects_file.begin()  # what it held before goes only now that there is an input
                self._counters.take_in(len(chunk))
                await self._session.scheduler.yield_turn()  # others were read to at the same time
                await self._place_chunk(chunk)
                self._judge_rejects()
            except OURS as problem:
                self._dispatcher.stop(problem)
            self._show()

    def _refuse_nothing(self) -> None:
        """Stops the job at the end of an input without rows, where there have to be some."""
        if self._counters.read:
            return
        says = self._reader.why_empty or "the input has no rows"
        if (reason := self._options.why_not_empty) is not None:
            self._broken_input = InvalidInput(f"{says}: {reason}")
        elif not self._options.allow_empty:
            self._broken_input = NoRows(says)

    async def _send_rest(self) -> None:
        """What is left to do once everything is read."""
        try:
            await self._dispatch()
            await self._dispatcher.drain()
            if self._broken_input is None:
                self._judge_rejects(at_end=True)
            if self._dispatcher.failure is None and self._broken_input is None:
                await self._finish()
        except OURS as problem:
            self._dispatcher.stop(problem)
        await self._dispatcher.drain()

    async def _open_journal(self) -> None:
        given = self._options.journal
        if given is None or self._options.dry_run:
            return
        if not self.kind:
            raise InvalidInput(f"this {self.noun} keeps no journal")
        route = self._target.route
        where = {"host": self._session.config.host(route.family.host), "path": route.path}
        identity = JobIdentity(
            kind=self.kind,
            target=where | {name: str(value) for name, value in self._target.path_parameters.items()},
            source=await fingerprint(list(self._reader.paths) or self._source),
            settings=self._settings(),
        )
        journal = _sqlite_journal(given) if isinstance(given, str | os.PathLike) else given
        self._opened = await journal.open(identity, self._session.now())
        self._journal = journal

    async def _close_journal(self, state: State) -> None:
        """Says there how the run ended, and closes it. What cannot be written stops the job, even now."""
        if self._journal is None:
            return
        failed = self._dispatcher.failure is not None or self._broken_input is not None
        try:
            await self._journal.finish("stopped" if failed else state, self._report().counts)
        except OURS as problem:
            self._dispatcher.stop(problem)
        finally:
            await self._journal.aclose()

    def _began_at(self) -> datetime.datetime:
        """When the job was begun, in an earlier run if there was one: what depends on the time stays the same."""
        return self._session.now() if self._opened is None else self._opened.started_at

    def _limit(self) -> int:
        route = self._target.route
        key = self._target.limit_key(route.rate_limit)
        return self._concurrency.limit(self._session.pacer.requests_per_second(key, route.rate_limit))

    def _observe(self, attempt: Attempt) -> None:
        self._counters.attempted(attempt)
        self._note = None
        if attempt.failure is None:
            self._concurrency.succeeded(attempt.seconds)
        elif attempt.failure.executed != "yes":
            self._concurrency.failed(self._session.clock.monotonic())
            self._note = f"repeating after: {attempt.failure.summary}"
            self._show()

    def _elapsed_seconds(self) -> float:
        return self._session.clock.monotonic() - self._started

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

    async def _close(self) -> None:
        """Lets go of files."""
        if self._counters.rejects_file is None:
            return
        try:
            self._counters.rejects_file.close()
        except InvalidInput as problem:
            self._dispatcher.stop(problem)

    def _report_or_raise(self) -> P:
        report = self._report()
        problem = self._dispatcher.failure or self._broken_input
        if not report.adds_up or (problem is None and report.pending and not self._options.dry_run):
            raise RuntimeError(f"the rows of the job do not add up, which is a bug of this package: {report}")
        if problem is None:
            return report
        if isinstance(problem, InvalidInput) and not report.read:
            raise problem
        what = "the input broke off" if problem is self._broken_input else f"the {self.noun} stopped"
        says = str(problem) if isinstance(problem, SocialApiError) else type(problem).__name__
        raise BulkError(f"{what}: {says}", report) from problem


def _sqlite_journal(path: str | os.PathLike[str]) -> Journal:
    from socialapi.bulk.journals.sqlite_journal import SqliteJournal  # jobs without a journal need no database

    return SqliteJournal(path)
