"""The products of a catalog."""

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack

import attrs

from socialapi.bulk.inputs.addresses import with_hidden_addresses
from socialapi.bulk.inputs.formats import Records
from socialapi.bulk.job import OutcomeKeywords
from socialapi.bulk.journals.journal import Journal
from socialapi.bulk.products.job import UpsertJob, UpsertOptions
from socialapi.bulk.progress import OnProgress, shown
from socialapi.models.model import Items
from socialapi.models.products import (
    Product,
    ProductDeletion,
    ProductResult,
    ProductsBody,
    ProductsQuery,
    StoredProduct,
)
from socialapi.models.validation import Faults, broken_rules
from socialapi.problems import BrokenRule
from socialapi.reports import LintReport, UpsertReport
from socialapi.resources.arguments import right_arguments
from socialapi.resources.resource import Resource, as_iterable
from socialapi.routes import catalogs as routes
from socialapi.session.pager import Pager
from socialapi.wire.encode import shaped
from socialapi.wire.request import refuse


def _broken_rules(shapes: Sequence[Any], now: datetime.datetime) -> list[BrokenRule]:
    """Returns all errors in the products, and at the end the ids that occur more than once."""
    broken, repeated, seen = list[BrokenRule](), list[BrokenRule](), set[str]()
    for index, shape in enumerate(shapes):
        product_id = shape.get("id") if isinstance(shape, Mapping) else None
        place = f"products[{index}]" + (f" ({product_id})" if isinstance(product_id, str) else "")
        for rule in broken_rules(Product, shape, now=now):
            broken.append(attrs.evolve(rule, path=f"{place}.{rule.path}" if rule.path else place))
        if isinstance(product_id, str):
            if product_id in seen:
                reason = "occurs more than once in this request, so the service would ignore all of them"
                repeated.append(BrokenRule(path=f"{place}.id", reason=reason))
            seen.add(product_id)
    return broken + repeated


class ProductReadingKeywords(TypedDict, total=False):
    """The options for reading products from an input. All are optional."""

    columns: Mapping[str, str | int | Sequence[str | int]] | None
    """Maps fields to columns or keys whose names are not recognized (`{"price": "Preis"}`). An empty name ignores a
    field.
    """
    constants: Mapping[str, str | int] | None
    """Field values for products that have none (`{"condition": "new"}`). `currency` is the currency of prices that have
    none.
    """
    header: bool
    """False if a CSV or TSV file has no header. `columns` must then contain column numbers, counted from 1: `{"id":
    1}`.
    """
    header_line: int | None
    """The number of the header line in a CSV or TSV file. By default, it is the first line, or one of the first twenty
    if a title or comments come first.
    """
    layout: str | os.PathLike[str] | None
    """A file from `lint(…, write_layout=)` that defines how to read the input. With a layout, the load does not guess,
    and rejects an input that no longer matches before it sends anything. It replaces `columns`, `header` and
    `header_line`.
    """


class UpsertKeywords(OutcomeKeywords, ProductReadingKeywords, total=False):
    """The options of a product load. All are optional."""

    concurrency: int | Literal["auto"]
    """Requests of up to 25 products in flight at once, 8 by default."""
    journal: str | os.PathLike[str] | Journal | None
    """A file that makes the load resumable, even if the process is killed: repeat the call with the same journal. The
    load creates it if it is missing. A load with a different input, catalog or digest file is rejected. It can also be
    an object with the methods of `Journal`.
    """
    rejects: str | os.PathLike[str] | None
    """File for the rejected products, with row number, field, reason and the complete row. You can correct and load
    this file.
    """
    dry_run: bool
    """If True, the load reads and validates everything, sends nothing, and forecasts requests and bytes in the report.
    """
    on_progress: OnProgress | None
    """Called with a `Progress` after each slice of the input and each completed request."""
    progress: bool
    """If True, shows the progress on standard error: a bar on a terminal or in a notebook, otherwise an occasional
    line.
    """
    digests: str | os.PathLike[str] | None
    """File that records the loaded products, so that the next load skips unchanged ones. Created if missing."""
    delete_vanished: bool
    """If True, the load deletes the products of earlier loads that are not in this input, after the complete input is
    loaded. Needs `digests`. If a row is unreadable, the load deletes nothing and raises BulkError, because it does not
    know which products have vanished.
    """
    max_vanished_share: float
    """The largest share of the products that may be deleted as vanished, 0.1 by default. If more would be deleted, the
    load deletes nothing and raises BulkError.
    """
    max_reject_share: float | None
    """The largest share of the products read that may be rejected, by the SDK or the service; no limit by default. It
    is checked after 10,000 products and at the end, and with `delete_vanished` before the load sends anything. If it is
    exceeded, no new requests start, and the load raises BulkError.
    """
    allow_empty: bool
    """If True (the default), an input without products results in an empty report; if False, in InvalidInput.
    `delete_vanished` always rejects such an input.
    """
    flush_after_seconds: float | None
    """For an async iterable: how long a product waits for its request to fill up, 5 seconds by default. With None,
    which is the default with a journal, products always wait for a full request.
    """


