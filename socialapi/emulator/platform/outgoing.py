"""The emulator's own HTTP client, and the local addresses to which the requests to webhooks really go."""

from collections.abc import Mapping
from typing import Final

import aiohttp

_IDLE_SECONDS: Final = 2.0
"""How long an unused connection is kept: shorter than receivers do, so that none is used while it is being closed."""


class Outgoing:
    """Sends requests. `fixed` are the targets that are there from the beginning, also after a reset."""

    def __init__(self, fixed: Mapping[str, str]) -> None:
        self._fixed = dict(fixed)
        self.targets: dict[str, str] = dict(fixed)
        self._client: aiohttp.ClientSession | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        """The client, while the emulator runs."""
        assert self._client is not None
        return self._client

    async def open(self) -> None:
        """There is a client from now on. Who sends bounds how much: a full connector would hold up challenges."""
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS)
        self._client = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    async def close(self) -> None:
        """End."""
        if self._client is not None:
            await self._client.close()

    def reset(self) -> None:
        """Forgets the targets that were added."""
        self.targets.clear()
        self.targets.update(self._fixed)
