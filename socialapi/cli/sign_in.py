"""Walking a person through a sign-in: the page to open, the PIN or the callback, the tokens."""

import asyncio
import contextlib
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from typing import Final, Literal

import attrs

from socialapi.cli.loopback import Judge, Loopback
from socialapi.client import Client
from socialapi.errors import InvalidInput, SocialApiError
from socialapi.models.oauth import AccessToken, OAuth2Token, RequestToken
from socialapi.resources.oauth import same
from socialapi.unset import UNSET, Unset

MAX_LINE_BYTES: Final = 4_096


@attrs.frozen(kw_only=True)
class Page:
    """How the page is shown, and how long it is waited for."""

    access_type: Literal["read", "write"] | Unset = UNSET
    force_login: bool | Unset = UNSET
    screen_name: str | Unset = UNSET
    open_browser: bool = False
    timeout_seconds: float = 300.0


async def by_pin(client: Client, page: Page) -> AccessToken:
    """OAuth 1.0a with a PIN that the page shows and the person types (platform section 5.3)."""
    token = await client.oauth.request_token("oob", access_type=page.access_type)
    _show(client.oauth.authorize_url(token, force_login=page.force_login, screen_name=page.screen_name), page)
    print("Type the PIN that it shows: ", end="", flush=True)
    pin = (await read_line(page.timeout_seconds)).strip()
    if not pin:
        raise InvalidInput("no PIN was given; nothing was stored")
    return await client.oauth.access_token(token, pin)


async def by_callback(client: Client, page: Page, port: int) -> AccessToken:
    """OAuth 1.0a with a callback to this machine (platform section 5.3)."""
    async with Loopback(port) as listener:
        token = await client.oauth.request_token(listener.url, access_type=page.access_type)
        _show(client.oauth.authorize_url(token, force_login=page.force_login, screen_name=page.screen_name), page)
        verifier = await listener.answer(_verifier_of(token), page.timeout_seconds)
    return await client.oauth.access_token(token, verifier)


async def by_oauth2(
    client: Client, page: Page, port: int, *, client_id: str, client_secret: str | None, scopes: tuple[str, ...]
) -> OAuth2Token:
    """OAuth 2.0 with PKCE and a callback to this machine (platform section 5.4)."""
    async with Loopback(port) as listener:
        begun = client.oauth.authorization_url(client_id=client_id, redirect_uri=listener.url, scopes=scopes)
        _show(begun.url, page)
        code = await listener.answer(_code_of(begun.state), page.timeout_seconds)
    return await client.oauth.exchange_code(
        code,
        client_id=client_id,
        redirect_uri=begun.redirect_uri,
        code_verifier=begun.code_verifier,
        client_secret=client_secret,
    )


def _verifier_of(token: RequestToken) -> Judge:
    def judge(parameters: Mapping[str, str]) -> str | None:
        if same(parameters.get("denied", ""), token.oauth_token):
            raise _denied()
        if not same(parameters.get("oauth_token", ""), token.oauth_token):
            return None
        return parameters.get("oauth_verifier") or None

    return judge


def _code_of(state: str) -> Judge:
    def judge(parameters: Mapping[str, str]) -> str | None:
        if not same(parameters.get("state", ""), state):
            return None
        if "error" in parameters:
            # The words are the page's; only the documented one is repeated (RFC 6749, section 4.1.2.1).
            raise _denied() if parameters["error"] == "access_denied" else SocialApiError("the page reports an error")
        return parameters.get("code") or None

    return judge


def _denied() -> SocialApiError:
    return SocialApiError("access was denied on the page; nothing was stored")


def _show(url: str, page: Page) -> None:
    print(f"Open this page and allow access:\n\n  {url}\n", flush=True)
    if page.open_browser:
        webbrowser.open(url)


async def read_line(timeout_seconds: float) -> str:
    """A line of standard input, from a person or a program. Raises SocialApiError when none comes in time.

    It is read by a daemon thread, from the descriptor: that can neither be interrupted nor hold a lock at the end.
    """
    loop = asyncio.get_running_loop()
    line: asyncio.Future[bytes] = loop.create_future()

    def read() -> None:
        content = b""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            descriptor = sys.stdin.fileno()
            while not content.endswith(b"\n") and len(content) < MAX_LINE_BYTES:
                piece = os.read(descriptor, 1)
                if not piece:
                    break
                content += piece
        with contextlib.suppress(RuntimeError):  # the loop may be gone by now
            loop.call_soon_threadsafe(lambda: None if line.done() else line.set_result(content))

    threading.Thread(target=read, name="socialapi-pin", daemon=True).start()
    try:
        return (await asyncio.wait_for(line, timeout_seconds)).decode("utf-8", "replace")
    except TimeoutError:
        print()
        raise SocialApiError(
            f"no PIN was given within {timeout_seconds:g} s; allow more with --timeout-seconds"
        ) from None