class ProductLintKeywords(ProductReadingKeywords, total=False):
    """The options of `lint`. All are optional."""

    write_layout: str | os.PathLike[str] | None
    """Output file for the layout of the input: its format, and the field of each column."""
    sample: int | None
    """Read at most this many rows, from the start."""
    progress: bool
    """The same as for a load."""


class Products(Resource):
    """The products of a catalog."""

    def list(self, *, start: str | None = None, **query: Unpack[ProductsQuery]) -> Pager[StoredProduct]:
        """Returns the products (`GET product_catalogs/:product_catalog_id/products`).

        Returns only the first submitted product of an item group, unless `item_group_key` selects the group. `start` is
        a stored `Pager.position`.
        """
        return self._pages(routes.PRODUCTS, query=query, start=start)

    async def put(
        self, products: Product | Mapping[str, Any] | Iterable[Product | Mapping[str, Any]]
    ) -> Items[ProductResult]:
        """Creates or updates up to 25 products, by id, in one request
        (`PUT product_catalogs/:product_catalog_id/products`).

        Returns one result per product: its `status`, and the service's errors and warnings. Raises InvalidInput with
        all errors, by product and field, before anything is sent. It also rejects a repeated id, because the service
        would ignore all products with that id. Use `upsert` for more products.
        """
        shapes = shaped(tuple[Product, ...], tuple(as_iterable(products)))
        refuse(_broken_rules(shapes, self._session.now()))
        results = await self._call(routes.PRODUCTS_PUT, body=ProductsBody(products=tuple(shapes)))
        return Items.of(results.products_response, results.partial_errors)

    async def upsert(self, products: Records, **options: Unpack[UpsertKeywords]) -> UpsertReport:
        """Loads any number of products as a job (`PUT product_catalogs/:product_catalog_id/products`).
        Returns a report that accounts for every product.

        `products` is a path, a pattern, a list of these or an open binary file (CSV, TSV, JSON Lines, a JSON array, RSS
        or Atom, each optionally compressed with gzip or Zstandard; Parquet), a table (any object with
        `__arrow_c_stream__`, such as a DataFrame), or an iterable or async iterable of `Product`, mappings or rows with
        named fields. The load reads names and values as merchants write them (`g:price`, `in_stock`, `9,99 EUR`). It
        sends 25 products in a request, and several requests at once. From a slow source, it sends products after
        `flush_after_seconds`. Products with the same id keep their order and are never in one request. The same applies
        to the variants of an item group. It resends only products that got no response. With `digests`, it skips
        products that have not changed since the last load. With `journal`, it counts the products that an earlier run
        of the same load confirmed, and does not send them again.

        Raises InvalidInput for unusable options or input. Raises BulkError, with the report so far, if the service
        rejects the load, if it cannot be reached for `Config.max_elapsed_seconds`, or if reading the input fails.
        """
        products, faults = with_hidden_addresses(products), Faults()
        with shown(right_arguments(UpsertKeywords, options, faults), products) as shown_options:
            settings = UpsertOptions(**shown_options)
            with faults:
                job = UpsertJob(self._session, self._path["product_catalog_id"], products, settings, self._options)
            faults.refuse()
            return await job.run()

    async def lint(self, products: Records, **options: Unpack[ProductLintKeywords]) -> LintReport:
        """Reads the products and reports what a load would do.

        Sends nothing. The report counts the missing, converted and rejected values of each field,
        with the reasons, and lists the ignored columns. Raises InvalidInput for unusable options or
        input.
        """
        from socialapi.bulk.linting.product_linter import lint_products

        products, faults = with_hidden_addresses(products), Faults()
        right = right_arguments(ProductLintKeywords, options, faults)
        with shown(right, products) as shown_options:
            if faults:
                with faults:  # adds the errors of the other options
                    await lint_products((), **shown_options | {"layout": None, "write_layout": None})
                faults.refuse()
            return await lint_products(
                products, now=self._session.now(), network=self._session.network, **shown_options
            )

    async def delete(self, product_keys: str | int | Sequence[str | int]) -> Items[ProductDeletion]:
        """Deletes the products with the given keys for good (`DELETE product_catalogs/:product_catalog_id/products`).

        Returns one result per product: its `product_key`, or `failed_product_key` and a `message`.
        Not retried if its outcome is unknown.
        """
        body = {"product_keys": product_keys}
        results = await self._call(routes.PRODUCTS_DELETE, body=body)
        return Items.of(results.delete_products, results.partial_errors)
