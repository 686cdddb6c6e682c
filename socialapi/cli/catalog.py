"""`socialapi catalog`: listing and creating product catalogs, and loading products."""

from pathlib import Path
from typing import Annotated, Any, Final

import attrs
from cyclopts import App, Parameter, validators

from socialapi.bulk.linting.product_linter import lint_products
from socialapi.bulk.progress import OnProgress
from socialapi.cli import output
from socialapi.cli.credential_store import open_client
from socialapi.cli.formats import Column, ListKind, print_json, print_row
from socialapi.cli.jobs import CommandJournal, command_line
from socialapi.cli.listing import ALL_PAGES, AsJson, PagedFlags, print_pages
from socialapi.cli.options import (
    AllowEmpty,
    AsReport,
    DryRun,
    Feeds,
    FieldColumn,
    FieldValue,
    HeaderLine,
    JournalOption,
    KeyOption,
    LayoutOption,
    MaxRejectShare,
    NoHeader,
    OutcomesOption,
    WriteLayout,
    dated_path,
    keywords_of,
    lasting,
    records_of,
    title_of,
    whole_number,
)
from socialapi.cli.run_job import run_job
from socialapi.cli.run_lint import run_lint
from socialapi.client import Client
from socialapi.models.catalogs import ProductCatalog
from socialapi.models.products import StoredProduct
from socialapi.reports import UpsertReport
from socialapi.wire.encode import json_shape

app: Final = App(name="catalog")

CatalogId = Annotated[str, Parameter(help="Id of the catalog.")]
Concurrency = Annotated[
    int | None, whole_number(help="Requests of 25 products in flight at the same time; by default 8.", least=1)
]
Rejects = Annotated[
    Path | None,
    Parameter(
        help="Write rejected products here: row, field, reason, and the complete row for you to correct. Open the file "
        "as text: a spreadsheet would run cells such as =… as formulas. %Y-%m-%d in the name becomes the date.",
        converter=dated_path,
    ),
]


DigestFile = Annotated[
    Path | None,
    Parameter(
        help="File with digests of the loaded products, to skip unchanged products and list vanished ones.",
        validator=lasting("--digests"),
    ),
]
DeleteVanished = Annotated[
    bool,
    Parameter(
        help="Delete products of earlier loads that are missing from the file. Needs a readable id in every row."
    ),
]
MaxVanishedShare = Annotated[
    float,
    Parameter(
        help="Largest share of the products that --delete-vanished may delete; it deletes none if there are more.",
        validator=validators.Number(gt=0, lte=1),
    ),
]


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class FeedFlags:
    """The options of loads and lints."""

    column: FieldColumn = None
    set_: FieldValue = None
    no_header: NoHeader = False
    header_line: HeaderLine = None
    layout: LayoutOption = None
    allow_empty: AllowEmpty = False
    json: AsReport = False


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class UpsertFlags(FeedFlags):
    """The options of a load."""

    catalog: CatalogId
    dry_run: DryRun = False
    journal: JournalOption = None
    rejects: Rejects = None
    key: KeyOption = None
    outcomes: OutcomesOption = None
    digests: DigestFile = None
    delete_vanished: DeleteVanished = False
    max_vanished_share: MaxVanishedShare = 0.1
    max_reject_share: MaxRejectShare = None
    concurrency: Concurrency = None


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class FeedLintFlags(FeedFlags):
    """The options of a lint."""

    write_layout: WriteLayout = None
    sample: Annotated[int | None, whole_number(help="Check at most this many products, from the start.", least=1)] = (
        None
    )


NO_FLAGS: Final = FeedLintFlags()


