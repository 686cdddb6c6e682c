"""OAuth 1.0a signatures as two independent libraries make them, and everything that must be refused."""

import time
from typing import Any

import orjson
import pytest
from oauthlib.oauth1.rfc5849 import signature, utils

from socialapi.emulator import oauth1
from socialapi.emulator.oauth1 import NonceMemory, base_string, header_parameters
from socialapi.emulator.request import FORM, Received
from socialapi.emulator.responses import Refusal
from socialapi.emulator.state import Caller
from tests.emulator.asking import Asker, Method, Reply, updates


def code(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.codes[0]


UNAUTHORIZED = (401, "UNAUTHORIZED_ACCESS")


@pytest.mark.parametrize(
    ("method", "tail"), [("POST", ""), ("DELETE", "/users")], ids=["another method", "another path"]
)
async def test_a_signature_is_good_for_its_method_and_path_only(ask: Asker, method: Method, tail: str) -> None:
    _, headers, _ = ask.signer().sign(ask.emulator.ready["base_url"] + ask.list_path + tail, method)
    assert code(await ask.send("DELETE", ask.list_path, headers=headers)) == UNAUTHORIZED


async def test_the_host_header_is_what_must_have_been_signed(ask: Asker) -> None:
    _, headers, _ = ask.signer().sign("http://API.example.com" + ask.list_path, "DELETE")
    other = await ask.send("DELETE", ask.list_path, headers=headers)
    assert code(other) == UNAUTHORIZED
    reply = await ask.send("DELETE", ask.list_path, headers={**headers, "Host": "api.example.com:80"})
    assert reply.status == 200


@pytest.mark.parametrize("wrong", ["api_key_secret", "access_token_secret"])
async def test_a_wrong_secret_is_refused(ask: Asker, wrong: str) -> None:
    reply = await ask.upload(updates(1), signer=ask.signer(**{wrong: "wrong"}))
    assert code(reply) == UNAUTHORIZED


async def test_an_unknown_app_is_refused(ask: Asker) -> None:
    assert code(await ask.upload([], signer=ask.signer(api_key="nobody"))) == UNAUTHORIZED


async def test_an_unknown_token_and_one_of_another_app_have_code_89(ask: Asker) -> None:
    other = (await ask.control("POST", "apps")).json
    assert code(await ask.upload([], signer=ask.signer(access_token="unknown"))) == (401, 89)
    foreign = ask.signer(access_token=other["access_token"], access_token_secret=other["access_token_secret"])
    assert code(await ask.upload([], signer=foreign)) == (401, 89)


async def test_a_nonce_is_taken_once(ask: Asker) -> None:
    url = ask.emulator.ready["base_url"] + ask.audience_path
    _, headers, _ = ask.signer().sign(url, "POST")
    first = await ask.send("POST", ask.audience_path, json=[], headers=headers)
    again = await ask.send("POST", ask.audience_path, json=[], headers=headers)
    assert first.status == 200
    assert code(again) == UNAUTHORIZED
    assert "nonce" in again.json["errors"][0]["message"]


async def test_a_nonce_that_was_refused_is_not_remembered(ask: Asker) -> None:
    wrong = ask.signer(nonce="same", api_key_secret="wrong")
    assert (await ask.upload([], signer=wrong)).status == 401
    assert (await ask.upload([], signer=ask.signer(nonce="same"))).status == 200
    assert (await ask.upload([], signer=ask.signer(nonce="same"))).status == 401


@pytest.mark.parametrize(("skew", "status"), [(-301, 401), (-300, 200), (300, 200), (301, 401)])
async def test_a_timestamp_may_be_300_seconds_away_from_the_wall_clock(ask: Asker, skew: int, status: int) -> None:
    timestamp = str(int(ask.emulator.state.clock.wall()) + skew)
    assert (await ask.upload([], signer=ask.signer(timestamp=timestamp))).status == status


async def test_timestamps_do_not_follow_the_advanced_clock(ask: Asker) -> None:
    ask.emulator.advance(86_400)
    assert (await ask.upload([])).status == 200


async def signed_with(ask: Asker, **changes: str | None) -> Reply:
    """An upload signed by hand, with some protocol parameters changed or left out before signing."""
    ready = ask.emulator.ready
    protocol: dict[str, str] = {
        "oauth_consumer_key": ready["api_key"],
        "oauth_token": ready["access_token"],
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": str(int(time.time())),
        "oauth_nonce": "n" + str(time.perf_counter_ns()),
        "oauth_version": "1.0",
    }
    for name, value in changes.items():
        protocol.pop(name)
        if value is not None:
            protocol[name] = value
    url = ready["base_url"] + ask.audience_path
    text = signature.signature_base_string(
        "POST",
        signature.base_string_uri(url),
        signature.normalize_parameters(list(protocol.items())),  # type: ignore[arg-type]  # a fault of the stub
    )
    signer = ask.signer()
    protocol["oauth_signature"] = signature.sign_hmac_sha1_with_client(text, signer)
    header = "OAuth " + ", ".join(f'{name}="{utils.escape(value)}"' for name, value in protocol.items())
    return await ask.send("POST", ask.audience_path, json=[], headers={"Authorization": header})


async def test_the_version_may_be_left_out_but_is_1_0(ask: Asker) -> None:
    assert (await signed_with(ask)).status == 200
    assert (await signed_with(ask, oauth_version=None)).status == 200
    assert code(await signed_with(ask, oauth_version="2.0")) == UNAUTHORIZED


@pytest.mark.parametrize(
    "changes",
    [
        {"oauth_consumer_key": None},
        {"oauth_nonce": None},
        {"oauth_nonce": ""},
        {"oauth_nonce": "ünique"},
        {"oauth_timestamp": None},
        {"oauth_timestamp": "now"},
        {"oauth_timestamp": "-1"},
        {"oauth_timestamp": "9" * 16},
        {"oauth_timestamp": "²"},
        {"oauth_signature_method": None},
        {"oauth_signature_method": "PLAINTEXT"},
    ],
)
async def test_what_the_protocol_needs_is_insisted_on(ask: Asker, changes: dict[str, str | None]) -> None:
    assert code(await signed_with(ask, **changes)) == UNAUTHORIZED


async def test_without_a_token_no_user_is_known(ask: Asker) -> None:
    assert code(await signed_with(ask, oauth_token=None)) == (401, 89)


@pytest.mark.parametrize("header", ["OAuth", "OAuth ", "OAuth a=b", 'OAuth a="b', 'OAuth a="1", a="2"', "Digest x", ""])
async def test_a_header_that_is_not_understood_is_refused(ask: Asker, header: str) -> None:
    headers = {"Authorization": header} if header else {}
    reply = await ask.send("POST", ask.audience_path, json=[], headers=headers)
    assert code(reply) == UNAUTHORIZED
    assert reply.json["request"] == {"params": {"account_id": ask.account, "custom_audience_id": ask.audience}}


def test_a_realm_is_no_parameter() -> None:
    assert header_parameters('OAuth Realm="r", oauth_nonce="a%20b"') == {"oauth_nonce": "a b"}
    with pytest.raises(Refusal):
        header_parameters('OAuth oauth_nonce="a", oauth%5Fnonce="b"')


async def body_hash_upload(ask: Asker, sent: bytes, hashed: bytes) -> Reply:
    """Given a body that is no form, oauthlib signs its hash."""
    url = ask.emulator.ready["base_url"] + ask.audience_path
    json = {"Content-Type": "application/json"}
    _, headers, _ = ask.signer().sign(url, "POST", body=hashed.decode(), headers=json)
    assert "oauth_body_hash" in headers["Authorization"]
    return await ask.send("POST", ask.audience_path, data=sent, headers=headers)


async def test_a_body_hash_must_be_that_of_the_body(ask: Asker) -> None:
    body = orjson.dumps(updates(2))
    assert (await body_hash_upload(ask, body, body)).status == 200
    assert code(await body_hash_upload(ask, body + b" ", body)) == UNAUTHORIZED


async def test_a_body_beyond_the_limit_is_refused_for_that_and_not_for_its_hash(ask: Asker) -> None:
    body = b" " * 5_000_001
    assert (await body_hash_upload(ask, body, body)).status == 400


def test_the_base_string_is_the_example_of_the_standard() -> None:
    """RFC 5849, section 3.4.1.1."""
    protocol = {
        "oauth_consumer_key": "9djdj82h48djs9d2",
        "oauth_token": "kkk9d7dh3k39sjv7",
        "oauth_signature_method": "HMAC-SHA1",
        "oauth_timestamp": "137131201",
        "oauth_nonce": "7d8f3e4a",
        "oauth_signature": "bYT5CMsGcbgUdFHObYMEfcx6bsw=",
    }
    headers = {"Host": "EXAMPLE.com:80", "Content-Type": FORM}
    received = Received("post", "/request", "b5=%3D%253D&a3=a&c%40=&a2=r%20b", headers, b"c2&a3=2+q")
    assert base_string(received, protocol) == (
        "POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D"
        "%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1"
        "%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7"
    )


def test_nonces_are_forgotten_when_their_timestamp_is_too_old() -> None:
    memory = NonceMemory()
    nonce = ("key", "token", "nonce")
    assert memory.is_new(1_000, nonce, now=1_000)
    assert not memory.is_new(1_000, nonce, now=1_300)
    assert memory.is_new(1_301, nonce, now=1_301)
    assert memory.count == 1


def test_the_memory_of_nonces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth1, "NONCES_REMEMBERED", 10)
    memory = NonceMemory()
    for number in range(1_000):
        assert memory.is_new(1_000 + number % 3, ("key", "token", str(number)), now=1_000)
    assert memory.count <= 10


