"""Soaks the SDK: everything at once on one client, for half an hour, with random faults: `make
soak`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.proofs.processes import ROOT
from tests.soak.conductor import Plan, quick_plan, soak
from tests.soak.judge import broken_rules, samples_of, summary
from tests.soak.plot import SECTION, draw, section

WHOLE_MINUTES: Final = 30.0
"""A shorter soak leaves the section of the documentation and its plot as they are."""
PAGE: Final = ROOT / "docs" / "tested.md"
FOLDER: Final = ROOT / ".soak"
PLOT: Final = ROOT / "benchmarks" / "plots" / "soak.svg"
EPILOG: Final = """
An emulator and a client run in processes of their own. The client does everything at once: audience uploads with
journals, syncs, catalog loads, walks through pages, single calls, posts, three streams, and a webhook receiver with an
inbox. Faults change every few seconds, tokens end, streams are ended, jobs are cancelled and continued, and streams,
walks and the receiver are closed and opened again.

A line every 30 seconds says how many operations the client has done, how many requests the emulator has received, how
many faults it has played, how much was published, and how much memory it takes. At the end there is a summary, and a
sentence for each rule that does not hold; the status is 1 then.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Soaks, judges and draws. Returns the status of the process."""
    parser = argparse.ArgumentParser(
        prog="tests.soak", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=WHOLE_MINUTES, help="how long (30)")
    parser.add_argument("--seed", type=int, default=1, help="of everything that is drawn at random (1)")
    parser.add_argument("--quick", action="store_true", help="smaller jobs, and everything more often: for seconds")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of what is left, among it samples.csv (.soak)")
    parser.add_argument("--draw", type=Path, help="only draw the samples that are in the folder, into this file")
    asked = parser.parse_args(arguments)
    if asked.draw:
        _draw(asked.folder, asked.draw)
        return 0
    seconds = asked.minutes * 60
    plan = quick_plan(seconds, asked.seed) if asked.quick else Plan(seconds=seconds, seed=asked.seed)
    outcome = soak(plan, asked.folder, lambda line: print(line, flush=True))
    print(summary(outcome), end="\n\n")
    rules = broken_rules(outcome)
    for sentence in rules:
        print(f"BROKEN: {sentence}")
    print(f"seed {asked.seed}: {'every rule holds' if not rules else f'{len(rules)} rules are broken'}")
    reason = why_unchanged(asked.minutes, is_quick=asked.quick, is_broken=bool(rules))
    if not reason:
        part = section(outcome, f"../benchmarks/plots/{PLOT.name}")
        PAGE.write_text(SECTION.written_into(PAGE.read_text("utf-8"), part), "utf-8")
    page = PAGE.relative_to(ROOT)
    print(f"{page} is unchanged: {reason}" if reason else f"{page} has a new section", end="; ")
    _draw(asked.folder, asked.folder / PLOT.name if reason else PLOT)
    return 1 if rules else 0


def why_unchanged(minutes: float, *, is_quick: bool, is_broken: bool) -> str:
    """Why a soak leaves the section of the documentation as it is; nothing where it writes it."""
    if is_broken:
        return "not every rule holds"
    if minutes < WHOLE_MINUTES:
        return f"shorter than {WHOLE_MINUTES:.0f} minutes"
    return "smaller jobs than those of a whole soak" if is_quick else ""


def _draw(folder: Path, plot: Path) -> None:
    samples, faults = (samples_of(folder / f"{name}.csv") for name in ("samples", "faults"))
    is_drawn = bool(samples and faults) and draw(samples, faults, plot)
    shown = plot.relative_to(ROOT) if plot.is_relative_to(ROOT) else plot
    print(f"plot: {shown}" if is_drawn else "no plot was drawn: there is no matplotlib, or nothing was measured")


if __name__ == "__main__":
    sys.exit(main())
