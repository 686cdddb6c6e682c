"""A user's posts, page by page (platform documentation, sections 2.3 and 4.3)."""

from typing import Any

import pytest

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker


@pytest.fixture
def northwind(emulator: Emulator) -> str:
    return emulator.seed["user_ids"][0]


@pytest.mark.slow
async def test_all_20000_posts_are_read_each_of_them_once(ask: Asker, northwind: str) -> None:
    path, ids, query = f"/2/users/{northwind}/tweets", [], {"max_results": "100"}
    while True:
        reply = await ask.get(path, **query)
        ids += [post["id"] for post in reply.data]
        token = reply.json["meta"].get("next_token")
        if token is None:
            break
        query["pagination_token"] = token
    assert len(ids) == 20_000
    assert ids == sorted(set(ids), key=int, reverse=True)
    assert set(reply.json["meta"]) == {"result_count", "previous_token"}


async def test_tokens_lead_forth_and_back(ask: Asker, northwind: str) -> None:
    path = f"/2/users/{northwind}/tweets"
    first = await ask.get(path, max_results=20)
    second = await ask.get(path, max_results=20, pagination_token=first.json["meta"]["next_token"])
    back = await ask.get(path, max_results=20, pagination_token=second.json["meta"]["previous_token"])
    assert (back.data, back.json["meta"]) == (first.data, first.json["meta"])
    # Pages may change their size and their fields on the way.
    shorter = await ask.get(path, pagination_token=first.json["meta"]["next_token"], tweet_fields="lang")
    assert [post["id"] for post in shorter.data] == [post["id"] for post in second.data[:10]]


async def test_a_new_post_shifts_no_page(ask: Asker, northwind: str) -> None:
    path = f"/2/users/{northwind}/tweets"
    first = await ask.get(path)
    token = first.json["meta"]["next_token"]
    before = await ask.get(path, pagination_token=token)
    made = (await ask.signed("POST", "/2/tweets", json={"text": "News"})).data["id"]
    assert (await ask.get(path, pagination_token=token)).data == before.data
    back = await ask.get(path, pagination_token=before.json["meta"]["previous_token"])
    assert back.data == first.data
    newest = await ask.get(path, pagination_token=back.json["meta"]["previous_token"])
    assert [post["id"] for post in newest.data] == [made]
    assert "previous_token" not in newest.json["meta"]


@pytest.mark.parametrize("token", ["", "x", "nonsense!", "AAAAAAAAAAAAbjE3", "é", "a" * 500])
async def test_a_forged_token_is_refused(ask: Asker, northwind: str, token: str) -> None:
    reply = await ask.get(f"/2/users/{northwind}/tweets", pagination_token=token)
    assert reply.at_fault == ["pagination_token"]


async def test_a_token_is_good_for_its_own_collection_alone(ask: Asker, northwind: str) -> None:
    token = (await ask.get(f"/2/users/{northwind}/tweets")).json["meta"]["next_token"]
    other = ask.emulator.seed["user_ids"][1]
    assert (await ask.get(f"/2/users/{other}/tweets", pagination_token=token)).at_fault == ["pagination_token"]


async def test_posts_of_nobody_are_errors_without_data(ask: Asker) -> None:
    reply = await ask.get("/2/users/17/tweets")
    assert (reply.status, set(reply.json)) == (200, {"errors"})
    assert reply.slugs == ["resource-not-found"]
    assert reply.json["errors"][0]["resource_type"] == "user"


async def test_a_user_without_posts_has_an_empty_page(ask: Asker) -> None:
    silent = ask.emulator.seed["user_ids"][-1]
    reply = await ask.get(f"/2/users/{silent}/tweets")
    assert reply.json == {"data": [], "meta": {"result_count": 0}}


async def test_reading_can_be_limited_by_route(session: Any) -> None:
    async with Emulator(rate_limits={"GET /2/users/{id}/tweets": (2, 900.0)}) as emulator:
        ask = Asker(emulator, session)
        path = f"/2/users/{emulator.seed['user_ids'][0]}/tweets"
        replies = [await ask.get(path) for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 200, 429]
        assert [reply.headers["x-rate-limit-remaining"] for reply in replies] == ["1", "0", "0"]
        assert "x-account-rate-limit-limit" not in replies[0].headers
        assert (replies[2].json["type"], replies[2].json["title"]) == ("about:blank", "Too Many Requests")
        assert (await ask.signed("GET", path)).status == 200  # another user of the app
        assert "x-rate-limit-limit" not in (await ask.get("/2/tweets", ids="17")).headers
        emulator.advance(900)
        assert (await ask.get(path)).status == 200


@pytest.fixture
async def five(ask: Asker) -> list[str]:
    """The ids of five posts of another user, a minute apart, the oldest first: plain, reply, quote, retweet, plain."""
    kinds = (None, "replied_to", "quoted", "retweeted", None)
    posts = [
        {
            "text": f"number {number}",
            "author_id": "783214005",
            "created_at": f"2026-05-01T10:0{number}:00.000Z",
            "referenced_tweets": [] if kind is None else [{"type": kind, "id": "1"}],
        }
        for number, kind in enumerate(kinds)
    ]
    for_each = [{"post": post} for post in posts]
    published = (await ask.control("POST", "events", {"events": for_each})).json["published"]
    return [each["post_id"] for each in published]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"start_time": "2026-05-01T10:03:00Z"}, [4, 3]),
        ({"start_time": "2026-05-01T10:03:00.001Z"}, [4]),
        ({"end_time": "2026-05-01T10:01:00Z"}, [0]),
        ({"start_time": "2026-05-01T10:01:00+00:00", "end_time": "2026-05-01T10:03:00Z"}, [2, 1]),
        ({"exclude": "replies"}, [4, 3, 2, 0]),
        ({"exclude": "retweets,replies"}, [4, 2, 0]),
        ({"exclude": "retweets", "start_time": "2026-05-01T10:02:00Z"}, [4, 2]),
        ({"since_id": 1}, [4, 3, 2]),
        ({"until_id": 1}, [0]),
        ({"since_id": 0, "until_id": 4, "exclude": "replies"}, [3, 2]),
    ],
)
async def test_posts_are_chosen_by_time_id_and_kind(
    ask: Asker, five: list[str], query: dict[str, str | int], expected: list[int]
) -> None:
    asked = {name: five[value] if isinstance(value, int) else value for name, value in query.items()}
    reply = await ask.get("/2/users/783214005/tweets", max_results=100, **asked)
    chosen = [post["id"] for post in reply.data if post["id"] in five]
    assert chosen == [five[index] for index in expected]


async def test_chosen_posts_come_in_pages_of_their_own(ask: Asker) -> None:
    path = f"/2/users/{ask.emulator.seed['user_ids'][0]}/tweets"
    found: list[str] = []
    query = {"end_time": "2024-01-10T00:00:00Z", "exclude": "replies", "max_results": "100"}
    token: str | None = ""
    while token is not None and len(found) < 250:
        reply = await ask.get(
            path, tweet_fields="created_at", **query, **({"pagination_token": token} if token else {})
        )
        assert all(post["created_at"] < "2024-01-10" for post in reply.data)
        found += [post["id"] for post in reply.data]
        token = reply.json["meta"].get("next_token")
    assert len(found) == len(set(found)) >= 250
    other = await ask.get(path, max_results=100, pagination_token=token)
    assert other.at_fault == ["pagination_token"], "a token is of one choice"
