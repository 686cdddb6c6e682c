"""Every endpoint, asked by the SDK and by a client that shares nothing with it: the same comes of it."""

import contextlib
import inspect
import typing
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import aiohttp
import attrs
import orjson
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from socialapi import Client, OAuth1
from socialapi.emulator import Emulator
from socialapi.emulator.routing import mounted_path
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.pages import Page
from socialapi.models.queries import OpenPage
from socialapi.routes import oauth
from socialapi.routes.route import Route
from socialapi.types import RuleDraft
from tests.emulator.platform.receiving import owner_of_webhook
from tests.support import independent
from tests.support.comparing import assert_holds, assert_holds_answer
from tests.support.endpoint_table import ASKED, CALLBACK, EVERYTHING, PAGES, ROWS, STREAMS, TOKENS, WALKS, Row
from tests.support.independent import Independent
from tests.support.person import Person
from tests.support.routes import ROUTES, name_of

VERIFIER = "v" * 43


def requested(emulator: Emulator) -> set[str]:
    """The routes that were asked."""
    return {f"{record.method} {record.route}" for record in emulator.requests}


@attrs.define
class Sent:
    """The query of every request of a client of aiohttp, but those for tokens."""

    queries: list[dict[str, str]] = attrs.field(factory=list)

    def trace(self) -> aiohttp.TraceConfig:
        async def note(
            session: aiohttp.ClientSession, context: SimpleNamespace, asked: aiohttp.TraceRequestStartParams
        ) -> None:
            if asked.url.path != oauth.APP_ONLY_TOKEN.path:
                self.queries.append(dict(parse_qsl(asked.url.raw_query_string, keep_blank_values=True)))

        config = aiohttp.TraceConfig()
        config.on_request_start.append(note)
        return config


async def compare(service: Emulator, http: aiohttp.ClientSession, row: Row, cursor: str | None = None) -> str | None:
    """Has both ask for the same, a collection from the cursor on. Returns the next one."""
    from_there = {row.route.family.page_token_parameter: cursor} if cursor else {}
    async with owner_of_webhook("") as owner:
        first = await row.prepare(service, owner, http)
        before, query = len(service.requests), row.query_of(first, **from_there)
        answer = await row.ask_by_hand(first, query)
        (by_hand,) = list(service.requests)[before:]
        assert (by_hand.method, by_hand.route) == (row.route.method, mounted_path(row.route))
        assert 200 <= answer.status < 300, answer.body
        there = service.ledger()["records"]

        second, sent = await row.prepare(service, owner, http), Sent()
        async with Client(service.config, service.credentials, trace_configs=[sent.trace()]) as client:
            before = len(service.requests)
            result = await row.ask(client, second, **({"start": f"0:{cursor}"} if cursor else {}))
            asked = [each for each in list(service.requests)[before:] if each.route != oauth.APP_ONLY_TOKEN.path]
    # Pages are read ahead; the first request is the one that was asked for.
    assert row.route.is_paged or len(asked) == 1
    assert (asked[0].method, asked[0].path, asked[0].status) == (by_hand.method, by_hand.path, answer.status)
    assert sent.queries[0] == query
    assert bool(answer.body.get("errors")) is row.is_partial
    body = answer.body
    if row.inside is not None:
        assert len(body["data"]) == 1
        body = body | {"data": body["data"][row.inside]}
    assert_holds_answer(result, body)
    assert service.ledger()["records"] == there
    return result.next_token if isinstance(result, Page) else None


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
async def test_the_sdk_and_an_independent_client_get_the_same(
    service: Emulator, http: aiohttp.ClientSession, row: Row
) -> None:
    cursor = await compare(service, http, row)
    if row.pages is not None:
        assert cursor is not None, f"{row.name} is on one page: add seed data, or records by `before`"
        await compare(service, http, row, cursor)


def parameters_of(declared: Any) -> set[str]:
    bare = typing.get_args(declared)[0] if typing.get_origin(declared) is typing.Annotated else declared
    return set(typing.get_type_hints(bare)) if bare is not None else set()


@pytest.mark.parametrize("route", dict.fromkeys(row.route for row in ROWS), ids=name_of)
def test_every_parameter_is_sent_at_least_once(route: Route[Any]) -> None:
    rows = [row for row in ROWS if row.route is route]
    sent = {name for row in rows for name in (*row.query, *(row.pages or ()))}
    if any(row.pages is not None for row in rows):
        sent.add(route.family.page_token_parameter)
    declared = parameters_of(route.query) | (parameters_of(route.body) if route.body_in != "json" else set())
    declared -= {"extra", *((*parameters_of(OpenPage), "cursor") if any(row.is_one_page for row in rows) else ())}
    unsent = ", ".join(sorted(declared - sent))
    assert not unsent, f"no row of {name_of(route)} in tests/support/endpoint_table.py sends {unsent}"


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
    assert requested(service) == {"POST /oauth2/token", "POST /oauth2/invalidate_token"}


USER_ROUTES = (
    oauth.REQUEST_TOKEN,
    oauth.AUTHORIZE,
    oauth.AUTHENTICATE,
    oauth.ACCESS_TOKEN,
    oauth.INVALIDATE_TOKEN,
)


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


SCOPES: Final = ("tweet.read", "users.read", "offline.access")


async def test_both_sign_a_person_in_with_pkce(service: Emulator, http: aiohttp.ClientSession) -> None:
    plain, client_id = Independent(service.ready, http), service.ready["api_key"]
    user = service.state.users[service.seed["user_ids"][1]]
    answers: list[Any] = []
    async with Client(service.config, service.credentials) as client:
        begun = client.oauth.authorization_url(client_id=client_id, redirect_uri=CALLBACK, scopes=SCOPES, state="s")
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
    assert requested(service) >= {"GET /2/oauth2/authorize", "POST /2/oauth2/token"}


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
        assert requested(emulator) >= {name_of(route) for route in STREAMS}


def test_every_route_has_a_row() -> None:
    rows = [row.route for row in (*ROWS, *TOKENS)]
    missing = [name_of(route) for route in ROUTES if route not in {*rows, *STREAMS, *PAGES}]
    assert not missing, f"add a Row to tests/support/endpoint_table.py for {', '.join(missing)}"
    several = [name_of(route) for route in ROUTES if (route in rows) + (route in STREAMS) + (route in PAGES) > 1]
    assert not several, f"routes of tests/support/endpoint_table.py that are asked and are streams or pages: {several}"


def test_every_collection_is_walked_or_comes_as_one_page() -> None:
    walked, one_page = {row.route for row in WALKS}, {row.route for row in ROWS if row.is_one_page}
    wrong = [row.name for row in ROWS if row.route.is_paged and (row.route in walked) == (row.route in one_page)]
    assert not wrong, (
        f"in tests/support/endpoint_table.py, one row of {', '.join(wrong)} needs `pages`, "
        "or `is_one_page` if the emulator sends all of it at once"
    )


def test_the_independent_client_shares_nothing_with_the_sdk() -> None:
    assert "socialapi" not in inspect.getsource(independent)
