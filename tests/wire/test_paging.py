"""Reading pages, and asking for the next one."""

from typing import Any

import pytest

from socialapi.errors import DecodeError, InvalidInput
from socialapi.models.accounts import AccountsQuery
from socialapi.models.audience_permissions import AudiencePermissionsQuery
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.problems import ResourceNotFound, ServiceError
from socialapi.routes.route import ADS, PLATFORM
from socialapi.wire.paging import Position, Split, is_paged, page_query, read_page, split_of

PLATFORM_PAGE = {
    "data": [
        {"id": "1", "text": "one", "author_id": "7", "attachments": {"media_keys": ["m2", "m1"]}},
        {"id": "2", "text": "two", "author_id": "8", "referenced_tweets": [{"type": "replied_to", "id": "1"}]},
    ],
    "includes": {
        "users": [{"id": "7", "name": "Ada", "username": "ada"}],
        "media": [{"media_key": "m1", "type": "photo"}, {"media_key": "m2", "type": "video", "duration_ms": 900}],
        "tweets": [{"id": "1", "text": "one"}],
        "spaces": [{"id": "s"}],
    },
    "meta": {"result_count": 2, "next_token": "n", "previous_token": "p", "newest_id": "2"},
    "errors": [
        {"type": "https://example.org/problems/resource-not-found", "title": "Not Found", "parameter": "ids",
         "value": "3", "resource_id": "3", "resource_type": "tweet"},
        {"code": 17, "message": "gone"},
    ],
}  # fmt: skip


def test_a_platform_page_keeps_everything_that_came_with_the_items() -> None:
    page = read_page(Page[Post], PLATFORM_PAGE)
    assert [post.id for post in page.data] == ["1", "2"]
    assert (page.next_token, page.previous_token, page.result_count) == ("n", "p", 2)
    assert page.meta["newest_id"] == "2"
    problem, coded = page.errors
    assert isinstance(problem, ResourceNotFound)
    assert (problem.resource_id, problem.parameter) == ("3", "ids")
    assert coded == ServiceError(code=17, message="gone")


def test_included_objects_are_joined_back_by_id_and_key() -> None:
    page = read_page(Page[Post], PLATFORM_PAGE)
    first, second = page.data
    author = page.includes.author(first)
    assert author is not None
    assert author.username == "ada"
    assert page.includes.author(second) is None
    assert [each.media_key for each in page.includes.media(first)] == ["m2", "m1"]
    assert page.includes.media(second) == ()
    assert [post.text for post in page.includes.referenced(second)] == ["one"]
    assert page.includes.extra == {"spaces": [{"id": "s"}]}


def test_an_advertising_page_has_its_cursor_and_total_count_beside_the_data() -> None:
    page = read_page(Page[Post], {"data": [], "next_cursor": "c", "total_count": 7, "request": {"params": {}}})
    assert (page.data, page.next_token, page.total_count) == ((), "c", 7)
    assert read_page(Page[Post], {"data": [], "next_cursor": None}).next_token is None


def test_an_advertising_page_says_what_it_was_asked_for() -> None:
    page = read_page(Page[Post], {"data": [], "request": {"params": {"count": 5, "new": [1]}}})
    assert page.params == {"count": 5, "new": [1]}
    odd_ones: tuple[dict[str, Any], ...] = ({}, {"request": None}, {"request": []}, {"request": {"params": "x"}})
    for odd in odd_ones:
        assert read_page(Page[Post], {"data": [], **odd}).params == {}


@pytest.mark.parametrize("count", ["7", 7.0, True, None])
def test_a_total_count_that_is_no_whole_number_is_left_out(count: object) -> None:
    assert read_page(Page[Post], {"data": [], "total_count": count}).total_count is None


