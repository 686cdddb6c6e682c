"""Looking posts up (platform documentation, sections 2.4 to 2.6 and 4.3): partial errors, fields, expansions."""

import re
from typing import Any, get_args

import pytest

from socialapi.emulator.platform.new_posts import new_post
from socialapi.models.queries import Expansion, MediaField, PostField, UserField
from tests.emulator.asking import Asker, Reply

MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ALL_POST_FIELDS = ",".join(get_args(PostField))
ALL_USER_FIELDS = ",".join(get_args(UserField))
ALL_EXPANSIONS = ",".join(get_args(Expansion))
LOST_POST_ID = "1000000000000000001"


async def lookup(ask: Asker, ids: Any, **query: Any) -> Reply:
    return await ask.get("/2/tweets", ids=ids if isinstance(ids, str) else ",".join(ids), **query)


async def written(ask: Asker, text: str) -> str:
    """The id of a post of the seed data by a part of its text."""
    posts = (await lookup(ask, ask.emulator.seed["post_ids"][:20])).data
    return next(str(post["id"]) for post in posts if text in post["text"])


async def test_unknown_ids_are_problems_beside_the_posts_that_exist(ask: Asker) -> None:
    known = ask.emulator.seed["post_ids"][0]
    reply = await lookup(ask, ["17", known, "no-number", "0" + known])
    assert reply.status == 200
    assert [post["id"] for post in reply.data] == [known]
    assert reply.slugs == ["resource-not-found"] * 3
    assert reply.json["errors"][0] == {
        "type": f"{ask.emulator.ready['problem_base_url']}/resource-not-found",
        "title": "Not Found",
        "detail": "no tweet was found for ids: 17",
        "parameter": "ids",
        "value": "17",
        "resource_id": "17",
        "resource_type": "tweet",
    }


async def test_with_unknown_ids_alone_there_are_errors_and_no_data(ask: Asker) -> None:
    reply = await lookup(ask, ["17", "18"])
    assert (reply.status, set(reply.json)) == (200, {"errors"})
    assert reply.slugs == ["resource-not-found"] * 2


async def test_an_invalid_request_repeats_the_values_at_fault(ask: Asker) -> None:
    reply = await lookup(ask, "1", tweet_fields="text,source,shoe", expansions="x" * 500)
    assert reply.json["errors"][0]["parameters"] == {"tweet.fields": ["source", "shoe"]}
    reply = await ask.get("/2/users/1/tweets", max_results="y" * 500)
    assert reply.json["errors"][0]["parameters"] == {"max_results": ["y" * 100]}


async def test_every_optional_field_is_on_some_post_and_comes_only_when_asked_for(ask: Asker) -> None:
    ids = ask.emulator.seed["post_ids"][:100]
    posts = (await lookup(ask, ids, tweet_fields=ALL_POST_FIELDS)).data
    found = {field: post[field] for post in posts for field in post if post[field]}
    assert set(found) == set(get_args(PostField))
    for field in get_args(PostField):
        some = (await lookup(ask, ids, tweet_fields=field)).data
        assert {name for post in some for name in post} == {"id", "text", field}
    assert set(found["public_metrics"]) == {
        *("retweet_count", "reply_count", "like_count", "quote_count", "impression_count")
    }
    assert all(MILLISECONDS.fullmatch(post["created_at"]) for post in posts)
    (annotation,) = found["context_annotations"]
    assert (set(annotation["domain"]), set(annotation["entity"])) == ({"id", "name", "description"}, {"id", "name"})
    kinds = {reference["type"] for post in posts for reference in post.get("referenced_tweets", ())}
    assert kinds == {"replied_to", "quoted", "retweeted"}
    assert found["community_id"] == "1493446837214187523"
    replies = [post for post in posts if "in_reply_to_user_id" in post]
    assert all(post["referenced_tweets"][0]["type"] == "replied_to" for post in replies)
    assert all(post["conversation_id"] != post["id"] for post in replies)


async def test_offsets_of_entities_are_those_of_the_text(ask: Asker) -> None:
    posts = (await lookup(ask, ask.emulator.seed["post_ids"][:100], tweet_fields="entities")).data
    seen = set()
    for post in posts:
        for kind, entities in post.get("entities", {}).items():
            for entity in entities:
                seen.add(kind)
                there = post["text"][entity["start"] : entity["end"]]
                said = {
                    "urls": lambda e: e["url"],
                    "mentions": lambda e: "@" + e["username"],
                    "hashtags": lambda e: "#" + e["tag"],
                    "annotations": lambda e: e["normalized_text"],
                }[kind](entity)
                assert there == said
    assert seen == {"urls", "mentions", "hashtags", "annotations"}
    urls = [url for post in posts for url in post.get("entities", {}).get("urls", ())]
    assert set(urls[0]) == {
        *("start", "end", "url", "expanded_url", "display_url", "status", "title", "description", "unwound_url"),
        "images",
    }


