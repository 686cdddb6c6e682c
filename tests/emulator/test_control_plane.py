"""The control plane: `/_emulator/…` over HTTP, and the same from Python."""

import asyncio
import hashlib
import json
from typing import Any

import orjson
import pytest

from tests.emulator.asking import Asker, digest, eventually, operation, updates
from tests.emulator.platform.reading import add_rules, reading


def lines(text: str) -> list[Any]:
    return [orjson.loads(line) for line in text.splitlines()]


async def test_the_seed_has_the_documented_kinds_and_the_first_accounts_things(ask: Asker) -> None:
    seed = (await ask.control("GET", "seed")).json
    assert seed.keys() - ask.emulator.seed.keys() == {"audiences", "do_not_reach_lists"}
    assert {kind: seed[kind] for kind in ask.emulator.seed} == dict(ask.emulator.seed)
    assert len(seed["account_ids"]) == 2
    assert len(seed["custom_audience_ids"]) >= 2
    assert len(seed["do_not_reach_list_ids"]) >= 2
    state = ask.emulator.state
    first, second = seed["account_ids"]
    businesses = {account["id"]: account["business_id"] for account in state.advertising.accounts.rows}
    assert businesses[first] == businesses[second]
    assert state.users[seed["user_ids"][0]].account_ids == {first, second}
    assert all((first, each) in state.audiences for each in seed["custom_audience_ids"])
    assert all((first, each) in state.do_not_reach_lists for each in seed["do_not_reach_list_ids"])


async def test_members_are_listed_one_a_line(ask: Asker) -> None:
    ann = digest("ann")
    await ask.upload([operation({"email": [ann], "partner_user_id": ['quote " and é']})])
    await ask.upload([operation({"phone_number": [ann]})], path=ask.list_users_path)
    reply = await ask.control("GET", f"audiences/{ask.account}/{ask.audience}/members")
    assert reply.headers["Content-Type"].startswith("application/x-ndjson")
    assert lines(reply.text) == [
        {"kind": "email", "value": ann},
        {"kind": "partner_user_id", "value": 'quote " and é'},
    ]
    reply = await ask.control("GET", f"do-not-reach/{ask.account}/{ask.do_not_reach_list}/members")
    assert lines(reply.text) == [{"kind": "phone_number", "value": ann}]


@pytest.mark.parametrize("kind", ["audiences", "do-not-reach"])
async def test_members_of_something_unknown_are_not_found(ask: Asker, kind: str) -> None:
    for path in (f"{kind}/{ask.account}/nosuch/members", f"{kind}/nosuch/1nmth/members"):
        reply = await ask.control("GET", path)
        assert (reply.status, reply.codes) == (404, ["NOT_FOUND"])
    with pytest.raises(KeyError):
        ask.emulator.members(ask.account, "nosuch")
    with pytest.raises(KeyError):
        ask.emulator.do_not_reach_members(ask.account, "nosuch")


def documented_checksum(members: set[tuple[str, str]]) -> str:
    total = 0
    for kind, value in members:
        total ^= int(hashlib.sha256(f"{kind}:{value}".encode()).hexdigest()[:16], 16)
    return format(total, "016x")


async def test_the_ledger_has_count_and_checksum_of_every_audience_and_list(ask: Asker) -> None:
    await ask.upload(updates(3))
    await ask.upload(updates(2), path=ask.list_users_path)
    ledger = (await ask.control("GET", "ledger")).json
    assert ledger == json.loads(json.dumps(ask.emulator.ledger()))
    audiences, lists = ledger["audiences"][ask.account], ledger["do_not_reach_lists"][ask.account]
    assert audiences[ask.audience] == {"members": 3, "checksum": documented_checksum(ask.members())}
    assert audiences[ask.emulator.seed["custom_audience_ids"][1]] == {"members": 0, "checksum": "0" * 16}
    assert lists[ask.do_not_reach_list] == {
        "members": 2,
        "checksum": documented_checksum(ask.listed()),
        "deleted": False,
    }


async def test_the_ledger_counts_answers_by_route_and_status(ask: Asker) -> None:
    await ask.upload(updates(1))
    await ask.upload(updates(1))
    await ask.upload(b"broken")
    await ask.send("POST", ask.audience_path)
    await ask.send("GET", "/nowhere")
    assert ask.emulator.ledger()["requests"] == {
        "POST /ads/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users": {
            "accepted": 2,
            "refused": 2,
            "unanswered": 0,
            "statuses": {"200": 2, "400": 1, "401": 1},
        },
        "unknown route": {"accepted": 0, "refused": 1, "unanswered": 0, "statuses": {"404": 1}},
    }


