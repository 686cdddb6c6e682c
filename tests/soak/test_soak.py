"""A soak of seconds, in which everything of a long one happens; `make soak` runs the long one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, get_args

import pytest

from socialapi.emulator.faults import FaultKind
from tests.soak.conductor import OF_DELIVERIES, QUICK_FAULT_KINDS, TARGETS, quick_plan, soak
from tests.soak.judge import Outcome, broken_rules, summary

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("soak")]

SECONDS: Final = 4.0
HAPPENED: Final = (
    *("audience upload", "packed upload", "do-not-reach upload", "audience sync", "catalog load"),
    *("posts read", "posts created", "rules ensured", "permissions listed"),
    *("GET, as the app", "GET, as an OAuth 2.0 user", "GET, as an OAuth 1.0a user", "GET, a page"),
    *("posts: items", "posts with backfill: items", "activity: items", "gaps", "events handled"),
)
EVENTS: Final = ("faults scripted", "streams ended", "app-only tokens invalidated", "moves of the clock")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("soak") / "run"


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return soak(quick_plan(SECONDS, seed=1, until=HAPPENED, until_events=EVENTS), folder, print)


def missing(counts: Mapping[str, int], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not counts.get(name)]


def test_nothing_is_lost_and_nothing_grows_while_everything_runs_at_once_with_faults(outcome: Outcome) -> None:
    found = broken_rules(outcome)
    assert not found, "\n".join([*found, summary(outcome)])


def test_everything_of_a_long_soak_happens_in_a_short_one(outcome: Outcome) -> None:
    assert outcome.ended is not None
    assert missing(outcome.ended["done"], HAPPENED) == []
    assert missing(outcome.events, EVENTS) == []
    assert len(outcome.faults) >= QUICK_FAULT_KINDS
    assert outcome.ledger["requests"]["POST /2/oauth2/token"]["accepted"] > 1
    assert outcome.ledger["requests"]["POST /oauth2/token"]["accepted"] > 1


def test_the_client_leaves_no_folder_of_a_job_behind(outcome: Outcome, folder: Path) -> None:
    assert [each.name for each in (folder / "files").iterdir() if each.is_dir()] == []


def test_every_fault_of_the_emulator_may_be_played() -> None:
    scripts = [script for _, _, scripts, _ in TARGETS for script in scripts]
    assert {script["fault"] for script in (*scripts, *OF_DELIVERIES)} == set(get_args(FaultKind))
