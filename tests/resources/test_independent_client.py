"""Every endpoint of the platform, asked by the SDK and by a client that shares nothing with it: the same comes of it."""

# ruff: noqa: ARG005  # every way to ask is given the scene, whether it needs it or not

import contextlib
import copy
import inspect
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, get_args
from urllib.parse import parse_qs, urlsplit

import aiohttp
import attrs
import orjson
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from socialapi import Client, Fields, OAuth1
from socialapi.emulator import Emulator
from socialapi.emulator.platform.state import StreamConnection
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from socialapi.routes import oauth, platform
from socialapi.routes.route import Route
from socialapi.types import PostDraft, PostMedia, RuleDraft
from socialapi.wire.paging import read_page
from tests.emulator.platform.receiving import URL, Owner, owner_of_webhook
from tests.resources.agreeing import name_of
from tests.support import independent
from tests.support.comparing import assert_holds, assert_holds_answer
from tests.support.independent import Answer, Independent
from tests.support.person import Person

CALLBACK = "http://127.0.0.1:7/callback"
VERIFIER = "v" * 43
UUID = "7a1c7c5e-6f0b-4a9e-8f57-0c9d3a8f2b11"
NOWHERE = "00000000-0000-4000-8000-000000000000"
EVERYTHING = Fields(
    post=PostField.__args__,  # type: ignore[attr-defined]  # the names of a Literal
    user=[name for name in get_args(UserField) if name != "confirmed_email"],
    media=MediaField.__args__,  # type: ignore[attr-defined]
    poll=["options", "voting_status"],
    place=["country"],
    expansions=Expansion.__args__,  # type: ignore[attr-defined]
)
ASKED = {
    "tweet.fields": ",".join(EVERYTHING.post),
    "user.fields": ",".join(EVERYTHING.user),
    "media.fields": ",".join(EVERYTHING.media),
    "poll.fields": "options,voting_status",
    "place.fields": "country",
    "expansions": ",".join(EVERYTHING.expansions),
}


@attrs.define
class Scene:
    """One half of a comparison: what is there before the endpoint is asked."""

    emulator: Emulator
    owner: Owner
    plain: Independent
    webhook_id: str = ""
    article_id: str = ""

    @property
    def seed(self) -> Mapping[str, Any]:
        return self.emulator.seed


Raw = Callable[[Independent, Scene], Awaitable[Answer]]
Sdk = Callable[[Client, Scene], Awaitable[Any]]
Setup = Callable[[Scene], Awaitable[None]]


@attrs.frozen
class Row:
    """An endpoint with the two ways to ask it."""

    route: Route[Any]
    raw: Raw
    sdk: Sdk
    before: tuple[Setup, ...] = ()
    partial: bool = False
    """Whether problems are expected beside the data."""


async def a_webhook(scene: Scene) -> None:
    made = await scene.plain.bearer("POST", "/2/webhooks", json={"url": URL})
    scene.webhook_id = made.body["data"]["id"]


async def rules(scene: Scene) -> None:
    body = {"add": [{"value": "cats has:images", "tag": "cats"}, {"value": "dogs"}]}
    await scene.plain.bearer("POST", "/2/tweets/search/stream/rules", json=body)


async def connected(scene: Scene) -> None:
    ready, now = scene.emulator.ready, scene.emulator.state.clock.now()
    scene.emulator.state.platform.connections.append(
        StreamConnection(id=UUID, app_key=ready["api_key"], endpoint_id="filtered_stream", connected_at=now)
    )


async def a_draft(scene: Scene) -> None:
    body = {"title": "Huts", "content_state": {"blocks": []}}
    scene.article_id = (await scene.plain.user("POST", "/2/articles/draft", json=body)).body["data"]["id"]


async def a_note(scene: Scene) -> None:
    await scene.plain.user("POST", "/2/notes", json={"text": "It was June.", "post_id": scene.seed["post_ids"][0]})