def test_a_page_without_data_is_an_empty_one() -> None:
    assert read_page(Page[Post], {"meta": {"result_count": 0}}).data == ()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"data": [{"id": "1"}, {"id": 2}]}, "data[1].id"),
        ({"data": {"id": "1"}}, "data"),
        ({"data": [], "includes": {"users": [{"name": "x"}]}}, "includes.users[0].id"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(body: dict[str, object], path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_page(Page[Post], body)
    assert caught.value.path == path


def test_later_pages_carry_the_token_and_nothing_it_cannot_go_with() -> None:
    query = {"count": 5, "with_total_count": True}
    assert page_query(ADS, query, None) == query
    assert page_query(ADS, query, "c") == {"count": 5, "cursor": "c"}
    assert page_query(PLATFORM, {"max_results": 5}, "t") == {"max_results": 5, "pagination_token": "t"}


def test_a_position_is_the_page_and_the_items_behind() -> None:
    assert str(Position("a:b", 3, "i@:d")) == "3@i%40%3Ad:a:b"
    for position in (Position("a:b", 3, "i@:d"), Position("t", 1), Position(), Position(None, 2, "x")):
        assert Position.read(str(position)) == position


def test_a_place_is_found_again_by_the_id_of_the_item_before_it() -> None:
    stored = Position(None, 2, "5")
    grown = [Post(id=str(number)) for number in (8, 7, 6, 5, 4)]
    assert stored.skip(grown) == (4, Position())
    assert stored.skip([Post(id="9"), Post(id="8"), Post(id="7")]) == (2, Position()), "gone: the number stands in"
    assert stored.skip([Post(id="9")]) == (1, Position(None, 1, "5")), "smaller pages: the rest is behind on the next"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "data"),
        ({"data": [], "meta": {"next_token": 7}}, "meta.next_token"),
        ({"data": [], "meta": [1]}, "meta"),
        ({"data": ""}, "data"),
    ],
)
def test_what_is_no_page_never_looks_like_the_last_one(body: dict[str, object], path: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read_page(Page[Post], body)
    assert caught.value.path == path


def test_a_route_is_paged_when_its_result_is_a_page() -> None:
    assert is_paged(Page[Post])
    assert not is_paged(Post)


# Filters of more ids than a request takes


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"a{number}" for number in range(count))


@pytest.mark.parametrize("count", [1, 199, 200])
def test_up_to_200_ids_are_asked_for_at_once(count: int) -> None:
    assert split_of(AccountsQuery, {"account_ids": ids(count)}) is None


@pytest.mark.parametrize(("count", "sizes"), [(201, [200, 1]), (400, [200, 200]), (401, [200, 200, 1])])
def test_more_ids_are_asked_for_in_parts(count: int, sizes: list[int]) -> None:
    for given in (ids(count), list(ids(count))):
        split = split_of(AccountsQuery, {"account_ids": given, "q": "x"})
        assert split is not None
        assert split.parameter == "account_ids"
        assert [len(part) for part in split.parts] == sizes
        assert [each for part in split.parts for each in part] == list(ids(count))


def test_an_id_that_is_given_twice_is_asked_for_once() -> None:
    split = split_of(AccountsQuery, {"account_ids": ids(150) * 2})
    assert split is not None
    assert split.parts == (ids(150),)


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ({"tailored_audience_permission_ids": ids(201)}, "tailored_audience_permission_ids"),
        ({"with_total_count": True}, "with_total_count"),
        ({"cursor": "c"}, "cursor"),
    ],
)
def test_what_cannot_be_put_together_is_refused(query: dict[str, object], other: str) -> None:
    asked = {"granted_account_ids": ids(201), **query}
    says = f"granted_account_ids has more than 200 ids, which does not go with {other}: ask in several calls"
    with pytest.raises(InvalidInput, match=says):
        split_of(AudiencePermissionsQuery, asked)


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


def test_the_place_in_a_part_survives_being_stored() -> None:
    page: Page[Post] = Page(data=(Post(id="1"), Post(id="2")), next_token="1~c:d")
    for token, index in (("1~x:y", 0), ("0~", 1), (None, 0)):
        position = Position.behind(token, page, index)
        assert Position.read(str(position)) == position


@pytest.mark.parametrize("token", ["3~", "x", "x~", "-1~", "~", "¹~"])
def test_a_position_in_another_collection_is_refused(token: str) -> None:
    with pytest.raises(InvalidInput, match="start is a position in another collection"):
        PARTS.ask({}, token)
