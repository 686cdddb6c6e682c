"""Reading pages, and asking for the next one."""

import pytest

from socialapi.errors import DecodeError
from socialapi.models.pages import Page
from socialapi.models.posts import Post
from socialapi.problems import ResourceNotFound, ServiceError
from socialapi.routes.route import ADS, PLATFORM
from socialapi.wire.paging import Position, is_paged, page_query, read_page

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
