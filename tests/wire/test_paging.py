"""Reading pages, and asking for the next one."""

import datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialapi.config import Config
from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.accounts import AccountsQuery, HistoryEntry
from socialapi.models.audiences import AudiencePermissionsQuery, TargetingCampaign
from socialapi.models.content import Note
from socialapi.models.pages import Page
from socialapi.models.posts import Media, Post
from socialapi.routes.ads import ACCOUNTS
from socialapi.routes.catalogs import PRODUCTS
from socialapi.routes.creatives import CARDS
from socialapi.routes.platform import NEWS_SEARCH, USER_POSTS
from socialapi.routes.route import ADS, PLATFORM
from socialapi.wire.paging import (
    TOKENS_KEPT,
    Collection,
    PageOrigin,
    PageSizes,
    Position,
    ReadTokens,
    Split,
    page_query,
    read_page,
    split_of,
)
from socialapi.wire.request import Plan

WHEN = datetime.datetime(2026, 11, 24, tzinfo=datetime.UTC)


@pytest.mark.parametrize("count", ["seven", 7.5, True, None, [7, 8], {}])
def test_a_total_count_that_is_no_whole_number_is_left_out(count: object) -> None:
    assert read_page(Page[Post], {"data": [], "total_count": count}).total_count is None


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"data": [{"id": "1"}, {"id": True}, {"id": "3"}]}, "data[1].id"),
        ({"data": [{"id": "1"}, None, {"id": "3"}]}, "data[1]"),
        ({"data": [{"id": "1"}, 5, {"id": "3"}]}, "data[1]"),
        (
            {"data": [{"id": "1"}, {"id": "2", "entities": {"urls": [{}]}}, {"id": "3"}]},
            "data[1].entities.urls[0].start",
        ),
        ({"data": [{"id": "1"}, {"id": "3"}], "includes": {"users": [{"name": "x"}]}}, "includes.users[0].id"),
        ({"data": [{"id": "1"}, {"id": "3"}], "includes": {"media": [{}]}}, "includes.media[0].media_key"),
        ({"data": [{"id": "1"}, {"id": "3"}], "includes": "no"}, "includes"),
    ],
)
def test_what_cannot_be_read_is_set_aside_with_its_path_and_costs_nothing_else(body: dict[str, Any], path: str) -> None:
    page = read_page(Page[Post], body)
    (odd,) = page.undecoded
    assert odd.path == path
    assert [post.id for post in page.data] == ["1", "3"]
    found = body["data"][1] if path.startswith("data") else body["includes"]
    assert odd.raw == (
        found if path in ("data[1]", "includes") or path.startswith("data") else next(iter(found.values()))[0]
    )


def test_included_objects_beside_one_that_cannot_be_read_are_joined_as_ever() -> None:
    page = read_page(
        Page[Post],
        {"data": [{"id": "1", "author_id": "7"}], "includes": {"users": [{}, {"id": 7}], "spaces": [{"id": "s"}]}},
    )
    author = page.includes.author(page.data[0])
    assert author is not None
    assert author.id == "7"
    assert page.includes.extra == {"spaces": [{"id": "s"}]}


@pytest.mark.parametrize(
    "body",
    [
        {"data": {"id": "1"}},
        {"data": [{"id": 1}]},
        [{"id": "1"}],
        {"rules": [{"id": "1"}]},
        {"data": {"posts": [{"id": "1"}]}, "meta": []},
    ],
)
def test_one_item_is_a_page_of_one_and_items_may_stand_below_a_name_of_their_own(body: Any) -> None:
    assert [post.id for post in read_page(Page[Post], body).data] == ["1"]


def test_a_position_counts_the_items_that_cannot_be_read() -> None:
    page = read_page(Page[Post], {"data": [{"id": "0"}, {"id": True}, {"id": "2"}, None, {"id": "4"}, {}]})
    assert [post.id for post in page.data] == ["0", "2", "4"]
    taken = [Position.behind(page, index).taken for index in range(3)]
    assert taken == [1, 3, 6], "behind the last one that can be read is behind them all"
    assert [page.index_after(arrived) for arrived in range(7)] == [0, 1, 1, 2, 2, 3, 3]
    for arrived, place in ((3, 2), (6, 3), (2, 1)):
        assert Position(None, arrived).find([page]) == (0, place)


