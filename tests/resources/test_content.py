"""Articles, news and community notes: what is named is typed, what is further known is passed on, nothing is lost."""

import warnings

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from tests.support.clients import client_of
from tests.support.server import Server, answer


async def test_an_article_is_written_by_a_user(service: Emulator) -> None:
    async with Client(service.config, service.credentials[:1]) as app:
        with pytest.raises(errors.ConfigurationError):
            await app.articles.draft("Huts", {})
        with pytest.raises(errors.ConfigurationError):
            await app.articles.publish("17")
    assert not service.requests


@pytest.mark.parametrize("operator", ["followers_count:", "tweets_count:", "following_count:", "listed_count:"])
async def test_count_based_operators_are_sent_without_a_warning(operator: str) -> None:
    """What the documentation deprecates is the search of posts, which this package does not have."""
    async with Server(answer({"data": [], "meta": {"result_count": 0}})) as server, client_of(server) as client:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert await client.news.search(f"cats {operator}100").collect() == []
    assert [each.path for each in server.requests] == [f"/2/news/search?query=cats%20{operator[:-1]}%3A100"]
