"""The pages on which a person decides (platform documentation, section 5.3, steps 2a and 2b), without a screen."""

import aiohttp
import pytest

from tests.emulator.asking import Asker
from tests.emulator.oauth.signing_in import (
    AUTHENTICATE,
    AUTHORIZE,
    CALLBACK,
    App,
    Browser,
    approved,
    assert_refused,
    pairs,
    sent_back,
    signed_in,
)


@pytest.mark.parametrize("path", [AUTHORIZE, AUTHENTICATE])
async def test_the_page_says_who_asks_and_for_what(app: App, browser: Browser, path: str) -> None:
    begun = await app.begin()
    page = await browser.open(path, oauth_token=begun["oauth_token"], screen_name="@ada_lindqvist")
    assert (page.reply.status, page.heading) == (200, "Authorize Example app 1?")
    assert page.buttons == ["approve", "deny"]
    assert page.fields["screen_name"] == "ada_lindqvist"
    assert "Create, change and delete posts" in page.visible.partition("It will not")[0]
    for header in ("Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options"):
        assert page.reply.headers[header]
    assert page.reply.headers["Cache-Control"] == "no-store"


async def test_less_access_is_said_and_granted(ask: Asker, app: App, browser: Browser) -> None:
    begun = await app.begin(query="?service_auth_access_type=read")
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    assert "Create, change and delete posts" in page.visible.partition("It will not")[2]
    page = await browser.send(page, "approve", screen_name="northwind")
    signer = app.acting(pairs(await app.access_token(begun, page.pin)))
    assert (await ask.signed("GET", "/2/tweets?ids=1", signer=signer)).status == 200
    assert (await ask.signed("POST", "/2/tweets", signer=signer, json={"text": "x"})).status == 403


async def test_in_pin_mode_the_app_gets_the_access_of_whoever_has_approved(
    ask: Asker, app: App, browser: Browser
) -> None:
    begun = await app.begin()
    page = await approved(browser, begun, "@ADA_lindqvist")
    assert (page.reply.status, page.heading) == (200, "Access granted")
    assert (len(page.pin), page.pin.isdigit()) == (7, True)
    granted = pairs(await app.access_token(begun, page.pin))
    assert set(granted) == {"oauth_token", "oauth_token_secret", "user_id", "screen_name"}
    assert granted["screen_name"] == "ada_lindqvist"
    made = await ask.signed("POST", "/2/tweets", signer=app.acting(granted), json={"text": "From a hut"})
    reply = await ask.get("/2/tweets", ids=made.data["id"], tweet_fields="author_id")
    assert reply.data[0]["author_id"] == granted["user_id"]


async def test_who_denies_needs_no_name_and_the_token_is_of_no_use(app: App, browser: Browser) -> None:
    begun = await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    denied = await browser.send(page, "deny", screen_name="")
    assert (denied.reply.status, denied.heading) == (200, "Access denied")
    assert_refused(await app.access_token(begun, "1234567"), 401, 32)
    assert (await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])).reply.status == 403
    begun = await app.begin(CALLBACK)
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    assert sent_back(await browser.send(page, "deny")) == {"denied": begun["oauth_token"]}


async def test_a_token_that_is_unknown_used_or_expired_leads_to_a_page_that_says_so(
    ask: Asker, app: App, browser: Browser
) -> None:
    begun = await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    await browser.send(page, "approve", screen_name="northwind")
    again = await browser.send(page, "approve", screen_name="northwind")
    late = await app.begin()
    ask.emulator.advance(900)
    for path in (AUTHORIZE, AUTHENTICATE):
        for name in ("unknown", begun["oauth_token"], late["oauth_token"]):
            dead = await browser.open(path, oauth_token=name)
            assert (dead.reply.status, dead.heading) == (403, "This link has expired")
    assert again.reply.status == 403
    assert_refused(await app.access_token(late, "1234567"), 401, 89)


@pytest.mark.parametrize(
    ("query", "named"),
    [({}, "oauth_token"), ({"oauth_token": "x", "oauth_callback": CALLBACK}, "oauth_callback"),
     ({"oauth_token": "x", "force_login": "perhaps"}, "force_login")],
)  # fmt: skip
async def test_a_link_that_breaks_a_rule_leads_to_a_page_that_says_which(
    browser: Browser, query: dict[str, str], named: str
) -> None:
    page = await browser.open(AUTHORIZE, **query)
    assert (page.reply.status, page.heading) == (400, "This link is invalid")
    assert named in page.visible


@pytest.mark.parametrize("name", ["nobody", '"><script>alert(1)</script>', "  ", "'&<"])
async def test_a_name_that_nobody_has_is_asked_for_again(app: App, browser: Browser, name: str) -> None:
    begun = await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"], screen_name=name)
    assert page.fields["screen_name"] == name.strip()
    page = await browser.send(page, "approve", screen_name=name)
    assert page.reply.status == 400
    assert page.fields["screen_name"] == name.strip()
    assert "screen name" in page.visible
    assert "<script" not in page.reply.text
    page = await browser.send(page, "approve", screen_name="northwind")
    assert page.heading == "Access granted"


