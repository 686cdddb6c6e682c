"""Posts: looked up, read page by page, created."""

from typing import Any

import pytest

from socialapi import Client, Fields, errors
from socialapi.emulator import Emulator
from socialapi.problems import ResourceNotFound
from socialapi.types import MediaVariant
from tests.emulator.asking import Asker
from tests.support.clients import client_of
from tests.support.server import Received, Server, answer


async def written(client: Client, service: Emulator, text: str) -> str:
    """The id of a post of the seed data by a part of its text."""
    page = await client.posts.lookup(service.seed["post_ids"][:20])
    return next(post.id for post in page.data if text in (post.text or ""))


# Looking up


async def test_what_several_requests_include_stands_there_once(client: Client, service: Emulator) -> None:
    ids = [*service.seed["post_ids"][:249], "17"]
    fields = Fields(
        post=["author_id", "attachments", "referenced_tweets"], expansions=["author_id", "attachments.media_keys"]
    )
    page = await client.posts.lookup(ids, fields=fields)
    authors = [user.id for user in page.includes.users]
    keys = [media.media_key for media in page.includes.all_media]
    assert len(authors) == len(set(authors)) > 1
    assert len(keys) == len(set(keys)) > 1
    for post in page.data:
        author = page.includes.author(post)
        assert author is not None
        assert author.id == post.author_id
        assert [media.media_key for media in page.includes.media(post)] == list(
            post.attachments.media_keys if post.attachments else ()
        )
    (lost,) = page.errors
    assert isinstance(lost, ResourceNotFound)
    assert lost.resource_id == "17"


async def test_included_objects_are_joined_back(client: Client, service: Emulator) -> None:
    film = await written(client, service, "Ninety seconds")
    answered = await written(client, service, "A little: take the larger one")
    lost = await written(client, service, "aged well")
    page = await client.posts.lookup(
        [film, answered, lost],
        fields=Fields(
            post=["author_id", "attachments", "referenced_tweets", "created_at", "public_metrics", "entities"],
            user=["verified", "public_metrics"],
            media=["variants", "duration_ms", "public_metrics"],
            expansions=["author_id", "attachments.media_keys", "referenced_tweets.id"],
        ),
    )
    first, second, third = page.data
    (video,) = page.includes.media(first)
    assert (video.type, type(video.duration_ms), type(video.variants[0])) == ("video", int, MediaVariant)
    author = page.includes.author(first)
    assert author is not None
    assert (author.username, author.verified) == ("northwind", True)
    (original,) = page.includes.referenced(second)
    assert second.referenced_tweets[0].type == "replied_to"
    assert original.text is not None
    assert "Ridgeline" in original.text
    assert second.entities is not None
    assert second.entities.mentions[0].username == "ada_lindqvist"
    # What is quoted no longer exists: it is named among the problems and left out here.
    assert page.includes.referenced(third) == ()
    assert [each.resource_id for each in page.errors if isinstance(each, ResourceNotFound)] == ["1000000000000000001"]


async def test_only_the_default_fields_come_unasked(client: Client, service: Emulator) -> None:
    page = await client.posts.lookup(service.seed["post_ids"][0])
    (post,) = page.data
    assert post.text
    assert (post.author_id, post.created_at, post.public_metrics, post.extra) == (None, None, None, {})
    assert (page.includes.users, page.includes.tweets, page.includes.all_media) == ((), (), ())


async def test_a_part_in_which_nothing_exists_does_not_cost_the_other_parts(client: Client, service: Emulator) -> None:
    known = list(service.seed["post_ids"][:100])
    unknown = [str(number) for number in range(1, 101)]
    for ids in (known + unknown, unknown + known):
        page = await client.posts.lookup(ids)
        assert [post.id for post in page.data] == known
        assert [each.value for each in page.errors if isinstance(each, ResourceNotFound)] == unknown


async def test_a_lookup_that_finds_nothing_raises_with_all_problems(client: Client) -> None:
    for count in (2, 150):
        ids = [str(number) for number in range(1, count + 1)]
        with pytest.raises(errors.ApiError) as caught:
            await client.posts.lookup(ids)
        assert caught.value.status == 200
        assert [each.value for each in caught.value.problems if isinstance(each, ResourceNotFound)] == ids


