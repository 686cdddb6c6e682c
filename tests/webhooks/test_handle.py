"""What a receiver decides about requests, without a server."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import os
import sqlite3
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal import fairness
from socialapi.webhooks import (
    ActivityEvent,
    MatchedPost,
    Receiver,
    Undecoded,
    WebhookReply,
    endpoint,
    inbox,
    read_event,
)
from tests.support.clock import turns
from tests.support.rounds import counted_rounds
from tests.test_readme import snippets_of
from tests.webhooks.posting import HEADER, SECRET, event, numbers, rest, signature, take


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(SECRET, max_body_bytes=2_000)


async def post(receiver: Receiver, content: bytes, headers: Mapping[str, Any] | None = None) -> WebhookReply:
    return await receiver.handle("POST", "", {HEADER: signature(content)} if headers is None else headers, content)


# Challenges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "crc_token=a%20b&x=1",
        "?crc_token=a+b",
        "x=1&crc_token=a b&crc_token=c",
        {"crc_token": "a b"},
        {"crc_token": ["a b", "c"]},
        {"crc_token": ("a b",)},
    ],
)
async def test_a_challenge_is_answered_however_the_query_is_given(receiver: Receiver, query: Any) -> None:
    reply = await receiver.handle("GET", query, {}, b"")
    expected = "sha256=" + base64.b64encode(hmac.digest(SECRET.encode(), b"a b", hashlib.sha256)).decode()
    assert (reply.status, orjson.loads(reply.body)) == (200, {"response_token": expected})
    assert reply.headers == {"Content-Type": "application/json; charset=utf-8"}
    assert receiver.counters.challenges == 1


@pytest.mark.parametrize(
    "query", ["", "?", "x=1", "crc_token", "crc_token=", {}, {"crc_token": []}, {"crc_token": 5}, None]
)
async def test_a_challenge_without_a_token_is_refused(receiver: Receiver, query: Any) -> None:
    reply = await receiver.handle("get", query, {}, b"")
    assert (reply.status, reply.body) == (400, b"crc_token is missing")
    assert receiver.counters.challenges == 0


@pytest.mark.parametrize("query", ["crc_token=" + "a" * 20_000, {"crc_token": "a" * 20_000}, "&" * 10_000_000])
async def test_what_is_too_long_for_a_challenge_is_refused(receiver: Receiver, query: Any) -> None:
    assert (await receiver.handle("GET", query, {}, b"")).status == 400


BLANKS = st.text(st.characters(categories=["Cc", "Cf", "Zs", "Zl", "Zp"]), max_size=4)
BEGINNINGS = st.sampled_from(
    ["", "{", "[", "{}", '{"event_uuid": "1"}', "[{}]", "x", "\ufeff", "\ud800", "\xef\xbb\xbf{", "%7B"]
)
TOKENS = st.builds("{}{}{}".format, BLANKS, BEGINNINGS, st.text(st.characters(codec=None), max_size=8))


async def both(token: str, query: Any) -> tuple[int, int]:
    """The statuses of a challenge with the token, and of the token as a body with the signature that it brought."""
    receiver = Receiver(SECRET)
    challenged = await receiver.handle("GET", query, {}, b"")
    if challenged.status != 200:
        return challenged.status, 0
    signed = orjson.loads(challenged.body)["response_token"]
    body = token.encode("utf-8", "surrogatepass")
    posted = await receiver.handle("POST", "", {HEADER: signed}, body)
    assert receiver.counters.refused_signature == 0  # it is the signature of this body
    return challenged.status, posted.status


@given(TOKENS)
@example("\u2003\ufeff\x00{")
@example("\u180e[")
def test_no_body_that_is_taken_for_an_event_can_be_signed_by_a_challenge(token: str) -> None:
    assert asyncio.run(both(token, {"crc_token": token})) in ((400, 0), (200, 400))


@given(TOKENS, st.sampled_from([quote, quote_plus]))
def test_no_spelling_of_a_query_gets_around_that(token: str, spell: Any) -> None:
    with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate has no spelling
        assert asyncio.run(both(token, f"crc_token={spell(token)}")) in ((400, 0), (200, 400))


@given(BLANKS, st.sampled_from(["{", "["]), st.text(max_size=8))
def test_what_is_signed_and_begins_as_json_is_always_acknowledged(blank: str, first: str, rest: str) -> None:
    async def acknowledged() -> tuple[int, int]:
        receiver = Receiver(SECRET)
        reply = await post(receiver, (blank + first + rest).encode())
        return reply.status, receiver.counters.accepted

    assert asyncio.run(acknowledged()) == (200, 1)


# Events ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["", "identity", "Identity , identity", []])
async def test_an_encoding_that_changes_nothing_is_none(receiver: Receiver, encoding: Any) -> None:
    reply = await post(receiver, event(1), {HEADER: signature(event(1)), "Content-Encoding": encoding})
    assert reply.status == 200


async def test_an_event_is_kept_and_handed_out(receiver: Receiver) -> None:
    reply = await post(receiver, event(1))
    assert reply == WebhookReply(200, {}, b"")
    reply.headers["X-Own"] = "mine"  # which is no business of the next one
    assert await post(receiver, event(1)) == WebhookReply(200)
    assert numbers(await take(receiver, 1)) == ["1"]
    assert (receiver.counters.accepted, receiver.counters.duplicates) == (1, 1)


@pytest.mark.parametrize("method", ["POST", "post", "Post"])
@pytest.mark.parametrize(
    "spell",
    [
        lambda value: {HEADER: value},
        lambda value: {HEADER.upper(): value, "Content-Type": "application/json"},
        lambda value: {HEADER.title(): [value]},
        lambda value: {HEADER: (value,)},
        lambda value: {HEADER: f" {value}\t"},
        lambda value: {HEADER.encode(): value.encode()},
        lambda value: [(HEADER, value), ("x", "y")],
    ],
)
async def test_headers_are_found_in_any_spelling(receiver: Receiver, method: str, spell: Any) -> None:
    reply = await receiver.handle(method, "", spell(signature(event(1))), event(1))
    assert reply.status == 200


@pytest.mark.parametrize(
    "spell",
    [
        lambda _: {},
        lambda _: {HEADER: None},
        lambda _: {HEADER: []},
        lambda value: {HEADER: [value, value]},
        lambda value: {HEADER: value, HEADER.upper(): value},
        lambda value: {HEADER: f"{value}, {value}"},
        lambda value: {HEADER: value + "x"},
        lambda _: {HEADER: "sha256=\udc80"},
    ],
)
async def test_two_signatures_and_malformed_ones_are_none(receiver: Receiver, spell: Any) -> None:
    reply = await receiver.handle("POST", "", spell(signature(event(1))), event(1))
    assert (reply.status, reply.body) == (401, b"x-service-webhooks-signature is not the signature of this body")
    assert receiver.counters.refused_signature == 1


@pytest.mark.parametrize("body", [bytearray(event(1)), memoryview(event(1))])
async def test_a_body_may_be_any_kind_of_bytes(receiver: Receiver, body: Any) -> None:
    assert (await receiver.handle("POST", "", {HEADER: signature(event(1))}, body)).status == 200
    assert numbers(await take(receiver, 1)) == ["1"]


@pytest.mark.parametrize(("headers", "body"), [({}, "{}"), ({}, 5), (5, b""), ("x", b""), ([1], b"")])
async def test_what_is_neither_headers_nor_a_body_is_refused_to_the_caller(
    receiver: Receiver, headers: Any, body: Any
) -> None:
    with pytest.raises(InvalidInput, match="must be"):
        await receiver.handle("POST", "", headers, body)


async def test_a_body_that_is_not_there_is_an_empty_one(receiver: Receiver) -> None:
    body: Any = None
    assert (await receiver.handle("POST", "", {HEADER: signature(b"")}, body)).status == 400


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_what_is_signed_and_cannot_be_read_is_handed_out_as_it_came(receiver: Receiver, encoding: str) -> None:
    content = "\ufeff {}".encode(encoding)
    assert (await post(receiver, content)).status == 200
    (got,) = await take(receiver, 1)
    assert (type(got), got.content) == (Undecoded, content)


@pytest.mark.parametrize("method", ["PUT", "HEAD", "OPTIONS", "delete", "", "GET "])
async def test_other_methods_are_refused(receiver: Receiver, method: str) -> None:
    reply = await receiver.handle(method, "crc_token=a", {HEADER: signature(event(1))}, event(1))
    assert (reply.status, reply.headers["Allow"]) == (405, "GET,POST")


async def test_a_large_body_leaves_others_their_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "SLICE_BYTES", 1_000)
    monkeypatch.setattr(fairness, "BUDGET_SECONDS", -1.0)  # as if every slice took too long
    receiver = Receiver(SECRET, max_body_bytes=1_000_000)
    large = [event(number, text="x" * 99_000) for number in range(3)]
    async with counted_rounds() as rounds:
        before = rounds.now
        replies = await asyncio.gather(*(post(receiver, each) for each in large))
        went = rounds.now - before
    assert [reply.status for reply in replies] == [200] * 3
    assert went >= 3 * 99  # of each body one slice a round, and in no round slices of two
    assert numbers(await take(receiver, 3)) == ["0", "1", "2"]


# Opening and closing -----------------------------------------------------------------------------------------------


async def test_the_first_request_opens_an_inbox_that_nobody_has_opened(tmp_path: Any) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    waiting = asyncio.ensure_future(take(receiver, 1))
    assert (await post(receiver, event(1))).status == 200
    assert numbers(await waiting) == ["1"]
    await receiver.aclose()
    assert (await post(receiver, event(2))).status == 503
    again = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    await again.handle("GET", "crc_token=a", {}, b"")
    assert numbers(await take(again, 1)) == ["1"]  # whose handling was not followed by anything
    await again.aclose()


async def test_an_inbox_that_cannot_be_opened_by_a_request_is_told_and_takes_no_event(
    tmp_path: Any, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path)
    for number in range(3):
        reply = await post(receiver, event(number))
        assert (reply.status, reply.headers["Retry-After"]) == (503, "5")
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.message.startswith(f"events are refused: the inbox {tmp_path} cannot be written")
    assert receiver.waiting == 0
    with pytest.raises(ConfigurationError, match="cannot be written"):
        await receiver.__aenter__()


async def test_an_inbox_that_could_not_be_opened_is_opened_by_a_later_request(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "later" / "inbox.sqlite")
    waiting = asyncio.ensure_future(take(receiver, 1))
    assert (await post(receiver, event(1))).status == 503
    (tmp_path / "later").mkdir()
    assert (await post(receiver, event(1))).status == 503  # not before RETRY_SECONDS have passed
    monkeypatch.setattr(receiver._store, "_retry_at", 0.0)
    assert (await post(receiver, event(1))).status == 200
    assert numbers(await waiting) == ["1"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert caplog.messages[1].endswith("works again")
    await receiver.aclose()


async def test_a_receiver_that_could_not_be_entered_can_be_entered_later(tmp_path: Any) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "later" / "inbox.sqlite")
    with pytest.raises(ConfigurationError):
        await receiver.__aenter__()
    assert await rest(receiver) == []
    (tmp_path / "later").mkdir()
    async with receiver:
        waiting = asyncio.ensure_future(take(receiver, 1))
        assert (await post(receiver, event(1))).status == 200
        assert numbers(await waiting) == ["1"]


@contextlib.contextmanager
def being_written(path: Path) -> Iterator[None]:
    """Another process has begun to write, so whoever opens the file waits."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


