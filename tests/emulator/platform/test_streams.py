"""Persistent streams (platform documentation, sections 4.1, 4.4, 6 and 7.1): what comes, when, and how they end."""

from typing import Any

import aiohttp
import pytest

from tests.emulator.asking import Asker
from tests.emulator.platform.reading import (
    ACTIVITY,
    POSTS,
    add_rules,
    reading,
)

SNOW = {"post": {"text": "snow again"}}


def snow(count: int, text: str = "snow") -> dict[str, Any]:
    return {"events": [{"text": f"{text} {number}"} for number in range(count)]}


# What comes --------------------------------------------------------------------------------------------------------


async def test_a_stream_is_an_endless_json_answer_in_chunks(ask: Asker) -> None:
    async with reading(ask) as stream:
        headers = stream.response.headers
        assert (headers["Content-Type"], headers["Transfer-Encoding"]) == ("application/json", "chunked")
        assert stream.response.version == aiohttp.HttpVersion11
        assert {"x-transaction-id", "Date"} <= set(headers)
        (record,) = ask.emulator.requests
        assert (record.route, record.status) == (POSTS, 200)


async def test_a_created_post_comes_with_the_rules_that_it_matches(ask: Asker) -> None:
    first, _, third = await add_rules(ask, "snow", "rain", "from:northwind", tag="weather")
    async with reading(ask) as stream:
        await ask.signed("POST", "/2/tweets", json={"text": "quiet day"})
        made = await ask.signed("POST", "/2/tweets", json={"text": "Snow!"})
        lines = await stream.lines(2)
    assert [line["data"]["text"] for line in lines] == ["quiet day", "Snow!"]
    assert lines[0]["matching_rules"] == [{"id": third, "tag": "weather"}]
    post_id = made.data["id"]
    assert lines[1] == {
        "data": {"id": post_id, "text": "Snow!", "edit_history_tweet_ids": [post_id]},
        "matching_rules": [{"id": first, "tag": "weather"}, {"id": third, "tag": "weather"}],
    }


async def test_every_stream_has_the_fields_that_were_asked_for(ask: Asker) -> None:
    await add_rules(ask, "snow")
    query = {
        "tweet_fields": "author_id,lang",
        "expansions": "author_id,referenced_tweets.id",
        "user_fields": "verified",
    }
    draft = {"text": "snow", "referenced_tweets": [{"type": "quoted", "id": "17"}]}
    async with reading(ask) as plain, reading(ask, **query) as rich:
        assert (await ask.emulator.publish({"post": draft}))["published"][0]["streams"] == 2
        assert set(await plain.line()) == {"data", "matching_rules"}
        line = await rich.line()
    assert set(line["data"]) == {"id", "text", "author_id", "lang", "edit_history_tweet_ids"}
    assert [set(user) for user in line["includes"]["users"]] == [{"id", "name", "username", "verified"}]
    assert [error["value"] for error in line["errors"]] == ["17"]
    assert "matching_rules" in line


async def test_an_edit_comes_with_the_whole_history(ask: Asker) -> None:
    await add_rules(ask, "snow")
    async with reading(ask) as stream:
        first = (await ask.signed("POST", "/2/tweets", json={"text": "snwo snow"})).data["id"]
        edit = {"text": "snow snow", "edit_options": {"previous_post_id": first}}
        second = (await ask.signed("POST", "/2/tweets", json=edit)).data["id"]
        lines = await stream.lines(2)
    assert [line["data"]["edit_history_tweet_ids"] for line in lines] == [[first], [first, second]]


async def test_posts_of_protected_authors_come_to_nobody(ask: Asker) -> None:
    await add_rules(ask, "snow")
    users = ask.emulator.state.users.values()
    protected = next(user.id for user in users if user.profile["protected"])
    async with reading(ask) as stream:
        answer = await ask.emulator.publish({"events": [{"post": {"text": "snow", "author_id": protected}}, SNOW]})
        assert [each["streams"] for each in answer["published"]] == [0, 1]
        assert await stream.texts(1) == ["snow again"]


async def test_a_published_article_is_a_post(ask: Asker) -> None:
    await add_rules(ask, "huts")
    async with reading(ask) as stream:
        article = {"title": "On huts", "content_state": {}}
        article_id = (await ask.signed("POST", "/2/articles/draft", json=article)).data["id"]
        post_id = (await ask.signed("POST", f"/2/articles/{article_id}/publish")).data["post_id"]
        assert (await stream.line())["data"]["id"] == post_id


