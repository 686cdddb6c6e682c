"""Articles, news and community notes: what is named is typed, what is further known is passed on, nothing is lost."""

import warnings

import pytest

from socialapi import Client, errors
from socialapi.emulator import Emulator
from socialapi.types import NoteInfo
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


async def test_a_note_has_typed_fields(client: Client, service: Emulator) -> None:
    info = NoteInfo(
        text="It was June: https://a.example/",
        classification="misinformed_or_potentially_misleading",
        misleading_tags=["factual_error"],
        trustworthy_sources=True,
    )
    post_id = int(service.seed["post_ids"][0])
    note = await client.notes.submit(post_id=post_id, info=info, test_mode=True)
    assert note.extra == {"post_id": str(post_id), "info": info.to_dict(), "test_mode": True}
    evaluated = await client.notes.evaluate(post_id=post_id, note_text="It was June.")
    assert evaluated.claim_opinion_score == evaluated.extra["claim_opinion_score"]
    with pytest.raises(errors.InvalidInput, match="test_mod is not a parameter: did you mean test_mode"):
        await client.notes.submit(test_mod=True)
