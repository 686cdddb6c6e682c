"""One attempt over a real socket: what became of it, said exactly and in words for people."""

import asyncio
import gzip
import socket
import ssl
import zlib
from typing import Any, NoReturn

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from socialapi import Client, errors
from socialapi.errors import ApiError, DecodeError, OutcomeUnknown, TransportError
from socialapi.routes.platform import POST_STREAM
from socialapi.session.transport import _Parts
from socialapi.wire.response import Reply
from tests.support.clients import client_of
from tests.support.clock import VirtualClock, turns
from tests.support.requests import build_request
from tests.support.server import OK, Cut, Fault, Received, Server, answer
from tests.support.tls import make_contexts
from tests.support.waiting import until


async def get(client: Client) -> Any:
    return await client.request("GET", "/2/tweets")


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return make_contexts(tmp_path_factory.mktemp("tls"))


@pytest.fixture
async def gone() -> str:
    """An address where nobody listens any more."""
    async with Server() as server:
        return server.url


async def failure(client: Client) -> TransportError:
    async with client:
        with pytest.raises(TransportError) as caught:
            await get(client)
    return caught.value


async def test_a_connection_serves_the_next_call_after_answers_of_every_kind() -> None:
    large = answer({"data": ["x" * 1_000_000]})
    chunked = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n{"a":1\r\n1\r\n}\r\n0\r\n\r\n'
    refusal = answer({"errors": [{"code": 50, "message": "no"}]}, status=404)
    async with (
        Server(OK, large, chunked, refusal, answer(status=204), then=OK) as server,
        client_of(server.url) as client,
    ):
        first, second, third = [(await get(client)).content for _ in range(3)]
        with pytest.raises(errors.NotFound):
            await get(client)
        fourth, fifth = (await get(client)).content, (await get(client)).content
    assert (third, fourth) == (b'{"a":1}', b"")
    assert OK.endswith(first)
    assert large.endswith(second)
    assert len(second) > 1_000_000
    assert first == fifth
    assert server.connections == 1


async def test_headers_that_come_twice_are_joined_but_cookies() -> None:
    twice = b"HTTP/1.1 200\r\nSet-Cookie: a=1\r\nX-A: 20\r\nset-cookie: b=2\r\nx-a: 30\r\nContent-Length: 0\r\n\r\n"
    async with Server(twice) as server, client_of(server.url) as client:
        reply = await get(client)
    assert reply.headers == {"set-cookie": "b=2", "x-a": "20, 30", "content-length": "0"}


@pytest.mark.parametrize("encoding", ["gzip", "GZIP, gzip", "deflate"])
async def test_a_body_that_is_plain_in_spite_of_its_header_is_read(encoding: str) -> None:
    async with Server(then=answer(b'{"a": 1}', Content_Encoding=encoding)) as server, client_of(server.url) as client:
        assert (await get(client)).body == {"a": 1}


async def test_lines_in_several_members_of_gzip_stream_and_one_that_is_cut_off_is_a_lost_connection() -> None:
    lines = [b'{"a": 1}\n', b"\n", b'{"a": 2}\n']
    members = [*map(gzip.compress, lines), gzip.compress(bytes(2_000))[:-9]]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(member), member) for member in members)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with Server(then=head + chunks + b"0\r\n\r\n") as server, client_of(server.url) as client:
        live = await opened(client)
        read = b""
        while len(read) < 2_000:
            read += await live.read()
        with pytest.raises(OutcomeUnknown, match="the answer broke off"):
            await live.read()
    assert read == b"".join(lines) + bytes(2_000)


async def test_a_stream_with_an_unknown_encoding_says_so() -> None:
    async with Server(then=answer(b"\x8b\x03", Content_Encoding="br")) as server, client_of(server.url) as client:
        live = await opened(client)
        with pytest.raises(OutcomeUnknown, match="is encoded as br, which is not supported"):
            await live.read()


# Not connected: the service cannot have executed anything


async def test_nobody_listens(gone: str) -> None:
    error = await failure(client_of(gone, retries=0))
    assert type(error) is TransportError
    assert str(error).startswith(f"GET /2/tweets: {gone.removeprefix('http://')}: could not connect (")


