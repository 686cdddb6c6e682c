"""Notifies waiting handlers when a client has disconnected, even while nothing is read or
written.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web


class ConnectionWatch:
    """The callbacks for closed connections, by protocol."""

    def __init__(self) -> None:
        self._watched: dict[object, Callable[[], None]] = {}

    @contextlib.contextmanager
    def watching(self, protocol: object, gone: Callable[[], None]) -> Iterator[None]:
        """Calls `gone` if the connection goes while the block lasts."""
        self._watched[protocol] = gone
        try:
            yield
        finally:
            del self._watched[protocol]

    def left(self, protocol: object) -> None:
        """The connection is gone."""
        if (gone := self._watched.get(protocol)) is not None:
            gone()


class Listener(web.Server):
    """aiohttp's server, which also reports closed connections.

    Its own option for that, `handler_cancellation`, would cancel every handler, including those
    that carry out a request.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        departures: ConnectionWatch,
        **options: Any,
    ) -> None:
        super().__init__(handler, **options)
        self._departures = departures

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        """As before, and tells."""
        super().connection_lost(handler, exc)
        self._departures.left(handler)
