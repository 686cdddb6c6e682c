"""`socialapi demo`: an upload and a catalog load against a private emulator, with a proof at the
end.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from rich.console import Console
from rich.table import Table

from socialapi.cli import output
from socialapi.cli.demo_data import (
    DEFAULT_REGION,
    ExpectedOutcome,
    Member,
    write_crm_export,
    write_product_feed,
)
from socialapi.cli.emulator import private_emulator
from socialapi.cli.options import whole_number
from socialapi.cli.output import Output
from socialapi.cli.run_job import ProgressDisplay
from socialapi.client import Client
from socialapi.reports import UploadReport, UpsertReport

NEXT: Final = """
Next, keep an emulator running and upload a file of your own:
  socialapi emulator --detach --port 8080 --env-file emulator.env
  . ./emulator.env
  socialapi audience upload YOUR.csv --account 18ce54d4x5t --audience 1nmth --default-region US
http://localhost:8080/_emulator/ shows what arrives."""
PRODUCTS: Final = "/ads/12/product_catalogs/*/products"
CATALOG_FAULTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("HTTP 503 with Retry-After", {"fault": "status", "status": 503, "retry_after_seconds": 1}),
    ("connection reset after processing", {"fault": "reset_after"}),
    ("a product left out of the answer", {"fault": "product_missing"}),
)
MADE_BY_THE_SERVICE: Final = ("product_key", "item_group_key")

Held = dict[str, dict[str, Any]]
"""Products by id, without the fields that the service adds."""


async def show_catalog(client: Client, folder: Path, rows: int, console: Console) -> bool:
    """Loads a dirty feed and shows the result. Returns whether the emulator holds what it
    should.
    """
    path = folder / "feed.csv"
    console.print(f"Writing a product feed of {rows:,} rows …")
    expected = write_product_feed(path, rows)
    catalog = (await client.request("GET", "/_emulator/seed")).body["product_catalog_ids"][0]
    before = await held_by(client, catalog)
    for name, fault in CATALOG_FAULTS:
        console.print(f"Scripting a fault: {name}")
        await client.request("POST", "/_emulator/faults", json={"method": "PUT", "path": PRODUCTS, **fault})
    with ProgressDisplay(f"{path.name} → catalog {catalog}") as display:
        report = await client.catalog(catalog).products.upsert(path, on_progress=display)
    held, wanted = await held_by(client, catalog), {**before, **expected.products}
    _show_load(console, report)
    console.print(f"emulator holds exactly the expected products: {'yes' if held == wanted else 'no'}")
    counted = (report.read, report.accepted, report.rejected, report.warnings)
    true = (expected.read, expected.accepted, expected.rejected, expected.warnings)
    proven = held == wanted and counted == true and report.adds_up and not report.pending
    if not proven:
        wrong = sum(held.get(each) != wanted.get(each) for each in held.keys() | wanted.keys())
        console.print(f"NOT PROVEN: {wrong:,} products are not as they should be; expected {expected}")
    return proven


async def held_by(client: Client, catalog: str) -> Held:
    """Returns the products of a catalog as the emulator has them."""
    answer = await client.request("GET", f"/_emulator/catalogs/{catalog}/products")
    items = map(orjson.loads, answer.content.splitlines())
    return {item["id"]: {k: v for k, v in item.items() if k not in MADE_BY_THE_SERVICE} for item in items}


def _show_load(console: Console, report: UpsertReport) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("products read", f"{report.read:,}")
    for name in ("accepted", "rejected"):
        table.add_row(f"  {name}", f"{getattr(report, name):,}")
    table.add_row("warnings", f"{report.warnings:,}")
    table.add_row("requests", f"{report.requests:,}")
    table.add_row("retries", f"{report.retries:,}")
    table.add_row("products/s", f"{report.rows_per_second:,.0f}")
    console.print(table)
    console.print(
        f"{report.read:,} read = {report.accepted:,} accepted + {report.rejected:,} rejected: "
        f"{'yes' if report.adds_up and not report.pending and not report.duplicate else 'no'}"
    )


