"""Asynchronous iteration over paginated collections, fetching one page ahead."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import attrs

from socialapi.errors import DecodeError, InvalidInput, SocialApiError
from socialapi.internal.notebook import asynchronous
from socialapi.models.pages import Page
from socialapi.models.validation import printable_name
from socialapi.problems import Problem, ServiceError
from socialapi.wire.paging import PageOrigin, PageSizes, Position, ReadTokens, next_token_path, origin_of

T = TypeVar("T")

logger: Final = logging.getLogger("socialapi")

Fetch = Callable[[str | None, int | None], Coroutine[Any, Any, Page[T]]]
"""Requests the page for a token, with a page size. None means the first page, or the service's default size."""
Spawn = Callable[[Coroutine[Any, Any, Page[T]]], "asyncio.Task[Page[T]]"]


class Pager(Generic[T]):
    """A paginated collection, fetched page by page while it is iterated.

        async for item in pager: …                 every item
        async for page in pager.pages(): …         every page, with its includes, meta and partial errors
        first = await pager                        the first page
        items = await pager.collect(limit=500)     a list
        table = await pager.to_arrow(limit=500)    a table; `to_pandas` returns a DataFrame

    After `pages()` has returned a page, `position` is after that page, even if you have not used all of it:
    `page.position_at(index)` is the position after one of its items.

    Iteration ends when the service returns no token for a next page; an empty page does not end it. Reading costs money
    and counts toward caps, so the next page is requested only once half of the current page's items have been used, or
    when a complete page is returned. Leaving the loop early wastes at most one request.

    Unless the call sets a page size, `collect` and tables request the largest pages that their `limit` needs. Loops
    over posts start with the service's default, and each page is at most twice the size of the previous one; loops over
    advertising collections request the largest pages. `first()`, `await` and `Config(page_growth=False)` use the
    service's default.

    `pages_read` and `items_read` count the pages that arrived, and the items on them. Raises DecodeError if a page
    token repeats, because the iteration would never end. It notices a repeat of one of the last 1,000 tokens
    immediately, and an older one before it has requested three times the existing pages.

    `undecoded` counts the items that could not be decoded, and `partial_errors` counts the errors that arrived with the
    items, on all pages so far. Neither ends the iteration, and each page lists its own. A warning is logged for each
    page with undecoded items and, when iterating over items rather than pages, for each page with errors.
    """

    def __init__(
        self,
        fetch: Fetch[T],
        spawn: Spawn[T],
        *,
        start: str | None = None,
        item_type: type[T] | None = None,
        sizes: PageSizes | None = None,
        key: str | None = None,
    ) -> None:
        self.item_type: Final = item_type
        self._fetch = fetch
        self._spawn = spawn
        self._sizes = sizes
        self._key = key
        self._begin = Position() if start is None else Position.read(start)
        # The page of the last item, and the item's index on it.
        self._page: Page[T] | None = None
        self._index: int = 0
        self.undecoded: int = 0
        self.partial_errors: int = 0
        self.pages_read: int = 0
        self.items_read: int = 0

    def __repr__(self) -> str:
        kind = getattr(self.item_type, "__name__", None)
        return f"<Pager{f' of {kind}' if kind else ''}; iterate it, or await it for the first page>"

    @property
    def position(self) -> str:
        """The current position as a string; pass it as `start=` to continue with the next item, or after
        `pages()` with the next page.

        It is valid for the same method with the same arguments, except that the page size may differ. It identifies up
        to eight of the last returned items. If the last of them has left the page, because it was deleted or moved by
        newer items, iteration continues after the item before it. If none of the eight is left, it continues at the
        start of that page. Items may then repeat, but none is skipped.
        """
        # Built on access, because few callers need it for every item.
        return str(self._begin if self._page is None else Position.behind(self._page, self._index))

    def __await__(self) -> Generator[None, None, Page[T]]:
        return self.first().__await__()

    async def first(self) -> Page[T]:
        """Returns the first page, starting at `start`. `position` is then after it."""
        page = self._counted(await self._fetch(self._begin.token, None), self._begin.token)
        self._page, self._index = page, len(page.data) - 1
        return _without(page, self._begin.find([page])[1]) if self._begin.taken else page

    if not TYPE_CHECKING:  # type checkers already know that a pager is not iterable
        __iter__ = __getitem__ = asynchronous("pager", "use `async for`, or `await pager.collect(limit=…)` for a list")

    def __aiter__(self) -> AsyncGenerator[T, None]:  # noqa: PYI058  # to be closed by those who leave it early
        return self._items(self._walk())

    async def _items(self, pages: "_Walk[T]") -> AsyncGenerator[T, None]:
        # Not built on `with_pages`: passing each item through two generators costs twice as much.
        async with contextlib.aclosing(pages) as walk:
            async for page, skip, ahead in walk:
                if page.errors:
                    _warn_of_errors(page)  # callers who iterate over items never see the page
                data = page.data
                if skip < len(data):
                    self._page = page
                for items in _halves(skip, len(data)):
                    for self._index in items:
                        yield data[self._index]
                    ahead.begin()

    async def with_pages(self) -> AsyncGenerator[tuple[T, Page[T]], None]:
        """Yields every item with its page, whose `includes` contain the expanded objects."""
        async with contextlib.aclosing(self._walk()) as walk:
            async for page, skip, ahead in walk:
                data = page.data
                if skip < len(data):
                    self._page = page
                elif page.errors:
                    _warn_of_errors(page)  # a page without items is never seen by callers
                for items in _halves(skip, len(data)):
                    for self._index in items:
                        yield data[self._index], page
                    ahead.begin()

    def pages(self) -> AsyncGenerator[Page[T], None]:
        """Yields every page. `position` is then after the page, even if you have not used all of its items:
        `page.position_at(index)` is the position after one of them.
        """
        return self._whole_pages(self._walk())

    async def _whole_pages(self, pages: "_Walk[T]") -> AsyncGenerator[Page[T], None]:
        async with contextlib.aclosing(pages) as walk:
            async for page, skip, ahead in walk:
                self._page, self._index = page, len(page.data) - 1
                ahead.begin()
                yield _without(page, skip)

    async def collect(self, *, limit: int | None = None) -> list[T]:
        """Returns the items as a list, at most `limit` of them.

        Never returns an incomplete list. If reading fails, the error has the items so far in `collected` and the
        position to continue from in `position`. Raises InvalidInput if `limit` is not an int.
        """
        items: list[T] = []
        limit = _checked_limit(limit)
        if limit == 0:
            return items
        try:
            # Closed here, so that the event loop never requests a page that is not needed.
            async with contextlib.aclosing(self._items(self._walk(limit, at_once=True))) as walk:
                async for item in walk:
                    items.append(item)
                    if len(items) == limit:
                        break
        except SocialApiError as problem:
            problem.collected, problem.position = tuple(items), self.position
            raise
        return items

    async def to_arrow(self, *, limit: int | None = None) -> Any:
        """Returns the items as a `pyarrow.Table`, at most `limit` of them, as `Page.to_arrow` describes it.
        The table omits expanded objects: `with_pages()` yields each item with the expanded objects of its page.

        Each page is converted to rows when it arrives, so only one page of items is in memory. Never returns an
        incomplete table. If reading fails, the error has a table of the items so far as the only item of `collected`,
        and the position to continue from in `position`. Raises InvalidInput as `Page.to_arrow` does.
        """
        from socialapi.integrations import arrow

        if self.item_type is None:
            raise InvalidInput("the type of the items is unknown: convert each page to a table instead")
        left = _checked_limit(limit)
        chunks, position = [arrow.arrow_table((), self.item_type)], self.position
        if left == 0:
            return chunks[0]
        try:
            # Closed here, so that the event loop never requests a page that is not needed.
            async with contextlib.aclosing(self._whole_pages(self._walk(left, at_once=True))) as pages:
                async for page in pages:
                    if page.errors:
                        _warn_of_errors(page)  # callers never see the page
                    items = page.data[:left]
                    chunks.append(arrow.arrow_table(items, self.item_type))
                    self._index -= len(page.data) - len(items)
                    position = self.position
                    left = None if left is None else left - len(items)
                    if left == 0:
                        break
        except SocialApiError as problem:
            problem.collected, problem.position = (arrow.concatenated(chunks),), position
            raise
        return arrow.concatenated(chunks)

    async def to_pandas(self, *, limit: int | None = None) -> Any:
        """Returns the table of `to_arrow` as a `pandas.DataFrame`, as `Page.to_pandas` describes it.
        Raises InvalidInput as it does.
        """
        from socialapi.integrations import arrow

        arrow.check_pandas()  # before any page is requested
        return arrow.data_frame(await self.to_arrow(limit=limit))

    async def _walk(self, left: int | None = None, *, at_once: bool = False) -> "_Walk[T]":
        """Yields every page from the start, with the number of its items to skip and with the page after it. With
        `at_once`, pages are as large as the `left` items need, or as large as possible.
        """
        sizes, token = self._sizes, self._begin.token
        size = None if sizes is None else sizes.of_items(left) if at_once else sizes.first
        held_back = _HeldBack[T](self._begin)
        read = ReadTokens(token)
        page = self._counted(await self._fetch(token, size), token)
        while True:
            upcoming = page.next_token
            if upcoming is not None and read.repeats(upcoming):
                raise DecodeError(next_token_path(page.meta), "names a page that was already read")
            released = held_back.released_by(page)
            if left is not None:
                left -= sum(len(each.data) - skip for each, skip in released)
                if left <= 0:
                    upcoming = None
            if sizes is not None:
                arrived = page.arrived_before(len(page.data))
                size = sizes.of_items(left) if at_once else sizes.after(size, arrived)
            ahead = _PageAhead(self._fetch, self._spawn, upcoming, size)
            try:
                for each, skip in released:
                    # If several pages were held back, only the last one is followed by a new page.
                    yield each, skip, ahead if each is page else _PageAhead(self._fetch, self._spawn, None, None)
                if upcoming is None:
                    return
                page = self._counted(await ahead.page(upcoming), upcoming)
            finally:
                await ahead.aclose()

    def _counted(self, page: Page[T], token: str | None) -> Page[T]:
        """Counts a page that has arrived, and returns it with its location in the collection."""
        page._origin = PageOrigin(token, 0, self._key)  # noqa: SLF001  # pages and walks know each other
        self.pages_read += 1
        self.items_read += page.arrived_before(len(page.data))
        self.partial_errors += len(page.errors)
        if page.undecoded:
            self.undecoded += len(page.undecoded)
            first = page.undecoded[0]
            more = _more(len(page.undecoded) - 1)
            logger.warning(
                "a page has items that cannot be read: %s %s%s",
                first.path,
                first.reason,
                more,
                extra={"socialapi_undecoded": len(page.undecoded)},
            )
        return page


