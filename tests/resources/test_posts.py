"""Posts: looked up, read page by page, created."""

import asyncio
import datetime
from collections.abc import AsyncIterator
from typing import Any

import pytest

from socialapi import Client, Fields, errors
from socialapi.emulator import Emulator
from socialapi.problems import NotAuthorizedForResource, ResourceNotFound
from socialapi.types import EditOptions, MediaVariant, PostDraft, PostGeo, PostMedia, PostPoll, PostReply
from tests.emulator.asking import Asker
from tests.support.clients import client_of
from tests.support.clock import VirtualClock
from tests.support.server import Received, Server, answer

TIMELINE = "GET /2/users/{id}/tweets"


def asked(service: Emulator, path: str = "/2/tweets") -> int:
    return sum(record.path == path for record in service.requests)


async def written(client: Client, service: Emulator, text: str) -> str:
    """The id of a post of the seed data by a part of its text."""
    page = await client.posts.lookup(service.seed["post_ids"][:20])
    return next(post.id for post in page.data if text in (post.text or ""))


# Looking up


async def test_250_ids_are_asked_for_in_three_requests_and_come_in_order(client: Client, service: Emulator) -> None:
    ids = list(reversed(service.seed["post_ids"]))
    assert len(ids) == 250
    page = await client.posts.lookup(ids)
    assert [post.id for post in page.data] == ids
    assert (page.result_count, page.next_token, page.errors) == (250, None, ())
    assert asked(service) == 3


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


async def test_an_id_that_is_given_twice_is_asked_for_once(client: Client, service: Emulator) -> None:
    ids = list(service.seed["post_ids"][:100])
    page = await client.posts.lookup([*ids, *ids])
    assert [post.id for post in page.data] == ids
    assert asked(service) == 1


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


async def test_protected_posts_are_problems(client: Client, service: Emulator) -> None:
    (private,) = [
        post.id
        for user in service.state.users.values()
        if user.profile["protected"]
        for post in service.state.platform.posts.known(service.state.platform.posts.timeline(user.id)[:1])
    ]
    page = await client.posts.lookup([private, service.seed["post_ids"][0]])
    (problem,) = page.errors
    assert isinstance(problem, NotAuthorizedForResource)
    assert (problem.resource_id, problem.section, problem.parameter) == (private, "data", "ids")


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


async def test_a_timeline_is_read_page_by_page(client: Client, service: Emulator, northwind: str) -> None:
    pages = []
    async for page in client.posts.by_user(northwind, max_results=5).pages():
        pages.append(page)
        if len(pages) == 3:
            break
    first, second, _ = pages
    assert first.previous_token is None
    assert (first.result_count, len(first.data)) == (5, 5)
    assert second.previous_token is not None
    back = await client.posts.by_user(northwind, max_results=5, pagination_token=second.previous_token)
    assert back.data == first.data
    assert first.next_token is not None
    again = await client.posts.by_user(northwind, max_results=5, pagination_token=first.next_token)
    assert again.data == second.data
    ids = [int(post.id) for page in pages for post in page.data]
    assert ids == sorted(ids, reverse=True)
    assert asked(service, f"/2/users/{northwind}/tweets") <= 4 + 2


async def test_a_walk_goes_on_where_another_one_stopped(client: Client, northwind: str) -> None:
    whole = [post.id for post in await client.posts.by_user(northwind, max_results=10).collect(limit=35)]
    pager = client.posts.by_user(northwind, max_results=10)
    read: list[str] = []
    async for post in pager:
        read.append(post.id)
        if len(read) == 17:
            break
    resumed = client.posts.by_user(northwind, max_results=10, start=pager.position)
    assert read + [post.id for post in await resumed.collect(limit=18)] == whole
    # Also by pages, and also if the page is awaited.
    rest = client.posts.by_user(northwind, max_results=10, start=pager.position)
    page = await rest
    assert [post.id for post in page.data] == whole[17:20]
    after = client.posts.by_user(northwind, max_results=10, start=rest.position)
    assert [post.id for post in await after.collect(limit=15)] == whole[20:]


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


async def test_a_user_without_posts_and_one_who_does_not_exist(client: Client, service: Emulator) -> None:
    silent = service.seed["user_ids"][-1]
    assert await client.posts.by_user(silent).collect() == []
    with pytest.raises(errors.ApiError) as caught:
        await client.posts.by_user("17").collect()
    (problem,) = caught.value.problems
    assert isinstance(problem, ResourceNotFound)
    assert problem.resource_type == "user"


async def served(pages: dict[str, dict[str, Any]]) -> AsyncIterator[Client]:
    """A service that has these pages, by the token that is asked for."""

    async def respond(received: Received) -> bytes:
        token = received.path.partition("pagination_token=")[2].partition("&")[0]
        return answer(pages[token])

    async with Server(then=respond) as server, client_of(server) as client:
        yield client


