"""The page of results, made from what was measured."""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.harness.floor import Floor
from benchmarks.harness.machine import machine, versions
from benchmarks.harness.rounds import ONE_WAY, Measured
from benchmarks.harness.work import Spread, Target, Work
from socialapi._speedups import description

Results = Mapping[str, tuple[Work, Measured]]

INTRODUCTION: Final = """# What it costs

`make bench` writes this page. Every figure is the median of several rounds, with the lower and the
upper quartile beside it; what was measured once has none. A target is met when the worse quartile
meets it. In a round every contestant does the same job once, in a fresh process, against a stub of
the service in another process; a ratio is taken within a round. Only the processor time of the
contestant's own process counts, where a unit says CPU. “Without C” is ours with its extension
switched off; targets are for ours as it is installed. How it measures, and how to add a contestant:
[README](README.md)."""


QUICK: Final = """This is a run with `--quick`, which shows that everything runs: the sizes are small ones, whatever is
said below. The figures say little, and no target is judged by them."""


def page(
    results: Results,
    reasons: Mapping[str, str],
    *,
    plots: Mapping[str, str],
    day: datetime.date,
    floor: Floor,
    quick: bool = False,
) -> str:
    """The whole page. `reasons` say why a target is missed, by its id; `plots` are files, by the
    name of the work.
    """
    parts = [
        INTRODUCTION,
        *([QUICK] if quick else []),
        f"Measured on {day:%d %B %Y}: {machine()}; {versions()}. Ours is {description()}.",
        floor.says(),
    ]
    if not quick:
        slow = {name: floor.slowness(measured.floor) for name, (_, measured) in results.items()}
        parts += ["## Targets", "\n".join(_targets(results, slow)), *_one_list(_missed(results, reasons, slow))]
    for work, measured in results.values():
        parts += _section(work, measured, plots.get(work.name))
    return "\n\n".join(parts) + "\n"


def _one_list(lines: Iterable[str]) -> Iterator[str]:
    """The lines as one part of the page, or no part if there are none."""
    if text := "\n".join(lines):
        yield text


def _targets(results: Results, slow: Mapping[str, float]) -> Iterator[str]:
    yield "| Work | Target | Measured | Met |"
    yield "|---|---|---|---|"
    for name, (work, measured) in results.items():
        for target in work.targets:
            reached = _reached(work, target, measured, slow[name])
            yield f"| {work.title} | {target.says} | {reached} | {_met(work, target, measured)} |"


def _reached(work: Work, target: Target, measured: Measured, slowness: float) -> str:
    values = measured.reached(target, work.metric)
    if not values:
        return "–"
    unit, digits = target.unit if target.to is None else " ×", 2 if target.to else work.digits
    said = _said(Spread.of(values), digits, unit)
    if target.speed is not None and slowness > 1:
        median = Spread.of(target.scaled(values, slowness)).median
        said += f", as {median:,.{digits}f}{unit} at the floor of reference"
    return said if target.or_else is None else f"{said}; {_reached(work, target.or_else, measured, slowness)}"


def _met(work: Work, target: Target, measured: Measured) -> str:
    values = measured.reached(target, work.metric)
    if not values:
        return "not measured"
    is_met = target.is_met(values) or (target.or_else is not None and _met(work, target.or_else, measured) == "yes")
    return "yes" if is_met else "**no**"


def _missed(results: Results, reasons: Mapping[str, str], slow: Mapping[str, float]) -> Iterator[str]:
    for name, (work, measured) in results.items():
        for target in work.targets:
            met = _met(work, target, measured)
            if met == "not measured":
                yield f"- {work.title}, {target.says}: not measured, since {_who_is_missing(target, measured)}."
            elif met != "yes":
                said = (_nearly(target, measured.reached(target, work.metric), slow[name]), reasons.get(target.id, ""))
                yield f"- {work.title}, {target.says}: {'; '.join(filter(None, said)) or 'no reason is known yet.'}"


def _nearly(target: Target, rounds: Sequence[float], slowness: float) -> str:
    if target.is_met([Spread.of(rounds).median]):
        return "the median meets it"
    if target.is_met(target.scaled(rounds, slowness)):
        return f"the machine was {slowness:.1f} × as slow as the one of reference, where it would be met"
    return ""


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
    absent = {name: reason for name, reason in measured.absent.items() if reason != ONE_WAY} | {**work.cannot}
    if absent:
        parts.append("\n".join(_not_compared(absent)))
    parts.append(" ".join((*work.notes, _scheduled(work, len(measured.rounds)))))
    return parts


def _scheduled(work: Work, rounds: int) -> str:
    if rounds == 1:
        return f"The contestants work {work.schedule.value}, once."
    return f"The contestants of a round work {work.schedule.value}; there were {rounds} rounds."


def _not_compared(absent: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason, with all whom it holds for."""
    names: dict[str, list[str]] = {}
    for name, reason in absent.items():
        names.setdefault(reason.rstrip("."), []).append(name)
    for reason, those in names.items():
        yield f"- Not compared: {'; '.join(those)} ({reason})."


def _table(work: Work, measured: Measured) -> Iterator[str]:
    columns = ["Contestant", work.unit, *([f"× {work.base}"] if work.base else []), *work.also.values()]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for name in present(work, measured):
        cells = [name, _said(Spread.of(measured.values(name, work.metric)), work.digits)]
        if work.base:
            ratios = measured.ratios(name, work.base, work.metric)
            cells.append(_said(Spread.of(ratios), 2) if ratios else "–")
        also = (measured.values(name, metric) for metric in work.also)
        cells += [_said(Spread.of(values), 0) if values else "–" for values in also]
        yield f"| {' | '.join(cells)} |"


def present(work: Work, measured: Measured) -> Iterable[str]:
    """Who took part, in the order of the work."""
    return (each.name for each in work.contestants if measured.values(each.name, work.metric))


def _said(spread: Spread, digits: int, unit: str = "") -> str:
    median, lower, upper = (f"{each:,.{digits}f}" for each in (spread.median, spread.lower, spread.upper))
    return f"{median}{unit}" if lower == upper else f"{median}{unit} ({lower} – {upper})"
