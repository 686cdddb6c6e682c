"""Sign-in in a browser or by PIN, with a listener for the callback (RFC 8252) that reads only request heads."""

import asyncio
import contextlib
import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Literal, Self
from urllib.parse import parse_qsl

import attrs

from socialapi.client import Client
from socialapi.errors import ConfigurationError, InvalidInput, SocialApiError
from socialapi.internal.listening import why_not_listening
from socialapi.models.oauth import AccessToken, OAuth2Token, RequestToken
from socialapi.resources.oauth import equal_in_constant_time

PATH: Final = "/callback"
MAX_HEAD_BYTES: Final = 16_384
READ_TIMEOUT_SECONDS: Final = 10.0
"""How long a connection may stay silent. Browsers open connections that they never use."""
MAX_CONNECTIONS: Final = 32
"""The maximum number of open connections. A further connection closes the oldest one. A browser opens six per host."""

Judge = Callable[[Mapping[str, str]], str | None]
"""Returns the result in the parameters of a callback; None if they belong to another sign-in.

Raises SocialApiError if access was denied.
"""

_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}</style>
<h1>{title}</h1><p>{text}</p></html>
"""
_NOT_FOUND: Final = ("404 Not Found", "Nothing here", "This address is not part of a sign-in.")
_NOT_GET: Final = ("405 Method Not Allowed", "Nothing here", "Only GET requests are answered.")
_FOREIGN: Final = ("400 Bad Request", "Not this sign-in", "This response belongs to another sign-in. Start again.")
_DENIED: Final = ("200 OK", "Access denied", "Nothing was stored. You may close this window.")
_DONE: Final = (
    "200 OK",
    "Access allowed",
    "You may close this window; the terminal shows whether the sign-in succeeded.",
)


class Loopback:
    """A listener on 127.0.0.1 (port 0: a free port) while the block runs. Ignores errors of other connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._judge: Judge | None = None
        self._result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._conversations: dict[asyncio.Task[None], asyncio.StreamWriter] = {}  # the oldest first
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port, limit=MAX_HEAD_BYTES)
        except OSError as problem:
            reason = why_not_listening(problem)
            raise ConfigurationError(f"cannot listen on 127.0.0.1 port {self._port}: {reason}") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        if self._result.done():
            self._result.exception()  # marks the exception of a late denial as retrieved
        else:
            self._result.cancel()
        # asyncio takes two steps from accepting a connection to `_accept`, and then its task starts.
        for _ in range(3):
            await asyncio.sleep(0)
        for writer in self._conversations.values():
            if not writer.is_closing():  # otherwise, a response is still being sent
                writer.transport.abort()
        if self._conversations:
            await asyncio.wait(self._conversations, timeout=READ_TIMEOUT_SECONDS)

    @property
    def url(self) -> str:
        """The URL of the callback."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def answer(self, judge: Judge, timeout_seconds: float) -> str:
        """Returns the result of the first callback of this sign-in. Raises SocialApiError if access was denied or the
        callback arrived too late.
        """
        self._judge = judge
        await asyncio.wait({self._result}, timeout=timeout_seconds)
        if not self._result.done():
            raise SocialApiError(
                f"the sign-in was not completed within {timeout_seconds:g} s; allow more with --timeout-seconds"
            )
        return self._result.result()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._conversations) >= MAX_CONNECTIONS:
            next(iter(self._conversations.values())).transport.abort()
        task = asyncio.create_task(self._converse(reader, writer))
        self._conversations[task] = writer
        task.add_done_callback(self._conversations.pop)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Sends the response to a request, and then lets the program continue. Ignores a request with a long head."""
        with contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError, TimeoutError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT_SECONDS)
            result: str | SocialApiError | None = None
            try:
                page, result = self._reply(head.partition(b"\r\n")[0].decode("latin-1"))
            except SocialApiError as denial:
                page, result = _DENIED, denial
            writer.write(_response(*page))
            self._settle(result)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    def _reply(self, request_line: str) -> tuple[tuple[str, str, str], str | None]:
        method, _, rest = request_line.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if path != PATH:
            return _NOT_FOUND, None
        if method != "GET":
            return _NOT_GET, None
        try:
            result = self._judge(dict(parse_qsl(query, max_num_fields=20))) if self._judge else None
        except ValueError:
            result = None
        return (_FOREIGN, None) if result is None else (_DONE, result)

    def _settle(self, result: str | SocialApiError | None) -> None:
        if result is None or self._result.done():
            return
        if isinstance(result, SocialApiError):
            self._result.set_exception(result)
        else:
            self._result.set_result(result)


