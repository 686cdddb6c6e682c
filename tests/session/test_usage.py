"""What a client says that it has read and sent."""

import datetime

from socialapi import Bearer, Client, Config, Fields, OAuth1
from tests.support.server import Server, answer

PAGE = {
    "data": [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}, {"id": 3.5}],
    "includes": {"users": [{"id": "9", "name": "A", "username": "a"}]},
    "meta": {"next_token": "n"},
}


async def test_a_client_counts_resources_by_kind_and_requests_by_route() -> None:
    before = datetime.datetime.now(datetime.UTC)
    async with (
        Server(answer(PAGE), answer(status=503), answer({"data": [], "meta": {}}), then=answer({"data": {}})) as server,
        Client(Config(base_url=server.url), [Bearer("b")]) as client,
    ):
        usage = client.usage
        assert (usage.resources, usage.requests) == ({}, {})
        assert before <= usage.since <= datetime.datetime.now(datetime.UTC)
        await client.posts.by_user("7", fields=Fields(expansions=["author_id"])).collect()
        await client.with_options(retries=0).request("GET", "/2/anything/1")
        await client.request("GET", "/2/anything/2")
        usage = client.usage
    sent = [(each.method, each.path.partition("?")[0]) for each in server.requests]
    assert sent == [("GET", "/2/users/7/tweets")] * 3 + [("GET", "/2/anything/1"), ("GET", "/2/anything/2")]
    # An item that could not be read was sent, too, and counts as read.
    assert usage.resources == {"Post": 3, "User": 1}
    assert sorted(usage.requests.values()) == [2, 3]
    assert usage.requests["GET (client.request)"] == 2  # of which there may be any number of paths
    assert usage.to_dict()["resources"] == {"Post": 3, "User": 1}


async def test_what_is_written_is_no_resource_that_was_read() -> None:
    async with (
        Server(then=answer({"data": {"id": "7", "text": "hello"}}, status=201)) as server,
        Client(Config(base_url=server.url), [OAuth1("k", "s", "t", "u")]) as client,
    ):
        await client.posts.create("hello")
        assert client.usage.resources == {}
        assert list(client.usage.requests.values()) == [1]
