"""What a run measured, as `figures.json` stores it: the page and its plots are made from that file alone."""

import datetime
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
from cattrs.preconf.orjson import make_converter

from benchmarks.harness.rounds import Measured
from benchmarks.harness.work import Spread, Work

Series = Sequence[tuple[float, float]]


@attrs.frozen(kw_only=True)
class Figures:
    """What the contestants of a work took, by their names."""

    rounds: int
    metrics: Mapping[str, Mapping[str, Spread]]
    """The spread of each metric over the rounds."""
    ratios: Mapping[str, Spread]
    """The ratio to the base, taken within each round."""
    absent: Mapping[str, str]
    """Why somebody did not take part."""
    series: Mapping[str, Series]
    """Megabytes by seconds."""

    @classmethod
    def of(cls, work: Work, measured: Measured) -> "Figures":
        """Returns the figures of what was measured."""
        names = [each.name for each in work.contestants if measured.values(each.name, work.metric)]
        metrics = {
            name: {metric: Spread.of(values) for metric in shown if (values := measured.values(name, metric))}
            for name in names
            for shown in [(work.metric, *work.also)]
        }
        ratios = {name: measured.ratios(name, work.base, work.metric) for name in names if work.base}
        last = measured.rounds[-1]
        return cls(
            rounds=len(measured.rounds),
            metrics=metrics,
            ratios={name: Spread.of(values) for name, values in ratios.items() if values},
            absent=measured.absent,
            series={name: last[name]["series"] for name in names if "series" in last.get(name, ())},
        )


@attrs.frozen(kw_only=True)
class Run:
    """One run of the benchmarks on one machine."""

    day: datetime.date
    machine: str
    versions: str
    package: str
    """How the package was built."""
    is_quick: bool = False
    works: Mapping[str, Figures] = attrs.field(factory=dict)


_CONVERTER: Final = make_converter()
_CONVERTER.register_unstructure_hook(Spread, attrs.astuple)
_CONVERTER.register_structure_hook(Spread, lambda values, _: Spread(*values))


def read_run(path: Path) -> Run:
    """Returns the run in a file."""
    return _CONVERTER.loads(path.read_bytes(), Run)


def write_run(run: Run, path: Path) -> None:
    """Writes the run to a file: numbers with six digits, and lists of them on one line."""
    text = orjson.dumps(_rounded(_CONVERTER.unstructure(run)), option=orjson.OPT_INDENT_2).decode()
    path.write_text(re.sub(r"\[[\[\]\s\d.,e+-]*\]", lambda numbers: "".join(numbers[0].split()), text) + "\n", "utf-8")


def _rounded(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {name: _rounded(each) for name, each in value.items()}
        case list() | tuple():
            return [_rounded(each) for each in value]
    return value
