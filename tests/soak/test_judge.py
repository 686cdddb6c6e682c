"""The judge of a soak finds what it has to find; each flaw is planted in an outcome that is right."""

from collections.abc import Callable
from typing import Any, get_args

import attrs
import pytest

from socialapi.emulator.faults import FaultKind
from tests.soak.conductor import OF_DELIVERIES, TARGETS
from tests.soak.judge import Outcome, Published, broken_rules

HELD = {"tasks": ["main"], "threads": 2, "descriptors": ["pipe:[1]", "pipe:[2]", "/dev/null"]}
SAMPLE = {
    "seconds": 0.0,
    "resident_bytes": 80e6,
    "descriptors": 50,
    "sockets": 25,
    "tasks": 45,
    "threads": 6,
    "objects": 80_000,
    "file_bytes": 1e6,
    "lag_seconds": 0.01,
    "emulator_bytes": 60e6,
}


def right() -> Outcome:
    """Two posts and an event; the second post came in a gap of the stream without a backfill."""
    published = [Published("post", "11", 10.0, 10.1), Published("post", "12", 20.0, 20.1)]
    event = Published("event", "21", 30.0, 30.1)
    items = [("posts", 1, "11", "soak 1"), ("posts with backfill", 1, "11", ""), ("posts with backfill", 2, "12", "")]
    return Outcome(
        seed=1,
        published=[*published, event],
        notes=[
            *(["item", *values] for values in items),
            ["item", "posts", 1, "1", "long long"],
            ["item", "posts", 1, "1", "long long"],
            ["item", "activity", 1, "21", ""],
            ["item", "posts", 2, "13", "soak by the client, 1"],
            ["item", "posts with backfill", 2, "13", "soak by the client, 1"],
            ["gap", "posts", 19.0, 21.0, "it broke off"],
            *(["handled", item_id, ""] for item_id in ("11", "12", "21", "13")),
            ["created", "13", "soak by the client, 1", 40.0, 40.1],
            ["unsure", "soak by the client, 2", 41.0, 41.1],
            ["refused", "soak by the client, 3", 42.0, 42.1],
        ],
        samples=[SAMPLE | {"seconds": float(second)} for second in range(100)],
        faults={},
        events={},
        ledger={"deliveries": {"1": {"forgeries": {"sent": 3, "accepted": 0}}}, "requests": {}},
        ended={"done": {}, "errors": {}, "records": {}, "unhandled": [], "before": HELD, "after": HELD},
    )


def without(kind: str, *beginning: Any) -> Callable[[Outcome], Outcome]:
    """The outcome without the notes of this kind that begin so."""

    def change(outcome: Outcome) -> Outcome:
        start = [kind, *beginning]
        return attrs.evolve(outcome, notes=[note for note in outcome.notes if list(note[: len(start)]) != start])

    return change


def beside(*note: Any) -> Callable[[Outcome], Outcome]:
    return lambda outcome: attrs.evolve(outcome, notes=[*outcome.notes, list(note)])


def ending(**values: Any) -> Callable[[Outcome], Outcome]:
    return lambda outcome: attrs.evolve(outcome, ended={**(outcome.ended or {}), **values})


def growing(name: str, step: float) -> Callable[[Outcome], Outcome]:
    def change(outcome: Outcome) -> Outcome:
        grown = [{**each, name: each[name] + number * step} for number, each in enumerate(outcome.samples)]
        return attrs.evolve(outcome, samples=grown)

    return change


def lasting(outcome: Outcome, until: float) -> Outcome:
    """The outcome with its last event published then."""
    *others, event = outcome.published
    return attrs.evolve(outcome, published=[*others, attrs.evolve(event, began=until, ended=until + 0.1)])


