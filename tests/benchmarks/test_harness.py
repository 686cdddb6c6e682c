"""The benchmarks run, and say what they measured; the peers are not installed here, so ours and the
raw ones take part.
"""

import contextlib
import datetime
import http.client
import itertools
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from benchmarks import growth, run
from benchmarks.harness import canned, processes, rounds
from benchmarks.harness.against import compare
from benchmarks.harness.floor import Floor, read_floor, record_floor
from benchmarks.harness.page import page
from benchmarks.harness.processes import ROOT, Failed, Running, StubProcess, run_at_once, run_by_turns, stub
from benchmarks.harness.rounds import ONE_WAY, Measured, measure
from benchmarks.harness.work import Contestant, Spread, Target, Work, expect
from benchmarks.works.quota import steady_share
from benchmarks.works.small import correct_signatures
from benchmarks.works.sync import changed_people

pytestmark = pytest.mark.xdist_group("benchmarks")

QUOTA: Final = {"quota_requests": 20, "quota_seconds": 0.2}
TINY: Final[dict[str, Mapping[str, Any]]] = {
    "paging": {"pages": 2, "warm_pages": 1},
    "paging_mixed": {"pages": 2, "warm_pages": 1},
    "stream": {"posts": 300, "warm_posts": 100},
    "small": {"requests": 20, "warm_requests": 2},
    "small_signed": {"requests": 20, "warm_requests": 2},
    "audience": {"records": 300, "warm_records": 50},
    "audience_dirty": {"records": 1_300, "warm_records": 50},
    "command_line": {"records": 300, "warm_records": 0},
    "sync": {"records": 300, "warm_records": 10},
    "jobs": {"jobs": 3, "records": 50, "warm_records": 10},
    "quota": {"seconds": 0.5, "rows": 32, **QUOTA, "stub": QUOTA},
    "products": {"products": 100, "at_once": 4, "stub": {"latency_seconds": 0.0}},
    "imports": {},
    "first_use": {},
    "memory": {"records": 2_000},
}
RAW: Final = Contestant(name="raw", module="by_hand", job="paging")
DAY: Final = datetime.date(2026, 11, 20)
FLOOR: Final = Floor(1.0, "a hut", [1.0])


@pytest.fixture(scope="module")
def service() -> Iterator[StubProcess]:
    with stub() as running:
        yield running


def only(work: Work, size: Mapping[str, Any]) -> Work:
    return attrs.evolve(work, quick=size)


@pytest.mark.parametrize("name", run.WORKS)
def test_ours_does_every_work_and_its_outcome_is_right(service: StubProcess, name: str) -> None:
    work = only(run.WORKS[name], TINY[name])
    measured = measure(work, service, quick=True, rounds=1, contestants=["ours"], say=lambda _: None)
    took_part = measured.rounds[0].keys()
    ours = {each.name for each in work.contestants if each.name.startswith("ours")}
    assert took_part | measured.absent.keys() == ours | ({work.base} if work.base else set())
    without_pyarrow = {name for name in ours if "Arrow" in name or "Parquet" in name}
    without_extension = {name for name, reason in measured.absent.items() if reason == ONE_WAY}
    assert measured.absent.keys() <= without_pyarrow | without_extension
    assert all(measured.values(each, work.metric)[0] >= 0 for each in took_part)


def test_a_contestant_that_does_another_job_ends_the_run(service: StubProcess) -> None:
    work = only(run.WORKS["paging"], TINY["paging"])
    judge = work.judge
    wrong = attrs.evolve(work, judge=lambda order, told, seen: judge(order, {**told, "checksum": 1}, seen))
    with pytest.raises(Failed, match="paging, raw: checksum: 1 where"):
        measure(wrong, service, quick=True, rounds=1, contestants=["raw"], say=lambda _: None)


def test_a_contestant_that_breaks_ends_the_run_and_says_why(service: StubProcess) -> None:
    work = only(run.WORKS["paging"], {"warm_pages": 1})
    with pytest.raises(Failed, match="KeyError: 'pages'"):
        measure(work, service, quick=True, rounds=1, contestants=["raw"], say=lambda _: None)


