"""Articles, news and community notes: what is named is typed, what is further known is passed on, nothing is lost."""

import warnings

import pytest

from socialapi import Client, Fields, errors
from socialapi.emulator import Emulator
from socialapi.problems import InvalidRequest
from socialapi.types import NoteInfo
from tests.support.clients import client_of
from tests.support.server import Server, answer


async def test_an_article_is_drafted_and_published_once(client: Client, service: Emulator) -> None:
    cover = {"media_key": service.seed["media_keys"][0]}
    article = await client.articles.draft("Huts", {"blocks": [{"text": "…"}]}, cover_media=cover)
    assert article.title == "Huts"
    assert article.id is not None
    kept = service.state.platform.articles[article.id]
    assert (kept.content_state, kept.cover_media) == ({"blocks": [{"text": "…"}]}, cover)
    published = await client.articles.publish(article.id)
    assert published.post_id is not None
    (post,) = (await client.posts.lookup(published.post_id)).data
    assert post.text is not None
    assert post.text.startswith("Huts")
    with pytest.raises(errors.Conflict, match="published before"):
        await client.articles.publish(article.id)
    with pytest.raises(errors.NotFound):
        await client.articles.publish("17")


async def test_an_article_is_written_by_a_user(service: Emulator) -> None:
    async with Client(service.config, service.credentials[:1]) as app:
        with pytest.raises(errors.ConfigurationError):
            await app.articles.draft("Huts", {})
        with pytest.raises(errors.ConfigurationError):
            await app.articles.publish("17")
    assert not service.requests


async def test_a_cover_that_was_not_uploaded_is_refused(client: Client) -> None:
    with pytest.raises(errors.ApiError) as refused:
        await client.articles.draft("Huts", {}, cover_media={"media_key": "3_1"})
    (problem,) = refused.value.problems
    assert isinstance(problem, InvalidRequest)
    assert problem.errors[0].parameters == {"cover_media.media_key": ("3_1",)}


async def test_stories_are_searched_page_by_page(client: Client) -> None:
    pager = client.news.search("mountain", news_fields=["summary", "contexts"], max_results=1)
    stories = await pager.collect()
    assert len(stories) > 1
    for story in stories:
        assert "mountain" in f"{story.name} {story.summary}".lower()
        assert "topics" in story.contexts
        assert (story.cluster_posts_results, story.last_updated_at_ms) == (None, None)
    first = client.news.search("mountain", max_results=1)
    async for _ in first:
        break
    resumed = client.news.search("mountain", max_results=1, start=first.position)
    assert [story.id for story in await resumed.collect()] == [story.id for story in stories[1:]]


async def test_one_story_has_the_fields_that_were_chosen(client: Client, service: Emulator) -> None:
    story_id = service.seed["news_ids"][0]
    plain = await client.news.get(story_id)
    assert (plain.id, plain.summary) == (story_id, None)
    assert plain.name
    full = await client.news.get(story_id, news_fields="summary, cluster_posts_results,last_updated_at_ms")
    assert full.summary
    assert full.cluster_posts_results
    assert full.last_updated_at_ms > 1_700_000_000_000
    with pytest.raises(errors.NotFound) as unknown:
        await client.news.get("17")
    assert unknown.value.problems[0].says_not_found


@pytest.mark.parametrize("operator", ["followers_count:", "tweets_count:", "following_count:", "listed_count:"])
async def test_count_based_operators_are_sent_without_a_warning(operator: str) -> None:
    """What the documentation deprecates is the search of posts, which this package does not have."""
    async with Server(answer({"data": [], "meta": {"result_count": 0}})) as server, client_of(server) as client:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert await client.news.search(f"cats {operator}100").collect() == []
    assert [each.path for each in server.requests] == [f"/2/news/search?query=cats%20{operator[:-1]}%3A100"]


async def test_stream_rules_may_have_them(client: Client) -> None:
    assert (await client.filtered_stream.add_rules("cats followers_count:100")).data


async def test_notes_are_evaluated_submitted_and_listed(client: Client, service: Emulator) -> None:
    post_id = service.seed["post_ids"][0]
    evaluation = await client.notes.evaluate(post_id=post_id, note_text="It was June.")
    assert 0 <= evaluation.extra["claim_opinion_score"] <= 1
    assert await client.notes.written().collect() == []
    first = await client.notes.submit(post_id=post_id, note_text="It was June.", sources=["https://a.example/"])
    second = await client.notes.submit(post_id=post_id, note_text="It was July.")
    written = await client.notes.written(max_results=1).collect()
    assert written == [second, first]
    assert first.extra["sources"] == ["https://a.example/"]
    with pytest.raises(errors.NotFound):
        await client.notes.submit(post_id="17")


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


async def test_posts_that_a_note_can_be_written_on_come_with_their_fields(client: Client) -> None:
    fields = Fields(post=["author_id"], expansions=["author_id"])
    pages = [page async for page in client.notes.eligible_posts(fields=fields, max_results=4).pages()]
    assert [len(page.data) for page in pages] == [4, 2]
    for page in pages:
        assert all(page.includes.author(post) is not None for post in page.data)


async def test_a_submission_is_not_repeated_when_its_outcome_is_unknown(client: Client, service: Emulator) -> None:
    service.faults.add("reset_after", method="POST", path="/2/notes", times=1)
    with pytest.raises(errors.OutcomeUnknown):
        await client.notes.submit(note_text="Once")
    assert len(await client.notes.written().collect()) == 1
