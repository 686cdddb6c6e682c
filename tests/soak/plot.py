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
    "objects": "objects that the garbage collector tracks",
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
        For {minutes:.0f} minutes, one client ran every kind of work concurrently, in a separate process. Meanwhile,
        the emulator injected {sum(outcome.faults.values()):,} faults of {len(outcome.faults)} kinds. The client ran
        {jobs:,} jobs with {done["rows"]:,} rows and products; {cancelled:,} of the jobs were cancelled midway and
        resumed. It read {done["posts read"]:,} posts by pagination that was interrupted and resumed. Its three
        streams connected {done["connections of streams"]:,} times in total, and a webhook receiver with an inbox
        handled {done["events handled"]:,} events. Including single calls, posts and rules, the emulator received
        {requests:,} requests. User tokens lasted 20 s and were renewed {renewed:,} times, and the app's token was
        invalidated {outcome.events["app-only tokens invalidated"]:,} times. After every job, the audiences and
        catalogs were compared with their expected content. Nothing was lost: each post and event arrived once, or
        fell into a gap that the stream reported. The receiver handled each event once and accepted no forged event.
        When the client was closed, it left no task, thread or descriptor behind."""
    return textwrap.fill(" ".join(text.split()), 100, break_on_hyphens=False, break_long_words=False)


def _rows(samples: Samples) -> Iterator[str]:
    yield "| Median of | middle fifth | last fifth | highest |"
    yield "|---|---|---|---|"
    for name, title in ROWS.items():
        scale, digits = (MEGABYTE, 1) if name.endswith("_bytes") else (1, 0)
        values = (*growth(samples, name), max(sample[name] for sample in samples))
        yield f"| {title} | {' | '.join(f'{value / scale:,.{digits}f}' for value in values)} |"
