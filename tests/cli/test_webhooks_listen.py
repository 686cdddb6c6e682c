"""`socialapi webhooks listen`."""

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import attrs
import orjson
import pytest

from socialapi.cli import output
from socialapi.emulator import Emulator
from socialapi.webhooks import Receiver
from tests.cli.running import Outcome, Shell
from tests.cli.terminal import Program, program
from tests.support.server import Received, Server, answer
from tests.support.waiting import until
from tests.webhooks.posting import SECRET, Sender, event, numbers, signature, take

URL = "https://app.example/hook"


Arguments = str | Path


@attrs.define
class Listening:
    """What the command in this process says, which its address is part of."""

    shell: Shell
    said: list[str] = attrs.field(factory=list)
    on_address: Callable[[str], None] | None = None

    def hear(self, sentence: str) -> None:
        self.said.append(sentence)
        if self.on_address is not None and sentence.startswith("listening on "):
            self.on_address(sentence.removeprefix("listening on "))

    @contextlib.asynccontextmanager
    async def __call__(self, *arguments: Arguments) -> AsyncIterator[tuple[Sender, asyncio.Task[Outcome]]]:
        """The command in a thread, from when it listens; the block has to give it what it ends after."""
        self.said.clear()
        command = ("webhooks", "listen", "--port", "0", *map(str, arguments))
        running = asyncio.create_task(self.shell.run(*command))
        async with aiohttp.ClientSession() as session, asyncio.timeout(30):
            await until(lambda: bool(self.said) or running.done())
            yield Sender(self.said[0].removeprefix("listening on "), session), running
            await running


@pytest.fixture
def listening(ready: Shell, monkeypatch: pytest.MonkeyPatch) -> Listening:
    listening = Listening(ready)
    say = output.say

    def hear(sentence: str) -> None:
        say(sentence)
        listening.hear(sentence)

    monkeypatch.setattr(output, "say", hear)
    return listening


@pytest.fixture
def ready(shell: Shell) -> Shell:
    shell.put(API_KEY_SECRET=SECRET)
    return shell


async def test_events_are_printed_one_on_a_line_without_what_people_wrote(listening: Listening) -> None:
    body = {"event_type": "dm.received", "event_id": "1", "created_at": "2027-01-15T09:00:00.000+01:00"}
    post = {"data": {"id": "5", "text": "secret words", "created_at": "2027-01-15T08:00:01.000Z"}, "matching_rules": []}
    async with listening("--limit", "4") as (sender, running):
        await sender.post(orjson.dumps({"data": body | {"payload": {"text": "secret words"}}}))
        await sender.post(orjson.dumps(post))
        await sender.post(b'{"data": "secret words", "matching_rules": []}')
        assert (await sender.post(b"secret words")).status == 400
        await sender.post(orjson.dumps({"event_type": "a\x1b[2J\nb", "event_id": "6"}))
    done = running.result()
    first, second, third, fourth = done.out.splitlines()
    assert (done.status, first) == (0, "2027-01-15 08:00:00Z  dm.received  1")
    assert second == "2027-01-15 08:00:01Z  post  5"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  undecoded  46 bytes: cannot read the answer at .+", third)
    assert fourth.endswith("  a [2J b  6")
    address, *rest = done.err.splitlines()
    assert re.fullmatch(r"socialapi: listening on http://127\.0\.0\.1:\d+", address)
    assert rest == ["socialapi: received 4, duplicates 0, refused 1"]


async def test_forged_events_and_duplicates_are_not_printed(ready: Shell, listening: Listening) -> None:
    ready.put(PREVIOUS_API_KEY_SECRET="previous")
    async with listening("--limit", "3", "--json") as (sender, running):
        assert (await sender.post(event(1), signature(event(1), "forged"))).status == 401
        for number in (1, 1, 2):
            assert (await sender.post(event(number))).status == 200
        assert (await sender.post(event(3), signature(event(3), "previous"))).status == 200
    assert [each["data"]["event_id"] for each in running.result().objects] == ["1", "2", "3"]
    assert running.result().err.splitlines()[1:] == [
        "socialapi: refused 1 delivery: the signature does not match; is the app's secret correct?",
        "socialapi: received 3, duplicates 1, refused 1",
    ]


