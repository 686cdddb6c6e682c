"""Reading the bodies of requests of which nobody knows yet who sent them."""

import asyncio
from typing import Final

import attrs
from aiohttp import web

MOST_READING_BYTES: Final = 64_000_000
"""How much may have been read of all bodies together, unless it is one body alone."""

_CLIENT_LEFT: Final = (ConnectionError, web.RequestPayloadError)


@attrs.frozen
class Unread:
    """A body that is not read to its end: with which status it is refused, and why."""

    status: int
    reason: str


class Bodies:
    """Reads bodies that are at most so large, arrive within so long, and together take a bounded amount of memory."""

    def __init__(self, *, max_bytes: int, timeout_seconds: float) -> None:
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._bytes = 0  # of all that are being read

    async def read(self, request: web.Request) -> bytes | Unread:
        """The body, or why it is not read."""
        too_large = Unread(413, f"the body is larger than {self._max_bytes:,} bytes")
        if (request.content_length or 0) > self._max_bytes:
            return too_large
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._timeout_seconds):
                async for chunk in request.content.iter_any():
                    chunks.append(chunk)
                    size += len(chunk)
                    self._bytes += len(chunk)
                    if size > self._max_bytes:
                        return too_large
                    if self._bytes > MOST_READING_BYTES and self._bytes > size:
                        return Unread(503, "there is no room for this body now")
        except TimeoutError:
            return Unread(408, "the body did not arrive in time")
        except _CLIENT_LEFT:
            return Unread(400, "the body broke off")
        finally:
            self._bytes -= size
        return b"".join(chunks)