@pytest.mark.parametrize(
    ("expansion", "text", "kind", "expected"),
    [
        ("author_id", "my cat", "users", {"username": "marco_ferri"}),
        ("in_reply_to_user_id", "Exchanges are free", "users", {"username": "ada_lindqvist"}),
        ("entities.mentions.username", "run small", "users", {"username": "northwind"}),
        ("referenced_tweets.id.author_id", "my cat", "users", {"username": "northwind"}),
        ("referenced_tweets.id", "Exchanges are free", "tweets", {"text": "between two sizes"}),
        ("attachments.media_keys", "Ninety seconds", "media", {"type": "video"}),
        ("attachments.poll_ids", "rucksack first", "polls", {"options": "Warm socks"}),
    ],
)
async def test_an_expansion_includes_its_objects_alone_with_their_default_fields(
    ask: Asker, expansion: str, text: str, kind: str, expected: dict[str, str]
) -> None:
    reply = await lookup(ask, await written(ask, text), expansions=expansion)
    assert set(reply.data[0]) == {"id", "text"}
    assert set(reply.json["includes"]) == {kind}
    (included,) = reply.json["includes"][kind]
    defaults = {
        "users": {"id", "name", "username"},
        "tweets": {"id", "text"},
        "media": {"media_key", "type"},
        "polls": {"id", "options"},
    }
    assert set(included) == defaults[kind]
    for field, part in expected.items():
        assert part in str(included[field])


async def test_included_objects_have_the_fields_that_are_chosen_for_their_kind(ask: Asker) -> None:
    reply = await lookup(
        ask,
        ask.emulator.seed["post_ids"][:16],
        expansions=ALL_EXPANSIONS,
        user_fields=ALL_USER_FIELDS,
        media_fields=",".join(get_args(MediaField)),
        tweet_fields="author_id",
        poll_fields="voting_status",
        place_fields="whatever",
    )
    includes = reply.json["includes"]
    video = next(each for each in includes["media"] if each["type"] == "video")
    assert set(video) == set(get_args(MediaField))
    assert (isinstance(video["duration_ms"], int), set(video["public_metrics"])) == (True, {"view_count"})
    assert includes["polls"][0]["voting_status"] == "closed"
    assert all("author_id" in post for post in includes["tweets"])
    fields = {name for user in includes["users"] for name in user}
    # Connections are told to a user alone, and an e-mail address to its owner.
    assert fields == set(get_args(UserField)) - {"connection_status", "confirmed_email"}
    assert all(isinstance(user["affiliation"]["user_id"], list) for user in includes["users"])
    assert len({user["id"] for user in includes["users"]}) == len(includes["users"])
    northwind = next(user for user in includes["users"] if user["username"] == "northwind")
    assert northwind["public_metrics"]["tweet_count"] == 20_000
    assert northwind["entities"]["url"]["urls"][0]["url"] == northwind["url"]
    assert (await lookup(ask, northwind["pinned_tweet_id"])).data[0]["text"].startswith("The winter catalogue")


async def test_a_user_is_told_how_others_are_connected_to_them(ask: Asker) -> None:
    query = "expansions=author_id&user.fields=connection_status"
    reply = await ask.signed("GET", f"/2/tweets?ids={','.join(ask.emulator.seed['post_ids'][:16])}&{query}")
    statuses = {user["username"]: user.get("connection_status") for user in reply.json["includes"]["users"]}
    assert statuses["northwind"] is None
    assert statuses["harbourbooks"] == ["following", "followed_by"]


async def test_a_referenced_post_that_is_gone_is_a_problem_beside_the_data(ask: Asker) -> None:
    post_id = await written(ask, "aged well")
    reply = await lookup(ask, post_id, expansions="referenced_tweets.id,referenced_tweets.id.author_id")
    assert (reply.status, len(reply.data), "includes" in reply.json) == (200, 1, False)
    assert [(error["value"], error["parameter"]) for error in reply.json["errors"]] == [
        (LOST_POST_ID, "referenced_tweets.id"),
        (LOST_POST_ID, "referenced_tweets.id.author_id"),
    ]


async def test_protected_posts_are_for_their_author_alone(ask: Asker) -> None:
    garden = next(user for user in ask.emulator.state.users.values() if user.username == "quiet_garden")
    (post_id,) = map(str, ask.emulator.state.platform.posts.timeline(garden.id))
    assert post_id not in ask.emulator.seed["post_ids"]
    reply = await lookup(ask, post_id)
    assert (reply.status, reply.slugs) == (200, ["not-authorized-for-resource"])
    assert reply.json["errors"][0]["section"] == "data"
    reply = await ask.get(f"/2/users/{garden.id}/tweets")
    assert (reply.slugs, "data" in reply.json) == (["not-authorized-for-resource"], False)
    signer = await ask.as_user(garden.id)
    reply = await ask.signed("GET", f"/2/users/{garden.id}/tweets", signer=signer)
    assert [post["id"] for post in reply.data] == [post_id]


