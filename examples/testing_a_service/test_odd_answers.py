"""Tests with mocked responses, for what the emulator cannot show: the content of a request, and a response
that was seen once.
"""

import re

from aioresponses import aioresponses
from newsletter import headlines

from socialapi import Bearer, Client, Config

CONFIG = Config(base_url="https://api.example.com")
TIMELINE = re.compile(r"https://api\.example\.com/2/users/1/tweets\?.*")


async def test_a_post_without_a_text_has_a_headline_nevertheless(socialapi_responses: aioresponses) -> None:
    socialapi_responses.get(TIMELINE, payload={"data": [{"id": "10"}], "meta": {"result_count": 1}})
    async with Client(CONFIG, [Bearer("any")]) as client:
        assert await headlines(client, "1") == ["(nothing)"]
    ((method, url),) = socialapi_responses.requests
    assert (method, url.query["max_results"]) == ("GET", "5")