def test_a_contestant_that_breaks_while_others_take_turns_ends_them(
    service: StubProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "TURN_SECONDS", 0.001)
    order = {"url": service.url, "pages": 1_000_000, "warm_pages": 1}
    long, broken = Running(RAW, order), Running(attrs.evolve(RAW, module="no_module_of_this_name"), {})
    monkeypatch.setattr(processes, "LONGEST_SECONDS", 1.0)
    with pytest.raises(Failed, match="raw has not ended after 1 s"):
        run_by_turns([long, broken], {})
    assert long.exit_status == -signal.SIGKILL
    assert broken.told() == {"absent": "benchmarks.contestants.no_module_of_this_name is not installed"}


class Walker:
    """Takes part in turns, and ends after so many of them."""

    def __init__(self, name: str, turns_to_go: int, log: list[str]) -> None:
        self.name = name
        self.turns = 0
        self._turns_to_go = turns_to_go
        self._log = log

    def work(self, seconds: float) -> bool:
        self.turns += 1
        self._log.append(f"{self.name} to its end" if seconds > 1 else self.name)
        return self.turns == self._turns_to_go

    def kill(self) -> None:
        raise AssertionError("all have ended")


def test_turns_are_given_in_proportion_to_those_of_the_round_before() -> None:
    log: list[str] = []
    run_by_turns([Walker("fast", 2, log), Walker("slow", 5, log)], {"fast": 2, "slow": 4})
    assert log == ["fast", "slow", "slow", "fast", "slow to its end", "slow to its end", "slow to its end"]


def test_those_who_run_at_once_have_one_turn_each() -> None:
    log: list[str] = []
    run_at_once([Walker("fast", 1, log), Walker("slow", 1, log)])
    assert sorted(log) == ["fast to its end", "slow to its end"]


def test_who_runs_at_once_and_does_not_end_is_ended(service: StubProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LONGEST_SECONDS", 1.0)
    short = Running(attrs.evolve(RAW, module="no_module_of_this_name"), {})
    long = Running(RAW, {"url": service.url, "pages": 1_000_000, "warm_pages": 1})
    with pytest.raises(Failed, match="raw did not end within 1 s"):
        run_at_once([short, long])
    assert long.exit_status == -signal.SIGKILL
    assert short.exit_status == 0


def test_a_quick_run_writes_a_page_with_a_table_and_judges_no_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.main(["--quick", "--rounds", "1", "--only", "paging", "--contestants", "ours", "--out", str(tmp_path)])
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert "## Targets" not in text
    assert re.search(r"\| raw \| [\d.]+ \| 1.00 \|", text)
    assert re.search(r"\| ours \| [\d.]+ \| \d+\.\d\d \|", text)
    assert "- Not compared: twitter-ads (it has no timelines" in text
    assert "This is a run with `--quick`" in text
    out = capsys.readouterr().out
    assert "paging: round 1 of 1: raw" in out
    assert "The floor, hashlib's own time" in out
    assert "The floor, hashlib's own time" in text


def test_an_unknown_work_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "paging,pageing"])
    assert "no such works: pageing" in capsys.readouterr().err


def test_growth_is_measured_by_records_and_by_jobs(service: StubProcess, tmp_path: Path) -> None:
    records = growth.of_records(service, (10, 3_000))
    jobs = growth.of_jobs(service, (1, 2), 100)
    text = growth.page(records, jobs, 100, tmp_path, DAY)
    assert [row["requests"] for row in records] == [1, 2]
    assert "From 10 to 3,000 records" in text
    assert re.search(r"\| 3,000 \|.+\| 2 \|", text)
    assert re.search(r"One job sends\n[\d,]+ records a second, 2 of them [\d,]+ together", text)


def of(rounds: list[dict[str, float]], **absent: str) -> tuple[Work, Measured]:
    """A work with one target, and what it came to."""
    work = Work(
        name="walking",
        title="Walking",
        says="A mile.",
        metric="us",
        unit="µs a mile",
        base="raw",
        contestants=[Contestant(name=name, module="none", job="none") for name in ("raw", "ours")],
        targets=[Target(id="walking-raw", says="at most 2.0 × raw", of="ours", to="raw", at_most=2.0)],
        judge=lambda *_: {},
        full={},
        quick={},
        rounds=3,
    )
    return work, Measured([{name: {"us": us} for name, us in each.items()} for each in rounds], dict(absent))


