"""The benchmarks run, and say what they measured; other libraries are not installed here, so socialapi and what is
written by hand take part.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest

from benchmarks import growth, run
from benchmarks.harness.figures import read_run
from benchmarks.harness.page import page
from benchmarks.harness.processes import ROOT, StubProcess, stub
from benchmarks.harness.rounds import ONE_WAY, measure
from benchmarks.harness.targets import table
from benchmarks.harness.work import Work

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


def test_targets_compare_contestants_of_their_work_and_stand_in_contributing() -> None:
    for work in run.WORKS.values():
        names = {each.name for each in work.contestants}
        assert {name for target in work.targets for name in (target.of, target.to)} <= names
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "\n".join(table(run.WORKS.values())) in contributing
