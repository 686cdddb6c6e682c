"""A receiver as an ASGI application: what it is told and says, message by message."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from socialapi.webhooks import Receiver
from tests.support.clock import turns
from tests.webhooks.posting import HEADER, SECRET, event, numbers, rest, signature, take

LEAVES = {"type": "http.disconnect"}


def chunk(content: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": content, "more_body": more}


class Server:
    """Gives an application messages, and notes what it sends. What it asks for beyond them never comes."""

    def __init__(self, receiver: Receiver) -> None:
        self.app = receiver.asgi
        self.asked = 0

    async def run(self, scope: dict[str, Any], messages: Sequence[dict[str, Any]]) -> list[Any]:
        waiting = list(messages)
        sent: list[Any] = []
        self.asked = 0

        async def receive() -> Any:
            self.asked += 1
            return waiting.pop(0) if waiting else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        async with asyncio.timeout(10):
            await self.app(scope, receive, send)
        return sent

    async def request(
        self, method: str, *messages: dict[str, Any], query: bytes = b"", version: str = "1.1", **headers: Any
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        """Status, headers and body of the answer."""
        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "query_string": query, "headers": named, "http_version": version}
        start, body = await self.run(scope, messages)
        assert (start["type"], body["type"]) == ("http.response.start", "http.response.body")
        return start["status"], dict(start["headers"]), body["body"]

    async def post(
        self, content: bytes, *messages: dict[str, Any], **headers: Any
    ) -> tuple[int, dict[bytes, bytes], bytes]:
        sign = {"x_service_webhooks_signature": signature(content)}
        return await self.request("POST", *(messages or [chunk(content, more=False)]), **(sign | headers))


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(SECRET, max_body_bytes=2_000, body_timeout_seconds=0.05)


@pytest.fixture
def server(receiver: Receiver) -> Server:
    return Server(receiver)


async def test_a_challenge_is_answered_without_asking_for_a_body(server: Server) -> None:
    status, headers, body = await server.request("GET", query=b"crc_token=a%20b")
    assert (status, list(orjson.loads(body))) == (200, ["response_token"])
    assert headers == {
        b"content-type": b"application/json; charset=utf-8",
        b"content-length": str(len(body)).encode(),
    }
    assert server.asked == 0


async def test_an_event_that_comes_in_parts_is_kept(server: Server, receiver: Receiver) -> None:
    content = event(1)
    parts = [chunk(content[:5]), {"type": "http.request", "more_body": True}, chunk(content[5:], more=False)]
    assert (await server.post(content, *parts))[0] == 200
    assert numbers(await take(receiver, 1)) == ["1"]


async def test_a_request_without_more_than_its_type_is_an_empty_body(server: Server) -> None:
    assert (await server.post(b"", {"type": "http.request"}))[0] == 400


@pytest.mark.parametrize(
    ("headers", "status"),
    [({HEADER.replace("-", "_"): "sha256=no"}, 401), ({"content_length": "2001"}, 413)],
)
async def test_what_is_refused_early_is_refused_without_reading_on(
    server: Server, headers: dict[str, str], status: int
) -> None:
    answer = await server.post(event(1), chunk(b""), **({"content_length": "10"} | headers))
    assert (answer[0], answer[1][b"connection"]) == (status, b"close")
    assert server.asked == 0
    again = await server.post(event(1), chunk(b""), version="2", **({"content_length": "10"} | headers))
    assert b"connection" not in again[1]  # which HTTP/2 forbids


async def test_a_body_in_many_parts_of_a_few_bytes_is_not_read_on(server: Server, receiver: Receiver) -> None:
    parts = [chunk(b"{") for _ in range(70)]
    status, headers, body = await server.post(b"", *parts)
    assert (status, headers[b"connection"]) == (400, b"close")
    assert body == b"the body arrives in too many chunks of a few bytes"
    assert server.asked == 65
    content = event(1, text="x" * 1_800)
    larger = [chunk(content[start : start + 25]) for start in range(0, 1_000, 25)]  # 40 of them: a few may be small
    assert (await server.post(content, *larger, chunk(content[1_000:], more=False)))[0] == 200
    assert numbers(await take(receiver, 1)) == ["1"]


async def test_a_client_that_leaves_is_not_answered(server: Server, receiver: Receiver) -> None:
    scope = {
        "type": "http",
        "method": "POST",
        "query_string": b"",
        "headers": [(HEADER.encode(), signature(b"").encode())],
    }
    assert await server.run(scope, [chunk(b"{"), LEAVES]) == []
    assert receiver.counters.refused_body == 1
    assert receiver._bodies._bytes == 0


async def test_it_opens_and_closes_the_inbox_with_the_server(tmp_path: Path) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    server = Server(receiver)
    shutdown = asyncio.Event()
    sent: list[Any] = []
    messages = iter([{"type": "lifespan.startup"}])

    async def receive() -> Any:
        for message in messages:
            return message
        await shutdown.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        sent.append(message)

    living = asyncio.ensure_future(receiver.asgi({"type": "lifespan"}, receive, send))
    assert (await server.post(event(1)))[0] == 200
    assert numbers(await take(receiver, 1)) == ["1"]
    await turns()
    assert sent == [{"type": "lifespan.startup.complete"}]
    shutdown.set()
    await living
    assert sent[1:] == [{"type": "lifespan.shutdown.complete"}]
    assert await rest(receiver) == []
    assert (await server.post(event(2)))[0] == 503


async def test_a_server_is_told_why_it_cannot_start(tmp_path: Path) -> None:
    (failed,) = await Server(Receiver(SECRET, inbox=tmp_path)).run({"type": "lifespan"}, [{"type": "lifespan.startup"}])
    assert failed["type"] == "lifespan.startup.failed"
    assert failed["message"].startswith(f"the inbox {tmp_path} cannot be written")


async def test_a_server_cannot_start_a_receiver_again(tmp_path: Path) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    async with receiver:
        pass
    (failed,) = await Server(receiver).run({"type": "lifespan"}, [{"type": "lifespan.startup"}])
    assert failed == {"type": "lifespan.startup.failed", "message": "the inbox is closed"}


async def test_a_web_socket_is_refused(server: Server) -> None:
    sent = await server.run({"type": "websocket"}, [{"type": "websocket.connect"}])
    assert sent == [{"type": "websocket.close", "code": 1000}]


def test_it_is_one_object_that_tells_no_secret(receiver: Receiver) -> None:
    assert receiver.asgi is receiver.asgi
    assert callable(receiver.asgi)
    assert SECRET not in repr(receiver.asgi)