def get(path: str, **query: str) -> Raw:
    return lambda plain, scene: plain.bearer("GET", path, query=query or None)


def rows() -> list[Row]:
    p = platform
    return [
        Row(
            p.POSTS,
            lambda plain, scene: plain.bearer(
                "GET", "/2/tweets", query={"ids": ",".join([*scene.seed["post_ids"][:60], "17"]), **ASKED}
            ),
            lambda client, scene: client.posts.lookup([*scene.seed["post_ids"][:60], "17"], fields=EVERYTHING),
            partial=True,
        ),
        Row(
            p.USER_POSTS,
            lambda plain, scene: plain.bearer(
                "GET", f"/2/users/{scene.seed['user_ids'][0]}/tweets", query={"max_results": "60", **ASKED}
            ),
            lambda client, scene: client.posts.by_user(
                scene.seed["user_ids"][0], max_results=60, fields=EVERYTHING
            ).first(),
        ),
        Row(
            p.POST_CREATE,
            lambda plain, scene: plain.user(
                "POST",
                "/2/tweets",
                json={
                    "text": "Grüße 🌊 & more",
                    "community_id": "17",
                    "share_with_followers": True,
                    "paid_partnership": True,
                    "quote_tweet_id": scene.seed["post_ids"][0],
                    "media": {"media_ids": [scene.seed["media_keys"][0]]},
                },
            ),
            lambda client, scene: client.posts.create(
                PostDraft(
                    text="Grüße 🌊 & more",
                    community_id="17",
                    share_with_followers=True,
                    paid_partnership=True,
                    quote_tweet_id=scene.seed["post_ids"][0],
                    media=PostMedia(media_ids=(scene.seed["media_keys"][0],)),
                )
            ),
        ),
        Row(
            p.WEBHOOK_CREATE,
            lambda plain, scene: plain.bearer("POST", "/2/webhooks", json={"url": URL}),
            lambda client, scene: client.webhooks.create(URL),
        ),
        Row(p.WEBHOOKS, get("/2/webhooks"), lambda client, scene: client.webhooks.list().first(), (a_webhook,)),
        Row(
            p.WEBHOOK_VALIDATE,
            lambda plain, scene: plain.bearer("PUT", f"/2/webhooks/{scene.webhook_id}"),
            lambda client, scene: client.webhooks.validate(scene.webhook_id),
            (a_webhook,),
        ),
        Row(
            p.WEBHOOK_DELETE,
            lambda plain, scene: plain.bearer("DELETE", f"/2/webhooks/{scene.webhook_id}"),
            lambda client, scene: client.webhooks.delete(scene.webhook_id),
            (a_webhook,),
        ),
        Row(
            p.WEBHOOK_REPLAY,
            lambda plain, scene: plain.bearer("POST", "/2/webhooks/replay", json={"from_date": "202606010000"}),
            lambda client, scene: client.webhooks.replay(from_date="202606010000"),
        ),
        Row(
            p.STREAM_LINK,
            lambda plain, scene: plain.bearer("POST", f"/2/tweets/search/webhooks/{scene.webhook_id}", query=ASKED),
            lambda client, scene: client.filtered_stream.link(scene.webhook_id, fields=EVERYTHING),
            (a_webhook,),
        ),
        Row(
            p.STREAM_RULES,
            get("/2/tweets/search/stream/rules"),
            lambda client, scene: client.filtered_stream.rules().first(),
            (rules,),
        ),
        Row(
            p.STREAM_RULES_CHANGE,
            lambda plain, scene: plain.bearer(
                "POST",
                "/2/tweets/search/stream/rules",
                json={"add": [{"value": "birds", "tag": "b"}, {"value": "dogs"}, {"value": "(fish"}]},
            ),
            lambda client, scene: client.filtered_stream.add_rules(RuleDraft("birds", "b"), "dogs", "(fish"),
            (rules,),
            partial=True,
        ),
        Row(
            p.POWERSTREAM_RULES,
            get("/2/powerstream/rules"),
            lambda client, scene: client.powerstream.rules().first(),
        ),
        Row(
            p.CONNECTIONS,
            get("/2/connections"),
            lambda client, scene: client.connections.list().first(),
            (connected,),
        ),
        Row(
            p.CONNECTIONS_END,
            lambda plain, scene: plain.bearer("DELETE", "/2/connections", json={"uuids": [UUID, NOWHERE]}),
            lambda client, scene: client.connections.end(UUID, NOWHERE),
            (connected,),
            partial=True,
        ),
        Row(
            p.CONNECTIONS_END_ENDPOINT,
            lambda plain, scene: plain.bearer("DELETE", "/2/connections/filtered_stream"),
            lambda client, scene: client.connections.end_endpoint("filtered_stream"),
            (connected,),
        ),
        Row(
            p.CONNECTIONS_END_ALL,
            lambda plain, scene: plain.bearer("DELETE", "/2/connections/all"),
            lambda client, scene: client.connections.end_all(),
            (connected,),
        ),
        Row(
            p.ARTICLE_DRAFT,
            lambda plain, scene: plain.user(
                "POST",
                "/2/articles/draft",
                json={
                    "title": "Huts",
                    "content_state": {"blocks": [{"text": "é"}]},
                    "cover_media": {"media_key": scene.seed["media_keys"][0]},
                },
            ),
            lambda client, scene: client.articles.draft(
                "Huts", {"blocks": [{"text": "é"}]}, cover_media={"media_key": scene.seed["media_keys"][0]}
            ),
        ),
        Row(
            p.ARTICLE_PUBLISH,
            lambda plain, scene: plain.user("POST", f"/2/articles/{scene.article_id}/publish"),
            lambda client, scene: client.articles.publish(scene.article_id),
            (a_draft,),
        ),
        Row(
            p.NEWS_SEARCH,
            get("/2/news/search", query="mountain", max_results="1", **{"news.fields": "summary,contexts"}),
            lambda client, scene: client.news.search(
                "mountain", news_fields=["summary", "contexts"], max_results=1
            ).first(),
        ),
        Row(
            p.NEWS_STORY,
            lambda plain, scene: plain.bearer(
                "GET",
                f"/2/news/{scene.seed['news_ids'][0]}",
                query={"news.fields": "name,summary,contexts,cluster_posts_results,last_updated_at_ms"},
            ),
            lambda client, scene: client.news.get(
                scene.seed["news_ids"][0],
                news_fields=["name", "summary", "contexts", "cluster_posts_results", "last_updated_at_ms"],
            ),
        ),
        Row(
            p.NOTE_EVALUATE,
            lambda plain, scene: plain.bearer("POST", "/2/evaluate_note", json={"text": "It was June.", "x": [1]}),
            lambda client, scene: client.notes.evaluate(text="It was June.", x=[1]),
        ),
        Row(
            p.NOTE_SUBMIT,
            lambda plain, scene: plain.bearer("POST", "/2/notes", json={"text": "It was June.", "x": {"y": None}}),
            lambda client, scene: client.notes.submit(text="It was June.", x={"y": None}),
        ),
        Row(
            p.NOTES_ELIGIBLE_POSTS,
            get("/2/notes/search/posts_eligible_for_notes", max_results="3", **ASKED),
            lambda client, scene: client.notes.eligible_posts(max_results=3, fields=EVERYTHING).first(),
            partial=True,
        ),
        Row(
            p.NOTES_WRITTEN,
            lambda plain, scene: plain.user("GET", "/2/notes/search/notes_written"),
            lambda client, scene: client.notes.written().first(),
            (a_note,),
        ),
        Row(
            p.SUBSCRIPTION_CREATE,
            lambda plain, scene: plain.bearer(
                "POST",
                "/2/activity/subscriptions",
                json={
                    "event_type": "dm.received",
                    "filter": {"user_id": "17", "keyword": "hut", "direction": "both"},
                    "tag": "huts",
                },
            ),
            lambda client, scene: client.activity.subscribe(
                "dm.received", user_id="17", keyword="hut", direction="both", tag="huts"
            ),
        ),
    ]


