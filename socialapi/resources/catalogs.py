"""Product catalogs and product sets."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from socialapi.errors import NotReady
from socialapi.models.catalogs import ProductCatalog, ProductFilter, ProductSet, ProductSetType
from socialapi.models.validation import Faults, invalid
from socialapi.resources.arguments import check_argument
from socialapi.resources.resource import Resource, without_none
from socialapi.routes import catalogs as routes
from socialapi.session.pager import Pager

if TYPE_CHECKING:
    from socialapi.resources.products import Products

FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 15.0

AnyFilter = ProductFilter | Mapping[str, Any]
"""A filter, or a mapping with its fields."""


class ProductSets(Resource):
    """The product sets of a catalog: groups of products for ads."""

    async def get(self, product_set_id: str | int) -> ProductSet:
        """Returns one product set (`GET product_catalogs/:product_catalog_id/product_sets/:product_set_id`).

        `processing_status` says whether the service has found the products of a FILTERED set. `wait` waits for this.
        """
        return await self._call(routes.PRODUCT_SET, product_set_id=product_set_id)

    async def wait(
        self,
        product_set_id: str | int,
        *,
        timeout_seconds: float = 600.0,
        on_progress: Callable[[ProductSet], None] | None = None,
    ) -> ProductSet:
        """Waits until the service has found the products of a FILTERED set.

        Returns the set, with the `processing_status` DONE or FAILED. Reads the set again after 1 s,
        2 s, 4 s and so on, up to 15 s. Calls `on_progress` with the set whenever it is not ready.
        Returns a MANUAL set immediately. Raises NotReady after `timeout_seconds`.
        """
        faults = Faults()
        with faults:
            check_argument("timeout_seconds", float | int, timeout_seconds)
        with faults:
            check_argument("on_progress", Callable | None, on_progress)
            if inspect.iscoroutinefunction(on_progress):
                raise invalid("on_progress", "is called, not awaited: pass a plain function")
        faults.refuse()
        clock, pause = self._session.clock, FIRST_PAUSE_SECONDS
        ends_at = clock.monotonic() + timeout_seconds
        while (found := await self.get(product_set_id)).processing_status == "PROCESSING":
            if on_progress is not None:
                on_progress(found)
            if (left := ends_at - clock.monotonic()) <= 0:
                raise NotReady(f"the product set {found.id} was not ready within {timeout_seconds:g} s", found)
            await clock.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return found

    async def create(
        self,
        name: str,
        type: ProductSetType,  # noqa: A002  # the documentation's own word
        *,
        description: str | None = None,
        filters: AnyFilter | Sequence[AnyFilter] | None = None,
        product_keys: str | int | Sequence[str | int] | None = None,
    ) -> ProductSet:
        """Creates a MANUAL set of the products with the given keys, or a FILTERED one
        (`POST product_catalogs/:product_catalog_id/product_sets`).

            await sets.create("Cheap", "FILTERED", filters=[ProductFilter("price", "LESS_THAN", "20 USD")])

        Returns the set. Raises InvalidInput if the keys or filters are missing. Not retried if its outcome is unknown.
        """
        body = without_none(name=name, type=type, description=description, filters=filters, product_keys=product_keys)
        return await self._call(routes.PRODUCT_SET_CREATE, body=body)


class Catalog(Resource):
    """One product catalog."""

    @property
    def products(self) -> "Products":
        """The products of the catalog."""
        from socialapi.resources.products import Products

        return Products(self._session, self._options, **self._path)

    @property
    def product_sets(self) -> ProductSets:
        """The product sets of the catalog."""
        return ProductSets(self._session, self._options, **self._path)


class Catalogs(Resource):
    """The product catalogs of users, at most one per user. In early access."""

    def list(self, *, user_id: str | int | None = None, start: str | None = None) -> Pager[ProductCatalog]:
        """Returns the catalogs of the calling user or of `user_id` (`GET product_catalogs`). `start` is a
        stored `Pager.position`.
        """
        query = {"user_id": user_id}
        return self._pages(routes.CATALOGS, query=query, start=start)

    async def create(self, name: str, *, user_id: str | int | None = None) -> ProductCatalog:
        """Creates the catalog of the calling user or of `user_id` (`POST product_catalogs`). Returns its record.

        Not retried if its outcome is unknown.
        """
        body = without_none(name=name, user_id=user_id)
        return await self._call(routes.CATALOG_CREATE, body=body)

    async def rename(self, product_catalog_id: str | int, name: str) -> ProductCatalog:
        """Renames a catalog (`PUT product_catalogs/:product_catalog_id`). Returns the new record."""
        return await self._call(routes.CATALOG_RENAME, body={"name": name}, product_catalog_id=product_catalog_id)

    async def delete(self, product_catalog_id: str | int) -> ProductCatalog:
        """Deletes a catalog and all its products for good (`DELETE product_catalogs/:product_catalog_id`).
        Returns its record.
        """
        return await self._call(routes.CATALOG_DELETE, product_catalog_id=product_catalog_id)
