"""How many requests a walk takes, and of what size; where in a page a position is; walks over
endpoints that the package does not know.
"""

import asyncio
import dataclasses
import gc
import json
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final, TypedDict
from urllib.parse import parse_qsl, urlsplit

import attrs
import pytest

from socialapi import AppOnly, Client, Pager
from socialapi.errors import ApiError, DecodeError, InvalidInput, OutcomeUnknown
from socialapi.types import Page, Post, ReplyInfo
from tests.support.clients import client_of
from tests.support.server import Fault, Received, Server, Step, answer

POSTS: Final = 250


class Timeline:
    """A service whose collections have 250 items with the numbers 0 to 249, on pages of 10 by default."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        """The page size of each request."""

    async def __call__(self, request: Received) -> bytes:
        query = dict(parse_qsl(urlsplit(request.path).query))
        size = query.get("max_results") or query.get("count")
        self.asked.append(size)
        begin = int(query.get("pagination_token") or query.get("cursor") or query.get("page") or 0)
        end = min(begin + int(size or 10), POSTS)
        upcoming = str(end) if end < POSTS else None
        items = [{"id": str(number), "name": f"item {number}"} for number in range(begin, end)]
        return answer({"data": items, "meta": {"next_token": upcoming}, "next_cursor": upcoming})


@pytest.fixture
def service() -> Timeline:
    return Timeline()


@pytest.fixture
async def client(service: Timeline) -> AsyncIterator[Client]:
    async with Server(then=service) as server, client_of(server) as client:
        yield client


async def looped(pager: Pager[Any]) -> int:
    return len([item async for item in pager])


async def paged(pager: Pager[Any]) -> int:
    return sum([len(page) async for page in pager.pages()])


async def with_pages(pager: Pager[Any]) -> int:
    return len([item async for item, _ in pager.with_pages()])


async def collected(pager: Pager[Any]) -> int:
    return len(await pager.collect())


async def in_a_table(pager: Pager[Any]) -> int:
    rows: int = (await pager.to_arrow()).num_rows
    return rows


GROWING: Final = [None, "20", "40", "80", "100"]


@pytest.mark.parametrize(
    ("walk", "sizes"),
    [
        (looped, GROWING),
        (paged, GROWING),
        (with_pages, GROWING),
        (collected, ["100", "100", "100"]),
        (in_a_table, ["100", "100", "100"]),
    ],
)
async def test_a_walk_over_posts_grows_and_one_that_collects_asks_for_the_largest_pages(
    client: Client, service: Timeline, walk: Any, sizes: list[str | None]
) -> None:
    assert await walk(client.posts.by_user("1")) == POSTS
    assert service.asked == sizes


@pytest.mark.parametrize("walk", [looped, paged, with_pages, collected, in_a_table])
async def test_a_walk_over_an_advertising_collection_asks_for_the_largest_page_at_once(
    client: Client, service: Timeline, walk: Any
) -> None:
    assert await walk(client.ads.accounts.list()) == POSTS
    assert service.asked == ["1000"]


@pytest.mark.parametrize("walk", [looped, paged, with_pages, collected, in_a_table])
async def test_a_size_that_the_caller_names_is_never_changed(client: Client, service: Timeline, walk: Any) -> None:
    assert await walk(client.posts.by_user("1", max_results=50)) == POSTS
    assert await walk(client.ads.accounts.list(count=50)) == POSTS
    assert service.asked == ["50"] * 10


async def test_page_growth_is_switched_off_by_a_setting(service: Timeline) -> None:
    async with Server(then=service) as server, client_of(server, page_growth=False) as client:
        for walk in (looped, paged, with_pages, collected, in_a_table):
            assert await walk(client.posts.by_user("1")) == POSTS
            assert await walk(client.ads.accounts.list()) == POSTS
    assert set(service.asked) == {None}


@pytest.mark.parametrize(
    ("limit", "sizes"), [(3, ["5"]), (30, ["30"]), (100, ["100"]), (120, ["100", "20"]), (102, ["100", "5"]), (0, [])]
)
async def test_a_limit_asks_for_what_it_needs_within_the_bounds(
    client: Client, service: Timeline, limit: int, sizes: list[str]
) -> None:
    assert len(await client.posts.by_user("1").collect(limit=limit)) == limit
    assert (await client.posts.by_user("1").to_arrow(limit=limit)).num_rows == limit
    assert service.asked == sizes * 2


async def test_a_position_inside_a_page_continues_behind_that_item(client: Client) -> None:
    pages = client.posts.by_user("1").pages()
    await anext(pages)
    second = await anext(pages)
    await pages.aclose()
    assert [post.id for post in second][:3] == ["10", "11", "12"]
    for index in (0, 2, 19):
        walk = client.posts.by_user("1", start=second.position_at(index))
        assert (await walk.collect(limit=1))[0].id == str(11 + index)


async def test_a_page_that_begins_at_a_position_has_positions_too(client: Client) -> None:
    start = (await client.posts.by_user("1")).position_at(3)
    page = await client.posts.by_user("1", start=start)
    assert (page[0].id, len(page)) == ("4", 6)
    later = client.posts.by_user("1", start=page.position_at(1))
    assert [post.id for post in await later.collect(limit=3)] == ["6", "7", "8"]


@pytest.mark.parametrize("index", [-1, 10, True, "0", None])
async def test_a_position_needs_the_index_of_an_item(client: Client, index: Any) -> None:
    page = await client.posts.by_user("1")
    with pytest.raises(InvalidInput, match="index must be a whole number from 0 to 9"):
        page.position_at(index)
    with pytest.raises(InvalidInput, match="only pages returned by"):
        Page(data=(Post(id="1"),)).position_at(0)


@pytest.mark.parametrize("use", [list, lambda pager: pager[0]], ids=["loop", "index"])
async def test_what_is_not_asynchronous_says_what_to_write(client: Client, use: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="socialapi pager is asynchronous: use `async for`"):
        use(client.posts.by_user("1"))


# Endpoints that the package does not know ---------------------------------------------------------------------------


@attrs.define
class Plant:
    id: str
    name: str


@dataclasses.dataclass
class Tree:
    id: str
    name: str


class Moss(TypedDict):
    id: str
    name: str


KINDS: Final[Mapping[str, tuple[Any, Any]]] = {
    "attrs": (Plant, Plant("7", "item 7")),
    "dataclass": (Tree, Tree("7", "item 7")),
    "TypedDict": (Moss, {"id": "7", "name": "item 7"}),
    "dict": (dict, {"id": "7", "name": "item 7"}),
}


@pytest.mark.parametrize(("kind", "seventh"), KINDS.values(), ids=KINDS)
async def test_a_collection_that_is_not_known_is_walked_like_any_other(
    client: Client, service: Timeline, kind: Any, seventh: Any
) -> None:
    def pager(**options: Any) -> Pager[Any]:
        return client.pages("GET", "/2/plants", item=kind, token_parameter="page", **options)

    assert (await pager().collect(limit=8))[7] == seventh
    assert service.asked == [None], "its bounds are not known"
    page = await pager()
    assert (await pager(start=page.position_at(6)).collect(limit=1)) == [seventh]
    assert page.to_dict()["data"][7] == {"id": "7", "name": "item 7"}
    table = (await pager(params={"count": 100}).to_arrow(limit=120)).to_pylist()
    row = table[7]
    assert len(table) == 120
    assert (json.loads(row["item"]) if kind is dict else row) == {"id": "7", "name": "item 7"}


@pytest.mark.parametrize(("kind", "seventh"), KINDS.values(), ids=KINDS)
async def test_an_answer_of_an_unknown_endpoint_is_read_as_the_type_that_is_asked_for(kind: Any, seventh: Any) -> None:
    item = {"id": 7, "name": "item 7", "grown": True}
    replies = [
        answer({"data": item}),
        answer(item),
        answer({"data": [item, item]}),
        answer({"data": [item], "meta": {}}),
    ]
    async with Server(*replies) as server, client_of(server) as client:
        found = [await client.request("GET", "/2/plants/7", result=kind) for _ in range(2)]
        listed = await client.request("GET", "/2/plants", result=list[kind])
        page = await client.request("GET", "/2/plants", result=Page[kind])
    shown = [
        each if isinstance(each, dict) else {"id": each.id, "name": each.name} for each in (*found, *listed, *page)
    ]
    assert [each["name"] for each in shown] == ["item 7"] * 5
    assert isinstance(found[0], dict if kind is Moss else kind)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"id": "7"}, "data.name: is missing"),
        ({"id": "7", "name": None}, "data.name: is empty"),
        ({"id": {"private": 1}, "name": "x"}, "data.id: "),
        (None, "data: expected an object"),
        ("private", "data: "),
    ],
)
@pytest.mark.parametrize("kind", [Plant, Tree])
async def test_an_answer_of_another_shape_is_named_without_its_values(kind: Any, data: Any, says: str) -> None:
    async with Server(answer({"data": data})) as server, client_of(server) as client:
        with pytest.raises(DecodeError) as raised:
            await client.request("GET", "/2/plants/7", result=kind)
    assert says in str(raised.value)
    assert "private" not in str(raised.value)


@pytest.mark.parametrize("kind", [7, "Plant", object, Page, int | str | bytes])
async def test_what_no_answer_can_be_read_as_is_refused_before_a_request(
    client: Client, service: Timeline, kind: Any
) -> None:
    with pytest.raises(InvalidInput, match="must be an attrs class, a dataclass, a TypedDict, dict, or a list or Page"):
        await client.request("POST", "/2/plants", result=kind)
    with pytest.raises(InvalidInput, match="item must be"):
        client.pages("GET", "/2/plants", item=kind)
    with pytest.raises(InvalidInput, match="pages are read with GET"):
        client.pages("POST", "/2/plants", item=dict)  # type: ignore[arg-type]
    assert service.asked == []


# What came back ------------------------------------------------------------------------------------------------------


async def test_every_attempt_is_told_with_its_answer_and_without_secrets() -> None:
    told: list[ReplyInfo] = []
    replies = [
        answer({"errors": []}, status=503, Retry_After="0"),
        answer({"data": []}, X_Request_Id="r-2"),
        answer({"title": "no"}, status=404),
    ]
    async with Server(*replies) as server, client_of(server, options={"on_reply": told.append}) as client:
        await client.request("GET", "/2/plants/ada", params={"email": "ada@example.com"})
        with pytest.raises(ApiError):
            await client.with_options(retries=0).request("GET", "/2/users/ada")
    assert [(each.method, each.path, each.status, each.attempt) for each in told] == [
        ("GET", "/2/plants/ada", 503, 1),
        ("GET", "/2/plants/ada", 200, 2),
        ("GET", "/2/users/ada", 404, 1),
    ]
    assert told[1].request_id == told[1].headers["x-request-id"] == "r-2"
    assert all(each.seconds > 0 for each in told)
    assert "ada@example.com" not in repr(told)
    assert "users/ada" not in repr(told[2])


async def test_no_answer_is_told_as_well_and_token_requests_without_headers() -> None:
    told: list[ReplyInfo] = []

    replies: list[Step] = [answer({"token_type": "bearer", "access_token": "T"}, X_Token="secret"), Fault.RESET]
    async with Server(*replies) as server:
        credentials = (AppOnly("k", "s"),)
        async with client_of(server, credentials=credentials, options={"on_reply": told.append}) as client:
            with pytest.raises(OutcomeUnknown):
                await client.with_options(retries=0).request("DELETE", "/2/plants/7")
    assert [(each.path, each.status, dict(each.headers)) for each in told] == [
        ("/oauth2/token", 200, {}),
        ("/2/plants/7", None, {}),
    ]


async def test_what_the_function_raises_is_logged_once_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_: ReplyInfo) -> None:
        raise ValueError("broken")

    async with Server(then=Timeline()) as server, client_of(server, options={"on_reply": fails}) as client:
        assert await collected(client.posts.by_user("1")) == POSTS
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "on_reply raised an error; calls continue, and its further errors are not logged"
    ]


# In a REPL -----------------------------------------------------------------------------------------------------------


async def test_objects_say_what_they_are(client: Client) -> None:
    page = await client.posts.by_user("1")
    assert (len(page), page[0].id, page[-1].id, [post.id for post in page[2:4]]) == (10, "0", "9", ["2", "3"])
    assert repr(page[0]) == "Post(id='0')"
    host = client.config.base_url.removeprefix("http://")
    assert repr(client) == f"<socialapi.Client of {host}>"
    assert repr(client.ads.account("18ce5").custom_audience("4f2a")) == (
        f"<CustomAudience account_id='18ce5' custom_audience_id='4f2a' at {host}>"
    )


@pytest.mark.parametrize(
    ("forgets", "says"),
    [
        ("await", "coroutine 'socialapi.Posts.lookup' was never awaited"),
        ("aclose", "was never closed: use `async with Client(…) as client:`, or `await client.aclose()`"),
    ],
)
def test_what_is_forgotten_is_warned_of_with_the_name_of_the_package(forgets: str, says: str) -> None:
    async def careless() -> None:
        async with Server(then=Timeline()) as server:
            client = client_of(server)
            await client.posts.by_user("1")
            if forgets == "await":
                client.posts.lookup(["1"])  # type: ignore[unused-coroutine]
                await client.aclose()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(careless())
        gc.collect()
    assert any(says in str(each.message) and "socialapi" in str(each.message) for each in caught)
