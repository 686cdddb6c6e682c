"""What a receiver answers, over real sockets."""

import asyncio
import base64
import hashlib
import hmac
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from socialapi.errors import ConfigurationError
from socialapi.webhooks import Receiver, endpoint, queue
from tests.support.waiting import until
from tests.webhooks.posting import HEADER, SECRET, Sender, event, numbers, rest, running, signature, take


@pytest.fixture
def receiver() -> Receiver:
    return Receiver(SECRET, max_body_bytes=2_000)


@pytest.fixture
async def sender(receiver: Receiver) -> AsyncIterator[Sender]:
    async with running(receiver) as sender:
        yield sender


def response_token(token: str, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.digest(secret.encode(), token.encode(), hashlib.sha256)
    return {"response_token": "sha256=" + base64.b64encode(digest).decode()}


# Challenges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/", "/any/path"])
async def test_a_challenge_is_answered(sender: Sender, receiver: Receiver, path: str) -> None:
    answer = await sender.challenge("?crc_token=a%20%2Bb%C3%BC", path=path)
    assert (answer.status, orjson.loads(answer.text)) == (200, response_token("a +bü"))
    assert answer.headers["Content-Type"].startswith("application/json")
    assert receiver.counters.challenges == 1


# Events ------------------------------------------------------------------------------------------------------------


async def test_events_without_an_id_are_warned_of_once(
    sender: Sender, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    content = b'{"for_user_id": "2244994945", "tweet_create_events": [{"id": 5}]}'
    for _ in range(3):
        assert (await sender.post(content)).status == 200
    assert [each.content for each in await take(receiver, 3)] == [content] * 3
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("socialapi", "WARNING")
    assert "duplicates of such events cannot be recognized" in record.message
    assert (await Receiver(SECRET).handle("POST", "", {HEADER: signature(content)}, content)).status == 200
    assert len(caplog.records) == 2  # one for each receiver


@pytest.mark.parametrize(
    ("sign", "content"),
    [
        (None, event(1)),
        ("sha256=", event(1)),
        ("sha256=AAAA", event(1)),
        ("md5=AAAA", event(1)),
        ("\N{LATIN SMALL LETTER U WITH DIAERESIS}", event(1)),
        (signature(event(1), "wrong-secret"), event(1)),
        (signature(event(2)), event(1)),  # that of another body
        (signature(event(1)).lower(), event(1)),
    ],
)
async def test_a_forged_event_is_refused_and_leaves_nothing_behind(
    sender: Sender, receiver: Receiver, sign: str | None, content: bytes
) -> None:
    answer = await sender.post(content, sign)
    assert (answer.status, answer.text) == (401, "x-service-webhooks-signature is not the signature of this body")
    assert (receiver.counters.refused_signature, receiver.counters.accepted) == (1, 0)
    assert (await sender.post(content)).status == 200  # and is no duplicate
    assert receiver.counters.accepted == 1


# Bodies ------------------------------------------------------------------------------------------------------------


async def chunks(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 100


async def test_a_body_at_the_bound_is_taken_and_one_above_it_is_not(sender: Sender, receiver: Receiver) -> None:
    assert (await sender.post(b"{}".ljust(2_000))).status == 200
    answer = await sender.post(b"{}".ljust(2_001))
    assert (answer.status, answer.text) == (413, "the body is larger than 2,000 bytes")
    headers = {HEADER: signature(b"x" * 2_100)}
    async with sender.session.post(sender.url, data=chunks(21), headers=headers) as response:  # of no announced length
        assert response.status == 413
    assert (receiver.counters.refused_body, receiver.counters.accepted) == (2, 1)


async def test_a_length_above_the_bound_is_refused_before_the_body_is_sent(sender: Sender) -> None:
    reader, writer = await sender.broken(b"", length=2_001)
    assert (await reader.readline()).startswith(b"HTTP/1.1 413 ")
    writer.close()


async def test_a_body_that_does_not_end_is_not_waited_for() -> None:
    receiver = Receiver(SECRET, body_timeout_seconds=0.01)
    async with running(receiver) as sender:
        reader, writer = await sender.broken(b"{", length=10)
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        writer.close()
    assert receiver.counters.refused_body == 1


async def test_a_body_that_breaks_off_is_no_event(sender: Sender, receiver: Receiver) -> None:
    _, writer = await sender.broken(b"{}", length=10)
    writer.close()
    await until(lambda: receiver.counters.refused_body == 1)
    assert receiver.counters.accepted == 0


# Duplicates and room -----------------------------------------------------------------------------------------------


async def test_of_duplicates_at_once_exactly_one_is_handed_out(sender: Sender, receiver: Receiver) -> None:
    answers = await asyncio.gather(*(sender.post(event(number % 3)) for number in range(30)))
    assert {answer.status for answer in answers} == {200}
    receiver.stop()
    assert sorted(numbers(await rest(receiver))) == ["0", "1", "2"]


async def test_an_event_without_an_id_is_always_handed_out(sender: Sender, receiver: Receiver) -> None:
    for _ in range(3):
        await sender.post(event(None))
    assert numbers(await take(receiver, 3)) == [None, None, None]


async def test_an_id_is_forgotten_after_the_window() -> None:
    receiver = Receiver(SECRET, dedup_window=2)
    async with running(receiver) as sender:
        for number in (1, 2, 1, 3, 1):
            await sender.post(event(number))
    assert numbers(await rest(receiver)) == ["1", "2", "3", "1"]


async def test_without_room_an_event_is_refused_and_can_be_sent_again() -> None:
    receiver = Receiver(SECRET, max_queue=2)
    async with running(receiver) as sender:
        assert [(await sender.post(event(number))).status for number in (1, 2)] == [200, 200]
        refused = await sender.post(event(3))
        assert (refused.status, refused.headers["Retry-After"]) == (503, "5")
        assert (await sender.post(event(2))).status == 200  # what is there already needs no room
        assert numbers(await take(receiver, 1)) == ["1"]
        assert (await sender.post(event(3))).status == 200
    assert receiver.counters.refused_full == 1
    assert numbers(await rest(receiver)) == ["2", "3"]


async def test_without_room_for_its_bytes_an_event_is_refused_too(
    sender: Sender, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_QUEUED_BYTES", 1_000)
    large = event(1, text="x" * 1_500)
    assert [(await sender.post(each)).status for each in (large, event(2))] == [200, 503]  # one alone has room
    assert numbers(await take(receiver, 1)) == ["1"]
    assert (await sender.post(event(2))).status == 200


async def test_bodies_that_are_being_read_share_their_room(
    sender: Sender, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their senders may be anybody."""
    monkeypatch.setattr(endpoint, "MAX_READING_BYTES", 1_000)
    reader, writer = await sender.broken(b"x" * 900, length=1_000)
    await until(lambda: receiver._bodies._bytes == 900)
    assert (await sender.post(event(1))).status == 200  # there is room beside it
    assert (await sender.post(event(2, text="x" * 200))).status == 200  # there is none, so the older one is given up
    assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
    assert b"Retry-After: 5\r\n" in await reader.readuntil(b"\r\n\r\n")
    writer.close()
    assert (await sender.post(event(3, text="x" * 1_200))).status == 200  # one alone has room
    assert receiver._bodies._bytes == 0
    assert (receiver.counters.refused_full, receiver.counters.accepted) == (1, 3)


async def test_of_bodies_on_their_way_that_are_equally_large_the_oldest_are_given_up(
    sender: Sender, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_READING_BYTES", 25)
    opened: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    def all_have_begun() -> bool:
        return len(receiver._bodies._readings) + receiver.counters.refused_full == len(opened)

    for _ in range(4):
        opened.append(await sender.broken(b"{" * 10, length=11))
        await until(all_have_begun)
    assert len(receiver._bodies._readings) == 2
    for reader, _ in opened[:2]:
        assert (await reader.readline()).startswith(b"HTTP/1.1 503 ")
    for reader, writer in opened[2:]:
        writer.write(b" ")
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
    for _, writer in opened:
        writer.close()


# Where and with what it runs ---------------------------------------------------------------------------------------


async def test_during_rotation_the_first_secret_answers_and_all_are_accepted() -> None:
    receiver = Receiver(["new", "old"])
    async with running(receiver) as sender:
        assert orjson.loads((await sender.challenge("?crc_token=a")).text) == response_token("a", "new")
        for number, secret in enumerate(("old", "new", "older")):
            await sender.post(event(number), signature(event(number), secret))
    assert numbers(await rest(receiver)) == ["0", "1"]


WHOLE = ("max_body_bytes", "max_queue", "max_waiting", "dedup_window")
NO_PATHS: tuple[Any, ...] = (5, True, b"inbox.sqlite", [], "", ":memory:", "a\0b", "a\ud800", Path("a\0b"))
NO_NUMBERS: tuple[Any, ...] = ("5", None, True, [], 5j, b"5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in WHOLE for value in (*NO_NUMBERS, 2.5, float("nan"), 0, -1, 10**30, 10**400)),
        *(("body_timeout_seconds", value) for value in (*NO_NUMBERS, float("nan"), float("inf"), 0, -1.5, 10**400)),
        *(("inbox", value) for value in NO_PATHS),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} must be "):
        Receiver(SECRET, **{name: value})


@pytest.mark.parametrize(
    ("secret", "options"),
    [
        ("", {}),
        ([], {}),
        (["a", ""], {}),
        ("secret\n", {}),
        ("two words", {}),
        (SECRET, {"max_queue": 0}),
        (SECRET, {"max_body_bytes": -1}),
        (SECRET, {"max_waiting": 0}),
        (SECRET, {"dedup_window": 0}),
        (SECRET, {"body_timeout_seconds": 0}),
    ],
)
def test_what_makes_no_sense_is_refused_without_telling_a_secret(secret: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Receiver(secret, **options)
    assert "two words" not in str(caught.value)


def test_no_representation_tells_a_secret_or_a_body() -> None:
    receiver = Receiver(SECRET)
    shown = [repr(receiver), str(receiver), repr(receiver.counters), *map(repr, receiver.on_startup)]
    assert not [each for each in shown if SECRET in each]


def test_development_mode_has_nothing_to_warn_of() -> None:
    script = "from socialapi.webhooks import Receiver\nReceiver('a')\nclass Mine(Receiver): ...\nMine(['a', 'b'])"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_overrides_nothing_of_an_application() -> None:
    inherited = {name for each in web.Application.__mro__[:-1] for name in vars(each)}
    ours = {name for name in vars(Receiver) if not name.startswith("__") and name != "_abc_impl"}
    assert ours & inherited == {"ATTRS"}
