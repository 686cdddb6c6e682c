"""The example with FastAPI, under uvicorn as it is run, and the service that delivers to it."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import attrs
import fastapi
import pytest
import starlette.applications
import starlette.routing

from socialapi import Client
from socialapi.emulator import Emulator
from socialapi.webhooks import Receiver
from tests.proofs.test_webhooks import free_port
from tests.webhooks.posting import SECRET, event, numbers, take
from tests.webhooks.serving import ROOT, serving_asgi

pytestmark = pytest.mark.timeout(180)

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

    async def until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(60):
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
async def uvicorn(secret: str, folder: Path, workers: int) -> AsyncIterator[tuple[Uvicorn, str]]:
    """The example with so many workers, once all of them serve, and its address."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "uvicorn", "webhook_fastapi:app", "--app-dir", ROOT / "examples", "--no-access-log"),
        *("--port", str(port), "--workers", str(workers)),
        cwd=folder,
        env=os.environ | {"SOCIALAPI_API_KEY_SECRET": secret, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    server = Uvicorn(process)
    reading = asyncio.create_task(server.read())
    try:
        await server.until(lambda: len(server.found("(Application startup complete)")) == workers)
        yield server, f"http://127.0.0.1:{port}/hooks"
    finally:
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
        await publish(emulator, range(12), takes_long=True)
        await emulator.settle()
        await server.until(lambda: len(server.handled) == 12)
        first = {number: worker for worker, number in server.handled}
        assert len(first) == 12
        killed = first["0"]
        lost = {number for number, worker in first.items() if worker == killed}
        os.kill(int(killed), signal.SIGKILL)
        await server.until(lambda: len(server.handled) >= 12 + len(lost))
        again = server.handled[12:]
        assert sorted(number for _, number in again) == sorted(lost)
        assert killed not in {worker for worker, _ in again}
        await server.until(lambda: len(server.found("(Application startup complete)")) == 3)  # uvicorn has replaced it
        await publish(emulator, range(100, 150))
        await emulator.settle()
        await server.until(lambda: len(server.handled) >= 12 + len(lost) + 50)
    noted = [number for _, number in server.handled]
    assert sorted(noted[12 + len(lost) :], key=int) == [str(number) for number in range(100, 150)]


# Other ways to put it into an application ------------------------------------------------------------------------------


async def test_it_is_mounted_below_a_path(tmp_path: Path) -> None:
    receiver = Receiver(SECRET, inbox=tmp_path / "inbox.sqlite")
    app = fastapi.FastAPI()
    app.mount("/hooks", receiver.asgi)
    async with serving_asgi(app) as sender:
        for path in ("hooks/", "hooks/a/b"):
            assert (await sender.challenge("?crc_token=a", path=path)).status == 200
        assert (await sender.post(event(1), path="hooks/a")).status == 200
        assert (await sender.challenge("", path="other")).status == 404
        assert numbers(await take(receiver, 1)) == ["1"]  # though nobody has opened it
    await receiver.aclose()


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