def page_of(result: tuple[Work, Measured], reason: str = "") -> str:
    return page({"walking": result}, {"walking-raw": reason}, plots={}, day=DAY, floor=FLOOR)


def test_a_ratio_is_taken_within_its_round() -> None:
    # The machine was three times slower in the second round, which the ratio of the medians would
    # show.
    text = page_of(of([{"raw": 1.0, "ours": 1.5}, {"raw": 3.0, "ours": 4.8}, {"raw": 1.0, "ours": 1.7}]))
    assert "| Walking | at most 2.0 × raw | 1.60 × (1.55 – 1.65) | yes |" in text
    assert "| ours | 1.7 (1.6 – 3.2) | 1.60 (1.55 – 1.65) |" in text


def test_a_missed_target_is_said_with_its_reason() -> None:
    text = page_of(of([{"raw": 1.0, "ours": 2.5}]), "The shoes are new.")
    assert "| Walking | at most 2.0 × raw | 2.50 × | **no** |" in text
    assert "- Walking, at most 2.0 × raw: The shoes are new." in text


def test_a_reason_is_not_said_where_the_target_is_met() -> None:
    assert "The shoes are new." not in page_of(of([{"raw": 1.0, "ours": 1.5}]), "The shoes are new.")


def test_who_did_not_take_part_is_said_with_the_reason() -> None:
    text = page_of(of([{"raw": 1.0}], ours="feet is not installed"))
    assert "| Walking | at most 2.0 × raw | – | not measured |" in text
    assert "not measured, since ours did not take part: feet is not installed." in text
    assert "- Not compared: ours (feet is not installed)." in text


def test_a_target_names_the_one_of_its_two_who_did_not_take_part() -> None:
    text = page_of(of([{"ours": 1.0}], raw="wings is not installed"))
    assert "not measured, since raw did not take part: wings is not installed." in text


def test_a_target_of_somebody_who_was_not_asked_is_not_measured() -> None:
    text = page_of(of([{"raw": 1.0}]))
    assert "- Walking, at most 2.0 × raw: not measured, since not all whom it compares were asked to take part." in text


def test_those_with_the_same_reason_not_to_take_part_share_a_line() -> None:
    text = page_of(of([{"raw": 1.0}], ours="feet is not installed", others="feet is not installed"))
    assert "- Not compared: ours; others (feet is not installed)." in text


def test_a_spread_is_the_median_with_the_quartiles() -> None:
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([2.0]) == Spread(2.0, 2.0, 2.0)


def test_a_target_is_met_by_the_quartile_on_the_worse_side() -> None:
    at_most = Target(id="", says="", of="ours", at_most=2.0)
    assert at_most.is_met([1.0, 1.0, 1.0, 2.0, 9.0])
    assert not at_most.is_met([1.0, 1.0, 1.0, 2.1, 2.1])
    at_least = Target(id="", says="", of="ours", at_least=2.0)
    assert at_least.is_met([9.0, 9.0, 9.0, 2.0, 1.0])
    assert not at_least.is_met([9.0, 9.0, 9.0, 1.9, 1.9])


def test_a_target_can_be_reached_in_another_way() -> None:
    work, measured = of([{"raw": 1.0, "ours": 2.5}])
    (target,) = work.targets
    either = attrs.evolve(target, or_else=Target(id="", says="", of="ours", at_most=3.0, unit=" µs"))
    text = page_of((attrs.evolve(work, targets=[either]), measured))
    assert "| Walking | at most 2.0 × raw | 2.50 ×; 2.5 µs | yes |" in text


