"""Endpoints that are documented by name (platform documentation, section 4.4): connections, articles, news, notes."""

from typing import Any

import pytest

from socialapi.emulator.platform.state import StreamConnection
from socialapi.models.events import DEPRECATED_EVENT_TYPES
from tests.emulator.asking import Asker, Reply
from tests.emulator.platform.receiving import URL, Owner, create_webhook

# Connections -------------------------------------------------------------------------------------------------------


def connect(ask: Asker, *endpoints: str, app_key: str | None = None) -> list[str]:
    """Active connections, put there as long as no stream can be opened."""
    connections = ask.emulator.state.platform.connections
    made = [
        StreamConnection(
            id=f"00000000-0000-4000-8000-{len(connections) + number:012}",
            app_key=app_key or ask.emulator.ready["api_key"],
            endpoint_id=endpoint,
            connected_at=ask.emulator.state.clock.now(),
        )
        for number, endpoint in enumerate(endpoints)
    ]
    connections += made
    return [each.id for each in made]


async def active(ask: Asker) -> list[str]:
    return [each["id"] for each in (await ask.get("/2/connections")).data if "disconnected_at" not in each]


async def test_past_and_active_connections_are_listed(ask: Asker) -> None:
    ids = connect(ask, "filtered_stream")
    reply = await ask.get("/2/connections")
    assert reply.json["meta"]["result_count"] == 3
    past, _, now = reply.data
    assert set(past) == {"id", "endpoint_name", "connected_at", "disconnected_at", "disconnect_reason"}
    assert (set(now), now["id"]) == ({"id", "endpoint_name", "connected_at"}, ids[0])
    assert past["disconnected_at"] > past["connected_at"]


async def test_connections_are_ended_by_their_uuids(ask: Asker) -> None:
    first, second, third = connect(ask, "filtered_stream", "filtered_stream", "activity_stream")
    past = (await ask.get("/2/connections")).data[0]["id"]
    wanted = [third, first, "unknown", past, first]
    reply = await ask.bearer("DELETE", "/2/connections", json={"uuids": wanted})
    unknown = [{"uuid": each, "success": False, "error_message": "no active connection"} for each in ("unknown", past)]
    ended = [{"uuid": each, "success": True} for each in (first, third)]
    assert (reply.status, reply.data) == (
        200,
        {"successful_kills": 2, "failed_kills": 2, "results": [*ended, *unknown]},
    )
    assert [error["value"] for error in reply.json["errors"]] == ["unknown", past]
    assert await active(ask) == [second]
    past_one = next(each for each in (await ask.get("/2/connections")).data if each["id"] == first)
    assert past_one["disconnect_reason"] == "ForceDisconnect"


async def test_connections_are_ended_by_endpoint_or_all_together(ask: Asker) -> None:
    theirs = connect(ask, "filtered_stream", app_key="another")
    *_, third = connect(ask, "filtered_stream", "filtered_stream", "activity_stream")
    reply = await ask.bearer("DELETE", "/2/connections/filtered_stream")
    assert (reply.status, reply.data["successful_kills"], reply.data["failed_kills"]) == (200, 2, 0)
    assert await active(ask) == [third]
    nothing = {"successful_kills": 0, "failed_kills": 0, "results": []}
    assert (await ask.bearer("DELETE", "/2/connections/nothing")).data == nothing
    assert (await ask.bearer("DELETE", "/2/connections/all")).data == {
        "successful_kills": 1,
        "failed_kills": 0,
        "results": [{"uuid": third, "success": True}],
    }
    assert (await ask.bearer("DELETE", "/2/connections/all")).data == nothing
    connection = next(each for each in ask.emulator.state.platform.connections if each.id == theirs[0])
    assert connection.disconnected_at is None


# Articles ----------------------------------------------------------------------------------------------------------

ARTICLE = {"title": "On huts", "content_state": {"blocks": [{"text": "A hut is …"}], "entity_map": {}}}


async def test_an_article_is_drafted_and_published_as_a_post(ask: Asker) -> None:
    cover = {"media_key": ask.emulator.seed["media_keys"][0]}
    reply = await ask.signed("POST", "/2/articles/draft", json={**ARTICLE, "cover_media": cover, "further": 1})
    assert (reply.status, reply.data["title"]) == (201, "On huts")
    path = f"/2/articles/{reply.data['id']}/publish"
    published = await ask.signed("POST", path)
    assert (published.status, set(published.data)) == (200, {"post_id"})
    post_id = published.data["post_id"]
    (post,) = (await ask.get("/2/tweets", ids=post_id)).data
    assert post["text"].startswith("On huts\n\nhttps://")
    user = ask.emulator.seed["user_ids"][0]
    assert (await ask.get(f"/2/users/{user}/tweets")).data[0]["id"] == post_id
    again = await ask.signed("POST", path)
    assert (again.status, again.json["type"], post_id in again.json["detail"]) == (409, "about:blank", True)


