"""Authentication of the platform API (platform documentation, sections 5 and 7.3): every route, every credential."""

import re
from typing import Any

import pytest

from socialapi.routes.route import PLATFORM_APP, PLATFORM_USER, Route
from tests.emulator.asking import Asker
from tests.support.routes import ROUTES, name_of

PLATFORM_ROUTES = [row for row in ROUTES if row.family.name.startswith("platform")]


def path_of(route: Route[object]) -> str:
    return re.sub(r"\{\w+\}", "17", route.path.replace("{endpoint_id}", "filtered_stream"))


@pytest.mark.parametrize("route", PLATFORM_ROUTES, ids=name_of)
async def test_without_a_credential_or_with_a_dead_one_nothing_is_done(ask: Asker, route: Route[object]) -> None:
    reply = await ask.send(route.method, path_of(route), json={})
    assert (reply.status, reply.json["type"]) == (401, "about:blank")
    reply = await ask.bearer(route.method, path_of(route), token="dead", json={})
    assert (reply.status, reply.json) == (401, {"errors": [{"code": 89, "message": "Invalid or expired token."}]})


@pytest.mark.parametrize("route", PLATFORM_ROUTES, ids=name_of)
async def test_each_route_takes_the_kinds_of_credentials_of_its_family_and_no_others(
    ask: Asker, route: Route[object]
) -> None:
    ask.emulator.faults.add("stream_close", times=3)  # a stream would not end by itself
    path = path_of(route)
    signed = await ask.signed(route.method, path, json={})
    by_token = await ask.bearer(route.method, path, token=ask.oauth2_token(), json={})
    by_app = await ask.bearer(route.method, path, json={})
    replies = {"signed": signed, "by token": by_token, "by app": by_app}
    refused = {name for name, reply in replies.items() if reply.status in (401, 403)}
    assert refused == {PLATFORM_APP: {"signed", "by token"}, PLATFORM_USER: {"by app"}}.get(route.family, set())
    assert {replies[name].slug for name in refused} <= {"unsupported-authentication"}


async def test_scopes_are_asked_of_a_users_token(ask: Asker) -> None:
    reading = ask.oauth2_token("tweet.read")
    assert (await ask.bearer("GET", "/2/tweets?ids=1", token=reading)).status == 200
    for path in ("/2/tweets", "/2/articles/draft", "/2/articles/17/publish"):
        reply = await ask.bearer("POST", path, token=reading, json={"text": "x"})
        assert (reply.status, reply.json["type"]) == (403, "about:blank")
        assert "tweet.write, users.read" in reply.json["detail"]
    rules = "/2/tweets/search/stream/rules"
    reply = await ask.bearer("POST", rules, token=reading, json={"add": [{"value": "cats"}]})
    assert (reply.status, "tweet.write" in reply.json["detail"]) == (403, True)
    assert (await ask.bearer("POST", "/2/notes", token=reading, json={})).status == 403
    nothing = ask.oauth2_token("offline.access")
    assert (await ask.bearer("GET", "/2/tweets?ids=1", token=nothing)).status == 200, "lookups name no scope"


async def test_a_subscription_needs_the_scope_of_its_event(ask: Asker) -> None:
    ask.emulator.state.access_tokens.clear()
    filter_ = {"user_id": ask.emulator.seed["user_ids"][0]}
    for event_type, scope in (
        ("post.create", "tweet.read"),
        ("profile.update.bio", "users.read"),
        ("ProfileBioUpdate", "users.read"),
        ("spaces.start", "space.read"),
        ("dm.received", "dm.read"),
        ("chat.sent", "dm.read"),
        ("follow.follow", "follow.read"),
        ("follow.unfollow", "follow.read"),
    ):
        body = {"event_type": event_type, "filter": {**filter_, "keyword": event_type}}
        others = ask.oauth2_token("tweet.write" if scope == "follow.read" else "follow.read tweet.write")
        refused = await ask.bearer("POST", "/2/activity/subscriptions", token=others, json=body)
        assert (refused.status, scope in refused.json["detail"]) == (403, True)
        allowed = await ask.bearer("POST", "/2/activity/subscriptions", token=ask.oauth2_token(scope), json=body)
        assert allowed.status == 201


