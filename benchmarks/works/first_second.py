"""The first second of the command line: the cost of a small job and of `--version`, relative to importing aiohttp."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import canned
from benchmarks.harness.files import write_csv
from benchmarks.harness.work import Contestant, Order, Target, Told, Work, expect

ROWS: Final = 10


def judge(order: Order, told: Told, seen: Mapping[str, Any]) -> dict[str, float]:
    """Checks that the process succeeded."""
    expect("exit status", told["items"], 0)
    return {"ms": told["cpu_seconds"] * 1_000, "wall_ms": told["seconds"] * 1_000}


def prepare(order: Order) -> None:
    """Writes the file to upload."""
    write_csv(Path(order["folder"], "ten.csv"), map(canned.person, range(ROWS)))


def _runs(name: str, *arguments: str) -> Contestant:
    return Contestant(name=name, module="importing", job="process", options={"arguments": arguments})


AIOHTTP: Final = "python -c “import aiohttp”"
DRY: Final = "socialapi audience upload --dry-run"
VERSION: Final = "socialapi --version"

WORK: Final = Work(
    name="first_second",
    title="The first second",
    says="Runs a command in a fresh process: a dry run of uploading ten rows, a lint of the rows, and `--version`.",
    metric="ms",
    unit="ms of CPU",
    digits=0,
    base=AIOHTTP,
    contestants=(
        _runs(AIOHTTP, "-c", "import aiohttp"),
        _runs(VERSION, "-m", "socialapi", "--version"),
        _runs(
            DRY,
            *[
                "-m",
                "socialapi",
                "audience",
                "upload",
                "{folder}/ten.csv",
                "--account=a",
                "--audience=c",
                "--dry-run",
                "--json",
            ],
        ),
        _runs("socialapi audience lint", *["-m", "socialapi", "audience", "lint", "{folder}/ten.csv", "--json"]),
    ),
    targets=(Target(of=DRY, to=AIOHTTP, at_most=1.6), Target(of=VERSION, to=AIOHTTP, at_most=0.4)),
    judge=judge,
    full={},
    quick={},
    rounds=15,
    also={"wall_ms": "ms by the clock"},
    notes=("The entire process is measured, including the start of Python.",),
    prepare=prepare,
)
