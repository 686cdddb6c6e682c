"""Searches with every target for some time, and prints a table of what came of it: `make fuzz`."""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from tests.fuzz.kept import SEARCHED
from tests.fuzz.table import ALL, target_name

GRACE_SECONDS: Final = 180
"""How long a search may take beyond its time, to start and to read its corpus."""
KILLED: Final = -9
FOUND: Final = SEARCHED / "found"
_PROGRESS: Final = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")
_STATISTIC: Final = re.compile(r"stat::(\w+):\s+(\d+)")


@attrs.frozen
class Result:
    """What a search did. `edges` and `features` are libFuzzer's words for what was reached."""

    target: str
    executions: int
    per_second: int
    edges: int
    features: int
    inputs: int
    found: tuple[Path, ...]
    is_broken: bool

    @property
    def line(self) -> str:
        """The row of the table."""
        numbers = (self.executions, self.per_second, self.edges, self.features, self.inputs)
        says = f"{len(self.found)}" if self.found or not self.is_broken else "it ended early"
        says += f", see {log_of(self.target)}" if self.found or self.is_broken else ""
        return f"{self.target:<20}" + "".join(f"{number:>12,}" for number in numbers) + f"  {says}"


HEADER: Final = f"{'target':<20}" + "".join(
    f"{name:>12}" for name in ("executions", "per second", "edges", "features", "corpus")
)


def log_of(target: str) -> str:
    """The path of what the last search with a target said."""
    return os.path.relpath(SEARCHED / f"{target}.log")


def found_by(target: str) -> Mapping[Path, int]:
    """The inputs that broke a promise of a target, and when each was written last: libFuzzer writes
    an input that it finds again once more.
    """
    return {path: path.stat().st_mtime_ns for path in FOUND.glob(f"{target}-*")}


def result_of(target: str, said: str, found: tuple[Path, ...], status: int) -> Result:
    """Reads what libFuzzer said."""
    statistics = {name: int(number) for name, number in _STATISTIC.findall(said)}
    edges, features, inputs = map(int, (_PROGRESS.findall(said) or [(0, 0, 0)])[-1])
    return Result(
        target,
        statistics.get("number_of_executed_units", 0),
        statistics.get("average_exec_per_sec", 0),
        edges,
        features,
        inputs,
        found,
        status != 0,
    )


def search(target: str, seconds: int) -> Result:
    """Searches with a target in a process of its own. What it says is kept in `.fuzz`."""
    before = found_by(target)
    command = [sys.executable, "-m", "tests.fuzz.search", ALL[target].run.__module__, target, str(seconds)]
    log = SEARCHED / f"{target}.log"
    SEARCHED.mkdir(exist_ok=True)
    with log.open("wb") as file:
        try:
            limit = seconds + GRACE_SECONDS
            status = subprocess.run(command, stdout=file, stderr=file, timeout=limit, check=False).returncode
        except subprocess.TimeoutExpired:  # which has killed it; the other targets are searched all the same
            status = KILLED
    found = tuple(sorted(path for path, written in found_by(target).items() if before.get(path) != written))
    return result_of(target, log.read_text("utf-8", "replace"), found, status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a row for each target. Returns 1 if a search found something, or broke."""
    parser = argparse.ArgumentParser(prog="tests.fuzz.run", description=__doc__)
    parser.add_argument("seconds", type=_whole_seconds, help="how long each target is searched")
    parser.add_argument("targets", nargs="*", type=target_name, metavar="target", help="some of them, in place of all")
    asked = parser.parse_args(arguments)
    print(f"{HEADER}  found", flush=True)  # noqa: T201
    results = []
    for name in asked.targets or ALL:
        results.append(search(name, asked.seconds))
        print(results[-1].line, flush=True)  # noqa: T201
    for each in results:
        for path in each.found:
            shown = f"{each.target} --run {os.path.relpath(path)}"
            print(f"{each.target}: to run what was found alone: python -m tests.fuzz.kept {shown}")  # noqa: T201
    return int(any(each.found or each.is_broken for each in results))


def _whole_seconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of seconds from 1 on")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