async def test_it_registers_once_it_listens_and_validates_what_is_registered(
    ready: Shell, emulator: Emulator, listening: Listening
) -> None:
    ready.put_service(emulator.ready)
    listening.on_address = lambda address: emulator.webhook_targets.update({URL: f"{address}/any/path"})
    secret = emulator.ready["api_key_secret"]
    said: list[str] = []
    for number in (1, 2):
        async with listening("--limit", "1", "--register", URL) as (sender, running):
            await sender.post(event(number), signature(event(number), secret))
        assert running.result().status == 0, running.result().err
        said.append(running.result().err.splitlines()[1])
    (webhook,) = (await ready.run("webhooks", "list", "--json")).objects
    assert said == [
        f"socialapi: registered as webhook {webhook['id']}",
        f"socialapi: validated webhook {webhook['id']}",
    ]


async def test_events_of_the_service_are_printed(ready: Shell, emulator: Emulator, listening: Listening) -> None:
    ready.put_service(emulator.ready)
    listening.on_address = lambda address: emulator.webhook_targets.update({URL: address})
    async with listening("--limit", "2", "--json", "--register", URL) as (_, running):
        await until(lambda: len(listening.said) == 2)
        for name in ("a", "b"):
            await emulator.publish({"event_type": "post.create", "user_id": "1", "payload": {"name": name}})
            await emulator.settle()
    assert [each["data"]["payload"] for each in running.result().objects] == [{"name": "a"}, {"name": "b"}]


@pytest.mark.parametrize(
    ("url", "status", "says"),
    [
        ("https://nowhere.example/", 3, "CrcValidationFailed"),
        ("http://app.example/", 2, "must be a public https URL without a port number"),
    ],
)
async def test_what_cannot_be_registered_ends_it(
    ready: Shell, emulator: Emulator, url: str, status: int, says: str
) -> None:
    ready.put_service(emulator.ready)
    done = await ready.run("webhooks", "listen", "--port", "0", "--register", url)
    assert (done.status, done.out) == (status, "")
    assert says in done.err


@pytest.mark.parametrize(
    ("listed", "valid", "says"),
    [([], True, "DuplicateUrlFailed"), ([{"id": "1", "url": URL}], False, "webhook 1 stays invalid")],
)
async def test_a_registered_webhook_that_does_not_become_valid_ends_it(
    shell: Shell, listed: list[dict[str, str]], valid: bool, says: str
) -> None:
    async def service(received: Received) -> bytes:
        if received.path == "/oauth2/token":
            return answer({"access_token": "t", "token_type": "bearer"})
        if received.method == "POST":
            return answer({"title": "DuplicateUrlFailed", "type": "about:blank", "status": 400}, status=400)
        return answer({"data": {"valid": valid} if received.method == "PUT" else listed})

    async with Server(then=service) as server:
        shell.put(BASE_URL=server.url, API_KEY="key", API_KEY_SECRET=SECRET)
        done = await shell.run("webhooks", "listen", "--port", "0", "--register", URL)
    assert done.status == 3
    assert says in done.err


async def test_events_are_passed_on_as_they_came_and_signed(ready: Shell, listening: Listening, tmp_path: Path) -> None:
    ready.put(PREVIOUS_API_KEY_SECRET="previous")
    inbox = tmp_path / "inbox.sqlite"
    async with Server(answer(status=500), then=answer(status=202)) as target:
        options = ("--limit", "2", "--json", "--inbox", str(inbox), "--forward", f"{target.url}/app?x=1")
        async with listening(*options) as (sender, running):
            await sender.post(event(1), signature(event(1), "previous"))
            await sender.post(event(2))
    assert running.result().status == 0
    assert running.result().objects == [orjson.loads(event(1)), orjson.loads(event(2))]
    assert [received.body for received in target.requests] == [event(1), event(1), event(2)]
    for received in target.requests:
        assert received.path == "/app?x=1"
        assert received.headers["x-service-webhooks-signature"] == signature(received.body)
        assert received.headers["content-type"] == "application/json"


