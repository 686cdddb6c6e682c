"""A listener on this machine that a browser is sent back to at the end of a sign-in (RFC 8252, section 7.3).

It reads the head of a GET request and nothing else, so it is made of a bare socket rather than of a web server.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qsl

from socialapi.errors import ConfigurationError, SocialApiError

PATH: Final = "/callback"
MAX_HEAD_BYTES: Final = 16_384
READ_TIMEOUT_SECONDS: Final = 10.0
"""Browsers open connections that they never use; none of them is waited for any longer."""

Judge = Callable[[Mapping[str, str]], str | None]
"""What the parameters of a callback give: None if they are not of this sign-in. Raises SocialApiError for a denial."""

_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}</style>
<h1>{title}</h1><p>{text}</p></html>
"""
_NOT_FOUND: Final = ("404 Not Found", "Nothing here", "This address is not part of a sign-in.")
_NOT_GET: Final = ("405 Method Not Allowed", "Nothing here", "Only GET is answered.")
_FOREIGN: Final = ("400 Bad Request", "Not this sign-in", "This answer belongs to another sign-in. Start it again.")
_DENIED: Final = ("200 OK", "Access denied", "Nothing was stored. You may close this window.")
_DONE: Final = (
    "200 OK",
    "Access allowed",
    "You may close this window; the terminal says whether it is done.",
)


class Loopback:
    """Listens on 127.0.0.1 for as long as the block lasts; port 0 takes a free one."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._judge: Judge | None = None
        self._result: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=MAX_HEAD_BYTES)
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            raise ConfigurationError(f"cannot listen on 127.0.0.1 port {self._port}: {reason}") from None
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        """Where the browser is to be sent."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    async def answer(self, judge: Judge, timeout_seconds: float) -> str:
        """What the first callback of this sign-in gives; others are refused and change nothing.

        Raises SocialApiError when the user denies access, or does not answer in time.
        """
        self._judge = judge
        try:
            return await asyncio.wait_for(asyncio.shield(self._result), timeout_seconds)
        except TimeoutError:
            raise SocialApiError(
                f"nobody answered the page within {timeout_seconds:g} s; allow more with --timeout-seconds"
            ) from None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, TimeoutError):
                async with asyncio.timeout(READ_TIMEOUT_SECONDS):
                    await self._converse(await reader.readuntil(b"\r\n\r\n"), writer)
        finally:
            writer.close()

    async def _converse(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        """Answers first and then lets the program go on, whose end closes the connection."""
        result: str | SocialApiError | None = None
        try:
            page, result = self._reply(head.partition(b"\r\n")[0].decode("latin-1"))
        except SocialApiError as denial:
            page, result = _DENIED, denial
        try:
            writer.write(_response(*page))
            await writer.drain()
        finally:
            self._settle(result)

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
    """A page that shows nothing of what was asked, is kept nowhere and refers to nobody."""
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
