"""Products that a feed does not have any more: finding them, and deleting them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from socialapi.bulk.products.digests import Digests
from socialapi.bulk.products.tally import ProductTally
from socialapi.errors import InvalidInput
from socialapi.models.products import ProductDeletion
from socialapi.reports import RowIssue
from socialapi.routes import catalogs as routes
from socialapi.session.calls import CallOptions, Observer
from socialapi.session.session import Session
from socialapi.wire.request import build_request
from socialapi.wire.response import read_result

KEYS_AT_ONCE: Final = 25
"""No number is documented; that of products in a request is assumed."""

_REPEATABLE: Final = attrs.evolve(routes.PRODUCTS_DELETE, repeatable=True)
"""For a job: deleting twice is deleting once."""

Gone = tuple[str, str | None]
"""The id and the key of a product."""


@attrs.frozen(eq=False)
class VanishedProducts:
    """What is needed to deal with them: where they are, who remembers them, who counts, and who watches.

    `stopped` says that nothing is sent any more, `show` tells how far it is.
    """

    session: Session
    catalog_id: str
    options: CallOptions
    digests: Digests
    tally: ProductTally
    observe: Observer
    stopped: Callable[[], bool]
    show: Callable[[], None]

    async def find(self) -> Sequence[Gone]:
        """The products of earlier loads that this feed does not have, counted as vanished."""
        gone = await self.digests.vanished()
        for product_id, _ in gone:
            self.tally.noticed_vanished(product_id)
        return gone

    def check(self, gone: Sequence[Gone], max_share: float) -> None:
        """Raises InvalidInput when they may not be deleted.

        Either nobody knows what has vanished, since rows could not be read, or they are more than the share of what
        was there before this load.
        """
        if unreadable := self.tally.unreadable:
            rows = "1 row" if unreadable == 1 else f"{unreadable:,} rows"
            raise InvalidInput(f"{rows} could not be read, so nobody knows what has vanished; nothing was deleted")
        known = self.digests.known_before
        if len(gone) > max_share * known:
            raise InvalidInput(
                f"{len(gone):,} of {known:,} products are not in the feed, more than the share of {max_share:.0%} that may "
                "be deleted (max_vanished_share): is the feed complete? Nothing was deleted"
            )

    async def delete(self, gone: Sequence[Gone]) -> None:
        """Deletes them, until the job is stopped.

        What the service has deleted is forgotten; of the others the report has a warning, and the next load tries
        again. Raises what stops the job.
        """
        self._not_deleted((product_id, "its product_key is not known") for product_id, key in gone if key is None)
        keyed = [(product_id, key) for product_id, key in gone if key is not None]
        for start in range(0, len(keyed), KEYS_AT_ONCE):
            if self.stopped():
                return
            ids = {key: product_id for product_id, key in keyed[start : start + KEYS_AT_ONCE]}
            results = await self._ask(tuple(ids))
            failed = {each.failed_product_key: each.message for each in results if each.failed_product_key in ids}
            deleted = {each.product_key for each in results if each.product_key in ids} - failed.keys()
            await self.digests.forget([ids[key] for key in ids if key in deleted])
            self.tally.deleted += len(deleted)
            left = [key for key in ids if key not in deleted]
            self._not_deleted((ids[key], failed.get(key) or "the service did not say why") for key in left)
            self.show()

    async def _ask(self, keys: tuple[str, ...]) -> Sequence[ProductDeletion]:
        target = _REPEATABLE.at(product_catalog_id=self.catalog_id)
        now = self.session.now()
        request = build_request(target, self.session.config, now=now, query=None, body={"product_keys": keys})
        self.tally.sent_first += 1
        reply = await self.session.send(request, options=self.options, observer=self.observe)
        return read_result(target.route, reply).delete_products

    def _not_deleted(self, products: Iterable[tuple[str, str]]) -> None:
        self.tally.warn([RowIssue(0, "", f"was not deleted: {why}", product_id) for product_id, why in products])