def test_later_pages_carry_the_token_and_nothing_it_cannot_go_with() -> None:
    query = {"count": 5, "with_total_count": True}
    assert page_query(ADS, query, None) == query
    assert page_query(ADS, query, "c") == {"count": 5, "cursor": "c"}
    assert page_query(PLATFORM, {"max_results": 5}, "t") == {"max_results": 5, "pagination_token": "t"}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4))
def test_the_request_of_every_later_page_is_the_first_one_with_its_token(tokens: list[str]) -> None:
    target = USER_POSTS.at(id="12")
    collection = Collection.of(target, {"max_results": 5, "pagination_token": "own", "tweet.fields": ["id"]}, None)
    plan = Plan(target.route, Config(base_url="https://[::1]:8443"))

    def query_of(token: str | None) -> dict[str, str]:
        parts = urlsplit(collection.request(plan, token, None, lambda: WHEN).url)
        assert (parts.netloc, parts.path) == ("[::1]:8443", "/2/users/12/tweets")
        return dict(parse_qsl(parts.query, strict_parsing=True))

    first = query_of(None)
    assert first == {"max_results": "5", "pagination_token": "own", "tweet.fields": "id"}
    for token in tokens:
        assert query_of(token) == first | {"pagination_token": token}


def test_a_position_is_the_page_and_the_items_behind() -> None:
    assert str(Position("a:b", 3, ("i@:d", "e,f"))) == "3@i%40%3Ad,e%2Cf:a:b"
    for position in (Position("a:b", 3, ("i@:d", ",")), Position("t", 1), Position(), Position(None, 2, ("x",))):
        assert Position.read(str(position)) == position


def posts(*numbers: int) -> Page[Post]:
    return Page(data=tuple(Post(id=str(number)) for number in numbers))


def walked(page: Page[Post], token: str | None) -> Page[Post]:
    page._origin = PageOrigin(token)
    return page


def test_a_place_names_up_to_eight_items_the_latest_first() -> None:
    page = walked(attrs.evolve(posts(*range(20)), next_token="n"), "t")
    assert Position.behind(page, 1) == Position("t", 2, ("1", "0"))
    assert Position.behind(page, 11) == Position("t", 12, ("11", "10", "9", "8", "7", "6", "5", "4"))
    assert Position.behind(page, 19) == Position("n")
    assert Position.behind(walked(posts(1), "t"), 0) == Position("t", 1, ("1",))


def test_a_place_is_behind_the_nearest_item_that_is_still_there() -> None:
    stored = Position(None, 4, ("5", "6", "7"))
    assert stored.find([posts(8, 7, 6, 5, 4)]) == (0, 4)
    assert stored.find([posts(8, 7, 6, 4)]) == (0, 3)
    assert stored.find([posts(7, 4)]) == (0, 1)
    assert stored.find([posts(9, 8, 4)]) == (0, 0), "none is there: from the start"
    assert stored.find([posts(8, 7), posts(6, 5), posts(4)]) == (1, 2)
    assert stored.find([posts(8, 7), posts(6, 4)]) == (1, 1)
    assert stored.is_on(posts(6, 5))
    assert not stored.is_on(posts(7, 6))


def test_where_items_have_no_ids_the_number_decides() -> None:
    for after, pages, place in (
        (2, [posts(9, 8, 7)], (0, 2)),
        (2, [posts(9)], (0, 1)),
        (4, [posts(9), posts(8, 7), posts(6, 5)], (2, 1)),
    ):
        assert Position(None, after).find(pages) == place
    assert not Position(None, 1).is_on(posts(9))


@pytest.mark.parametrize(
    ("route", "sizes"),
    [
        (USER_POSTS, PageSizes("max_results", 5, 100, grows=True)),
        (ACCOUNTS, PageSizes("count", 1, 1_000, grows=False)),
        (CARDS, PageSizes("count", 1, 200, grows=False)),
        (PRODUCTS, PageSizes("count", 1, 100, grows=False)),
        (NEWS_SEARCH, None),
    ],
    ids=["posts", "accounts", "cards", "products", "without bounds"],
)
def test_a_walk_knows_the_bounds_of_its_pages(route: Any, sizes: PageSizes | None) -> None:
    assert PageSizes.of(route.family, route.query, {}) == sizes
    for name in ("max_results", "count"):
        assert PageSizes.of(route.family, route.query, {name: 7}) in (None, sizes)
    assert sizes is None or PageSizes.of(route.family, route.query, {sizes.parameter: 7}) is None


