"""The first half of a sync: what is desired is read, prepared and staged, and nothing is sent."""

from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch
from socialapi.bulk.audiences.normalizing import NOT_TAKEN
from socialapi.bulk.audiences.preparing import PreparedChunk, Preparer
from socialapi.bulk.audiences.upload_options import Destination, UploadOptions
from socialapi.bulk.job import Job
from socialapi.bulk.reading.reader_base import Chunk, in_steps
from socialapi.bulk.reading.readers import Records, open_records
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.rows import RawRow, RawTable, Row, rows_of
from socialapi.bulk.sync.sync_snapshot import CODES, Snapshot, StagedRow
from socialapi.bulk.tally import Tally
from socialapi.errors import InvalidInput
from socialapi.models.audiences import DEFAULT_EXPIRY_MONTHS, months_later
from socialapi.models.validation import parse_timestamp
from socialapi.reports import RowIssue, UploadReport
from socialapi.session.session import Session

ROWS_AT_ONCE: Final = 2_500
"""Rows staged in one transaction: few waits for the disk, and few objects that live long."""
NOT_SYNCED: Final = "cannot be synced, since it is never hashed and a snapshot holds digests only"


class ReadingJob(Job[RawRow, Batch, UploadReport]):
    """Reads the desired state into a snapshot. In its report the rows that are staged are the accepted ones.

    The rejects file stays open, since the service may refuse rows later: whoever runs this closes it.
    """

    noun = "sync"

    def __init__(
        self, session: Session, destination: Destination, desired: Records, snapshot: Snapshot, options: UploadOptions
    ) -> None:
        options.check()
        now = session.now()
        self._preparer = Preparer(
            effective_at=options.effective_at,
            expires_at=options.expires_at,
            default_region=options.default_region,
            kinds=tuple(CODES),
            now=now,
        )
        # Every kind is looked for: what cannot be synced is told rather than passed over.
        reader = open_records(desired, columns=options.columns, kinds=destination.kinds)
        super().__init__(session, destination.target, desired, reader, Tally(None), options)
        self._snapshot = snapshot
        self._staged: list[StagedRow] = []
        self.doubtful = 0
        """Rows and values that could not be used: each may mean somebody who seems to have left."""
        # The service counts from the request, which is later: rather too early here than too late.
        self._until_by_default = int(months_later(now, DEFAULT_EXPIRY_MONTHS).timestamp())

    @property
    def rejects_file(self) -> RejectsFile | None:
        """The open file, if there is one."""
        return self._tally.rejects_file

    async def _place_chunk(self, chunk: Chunk[RawRow]) -> None:
        _refuse_operations(chunk)
        for some in in_steps(chunk):
            prepared = _explained(self._preparer.prepare_chunk(some))
            self._tally.reject(prepared.rejects)
            self._tally.warn([*prepared.warnings, *prepared.mended])
            self.doubtful += len(prepared.rejects) + sum(NOT_SYNCED not in each.reason for each in prepared.warnings)
            rows = rows_of(prepared.runs)
            self._staged += map(self._stage, rows)
            self._tally.accept(len(rows))
            await self._session.turns.wait()
        if len(self._staged) >= ROWS_AT_ONCE:
            await self._dispatch()

    def _stage(self, row: Row) -> StagedRow:
        expiry = None if row.action.expires_at is None else parse_timestamp(row.action.expires_at)
        return StagedRow(
            number=row.number,
            identifiers=[(CODES[kind], bytes.fromhex(value)) for kind, value in row.identifiers],
            until=self._until_by_default if expiry is None else int(expiry.timestamp()),
            effective_at=row.action.effective_at,
            expires_at=row.action.expires_at,
        )

    def _judge_rejects(self, *, at_end: bool = False) -> None:
        """Nothing is sent before all is read, so that all of it can be judged."""
        if at_end:
            super()._judge_rejects(at_end=True)

    async def _dispatch(self) -> None:
        """Writes down what is gathered; with it, reading is over."""
        staged, self._staged = self._staged, []
        if staged:
            await self._snapshot.stage(staged)

    async def _settle(self, batch: Batch) -> None:
        """Nothing is sent, so there is nothing to settle."""

    async def _close(self) -> None:
        """Leaves the rejects file open."""

    def _report(self) -> UploadReport:
        return self._tally.report(self._elapsed_seconds(), dry_run=False)


def _refuse_operations(chunk: Chunk[RawRow]) -> None:
    if isinstance(chunk, RawTable) and chunk.overrides[0] is None:
        return
    for row in chunk:
        if row.operation_type is not None:
            raise InvalidInput(
                f"row {row.number} has an operation_type, and what is desired has no operations: every row belongs to the "
                'audience, and who is in none leaves it. Give rows without, ignore the column with columns={"operation_type": '
                '""} or --column operation_type=, or use upload'
            )


def _explained(prepared: PreparedChunk) -> PreparedChunk:
    """Says of the one kind that is not taken why that is so."""
    for issues in (prepared.rejects, prepared.warnings):
        issues[:] = [_renamed(issue) if NOT_TAKEN in issue.reason else issue for issue in issues]
    return prepared


def _renamed(issue: RowIssue) -> RowIssue:
    return attrs.evolve(issue, reason=issue.reason.replace(NOT_TAKEN, NOT_SYNCED))