async def test_a_page_without_posts_but_with_a_next_token_is_followed() -> None:
    pages: dict[str, dict[str, Any]] = {
        "": {"data": [{"id": "1", "text": "a"}], "meta": {"result_count": 1, "next_token": "b"}},
        "b": {"meta": {"result_count": 0, "next_token": "c"}},
        "c": {"data": [], "meta": {"result_count": 0, "next_token": "d"}},
        "d": {"data": [{"id": "2", "text": "b"}], "meta": {"result_count": 1}},
    }
    async for client in served(pages):
        assert [post.id async for post in client.posts.by_user("7")] == ["1", "2"]


@pytest.mark.parametrize("upcoming", ["b", "c"])
async def test_a_token_that_repeats_raises(upcoming: str) -> None:
    pages = {
        "": {"data": [{"id": "1", "text": "a"}], "meta": {"next_token": "b"}},
        "b": {"data": [{"id": "2", "text": "b"}], "meta": {"next_token": "c"}},
        "c": {"data": [{"id": "3", "text": "c"}], "meta": {"next_token": upcoming}},
    }
    async for client in served(pages):
        walk = aiter(client.posts.by_user("7"))
        assert [(await anext(walk)).id, (await anext(walk)).id] == ["1", "2"]
        with pytest.raises(errors.DecodeError, match=r"meta\.next_token: names a page that was read already"):
            await anext(walk)


async def test_50_pagers_at_once_share_a_limit_without_a_single_429() -> None:
    clock = VirtualClock()
    async with Emulator(clock=clock.time, rate_limits={TIMELINE: (40, 900.0)}) as service:
        user = service.seed["user_ids"][0]
        async with Client(service.config, service.credentials[:1], clock=clock) as client:
            # Time stands still while an answer is on its way.
            clock.busy = lambda: any(limit.in_flight for limit in client.limits.values())
            patient = client.with_options(max_wait_seconds=86_400.0)
            walks = (patient.posts.by_user(user, max_results=5).collect(limit=15) for _ in range(50))
            read = await asyncio.gather(*walks)
        assert len({tuple(post.id for post in posts) for posts in read}) == 1
        assert len(read[0]) == 15
        statuses = [record.status for record in service.requests if record.path.endswith("/tweets")]
    assert 429 not in statuses
    assert len(statuses) >= 150
    # Four windows at the least were waited for.
    assert clock.monotonic() >= 3 * 900


# Creating


async def test_a_post_is_created_with_all_that_it_can_have(client: Client, service: Emulator) -> None:
    quoted = service.seed["post_ids"][0]
    made = await client.posts.create(
        PostDraft(
            text="Grüße 🌊",
            community_id="17",
            share_with_followers=True,
            paid_partnership=True,
            quote_tweet_id=quoted,
            media=PostMedia(media_ids=(service.seed["media_keys"][0],)),
        )
    )
    fields = Fields(post=["community_id", "paid_partnership", "referenced_tweets", "attachments"])
    (post,) = (await client.posts.lookup([made.id], fields=fields)).data
    assert (post.text, post.community_id, post.paid_partnership) == ("Grüße 🌊", "17", True)
    assert [(each.type, each.id) for each in post.referenced_tweets] == [("quoted", quoted)]
    assert post.attachments is not None
    assert post.attachments.media_keys == (service.seed["media_keys"][0],)
    kept = service.state.platform.posts.get(made.id)
    assert kept is not None
    assert kept.shared_with_followers


async def test_an_own_post_is_answered(client: Client) -> None:
    first = await client.posts.create(PostDraft(text="One"))
    reply = PostReply(in_reply_to_tweet_id=first.id)
    second = await client.posts.create(PostDraft(text="Two", reply=reply))
    fields = Fields(post=["conversation_id", "in_reply_to_user_id", "referenced_tweets"])
    (post,) = (await client.posts.lookup(second.id, fields=fields)).data
    assert post.conversation_id == first.id
    assert post.referenced_tweets[0].type == "replied_to"


async def test_a_reply_to_somebody_who_did_not_ask_for_one_is_forbidden(client: Client, service: Emulator) -> None:
    other = await written(client, service, "Snow line falling")
    with pytest.raises(errors.Forbidden, match=r"replies through the API are restricted.*mention or a quote"):
        await client.posts.create(PostDraft(text="No", reply=PostReply(in_reply_to_tweet_id=other)))
    summoned = await written(client, service, "does the Ridgeline jacket run small")
    assert (await client.posts.create(PostDraft(text="Yes", reply=PostReply(in_reply_to_tweet_id=summoned)))).id


