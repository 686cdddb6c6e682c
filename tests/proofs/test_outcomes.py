"""The outcomes of a million rows, joined with the input, give each key exactly once, whatever happens to the job."""

import csv
import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.proofs.processes import Service, service, upload_until

pytestmark = [pytest.mark.timeout(1_800), pytest.mark.xdist_group("outcomes")]

ROWS: Final = 1_000_000
KILLS: Final = 50
FAULTS: Final = ("status", "reset_before", "reset_after", "truncate", "html", "count_mismatch", "operation_error")
LIKELY: Final = 0.05
Row = tuple[str, str]


def rows_of(count: int, *, is_dirty: bool) -> Iterator[Row]:
    """A key and an address for each row; of a dirty file some are unusable, and some repeat one of the last rows."""
    rng = random.Random(38)
    for number in range(count):
        kind = rng.randrange(40) if is_dirty else -1
        again = number - rng.randrange(1, 1_000)
        address = (
            "nonsense"
            if kind == 0
            else f"p{again}@example.com"
            if kind == 1 and again > 0
            else f"p{number}@example.com"
        )
        yield f"c-{number}", address


def check(path: Path, rows: list[Row], report: dict[str, Any], held: Service) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert sorted(line["key"] for line in lines) == sorted(key for key, _ in rows)
    assert [int(line["row"]) for line in sorted(lines, key=lambda line: int(line["row"]))] == [*range(1, len(rows) + 1)]
    counts = Counter(line["outcome"] for line in lines)
    assert counts == {name: report[name] for name in ("accepted", "rejected", "duplicate") if report[name]}
    members, addresses = {value for _, value in held.members()}, dict(rows)
    taken, refused = set[str](), set[str]()
    for line in lines:
        digest = hashlib.sha256(addresses[line["key"]].encode()).hexdigest()
        if line["outcome"] == "rejected":
            assert line["reason"]
            refused.add(digest)
        else:
            taken.add(digest)
    assert taken <= members
    # The service may take a row of a request whose answer is lost, and refuse it in the next one.
    assert members - taken <= refused


@pytest.mark.parametrize(("packing", "is_dirty"), [("single", False), ("single", True), ("packed", True)])
def test_each_key_has_one_outcome_under_kills_failures_and_refusals(
    tmp_path: Path, proof_scale: float, packing: str, *, is_dirty: bool
) -> None:
    rows, rng = list(rows_of(int(ROWS * proof_scale), is_dirty=is_dirty)), random.Random(packing)
    path, outcomes = tmp_path / "people.csv", tmp_path / "outcomes.csv"
    path.write_text("customer_id,email\n" + "".join(f"{key},{address}\n" for key, address in rows), "utf-8")
    options = {
        "packing": packing,
        "key": "customer_id",
        "outcomes": str(outcomes),
        "journal": str(tmp_path / "journal"),
    }
    config = {"max_operations": 2_500 if proof_scale == 1 else 400, "max_batch_bytes": 200_000}
    kills = 0
    with service() as emulator:
        for number, fault in enumerate(FAULTS):
            emulator.fault(fault, probability=LIKELY, seed=number)
        told = None
        while told is None:
            at = rng.randrange(len(rows) // 2) if kills < KILLS * proof_scale else None
            told = upload_until(emulator, path, at, options=options, config=config, timeout_seconds=2.0, tells=True)
            kills += told is None
        check(outcomes, rows, told["report"], emulator)
    print(f"\n{packing}: {len(rows):,} rows, killed {kills} times, {told['report']['rejected']:,} rejected")
