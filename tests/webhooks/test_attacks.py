"""Whoever has no secret does what he can to keep signed events out, over real sockets; they get 200 at once."""

import asyncio
import contextlib
import errno
import gzip
import logging
import os
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
import pytest
import yarl

from socialapi.webhooks import Receiver, connections, endpoint
from socialapi.webhooks.serving import serving
from tests.support.waiting import until
from tests.webhooks.posting import HEADER, SECRET, Sender, event, running, signature
from tests.webhooks.serving import SERVERS

FORGED = "sha256=" + "A" * 43 + "="
"""Like a signature, but for its value."""
LONG = "x" * 150_000
AT_ONCE_SECONDS = 5.0
"""Nobody of those who attack gives up before 600."""

Serve = Callable[[Receiver], AbstractAsyncContextManager[Sender]]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(params=SERVERS)
def serve(request: pytest.FixtureRequest) -> Serve:
    return SERVERS[request.param]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(SECRET, max_body_bytes=200_000, body_timeout_seconds=600)


class Attacker:
    """Opens connections and leaves them as they are."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.connections: list[Connection] = []

    async def begin(self, length: int, content: bytes) -> None:
        """A request with a forged signature that is not ended."""
        self.connections.append(await self._sender.open(self.head(length), content))

    @staticmethod
    def head(length: int) -> str:
        """Of a request with a forged signature and a body of this length."""
        return f"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n{HEADER}: {FORGED}\r\n\r\n"

    async def say(self, text: str) -> None:
        """A connection on which this is said, whatever it is."""
        self.connections.append(await self._sender.open(text))

    async def say_on_all(self, text: str) -> None:
        """The same on every connection that there is."""
        for _, writer in self.connections:
            writer.write(text.encode())
            await writer.drain()

    def open(self) -> int:
        """How many of the connections the other side has left open."""
        return sum(not reader._eof and reader.exception() is None for reader, _ in self.connections)  # type: ignore[attr-defined]

    async def given_up(self) -> int:
        """How many of the connections have been answered by now."""
        return sum(bool(reader._buffer) or reader.at_eof() for reader, _ in self.connections)  # type: ignore[attr-defined]


@contextlib.asynccontextmanager
async def half_sent(sender: Sender, content: bytes) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """A signed event of which half has been sent, and what sends the rest and returns the status of the answer."""
    reader, writer = await sender.open(
        f"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {len(content)}\r\n{HEADER}: {signature(content)}\r\n\r\n",
        content[: len(content) // 2],
    )

    async def end() -> int:
        async with asyncio.timeout(AT_ONCE_SECONDS):
            writer.write(content[len(content) // 2 :])
            return int((await reader.readline()).split()[1])

    try:
        yield end
    finally:
        writer.close()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Lets this process have both ends of some thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8_192), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.asynccontextmanager
async def attacked(serve: Serve, receiver: Receiver) -> AsyncIterator[tuple[Sender, Attacker]]:
    async with serve(receiver) as sender:
        attacker = Attacker(sender)
        try:
            yield sender, attacker
        finally:
            for _, writer in attacker.connections:
                writer.close()


async def taken_at_once(sender: Sender, receiver: Receiver, *numbers: int, text: str = "") -> None:
    """Signed events are taken while everything else stays as it is."""
    async with asyncio.timeout(AT_ONCE_SECONDS):
        for number in numbers:
            assert (await sender.post(event(number, text=text))).status == 200
    assert receiver.counters.accepted >= len(numbers)


async def test_room_that_is_full_of_unfinished_bodies_is_made_for_signed_ones(
    serve: Serve, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_READING_BYTES", 1_000_000)
    async with attacked(serve, receiver) as (sender, attacker):
        for _ in range(5):
            await attacker.begin(200_000, b"{" * 199_999)
        await until(lambda: receiver._bodies._bytes == 5 * 199_999)
        await taken_at_once(sender, receiver, *range(5), text=LONG)
        # And though others go on filling it.
        for number in range(5, 10):
            await attacker.begin(200_000, b"{" * 199_999)
            await taken_at_once(sender, receiver, number, text=LONG)
        assert receiver._bodies._bytes <= 1_000_000
    assert receiver.counters.accepted == 10
    assert receiver.counters.refused_full > 0


@pytest.mark.slow
async def test_an_event_that_arrives_in_halves_survives_many_who_begin_a_body_meanwhile(
    serve: Serve, receiver: Receiver, many_descriptors: None
) -> None:
    readings = receiver._bodies._readings
    async with attacked(serve, receiver) as (sender, attacker):
        for _ in range(1_050):
            await attacker.say("")
        async with half_sent(sender, event(1, text="x" * 2_000)) as end:
            await until(lambda: len(readings) == 1)
            await attacker.say_on_all(attacker.head(100_000) + "{")  # which announce 105 MB and take 1 kB
            await until(lambda: len(readings) + receiver.counters.refused_full == 1_051)
            assert await end() == 200
        assert await attacker.given_up() == 0
    assert (receiver.counters.accepted, receiver.counters.refused_full) == (1, 0)


async def test_the_largest_unfinished_body_is_given_up_and_not_an_older_small_one(
    serve: Serve, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_READING_BYTES", 1_000_000)
    sizes = (150_000, 199_998, 199_999, 199_999, 150_000)
    async with (
        attacked(serve, receiver) as (sender, attacker),
        half_sent(sender, event(1, text="x" * 2_000)) as end,
    ):
        for count, size in enumerate(sizes):
            await until(lambda count=count: receiver._bodies._bytes > sum(sizes[:count]))  # type: ignore[misc]
            await attacker.begin(200_000, b"{" * size)
        await until(lambda: receiver._bodies._bytes > sum(sizes))
        await attacker.begin(200_000, b"{" * 150_000)
        first_of_the_largest, _ = attacker.connections[2]
        async with asyncio.timeout(AT_ONCE_SECONDS):
            assert (await first_of_the_largest.readline()).startswith(b"HTTP/1.1 503 ")
        assert receiver.counters.refused_full == 1
        for _ in range(10):
            await attacker.begin(200_000, b"{" * 199_999)
        await until(lambda: receiver.counters.refused_full >= 10)
        assert await end() == 200
    assert receiver.counters.accepted == 1


@pytest.mark.slow
@pytest.mark.parametrize("said", ["", "POST / HTTP/1.1\r\nHost: te", "GET /?crc_token="])
async def test_connections_on_which_nothing_follows_do_not_keep_others_out(
    serve: Serve, receiver: Receiver, said: str
) -> None:
    async with attacked(serve, receiver) as (sender, attacker):
        for _ in range(300):
            await attacker.say(said)
        await taken_at_once(sender, receiver, *range(20))


async def test_unsigned_requests_are_answered_without_their_bodies(serve: Serve, receiver: Receiver) -> None:
    async with attacked(serve, receiver) as (sender, attacker):
        for _ in range(200):
            await attacker.say("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 199999\r\n\r\n")
        await taken_at_once(sender, receiver, *range(20))
        await until(lambda: receiver.counters.refused_signature == 200)
        assert receiver._bodies._readings == {}


def chunked(content: bytes, size: int) -> bytes:
    """In chunks of this size, without an end."""
    parts = (content[start : start + size] for start in range(0, len(content), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


async def said(sender: Sender, head: str, content: bytes) -> tuple[bytes, bytes]:
    """The first line of the answer to a request that is not ended, and the last of its lines before the connection ends."""
    reader, writer = await sender.open(head, content)
    try:
        async with asyncio.timeout(AT_ONCE_SECONDS):
            lines = (await reader.read()).splitlines()
            return lines[0], lines[-1]
    finally:
        writer.close()


CHUNKED = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(("count", "status"), [(64, b"401"), (65, b"400"), (10_000, b"400")])
async def test_many_chunks_of_a_few_bytes_are_not_read_under_aiohttp(
    receiver: Receiver, count: int, status: bytes
) -> None:
    async with running(receiver) as sender:
        end = b"0\r\n\r\n" if status == b"401" else b""
        head = f"{CHUNKED}Connection: close\r\n{HEADER}: {FORGED}\r\n\r\n"
        first, _ = await said(sender, head, chunked(b"{" * count, 1) + end)
        assert first.split()[1] == status
        await taken_at_once(sender, receiver, 1)


@pytest.mark.parametrize(
    "head",
    [
        "GET /?crc_token=a HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n",
        f"{CHUNKED}\r\n",
        "POST / HTTP/1.1\r\nHost: test\r\nContent-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n",
    ],
)
async def test_a_body_that_is_not_looked_at_is_not_read_on_for_a_while(
    serve: Serve, receiver: Receiver, head: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(receiver) as sender:
        assert (await said(sender, head, chunked(b"{" * 10_000, 1)))[0].startswith(b"HTTP/1.1 ")
    assert [record for record in caplog.records if record.name.startswith("aiohttp")] == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity, GZip"])
@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b\x08" + b"\xff" * 30, gzip.compress(event(1))], ids=["none", "broken", "good"]
)
async def test_a_body_with_an_encoding_is_refused_unread(
    serve: Serve, receiver: Receiver, encoding: str, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 200\r\nContent-Encoding: {encoding}\r\n"
    async with serve(receiver) as sender:
        for signed in (content, event(1)):  # as it was sent, and as the server decodes it
            first, last = await said(sender, f"{head}{HEADER}: {signature(signed)}\r\n\r\n", content)
            assert first == b"HTTP/1.1 415 Unsupported Media Type"
            assert last == b"the body must not have a Content-Encoding"
    assert (receiver.counters.accepted, receiver.counters.refused_body) == (0, 2)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@contextlib.asynccontextmanager
async def flooded(sender: Sender, method: str, query: str = "", content: bytes = b"") -> AsyncIterator[None]:
    """Twenty who send the same again and again."""
    url = yarl.URL(sender.url + query, encoded=True)

    async def flood(session: aiohttp.ClientSession) -> None:
        while True:
            async with session.request(method, url, data=content or None, headers={HEADER: FORGED}) as response:
                await response.read()

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        flooding = [asyncio.create_task(flood(session)) for _ in range(20)]
        try:
            yield
            assert not any(each.done() for each in flooding)
        finally:
            for each in flooding:
                each.cancel()
            await asyncio.wait(flooding)


async def test_a_flood_of_challenges_does_not_keep_events_out(serve: Serve, receiver: Receiver) -> None:
    async with serve(receiver) as sender, flooded(sender, "GET", "?crc_token=" + "a" * 7_000):
        await until(lambda: receiver.counters.challenges > 100)
        await taken_at_once(sender, receiver, *range(20))


async def test_a_flood_of_large_forgeries_does_not_keep_events_out_and_is_said_once(
    serve: Serve, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(receiver) as sender, flooded(sender, "POST", content=b"{" * 199_999):
        await until(lambda: receiver.counters.refused_signature > 100)
        with caplog.at_level(logging.WARNING):
            await taken_at_once(sender, receiver, *range(20), text=LONG)
    assert receiver.counters.accepted == 20
    assert len([record for record in caplog.records if record.name == "socialapi"]) <= 1
    assert receiver._bodies._bytes == 0


# A server of our own -----------------------------------------------------------------------------------------------


@pytest.fixture
def few_connections(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 20)
    return 20


@contextlib.asynccontextmanager
async def served(receiver: Receiver) -> AsyncIterator[tuple[Sender, Attacker]]:
    """By `webhooks listen`; every event comes on a connection of its own."""
    connector = aiohttp.TCPConnector(force_close=True)
    async with serving(receiver, "127.0.0.1", 0) as address, aiohttp.ClientSession(connector=connector) as session:
        sender = Sender(address, session)
        attacker = Attacker(sender)
        try:
            yield sender, attacker
        finally:
            for _, writer in attacker.connections:
                writer.close()


async def closed(connection: Connection) -> None:
    """Returns when the other side has closed the connection."""
    async with asyncio.timeout(AT_ONCE_SECONDS):
        with contextlib.suppress(ConnectionResetError):
            await connection[0].read()


UNFINISHED = [
    "",
    "POST / HTTP/1.1\r\nHost: te",
    "GET /?crc_token=a HTTP/1.1\r\nHost: test\r\n\r\n",
    Attacker.head(100_000) + "{",
    f"{CHUNKED}{HEADER}: {FORGED}\r\n\r\n1\r\n",
]


@pytest.mark.parametrize("text", UNFINISHED)
async def test_connections_that_are_left_open_make_room_for_others(
    receiver: Receiver, few_connections: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(receiver) as (sender, attacker):
        for _ in range(5 * few_connections):
            with contextlib.suppress(ConnectionError):  # closed before it could say this
                await attacker.say(text)
        await taken_at_once(sender, receiver, *range(10))
        await until(lambda: attacker.open() <= few_connections)
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


async def test_connections_without_a_request_are_closed_first_and_unfinished_requests_last(
    receiver: Receiver, few_connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0.0)
    async with served(receiver) as (sender, attacker), half_sent(sender, event(1)) as end:
        await until(lambda: len(receiver._bodies._readings) == 1)
        for _ in range(9):
            await attacker.say("GET /?crc_token=a HTTP/1.1\r\nHost: test\r\n\r\n")
        await until(lambda: receiver.counters.challenges == 9)
        for _ in range(10):
            await attacker.say("")
        keeping, silent = attacker.connections[:9], attacker.connections[9:]
        for count in range(2, 12):
            await attacker.begin(1_000, b"{")
            await until(lambda count=count: len(receiver._bodies._readings) == count)  # type: ignore[misc]
        for connection in silent:
            await closed(connection)
        assert not any(reader.at_eof() for reader, _ in keeping)
        for count in range(12, 21):
            await attacker.begin(1_000, b"{")
            await until(lambda count=count: len(receiver._bodies._readings) == count)  # type: ignore[misc]
        for connection in keeping:
            await closed(connection)
        assert await end() == 200
        await taken_at_once(sender, receiver, 2)


async def test_a_newcomer_is_not_closed_before_it_could_say_anything(receiver: Receiver, few_connections: int) -> None:
    async with served(receiver) as (sender, attacker):
        for count in range(1, few_connections + 1):
            await attacker.begin(1_000, b"{")
            await until(lambda count=count: len(receiver._bodies._readings) == count)  # type: ignore[misc]
        reader, writer = await sender.open("")
        for _ in range(few_connections // 4 - 1):
            await attacker.say("")
        content = event(1)
        head = (
            f"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: {len(content)}\r\n{HEADER}: {signature(content)}\r\n\r\n"
        )
        writer.write(head.encode() + content)
        assert (await reader.readline()).split()[1] == b"200"
        writer.close()


async def test_a_head_of_a_request_has_a_deadline_and_an_idle_connection_has_none(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
    async with served(receiver) as (_, attacker):
        for text in (*UNFINISHED, "GET /?crc_token=a HTTP/1.1\r\nHost: test\r\n\r\n"):
            await attacker.say(text)
        silent, head, idle, body, chunks, second_head = attacker.connections
        await second_head[0].readuntil(b"\r\n\r\n")
        second_head[1].write(b"GET /")
        for connection in (silent, head, second_head):
            await closed(connection)
        idle[1].write(b"GET /?crc_token=b HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        await closed(idle)
        assert receiver.counters.challenges == 3
        assert len(receiver._bodies._readings) == 2
        assert not any(connection[0].at_eof() for connection in (body, chunks))


async def test_a_connection_that_is_closed_before_its_request_is_looked_at_is_no_error(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connections._Connection
    receive = connection.data_received

    def receive_and_close(self: connections._Connection, data: bytes) -> None:
        receive(self, data)
        self.abort()

    monkeypatch.setattr(connection, "data_received", receive_and_close)
    async with served(receiver) as (_, attacker):
        await attacker.begin(1_000, b"{")
        await closed(attacker.connections[0])
        await until(lambda: receiver.counters.refused_body == 1)
    assert caplog.records == []


async def test_broken_requests_are_refused_in_silence(receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    async with served(receiver) as (sender, _):
        for text in ("\x16\x03\x01\r\n\r\n", "POST / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\x01: x\r\n\r\n"):
            assert (await said(sender, text, b""))[0].split()[1] == b"400"
    assert caplog.records == []


async def test_what_cannot_be_accepted_is_said_once_in_one_line(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    other: list[Any] = []
    loop.set_exception_handler(lambda _, context: other.append(context))
    async with served(receiver):
        for _ in range(100):
            problem = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler({"message": "out of resource", "exception": problem, "socket": None})
        loop.call_exception_handler({"message": "another one"})
    assert [record.getMessage() for record in caplog.records] == ["connections cannot be accepted: Too many open files"]
    assert other == [{"message": "another one"}]


async def test_idle_connections_up_to_the_descriptors_of_a_listening_process_keep_nobody_out() -> None:
    """And it says no word about them."""
    command = f"ulimit -n 64; exec {sys.executable} -m socialapi webhooks listen --port 0 --limit 3"
    environ = {**os.environ, "SOCIALAPI_API_KEY_SECRET": SECRET}
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", command, env=environ, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(30), aiohttp.ClientSession() as session:
            sender = Sender((await process.stderr.readline()).split()[-1].decode(), session)
            attacker = Attacker(sender)
            for _ in range(200):
                await attacker.say("")
            for number in range(3):
                assert (await sender.post(event(number))).status == 200
            for _, writer in attacker.connections:
                writer.close()
            assert await process.stderr.read() == b"socialapi: received 3, duplicates 0, refused 0\n"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
