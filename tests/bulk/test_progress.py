"""Progress: how long a job takes yet, and a bar on a terminal, now and then a line elsewhere, on standard error."""

import asyncio
import io
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypedDict

import attrs
import pytest
from rich.console import Console

from socialapi import Client, Config
from socialapi.bulk.progress import Pace, ProgressDisplay
from socialapi.cli import output
from socialapi.emulator import Emulator
from socialapi.reports import Progress, UploadReport
from socialapi.routes.route import RateLimit
from socialapi.session.rate_limiter import SlidingWindowPacer, seconds_until
from tests.support.clock import VirtualClock

REPORT = UploadReport(read=2_000, accepted=900, rejected=60, duplicate=40, pending=1_000, requests=3)
HALF = Progress(
    report=REPORT,
    note="retrying after: HTTP 503",
    rows_done=1_000,
    rows_total=4_000,
    is_total_estimated=True,
    rows_per_second=500.0,
    seconds_left=61.2,
)
PARTS = ("25 %", "1,000 of ~4,000 rows", "500 rows/s", "1:02 left", "60 rejected")
LARGE = attrs.evolve(
    HALF,
    report=attrs.evolve(REPORT, rejected=1_234_567),
    rows_done=123_456_789,
    rows_total=987_654_321,
    rows_per_second=123_456.0,
    seconds_left=360_000.0,
    note=None,
)


class Options(TypedDict):
    progress: bool


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def screen(monkeypatch: pytest.MonkeyPatch, columns: int, title: str, progress: Progress) -> list[str]:
    """What a terminal of so many columns shows."""
    text = io.StringIO()
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressDisplay(title) as display:
        display(progress)
        Console(file=text, width=columns, color_system=None).print(display)
    return text.getvalue().splitlines()


@pytest.mark.parametrize("columns", [80, 120])
async def test_a_terminal_gets_everything_on_one_line_and_the_reason_of_a_wait_below(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, note = await screen(monkeypatch, columns, "crm.csv", HALF)
    places = [line.index(part) for part in ("crm.csv", "━━━", *PARTS)]
    assert places == sorted(places)
    assert len(line) <= columns
    assert note == "retrying after: HTTP 503"


async def test_large_numbers_and_long_names_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("crm.csv", "x" * 75):
        first, line = await screen(monkeypatch, 80, name, LARGE)
        assert (first.strip(), len(line)) == (name, 80)
        assert line.endswith(" 12 % 123M of ~988M rows 123k rows/s 100:00:00 left 1.23M rejected")


async def test_of_an_input_of_unknown_length_the_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = attrs.evolve(HALF, rows_total=None, seconds_left=None, note=None, phase="reading")
    (line,) = await screen(monkeypatch, 80, "crm.csv", progress)
    assert line.startswith("crm.csv, reading")
    assert line.split("━ ")[1].split() == ["1,000", "rows", "500", "rows/s", "60", "rejected"]


async def test_without_a_terminal_lines_are_written_at_intervals_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    delays, ticks = list[float](), list[Callable[[], None]]()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: sum(delays))

    def call_later(delay: float, tick: Callable[[], None]) -> None:
        delays.append(delay)
        ticks.append(tick)

    monkeypatch.setattr(loop, "call_later", call_later)
    monkeypatch.setattr(ProgressDisplay, "__exit__", lambda *_: None)
    with ProgressDisplay("crm.csv") as display:
        for progress in (None, HALF, HALF, HALF):
            if progress is not None:
                display(progress)
            ticks[-1]()
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "crm.csv: no rows yet",
        *[f"crm.csv: {', '.join(PARTS)} (retrying after: HTTP 503)"] * 3,
    ]
    assert not printed.out
    assert delays == [10, 10, 10, 30, 30]


