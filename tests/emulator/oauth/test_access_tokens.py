"""The end of a sign-in by OAuth 1.0a, and of a token (platform documentation, sections 2.7, 3.2 and 5.3, step 3)."""

import pytest

from socialapi.emulator.oauth.three_legged import with_parameters
from tests.emulator.asking import Asker
from tests.emulator.oauth.signing_in import (
    App,
    Browser,
    approved,
    assert_refused,
    pairs,
    signed_in,
)


async def test_without_the_right_verifier_there_is_no_access_token(app: App, browser: Browser) -> None:
    begun = await app.begin()
    assert_refused(await app.access_token(begun, "1234567"), 401, 32)  # nobody has approved
    page = await approved(browser, begun)
    wrong = f"{(int(page.pin) + 1) % 10_000_000:07}"
    for verifier in (None, wrong, "é"):
        assert_refused(await app.access_token(begun, verifier), 401, 32)
    assert (await app.access_token(begun, page.pin)).status == 200
    assert_refused(await app.access_token(begun, page.pin), 401, 89)


async def test_a_request_token_that_is_refused_says_why(ask: Asker, app: App, browser: Browser) -> None:
    used, late = await app.begin(), await app.begin()
    pin = (await approved(browser, used)).pin
    await app.access_token(used, pin)
    other = await ask.another_app()
    signer = ask.signer(
        api_key=other["api_key"],
        api_key_secret=other["api_key_secret"],
        access_token=late["oauth_token"],
        access_token_secret=late["oauth_token_secret"],
    )
    theirs = await ask.signed("POST", "/oauth/access_token", signer=signer)
    ask.emulator.advance(900)
    replies = [
        await app.access_token(used, pin),
        theirs,
        await app.access_token({**used, "oauth_token": "unknown"}, pin),
        await app.access_token(late, pin),
    ]
    assert [reply.codes for reply in replies] == [[89]] * 4
    said = [reply.json["errors"][0]["message"].removeprefix("Invalid or expired token. ") for reply in replies]
    assert said == [
        "The request token was already exchanged.",
        "The request token is another app's.",
        "There is no such request token.",
        "The request token is older than 15 minutes.",
    ]


@pytest.mark.parametrize("place", ["query", "form"])
async def test_the_verifier_may_be_a_parameter(app: App, browser: Browser, place: str) -> None:
    begun = await app.begin()
    page = await approved(browser, begun)
    given = f"oauth_verifier={page.pin}"
    if place == "query":
        reply = await app.access_token(begun, None, path=f"/oauth/access_token?{given}")
    else:
        secrets = {"resource_owner_key": begun["oauth_token"], "resource_owner_secret": begun["oauth_token_secret"]}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        url = app.ask.emulator.ready["base_url"] + "/oauth/access_token"
        _, headers, body = app.signer(**secrets).sign(url, "POST", body=given, headers=form)
        reply = await app.ask.send("POST", "/oauth/access_token", data=body.encode(), headers=headers)
    assert pairs(reply)["screen_name"] == "northwind"


async def test_a_request_token_is_good_for_its_app_and_its_secret_alone(ask: Asker, app: App, browser: Browser) -> None:
    begun = await app.begin()
    page = await approved(browser, begun)
    assert_refused(await app.access_token({**begun, "oauth_token_secret": "wrong"}, page.pin), 401, 32)
    assert_refused(await app.access_token({**begun, "oauth_token": "unknown"}, page.pin), 401, 89)
    other = await ask.another_app()
    signer = ask.signer(
        api_key=other["api_key"],
        api_key_secret=other["api_key_secret"],
        access_token=begun["oauth_token"],
        access_token_secret=begun["oauth_token_secret"],
        verifier=page.pin,
    )
    assert_refused(await ask.signed("POST", "/oauth/access_token", signer=signer), 401, 89)
    assert_refused(await ask.send("POST", "/oauth/access_token"), 401, 32)
    assert (await app.access_token(begun, page.pin)).status == 200


async def test_an_invalidated_token_is_dead_and_others_are_not(ask: Asker, app: App, browser: Browser) -> None:
    first, second = await signed_in(app, browser), await signed_in(app, browser)
    assert first["oauth_token"] != second["oauth_token"]
    path = "/1.1/oauth/invalidate_token"
    reply = await ask.signed("POST", path, signer=app.acting(first))
    assert (reply.status, reply.json) == (200, {"access_token": first["oauth_token"]})
    assert_refused(await ask.signed("POST", path, signer=app.acting(first)), 401, 89)
    assert_refused(await ask.signed("GET", "/2/connections", signer=app.acting(first)), 401, 89)
    assert (await ask.signed("GET", "/2/connections", signer=app.acting(second))).status == 200
    assert (await ask.signed("GET", "/2/connections")).status == 200


def test_parameters_stand_behind_those_that_are_there() -> None:
    assert with_parameters("http://a.example", {"b": "c d"}) == "http://a.example/?b=c+d"
    assert with_parameters("http://a.example/x?y=%20", {"b": "c"}) == "http://a.example/x?y=%20&b=c"
