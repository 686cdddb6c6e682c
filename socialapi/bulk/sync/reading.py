"""Reads the desired rows of a sync, and puts the usable rows into the snapshot."""

import functools
import os
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.cells import UserBlock, overrides_of
from socialapi.bulk.audiences.columns import is_personal
from socialapi.bulk.audiences.job import Destination, UploadOptions
from socialapi.bulk.audiences.normalize import NOT_TAKEN
from socialapi.bulk.audiences.prepare import Preparer
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.inputs.formats import Records, open_records
from socialapi.bulk.inputs.reader import IS_BLANK
from socialapi.bulk.job import JobDescription, Stage, prepare_input, run_job
from socialapi.bulk.rows import RowBlock
from socialapi.bulk.sync.buckets import CODES
from socialapi.bulk.sync.scratch import FILES, scratch_folder
from socialapi.bulk.sync.snapshot import Snapshot
from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import DEFAULT_EXPIRY_MONTHS, months_later
from socialapi.models.validation import Faults, invalid, parse_timestamp
from socialapi.problems import BrokenRule
from socialapi.reports import DEFAULT_REMOVAL_SHARE, NULL_DIGEST, NULL_WORD, UploadReport
from socialapi.session.session import Session

ROWS_AT_ONCE: Final = 2_500
"""The number of rows passed to the thread of the snapshot in one call."""
NOT_SYNCED: Final = "cannot be synced, because it is never hashed and a snapshot stores only digests"
_NOBODY: Final = frozenset({IS_BLANK.reason, NULL_WORD, NULL_DIGEST})
"""The reasons of unusable rows and values that belong to nobody."""
EXPIRIES_KEPT: Final = 4_096


@attrs.frozen(kw_only=True)
class SyncOptions(UploadOptions):
    """The options of `sync`."""

    snapshot: str | os.PathLike[str]
    max_removal_share: float = DEFAULT_REMOVAL_SHARE

    @property
    def databases(self) -> Mapping[str, str | os.PathLike[str]]:
        """The snapshot file, by option."""
        return {"snapshot": self.snapshot}

    @property
    def own_files(self) -> Sequence[str | os.PathLike[str]]:
        """The output files of the job, and its scratch files."""
        return [*super().own_files, *(scratch_folder(self.snapshot) / name for name in FILES)]

    @property
    def why_not_empty(self) -> str:
        """The reason why an empty input is rejected: a sync would remove every member."""
        return "an empty list would remove every member, so a sync rejects it"

    def problems(self) -> Iterator[InvalidInput]:
        """Yields an error for each invalid option."""
        if not 0 <= self.max_removal_share <= 1:
            yield invalid("max_removal_share", "must be a number from 0 to 1")
        if self.journal is not None:
            why = "a sync has no journal: to continue it, run the sync again with the same snapshot"
            yield InvalidInput(why, [BrokenRule(path="journal", reason=why)])
        if self.flush_after_seconds:
            yield invalid("flush_after_seconds", "does not apply to a sync, which reads all rows before sending any")
        yield from super().problems()


