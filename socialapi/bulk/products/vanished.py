"""Finds and deletes products that are no longer in the input."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from socialapi.bulk.job import LimitExceeded
from socialapi.bulk.products.counters import ProductCounters
from socialapi.bulk.products.sender import LONGEST_REASON, field_and_message, wait_to_retry
from socialapi.bulk.products.snapshot import ASKED, REFUSED, Digests, Vanished
from socialapi.errors import ApiError, Forbidden, NotFound, RateLimited, ServerError, Unauthorized
from socialapi.models.products import ProductDeletion
from socialapi.reports import MAX_ISSUES_KEPT, RowIssue
from socialapi.routes import catalogs as routes
from socialapi.session.options import CallOptions
from socialapi.session.session import Session
from socialapi.wire.retry import Attempt, Observer

KEYS_AT_ONCE: Final = 25
"""The number of keys in a request. The service documents no limit, so this is its limit for loading products."""
NO_KEY: Final = "its product_key is not known"
NO_ANSWER: Final = "the service did not confirm the deletion"

_REPEATABLE: Final = attrs.evolve(routes.PRODUCTS_DELETE, repeatable=True, retry_undecodable=True)
"""The route that jobs use. Its requests may be retried, because deleting a product twice does no harm."""
_SERVICE_REFUSES: Final = (Unauthorized, Forbidden, RateLimited, ServerError)

# The service documents neither error codes nor messages for failed deletions. The pattern is strict, because a matching
# product is removed from the digest file.
_says_it_is_gone: Final = re.compile(
    r"not[ _-]?found|no such|no (?:product|item) (?:with|for)|not exist|n't exist|is not there|unknown (?:product|item)\b"
    r"|already (?:been )?(?:deleted|removed)|is gone",
    re.IGNORECASE,
).search


@attrs.frozen(eq=False)
class VanishedProducts:
    """Finds and deletes the products of earlier loads that are not in this feed.

    `stopped` returns whether the job has stopped, and `show` reports the progress.
    """

    session: Session
    catalog_id: str
    options: CallOptions
    digests: Digests
    counters: ProductCounters
    observe: Observer
    stopped: Callable[[], bool]
    show: Callable[[], None]

    async def count(self) -> tuple[int, int]:
        """Returns the number of vanished products, and how many of these no earlier load has tried to delete."""
        gone, new = await self.digests.count_vanished()
        if gone:
            first = await self.digests.vanished()
            self.counters.vanished, self.counters.vanished_ids = gone, [each.id for each in first[:MAX_ISSUES_KEPT]]
        return gone, new

    def check(self, new: int, max_share: float) -> None:
        """Raises InvalidInput if the vanished products must not be deleted.

        This is the case if some rows could not be read, because products that seem to have vanished may be in those
        rows. It is also the case if the newly vanished products exceed `max_share` of the products known before this
        load. Products that an earlier load tried to delete were already checked by that load.
        """
        if unreadable := self.counters.unreadable:
            rows = "1 row" if unreadable == 1 else f"{unreadable:,} rows"
            raise LimitExceeded(
                f"{rows} could not be read and may contain products that seem to have vanished; nothing was deleted"
            )
        known = self.digests.known_before
        if new > max_share * known:
            raise LimitExceeded(
                f"{new:,} of {known:,} products are not in the feed, more than the share of {max_share:.0%} that may "
                f"be deleted (max_vanished_share={max_share:g}): is the feed complete? Nothing was deleted"
            )

    async def delete(self) -> None:
        """Deletes the vanished products in portions, until none are left or the job stops.

        Deleted products are removed from the digest file. For each product that is not deleted, the report has a
        warning, and the next load tries again. Raises the error that stops the job if the service cannot be reached or
        rejects every request.
        """
        last, is_patient = "", True
        while not self.stopped() and (gone := await self.digests.vanished(last)):
            last = gone[-1].id
            is_patient = await self._delete_some(gone, is_patient=is_patient)

    async def _delete_some(self, gone: Sequence[Vanished], *, is_patient: bool) -> bool:
        """Deletes some products, and retries keys that the response omits if `is_patient`. Returns the value of
        `is_patient` for the next portion.
        """
        unknown = [each for each in gone if each.key is None]
        await self.digests.note_deletion([each.id for each in unknown], REFUSED)
        self._not_deleted((each, NO_KEY) for each in unknown)
        waiting = {each.key: each for each in gone if each.key is not None}
        maybe_deleted = {key for key, each in waiting.items() if each.may_be_deleted}
        # A load does not wait as long for keys that responses repeatedly omit as for an unavailable service.
        options = attrs.evolve(self.options, policy=attrs.evolve(self.options.policy, max_elapsed_seconds=None))
        rounds = fruitless = 0
        while waiting and not self.stopped():
            before, rounds = len(waiting), rounds + 1
            await self._ask_for_all(waiting, maybe_deleted, is_first=rounds == 1)
            fruitless = 0 if len(waiting) < before else fruitless + 1
            if waiting and not (is_patient and await wait_to_retry(self.session, options, fruitless or 1, 0.0)):
                is_patient = False
                break
        if not self.stopped():
            self._not_deleted((each, NO_ANSWER) for each in waiting.values())
        return is_patient

    async def _ask_for_all(self, waiting: dict[str, Vanished], maybe_deleted: set[str], *, is_first: bool) -> None:
        """Requests the deletion of all products in `waiting`. Products without a result stay in `waiting`, because they
        may have been deleted.
        """
        keys = list(waiting)
        for start in range(0, len(keys), KEYS_AT_ONCE):
            if self.stopped():
                return
            some = keys[start : start + KEYS_AT_ONCE]
            self.counters.sent_first += is_first
            try:
                await self._delete(some, waiting, maybe_deleted)
            except BaseException:
                self.counters.unconfirmed += sum(key in waiting for key in some)
                raise
            maybe_deleted.update(key for key in some if key in waiting)  # an omitted product may have been deleted
            self.show()

    async def _delete(self, keys: Sequence[str], waiting: dict[str, Vanished], maybe_deleted: set[str]) -> None:
        """Sends one request to delete these products. If the service refuses it, sends one request per product."""
        await self.digests.note_deletion([waiting[key].id for key in keys], ASKED)

        def observe(attempt: Attempt) -> None:
            if attempt.failure is not None and attempt.failure.executed == "unknown":
                maybe_deleted.update(keys)
            self.observe(attempt)

        target = _REPEATABLE.at(product_catalog_id=self.catalog_id)
        call = self.session.prepare(target, options=self.options, body={"product_keys": tuple(keys)})
        call.observer = observe
        results: Sequence[ProductDeletion] = ()
        refusal: ApiError | None = None
        try:
            results = (await self.session.call(call)).delete_products
        except ApiError as problem:
            if _concerns_all(problem):
                raise
            refusal = problem
        if refusal is not None and len(keys) > 1:
            for key in keys:
                if self.stopped():
                    return
                self.counters.sent_first += 1
                await self._delete([key], waiting, maybe_deleted)
            return
        if refusal is not None:
            message = f"not found ({refusal})" if isinstance(refusal, NotFound) else str(refusal)
            results = [ProductDeletion(failed_product_key=keys[0], message=message)]
        await self._settle(keys, results, waiting, maybe_deleted)

    async def _settle(
        self,
        keys: Sequence[str],
        results: Sequence[ProductDeletion],
        waiting: dict[str, Vanished],
        maybe_deleted: set[str],
    ) -> None:
        """Removes those of the keys that have a result from `waiting`, and records their outcomes."""
        failed = dict[str | None, str]()
        for each in results:
            _, why = field_and_message({**each.extra, "message": each.message})
            failed[each.failed_product_key] = why[:LONGEST_REASON]
        deleted = {each.product_key for each in results} - failed.keys()
        # If an earlier response was lost and the product is gone now, the earlier request deleted it.
        deleted |= {key for key, why in failed.items() if key in maybe_deleted and _says_it_is_gone(why) is not None}
        found = {key: waiting.pop(key) for key in keys if key in deleted or key in failed}
        await self.digests.forget([each.id for key, each in found.items() if key in deleted])
        self.counters.deleted += sum(key in deleted for key in found)
        left = [(each, failed[key]) for key, each in found.items() if key not in deleted]
        # A refusal after a lost response does not prove that the product exists: the earlier request may have deleted it.
        refused = [each.id for key, each in found.items() if key not in deleted | maybe_deleted]
        await self.digests.note_deletion(refused, REFUSED)
        self._not_deleted(left)

    def _not_deleted(self, products: Iterable[tuple[Vanished, str]]) -> None:
        issues = [RowIssue(0, "", f"was not deleted: {why}", each.id) for each, why in products]
        self.counters.unconfirmed += len(issues)
        self.counters.warn(issues)


def _concerns_all(problem: ApiError) -> bool:
    """Returns whether the service would probably refuse every other request as well."""
    if isinstance(problem, _SERVICE_REFUSES) or not problem.is_lasting:
        return True
    return not (400 <= problem.status < 500 or problem.errors or problem.problems)