async def test_a_request_that_is_cancelled_leaves_the_opening_to_others(tmp_path: Path) -> None:
    path = tmp_path / "inbox.sqlite"
    async with Receiver(SECRET, inbox=path):
        pass
    receiver = Receiver(SECRET, inbox=path)
    with being_written(path):
        requests = [asyncio.ensure_future(post(receiver, event(number))) for number in range(3)]
        entering = asyncio.ensure_future(receiver.__aenter__())
        await turns()
        requests[0].cancel()
        entering.cancel()
        results = await asyncio.gather(requests[0], entering, return_exceptions=True)
        assert [type(result) for result in results] == [asyncio.CancelledError] * 2
        assert not requests[1].done()
    assert [(await request).status for request in requests[1:]] == [200, 200]
    assert numbers(await take(receiver, 3)) == ["0", "1", "2"]
    await receiver.aclose()


async def test_closing_while_the_inbox_is_opened_stores_what_waits_for_that(tmp_path: Path) -> None:
    path = tmp_path / "inbox.sqlite"
    async with Receiver(SECRET, inbox=path):
        pass
    receiver = Receiver(SECRET, inbox=path)
    with being_written(path):
        request = asyncio.ensure_future(post(receiver, event(1)))
        await turns()
        closing = asyncio.ensure_future(receiver.aclose())
        await turns()
        assert not closing.done()
    await closing
    assert (await request).status == 200
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208  # names are all that matters
    async with Receiver(SECRET, inbox=path) as again:
        assert numbers(await take(again, 1)) == ["1"]


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 401), ({HEADER: "sha256=no"}, 401), ({HEADER: signature(b"{}")}, 401)]
)
async def test_whoever_has_no_signature_neither_opens_an_inbox_nor_waits_for_one(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    path = tmp_path / "inbox.sqlite"
    receiver = Receiver(SECRET, inbox=path)
    assert (await post(receiver, event(1), headers)).status == status
    assert not path.exists()
    async with Receiver(SECRET, inbox=path):
        pass
    with being_written(path):
        verified = asyncio.ensure_future(post(receiver, event(2)))
        await turns()
        assert (await post(receiver, event(1), headers)).status == status
        assert (await receiver.handle("GET", "crc_token=a", {}, b"")).status == 200
        assert not verified.done()
    assert (await verified).status == 200
    await receiver.aclose()


async def test_what_waits_for_the_opening_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "inbox.sqlite"
    async with Receiver(SECRET, inbox=path):
        pass
    monkeypatch.setattr(inbox, "MAX_ARRIVING", 2)
    receiver = Receiver(SECRET, inbox=path)
    with being_written(path):
        requests = [asyncio.ensure_future(post(receiver, event(number))) for number in range(4)]
        await turns()
        assert [request.done() for request in requests] == [False, False, True, True]
    assert [(await request).status for request in requests] == [200, 200, 503, 503]
    await receiver.aclose()


async def test_refused_requests_leave_nothing_in_memory(tmp_path: Path) -> None:
    """The exception of the failed opening was raised again for each request, and its traceback grew."""
    receiver = Receiver(SECRET, inbox=tmp_path, max_body_bytes=2_000)
    requests = [("GET", "crc_token=a", {}), ("POST", "", {}), ("POST", "", {HEADER: signature(event(1))})]

    async def ask(times: int) -> None:
        for _ in range(times):
            for method, query, headers in requests:
                await receiver.handle(method, query, headers, event(1))

    await ask(20)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        await ask(300)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000


# Reading one event -------------------------------------------------------------------------------------------------


def test_one_event_can_be_read_without_a_receiver() -> None:
    found = read_event(event(1, text="hello"))
    assert isinstance(found, ActivityEvent)
    assert (found.event_id, found.payload) == ("1", {"text": "hello"})
    assert isinstance(read_event(b'{"data": {"id": "5", "text": "t"}, "matching_rules": null}'), MatchedPost)
    assert read_event(b"[]") == Undecoded(b"[]", reason="is not a JSON object")


# Event loops -------------------------------------------------------------------------------------------------------


ONE_LOOP = r"in only one: .*; from other threads, call asyncio\.run_coroutine_threadsafe\("


@given(st.binary() | st.text(st.characters(codec=None)) | st.none() | st.integers() | st.binary().map(bytearray))
def test_reading_one_raises_nothing(body: Any) -> None:
    assert isinstance(read_event(body), ActivityEvent | MatchedPost | Undecoded)


def run_page(namespace: dict[str, Any]) -> None:
    """What the page on webhooks says for a framework without asyncio."""
    page = Path(__file__).parents[2] / "docs" / "webhooks.md"
    (snippet,) = [each for each in snippets_of(page) if "run_coroutine_threadsafe" in each.text]
    exec(snippet.text, namespace)


def test_a_framework_without_asyncio_gives_the_receiver_a_loop_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOCIALAPI_API_KEY_SECRET", SECRET)
    seen: list[Any] = []
    page: dict[str, Any] = {}
    run_page(page)

    async def see(each: ActivityEvent) -> None:
        seen.append(each.event_id)
        page["receiver"].stop()

    try:
        page["events"].on("*")(see)
        content = event(1)
        assert page["answer"]("GET", "crc_token=a", {}, b"")[1] == 200
        with pytest.raises(RuntimeError, match=ONE_LOOP):
            asyncio.run(post(page["receiver"], event(2)))
        assert page["answer"]("POST", "", {HEADER: signature(content)}, content) == (b"", 200, {})
        page["thread"].join(timeout=10)  # which ends when the event has been handled
    finally:
        page["loop"].call_soon_threadsafe(page["receiver"].stop)
        page["thread"].join(timeout=10)
        page["loop"].close()
    assert seen == ["1"]


@pytest.mark.parametrize("inbox", [None, "events.sqlite"])
def test_in_another_loop_than_the_one_it_was_opened_in_a_receiver_raises(tmp_path: Path, inbox: str | None) -> None:
    receiver = Receiver(SECRET, inbox=None if inbox is None else tmp_path / inbox)

    async def in_another_thread(work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        with pytest.raises(RuntimeError, match=ONE_LOOP):
            await asyncio.to_thread(lambda: asyncio.run(work()))

    async def main() -> None:
        async with receiver:
            assert (await post(receiver, event(1))).status == 200
            await in_another_thread(lambda: post(receiver, event(2)))
            await in_another_thread(lambda: receiver.handle("GET", "crc_token=a", {}, b""))
            await in_another_thread(lambda: take(receiver, 1))
            await in_another_thread(receiver.__aenter__)
            assert numbers(await take(receiver, 1)) == ["1"]
        assert receiver.counters.accepted == 1

    asyncio.run(main())


def test_without_an_inbox_loops_may_follow_one_another_until_it_is_opened() -> None:
    receiver = Receiver(SECRET)
    for number in range(3):
        assert asyncio.run(post(receiver, event(number))).status == 200
    assert numbers(asyncio.run(take(receiver, 3))) == ["0", "1", "2"]
