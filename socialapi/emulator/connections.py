"""Telling who waits on a connection that the client has left, also while nothing is read or written."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web


class Departures:
    """What is to be called when a connection is gone, by its protocol."""

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
    """aiohttp's server, which also says when a connection is gone.

    Its own way of telling, `handler_cancellation`, would end every handler, also those that carry out what was asked.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        departures: Departures,
        **options: Any,
    ) -> None:
        super().__init__(handler, **options)
        self._departures = departures

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        """As before, and tells."""
        super().connection_lost(handler, exc)
        self._departures.left(handler)
