"""Creating posts (platform documentation, sections 4.4 and 8): what is kept, and who may reply, edit and quote."""

from typing import Any

import pytest

from tests.emulator.asking import Asker, Reply

ALL = (
    "author_id,attachments,community_id,conversation_id,created_at,edit_controls,edit_history_tweet_ids,entities,"
    "in_reply_to_user_id,paid_partnership,public_metrics,referenced_tweets"
)


async def create(ask: Asker, **body: Any) -> Reply:
    return await ask.signed("POST", "/2/tweets", json=body)


async def full(ask: Asker, post_id: str) -> dict[str, Any]:
    post: dict[str, Any] = (await ask.get("/2/tweets", ids=post_id, tweet_fields=ALL)).data[0]
    return post


async def written(ask: Asker, text: str) -> str:
    posts = (await ask.get("/2/tweets", ids=",".join(ask.emulator.seed["post_ids"][:20]))).data
    return next(str(post["id"]) for post in posts if text in post["text"])


async def test_a_post_is_answered_with_its_default_fields_and_found_everywhere(ask: Asker) -> None:
    user = ask.emulator.seed["user_ids"][0]
    reply = await create(ask, text="Hello @ada_lindqvist and @nobody, see https://elsewhere.example/a_page. #New")
    assert (reply.status, set(reply.data)) == (201, {"id", "text"})
    post = await full(ask, reply.data["id"])
    assert (post["author_id"], post["conversation_id"], post["paid_partnership"]) == (user, post["id"], False)
    assert post["edit_history_tweet_ids"] == [post["id"]]
    assert set(post["public_metrics"].values()) == {0}
    mentions = post["entities"]["mentions"]
    assert [(each["username"], "id" in each) for each in mentions] == [("ada_lindqvist", True), ("nobody", False)]
    (url,) = post["entities"]["urls"]
    assert (url["display_url"], "title" in url) == ("elsewhere.example/a_page", False)
    (newest, *_) = (await ask.get(f"/2/users/{user}/tweets")).data
    assert newest == reply.data


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "text"),
        ({"text": "  "}, "text"),
        ({"text": "x", "reply": {}}, "reply.in_reply_to_tweet_id"),
        ({"text": "x", "reply": {"in_reply_to_tweet_id": "17"}}, "reply.in_reply_to_tweet_id"),
        ({"text": "x", "quote_tweet_id": "17"}, "quote_tweet_id"),
        ({"text": "x", "edit_options": {"previous_post_id": "17"}}, "edit_options.previous_post_id"),
        ({"text": "x", "edit_options": {}}, "edit_options.previous_post_id"),
        ({"text": "x", "media": {"media_ids": ["17"]}}, "media.media_ids"),
        ({"text": "x", "media": {"media_ids": ["17", 18]}}, "media.media_ids[1]"),
        ([], "body"),
        ("text", "body"),
    ],
)
async def test_a_post_that_breaks_a_rule_is_an_invalid_request_and_is_not_kept(
    ask: Asker, body: Any, named: str
) -> None:
    before = len(ask.emulator.state.platform.posts.timeline(ask.emulator.seed["user_ids"][0]))
    assert (await ask.signed("POST", "/2/tweets", json=body)).at_fault == [named]
    assert len(ask.emulator.state.platform.posts.timeline(ask.emulator.seed["user_ids"][0])) == before


async def test_a_value_at_fault_is_repeated_from_the_place_where_it_stands(ask: Asker) -> None:
    reply = await create(ask, text="x", media={"media_ids": ["17", 18]})
    assert reply.json["errors"][0]["parameters"] == {"media.media_ids[1]": ["18"]}
    reply = await create(ask, text=None)
    assert reply.json["errors"][0]["parameters"] == {"text": []}


async def test_a_body_that_is_no_json_is_refused(ask: Asker) -> None:
    headers = {"Content-Type": "application/json"}
    assert (await ask.signed("POST", "/2/tweets", data=b"{", headers=headers)).at_fault == ["body"]
    assert (await ask.signed("POST", "/2/tweets", data=b" " * 1_048_577, headers=headers)).at_fault == ["body"]
    reply = await ask.signed("POST", "/2/tweets", data=b"{}", headers={"Content-Type": "text/plain"})
    assert (reply.status, reply.json["title"]) == (415, "Unsupported Media Type")


