"""Walking through a collection: every item once, one page ahead, and from a stored place."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.errors import DecodeError, InvalidInput
from socialapi.integrations.arrow import arrow_schema
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.problems import Problem, ServiceError
from socialapi.session.pager import Pager
from tests.support.clock import turns

T = TypeVar("T")


class Collection(Generic[T]):
    """A collection in pages, by token; it counts what is asked of it."""

    def __init__(self, pages: Mapping[str | None, tuple[tuple[T, ...], str | None]]) -> None:
        self.pages = pages
        self.asked: list[str | None] = []
        self.tasks: set[asyncio.Task[Any]] = set()

    async def fetch(self, token: str | None, size: int | None) -> Page[T]:
        self.asked.append(token)
        await asyncio.sleep(0)
        data, upcoming = self.pages[token]
        return Page(data=data, next_token=upcoming)

    def spawn(self, work: Any) -> asyncio.Task[Page[T]]:
        task: asyncio.Task[Page[T]] = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def pager(self, start: str | None = None, item_type: type[T] | None = None) -> Pager[T]:
        return Pager(self.fetch, self.spawn, start=start, item_type=item_type)


THREE_PAGES = {None: ((1, 2, 3), "b"), "b": ((), "c"), "c": ((4, 5), None)}


async def test_items_come_in_order_and_a_page_without_items_does_not_end_the_walk() -> None:
    collection = Collection(THREE_PAGES)
    assert [item async for item in collection.pager()] == [1, 2, 3, 4, 5]
    assert collection.asked == [None, "b", "c"]


async def test_awaiting_a_pager_gives_the_first_page_and_asks_for_no_other() -> None:
    collection = Collection(THREE_PAGES)
    assert (await collection.pager()).data == (1, 2, 3)
    assert (await collection.pager().first()).data == (1, 2, 3)
    assert collection.asked == [None, None]


PERSONAL = "ada@example.com"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Problem(type="https://service.example/problems/resource-not-found", detail=PERSONAL), "resource-not-found"),
        (Problem(title=PERSONAL), "about:blank"),
        (Problem(type=f"https://service.example/{PERSONAL}"), "(a name that is not shown)"),
        (ServiceError(code=34, message=PERSONAL, parameter=PERSONAL), "code 34"),
        (ServiceError(code="NOT_FOUND", message=PERSONAL), "NOT_FOUND"),
        (ServiceError(message=PERSONAL), "(a name that is not shown)"),
    ],
)
async def test_a_page_with_errors_beside_its_items_is_warned_of_once_without_their_values(
    error: Problem | ServiceError, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fetch(token: str | None, size: int | None = None) -> Page[int]:
        if token is None:
            return Page(data=(1,), errors=(error, error, error), next_token="b")
        return Page(data=(2,), errors=(error,) if token == "b" else (), next_token={"b": "c"}.get(token))

    pager = Pager(fetch, asyncio.ensure_future)
    assert await pager.collect() == [1, 2, 2]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"a page has errors in addition to its items: {kind} and 2 more"),
        ("WARNING", f"a page has errors in addition to its items: {kind}"),
    ]
    assert pager.partial_errors == 4
    caplog.clear()
    pager = Pager(fetch, asyncio.ensure_future)
    handed_out = [page async for page in pager.pages()], [page async for _, page in pager.with_pages()], await pager
    assert (len(handed_out[0]), caplog.records) == (3, []), "who has the page has its errors"


async def test_a_page_is_iterated_over_its_items_and_is_true_without_any() -> None:
    page = await Collection(THREE_PAGES).pager()
    assert list(page) == [1, 2, 3]
    empty: Any = Page()
    assert list(empty) == []
    assert empty


@pytest.mark.parametrize("limit", ["5", 5.0, True, [5]])
async def test_a_limit_that_is_no_whole_number_is_named(limit: Any) -> None:
    collection = Collection(THREE_PAGES)
    with pytest.raises(InvalidInput, match="limit must be a whole number, not"):
        await collection.pager().collect(limit=limit)
    assert collection.asked == []


async def test_a_long_walk_ends_and_one_in_a_large_circle_ends_as_well() -> None:
    walked = list[str | None]()

    async def fetch(token: str | None, size: int | None = None) -> Page[int]:
        walked.append(token)
        page = 0 if token is None else int(token)
        return Page(data=(page,), next_token=str(page + 1) if page + 1 < 5_000 else end)

    end: str | None = None
    assert await Pager(fetch, asyncio.ensure_future).collect() == list(range(5_000))
    walked, end = [], "1"
    with pytest.raises(DecodeError, match="names a page that was already read"):
        await Pager(fetch, asyncio.ensure_future).collect()
    assert 5_000 < len(walked) <= 15_000


async def test_the_next_page_is_on_its_way_once_half_of_one_was_used() -> None:
    collection = Collection(THREE_PAGES)
    walk = aiter(collection.pager())
    asked = []
    for _ in range(3):
        await anext(walk)
        await turns(2)
        asked.append(len(collection.asked))
    assert asked == [1, 1, 2]
    await walk.aclose()
    assert not collection.tasks


FOUR_PAGES = {None: (tuple(range(10)), "b"), "b": (tuple(range(10, 20)), "c"), "c": ((), "d"), "d": ((20, 21), None)}


async def _items(pager: Pager[int], count: int) -> None:
    await _used(aiter(pager), count)


async def _with_pages(pager: Pager[int], count: int) -> None:
    await _used(pager.with_pages(), count)


async def _pages(pager: Pager[int], count: int) -> None:
    await _used(pager.pages(), count)


async def _collected(pager: Pager[int], count: int) -> None:
    assert len(await pager.collect(limit=count)) == count


async def _first(pager: Pager[int], count: int) -> None:
    await pager.first()


async def _used(walk: Any, count: int) -> None:
    """Uses so many, with time for others after each, and leaves the walk as `break` does."""
    for _ in range(count):
        await anext(walk)
        await turns(5)


@pytest.mark.parametrize(
    ("walk", "count", "requests"),
    [
        *((walk, count, 1) for walk in (_items, _with_pages) for count in (1, 5)),
        *((walk, count, 2) for walk in (_items, _with_pages) for count in (6, 10, 15)),
        *((walk, count, 3) for walk in (_items, _with_pages) for count in (16, 20)),
        *((walk, count, 4) for walk in (_items, _with_pages) for count in (21, 22)),
        *((_pages, count, requests) for count, requests in ((1, 2), (2, 3), (3, 4), (4, 4))),
        *((_collected, count, requests) for count, requests in ((1, 1), (6, 1), (10, 1), (11, 2), (20, 2), (21, 4))),
        (_first, 1, 1),
    ],
)
async def test_every_form_of_a_walk_requests_the_pages_that_it_says(
    walk: Callable[[Pager[int], int], Awaitable[None]], count: int, requests: int
) -> None:
    """`async for` and `with_pages` request behind half of the items, `pages` when a page is handed out, and a limit
    requests no page that is not needed.
    """
    collection = Collection(FOUR_PAGES)
    pager = collection.pager()
    await walk(pager, count)
    await turns(5)
    assert len(collection.asked) == requests
    assert pager.pages_read <= requests


async def test_a_pager_counts_what_was_read() -> None:
    pager = Collection(FOUR_PAGES).pager()
    assert (pager.pages_read, pager.items_read) == (0, 0)
    await pager.collect(limit=3)
    assert (pager.pages_read, pager.items_read) == (1, 10)
    pager = Collection(FOUR_PAGES).pager()
    await pager.collect()
    assert (pager.pages_read, pager.items_read) == (4, 22)


async def test_leaving_the_loop_costs_one_request_at_most_and_leaves_no_task() -> None:
    collection = Collection(THREE_PAGES)
    async for item in collection.pager():
        if item == 2:
            break
    for _ in range(5):
        await asyncio.sleep(0)
    assert collection.asked == [None]
    assert not collection.tasks


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.data())
def test_a_walk_that_stops_anywhere_goes_on_there_with_nothing_lost_and_nothing_twice(
    sizes: list[int], data: st.DataObject
) -> None:
    pages: dict[str | None, tuple[tuple[int, ...], str | None]] = {}
    first = 0
    for number, size in enumerate(sizes):
        token = f"t{number}" if number else None
        upcoming = f"t{number + 1}" if number + 1 < len(sizes) else None
        pages[token] = (tuple(range(first, first + size)), upcoming)
        first += size
    stop = data.draw(st.integers(0, first))

    async def walk() -> list[int]:
        seen: list[int] = []
        pager = Collection(pages).pager()
        if stop:
            async for item in pager:
                seen.append(item)
                if len(seen) == stop:
                    break
        resumed = Collection(pages).pager(start=pager.position)
        return seen + await resumed.collect()

    assert asyncio.run(walk()) == list(range(first))


def numbered(*numbers: int) -> tuple[Post, ...]:
    return tuple(Post(id=str(number)) for number in numbers)


def collection_of(items: Sequence[Post], size: int) -> Collection[Post]:
    """The items in pages of a size; the tokens are those of the service, which name the item before."""
    pages: dict[str | None, tuple[tuple[Post, ...], str | None]] = {}
    for start in range(0, max(1, len(items)), size):
        upcoming = f"after-{items[start + size - 1].id}" if start + size < len(items) else None
        token = f"after-{items[start - 1].id}" if start else None
        pages[token] = (tuple(items[start : start + size]), upcoming)
    return Collection(pages)


async def walked(collection: Collection[Post], start: str | None = None) -> list[str]:
    items = [post.id for post in await collection.pager(start=start).collect()]
    by_page = [post.id async for page in collection.pager(start=start).pages() for post in page.data]
    assert items == by_page
    return items


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ((), ["6", "7", "8", "9"]),
        ((6,), ["7", "8", "9"]),
        ((5, 4), ["6", "7", "8", "9"]),
        ((3, 4, 5), ["6", "7", "8", "9"]),
        ((0, 1, 2, 3, 4, 5), ["6", "7", "8", "9"]),
        ((0, 1, 2, 3, 4, 5, 6, 7, 8, 9), []),
    ],
)
async def test_what_is_deleted_in_the_meantime_costs_nothing_that_is_left(
    gone: tuple[int, ...], left: list[str]
) -> None:
    pager = collection_of(numbered(*range(10)), 20).pager()
    await pager.collect(limit=6)
    rest = collection_of(numbered(*(number for number in range(10) if number not in gone)), 20)
    assert await walked(rest, pager.position) == left


async def test_a_page_comes_from_its_start_when_none_of_the_last_items_is_left() -> None:
    pager = collection_of(numbered(*range(20)), 50).pager()
    await pager.collect(limit=12)
    rest = collection_of(numbered(0, 1, 2, 3, *range(12, 20)), 50)
    assert await walked(rest, pager.position) == [str(number) for number in (0, 1, 2, 3, *range(12, 20))]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 100])
async def test_a_walk_goes_on_with_pages_of_another_size(size: int) -> None:
    items = numbered(*range(15))
    pager = collection_of(items, 10).pager()
    await pager.collect(limit=7)
    assert await walked(collection_of(items, size), pager.position) == [str(number) for number in range(7, 15)]
    grown = collection_of((*numbered(99), *items), size)
    assert set(map(str, range(7, 15))) <= set(await walked(grown, pager.position))
    without = [post for post in items if post.id not in ("5", "6")]
    assert await walked(collection_of(without, size), pager.position) == [str(number) for number in range(7, 15)]
    none_left = collection_of(items[7:], size)
    assert await walked(none_left, pager.position) == [str(number) for number in range(7, 15)]


@pytest.mark.parametrize("step", [1, 2, 3, 4, 7])
async def test_deleting_as_one_walks_and_stopping_at_every_step_leaves_nothing_out(step: int) -> None:
    """Each run takes some, deletes what it took, and stores where it was, as a job that is run again and again."""
    items, seen = list(numbered(*range(20))), list[str]()
    start: str | None = None
    while True:
        pager = collection_of(items, 50).pager(start=start)
        part = await pager.collect(limit=step)
        if not part:
            break
        seen += [post.id for post in part]
        items = [post for post in items if post.id not in seen]
        start = pager.position
    assert seen == [str(number) for number in range(20)]


async def test_the_first_page_comes_from_its_start_when_nothing_before_the_position_is_left() -> None:
    collection = collection_of(numbered(4, 5), 10)
    assert [post.id for post in (await collection.pager(start="2@3,2:").first()).data] == ["4", "5"]
    assert [post.id for post in (await collection.pager(start="2@3,4:").first()).data] == ["5"]


@pytest.mark.parametrize(("meta", "path"), [({}, "next_cursor"), ({"next_token": "a"}, "meta.next_token")])
async def test_a_token_that_repeats_is_named_as_it_was_read(meta: dict[str, Any], path: str) -> None:
    async def fetch(token: str | None, size: int | None = None) -> Page[int]:
        return Page(data=(1,), next_token="a", meta=meta)

    with pytest.raises(DecodeError) as caught:
        await Pager(fetch, asyncio.ensure_future).collect()
    assert caught.value.path == path


def test_a_pager_says_what_it_is_and_how_it_is_read() -> None:
    collection = Collection[Post]({None: ((), None)})
    assert repr(collection.pager(item_type=Post)) == "<Pager of Post; iterate it, or await it for the first page>"
    assert repr(collection.pager()) == "<Pager; iterate it, or await it for the first page>"


async def test_pages_from_a_position_leave_out_what_was_handed_out() -> None:
    pager = Collection(THREE_PAGES).pager(start="2:")
    assert [page.data async for page in pager.pages()] == [(3,), (), (4, 5)]
    assert pager.position == "2:c"


@pytest.mark.parametrize("start", ["", "b", "x:b", "-1:b"])
def test_something_else_than_a_position_is_refused(start: str) -> None:
    with pytest.raises(InvalidInput, match=r"not a position from Pager.* pagination_token= .* cursor="):
        Collection(THREE_PAGES).pager(start=start)


async def test_a_failure_while_reading_ahead_comes_after_the_items_before_it() -> None:
    collection = Collection({None: ((1, 2), "gone")})
    walk = aiter(collection.pager())
    assert [await anext(walk), await anext(walk)] == [1, 2]
    with pytest.raises(KeyError):
        await anext(walk)


# Tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "asked"), [(None, 3), (7, 2), (5, 1), (1, 1), (0, 0), (-1, 0), (100, 3)])
async def test_a_table_has_the_rows_of_all_pages_up_to_the_limit_in_one_chunk(limit: int | None, asked: int) -> None:
    collection = collection_of(numbered(*range(12)), 5)
    pager = collection.pager(item_type=Post)
    table = await pager.to_arrow(limit=limit)
    wanted = [str(number) for number in range(12)][: None if limit is None else max(0, limit)]
    assert table.column("id").to_pylist() == wanted
    assert table.schema.equals(arrow_schema(Post))
    assert table.column("id").num_chunks <= 1
    assert len(collection.asked) == asked
    rest = await collection.pager(start=pager.position).collect()
    assert [post.id for post in rest] == [str(number) for number in range(len(wanted), 12)]


async def test_a_frame_comes_from_a_stored_position_on() -> None:
    collection = collection_of(numbered(*range(8)), 5)
    pager = collection.pager(item_type=Post)
    await pager.to_arrow(limit=3)
    frame = await collection.pager(start=pager.position, item_type=Post).to_pandas()
    assert frame["id"].tolist() == ["3", "4", "5", "6", "7"]


async def test_a_collection_without_items_is_a_table_with_all_columns() -> None:
    table = await collection_of([], 5).pager(item_type=Post).to_arrow()
    assert (table.num_rows, table.schema) == (0, arrow_schema(Post))


async def test_a_failure_keeps_the_rows_before_it_and_where_to_go_on() -> None:
    posts = numbered(*range(12))
    broken = collection_of([*posts[:7], Post(id=7), *posts[8:]], 5)  # type: ignore[arg-type]  # that does not fit
    with pytest.raises(InvalidInput, match=r"\[2\]\.id: does not fit string") as caught:
        await broken.pager(item_type=Post).to_arrow()
    (table,) = caught.value.collected
    assert table.column("id").to_pylist() == ["0", "1", "2", "3", "4"]
    rest = await collection_of(posts, 5).pager(start=caught.value.position).collect()
    assert [post.id for post in rest] == [str(number) for number in range(5, 12)]


async def test_errors_beside_the_items_of_a_table_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    async def fetch(token: str | None, size: int | None = None) -> Page[Post]:
        return Page(data=numbered(1), errors=(ServiceError(code=1, message=PERSONAL),))

    table = await Pager(fetch, asyncio.ensure_future, item_type=Post).to_arrow()
    assert table.num_rows == 1
    assert "a page has errors in addition to its items: code 1" in caplog.text
    assert PERSONAL not in caplog.text


async def test_a_pager_that_was_made_by_hand_makes_no_table() -> None:
    with pytest.raises(InvalidInput, match="the type of the items is unknown"):
        await Collection(THREE_PAGES).pager().to_arrow()
    with pytest.raises(InvalidInput, match="limit must be a whole number, not str"):
        await collection_of([], 5).pager(item_type=Post).to_arrow(limit="1")  # type: ignore[arg-type]


async def test_no_page_is_asked_for_where_a_data_frame_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    collection = collection_of(numbered(*range(12)), 5)
    with pytest.raises(InvalidInput, match=r"pip install 'aiosocialapi\[pandas\]'"):
        await collection.pager(item_type=Post).to_pandas()
    assert collection.asked == []


async def test_errors_of_a_page_without_items_are_logged_where_items_come_with_their_pages(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pages = {
        None: Page(data=(1,), next_token="a"),
        "a": Page(errors=(Problem(type="about:blank", title="Forbidden"),), next_token="b"),
        "b": Page(data=(2,)),
    }

    async def fetch(token: str | None, size: int | None = None) -> Page[int]:
        return pages[token]

    found = [item async for item, _ in Pager(fetch, asyncio.create_task).with_pages()]
    assert found == [1, 2]
    assert caplog.messages == ["a page has errors in addition to its items: about:blank"]
