"""OAuth 2.0 with PKCE (platform documentation, section 5.4; RFC 6749 and RFC 7636)."""

import base64
from typing import Any

import aiohttp
import pytest
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from tests.emulator.asking import Asker, Reply
from tests.emulator.oauth.signing_in import CALLBACK, Browser, Page, sent_back

PAGE, TOKEN = "/2/oauth2/authorize", "/2/oauth2/token"
VERIFIER = "v" * 43
SCOPES = "offline.access tweet.read tweet.write users.read"


def asked(ask: Asker, **changed: str | None) -> dict[str, str]:
    """The query of the page."""
    query = {
        "response_type": "code",
        "client_id": ask.emulator.ready["api_key"],
        "redirect_uri": CALLBACK,
        "scope": SCOPES,
        "state": "s t&te",
        "code_challenge": create_s256_code_challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    return {name: value for name, value in (query | changed).items() if value is not None}


async def approved(ask: Asker, browser: Browser, **changed: str | None) -> str:
    page = await browser.open(PAGE, **asked(ask, **changed))
    page = await browser.send(page, "approve", **({"screen_name": "northwind"} if page.asks_who else {}))
    given = sent_back(page)
    assert given["state"] == "s t&te"
    return given["code"]


async def redeem(ask: Asker, code: str, /, **changed: Any) -> Reply:
    headers = changed.pop("headers", {})
    form = {
        "grant_type": "authorization_code",
        "client_id": ask.emulator.ready["api_key"],
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    } | changed
    data = {name: value for name, value in form.items() if value is not None}
    return await ask.send("POST", TOKEN, data=data, headers=headers)


async def refresh(ask: Asker, token: str, **changed: str) -> Reply:
    form = {"grant_type": "refresh_token", "client_id": ask.emulator.ready["api_key"], "refresh_token": token}
    return await ask.send("POST", TOKEN, data=form | changed)


def basic(key: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{key}:{secret}".encode()).decode()}


def assert_error(reply: Reply, error: str, status: int = 400) -> None:
    assert (reply.status, reply.json["error"]) == (status, error), reply.text
    assert set(reply.json) == {"error", "error_description"}
    assert reply.headers["Cache-Control"] == "no-store"


# The page ----------------------------------------------------------------------------------------------------------


async def test_the_page_says_what_the_scopes_mean(ask: Asker, browser: Browser) -> None:
    page = await browser.open(PAGE, **asked(ask, scope="tweet.read offline.access list.read", further="passed over"))
    assert (page.reply.status, page.heading) == (200, "Authorize Example app 1?")
    may, _, may_not = page.visible.partition("It will not")
    assert "See your posts" in may
    assert "list.read" in may
    assert "Create posts" in may_not
    assert page.buttons == ["approve", "deny"]


async def test_who_denies_sends_the_app_a_refusal(ask: Asker, browser: Browser) -> None:
    page = await browser.open(PAGE, **asked(ask))
    given = sent_back(await browser.send(page, "deny"))
    assert (given["error"], given["state"]) == ("access_denied", "s t&te")


@pytest.mark.parametrize(
    "changed",
    [{"client_id": None}, {"client_id": "nobody"}, {"redirect_uri": None}, {"redirect_uri": "https://evil.example/"}],
)
async def test_where_app_and_address_do_not_belong_together_nobody_is_sent_anywhere(
    ask: Asker, browser: Browser, changed: dict[str, str | None]
) -> None:
    page = await browser.open(PAGE, **asked(ask, **changed))
    assert (page.reply.status, page.heading) == (400, "This link is invalid")


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"scope": None}, "invalid_scope"),
        ({"scope": " "}, "invalid_scope"),
        ({"scope": "Tweet.Read"}, "invalid_scope"),
    ],
)
async def test_what_is_wrong_beside_that_is_told_to_the_app(
    ask: Asker, browser: Browser, changed: dict[str, str | None], error: str
) -> None:
    given = sent_back(await browser.open(PAGE, **asked(ask, **changed)))
    assert (given["error"], given["state"]) == (error, "s t&te")
    assert given["error_description"]


async def test_the_form_is_sealed_whole(ask: Asker, browser: Browser) -> None:
    page = await browser.open(PAGE, **asked(ask))
    for changed in ({"scope": "tweet.read"}, {"state": "other"}, {"redirect_uri": CALLBACK + "/2"}, {"seal": ""}):
        reply = await browser.send(page, "approve", screen_name="northwind", **changed)
        assert (reply.reply.status, reply.heading) == (403, "This form cannot be trusted")


