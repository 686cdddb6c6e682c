"""The page on troubleshooting is found by the words of errors, so it has them as the package writes them."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BY_OTHERS: Final = {
    "0012345",
    "12345",
    "1.23E+12",
    "401",
    "407",
    "RateLimited",
    "asyncio.run() cannot be called from a running event loop",
    "async def functions are not natively supported",
    "coroutine … was never awaited",
    "database or disk is full",
    "invalid_token",
    "there is no such account",
    "Ã©",
}
"""What servers, Python, pytest and SQLite write, and what is no message."""
QUOTED: Final = re.compile(r"`` (.+?) ``|`([^`]+)`")


def test_every_heading_quotes_messages_as_they_are_written() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    headings = re.findall(r"^### (.*)$", page, re.MULTILINE)
    quoted = {either or words for each in headings for either, words in QUOTED.findall(each)}
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "socialapi").rglob("*.py"))
    messages = re.sub(r'"\n\s+f?"', "", sources)  # a text of several lines
    assert len(headings) > 30
    assert [words for words in quoted - BY_OTHERS if words not in messages] == []
