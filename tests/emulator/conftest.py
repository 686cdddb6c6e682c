"""A running emulator, and a client of it that is not the SDK."""

import time
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker
from tests.emulator.platform.receiving import URL, Owner, owner_of_webhook
from tests.support.chromium import Chromium, chromium_running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """Its wall clock stands still on a whole second, so that edges in time can be asked for exactly."""
    started = float(int(time.time()))
    async with Emulator(clock=lambda: started) as emulator:
        yield emulator


@pytest.fixture
async def owner(emulator: Emulator) -> AsyncIterator[Owner]:
    """The owner of a webhook."""
    async with owner_of_webhook(emulator.ready["api_key_secret"]) as owner:
        emulator.webhook_targets[URL] = owner.address
        yield owner


@pytest.fixture(scope="session")
def webdriver() -> Iterator[str]:
    with chromium_running() as address:
        yield address


@pytest.fixture
async def chromium(webdriver: str, session: aiohttp.ClientSession) -> Chromium:
    browser = Chromium(session, webdriver)
    await browser.forget()
    return browser


@pytest.fixture
def ask(emulator: Emulator, session: aiohttp.ClientSession) -> Asker:
    return Asker(emulator, session)
