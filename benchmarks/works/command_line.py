"""The command line: uploading a file of a million rows, measured from the start of the process to its end."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv, write_parquet
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect
from benchmarks.works.audience import judge_dirty


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every row was accepted, or had the outcome expected of dirty rows."""
    rate = {"rows_a_second": order["records"] / told["seconds"]}
    if order.get("is_dirty"):
        return {**judge_dirty(order, told, seen), **rate}
    expect("rows", told["items"], order["records"])
    expect("rows that arrived", seen["rows"], order["records"])
    return {"us": told["cpu_seconds"] / order["records"] * 1e6, **rate}


def prepare(order: Order) -> None:
    """Writes the file to upload."""
    for name, is_dirty in (("people", False), ("dirty", True)):
        path = Path(order["folder"], f"{name}.csv")
        write_csv(path, canned.people({**order, "is_dirty": is_dirty}))
        write_parquet(path.with_suffix(".parquet"), canned.people({**order, "is_dirty": is_dirty}))


def _upload(name: str, file: str, **options: Any) -> Contestant:
    return Contestant(name=name, module="socialapi_client", job="command_line", options={"file": file, **options})


DIRTY: Final = {"is_dirty": True, "stub": {"check_digests": True}}

WORK: Final = Work(
    name="command_line",
    title="Uploading a file from the command line",
    says=(
        "Runs `socialapi audience upload` with a file of a million rows, each with an e-mail address and a phone number; "
        "dirty files are as above."
    ),
    metric="us",
    unit="µs of CPU a row",
    digits=2,
    base=None,
    contestants=(
        *both_ways(_upload("socialapi, CSV", "people.csv")),
        *both_ways(_upload("socialapi, Parquet", "people.parquet")),
        _upload("socialapi, dirty CSV", "dirty.csv", **DIRTY),
        _upload("socialapi, dirty Parquet", "dirty.parquet", **DIRTY),
    ),
    targets=(
        Target(of="socialapi, CSV", to="socialapi, CSV, without C", at_most=0.6),
        Target(of="socialapi, Parquet", to="socialapi, Parquet, without C", at_most=0.6),
        Target(of="socialapi, dirty CSV", to="socialapi, CSV", at_most=2.0),
    ),
    judge=judge,
    full={"records": 1_000_000, "warm_records": 0},
    quick={"records": 20_000, "warm_records": 0},
    rounds=5,
    also={"rows_a_second": "rows a second"},
    cannot={"all others": "they have no such command"},
    notes=("The entire process is measured: starting Python, importing, reading, sending and printing the report.",),
    prepare=prepare,
)
