"""A web application signs users in with OAuth 2.0 and calls the service on their behalf.

Use it if your users connect their own accounts. Sign-in is protected by PKCE, tokens are renewed
automatically, and all users share connections and rate limits.

A session is a random cookie; its tokens stay in the memory of this process. Unfinished sign-ins are
separate from sessions, and the oldest are dropped, so a flood of sign-ins signs no user out. The hosts and
the app's key and secret come from SOCIALAPI_* variables. Run it against a local emulator,
and open http://127.0.0.1:8000/:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/oauth_login_web_app.py 8000

What to change:

- `scopes`: what your app may do as the user
- `Session` and `Kept`: keep sessions in your database, encrypted, to survive a restart
- the callback in `connect`: your public address, which must be registered for the app
- `redirect`: add `secure=True` to the cookie once you serve HTTPS
- `home`: your own pages
"""

import os
import secrets
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html import escape
from typing import TypeVar

import aiohttp
from aiohttp import web

from socialapi import Client, Config, MemoryTokenCache, OAuth2User, SlidingWindowPacer, errors
from socialapi.types import OAuth2SignIn

APP_ID, APP_SECRET = os.environ["SOCIALAPI_API_KEY"], os.environ["SOCIALAPI_API_KEY_SECRET"]
PORT = int(sys.argv[1])
MAX_KEPT = 10_000
T = TypeVar("T")

routes = web.RouteTableDef()


@dataclass
class Session:
    """A signed-in user, and the newest tokens of that sign-in."""

    user: OAuth2User
    tokens: MemoryTokenCache = field(default_factory=MemoryTokenCache)


class Kept(OrderedDict[str, T]):
    """The objects that cookies refer to, by cookie value. If there are too many, the oldest is dropped."""

    def add(self, thing: T) -> str:
        """Stores an object and returns the value of its cookie, which is secret."""
        name = secrets.token_urlsafe(32)
        self[name] = thing
        if len(self) > MAX_KEPT:
            self.popitem(last=False)
        return name


class Service:
    """The service, the unfinished sign-ins, and the sessions of signed-in users."""

    def __init__(self, connections: aiohttp.ClientSession, callback: str) -> None:
        self.callback = callback
        self.sign_ins = Kept[OAuth2SignIn]()
        self.sessions = Kept[Session]()
        self._config = Config.from_env()
        self._connections = connections
        self._pacer = SlidingWindowPacer(self._config)

    def client(self, session: Session | None = None) -> Client:
        """Returns a client, which calls on behalf of the session's user if a session is given.

        All clients share connections and limits.
        """
        users, tokens = ([session.user], session.tokens) if session else ([], None)
        return Client(self._config, users, session=self._connections, pacer=self._pacer, token_cache=tokens)


SERVICE = web.AppKey("service", Service)


def redirect(address: str, cookie: str, value: str) -> web.Response:
    """Redirects the browser and sets a cookie."""
    response = web.Response(status=302, headers={"Location": address})
    response.set_cookie(cookie, value, httponly=True, samesite="Lax")  # behind HTTPS also secure=True
    return response


def page(content: str, status: int = 200) -> web.Response:
    """Returns an HTML page."""
    return web.Response(
        text=f"<!doctype html><title>Accounts</title>{content}", content_type="text/html", status=status
    )


@routes.get("/")
async def home(request: web.Request) -> web.Response:
    """Shows the ad accounts of the signed-in user."""
    service, name = request.app[SERVICE], request.cookies.get("session", "")
    session = service.sessions.get(name)
    if session is None:
        return page('<a href="/login">Sign in</a>')
    try:
        async with service.client(session) as client:
            accounts = await client.ads.accounts.list().collect(limit=100)
    except errors.Unauthorized:  # the user has revoked access, or the token could not be renewed
        service.sessions.pop(name, None)
        return page('You are signed out. <a href="/login">Sign in</a>', 401)
    names = "".join(f"<li>{escape(account.name or account.id)}" for account in accounts)
    return page(f"<ul>{names}</ul>")


@routes.get("/login")
async def login(request: web.Request) -> web.Response:
    """Starts a sign-in, and redirects to the service's page on which the user decides."""
    service = request.app[SERVICE]
    scopes = ["tweet.read", "users.read", "offline.access"]
    async with service.client() as client:
        sign_in = client.oauth.authorization_url(client_id=APP_ID, redirect_uri=service.callback, scopes=scopes)
    return redirect(sign_in.url, "sign_in", service.sign_ins.add(sign_in))


@routes.get("/callback")
async def callback(request: web.Request) -> web.Response:
    """Completes a sign-in. The service's page redirects the browser here with a code or an error."""
    service, given = request.app[SERVICE], request.query
    sign_in = service.sign_ins.pop(request.cookies.get("sign_in", ""), None)
    if sign_in is None or not secrets.compare_digest(given.get("state", "").encode(), sign_in.state.encode()):
        return page('This sign-in was not started here. <a href="/login">Sign in</a>', 403)
    if "code" not in given:
        return page('You did not allow access. <a href="/login">Sign in</a>', 403)
    try:
        async with service.client() as client:
            token = await client.oauth.exchange_code(
                given["code"],
                client_id=APP_ID,
                client_secret=APP_SECRET,
                redirect_uri=sign_in.redirect_uri,
                code_verifier=sign_in.code_verifier,
            )
    except errors.SocialApiError:
        return page('That did not work. <a href="/login">Sign in</a>', 502)
    # With a new session name, because someone else may have planted the old cookie in this browser.
    service.sessions.pop(request.cookies.get("session", ""), None)
    session = Session(OAuth2User(token.access_token, token.refresh_token, APP_ID, APP_SECRET))
    return redirect("/", "session", service.sessions.add(session))


async def connect(app: web.Application) -> AsyncIterator[None]:
    """Opens the connections that all users share while the application runs."""
    async with aiohttp.ClientSession() as connections:
        app[SERVICE] = Service(connections, f"http://127.0.0.1:{PORT}/callback")
        yield


if __name__ == "__main__":
    app = web.Application()
    app.add_routes(routes)
    app.cleanup_ctx.append(connect)
    web.run_app(app, host="127.0.0.1", port=PORT)
