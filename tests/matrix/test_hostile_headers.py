"""Headers, redirects and further bytes of a hostile server: they lead nowhere, tell nobody anything
and are no answer.
"""

from typing import Final

import pytest

from socialapi import errors
from tests.matrix.test_hostile_server import ASKED, RETRIES, hostile_client, outcome_in_time
from tests.support.clock import VirtualClock
from tests.support.server import Cut, Fault, Server, answer


def of(status: int, **headers: str) -> bytes:
    """A head with headers in Latin 1, and a good body."""
    lines = [
        f"HTTP/1.1 {status} Status",
        "Content-Length: 2",
        *(f"{n.replace('_', '-')}: {v}" for n, v in headers.items()),
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n{}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", ASKED)
async def test_a_redirect_is_a_refusal_and_takes_no_credential_along(
    name: str, status: int, clock: VirtualClock
) -> None:
    asked = ASKED[name]
    async with Server() as thief, Server() as server, hostile_client(server, clock, asked.credentials) as client:
        for location in (
            f"{thief.url}/2/tweets",
            f"//127.0.0.1:{thief.port}/",
            "/elsewhere",
            "file:///etc/passwd",
            "\xff",
        ):
            server.then = of(status, Location=location, Set_Cookie="a=b", Refresh=f"0; url={thief.url}")
            before = len(server.requests)
            _, error = await outcome_in_time(asked, client)
            assert (type(error), getattr(error, "status", None)) == (errors.ApiError, status), location
            assert len(server.requests) == before + 1
        server.then = asked.good
        assert (await outcome_in_time(asked, client))[1] is None
        assert thief.connections == 0
        assert "cookie" not in server.requests[-1].headers


SECOND: Final = answer({"data": {"id": "stolen"}})


@pytest.mark.parametrize("name", ["a record", "a record that is made", "a change"])
async def test_bytes_behind_an_answer_are_not_the_answer_to_the_next_request(name: str, clock: VirtualClock) -> None:
    asked = ASKED[name]
    for further in (SECOND, SECOND * 3, SECOND[:20], b"\r\n" + SECOND):
        async with Server(asked.good + further, then=asked.good) as server, hostile_client(server, clock) as client:
            for _ in range(3):
                assert (await asked.ask(client)).id in ("a", "l"), further[:50]
            assert len(server.requests) == 3, further[:50]


@pytest.mark.parametrize("further", [b"garbage\r\n\r\n", bytes(100_000)])
@pytest.mark.parametrize("name", ["a record", "a record that is made", "a change"])
async def test_an_answer_with_garbage_behind_it_is_read_or_lost(name: str, further: bytes, clock: VirtualClock) -> None:
    asked = ASKED[name]
    async with Server(asked.good + further, then=asked.good) as server, hostile_client(server, clock) as client:
        for number in range(3):
            result, error = await outcome_in_time(asked, client)
            assert result.id in ("a", "l") if error is None else (type(error), number) == (errors.OutcomeUnknown, 0)
        assert (await asked.ask(client)).id in ("a", "l")


@pytest.mark.parametrize("status", [204, 304])
async def test_a_body_where_there_can_be_none_is_not_the_next_answer(status: int, clock: VirtualClock) -> None:
    """What the head announces is not there by the rules of HTTP, and follows all the same."""
    body = b'{"data": {"id": "stolen"}}'
    odd = f"HTTP/1.1 {status} Odd\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    asked = ASKED["a record"]
    async with Server(odd, odd + SECOND, then=asked.good) as server, hostile_client(server, clock) as client:
        for _ in range(3):
            result, error = await outcome_in_time(asked, client)
            assert isinstance(error, errors.SocialApiError) if result is None else result.id == "a"
        assert (await asked.ask(client)).id == "a"


async def test_an_old_answer_without_a_length_ends_with_its_connection(clock: VirtualClock) -> None:
    old = Cut(b'HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{"data": {"id": "a"}}')
    async with Server(then=old) as server, hostile_client(server, clock) as client:
        for number in (1, 2):
            assert (await ASKED["a record"].ask(client)).id == "a"
            assert server.connections == number


@pytest.mark.parametrize(
    "greeting",
    [b"\x15\x03\x01\x00\x02\x02\x28", b"\x15\x03\x03\x00\x02\x02\x46", b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(50)],
)
@pytest.mark.parametrize("name", ["a record", "a record that is made"])
async def test_what_speaks_no_tls_has_executed_nothing(name: str, greeting: bytes, clock: VirtualClock) -> None:
    asked = ASKED[name]
    async with Server(then=Fault.CLOSE, greeting=greeting, scheme="https") as server:
        async with hostile_client(server, clock) as client:
            _, error = await outcome_in_time(asked, client)
        assert type(error) is errors.TransportError
        assert (error.may_be_executed, error.attempts) == (False, 1 + RETRIES)
        assert server.requests == []
