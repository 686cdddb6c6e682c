"""The server side of connections. Notifies waiting handlers when a client has disconnected, even while nothing is read
or written, and answers malformed HTTP with JSON.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from aiohttp import web

from socialapi.emulator.responses import Refusal, code_of, refused


class ConnectionWatch:
    """The callbacks for closed connections, by protocol."""

    def __init__(self) -> None:
        self._watched: dict[object, Callable[[], None]] = {}

    @contextlib.contextmanager
    def watching(self, protocol: object, gone: Callable[[], None]) -> Iterator[None]:
        """Calls `gone` if the connection is closed while the block runs."""
        self._watched[protocol] = gone
        try:
            yield
        finally:
            del self._watched[protocol]

    def left(self, protocol: object) -> None:
        """Reports that the connection was closed."""
        if (gone := self._watched.get(protocol)) is not None:
            gone()


_LOG: Final = logging.getLogger(__name__)
_OWN_FAULT: Final = 500
MAX_LINE_BYTES: Final = 65_536
"""The maximum length of a request line or a header, in bytes. aiohttp's limit of 8,190 is too low
for some clients of the service.
"""


class JsonErrors(web.RequestHandler):
    """aiohttp's handler of a connection. It sends aiohttp's own refusals, for example of malformed requests, as JSON
    problems.
    """

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Returns the rejection, after which the connection is closed."""
        if status >= _OWN_FAULT:
            super().handle_error(request, status, exc, message)
        else:
            # Does not log the exception, because its text contains headers, and these contain credentials.
            _LOG.info("refused a malformed request from %s with %d", request.remote, status)
        detail = "the emulator failed" if status >= _OWN_FAULT else "the request is not valid HTTP"
        answer = refused(Refusal(status, code_of(status), detail), "platform", {}, "")
        response = web.Response(status=status, body=answer.body, headers={"Content-Type": answer.content_type})
        response.force_close()
        return response


class Listener(web.Server):
    """aiohttp's server, which also reports closed connections.

    aiohttp's own option for this, `handler_cancellation`, would cancel every handler, even one that is executing a
    request.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        connection_watch: ConnectionWatch,
        **options: Any,
    ) -> None:
        super().__init__(handler, max_line_size=MAX_LINE_BYTES, max_field_size=MAX_LINE_BYTES, **options)
        self._connection_watch = connection_watch

    def __call__(self) -> web.RequestHandler:
        """Returns the handler of a new connection."""
        return JsonErrors(self, loop=self._loop, **self._kwargs)

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        """Also reports the closed connection to the watch."""
        super().connection_lost(handler, exc)
        self._connection_watch.left(handler)
