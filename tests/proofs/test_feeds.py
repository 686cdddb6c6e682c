"""A hundred thousand products come out of every format as the same catalog, with the same report."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.bulk.catalog_feeds import FORMATS, generated
from tests.proofs.processes import load, service
from tests.proofs.test_catalogs import MEGABYTE, plain, seed_catalog

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.xdist_group("feeds")]

ITEMS: Final = 100_000
MAX_RESIDENT: Final = 130 * MEGABYTE
MAX_RESIDENT_OF_PARQUET: Final = 230 * MEGABYTE
COUNTS: Final = ("read", "accepted", "rejected", "duplicate", "pending", "warnings", "retries", "created", "updated")


def test_every_format_gives_the_same_catalog_and_the_same_report(proof_scale: float, tmp_path: Path) -> None:
    # Every format has a service and a client of its own, whose start is most of a small run.
    products = generated(ITEMS if proof_scale == 1 else 1_000, seed=7)
    expected = {each["id"]: each for each in products}
    reports: dict[str, dict[str, Any]] = {}
    for name, write in FORMATS.items():
        path = tmp_path / name
        path.write_bytes(write(products))
        with service() as emulator:
            catalog = seed_catalog(emulator)
            before = plain(emulator.products(catalog))
            told = load(emulator, path, catalog)
            held = plain(emulator.products(catalog))
        reports[name] = {count: told["report"][count] for count in COUNTS}
        rate = told["report"]["read"] / told["seconds"]
        print(f"\n{name}: {rate:,.0f} products/s, peak {told['peak'] / MEGABYTE:.0f} MB, {reports[name]}")
        assert held == {**before, **expected}
        assert told["adds_up"]
        assert told["peak"] < (MAX_RESIDENT_OF_PARQUET if name.endswith(".parquet") else MAX_RESIDENT)
        path.unlink()
    assert all(report == reports["feed.csv"] for report in reports.values())
    assert reports["feed.csv"]["accepted"] == reports["feed.csv"]["created"] == len(products)