ROWS = rows()


def requested(emulator: Emulator) -> set[str]:
    """The routes that were asked."""
    return {f"{record.method} {record.route}" for record in emulator.requests}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: name_of(row.route))
async def test_the_sdk_and_an_independent_client_get_the_same(
    service: Emulator, http: aiohttp.ClientSession, row: Row
) -> None:
    async def scene() -> Scene:
        service.reset()
        owner.secret = service.ready["api_key_secret"]
        service.webhook_targets[URL] = owner.address
        made = Scene(service, owner, Independent(service.ready, http))
        for prepare in row.before:
            await prepare(made)
        return made

    async with owner_of_webhook("") as owner:
        first = await scene()
        before = len(service.requests)
        answer = await row.raw(first.plain, first)
        assert [f"{each.method} {each.route}" for each in list(service.requests)[before:]] == [name_of(row.route)]
        assert 200 <= answer.status < 300, answer.body
        second = await scene()
        async with Client(service.config, service.credentials) as client:
            before = len(service.requests)
            result = await row.sdk(client, second)
        asked = [each for each in list(service.requests)[before:] if each.route != oauth.APP_ONLY_TOKEN.path]
        assert [f"{each.method} {each.route}" for each in asked] == [name_of(row.route)]
        assert asked[0].status == answer.status
    assert bool(answer.body.get("errors")) is row.partial
    assert_holds_answer(result, answer.body)


