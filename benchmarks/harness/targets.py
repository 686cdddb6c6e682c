"""Targets of the benchmarks: ratios of two contestants in one run, so that a slow machine misses none.

CONTRIBUTING lists them, and a run prints those that it misses.
"""

from collections.abc import Iterable, Iterator

from benchmarks.harness.rounds import Measured
from benchmarks.harness.work import Spread, Target, Work


def described(work: Work, target: Target) -> tuple[str, str, str]:
    """Returns whom a target is for, its limit, and what is compared."""
    limit = f"at least {target.at_least:g}" if target.at_most is None else f"at most {target.at_most:g}"
    return target.of, f"{limit} × {target.to}", work.unit if target.metric is None else work.also[target.metric]


def table(works: Iterable[Work]) -> Iterator[str]:
    """Yields the lines of the table in CONTRIBUTING."""
    yield "| Work | Contestant | Target | Compared |"
    yield "|---|---|---|---|"
    for work in works:
        yield from (f"| {' | '.join((work.title, *described(work, target)))} |" for target in work.targets)


def missed(work: Work, measured: Measured) -> Iterator[str]:
    """Yields a line for each target that the run misses. Targets of absent contestants are skipped."""
    for target in work.targets:
        ratios = measured.ratios(target.of, target.to, target.metric or work.metric)
        if ratios and not target.is_met(ratios):
            found, (of, limit, compared) = Spread.of(ratios), described(work, target)
            reached = f"{found.median:.2f} ({found.lower:.2f} – {found.upper:.2f})"
            yield f"{work.title}, {of}: {reached}, not {limit} ({compared})"
