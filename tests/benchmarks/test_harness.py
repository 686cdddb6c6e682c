"""The benchmarks run, and say what they measured; other libraries are not installed here, so socialapi and what is
written by hand take part.
"""

import contextlib
import datetime
import http.client
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from benchmarks import growth, run
from benchmarks.harness import canned, rounds
from benchmarks.harness.figures import Figures, Run, read_run
from benchmarks.harness.page import page
from benchmarks.harness.processes import ROOT, Failed, StubProcess, stub
from benchmarks.harness.rounds import ONE_WAY, Measured, measure
from benchmarks.harness.targets import missed, table
from benchmarks.harness.work import Contestant, Target, Work, expect
from benchmarks.works.small import correct_signatures

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
    "exports": {"records": 3_100, "warm_records": 50},
    "command_line": {"records": 300, "warm_records": 0},
    "sync": {"records": 300, "warm_records": 10},
    "lint": {"records": 300},
    "jobs": {"jobs": 3, "records": 50, "warm_records": 10},
    "quota": {"seconds": 0.5, "rows": 32, **QUOTA, "stub": QUOTA},
    "packed": {"records": 3_000},
    "products": {"products": 100, "at_once": 4, "stub": {"latency_seconds": 0.0}},
    "imports": {},
    "first_second": {},
    "first_use": {},
    "memory": {"records": 2_000},
}
DAY: Final = datetime.date(2026, 11, 20)


@pytest.fixture(scope="module")
def service() -> Iterator[StubProcess]:
    with stub() as running:
        yield running


def only(work: Work, size: Mapping[str, Any]) -> Work:
    return attrs.evolve(work, quick=size)


@pytest.mark.parametrize("name", run.WORKS)
def test_socialapi_does_every_work_and_its_outcome_is_right(service: StubProcess, name: str) -> None:
    work = only(run.WORKS[name], TINY[name])
    measured = measure(work, service, quick=True, rounds=1, contestants=["socialapi"], say=lambda _: None)
    took_part = measured.rounds[0].keys()
    wanted = {each.name for each in work.contestants if each.name.startswith("socialapi")}
    assert took_part | measured.absent.keys() == wanted | ({work.base} if work.base else set())
    without_pyarrow = {name for name in wanted if "Arrow" in name or "Parquet" in name}
    without_extension = {name for name, reason in measured.absent.items() if reason == ONE_WAY}
    assert measured.absent.keys() <= without_pyarrow | without_extension
    assert all(measured.values(each, work.metric)[0] >= 0 for each in took_part)


def test_a_contestant_that_does_another_job_ends_the_run(service: StubProcess) -> None:
    work = only(run.WORKS["paging"], TINY["paging"])
    judge = work.judge
    wrong = attrs.evolve(work, judge=lambda order, told, seen: judge(order, {**told, "checksum": 1}, seen))
    with pytest.raises(Failed, match=r"paging, aiohttp \+ orjson by hand: checksum: 1 where"):
        measure(wrong, service, quick=True, rounds=1, contestants=["aiohttp"], say=lambda _: None)


def test_a_contestant_that_breaks_ends_the_run_and_says_why(service: StubProcess) -> None:
    work = only(run.WORKS["paging"], {"warm_pages": 1})
    with pytest.raises(Failed, match="KeyError: 'pages'"):
        measure(work, service, quick=True, rounds=1, contestants=["aiohttp"], say=lambda _: None)


def test_a_quick_run_writes_its_figures_and_a_page_that_can_be_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.main(
        ["--quick", "--rounds", "1", "--only", "paging", "--contestants", "socialapi", "--out", str(tmp_path)],
    )
    text = (tmp_path / "RESULTS.md").read_text("utf-8")
    assert re.search(r"\| aiohttp \+ orjson by hand \| [\d.]+ \| 1.00 \|", text)
    assert re.search(r"\| socialapi \| [\d.]+ \| \d+\.\d\d \|", text)
    assert "- Not compared: twitter-ads (it covers" in text
    assert "This is a run with `--quick`" in text
    assert "paging: round 1 of 1: aiohttp + orjson by hand" in capsys.readouterr().out
    (tmp_path / "RESULTS.md").unlink()
    run.main(["--render", "--out", str(tmp_path)])
    assert (tmp_path / "RESULTS.md").read_text("utf-8") == text


def test_the_page_of_results_is_that_of_the_figures_beside_it() -> None:
    folder = ROOT / "benchmarks"
    figures = read_run(folder / "figures.json")
    plots = {name: f"plots/{name}.svg" for name in figures.works}
    assert page(figures, run.WORKS, plots) == (folder / "RESULTS.md").read_text("utf-8")
    assert all((folder / path).exists() for path in plots.values())


