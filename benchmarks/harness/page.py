"""The page of results, made from what was measured."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from benchmarks.harness.machine import machine, versions
from benchmarks.harness.rounds import Measured, Spread
from benchmarks.harness.work import Target, Work

Results = Mapping[str, tuple[Work, Measured]]

INTRODUCTION: Final = """# What it costs

`make bench` writes this page. Every figure is the median of several rounds, with the least and the most beside it. In a
round every contestant does the same job once, in a fresh process, against the same stub of the service in another
process; a ratio is taken within a round. Only the processor time of the contestant's own process counts, where a unit
says CPU. How it measures, and how to add a contestant: [README](README.md)."""


QUICK: Final = (
    "This is a run with `--quick`: the sizes are small ones, whatever is said below, and the figures say little."
)


def page(
    results: Results,
    reasons: Mapping[str, str],
    *,
    plots: Mapping[str, str],
    day: datetime.date,
    quick: bool = False,
) -> str:
    """The whole page. `reasons` say why a target is missed, by its id; `plots` are files, by the name of the work."""
    parts = [
        INTRODUCTION,
        *([QUICK] if quick else []),
        f"Measured on {day:%d %B %Y}: {machine()}; {versions()}.",
        "## Targets",
    ]
    parts.append("\n".join(_targets(results)))
    missed = list(_missed(results, reasons))
    if missed:
        parts.append("\n".join(missed))
    for work, measured in results.values():
        parts += _section(work, measured, plots.get(work.name))
    return "\n\n".join(parts) + "\n"


def _targets(results: Results) -> Iterator[str]:
    yield "| Work | Target | Measured | Met |"
    yield "|---|---|---|---|"
    for work, measured in results.values():
        for target in work.targets:
            yield f"| {work.title} | {target.says} | {_reached(work, target, measured)} | {_met(work, target, measured)} |"


def _reached(work: Work, target: Target, measured: Measured) -> str:
    values = measured.reached(target, work.metric)
    if not values:
        return "–"
    unit = target.unit if target.to is None else " ×"
    return _said(Spread.of(values), 2 if target.to else work.digits, unit)


def _met(work: Work, target: Target, measured: Measured) -> str:
    values = measured.reached(target, work.metric)
    if not values:
        return "not measured"
    return "yes" if target.is_met(Spread.of(values).median) else "**no**"


def _missed(results: Results, reasons: Mapping[str, str]) -> Iterator[str]:
    for work, measured in results.values():
        for target in work.targets:
            met = _met(work, target, measured)
            if met == "not measured":
                yield f"- {work.title}, {target.says}: not measured, since {_who_is_missing(target, measured)}."
            elif met != "yes":
                yield f"- {work.title}, {target.says}: {reasons.get(target.id, 'no reason is known yet.')}"


def _who_is_missing(target: Target, measured: Measured) -> str:
    for name in (target.of, target.to):
        if name in measured.absent:
            return f"{name} did not take part: {measured.absent[name].rstrip('.')}"
    return "not all whom it compares were asked to take part"


def _section(work: Work, measured: Measured, plot: str | None) -> list[str]:
    parts = [f"## {work.title}", work.says]
    if plot is not None:
        parts.append(f"![{work.title}]({plot})")
    parts.append("\n".join(_table(work, measured)))
    absent = {**measured.absent, **work.cannot}
    if absent:
        parts.append("\n".join(f"- {name} is not compared: {reason.rstrip('.')}." for name, reason in absent.items()))
    if work.notes:
        parts.append(" ".join(work.notes))
    return parts


def _table(work: Work, measured: Measured) -> Iterator[str]:
    columns = ["Contestant", work.unit, *([f"× {work.base}"] if work.base else []), *work.also.values()]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for name in present(work, measured):
        cells = [name, _said(Spread.of(measured.values(name, work.metric)), work.digits)]
        if work.base:
            ratios = measured.ratios(name, work.base, work.metric)
            cells.append(_said(Spread.of(ratios), 2) if ratios else "–")
        cells += [_said(Spread.of(measured.values(name, metric)), 0) for metric in work.also]
        yield f"| {' | '.join(cells)} |"


def present(work: Work, measured: Measured) -> Iterable[str]:
    """Who took part, in the order of the work."""
    return (each.name for each in work.contestants if measured.values(each.name, work.metric))


def _said(spread: Spread, digits: int, unit: str = "") -> str:
    median, least, most = (f"{each:,.{digits}f}" for each in (spread.median, spread.least, spread.most))
    return f"{median}{unit}" if least == most else f"{median}{unit} ({least} – {most})"