class Nowhere(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> NoReturn:
        raise OSError(None, "no such name")

    async def close(self) -> None: ...


class Endless(Nowhere):
    async def resolve(  # type: ignore[override]  # it returns as little as the other one
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        await asyncio.Event().wait()
        return []


async def test_a_name_that_cannot_be_resolved() -> None:
    async with aiohttp.TCPConnector(resolver=Nowhere()) as connector:
        error = await failure(client_of("https://api.example.com", retries=0, options={"connector": connector}))
    assert type(error) is TransportError
    assert str(error) == "GET /2/tweets: api.example.com:443: its name cannot be resolved"


@pytest.mark.parametrize("times", [{"connect_timeout_seconds": 0.02}, {"timeout_seconds": 0.5}])
async def test_a_connection_that_takes_too_long_was_never_made(times: dict[str, Any]) -> None:
    """Also when the time for the whole attempt is the shorter one: nothing was sent, and the error must say so."""
    async with aiohttp.TCPConnector(resolver=Endless()) as connector:
        error = await failure(
            client_of("https://api.example.com", retries=0, options={"connector": connector}, **times)
        )
    assert type(error) is TransportError
    assert error.reason == "no connection within the time allowed"


async def test_a_certificate_that_is_another_one_than_expected(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async with (
        Server(tls=contexts[0]) as server,
        aiohttp.TCPConnector(ssl=aiohttp.Fingerprint(b"\0" * 32)) as connector,
    ):
        error = await failure(client_of(server, retries=0, options={"connector": connector}))
        assert type(error) is TransportError
        assert error.reason == "its certificate is not the expected one"
        assert server.requests == []


# Proxies


async def test_a_proxy_that_is_not_there(gone: str) -> None:
    error = await failure(client_of("http://localhost:1", retries=0, options={"proxy": gone}))
    assert type(error) is TransportError
    assert error.reason.startswith("could not connect to the proxy (")


async def test_a_proxy_that_refuses_has_passed_nothing_on() -> None:
    async with Server(answer(status=407)) as proxy:
        error = await failure(client_of("https://api.example.com", retries=0, options={"proxy": proxy.url}))
        assert proxy.requests[0].method == "CONNECT"
        assert "authorization" not in proxy.requests[0].headers
    assert type(error) is TransportError
    assert error.reason == "the proxy refused to connect (HTTP 407): add the user name and password to its address"


# Lost on the way: the service may have executed the request


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Fault.CLOSE, "the connection was lost before the answer"),
        (Fault.RESET, "the connection was lost before the answer"),
        (Cut(b"HTTP/1.1 200 OK\r\nContent-Le"), "the connection was lost before the answer"),
        (Cut(OK[:-5]), "the answer broke off"),
        (answer(gzip.compress(bytes(2_000))[:-9], Content_Encoding="gzip"), "the answer broke off"),
        (answer(zlib.compress(bytes(2_000))[:-9], Content_Encoding="deflate"), "the answer broke off"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "the answer could not be read (ClientResponseError)"),
    ],
)
async def test_an_answer_that_does_not_arrive_whole(step: Any, reason: str) -> None:
    async with Server(then=step) as server:
        error = await failure(client_of(server, retries=0))
    assert type(error) is OutcomeUnknown
    assert (error.host, error.reason) == ("127.0.0.1", reason)


@pytest.mark.parametrize("step", [Fault.SILENCE, OK[:-5], OK[:20]])
async def test_an_answer_that_takes_too_long(step: Any) -> None:
    async with Server(then=step) as server:
        error = await failure(client_of(server, retries=0, timeout_seconds=0.05))
    assert type(error) is OutcomeUnknown
    assert error.reason == "no complete answer within 0.05 s"


@pytest.mark.parametrize("step", [Fault.CLOSE, b"SSH-2.0-OpenSSH_9.6\r\n\r\n"])
async def test_the_error_of_aiohttp_that_holds_the_headers_of_the_request_is_not_kept(step: Any) -> None:
    async with Server(then=step) as server:
        error = await failure(client_of(server, retries=0))
    assert error.__cause__ is None
    assert error.__context__ is None


# Large and packed answers


async def test_an_answer_as_large_as_allowed_is_read_and_a_larger_one_is_not(clock: VirtualClock) -> None:
    async with Server(answer(b"x" * 1_000), then=answer(b"x" * 1_001)) as server:
        async with client_of(server, clock, max_response_bytes=1_000) as client:
            assert len((await get(client)).content) == 1_000
            with pytest.raises(
                DecodeError, match=r"is larger than the 1,000 bytes that Config\.max_response_bytes allows"
            ):
                await get(client)
            assert client.limits["GET /2/tweets"].in_flight == 0
        assert len(server.requests) == 2, "to ask again would bring the same"


def beginning(size: int, *, of: int, status: int) -> bytes:
    """The first bytes of a longer answer, after which nothing comes."""
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: text/html\r\nContent-Length: {of}\r\n\r\n"
    return head.encode() + b"x" * size


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_of_a_refusal_a_megabyte_is_read_and_the_rest_is_not_waited_for(status: int) -> None:
    part = beginning(1_000_000, of=9_000_000, status=status)
    async with Server(part) as server, client_of(server, retries=0) as client:
        with pytest.raises(ApiError) as caught:
            await get(client)
        assert (await get(client)).ok
    assert caught.value.status == status
    assert [request.connection for request in server.requests] == [1, 2], "the first one is of no use any more"


async def test_a_refusal_of_less_leaves_its_connection_to_the_next_request() -> None:
    async with Server(answer(b"x" * 999_999, status=404)) as server, client_of(server) as client:
        with pytest.raises(ApiError):
            await get(client)
        await get(client)
    assert [request.connection for request in server.requests] == [1, 1]