async def test_rules_can_change_while_a_stream_is_open_and_belong_to_the_app(ask: Asker) -> None:
    other = (await ask.another_app())["bearer_token"]
    await add_rules(ask, "rain", token=other)
    async with reading(ask) as stream, reading(ask, token=other) as theirs:
        await ask.emulator.publish(snow(1, "snow before"))
        (rule,) = await add_rules(ask, "snow")
        await ask.emulator.publish(snow(1, "snow while"))
        await ask.bearer("POST", f"{POSTS}/rules", json={"delete": {"ids": [rule]}})
        await ask.emulator.publish(snow(1, "snow and rain after"))
        assert await stream.texts(1) == ["snow while 0"]
        assert await theirs.texts(1) == ["snow and rain after 0"]


# Keep-alives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [POSTS, ACTIVITY])
async def test_an_empty_line_comes_after_every_ten_seconds_without_another(ask: Asker, path: str) -> None:
    await add_rules(ask, "snow")
    async with reading(ask, path) as stream:
        await ask.control("POST", "clock", {"advance": 9.5})
        await ask.emulator.publish([{"event_type": "post.create"}] if path == ACTIVITY else SNOW)
        await ask.control("POST", "clock", {"advance": 9.5})
        await ask.control("POST", "clock", {"advance": 0.5})
        assert await stream.raw() != b"\r\n"
        assert await stream.raw() == b"\r\n"
        await ask.control("POST", "clock", {"advance": 1_000})
        assert await stream.raw() == b"\r\n"  # one, however long it was


# Backfill ----------------------------------------------------------------------------------------------------------


async def test_a_stream_can_begin_with_what_came_in_the_last_minutes(ask: Asker) -> None:
    (rule,) = await add_rules(ask, "snow")
    other = (await ask.another_app())["bearer_token"]
    await add_rules(ask, "rain", token=other)
    for minute in range(4):
        await ask.emulator.publish({"events": [{"text": f"snow {minute}"}, {"text": f"rain {minute}"}]})
        await ask.control("POST", "clock", {"advance": 60})
    await ask.bearer("POST", f"{POSTS}/rules", json={"delete": {"ids": [rule]}})
    async with reading(ask, backfill_minutes="2", tweet_fields="lang") as stream:
        lines = await stream.lines(2)
        assert [line["data"]["text"] for line in lines] == ["snow 2", "snow 3"]
        assert lines[0]["matching_rules"] == [{"id": rule, "tag": ""}]  # those of then
        assert lines[0]["data"]["lang"] == "en"
        await add_rules(ask, "snow")
        await ask.emulator.publish(SNOW)
        assert await stream.texts(1) == ["snow again"]
    async with reading(ask, token=other, backfill_minutes="5") as stream:
        assert await stream.texts(4) == [f"rain {minute}" for minute in range(4)]


async def test_what_was_missed_is_not_lost_and_nothing_comes_twice_in_one_stream(ask: Asker) -> None:
    await add_rules(ask, "snow")
    async with reading(ask) as stream:
        await ask.emulator.publish(snow(500, "snow early"))
        assert await stream.texts(1) == ["snow early 0"]
    await ask.emulator.publish(snow(500, "snow late"))
    async with reading(ask, backfill_minutes="1") as stream:
        await ask.emulator.publish(SNOW)
        texts = await stream.texts(1_001)
    assert texts == [f"snow {when} {number}" for when in ("early", "late") for number in range(500)] + ["snow again"]


async def test_activity_has_a_backfill_too(ask: Asker) -> None:
    published = [{"event_type": "spaces.start", "event_id": str(number)} for number in range(3)]
    await ask.emulator.publish(published)
    await ask.control("POST", "clock", {"advance": 200})
    await ask.emulator.publish({"event_type": "spaces.end", "event_id": "9"})
    async with reading(ask, ACTIVITY, backfill_minutes="5") as stream:
        assert [line["data"]["event_id"] for line in await stream.lines(4)] == ["0", "1", "2", "9"]
    async with reading(ask, ACTIVITY, backfill_minutes="3") as stream:
        assert (await stream.line())["data"]["event_id"] == "9"
    await ask.control("POST", "reset")
    async with reading(ask, ACTIVITY, backfill_minutes="5") as stream:
        await ask.emulator.publish({"event_type": "spaces.end", "event_id": "10"})
        assert (await stream.line())["data"]["event_id"] == "10"