def _checked_limit(limit: object) -> int | None:
    """Returns a limit of items; 0 for a negative one. Raises InvalidInput if it is not an int."""
    if limit is None:
        return None
    if type(limit) is not int:
        raise InvalidInput(f"limit must be a whole number, not {type(limit).__name__}")
    return max(0, limit)


class _HeldBack(Generic[T]):
    """The pages that are held back because pages may now be smaller than when the position was stored.

    They are released when the item just before the position is found, or when as many items have arrived as preceded
    the position.
    """

    def __init__(self, begin: Position) -> None:
        self._begin = begin
        self._left = begin.taken
        self._pages: list[Page[T]] = []

    def released_by(self, page: Page[T]) -> Sequence[tuple[Page[T], int]]:
        """Returns the pages to yield after this one has arrived, each with the number of its items to skip."""
        if not self._left:
            return ((page, 0),)
        self._pages.append(page)
        self._left -= min(self._left, page.arrived_before(len(page.data)))
        if self._left and page.next_token is not None and not self._begin.is_on(page):
            return ()
        self._left = 0
        first, skip = self._begin.find(self._pages)
        pages = self._pages[first:]
        self._pages = []
        return [(each, 0 if number else skip) for number, each in enumerate(pages)]


class _PageAhead(Generic[T]):
    """The page for a token.

    After `begin`, it is fetched as soon as the caller lets the event loop run. Without a token, there is no page. A
    caller that needs the page earlier fetches it directly. A task would not start any earlier, and would add a tenth to
    the cost of the page.
    """

    def __init__(self, fetch: Fetch[T], spawn: Spawn[T], token: str | None, size: int | None) -> None:
        self._fetch = fetch
        self._spawn = spawn
        self._token = token
        self._size = size
        self._start: asyncio.Handle | None = None
        self._task: asyncio.Task[Page[T]] | None = None

    def begin(self) -> None:
        """Fetches the page in the background. Safe to call twice."""
        if self._start is None and self._token is not None:
            self._start = asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        # A closed client fetches nothing, and raises an error when the caller requests the page.
        with contextlib.suppress(RuntimeError):
            self._task = self._spawn(self._fetch(self._token, self._size))

    async def page(self, token: str) -> Page[T]:
        """Returns the page for the token."""
        if self._start is not None:
            self._start.cancel()
        return await (self._task or self._fetch(token, self._size))

    async def aclose(self) -> None:
        """Cancels the fetch because the caller stopped early."""
        if self._start is not None:
            self._start.cancel()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


