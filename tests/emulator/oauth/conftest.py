"""An app and a browser."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.emulator.asking import Asker
from tests.emulator.oauth.signing_in import App, Browser


@pytest.fixture
def app(ask: Asker) -> App:
    return App(ask)


@pytest.fixture
async def browser(ask: Asker) -> AsyncIterator[Browser]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield Browser(ask, session)
