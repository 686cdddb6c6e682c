"""The page of results, made from the figures of a run."""

from collections.abc import Iterator, Mapping
from typing import Final

from benchmarks.harness.figures import Figures, Run
from benchmarks.harness.rounds import ONE_WAY
from benchmarks.harness.work import BY_HAND, WITH_CHECKS, Contestant, Spread, Work

INTRODUCTION: Final = f"""# Benchmark results

`make bench` measures socialapi and other libraries in one run and writes this page. Compare the
ratios: times depend on the machine. In each round every contestant does the same job once, in a
fresh process, against a stub of the service in another process. A ratio is taken within a round. A
figure is the median of the rounds, followed by the lower and upper quartiles; one without quartiles
is the same in all rounds. “CPU” is the processor time of the contestant's process. Tables begin
with the best result. [How it is measured](README.md) has the details.

“{BY_HAND}” is the shortest program that does the job, without checks, types, retries
or rate limits: the limit for any library on this stack. “{WITH_CHECKS}” also
checks what socialapi checks. “Without C” is socialapi with its optional extension switched off."""

QUICK: Final = """This is a run with `--quick`, which shows that everything works: its sizes are smaller than the text
says, and its figures mean little."""


def page(run: Run, works: Mapping[str, Work], plots: Mapping[str, str]) -> str:
    """Returns the whole page. `plots` are files by the name of the work."""
    parts = [
        INTRODUCTION,
        *([QUICK] if run.is_quick else []),
        f"Measured on {run.day:%d %B %Y}: {run.machine}; {run.versions}. socialapi runs {run.package}.",
    ]
    for name, figures in run.works.items():
        parts += _section(works[name], figures, plots.get(name))
    return "\n\n".join(parts) + "\n"


def _section(work: Work, figures: Figures, plot: str | None) -> list[str]:
    parts = [f"## {work.title}", work.says]
    if plot is not None:
        parts.append(f"![{work.title}]({plot})")
    parts.append("\n".join(_table(work, figures)))
    absent = {name: reason for name, reason in figures.absent.items() if reason != ONE_WAY} | {**work.cannot}
    if absent:
        parts.append("\n".join(_not_compared(absent)))
    rounds = ", once" if figures.rounds == 1 else f"; there were {figures.rounds} rounds"
    parts.append(" ".join((*work.notes, f"The contestants of a round work {work.schedule.value}{rounds}.")))
    return parts


def _not_compared(absent: Mapping[str, str]) -> Iterator[str]:
    """Yields a line for each reason, with all whom it holds for."""
    names: dict[str, list[str]] = {}
    for name, reason in absent.items():
        names.setdefault(reason.rstrip("."), []).append(name)
    for reason, those in names.items():
        yield f"- Not compared: {', '.join(those)} ({reason})."


def _table(work: Work, figures: Figures) -> Iterator[str]:
    columns = ["Contestant", work.unit, *([f"× {work.base}"] if work.base else []), *work.also.values()]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for name in ranked(work, figures):
        found = figures.metrics[name]
        cells = [name, _shown(found[work.metric], work.digits)]
        if work.base:
            cells.append(_shown(figures.ratios[name], 2))
        cells += [_shown(found[metric], 0) if metric in found else "–" for metric in work.also]
        yield f"| {' | '.join(cells)} |"


def ranked(work: Work, figures: Figures) -> list[str]:
    """Returns those who took part, the best of each group first."""
    groups = list(dict.fromkeys(each.group for each in work.contestants))
    sign = -1 if work.is_higher_better else 1

    def rank(each: Contestant) -> tuple[int, float]:
        return groups.index(each.group), sign * compared(work, figures, each.name).median

    present = [each for each in work.contestants if each.name in figures.metrics]
    return [each.name for each in sorted(present, key=rank)]


def compared(work: Work, figures: Figures, name: str) -> Spread:
    """Returns the ratio of a contestant to the base, or what it took in a work without a base."""
    return figures.ratios[name] if work.base else figures.metrics[name][work.metric]


def _shown(spread: Spread, digits: int) -> str:
    median, lower, upper = (f"{each:,.{digits}f}" for each in (spread.median, spread.lower, spread.upper))
    return median if lower == upper else f"{median} ({lower} – {upper})"
