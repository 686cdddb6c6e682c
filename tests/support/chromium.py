"""A real browser without a screen: Debian's Chromium, told what to do over WebDriver (W3C) by plain HTTP."""

import asyncio
import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import aiohttp
import attrs
import pytest

FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"


def programs() -> tuple[str, str]:
    """Chromium and its driver; where there are none, the test is skipped, or fails if it must not be."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium and driver:
        return chromium, driver
    reason = "needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
    if os.environ.get("SOCIALAPI_REQUIRE_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


@contextlib.contextmanager
def chromium_running() -> Iterator[str]:
    """The address of a browser's WebDriver session."""
    chromium, driver = programs()
    with tempfile.TemporaryDirectory(prefix="socialapi-chromium-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        try:
            sessions = f"http://127.0.0.1:{_port(process.stdout)}/session"
            options = {"binary": chromium, "args": [*FLAGS, f"--user-data-dir={folder}"]}
            logging = {"goog:loggingPrefs": {"browser": "ALL"}}
            wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, **logging}}
            made = _ask("POST", sessions, {"capabilities": wanted})
            yield f"{sessions}/{made['sessionId']}"
            _ask("DELETE", f"{sessions}/{made['sessionId']}")
        finally:
            process.terminate()
            process.wait(10)
            process.stdout.close()


def _ask(method: str, url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=30) as response:
        return json.load(response)["value"]


def _port(output: Any) -> int:
    for line in output:
        if found := re.search(r"started successfully on port (\d+)", line):
            return int(found[1])
    raise AssertionError("the driver did not start")


@attrs.define
class Chromium:
    """One browser; every method is what a person does or sees."""

    session: aiohttp.ClientSession
    address: str

    async def forget(self) -> None:
        """No page, cookies or messages, as at first."""
        await self.open("about:blank")
        await self._command("Network.clearBrowserCookies", {})
        await self.console()

    async def console(self) -> list[str]:
        """The messages since the last call: errors of scripts, and what a policy refused to load."""
        return [entry["message"] for entry in await self._do("POST", "/se/log", type="browser")]

    async def open(self, url: str) -> None:
        await self._do("POST", "/url", url=url)

    async def url(self) -> str:
        found: str = await self._do("GET", "/url")
        return found

    async def text(self, selector: str) -> str:
        found: str = await self._do("GET", f"/element/{await self._find(selector)}/text")
        return found

    async def value(self, selector: str) -> str:
        found: str = await self._do("GET", f"/element/{await self._find(selector)}/property/value")
        return found

    async def type(self, selector: str, text: str) -> None:
        element = await self._find(selector)
        await self._do("POST", f"/element/{element}/clear")
        await self._do("POST", f"/element/{element}/value", text=text)

    async def click(self, selector: str) -> None:
        await self._do("POST", f"/element/{await self._find(selector)}/click")

    async def go(self, selector: str) -> None:
        """Clicks, and waits until another page is there."""
        before = await self._find("html")
        await self.click(selector)
        ends_at = time.monotonic() + 10
        while await self._find("html") == before or await self.run("return document.readyState") != "complete":
            assert time.monotonic() < ends_at, f"{selector} leads nowhere"
            await asyncio.sleep(0.02)

    async def has(self, selector: str) -> bool:
        return bool(await self._do("POST", "/elements", using="css selector", value=selector))

    async def choose(self, selector: str, value: str) -> None:
        """The option of a list."""
        await self.click(f"{selector} option[value='{value}']")

    async def until(self, condition: str) -> None:
        """Waits until an expression of JavaScript holds in the page."""
        ends_at = time.monotonic() + 10
        while not await self.run(f"return Boolean({condition})"):
            assert time.monotonic() < ends_at, f"never: {condition}"
            await asyncio.sleep(0.02)

    async def run(self, script: str) -> Any:
        return await self._do("POST", "/execute/sync", script=script, args=[])

    async def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """The size of the page, as on a device of that size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        await self._command("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
        await self._command("Emulation.setEmulatedMedia", scheme)

    async def hide_scrollbars(self, hidden: bool) -> None:
        await self._command("Emulation.setScrollbarsHidden", {"hidden": hidden})

    async def contrast(self) -> float:
        """The lowest contrast of a text with its ground (WCAG 2 asks for 4.5)."""
        lowest: float = await self.run(_CONTRAST)
        return lowest

    async def screenshot(self) -> bytes:
        return base64.b64decode(await self._do("GET", "/screenshot"))

    async def _command(self, name: str, parameters: dict[str, Any]) -> None:
        await self._do("POST", "/goog/cdp/execute", cmd=name, params=parameters)

    async def _find(self, selector: str) -> str:
        ends_at = time.monotonic() + 5
        while True:
            found = await self._do("POST", "/elements", using="css selector", value=selector)
            if found:
                element: str = found[0][_ELEMENT]
                return element
            assert time.monotonic() < ends_at, f"nothing is at {selector}"
            await asyncio.sleep(0.02)

    async def _do(self, method: str, path: str, **body: Any) -> Any:
        sent = body if method == "POST" else None
        async with self.session.request(method, self.address + path, json=sent) as response:
            answer = await response.json()
        assert response.status == 200, answer
        return answer["value"]


_CONTRAST = """
const luminance = colour => {
  const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = element => {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (colour !== 'rgba(0, 0, 0, 0)') return colour;
  }
  return 'rgb(255, 255, 255)';
};
const ratios = [...document.querySelectorAll('h1, h2, p, li, label, th, td, dt, dd, small, .tag, button, input, select')].filter(element => element.checkVisibility() && !element.disabled).map(element => {
  const [a, b] = [luminance(getComputedStyle(element).color), luminance(ground(element))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
});
return Math.min(...ratios);
"""
