"""Many uploads at once in one process: their combined speed, and how long other tasks in the event loop wait."""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work, both_ways, expect
from benchmarks.works.memory import MEGABYTE


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that every record of every job arrived and was accepted."""
    records = order["jobs"] * order["records"]
    expect("records", told["items"], records)
    expect("records that arrived", seen["rows"], records + order["warm_records"])
    return {
        "records_a_second": records / told["seconds"],
        "records_a_cpu_second": records / told["cpu_seconds"],
        "max_lag_ms": told["max_lag_seconds"] * 1_000,
        "max_collection_ms": told["max_collection_seconds"] * 1_000,
        "peak_mb": told["peak"] / MEGABYTE,
    }


SET: Final = f"{SOCIALAPI}, collector tuned"

WORK: Final = Work(
    name="jobs",
    title="64 uploads at once",
    says="Runs 64 uploads of 100,000 records each, from iterables, on one client in one process.",
    metric="records_a_second",
    unit="records a second",
    digits=0,
    is_higher_better=True,
    base=None,
    contestants=(
        *both_ways(Contestant(name=SOCIALAPI, module="socialapi_client", job="many_jobs")),
        Contestant(name=SET, module="socialapi_client", job="many_jobs", options={"sets_collector": True}),
    ),
    targets=(
        Target(of=SOCIALAPI, to=f"{SOCIALAPI}, without C", at_least=2.0),
        Target(of=SET, to=SOCIALAPI, at_most=0.5, metric="max_lag_ms"),
        Target(of=SOCIALAPI, to=f"{SOCIALAPI}, without C", at_most=0.5, metric="peak_mb"),
    ),
    judge=judge,
    full={"jobs": 64, "records": 100_000, "warm_records": 500},
    quick={"jobs": 64, "records": 1_000, "warm_records": 500},
    rounds=3,
    also={
        "records_a_cpu_second": "records a second of CPU",
        "max_lag_ms": "longest wait of other tasks, ms",
        "max_collection_ms": "longest garbage collection, ms",
        "peak_mb": "MB resident at most",
    },
    cannot={"all others": "they have no jobs, or run one at a time"},
    notes=(
        (
            f"“{SET}” configures the garbage collector as docs/performance.md recommends. Without this, the longest "
            "wait is a collection that visits all imported objects."
        ),
        "The measured time includes creating the records.",
        "On a busy machine, rates are lower and waits longer; records a second of CPU stay the same.",
    ),
)
