"""The service as canned bytes, in a process of its own: fast enough never to be what a contestant
waits for.

`python -m benchmarks.harness.stub` prints its port and ends when standard input does. It speaks the wire shapes of every
contestant, checks nothing, and counts what arrives. POST `/_stub/set` with `Settings` forgets all that was counted, GET
`/_stub/seen` tells it.
"""

import asyncio
import email.utils
import functools
import math
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import attrs
import orjson

from benchmarks.harness import canned

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_DIGEST: Final = re.compile(rb"[0-9a-f]{64}")
_TOKEN: Final = re.compile(rb"pagination_token=(\d+)")
_MANY_PAGES: Final = re.compile(rb"/2/users/(\d+)/tweets")
_STREAM_HEAD: Final = b"HTTP/1.1 200 OK\r\n%bContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n%b\r\n"
_XDK: Final = b"User-Agent: xdk-python"
_AUTHORIZATION: Final = re.compile(rb"\r\nauthorization: *([^\r]*)", re.IGNORECASE)
_PLENTY: Final = 1_000_000
"""The limit that answers tell of where there is none."""
_WINDOW_SECONDS: Final = 900


@attrs.define(kw_only=True)
class Settings:
    """What a work asks of the stub: `quota_requests` are for each `quota_seconds`, 0 for as many as
    there are.
    """

    latency_seconds: float = 0.0
    quota_requests: int = 0
    quota_seconds: float = 60.0
    check_digests: bool = False
    """Whether the digests in a body are summed up, which costs time."""
    is_mixed: bool = False
    """Whether the posts of a timeline have different members."""
    keeps_authorizations: bool = False


@attrs.define
class Seen:
    """What arrived since the settings were made: requests, rows in them, their bytes, and the times
    of those accepted.
    """

    requests: int = 0
    refused: int = 0
    rows: int = 0
    sent_bytes: int = 0
    digest_sum: int = 0
    accepted_at: list[float] = attrs.field(factory=list)
    authorizations: list[str] = attrs.field(factory=list)


def response(body: bytes, *, status: bytes = b"200 OK", further: bytes = b"") -> bytes:
    """A whole answer."""
    head = b"HTTP/1.1 %b\r\n%bContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n%b\r\n"
    return head % (status, _date(int(time.time())), len(body), further) + body


@functools.lru_cache(maxsize=2)
def _date(second: int) -> bytes:
    return b"Date: %b\r\n" % email.utils.formatdate(second, usegmt=True).encode()


