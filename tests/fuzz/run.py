"""Searches with every target for some time, and prints a table of what came of it: `make fuzz`."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs

from tests.fuzz.kept import SEARCHED
from tests.fuzz.table import ALL

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
        return f"{self.target:<20}" + "".join(f"{number:>12,}" for number in numbers) + f"  {says}"


HEADER: Final = f"{'target':<20}" + "".join(
    f"{name:>12}" for name in ("executions", "per second", "edges", "features", "corpus")
)


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
    before = set(FOUND.glob(f"{target}-*"))
    command = [sys.executable, "-m", "tests.fuzz.search", ALL[target].run.__module__, target, str(seconds)]
    log = SEARCHED / f"{target}.log"
    SEARCHED.mkdir(exist_ok=True)
    with log.open("wb") as file:
        try:
            limit = seconds + GRACE_SECONDS
            status = subprocess.run(command, stdout=file, stderr=file, timeout=limit, check=False).returncode
        except subprocess.TimeoutExpired:  # which has killed it; the other targets are searched all the same
            status = KILLED
    found = tuple(sorted(set(FOUND.glob(f"{target}-*")) - before))
    return result_of(target, log.read_text("utf-8", "replace"), found, status)


def main(seconds: str, *names: str) -> int:
    """Prints a row for each target. Returns 1 if a search found something, or broke."""
    print(f"{HEADER}  found", flush=True)  # noqa: T201
    results = []
    for name in names or ALL:
        results.append(search(name, int(seconds)))
        print(results[-1].line, flush=True)  # noqa: T201
    for each in results:
        for path in each.found:
            print(f"{each.target}: {path}, and what it broke in {SEARCHED / each.target}.log")  # noqa: T201
    return int(any(each.found or each.is_broken for each in results))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
