"""A client of the emulator, for the groups of methods that are tested against it."""

import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from socialapi import Client
from socialapi.emulator import Emulator
from tests.emulator.asking import Asker


@pytest.fixture
async def service() -> AsyncIterator[Emulator]:
    """Its wall clock stands still on a whole second.

    So edges in time can be asked for exactly, and what is made twice has the same ids and times.
    """
    started = float(int(time.time()))
    async with Emulator(clock=lambda: started) as emulator:
        yield emulator


@pytest.fixture
async def client(service: Emulator) -> AsyncIterator[Client]:
    async with Client(service.config, service.credentials) as client:
        yield client


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """For who asks without the SDK."""
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def raw(service: Emulator, http: aiohttp.ClientSession) -> Asker:
    """Somebody who asks without the SDK."""
    return Asker(service, http)
