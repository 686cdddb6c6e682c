"""Tests a rate limit. The emulator's clock is advanced, so no test waits."""

from newsletter import headlines

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.testing import FollowingClock

USER = "2244994945"


async def test_beyond_the_limit_there_are_no_headlines_until_the_window_is_over(socialapi_emulator: Emulator) -> None:
    clock = FollowingClock(socialapi_emulator)
    async with Client(socialapi_emulator.config, socialapi_emulator.credentials, clock=clock) as client:
        shown = [await headlines(client, USER) for _ in range(3)]
        assert [len(each) if each else None for each in shown] == [5, 5, None]
        socialapi_emulator.advance(900)
        assert await headlines(client, USER) == shown[0]


async def test_a_headline_is_the_beginning_of_a_post(socialapi_emulator: Emulator, socialapi_client: Client) -> None:
    await socialapi_emulator.publish({"post": {"text": "Read all about it! " * 10, "author_id": USER}})
    newest, *_ = await headlines(socialapi_client, USER) or [""]
    assert newest == "Read all about it! Read all about it! Read all about it! Rea"
