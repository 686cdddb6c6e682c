"""Streaming connections (platform documentation, sections 4.4 and 7.1): listed truthfully, limited, and ended."""

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.platform import state
from tests.emulator.asking import Asker, eventually
from tests.emulator.platform.reading import (
    ACTIVITY,
    POSTS,
    Reading,
    add_rules,
    connection_of,
    end_of_connection,
    reading,
)

SNOW = {"post": {"text": "snow again"}}


@pytest.mark.parametrize(("path", "name"), [(POSTS, "filtered_stream"), (ACTIVITY, "activity_stream")])
async def test_the_connection_is_listed_and_ends_when_the_client_leaves(ask: Asker, path: str, name: str) -> None:
    async with reading(ask, path) as stream:
        connection = await connection_of(ask)
        assert (connection["endpoint_name"], "disconnected_at" in connection) == (name, False)
        stream.leave()
        assert await end_of_connection(ask) == "ClientDisconnected"


def problem_in(line: Any) -> tuple[str, str]:
    (error,) = line["errors"]
    assert {"type", "title", "detail"} <= set(error)
    return error["type"].rpartition("/problems/")[2], error.get("disconnect_type") or error["connection_issue"]


@pytest.mark.parametrize("how", ["ids", "endpoint", "all"])
async def test_connections_that_are_ended_on_request_say_so_and_end(ask: Asker, how: str) -> None:
    await add_rules(ask, "snow")
    other = (await ask.another_app())["bearer_token"]
    async with reading(ask) as stream, reading(ask, token=other) as theirs:
        await ask.emulator.publish(SNOW)
        listed = [each["id"] for each in (await ask.get("/2/connections")).data if "disconnected_at" not in each]
        path = {"ids": "", "endpoint": "/filtered_stream", "all": "/all"}[how]
        options: dict[str, Any] = {"json": {"uuids": listed}} if how == "ids" else {}
        reply = await ask.bearer("DELETE", f"/2/connections{path}", **options)
        assert reply.data["results"] == [{"uuid": listed[0], "success": True}]
        assert await stream.texts(1) == ["snow again"]  # what waited comes first
        assert problem_in(await stream.line()) == ("operational-disconnect", "ForceDisconnect")
        assert await stream.rest() == b""
        assert (await connection_of(ask))["disconnect_reason"] == "ForceDisconnect"
        assert "disconnected_at" not in (await ask.bearer("GET", "/2/connections", token=other)).data[-1]
        theirs.leave()


async def test_an_app_has_so_many_connections_to_an_endpoint(session: aiohttp.ClientSession) -> None:
    async with Emulator(max_connections=2) as emulator:
        ask = Asker(emulator, session)
        other = (await ask.another_app())["bearer_token"]
        async with reading(ask) as first, reading(ask), reading(ask, ACTIVITY), reading(ask, token=other):
            reply = await ask.get(POSTS)
            assert (reply.status, reply.slug, reply.json["connection_issue"]) == (
                429,
                "streaming-connection",
                "TooManyConnections",
            )
            first.leave()
            await eventually(lambda: len(emulator._service.streams.streams) == 3)
            async with reading(ask):
                assert (await ask.get(POSTS)).status == 429


async def test_past_connections_are_forgotten_at_last(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "PAST_CONNECTIONS", 4)
    async with reading(ask):
        for _ in range(5):
            async with reading(ask) as stream:
                stream.leave()
            await eventually(lambda: len(ask.emulator._service.streams.streams) == 1)
        listed = (await ask.get("/2/connections")).data
        assert len(listed) == 4
        assert ["disconnected_at" in each for each in listed] == [False, True, True, True]


@pytest.mark.parametrize("ending", ["close", "reset"])
async def test_closing_and_resetting_end_every_stream(ending: str, session: aiohttp.ClientSession) -> None:
    async with Emulator() as emulator:
        ask = Asker(emulator, session)
        streams = [reading(ask), reading(ask, ACTIVITY)]
        opened: list[Reading] = [await each.__aenter__() for each in streams]
        if ending == "reset":
            await ask.control("POST", "reset")
            assert [problem_in(await each.line()) for each in opened] == [
                ("operational-disconnect", "OperationalDisconnect")
            ] * 2
            assert [await each.rest() for each in opened] == [b""] * 2
        started = time.perf_counter()
    assert time.perf_counter() - started < 2
    for each in opened:
        each.leave()
    tasks = [task.get_name() for task in asyncio.all_tasks()]
    assert not [name for name in tasks if name.startswith("socialapi-emulator")]


async def test_streams_are_ended_from_python_and_over_http(ask: Asker) -> None:
    async with reading(ask) as stream:
        assert ask.emulator.end_streams("InternalError") == 1
        assert problem_in(await stream.line()) == ("operational-disconnect", "InternalError")
        assert await stream.rest() == b""
    async with reading(ask) as stream:
        assert (await ask.control("POST", "streams/end", {"abruptly": True})).json == {"ended": 1}
        with pytest.raises(aiohttp.ClientPayloadError):
            await stream.rest()
    assert (await ask.control("POST", "streams/end", {"disconnect_type": "Slow"})).json == {"ended": 0}
    assert (await ask.control("POST", "streams/end", {"disconnect_type": 5})).status == 400