def _response(status: str, title: str, text: str) -> bytes:
    """Returns a page that quotes nothing from the request, is not cached, and sends no referrer."""
    page = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}",
        "Content-Type: text/html; charset=utf-8",
        f"Content-Length: {len(page)}",
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        "Referrer-Policy: no-referrer",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join(head).encode() + b"\r\n\r\n" + page


MAX_LINE_BYTES: Final = 4_096


@attrs.frozen(kw_only=True)
class Page:
    """How to show the sign-in page, and how long to wait for the user."""

    access_type: Literal["read", "write"] | None = None
    force_login: bool | None = None
    screen_name: str | None = None
    open_browser: bool = False
    timeout_seconds: float = 300.0


async def by_pin(client: Client, page: Page) -> AccessToken:
    """Signs in with OAuth 1.0a and a PIN that the user types."""
    token = await client.oauth.request_token("oob", access_type=page.access_type)
    _show(client.oauth.authorize_url(token, force_login=page.force_login, screen_name=page.screen_name), page)
    print("Type the PIN that it shows: ", end="", flush=True)
    pin = (await read_line(page.timeout_seconds)).strip()
    if not pin:
        raise InvalidInput("no PIN was given; nothing was stored")
    return await client.oauth.access_token(token, pin)


async def by_callback(client: Client, page: Page, port: int) -> AccessToken:
    """Signs in with OAuth 1.0a and a callback to this machine."""
    async with Loopback(port) as listener:
        token = await client.oauth.request_token(listener.url, access_type=page.access_type)
        _show(client.oauth.authorize_url(token, force_login=page.force_login, screen_name=page.screen_name), page)
        verifier = await listener.answer(_verifier_of(token), page.timeout_seconds)
    return await client.oauth.access_token(token, verifier)


async def by_oauth2(
    client: Client, page: Page, port: int, *, client_id: str, client_secret: str | None, scopes: tuple[str, ...]
) -> OAuth2Token:
    """Signs in with OAuth 2.0, PKCE and a callback to this machine."""
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
        if equal_in_constant_time(parameters.get("denied", ""), token.oauth_token):
            raise _denied()
        if not equal_in_constant_time(parameters.get("oauth_token", ""), token.oauth_token):
            return None
        return parameters.get("oauth_verifier") or None

    return judge


def _code_of(state: str) -> Judge:
    def judge(parameters: Mapping[str, str]) -> str | None:
        if not equal_in_constant_time(parameters.get("state", ""), state):
            return None
        if "error" in parameters:
            # Quotes only the documented error, because anyone can set the parameter (RFC 6749, section 4.1.2.1).
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
    """Returns a line of standard input. Raises SocialApiError if none arrives in time.

    A daemon thread reads it from the descriptor. The thread cannot be interrupted, and holds no
    lock when the program ends.
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
        with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
            loop.call_soon_threadsafe(lambda: None if line.done() else line.set_result(content))

    threading.Thread(target=read, name="socialapi-pin", daemon=True).start()
    try:
        return (await asyncio.wait_for(line, timeout_seconds)).decode("utf-8", "replace")
    except asyncio.CancelledError:
        print()  # the next message begins on a new line
        raise
    except TimeoutError:
        print()
        raise SocialApiError(
            f"no PIN was given within {timeout_seconds:g} s; allow more with --timeout-seconds"
        ) from None
