"""The environment of other authors' clients, and an emulator for each test."""

import os
import time
from collections.abc import AsyncIterator

import pytest

from socialapi.emulator import Emulator
from tests.clients.program import PYTHON


@pytest.fixture(autouse=True)
def environment() -> None:
    """`make test-all` installs the clients, and sets SOCIALAPI_REQUIRE_CLIENTS so that none is skipped."""
    if not PYTHON.exists() and not os.environ.get("SOCIALAPI_REQUIRE_CLIENTS"):
        pytest.skip("the clients are not installed: make test-all, or make .clients/.clients-installed")


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    started = float(int(time.time()))
    async with Emulator(clock=lambda: started) as emulator:
        yield emulator