async def test_the_bearer_token_of_a_user_is_taken_where_a_user_is_needed(ask: Asker) -> None:
    state = ask.emulator.state
    state.bearers["a-user's-token"] = Caller(
        next(iter(state.apps.values())), state.users[ask.emulator.seed["user_ids"][0]]
    )
    headers = {"Authorization": "Bearer a-user's-token"}
    reply = await ask.send("POST", ask.audience_path, json=updates(1), headers=headers)
    assert reply.status == 200
    state.end_bearer("a-user's-token")
    assert (await ask.send("POST", ask.audience_path, json=updates(1), headers=headers)).status == 401
    assert ask.emulator.ready["bearer_token"] in state.bearers


async def test_an_account_is_unknown_or_not_the_users_before_its_body_is_looked_at(ask: Asker) -> None:
    other = ask.emulator.seed["unassociated_account_ids"][0]
    missing = await ask.upload(b"", path="/ads/12/accounts/nosuch/custom_audiences/1nmth/users")
    foreign = await ask.upload(b"", path=f"/ads/12/accounts/{other}/custom_audiences/1nmvl/users")
    assert code(missing) == (404, "NOT_FOUND")
    assert code(foreign) == (403, "FORBIDDEN")
    assert {reply.json["errors"][0]["parameter"] for reply in (missing, foreign)} == {"account_id"}


async def test_the_second_user_reaches_their_own_account_only(ask: Asker) -> None:
    user_id = ask.emulator.seed["user_ids"][1]
    app = (await ask.control("POST", "apps", {"user_id": user_id})).json
    del app["bearer_token"]
    other = ask.emulator.seed["unassociated_account_ids"][0]
    path = f"/ads/12/accounts/{other}/custom_audiences/1nmvl/users"
    assert (await ask.upload(updates(1), path=path, signer=ask.signer(**app))).status == 200
    assert (await ask.upload(updates(1), signer=ask.signer(**app))).status == 403
