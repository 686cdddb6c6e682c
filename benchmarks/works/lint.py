"""Linting a file, relative to a dry run of its upload."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work, expect
from benchmarks.works.command_line import prepare


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every row was read and nothing was sent."""
    expect("rows", told["items"], order["records"])
    expect("rows that arrived", seen["rows"], 0)
    return {"us": told["cpu_seconds"] / order["records"] * 1e6}


DRY: Final = f"{SOCIALAPI}, dry upload"
LINT: Final = f"{SOCIALAPI}, lint"

WORK: Final = Work(
    name="lint",
    title="Linting a file",
    says="Lints a CSV file of 200,000 rows, and uploads it without sending; dirty files are as above.",
    metric="us",
    unit="µs of CPU a row",
    digits=2,
    base=DRY,
    contestants=[
        Contestant(
            name=f"{name}{', dirty' * (file == 'dirty.csv')}",
            module="socialapi_client",
            job="looked_at",
            options={"file": file, "lints": name == LINT},
        )
        for file in ("people.csv", "dirty.csv")
        for name in (DRY, LINT)
    ],
    targets=[Target(of=f"{LINT}{dirty}", to=f"{DRY}{dirty}", at_most=2.0) for dirty in ("", ", dirty")],
    judge=judge,
    full={"records": 200_000},
    quick={"records": 10_000},
    rounds=5,
    cannot={"all others": "they have no comparable feature"},
    prepare=prepare,
)