async def test_tokens_of_the_app_are_the_same(service: Emulator, http: aiohttp.ClientSession) -> None:
    plain = Independent(service.ready, http)
    async with Client(service.config, service.credentials) as client:
        raw = await plain.basic("/oauth2/token", grant_type="client_credentials")
        token = await client.oauth.app_only_token()
        assert_holds(token, raw.body)
        ended = await client.oauth.invalidate_app_only_token()
        newer = await plain.basic("/oauth2/token", grant_type="client_credentials")
        raw = await plain.basic("/oauth2/invalidate_token", access_token=newer.body["access_token"])
        assert raw.body.keys() == {"access_token"}
        assert_holds(ended, {"access_token": token.access_token})
        assert newer.body["access_token"] != token.access_token
    assert requested(service) == {name_of(route) for route in APP_ROUTES}


APP_ROUTES = (oauth.APP_ONLY_TOKEN, oauth.INVALIDATE_APP_ONLY_TOKEN)
USER_ROUTES = (
    oauth.REQUEST_TOKEN,
    oauth.AUTHORIZE,
    oauth.AUTHENTICATE,
    oauth.ACCESS_TOKEN,
    oauth.INVALIDATE_TOKEN,
)
USER2_ROUTES = (oauth.OAUTH2_AUTHORIZE, oauth.OAUTH2_TOKEN)


async def _by_hand(emulator: Emulator, plain: Independent, somebody: Person, page: str) -> list[Mapping[str, Any]]:
    access = {"service_auth_access_type": "write"}
    begun = (await plain.signed("POST", "/oauth/request_token", query=access, redirect_uri="oob")).body
    query = f"?oauth_token={begun['oauth_token']}&force_login=true&screen_name={somebody.screen_name}"
    pin = await somebody.pin(emulator.ready["base_url"] + page + query)
    granted = (
        await plain.signed(
            "POST", "/oauth/access_token", begun["oauth_token"], begun["oauth_token_secret"], verifier=pin
        )
    ).body
    secrets = (granted["oauth_token"], granted["oauth_token_secret"])
    ended = await plain.signed("POST", "/1.1/oauth/invalidate_token", *secrets)
    refused = await plain.signed("GET", "/2/webhooks", *secrets)
    assert (refused.status, refused.body["errors"][0]["code"]) == (401, 89)
    assert ended.body == {"access_token": granted["oauth_token"]}
    begun["oauth_callback_confirmed"] = begun["oauth_callback_confirmed"] == "true"
    return [begun, granted, ended.body]