FLAWS: dict[str, tuple[Callable[[Outcome], Outcome], str]] = {
    "a lost post": (without("item", "posts", 1, "11"), "the stream of posts lost 1 of 3"),
    "a gap that is not told": (without("gap"), "the stream of posts lost 1 of 3"),
    "a post that a backfill should have brought": (
        lambda outcome: beside("gap", "posts with backfill", 19.0, 21.0, "")(
            without("item", "posts with backfill", 2, "12")(outcome)
        ),
        "the stream of posts with backfill lost 1 of 3",
    ),
    "an item twice": (beside("item", "posts", 1, "11", ""), "the stream of posts brought 1 more than once"),
    "an item of nobody": (beside("item", "activity", 1, "22", ""), "the stream of activity brought 1 that nobody"),
    "a stream without items": (without("item", "activity"), "the stream of activity brought nothing"),
    "a refused post that exists": (
        beside("item", "posts", 2, "14", "soak by the client, 3"),
        "1 posts exist that the client was told had been refused",
    ),
    "a post of unknown outcome that a stream lost": (
        beside("handled", "15", "soak by the client, 2"),
        "the stream of posts lost 1 of 4",
    ),
    "a lost event": (without("handled", "21"), "1 of 4 events were never handled"),
    "an event that is handled twice": (beside("handled", "21", ""), "1 events were handled more than once"),
    "an event of nobody": (beside("handled", "23", ""), "1 events were handled that nobody published"),
    "a forged event": (beside("forged", "21", ""), "forged events were accepted"),
    "a broken rule of a worker": (beside("broken", "sync", "members are missing"), "sync: members are missing"),
    "a client that does not end": (lambda outcome: attrs.evolve(outcome, ended=None), "did not come to its end"),
    "a task": (ending(after={**HELD, "tasks": ["main", "work"]}), "after closing there are tasks: main, work"),
    "a thread": (ending(after={**HELD, "threads": 3}), "after closing there are 3 threads"),
    "a descriptor": (ending(after={**HELD, "descriptors": [*HELD["descriptors"], "socket:[7]"]}), "{'socket': 1}"),  # type: ignore[misc]
    "an exception": (ending(unhandled=["Task exception was never retrieved"]), "an error that nobody took"),
    "a record": (ending(records={"ERROR socialapi: events are refused": 1}), "an unexpected record in the log"),
    "memory": (growing("resident_bytes", 0.15e6), "memory grows: 87.4 MB in the middle, 93.4 MB in the last fifth"),
    "descriptors": (growing("descriptors", 0.1), "descriptors grow: the medians of 10 windows"),
    "tasks": (growing("tasks", 0.1), "tasks grow"),
    "threads": (growing("threads", 0.1), "threads grow"),
    "objects": (growing("objects", 260), "objects grow: 92,870 in the middle, 103,270 in the last fifth"),
    "files": (growing("file_bytes", 26e3), "files grow: 2.3 MB in the middle, 3.3 MB in the last fifth"),
    "gaps all the time": (
        beside("gap", "activity", 15.0, 29.0, "it broke off"),
        "the gaps of the stream of activity are 70% of the time",
    ),
    "a gap without end": (
        lambda outcome: beside("gap", "activity", 0.0, 131.0, "it broke off")(lasting(outcome, 1_000.0)),
        "the stream of activity told of a gap of 121 s",
    ),
    "a stream that ends": (
        ending(errors={"stream: ServerError": 2, "ServerError": 3}),
        "streams ended with errors: {'stream: ServerError': 2}",
    ),
    "a stream that is refused": (
        ending(errors={"stream: Unauthorized": 1}),
        "streams ended with Unauthorized 1 times, more often than a token was invalidated",
    ),
    "no samples": (lambda outcome: attrs.evolve(outcome, samples=outcome.samples[:5]), "there are only 5 samples"),
}


def test_what_is_right_breaks_no_rule() -> None:
    assert broken_rules(right()) == []


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_breaks_a_rule(flaw: str) -> None:
    change, sentence = FLAWS[flaw]
    found = broken_rules(change(right()))
    assert any(sentence in each for each in found), found


HARMLESS: dict[str, Callable[[Outcome], Outcome]] = {
    "objects of jobs under way": growing("objects", 240),
    "an inbox that remembers what was handled": lambda outcome: ending(done={"events handled": 10_000})(
        growing("file_bytes", 30e3)(outcome)
    ),
    "gaps that overlap": lambda outcome: beside("gap", "posts", 18.0, 28.0, "")(
        beside("gap", "posts", 18.0, 28.0, "")(outcome)
    ),
    "a token that is invalidated twice": lambda outcome: ending(errors={"stream: Unauthorized": 1, "ServerError": 3})(
        attrs.evolve(outcome, events={"app-only tokens invalidated": 1})
    ),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_what_faults_give_reason_for_breaks_no_rule(change: Callable[[Outcome], Outcome]) -> None:
    assert broken_rules(change(right())) == []


def test_every_fault_of_the_emulator_may_be_played() -> None:
    scripts = [script for _, _, scripts, _ in TARGETS for script in scripts]
    assert {script["fault"] for script in (*scripts, *OF_DELIVERIES)} == set(get_args(FaultKind))
