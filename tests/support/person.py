"""A person with a browser, without the browser."""

import re
from html import unescape
from typing import Final
from urllib.parse import urljoin

import aiohttp

_HIDDEN: Final = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
_FORM: Final = re.compile(r'<form method="post" action="([^"]*)"')
PIN: Final = re.compile(r'id="pin">([0-9]+)<')


class Person:
    """Somebody with a browser: goes through the page, and is sent back."""

    def __init__(self, screen_name: str, *, decision: str = "approve", follows: bool = True) -> None:
        self.screen_name = screen_name
        self.decision = decision
        self.follows = follows
        self.sent_to = ""
        """Where the page sends the browser, if it does not follow."""
        self.pages: list[str] = []

    async def visit(self, url: str) -> str:
        """Decides on the page; the text of the last page that is shown."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as browser:
            async with browser.get(url) as response:
                page = await response.text()
            self.pages.append(page)
            action = _FORM.search(page)
            assert action is not None, page
            form = {unescape(name): unescape(value) for name, value in _HIDDEN.findall(page)} | {
                "screen_name": self.screen_name,
                "decision": self.decision,
            }
            where = urljoin(url, unescape(action[1]))
            async with browser.post(where, data=form, allow_redirects=self.follows) as response:
                self.pages.append(await response.text())
                self.sent_to = response.headers.get("Location", "")
        return self.pages[-1]

    async def pin(self, url: str) -> str:
        """Approves, and reads the PIN."""
        found = PIN.search(await self.visit(url))
        assert found is not None
        return found[1]