_Walk = AsyncGenerator[tuple[Page[T], int, _PageAhead[T]], None]
"""Pages, each with the number of items to skip on it and the page after it."""


def _halves(skip: int, count: int) -> tuple[range, range]:
    """Returns the indices of the items to yield before, and after, the request for the next page."""
    half = max(skip, (count + 1) // 2)
    return range(skip, half), range(half, count)


def _warn_of_errors(page: Page[Any]) -> None:
    more = _more(len(page.errors) - 1)
    facts = {"socialapi_errors": len(page.errors)}
    logger.warning("a page has errors in addition to its items: %s%s", _kind_of(page.errors[0]), more, extra=facts)


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _kind_of(error: Problem | ServiceError) -> str:
    """Returns the type or code of an error. Its other strings may contain personal data."""
    if isinstance(error, Problem):
        return printable_name(error.slug)
    return f"code {error.code}" if isinstance(error.code, int) else printable_name(error.code)


def _without(page: Page[T], count: int) -> Page[T]:
    """Returns the page without its first `count` items."""
    if not count:
        return page
    before, places = page.arrived_before(count), page._places  # noqa: SLF001
    return attrs.evolve(
        page,
        data=page.data[count:],
        places=None if places is None else tuple(place - before for place in places[count:]),
        origin=attrs.evolve(origin_of(page), offset=before),
    )
