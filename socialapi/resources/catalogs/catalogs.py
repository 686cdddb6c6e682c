"""Product catalogs (catalogs documentation, section 4.6)."""

from socialapi.models.catalogs import ProductCatalog
from socialapi.resources.resource import Resource
from socialapi.routes import catalogs as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset


class Catalogs(Resource):
    """The catalogs of users, of which each has one. In early access."""

    def list(self, *, user_id: str | int | Unset = UNSET, start: str | None = None) -> Pager[ProductCatalog]:
        """The catalogs of the user, or of another one (section 4.6)."""
        query = {"user_id": user_id}
        return self._session.pages(routes.CATALOGS.at(), options=self._options, query=query, start=start)

    async def create(self, name: str, *, user_id: str | int | Unset = UNSET) -> ProductCatalog:
        """Creates the catalog of the user, or of another one (section 4.6). Not repeated when its outcome is unknown."""
        body = {"name": name, "user_id": user_id}
        return await self._session.call(routes.CATALOG_CREATE.at(), options=self._options, body=body)

    async def rename(self, product_catalog_id: str | int, name: str) -> ProductCatalog:
        """Gives a catalog another name (section 4.6)."""
        target = routes.CATALOG_RENAME.at(product_catalog_id=product_catalog_id)
        return await self._session.call(target, options=self._options, body={"name": name})

    async def delete(self, product_catalog_id: str | int) -> ProductCatalog:
        """Deletes a catalog with all its products, for good, and returns its record (section 4.6)."""
        target = routes.CATALOG_DELETE.at(product_catalog_id=product_catalog_id)
        return await self._session.call(target, options=self._options)
