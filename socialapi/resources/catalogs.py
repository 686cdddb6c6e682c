"""Product catalogs, product sets and products (catalog documentation)."""

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

import attrs

from socialapi.bulk.job import OnProgress
from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.products.formats import ProductSource
from socialapi.bulk.products.job import UpsertJob, UpsertOptions
from socialapi.models.catalogs import ProductCatalog, ProductFilter, ProductSet, ProductSetType
from socialapi.models.model import Items
from socialapi.models.products import (
    Product,
    ProductDeletion,
    ProductResult,
    ProductsBody,
    ProductsQuery,
    StoredProduct,
)
from socialapi.models.validation import broken_rules
from socialapi.problems import BrokenRule
from socialapi.reports import UpsertReport
from socialapi.resources.arguments import check_arguments
from socialapi.resources.resource import Resource, several
from socialapi.routes import catalogs as routes
from socialapi.session.pager import Pager
from socialapi.unset import UNSET, Unset
from socialapi.wire.encode import shaped
from socialapi.wire.request import refuse


def check_products(shapes: Sequence[Any], *, now: datetime.datetime) -> None:
    """Raises InvalidInput with every rule that a product breaks, and for ids that stand there more than once."""
    refuse([*_broken(shapes, now), *_repeated(shapes)])


def _broken(shapes: Sequence[Any], now: datetime.datetime) -> Iterator[BrokenRule]:
    for index, shape in enumerate(shapes):
        name = shape.get("id") if isinstance(shape, Mapping) else None
        place = f"products[{index}]" + (f" ({name})" if isinstance(name, str) else "")
        for rule in broken_rules(Product, shape, now=now):
            yield attrs.evolve(rule, path=f"{place}.{rule.path}" if rule.path else place)


def _repeated(shapes: Sequence[Any]) -> Iterator[BrokenRule]:
    seen: set[Any] = set()
    for index, shape in enumerate(shapes):
        product_id = shape.get("id") if isinstance(shape, Mapping) else None
        if isinstance(product_id, str):
            if product_id in seen:
                reason = "stands in this request more than once, which makes the service ignore all of them"
                yield BrokenRule(path=f"products[{index}] ({product_id}).id", reason=reason)
            seen.add(product_id)


AnyFilter = ProductFilter | Mapping[str, Any]
"""A filter, or a mapping with its fields."""


class ProductSets(Resource):
    """Groups of products of a catalog, for ads."""

    async def get(self, product_set_id: str | int) -> ProductSet:
        """One set; `processing_status` says whether the products of a FILTERED one are found already (section 4.8)."""
        return await self._call(routes.PRODUCT_SET, product_set_id=product_set_id)

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
        return await self._call(routes.PRODUCT_SET_CREATE, body=body)


class UpsertKeywords(TypedDict, total=False):
    """The options of a load; each can be left out."""

    concurrency: int | Literal["auto"]
    """Requests of up to 25 products on their way at once: 8 unless given."""
    journal: str | os.PathLike[str] | Journal | None
    """File that makes the load resumable: the same call with the same journal goes on where it was, also after a kill.
    Made if missing; a load of another input, catalog or digest file is refused. Or an object with its methods."""
    rejects: str | os.PathLike[str] | None
    """File for the rejected products: row, field, reason and the whole row, to be corrected and given again."""
    dry_run: bool
    """Reads and checks everything, sends nothing, and forecasts requests and bytes in the report."""
    on_progress: OnProgress | None
    """Called with a `Progress` after every slice that was read and every request that was settled."""
    digests: str | os.PathLike[str] | None
    """File that remembers what was loaded: products that are the same as last time are skipped. Made if missing."""
    delete_vanished: bool
    """Deletes products of earlier loads that are not in this feed, once all of it was loaded; needs `digests`. Where a
    row could not be read nothing is deleted, and the load ends with BulkError: nobody knows then what has vanished."""
    max_vanished_share: float
    """Largest share of the products that may be deleted so; beyond it nothing is, and the job fails. 0.1 by default."""
    max_reject_share: float | None
    """Largest share of the products read that may be rejected, here or by the service; any share unless given. It is
    judged once 10,000 are read and at the end, and with `delete_vanished` before anything is sent: beyond it nothing new
    starts, and the load ends with BulkError."""
    allow_empty: bool
    """True (the default) gives an empty report for an input without products, False raises InvalidInput. With
    `delete_vanished` such an input is always refused."""