class Stub:
    """The answers, and what was counted."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.seen = Seen()
        self._pages: dict[tuple[int, int, canned.Shape], bytes] = {}
        self._blocks: dict[bool, bytes] = {}
        self._in_window: deque[float] = deque()
        self._one_post = {is_xdk: _one(is_xdk=is_xdk) for is_xdk in (False, True)}

    def answer(self, head: bytes, body: bytes) -> bytes:
        """The answer to a request."""
        if b" /_stub/" in head[:16]:
            return self._control(head, body)
        refusal = self._refusal()
        if refusal is not None:
            return refusal
        if self.settings.keeps_authorizations:
            found = _AUTHORIZATION.search(head)
            self.seen.authorizations.append(found[1].decode() if found else "")
        return response(self._body(head, body), further=self._limit())

    def _body(self, head: bytes, body: bytes) -> bytes:
        if head.startswith(b"GET"):
            return self._read(head)
        self.seen.rows += (count := self._count(head, body))
        self.seen.sent_bytes += len(body)
        if self.settings.check_digests:
            # A quotation mark of a form is %22, whose digits would be taken for those of the digest
            # behind it.
            digests = _DIGEST.findall(body.replace(b"%22", b'"'))
            self.seen.digest_sum += sum(int(each[:8], 16) for each in digests)
        return self._written(head, body, count)

    def stream_head(self) -> bytes:
        """What comes before the lines of a stream."""
        return _STREAM_HEAD % (_date(int(time.time())), self._limit())

    def block(self, head: bytes) -> bytes:
        """The lines of a stream, each of them a chunk."""
        is_xdk = _XDK in head
        if is_xdk not in self._blocks:
            shape = canned.post_for_xdk if is_xdk else canned.post
            lines = [canned.line(number, shape) for number in range(canned.LINES_A_BLOCK)]
            self._blocks[is_xdk] = b"".join(b"%x\r\n%b\r\n" % (len(line), line) for line in lines)
        return self._blocks[is_xdk]

    def _control(self, head: bytes, body: bytes) -> bytes:
        if head.startswith(b"POST"):
            self.settings, self.seen = Settings(**orjson.loads(body)), Seen()
            self._in_window.clear()
        return response(orjson.dumps(attrs.asdict(self.seen)))

    def _refusal(self) -> bytes | None:
        """A 429 when the sliding window is full; only what is accepted counts in it."""
        now = time.monotonic()
        self.seen.requests += 1
        window = self._in_window
        if self.settings.quota_requests:
            while window and window[0] <= now - self.settings.quota_seconds:
                window.popleft()
            if len(window) >= self.settings.quota_requests:
                self.seen.refused += 1
                wait = window[0] + self.settings.quota_seconds - now
                further = self._limit() + b"Retry-After: %d\r\n" % math.ceil(wait)
                return response(b'{"errors":[{"code":"RATE_LIMIT"}]}', status=b"429 Many", further=further)
            window.append(now)
            self.seen.accepted_at.append(now)
        return None

    def _limit(self) -> bytes:
        """The headers that tell of the limit."""
        quota, now = self.settings.quota_requests, time.time()
        if quota:
            limit, remaining = quota, quota - len(self._in_window)
            ends_in = self._in_window[0] + self.settings.quota_seconds - time.monotonic()
            reset = math.ceil(now + ends_in)
        else:
            limit, remaining = _PLENTY, _PLENTY - self.seen.requests
            reset = int(now // _WINDOW_SECONDS * _WINDOW_SECONDS + _WINDOW_SECONDS)
        return b"x-rate-limit-limit: %d\r\nx-rate-limit-remaining: %d\r\nx-rate-limit-reset: %d\r\n" % (
            limit,
            remaining,
            reset,
        )

    def _read(self, head: bytes) -> bytes:
        is_xdk = _XDK in head
        many = _MANY_PAGES.search(head, 0, 200)
        if many is None:
            return self._one_post[is_xdk]
        token = _TOKEN.search(head, 0, 500)
        plain = canned.mixed_post if self.settings.is_mixed else canned.post
        key = (int(token[1]) if token else 0, int(many[1]), canned.post_for_xdk if is_xdk else plain)
        if key not in self._pages:
            self._pages[key] = canned.page(*key)
        return self._pages[key]

    @staticmethod
    def _count(head: bytes, body: bytes) -> int:
        if b"/users " in head or b"/users?" in head:
            # Two digests to a person in what facebook-business sends. In the others' JSON an operation
            # is an object with another for its parameters, in which each person is one.
            operations = body.count(b'"operation_type"')
            return body.count(b"{") - 2 * operations if operations else len(_DIGEST.findall(body)) // 2
        return body.count(b'"id"') + body.count(b"%22id%22")

    @staticmethod
    def _written(head: bytes, body: bytes, count: int) -> bytes:
        if b"/products " in head:
            answers = [
                {"id": each["id"], "product_key": f"k-{each['id']}", "status": "CREATE_SUCCESS"}
                for each in orjson.loads(body)["products"]
            ]
            return orjson.dumps({"data": {"products_response": answers}})
        if b" /v" in head[:8]:  # the graph of facebook-business
            shape: dict[str, Any] = {"audience_id": "1", "num_received": count, "num_invalid_entries": 0}
            return orjson.dumps(shape if b"/users" in head else {"handles": ["h"]})
        return b'{"data":{"success_count":%d,"total_count":%d}}' % (count, count)


def _one(*, is_xdk: bool) -> bytes:
    """The post that all contestants ask for."""
    shape = canned.post_for_xdk(1) if is_xdk else canned.post(1)
    return orjson.dumps({"data": [{**shape, "id": "1"}]})


class Connection(asyncio.Protocol):
    """One connection: a request at a time, as all contestants have it."""

    def __init__(self, stub: Stub, loop: asyncio.AbstractEventLoop) -> None:
        self._stub = stub
        self._loop = loop
        self._parts: list[bytes] = []
        self._missing = 0
        self._head = b""
        self._block = b""
        self._transport: asyncio.Transport
        self._is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        if not self._missing:
            data = b"".join((*self._parts, data))
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._parts = [data]
                return
            self._head, data = data[: end + 2], data[end + 4 :]
            self._parts = []
            length = _LENGTH.search(self._head)
            self._missing = int(length[1]) if length else 0
        self._parts.append(data)
        self._missing -= len(data)
        if not self._missing:
            body, self._parts = b"".join(self._parts), []
            self._reply(body)

    def _reply(self, body: bytes) -> None:
        if b" /2/tweets/search/stream" in self._head[:64]:
            self._block = self._stub.block(self._head)
            self._transport.write(self._stub.stream_head())
            self._loop.call_soon(self._flow)
            return
        latency = 0.0 if b" /_stub/" in self._head[:16] else self._stub.settings.latency_seconds
        answer = self._stub.answer(self._head, body)
        if latency:
            self._loop.call_later(latency, self._transport.write, answer)
        else:
            self._transport.write(answer)

    def _flow(self) -> None:
        """Streams for as long as somebody reads."""
        if not self._is_paused and not self._transport.is_closing():
            self._transport.write(self._block)
            self._loop.call_soon(self._flow)

    def pause_writing(self) -> None:
        """Called by asyncio."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Called by asyncio."""
        self._is_paused = False
        if self._block:
            self._loop.call_soon(self._flow)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._block = b""
        self._is_paused = True


async def serve(announce: Callable[[int], None]) -> None:
    """Serves until standard input ends."""
    loop, stub = asyncio.get_running_loop(), Stub()
    server = await loop.create_server(lambda: Connection(stub, loop), "127.0.0.1", 0)
    announce(server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(lambda port: print(port, flush=True)))
