"""What is compared: works, who does them, and what ours has to reach."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

Order = dict[str, Any]
"""What a contestant is asked for; it arrives at its standard input."""
Told = dict[str, Any]
"""What a contestant says that it did, and what it took."""


class WrongOutcome(Exception):
    """A contestant did another job than the one that is compared."""


@attrs.frozen(kw_only=True)
class Contestant:
    """One way to do a work: `job` is a function of `benchmarks.contestants.<module>`, `options` go into its order."""

    name: str
    module: str
    job: str
    options: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Target:
    """What is to be reached: the metric of `of`, or its ratio to the one of `to` in the same round."""

    id: str
    says: str
    of: str
    to: str | None = None
    at_most: float | None = None
    at_least: float | None = None
    metric: str | None = None
    """Of the work, unless given."""
    unit: str = ""

    def is_met(self, value: float) -> bool:
        """Whether a measured value is good enough."""
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


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
    base: str | None
    contestants: Sequence[Contestant]
    targets: Sequence[Target]
    judge: Callable[[Order, Told, Mapping[str, Any]], Mapping[str, Any]]
    full: Mapping[str, Any]
    quick: Mapping[str, Any]
    rounds: int
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