async def test_every_request_is_logged_with_what_it_carried(ask: Asker) -> None:
    user = {"partner_user_id": ["1"]}
    body = orjson.dumps([operation(user, user), operation(user)])
    reply = await ask.upload(body)
    await ask.upload(b"[1]")
    await ask.send("GET", "/nowhere?secret=1")
    assert lines((await ask.control("GET", "requests")).text) == [
        {
            "number": 1,
            "time": ask.emulator.state.clock.now(),
            "method": "POST",
            "path": ask.audience_path,
            "route": "/ads/12/accounts/{account_id}/custom_audiences/{custom_audience_id}/users",
            "status": 200,
            "operations": 2,
            "users": 3,
            "body_sha256": hashlib.sha256(body).hexdigest(),
            "fault": None,
            "transaction_id": reply.headers["x-transaction-id"],
        },
        ask.emulator.requests[1].to_dict(),
        ask.emulator.requests[2].to_dict(),
    ]
    assert (ask.emulator.requests[1].status, ask.emulator.requests[1].operations) == (400, None)
    last = ask.emulator.requests[2]
    assert (last.path, last.route, last.status, last.body_sha256) == ("/nowhere", None, 404, None)


async def test_requests_are_told_in_excerpts(ask: Asker) -> None:
    for number in range(1, 7):
        await ask.send("GET", f"/nowhere/{number}")

    async def numbers(query: str) -> list[int]:
        told = lines((await ask.control("GET", f"requests?{query}")).text)
        assert [line["path"] for line in told] == [f"/nowhere/{line['number']}" for line in told]
        return [line["number"] for line in told]

    assert await numbers("") == [1, 2, 3, 4, 5, 6]
    assert await numbers("limit=2") == [5, 6]
    assert await numbers("limit=100") == [1, 2, 3, 4, 5, 6]
    assert await numbers("after=4") == [5, 6]
    assert await numbers("after=0&limit=2") == [1, 2]
    assert await numbers("after=3&limit=2") == [4, 5]
    assert await numbers("after=6") == await numbers("after=99&limit=9") == []
    for _ in range(3):
        ask.emulator.requests.popleft()  # type: ignore[attr-defined]
    assert await numbers("after=1&limit=2") == [4, 5]
    assert await numbers("limit=2") == [5, 6]


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "limit=0", "after=", "limit=1.5", "before=3", f"after={'9' * 5_000}"]
)
async def test_an_excerpt_that_makes_no_sense_is_refused(ask: Asker, query: str) -> None:
    reply = await ask.control("GET", f"requests?{query}")
    assert (reply.status, reply.codes) == (400, ["INVALID_PARAMETER"])
    assert query.partition("=")[0] in reply.json["errors"][0]["message"]


async def test_the_overview_counts_what_is_there(ask: Asker) -> None:
    before = (await ask.control("GET", "overview")).json
    assert (before["accounts"], before["users"], before["apps"]) == (3, len(ask.emulator.state.users), 1)
    assert {row["identifiers"] for row in before["audiences"]["rows"]} == {0}
    await ask.upload(updates(3))
    await ask.upload(updates(2), path=ask.list_users_path)
    await ask.upload(b"broken")
    ask.emulator.faults.add("status")
    ask.emulator.advance(60)
    found = (await ask.control("GET", "overview")).json
    assert (found["now"], found["advanced"]) == (before["now"] + 60, 60)
    assert found["requests"] == {
        "received": 3,
        "accepted": 2,
        "refused": 1,
        "unanswered": 0,
        "statuses": {"200": 2, "400": 1},
    }
    audiences, lists, catalogs = found["audiences"], found["do_not_reach_lists"], found["catalogs"]
    assert (audiences["total"], audiences["rows"][0]) == (
        len(ask.emulator.state.audiences),
        {"account_id": ask.account, "id": ask.audience, "name": "Newsletter readers", "identifiers": 3},
    )
    assert (lists["rows"][0]["id"], lists["rows"][0]["identifiers"]) == (ask.do_not_reach_list, 2)
    (catalog,) = catalogs["rows"]
    assert catalog["products"] == len(ask.emulator.products(catalog["id"]))
    assert (found["faults"], found["streams"], found["webhooks"]) == (1, 0, 0)
    assert found["resets"] == before["resets"]
    ask.emulator.reset()
    again = (await ask.control("GET", "overview")).json
    assert again == {**before, "resets": again["resets"]}
    assert again["resets"] != before["resets"]


