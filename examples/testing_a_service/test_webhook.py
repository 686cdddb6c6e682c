"""Tests event deliveries: the emulator delivers events to the application as the service would, and also with
faults.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import web
from newsletter import Mentions

from socialapi import Client
from socialapi.emulator import Emulator

URL = "https://newsletter.example/hooks"
USER = "2244994945"


def post(text: str) -> dict[str, object]:
    """Returns an event about a post, for the emulator to publish."""
    return {"event_type": "post.create", "user_id": USER, "payload": {"text": text}}


@pytest_asyncio.fixture
async def mentions(socialapi_emulator: Emulator, socialapi_client: Client) -> AsyncIterator[Mentions]:
    """Runs the application on a separate port, registered with the emulator."""
    mentions = Mentions(socialapi_emulator.ready["api_key_secret"])
    runner = web.AppRunner(mentions.application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    socialapi_emulator.webhook_targets[URL] = f"http://127.0.0.1:{runner.addresses[0][1]}/hooks"
    await socialapi_client.webhooks.ensure(URL)
    yield mentions
    await runner.cleanup()


async def test_posts_about_the_newsletter_are_collected(mentions: Mentions, socialapi_emulator: Emulator) -> None:
    await socialapi_emulator.publish({"events": [post("Lunch"), post("A fine newsletter"), post("This Newsletter!")]})
    async with asyncio.timeout(30):
        found = {await mentions.found.get(), await mentions.found.get()}
    assert found == {"A fine newsletter", "This Newsletter!"}


@pytest.mark.parametrize("fault", ["delivery_duplicate", "delivery_tampered", "delivery_forged", "delivery_unsigned"])
async def test_each_is_collected_once_and_nothing_forged_is(
    mentions: Mentions, socialapi_emulator: Emulator, fault: str
) -> None:
    socialapi_emulator.faults.add(fault)
    await socialapi_emulator.publish(post("A fine newsletter"))
    await socialapi_emulator.settle()
    async with asyncio.timeout(30):
        assert await mentions.found.get() == "A fine newsletter"
    assert mentions.found.empty()
    (counts,) = socialapi_emulator.ledger()["deliveries"].values()
    assert counts["forgeries"]["accepted"] == 0
