"""Rounds: every contestant once, one after another, by turns or at once, again and again, so that
what disturbs one disturbs all.
"""

import contextlib
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import attrs

from benchmarks.harness.processes import Failed, Running, StubProcess, run_at_once, run_by_turns
from benchmarks.harness.processes import stub as another_stub
from benchmarks.harness.work import Contestant, Order, Schedule, Work, WrongOutcome
from socialapi._speedups import IS_ENABLED, description

Metrics = Mapping[str, Any]

HAS_SPEEDUPS: Final = IS_ENABLED
ONE_WAY: Final = f"socialapi runs {description()} anyway"


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
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        further = 0 if work.schedule is Schedule.ONE_BY_ONE else len(wanted) - 1
        groups = _Groups(work, [stub, *(stack.enter_context(another_stub()) for _ in range(further))], measured)
        for number in range(1 if quick else 0, rounds + 1):
            order: Order = {**(work.quick if quick or number == 0 else work.full), "folder": folder}
            if work.prepare is not None and number < 2:
                work.prepare(order)
            found = groups.run([each for each in wanted if each.name not in measured.absent], order)
            if number:
                measured.rounds.append(found)
                say(f"{work.name}: round {number} of {rounds}: {_shown(work, found)}")
    return measured


def _is_wanted(contestant: Contestant, work: Work, names: Collection[str]) -> bool:
    return contestant.name == work.base or contestant.name.startswith(tuple(names))


@attrs.define
class _Groups:
    """Those who work at the same time: each by itself where they work one after another, else all of
    a round.

    In a group everybody has a stub, since a stub counts for one contestant.
    """

    work: Work
    stubs: Sequence[StubProcess]
    measured: Measured
    turns: dict[str, int] = attrs.field(factory=dict)
    """How many each took in the round before."""

    def run(self, contestants: Sequence[Contestant], order: Order) -> dict[str, Metrics]:
        """The metrics of a round. Who does not take part is noted as absent."""
        found: dict[str, Metrics] = {}
        schedule = self.work.schedule
        for group in [[each] for each in contestants] if schedule is Schedule.ONE_BY_ONE else [contestants]:
            running = [self._start(*each, order) for each in zip(group, self.stubs, strict=False)]
            if schedule is Schedule.AT_ONCE:
                run_at_once(running)
            else:
                run_by_turns(running, self.turns)
            for contestant, stub, each in zip(group, self.stubs, running, strict=False):
                self.turns[contestant.name] = each.turns
                self._judge(contestant, {**order, "url": stub.url}, each, stub, found)
        return found

    def _start(self, contestant: Contestant, stub: StubProcess, order: Order) -> Running:
        stub.configure({**self.work.stub, **order.get("stub", {}), **contestant.options.get("stub", {})})
        return Running(contestant, {**order, "url": stub.url})

    def _judge(
        self, contestant: Contestant, order: Order, running: Running, stub: StubProcess, found: dict[str, Metrics]
    ) -> None:
        try:
            told = running.told()
            if "absent" in told:
                self.measured.absent[contestant.name] = told["absent"]
                return
            found[contestant.name] = self.work.judge({**order, **contestant.options}, told, stub.seen())
        except (Failed, WrongOutcome) as problem:
            if contestant.is_optional:
                self.measured.absent[contestant.name] = f"it does another job, {str(problem).splitlines()[-1]}"
                return
            raise Failed(f"{self.work.name}, {contestant.name}: {problem}") from None


def _shown(work: Work, found: Mapping[str, Metrics]) -> str:
    return ", ".join(f"{name} {metrics[work.metric]:.{work.digits}f}" for name, metrics in found.items())
