"""The outcomes of a million rows, joined with the input, give each key exactly once, whatever happens to the job."""

import csv
import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from socialapi.cli.demo import PRODUCTS
from tests.proofs.processes import UPLOADS, Service, service, upload_until

pytestmark = [pytest.mark.timeout(3_600), pytest.mark.xdist_group("outcomes")]

ROWS: Final = 1_000_000
KILLS: Final = 50
FAULTS: Final = ("status", "reset_before", "reset_after", "truncate", "html")
UPLOAD_FAULTS: Final = (*FAULTS, "count_mismatch", "operation_error")
PRODUCT_FAULTS: Final = (*FAULTS, "product_missing", "product_error")
LIKELY: Final = 0.05
OUTCOMES: Final = ("accepted", "duplicate", "rejected", "added", "unchanged", "created", "updated", "skipped")
PRODUCT_COLUMNS: Final = "id,title,description,link,image_link,price,availability,condition,brand"
Row = tuple[str, str]


@attrs.frozen
class Job:
    """A kind of job. What it sends of a row is told apart by an identity, under which the service holds a content."""

    method: str
    path: str
    faults: Sequence[str]
    seed_id: tuple[str, str]
    """The name of the option of the client that says where it goes, and where the seed has that."""
    members: str = ""
    """The path of the control plane under which the members are."""

    def cells(self, row: Row) -> str:
        """The cells of the row in the file."""
        key, address = row
        if self.method == "POST":
            return f"{key},{address}"
        price = "?" if address == "nonsense" else "9.99 USD"
        web = "https://example.com/1"
        return f"{key},{address},{key},It is good.,{web},{web}.png,{price},in_stock,new,A"

    def sent(self, row: Row) -> tuple[str, str]:
        """The identity and the content of a row."""
        key, address = row
        return (hashlib.sha256(address.encode()).hexdigest(), "") if self.method == "POST" else (address, key)

    def held(self, emulator: Service, place: str) -> dict[str, str]:
        """What the service holds, by its identity."""
        if self.method == "PUT":
            return {name: each["title"] for name, each in emulator.products(place).items() if name.startswith("p")}
        path = f"{self.members}/{emulator.audience[0]}/{place}/members"
        return {each["value"]: "" for each in emulator.control("GET", path)}


_UPLOAD: Final = Job("POST", UPLOADS, UPLOAD_FAULTS, ("audience", "custom_audience_ids"), "audiences")
JOBS: Final = {
    "audience": _UPLOAD,
    "sync": _UPLOAD,
    "do_not_reach_list": Job(
        "POST",
        "/ads/12/batch/accounts/*/do_not_reach_lists/*/users",
        UPLOAD_FAULTS,
        ("do_not_reach_list", "do_not_reach_list_ids"),
        "do-not-reach",
    ),
    "catalog": Job("PUT", PRODUCTS, PRODUCT_FAULTS, ("catalog", "product_catalog_ids")),
}


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


def check(path: Path, rows: list[Row], report: dict[str, Any], job: Job, held: dict[str, str]) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        lines = sorted(csv.DictReader(file), key=lambda line: int(line["row"]))
    assert [int(line["row"]) for line in lines] == [*range(1, len(rows) + 1)]
    assert [line["key"] for line in lines] == [key for key, _ in rows]
    counts = Counter(line["outcome"] for line in lines)
    report = {**report, "added": report["additions"]["accepted"], "accepted": 0} if "additions" in report else report
    report = {**report, "accepted": 0} if "created" in report else report
    assert counts == {name: report[name] for name in OUTCOMES if report.get(name)}
    taken, refused = dict[str, str](), set[str]()
    for line, row in zip(lines, rows, strict=True):
        identity, content = job.sent(row)
        if line["outcome"] == "rejected":
            assert line["reason"]
            refused.add(identity)
        else:
            taken[identity] = content
    assert taken.keys() <= held.keys()
    # The service may take a row of a request whose answer is lost, and refuse it in the next one.
    assert held.keys() - taken.keys() <= refused
    assert all(held[identity] == content for identity, content in taken.items() if identity not in refused)


@pytest.mark.parametrize(
    ("name", "packing", "is_dirty"),
    [
        ("audience", "single", False),
        ("audience", "single", True),
        ("audience", "packed", True),
        ("do_not_reach_list", "single", True),
        ("do_not_reach_list", "packed", True),
        ("catalog", None, True),
        ("sync", "single", True),
        ("sync", "packed", True),
    ],
)
def test_each_key_has_one_outcome_under_kills_failures_and_refusals(
    tmp_path: Path, proof_scale: float, name: str, packing: str | None, *, is_dirty: bool
) -> None:
    job, rows = JOBS[name], list(rows_of(int(ROWS * proof_scale), is_dirty=is_dirty))
    path, outcomes, rng = tmp_path / "people.csv", tmp_path / "outcomes.csv", random.Random(f"{name} {packing}")
    columns = "email" if job.method == "POST" else PRODUCT_COLUMNS
    path.write_text(f"customer_id,{columns}\n" + "".join(f"{job.cells(row)}\n" for row in rows), "utf-8")
    options = {"key": "customer_id", "outcomes": str(outcomes)} | ({} if packing is None else {"packing": packing})
    options["snapshot" if name == "sync" else "journal"] = str(tmp_path / "state")
    config = {"max_operations": 2_500 if proof_scale == 1 else 400, "max_batch_bytes": 200_000}
    kills = 0
    with service() as emulator:
        option, ids = job.seed_id
        order = {option: emulator.ask("GET", "seed")[ids][0], "method": "sync" if name == "sync" else "upload"}
        for number, fault in enumerate(job.faults):
            emulator.fault(fault, method=job.method, path=job.path, probability=LIKELY, seed=number)
        told = None
        while told is None:
            at = rng.randrange(len(rows) // 2) if kills < KILLS * proof_scale else None
            told = upload_until(emulator, path, at, options=options, config=config, timeout_seconds=2.0, **order)
            kills += told is None
        check(outcomes, rows, told["report"], job, job.held(emulator, order[option]))
    print(f"\n{name} {packing}: {len(rows):,} rows, killed {kills} times, {told['report']['rejected']:,} rejected")
