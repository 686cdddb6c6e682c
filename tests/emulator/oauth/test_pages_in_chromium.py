"""The sign-in pages in a real browser, with real clicks (platform documentation, section 5.3, step 2)."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker
from tests.emulator.oauth.signing_in import App, pairs
from tests.support.chromium import Chromium

pytestmark = [pytest.mark.xdist_group("chromium"), pytest.mark.slow]

NAME, APPROVE = "#screen_name", "button[value=approve]"


@pytest.fixture
async def callback() -> AsyncIterator[str]:
    """An app on this machine that waits for the browser."""

    async def serve(request: web.BaseRequest) -> web.Response:
        return web.Response(text="<!DOCTYPE html><title>App</title><h1>Back in the app</h1>", content_type="text/html")

    runner = web.ServerRunner(web.Server(serve), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/back?kept=yes"
    await runner.cleanup()


def page_of(emulator: Emulator, begun: dict[str, str], more: str = "", step: str = "authorize") -> str:
    return f"{emulator.ready['base_url']}/oauth/{step}?oauth_token={begun['oauth_token']}{more}"


async def test_callback_mode_and_signing_in_again_without_a_click(
    ask: Asker, app: App, chromium: Chromium, callback: str
) -> None:
    begun = await app.begin(callback)
    await chromium.open(page_of(ask.emulator, begun, step="authenticate"))
    await chromium.type(NAME, "northwind")
    await chromium.go(APPROVE)
    assert await chromium.text("h1") == "Back in the app"
    given = dict(parse_qsl(urlsplit(await chromium.url()).query))
    assert (given["kept"], given["oauth_token"]) == ("yes", begun["oauth_token"])
    assert pairs(await app.access_token(begun, given["oauth_verifier"]))["screen_name"] == "northwind"
    begun = await app.begin(callback)
    await chromium.open(page_of(ask.emulator, begun, step="authenticate"))
    assert await chromium.text("h1") == "Back in the app"
    assert begun["oauth_token"] in await chromium.url()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 740)], ids=["desktop", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_the_pages_fit_and_can_be_read(
    ask: Asker, app: App, chromium: Chromium, tmp_path: Path, width: int, height: int, dark: bool
) -> None:
    """The pictures are for people: SOCIALAPI_SCREENSHOTS names a folder to keep them in."""
    folder = Path(os.environ.get("SOCIALAPI_SCREENSHOTS", tmp_path))
    await chromium.resize(width, height, dark=dark)
    await chromium.open(page_of(ask.emulator, await app.begin()))
    for name, button in (("authorize", None), ("unknown-name", APPROVE), ("pin", APPROVE)):
        if button:
            await chromium.type(NAME, "nobody" if name == "unknown-name" else "northwind")
            await chromium.go(button)
        picture = folder / f"{name}-{width}-{'dark' if dark else 'light'}.png"
        await asyncio.to_thread(picture.write_bytes, await chromium.screenshot())
        assert await chromium.run("return document.documentElement.scrollWidth <= window.innerWidth"), name
        assert await chromium.run("return document.documentElement.lang") == "en"
        assert await chromium.contrast() >= 4.5, name
        assert await chromium.run("return performance.getEntriesByType('resource').length") == 0
        labelled = "return [...document.querySelectorAll('input[type=text]')].every(i => i.labels.length == 1)"
        assert await chromium.run(labelled)
