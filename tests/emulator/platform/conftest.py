"""The owner of a webhook."""

from collections.abc import AsyncIterator

import pytest

from socialapi.emulator import Emulator
from tests.emulator.platform.receiving import URL, Owner, owner_of_webhook


@pytest.fixture
async def owner(emulator: Emulator) -> AsyncIterator[Owner]:
    async with owner_of_webhook(emulator.ready["api_key_secret"]) as owner:
        emulator.webhook_targets[URL] = owner.address
        yield owner
