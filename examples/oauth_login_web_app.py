"""A web application with a login: OAuth 2.0 with PKCE, and calls as the user who is signed in.

A session is a random cookie; what belongs to it stays in the memory of this process. Tokens are
renewed by the package, and the cache keeps the newest ones. Hosts and the app's key and secret come
from SOCIALAPI_* variables. Run it against a local emulator, and open http://127.0.0.1:8000/:

    socialapi emulator --detach --env-file emulator.env
    . ./emulator.env
    python examples/oauth_login_web_app.py 8000
"""

import os
import secrets
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator
from html import escape

import aiohttp
from aiohttp import web

from socialapi import Client, Config, MemoryTokenCache, OAuth2User, SlidingWindowPacer, errors
from socialapi.types import OAuth2SignIn

APP_ID, APP_SECRET = os.environ["SOCIALAPI_API_KEY"], os.environ["SOCIALAPI_API_KEY_SECRET"]
PORT = int(sys.argv[1])
COOKIE = "session"
MAX_SESSIONS = 10_000

routes = web.RouteTableDef()


class Service:
    """The service, and the sessions of those who sign in to it or have done so."""

    def __init__(self, connections: aiohttp.ClientSession, callback: str) -> None:
        self.callback = callback
        self.sessions: OrderedDict[str, OAuth2SignIn | OAuth2User] = OrderedDict()
        self._config = Config.from_env()
        self._connections, self._tokens = connections, MemoryTokenCache()
        self._pacer = SlidingWindowPacer(self._config)

    def client(self, *users: OAuth2User) -> Client:
        """Returns a client that calls as the user, if one is given.

        All of them share connections, limits and tokens.
        """
        return Client(self._config, users, session=self._connections, pacer=self._pacer, token_cache=self._tokens)

    def begin(self, session: OAuth2SignIn | OAuth2User, address: str) -> web.Response:
        """Begins a session, whose name nobody else knows, and leads the browser on."""
        name = secrets.token_urlsafe(32)
        self.sessions[name] = session
        if len(self.sessions) > MAX_SESSIONS:
            self.sessions.popitem(last=False)
        response = web.Response(status=302, headers={"Location": address})
        response.set_cookie(COOKIE, name, httponly=True, samesite="Lax")  # behind HTTPS also secure=True
        return response


SERVICE = web.AppKey("service", Service)


def page(content: str, status: int = 200) -> web.Response:
    """Returns a page of HTML."""
    return web.Response(
        text=f"<!doctype html><title>Accounts</title>{content}", content_type="text/html", status=status
    )


@routes.get("/")
async def home(request: web.Request) -> web.Response:
    """Shows the ad accounts of the user who is signed in."""
    service = request.app[SERVICE]
    user = service.sessions.get(request.cookies.get(COOKIE, ""))
    if not isinstance(user, OAuth2User):
        return page('<a href="/login">Sign in</a>')
    try:
        async with service.client(user) as client:
            accounts = await client.ads.accounts.list().collect(limit=100)
    except errors.Unauthorized:  # the user has withdrawn the access, or it could not be renewed
        return page('You are signed out. <a href="/login">Sign in</a>', 401)
    names = "".join(f"<li>{escape(account.name or account.id)}" for account in accounts)
    return page(f"<ul>{names}</ul>")


@routes.get("/login")
async def login(request: web.Request) -> web.Response:
    """Begins a sign-in, and shows the page of the service on which the user decides."""
    service = request.app[SERVICE]
    scopes = ["tweet.read", "users.read", "offline.access"]
    async with service.client() as client:
        sign_in = client.oauth.authorization_url(client_id=APP_ID, redirect_uri=service.callback, scopes=scopes)
    return service.begin(sign_in, sign_in.url)


@routes.get("/callback")
async def callback(request: web.Request) -> web.Response:
    """Ends a sign-in: the page of the service leads the browser here, with a code or an error."""
    service, given = request.app[SERVICE], request.query
    sign_in = service.sessions.pop(request.cookies.get(COOKIE, ""), None)
    if not isinstance(sign_in, OAuth2SignIn) or not secrets.compare_digest(
        given.get("state", "").encode(), sign_in.state.encode()
    ):
        return page('This sign-in was not begun here. <a href="/login">Sign in</a>', 403)
    if "code" not in given:
        return page('You did not allow it. <a href="/login">Sign in</a>', 403)
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
    # In a session of a new name: somebody may have planted the one before in this browser.
    return service.begin(OAuth2User(token.access_token, token.refresh_token, APP_ID, APP_SECRET), "/")


async def connect(app: web.Application) -> AsyncIterator[None]:
    """Opens the connections that all users share, for as long as the application runs."""
    async with aiohttp.ClientSession() as connections:
        app[SERVICE] = Service(connections, f"http://127.0.0.1:{PORT}/callback")
        yield


if __name__ == "__main__":
    app = web.Application()
    app.add_routes(routes)
    app.cleanup_ctx.append(connect)
    web.run_app(app, host="127.0.0.1", port=PORT)