def test_growth_is_measured_by_records_and_by_jobs(service: StubProcess, tmp_path: Path) -> None:
    records = growth.of_records(service, (10, 3_000))
    jobs = growth.of_jobs(service, (1, 2), 100)
    text = growth.page(records, jobs, 100, tmp_path, DAY)
    assert [row["requests"] for row in records] == [1, 2]
    assert "From 10 to 3,000 records" in text
    assert re.search(r"\| 3,000 \|.+\| 2 \|", text)
    assert re.search(r"One job sends\n[\d,]+ records a second, 2 of them [\d,]+ together", text)


WALKING: Final = Work(
    name="walking",
    title="Walking",
    says="A mile.",
    metric="us",
    unit="µs a mile",
    base="by hand",
    contestants=[Contestant(name=name, module="none", job="none") for name in ("by hand", "socialapi", "wings")],
    targets=[Target(of="socialapi", to="by hand", at_most=2.0)],
    judge=lambda *_: {},
    full={},
    quick={},
    rounds=3,
)


def took(*rounds: Mapping[str, float], **absent: str) -> Measured:
    return Measured([{name: {"us": us} for name, us in each.items()} for each in rounds], dict(absent))


def page_of(measured: Measured, work: Work = WALKING) -> str:
    walked = Run(day=DAY, machine="a hut", versions="", package="", works={"walking": Figures.of(work, measured)})
    return page(walked, {"walking": work}, {})


def test_a_ratio_is_taken_within_its_round() -> None:
    # The machine was three times slower in the second round, which the ratio of the medians would
    # show.
    text = page_of(
        took({"by hand": 1.0, "socialapi": 1.5}, {"by hand": 3.0, "socialapi": 4.8}, {"by hand": 1.0, "socialapi": 1.7})
    )
    assert "| socialapi | 1.7 (1.6 – 3.2) | 1.60 (1.55 – 1.65) |" in text


def test_a_run_says_which_targets_it_misses_and_the_page_does_not() -> None:
    slow, fast = took({"by hand": 1.0, "socialapi": 2.5}), took({"by hand": 1.0, "socialapi": 1.5})
    assert list(missed(WALKING, slow)) == [
        "Walking, socialapi: 2.50 (2.50 – 2.50), not at most 2 × by hand (µs a mile)"
    ]
    assert not list(missed(WALKING, fast))
    assert not list(missed(WALKING, took({"by hand": 1.0})))
    assert "at most" not in page_of(slow)


def test_a_target_is_met_by_the_quartile_on_the_worse_side() -> None:
    at_most = Target(of="socialapi", to="by hand", at_most=2.0)
    assert at_most.is_met([1.0, 1.0, 1.0, 2.0, 9.0])
    assert not at_most.is_met([1.0, 1.0, 1.0, 2.1, 2.1])
    at_least = Target(of="socialapi", to="by hand", at_least=2.0)
    assert at_least.is_met([9.0, 9.0, 9.0, 2.0, 1.0])
    assert not at_least.is_met([9.0, 9.0, 9.0, 1.9, 1.9])


def test_targets_compare_contestants_of_their_work_and_stand_in_contributing() -> None:
    for work in run.WORKS.values():
        names = {each.name for each in work.contestants}
        assert {name for target in work.targets for name in (target.of, target.to)} <= names
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "\n".join(table(run.WORKS.values())) in contributing


def contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_socialapi_without_the_extension_needs_one(service: StubProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "HAS_SPEEDUPS", False)
    work = only(run.WORKS["small"], TINY["small"])
    measured = measure(work, service, quick=True, rounds=1, contestants=["socialapi"], say=lambda _: None)
    assert measured.absent == {"socialapi, without C": ONE_WAY}


def test_socialapi_without_the_extension_has_it_switched_off(
    service: StubProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "HAS_SPEEDUPS", True)
    work = only(run.WORKS["small"], TINY["small"])
    assert [dict(each.environment) for each in work.contestants if each.name == "socialapi, without C"] == [
        {"SOCIALAPI_NO_SPEEDUPS": "1"}
    ]
    measured = measure(work, service, quick=True, rounds=1, contestants=["socialapi"], say=lambda _: None)
    assert measured.rounds[0].keys() == {"aiohttp", "socialapi", "socialapi, without C"}


def test_what_the_stub_sends_has_the_checksum_that_is_expected() -> None:
    expect("checksum", canned.checksum_of_posts([0]), len(canned.post(0)["text"]))
    assert canned.checksum_of_posts([5, 5]) == 2 * (len(canned.post(5)["text"]) + 5)


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