class Products(Resource):
    """Products of a catalog."""

    def list(self, *, start: str | None = None, **query: Unpack[ProductsQuery]) -> Pager[StoredProduct]:
        """The products; of a group only the one that was submitted first, unless the group is asked for by its
        `item_group_key` (section 4.7).
        """
        return self._pages(routes.PRODUCTS, query=query, start=start)

    async def put(
        self, products: Product | Mapping[str, Any] | Iterable[Product | Mapping[str, Any]]
    ) -> Items[ProductResult]:
        """Creates up to 25 products, or updates those whose ids are known, in one request (section 4.7).

        Returns what became of each: its `status`, and the service's errors and warnings. Raises InvalidInput with every
        broken rule, by product, field and rule, before anything is sent; an id that is given twice is one, since the
        service would ignore both. For any number of products there is `upsert`.
        """
        shapes = shaped(tuple[Product, ...], tuple(several(products)))
        check_products(shapes, now=self._session.now())
        results = await self._call(routes.PRODUCTS_PUT, body=ProductsBody(products=tuple(shapes)))
        return Items.of(results.products_response, results.partial_errors)

    async def upsert(self, products: ProductSource, **options: Unpack[UpsertKeywords]) -> UpsertReport:
        """Loads any number of products as a job, and reports what became of every one (section 4.7).

        `products` is a path or an open binary file (CSV or TSV with the names of the fields, JSON Lines, or a JSON array,
        each also packed with gzip or Zstandard; Parquet), a table (whatever has `__arrow_c_stream__`, like
        DataFrames), or an iterable or async iterable of `Product` or mappings. They are put 25 at a time, several requests
        at once; products with the same id are never in one request and keep their order, as do the variants of a group.
        What is not answered is sent again, and nothing else is. With `digests`, what has not changed since the last load is skipped; with
        `journal`, what an earlier run of the same load has confirmed is counted and not sent again.

        Raises InvalidInput for options and input that cannot be used at all, BulkError with the report so far when the
        service refuses the whole job, cannot be reached for `Config.max_elapsed_seconds`, or the input breaks.
        """
        check_arguments(UpsertKeywords, options)
        job = UpsertJob(
            self._session, self._path["product_catalog_id"], products, UpsertOptions(**options), self._options
        )
        return await job.run()

    async def delete(self, product_keys: str | int | Sequence[str | int]) -> Items[ProductDeletion]:
        """Deletes the products with the keys, for good (section 4.7).

        Returns what became of each: its `product_key`, or `failed_product_key` and a `message`. Not repeated when its
        outcome is unknown.
        """
        body = {"product_keys": product_keys}
        results = await self._call(routes.PRODUCTS_DELETE, body=body)
        return Items.of(results.delete_products, results.partial_errors)


class Catalog(Resource):
    """A catalog, by id."""

    @property
    def products(self) -> Products:
        """Its products."""
        return Products(self._session, self._options, **self._path)

    @property
    def product_sets(self) -> ProductSets:
        """Its groups of products."""
        return ProductSets(self._session, self._options, **self._path)


class Catalogs(Resource):
    """The catalogs of users, of which each has one. In early access."""

    def list(self, *, user_id: str | int | Unset = UNSET, start: str | None = None) -> Pager[ProductCatalog]:
        """The catalogs of the user, or of another one (section 4.6)."""
        query = {"user_id": user_id}
        return self._pages(routes.CATALOGS, query=query, start=start)

    async def create(self, name: str, *, user_id: str | int | Unset = UNSET) -> ProductCatalog:
        """Creates the catalog of the user, or of another one (section 4.6). Not repeated when its outcome is unknown."""
        body = {"name": name, "user_id": user_id}
        return await self._call(routes.CATALOG_CREATE, body=body)

    async def rename(self, product_catalog_id: str | int, name: str) -> ProductCatalog:
        """Gives a catalog another name (section 4.6)."""
        return await self._call(routes.CATALOG_RENAME, body={"name": name}, product_catalog_id=product_catalog_id)

    async def delete(self, product_catalog_id: str | int) -> ProductCatalog:
        """Deletes a catalog with all its products, for good, and returns its record (section 4.6)."""
        return await self._call(routes.CATALOG_DELETE, product_catalog_id=product_catalog_id)