async def test_media_community_and_paid_partnership_are_kept(ask: Asker) -> None:
    key = ask.emulator.seed["media_keys"][0]
    media = {"media_ids": [key.partition("_")[2], ask.emulator.seed["media_keys"][1]]}
    further = {"community_id": "1493446837214187523", "share_with_followers": True, "paid_partnership": True}
    reply = await create(ask, media=media, **further)
    post = await full(ask, reply.data["id"])
    assert post["attachments"] == {"media_keys": ask.emulator.seed["media_keys"][:2]}
    assert (post["text"], post["paid_partnership"], post["community_id"]) == ("", True, further["community_id"])
    record = ask.emulator.state.platform.posts.get(post["id"])
    assert record is not None
    assert record.shared_with_followers


# Who may -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["run small", "my cat"], ids=["mention", "quote"])
async def test_who_was_summoned_may_reply(ask: Asker, text: str) -> None:
    target = await written(ask, text)
    before = (await full(ask, target))["public_metrics"]["reply_count"]
    reply = await create(ask, text="Certainly.", reply={"in_reply_to_tweet_id": target})
    assert reply.status == 201
    post, answered = await full(ask, reply.data["id"]), await full(ask, target)
    assert post["referenced_tweets"] == [{"type": "replied_to", "id": target}]
    assert (post["in_reply_to_user_id"], post["conversation_id"]) == (answered["author_id"], answered["id"])
    assert answered["public_metrics"]["reply_count"] == before + 1


async def test_who_was_not_summoned_may_not_reply(ask: Asker) -> None:
    for text in ("Snow line", "aged well", "reading circle"):
        reply = await create(ask, text="Well!", reply={"in_reply_to_tweet_id": await written(ask, text)})
        assert (reply.status, reply.json["type"]) == (403, "about:blank")
        assert "summoned" in reply.json["detail"]


async def test_one_may_always_reply_to_oneself_and_enterprise_apps_to_everybody(ask: Asker) -> None:
    own = await create(ask, text="One")
    assert (await create(ask, text="Two", reply={"in_reply_to_tweet_id": own.data["id"]})).status == 201
    signer = await ask.as_user(ask.emulator.seed["user_ids"][0], tier="enterprise")
    body = {"text": "Well!", "reply": {"in_reply_to_tweet_id": await written(ask, "Snow line")}}
    assert (await ask.signed("POST", "/2/tweets", signer=signer, json=body)).status == 201


async def test_a_quote_names_the_post_and_is_counted_even_of_a_made_up_one(ask: Asker) -> None:
    for target in (await written(ask, "Snow line"), ask.emulator.seed["post_ids"][-1]):
        before = (await full(ask, target))["public_metrics"]["quote_count"]
        post = await full(ask, (await create(ask, text="Look", quote_tweet_id=target)).data["id"])
        assert post["referenced_tweets"] == [{"type": "quoted", "id": target}]
        assert (await full(ask, target))["public_metrics"]["quote_count"] == before + 1


# Editing -----------------------------------------------------------------------------------------------------------


async def edit(ask: Asker, previous: str, **options: Any) -> Reply:
    body = {"text": "Better", "edit_options": {"previous_post_id": previous}}
    return await ask.signed("POST", "/2/tweets", json=body, **options)


async def test_an_edited_post_takes_the_place_of_the_previous_version(ask: Asker) -> None:
    user = ask.emulator.seed["user_ids"][0]
    first = (await create(ask, text="Good")).data["id"]
    between = (await create(ask, text="Something else")).data["id"]
    ask.emulator.advance(1_800)
    second = (await edit(ask, first)).data["id"]
    ask.emulator.advance(1_800)
    third = (await edit(ask, second)).data["id"]
    newest = [post["id"] for post in (await ask.get(f"/2/users/{user}/tweets")).data[:2]]
    assert newest == [third, between]
    for version in (first, second, third):
        post = await full(ask, version)
        assert post["edit_history_tweet_ids"] == [first, second, third]
    controls = [(await full(ask, version))["edit_controls"] for version in (first, second, third)]
    assert [each.pop("edits_remaining") for each in controls] == [5, 4, 3]
    assert controls[0] == controls[1] == controls[2]
    assert (await full(ask, first))["text"] == "Good"


async def test_after_an_hour_a_post_cannot_be_edited_not_even_by_way_of_a_later_version(ask: Asker) -> None:
    first = (await create(ask, text="Good")).data["id"]
    ask.emulator.advance(3_000)
    second = (await edit(ask, first)).data["id"]
    ask.emulator.advance(601)
    for version in (first, second):
        reply = await edit(ask, version)
        assert (reply.status, reply.json["type"]) == (403, "about:blank")
        assert "within the last hour" in reply.json["detail"]


