"""Both sides of a sign-in, without the SDK: an app that signs with oauthlib, and a browser without a screen."""

from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import aiohttp
import attrs
from oauthlib.oauth1 import Client

from tests.emulator.asking import Asker, Reply

CALLBACK = "http://127.0.0.1:49152/back"
AUTHORIZE, AUTHENTICATE = "/oauth/authorize", "/oauth/authenticate"


class Page(HTMLParser):
    """What can be seen and sent of a page."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply
        self.action = ""
        self.fields: dict[str, str] = {}
        self.buttons: list[str] = []
        self.visible = ""
        self.heading = ""
        self.pin = ""
        self.inside: list[str] = []
        self.ids: list[str] = []
        self.feed(reply.text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            assert given["method"] == "post"
            self.action = given["action"]
        elif tag == "input":
            self.fields[given["name"]] = given["value"]
        elif tag == "button":
            self.buttons.append(given["value"])
        if tag not in ("meta", "input", "br"):
            self.inside.append(tag)
            self.ids.append(given.get("id", ""))

    def handle_endtag(self, tag: str) -> None:
        self.ids.pop()
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.inside or "title" in self.inside:
            return
        self.visible += data
        if "h1" in self.inside:
            self.heading += data
        if "pin" in self.ids:
            self.pin += data

    @property
    def asks_who(self) -> bool:
        return "screen_name" in self.fields


@attrs.define
class Browser:
    """Keeps cookies, follows no redirect."""

    ask: Asker
    session: aiohttp.ClientSession

    async def open(self, path: str, **query: str) -> Page:
        url = self.ask.emulator.ready["base_url"] + path + ("?" + urlencode(query) if query else "")
        return await self._send("GET", url)

    async def send(self, page: Page, decision: str, **changed: str) -> Page:
        url = self.ask.emulator.ready["base_url"] + page.action
        return await self._send("POST", url, data={**page.fields, **changed, "decision": decision})

    async def _send(self, method: str, url: str, **options: Any) -> Page:
        async with self.session.request(method, url, allow_redirects=False, **options) as response:
            reply = Reply(response.status, dict(response.headers), await response.text())
        if reply.text:
            assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
            assert "http" not in reply.text.replace(CALLBACK, ""), "nothing is fetched from elsewhere"
        return Page(reply)


def sent_back(page: Page, to: str = CALLBACK) -> dict[str, str]:
    """What a redirect gives to the app."""
    assert page.reply.status == 302
    address, _, query = page.reply.headers["Location"].partition("?")
    assert address == to
    assert not urlsplit(page.reply.headers["Location"]).fragment
    return dict(parse_qsl(query))


def pairs(reply: Reply) -> dict[str, str]:
    """An ampersand-joined answer."""
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/x-www-form-urlencoded; charset=utf-8")
    return dict(parse_qsl(reply.text, strict_parsing=True))


@attrs.define
class App:
    """The first app, taking the steps of OAuth 1.0a."""

    ask: Asker

    def signer(self, **options: Any) -> Client:
        ready = self.ask.emulator.ready
        return Client(ready["api_key"], ready["api_key_secret"], **options)

    async def request_token(self, callback: str | None = "oob", query: str = "", **options: Any) -> Reply:
        signer = options.pop("signer", None) or self.signer(callback_uri=callback)
        return await self.ask.signed("POST", "/oauth/request_token" + query, signer=signer, **options)

    async def begin(self, callback: str = "oob", query: str = "") -> dict[str, str]:
        return pairs(await self.request_token(callback, query))

    async def access_token(self, begun: dict[str, str], verifier: str | None, **options: Any) -> Reply:
        secrets = {"resource_owner_key": begun["oauth_token"], "resource_owner_secret": begun["oauth_token_secret"]}
        signer = self.signer(**secrets, verifier=verifier)
        return await self.ask.signed("POST", options.pop("path", "/oauth/access_token"), signer=signer, **options)

    def acting(self, granted: dict[str, str]) -> Client:
        return self.signer(
            resource_owner_key=granted["oauth_token"], resource_owner_secret=granted["oauth_token_secret"]
        )


async def approved(browser: Browser, begun: dict[str, str], name: str = "northwind") -> Page:
    page = await browser.open(AUTHORIZE, oauth_token=begun["oauth_token"])
    return await browser.send(page, "approve", **({"screen_name": name} if page.asks_who else {}))


async def signed_in(app: App, browser: Browser, name: str = "northwind", query: str = "") -> dict[str, str]:
    """All three steps in PIN mode."""
    begun = await app.begin(query=query)
    page = await approved(browser, begun, name)
    return pairs(await app.access_token(begun, page.pin))


def assert_refused(reply: Reply, status: int, code: int) -> None:
    assert (reply.status, reply.codes) == (status, [code]), reply.text
    assert set(reply.json) == {"errors"}
    assert set(reply.json["errors"][0]) == {"code", "message"}
