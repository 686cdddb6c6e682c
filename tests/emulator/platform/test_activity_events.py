"""Which apps get which activity events (platform documentation, sections 6.1 and 6.2), and what is refused."""

from typing import Any

import pytest

from tests.emulator.asking import Asker
from tests.emulator.platform.reading import ACTIVITY, Reading, at, reading, subscribe

ADA = "783214001"
MARCO = "783214002"


async def ids(stream: Reading, ask: Asker) -> list[str]:
    """The ids of all events that have come, told by a last one that comes to everybody who has a subscription."""
    found = []
    await ask.emulator.publish({"event_type": "spaces.end", "user_id": "1", "event_id": "999"})
    while (event_id := (await stream.line())["data"]["event_id"]) != "999":
        found.append(event_id)
    return found


async def found_by(ask: Asker, event_type: str, events: list[dict[str, Any]], **wanted: str) -> list[str]:
    """Which of the events, numbered from 0, an app with one more subscription gets."""
    await subscribe(ask, "spaces.end", user_id="1")
    filters: dict[str, Any] = dict(wanted)
    await subscribe(ask, event_type, **filters)
    async with reading(ask, ACTIVITY) as stream:
        await ask.emulator.publish([{**event, "event_id": str(number)} for number, event in enumerate(events)])
        return await ids(stream, ask)


async def test_an_event_looks_as_it_was_published(ask: Asker) -> None:
    async with reading(ask, ACTIVITY) as stream:
        payload = {"bio": {"before": "a", "after": "b"}}
        event = {"event_type": "profile.update.bio", "user_id": ADA, "payload": payload}
        answer = (await ask.control("POST", "events", event)).json
        assert answer["published"] == [{"event_id": answer["published"][0]["event_id"], "streams": 1, "webhooks": 0}]
        assert (await stream.line())["data"] == {
            "event_id": answer["published"][0]["event_id"],
            "event_type": "profile.update.bio",
            "created_at": at(ask.emulator.state.clock.now()),
            "filter": {"user_id": ADA},
            "payload": payload,
        }
        given = {
            "event_type": "post.delete",
            "event_id": "an-id:17",
            "created_at": "2026-06-04T00:00:00.000Z",
            "tag": "x",
        }
        await ask.emulator.publish({**given, "filter": {"user_id": ADA, "keyword": "a"}, "payload": {}})
        assert (await stream.line())["data"] == {**given, "filter": {"user_id": ADA, "keyword": "a"}, "payload": {}}


async def test_a_subscription_gives_its_filter_and_tag(ask: Asker) -> None:
    await subscribe(ask, "post.create", user_id=ADA, keyword="snow", further={"tag": "mine"})
    async with reading(ask, ACTIVITY) as stream:
        event = {"event_type": "post.create", "user_id": ADA, "payload": {"text": "snow"}}
        await ask.emulator.publish(event)
        data = (await stream.line())["data"]
    assert (data["filter"], data["tag"]) == ({"user_id": ADA, "keyword": "snow"}, "mine")


async def test_type_user_and_keyword_have_to_fit(ask: Asker) -> None:
    events: list[dict[str, Any]] = [
        {"event_type": "post.create", "user_id": ADA, "payload": {"text": "Deep SNOW today"}},
        {"event_type": "post.create", "user_id": MARCO, "payload": {"text": "snow"}},
        {"event_type": "post.delete", "user_id": ADA, "payload": {"text": "snow"}},
        {"event_type": "post.create", "user_id": ADA, "payload": {"text": "rain"}},
        {"event_type": "post.create", "user_id": ADA, "payload": {"entities": [{"tags": ["snowfall"]}], "n": 1}},
        {"event_type": "post.create", "user_id": ADA},
    ]
    assert await found_by(ask, "post.create", events, user_id=ADA, keyword="snow") == ["0", "4"]


