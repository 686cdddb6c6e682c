"""The plot of a soak, and the section of the documentation that has it."""

import statistics
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness.plots import Line, panels
from benchmarks.harness.sections import Section
from tests.soak.judge import MEGABYTE, Outcome, growth

POINTS: Final = 180
"""How many points a line has at most, each the median of the samples of its time."""
MEASURES: Final[Mapping[str, Mapping[str, str]]] = {
    "MB resident": {"client": "resident_bytes", "emulator": "emulator_bytes"},
    "descriptors": {"all": "descriptors", "sockets": "sockets"},
    "tasks": {"tasks": "tasks"},
    "threads": {"threads": "threads"},
}
SECTION: Final = Section("soak")
ROWS: Final[Mapping[str, str]] = {
    "resident_bytes": "memory of the client, MB",
    "descriptors": "open descriptors",
    "sockets": "sockets among them",
    "tasks": "tasks",
    "threads": "threads",
    "objects": "objects that the garbage collector watches",
    "file_bytes": "journals, snapshot, digests, inbox, tokens, MB",
    "emulator_bytes": "memory of the emulator, MB",
}
JOBS: Final = ("audience upload", "packed upload", "do-not-reach upload", "audience sync", "catalog load")

Samples = Sequence[Mapping[str, float]]


def draw(samples: Samples, faults: Samples, path: Path) -> bool:
    """Draws memory, descriptors, tasks and threads over time, and the faults played; False where
    nothing could be drawn.
    """
    stacked = [
        (title, [_line(label, samples, name) for label, name in lines.items()]) for title, lines in MEASURES.items()
    ]
    faulty = ("faults played", [_line("faults", faults, "faults")])
    return panels([*stacked, faulty], path, "Everything at once on one client", x="minutes")


def _line(label: str, samples: Samples, name: str) -> Line:
    size = -(-len(samples) // POINTS)
    parts = [samples[start : start + size] for start in range(0, len(samples), size)]
    minutes = [round(part[0]["seconds"] / 60, 2) for part in parts]
    scale = MEGABYTE if name.endswith("_bytes") else 1
    return label, minutes, [round(statistics.median(each[name] for each in part) / scale, 1) for part in parts]


def section(outcome: Outcome, plot: str) -> str:
    """The part of the page: what was done, what was found, the plot, and a table."""
    parts = [_introduction(outcome), f"![memory, descriptors, tasks and threads over time]({plot})"]
    return "\n\n".join([*parts, "\n".join(_rows(outcome.samples))])


def _introduction(outcome: Outcome) -> str:
    done, ledger = (outcome.ended or {})["done"], outcome.ledger["requests"]
    minutes = outcome.samples[-1]["seconds"] / 60
    jobs, cancelled = sum(done[name] for name in JOBS), sum(done.get(f"{name}, cancelled", 0) for name in JOBS)
    requests = sum(each["accepted"] + each["refused"] + each["unanswered"] for each in ledger.values())
    renewed = ledger["POST /2/oauth2/token"]["accepted"]
    text = f"""
        For {minutes:.0f} minutes one client did everything at once, in a process of its
        own, while the emulator played {sum(outcome.faults.values()):,} faults of {len(outcome.faults)} kinds: {jobs:,} jobs
        with {done["rows"]:,} rows and products, of which {cancelled:,} were cancelled in the middle and continued;
        {done["posts read"]:,} posts of walks that were left and continued; three streams, which were connected
        {done["connections of streams"]:,} times; a webhook receiver with an inbox, which handled
        {done["events handled"]:,} events; single calls, posts and rules. These were {requests:,} requests. Tokens of a user
        lasted 20 s and were renewed {renewed:,} times, and the app's was invalidated
        {outcome.events["app-only tokens invalidated"]:,} times. Audiences and catalogs were compared with what they should
        hold after every job. Nothing was lost: each post and event arrived once, or in a gap that the stream told of, and
        each was handled once by the receiver, which took no forged one. When the client was closed, it left no task, no
        thread and no descriptor."""
    return textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False, break_long_words=False)


def _rows(samples: Samples) -> Iterator[str]:
    yield "| Median of | middle fifth | last fifth | highest |"
    yield "|---|---|---|---|"
    for name, title in ROWS.items():
        scale, digits = (MEGABYTE, 1) if name.endswith("_bytes") else (1, 0)
        values = (*growth(samples, name), max(sample[name] for sample in samples))
        yield f"| {title} | {' | '.join(f'{value / scale:,.{digits}f}' for value in values)} |"
