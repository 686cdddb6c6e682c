"""Sends the batches of an upload until the service reports a success for every user."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import attrs

from socialapi.bulk.audiences.batches import Batch, Packer
from socialapi.bulk.audiences.resume import REJECTED, Recorder
from socialapi.bulk.counters import RowCounters
from socialapi.bulk.journals.journal import Outcome
from socialapi.bulk.rows import Row, RowBlock, halves, joined
from socialapi.errors import ApiError, DecodeError
from socialapi.internal.fairness import yield_if_due
from socialapi.models.audiences import UploadCounts
from socialapi.problems import OperationError
from socialapi.reports import RowIssue
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.request import Request
from socialapi.wire.response import Reply, read_result
from socialapi.wire.retry import Failure, Observer

SAME_MISMATCH_MOST: Final = 12
"""The number of successive identical wrong counts after which they are taken as final."""


async def send_until_counted(
    session: Session,
    request: Request[UploadCounts],
    users: int,
    *,
    options: CallOptions,
    observer: Observer | None = None,
) -> UploadCounts:
    """Sends the request until the service reports `users` users and a success for each, and returns the reported
    counts. Any other counts are an error, and the request is retried.

    Raises ApiError (status 200) if the counts stay wrong, and any error that `Session.send` raises.
    """
    call = session.prepared(request, options=options, observer=observer)
    counting = _Counting(request, users)
    call.accept = counting.why_not_accepted
    reply = await session.send(call)
    return session.result_of(call, reply) if counting.counts is None else counting.counts


@attrs.define(eq=False, repr=False)
class _Counting:
    """A check of the counts in the successful responses to one upload request."""

    request: Request[UploadCounts]
    users: int
    counts: UploadCounts | None = None
    """The counts of the last response, if they were accepted."""
    same: int = 0
    last: str | None = None

    def why_not_accepted(self, reply: Reply) -> Failure | None:
        """Returns why the response is not accepted; None if it counts every user or lists refused operations."""
        try:
            counts = read_result(self.request.target.route, reply)
        except ApiError:
            return None
        except DecodeError as problem:
            return self._wrong(reply, problem.fault)
        found = (counts.success_count, counts.total_count)
        if counts.partial_errors:
            return self._wrong(reply, "the service reported errors with its counts")
        if found != (self.users, self.users):
            sent = "1 user was sent" if self.users == 1 else f"{self.users:,} users were sent"
            return self._wrong(reply, f"the service counted {found[0]:,} successes of {found[1]:,}, but {sent}")
        self.counts = counts
        return None

    def _wrong(self, reply: Reply, summary: str) -> Failure:
        self.same = self.same + 1 if summary == self.last else 1
        self.last = summary
        return Failure("yes" if self.same >= SAME_MISMATCH_MOST else "unknown", summary, reply.status)


NO_REASON: Final = "refused by the service without a reason"

OnAccept = Callable[[Sequence[Sequence[int]]], Awaitable[None]]
"""A callback that receives the row numbers of an accepted request, in ascending order, while the batch is still in
flight.
"""


@attrs.define(eq=False, repr=False)
class BatchSender:
    """A sender of batches, which also updates the counters and, if there is one, the journal."""

    session: Session
    target: Target[UploadCounts]
    options: CallOptions
    packer: Packer
    counters: RowCounters
    observe: Observer | None = None
    on_accept: OnAccept | None = None
    recorder: Recorder | None = None

    def __repr__(self) -> str:
        return f"<BatchSender to {self.target.route.shown}>"

    async def settle(self, batch: Batch) -> None:
        """Sends the batch until every row has its outcome, or raises the error that stops the job."""
        if batch.earlier is not None:
            await self._take_over(batch, {each.row: each for each in batch.earlier})
            return
        request = await self._request(batch.blocks)
        if self.recorder is None:
            await self._send_all(batch, request)
            return
        ledger, first = self.counters.ledger, batch.blocks[0].numbers[0]
        if ledger is not None:
            ledger.hold(first)
        await self.recorder.begin(batch, request.body)
        await self._send_all(batch, request)
        await self.recorder.confirm(batch)
        if ledger is not None:
            ledger.release(first)

    async def _take_over(self, batch: Batch, refused: Mapping[int, Outcome]) -> None:
        """Counts the rows of a batch that an earlier run confirmed. `refused` maps the refused rows to their outcomes."""
        found = list[tuple[Row, RowIssue]]()
        # Skipped if no row was refused, because a loop over all rows can take half a second.
        for block in batch.blocks if refused else ():
            for index, number in enumerate(block.numbers):
                if (outcome := refused.get(number)) is not None:
                    found.append((block.row(index), RowIssue(number, outcome.field, outcome.reason)))
        self.counters.reject([issue for _, issue in found])
        if found:
            await batch.note_refused(found)
        for block in batch.blocks:
            self.counters.accept([each for each in block.numbers if each not in refused] if found else block.numbers)
        self.counters.resumed += batch.row_count

    async def _send_all(self, batch: Batch, request: Request[UploadCounts]) -> None:
        """Sends the batch, starting with this request. If rows are refused, sends the other rows in further requests."""
        waiting, first, refused = [batch.blocks], [request], list[tuple[Row, RowIssue]]()
        while waiting:
            part = waiting.pop()
            users = sum(map(len, part))
            try:
                request = first.pop() if first else await self._request(part)
                self.counters.sent_first += 1
                await send_until_counted(self.session, request, users, options=self.options, observer=self.observe)
            except ApiError as error:
                if not error.operation_errors:
                    raise
                again, rejected = _isolate(self.packer.operations(part), error)
                waiting += again
                refused += rejected
                self.counters.reject([issue for _, issue in rejected])
                batch.outcomes += [Outcome(each.row, REJECTED, each.field, each.reason) for _, each in rejected]
            else:
                for block in part:
                    self.counters.accept(block.numbers)
                if self.on_accept is not None:
                    await self.on_accept([block.numbers for block in part])
        if refused:
            await batch.note_refused(refused)

    async def _request(self, blocks: Sequence[RowBlock]) -> Request[UploadCounts]:
        parts: list[bytes] = []
        for part in self.packer.encode(blocks):
            if parts:
                # A large body is encoded in parts, and other tasks can run between them.
                await yield_if_due()
            parts.append(part)
        return self.session.plan(self.target.route).assemble(self.target, {}, tuple(parts))


def _isolate(
    operations: list[list[RowBlock]], error: ApiError
) -> tuple[list[list[RowBlock]], list[tuple[Row, RowIssue]]]:
    """Returns the rows to send again and the refused rows. A refused operation of several rows is split in half and
    sent again until the refused row is found.

    Raises the error if it does not refer to an operation that was sent, so that the job does not retry forever.
    """
    named: dict[int, OperationError] = {}
    for each in error.operation_errors:
        # An error without an index is identified by its position, but only in a list with as many
        # entries as the request has operations. In any other list, this would be a guess.
        index = each.position if each.index is None and each.listed == len(operations) else each.index
        if index is not None and 0 <= index < len(operations):
            named[index] = each
    if not named:
        raise error
    rejected: list[tuple[Row, RowIssue]] = []
    again: list[list[RowBlock]] = []
    untouched: list[RowBlock] = []
    for index, blocks in enumerate(operations):
        if index not in named:
            untouched += blocks
        elif sum(map(len, blocks)) == 1:
            row, why = blocks[0].row(0), named[index]
            reason = why.message or NO_REASON
            if why.code is not None and why.message:
                reason = f"{why.code}: {why.message}"
            rejected.append((row, RowIssue(row.number, why.parameter or "", reason)))
        else:
            again += reversed(halves(blocks))
    if untouched:
        again.append(joined(untouched))
    return again, rejected
