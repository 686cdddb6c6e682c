"""What is compared: works, who does them, and what ours has to reach."""

import enum
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from socialapi._speedups import HASHING, SWITCH

Order = dict[str, Any]
"""What a contestant is asked for; it arrives at its standard input."""
Told = dict[str, Any]
"""What a contestant says that it did, and what it took."""


class WrongOutcome(Exception):
    """A contestant did another job than the one that is compared."""


@attrs.frozen(kw_only=True)
class Contestant:
    """One way to do a work: `job` is a function of `benchmarks.contestants.<module>`, `options` go
    into its order.

    `environment` are variables of its process.
    """

    name: str
    module: str
    job: str
    options: Mapping[str, Any] = attrs.field(factory=dict)
    environment: Mapping[str, str] = attrs.field(factory=dict)
    is_without_speedups: bool = False
    """Whether this is ours with its C extension, or a part of it, switched off, which needs one."""
    is_optional: bool = False
    """Whether it is passed over where it fails, or does another job."""


NO_SPEEDUPS: Final = {SWITCH: "1"}


def both_ways(ours: Contestant) -> tuple[Contestant, Contestant]:
    """Ours as it is installed, and without its C extension."""
    name = f"{ours.name}, without C"
    return ours, attrs.evolve(ours, name=name, environment=NO_SPEEDUPS, is_without_speedups=True)


def hashed_by_hashlib(ours: Contestant) -> Contestant:
    """Ours with its C extension, in which hashlib hashes."""
    name = f"{ours.name}, hashed by hashlib"
    return attrs.evolve(ours, name=name, environment={HASHING: "hashlib"}, is_without_speedups=True)


@attrs.frozen
class Spread:
    """Several measurements as three numbers: the median and the quartiles around it."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one. A quartile between two measurements is interpolated."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, lower, upper)


@attrs.frozen(kw_only=True)
class Target:
    """What is to be reached: the metric of `of`, or its ratio to the one of `to` in the same round.

    `or_else` is another way to reach it, which is enough.
    """

    id: str
    says: str
    of: str
    to: str | None = None
    at_most: float | None = None
    at_least: float | None = None
    metric: str | None = None
    """Of the work, unless given."""
    unit: str = ""
    speed: Literal["time", "rate"] | None = None
    """What a slow machine does to it: a time is longer there, and a rate lower."""
    or_else: "Target | None" = None

    def scaled(self, rounds: Sequence[float], slowness: float) -> list[float]:
        """The measurements of a machine that is so many times as slow, as they would be without
        that.
        """
        factor = {"time": 1 / slowness, "rate": slowness}.get(self.speed or "", 1.0)
        return [each * factor for each in rounds]

    def is_met(self, rounds: Sequence[float]) -> bool:
        """Whether three quarters of the rounds are good enough: the quartile on the worse side
        decides.
        """
        spread = Spread.of(rounds)
        is_low = self.at_most is None or spread.upper <= self.at_most
        return is_low and (self.at_least is None or spread.lower >= self.at_least)


class Schedule(enum.Enum):
    """When the contestants of a round work, in the words of the page."""

    ONE_BY_ONE = "one after another"
    """For what is measured by the clock, and for processes that take less than a turn."""
    BY_TURNS = "by turns of 50 ms, so that a slow second of the machine slows all of them"
    """Makes ratios steady on a machine that is slow now and then. Not for what is measured by the clock."""
    AT_ONCE = "at once"
    """For those who wait nearly all of the time."""


@attrs.frozen(kw_only=True)
class Work:
    """One comparison.

    `judge` is given the order, what the contestant told and what the stub saw; it returns the metrics, or raises
    WrongOutcome. `metric` is the one that is compared, divided by that of `base` in the same round. `cannot` names
    peers that are not compared, with the reason. `notes` say what a reader has to know.
    """

    name: str
    title: str
    says: str
    metric: str
    unit: str
    digits: int = 1
    is_higher_better: bool = False
    base: str | None
    contestants: Sequence[Contestant]
    targets: Sequence[Target]
    judge: Callable[[Order, Told, Mapping[str, Any]], Mapping[str, Any]]
    full: Mapping[str, Any]
    quick: Mapping[str, Any]
    rounds: int
    schedule: Schedule = Schedule.ONE_BY_ONE
    stub: Mapping[str, Any] = attrs.field(factory=dict)
    cannot: Mapping[str, str] = attrs.field(factory=dict)
    notes: Sequence[str] = ()
    also: Mapping[str, str] = attrs.field(factory=dict)
    """Other metrics to show, with what stands above them."""
    prepare: Callable[[Order], None] | None = None
    """Puts what the contestants share, such as a file, into the `folder` of the order."""


def expect(what: str, found: Any, wanted: Any) -> None:
    """Raises WrongOutcome where something came out differently."""
    if found != wanted:
        raise WrongOutcome(f"{what}: {found!r} where {wanted!r} was to be had")
