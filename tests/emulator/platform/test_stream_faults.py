"""Scripted faults of streams: what each does, and behind how many lines."""

import asyncio
import time
from typing import Any

import aiohttp
import pytest

from socialapi.emulator import Emulator
from socialapi.emulator.platform.stream_faults import LONG_LINE_BYTES
from tests.emulator.asking import Asker
from tests.emulator.platform.reading import ACTIVITY, POSTS, add_rules, connection_of, end_of_connection, reading

THREE = {"events": [{"text": f"snow {number}"} for number in range(3)]}
TEXTS = ["snow 0", "snow 1", "snow 2"]


@pytest.fixture(autouse=True)
async def rules(ask: Asker) -> None:
    await add_rules(ask, "snow")


def problem_of(line: Any) -> dict[str, Any]:
    (error,) = line["errors"]
    assert error["type"].startswith("http")
    return {**error, "slug": error["type"].rpartition("/")[2]}


@pytest.mark.parametrize("after_lines", [None, 0, 2])
async def test_close_ends_the_answer_properly(ask: Asker, after_lines: int | None) -> None:
    ask.emulator.faults.add("stream_close", after_lines=after_lines)
    async with reading(ask) as stream:
        if after_lines:
            await ask.emulator.publish(THREE)
        assert await stream.texts(after_lines or 0) == TEXTS[: after_lines or 0]
        assert await stream.rest() == b""
    assert (ask.emulator.requests[-1].fault, ask.emulator.requests[-1].status) == ("stream_close", 200)
    assert await end_of_connection(ask) == "OperationalDisconnect"
    async with reading(ask) as stream:  # the fault is used up
        await ask.emulator.publish(THREE)
        assert await stream.texts(3) == TEXTS


@pytest.mark.parametrize("fault", ["stream_drop", "truncate", "reset_after"])
@pytest.mark.parametrize("after_lines", [0, 1])
async def test_drop_cuts_the_answer_in_the_middle_of_a_line(ask: Asker, fault: str, after_lines: int) -> None:
    ask.emulator.faults.add(fault, after_lines=after_lines)
    async with reading(ask) as stream:
        if after_lines:
            await ask.emulator.publish(THREE)
        assert await stream.texts(after_lines) == TEXTS[:after_lines]
        with pytest.raises((aiohttp.ClientPayloadError, asyncio.IncompleteReadError)):
            await stream.rest()
    assert await end_of_connection(ask) == "UpstreamUncleanDisconnect"


async def test_silence_swallows_everything_until_the_client_leaves(ask: Asker) -> None:
    ask.emulator.faults.add("stream_silence", after_lines=1)
    async with reading(ask) as stream:
        await ask.emulator.publish(THREE)
        assert await stream.texts(1) == TEXTS[:1]
        await ask.control("POST", "clock", {"advance": 1_000})
        await ask.emulator.publish(THREE)
        await ask.emulator.settle()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await stream.raw()
        assert "disconnected_at" not in await connection_of(ask)
        stream.leave()
        assert await end_of_connection(ask) == "ClientDisconnected"


@pytest.mark.parametrize("path", [POSTS, ACTIVITY])
async def test_a_long_line_is_valid_and_the_stream_goes_on(ask: Asker, path: str) -> None:
    ask.emulator.faults.add("stream_long_line")
    headers = {"Authorization": f"Bearer {ask.emulator.ready['bearer_token']}"}
    async with ask.session.get(ask.emulator.ready["base_url"] + path, headers=headers, read_bufsize=2**20) as response:
        line = await response.content.readuntil(b"\r\n")
        assert LONG_LINE_BYTES < len(line) < LONG_LINE_BYTES + 1_000
        await ask.emulator.publish({"event_type": "post.create"} if path == ACTIVITY else {"text": "snow"})
        assert b'"data"' in await response.content.readuntil(b"\r\n")