def test_an_item_is_known_by_the_field_that_says_so_or_else_by_its_id() -> None:
    items: list[tuple[Any, tuple[str, ...]]] = [
        (TargetingCampaign(campaign_id="c"), ("c",)),
        (Media(media_key="m"), ("m",)),
        (Post(id="p"), ("p",)),
        (Note(), ()),
        (HistoryEntry(entity_id="e"), ()),
        ("text", ()),
    ]
    for item, after in items:
        assert Position.behind(Page(data=(item,)), 0) == Position(None, 1, after)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "data"),
        ("a page", ""),
        ({"data": [], "meta": {"next_token": True}}, "meta.next_token"),
        ({"data": [], "meta": [1]}, "meta"),
        ({"data": [], "meta": "none"}, "meta"),
        ({"data": ""}, "data"),
        ({"data": 5}, "data"),
        ({"data": [], "errors": {"code": 1}}, "errors"),
        ({"data": [], "errors": "none"}, "errors"),
        ({"data": [], "next_cursor": 7.5}, "next_cursor"),
        ({"data": [], "meta": {}, "next_cursor": ["c", "d"]}, "next_cursor"),
        ({"posts": [], "users": []}, "data"),
    ],
)
def test_what_is_no_page_never_looks_like_the_last_one(body: dict[str, object], path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_page(Page[Post], body)
    assert caught.value.path == path


# Filters of more ids than a request takes


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"a{number}" for number in range(count))


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ({"tailored_audience_permission_ids": ids(201)}, "tailored_audience_permission_ids"),
        ({"with_total_count": True}, "with_total_count"),
        ({"cursor": "c"}, "cursor"),
        ({"sort_by": "created_at-asc"}, "sort_by"),
    ],
)
def test_what_cannot_be_put_together_is_refused(query: dict[str, object], other: str) -> None:
    asked = {"granted_account_ids": ids(201), **query}
    says = f"granted_account_ids has more than 200 ids, which cannot be combined with {other}: make several calls"
    with pytest.raises(InvalidInput, match=says):
        split_of(AudiencePermissionsQuery, asked)


@pytest.mark.parametrize("odd", [["a"], {}, None, 5, "", "a,b"])
def test_what_is_no_id_is_refused_before_it_is_split(odd: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        split_of(AccountsQuery, {"account_ids": (*ids(200), odd)})
    assert [rule.path for rule in caught.value.broken_rules] == ["account_ids[200]"]


def test_a_second_filter_that_is_short_goes_with_every_part() -> None:
    asked = {"granted_account_ids": ids(201), "tailored_audience_permission_ids": ids(200), "with_total_count": False}
    split = split_of(AudiencePermissionsQuery, asked)
    assert split is not None
    query, _ = split.ask(asked, "1~")
    assert query == asked | {"granted_account_ids": ("a200",)}


@pytest.mark.parametrize("declared", [None, AccountsQuery])
def test_other_queries_are_not_split(declared: object) -> None:
    assert split_of(declared, {"account_ids": 5, "q": "x" * 300}) is None
    assert split_of(declared, {}) is None


PARTS = Split("account_ids", (("a", "b"), ("c",), ("d",)))


def test_the_parts_are_walked_through_one_after_another() -> None:
    assert PARTS.ask({"count": 5}, None) == ({"count": 5, "account_ids": ("a", "b")}, None)
    assert PARTS.ask({}, "0~cur~sor") == ({"account_ids": ("a", "b")}, "cur~sor")
    assert PARTS.ask({}, "2~") == ({"account_ids": ("d",)}, None)

    def following(token: str | None, cursor: str | None) -> str | None:
        page: Page[Post] = Page(next_token=cursor)
        return PARTS.answer(page, token).next_token

    assert following(None, "c") == "0~c"
    assert following("0~c", None) == "1~"
    assert following("1~", "c:d") == "1~c:d"
    assert following("1~c:d", None) == "2~"
    assert following("2~", None) is None


@pytest.mark.parametrize("token", ["3~", "x", "x~", "-1~", "~", "¹~"])
def test_a_position_in_another_collection_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="start is a position in another collection"):
        PARTS.ask({}, token)


def test_of_a_long_walk_a_thousand_tokens_are_remembered() -> None:
    read = ReadTokens(None)
    assert not any(read.repeats(str(page)) for page in range(100_000))
    assert len(read) == TOKENS_KEPT + 1
    assert read.repeats("99000")
