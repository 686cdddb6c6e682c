"""Walking through a collection, one page read ahead."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from typing import Any, Final, Generic, TypeVar

import attrs

from socialapi.errors import DecodeError, InvalidInput, SocialApiError
from socialapi.models.pages import Page
from socialapi.models.validation import printable_name
from socialapi.problems import Problem, ServiceError
from socialapi.wire.paging import Position, next_token_path

T = TypeVar("T")

logger: Final = logging.getLogger("socialapi")

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

    `undecoded` counts items that this version could not read, and `partial_errors` errors beside the items, on the pages
    so far. Neither ends the walk; the pages have them. The log has a warning for each page with items of the first kind,
    and where items are walked without their pages, also for one with errors.
    """

    def __init__(self, fetch: Fetch[T], spawn: Spawn[T], *, start: str | None = None) -> None:
        self._fetch = fetch
        self._spawn = spawn
        self._begin = Position() if start is None else Position.read(start)
        self._taken: tuple[str | None, Page[T], int] | None = None  # the last item: its token, page and index
        self.undecoded: int = 0
        self.partial_errors: int = 0

    @property
    def position(self) -> str:
        """Where the walk is, as a text to store: given back as `start=`, it goes on with the very next item.

        It belongs to the same method with the same arguments; the size of a page alone may be another. It names the
        last items taken, up to eight of the page: if one is gone by then it goes on behind the one before it, and if all of
        them are, at the start of the page, so that rather something comes twice than never.
        """
        # Made when it is asked for, which hardly anybody does at every item.
        return str(self._begin if self._taken is None else Position.behind(*self._taken))

    def __await__(self) -> Generator[None, None, Page[T]]:
        return self.first().__await__()

    async def first(self) -> Page[T]:
        """The first page (of those from `start` on). `position` is behind it then."""
        page = self._counted(await self._fetch(self._begin.token))
        self._taken = self._begin.token, page, len(page.data) - 1
        return _without(page, self._begin.find([page])[1]) if self._begin.taken else page

    async def __aiter__(self) -> AsyncIterator[T]:
        # Not by way of `with_pages`: an item that passes two generators costs twice as much.
        async with contextlib.aclosing(self._walk_from_start()) as walk:
            async for token, page, skip in walk:
                if page.errors:
                    _warn_of_errors(page)  # which nobody sees who is handed the items alone
                for index in range(skip, len(page.data)):
                    self._taken = token, page, index
                    yield page.data[index]

    async def with_pages(self) -> AsyncGenerator[tuple[T, Page[T]], None]:
        """Every item with the page it is on, whose `includes` have what was asked for beside it."""
        async with contextlib.aclosing(self._walk_from_start()) as walk:
            async for token, page, skip in walk:
                for index in range(skip, len(page.data)):
                    self._taken = token, page, index
                    yield page.data[index], page

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Every page. After one is handed out, `position` is behind it."""
        async with contextlib.aclosing(self._walk_from_start()) as walk:
            async for token, page, skip in walk:
                self._taken = token, page, len(page.data) - 1
                yield _without(page, skip)

    async def collect(self, *, limit: int | None = None) -> list[T]:
        """The items as a list, at most `limit` of them.

        An error on the way has what had arrived in `collected`, and where to go on in `position`: nothing short is
        returned as if it were whole.
        """
        items: list[T] = []
        if limit is not None and type(limit) is not int:
            raise InvalidInput(f"limit must be a whole number, not {type(limit).__name__}")
        if limit is not None and limit < 1:
            return items
        try:
            async for item in self:
                items.append(item)
                if len(items) == limit:
                    break
        except SocialApiError as problem:
            problem.collected, problem.position = tuple(items), self.position
            raise
        return items

    async def _walk_from_start(self) -> AsyncGenerator[tuple[str | None, Page[T], int], None]:
        """Every page from the start on, with how many of its first items are before it.

        Pages may be smaller than they were when the start was noted. They are held back until the item just before it
        is found, or there are as many items as were before it then.
        """
        left = self._begin.taken
        held: list[tuple[str | None, Page[T]]] = []
        async with contextlib.aclosing(self._walk()) as walk:
            async for token, page in walk:
                if not left:
                    yield token, page, 0
                    continue
                held.append((token, page))
                left -= min(left, page.arrived_before(len(page.data)))
                if left and page.next_token is not None and not self._begin.is_on(page):
                    continue
                left = 0
                first, skip = self._begin.find([each for _, each in held])
                for number, (earlier, each) in enumerate(held[first:]):
                    yield earlier, each, 0 if number else skip

    async def _walk(self) -> AsyncGenerator[tuple[str | None, Page[T]], None]:
        token, seen = self._begin.token, set()
        page = self._counted(await self._fetch(token))
        while True:
            upcoming = page.next_token
            if upcoming is None:
                yield token, page
                return
            if upcoming in seen or upcoming == token:
                raise DecodeError(next_token_path(page.meta), "names a page that was read already")
            seen.add(upcoming)
            ahead = self._spawn(self._fetch(upcoming))
            try:
                yield token, page
                page = self._counted(await ahead)
            finally:
                ahead.cancel()
                await asyncio.gather(ahead, return_exceptions=True)
            token = upcoming

    def _counted(self, page: Page[T]) -> Page[T]:
        self.partial_errors += len(page.errors)
        if page.undecoded:
            self.undecoded += len(page.undecoded)
            first = page.undecoded[0]
            more = _more(len(page.undecoded) - 1)
            logger.warning("a page has items that cannot be read: %s %s%s", first.path, first.reason, more)
        return page


def _warn_of_errors(page: Page[Any]) -> None:
    more = _more(len(page.errors) - 1)
    logger.warning("a page has errors beside its items: %s%s", _kind_of(page.errors[0]), more)


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _kind_of(error: Problem | ServiceError) -> str:
    """The type or the code of an error, which name no value, as its other texts may."""
    if isinstance(error, Problem):
        return printable_name(error.slug)
    return f"code {error.code}" if isinstance(error.code, int) else printable_name(error.code)


def _without(page: Page[T], count: int) -> Page[T]:
    """The page without so many of its first items."""
    return attrs.evolve(page, data=page.data[count:], places=None) if count else page