UPLOADS: Final = "/ads/12/accounts/*/custom_audiences/*/users"
FAULTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("HTTP 503 with Retry-After", {"fault": "status", "status": 503, "retry_after_seconds": 1}),
    ("connection reset after processing", {"fault": "reset_after"}),
    ("wrong counts in the answer", {"fault": "count_mismatch"}),
)


async def demo(
    *,
    rows: Annotated[int, whole_number(help="Rows of the CRM export.", least=1)] = 100_000,
    products: Annotated[int, whole_number(help="Rows of the product feed.", least=1)] = 5_000,
) -> int:
    """Runs the demo. Returns the exit status."""
    console = Output()
    with tempfile.TemporaryDirectory(prefix="socialapi-demo-") as folder:
        path = Path(folder) / "crm.csv"
        console.print(f"Writing a CRM export of {rows:,} rows …")
        expected = write_crm_export(path, rows)
        console.print("Starting a private emulator of the service …")
        async with private_emulator() as ready, _client(ready) as client:
            report, held = await _upload(client, path, console)
            counted = (report.read, report.accepted, report.rejected, report.duplicate)
            true = (expected.read, expected.accepted, expected.rejected, expected.duplicate)
            is_proven = counted == true and report.adds_up and held == expected.members
            _show(console, report, expected, held, proven=is_proven)
            is_proven &= await show_catalog(client, Path(folder), products, console)
    console.print(NEXT, soft_wrap=True)
    return output.DONE if is_proven else output.SERVICE


def _client(ready: Mapping[str, str]) -> Client:
    """Returns a client of the emulator from its ready line."""
    from socialapi.emulator.server import variables

    return Client.from_env(variables(ready))


async def _upload(client: Client, path: Path, console: Console) -> tuple[UploadReport, set[Member]]:
    seed = (await client.request("GET", "/_emulator/seed")).body
    account, audience = seed["account_ids"][0], seed["custom_audience_ids"][0]
    for name, fault in FAULTS:
        console.print(f"Scripting a fault: {name}")
        await client.request("POST", "/_emulator/faults", json={"method": "POST", "path": UPLOADS, **fault})
    with ProgressDisplay(f"{path.name} → audience {audience}") as display:
        target = client.ads.account(account).custom_audience(audience)
        report = await target.upload(path, default_region=DEFAULT_REGION, on_progress=display)
    members = await client.request("GET", f"/_emulator/audiences/{account}/{audience}/members")
    return report, {(item["kind"], item["value"]) for item in map(orjson.loads, members.content.splitlines())}


def _show(
    console: Console, report: UploadReport, expected: ExpectedOutcome, held: set[Member], *, proven: bool
) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("rows read", f"{report.read:,}")
    for name in ("accepted", "rejected", "duplicate"):
        table.add_row(f"  {name}", f"{getattr(report, name):,}")
    table.add_row("fields left out (warnings)", f"{report.warnings:,}")
    table.add_row("requests", f"{report.requests:,}")
    table.add_row("retries", f"{report.retries:,}")
    table.add_row("rows/s", f"{report.rows_per_second:,.0f}")
    table.add_row("quota used", f"{report.quota_used:.1%}")
    console.print(table)
    console.print(
        f"{report.read:,} read = {report.accepted:,} accepted + {report.rejected:,} rejected + "
        f"{report.duplicate:,} duplicate: {'yes' if report.adds_up and not report.pending else 'no'}"
    )
    console.print(f"emulator holds exactly the expected members: {'yes' if held == expected.members else 'no'}")
    _show_rejects(console, report)
    if not proven:
        lost, extra = len(expected.members - held), len(held - expected.members)
        console.print(f"NOT PROVEN: {lost:,} members missing, {extra:,} unexpected; expected {expected}")


def _show_rejects(console: Console, report: UploadReport) -> None:
    """Prints a rejected row for each of three reasons."""
    by_reason = {issue.reason: issue for issue in reversed(report.rejects)}
    shown = sorted(by_reason.values(), key=lambda issue: issue.row)[:3]
    console.print(f"{len(shown)} of the {report.rejected:,} rejected rows, each with its reason:")
    for issue in shown:
        what = ": ".join(filter(None, (issue.field, issue.reason)))
        console.print(f"  row {issue.row}: {what}", markup=False, soft_wrap=True)
