"""Syncs of an audience with a file: the first one, one that changes nothing, and one that changes
little.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, both_ways, expect
from benchmarks.works.audience import digests_of
from benchmarks.works.memory import MEGABYTE

CHANGED_EVERY: Final = 100


def changed_people(records: int) -> Iterator[tuple[str, str]]:
    """One of a hundred has left, and somebody new is in that row."""
    return (canned.person(records + each if each % CHANGED_EVERY == 0 else each) for each in range(records))


def prepare(order: Order) -> None:
    """Writes the two states of the audience."""
    write_csv(Path(order["folder"], "people.csv"), canned.people(order))
    write_csv(Path(order["folder"], "changed.csv"), changed_people(order["records"]))


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Those were added and removed who had to be, and nobody else arrived."""
    records = order["records"]
    added, removed = _expected(order)
    expect("rows", told["items"], records)
    expect("unchanged", told["unchanged"], records - len(added) if order["known"] else 0)
    if not order["dry_run"]:
        expect("added and removed", (told["added"], told["removed"]), (len(added), 2 * len(removed)))
        # A process that had to make the snapshot first has sent all that is in it, and the warm ones.
        warm, before = range(order["warm_records"]), range(records if told["is_made_now"] else 0)
        sent = (added, removed, warm, before, warm if before else range(0))
        expect("digests that arrived", seen["digest_sum"], sum(map(digests_of, sent)))
    metrics = {"us": told["cpu_seconds"] / records * 1e6, "peak_mb": told["peak"] / MEGABYTE}
    return metrics if order["dry_run"] else {**metrics, "bytes": told["snapshot_bytes"] / told["identifiers"]}


def _expected(order: Order) -> tuple[range, range]:
    """The numbers of those who are added, and of those who are removed."""
    records = order["records"]
    if order["known"] is None:
        return range(records), range(0)
    if order["file"] == order["known"]:
        return range(0), range(0)
    return range(records, 2 * records, CHANGED_EVERY), range(0, records, CHANGED_EVERY)


def _sync(name: str, file: str, known: str | None, *, dry_run: bool = False) -> Contestant:
    options = {"file": file, "known": known, "dry_run": dry_run}
    return Contestant(name=f"ours, {name}", module="socialapi_client", job="sync", options=options)


def _target(id_: str, name: str, at_most: float, metric: str = "us", unit: str = "µs a row") -> Target:
    says = f"{name}: at most {at_most:g} {unit}"
    speed: Literal["time"] | None = "time" if metric == "us" else None
    of = f"ours, {name}"
    return Target(id=id_, says=says, of=of, metric=metric, at_most=at_most, unit=f" {unit}", speed=speed)


WORK: Final = Work(
    name="sync",
    title="Syncing an audience",
    says=(
        "An audience is brought to what a file of a million rows says, with an e-mail address and a phone number each: "
        "for the first time, again with nothing changed, and with 1 % left and 1 % new."
    ),
    metric="us",
    unit="µs of CPU a row",
    base=None,
    contestants=(
        *both_ways(_sync("first, without sending", "people.csv", None, dry_run=True)),
        *both_ways(_sync("first", "people.csv", None)),
        *both_ways(_sync("unchanged", "people.csv", "people.csv")),
        *both_ways(_sync("1 % changed", "changed.csv", "people.csv")),
    ),
    targets=(
        _target("sync-dry", "first, without sending", 6),
        _target("sync-first", "first", 10),
        _target("sync-unchanged", "unchanged", 6),
        _target("sync-bytes", "first", 40, "bytes", "bytes an identifier at rest"),
        _target("sync-first-memory", "first", 100, "peak_mb", "MB"),
        _target("sync-unchanged-memory", "unchanged", 100, "peak_mb", "MB"),
    ),
    judge=judge,
    full={"records": 1_000_000, "warm_records": 500},
    quick={"records": 20_000, "warm_records": 100},
    rounds=3,
    also={"peak_mb": "MB resident at most", "bytes": "bytes an identifier at rest"},
    stub={"check_digests": True},
    cannot={"all others": "they do not know who is in an audience"},
    notes=("Without sending is a dry run: it reads, hashes and compares, and leaves no snapshot.",),
    prepare=prepare,
)
