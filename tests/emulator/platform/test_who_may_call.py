"""Authentication of the platform API (platform documentation, sections 5 and 7.3): every route, every credential."""

import re
import secrets

import pytest

from socialapi.emulator.state import Caller
from socialapi.routes import platform as routes
from socialapi.routes.route import PLATFORM, PLATFORM_CALLER, PLATFORM_USER, Route
from tests.emulator.asking import Asker

ROUTES = [row for row in vars(routes).values() if isinstance(row, Route)]
NAMES = [f"{row.method} {row.path}" for row in ROUTES]


def path_of(route: Route[object]) -> str:
    return re.sub(r"\{\w+\}", "17", route.path.replace("{endpoint_id}", "filtered_stream"))


def oauth2_token(ask: Asker, scopes: str = "tweet.read tweet.write users.read", lifetime: float = 60.0) -> str:
    state = ask.emulator.state
    token = secrets.token_hex(8)
    app = state.apps[ask.emulator.ready["api_key"]]
    user = state.users[ask.emulator.seed["user_ids"][0]]
    granted = frozenset(scopes.split())
    state.bearers[token] = Caller(app, user, scopes=granted, expires_at=state.clock.now() + lifetime)
    return token


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
async def test_without_a_credential_or_with_a_dead_one_nothing_is_done(ask: Asker, route: Route[object]) -> None:
    reply = await ask.send(route.method, path_of(route), json={})
    assert (reply.status, reply.json["type"]) == (401, "about:blank")
    reply = await ask.bearer(route.method, path_of(route), token="dead", json={})
    assert (reply.status, reply.json) == (401, {"errors": [{"code": 89, "message": "Invalid or expired token."}]})


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
async def test_users_are_let_in_everywhere_and_apps_wherever_no_user_is_needed(
    ask: Asker, route: Route[object]
) -> None:
    assert route.family in (PLATFORM, PLATFORM_CALLER, PLATFORM_USER)
    ask.emulator.faults.add("stream_close", times=3)  # a stream would not end by itself
    path = path_of(route)
    signed = await ask.signed(route.method, path, json={})
    by_token = await ask.bearer(route.method, path, token=oauth2_token(ask), json={})
    assert not {signed.status, by_token.status} & {401, 403}
    by_app = await ask.bearer(route.method, path, json={})
    if route.family is PLATFORM_USER:
        assert (by_app.status, by_app.slug) == (403, "unsupported-authentication")
    else:
        assert by_app.status not in (401, 403)


async def test_scopes_are_asked_of_a_users_token(ask: Asker) -> None:
    reading = oauth2_token(ask, "tweet.read")
    assert (await ask.bearer("GET", "/2/tweets?ids=1", token=reading)).status == 200
    for path in ("/2/tweets", "/2/articles/draft", "/2/articles/17/publish"):
        reply = await ask.bearer("POST", path, token=reading, json={"text": "x"})
        assert (reply.status, reply.json["type"]) == (403, "about:blank")
        assert "tweet.write, users.read" in reply.json["detail"]
    writing = oauth2_token(ask, "tweet.write users.read")
    assert (await ask.bearer("GET", "/2/tweets?ids=1", token=writing)).status == 403


async def test_a_users_token_ends_with_its_time(ask: Asker) -> None:
    token = oauth2_token(ask, lifetime=60.0)
    ask.emulator.advance(59)
    assert (await ask.bearer("GET", "/2/webhooks", token=token)).status == 200
    ask.emulator.advance(1)
    reply = await ask.bearer("GET", "/2/webhooks", token=token)
    assert (reply.status, reply.codes) == (401, [89])


async def test_an_access_token_for_reading_cannot_write(ask: Asker) -> None:
    state = ask.emulator.state
    app, user = state.apps[ask.emulator.ready["api_key"]], state.users[ask.emulator.seed["user_ids"][0]]
    made = state.new_access_token(app, user, "read")
    signer = ask.signer(access_token=made.token, access_token_secret=made.secret)
    assert (await ask.signed("GET", "/2/tweets?ids=1", signer=signer)).status == 200
    for reply in (
        await ask.signed("POST", "/2/tweets", signer=signer, json={"text": "x"}),
        await ask.signed("DELETE", "/2/connections/all", signer=signer),
        await ask.signed("POST", ask.audience_path, signer=signer, json=[]),
    ):
        assert reply.status == 403
        assert "reading" in reply.text


@pytest.mark.parametrize(
    "path",
    [
        *("/2/webhooks", "/2/webhooks/replay", "/2/tweets/search/stream/rules", "/2/evaluate_note", "/2/notes"),
        *("/2/activity/subscriptions", "/2/tweets", "/2/articles/draft"),
    ],
)
async def test_unknown_query_parameters_are_refused_where_none_are_open(ask: Asker, path: str) -> None:
    assert "verbose" in (await ask.signed("POST", path + "?verbose=1", json={})).at_fault


async def test_of_undocumented_collections_any_parameter_is_taken(ask: Asker) -> None:
    for path in ("/2/connections", "/2/news/search", "/2/powerstream/rules", "/2/notes/search/notes_written"):
        assert (await ask.get(path, verbose=1, max_results=1)).status == 200
        assert (await ask.get(path, max_results=0)).at_fault == ["max_results"]
