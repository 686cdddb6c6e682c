"""Filling the quota with packed uploads: what share of the allowed records is accepted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work, expect

RECORDS_A_SECOND: Final = 766_850
"""The number of records per second that 1,500 requests per minute allow with the largest bodies."""
REQUESTS_A_SECOND: Final = 25


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Returns the share of the quota used while the rows are read and sent. The processes start earlier."""
    if told.get("is_quota"):
        return {"share": 100.0, "refused": 0.0}
    records = order["processes"] * order["records"]
    expect("records", told["items"], records)
    return {"share": 100 * records / told["seconds"] / RECORDS_A_SECOND, "refused": float(seen["refused"])}


def prepare(order: Order) -> None:
    """Writes the files to upload."""
    for kind in ("clean", "mixed rows"):
        rows = canned.exported_people(kind, range(order["records"]))
        write_csv(Path(order["folder"], f"{kind}.csv"), (each.cells for each in rows))


def _fills(name: str, kind: str, processes: int = 1) -> Contestant:
    return Contestant(name=name, module="packed_uploads", job="packed", options={"kind": kind, "processes": processes})


ONE: Final = f"{SOCIALAPI}, one process, clean"
MIXED: Final = f"{SOCIALAPI}, one process, mixed"
TWO: Final = f"{SOCIALAPI}, two processes, clean"
QUOTA: Final = "the quota itself"

WORK: Final = Work(
    name="packed",
    title="Using the rate limit with packed uploads",
    says=(
        "Uploads CSV files of 8,000,000 rows with packing against a limit of 1,500 requests a minute, with 200 ms a "
        "response, in real time: one process, and two that share the limit through Redis."
    ),
    metric="share",
    unit="% of the allowed records",
    is_higher_better=True,
    base=None,
    contestants=(
        Contestant(name=QUOTA, module="packed_uploads", job="quota_itself", options={"processes": 1}),
        _fills(ONE, "clean"),
        _fills(MIXED, "mixed rows"),
        _fills(TWO, "clean", 2),
    ),
    targets=(
        Target(of=ONE, to=QUOTA, at_least=0.45),
        Target(of=MIXED, to=QUOTA, at_least=0.35),
        Target(of=TWO, to=QUOTA, at_least=0.8),
    ),
    judge=judge,
    full={"records": 8_000_000},
    quick={"records": 20_000},
    rounds=3,
    stub={"latency_seconds": 0.2, "quota_requests": 60 * REQUESTS_A_SECOND, "quota_seconds": 60.0},
    also={"refused": "refused (429)"},
    cannot={"all others": "they do not pack several people into one operation"},
    notes=(
        (
            "Two processes and the stub need one core each; with fewer cores, they reach a smaller share. A job shorter "
            "than a minute may exceed 100%, because requests may go out early within a window."
        ),
        (
            "A quarter of the phone numbers in the mixed file are not valid in their region. Each of them is judged by "
            "itself, and reported, which takes about ten times as long as reading a valid one."
        ),
    ),
    prepare=prepare,
)
