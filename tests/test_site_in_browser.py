"""The site that `make docs` built, in Chromium at the width of a screen and of a phone, opened as files."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from tests.support.chromium import Chromium, chromium_running
from tests.test_readme import commands, snippets

ROOT: Final = Path(__file__).parents[1]
SITE: Final = ROOT / "site"
WIDTHS: Final = (1280, 390)
PAGES: Final = (
    *("index", "overview", "getting-started", "audiences", "endpoints", "deployment", "security", "changelog"),
    *("api/index", "api/socialapi", "api/socialapi.types-posts", "benchmarks/results"),
)
NAVIGATION: Final = "nav a.md-nav__link[href$='audiences.html']"
TOO_WIDE: Final = """
const width = document.documentElement.clientWidth;
const scrolled = element => {
  for (let each = element; each !== document.body; each = each.parentElement)
    if (getComputedStyle(each).overflowX !== 'visible') return true;
  return false;
};
return [...document.querySelectorAll('article *')]
  .filter(each => each.getBoundingClientRect().right > width + 1 && !scrolled(each)).map(each => each.outerHTML);
"""
FIND: Final = """
const fields = [...document.querySelectorAll('*')].flatMap(each => [...each.shadowRoot?.querySelectorAll('input') ?? []]);
fields[0].value = 'journal';
fields[0].dispatchEvent(new InputEvent('input', { bubbles: true }));
"""
FOUND: Final = """
[...document.querySelectorAll('*')].some(each => each.shadowRoot?.textContent.includes('jobs that survive a kill'))
"""
NOTE_COPIES: Final = """
window.copied = [];
document.addEventListener('copy', event => copied.push(event.target.value), true);
"""

pytestmark = [
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs the site: make docs"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def chromium_address() -> Iterator[str]:
    with chromium_running() as address:
        yield address


@pytest.fixture
async def browser(chromium_address: str) -> AsyncIterator[Chromium]:
    async with aiohttp.ClientSession() as session:
        chromium = Chromium(session, chromium_address)
        await chromium.forget()
        yield chromium


@pytest.mark.xdist_group("chromium-site")
@pytest.mark.parametrize("width", WIDTHS)
async def test_pages_fit_and_tell_no_errors(browser: Chromium, width: int) -> None:
    await browser.resize(width, 844)
    for page in PAGES:
        await browser.open((SITE / f"{page}.html").as_uri())
        assert await browser.run(TOO_WIDE) == [], page
        assert await browser.run("return document.documentElement.scrollWidth") <= width, page
        assert await browser.has(NAVIGATION), page
    assert await browser.console() == []


@pytest.mark.xdist_group("chromium-site")
async def test_the_search_works_without_a_server(browser: Chromium) -> None:
    await browser.resize(1280, 900)
    await browser.open((SITE / "index.html").as_uri())
    await browser.click(".md-search__button")
    await browser.until("[...document.querySelectorAll('*')].some(each => each.shadowRoot?.querySelector('input'))")
    await browser.run(FIND)
    await browser.until(FOUND)
    assert await browser.console() == []


@pytest.mark.xdist_group("chromium-site")
async def test_commands_are_copied_without_prompts_and_what_they_print(browser: Chromium) -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text("utf-8")
    await browser.resize(1280, 900)
    await browser.open((SITE / "getting-started.html").as_uri())
    blocks = snippets(page)
    await browser.run(NOTE_COPIES)
    for number in range(len(blocks)):
        await browser.click(f"[data-clipboard-target^='#__code_{number} ']")
    copied = await browser.run("return copied")
    expected = [
        "\n".join(each.text for each in commands(block)) if block.language == "console" else block.text.rstrip()
        for block in blocks
    ]
    assert {block.language for block in blocks} >= {"console", "sh", "python"}
    assert copied == expected
