"""How cost grows with the records of a job, and with jobs at once: `make bench-growth`."""

import argparse
import datetime
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from benchmarks.harness.machine import machine, versions
from benchmarks.harness.plots import lines
from benchmarks.harness.processes import ROOT, StubProcess, run, stub
from benchmarks.harness.work import Contestant, Order, expect
from benchmarks.works.memory import MEGABYTE

HERE: Final = Path(__file__).parent
RECORDS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
JOBS: Final = (1, 2, 4, 8, 16, 32, 64)
RECORDS_A_JOB: Final = 100_000
WARM: Final = 500
ONE_JOB: Final = Contestant(name="one job", module="socialapi_client", job="upload_file")
MANY_JOBS: Final = Contestant(name="many jobs", module="socialapi_client", job="many_jobs")
OURS: Final = ("aiosocialapi", "aiohttp", "attrs", "orjson")
Row = Mapping[str, float]


def of_records(service: StubProcess, sizes: Sequence[int]) -> list[Row]:
    """One upload from a CSV file for each size, each in a fresh process."""
    rows: list[Row] = []
    for records in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_csv(Path(folder, "people.csv"), canned.people({"records": records}))
            told = _run(service, ONE_JOB, {"folder": folder, "file": "people.csv"}, records)
        rows.append(
            {
                "records": records,
                "seconds": told["seconds"],
                "CPU seconds": told["cpu_seconds"],
                "µs of CPU a record": told["cpu_seconds"] / records * 1e6,
                "peak MB": told["peak"] / MEGABYTE,
                "requests": told["requests"],
            }
        )
        _say(rows[-1])
    return rows


def of_jobs(service: StubProcess, sizes: Sequence[int], records: int) -> list[Row]:
    """So many uploads at once with one client, each of them to another audience."""
    rows: list[Row] = []
    for jobs in sizes:
        told = _run(service, MANY_JOBS, {"jobs": jobs, "records": records, "warm_records": WARM}, jobs * records)
        rows.append(
            {
                "jobs": jobs,
                "seconds": told["seconds"],
                "records a second": jobs * records / told["seconds"],
                "peak MB": told["peak"] / MEGABYTE,
                "longest wait for a turn, ms": told["max_lag_seconds"] * 1_000,
                "longest collection of garbage, ms": told["max_collection_seconds"] * 1_000,
            }
        )
        _say(rows[-1])
    return rows


def _run(service: StubProcess, contestant: Contestant, order: Order, records: int) -> dict[str, Any]:
    service.configure({})
    told = run(contestant, {"url": service.url, **order})
    expect("records", told["items"], records)
    expect("records that arrived", service.seen()["rows"], records + order.get("warm_records", 0))
    return told


def _say(row: Row) -> None:
    print(", ".join(f"{_shown(value)} {name}" for name, value in row.items()))


def _shown(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _table(rows: Sequence[Row]) -> str:
    names = list(rows[0])
    body = (f"| {' | '.join(_shown(row[name]) for name in names)} |" for row in rows)
    return "\n".join((f"| {' | '.join(names)} |", "|---" * len(names) + "|", *body))


def _drawn(
    rows: Sequence[Row], path: Path, title: str, across: str, up: Sequence[str], y: str, logarithmic: str
) -> str:
    """The picture as it stands on the page; nothing without matplotlib."""
    series = [(name, [row[across] for row in rows], [row[name] for row in rows]) for name in up]
    is_drawn = lines(series, path, title, x=across, y=y, logarithmic=logarithmic)
    return f"![{title}](plots/{path.name})\n\n" if is_drawn else ""


def page(records: Sequence[Row], jobs: Sequence[Row], records_a_job: int, plots: Path, day: datetime.date) -> str:
    """The whole page; draws its pictures into the folder."""
    most, cost, peak = ([row[name] for row in records] for name in ("records", "µs of CPU a record", "peak MB"))
    rate, held, collected = (
        [row[name] for row in jobs]
        for name in ("records a second", "longest wait for a turn, ms", "longest collection of garbage, ms")
    )
    sizes = _drawn(
        records,
        plots / "growth-records.svg",
        "Time of one upload by its size",
        "records",
        ["seconds", "CPU seconds"],
        "seconds",
        "xy",
    )
    memory = _drawn(
        records, plots / "growth-memory.svg", "Memory of one upload by its size", "records", ["peak MB"], "peak MB", "x"
    )
    rates = _drawn(
        jobs,
        plots / "growth-jobs.svg",
        "Uploads at once in one process",
        "jobs",
        ["records a second"],
        "records a second",
        "x",
    )
    return f"""# How cost grows

`make bench-growth` writes this page: uploads to a stub of the service in another process, without a rate limit, each
line from a fresh process. Measured on {day:%d %B %Y}: {machine()}; {versions(OURS)}.

## With the records of one job

An upload from a CSV file with an e-mail address and a phone number a row. From {most[0]:,} to {most[-1]:,} records the
cost of one goes from {cost[0]:.1f} to {cost[-1]:.1f} µs of CPU, and the most memory held from {peak[0]:.0f} to {peak[-1]:.0f} MB; what is
imported and opened once is in the cost of the small jobs.

{sizes}{memory}{_table(records)}

## With jobs at once

So many uploads of {records_a_job:,} records each, from iterables, in one process that shares a client. One job sends
{rate[0]:,.0f} records a second, {jobs[-1]["jobs"]:,} of them {rate[-1]:,.0f} together; somebody else in the event loop waits
for {max(held):.0f} ms at most. One job at a time has the event loop, for two milliseconds or a little more; a full collection of
garbage takes up to {max(collected):.0f} ms.

{rates}{_table(jobs)}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes the page and the plots."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all of it runs")
    parser.add_argument("--out", type=Path, help="folder of GROWTH.md and the plots")
    asked = parser.parse_args(arguments)
    out: Path = asked.out or (ROOT / ".bench" / "quick" if asked.quick else HERE)
    sizes, at_once, each = (RECORDS[:2], JOBS[:3], 1_000) if asked.quick else (RECORDS, JOBS, RECORDS_A_JOB)
    started = time.monotonic()
    with stub() as service:
        records, jobs = of_records(service, sizes), of_jobs(service, at_once, each)
    out.mkdir(parents=True, exist_ok=True)
    today = datetime.datetime.now(datetime.UTC).date()
    (out / "GROWTH.md").write_text(page(records, jobs, each, out / "plots", today), "utf-8")
    print(f"{out / 'GROWTH.md'} after {time.monotonic() - started:,.0f} s")


if __name__ == "__main__":
    main()