@pytest.mark.parametrize("status", [404, 503])
async def test_a_refusal_that_breaks_off_keeps_its_status(status: int) -> None:
    cut = Cut(beginning(10, of=20, status=status))
    async with Server(cut, cut) as server, client_of(server, retries=0) as client:
        with pytest.raises(ApiError) as caught:
            await get(client)
        assert caught.value.status == status
        with pytest.raises(ApiError):
            await client.request("POST", "/2/tweets", json={})


async def test_the_beginning_of_a_stream_that_is_refused_is_read_no_further() -> None:
    async with Server(beginning(1_000_000, of=9_000_000, status=404)) as server, client_of(server) as client:
        with pytest.raises(ApiError) as caught:
            async with client.activity.stream() as events:
                await anext(aiter(events))
    assert caught.value.status == 404


async def test_the_bound_holds_for_what_a_packed_answer_unpacks_to() -> None:
    packed = gzip.compress(b"[" + b" " * 5_000_000 + b"]")
    assert len(packed) < 10_000
    async with Server(then=answer(packed, Content_Encoding="gzip")) as server:
        async with client_of(server, max_response_bytes=100_000) as client:
            with pytest.raises(DecodeError, match="larger than"):
                await get(client)
        async with client_of(server) as client:
            assert (await get(client)).body == []


async def test_an_answer_to_no_request_is_not_taken_for_that_to_the_next_one() -> None:
    """A host says that it closes an idle connection, and the client asks before it has."""
    unasked = asyncio.Event()

    async def late(received: Received) -> bytes:
        asyncio.get_running_loop().call_soon(unasked.set)
        return OK

    async with Server(late, then=OK) as server, client_of(server) as client:
        await get(client)
        await unasked.wait()
        (writer,) = server._writers
        writer.write(answer(status=408, Connection="close"))
        connector = client._session._transport._open().connector
        assert connector is not None
        await until(lambda: any(kept.should_close for group in connector._conns.values() for kept, _ in group))
        assert (await get(client)).status == 200
        assert [request.connection for request in server.requests] == [1, 2]


# What is sent


async def test_the_client_names_itself_and_asks_for_json() -> None:
    async with Server() as server, client_of(server) as client:
        await get(client)
    (request,) = server.requests
    assert request.headers["user-agent"].startswith("aiosocialapi/")
    assert request.headers["accept"] == "application/json"
    assert request.headers["authorization"] == "Bearer bearer-token"


async def test_a_query_arrives_byte_for_byte_as_it_was_signed() -> None:
    async with Server() as server, client_of(server) as client:
        await client.request("GET", "/2/a%2Fb", params={"q": "a b+c/ü'~", "fields": ["x", "y"]})
    assert server.requests[0].path == "/2/a%2Fb?q=a%20b%2Bc%2F%C3%BC%27~&fields=x%2Cy"


def test_a_body_in_parts_can_be_read_as_text() -> None:
    assert _Parts((b"a", b"b")).decode() == "ab"


async def test_a_client_that_is_closed_says_so() -> None:
    async with Server() as server:
        client = client_of(server)
        await get(client)
        await client.aclose()
        await client.aclose()
        with pytest.raises(RuntimeError, match="this client is closed"):
            await get(client)


def test_every_error_of_the_transport_is_one_of_two() -> None:
    assert issubclass(errors.OutcomeUnknown, errors.TransportError)
    assert (TransportError.may_be_executed, OutcomeUnknown.may_be_executed) == (False, True)


# Answers that do not end


async def opened(client: Client) -> Any:
    """What the transport makes of the answer to a request for a stream."""
    session = client._session
    request = build_request(POST_STREAM.at(), session.config, now=session.now(), query={})
    return await session._transport.open(request, {}, timeout_seconds=5.0)


@pytest.mark.parametrize("status", [301, 400, 429, 503])
async def test_a_refusal_instead_of_an_endless_answer_is_read_whole(status: int) -> None:
    async with Server(answer(b"no", status=status, Location="/")) as server, client_of(server) as client:
        reply = await opened(client)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.ok) == (status, False)


async def test_what_arrived_before_the_break_can_be_read_after_it_in_both_ways() -> None:
    async with (
        Server(then=Cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")) as server,
        client_of(server) as client,
    ):
        live = await opened(client)
        assert (live.ok, live.headers["transfer-encoding"]) == (True, "chunked")
        while live._response.content.exception() is None:
            await turns(1)
        assert live.read_nowait() == b""
        assert await live.read() == b"abc"
        for _ in range(2):
            with pytest.raises(OutcomeUnknown, match="the answer broke off"):
                await live.read()
        live.close()
        live.close()


async def test_an_answer_without_an_end_is_closed_with_the_client_also_in_a_session_of_the_users() -> None:
    step = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with Server(then=step) as server, aiohttp.ClientSession() as session:
        async with client_of(server, options={"session": session}) as client:
            live = await opened(client)
            reading = asyncio.create_task(live.read())
            await asyncio.sleep(0)
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(reading, 5.0)
        assert not session.closed
