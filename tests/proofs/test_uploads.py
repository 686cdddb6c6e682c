"""A million rows arrive exactly, in flat memory, also when a third of all requests fails."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from socialapi._speedups import IS_ENABLED
from socialapi.cli.demo_data import DEFAULT_REGION, ExpectedOutcome, write_crm_export
from tests.proofs.processes import Service, service, upload

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("uploads")]

ROWS: Final = 1_000_000
MEGABYTE: Final = 1_000_000
MAX_RESIDENT: Final = (130 if IS_ENABLED else 160) * MEGABYTE
"""Without the extension the rows in flight are texts of Python, up to 130,000 of them."""
FLAT: Final = 10 * MEGABYTE
"""What the second half of the rows may add."""
FAULTS: Final = ("status", "reset_before", "reset_after", "stall", "truncate", "html", "count_mismatch")
LIKELY: Final = 0.05

Export = tuple[Path, ExpectedOutcome]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory, proof_scale: float) -> Export:
    path = tmp_path_factory.mktemp("export") / "crm.csv"
    return path, write_crm_export(path, int(ROWS * proof_scale))


def say(title: str, told: dict[str, Any]) -> None:
    report = told["report"]
    resident = ", ".join(f"{each / MEGABYTE:.0f}" for each in told["resident"])
    print(
        f"\n{title}: {report['read']:,} rows in {told['seconds']:.1f} s ({report['read'] / told['seconds']:,.0f} rows/s), "
        f"{report['requests']:,} requests, {report['retries']:,} of them repeats, at most {told['most_in_flight']} at "
        f"once; resident {resident} MB at 25, 50, 75 and 100 % of the input, peak {told['peak'] / MEGABYTE:.0f} MB"
    )


def check_outcome(told: dict[str, Any], expected: ExpectedOutcome, held: Service) -> None:
    report = told["report"]
    assert told["adds_up"]
    assert report["pending"] == 0
    assert (report["read"], report["accepted"], report["rejected"], report["duplicate"], report["warnings"]) == (
        expected.read,
        expected.accepted,
        expected.rejected,
        expected.duplicate,
        expected.warnings,
    )
    assert held.members() == expected.members


def check_memory(told: dict[str, Any], proof_scale: float) -> None:
    assert told["peak"] < MAX_RESIDENT
    if proof_scale == 1:  # a small job ends before its memory has levelled off
        _, half, _, end = told["resident"]
        assert end - half < FLAT


def test_a_large_export_arrives_exactly_in_flat_memory(export: Export, proof_scale: float) -> None:
    path, expected = export
    with service() as emulator:
        told = upload(emulator, path, options={"default_region": DEFAULT_REGION})
        say("single", told)
        check_outcome(told, expected, emulator)
        statuses = Counter(request["status"] for request in emulator.requests())
    check_memory(told, proof_scale)
    assert told["report"]["retries"] == 0
    assert statuses == {200: told["report"]["requests"]}


def test_packed_it_takes_fewer_requests_and_arrives_exactly_in_flat_memory(export: Export, proof_scale: float) -> None:
    path, expected = export
    with service() as emulator:
        single = upload(emulator, path, options={"default_region": DEFAULT_REGION, "dry_run": True})
        assert not emulator.requests()
        told = upload(emulator, path, options={"default_region": DEFAULT_REGION, "packing": "packed"})
        say("packed", told)
        check_outcome(told, expected, emulator)
    requests_single, requests_packed = single["report"]["forecast"]["requests"], told["report"]["requests"]
    print(
        f"requests: {requests_single:,} single, {requests_packed:,} packed: {requests_single / requests_packed:.1f} to 1"
    )
    check_memory(told, proof_scale)
    assert requests_single / requests_packed >= 8


@pytest.mark.parametrize("packing", ["single", "packed"])
def test_memory_is_flat_too_when_the_service_takes_its_time(export: Export, proof_scale: float, packing: str) -> None:
    path, expected = export
    with service() as emulator:
        emulator.fault("latency", delay_seconds=2.0 if proof_scale == 1 else 1.0)
        told = upload(emulator, path, options={"default_region": DEFAULT_REGION, "packing": packing})
        say(f"{packing}, with latency", told)
        check_outcome(told, expected, emulator)
    check_memory(told, proof_scale)
    # As many on their way as fill the quota of 1,500 requests in a minute with answers after 400 ms, and some more.
    assert packing == "packed" or proof_scale < 1 or told["most_in_flight"] >= 14


def test_with_a_third_of_all_requests_failing_it_arrives_exactly(export: Export, proof_scale: float) -> None:
    path, expected = export
    with service() as emulator:
        for number, fault in enumerate(FAULTS):
            emulator.fault(fault, probability=LIKELY, seed=number)
        told = upload(
            emulator,
            path,
            options={"default_region": DEFAULT_REGION},
            # A smaller job takes as many requests, so that it meets every fault.
            config={"max_operations": 2_500 if proof_scale == 1 else 400},
            timeout_seconds=2.0,
        )
        say("with faults", told)
        check_outcome(told, expected, emulator)
        met = Counter(request["fault"] for request in emulator.requests())
    total = sum(met.values())
    shares = ", ".join(f"{fault} {met[fault]} ({met[fault] / total:.1%})" for fault in FAULTS)
    print(f"faults met by {total:,} requests: {shares}; together {1 - met[None] / total:.1%}")
    check_memory(told, proof_scale)
    assert set(met) == {None, *FAULTS}
    assert told["report"]["retries"] >= total - met[None]
    assert told["report"]["requests"] == total
