"""The server side of connections. Tells a stream when its client has disconnected, even while nothing is read or
written, and answers malformed HTTP with JSON.
"""

import logging
from collections.abc import Callable
from typing import Final

from aiohttp import web

from socialapi.emulator.responses import Refusal, code_of, refused

CLIENT_LEFT: Final = (ConnectionError, web.RequestPayloadError)
"""The errors that reading from or writing to a client raises after the client has disconnected."""

_LOG: Final = logging.getLogger(__name__)
_OWN_FAULT: Final = 500
MAX_LINE_BYTES: Final = 65_536
"""The maximum length of a request line or a header, in bytes. aiohttp's limit of 8,190 is too low
for some clients of the service.
"""


class Connection(web.RequestHandler):
    """aiohttp's handler of a connection. It sends aiohttp's own refusals, for example of malformed requests, as JSON
    problems, and calls `lost` when the client has disconnected.

    aiohttp's own option for this, `handler_cancellation`, would cancel every handler, even one that is executing a
    request.
    """

    lost: Callable[[], None] | None = None

    def connection_lost(self, exc: BaseException | None) -> None:
        """Also reports the closed connection."""
        super().connection_lost(exc)
        if self.lost is not None:
            self.lost()

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
    """aiohttp's server, with these connections."""

    def __call__(self) -> web.RequestHandler:
        """Returns the handler of a new connection."""
        return Connection(self, loop=self._loop, **self._kwargs)