@pytest.mark.parametrize("stays", [True, False])
async def test_what_is_done_at_once_leaves_a_line_only_where_it_was_asked_for(
    stays: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressDisplay("crm.csv", stays=stays) as display:
        display(HALF)
    assert capsys.readouterr().err.count("\n") == stays


async def test_columns_that_are_called_otherwise_are_shown_once_and_not_with_q(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = attrs.evolve(HALF, report=attrs.evolve(REPORT, columns={"Handy": "phone_number", "email": "email"}))
    with ProgressDisplay("crm.csv") as display:
        display(progress)
        display(progress)
    assert capsys.readouterr().err == "reading Handy as phone_number; email as email\n"
    with output.saying_logs(logging.ERROR), ProgressDisplay("crm.csv", is_quiet=output.is_quiet()) as display:
        display(progress)
    assert not capsys.readouterr().err


async def test_the_time_left_is_that_of_the_windows_that_the_requests_need() -> None:
    """Ten requests a minute were answered in the first second, of a job that needs 35: 10 + 10 + 10 + 5."""
    clock, limit = VirtualClock(), RateLimit(name="uploads", requests=10, window_seconds=60)
    pacer = SlidingWindowPacer(Config(interactive_reserve=0.0), clock)
    pace = Pace(clock, lambda requests: seconds_until(pacer, "key", limit, requests))
    for _ in range(10):
        (await pacer.acquire("key", limit, bulk=True, max_wait_seconds=0)).replied(None)
    clock.advance(1)
    report = UploadReport(read=350, accepted=100, pending=250, requests=10)
    progress = pace.progress(report, fraction_read=1.0, in_flight=4)
    assert progress.seconds_left == pytest.approx(59 + 60 + 60)
    assert (progress.rows_done, progress.rows_total, progress.note) == (100, 350, "waiting for the rate limit")
    clock.advance(58)
    assert pace.progress(report, fraction_read=1.0, in_flight=4).seconds_left == pytest.approx(1 + 60 + 60)


@pytest.mark.parametrize(
    ("fraction_read", "total", "expected"),
    [
        (None, None, (None, True)),
        (0.25, None, (8_000, True)),
        (1.0, None, (2_000, False)),
        (0.5, 3_000, (3_000, False)),
    ],
)
def test_the_number_of_rows_is_known_or_reckoned_from_the_share_that_was_read(
    fraction_read: float | None, total: int | None, expected: tuple[int | None, bool]
) -> None:
    clock = VirtualClock()
    pace = Pace(clock)
    clock.advance(2)
    progress = pace.progress(REPORT, fraction_read=fraction_read, total=total)
    assert (progress.rows_total, progress.is_total_estimated) == expected
    left = None if expected[0] is None else (expected[0] - 1_000) / 500  # 1,000 rows in 2 seconds
    assert (progress.rows_done, progress.rows_per_second, progress.seconds_left) == (1_000, 500, left)


@pytest.mark.parametrize("job", ["upload", "do-not-reach", "sync", "lint", "load", "lint of a feed"])
async def test_every_job_of_a_program_shows_its_progress_if_it_is_asked_to(
    job: str, socialapi_emulator: Emulator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people, feed = tmp_path / "people.csv", tmp_path / "feed.csv"
    people.write_text("email\nada@example.com\nwrong\n")
    feed.write_text("id,title,description,availability,condition,price,link,image_link,brand\n1,Mug\n2,Cup\n")
    seed, options = socialapi_emulator.seed, Options(progress=True)
    async with Client(socialapi_emulator.config, socialapi_emulator.credentials) as client:
        account = client.ads.account(seed["account_ids"][0])
        audience = account.custom_audience(seed["custom_audience_ids"][0])
        products = client.catalog(seed["product_catalog_ids"][0]).products
        jobs: Mapping[str, Callable[[], Awaitable[object]]] = {
            "upload": lambda: audience.upload(people, **options),
            "do-not-reach": lambda: account.do_not_reach_list(seed["do_not_reach_list_ids"][0]).upload(
                people, **options
            ),
            "sync": lambda: audience.sync(people, snapshot=tmp_path / "snapshot", **options),
            "lint": lambda: audience.lint(people, **options),
            "load": lambda: products.upsert(feed, **options),
            "lint of a feed": lambda: products.lint(feed, **options),
        }
        await jobs[job]()
    (line,) = capsys.readouterr().err.splitlines()
    name, rejected = (feed.name, 2) if "feed" in job or job == "load" else (people.name, 1)
    assert line.startswith(f"{name}: 100 %, 2 of 2 rows, ")
    assert line.endswith(f" rows/s, {rejected} rejected")