async def test_garbage_is_one_line_and_the_stream_goes_on(ask: Asker) -> None:
    ask.emulator.faults.add("stream_garbage", after_lines=1)
    async with reading(ask) as stream:
        await ask.emulator.publish(THREE)
        assert await stream.texts(1) == TEXTS[:1]
        assert (await stream.raw()).startswith(b"<html>")
        assert await stream.texts(2) == TEXTS[1:]


@pytest.mark.parametrize("fault", ["stream_drip", "slow"])
async def test_drip_sends_each_line_in_pieces(ask: Asker, fault: str) -> None:
    ask.emulator.faults.add(fault, delay_seconds=0.05)
    async with reading(ask) as stream:
        started = time.perf_counter()
        await ask.emulator.publish(THREE)
        chunks = [await stream.response.content.readany() for _ in range(3)]
        assert max(map(len, chunks)) < 100
        assert (b"".join(chunks) + await stream.raw()).startswith(b'{"data":')
        assert await stream.texts(2) == TEXTS[1:]
        assert time.perf_counter() - started >= 0.1


@pytest.mark.parametrize(
    ("options", "slug", "says"),
    [
        ({}, "operational-disconnect", {"disconnect_type": "OperationalDisconnect"}),
        ({"disconnect_type": "InvalidRules"}, "operational-disconnect", {"disconnect_type": "InvalidRules"}),
        (
            {"connection_issue": "ProvisioningSubscription"},
            "streaming-connection",
            {"connection_issue": "ProvisioningSubscription"},
        ),
    ],
)
async def test_disconnect_says_why_and_ends(
    ask: Asker, options: dict[str, str], slug: str, says: dict[str, str]
) -> None:
    ask.emulator.faults.add("stream_disconnect", after_lines=1, **options)
    async with reading(ask) as stream:
        await ask.emulator.publish(THREE)
        assert await stream.texts(1) == TEXTS[:1]
        problem = problem_of(await stream.line())
        assert problem["slug"] == slug
        assert says.items() <= problem.items()
        assert await stream.rest() == b""
    assert await end_of_connection(ask) == next(iter(says.values()))


async def test_a_status_with_a_connection_issue_is_a_problem_of_that_kind(ask: Asker) -> None:
    ask.emulator.faults.add("status", status=429, connection_issue="TooManyConnections", retry_after_seconds=3)
    reply = await ask.get(POSTS)
    assert (reply.status, reply.slug, reply.headers["Retry-After"]) == (429, "streaming-connection", "3")
    assert reply.json["connection_issue"] == "TooManyConnections"
    ask.emulator.faults.add("status")
    assert (await ask.get(ACTIVITY)).json["type"] == "about:blank"


async def test_other_requests_pass_faults_of_streams_by_and_streams_those_of_uploads(ask: Asker) -> None:
    ask.emulator.faults.add("stream_close")
    ask.emulator.faults.add("count_mismatch")
    ask.emulator.faults.add("delivery_unsigned")
    assert (await ask.get("/2/webhooks")).status == 200
    async with reading(ask) as stream:
        assert await stream.rest() == b""
    async with reading(ask) as stream:
        await ask.emulator.publish(THREE)
        assert await stream.texts(3) == TEXTS


async def test_a_connection_meets_the_fault_that_it_was_opened_with(ask: Asker) -> None:
    async with reading(ask) as early:
        ask.emulator.faults.add("stream_close", after_lines=1)
        async with reading(ask) as hit:
            ask.emulator.faults.clear()
            await ask.emulator.publish(THREE)
            assert await hit.texts(1) == TEXTS[:1]
            assert await hit.rest() == b""
        assert await early.texts(3) == TEXTS


@pytest.mark.parametrize("fault", ["stream_silence", "stream_drip"])
async def test_closing_does_not_wait_for_a_fault(session: aiohttp.ClientSession, fault: str) -> None:
    async with Emulator() as emulator:
        ask = Asker(emulator, session)
        await add_rules(ask, "snow")
        emulator.faults.add(fault, delay_seconds=60)
        opened = reading(ask)
        stream = await opened.__aenter__()
        await emulator.publish(THREE)
        started = time.perf_counter()
    assert time.perf_counter() - started < 1.5
    stream.leave()