async def test_oauth1_permissions_override_the_scopes_of_a_subscription(ask: Asker) -> None:
    """Section 5.4. They are those that the same user has granted the same app."""
    state, body = ask.emulator.state, {"event_type": "dm.received", "filter": {"user_id": "1"}}
    nothing = ask.oauth2_token("offline.access")
    assert (await ask.bearer("POST", "/2/activity/subscriptions", token=nothing, json=body)).status == 201
    assert (await ask.bearer("POST", "/2/tweets", token=nothing, json={"text": "x"})).status == 403, "of no other"
    app, user = state.apps[ask.emulator.ready["api_key"]], state.users[ask.emulator.seed["user_ids"][0]]
    state.access_tokens.clear()
    state.new_access_token(app, user, "read")
    everything = ask.oauth2_token("dm.read tweet.read")
    refused = await ask.bearer("POST", "/2/activity/subscriptions", token=everything, json=body)
    assert (refused.status, "read-only" in refused.json["detail"]) == (403, True)
    state.access_tokens.clear()
    other_app = state.apps[(await ask.another_app())["api_key"]]
    state.new_access_token(other_app, user)
    body["filter"] = {"user_id": "2"}
    assert (await ask.bearer("POST", "/2/activity/subscriptions", token=nothing, json=body)).status == 403
    assert (await ask.bearer("POST", "/2/activity/subscriptions", token=everything, json=body)).status == 201


async def test_a_users_token_ends_with_its_time(ask: Asker) -> None:
    token = ask.oauth2_token(lifetime=60.0)
    ask.emulator.advance(59)
    assert (await ask.bearer("GET", "/2/connections", token=token)).status == 200
    ask.emulator.advance(1)
    reply = await ask.bearer("GET", "/2/connections", token=token)
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
        assert "read-only" in reply.text


@pytest.mark.parametrize("route", [row for row in PLATFORM_ROUTES if row.body is None], ids=name_of)
async def test_a_body_is_refused_where_none_is_taken(ask: Asker, route: Route[object]) -> None:
    ask.emulator.faults.add("stream_close", times=3)
    token = None if "AppOnly" in route.family.credentials else ask.oauth2_token()
    bodies: tuple[dict[str, Any], ...] = ({"json": {}}, {"data": b"null"}, {"data": {"tweet.fields": "id"}})
    for options in bodies:
        reply = await ask.bearer(route.method, path_of(route), token=token, **options)
        assert (reply.status, reply.json["type"]) == (415, "about:blank")
        assert "takes no body" in reply.json["detail"]


@pytest.mark.parametrize(
    "path",
    [
        *("/2/webhooks/replay", "/2/tweets/search/stream/rules", "/2/evaluate_note", "/2/notes"),
        *("/2/activity/subscriptions", "/2/tweets", "/2/articles/draft"),
    ],
)
async def test_unknown_query_parameters_are_refused_where_none_are_open(ask: Asker, path: str) -> None:
    assert "verbose" in (await ask.signed("POST", path + "?verbose=1", json={})).at_fault


async def test_of_undocumented_collections_any_parameter_is_taken(ask: Asker) -> None:
    for path in ("/2/connections", "/2/news/search", "/2/powerstream/rules", "/2/notes/search/notes_written"):
        query = {"query": "huts"} if path == "/2/news/search" else {}
        assert (await ask.get(path, verbose=1, max_results=1, **query)).status == 200
        assert (await ask.get(path, max_results=0, **query)).at_fault == ["max_results"]


async def test_the_settings_of_an_app_are_changed_while_it_is_used(ask: Asker) -> None:
    path = f"apps/{ask.emulator.ready['api_key']}"
    ids = ask.emulator.seed["post_ids"][0]
    assert (await ask.control("POST", path, {"tier": "not-enrolled"})).json["tier"] == "not-enrolled"
    reply = await ask.get("/2/tweets", ids=ids)
    assert (reply.status, reply.slug, reply.json["reason"]) == (403, "client-forbidden", "client-not-enrolled")
    assert reply.json["registration_url"].startswith("https://")
    changed = await ask.control("POST", path, {"tier": "self-serve", "access": "read", "signs_in": False})
    assert changed.json == {
        "tier": "self-serve",
        "access": "read",
        "signs_in": False,
        "names_advertisers": True,
        "stream_webhooks": True,
    }
    assert (await ask.get("/2/tweets", ids=ids)).status == 200
    reply = await ask.signed("POST", "/2/tweets", json={"text": "x"})
    assert (reply.status, "read-only" in reply.json["detail"]) == (403, True)
    assert (await ask.bearer("DELETE", "/2/connections/all")).status == 200, "the app itself may write"
    assert (await ask.control("POST", path, {"access": "write"})).json["access"] == "write"
    assert (await ask.signed("POST", "/2/tweets", json={"text": "x"})).status == 201


@pytest.mark.parametrize(("path", "body"), [("apps/nobody", {}), ("apps", {"user_id": "17"})])
async def test_settings_are_of_apps_and_users_that_exist(ask: Asker, path: str, body: dict[str, str]) -> None:
    assert (await ask.control("POST", path, body)).status == 404
    own = f"apps/{ask.emulator.ready['api_key']}"
    assert (await ask.control("POST", own, {"tier": "platinum"})).status == 400
