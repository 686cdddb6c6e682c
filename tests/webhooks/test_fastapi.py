"""The example with FastAPI, under uvicorn as it is run, and the service that delivers to it."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import attrs
import fastapi
import pytest
import starlette.applications
import starlette.routing

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.streams import Dispatcher
from socialapi.webhooks import ActivityEvent, Receiver
from socialapi.webhooks.inbox import ALONE_SECONDS
from tests.support.clock import turns
from tests.support.server import free_port
from tests.support.waiting import until
from tests.test_readme import snippets_of
from tests.webhooks.posting import HEADER, SECRET, Sender, event, numbers, signature, take
from tests.webhooks.serving import ROOT, serving_asgi

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow]

URL = "https://app.example/hooks"


@attrs.define
class Uvicorn:
    """A running server, and what it and the example print."""

    process: asyncio.subprocess.Process
    lines: list[str] = attrs.field(factory=list)
    _more: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode().rstrip())
            self._more.set()

    async def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError("\n".join(self.lines)) from None

    def found(self, pattern: str) -> list[tuple[str, ...]]:
        return [match.groups() for line in self.lines for match in re.finditer(pattern, line)]

    @property
    def handled(self) -> list[tuple[str, ...]]:
        """Which worker has handled which event, in the order of their beginnings."""
        return self.found(r"worker (\d+) handles (\d+)")


@contextlib.asynccontextmanager
async def uvicorn(
    secret: str, folder: Path, workers: int, app: str = "webhook_fastapi:make_app", app_dir: Path = ROOT / "examples"
) -> AsyncIterator[tuple[Uvicorn, str]]:
    """An application, by default the example, with so many workers, once all of them serve, and its address."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", app, "--app-dir", app_dir, "--no-access-log"),
        *(["--factory"] if app.endswith(":make_app") else []),
        *("--port", str(port), "--workers", str(workers)),
        *("--timeout-worker-healthcheck", "60"),  # else uvicorn replaces workers that a busy machine leaves no time
        cwd=folder,
        env=os.environ | {"SOCIALAPI_API_KEY_SECRET": secret, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    server = Uvicorn(process)
    reading = asyncio.create_task(server.read())
    try:
        await server.until(lambda: len(server.found("(Application startup complete)")) == workers)
        await server.until(lambda: bool(server.found("(Uvicorn running on)")))  # which one worker says when it listens
        yield server, f"http://127.0.0.1:{port}/hooks"
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()
        await reading


@contextlib.asynccontextmanager
async def delivering(folder: Path, workers: int) -> AsyncIterator[tuple[Emulator, Client, Uvicorn]]:
    """The service, which delivers to the example."""
    async with Emulator() as emulator, uvicorn(emulator.ready["api_key_secret"], folder, workers) as (server, address):
        emulator.webhook_targets[URL] = address
        async with Client(emulator.config, emulator.credentials) as client:
            webhooks = await asyncio.gather(*(client.webhooks.ensure(URL) for _ in range(2)))
            assert [webhook.valid for webhook in webhooks] == [True, True]
            yield emulator, client, server


def activity(number: int, *, takes_long: bool = False) -> dict[str, object]:
    payload = {"takes_long": takes_long}
    return {"event_type": "post.create", "user_id": "17", "event_id": str(number), "payload": payload}


async def publish(emulator: Emulator, wanted: range, *, takes_long: bool = False) -> None:
    await emulator.publish({"events": [activity(number, takes_long=takes_long) for number in wanted]})


@pytest.mark.parametrize("workers", [1, 2])
async def test_every_event_is_handled_once(tmp_path: Path, workers: int) -> None:
    async with delivering(tmp_path, workers) as (emulator, client, server):
        emulator.faults.add("delivery_forged")
        for _ in range(20):
            emulator.faults.add("delivery_duplicate")
        await publish(emulator, range(100))
        await emulator.settle()
        await client.webhooks.replay()
        await emulator.settle()
        await publish(emulator, range(100, 110))
        await server.until(lambda: len({number for _, number in server.handled}) == 110)
    assert sorted(int(number) for _, number in server.handled) == list(range(110))
    assert len({worker for worker, _ in server.handled}) <= workers
    assert not [line for line in server.lines if "Error" in line or "Traceback" in line]


async def test_what_a_killed_worker_had_is_handled_by_another_one(tmp_path: Path) -> None:
    async with delivering(tmp_path, 2) as (emulator, _, server):
        await publish(emulator, range(6), takes_long=True)
        await emulator.settle()
        await server.until(lambda: len(server.handled) == 6)
        first = {number: worker for worker, number in server.handled}
        assert len(first) == 6
        killed = first["0"]
        lost = {number for number, worker in first.items() if worker == killed}
        os.kill(int(killed), signal.SIGKILL)
        # Each of them comes alone, and the next one only after a while, as its handling never ends.
        await server.until(lambda: len(server.handled) >= 6 + len(lost), 60 + ALONE_SECONDS * len(lost))
        again = server.handled[6:]
        assert sorted(number for _, number in again) == sorted(lost)
        assert killed not in {worker for worker, _ in again}
        await server.until(lambda: len(server.found("(Application startup complete)")) == 3)  # uvicorn has replaced it
        await publish(emulator, range(100, 150))
        await emulator.settle()
        await server.until(lambda: len(server.handled) >= 6 + len(lost) + 50)
    noted = [number for _, number in server.handled]
    assert sorted(noted[6 + len(lost) :], key=int) == [str(number) for number in range(100, 150)]


# What ends the handling ------------------------------------------------------------------------------------------------

FAILING = """
import contextlib, os
from fastapi import FastAPI
from socialapi.streams import Dispatcher
from socialapi.webhooks import ActivityEvent, Receiver

receiver = Receiver(os.environ["SOCIALAPI_API_KEY_SECRET"], inbox="events.sqlite")

async def handle(receiver):
    async for event in receiver:
        {does}

@contextlib.asynccontextmanager
async def lifespan(app):
    async with receiver.handled_by(handle):
        yield

app = FastAPI(lifespan=lifespan)
app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])
"""


@pytest.mark.parametrize(("does", "said"), [("raise LookupError('of mine')", "LookupError: of mine"), ("return", None)])
async def test_what_ends_the_handling_ends_the_server_and_the_inbox_keeps_its_events(
    tmp_path: Path, does: str, said: str | None
) -> None:
    (tmp_path / "failing.py").write_text(FAILING.format(does=does))
    async with uvicorn(SECRET, tmp_path, 1, "failing:app", tmp_path) as (server, address):
        async with aiohttp.ClientSession() as session:
            assert (await Sender(address, session).post(event(1))).status == 200
        async with asyncio.timeout(60):
            await server.process.wait()
    assert server.process.returncode == -signal.SIGTERM
    assert "the event handler has ended, so this process is shutting down" in "\n".join(server.lines)
    assert said is None or said in server.lines
    async with Receiver(SECRET, inbox=tmp_path / "events.sqlite") as again:
        assert numbers(await take(again, 1)) == ["1"]


async def test_an_application_registers_itself_once_it_serves(
    socialapi_emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in socialapi_emulator.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (snippet,) = [each for each in snippets_of(ROOT / "docs" / "webhooks.md") if "def register(" in each.text]
    page: dict[str, Any] = {}
    exec(snippet.text, page)
    receiver: Receiver = page["receiver"]
    refused = (
        "POST /2/webhooks: 400: CrcValidationFailed: the address cannot be reached: no local target is mapped to it"
        " (POST /_emulator/webhook-targets) (request …); is the receiver already running at this address, with this app's API key"
        " secret?"
    )
    async with serving_asgi(page["app"]) as sender:
        await until(lambda: bool(caplog.records))
        messages = [re.sub(r"request \w+", "request …", each.getMessage()) for each in caplog.records]
        assert messages == [f"the webhook is not registered yet: {refused}"]
        socialapi_emulator.webhook_targets[URL] = f"{sender.url}hooks"
        await until(lambda: receiver.counters.challenges == 1)
        async with Client(socialapi_emulator.config, socialapi_emulator.credentials) as client:
            assert (await client.webhooks.ensure(URL)).valid
    assert (len(caplog.records), receiver.counters.challenges) == (1, 1)


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """The SIGTERM that this process gets."""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    yield received
    signal.signal(signal.SIGTERM, before)


async def test_what_the_handling_raises_comes_out_of_the_block(
    ended: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(receiver: Receiver) -> None:
        async for _ in receiver:
            raise LookupError

    async def serve() -> None:
        receiver = Receiver(SECRET)
        async with receiver.handled_by(handle):
            assert (await receiver.handle("POST", "", {HEADER: signature(event(1))}, event(1))).status == 200
            await until(lambda: bool(ended))

    with pytest.raises(LookupError):
        await serve()
    assert ended == [signal.SIGTERM]
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.exc_info is not None


@pytest.mark.parametrize("stops", [True, False])
async def test_a_handling_that_ends_with_the_receiver_ends_nothing_else(
    ended: list[int], caplog: pytest.LogCaptureFixture, stops: bool
) -> None:
    events = Dispatcher()
    handled: list[str] = []

    @events.on("*")
    async def note(event: ActivityEvent) -> None:
        handled.append(event.event_id or "")

    receiver = Receiver(SECRET)
    async with receiver.handled_by(events.run):
        assert (await receiver.handle("POST", "", {HEADER: signature(event(1))}, event(1))).status == 200
        await until(lambda: bool(handled))
        if stops:
            receiver.stop()
            await turns()
    assert (handled, ended, caplog.messages) == (["1"], [], [])
    assert (await receiver.handle("POST", "", {HEADER: signature(event(2))}, event(2))).status == 503


async def test_an_event_loop_that_cancels_all_its_tasks_is_told_nothing(
    ended: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    """So it ends after Ctrl-C, and where a server does not wait for the application's shutdown."""

    is_handling = asyncio.Event()

    async def handle(receiver: Receiver) -> None:
        is_handling.set()
        async for _ in receiver:
            raise AssertionError

    async def serve() -> None:
        async with Receiver(SECRET).handled_by(handle):
            await asyncio.Event().wait()

    before = asyncio.all_tasks()
    serving = asyncio.create_task(serve())
    await is_handling.wait()
    for each in sorted(asyncio.all_tasks() - before, key=lambda task: task is serving):
        each.cancel()
    await asyncio.wait({serving})
    assert (serving.cancelled(), ended, caplog.messages) == (True, [], [])


async def test_a_handling_that_awaits_what_was_cancelled_ends_the_server(ended: list[int]) -> None:
    async def handle(receiver: Receiver) -> None:
        cancelled = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        await cancelled

    async with Receiver(SECRET).handled_by(handle):
        await until(lambda: bool(ended))
    assert ended == [signal.SIGTERM]


# Other ways to put it into an application ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [fastapi.FastAPI, starlette.applications.Starlette])
async def test_a_route_leads_to_it_without_a_redirection(make: Callable[..., starlette.applications.Starlette]) -> None:
    receiver = Receiver(SECRET)
    routes = [starlette.routing.Route("/hooks", receiver.asgi, methods=["GET", "POST"])]
    async with serving_asgi(make(routes=routes)) as sender:
        answer = await sender.challenge("?crc_token=a%20b", path="hooks")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json; charset=utf-8")
        assert (await sender.post(event(1), path="hooks")).status == 200
        assert (await sender.ask("PUT")).status in (404, 405)
    assert numbers(await take(receiver, 1)) == ["1"]