async def test_limits_have_their_windows_until_these_end(ask: Asker) -> None:
    assert (await ask.control("GET", "limits")).json == {"limits": [], "total": 0}
    now = ask.emulator.state.clock.now()
    for _ in range(2):
        await ask.upload(updates(1))
    found = (await ask.control("GET", "limits")).json
    (window,) = found["limits"]
    assert (window["used"], window["limit"], window["resets_at"]) == (2, 1_500, now + 60)
    assert (found["total"], window["key"]) == (1, [ask.account])
    ask.emulator.advance(60)
    assert (await ask.control("GET", "limits")).json == {"limits": [], "total": 0}


async def test_open_streams_have_what_was_delivered_on_them(ask: Asker) -> None:
    assert (await ask.control("GET", "streams")).json == {"streams": []}
    await add_rules(ask, "snow")
    async with reading(ask) as stream:
        await ask.emulator.publish({"text": "snow"})
        await stream.lines(1)
        (found,) = (await ask.control("GET", "streams")).json["streams"]
        assert found.pop("id")
        assert found == {
            "endpoint": "filtered_stream",
            "api_key": ask.emulator.ready["api_key"],
            "connected_at": ask.emulator.state.clock.now(),
            "delivered": 1,
            "waiting": 0,
        }


async def test_a_stub_answers_a_path_that_is_not_implemented_and_checks_credentials(ask: Asker) -> None:
    plants = {"data": [{"id": "7"}]}
    for stub in (
        {"path": "/2/plants", "body": plants},
        {"path": "/2/plants", "query": {"page": 2}, "body": {"data": []}},
        {"path": "/12/plants/7", "method": "DELETE", "status": 418, "headers": {"X-Kettle": "short"}},
    ):
        assert (await ask.control("POST", "stubs", stub)).status == 201
    assert [each["path"] for each in (await ask.control("GET", "stubs")).json["stubs"]] == [
        "/2/plants",
        "/2/plants",
        "/12/plants/7",
    ]
    assert (await ask.get("/2/plants", limit=3)).json == plants
    assert (await ask.get("/2/plants", limit=3, page=2)).json == {"data": []}
    refused = await ask.signed("DELETE", "/ads/12/plants/7")
    assert (refused.status, refused.headers["X-Kettle"], refused.text) == (418, "short", "")
    assert (await ask.send("GET", "/2/plants")).status == 401
    assert (await ask.get("/2/plants/7")).status == 404
    assert (await ask.signed("POST", "/2/plants", json={})).status == 404
    assert (await ask.control("DELETE", "stubs")).status == 200
    assert (await ask.get("/2/plants")).status == 404
    await ask.control("POST", "stubs", {"path": "/2/plants"})
    await ask.control("POST", "reset")
    assert (await ask.control("GET", "stubs")).json == {"stubs": []}


async def test_the_headers_of_a_stub_replace_the_usual_ones_in_any_case(ask: Asker) -> None:
    """HTTP header names are case-insensitive. There were two content types."""
    headers = {"content-type": "text/plain", "X-Transaction-ID": "mine", "DATE": "Thu, 01 Jan 1970 00:00:00 GMT"}
    await ask.control("POST", "stubs", {"path": "/2/plants", "body": "ash", "headers": headers})
    reply = await ask.get("/2/plants")
    sent = [(name.lower(), value) for name, value in reply.headers.items()]
    given = [(name.lower(), value) for name, value in headers.items()]
    assert sorted(pair for pair in sent if pair[0] in dict(given)) == sorted(given)


@pytest.mark.parametrize(
    ("stub", "says"),
    [
        ({"path": "/2/tweets"}, "the emulator implements this endpoint"),
        ({"path": "/12/accounts"}, "the emulator implements this endpoint"),
        ({"path": "/2/users/5/tweets"}, "the emulator implements this endpoint"),
        ({"path": "/2/users/a%2Fb/tweets"}, "the emulator implements this endpoint"),
        ({"path": "/ads/12/plants"}, "a stub's path must not begin with /ads: write /12/plants"),
        ({"path": "/ads-sandbox/12/accounts"}, "a stub's path must not begin with /ads-sandbox: write /12/accounts"),
        ({"path": "2/plants"}, "path: must start with a slash"),
        (
            {"path": "/2/plants?page=2"},
            "path: must start with a slash, and have no spaces, no query and no placeholders",
        ),
        ({"path": "/2/plants/*"}, "path: must start with a slash, and have no spaces, no query and no placeholders"),
        ({"path": "/2/plants/{id}"}, "path: must start with a slash, and have no spaces, no query and no placeholders"),
        ({"path": "/2/plants", "method": "get"}, "method: must be an HTTP method in capitals"),
        ({"path": "/2/plants", "status": 99}, "status: "),
        ({"pth": "/2/plants"}, "pth: is not a field"),
        ({}, "path: is required"),
    ],
)
async def test_a_stub_over_an_endpoint_or_with_a_mistake_is_refused(ask: Asker, stub: Any, says: str) -> None:
    reply = await ask.control("POST", "stubs", stub)
    assert (reply.status, says in reply.json["errors"][0]["message"]) == (400, True), reply.text


