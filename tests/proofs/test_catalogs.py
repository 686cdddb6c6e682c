"""A hundred thousand products arrive exactly, whatever fails; and the loader is as fast as its bound allows."""

import csv
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi.cli.demo import MADE_BY_THE_SERVICE, PRODUCTS
from socialapi.cli.demo_data import ExpectedCatalog, write_product_feed
from tests.proofs.processes import Service, kill_load, load, service

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("catalogs")]

ROWS: Final = 100_000
FAULTS: Final = ("status", "reset_before", "reset_after", "stall", "truncate", "html", "product_missing")
LIKELY: Final = 0.05
LATENCY_SECONDS: Final = 0.3
CONCURRENCY: Final = 8
KILLS: Final = 10
MEGABYTE: Final = 1_000_000
MAX_RESIDENT: Final = 130 * MEGABYTE

Feed = tuple[Path, ExpectedCatalog]


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory, proof_scale: float) -> Feed:
    path = tmp_path_factory.mktemp("feed") / "feed.csv"
    return path, write_product_feed(path, int(ROWS * proof_scale))


def say(title: str, told: dict[str, Any]) -> None:
    report = told["report"]
    counts = ", ".join(f"{report[name]:,} {name}" for name in ("created", "updated", "unchanged", "rejected"))
    print(
        f"\n{title}: {report['read']:,} products in {told['seconds']:.1f} s ({report['read'] / told['seconds']:,.0f} "
        f"products/s): {counts}; {report['requests']:,} requests, {report['retries']:,} of them repeats, at most "
        f"{told['most_in_flight']} at once; peak {told['peak'] / MEGABYTE:.0f} MB"
    )


def seed_catalog(emulator: Service) -> str:
    catalog: str = emulator.ask("GET", "seed")["product_catalog_ids"][0]
    return catalog