def test_a_time_of_a_slower_machine_is_said_as_it_would_be_on_the_one_of_reference() -> None:
    work, measured = of([{"raw": 1.0, "ours": 30.0}])
    time = Target(id="walking-time", says="at most 20 µs", of="ours", at_most=20, unit=" µs", speed="time")
    rate = Target(id="walking-rate", says="at least 40", of="ours", at_least=40, unit=" a second", speed="rate")
    measured.floor = 2.0 * FLOOR.recorded
    text = page_of((attrs.evolve(work, targets=[time, rate]), measured))
    assert "| at most 20 µs | 30.0 µs, as 15.0 µs at the floor of reference | **no** |" in text
    assert "| at least 40 | 30.0 a second, as 60.0 a second at the floor of reference | **no** |" in text
    assert "at most 20 µs: the machine was 2.0 × as slow as the one of reference, where it would be met" in text
    measured.floor = 1.1 * FLOOR.recorded
    assert "| at most 20 µs | 30.0 µs | **no** |" in page_of((attrs.evolve(work, targets=[time]), measured))


def test_a_missed_target_that_the_median_meets_says_so() -> None:
    text = page_of(of([{"raw": 1.0, "ours": each} for each in (1.9, 1.9, 1.9, 2.5, 2.6)]), "The shoes are new.")
    assert "at most 2.0 × raw: the median meets it; The shoes are new." in text


def test_a_run_on_a_slower_machine_says_so() -> None:
    assert Floor(1.0, "a hut", [1.1, 1.1]).says() == (
        "The floor, hashlib's own time for the two digests of a record, is 1.10 µs in this run (1.10 – 1.10), and was "
        "1.00 in the run of reference (a hut)."
    )
    assert "**It is 20 % higher:" in Floor(1.0, "a hut", [1.2]).says()


def test_the_floor_of_a_run_can_be_made_that_of_reference(tmp_path: Path) -> None:
    record_floor([0.9, 0.7, 0.8], DAY, tmp_path / "floor.toml")
    floor = read_floor([1.0], tmp_path / "floor.toml")
    assert floor.recorded == 0.8
    assert floor.recorded_on.endswith(", 20 November 2026")
    assert floor.is_high


def test_ours_without_the_extension_needs_one(service: StubProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "HAS_SPEEDUPS", False)
    work = only(run.WORKS["small"], TINY["small"])
    measured = measure(work, service, quick=True, rounds=1, contestants=["ours"], say=lambda _: None)
    assert measured.absent == {"ours, without C": ONE_WAY}


def test_ours_without_the_extension_has_it_switched_off(service: StubProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "HAS_SPEEDUPS", True)
    work = only(run.WORKS["small"], TINY["small"])
    assert [dict(each.environment) for each in work.contestants if each.name == "ours, without C"] == [
        {"SOCIALAPI_NO_SPEEDUPS": "1"}
    ]
    measured = measure(work, service, quick=True, rounds=1, contestants=["ours"], say=lambda _: None)
    assert measured.rounds[0].keys() == {"aiohttp", "ours", "ours, without C"}


def test_ours_can_be_compared_with_a_package_elsewhere(service: StubProcess, tmp_path: Path) -> None:
    (tmp_path / "socialapi").symlink_to(ROOT / "socialapi")
    work = compare(only(run.WORKS["small"], TINY["small"]), "v1", tmp_path)
    assert work is not None
    assert [target.says for target in work.targets] == ["ours: at most 1.05 × v1"]
    measured = measure(work, service, quick=True, rounds=1, contestants=None, say=lambda _: None)
    assert measured.rounds[0].keys() == {"ours", "ours, v1"}


def test_a_package_elsewhere_that_fails_is_passed_over(service: StubProcess, tmp_path: Path) -> None:
    (tmp_path / "socialapi").mkdir()
    (tmp_path / "socialapi" / "__init__.py").write_text("raise ValueError('it is broken')", "utf-8")
    work = compare(only(run.WORKS["small"], TINY["small"]), "v1", tmp_path)
    assert work is not None
    measured = measure(work, service, quick=True, rounds=1, contestants=None, say=lambda _: None)
    assert measured.absent == {"ours, v1": "it does another job, ValueError: it is broken"}


def test_the_share_of_a_quota_counts_the_pause_between_bursts() -> None:
    burst = [place / 1_000 for place in range(100)]
    accepted = [start + at for start, at in itertools.product((0.0, 6.4, 12.8), burst)]
    assert steady_share(accepted, 100, 6.0) == pytest.approx(6.0 / 6.4)


