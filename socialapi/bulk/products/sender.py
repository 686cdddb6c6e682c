"""Sends batches of products until each product has an outcome. Matches results by id, and resends products without a
result.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from socialapi.bulk.journals.journal import Outcome, digest64
from socialapi.bulk.products.counters import COUNTED, ProductCounters, Refused
from socialapi.bulk.products.resume import REFUSED, LoadJournal
from socialapi.bulk.products.rows import ENVELOPE, ProductBatch, ProductRow
from socialapi.errors import ApiError
from socialapi.models.products import ProductResult, ProductResults
from socialapi.reports import RowIssue
from socialapi.routes.route import Target
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.retry import Failure, Observer, Wait, decide

if TYPE_CHECKING:
    from socialapi.bulk.products.snapshot import Digests

NO_REASON: Final = "refused by the service without a reason"
LONGEST_REASON: Final = 500
IDS_SHOWN: Final = 5

Answered = tuple[ProductRow, ProductResult]


@attrs.define(eq=False, repr=False)
class ProductSender:
    """Sends batches, and updates the counters, the digests and the journal."""

    session: Session
    target: Target[ProductResults]
    options: CallOptions
    counters: ProductCounters
    digests: "Digests | None"
    journal: LoadJournal | None = None
    observe: Observer | None = None

    def __repr__(self) -> str:
        return f"<ProductSender to {self.target.route.shown}>"

    async def settle(self, batch: ProductBatch) -> None:
        """Sends the batch until every product has its outcome. Raises the error that stops the job; products without an
        outcome then stay pending.

        Products without a result are sent again, after increasing waits, as long as the job may retry.
        """
        if self.journal is not None:
            await self.journal.begin(batch)
        waiting: dict[str, ProductRow] = {row.shape["id"]: row for row in batch.rows}
        started, fruitless = self.session.clock.monotonic(), 0
        self.counters.sent_first += 1
        while waiting:
            body = b",".join([row.json for row in waiting.values()]).join(ENVELOPE)
            request = self.session.plan(self.target.route).assemble(self.target, {}, (body,))
            call = self.session.prepared(request, options=self.options, observer=self.observe)
            results = (await self.session.call(call)).products_response
            answered = [(waiting.pop(each.id), each) for each in results if each.id is not None and each.id in waiting]
            if answered:
                await self._keep(batch, answered, is_settled=not waiting)
                warnings, refused = list[RowIssue](), list[Refused]()
                taken: dict[str, list[ProductRow]] = {name: [] for name in COUNTED.values()}
                for row, result in answered:
                    said = map(field_and_message, result.warnings)
                    warnings += [RowIssue(row.number, *each, row.known_id) for each in said]
                    if result.status in COUNTED:
                        taken[COUNTED[result.status]].append(row)
                    else:
                        refused.append((row, *reason_of(result)))
                self.counters.warn(warnings)
                for name, rows in taken.items():
                    self.counters.count(name, rows)
                self.counters.refuse(refused)
            fruitless = 0 if answered else fruitless + 1
            elapsed_seconds = self.session.clock.monotonic() - started
            if waiting and not await wait_to_retry(self.session, self.options, fruitless + 1, elapsed_seconds):
                shown = ", ".join(list(waiting)[:IDS_SHOWN]) + (", …" if len(waiting) > IDS_SHOWN else "")
                summary = f"the service returned no result for {len(waiting)} products: {shown}"
                raise ApiError(200, summary=summary, attempts=fruitless + 1)

    async def _keep(self, batch: ProductBatch, answered: Sequence[Answered], *, is_settled: bool) -> None:
        """Stores the results before counting them. If the process is killed before they are stored, the products are
        sent again, which is safe. Digests are stored before the outcomes, because a product with a recorded outcome is
        not checked again.
        """
        if self.digests is not None:
            taken: list[tuple[ProductRow, str | None]] = []
            for row, result in answered:
                if result.status in COUNTED:
                    taken.append((row, result.product_key))
                else:
                    self.digests.answered(row.id)
            await self.digests.loaded(taken)
        if self.journal is not None:
            outcomes = [_outcome(row, result) for row, result in answered]
            await self.journal.answered(batch, outcomes, is_settled=is_settled)


async def wait_to_retry(session: Session, options: CallOptions, attempt: int, elapsed_seconds: float) -> bool:
    """Waits before the job sends omitted items again. Returns False immediately if the job must not retry."""
    decision = decide(
        options.policy,
        repeatable=True,
        attempt=attempt,
        failure=Failure("unknown", "left out"),
        elapsed_seconds=elapsed_seconds,
        jitter=session.rng.random(),
    )
    if not isinstance(decision, Wait):
        return False
    await session.clock.sleep(decision.seconds)
    return True


def _outcome(row: ProductRow, result: ProductResult) -> Outcome:
    warnings = tuple(field_and_message(each) for each in result.warnings)
    digest = digest64(row.json)
    if result.status in COUNTED:
        return Outcome(row.number, COUNTED[result.status], digest=digest, warnings=warnings)
    return Outcome(row.number, REFUSED, *reason_of(result), digest=digest, warnings=warnings)


def reason_of(result: ProductResult) -> tuple[str, str]:
    """Returns the fields that the service rejected, and its messages."""
    found = [field_and_message(each) for each in result.errors]
    fields = ", ".join(dict.fromkeys(field for field, _ in found if field))
    reason = "; ".join(reason for _, reason in found)
    if not reason:
        reason = NO_REASON if result.status in (None, "ERROR") else f"the service returned the status {result.status}"
    return fields, reason[:LONGEST_REASON]


def field_and_message(message: Any) -> tuple[str, str]:
    """Returns the field and the message of an error or warning, which may be a string or an object with strings."""
    if not isinstance(message, Mapping):
        return "", str(message)
    field = message.get("field") or message.get("parameter") or message.get("attribute")
    code, text = message.get("code"), message.get("message") or message.get("detail")
    message_text = f"{code}: {text}" if code and text else str(text or code or NO_REASON)
    return (field if isinstance(field, str) else ""), message_text