async def test_a_person_is_signed_in_for_both_kinds_of_pages(ask: Asker, browser: Browser) -> None:
    await approved(ask, browser)
    page = await browser.open(PAGE, **asked(ask))
    assert (page.asks_who, "@northwind" in page.visible) == (False, True)


# Codes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"client_id": None}, "invalid_request"),
        ({"code": None}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": "short"}, "invalid_request"),
        ({"code_verifier": "x" * 129}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
    ],
)
async def test_a_request_that_breaks_a_rule_is_told_which(
    ask: Asker, browser: Browser, changed: dict[str, Any], error: str
) -> None:
    assert_error(await redeem(ask, "any", **changed), error)


async def test_parameters_come_in_a_form(ask: Asker) -> None:
    assert_error(await ask.send("POST", TOKEN, json={"grant_type": "refresh_token"}), "invalid_request")


async def test_an_app_with_a_secret_may_show_it(ask: Asker, browser: Browser) -> None:
    ready = ask.emulator.ready
    good = basic(ready["api_key"], ready["api_key_secret"])
    assert (await redeem(ask, await approved(ask, browser), client_id=None, headers=good)).status == 200
    assert (await redeem(ask, await approved(ask, browser), headers=good, further="x")).status == 200
    secret = ready["api_key_secret"]
    assert (await redeem(ask, await approved(ask, browser), client_secret=secret)).status == 200
    for wrong in (basic(ready["api_key"], "wrong"), basic("nobody", "x")):
        reply = await redeem(ask, "any", client_id=None, headers=wrong)
        assert_error(reply, "invalid_client", 401)
        assert reply.headers["WWW-Authenticate"] == "Basic"
    assert_error(await redeem(ask, "any", client_secret="wrong"), "invalid_client", 401)
    assert_error(await redeem(ask, "any", client_id="nobody", headers=good), "invalid_client", 401)
    assert_error(await redeem(ask, "any", client_id="nobody"), "invalid_client", 401)


# Tokens ------------------------------------------------------------------------------------------------------------


async def test_a_refresh_token_comes_with_offline_access_alone(ask: Asker, browser: Browser) -> None:
    granted = (await redeem(ask, await approved(ask, browser, scope="tweet.read users.read"))).json
    assert set(granted) == {"token_type", "expires_in", "access_token", "scope"}


async def test_each_cause_of_a_refused_token_request_has_a_text_of_its_own(ask: Asker, browser: Browser) -> None:
    other, ready = await ask.another_app(), ask.emulator.ready
    used, late, theirs, moved, wrong = [await approved(ask, browser) for _ in range(5)]
    token = (await redeem(ask, used)).json["refresh_token"]
    replies = {
        "used": await redeem(ask, used),
        "another app's": await redeem(ask, theirs, client_id=other["api_key"]),
        "redirect_uri": await redeem(ask, moved, redirect_uri=CALLBACK + "?"),
        "code_verifier": await redeem(ask, wrong, code_verifier="w" * 43),
        "no such code": await redeem(ask, "unknown"),
        "refresh token is another app's": await refresh(ask, token, client_id=other["api_key"]),
        "no such refresh token": await refresh(ask, "unknown"),
        "no app with this client_id": await redeem(ask, "any", client_id="nobody"),
        "client_id: is required": await redeem(ask, "any", client_id=None),
        "secret is not the app's": await redeem(ask, "any", client_secret="wrong"),
        "differs from the app in the Authorization header": await redeem(
            ask, "any", client_id=other["api_key"], headers=basic(ready["api_key"], ready["api_key_secret"])
        ),
    }
    await refresh(ask, token)
    replies["refresh token was already used"] = await refresh(ask, token)
    ask.emulator.advance(30)
    replies["expired"] = await redeem(ask, late)
    texts = {cause: reply.json["error_description"] for cause, reply in replies.items()}
    assert [cause for cause, text in texts.items() if cause not in text] == []
    assert len(set(texts.values())) == len(texts)


async def test_a_page_for_a_browser_that_has_never_been_here_sets_its_name(ask: Asker) -> None:
    async with aiohttp.ClientSession() as session:
        page: Page = await Browser(ask, session).open(PAGE, **asked(ask))
    cookie = page.reply.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
