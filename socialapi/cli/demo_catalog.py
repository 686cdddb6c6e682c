"""The second half of `socialapi demo`: a product feed is loaded, and the catalog compared product by product."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
from rich.console import Console
from rich.table import Table

from socialapi.cli.product_feed import ExpectedCatalog, write_product_feed
from socialapi.cli.progress import ProgressDisplay
from socialapi.client import Client
from socialapi.reports import UpsertReport

PRODUCTS: Final = "/ads/12/product_catalogs/*/products"
FAULTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("HTTP 503 with Retry-After", {"fault": "status", "status": 503, "retry_after_seconds": 1}),
    ("connection reset after processing", {"fault": "reset_after"}),
    ("a product left out of the answer", {"fault": "product_missing"}),
)
MADE_BY_THE_SERVICE: Final = ("product_key", "item_group_key")

Held = dict[str, dict[str, Any]]
"""Products by id, without what the service adds."""


async def show_catalog(client: Client, folder: Path, rows: int, console: Console) -> bool:
    """Loads a dirty feed, shows what came of it, and says whether the emulator holds exactly what it should."""
    path = folder / "feed.csv"
    console.print(f"Writing a product feed of {rows:,} rows …")
    expected = write_product_feed(path, rows)
    catalog = (await client.request("GET", "/_emulator/seed")).body["product_catalog_ids"][0]
    before = await held_by(client, catalog)
    for name, fault in FAULTS:
        console.print(f"Scripting a fault: {name}")
        await client.request("POST", "/_emulator/faults", json={"method": "PUT", "path": PRODUCTS, **fault})
    with ProgressDisplay(f"{path.name} → catalog {catalog}") as display:
        report = await client.catalog(catalog).products.upsert(path, on_progress=display)
    held, wanted = await held_by(client, catalog), {**before, **expected.products}
    _show(console, report)
    console.print(f"emulator holds exactly the expected products: {'yes' if held == wanted else 'no'}")
    proven = held == wanted and _counted(report, expected)
    if not proven:
        wrong = sum(held.get(each) != wanted.get(each) for each in held.keys() | wanted.keys())
        console.print(f"NOT PROVEN: {wrong:,} products are not as they should be; expected {expected}")
    return proven


async def held_by(client: Client, catalog: str) -> Held:
    """The products of a catalog as the emulator has them."""
    answer = await client.request("GET", f"/_emulator/catalogs/{catalog}/products")
    items = map(orjson.loads, answer.content.splitlines())
    return {item["id"]: {k: v for k, v in item.items() if k not in MADE_BY_THE_SERVICE} for item in items}


def _counted(report: UpsertReport, expected: ExpectedCatalog) -> bool:
    counted = (report.read, report.accepted, report.rejected, report.warnings)
    true = (expected.read, expected.accepted, expected.rejected, expected.warnings)
    return counted == true and report.adds_up and not report.pending


def _show(console: Console, report: UpsertReport) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("products read", f"{report.read:,}")
    for name in ("accepted", "rejected"):
        table.add_row(f"  {name}", f"{getattr(report, name):,}")
    table.add_row("warnings of the service", f"{report.warnings:,}")
    table.add_row("requests", f"{report.requests:,}")
    table.add_row("retries", f"{report.retries:,}")
    table.add_row("products/s", f"{report.rows_per_second:,.0f}")
    console.print(table)
    console.print(
        f"{report.read:,} read = {report.accepted:,} accepted + {report.rejected:,} rejected: "
        f"{'yes' if report.adds_up and not report.pending and not report.duplicate else 'no'}"
    )