async def test_a_post_is_edited_within_the_hour_and_not_after(client: Client, service: Emulator) -> None:
    first = await client.posts.create(PostDraft(text="Tehcnology"))
    service.advance(3_600)
    edit = PostDraft(text="Technology", edit_options=EditOptions(previous_post_id=first.id))
    second = await client.posts.create(edit)
    (post,) = (
        await client.posts.lookup(second.id, fields=Fields(post=["edit_history_tweet_ids", "edit_controls"]))
    ).data
    assert post.edit_history_tweet_ids == (first.id, second.id)
    assert post.edit_controls is not None
    assert post.edit_controls.editable_until is not None
    service.advance(1)
    with pytest.raises(errors.Forbidden, match="cannot be edited: it was not created within the last hour"):
        await client.posts.create(PostDraft(text="Late", edit_options=EditOptions(previous_post_id=second.id)))
    somebody_elses = await written(client, service, "Snow line falling")
    with pytest.raises(errors.Forbidden, match="cannot be edited: it is somebody else's"):
        await client.posts.create(PostDraft(text="x", edit_options=EditOptions(previous_post_id=somebody_elses)))


async def test_an_app_cannot_create_posts(service: Emulator) -> None:
    async with Client(service.config, service.credentials[:1]) as client:
        with pytest.raises(errors.ConfigurationError):
            await client.posts.create(PostDraft(text="x"))
    assert not service.requests


async def test_what_is_not_known_here_is_sent_as_it_is(client: Client, service: Emulator) -> None:
    await client.posts.create(PostDraft(text="x", extra={"nullcast": True}))
    assert service.requests[-1].status == 201
    with pytest.raises(errors.ApiError, match="brand_new: is no field of a post"):
        await client.posts.create({"text": "x", "brand_new": 1})


async def test_lenient_fields_take_every_member_of_a_post() -> None:
    async with (
        Emulator(lenient_fields=True) as service,
        Client(service.config, service.credentials) as client,
    ):
        assert (await client.posts.create({"text": "x", "brand_new": 1})).id


async def test_a_post_has_a_poll_a_place_and_reply_settings(client: Client, service: Emulator) -> None:
    poll = PostPoll(options=("Yes", "No"), duration_minutes=60)
    place_id = next(iter(service.state.platform.places))
    draft = PostDraft(text="Well?", poll=poll, geo=PostGeo(place_id=place_id), reply_settings="mentionedUsers")
    made = await client.posts.create(draft)
    fields = Fields(
        post=["reply_settings"], poll=["voting_status"], expansions=["attachments.poll_ids", "geo.place_id"]
    )
    page = await client.posts.lookup(made.id, fields=fields)
    assert page.data[0].extra["reply_settings"] == "mentionedUsers"
    assert [option["label"] for option in page.includes.polls[0].extra["options"]] == ["Yes", "No"]
    assert page.includes.places[0].id == place_id
    with pytest.raises(errors.InvalidInput, match=r"poll\.options: must have at least 2"):
        await client.posts.create(PostDraft(text="x", poll=PostPoll(options=("Yes",), duration_minutes=60)))


async def test_posts_of_a_user_are_chosen_by_time_id_and_kind(client: Client, northwind: str) -> None:
    day = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)
    chosen = client.posts.by_user(
        northwind, start_time=day, end_time=day + datetime.timedelta(days=3), fields=Fields(post=["created_at"])
    )
    found = await chosen.collect()
    assert found
    assert all(day <= post.created_at < day + datetime.timedelta(days=3) for post in found if post.created_at)
    between = client.posts.by_user(northwind, since_id=found[-1].id, until_id=int(found[0].id))
    assert [post.id for post in await between.collect()] == [post.id for post in found[1:-1]]
    plain = client.posts.by_user(
        northwind, start_time=day, end_time=day + datetime.timedelta(days=3), exclude="replies",
        fields=Fields(post=["referenced_tweets"]),
    )  # fmt: skip
    rest = await plain.collect()
    assert len(rest) < len(found)
    assert not any(each.type == "replied_to" for post in rest for each in post.referenced_tweets)


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


async def test_a_creation_whose_outcome_is_unknown_is_not_repeated(client: Client, service: Emulator) -> None:
    service.faults.add("reset_after", method="POST", path="/2/tweets", times=1)
    with pytest.raises(errors.OutcomeUnknown):
        await client.posts.create(PostDraft(text="Once"))
    assert asked(service) == 1


async def test_bookkeeping_of_parts_is_the_same_without_the_sdk(raw: Asker) -> None:
    """What the SDK puts together of three requests is what three requests answer."""
    ids = raw.emulator.seed["post_ids"]
    parts = [(await raw.get("/2/tweets", ids=",".join(ids[at : at + 100]))).data for at in (0, 100, 200)]
    async with Client(raw.emulator.config, raw.emulator.credentials) as client:
        page = await client.posts.lookup(ids)
    assert [{"id": post.id, "text": post.text} for post in page.data] == [post for part in parts for post in part]
