"""What is compared: works, their contestants, and the targets of socialapi."""

import enum
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi._speedups import HASHING, SWITCH

Order = dict[str, Any]
"""What a contestant is asked for; it arrives at its standard input."""
Told = dict[str, Any]
"""What a contestant says that it did, and what it took."""

SOCIALAPI: Final = "socialapi"
BY_HAND: Final = "aiohttp + orjson by hand"
WITH_CHECKS: Final = f"{BY_HAND}, with checks"


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
    """Whether this is socialapi with its C extension, or a part of it, switched off, which needs one."""
    is_optional: bool = False
    """Whether it is skipped where it fails, or does another job."""
    group: str = ""
    """Those of a group stand together on the page."""


NO_SPEEDUPS: Final = {SWITCH: "1"}


def both_ways(installed: Contestant) -> tuple[Contestant, Contestant]:
    """Returns socialapi as it is installed, and without its C extension."""
    name = f"{installed.name}, without C"
    return installed, attrs.evolve(installed, name=name, environment=NO_SPEEDUPS, is_without_speedups=True)


def hashed_by_hashlib(installed: Contestant) -> Contestant:
    """Returns socialapi with its C extension, in which hashlib hashes."""
    name = f"{installed.name}, hashed by hashlib"
    return attrs.evolve(installed, name=name, environment={HASHING: "hashlib"}, is_without_speedups=True)


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
    """A limit for the ratio of one contestant to another in the same round."""

    of: str
    to: str
    at_most: float | None = None
    at_least: float | None = None
    metric: str | None = None
    """The metric of the work, unless given."""

    def is_met(self, ratios: Sequence[float]) -> bool:
        """Returns whether three quarters of the rounds are good enough."""
        spread = Spread.of(ratios)
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
    judge: Callable[[Order, Told, Mapping[str, Any]], Mapping[str, Any]]
    full: Mapping[str, Any]
    quick: Mapping[str, Any]
    rounds: int
    targets: Sequence[Target] = ()
    schedule: Schedule = Schedule.ONE_BY_ONE
    stub: Mapping[str, Any] = attrs.field(factory=dict)
    cannot: Mapping[str, str] = attrs.field(factory=dict)
    notes: Sequence[str] = ()
    also: Mapping[str, str] = attrs.field(factory=dict)
    """Other metrics to show, with what stands above them."""
    beside: str | None = None
    """One of these that a plot has next to its bars."""
    prepare: Callable[[Order], None] | None = None
    """Puts what the contestants share, such as a file, into the `folder` of the order."""


def expect(what: str, found: Any, wanted: Any) -> None:
    """Raises WrongOutcome where something came out differently."""
    if found != wanted:
        raise WrongOutcome(f"{what}: {found!r} where {wanted!r} was to be had")
