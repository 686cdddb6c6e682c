"""Product catalogs and product sets (catalogs documentation, sections 4.6 and 4.8)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from socialapi.models.catalogs import ProductCatalog, ProductFilter, ProductSet, ProductSetType
from socialapi.resources.resource import Resource, without_none
from socialapi.routes import catalogs as routes
from socialapi.session.pager import Pager

if TYPE_CHECKING:
    from socialapi.resources.products import Products

AnyFilter = ProductFilter | Mapping[str, Any]
"""A filter, or a mapping with its fields."""


class ProductSets(Resource):
    """The product sets of a catalog: groups of products for ads."""

    async def get(self, product_set_id: str | int) -> ProductSet:
        """Returns one product set (section 4.8).

        `processing_status` says whether the products of a FILTERED set have been determined.
        """
        return await self._call(routes.PRODUCT_SET, product_set_id=product_set_id)

    async def create(
        self,
        name: str,
        type: ProductSetType,  # noqa: A002  # the documentation's own word
        *,
        description: str | None = None,
        filters: AnyFilter | Sequence[AnyFilter] | None = None,
        product_keys: str | int | Sequence[str | int] | None = None,
    ) -> ProductSet:
        """Creates a MANUAL set of the products with the given keys, or a FILTERED one (section
        4.8).

            await sets.create("Cheap", "FILTERED", filters=[ProductFilter("price", "LESS_THAN", "20 USD")])

        Returns the set. Raises InvalidInput if the keys or filters are missing. Not repeated if its
        outcome is unknown.
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
        """Returns the catalogs of the calling user or of `user_id` (section 4.6). `start` is a
        stored `Pager.position`.
        """
        query = {"user_id": user_id}
        return self._pages(routes.CATALOGS, query=query, start=start)

    async def create(self, name: str, *, user_id: str | int | None = None) -> ProductCatalog:
        """Creates the catalog of the calling user or of `user_id` (section 4.6). Returns its
        record.

        Not repeated if its outcome is unknown.
        """
        body = without_none(name=name, user_id=user_id)
        return await self._call(routes.CATALOG_CREATE, body=body)

    async def rename(self, product_catalog_id: str | int, name: str) -> ProductCatalog:
        """Renames a catalog. Returns the new record (section 4.6)."""
        return await self._call(routes.CATALOG_RENAME, body={"name": name}, product_catalog_id=product_catalog_id)

    async def delete(self, product_catalog_id: str | int) -> ProductCatalog:
        """Deletes a catalog and all its products for good. Returns its record (section 4.6)."""
        return await self._call(routes.CATALOG_DELETE, product_catalog_id=product_catalog_id)
