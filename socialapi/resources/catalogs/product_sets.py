"""Product sets (catalogs documentation, section 4.8)."""

from collections.abc import Mapping, Sequence
from typing import Any

from socialapi.models.catalogs import ProductFilter, ProductSet, ProductSetType
from socialapi.resources.catalogs.catalog_scoped import CatalogScoped
from socialapi.routes import catalogs as routes
from socialapi.unset import UNSET, Unset

AnyFilter = ProductFilter | Mapping[str, Any]
"""A filter, or a mapping with its fields."""


class ProductSets(CatalogScoped):
    """Groups of products of a catalog, for ads."""

    async def get(self, product_set_id: str | int) -> ProductSet:
        """One set; `processing_status` says whether the products of a FILTERED one are found already (section 4.8)."""
        target = routes.PRODUCT_SET.at(product_catalog_id=self._catalog_id, product_set_id=product_set_id)
        return await self._session.call(target, options=self._options)

    async def create(
        self,
        name: str,
        type: ProductSetType,  # noqa: A002  # the documentation's own word
        *,
        description: str | Unset = UNSET,
        filters: AnyFilter | Sequence[AnyFilter] | Unset = UNSET,
        product_keys: str | int | Sequence[str | int] | Unset = UNSET,
    ) -> ProductSet:
        """Creates a MANUAL set of the products with the keys, or a FILTERED one (section 4.8).

            await sets.create("Cheap", "FILTERED", filters=[ProductFilter("price", "LESS_THAN", "20 USD")])

        Raises InvalidInput where keys or filters are missing. Not repeated when its outcome is unknown.
        """
        body = {
            "name": name,
            "type": type,
            "description": description,
            "filters": filters,
            "product_keys": product_keys,
        }
        target = routes.PRODUCT_SET_CREATE.at(product_catalog_id=self._catalog_id)
        return await self._session.call(target, options=self._options, body=body)
