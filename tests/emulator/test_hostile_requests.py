"""What is no request, odd headers and deep nesting: no status of 500 or more, nothing that takes long, nothing but JSON."""

import asyncio
import json
import re
import socket
from typing import Any, Final

import pytest

from socialapi.emulator import Emulator
from tests.emulator.asking import Asker

pytestmark = pytest.mark.slow

MAX_SECONDS: Final = 2.0


MALFORMED: Final = (
    *(b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"GE T / HTTP/1.1\r\n\r\n"),
    *(b"GET /2/tweets HTTP/1.1\r\nContent-Length: x\r\n\r\n", b"GET //[x HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(b"GET http://[x/2/tweets HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /%zz%ff?%zz=%ff HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"GET 2/tweets HTTP/1.1\r\nHost: a\r\n\r\n"),
    *(
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ),
    *(b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: a\r\n" % n for n in range(500)) + b"\r\n",),
    b"POST /2/tweets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
)


@pytest.mark.parametrize("raw", MALFORMED, ids=lambda raw: raw[:40].decode("latin-1"))
async def test_what_is_no_request_is_refused_in_json_and_the_next_one_is_served(emulator: Emulator, raw: bytes) -> None:
    host, port = emulator.ready["base_url"].removeprefix("http://").split(":")
    loop = asyncio.get_running_loop()
    with socket.create_connection((host, int(port))) as connection:
        connection.setblocking(False)
        await loop.sock_sendall(connection, raw)
        received = b""
        async with asyncio.timeout(MAX_SECONDS):
            while chunk := await loop.sock_recv(connection, 65_536):
                received += chunk
                head, _, body = received.partition(b"\r\n\r\n")
                if body and len(body) >= int(re.search(rb"Content-Length: (\d+)", head, re.IGNORECASE)[1]):  # type: ignore[index]
                    break
    status = int(received.split(b" ", 2)[1])
    assert 400 <= status < 500, received[:200]
    assert re.search(rb"Content-Type: application/(problem\+)?json", head, re.IGNORECASE)
    assert isinstance(json.loads(body), dict)


HEADERS: Final = ("Authorization", "Host", "Content-Type", "Content-Encoding", "Cookie", "Expect", "X-Anything")


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("value", [b"\xff", b'OAuth oauth_token="\xe9"', b"Bearer \xff", b"Basic \xff", b"a" * 9_000])
async def test_any_bytes_in_any_header(emulator: Emulator, name: str, value: bytes) -> None:
    host = f"Host: {emulator.ready['base_url'][7:]}\r\n".encode() if name != "Host" else b""
    for path in (b"/2/tweets?ids=1", b"/oauth/request_token", b"/ads/12/accounts", b"/oauth/authorize?oauth_token=x"):
        head = b"POST " + path + b" HTTP/1.1\r\n" + host + name.encode() + b": " + value
        status, answered = await told(emulator, head + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        assert 200 <= status < 500, answered[:300]


async def test_a_signature_with_bytes_of_no_text_is_refused(ask: Asker) -> None:
    """Every field of the header, since each is read elsewhere."""
    address = f"{ask.emulator.ready['base_url']}/2/tweets?ids=1"
    signature = ask.signer().sign(address, "GET")[1]["Authorization"]
    for field in ("oauth_signature", "oauth_token", "oauth_nonce", "oauth_version", "oauth_body_hash"):
        broken = re.sub(rf'({field}=")[^"]*', r"\1" + "\xe9", signature)
        broken += "" if field in signature else f', {field}="\xe9"'
        host = ask.emulator.ready["base_url"][7:]
        head = f"GET /2/tweets?ids=1 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: {broken}\r\n\r\n"
        status, _ = await told(ask.emulator, head.encode("latin-1"))
        assert status == 401, field


async def told(emulator: Emulator, raw: bytes) -> tuple[int, bytes]:
    """The status and the whole of the answer to bytes on a connection of their own."""
    host, port = emulator.ready["base_url"].removeprefix("http://").split(":")
    async with asyncio.timeout(MAX_SECONDS):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(raw)
            answered = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
    return int(answered.split(b" ", 2)[1]), answered


@pytest.mark.parametrize("depth", [255, 500, 900, 1_023])
async def test_deep_nesting_is_refused_wherever_it_is_sent(ask: Asker, depth: int) -> None:
    """orjson reads deeper values than it writes: they were stored, and could not be answered any more."""
    names = ("note", "problem_fields", "add", "text")
    nested = "[" * depth + "1" + "]" * depth
    content = "{" + ", ".join(f'"{name}": {nested}' for name in names) + ', "fault": "status"}'
    headers = {"Content-Type": "application/json"}
    paths = ("/2/notes", "/2/evaluate_note", "/2/webhooks/replay", "/2/tweets", "/2/tweets/search/stream/rules")
    for path in (*paths, "/2/articles/draft", "/_emulator/events", "/_emulator/faults"):
        reply = await ask.signed("POST", path, data=content.encode(), headers=headers)
        assert reply.status == 400, path
        assert "nested too deeply" in reply.text
    assert (await ask.get("/2/notes/search/notes_written")).status == 200
    assert (await ask.control("GET", "faults")).status == 200


async def test_posts_of_the_control_plane_have_the_shapes_that_are_read_of_them(ask: Asker) -> None:
    wrong: dict[str, Any] = {
        "public_metrics": [5, [], {"reply_count": "1"}],
        "edit_controls": [5, {"edits_remaining": "x"}],
        "edit_history_tweet_ids": [["abc"], "1", [1], []],
        "id": ["0001", "9999999999999999999", 5],
        "geo": [5, {"place_id": []}],
        "attachments": [5, {"media_keys": 5}],
        "referenced_tweets": [5, [{"type": "quoted"}]],
    }
    for name, values in wrong.items():
        for value in values:
            reply = await ask.control("POST", "events", {"post": {"text": "x", name: value}})
            assert (reply.status, name in reply.text) == (400, True), (name, value)
    metrics = {"public_metrics": {"like_count": 7}, "edit_history_tweet_ids": ["999"], "edit_controls": {}}
    made = (await ask.control("POST", "events", {"post": {"text": "x", **metrics}})).json["published"][0]["post_id"]
    answered = await ask.signed("POST", "/2/tweets", json={"text": "y", "reply": {"in_reply_to_tweet_id": made}})
    assert answered.status == 201
    shown = (await ask.get("/2/tweets", ids=made, tweet_fields="public_metrics")).data[0]["public_metrics"]
    assert (shown["like_count"], shown["reply_count"]) == (7, 1)
    edit = {"text": "z", "edit_options": {"previous_post_id": made}}
    assert (await ask.signed("POST", "/2/tweets", json=edit)).status == 403
