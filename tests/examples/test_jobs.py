"""The examples that move data: what the emulator holds afterwards, and what the user is told."""

import csv
import datetime
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from tests.support.examples import ACCOUNT, AUDIENCE, run, started, successes
from tests.support.waiting import until

LIST = "7b2f1"
CATALOG = "7pc01"
ADD_TO_LIST = f"POST /ads/12/batch/accounts/{ACCOUNT}/do_not_reach_lists/{LIST}/users"
ADD_TO_AUDIENCE = f"POST /ads/12/accounts/{ACCOUNT}/custom_audiences/{AUDIENCE}/users"


def write_people(path: Path, people: range, *, unusable: int = 0) -> None:
    """A CRM export: so many people, and rows that nothing can be made of."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["email"])
        writer.writerows([f"person{number}@example.com"] for number in people)
        writer.writerows([f"nobody {number}"] for number in range(unusable))


# A timeline as Parquet

USER = "2244994945"


def posts_in(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(sorted(folder.glob("*.parquet"))).to_pylist()
    return rows


async def test_a_timeline_becomes_parquet_files_without_a_post_too_many_or_too_few(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    out = await run(socialapi_emulator, tmp_path, "timeline_to_parquet.py", USER, "posts")
    assert out == "20,000 posts written\n"
    posts = posts_in(tmp_path / "posts")
    assert len(posts) == len({post["id"] for post in posts}) == 20_000
    assert [post["created_at"] for post in posts] == sorted((post["created_at"] for post in posts), reverse=True)
    assert posts[0].keys() == {"id", "created_at", "lang", "text", "public_metrics"}
    assert posts[0]["public_metrics"]["like_count"] >= 0
    assert posts[-1]["created_at"].tzinfo is not None
    assert await run(socialapi_emulator, tmp_path, "timeline_to_parquet.py", USER, "posts") == "0 posts written\n"
    assert len(posts_in(tmp_path / "posts")) == 20_000


async def test_a_walk_that_the_service_ends_goes_on_where_it_was(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    socialapi_emulator.faults.add("status", status=400, after_requests=37)
    out = await run(socialapi_emulator, tmp_path, "timeline_to_parquet.py", USER, "posts", status=1)
    assert out.endswith("; run it again to continue\n")
    written = len(posts_in(tmp_path / "posts"))
    assert written == 3_000
    out = await run(socialapi_emulator, tmp_path, "timeline_to_parquet.py", USER, "posts")
    assert out == f"{20_000 - written:,} posts written\n"
    assert len({post["id"] for post in posts_in(tmp_path / "posts")}) == 20_000


# A drop folder


async def test_each_file_in_the_drop_folder_is_uploaded_once(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    (tmp_path / "drop").mkdir()
    write_people(tmp_path / "drop" / "2026-05-01.csv", range(1_000), unusable=3)
    write_people(tmp_path / "drop" / "2026-05-02.csv", range(500, 2_000))
    (tmp_path / "drop" / "2026-05-03.csv").write_text("name\nAda\n")
    write_people(tmp_path / "drop" / ".2026-05-04.csv.part", range(3_000))
    out = await run(socialapi_emulator, tmp_path, "do_not_reach_drop_folder.py", ACCOUNT, LIST, "drop", status=1)
    first, second, third = out.strip().split("\n", 2)
    assert (first, second) == (
        "2026-05-01.csv: 1,000 accepted, 3 rejected",
        "2026-05-02.csv: 1,500 accepted, 0 rejected",
    )
    assert third.startswith("2026-05-03.csv failed: ")
    assert len(socialapi_emulator.do_not_reach_members(ACCOUNT, LIST)) == 2_000
    assert names_in(tmp_path / "drop") == [".2026-05-04.csv.part", "done", "failed", "journals", "rejects"]
    assert names_in(tmp_path / "drop" / "done") == ["2026-05-01.csv", "2026-05-02.csv"]
    assert names_in(tmp_path / "drop" / "failed") == ["2026-05-03.csv"]
    assert names_in(tmp_path / "drop" / "journals") == []
    rejects = (tmp_path / "drop" / "rejects" / "2026-05-01.csv.rejects.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in rejects] == ["row", "1001", "1002", "1003"]
    sent = len(socialapi_emulator.requests)
    assert await run(socialapi_emulator, tmp_path, "do_not_reach_drop_folder.py", ACCOUNT, LIST, "drop") == ""
    assert len(socialapi_emulator.requests) == sent


async def test_a_file_that_the_service_does_not_take_now_waits_and_is_not_sent_from_the_beginning(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    (tmp_path / "drop").mkdir()
    write_people(tmp_path / "drop" / "2026-05-01.csv", range(50_000))
    socialapi_emulator.faults.add("status", status=401, after_requests=3, times=100)
    arguments = "do_not_reach_drop_folder.py", ACCOUNT, LIST, "drop"
    out = await run(socialapi_emulator, tmp_path, *arguments, status=3)
    assert out.startswith(f"2026-05-01.csv waits: the upload stopped: {ADD_TO_LIST}: 401 ")
    assert names_in(tmp_path / "drop" / "journals") == ["2026-05-01.csv.journal"]
    socialapi_emulator.faults.clear()
    assert await run(socialapi_emulator, tmp_path, *arguments) == "2026-05-01.csv: 50,000 accepted, 0 rejected\n"
    assert len(socialapi_emulator.do_not_reach_members(ACCOUNT, LIST)) == 50_000
    assert successes(socialapi_emulator) == 20
    assert names_in(tmp_path / "drop" / "done") == ["2026-05-01.csv"]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# A script


async def test_a_script_that_is_killed_is_finished_by_the_next_run_and_sends_nothing_once_it_is_done(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    day = "2025-01-06"
    command = "nightly_export.sh", day, ACCOUNT, AUDIENCE, USER
    assert "no such file" in await run(socialapi_emulator, tmp_path, *command, status=2)
    write_people(tmp_path / f"crm-{day}.csv", range(50_000), unusable=1)
    socialapi_emulator.faults.add("stall", delay_seconds=600, after_requests=3, times=100)
    async with started(socialapi_emulator, tmp_path, *command) as program:
        await until(lambda: successes(socialapi_emulator) >= 3)
        os.killpg(program.pid, signal.SIGKILL)
    socialapi_emulator.faults.clear()
    for _ in range(2):
        out = await run(socialapi_emulator, tmp_path, *command)
        assert out == f"crm-{day}.csv is uploaded; some of its rows were rejected: crm-{day}.rejects.csv\n"
        report = json.loads((tmp_path / f"report-{day}.json").read_text())
        assert (report["accepted"], report["rejected"]) == (50_000, 1)
    assert (report["resumed"], report["requests"]) == (50_000, 0)
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 50_000
    posts = json.loads((tmp_path / f"posts-{day}.json").read_text())
    assert {post["created_at"][:10] for post in posts} == {day, "2025-01-07"}


# A feed of a merchant


def feed(items: Sequence[tuple[str, str]], *, broken: bool = False) -> str:
    """RSS as other services want it: the ids and prices of its products."""
    listed = "".join(
        f"<item><g:id>{product_id}</g:id><title>Mug &amp; cup {product_id}</title><description>Enamel.</description>"
        f"<link>https://shop.example/{product_id}</link><g:image_link>https://shop.example/{product_id}.jpg</g:image_link>"
        f"<g:price>{price}</g:price><g:availability>in_stock</g:availability><g:condition>new</g:condition>"
        "<g:brand>Hut</g:brand><g:product_type>Cups</g:product_type></item>"
        for product_id, price in items
    )
    end = "" if broken else "</channel></rss>"
    return f'<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel>{listed}{end}'


async def test_a_catalog_follows_the_feed_night_after_night(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    before = socialapi_emulator.products(CATALOG)
    prices = [(f"M-{number}", f"{number}.50 EUR") for number in range(1, 41)]
    (tmp_path / "feed.xml").write_text(feed(prices))
    out = await run(socialapi_emulator, tmp_path, "catalog_from_feed.py", CATALOG, "feed.xml")
    assert out.splitlines()[-1] == "40 created, 0 updated, 0 as before, 0 deleted"
    assert socialapi_emulator.products(CATALOG)["M-7"]["price"] == "7.50 EUR"

    (tmp_path / "feed.xml").write_text(feed([("M-1", "9,99 EUR"), *prices[1:30]]))
    out = await run(socialapi_emulator, tmp_path, "catalog_from_feed.py", CATALOG, "feed.xml")
    assert out.splitlines()[-1] == "0 created, 1 updated, 29 as before, 10 deleted"
    held = socialapi_emulator.products(CATALOG)
    assert held["M-1"]["price"] == "9.99 EUR"
    assert held.keys() - before.keys() == {f"M-{number}" for number in range(1, 31)}

    (tmp_path / "feed.xml").write_text(feed([("M-1", "free"), *prices[1:30]]))
    out = await run(socialapi_emulator, tmp_path, "catalog_from_feed.py", CATALOG, "feed.xml", status=1)
    assert re.search(r"^error: .*price", out, re.MULTILINE)
    assert out.splitlines()[-1].startswith("row 1 (M-1) was rejected: price: ")
    assert socialapi_emulator.products(CATALOG) == held


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (feed([("M-1", "free"), ("M-2", "5 EUR")]), "error: "),
        (feed([("M-1", "5 EUR")], broken=True), "the feed could not be read completely: "),
        (feed([]), ""),
    ],
)
async def test_a_feed_that_is_broken_changes_nothing(
    socialapi_emulator: Emulator, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "feed.xml").write_text(content)
    out = await run(socialapi_emulator, tmp_path, "catalog_from_feed.py", CATALOG, "feed.xml", status=2)
    assert said in out
    assert out.endswith("nothing was sent\n")
    assert not socialapi_emulator.requests


# The products of a shop


class Shop:
    """A shop with an API of its own, of three products a page."""

    def __init__(self) -> None:
        self.items: list[Mapping[str, object]] = [item(number) for number in range(20)]
        self.fails_on_page: int | None = None
        self.url = ""

    async def products(self, request: web.Request) -> web.Response:
        page = int(request.query["page"])
        if page == self.fails_on_page:
            raise web.HTTPServiceUnavailable
        more = page * 3 < len(self.items)
        return web.json_response(
            {"products": self.items[page * 3 - 3 : page * 3], "next_page": page + 1 if more else None}
        )


def item(number: int, **changes: object) -> Mapping[str, object]:
    page = f"https://shop.example/{number}"
    words = {"name": f"Soap {number}", "text": "Smells of lavender.", "maker": "Hut", "currency": "EUR"}
    images = [f"{page}.jpg", f"{page}-b.jpg"]
    whole = {"sku": f"S-{number}", "in_stock": number, "price_cents": 450 + number, "url": page, "images": images}
    return {**words, **whole, **changes}


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    app = web.Application()
    app.router.add_get("/api/products", shop.products)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    shop.url = f"http://127.0.0.1:{runner.addresses[0][1]}/api"
    yield shop
    await runner.cleanup()


async def test_a_shop_s_own_json_becomes_a_catalog(socialapi_emulator: Emulator, tmp_path: Path, shop: Shop) -> None:
    async def load(status: int = 0) -> str:
        arguments = "catalog_from_shop_json.py", CATALOG
        return await run(socialapi_emulator, tmp_path, *arguments, status=status, SHOP_URL=shop.url)

    before = socialapi_emulator.products(CATALOG).keys()
    assert await load() == "20 created, 0 updated, 0 as before, 0 deleted\n"
    held = socialapi_emulator.products(CATALOG)
    assert {key: held["S-0"][key] for key in ("availability", "price", "inventory", "image_link")} == {
        "availability": "out of stock",
        "price": "4.50 EUR",
        "inventory": 0,
        "image_link": "https://shop.example/0.jpg",
    }

    shop.fails_on_page = 3
    out = await load(3)
    assert out.startswith("the input broke off: ClientResponseError (of 6 rows read: 6 accepted")
    assert "\nthe shop: 503, message='Service Unavailable'" in out
    assert socialapi_emulator.products(CATALOG) == held

    shop.fails_on_page = None
    shop.items = [item(0, price_cents=999), *shop.items[1:19], item(20, images=[])]
    assert await load(1) == (
        "0 created, 1 updated, 18 as before, 1 deleted\nS-20 was rejected: image_link: is required\n"
    )
    held = socialapi_emulator.products(CATALOG)
    assert held["S-0"]["price"] == "9.99 EUR"
    assert held.keys() - before == {f"S-{number}" for number in range(19)}


# Several accounts


async def test_several_accounts_are_uploaded_to_at_once_with_a_report_for_each(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    write_people(tmp_path / "crm.csv", range(5_000))
    write_people(tmp_path / "home.csv", range(2_000), unusable=1)
    write_people(tmp_path / "others.csv", range(10))
    files = [f"{ACCOUNT}/{AUDIENCE}=crm.csv", "18ce54u7r2k/1nmuk=home.csv", "18ce55a9q0m/1nmzz=others.csv"]
    out = await run(socialapi_emulator, tmp_path, "several_accounts.py", *files, status=1)
    first, second, third = sorted(out.splitlines())
    assert first == f"{ACCOUNT}/{AUDIENCE}: 5,000 accepted, 0 rejected, 0 pending"
    assert second == "18ce54u7r2k/1nmuk: 2,000 accepted, 1 rejected, 0 pending"
    assert third.startswith(
        "18ce55a9q0m/1nmzz: 0 accepted, 0 rejected, 10 pending, then it stopped: POST /ads/12/accounts/"
    )
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 5_000
    assert len(socialapi_emulator.members("18ce54u7r2k", "1nmuk")) == 2_000
    assert await run(socialapi_emulator, tmp_path, "several_accounts.py", *files[:1]) == f"{first}\n"


# A task of a scheduler

DAY = datetime.date(2026, 5, 1)
TASK = "scheduler_task.py", str(DAY), ACCOUNT, AUDIENCE


async def test_a_task_that_is_repeated_sends_nothing_again_and_reports_the_same(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    write_people(tmp_path / f"crm-{DAY}.csv", range(3_000))
    for resumed in (0, 3_000):
        report = json.loads(await run(socialapi_emulator, tmp_path, *TASK))
        assert (report["day"], report["accepted"], report["resumed"]) == ("2026-05-01", 3_000, resumed)
    assert [request.status for request in socialapi_emulator.requests] == [200, 200]
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 3_000


async def test_a_task_says_whether_to_repeat_it(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    report = json.loads(await run(socialapi_emulator, tmp_path, *TASK, status=2))
    assert f"crm-{DAY}.csv" in report["error"]
    write_people(tmp_path / f"crm-{DAY}.csv", range(50), unusable=1)
    socialapi_emulator.faults.add("status", status=429, retry_after_seconds=7_200)
    report = json.loads(await run(socialapi_emulator, tmp_path, *TASK, status=3))
    assert (report["day"], report["pending"]) == ("2026-05-01", 50)
    report = json.loads(await run(socialapi_emulator, tmp_path, *TASK, status=1))
    assert (report["accepted"], report["rejected"]) == (50, 1)
    (tmp_path / f"crm-{DAY}.csv").unlink()
    write_people(tmp_path / f"crm-{DAY}.csv", range(50), unusable=50)
    (tmp_path / f"crm-{DAY}.journal").unlink()
    report = json.loads(await run(socialapi_emulator, tmp_path, *TASK, status=2))
    assert "max_reject_share" in report["error"]


async def test_a_task_that_is_stopped_ends_properly_and_is_repeated(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    write_people(tmp_path / f"crm-{DAY}.csv", range(100_000))
    # More are answered than are on their way at once: the answers to the first of them are in the journal.
    socialapi_emulator.faults.add("stall", delay_seconds=600, after_requests=12, times=100)
    async with started(socialapi_emulator, tmp_path, *TASK) as program:
        await until(lambda: successes(socialapi_emulator) >= 12)
        os.kill(program.pid, signal.SIGTERM)
        assert await program.ended() == 130
    assert "Traceback" not in program.text
    socialapi_emulator.faults.clear()
    report = json.loads(await run(socialapi_emulator, tmp_path, *TASK))
    assert report["accepted"] == 100_000
    assert report["resumed"] > 0
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 100_000


# A pacer of one's own


async def test_a_budget_for_the_day_is_kept_by_all_runs_together(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    for name, first in (("a.csv", 0), ("b.csv", 10_000)):
        write_people(tmp_path / name, range(first, first + 10_000))
    out = await run(socialapi_emulator, tmp_path, "own_pacer.py", ACCOUNT, AUDIENCE, "a.csv", "6")
    assert out == "10,000 accepted, with 4 requests now\n"
    out = await run(socialapi_emulator, tmp_path, "own_pacer.py", ACCOUNT, AUDIENCE, "b.csv", "6", status=3)
    assert out.startswith(f"the upload stopped: {ADD_TO_AUDIENCE}: the rate limit of the daily budget frees up in ")
    assert "5,000 accepted" in out
    assert len(socialapi_emulator.requests) == 6
    out = await run(socialapi_emulator, tmp_path, "own_pacer.py", ACCOUNT, AUDIENCE, "b.csv", "100")
    assert out == "10,000 accepted, with 2 requests now\n"
    assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 20_000


# A destination of dlt


async def run_pipeline(emulator: Emulator, folder: Path, status: int = 0) -> str:
    """What a pipeline prints. It keeps its files in the folder, and tells nobody of its run."""
    environment = {"DLT_DATA_DIR": str(folder / "dlt"), "RUNTIME__DLTHUB_TELEMETRY": "false"}
    command = "dlt_destination.py", ACCOUNT, AUDIENCE
    return await run(emulator, folder, *command, status=status, strict=False, **environment)  # dlt warns of itself


async def test_a_pipeline_of_dlt_fills_an_audience(socialapi_emulator: Emulator, tmp_path: Path) -> None:
    for _ in range(2):
        out = await run_pipeline(socialapi_emulator, tmp_path)
        assert out == "customers: 5,000 accepted, 0 rejected in 2 requests\n"
        assert len(socialapi_emulator.members(ACCOUNT, AUDIENCE)) == 2 * 5_000


async def test_a_load_of_dlt_that_the_service_refuses_now_is_repeated_and_one_that_it_always_will_is_not(
    socialapi_emulator: Emulator, tmp_path: Path
) -> None:
    socialapi_emulator.faults.add("status", status=429, retry_after_seconds=7_200)
    assert "5,000 accepted" in await run_pipeline(socialapi_emulator, tmp_path)
    socialapi_emulator.faults.add("status", status=401, times=100)
    asked = len(socialapi_emulator.requests)
    out = await run_pipeline(socialapi_emulator, tmp_path, status=1)
    assert re.search("the upload stopped: POST /.*: 401", out)
    assert "DestinationTerminalException" in out or "LoadClientJobFailed" in out
    assert len(socialapi_emulator.requests) - asked <= 4