async def _by_sdk(emulator: Emulator, client: Client, somebody: Person, page: str) -> list[Any]:
    begun = await client.oauth.request_token("oob", access_type="write")
    url_of = {"/oauth/authorize": client.oauth.authorize_url, "/oauth/authenticate": client.oauth.authenticate_url}[
        page
    ]
    pin = await somebody.pin(url_of(begun, force_login=True, screen_name=somebody.screen_name))
    granted = await client.oauth.access_token(begun, pin)
    ready = emulator.ready
    credential = OAuth1(ready["api_key"], ready["api_key_secret"], granted.oauth_token, granted.oauth_token_secret)
    async with Client(emulator.config, [credential]) as user:
        ended = await user.oauth.invalidate_token()
    assert ended.access_token == granted.oauth_token
    return [begun, granted, ended]


@pytest.mark.parametrize("page", ["/oauth/authorize", "/oauth/authenticate"])
async def test_both_sign_a_person_in(service: Emulator, http: aiohttp.ClientSession, page: str) -> None:
    user = service.state.users[service.seed["user_ids"][1]]
    drawn = {"oauth_token", "oauth_token_secret", "access_token"}
    somebody = Person(user.username)
    raw = await _by_hand(service, Independent(service.ready, http), somebody, page)
    async with Client(service.config, service.credentials) as client:
        models = await _by_sdk(service, client, somebody, page)
    asked = Counter(f"{record.method} {record.route}" for record in service.requests)
    other = {"/oauth/authorize", "/oauth/authenticate"} - {page}
    routes = [route for route in USER_ROUTES if route.path not in other]
    assert [asked[name_of(route)] for route in routes] == [2] * len(routes)
    for model, answer in zip(models, raw, strict=True):
        # What is drawn anew each time has the same name and length; everything else is the same.
        for name in drawn & answer.keys():
            assert len(getattr(model, name)) == len(answer[name])
        assert_holds(model, {**answer} | {name: getattr(model, name) for name in drawn & answer.keys()})
    assert (models[1].user_id, models[1].screen_name) == (user.id, user.username)
    assert raw[0]["oauth_token"] != models[0].oauth_token


async def test_both_sign_a_person_in_with_pkce(service: Emulator, http: aiohttp.ClientSession) -> None:
    plain, client_id = Independent(service.ready, http), service.ready["api_key"]
    user = service.state.users[service.seed["user_ids"][1]]
    answers: list[Any] = []
    async with Client(service.config, service.credentials) as client:
        begun = client.oauth.authorization_url(client_id=client_id, redirect_uri=CALLBACK, state="s")
        by_sdk = parse_qs(urlsplit(begun.url).query)
        by_hand = by_sdk | {"code_challenge": [create_s256_code_challenge(VERIFIER)]}
        for query, verifier in ((by_hand, VERIFIER), (by_sdk, begun.code_verifier)):
            assert query["code_challenge"] == [create_s256_code_challenge(verifier)]
            somebody = Person(user.username, follows=False)
            address = begun.url.partition("?")[0]
            text = "&".join(f"{name}={values[0]}".replace(" ", "%20") for name, values in query.items())
            await somebody.visit(begun.url if query is by_sdk else f"{address}?{text}")
            code = parse_qs(urlsplit(somebody.sent_to).query)["code"][0]
            if query is by_hand:
                exchange = {"grant_type": "authorization_code", "client_id": client_id, "redirect_uri": CALLBACK}
                form = exchange | {"code": code, "code_verifier": verifier}
                answers.append((await plain.form("/2/oauth2/token", **form)).body)
            else:
                answers.append(
                    await client.oauth.exchange_code(
                        code, client_id=client_id, redirect_uri=CALLBACK, code_verifier=verifier
                    )
                )
        raw, model = answers
        drawn = {name: getattr(model, name) for name in ("access_token", "refresh_token")}
        assert_holds(model, raw | drawn)
        again = {"grant_type": "refresh_token", "client_id": client_id}
        raw = (await plain.form("/2/oauth2/token", **again, refresh_token=raw["refresh_token"])).body
        model = await client.oauth.refresh(model.refresh_token, client_id=client_id)
        assert_holds(model, raw | {name: getattr(model, name) for name in drawn})
    assert requested(service) >= {name_of(route) for route in USER2_ROUTES}


