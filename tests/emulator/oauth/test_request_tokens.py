"""Beginning a sign-in by OAuth 1.0a (platform documentation, section 5.3, step 1)."""

import pytest

from tests.emulator.asking import Asker
from tests.emulator.oauth.signing_in import (
    CALLBACK,
    App,
    assert_refused,
    pairs,
)


async def test_a_request_token_is_answered_as_ampersand_joined_pairs(app: App) -> None:
    reply = await app.request_token()
    assert set(pairs(reply)) == {"oauth_token", "oauth_token_secret", "oauth_callback_confirmed"}
    assert pairs(reply)["oauth_callback_confirmed"] == "true"
    assert reply.headers["Cache-Control"] == "no-store"
    assert pairs(await app.request_token())["oauth_token"] != pairs(reply)["oauth_token"]


@pytest.mark.parametrize(
    "callback",
    [
        *("oob", CALLBACK, "http://localhost:1/", "http://[::1]:8080/a?b=c", "http://127.0.0.1"),
        *("https://app.example/callback", "https://app.example/callback?from=here"),
    ],
)
async def test_registered_callbacks_and_loopback_ones_are_taken(app: App, callback: str) -> None:
    assert (await app.request_token(callback)).status == 200


@pytest.mark.parametrize(
    "callback",
    [
        *("https://app.example/", "https://app.example/callback/more", "http://app.example/callback"),
        *("https://app.example:444/callback", "https://evil.example/callback", "https://127.0.0.1/", "OOB"),
        *("http://127.0.0.1.evil.example/", "http://127.0.0.1@evil.example/", "http://127.0.0.1:x/"),
        *(
            "javascript:alert(1)",
            "http://127.0.0.1/#part",
            "http://127.0.0.1/ä",
            "http://127.0.0.1/a b",
            "//127.0.0.1/",
        ),
        *("http://127.0.0.1/\r\nX: y", "http://[::1/", "http://[::1]evil.example/", "http://[::1]x:80/"),
    ],
)
async def test_other_callbacks_are_not_approved(app: App, callback: str) -> None:
    assert_refused(await app.request_token(callback), 403, 415)


async def test_the_callback_is_always_sent_and_in_the_header(app: App) -> None:
    assert_refused(await app.request_token(None), 400, 215)
    assert_refused(await app.request_token(None, "?oauth_callback=oob"), 400, 215)


async def test_a_request_token_needs_the_signature_of_the_app(ask: Asker, app: App) -> None:
    assert_refused(await ask.send("POST", "/oauth/request_token"), 401, 32)
    ready = ask.emulator.ready
    wrong = ask.signer(api_key_secret="wrong", access_token=None, access_token_secret=None, callback_uri="oob")
    assert_refused(await app.request_token(signer=wrong), 401, 32)
    unknown = ask.signer(api_key="nobody", access_token=None, access_token_secret=None, callback_uri="oob")
    assert_refused(await app.request_token(signer=unknown), 401, 32)
    header = {"Authorization": f"Bearer {ready['bearer_token']}"}
    assert_refused(await ask.send("POST", "/oauth/request_token", headers=header), 401, 32)


async def test_an_access_type_is_read_or_write(app: App) -> None:
    for access_type in ("read", "write"):
        assert (await app.request_token("oob", f"?service_auth_access_type={access_type}")).status == 200
    assert_refused(await app.request_token("oob", "?service_auth_access_type=delete"), 400, 170)
    assert_refused(await app.request_token("oob", "?access_type=read"), 400, 170)


async def test_request_tokens_are_rate_limited(ask: Asker, app: App) -> None:
    replies = [await app.request_token() for _ in range(301)]
    assert {reply.status for reply in replies[:-1]} == {200}
    assert (replies[-1].status, replies[-1].codes) == (429, [88])
    assert replies[0].headers["x-rate-limit-limit"] == "300"
    ask.emulator.advance(900)
    assert (await app.request_token()).status == 200
