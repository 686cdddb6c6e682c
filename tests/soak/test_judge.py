"""The judge of a soak finds what it has to find; each flaw is planted in an outcome that is right."""

import random
from collections.abc import Callable
from typing import Any, get_args

import attrs
import pytest

from socialapi.emulator.faults import FaultKind, Faults
from tests.soak.__main__ import why_unchanged
from tests.soak.conductor import OF_DELIVERIES, TARGETS, faults_at_random
from tests.soak.judge import Outcome, Published, broken_rules, growth, summary, tendency, windows
from tests.soak.plot import JOBS, SECTION, section

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


def test_random_faults_are_the_same_for_the_same_seed_and_the_emulator_takes_all_of_them() -> None:
    rng, again = random.Random(7), random.Random(7)
    drawn = [fault for _ in range(50) for fault in faults_at_random(rng)]
    assert drawn == [fault for _ in range(50) for fault in faults_at_random(again)]
    faults = Faults()
    for fault in drawn:
        faults.script(fault)
    assert len(faults.to_wire()) == len(drawn)


def test_the_section_of_the_page_has_the_figures() -> None:
    done = dict.fromkeys(JOBS, 2) | {"audience sync, cancelled": 1, "rows": 5_000, "posts read": 700}
    done |= {"connections of streams": 9, "events handled": 1_234}
    ended = ending(done=done)(right())
    requests = {"POST /2/oauth2/token": {"accepted": 4, "refused": 1, "unanswered": 2}}
    outcome = attrs.evolve(
        ended, faults={"stall": 3}, events={"app-only tokens invalidated": 6}, ledger={"requests": requests}
    )
    text = section(outcome, "soak.svg").replace("\n", " ")
    assert "3 faults of 1 kinds: 10 jobs with 5,000 rows and products, of which 1 were cancelled" in text
    assert "handled 1,234 events" in text
    assert "These were 7 requests" in text
    assert "renewed 4 times, and the app's was invalidated 6 times" in text
    assert "| memory of the client, MB | 80.0 | 80.0 | 80.0 |" in text
    begin, end = "<!-- `make soak` writes what follows. -->\n", "<!-- `make soak` wrote what precedes. -->\n"
    page = f"before\n{begin}old\n{end}after\n"
    assert SECTION.written_into(page, "new") == f"before\n{begin}\nnew\n\n{end}after\n"


def test_a_page_without_marks_is_not_written() -> None:
    with pytest.raises(ValueError, match="no marks"):
        SECTION.written_into("before\n", "new")


def test_windows_begin_after_the_warm_up() -> None:
    assert windows([1000.0] * 20 + [float(number) for number in range(80)], 4) == [9.5, 29.5, 49.5, 69.5]


def test_a_tendency_is_between_one_and_minus_one() -> None:
    assert tendency([1, 2, 3, 4]) == 1
    assert tendency([4, 3, 2, 1]) == -1
    assert tendency([1, 2, 1, 2, 1]) == 0


def test_every_measure_of_the_summary_has_its_unit_and_what_its_last_column_says_is_explained() -> None:
    outcome = attrs.evolve(right(), samples=[{**SAMPLE, "tasks": float(number)} for number in range(100)])
    _, _, measures = summary(outcome).rpartition("Measures")
    assert "rank correlation of 10 windows with time" in measures
    rows = {line.split("  ")[1]: line.split() for line in measures.splitlines()[2:]}
    assert rows["tasks"][-4:] == ["50", "90", "99", "+1.00"]
    assert rows["resident, MB"][-4:] == ["80.00", "80.00", "80.00", "+0.00"]
    assert rows.keys() >= {"file, MB", "emulator, MB", "lag_seconds", "descriptors"}


def test_a_soak_that_leaves_the_page_as_it_is_says_why() -> None:
    assert why_unchanged(30, is_quick=False, is_broken=False) == ""
    assert why_unchanged(3, is_quick=False, is_broken=False) == "shorter than 30 minutes"
    assert why_unchanged(30, is_quick=False, is_broken=True) == "not every rule holds"
    assert why_unchanged(30, is_quick=True, is_broken=False) != ""


def test_growth_compares_the_middle_fifth_with_the_last_fifth() -> None:
    assert growth([{"tasks": float(number)} for number in range(100)], "tasks") == (49.5, 89.5)