async def test_the_article_of_somebody_else_is_not_found(ask: Asker) -> None:
    article_id = (await ask.signed("POST", "/2/articles/draft", json=ARTICLE)).data["id"]
    other = await ask.as_user(ask.emulator.seed["user_ids"][1])
    for signer, wanted in ((other, article_id), (None, "17")):
        reply = await ask.signed("POST", f"/2/articles/{wanted}/publish", signer=signer)
        assert (reply.status, reply.slug, reply.json["value"]) == (404, "about:blank", wanted)


# News --------------------------------------------------------------------------------------------------------------

ALL_NEWS_FIELDS = {"id", "name", "summary", "contexts", "cluster_posts_results", "last_updated_at_ms"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"title": None}, "title"),
        ({"title": " "}, "title"),
        ({"content_state": None}, "content_state"),
        ({"content_state": []}, "content_state"),
        ({"cover_media": {"media_id": "17"}}, "cover_media.media_id"),
        ({"cover_media": {"media_key": ["17"]}}, "cover_media.media_key"),
        ({"cover_media": {"id": {}}}, "cover_media.id"),
        ({"cover_media": "17"}, "cover_media"),
        ({"cover_media": 17}, "cover_media"),
        ({"cover_media": []}, "cover_media"),
    ],
)
async def test_a_draft_that_breaks_a_rule_is_an_invalid_request(ask: Asker, change: Any, named: str) -> None:
    body = {name: value for name, value in (ARTICLE | change).items() if value is not None}
    assert (await ask.signed("POST", "/2/articles/draft", json=body)).at_fault == [named]


async def test_news_are_found_by_the_words_of_name_and_summary(ask: Asker) -> None:
    assert len((await ask.get("/2/news/search", query="")).data) == len(ask.emulator.seed["news_ids"])
    reply = await ask.get("/2/news/search", query="HUTS winter")
    assert [story["name"] for story in reply.data] == ["Winter reading lists"]
    reply = await ask.get("/2/news/search", query="bookshops")
    assert [set(story) for story in reply.data] == [{"id", "name"}] * 2
    assert (await ask.get("/2/news/search", query="unheard-of")).json == {"data": [], "meta": {"result_count": 0}}


async def test_stories_have_the_fields_that_are_asked_for(ask: Asker) -> None:
    fields = ",".join(ALL_NEWS_FIELDS - {"id"})
    reply = await ask.get("/2/news/search", query="night trains", news_fields=fields)
    (story,) = reply.data
    assert set(story) == ALL_NEWS_FIELDS
    assert (await ask.get(f"/2/news/{story['id']}", news_fields=fields)).data == story
    assert set((await ask.get(f"/2/news/{story['id']}")).data) == {"id", "name"}
    posts = ",".join(each["post_id"] for each in story["cluster_posts_results"])
    assert "errors" not in (await ask.get("/2/tweets", ids=posts)).json


async def test_an_unknown_story_is_not_found_and_an_unknown_field_invalid(ask: Asker) -> None:
    reply = await ask.get("/2/news/17")
    assert (reply.status, reply.slug, reply.json["value"]) == (404, "about:blank", "17")
    assert "resource_type" not in reply.json
    for path in ("/2/news/17", "/2/news/search?query=huts"):
        assert (await ask.get(path, news_fields="colour")).at_fault == ["news.fields"]


async def test_news_come_in_pages(ask: Asker) -> None:
    first = await ask.get("/2/news/search", query="", max_results=4)
    second = await ask.get("/2/news/search", query="", max_results=4, pagination_token=first.json["meta"]["next_token"])
    assert [story["id"] for page in (first, second) for story in page.data] == ask.emulator.seed["news_ids"]
    token = first.json["meta"]["next_token"]
    assert (await ask.get("/2/news/search", query="huts", pagination_token=token)).at_fault == ["pagination_token"]


# Notes -------------------------------------------------------------------------------------------------------------


async def test_a_note_is_evaluated_submitted_and_listed(ask: Asker) -> None:
    eligible = await ask.get("/2/notes/search/posts_eligible_for_notes", tweet_fields="author_id", max_results=3)
    assert [set(post) for post in eligible.data] == [{"id", "text", "author_id"}] * 3
    assert "next_token" in eligible.json["meta"]
    note = {"post_id": eligible.data[0]["id"], "note_text": "The storm came on Thursday."}
    scores = [(await ask.signed("POST", "/2/evaluate_note", json=note)).data["claim_opinion_score"] for _ in range(2)]
    assert 0 <= scores[0] == scores[1] <= 1
    made = [await ask.signed("POST", "/2/notes", json={**note, "test_mode": flag}) for flag in (True, False)]
    assert [reply.status for reply in made] == [201, 201]
    assert made[0].data == {**note, "test_mode": True, "id": made[0].data["id"]}
    listed = await ask.signed("GET", "/2/notes/search/notes_written")
    assert listed.data == [made[1].data, made[0].data]
    assert (await ask.get("/2/notes/search/notes_written")).data == []  # the app itself has written none


