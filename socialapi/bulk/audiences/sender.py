"""Sends the batches of an upload until the service has counted every user."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch, Packer
from socialapi.bulk.audiences.resume import ACCEPTED, REJECTED, Recorder
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.journals.journal import Outcome
from socialapi.bulk.rows import Row, RowBlock, halves, joined, runs_of
from socialapi.errors import ApiError, DecodeError
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import UploadCounts
from socialapi.problems import OperationError
from socialapi.reports import RowIssue
from socialapi.routes.route import Target
from socialapi.session.call import Observer
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import Request
from socialapi.wire.response import Reply, read_result
from socialapi.wire.retry import Failure

SAME_MISMATCH_MOST: Final = 12
"""How often the very same wrong answer is taken for an accident."""


async def send_until_counted(
    session: Session,
    request: Request[UploadCounts],
    users: int,
    *,
    options: CallOptions,
    observer: Observer | None = None,
) -> UploadCounts:
    """The counts, both of which equal `users` (section 4.9: any other result is an error and the
    request is retried).

    Raises ApiError (status 200) when the answer stays wrong, and whatever `Session.send` raises.
    """
    call = session.prepared(request, options=options, observer=observer)
    call.accept = _Counting(request, users).why_not_accepted
    return session.result_of(call, await session.send(call))


@attrs.define(eq=False, repr=False)
class _Counting:
    """Checks the counts in the successful replies to one upload request."""

    request: Request[UploadCounts]
    users: int
    same: int = 0
    last: str | None = None

    def why_not_accepted(self, reply: Reply) -> Failure | None:
        """None when every user is counted, or when the answer names what it refuses, which is for
        the caller.
        """
        try:
            counts = read_result(self.request.target.route, reply)
        except ApiError:
            return None
        except DecodeError as problem:
            return self._wrong(reply, problem.fault)
        found = (counts.success_count, counts.total_count)
        if counts.partial_errors:
            return self._wrong(reply, "the service reported errors beside its counts")
        if found != (self.users, self.users):
            sent = "1 user was sent" if self.users == 1 else f"{self.users:,} users were sent"
            return self._wrong(reply, f"the service counted {found[0]:,} successes of {found[1]:,} where {sent}")
        return None

    def _wrong(self, reply: Reply, summary: str) -> Failure:
        self.same = self.same + 1 if summary == self.last else 1
        self.last = summary
        return Failure("yes" if self.same >= SAME_MISMATCH_MOST else "unknown", summary, reply.status)


DUPLICATES_AT_ONCE: Final = 2_500
"""Rows put side by side in one go: more would hold the event loop for longer than 10 ms."""
NO_REASON: Final = "refused by the service without a reason"

OnAccept = Callable[[Sequence[Sequence[int]]], Awaitable[None]]
"""Told of the numbers of the rows of a request that was accepted, each sequence ascending. Until it
has returned, their batch counts as being on its way.
"""


async def _until_settled(earlier: Batch, batch: Batch) -> None:  # called as `Dispatcher.wait_for`
    await earlier.settled.wait()


@attrs.define(eq=False, repr=False)
class BatchSender:
    """Sends batches: the session and target, the options, and the counters and journal to
    update.
    """

    session: Session
    target: Target[UploadCounts]
    options: CallOptions
    packer: Packer
    counters: RowCounters
    observe: Observer | None = None
    on_accept: OnAccept | None = None
    recorder: Recorder | None = None
    wait_for: Callable[[Batch, Batch], Awaitable[None]] = _until_settled
    """Waits for an earlier batch, on behalf of one in flight."""

    async def settle(self, batch: Batch) -> None:
        """Gives every row of the batch, and every row that repeats one of them, its outcome.

        Raises what stops the job; the rows without an outcome are then still pending.
        """
        if batch.earlier is None:
            request = await self._request(batch.runs)
            if self.recorder is not None:
                await self.recorder.begin(batch, request.body)
            await self._send_all(batch, batch.runs, request)
            if self.recorder is not None:
                await self.recorder.confirm(batch)
        else:
            self._take_over_batch(batch, {each.row: each for each in batch.earlier})
        batch.runs = []  # what follows may have to wait for other batches
        # Rows that repeat refused ones may come in while others are sent, until the batch counts as
        # settled.
        while batch.waiting_duplicates or batch.also_original_of:
            await self._settle_followers(batch)
            if batch.failed:
                return

    async def _settle_followers(self, batch: Batch) -> None:
        for earlier in list(batch.also_original_of):
            await self.wait_for(earlier, batch)
            batch.refused |= earlier.refused
            batch.also_original_of.discard(earlier)
            if earlier.failed:
                batch.failed = True  # the job stops, and these rows stay pending
                return
        waiting_duplicates, batch.waiting_duplicates = batch.waiting_duplicates, []
        needed = await self._still_to_send(batch, waiting_duplicates)
        for start in range(0, len(needed), DUPLICATES_AT_ONCE):
            for part in self.packer.split(runs_of(needed[start : start + DUPLICATES_AT_ONCE])):
                await self._send_all(batch, part, by_row=True)
        if self.recorder is not None:
            await self.recorder.note(batch)

    async def _still_to_send(self, batch: Batch, waiting_duplicates: Sequence[Row]) -> list[Row]:
        """The waiting rows that are no duplicates, since what they repeat was refused, and have no
        outcome yet.
        """
        known: Mapping[int, Outcome] = {}
        if self.recorder is not None and batch.refused:
            known = await self.recorder.outcomes_of(waiting_duplicates)
        needed: list[Row] = []
        for row in waiting_duplicates:
            if row.number in known:
                self.take_over([row], known)
                if known[row.number].outcome == ACCEPTED:
                    # Who repeats this row has been a duplicate ever since: sent now, it would
                    # overtake what came after.
                    batch.refused.difference_update(row.identifiers)
            elif batch.refused.isdisjoint(row.identifiers):
                self.counters.repeat(1)
            else:
                needed.append(row)
        return needed

    def _take_over_batch(self, batch: Batch, named: Mapping[int, Outcome]) -> None:
        # A batch may have as many rows as take half a second to look at one by one: only those are
        # that have to be.
        rows = []
        if named:
            numbered = ((run, place, number) for run in batch.runs for place, number in enumerate(run.numbers))
            rows = [run.row(place) for run, place, number in numbered if number in named]
        batch.refused.update(each for row in self.take_over(rows, named) for each in row.identifiers)
        self.counters.accept(batch.row_count - len(rows))
        self.counters.resumed += batch.row_count - len(rows)

    def take_over(self, rows: Sequence[Row], known: Mapping[int, Outcome]) -> Sequence[Row]:
        """Counts rows whose outcome an earlier run has confirmed, and returns the refused ones.

        Those it does not name were accepted.
        """
        refused = [(row, each) for row in rows if (each := known.get(row.number)) and each.outcome == REJECTED]
        self.counters.reject([RowIssue(row.number, each.field, each.reason) for row, each in refused])
        self.counters.accept(len(rows) - len(refused))
        self.counters.resumed += len(rows)
        return [row for row, _ in refused]

    async def _send_all(
        self,
        batch: Batch,
        runs: Sequence[RowBlock],
        request: Request[UploadCounts] | None = None,
        *,
        by_row: bool = False,
    ) -> None:
        """Sends the rows, in several requests if some are refused; `by_row` notes the outcome of
        accepted ones, too.
        """
        waiting = [list(runs)]
        while waiting:
            part = waiting.pop()
            users = sum(map(len, part))
            try:
                await self._send(request or await self._request(part), users)
            except ApiError as error:
                if not error.operation_errors:
                    raise
                again, rejected = _isolate(self.packer.operations(part), error)
                waiting += again
                self._refuse(batch, rejected, by_row=by_row)
            else:
                self.counters.accept(users)
                if self.on_accept is not None:
                    await self.on_accept([run.numbers for run in part])
                if by_row or not batch.place:
                    batch.outcomes += [Outcome(number, ACCEPTED) for run in part for number in run.numbers]
            request = None

    def _refuse(self, batch: Batch, rejected: Sequence[tuple[Row, OperationError]], *, by_row: bool) -> None:
        issues = [_issue(row, why) for row, why in rejected]
        if not by_row:
            refused = {identifier for row, _ in rejected for identifier in row.identifiers}
            # What a row repeats that was accepted stays accepted, whatever becomes of the row.
            batch.refused |= refused & batch.refused_before if batch.refused_before else refused
        batch.outcomes += [Outcome(issue.row, REJECTED, issue.field, issue.reason) for issue in issues]
        self.counters.reject(issues)

    async def _send(self, request: Request[UploadCounts], users: int) -> None:
        self.counters.sent_first += 1
        await send_until_counted(self.session, request, users, options=self.options, observer=self.observe)

    async def _request(self, runs: Sequence[RowBlock]) -> Request[UploadCounts]:
        parts: list[bytes] = []
        for part in self.packer.encode(runs):
            if parts:
                # A large body is encoded in slices, and other jobs continue between them.
                await yield_if_due()
            parts.append(part)
        return self.session.plan(self.target.route).assemble(self.target, {}, tuple(parts))


def _isolate(
    operations: list[list[RowBlock]], error: ApiError
) -> tuple[list[list[RowBlock]], list[tuple[Row, OperationError]]]:
    """What to send again, and which rows are refused: an operation of many rows is halved until one
    is left.

    Raises the error when it names no operation that was sent, so that nothing is repeated forever.
    """
    named: dict[int, OperationError] = {}
    for each in error.operation_errors:
        # Without an index, the place in a list as long as the request tells; in another it would be
        # a guess.
        index = each.position if each.index is None and each.listed == len(operations) else each.index
        if index is not None and 0 <= index < len(operations):
            named[index] = each
    if not named:
        raise error
    rejected: list[tuple[Row, OperationError]] = []
    again: list[list[RowBlock]] = []
    untouched: list[RowBlock] = []
    for index, runs in enumerate(operations):
        if index not in named:
            untouched += runs
        elif sum(map(len, runs)) == 1:
            rejected.append((runs[0].row(0), named[index]))
        else:
            again += reversed(halves(runs))
    if untouched:
        again.append(joined(untouched))
    return again, rejected


def _issue(row: Row, why: OperationError) -> RowIssue:
    reason = f"{why.code}: {why.message}" if why.code is not None and why.message else why.message or NO_REASON
    return RowIssue(row.number, why.parameter or "", reason)