class ReadingStage(Stage[UserBlock, Batch, UploadReport]):
    """The stage that reads the desired rows into a snapshot. Its report counts the staged rows as accepted."""

    def __init__(self, snapshot: Snapshot, counters: RowCounters, preparer: Preparer, session: Session) -> None:
        now = session.now()
        self._preparer = preparer
        self._snapshot = snapshot
        self._counters = counters
        self._staged: list[tuple[RowBlock, int]] = []
        self.unusable: int = 0
        """The number of unusable rows and values. Each may belong to a member who only seems to have left."""
        # The service counts from the time of the request, so this expiry is slightly early. A late expiry would be
        # worse.
        default = int(months_later(now, DEFAULT_EXPIRY_MONTHS).timestamp())
        self._expiry = functools.lru_cache(EXPIRIES_KEPT)(functools.partial(_epoch_seconds, default=default))

    async def take(self, block: UserBlock) -> None:
        """Adds the usable rows of a block to the snapshot."""
        _refuse_operations(block)
        for prepared in self._preparer.prepare(block):
            for issues in (prepared.rejects, prepared.warnings):  # give the reason why the kind cannot be synced
                for index, each in enumerate(issues):
                    if NOT_TAKEN in each.reason:
                        issues[index] = attrs.evolve(each, reason=each.reason.replace(NOT_TAKEN, NOT_SYNCED))
            if prepared.rejects:
                self._counters.reject(prepared.rejects)
            if prepared.warnings or prepared.cleaned:
                self._counters.warn([*prepared.warnings, *prepared.cleaned])
            reasons = [each.reason for each in prepared.rejects]
            reasons += [each.reason for each in prepared.warnings if NOT_SYNCED not in each.reason]
            self.unusable += sum(not _NOBODY.issuperset(reason.split("; ")) for reason in reasons)
            for rows in prepared.blocks:
                self._staged.append((rows, self._expiry(rows.action.expires_at)))
                self._counters.accept(rows.numbers, "")
            await yield_if_due()
        if sum(len(block) for block, _ in self._staged) >= ROWS_AT_ONCE:
            await self.flush()

    async def flush(self) -> None:
        """Writes the collected rows to the snapshot."""
        staged, self._staged = self._staged, []
        if staged:
            await self._snapshot.stage(staged)

    def report(self, elapsed_seconds: float) -> UploadReport:
        """Returns the report with the current counts."""
        return self._counters.report(elapsed_seconds, dry_run=False)


class ReadingJob:
    """A job that reads the desired rows into a snapshot. The caller closes the rejects file, because later phases may
    also reject rows.
    """

    def __init__(
        self, session: Session, destination: Destination, desired: Records, snapshot: Snapshot, options: SyncOptions
    ) -> None:
        # Columns of all kinds are detected, so that values that cannot be synced are reported, not ignored.
        faults = Faults(options.problems())
        with faults:
            options, selection = options.with_columns(destination.kinds)
        with faults:
            preparer = Preparer(
                effective_at=options.effective_at,
                expires_at=options.expires_at,
                default_region=options.default_region,
                phone_format=options.phone_format,
                require_hashed=options.require_hashed,
                kinds=tuple(CODES),
                now=session.now(),
            )
        faults.refuse()
        self._options = options
        self._session = session
        self.counters: RowCounters = RowCounters(
            None, ignored_columns=selection.ignored_columns, read_columns=selection.read_columns, notes=selection.notes
        )
        self.stage: ReadingStage = ReadingStage(snapshot, self.counters, preparer, session)
        self._reader = open_records(desired, selection, session.network)
        # Nothing is sent before all rows are read, so the share of rejected rows can be checked for the whole input.
        self._description = JobDescription(
            noun="sync",
            telemetry_kind="sync.reading",
            target=destination.target,
            source=desired,
            checks_whole_input=True,
            keeps_files_open=True,
            refuses_key=is_personal if options.require_hashed else None,
        )
        prepare_input(session, self._reader, self._description, options)

    def run(self) -> Coroutine[Any, Any, UploadReport]:
        """Returns a coroutine that reads the rows and returns the report, as `run_job` does."""
        return run_job(self._reader, self.stage, self.counters, self._description, self._options, self._session)


def _epoch_seconds(expires_at: str | None, *, default: int) -> int:
    """Returns a row's expiry in epoch seconds, or `default` if the row has none."""
    expiry = parse_timestamp(expires_at) if expires_at else None
    return default if expiry is None else int(expiry.timestamp())


def _refuse_operations(block: UserBlock) -> None:
    if block.layout.operation_type is None:
        return
    for number, operation_type in enumerate(overrides_of(block)[0], block.first_number):
        if operation_type is not None:
            raise InvalidInput(
                f"row {number} has an operation_type, but a sync has no operations: it adds every person in the input and "
                'removes all others. Omit it, ignore the column with columns={"operation_type": ""}, or use upload'
            )