async def test_only_ones_own_latest_version_can_be_edited_and_only_with_a_subscription(ask: Asker) -> None:
    first = (await create(ask, text="Good")).data["id"]
    second = (await edit(ask, first)).data["id"]
    reply = await edit(ask, first)
    assert (reply.status, second in reply.json["detail"]) == (403, True)
    poor = await ask.as_user(ask.emulator.seed["user_ids"][1])
    reply = await edit(ask, second, signer=poor)
    assert (reply.status, "another user" in reply.json["detail"]) == (403, True)
    own = (await ask.signed("POST", "/2/tweets", signer=poor, json={"text": "Mine"})).data["id"]
    reply = await edit(ask, own, signer=poor)
    assert (reply.status, "premium" in reply.json["detail"]) == (403, True)
    assert (await full(ask, own))["edit_controls"]["is_edit_eligible"] is False


async def test_an_edit_keeps_what_the_post_was(ask: Asker) -> None:
    own = (await create(ask, text="Mine")).data["id"]
    other = ask.emulator.seed["post_ids"][0]
    further = {"quote_tweet_id": other, "community_id": "1493446837214187523", "paid_partnership": True}
    first = (await create(ask, text="Good", reply={"in_reply_to_tweet_id": own}, **further)).data["id"]
    second = (await edit(ask, first)).data["id"]
    names = ("referenced_tweets", "conversation_id", "in_reply_to_user_id", "community_id", "paid_partnership")
    before, after = await full(ask, first), await full(ask, second)
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    assert (after["conversation_id"], len(after["referenced_tweets"]), after["text"]) == (own, 2, "Better")
    assert (await full(ask, own))["public_metrics"]["reply_count"] == 1, "the edit is no second reply"


@pytest.mark.parametrize(
    ("name", "value"), [("reply", {"in_reply_to_tweet_id": "1"}), ("quote_tweet_id", "1"), ("community_id", "1")]
)
async def test_an_edit_cannot_make_another_post_of_it(ask: Asker, name: str, value: Any) -> None:
    first = (await create(ask, text="Good")).data["id"]
    body = {"text": "Better", "edit_options": {"previous_post_id": first}, name: value}
    assert (await ask.signed("POST", "/2/tweets", json=body)).at_fault == [name]


async def test_a_post_is_edited_five_times_at_most(ask: Asker) -> None:
    latest = (await create(ask, text="Good")).data["id"]
    for _ in range(5):
        latest = (await edit(ask, latest)).data["id"]
    reply = await edit(ask, latest)
    assert (reply.status, "5 times" in reply.json["detail"]) == (403, True)


async def test_a_post_is_shared_with_followers_from_a_community_only(ask: Asker) -> None:
    reply = await ask.signed("POST", "/2/tweets", json={"text": "x", "share_with_followers": True})
    assert reply.at_fault == ["share_with_followers"]
    assert (await ask.signed("POST", "/2/tweets", json={"text": "x", "share_with_followers": False})).status == 201


# Published fields --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("texxt", "did you mean text?"),
        ("reply_setting", "did you mean reply_settings?"),
        ("zebra", "available: card_uri"),
    ],
)
async def test_an_unknown_field_is_refused_with_a_suggestion(ask: Asker, name: str, told: str) -> None:
    reply = await create(ask, text="x", **{name: "x"})
    assert reply.at_fault == [name]
    assert f"{name}: is not a field of a post" in reply.json["errors"][0]["message"]
    assert told in reply.json["errors"][0]["message"]


async def test_an_unlisted_post_is_read_by_its_id_and_stays_unlisted_when_it_is_edited(ask: Asker) -> None:
    listed = (await create(ask, text="Listed")).data["id"]
    first = (await create(ask, text="Ad", nullcast=True)).data["id"]
    second = (await edit(ask, first)).data["id"]
    timeline = (await ask.get(f"/2/users/{ask.emulator.seed['user_ids'][0]}/tweets", max_results=5)).data
    assert [timeline[0]["id"], timeline[1]["text"][:5]] == [listed, "Grüße"]
    assert (await full(ask, second))["edit_history_tweet_ids"] == [first, second]
    told = [(await ask.control("GET", f"posts/{each}")).json for each in (first, second, listed)]
    assert [(each["nullcast"], each["replaced"]) for each in told] == [(True, True), (True, False), (False, False)]


