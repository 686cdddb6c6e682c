"""The dashboard at `/_emulator/`: what it may do, and in a real browser what it shows and does."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import aiohttp
import attrs
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.faults import Fault, FaultKind
from tests.emulator.asking import Asker, digest, operation, updates
from tests.emulator.platform.reading import add_rules, reading
from tests.emulator.platform.receiving import URL, Owner, create_webhook
from tests.support.chromium import Chromium

pytestmark = pytest.mark.slow

ENTER = "\ue007"
"""The key, as WebDriver calls it."""
NO_ANSWER, TIMES = "\N{EN DASH}", "\N{MULTIPLICATION SIGN}"

IN_BROWSER = pytest.mark.xdist_group("chromium")


async def source(ask: Asker) -> str:
    return (await ask.control("GET", "")).text


async def test_the_page_may_load_nothing_and_run_only_its_own_script(ask: Asker) -> None:
    reply = await ask.control("GET", "")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    rules = dict(rule.strip().split(" ", 1) for rule in reply.headers["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == rules["form-action"] == rules["frame-ancestors"] == "'none'"
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules[name]) for name in ("script-src", "style-src"))
    assert (rules["connect-src"], "unsafe" in str(rules)) == ("'self'", False)


async def test_without_its_slash_the_address_leads_there(ask: Asker) -> None:
    reply = await ask.send("GET", "/_emulator?a=b", allow_redirects=False)
    assert (reply.status, reply.headers["Location"]) == (307, "/_emulator/")
    assert (await ask.send("POST", "/_emulator")).status == 405
    assert (await ask.send("GET", "/_emulators")).json["type"] == "about:blank"


async def test_what_it_is_told_never_becomes_markup(ask: Asker) -> None:
    assert not re.findall(r"(?i)inner_?html|outerhtml|insertadjacent|document\.write|\beval\b", await source(ask))


async def test_the_form_has_every_fault_with_all_its_fields(ask: Asker) -> None:
    (form,) = re.findall(r'<form id="fault".*?</form>', await source(ask), re.DOTALL)
    (kinds,) = re.findall(r'<select name="fault">.*?</select>', form, re.DOTALL)
    assert set(re.findall(r'<option value="(\w+)"', kinds)) == set(get_args(FaultKind))
    assert set(re.findall(r'name="(\w+)"', form)) == {field.name for field in attrs.fields(Fault)}
    for fields in re.findall(r'data-fields="(.*?)"', form):
        assert set(fields.split()) <= {field.name for field in attrs.fields(Fault)}


# In a browser --------------------------------------------------------------------------------------------------------


@pytest.fixture
async def page(ask: Asker, chromium: Chromium) -> AsyncIterator[Chromium]:
    """The page. Its console may say nothing in the end, but that the emulator refused what a form sent."""
    await chromium.open(f"{ask.emulator.ready['base_url']}/_emulator")
    await chromium.until("document.querySelector('#state').textContent === 'Live'")
    yield chromium
    messages = await chromium.console()
    await chromium.open("about:blank")
    assert [message for message in messages if "the server responded with a status of 400" not in message] == []


async def rows(page: Chromium, section: str) -> list[list[str]]:
    """What stands in the cells of a table."""
    found: list[list[str]] = await page.run(
        f"return [...document.querySelectorAll('#{section} tbody tr')].map(row => "
        "[...row.cells].map(cell => cell.innerText.trim()))"
    )
    return found


async def rows_when(page: Chromium, section: str, count: int) -> list[list[str]]:
    await page.until(f"document.querySelectorAll('#{section} tbody tr').length === {count}")
    return await rows(page, section)


@IN_BROWSER
async def test_it_shows_what_is_held_and_loads_nothing_else(ask: Asker, page: Chromium) -> None:
    counts = (await page.text("#counts")).split("\n")
    posts = (await ask.control("GET", "overview")).json["posts"]
    assert counts[counts.index("Posts") + 1] == f"{posts:,}"
    assert counts[counts.index("Requests") + 1] == "0"
    assert ["Newsletter readers\n1nmth", ask.account, "0", ""] in await rows(page, "audiences")
    assert (await rows(page, "catalogs"))[0][0].startswith("Northwind Outdoor shop")
    base_url = ask.emulator.ready["base_url"]
    loaded = await page.run("return performance.getEntriesByType('resource').map(each => each.name)")
    assert {name.removeprefix(f"{base_url}/_emulator/") for name in loaded} == {
        *("overview", "limits", "faults", "streams", "webhooks")
    }


@IN_BROWSER
async def test_requests_come_newest_first_and_are_filtered(ask: Asker, page: Chromium) -> None:
    await ask.upload(updates(2))
    await ask.send("GET", "/nowhere?secret=1")
    await ask.upload(b"broken")
    ask.emulator.faults.add("status", status=503)
    await ask.get("/2/users/2244994945/tweets")
    found = await rows_when(page, "requests", 4)
    assert [row[1:] for row in found] == [
        ["GET", "/2/users/2244994945/tweets", "", "503", "status"],
        ["POST", ask.audience_path, "", "400", ""],
        ["GET", "/nowhere", "", "404", ""],
        ["POST", ask.audience_path, "2 ops · 2 users", "200", ""],
    ]
    await page.type("#text", "POST custom_audiences")
    assert [row[4] for row in await rows_when(page, "requests", 2)] == ["400", "200"]
    await page.choose("#status", "4")
    assert [row[4] for row in await rows_when(page, "requests", 1)] == ["400"]
    assert await page.text("#requests-note") == "1 of the newest 4"
    await page.type("#text", "nothing like it")
    await rows_when(page, "requests", 0)
    assert await page.text("#requests .empty") == "None of the newest requests match."
    await page.run("document.querySelector('#text').value = ''")
    await page.choose("#status", "fault")
    assert [row[4:] for row in await rows_when(page, "requests", 1)] == [["503", "status"]]


@IN_BROWSER
async def test_a_status_that_comes_later_is_shown(ask: Asker, page: Chromium) -> None:
    ask.emulator.faults.add("latency", delay_seconds=600, times=1)
    running = asyncio.create_task(ask.send("GET", "/slow"))
    assert [row[4] for row in await rows_when(page, "requests", 1)] == [NO_ANSWER]
    ask.emulator._service.pauses.end()
    assert (await running).status == 404
    await page.until("document.querySelector('#requests tbody tr').cells[4].textContent === '404'")


@IN_BROWSER
async def test_a_long_log_is_not_read_whole(ask: Asker, page: Chromium) -> None:
    await ask.send("GET", "/nowhere")
    log = ask.emulator._service.log
    for _ in range(5_000):
        log.close(log.open(attrs.evolve(ask.emulator.requests[0])), 204)
    await page.until("document.querySelector('#counts dd').textContent === '5,001'")
    await rows_when(page, "requests", 200)
    assert await page.run("return [records.length, records[0].number, records.at(-1).number]") == [1_000, 4_002, 5_001]
    assert await page.text("#requests-note") == "200 shown"


@IN_BROWSER
async def test_a_fault_is_scripted_met_and_cleared(ask: Asker, page: Chromium) -> None:
    await page.choose("#fault [name=fault]", "status")
    await page.type("#fault [name=path]", "/ads/12/accounts/*/custom_audiences/*/users")
    await page.type("#fault [name=status]", "99")
    await page.click("#fault button")
    await page.until("document.querySelector('#fault .result').textContent.includes('at least 200')")
    await page.type("#fault [name=status]", "418")
    await page.type("#fault [name=times]", "2")
    await page.click("#fault button")
    await page.until("document.querySelector('#fault .result').textContent === 'status is in force'")
    ((kind, meets, left),) = await rows_when(page, "faults", 1)
    assert (kind, left) == ("status\nstatus 418", "2")
    assert meets == "any /ads/12/accounts/*/custom_audiences/*/users"
    assert (await ask.upload(updates(1))).status == 418
    ((_, *request),) = await rows_when(page, "requests", 1)
    assert request[3:] == ["418", "status"]
    await page.until("document.querySelector('#faults tbody').innerText.trim().endsWith('1')")
    await page.click("#clear")
    await rows_when(page, "faults", 0)
    assert (await ask.upload(updates(1))).status == 200


@IN_BROWSER
async def test_a_spent_fault_says_so_and_headers_are_named(ask: Asker, page: Chromium) -> None:
    await page.type("#fault [name=headers]", "no colon")
    await page.click("#fault button")
    await page.until("document.querySelector('#fault .result').textContent.includes('name: value')")
    await page.type("#fault [name=headers]", "X-Emulator-Scope:  checkout ")
    await page.click("#fault button")
    ((_, meets, left),) = await rows_when(page, "faults", 1)
    assert (meets, left) == ("any request\nX-Emulator-Scope: checkout", "1")
    assert (await ask.upload(updates(1))).status == 200
    assert (await ask.upload(updates(1), headers={"x-emulator-scope": "checkout"})).status == 503
    await page.until("document.querySelector('#faults tbody tr').cells[2].textContent === 'spent'")
    ask.emulator.faults.add("latency", delay_seconds=0.001)
    assert [row[2] for row in await rows_when(page, "faults", 2)] == ["unlimited", "spent"]
    await page.click("#clear")
    await rows_when(page, "faults", 0)


@IN_BROWSER
async def test_a_request_is_opened_and_copied_as_curl(ask: Asker, page: Chromium) -> None:
    await ask.upload(updates(1), headers={"X-Extra": "<b>here</b>"})
    await rows_when(page, "requests", 1)
    await page.click("#requests button.open")
    await page.until("document.querySelector('#exchange').open")
    assert await page.text("#exchange-title") == f"POST {ask.audience_path}"
    assert await page.text("#exchange-status") == "200"
    headers = (await page.text("#asked-headers")).split("\n")
    assert {"X-Extra: <b>here</b>", "Authorization: OAuth ***"} <= set(headers)
    body = json.loads(await page.text("#asked-body"))
    assert body == updates(1)
    assert json.loads(await page.text("#told-body"))["data"] == {"success_count": 1, "total_count": 1}
    await page.click("#copy")
    await page.until("document.querySelector('#copied').textContent")
    words = shlex.split(await page.text("#curl"))
    assert words[:4] == ["curl", "-X", "POST", ask.emulator.ready["base_url"] + ask.audience_path]
    assert json.loads(words[-1]) == updates(1)
    assert ask.emulator.ready["access_token_secret"] not in await page.text("#exchange")
    await page.click("#close")
    await page.until("!document.querySelector('#exchange').open")
    ask.emulator.faults.add("html", status=502)
    await ask.send("GET", "/nowhere")
    await rows_when(page, "requests", 2)
    await page.click("#requests button.open")
    await page.until("document.querySelector('#exchange').open")
    assert await page.text("#exchange-status") == "502 · html"
    assert not await page.run("return document.querySelector('#asked-body').checkVisibility()")
    assert (await page.text("#told-body")).startswith("<!DOCTYPE html>")


@IN_BROWSER
async def test_a_webhook_target_is_added_and_removed(ask: Asker, page: Chromium, owner: Owner) -> None:
    assert await rows_when(page, "targets", 1) == [[URL, owner.address, "Remove"]]
    await page.click("#targets button.small")
    await rows_when(page, "targets", 0)
    await page.type("#target [name=url]", "http://127.0.0.1/in")
    await page.type("#target [name=target]", owner.address)
    await page.click("#target button")
    await page.until("document.querySelector('#target .result').className === 'result bad'")
    await page.type("#target [name=url]", URL)
    await page.click("#target button")
    assert await rows_when(page, "targets", 1) == [[URL, owner.address, "Remove"]]
    assert await page.value("#target [name=url]") == ""
    await create_webhook(ask)
    ((webhook, *_),) = await rows_when(page, "webhooks", 1)
    assert webhook == f"valid\n{URL} → {owner.address}"


@IN_BROWSER
async def test_the_address_of_the_emulator_leads_to_it(ask: Asker, chromium: Chromium) -> None:
    await chromium.open(ask.emulator.ready["base_url"])
    await chromium.until("document.querySelector('#state')?.textContent === 'Live'")
    assert (await chromium.url()).endswith("/_emulator/")
    assert len(ask.emulator.requests) == 0


@IN_BROWSER
async def test_a_form_shows_the_fields_of_its_fault_alone(ask: Asker, page: Chromium) -> None:
    await page.choose("#fault [name=fault]", "status")
    await page.type("#fault [name=status]", "500")
    await page.choose("#fault [name=fault]", "delivery_forged")
    shown = "return [...document.querySelectorAll('#fault [name]')].filter(e => e.checkVisibility()).map(e => e.name)"
    assert await page.run(shown) == ["fault", "after_requests", "times", "probability", "seed"]
    await page.click("#fault button")
    await rows_when(page, "faults", 1)
    (fault,) = (await ask.control("GET", "faults")).json["faults"]
    assert {name for name, value in fault.items() if value is not None} == {"fault", "times", "left"}


@IN_BROWSER
async def test_the_clock_is_advanced_and_windows_end(ask: Asker, page: Chromium) -> None:
    await ask.upload(updates(1))
    ((limit, used, _),) = await rows_when(page, "limits", 1)
    assert (limit.split("\n")[-1], used) == (ask.account, "1 / 1,500")
    await page.click("[data-advance='60']")
    await rows_when(page, "limits", 0)
    await page.type("#seconds", f"7200.5{ENTER}")
    await page.until("document.querySelector('#advanced').textContent === '+ 2 h 1 min'")
    assert ask.emulator.state.clock.advanced == 7260.5


@IN_BROWSER
async def test_a_delivery_to_a_webhook_is_seen(ask: Asker, page: Chromium, owner: Owner) -> None:
    await create_webhook(ask)
    await rows_when(page, "webhooks", 1)
    await page.choose("#event [name=kind]", "event")
    await page.type("#event [name=event_type]", "profile.update.bio")
    await page.type("#event [name=user_id]", "2244994945")
    await page.type("#event [name=payload]", '{"bio": ')
    await page.click("#event button")
    await page.until("document.querySelector('#event .result').textContent ?.startsWith('this is not valid JSON')")
    await page.type("#event [name=payload]", '{"bio": "<b>new</b>"}')
    await page.type("#event [name=copies]", "3")
    await page.click("#event button")
    await page.until(f"document.querySelector('#webhooks tbody').innerText.includes('200 {TIMES} 3')")
    ((webhook, delivered, failed, waiting),) = await rows(page, "webhooks")
    assert webhook == f"valid\n{URL} → {owner.address}"
    assert (delivered, failed, waiting) == (f"3\n200 {TIMES} 3", "0", "0")
    assert [event["data"]["payload"] for event in owner.events] == [{"bio": "<b>new</b>"}] * 3


@IN_BROWSER
async def test_a_published_post_reaches_an_open_stream(ask: Asker, page: Chromium) -> None:
    await add_rules(ask, "snow")
    async with reading(ask) as stream:
        await rows_when(page, "streams", 1)
        await page.type("#event [name=text]", "Snow <i>is</i> coming")
        await page.click("#event button")
        (line,) = await stream.lines(1)
        assert line["data"]["text"] == "Snow <i>is</i> coming"
        await page.until("document.querySelector('#event .result').textContent.endsWith('1 to streams, 0 to webhooks')")
        await page.until("document.querySelector('#streams tbody tr').cells[2].textContent === '1'")


@IN_BROWSER
async def test_an_upload_is_followed_as_it_grows(ask: Asker, page: Chromium) -> None:
    await rows_when(page, "audiences", 5)
    for wanted in ("2,000", "4,000"):
        hashes = [digest(f"{wanted} {number}") for number in range(2_000)]
        await ask.upload([operation({"email": hashes})])
        await page.until(f"document.querySelector('#audiences .grows .number')?.textContent === '{wanted}'")
    found = await rows(page, "audiences")
    assert found[0][:3] == ["Newsletter readers\n1nmth", ask.account, "4,000"]
    assert re.fullmatch(r"\+[\d,.]+/s", found[0][3])


@IN_BROWSER
async def test_a_reset_asks_first(ask: Asker, page: Chromium) -> None:
    await ask.upload(updates(1))
    await rows_when(page, "requests", 1)
    await page.click("#reset")
    await page.click("#keep")
    assert len(ask.emulator.requests) == 1
    await page.click("#reset")
    await page.click("#really")
    await rows_when(page, "requests", 0)
    assert len(ask.emulator.requests) == 0
    assert (await rows(page, "audiences"))[0][2] == "0"


@IN_BROWSER
async def test_it_says_when_the_emulator_is_gone(chromium: Chromium) -> None:
    async with Emulator() as emulator:
        await chromium.open(f"{emulator.ready['base_url']}/_emulator/")
        await chromium.until("document.querySelector('#state').className === 'live'")
    await chromium.until("document.querySelector('#state').className === 'lost'")
    assert (await chromium.text("#state")).startswith("Not reachable: ")


@IN_BROWSER
async def test_a_paused_page_asks_for_nothing(ask: Asker, page: Chromium) -> None:
    await page.click("#pause")
    await page.until("!isReading")
    await ask.upload(updates(1))
    before = await page.run("return performance.getEntriesByType('resource').length")
    await page.run("poll()")
    assert await page.text("#state") == "Paused"
    assert await page.run("return performance.getEntriesByType('resource').length") == before
    await page.click("#pause")
    await rows_when(page, "requests", 1)


@IN_BROWSER
@pytest.mark.parametrize(("width", "height"), [(1440, 1500), (390, 1500)], ids=["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_it_fits_and_everything_has_a_name(
    ask: Asker, page: Chromium, tmp_path: Path, width: int, height: int, dark: bool
) -> None:
    """The pictures are for people: SOCIALAPI_SCREENSHOTS names a folder to keep them in."""
    await ask.upload(updates(3))
    ask.emulator.faults.add("reset_after", path="/ads/12/accounts/*/custom_audiences/*/users", times=3)
    await page.resize(width, height, dark=dark)
    await rows_when(page, "faults", 1)
    await rows_when(page, "requests", 1)
    folder = Path(os.environ.get("SOCIALAPI_SCREENSHOTS", tmp_path))
    shape = f"{width}-{'dark' if dark else 'light'}"
    await asyncio.to_thread((folder / f"control-plane-{shape}.png").write_bytes, await page.screenshot())
    await page.click("#requests button.open")
    await page.until("document.querySelector('#exchange').open")
    await page.click("#copy")
    await page.until("document.querySelector('#copied').textContent")
    await asyncio.to_thread((folder / f"request-{shape}.png").write_bytes, await page.screenshot())
    assert await page.contrast() >= 4.5
    await page.click("#close")
    assert await page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert await page.run(_NAMELESS) == []
    assert await page.contrast() >= 4.5


@IN_BROWSER
async def test_the_picture_of_the_readme_shows_all_that_is_going_on(ask: Asker, page: Chromium, tmp_path: Path) -> None:
    """`SOCIALAPI_SCREENSHOTS=docs/assets` makes it anew."""
    path = ask.audience_path.replace(ask.account, "*").replace(ask.audience, "*")
    await page.resize(1280, 940)
    await page.hide_scrollbars(True)
    await add_rules(ask, "snow", "ice")
    async with reading(ask) as stream:
        await rows_when(page, "streams", 1)
        for number in range(3):
            await ask.control("POST", "events", {"text": f"Snow at {1_800 + 200 * number} m"})
        await stream.lines(3)
        await ask.get("/2/users/2244994945/tweets", max_results=50)
        ask.emulator.faults.add("status", path=path, status=503, retry_after_seconds=1)
        ask.emulator.faults.add("reset_after", path=path, times=2)
        ask.emulator.faults.add("status", path="/2/tweets", status=429, times=3)
        for number in range(7):
            users = [{"email": [digest(f"{number} {each}")]} for each in range(2_000)]
            with contextlib.suppress(aiohttp.ClientError):
                await ask.upload([operation(*users)])
        await page.until("document.querySelector('#audiences .grows .number')?.textContent === '12,000'")
        folder = Path(os.environ.get("SOCIALAPI_SCREENSHOTS", tmp_path))
        picture = folder / "emulator.png"
        await asyncio.to_thread(picture.write_bytes, await page.screenshot())
    await page.hide_scrollbars(False)
    kept = Path(__file__).parents[2] / "docs" / "assets" / "emulator.png"
    sizes = [struct.unpack(">II", path.read_bytes()[16:24]) for path in (picture, kept)]
    assert sizes == [(1280, 940)] * 2


_NAMELESS = """
return [...document.querySelectorAll('input, select, textarea, button')]
  .filter(element => !(element.labels?.length || element.textContent.trim())).map(element => element.outerHTML);
"""