async def test_an_event_with_a_direction_of_its_own_goes_to_those_who_asked_for_it(ask: Asker) -> None:
    read: dict[str, Any] = {"event_type": "dm.read", "user_id": ADA}
    events: list[dict[str, Any]] = [{**read, "direction": "sent"}, {**read, "direction": "received"}, read]
    assert await found_by(ask, "dm.read", events, user_id=ADA, direction="sent") == ["0", "2"]


MESSAGES = ["dm.received", "dm.sent", "dm.read", "dm.indicate_typing", "chat.received", "chat.sent"]


@pytest.mark.parametrize(
    ("event_type", "direction", "found"),
    [
        ("dm.received", None, ["dm.received"]),
        ("dm.received", "received", ["dm.received"]),
        ("dm.received", "sent", ["dm.sent"]),
        ("dm.received", "both", ["dm.received", "dm.sent"]),
        ("dm.sent", "both", ["dm.received", "dm.sent"]),
        ("dm.read", "both", ["dm.read"]),
        ("chat.sent", "both", ["chat.received", "chat.sent"]),
    ],
)
async def test_messages_have_a_direction(ask: Asker, event_type: str, direction: str | None, found: list[str]) -> None:
    events: list[dict[str, Any]] = [{"event_type": each, "user_id": ADA} for each in MESSAGES]
    wanted = {"user_id": ADA} | ({"direction": direction} if direction else {})
    assert [MESSAGES[int(each)] for each in await found_by(ask, event_type, events, **wanted)] == found


async def test_all_incoming_messages_come_whatever_they_were_sent_by(ask: Asker) -> None:
    message = {"event_type": "MessageCreate", "id": "1", "sender_id": MARCO, "text": "hi", "dm_conversation_id": "2"}
    events = [
        {"event_type": "dm.received", "user_id": ADA, "payload": {**message, **origin}}
        for origin in ({}, {"via_api": True}, {"via_api": True, "app_id": "other"})
    ]
    assert await found_by(ask, "dm.received", events, user_id=ADA) == ["0", "1", "2"]


async def test_apps_without_a_subscription_get_whatever_is_published(ask: Asker) -> None:
    other = (await ask.another_app())["bearer_token"]
    await subscribe(ask, "spaces.start", user_id=ADA, token=other)
    async with reading(ask, ACTIVITY) as stream, reading(ask, ACTIVITY, token=other) as theirs:
        answer = await ask.emulator.publish(
            {"events": [{"event_type": "unheard.of"}, {"event_type": "spaces.start", "user_id": ADA}]}
        )
        assert [each["streams"] for each in answer["published"]] == [1, 2]
        assert [line["data"]["event_type"] for line in await stream.lines(2)] == ["unheard.of", "spaces.start"]
        assert (await theirs.line())["data"]["event_type"] == "spaces.start"


async def test_a_created_post_is_activity_of_its_author_for_subscribers_alone(ask: Asker) -> None:
    author = ask.emulator.seed["user_ids"][0]
    other = (await ask.another_app())["bearer_token"]
    await subscribe(ask, "post.create", user_id=author)
    async with reading(ask, ACTIVITY) as stream, reading(ask, ACTIVITY, token=other) as theirs:
        post = (await ask.signed("POST", "/2/tweets", json={"text": "snow"})).data
        data = (await stream.line())["data"]
        assert (data["event_type"], data["filter"]) == ("post.create", {"user_id": author})
        assert data["event_id"] != post["id"]
        assert data["payload"] == {**post, "author_id": author, "edit_history_tweet_ids": [post["id"]]}
        await ask.emulator.publish({"event_type": "spaces.end"})
        assert (await theirs.line())["data"]["event_type"] == "spaces.end"


async def test_several_subscriptions_that_match_are_one_event(ask: Asker) -> None:
    await subscribe(ask, "post.create", user_id=ADA, keyword="snow")
    events = [{"event_type": "post.create", "user_id": ADA, "payload": {"text": "snow"}}]
    assert await found_by(ask, "post.create", events, user_id=ADA) == ["0"]


