"""Connection places: calls wait for one in order of arrival, which costs them neither time nor retries."""

import asyncio
from typing import Any

import pytest

from socialapi import Client, errors
from socialapi.session.budget import ConnectionPlaces
from tests.support.clients import client_of
from tests.support.server import Endless, Server, answer

PAGE = answer({"data": [], "meta": {}})


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


def slowly(seconds: float, most: list[int]) -> Any:
    now = [0]

    async def step(_: Any) -> bytes:
        now[0] += 1
        most.append(now[0])
        await asyncio.sleep(seconds)
        now[0] -= 1
        return PAGE

    return step


async def test_more_calls_than_places_all_return_and_no_more_are_on_their_way_at_once() -> None:
    most: list[int] = []
    async with (
        Server(then=slowly(0.02, most)) as server,
        client_of(server, max_connections=4, connect_timeout_seconds=0.1, timeout_seconds=0.3, retries=0) as client,
    ):
        replies = await asyncio.gather(*(get(client) for _ in range(80)))
    assert len(replies) == 80
    assert max(most) <= 4


async def test_a_call_that_finds_no_place_in_time_is_not_sent_and_leaves_its_slot() -> None:
    async with (
        Server(then=slowly(0.3, [])) as server,
        client_of(server, max_connections=1, pool_wait_seconds=0.05) as client,
    ):
        await get(client)  # now the limit is known, and a call need not wait for the one before
        first = asyncio.create_task(get(client))
        await asyncio.sleep(0.02)
        with pytest.raises(errors.TransportError, match=r"GET /2/tweets: .*no connection slot .* 0.05 s") as caught:
            await get(client)
        assert caught.value.attempts == 1
        assert not caught.value.may_be_executed
        await first
        assert all(each.in_flight == 0 for each in client.limits.values())
    assert len(server.requests) == 2


async def test_a_shorter_wait_of_a_view_counts() -> None:
    async with Server(then=slowly(0.2, [])) as server, client_of(server, max_connections=1) as client:
        await get(client)  # now the limit is known, and a call need not wait for the one before
        first = asyncio.create_task(get(client))
        await asyncio.sleep(0.02)
        with pytest.raises(errors.TransportError, match="no connection slot"):
            await get(client.with_options(max_wait_seconds=0.05))
        await first


async def test_a_stream_holds_its_place_until_it_is_closed() -> None:
    begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n"
    async with (
        Server(Endless(begun, b"2\r\n\r\n\r\n", 0.05), then=PAGE) as server,
        client_of(server, max_connections=1, pool_wait_seconds=0.1) as client,
    ):
        async with client.filtered_stream.connect():
            with pytest.raises(errors.TransportError, match="no connection slot"):
                await get(client)
        await get(client)


async def test_a_token_is_fetched_by_a_call_that_holds_the_only_place() -> None:
    from socialapi import AppOnly

    async def service(request: Any) -> bytes:
        return answer({"access_token": "token", "token_type": "bearer"}) if "oauth2" in request.path else PAGE

    async with (
        Server(then=service) as server,
        client_of(server, credentials=(AppOnly("key", "secret"),), max_connections=1, pool_wait_seconds=1) as client,
    ):
        await asyncio.gather(*(get(client) for _ in range(5)))


async def test_places_are_handed_over_in_order_and_none_is_lost_when_those_who_wait_are_cancelled() -> None:
    places = ConnectionPlaces(1)
    assert places.try_take()
    assert not places.try_take()
    order: list[int] = []

    async def wait(number: int) -> None:
        assert await places.take(5)
        order.append(number)
        places.give_back()

    tasks = [asyncio.create_task(wait(number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    places.give_back()
    tasks[0].cancel()  # the place was just handed over to it
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [2, 3]
    assert places.try_take()
    assert not places.try_take()
    assert not await places.take(0)