async def test_a_note_may_say_nothing_that_is_known_but_not_name_a_post_that_is_not_there(ask: Asker) -> None:
    for path in ("/2/notes", "/2/evaluate_note"):
        assert (await ask.bearer("POST", path, json={})).status in (200, 201)
        reply = await ask.bearer("POST", path, json={"post_id": "17"})
        assert (reply.status, reply.slug, reply.json["resource_type"]) == (404, "resource-not-found", "tweet")
        assert (await ask.bearer("POST", path, json=[])).at_fault


# Activity subscriptions --------------------------------------------------------------------------------------------


async def subscribe(ask: Asker, event_type: str, *, further: Any = None, **wanted: Any) -> Reply:
    body = {"event_type": event_type, "filter": wanted, **(further or {})}
    return await ask.bearer("POST", "/2/activity/subscriptions", json=body)


@pytest.mark.parametrize(("old", "new"), DEPRECATED_EVENT_TYPES.items())
async def test_a_deprecated_name_stands_for_the_present_one(ask: Asker, old: str, new: str) -> None:
    reply = await subscribe(ask, old, user_id="1")
    assert (reply.status, reply.data["event_type"]) == (201, new)
    assert (await subscribe(ask, new, user_id="1")).status == 409


async def test_the_same_subscription_again_is_a_conflict_and_another_filter_is_another(ask: Asker) -> None:
    first = await subscribe(ask, "post.create", user_id="1")
    again = await subscribe(ask, "post.create", user_id="1", further={"tag": "other"})
    assert (again.status, first.data["subscription_id"] in again.json["detail"]) == (409, True)
    assert (await subscribe(ask, "post.create", user_id="2")).status == 201
    other = (await ask.another_app())["bearer_token"]
    body = {"event_type": "post.create", "filter": {"user_id": "1"}}
    assert (await ask.bearer("POST", "/2/activity/subscriptions", token=other, json=body)).status == 201


async def test_a_webhook_is_a_part_of_a_subscription_which_ends_with_it(ask: Asker, owner: Owner) -> None:
    ask.emulator.webhook_targets[f"{URL}/other"] = owner.address
    first, second = [(await create_webhook(ask, url)).data["id"] for url in (URL, f"{URL}/other")]
    everywhere = await subscribe(ask, "post.create", user_id="1")
    named = [await subscribe(ask, "post.create", user_id="1", further={"webhook_id": each}) for each in (first, second)]
    assert [reply.status for reply in (everywhere, *named)] == [201] * 3
    again = await subscribe(ask, "post.create", user_id="1", further={"webhook_id": first, "tag": "x"})
    assert (again.status, named[0].data["subscription_id"] in again.json["detail"]) == (409, True)
    await ask.bearer("DELETE", f"/2/webhooks/{first}")
    left = [everywhere.data["subscription_id"], named[1].data["subscription_id"]]
    assert [*ask.emulator.state.platform.subscriptions] == left
    assert (await subscribe(ask, "post.create", user_id="1", further={"webhook_id": first})).status == 404


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"event_type": "post.create"}, "filter"),
        ({"filter": {"user_id": "1"}}, "event_type"),
        ({"event_type": "post.update", "filter": {"user_id": "1"}}, "event_type"),
        ({"event_type": "post.create", "filter": {}}, "filter.user_id"),
        ({"event_type": "post.create", "filter": {"keyword": "snow"}}, "filter.user_id"),
        ({"event_type": "post.create", "filter": {"user_id": 1}}, "filter.user_id"),
        ({"event_type": "dm.sent", "filter": {"user_id": "1", "direction": "up"}}, "filter.direction"),
    ],
)
async def test_a_subscription_that_breaks_a_rule_is_an_invalid_request(ask: Asker, body: Any, named: str) -> None:
    assert (await ask.bearer("POST", "/2/activity/subscriptions", json=body)).at_fault == [named]


async def test_a_webhook_that_is_named_has_to_be_there(ask: Asker) -> None:
    reply = await subscribe(ask, "post.create", user_id="1", further={"webhook_id": "17"})
    assert (reply.status, reply.slug) == (404, "about:blank")
    assert (await subscribe(ask, "post.create", user_id="1", further={"webhook_id": None})).status == 201