STREAM_ROUTES = (platform.POST_STREAM, platform.ACTIVITY_STREAM)


@contextlib.asynccontextmanager
async def lines_of(url: str, token: str, **query: str) -> AsyncIterator[aiohttp.StreamReader]:
    """A stream opened without the SDK."""
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url, params=query) as answer:
        assert answer.status == 200
        yield answer.content


async def test_streams_bring_the_sdk_and_an_independent_client_the_same() -> None:
    async with Emulator() as emulator, Client(emulator.config, emulator.credentials) as client:
        await client.filtered_stream.add_rules(RuleDraft("snow", tag="weather"))
        base, token = emulator.ready["base_url"], emulator.ready["bearer_token"]
        async with (
            lines_of(f"{base}/2/tweets/search/stream", token, **ASKED) as lines,
            client.filtered_stream.connect(EVERYTHING) as posts,
        ):
            await emulator.publish({"text": "Snow with @northwind"})
            post = await anext(posts)
            assert isinstance(post, MatchedPost)
            raw = orjson.loads(await lines.readline())
            assert orjson.loads(post.content) == raw
            assert_holds(post.data, raw["data"])
            assert [attrs.asdict(rule) for rule in post.matching_rules] == [
                raw["matching_rules"][0] | {"extra": {}, "partial_errors": ()}
            ]
            assert_holds(post.includes.author(post.data), raw["includes"]["users"][0])
        async with lines_of(f"{base}/2/activity/stream", token) as lines, client.activity.stream() as events:
            await emulator.publish({"event_type": "ProfileBioUpdate", "user_id": "17", "payload": {"after": "ä"}})
            event = await anext(events)
            assert isinstance(event, ActivityEvent)
            raw = orjson.loads(await lines.readline())["data"]
            assert (event.event_type, raw["event_type"]) == ("profile.update.bio", "ProfileBioUpdate")
            assert_holds(event, raw | {"event_type": "profile.update.bio"})
        assert requested(emulator) >= {name_of(route) for route in STREAM_ROUTES}


def test_no_route_is_left_out() -> None:
    declared = {
        name_of(each) for module in (platform, oauth) for each in vars(module).values() if isinstance(each, Route)
    }
    compared = [*(row.route for row in ROWS), *APP_ROUTES, *USER_ROUTES, *USER2_ROUTES, *STREAM_ROUTES]
    assert {name_of(route) for route in compared} == declared
    assert len(compared) == len(declared)


def test_the_comparison_notices_what_is_dropped_or_changed() -> None:
    body = {"data": [{"id": "1", "text": "a"}], "meta": {"result_count": 1}}
    page: Page[Post] = read_page(Page[Post], copy.deepcopy(body))
    assert_holds_answer(page, body)
    for other in (
        {"data": [{"id": "1", "text": "a", "new": 1}], "meta": {"result_count": 1}},
        {"data": [{"id": "1", "text": "b"}], "meta": {"result_count": 1}},
        {"data": [{"id": "1", "text": "a"}, {"id": "2"}], "meta": {"result_count": 1}},
        body | {"meta": {"result_count": 1, "next_token": "n"}},
        body | {"includes": {"users": [{"id": "7"}]}},
        body | {"errors": [{"code": 1, "message": "no"}]},
        body | {"beside": 1},
    ):
        with pytest.raises(AssertionError):
            assert_holds_answer(page, other)


def test_the_independent_client_shares_nothing_with_the_sdk() -> None:
    assert "socialapi" not in inspect.getsource(independent)
