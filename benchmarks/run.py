"""Compares this package with what else there is: `make bench`, or `python -m benchmarks.run --help`."""

import argparse
import datetime
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.page import page
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
    parser.add_argument("--rounds", type=int, help="instead of the number that each work has")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that all of it runs")
    parser.add_argument("--out", type=Path, help="folder of RESULTS.md and the plots")
    parsed = parser.parse_args(arguments)
    unknown = [name for name in parsed.only if name not in WORKS]
    if unknown:
        parser.error(f"no such works: {', '.join(unknown)}")
    return parsed


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, and writes the page and the plots."""
    asked = _arguments(arguments)
    out = asked.out or (HERE.parent / ".bench" / "quick" if asked.quick else HERE)
    started = time.monotonic()
    results: dict[str, tuple[Work, Measured]] = {}
    with stub() as service:
        for name in asked.only:
            work = WORKS[name]
            rounds = asked.rounds or (min(QUICK_ROUNDS, work.rounds) if asked.quick else work.rounds)
            measured = measure(
                work, service, quick=asked.quick, rounds=rounds, contestants=asked.contestants, say=print
            )
            results[name] = (work, measured)
    drawn = {name: draw(*result, out / "plots") for name, result in results.items()}
    plots = {name: f"plots/{file}" for name, file in drawn.items() if file is not None}
    reasons = tomllib.loads((HERE / "reasons.toml").read_text("utf-8"))
    out.mkdir(parents=True, exist_ok=True)
    written = out / "RESULTS.md"
    today = datetime.datetime.now(datetime.UTC).date()
    written.write_text(page(results, reasons, plots=plots, day=today, quick=asked.quick), "utf-8")
    print(f"{written} after {time.monotonic() - started:,.0f} s")


if __name__ == "__main__":
    main()
