"""Reading the bodies of requests of which nobody knows yet who sent them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

import attrs

MOST_READING_BYTES: Final = 64_000_000
"""How many bytes of all unfinished bodies may be here, unless it is one body alone. When there would be more, the largest
of the others is given up.
"""
MOST_UNANNOUNCED_BYTES: Final = 65_536
"""How large a body may be whose request has no Content-Length: servers read such bodies chunk by chunk, which takes far
longer.
"""
MOST_TINY_CHUNKS: Final = 64
TINY_CHUNK_BYTES: Final = 64
"""A body is refused when it has come in more chunks than this, and they have fewer bytes than this on average."""
SLICE_BYTES: Final = 131_072
"""How much is signed at once, so that a large body does not hold the event loop."""

Feed = Callable[[memoryview], None]


@attrs.frozen
class Unread:
    """A body that is not read to its end: with which status it is refused, and why."""

    status: int
    reason: str


class TinyChunksError(Exception):
    """The body of a request comes in many chunks of a few bytes, of which each takes as long as a large one."""


@attrs.define(eq=False)
class _Reading:
    """A body on its way. Its bytes are gone when it is given up."""

    limit: asyncio.Timeout
    content: bytearray = attrs.field(factory=bytearray)
    is_given_up: bool = False

    @property
    def size(self) -> int:
        """How many bytes of it are here. What the request announces counts for nothing."""
        return len(self.content)


class Bodies:
    """Reads bodies that are at most so large, arrive within so long, and together take a bounded amount of memory.

    Whoever comes is read: the largest of the unfinished bodies makes room for others, so that those who fill the room
    lose theirs, and an event of ordinary size stays. How many there are is not bounded here: each is of a connection,
    which takes more memory than the first bytes of a body.
    """

    def __init__(self, *, max_bytes: int, timeout_seconds: float) -> None:
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._readings: dict[_Reading, None] = {}  # the oldest first
        self._bytes = 0  # of all that are being read
        self._slicing = asyncio.Lock()

    def too_large(self, size: int, *, is_announced: bool = True) -> Unread | None:
        """Why a body of this size is refused; None if it is not."""
        if size > self._max_bytes:
            return Unread(413, f"the body is larger than {self._max_bytes:,} bytes")
        if size > MOST_UNANNOUNCED_BYTES and not is_announced:
            return Unread(413, f"the body is larger than {MOST_UNANNOUNCED_BYTES:,} bytes and has no Content-Length")
        return None

    async def read(self, chunks: AsyncIterator[bytes], feed: Feed, *, is_announced: bool) -> bytes | Unread:
        """The body, or why it is not read; `feed` gets its parts as they arrive.

        The chunks raise ConnectionError when the client has left, and TinyChunksError. `is_announced` is whether the
        request has a Content-Length.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                reading = _Reading(limit)
                self._readings[reading] = None
                return await self._read(reading, chunks, feed, is_announced=is_announced)
        except TimeoutError:
            if reading.is_given_up:
                return Unread(503, "there is no room for this body now")
            return Unread(408, "the body did not arrive in time")
        except ConnectionError:
            return Unread(400, "the body broke off")
        except TinyChunksError:
            return Unread(400, "the body comes in too many chunks of a few bytes")
        finally:
            self._forget(reading)

    async def feed_all(self, body: bytes, feed: Feed) -> None:
        """Gives a body that is there already to `feed`: a large one in slices, one slice each time round the loop."""
        view = memoryview(body)
        feed(view[:SLICE_BYTES])
        for start in range(SLICE_BYTES, len(body), SLICE_BYTES):
            async with self._slicing:
                await asyncio.sleep(0)
                feed(view[start : start + SLICE_BYTES])

    async def _read(
        self, reading: _Reading, chunks: AsyncIterator[bytes], feed: Feed, *, is_announced: bool
    ) -> bytes | Unread:
        async for chunk in chunks:
            if reading.is_given_up:
                break
            reading.content += chunk
            self._bytes += len(chunk)
            if (refusal := self.too_large(reading.size, is_announced=is_announced)) is not None:
                return refusal
            self._make_room_for(reading)
            await self.feed_all(chunk, feed)
        if reading.is_given_up:
            raise TimeoutError
        return bytes(reading.content)

    def _make_room_for(self, newcomer: _Reading) -> None:
        while self._bytes > MOST_READING_BYTES and len(self._readings) > 1:
            others = (each for each in self._readings if each is not newcomer)
            self._give_up(max(others, key=lambda each: each.size))  # the oldest of those that are as large

    def _give_up(self, reading: _Reading) -> None:
        reading.is_given_up = True
        self._forget(reading)
        if not reading.limit.expired():
            reading.limit.reschedule(asyncio.get_running_loop().time())

    def _forget(self, reading: _Reading) -> None:
        if reading in self._readings:
            del self._readings[reading]
            self._bytes -= reading.size
        reading.content = bytearray()