async def test_a_poll_is_open_for_its_minutes_and_can_be_included(ask: Asker) -> None:
    poll = {"options": ["Warm socks", "The book"], "duration_minutes": 5}
    post_id = (await create(ask, poll=poll)).data["id"]
    query = {"ids": post_id, "expansions": "attachments.poll_ids", "poll_fields": "duration_minutes,voting_status"}
    (found,) = (await ask.get("/2/tweets", **query)).json["includes"]["polls"]
    assert found["options"] == [
        {"position": 1, "label": "Warm socks", "votes": 0},
        {"position": 2, "label": "The book", "votes": 0},
    ]
    assert (found["duration_minutes"], found["voting_status"]) == (5, "open")
    ask.emulator.advance(300)
    (found,) = (await ask.get("/2/tweets", **query)).json["includes"]["polls"]
    assert found["voting_status"] == "closed"
    refused = await edit(ask, post_id)
    assert (refused.status, "it has a poll" in refused.json["detail"]) == (403, True)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"poll": {"options": ["one"], "duration_minutes": 5}}, "poll.options"),
        ({"poll": {"options": ["1", "2", "3", "4", "5"], "duration_minutes": 5}}, "poll.options"),
        ({"poll": {"options": ["1", "x" * 26], "duration_minutes": 5}}, "poll.options[1]"),
        ({"poll": {"options": ["1", "2"], "duration_minutes": 4}}, "poll.duration_minutes"),
        ({"poll": {"options": ["1", "2"], "duration_minutes": 10_081}}, "poll.duration_minutes"),
        ({"poll": {"options": ["1", "2"]}}, "poll.duration_minutes"),
        ({"poll": {"options": ["1", "2"], "duration_minutes": 5}, "media": {"media_ids": []}}, "poll"),
        ({"geo": {"place_id": "nowhere"}}, "geo.place_id"),
        ({"geo": {}}, "geo.place_id"),
        ({"reply_settings": "nobody"}, "reply_settings"),
    ],
)
async def test_polls_places_and_reply_settings_have_their_rules(ask: Asker, body: Any, named: str) -> None:
    assert (await create(ask, text="x", **body)).at_fault == [named]


async def test_a_post_has_the_place_that_it_names(ask: Asker) -> None:
    place_id = next(iter(ask.emulator.state.platform.places))
    post_id = (await create(ask, text="Here", geo={"place_id": place_id})).data["id"]
    reply = await ask.get("/2/tweets", ids=post_id, expansions="geo.place_id", tweet_fields="geo")
    assert reply.data[0]["geo"] == {"place_id": place_id}
    assert [place["id"] for place in reply.json["includes"]["places"]] == [place_id]
    edited = (await edit(ask, post_id)).data["id"]
    assert (await ask.get("/2/tweets", ids=edited, tweet_fields="geo")).data[0]["geo"] == {"place_id": place_id}


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        (None, {"harbourbooks", "marco_ferri", "northwind_group"}),
        ("following", {"harbourbooks"}),
        ("verified", {"harbourbooks", "northwind_group"}),
        ("mentionedUsers", set()),
        ("subscribers", set()),
    ],
)
async def test_reply_settings_say_who_may_reply(ask: Asker, setting: str | None, allowed: set[str]) -> None:
    """Of these the first user follows the bookshop alone; the group and the bookshop are verified."""
    further = {} if setting is None else {"reply_settings": setting}
    post_id = (await create(ask, text="Ask @ada_lindqvist", **further)).data["id"]
    shown = (await ask.get("/2/tweets", ids=post_id, tweet_fields="reply_settings")).data[0]["reply_settings"]
    assert shown == (setting or "everyone")
    ids = {user.username: user.id for user in ask.emulator.state.users.values()}
    body = {"text": "Me!", "reply": {"in_reply_to_tweet_id": post_id}}
    replied = set()
    for name in ("harbourbooks", "marco_ferri", "northwind_group", "ada_lindqvist"):
        signer = await ask.as_user(ids[name], tier="enterprise")
        reply = await ask.signed("POST", "/2/tweets", signer=signer, json=body)
        assert reply.status == 201 or "reply_settings" in reply.json["detail"]
        replied |= {name} if reply.status == 201 else set()
    assert replied == allowed | {"ada_lindqvist"}, "whom the post mentions may always reply"
    assert (await ask.signed("POST", "/2/tweets", json=body)).status == 201, "and so may its author"
