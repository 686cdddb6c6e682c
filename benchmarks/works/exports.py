"""Ordinary exports: the cost of a row as shops and customer databases write it, relative to a clean row."""

import functools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv, write_parquet
from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work, expect
from benchmarks.works.audience import digests_of_texts

INPUTS: Final = {"CSV": "csv", "mappings": "mappings", "Parquet": "parquet"}
LIMITS: Final = {
    "national US": 1.5,
    "national DE": 1.5,
    "spaced": 1.5,
    "missing": 1.5,
    "blanks": 1.5,
    "third column": 1.5,
    "orders": 2.0,
    "mixed": 2.0,
}
"""The maximum cost of a row, as a multiple of a clean row in the same kind of input."""
KINDS: Final = ("clean", *LIMITS)


@functools.cache
def _expected(kind: str, records: int) -> tuple[Counter[str], int]:
    """Returns the expected outcomes of this many rows, and the sum of the digests that arrive."""
    rows = [*canned.exported_people(kind, range(records))]
    return Counter(each.outcome for each in rows), sum(digests_of_texts(each.sent) for each in rows)


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every row had the expected outcome, and that exactly the values of accepted rows arrived."""
    records, warm = order["records"], order["warm_records"]
    outcomes, digests = _expected(order["kind"], records)
    found = {"accepted": told["items"], "rejected": told["rejected"], "duplicate": told["duplicate"]}
    expect("outcomes", found, {name: outcomes[name] for name in found})
    expect("records that arrived", seen["rows"], outcomes["accepted"] + warm)
    expect("digests that arrived", seen["digest_sum"], digests + _expected("clean", warm)[1])
    return {"us": told["cpu_seconds"] / records * 1e6}


def prepare(order: Order) -> None:
    """Writes a file for each kind and format."""
    for kind in KINDS:
        path = Path(order["folder"], f"{kind}.csv")
        columns = canned.COLUMNS_OF_EXPORTS[: 3 if kind == "third column" else 2]
        for write, ending in ((write_csv, ".csv"), (write_parquet, ".parquet")):
            rows = (each.cells for each in canned.exported_people(kind, range(order["records"])))
            write(path.with_suffix(ending), rows, columns)


def _name(kind: str, of_input: str) -> str:
    return f"{SOCIALAPI}, {kind}, {of_input}"


WORK: Final = Work(
    name="exports",
    title="Uploading ordinary exports",
    says=(
        "Uploads 200,000 rows as found in exports: national phone numbers of the US and of Germany, numbers with "
        "blanks, every third address and every third number missing, blanks around values, a third column, three "
        "orders a customer, and all of it mixed."
    ),
    metric="us",
    unit="µs of CPU a row",
    digits=2,
    base=_name("clean", "CSV"),
    contestants=[
        Contestant(
            name=_name(kind, of_input),
            module="socialapi_client",
            job="audience_export",
            options={
                "kind": kind,
                "format": written,
                "default_region": {"clean": None, "third column": None, "national DE": "DE"}.get(kind, "US"),
            },
            group=of_input,
        )
        for of_input, written in INPUTS.items()
        for kind in KINDS
    ],
    targets=[
        Target(of=_name(kind, of_input), to=_name("clean", of_input), at_most=most)
        for of_input in INPUTS
        for kind, most in LIMITS.items()
    ],
    judge=judge,
    full={"records": 200_000, "warm_records": 2_500},
    quick={"records": 9_000, "warm_records": 500},
    rounds=5,
    stub={"check_digests": True},
    cannot={"all others": "they hash and send what they are given, or refuse it"},
    notes=("Files are read, and mappings are created, after the clock starts.",),
    prepare=prepare,
)
