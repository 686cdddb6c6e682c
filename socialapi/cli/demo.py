"""`socialapi demo`: an upload and a catalog load against a private emulator, with a proof at the end."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import orjson

from socialapi.bulk.progress import ProgressDisplay
from socialapi.cli import output
from socialapi.cli.demo_data import DEFAULT_REGION, Member, write_crm_export, write_product_feed
from socialapi.cli.emulator import private_emulator, this_program
from socialapi.cli.options import whole_number
from socialapi.client import Client
from socialapi.errors import ConfigurationError
from socialapi.reports import UploadReport

NEXT: Final = """
Next, keep an emulator running and upload a file of your own:
  socialapi emulator --detach --port 8080 --env-file emulator.env
  . ./emulator.env
  socialapi audience upload YOUR.csv --account 18ce54d4x5t --audience 1nmth --default-region US
http://localhost:8080/_emulator/ shows what arrives."""
UPLOADS: Final = "/ads/12/accounts/*/custom_audiences/*/users"
PRODUCTS: Final = "/ads/12/product_catalogs/*/products"
FAULTS: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("HTTP 503 with Retry-After", {"fault": "status", "status": 503, "retry_after_seconds": 1}),
    ("connection reset after processing", {"fault": "reset_after"}),
    ("wrong counts in the response", {"fault": "count_mismatch"}),
)
CATALOG_FAULTS: Final = (*FAULTS[:2], ("a product missing from the response", {"fault": "product_missing"}))
MADE_BY_THE_SERVICE: Final = ("product_key", "item_group_key")
MOST_ROWS_OF_A_REQUEST: Final = 2_500
POLL_SECONDS: Final = 0.05
KILL_TIMEOUT_SECONDS: Final = 600.0


