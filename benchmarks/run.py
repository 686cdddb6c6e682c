"""Compares this package with what else there is: `make bench`, or `python -m benchmarks.run --help`."""

import argparse
import datetime
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.page import Results, page
from benchmarks.harness.plots import draw
from benchmarks.harness.processes import stub
from benchmarks.harness.rounds import Measured, measure
from benchmarks.harness.work import Work
from benchmarks.works import audience, imports, memory, paging, products, quota, small, stream

HERE: Final = Path(__file__).parent
MODULES: Final = (paging, stream, small, audience, quota, products, imports, memory)
WORKS: Final[dict[str, Work]] = {module.WORK.name: module.WORK for module in MODULES}
QUICK_ROUNDS: Final = 2


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--only", type=_names, default=list(WORKS), help=f"works, of {', '.join(WORKS)}")
    parser.add_argument("--contestants", type=_names, help="those whose names begin so; the base takes part anyway")
    parser.add_argument("--rounds", type=int, help="instead of the number that each work has; memory is measured once")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all of it runs")
    parser.add_argument("--out", type=Path, help="folder of RESULTS.md and the plots")
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.only if name not in WORKS]
    if unknown:
        parser.error(f"no such works: {', '.join(unknown)}")
    return parsed


def _write(out: Path, results: Results, plots: Mapping[str, str], *, quick: bool) -> Path:
    """Writes the page; returns where it is."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text("utf-8"))
    today = datetime.datetime.now(datetime.UTC).date()
    written = out / "RESULTS.md"
    written.write_text(page(results, reasons, plots=plots, day=today, quick=quick), "utf-8")
    return written


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures work by work, and writes the page anew after each, so that a run that is stopped leaves what it has."""
    asked = _arguments(arguments)
    out: Path = asked.out or (HERE.parent / ".bench" / "quick" if asked.quick else HERE)
    out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    results: dict[str, tuple[Work, Measured]] = {}
    plots: dict[str, str] = {}
    with stub() as service:
        for name in asked.only:
            work = WORKS[name]
            rounds = work.rounds if work.rounds == 1 else asked.rounds or (QUICK_ROUNDS if asked.quick else work.rounds)
            measured = measure(
                work, service, quick=asked.quick, rounds=rounds, contestants=asked.contestants, say=print
            )
            results[name] = (work, measured)
            if draw(work, measured, out / "plots"):
                plots[name] = f"plots/{name}.svg"
            written = _write(out, results, plots, quick=asked.quick)
            print(f"{written} after {time.monotonic() - started:,.0f} s")


if __name__ == "__main__":
    main()