# The form ----------------------------------------------------------------------------------------------------------


async def test_the_name_of_an_app_is_escaped(ask: Asker, app: App, browser: Browser) -> None:
    ask.emulator.state.apps[ask.emulator.ready["api_key"]].name = "<b>Bold & Co</b>"
    begun = await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    assert page.heading == "Authorize <b>Bold & Co</b>?"
    assert "<b>Bold" in (await approved(browser, begun)).visible


async def test_a_form_is_trusted_from_the_browser_that_was_shown_it_alone(
    ask: Asker, app: App, browser: Browser
) -> None:
    begun, other = await app.begin(), await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    foreign = await browser.open(AUTHORIZE, oauth_token=other["oauth_token"])
    for changed in ({"seal": ""}, {"seal": foreign.fields["seal"]}, {"oauth_token": other["oauth_token"]}):
        answered = await browser.send(page, "approve", screen_name="northwind", **changed)
        assert (answered.reply.status, answered.heading) == (403, "This form cannot be trusted")
    async with aiohttp.ClientSession() as session:
        stranger = Browser(ask, session)
        assert (await stranger.send(page, "approve", screen_name="northwind")).reply.status == 403
    for cookie in ("socialapi_emulator_browser=x", 'socialapi_emulator_browser="a\\012b"', "a,b=c; =; a"):
        reply = await ask.send("POST", AUTHORIZE, data=page.fields, headers={"Cookie": cookie})
        assert reply.status == 403
    assert (await browser.send(page, "approve", screen_name="northwind")).reply.status == 200


@pytest.mark.parametrize(
    ("body", "content_type"), [(b"{}", "application/json"), (b"x" * 1_048_577, "application/x-www-form-urlencoded")]
)
async def test_what_is_no_form_is_refused_on_a_page(ask: Asker, body: bytes, content_type: str) -> None:
    reply = await ask.send("POST", AUTHORIZE, data=body, headers={"Content-Type": content_type})
    assert (reply.status, "cannot be read" in reply.text) == (400, True)


async def test_a_signed_in_person_is_not_asked_for_a_name_and_may_use_another(app: App, browser: Browser) -> None:
    await signed_in(app, browser, "northwind")
    begun = await app.begin()
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    assert (page.asks_who, "@northwind" in page.visible) == (False, True)
    page = await browser.send(page, "switch")
    assert (page.reply.status, page.asks_who) == (200, True)
    page = await browser.send(page, "approve", screen_name="marco_ferri")
    assert pairs(await app.access_token(begun, page.pin))["screen_name"] == "marco_ferri"
    # The link names somebody else.
    page = await browser.open(AUTHORIZE, oauth_token=(await app.begin())["oauth_token"], screen_name="northwind")
    assert page.asks_who


async def test_a_forced_login_always_asks_for_the_name(app: App, browser: Browser) -> None:
    await signed_in(app, browser)
    for path in (AUTHORIZE, AUTHENTICATE):
        begun = await app.begin()
        page = await browser.open(path, oauth_token=begun["oauth_token"], force_login="true", screen_name="northwind")
        assert page.asks_who
        page = await browser.send(page, "approve", screen_name="")
        assert (page.reply.status, page.asks_who) == (400, True)
        page = await browser.send(page, "approve", screen_name="northwind")
        assert page.heading == "Access granted"


# Signing in with the service (step 2b) -----------------------------------------------------------------------------


async def test_who_has_granted_less_or_to_another_app_or_is_somebody_else_is_asked(
    ask: Asker, app: App, browser: Browser
) -> None:
    await signed_in(app, browser, query="?service_auth_access_type=read")
    page = await browser.open(AUTHENTICATE, oauth_token=(await app.begin(CALLBACK))["oauth_token"])
    assert (page.reply.status, page.buttons[-1]) == (200, "deny")
    reading = await app.begin(CALLBACK, "?service_auth_access_type=read")
    assert (await browser.open(AUTHENTICATE, oauth_token=reading["oauth_token"])).reply.status == 302
    reading = await app.begin(CALLBACK, "?service_auth_access_type=read")
    page = await browser.open(AUTHENTICATE, oauth_token=reading["oauth_token"], screen_name="ada_lindqvist")
    assert page.asks_who
    ask.emulator.state.apps[ask.emulator.ready["api_key"]].signs_in = False
    reading = await app.begin(CALLBACK, "?service_auth_access_type=read")
    assert (await browser.open(AUTHENTICATE, oauth_token=reading["oauth_token"])).reply.status == 200
