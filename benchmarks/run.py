"""Compares this package with what else there is: `make bench`, or `python -m benchmarks.run
--help`.
"""

import argparse
import contextlib
import datetime
import statistics
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.against import checkout, compare
from benchmarks.harness.floor import Floor, measure_floor, read_floor, record_floor
from benchmarks.harness.page import Results, page
from benchmarks.harness.plots import draw
from benchmarks.harness.processes import ROOT, StubProcess, stub
from benchmarks.harness.rounds import Measured, measure
from benchmarks.harness.work import Work
from benchmarks.works import (
    audience,
    command_line,
    first_use,
    imports,
    jobs,
    memory,
    paging,
    products,
    quota,
    small,
    stream,
    sync,
)

HERE: Final = Path(__file__).parent
WORKS: Final[dict[str, Work]] = {
    work.name: work
    for work in (
        paging.WORK,
        paging.MIXED,
        stream.WORK,
        small.WORK,
        small.SIGNED,
        audience.WORK,
        audience.DIRTY,
        command_line.WORK,
        sync.WORK,
        jobs.WORK,
        quota.WORK,
        products.WORK,
        imports.WORK,
        first_use.WORK,
        memory.WORK,
    )
}
QUICK_ROUNDS: Final = 1


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--only", type=_names, default=list(WORKS), help=f"works, of {', '.join(WORKS)}")
    parser.add_argument("--contestants", type=_names, help="those whose names begin so; the base takes part anyway")
    parser.add_argument("--rounds", type=int, help="instead of the number that each work has; memory is measured once")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all of it runs")
    parser.add_argument("--out", type=Path, help="folder of RESULTS.md and the plots")
    parser.add_argument("--against", metavar="COMMIT", help="compare ours without C with an earlier commit of itself")
    parser.add_argument("--record-floor", action="store_true", help="make this run the one of reference")
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.only if name not in WORKS]
    if unknown:
        parser.error(f"no such works: {', '.join(unknown)}")
    return parsed


def _folder(asked: argparse.Namespace) -> Path:
    """Where the results go: beside this file those of a whole run alone."""
    out: Path | None = asked.out
    if out is None:
        scratch = "against" if asked.against else "quick" if asked.quick else None
        out = ROOT / ".bench" / scratch if scratch else HERE
    out.mkdir(parents=True, exist_ok=True)
    return out


def _write(out: Path, results: Results, plots: Mapping[str, str], floor: Floor, *, quick: bool) -> Path:
    """Writes the page; returns where it is."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text("utf-8"))
    written = out / "RESULTS.md"
    written.write_text(page(results, reasons, plots=plots, day=_today(), floor=floor, quick=quick), "utf-8")
    return written


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def _measure_all(works: Sequence[Work], service: StubProcess, asked: argparse.Namespace, out: Path) -> list[float]:
    """Measures work by work, and writes the page anew after each, so that a run that is stopped
    leaves what it has.

    Returns the floors, one before each work and one at the end.
    """
    started, floors = time.monotonic(), [measure_floor(service)]
    results: dict[str, tuple[Work, Measured]] = {}
    plots: dict[str, str] = {}
    for work in works:
        rounds = work.rounds if work.rounds == 1 else asked.rounds or (QUICK_ROUNDS if asked.quick else work.rounds)
        measured = measure(work, service, quick=asked.quick, rounds=rounds, contestants=asked.contestants, say=print)
        floors.append(measure_floor(service))
        measured.floor = statistics.mean(floors[-2:])
        results[work.name] = (work, measured)
        if draw(work, measured, out / "plots"):
            plots[work.name] = f"plots/{work.name}.svg"
        in_order = {name: results[name] for name in (*WORKS, *results) if name in results}
        written = _write(out, in_order, plots, read_floor(floors), quick=asked.quick)
        print(f"{written} after {time.monotonic() - started:,.0f} s")
    return floors


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is asked for, and writes the page."""
    asked = _arguments(arguments)
    works = [WORKS[name] for name in asked.only]
    with contextlib.ExitStack() as stack:
        if asked.against:
            earlier = stack.enter_context(checkout(asked.against))
            works = [pair for work in works if (pair := compare(work, asked.against, earlier)) is not None]
        floors = _measure_all(works, stack.enter_context(stub()), asked, _folder(asked))
    if asked.record_floor:
        record_floor(floors, _today())
    print(read_floor(floors).says())


if __name__ == "__main__":
    main()