def test_the_share_of_a_quota_of_a_serial_client_is_its_rate() -> None:
    accepted = [place / 10 for place in range(120)]
    assert steady_share(accepted, 100, 6.0) == pytest.approx(0.6)


def test_a_share_needs_more_than_one_window() -> None:
    assert steady_share([0.0, 1.0], 100, 6.0) == 0.0


def test_what_the_stub_sends_has_the_checksum_that_is_expected() -> None:
    expect("checksum", canned.checksum_of_posts([0]), len(canned.post(0)["text"]))
    assert canned.checksum_of_posts([5, 5]) == 2 * (len(canned.post(5)["text"]) + 5)


def test_a_hundred_posts_have_thirty_shapes() -> None:
    posts = [canned.mixed_post(number) for number in range(100)]
    assert len({frozenset(post) for post in posts}) == canned.SHAPES
    assert all(
        post.items() >= {"id": post["id"], "text": canned.post(number)["text"]}.items()
        for number, post in enumerate(posts)
    )


def test_of_a_hundred_dirty_people_one_is_odd_and_one_was_there_before() -> None:
    people = list(canned.dirty_people(12_000))
    outcomes = [each.outcome for each in people]
    assert outcomes.count("duplicate") == 120
    assert outcomes.count("rejected") == 20
    clean = sum(each.sent == (each.email.lower(), each.phone_number) for each in people)
    assert clean == 12_000 - 120 - 120
    for place, each in enumerate(people):
        if each.outcome == "duplicate":
            again = (each.email.lower(), each.phone_number)
            assert again in [earlier.sent for earlier in people[max(0, place - 5_000) : place]]


def test_one_of_a_hundred_people_changes() -> None:
    before, after = set(map(canned.person, range(300))), set(changed_people(300))
    assert (len(before - after), len(after - before)) == (3, 3)


def test_only_correct_signatures_with_nonces_of_their_own_count() -> None:
    # Made by oauthlib.
    signed = (
        'OAuth oauth_nonce="6c65", oauth_timestamp="1795400000", oauth_version="1.0", '
        'oauth_signature_method="HMAC-SHA1", oauth_consumer_key="key", oauth_token="token", '
        'oauth_signature="VhW5YleULpE6gzVQ1HqNQH6TK8s%3D"'
    )
    assert correct_signatures([signed], "http://127.0.0.1:8000/2/tweets") == 1
    assert correct_signatures([signed, signed], "http://127.0.0.1:8000/2/tweets") == 1
    assert correct_signatures([signed], "http://127.0.0.1:8000/2/users") == 0
    assert (
        correct_signatures([signed.replace('oauth_nonce="', 'oauth_nonce="1'), ""], "http://127.0.0.1:8000/2/tweets")
        == 0
    )


def test_every_answer_tells_of_the_limit(service: StubProcess) -> None:
    service.configure({"quota_requests": 2, "quota_seconds": 60.0})
    told = []
    for _ in range(3):
        with contextlib.closing(http.client.HTTPConnection(service.url.removeprefix("http://"))) as connection:
            connection.request("GET", "/2/tweets?ids=1")
            headers = connection.getresponse().headers
        told.append((headers["x-rate-limit-limit"], headers["x-rate-limit-remaining"]))
        assert 0 < float(headers["x-rate-limit-reset"]) - time.time() < 62
    assert told == [("2", "1"), ("2", "0"), ("2", "0")]


def test_the_peers_are_pinned_and_no_dependencies_of_the_package() -> None:
    lines = (ROOT / "benchmarks" / "requirements.txt").read_text("utf-8").splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert pinned
    for line in pinned:
        assert re.fullmatch(r"[a-z0-9-]+(\[[a-z]+\])?==[0-9.]+", line), line


def test_every_reason_belongs_to_a_target() -> None:
    ids = {target.id for work in run.WORKS.values() for target in work.targets}
    written = re.findall(r"^([\w-]+) *=", (ROOT / "benchmarks" / "reasons.toml").read_text("utf-8"), re.MULTILINE)
    assert set(written) <= ids
