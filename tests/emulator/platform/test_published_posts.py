"""Posts that the control plane publishes: what they become, and that many of them do not fill the memory."""

import pytest

from socialapi.emulator.platform import deliveries, state
from tests.emulator.asking import Asker
from tests.emulator.platform.reading import add_rules, reading


async def test_a_published_post_is_a_post_as_any_other(ask: Asker) -> None:
    answer = (await ask.control("POST", "events", {"post": {"text": "snow #OutThere"}})).json
    (post_id,) = (each["post_id"] for each in answer["published"])
    (post,) = (await ask.get("/2/tweets", ids=post_id, tweet_fields="author_id,entities,lang")).data
    assert (post["text"], post["lang"], post["entities"]["hashtags"][0]["tag"]) == ("snow #OutThere", "en", "OutThere")
    author = ask.emulator.seed["user_ids"][0]
    assert post["author_id"] == author
    assert (await ask.get(f"/2/users/{author}/tweets")).data[0]["id"] == post_id


async def test_a_published_post_can_be_answered_and_edited(ask: Asker) -> None:
    (made,) = (await ask.emulator.publish({"text": "snow"}))["published"]
    reply = {"text": "indeed", "reply": {"in_reply_to_tweet_id": made["post_id"]}}
    assert (await ask.signed("POST", "/2/tweets", json=reply)).status == 201
    edit = {"text": "rain", "edit_options": {"previous_post_id": made["post_id"]}}
    edited = (await ask.signed("POST", "/2/tweets", json=edit)).data["id"]
    fields = "public_metrics,edit_history_tweet_ids"
    (post,) = (await ask.get("/2/tweets", ids=made["post_id"], tweet_fields=fields)).data
    assert post["public_metrics"]["reply_count"] == 1
    assert post["edit_history_tweet_ids"] == [made["post_id"], edited]


async def test_all_fields_can_be_given(ask: Asker) -> None:
    await add_rules(ask, "lang:de", "is:quote has:media")
    other = ask.emulator.seed["user_ids"][1]
    draft = {
        "id": "17",
        "text": "Schnee",
        "author_id": other,
        "lang": "de",
        "created_at": "2026-01-01T00:00:00.000Z",
        "attachments": {"media_keys": ["3_9"]},
        "referenced_tweets": [{"type": "quoted", "id": "16"}],
        "edit_history_tweet_ids": ["16", "17"],
        "colour": "red",
    }
    async with reading(ask, tweet_fields="author_id,lang,created_at,attachments,referenced_tweets") as stream:
        await ask.emulator.publish({"post": draft})
        line = await stream.line()
    assert line["data"] == {name: value for name, value in draft.items() if name != "colour"}
    assert len(line["matching_rules"]) == 2
    assert (await ask.get(f"/2/users/{other}/tweets", max_results=100)).data[-1]["id"] == "17"
    await ask.emulator.publish({"id": "17", "text": "nochmal", "author_id": other})
    listed = (await ask.get(f"/2/users/{other}/tweets", max_results=100)).data
    assert [post["text"] for post in listed if post["id"] == "17"] == ["nochmal"]


async def test_the_oldest_of_too_many_are_forgotten(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PUBLISHED_POSTS", 100)
    user = ask.emulator.seed["user_ids"][0]
    posts = ask.emulator.state.platform.posts
    before = len(posts.timeline(user))
    for _ in range(3):
        made = (await ask.emulator.publish([{"text": f"snow {number}"} for number in range(100)]))["published"]
    assert before + 90 <= len(posts.timeline(user)) <= before + 100
    assert posts.get(made[-1]["post_id"]) is not None
    assert posts.get(made[0]["post_id"]) is None or len(posts.timeline(user)) == before + 100
    assert len((await ask.get(f"/2/users/{user}/tweets", max_results=100)).data) == 100


async def test_what_is_recent_is_bounded(ask: Asker) -> None:
    things = deliveries.Recent[int](300.0, 1_000)
    things.add(0.0, 1)
    things.add(299.0, 2)
    assert things.between(0.0) == [1, 2]
    assert things.between(0.0, 298.0) == [1]
    things.add(301.0, 3)
    assert things.between(0.0) == [2, 3]
    for number in range(1_005):
        things.add(302.0, number)
    assert len(things.between(0.0)) == 1_000


async def test_rules_about_counts_are_worked_out_for_each_post(ask: Asker) -> None:
    """The counts are those that the post is published with, and those of its author."""
    author = ask.emulator.seed["user_ids"][0]
    followers = ask.emulator.state.users[author].profile["public_metrics"]["followers_count"]
    popular, followed = await add_rules(
        ask, "min_likes:10 min_reposts:1", f"followers_count:{followers} -min_replies:1"
    )
    async with reading(ask) as stream:
        for metrics in ({"like_count": 10, "retweet_count": 1, "reply_count": 3}, {"like_count": 9}):
            post = {"text": "Snow", "author_id": author, "public_metrics": metrics}
            await ask.control("POST", "events", {"post": post})
        matched = [[rule["id"] for rule in line["matching_rules"]] for line in await stream.lines(2)]
    assert matched == [[popular], [followed]]