async def test_a_refusal_of_one_part_is_not_taken_for_an_empty_one(service: Emulator) -> None:
    ids = service.seed["post_ids"]
    async with Client(service.config, service.credentials) as client:
        view = client.with_options(retries=0)
        service.faults.add("status", method="GET", path="/2/tweets", status=403, times=1)
        with pytest.raises(errors.Forbidden):
            await view.posts.lookup(ids)


async def test_parts_are_put_together_with_all_that_came_beside_them() -> None:
    """Kinds of objects that this version does not know are kept as well."""

    async def respond(received: Received) -> bytes:
        first = "ids=1" in received.path and "101" not in received.path
        post = {"id": "1" if first else "101", "text": "x", "colour": "blue"}
        spaces = [{"id": "s"}] if first else [{"id": "s"}, {"id": "t"}]
        return answer(
            {
                "data": [post],
                "includes": {
                    "spaces": spaces,
                    "odd": 1 if first else [2],
                    "polls": [{"id": "p", "options": []}],
                    "places": [{"id": "q", "country": "IT"}],
                },
                "meta": {"result_count": 1, "seen": first},
            }
        )

    async with Server(then=respond) as server, client_of(server) as client:
        page = await client.posts.lookup([str(number) for number in range(1, 102)])
    assert [post.extra for post in page.data] == [{"colour": "blue"}] * 2
    assert page.includes.extra == {"spaces": [{"id": "s"}, {"id": "t"}], "odd": [2]}
    assert [poll.extra for poll in page.includes.polls] == [{"options": []}]
    assert [place.extra for place in page.includes.places] == [{"country": "IT"}]
    assert page.meta == {"result_count": 2, "seen": False}


async def test_posts_come_in_the_order_of_their_ids_whatever_the_order_of_the_answer() -> None:
    body = {"data": [{"id": each, "text": each} for each in ("3", "1", "unasked", "2")]}
    async with Server(then=answer(body)) as server, client_of(server) as client:
        page = await client.posts.lookup(["1", "2", "3"])
    assert [post.id for post in page.data] == ["1", "2", "3", "unasked"]


# A user's posts


@pytest.fixture
def northwind(service: Emulator) -> str:
    return service.seed["user_ids"][0]


async def test_fields_are_asked_for_on_every_page(client: Client, northwind: str) -> None:
    fields = Fields(post=["created_at", "author_id"], expansions=["author_id"])
    pages = client.posts.by_user(northwind, max_results=5, fields=fields).pages()
    for _ in range(3):
        page = await anext(pages)
        for post in page.data:
            assert post.created_at is not None
            assert post.created_at.tzinfo is not None
            assert page.includes.author(post) is not None
    await pages.aclose()


# Creating


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"start_time": "2024-05-01"}, "start_time: has no time zone"),
        ({"since_id": "x"}, "since_id: must be 1 to 19 digits"),
        ({"exclude": ["likes"]}, r"exclude\[0\]: must be one of replies, retweets"),
    ],
)
async def test_a_wrong_choice_of_posts_is_refused_before_it_is_sent(
    client: Client, service: Emulator, arguments: dict[str, Any], rule: str
) -> None:
    with pytest.raises(errors.InvalidInput, match=rule):
        await client.posts.by_user("17", **arguments)
    assert not service.requests


async def test_bookkeeping_of_parts_is_the_same_without_the_sdk(raw: Asker) -> None:
    """What the SDK puts together of three requests is what three requests answer."""
    ids = raw.emulator.seed["post_ids"]
    parts = [(await raw.get("/2/tweets", ids=",".join(ids[at : at + 100]))).data for at in (0, 100, 200)]
    async with Client(raw.emulator.config, raw.emulator.credentials) as client:
        page = await client.posts.lookup(ids)
    assert [{"id": post.id, "text": post.text} for post in page.data] == [post for part in parts for post in part]