async def demo(
    *,
    rows: Annotated[int, whole_number(help="Rows of the CRM export.", least=1)] = 100_000,
    products: Annotated[int, whole_number(help="Rows of the product feed.", least=1)] = 5_000,
) -> int:
    """Runs the demo. Returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="socialapi-demo-") as name:
        folder = Path(name)
        output.print_line("Starting a private emulator of the service …")
        async with private_emulator() as ready:
            from socialapi.emulator.server import variables

            batch = min(MOST_ROWS_OF_A_REQUEST, -(-rows // 2))  # so that some requests remain after the kill
            settings = {**variables(ready), "SOCIALAPI_MAX_OPERATIONS": str(batch)}
            async with Client.from_env(settings) as client:
                is_proven = await _show_audience(client, folder, rows, settings)
                is_proven &= await _show_catalog(client, folder, products)
    output.print_line(NEXT)
    return output.DONE if is_proven else output.SERVICE


async def _show_audience(client: Client, folder: Path, rows: int, settings: Mapping[str, str]) -> bool:
    """Uploads a dirty export despite faults, and prints the result. Returns whether the final members are correct."""
    path = folder / "crm.csv"
    output.print_line(f"Writing a CRM export of {rows:,} rows …")
    expected = write_crm_export(path, rows)
    seed = (await client.request("GET", "/_emulator/seed")).body
    account, audience = seed["account_ids"][0], seed["custom_audience_ids"][0]
    await _kill_upload(
        client, path, rows // int(settings["SOCIALAPI_MAX_OPERATIONS"]) // 2, (account, audience), settings
    )
    await _script(client, "POST", UPLOADS, FAULTS)
    output.print_line("Resuming the upload from its journal …")
    with ProgressDisplay(path.name) as display:
        report = (
            await client.ads.account(account)
            .custom_audience(audience)
            .upload(path, default_region=DEFAULT_REGION, journal=path.with_suffix(".journal"), on_progress=display)
        )
    members = await client.request("GET", f"/_emulator/audiences/{account}/{audience}/members")
    held: set[Member] = {(item["kind"], item["value"]) for item in map(orjson.loads, members.content.splitlines())}
    counts = ("accepted", "rejected", "duplicate")
    lines = [
        ("  of them before the kill", f"{report.resumed:,}"),
        *_counted(report, counts),
        ("fields left out (warnings)", f"{report.warnings:,}"),
    ]
    output.print_pairs([("rows read", f"{report.read:,}"), *lines, *_costs(report)], are_numbers=True)
    _say_sum(report, counts)
    output.print_line(f"emulator holds exactly the expected members: {'yes' if held == expected.members else 'no'}")
    by_reason = {issue.reason: issue for issue in reversed(report.rejects)}
    shown = sorted(by_reason.values(), key=lambda issue: issue.row)[:3]
    output.print_line(f"{len(shown)} of the {report.rejected:,} rejected rows, each with its reason:")
    for issue in shown:
        what = ": ".join(filter(None, (issue.field, issue.reason)))
        output.print_text(f"  row {issue.row}: {what}")
    is_counted = all(getattr(report, name) == getattr(expected, name) for name in ("read", *counts))
    is_proven = is_counted and report.adds_up and held == expected.members
    if not is_proven:
        lost, extra = len(expected.members - held), len(held - expected.members)
        output.print_line(f"NOT PROVEN: {lost:,} members missing, {extra:,} unexpected; expected {expected}")
    return is_proven


async def _kill_upload(
    client: Client, path: Path, requests: int, target: tuple[str, str], settings: Mapping[str, str]
) -> None:
    """Starts the upload as a command, and kills it after this many responses."""
    stall = {"method": "POST", "path": UPLOADS, "fault": "stall", "after_requests": requests, "times": 1_000}
    await client.request("POST", "/_emulator/faults", json=stall)
    account, audience = target
    options = ("--account", account, "--audience", audience, "--default-region", DEFAULT_REGION)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOCIALAPI_")}
    process = await asyncio.create_subprocess_exec(
        *this_program("audience", "upload", str(path), *options, "--journal", str(path.with_suffix(".journal"))),
        env={**kept, **settings, "SOCIALAPI_STATE_DIR": str(path.parent), "SOCIALAPI_CREDENTIALS_FILE": f"{path}.none"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(KILL_TIMEOUT_SECONDS):
            while (await client.request("GET", "/_emulator/faults")).body["faults"][0]["left"] == stall["times"]:
                if process.returncode is not None:
                    raise ConfigurationError("the upload ended before it could be killed")
                await asyncio.sleep(POLL_SECONDS)
        process.kill()
        output.print_line(f"Killed the upload (kill -9); requests answered by then: {requests:,}")
    except TimeoutError:
        raise ConfigurationError(
            f"the upload was not halfway through after {KILL_TIMEOUT_SECONDS:g} s: try fewer rows"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    await client.request("DELETE", "/_emulator/faults")


async def _script(client: Client, method: str, path: str, faults: tuple[tuple[str, Mapping[str, Any]], ...]) -> None:
    for name, fault in faults:
        output.print_line(f"Scripting a fault: {name}")
        await client.request("POST", "/_emulator/faults", json={"method": method, "path": path, **fault})


async def _show_catalog(client: Client, folder: Path, rows: int) -> bool:
    """Loads a dirty feed and prints the result. Returns whether the emulator contains the expected products."""
    path = folder / "feed.csv"
    output.print_line(f"Writing a product feed of {rows:,} rows …")
    expected = write_product_feed(path, rows)
    catalog = (await client.request("GET", "/_emulator/seed")).body["product_catalog_ids"][0]
    before = await _products(client, catalog)
    await _script(client, "PUT", PRODUCTS, CATALOG_FAULTS)
    with ProgressDisplay(path.name) as display:
        report = await client.catalog(catalog).products.upsert(path, on_progress=display)
    held, wanted = await _products(client, catalog), {**before, **expected.products}
    counts = ("accepted", "rejected")
    lines = [("products read", f"{report.read:,}"), *_counted(report, counts), ("warnings", f"{report.warnings:,}")]
    output.print_pairs([*lines, *_costs(report)], are_numbers=True)
    _say_sum(report, counts)
    output.print_line(f"emulator holds exactly the expected products: {'yes' if held == wanted else 'no'}")
    is_counted = all(getattr(report, name) == getattr(expected, name) for name in ("read", *counts, "warnings"))
    is_proven = held == wanted and is_counted and report.adds_up and not report.pending
    if not is_proven:
        wrong = sum(held.get(each) != wanted.get(each) for each in held.keys() | wanted.keys())
        output.print_line(f"NOT PROVEN: {wrong:,} products are wrong or missing; expected {expected}")
    return is_proven


async def _products(client: Client, catalog: str) -> dict[str, dict[str, Any]]:
    answer = await client.request("GET", f"/_emulator/catalogs/{catalog}/products")
    items = map(orjson.loads, answer.content.splitlines())
    return {item["id"]: {k: v for k, v in item.items() if k not in MADE_BY_THE_SERVICE} for item in items}


def _counted(report: UploadReport, names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(f"  {name}", f"{getattr(report, name):,}") for name in names]


def _costs(report: UploadReport) -> list[tuple[str, str]]:
    return [
        ("requests", f"{report.requests:,}"),
        ("retries", f"{report.retries:,}"),
        ("rows/s", f"{report.rows_per_second:,.0f}"),
    ]


def _say_sum(report: UploadReport, names: tuple[str, ...]) -> None:
    parts = " + ".join(f"{getattr(report, name):,} {name}" for name in names)
    is_right = report.read == sum(getattr(report, name) for name in names)
    output.print_line(f"{report.read:,} read = {parts}: {'yes' if is_right else 'no'}")
