"""One product catalog (catalogs documentation, sections 4.7 and 4.8)."""

from socialapi.resources.catalogs.catalog_scoped import CatalogScoped
from socialapi.resources.catalogs.product_sets import ProductSets
from socialapi.resources.catalogs.products import Products


class Catalog(CatalogScoped):
    """A catalog, by id."""

    @property
    def products(self) -> Products:
        """Its products."""
        return Products(self._session, self._options, self._catalog_id)

    @property
    def product_sets(self) -> ProductSets:
        """Its groups of products."""
        return ProductSets(self._session, self._options, self._catalog_id)