async def test_copies_are_the_same_event_several_times(ask: Asker) -> None:
    async with reading(ask, ACTIVITY) as stream:
        answer = await ask.emulator.publish({"event_type": "post.create", "copies": 3})
        assert answer["published"][0]["streams"] == 1
        lines = await stream.lines(3)
    assert lines == [lines[0]] * 3


JOIN = {"event_type": "ParticipantsJoin", "participant_ids": [ADA]}


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        ({}, "needs an event_type, or the text of a post"),
        ({"post": {}}, "needs an event_type"),
        ({"post": "x"}, "needs an event_type"),
        ({"text": 5}, "needs an event_type"),
        ({"event_type": ""}, "event_type"),
        ({"event_type": "a", "event_id": "x" * 65}, "event_id: "),
        ({"event_type": "a", "payload": "x"}, "payload: must be an object"),
        ({"event_type": "a", "filter": [1]}, "filter: must be an object"),
        ({"event_type": "a", "copies": 0}, "copies"),
        ({"event_type": "a", "colour": "red"}, "colour"),
        ({"event_type": "dm.sent", "payload": {**JOIN, "event_type": "MessageCreate"}}, "participant_ids: must not"),
        ({"event_type": "dm.sent", "payload": {"event_type": "ParticipantsJoin"}}, "participant_ids: is required"),
        ({"event_type": "dm.sent", "payload": {**JOIN, "participant_ids": []}}, "participant_ids: is required"),
        ({"text": "a", "author_id": "17"}, "author_id does not match any user"),
        ({"text": "a", "id": "x"}, "id: must be 1 to 19 digits"),
        ({"text": "a", "copies": "x"}, "copies"),
        ({"text": "a", "entities": {"hashtags": [{}]}}, "entities"),
        ("text", "must be an object"),
        ({"events": ["text"]}, "must be an object"),
        ({"events": [{"text": "a"}, {"text": "a", "id": "x"}]}, "events[1].post.id"),
        ({"events": {"text": "a"}}, "must be an object"),
        ({"events": [{"text": "a"}] * 10_001}, "too many events or posts (10,001)"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_is_published(ask: Asker, thing: Any, says: str) -> None:
    reply = await ask.control("POST", "events", thing)
    assert reply.status == 400
    assert says in reply.text
    assert not ask.emulator.state.platform.posts._published


async def test_joins_and_leaves_are_delivered_with_who_joined_or_left(ask: Asker) -> None:
    async with reading(ask, ACTIVITY) as stream:
        await ask.emulator.publish({"event_type": "dm.received", "user_id": MARCO, "payload": JOIN})
        assert (await stream.line())["data"]["payload"] == JOIN


async def test_a_post_of_a_community_reaches_subscribers_only_if_it_is_shared_with_followers(ask: Asker) -> None:
    author = ask.emulator.seed["user_ids"][0]
    await subscribe(ask, "post.create", user_id=author)
    community: dict[str, Any] = {"community_id": "1493446837214187523"}
    made = []
    async with reading(ask, ACTIVITY) as stream:
        for further in (community, {**community, "share_with_followers": True}, {}):
            reply = await ask.signed("POST", "/2/tweets", json={"text": "x", **further})
            made.append(reply.data["id"])
        for further in (community, {**community, "share_with_followers": True}):
            reply = await ask.control("POST", "events", {"post": {"text": "y", "author_id": author, **further}})
            made.append(reply.json["published"][0]["post_id"])
        told = [line["data"]["payload"]["id"] for line in [await stream.line() for _ in range(3)]]
    assert told == [made[1], made[2], made[4]]
    shown = [(await ask.control("GET", f"posts/{post_id}")).json for post_id in made]
    assert [post["share_with_followers"] for post in shown] == [False, True, False, False, True]
    assert [post.get("community_id") is None for post in shown] == [False, False, True, False, False]
    assert (await ask.control("GET", "posts/17")).status == 404