async def test_a_fault_is_scripted_and_all_are_cleared(ask: Asker) -> None:
    reply = await ask.control("POST", "faults", {"fault": "status", "status": 500, "times": 2, "method": None})
    assert (reply.status, reply.json["status"], reply.json["times"]) == (201, 500, 2)
    assert (await ask.upload([])).status == 500
    assert (await ask.control("POST", "faults", {"fault": "html"})).json["times"] == 1
    assert (await ask.control("POST", "faults", {"fault": "latency", "delay_seconds": 0})).json["times"] is None
    assert (await ask.control("DELETE", "faults")).status == 200
    assert (await ask.upload([])).status == 200


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("faults", {"fault": "explode"}, "fault"),
        ("faults", {}, "fault"),
        ("faults", {"fault": "status", "status": "503"}, "status"),
        ("faults", {"fault": "status", "code": 1}, "code"),
        ("faults", [], "object"),
        ("faults", None, "object"),
        ("clock", {}, "advance"),
        ("clock", {"advance": -1}, "advance"),
        ("clock", {"advance": "1"}, "advance"),
        ("clock", {"advance": True}, "advance"),
        ("clock", {"advance": 1, "back": 2}, "back"),
        ("apps", {"user_id": 5}, "user_id"),
        ("apps", "x", "object"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_what_is_wrong(ask: Asker, path: str, body: Any, named: str) -> None:
    reply = await ask.control("POST", path, body)
    assert (reply.status, reply.codes) == (400, ["INVALID_PARAMETER"])
    assert named in reply.json["errors"][0]["message"]


async def test_bodies_that_are_not_json_or_too_long_are_refused(ask: Asker) -> None:
    for body in (b"{", b" " * 16_777_217):
        assert (await ask.send("POST", "/_emulator/clock", data=body)).status == 400


async def test_unknown_controls_are_not_found_and_other_methods_not_allowed(ask: Asker) -> None:
    for path in ("nothing", "/", "ledger/", "audiences//1nmth/members"):
        reply = await ask.control("GET", path)
        assert (reply.status, reply.codes) == (404, ["ROUTE_NOT_FOUND"])
    reply = await ask.control("PUT", "faults")
    assert (reply.status, reply.headers["Allow"]) == (405, "DELETE, GET, POST")


async def test_the_clock_advances_and_says_what_time_it_is(ask: Asker) -> None:
    before = ask.emulator.state.clock.now()
    reply = await ask.control("POST", "clock", {"advance": 1.5})
    assert reply.json == {"now": before + 1.5, "advanced": 1.5}
    reply = await ask.control("POST", "clock", {"advance": 60})
    assert reply.json["advanced"] == 61.5
    assert (await ask.control("GET", "clock")).json == reply.json


async def test_reset_takes_everything_back(ask: Asker) -> None:
    ready, seed = ask.emulator.ready, dict(ask.emulator.seed)
    now = ask.emulator.state.clock.now()
    await ask.upload(updates(2))
    await ask.signed("DELETE", ask.list_path)
    app = (await ask.control("POST", "apps")).json
    ask.emulator.advance(100)
    ask.emulator.faults.add("status", times=9)
    assert (await ask.control("POST", "reset")).status == 200
    assert ask.members() == set()
    assert list(ask.emulator.requests) == []
    assert ask.emulator.ledger()["requests"] == {}
    assert ask.emulator.state.clock.now() == now
    assert (ask.emulator.ready, dict(ask.emulator.seed)) == (ready, seed)
    del app["bearer_token"]
    assert (await ask.upload([], signer=ask.signer(**app))).status == 401
    assert (await ask.upload([])).headers["x-rate-limit-remaining"] == "1499"
    assert (await ask.signed("DELETE", ask.list_path)).status == 200


async def test_a_request_that_a_reset_overtakes_is_not_in_the_new_log(ask: Asker) -> None:
    ask.emulator.faults.add("latency", delay_seconds=0.05)
    running = asyncio.create_task(ask.upload(updates(1)))
    await eventually(lambda: ask.emulator.requests)
    ask.emulator.reset()
    assert (await running).status == 200
    assert ask.emulator.ledger()["requests"] == {}
    assert ask.members() == set()
