"""Compares this package with what else there is: `make bench`, or `python -m benchmarks.run
--help`.
"""

import argparse
import contextlib
import datetime
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from benchmarks.harness.against import checkout, compare
from benchmarks.harness.figures import Figures, Run, read_run, write_run
from benchmarks.harness.machine import machine, versions
from benchmarks.harness.page import page
from benchmarks.harness.plots import draw
from benchmarks.harness.processes import ROOT, StubProcess, stub
from benchmarks.harness.rounds import measure
from benchmarks.harness.targets import missed
from benchmarks.harness.work import Work
from benchmarks.works import (
    audience,
    command_line,
    exports,
    first_second,
    first_use,
    imports,
    jobs,
    lint,
    memory,
    packed,
    paging,
    products,
    quota,
    small,
    stream,
    sync,
)
from socialapi._speedups import description

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
        exports.WORK,
        command_line.WORK,
        lint.WORK,
        sync.WORK,
        jobs.WORK,
        quota.WORK,
        packed.WORK,
        products.WORK,
        imports.WORK,
        first_second.WORK,
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
    parser.add_argument("--against", metavar="COMMIT", help="compare socialapi without C with an earlier commit of it")
    parser.add_argument("--render", action="store_true", help="write the page and the plots of figures.json again")
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.only if name not in WORKS]
    if unknown:
        parser.error(f"no such works: {', '.join(unknown)}")
    return parsed


def _folder(asked: argparse.Namespace) -> Path:
    """Returns the folder of the results."""
    out: Path | None = asked.out
    if out is None:
        scratch = "against" if asked.against else "quick" if asked.quick else None
        out = ROOT / ".bench" / scratch if scratch else HERE
    out.mkdir(parents=True, exist_ok=True)
    return out


def _write(out: Path, run: Run, works: Mapping[str, Work]) -> Path:
    """Writes the figures, the plots and the page. Returns where the page is."""
    write_run(run, out / "figures.json")
    drawn = {name: f"plots/{name}.svg" for name, each in run.works.items() if draw(works[name], each, out / "plots")}
    written = out / "RESULTS.md"
    written.write_text(page(run, works, drawn), "utf-8")
    return written


def _measure_all(works: Mapping[str, Work], service: StubProcess, asked: argparse.Namespace, out: Path) -> None:
    """Measures work by work, and writes the page anew after each, so that a run that is stopped leaves what it has."""
    started, missing = time.monotonic(), list[str]()
    run = Run(
        day=datetime.datetime.now(datetime.UTC).date(),
        machine=machine(),
        versions=versions(),
        package=description(),
        is_quick=asked.quick,
    )
    for name, work in works.items():
        rounds = work.rounds if work.rounds == 1 else asked.rounds or (QUICK_ROUNDS if asked.quick else work.rounds)
        measured = measure(work, service, quick=asked.quick, rounds=rounds, contestants=asked.contestants, say=print)
        missing += missed(work, measured)
        run = attrs.evolve(run, works={**run.works, name: Figures.of(work, measured)})
        print(f"{_write(out, run, works)} after {time.monotonic() - started:,.0f} s")
    for each in missing:
        print(f"misses its target: {each}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is asked for, and writes the page."""
    asked = _arguments(arguments)
    out = _folder(asked)
    if asked.render:
        print(_write(out, read_run(out / "figures.json"), WORKS))
        return
    works = {name: WORKS[name] for name in WORKS if name in asked.only}
    with contextlib.ExitStack() as stack:
        if asked.against:
            earlier = stack.enter_context(checkout(asked.against))
            pairs = {name: compare(work, asked.against, earlier) for name, work in works.items()}
            works = {name: pair for name, pair in pairs.items() if pair is not None}
        _measure_all(works, stack.enter_context(stub()), asked, out)


if __name__ == "__main__":
    main()