@app.command
async def upsert(files: Feeds, /, *, flags: UpsertFlags) -> int:
    """Load products into a catalog: products with known ids are updated, others are created.

    For example: `socialapi catalog upsert feed.csv --catalog 7pc01 --digests shop.digests --rejects rejects.csv`.
    Columns are found by field names and by the names that merchants use (g:price, image url); --column maps other
    columns. Ignored columns are listed. `socialapi catalog lint` checks a feed without loading it.

    Exit status: 0 nothing rejected, 1 some products rejected, 2 wrong usage or unusable file (or
    vanished products that may not be deleted), 3 refused by the service or unreachable, 130
    interrupted. With --journal, `socialapi jobs resume` continues after 3, 130 and a kill.
    """
    keywords, records = keywords_of(flags, "catalog"), records_of(files)
    if flags.journal is not None:
        again = command_line(("catalog", "upsert"), files, attrs.asdict(flags, recurse=False))
        keywords["journal"] = CommandJournal(flags.journal, again)

    async def job(client: Client, display: OnProgress) -> UpsertReport:
        return await client.catalog(flags.catalog).products.upsert(records, on_progress=display, **keywords)

    return await run_job(job, title_of(files), dry_run=flags.dry_run, as_json=flags.json, journal=keywords["journal"])


@app.command
async def lint(files: Feeds, /, *, flags: FeedLintFlags = NO_FLAGS) -> int:
    """Check a feed before you load it: show the columns that are read, the values that are converted, and the products
    that would be rejected.

    For example: `socialapi catalog lint feed.xml`. Nothing is sent, and no credentials are needed.
    Exit status: 0 no problems, 1 products that would be rejected, 2 wrong usage or unusable file.
    """
    return await run_lint(lint_products, files, keywords_of(flags), as_json=flags.json, is_feed=True)


def _said(item: ProductCatalog | StoredProduct) -> dict[str, Any]:
    return {name: value for name, value in json_shape(item).items() if value is not None}


_CATALOGS: Final = ListKind[ProductCatalog](
    name="catalog",
    record=ProductCatalog,
    columns=(Column("id", lambda catalog: catalog.id, is_whole=True), Column("name", lambda catalog: catalog.name)),
    to_json=_said,
)
_PRODUCTS: Final = ListKind[StoredProduct](
    name="product",
    record=StoredProduct,
    columns=(
        Column("id", lambda product: product.id, is_whole=True),
        Column("price", lambda product: product.price, is_whole=True),
        Column("availability", lambda product: product.availability),
        Column("title", lambda product: product.title),
    ),
    to_json=_said,
)


@app.command(name="list")
async def list_(*, flags: PagedFlags = ALL_PAGES) -> int:
    """Print the catalogs of the user, who has at most one.

    For example: `socialapi catalog list --json`. Exit status: 0 done, 2 wrong usage, 3 refused by
    the service or unreachable.
    """
    async with open_client() as client:
        await print_pages(
            client.catalogs.list(start=flags.start),
            _CATALOGS,
            flags,
            if_none="there are no catalogs; `socialapi catalog create` creates one",
        )
    return output.DONE


@app.command
async def create(name: Annotated[str, Parameter(help="Name of the catalog.")], /, *, json: AsJson = False) -> int:
    """Create the catalog of the user.

    For example: `socialapi catalog create "Autumn"`. Exit status: 0 created, 2 wrong usage, 3 refused (a user has at
    most one catalog) or unreachable.
    """
    async with open_client() as client:
        made = await client.catalogs.create(name)
    if json:
        print_json(_said(made))
    else:
        print_row(_CATALOGS, made)
    return output.DONE


@app.command
async def products(
    catalog: Annotated[str, Parameter(help="Id of the catalog.")],
    /,
    *,
    group: Annotated[
        str | None, Parameter(help="All variants of the group with this item_group_key; by default, one per group.")
    ] = None,
    flags: PagedFlags = ALL_PAGES,
) -> int:
    """Print the products of a catalog, and for each item group only the product that was submitted first.

    For example: `socialapi catalog products 7pc01 --limit 20`, or for a file with the complete catalog,
    `socialapi catalog products 7pc01 --output-file products.csv`. Exit status: 0 done, 2 wrong usage, 3 refused by the service or unreachable, 130 interrupted.
    """
    async with open_client() as client:
        listed = client.catalog(catalog).products
        query: dict[str, Any] = {} if group is None else {"item_group_key": group}
        found = listed.list(start=flags.start, **query)
        await print_pages(found, _PRODUCTS, flags, if_none="there are no such products")
    return output.DONE