def plain(held: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Products without what the service made."""
    return {
        product_id: {name: value for name, value in product.items() if name not in MADE_BY_THE_SERVICE}
        for product_id, product in held.items()
    }


def test_with_every_fault_the_catalog_is_the_expected_one_product_by_product(feed: Feed) -> None:
    path, expected = feed
    with service() as emulator:
        catalog = seed_catalog(emulator)
        before = plain(emulator.products(catalog))
        for number, fault in enumerate(FAULTS):
            emulator.fault(fault, method="PUT", path=PRODUCTS, probability=LIKELY, seed=number)
        told = load(emulator, path, catalog, timeout_seconds=1.0)
        say("with faults", told)
        held = emulator.products(catalog)
        met = Counter(request["fault"] for request in emulator.requests())
        ledger = emulator.ask("GET", "ledger")["products"][catalog]
    total, report = sum(met.values()), told["report"]
    print("faults met: " + ", ".join(f"{fault} {met[fault]} ({met[fault] / total:.1%})" for fault in FAULTS))
    assert plain(held) == {**before, **expected.products}
    assert ledger["count"] == len(held)
    assert told["adds_up"]
    assert (report["read"], report["accepted"], report["rejected"], report["pending"], report["duplicate"]) == (
        expected.read,
        expected.accepted,
        expected.rejected,
        0,
        0,
    )
    assert report["accepted"] == report["created"] + report["updated"] + report["unchanged"]
    assert report["warnings"] == expected.warnings
    assert report["requests"] == total
    assert told["most_in_flight"] <= CONCURRENCY
    assert told["peak"] < MAX_RESIDENT
    assert set(met) == {None, *FAULTS}


def test_without_faults_every_count_is_the_expected_one_and_groups_keep_their_order(feed: Feed) -> None:
    path, expected = feed
    with service() as emulator:
        catalog = seed_catalog(emulator)
        known = len(emulator.products(catalog))
        told = load(emulator, path, catalog)
        say("without faults", told)
        held = list(emulator.products(catalog).values())[known:]
        sizes = [request["products"] for request in emulator.requests() if "products" in request]
    report = told["report"]
    assert (report["created"], report["updated"], report["unchanged"], report["rejected"], report["retries"]) == (
        expected.created,
        expected.updated,
        expected.unchanged,
        expected.rejected,
        0,
    )
    assert not sizes or max(sizes) <= 25
    submitted, wanted = _groups(held), _groups(list(expected.products.values()))
    assert submitted == wanted


def _groups(products: list[dict[str, Any]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for product in products:
        if "item_group_id" in product:
            groups.setdefault(product["item_group_id"], []).append(product["id"])
    return groups


def test_what_the_service_refuses_is_given_back_and_loaded_again(
    tmp_path: Path, feed: Feed, proof_scale: float
) -> None:
    """Products that are refused by chance stand in the rejects file, which is itself a feed."""
    _, expected = feed
    path, rejects = tmp_path / "unique.csv", tmp_path / "rejects.csv"
    names = sorted({name for product in expected.products.values() for name in product})
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(expected.products.values())
    with service() as emulator:
        catalog = seed_catalog(emulator)
        before = plain(emulator.products(catalog))
        emulator.fault("product_error", method="PUT", path=PRODUCTS, probability=0.5, seed=1)
        first = load(emulator, path, catalog, options={"rejects": str(rejects)})["report"]
        list(emulator.control("DELETE", "faults"))
        assert len(emulator.products(catalog)) == len(before) + first["accepted"]
        second = load(emulator, rejects, catalog)["report"]
        held = plain(emulator.products(catalog))
    print(
        f"\n{first['rejected']:,} products refused by chance, {second['accepted']:,} of them loaded from the rejects file"
    )
    assert first["rejected"] > 20 * proof_scale
    assert (second["read"], second["created"], second["rejected"]) == (first["rejected"], first["rejected"], 0)
    assert held == {**before, **expected.products}


def test_a_load_that_is_killed_ten_times_ends_as_if_it_never_was(tmp_path: Path, feed: Feed) -> None:
    """Nothing that is confirmed is put again; at each end at most what was on its way is."""
    path, expected = feed
    rng = random.Random(20)
    options = {"journal": str(tmp_path / "load.journal"), "rejects": str(tmp_path / "rejects.csv")}
    most = expected.read // 25 // 6
    with service() as emulator:
        catalog = seed_catalog(emulator)
        before = plain(emulator.products(catalog))
        emulator.fault("reset_after", method="PUT", path=PRODUCTS, probability=LIKELY, seed=1)
        for _ in range(KILLS):
            kill_load(emulator, path, catalog, after=rng.randint(1, most), options=options)
        list(emulator.control("DELETE", "faults"))
        told = load(emulator, path, catalog, options=options)
        held = plain(emulator.products(catalog))
        requests = [request for request in emulator.requests() if request["method"] == "PUT"]
        put = [request["operations"] or 0 for request in requests]
        again = load(emulator, path, catalog, options=options)["report"]
    report = told["report"]
    say(f"killed {KILLS} times, the last run", told)
    print(f"{report['resumed']:,} were confirmed before; in all runs {sum(put):,} products were put")
    assert held == {**before, **expected.products}
    counts = ("read", "accepted", "rejected", "pending", "warnings")
    wanted = (expected.read, expected.accepted, expected.rejected, 0, expected.warnings)
    assert tuple(report[name] for name in counts) == wanted
    assert 0 < report["resumed"] < expected.accepted
    answered = sum(number for number, request in zip(put, requests, strict=True) if request["fault"] is None)
    assert answered <= expected.accepted + KILLS * CONCURRENCY * 25
    assert sum(put[-report["requests"] :]) == expected.accepted - report["resumed"]
    with (tmp_path / "rejects.csv").open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rejected = [row["row"] for row in csv.DictReader(file)]
    assert len(rejected) == len(set(rejected)) == expected.rejected
    assert tuple(again[name] for name in counts) == wanted
    assert (again["resumed"], again["requests"]) == (expected.accepted, 0)
    assert told["peak"] < MAX_RESIDENT


def test_the_loader_is_as_fast_as_its_bound_and_the_latency_allow(tmp_path: Path, proof_scale: float) -> None:
    """Within a tenth of bound times 25 products in each latency, the first request and the last ones included.

    The rate is judged at full size alone: in the suite other tests run beside it, and take what time they need.
    """
    path = tmp_path / "feed.csv"
    expected = write_product_feed(path, int(30_000 * proof_scale))
    with service() as emulator:
        emulator.fault("latency", method="PUT", path=PRODUCTS, delay_seconds=LATENCY_SECONDS)
        told = load(emulator, path, seed_catalog(emulator), options={"concurrency": CONCURRENCY})
        say("with latency", told)
    assert told["report"]["accepted"] == expected.accepted
    assert told["most_in_flight"] == CONCURRENCY
    bound = CONCURRENCY * 25 / LATENCY_SECONDS
    rate = expected.accepted / told["seconds"]
    print(f"{rate:,.0f} of {bound:,.0f} products/s: {rate / bound:.1%}")
    if proof_scale == 1:
        assert rate >= 0.9 * bound
