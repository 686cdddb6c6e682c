"""Targets: requests to a receiver of webhooks, whoever sends them."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final

import orjson

from socialapi.webhooks import Receiver, crc_response, verify_signature
from socialapi.webhooks.signatures import SIGNATURE_HEADER, Signature, begins_as_json, sign_body
from tests.fuzz.target import MARKER, Pieces, completed, in_pieces, target

SECRET: Final = "consumer-secret-1"
STATUSES: Final = frozenset({200, 400, 401, 405, 413, 415, 503})


def _signature(content: bytes) -> bytes:
    return b"sha256=" + base64.b64encode(hmac.digest(SECRET.encode(), content, hashlib.sha256))


@target("webhook", "webhooks.endpoint:Endpoint", "webhooks.asgi:AsgiApp", "webhooks.endpoint:_token")
def _webhook(data: bytes) -> None:
    """A request in parts has the answer that it has at once, which repeats nothing of it."""
    pieces = Pieces(data)
    method = pieces.one_of("POST", "POST", "GET", "PUT")
    is_signed, size = pieces.number(2) == 1, 1 + pieces.number(90)
    query, headers = pieces.part(), []
    for _ in range(pieces.number(4)):
        name = pieces.one_of(SIGNATURE_HEADER, "content-length", "transfer-encoding", "content-encoding", "x")
        headers.append((name.encode(), pieces.part()))
    content = pieces.rest()
    if is_signed:
        headers.append((SIGNATURE_HEADER.encode(), _signature(content)))
    completed(_ask(method, query, headers, content, size))


async def _ask(method: str, query: bytes, headers: list[tuple[bytes, bytes]], content: bytes, size: int) -> None:
    whole, parts = (Receiver(SECRET, max_body_bytes=4_000, body_timeout_seconds=60.0) for _ in range(2))
    named: Any = headers
    reply = await whole.handle(method, query.decode("latin-1"), named, content)
    status, body = await _by_asgi(parts, method, query, headers, in_pieces(content, size))
    announced = any(name == b"content-length" for name, _ in headers)
    assert {reply.status, status} <= STATUSES
    assert (status, body) == (reply.status, reply.body) or announced or status == 400
    assert MARKER not in body + reply.body or method == "GET"
    assert (whole.counters.accepted > 0) == (reply.status == 200 and method == "POST")
    if whole.counters.accepted:
        assert begins_as_json(content)
        repr(await anext(whole))
    if method == "GET" and reply.status == 200:
        assert orjson.loads(reply.body)["response_token"].startswith("sha256=")
    await whole.aclose()
    await parts.aclose()


async def _by_asgi(
    receiver: Receiver, method: str, query: bytes, headers: list[tuple[bytes, bytes]], parts: Sequence[bytes]
) -> tuple[int, bytes]:
    sent: list[Any] = []
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Any:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "query_string": query, "headers": headers, "http_version": "1.1"}
    await receiver.asgi(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


@target("signature", "webhooks.signatures:verify_signature", "webhooks.signatures:crc_response")
def _signatures(data: bytes) -> None:
    """Only the signature of a body is taken for it, and no token is signed that could be an event."""
    pieces = Pieces(data)
    header, content = pieces.part().decode("latin-1"), pieces.rest()
    right = _signature(content).decode()
    assert sign_body(content, SECRET) == right
    assert verify_signature(content, right, ["other", SECRET])
    assert verify_signature(content, header, SECRET) == (header == right)
    signature = Signature(header, [SECRET])
    for part in in_pieces(content, 7):
        signature.update(part)
    assert signature.fits() == (header == right)
    token = content.decode("utf-8", "surrogateescape")
    if isinstance(crc_response(token, SECRET), dict) and not begins_as_json(content):
        _refuse_event(content)


def _refuse_event(content: bytes) -> None:
    """What does not begin as JSON is not a JSON object, and no array."""
    try:
        value = orjson.loads(content)
    except orjson.JSONDecodeError:
        return
    assert not isinstance(value, dict | list)
