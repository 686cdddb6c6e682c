"""Many uploads at once in one process: how fast they are together, and how long the others in the
event loop wait.
"""

from collections.abc import Mapping
from typing import Any, Final

from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect
from benchmarks.works.memory import MEGABYTE


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Every record of every job arrived and was accepted."""
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


SET: Final = "ours, collector set"

WORK: Final = Work(
    name="jobs",
    title="64 jobs at once",
    says="64 uploads of 100,000 records each, from iterables, in one process that shares a client.",
    metric="records_a_second",
    unit="records a second",
    digits=0,
    is_higher_better=True,
    base=None,
    contestants=(
        *both_ways(Contestant(name="ours", module="socialapi_client", job="many_jobs")),
        Contestant(name=SET, module="socialapi_client", job="many_jobs", options={"sets_collector": True}),
    ),
    targets=(
        Target(
            id="jobs-rate",
            says="at least 300,000 records a second together",
            of="ours",
            at_least=300_000,
            unit=" records a second",
            speed="rate",
        ),
        Target(
            id="jobs-wait",
            says="nobody in the event loop waits longer than 20 ms, with the collector set as advised",
            of=SET,
            metric="max_lag_ms",
            at_most=20,
            unit=" ms",
            speed="time",
        ),
        Target(id="jobs-memory", says="at most 600 MB", of="ours", metric="peak_mb", at_most=600, unit=" MB"),
    ),
    judge=judge,
    full={"jobs": 64, "records": 100_000, "warm_records": 500},
    quick={"jobs": 64, "records": 1_000, "warm_records": 500},
    rounds=3,
    also={
        "records_a_cpu_second": "records a second of CPU",
        "max_lag_ms": "longest wait of others, ms",
        "max_collection_ms": "longest collection of garbage, ms",
        "peak_mb": "MB resident at most",
    },
    cannot={"all others": "they have no jobs, or one at a time"},
    notes=(
        (
            f"“{SET}” does what docs/performance.md advises programs to do when they start; without, a search "
            "through all that is imported is the longest wait."
        ),
        "The clock runs while the records are made, too.",
        "A machine that has other things to do makes rates smaller and waits longer, but not the records a second of CPU.",
    ),
)
