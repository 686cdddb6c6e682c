"""One batch of products until each has an outcome; the answers are matched by id, and missing ones asked for again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.products.digests import Digests
from socialapi.bulk.products.rows import ENVELOPE, ProductBatch, ProductRow
from socialapi.bulk.products.tally import COUNTED, ProductTally, Refused
from socialapi.errors import ApiError, DecodeError
from socialapi.models.products import ProductResult, ProductResults
from socialapi.reports import RowIssue
from socialapi.routes.route import Target
from socialapi.session.calls import CallOptions, Observer
from socialapi.session.session import Session
from socialapi.wire.request import assemble
from socialapi.wire.response import Reply, read_result
from socialapi.wire.retry import Failure, Wait, decide

NO_REASON: Final = "refused by the service without a reason"
LONGEST_REASON: Final = 500
IDS_SHOWN: Final = 5


@attrs.frozen(eq=False)
class ProductSender:
    """What a batch needs to be sent: where to, how, who counts, and where digests are kept."""

    session: Session
    target: Target[ProductResults]
    options: CallOptions
    tally: ProductTally
    digests: Digests | None
    observe: Observer

    async def settle(self, batch: ProductBatch) -> None:
        """Gives every product of the batch its outcome. Raises what stops the job; the others are then still pending.

        Only products without an answer are sent again, after waits that grow, until the job's patience is over.
        """
        waiting = {row.id: row for row in batch.rows}
        started, fruitless = self.session.clock.monotonic(), 0
        self.tally.sent_first += 1
        while waiting:
            results = await self._put(waiting.values())
            answered = [(waiting.pop(each.id), each) for each in results if each.id is not None and each.id in waiting]
            await self._note(answered)
            fruitless = 0 if answered else fruitless + 1
            if waiting:
                await self._wait(fruitless + 1, self.session.clock.monotonic() - started, list(waiting))

    async def _put(self, rows: Iterable[ProductRow]) -> Sequence[ProductResult]:
        body = b",".join(row.json for row in rows).join(ENVELOPE)
        request = assemble(self.target, self.session.config, {}, (body,))
        reply = await self.session.send(request, options=self.options, observer=self.observe, accept=self._why_not)
        return read_result(self.target.route, reply).products_response

    def _why_not(self, reply: Reply) -> Failure | None:
        """An answer that cannot be read is asked for again: the same products put twice are put once."""
        try:
            read_result(self.target.route, reply)
        except DecodeError as problem:
            return Failure("unknown", str(problem), reply.status)
        except ApiError:
            return None
        return None

    async def _wait(self, attempt: int, elapsed_seconds: float, missing: Sequence[str]) -> None:
        shown = ", ".join(missing[:IDS_SHOWN]) + (", …" if len(missing) > IDS_SHOWN else "")
        summary = f"{len(missing)} products of a request were not answered: {shown}"
        decision = decide(
            self.options.policy,
            repeatable=True,
            attempt=attempt,
            failure=Failure("unknown", summary),
            elapsed_seconds=elapsed_seconds,
            jitter=self.session.rng.random(),
        )
        if not isinstance(decision, Wait):
            raise ApiError(200, summary=summary, attempts=attempt)
        await self.session.clock.sleep(decision.seconds)

    async def _note(self, answered: Sequence[tuple[ProductRow, ProductResult]]) -> None:
        taken: list[tuple[ProductRow, ProductResult]] = []
        refused: list[Refused] = []
        for row, result in answered:
            self.tally.warn([RowIssue(row.number, *said(each), row.known_id) for each in result.warnings])
            if result.status in COUNTED:
                taken.append((row, result))
            else:
                refused.append((row, *reason_of(result)))
        self.tally.refuse(refused)
        if self.digests is not None:
            for row, _, _ in refused:
                self.digests.answered(row.id)
            # Before they count: what is noted as loaded must have been, and what is loaded is at worst sent once more.
            await self.digests.loaded([(row, result.product_key) for row, result in taken])
        for _, result in taken:
            self.tally.took(str(result.status))


def reason_of(result: ProductResult) -> tuple[str, str]:
    """The fields at fault, and what the service says about them."""
    found = [said(each) for each in result.errors]
    fields = ", ".join(dict.fromkeys(field for field, _ in found if field))
    reason = "; ".join(reason for _, reason in found)
    if not reason:
        reason = NO_REASON if result.status in (None, "ERROR") else f"the service answered the status {result.status}"
    return fields, reason[:LONGEST_REASON]


def said(message: Any) -> tuple[str, str]:
    """The field and the text of an error or warning, whose shape is not documented: a text, or an object with texts."""
    if not isinstance(message, Mapping):
        return "", str(message)
    field = message.get("field") or message.get("parameter") or message.get("attribute")
    code, text = message.get("code"), message.get("message") or message.get("detail")
    told = f"{code}: {text}" if code and text else str(text or code or NO_REASON)
    return (field if isinstance(field, str) else ""), told