async def test_the_place_of_a_post_and_the_post_that_its_author_has_pinned_are_included(ask: Asker) -> None:
    post_id = await written(ask, "A new shop, the same rope")
    reply = await lookup(ask, post_id, tweet_fields="geo", expansions="geo.place_id", place_fields="country")
    (place,) = reply.json["includes"]["places"]
    assert reply.data[0]["geo"] == {"place_id": place["id"]}
    assert place == {"id": place["id"], "full_name": "Trieste, Italy", "country": "Italy"}
    reply = await lookup(ask, post_id, user_fields="pinned_tweet_id", expansions="pinned_tweet_id,author_id")
    (author,) = reply.json["includes"]["users"]
    (pinned,) = reply.json["includes"]["tweets"]
    assert pinned["id"] == author["pinned_tweet_id"] != post_id
    assert "winter catalogue" in pinned["text"]


async def test_posts_about_a_place_have_it_and_each_place_comes_once_with_all_its_fields(ask: Asker) -> None:
    fields = "id,full_name,name,country,country_code,place_type,geo"
    ids = ask.emulator.seed["post_ids"][:100]
    reply = await lookup(ask, ids, tweet_fields="geo", expansions="geo.place_id", place_fields=fields)
    places = {place["id"]: place for place in reply.json["includes"]["places"]}
    texts: dict[str, list[str]] = {place_id: [] for place_id in places}
    for post in reply.data:
        if "geo" in post:
            texts[post["geo"]["place_id"]].append(post["text"])
    assert len(reply.json["includes"]["places"]) == len(places) == 4
    assert {place["name"] for place in places.values()} == {"Trieste", "Lofoten", "Dolomites", "Lake Bled"}
    for place_id, place in places.items():
        assert set(place) == set(fields.split(","))
        assert all(place["name"] in text for text in texts[place_id])
        west, south, east, north = place["geo"]["bbox"]
        longitude, latitude = place["geo"]["geometry"]["coordinates"]
        assert place["geo"]["type"] == "Feature"
        assert west < longitude < east
        assert south < latitude < north


async def test_an_email_address_is_for_its_owners_own_token_with_the_scope(ask: Asker) -> None:
    """Platform section 5.4: e-mail retrieval is supported with OAuth 2.0."""
    own, others = ask.emulator.seed["user_ids"][0], ask.emulator.seed["user_ids"][1]
    state = ask.emulator.state
    posts = [str(state.platform.posts.timeline(each)[-1]) for each in (own, others)]
    query = f"/2/tweets?ids={','.join(posts)}&expansions=author_id&user.fields=confirmed_email"
    signed = (await ask.bearer("GET", query, token=ask.oauth2_token("users.email"))).json
    assert [user.get("confirmed_email") for user in signed["includes"]["users"]] == [
        f"{state.users[own].username.lower()}@mail.example",
        None,
    ]
    (problem,) = signed["errors"]
    assert problem.pop("type").endswith("/not-authorized-for-field")
    assert (problem["field"], problem["resource_type"], problem["section"]) == ("confirmed_email", "user", "includes")
    for token in (ask.oauth2_token("users.read"), None):
        reply = await ask.bearer("GET", query, token=token)
        assert not [user for user in reply.json["includes"]["users"] if "confirmed_email" in user]
        assert reply.slugs == ["not-authorized-for-field"] * 2


async def test_protected_posts_are_not_included_for_others(ask: Asker) -> None:
    """A post that quotes a protected one, and a user who has pinned one, name it without showing it."""
    state = ask.emulator.state
    reader, hidden = (state.users[each] for each in ask.emulator.seed["user_ids"][:2])
    secret = new_post(state, hidden, "for friends")
    hidden.profile["pinned_tweet_id"] = secret.id
    quoting = new_post(state, reader, "see this", quoted=secret)
    asking = new_post(state, hidden, "hello @" + reader.username)
    query = "expansions=referenced_tweets.id,author_id,pinned_tweet_id&tweet.fields=text"
    shown = await ask.get(f"/2/tweets?ids={quoting.id},{asking.id}&{query}")
    assert secret.id in {post["id"] for post in shown.json["includes"]["tweets"]}
    hidden.profile["protected"] = True
    reply = await ask.get(f"/2/tweets?ids={quoting.id}&{query}")
    assert "for friends" not in reply.text
    (problem,) = reply.json["errors"]
    assert (problem["resource_id"], problem["section"]) == (secret.id, "includes")
    assert (problem["parameter"], reply.slugs) == ("referenced_tweets.id", ["not-authorized-for-resource"])
