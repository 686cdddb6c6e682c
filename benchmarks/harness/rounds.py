"""Rounds: every contestant once, one after another, again and again, so that what disturbs one
disturbs all.
"""

import tempfile
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import attrs

from benchmarks.harness.processes import Failed, StubProcess, run
from benchmarks.harness.work import Contestant, Order, Target, Work, WrongOutcome
from socialapi._speedups import IS_ENABLED, description

Metrics = Mapping[str, Any]

HAS_SPEEDUPS: Final = IS_ENABLED
ONE_WAY: Final = f"ours is {description()} anyway"


@attrs.define
class Measured:
    """What a work came to: the metrics of every contestant round by round, and who did not take
    part and why.
    """

    rounds: list[dict[str, Metrics]] = attrs.field(factory=list)
    absent: dict[str, str] = attrs.field(factory=dict)

    def values(self, name: str, metric: str) -> list[float]:
        """One metric of a contestant, by round."""
        return [metrics[name][metric] for metrics in self.rounds if metric in metrics.get(name, ())]

    def ratios(self, name: str, base: str, metric: str) -> list[float]:
        """The metric of one divided by that of another of the same round."""
        both = [metrics for metrics in self.rounds if name in metrics and base in metrics]
        return [metrics[name][metric] / metrics[base][metric] for metrics in both]

    def reached(self, target: Target, metric: str) -> list[float]:
        """What counts for a target, by round."""
        metric = target.metric or metric
        return self.values(target.of, metric) if target.to is None else self.ratios(target.of, target.to, metric)


def measure(
    work: Work,
    stub: StubProcess,
    *,
    quick: bool,
    rounds: int,
    contestants: Collection[str] | None,
    say: Callable[[str], None],
) -> Measured:
    """Runs a work at full size, after a round at quick size that does not count: it compiles what
    is new.

    `contestants` are beginnings of names; without them all take part. The base always does.
    """
    wanted = [each for each in work.contestants if contestants is None or _is_wanted(each, work, contestants)]
    measured = Measured()
    if not HAS_SPEEDUPS:
        measured.absent = {each.name: ONE_WAY for each in wanted if each.is_without_speedups}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1 if quick else 0, rounds + 1):
            size = work.quick if quick or number == 0 else work.full
            order: Order = {**size, "url": stub.url, "folder": folder}
            if work.prepare is not None and number < 2:
                work.prepare(order)
            found: dict[str, Metrics] = {}
            for contestant in wanted:
                if contestant.name not in measured.absent:
                    _try(work, stub, contestant, order, measured, found)
            if number:
                measured.rounds.append(found)
                say(f"{work.name}: round {number} of {rounds}: {_shown(work, found)}")
    return measured


def _is_wanted(contestant: Contestant, work: Work, names: Collection[str]) -> bool:
    return contestant.name == work.base or contestant.name.startswith(tuple(names))


def _try(
    work: Work,
    stub: StubProcess,
    contestant: Contestant,
    order: Order,
    measured: Measured,
    found: dict[str, Metrics],
) -> None:
    settings = {**work.stub, **order.get("stub", {}), **contestant.options.get("stub", {})}
    stub.configure(settings)
    try:
        told = run(contestant, order)
        if "absent" in told:
            measured.absent[contestant.name] = told["absent"]
            return
        found[contestant.name] = work.judge({**order, **contestant.options}, told, stub.seen())
    except (Failed, WrongOutcome) as problem:
        if contestant.is_optional:
            measured.absent[contestant.name] = f"it does another job, {str(problem).splitlines()[-1]}"
            return
        raise Failed(f"{work.name}, {contestant.name}: {problem}") from None


def _shown(work: Work, found: Mapping[str, Metrics]) -> str:
    return ", ".join(f"{name} {metrics[work.metric]:.{work.digits}f}" for name, metrics in found.items())
