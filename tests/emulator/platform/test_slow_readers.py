"""Clients that take less than arrives: they are waited for, and ended at last."""

import asyncio
import socket
from typing import Any, Self

import pytest

from socialapi.emulator.platform import streaming
from tests.emulator.asking import Asker, eventually
from tests.emulator.platform.reading import (
    POSTS,
    add_rules,
    connection_of,
    end_of_connection,
)


def snow(count: int, text: str = "snow") -> dict[str, Any]:
    return {"events": [{"text": f"{text} {number}"} for number in range(count)]}


class Lazy:
    """A client that opened a stream and takes nothing of it before it is asked to."""

    def __init__(self, ask: Asker, path: str = POSTS) -> None:
        self.connection = socket.socket()
        # Little room for what is not read, so that little has to be sent.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        host, port = ask.emulator.ready["base_url"].removeprefix("http://").split(":")
        self.connection.connect((host, int(port)))
        token = ask.emulator.ready["bearer_token"]
        self.connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        self.connection.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    async def rest(self) -> bytes:
        """Everything until the end, whichever it is."""
        loop, chunks = asyncio.get_running_loop(), []
        async with asyncio.timeout(10):
            try:
                while chunk := await loop.sock_recv(self.connection, 65_536):
                    chunks.append(chunk)
            except ConnectionError:
                chunks.append(b"(reset)")
        return b"".join(chunks)


async def blocked(ask: Asker) -> streaming.LiveStream:
    """The only stream, once what was sent to it waits for its client."""
    await eventually(lambda: ask.emulator._service.streams.streams)
    (stream,) = ask.emulator._service.streams.streams
    while stream._blocked_since is None:
        await ask.emulator.publish(snow(40, "snow " + "x" * 20_000))
        await asyncio.sleep(0)
    return stream


async def test_a_client_that_takes_nothing_for_a_minute_is_ended_as_slow(ask: Asker) -> None:
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        await blocked(ask)
        ask.emulator.advance(1)
        assert "disconnect_reason" not in await connection_of(ask)
        ask.emulator.advance(streaming.SLOW_READER_SECONDS)
        assert await end_of_connection(ask) == "SlowReader"
        received = await lazy.rest()
        assert b'"disconnect_type":"SlowReader"' in received or received.endswith(b"(reset)")


async def test_a_slow_client_that_takes_it_at_last_reads_why_it_was_ended(ask: Asker) -> None:
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        (await blocked(ask))._end_slow()
        assert b'"disconnect_type":"SlowReader"' in await lazy.rest()


async def test_a_client_that_never_takes_it_is_cut_off(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PATIENCE_SECONDS", 0.05)
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        stream = await blocked(ask)
        assert stream._request is not None
        transport = stream._request.transport
        stream._end_slow()
        assert transport is not None
        await eventually(transport.is_closing)
        assert b"SlowReader" not in await lazy.rest()


async def test_a_full_queue_ends_the_stream(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        stream = await blocked(ask)
        monkeypatch.setattr(streaming, "QUEUE_LINES", 3)
        while stream.ending is None:
            await ask.signed("POST", "/2/tweets", json={"text": "snow"})
        assert (await connection_of(ask))["disconnect_reason"] == "SlowReader"
        await lazy.rest()


async def test_who_publishes_through_the_control_plane_waits_for_slow_clients(
    ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "ROOM_LINES", 50)
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        stream = await blocked(ask)
        publishing = asyncio.create_task(ask.emulator.publish(snow(200, "snow")))
        await eventually(lambda: stream.is_crowded)
        assert not publishing.done()
        reading_on = asyncio.create_task(lazy.rest())
        answer = await asyncio.wait_for(publishing, 10)
        assert {each["streams"] for each in answer["published"]} == {1}
        await ask.emulator.settle()
        ask.emulator.end_streams()
        assert b"snow 199" in await reading_on


async def test_who_waits_for_a_client_that_leaves_goes_on(ask: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "ROOM_LINES", 50)
    await add_rules(ask, "snow")
    with Lazy(ask) as lazy:
        stream = await blocked(ask)
        publishing = asyncio.create_task(ask.emulator.publish(snow(200, "snow")))
        await eventually(lambda: stream.is_crowded)
        lazy.connection.close()
        answer = await asyncio.wait_for(publishing, 10)
        assert answer["published"][-1]["streams"] == 0
