"""Walking through a collection, one page read ahead."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

import attrs

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.pages import Page
from socialapi.wire.paging import position_text, read_position

T = TypeVar("T")

Fetch = Callable[[str | None], Coroutine[Any, Any, Page[T]]]
Spawn = Callable[[Coroutine[Any, Any, Page[T]]], "asyncio.Task[Page[T]]"]


class Pager(Generic[T]):
    """A collection of the service, read page by page as it is walked through.

        async for item in pager: …                 every item
        async for page in pager.pages(): …         every page, with its includes, meta and partial errors
        first = await pager                        the first page
        items = await pager.collect(limit=500)     a list

    It ends when the service names no next page, never because a page is empty. The next page is fetched while one is
    worked on; leaving the loop wastes at most that one request. Raises DecodeError when a page token repeats, which
    would never end.
    """

    def __init__(self, fetch: Fetch[T], spawn: Spawn[T], *, start: str | None = None) -> None:
        self._fetch = fetch
        self._spawn = spawn
        self._token: str | None = None
        self._taken = 0
        if start is not None:
            try:
                self._token, self._taken = read_position(start)
            except ValueError:
                raise InvalidInput("start is not the position of a pager") from None
        self._begin = (self._token, self._taken)

    @property
    def position(self) -> str:
        """Where the walk is, as a text to store: given back as `start=`, it goes on with the very next item."""
        return position_text(self._token, self._taken)

    def __await__(self) -> Generator[None, None, Page[T]]:
        return self.first().__await__()

    async def first(self) -> Page[T]:
        """The first page (of those from `start` on). `position` is behind it then."""
        token, skip = self._begin
        page = await self._fetch(token)
        self._token, self._taken = token, max(skip, len(page.data))
        return attrs.evolve(page, data=page.data[skip:]) if skip else page

    async def __aiter__(self) -> AsyncIterator[T]:
        skip = self._begin[1]
        async with contextlib.aclosing(self._walk()) as walk:
            async for page in walk:
                for index, item in enumerate(page.data):
                    if index >= skip:
                        self._taken = index + 1
                        yield item
                skip = 0

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Every page. After one is handed out, `position` is behind it."""
        skip = self._begin[1]
        async with contextlib.aclosing(self._walk()) as walk:
            async for page in walk:
                self._taken = len(page.data)
                yield attrs.evolve(page, data=page.data[skip:]) if skip else page
                skip = 0

    async def collect(self, *, limit: int | None = None) -> list[T]:
        """The items as a list, at most `limit` of them."""
        items: list[T] = []
        if limit is not None and limit < 1:
            return items
        async for item in self:
            items.append(item)
            if len(items) == limit:
                break
        return items

    async def _walk(self) -> AsyncGenerator[Page[T], None]:
        token, seen = self._begin[0], set()
        page = await self._fetch(token)
        while True:
            self._token, self._taken = token, self._begin[1] if token == self._begin[0] else 0
            upcoming = page.next_token
            if upcoming is None:
                yield page
                return
            if upcoming in seen or upcoming == token:
                raise DecodeError("meta.next_token", "names a page that was read already")
            seen.add(upcoming)
            ahead = self._spawn(self._fetch(upcoming))
            try:
                yield page
                page = await ahead
            finally:
                ahead.cancel()
                await asyncio.gather(ahead, return_exceptions=True)
            token = upcoming
