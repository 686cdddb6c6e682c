"""The listener that a browser is sent back to, spoken to byte by byte."""

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from socialapi.cli import sign_in
from socialapi.cli.sign_in import Loopback
from socialapi.errors import ConfigurationError, SocialApiError


def judge(parameters: Mapping[str, str]) -> str | None:
    if parameters.get("denied"):
        raise SocialApiError("denied")
    return parameters.get("code") if parameters.get("state") == "mine" else None


async def ask(listener: Loopback, request: bytes) -> bytes:
    port = int(listener.url.rpartition(":")[2].partition("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


def get(target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


async def test_the_answer_of_this_sign_in_is_given_and_the_browser_is_told_so() -> None:
    async with Loopback(0) as listener:
        answer = asyncio.ensure_future(listener.answer(judge, 5))
        await asyncio.sleep(0)
        page = await ask(listener, get("/callback?state=mine&code=a%20b"))
        assert await answer == "a b"
    head, _, body = page.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/html; charset=utf-8",
        b"Content-Length: %d" % len(body),
        b"Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
        b"Referrer-Policy: no-referrer",
        b"Cache-Control: no-store",
        b"Connection: close",
    ]
    assert b"You may close this window" in body


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get("/favicon.ico"), b"404"),
        (get("/callback/more?state=mine&code=c"), b"404"),
        (b"POST /callback?state=mine&code=c HTTP/1.1\r\n\r\n", b"405"),
        (get("/callback?state=other&code=c"), b"400"),
        (get("/callback"), b"400"),
        (get("/callback?" + "&".join("a=b" for _ in range(50))), b"400"),
        (get("/callback?state=%3Cscript%3E&code=%3Cscript%3E"), b"400"),
        (b"\r\n\r\n", b"404"),
        (b"nonsense\r\n\r\n", b"404"),
        (get("/callback?" + "a" * sign_in.MAX_HEAD_BYTES), b""),
    ],
)
async def test_what_is_not_of_this_sign_in_is_refused_and_changes_nothing(request_: bytes, status: bytes) -> None:
    async with Loopback(0) as listener:
        answer = asyncio.ensure_future(listener.answer(judge, 5))
        await asyncio.sleep(0)
        refused = await ask(listener, request_)
        assert refused.partition(b"\r\n")[0].split(b" ")[1:2] == ([status] if status else [])
        assert b"script" not in refused
        await ask(listener, get("/callback?state=mine&code=c"))
        assert await answer == "c"


async def test_before_anybody_asks_nothing_is_of_this_sign_in() -> None:
    async with Loopback(0) as listener:
        assert b" 400 " in await ask(listener, get("/callback?state=mine&code=c"))


async def test_a_second_answer_comes_too_late() -> None:
    async with Loopback(0) as listener:
        answer = asyncio.ensure_future(listener.answer(judge, 5))
        await asyncio.sleep(0)
        for code in ("first", "second"):
            await ask(listener, get(f"/callback?state=mine&code={code}"))
        assert await answer == "first"


async def test_a_connection_that_says_nothing_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Loopback(0) as listener:
        port = int(listener.url.rpartition(":")[2].partition("/")[0])
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        silent[0][1].close()
        answer = asyncio.ensure_future(listener.answer(judge, 5))
        await asyncio.sleep(0)
        await ask(listener, get("/callback?state=mine&code=c"))
        assert await answer == "c"
        monkeypatch.setattr(sign_in, "READ_TIMEOUT_SECONDS", 0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
    for reader, writer in silent[1:]:
        assert await reader.read() == b""
        writer.close()


async def test_the_oldest_connection_is_closed_for_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "MAX_CONNECTIONS", 2)
    async with Loopback(0) as listener:
        port = int(listener.url.rpartition(":")[2].partition("/")[0])
        answer = asyncio.ensure_future(listener.answer(judge, 5))
        (first, to_first), (second, to_second) = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        third, to_third = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionResetError):
            assert await first.read() == b""
        to_second.write(get("/elsewhere"))
        assert (await second.read()).startswith(b"HTTP/1.1 404 ")
        to_third.write(get("/callback?state=mine&code=c"))
        assert (await third.read()).startswith(b"HTTP/1.1 200 ")
        assert await answer == "c"
        for writer in (to_first, to_second, to_third):
            writer.close()


async def test_only_this_machine_is_listened_to_and_nobody_is_waited_for_forever() -> None:
    async with Loopback(0) as listener:
        assert listener.url.startswith("http://127.0.0.1:")
        with pytest.raises(SocialApiError, match=r"the sign-in was not completed within 0\.01 s"):
            await listener.answer(judge, 0.01)
        with pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1 port"):
            async with Loopback(int(listener.url.rpartition(":")[2].partition("/")[0])):
                pass


# Whatever connects


@pytest.fixture
async def complaints() -> AsyncIterator[list[Mapping[str, Any]]]:
    """What the event loop would have written to standard error."""
    heard: list[Mapping[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: heard.append(context))
    loop.set_debug(True)  # which has it complain of more
    yield heard
    loop.set_debug(False)
    loop.set_exception_handler(None)


async def test_connections_at_the_end_are_hung_up(complaints: list[Mapping[str, Any]]) -> None:
    """Also those that were accepted in the very last moment, and a denial that comes too late for everybody."""
    async with Loopback(0) as listener:
        port = int(listener.url.rpartition(":")[2].partition("/")[0])
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        with pytest.raises(SocialApiError, match="the sign-in was not completed"):
            await listener.answer(judge, 0.001)
        await ask(listener, get("/callback?denied=1"))
        late = [asyncio.ensure_future(asyncio.open_connection("127.0.0.1", port)) for _ in range(5)]
    for reader, _ in silent:
        assert await reader.read() == b""
    made = [each for each in await asyncio.gather(*late, return_exceptions=True) if isinstance(each, tuple)]
    await forget([writer for _, writer in [*silent, *made]])
    assert complaints == []


async def forget(writers: list[asyncio.StreamWriter]) -> None:
    for writer in writers:
        writer.transport.abort()
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()  # what was never looked at is told of now
