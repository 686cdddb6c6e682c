"""Syncs of an audience with a file: the first sync, one without changes, and one with few changes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from benchmarks.harness.work import SOCIALAPI, Contestant, Order, Target, Told, Work, both_ways, expect
from benchmarks.works.audience import digests_of
from benchmarks.works.memory import MEGABYTE

CHANGED_EVERY: Final = 100


def changed_people(records: int) -> Iterator[tuple[str, str]]:
    """Yields the people after one in a hundred was replaced by a new person."""
    return (canned.person(records + each if each % CHANGED_EVERY == 0 else each) for each in range(records))


def prepare(order: Order) -> None:
    """Writes a file for each of the two states of the audience."""
    write_csv(Path(order["folder"], "people.csv"), canned.people(order))
    write_csv(Path(order["folder"], "changed.csv"), changed_people(order["records"]))


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that exactly the expected people were added and removed."""
    records = order["records"]
    added, removed = _expected(order)
    expect("rows", told["items"], records)
    expect("unchanged", told["unchanged"], records - len(added) if order["known"] else 0)
    if not order["dry_run"]:
        expect("added and removed", (told["added"], told["removed"]), (len(added), 2 * len(removed)))
        # A process that had to create the snapshot first has also sent everyone in it, and the warm-up people.
        warm, before = range(order["warm_records"]), range(records if told["is_made_now"] else 0)
        sent = (added, removed, warm, before, warm if before else range(0))
        expect("digests that arrived", seen["digest_sum"], sum(map(digests_of, sent)))
    metrics = {"us": told["cpu_seconds"] / records * 1e6, "peak_mb": told["peak"] / MEGABYTE}
    return metrics if order["dry_run"] else {**metrics, "bytes": told["snapshot_bytes"] / told["identifiers"]}


def _expected(order: Order) -> tuple[range, range]:
    """Returns the numbers of the people who are added and removed."""
    records = order["records"]
    if order["known"] is None:
        return range(records), range(0)
    if order["file"] == order["known"]:
        return range(0), range(0)
    return range(records, 2 * records, CHANGED_EVERY), range(0, records, CHANGED_EVERY)


def _sync(name: str, file: str, known: str | None, *, dry_run: bool = False) -> Contestant:
    options = {"file": file, "known": known, "dry_run": dry_run}
    return Contestant(name=f"{SOCIALAPI}, {name}", module="socialapi_client", job="sync", options=options)


WORK: Final = Work(
    name="sync",
    title="Syncing an audience",
    says=(
        "Makes an audience match a file with a million rows, each with an e-mail address and a phone number: "
        "for the first time, again with nothing changed, and with 1 % gone and 1 % new."
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
        Target(of="socialapi, first, without sending", to="socialapi, first", at_most=0.7),
        Target(of="socialapi, unchanged", to="socialapi, first", at_most=0.75),
        Target(of="socialapi, unchanged", to="socialapi, first", at_most=1.0, metric="peak_mb"),
    ),
    judge=judge,
    full={"records": 1_000_000, "warm_records": 500},
    quick={"records": 20_000, "warm_records": 100},
    rounds=3,
    also={"peak_mb": "MB resident at most", "bytes": "bytes an identifier at rest"},
    stub={"check_digests": True},
    cannot={"all others": "they do not track who is in an audience"},
    notes=("“Without sending” is a dry run: it reads, hashes and compares, and writes no snapshot.",),
    prepare=prepare,
)