async def test_while_the_other_side_is_down_events_wait(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialapi.session.forwarder.BACKOFF_SECONDS", 0.0)
    refused = [answer(status=429)] * 3 + [answer(status=500)] * 6
    async with (
        Server(*refused, then=answer()) as target,
        listening("--limit", "2", "--forward", target.url) as (sender, running),
    ):
        for number in (1, 2):
            assert (await sender.post(event(number))).status == 200
    assert [received.body for received in target.requests] == [event(1)] * 10 + [event(2)]
    assert running.result().err.splitlines()[1:] == [
        "socialapi: 127.0.0.1: HTTP 429; events wait until it accepts them",
        "socialapi: 127.0.0.1: HTTP 500; events wait until it accepts them",
        "socialapi: 127.0.0.1 answers again",
        "socialapi: received 2, duplicates 0, refused 0",
    ]


async def test_an_event_that_is_refused_is_said_and_comes_again_at_the_next_start(
    listening: Listening, tmp_path: Path
) -> None:
    """It was sent again and again, and those behind it never."""
    inbox = tmp_path / "inbox.sqlite"
    async with Server(answer(status=404), then=answer()) as target:
        options = ("--limit", "1", "--json", "--inbox", str(inbox), "--forward", target.url)
        async with listening(*options) as (sender, running):
            for number in (1, 2):
                assert (await sender.post(event(number))).status == 200
        assert [received.body for received in target.requests] == [event(1), event(2)]
    assert running.result().objects == [orjson.loads(event(2))]
    assert running.result().err.splitlines()[1:] == [
        "socialapi: 127.0.0.1 refuses event 1: HTTP 404",
        "socialapi: 1 event is kept for the next run",
        "socialapi: received 2, duplicates 0, refused 0",
    ]
    async with listening("--limit", "1", "--json", "--inbox", str(inbox)) as (_, running):
        pass
    assert running.result().objects == [orjson.loads(event(1))]
    assert running.result().err.splitlines()[1:] == [
        f"socialapi: 1 event waits in {inbox}",
        "socialapi: received 0, duplicates 0, refused 0",
    ]


@contextlib.asynccontextmanager
async def listener(*arguments: str | Path, environment: dict[str, str]) -> AsyncIterator[tuple[Program, Sender]]:
    """The command as a process of its own, once it listens."""
    async with program(*arguments, environment=environment) as running, aiohttp.ClientSession() as session:
        assert running.process.stderr is not None
        line = (await asyncio.wait_for(running.process.stderr.readline(), 30)).decode()
        assert line.startswith("socialapi: listening on http://127.0.0.1:"), line
        yield running, Sender(line.split()[-1], session)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_an_interruption_leaves_the_inbox_whole(number: int, tmp_path: Path) -> None:
    inbox = tmp_path / "inbox.sqlite"

    async def silence(received: Received) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with Server(then=silence) as target:
        options = ("--port", "0", "--inbox", inbox, "--forward", target.url)
        environment = {"SOCIALAPI_API_KEY_SECRET": SECRET}
        async with listener("webhooks", "listen", *options, environment=environment) as (running, sender):
            for each in (1, 2):
                assert (await sender.post(event(each))).status == 200
            await until(lambda: bool(target.requests))
            running.interrupt(number)
            status, out, err = await running.ended()
    assert (status, out) == (130, "")
    assert err.splitlines() == [
        "socialapi: 2 events are kept for the next run",
        "socialapi: received 2, duplicates 0, refused 0",
        "socialapi: interrupted",
    ]
    async with Receiver(SECRET, inbox=inbox) as receiver:
        assert numbers(await take(receiver, 2)) == ["1", "2"]


async def test_what_is_lost_without_an_inbox_is_said() -> None:
    async def silence(received: Received) -> bytes:
        await asyncio.Event().wait()
        return b""

    async with Server(then=silence) as target:
        options = ("--port", "0", "--forward", target.url)
        environment = {"SOCIALAPI_API_KEY_SECRET": SECRET}
        async with listener("webhooks", "listen", *options, environment=environment) as (running, sender):
            for each in (1, 2):
                assert (await sender.post(event(each))).status == 200
            running.interrupt()
            status, _, err = await running.ended()
    assert (status, err.splitlines()[0]) == (
        130,
        "socialapi: 2 accepted events are lost; --inbox keeps them for the next run",
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--forward", "http://app.example/"), "must be https, unless it is on this machine"),
        (("--limit", "0"), "Must be >= 1"),
        (("--inbox", "/nowhere/inbox.sqlite"), "the inbox /nowhere/inbox.sqlite cannot be written"),
        (("--host", "no.such.host.invalid"), "cannot listen on no.such.host.invalid port"),
    ],
)
async def test_wrong_usage_ends_with_2(ready: Shell, arguments: tuple[str, ...], says: str) -> None:
    done = await ready.run("webhooks", "listen", "--port", "0", *arguments)
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert "listening" not in done.err


async def test_without_a_secret_it_says_what_to_set(shell: Shell) -> None:
    done = await shell.run("webhooks", "listen", "--port", "0")
    assert (done.status, done.out) == (2, "")
    assert "set SOCIALAPI_API_KEY_SECRET" in done.err
