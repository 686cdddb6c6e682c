"""An emulator on a thread of its own: used from synchronous code, from any event loop, and ended without a trace."""

import asyncio
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any
from urllib.request import urlopen

import pytest

from socialapi import AudienceUser, Client, Operation
from socialapi.emulator import Emulator, EmulatorThread
from socialapi.errors import ConfigurationError
from socialapi.webhooks import ActivityEvent

ACCOUNT, AUDIENCE = "18ce54d4x5t", "1nmth"
USER = "2244994945"


@pytest.fixture
def running() -> Iterator[EmulatorThread]:
    with EmulatorThread() as emulator:
        yield emulator


def emulator_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "socialapi-emulator"]


async def upload(emulator: EmulatorThread, *emails: str) -> int:
    operations = [Operation.update([AudienceUser(email=email)]) for email in emails]
    async with Client(emulator.config, emulator.credentials) as client:
        counts = await client.ads.account(ACCOUNT).custom_audience(AUDIENCE).send(operations)
    return counts.success_count


def test_synchronous_code_asks_it_over_a_socket(running: EmulatorThread) -> None:
    with urlopen(f"{running.ready['base_url']}/_emulator/seed") as reply:
        assert json.load(reply)["account_ids"] == list(running.seed["account_ids"])


def test_every_member_of_an_emulator_is_there_and_synchronous() -> None:
    own = {name for name in vars(Emulator) if not name.startswith("_")}
    mine = {name: member for name, member in vars(EmulatorThread).items() if not name.startswith("_")}
    assert own - mine.keys() == {"is_exposed", "state"}, "which `call` is for"
    assert not [name for name, member in mine.items() if inspect.iscoroutinefunction(member)]


def test_what_one_event_loop_uploads_is_seen_by_synchronous_code_and_by_the_next_loop(running: EmulatorThread) -> None:
    assert asyncio.run(upload(running, "ada@example.com")) == 1
    assert len(running.members(ACCOUNT, AUDIENCE)) == 1
    assert asyncio.run(upload(running, "bob@example.com")) == 1
    assert len(running.members(ACCOUNT, AUDIENCE)) == 2
    assert running.ledger()["audiences"][ACCOUNT][AUDIENCE]["members"] == 2
    assert [request.status for request in running.requests if request.users] == [200, 200]


async def test_what_is_published_arrives_on_a_stream_of_another_loop(running: EmulatorThread) -> None:
    async with Client(running.config, running.credentials) as client, client.activity.stream() as stream:
        opened = asyncio.create_task(anext(aiter(stream)))
        running.publish({"event_type": "profile.update.bio", "user_id": USER, "payload": {}})
        event = await opened
        assert isinstance(event, ActivityEvent)
        assert event.event_type == "profile.update.bio"
        assert running.end_streams(abruptly=True) == 1


def test_what_is_asked_for_and_is_not_there_is_an_error_of_the_caller(running: EmulatorThread) -> None:
    with pytest.raises(KeyError):
        running.members(ACCOUNT, "nothing")
    with pytest.raises(KeyError):
        running.products("nothing")
    with pytest.raises(KeyError):
        running.do_not_reach_members(ACCOUNT, "nothing")


def test_the_environment_makes_a_client_of_another_process(running: EmulatorThread) -> None:
    program = (
        "import asyncio\nfrom socialapi import Client\nasync def main():\n    async with Client.from_env() as client:\n"
        f"        print(len((await client.posts.by_user('{USER}', max_results=5).first()).data))\nasyncio.run(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | running.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "5\n"
    assert {name.partition("_")[0] for name in running.environment} == {"SOCIALAPI"}


def test_at_its_end_neither_thread_nor_socket_are_left() -> None:
    with EmulatorThread() as emulator:
        port = int(emulator.ready["base_url"].rpartition(":")[2])
        assert emulator_threads() == ["socialapi-emulator"]
    assert emulator_threads() == []
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=5):
        pass


def test_it_ends_with_a_request_under_way_and_a_stream_open() -> None:
    with EmulatorThread() as emulator:
        emulator.faults.add("stall")
        ready = emulator.ready
        head = f"GET /2/activity/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ready['bearer_token']}\r\n\r\n"
        sockets = [_connect(ready["base_url"]) for _ in range(2)]
        for each in sockets:
            each.sendall(head.encode())
        ends_at = time.monotonic() + 30
        while len(emulator.requests) < len(sockets):
            assert time.monotonic() < ends_at, "the requests do not arrive"
    for each in sockets:
        each.close()
    assert emulator_threads() == []


def _connect(address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=30)


def test_it_can_be_run_again() -> None:
    emulator = EmulatorThread()
    with emulator:
        emulator.advance(1)
    with emulator:
        assert emulator.ready["base_url"].startswith("http://127.0.0.1:")
    assert emulator_threads() == []


def test_it_cannot_be_run_twice_at_once(running: EmulatorThread) -> None:
    with pytest.raises(ConfigurationError, match="already running"):
        running.__enter__()
    assert running.requests == ()


@pytest.mark.parametrize(
    "asked",
    [
        EmulatorThread.reset,
        EmulatorThread.settle,
        lambda emulator: emulator.advanced_seconds,
        lambda emulator: len(emulator.webhook_targets),
        lambda emulator: emulator.faults.clear(),
    ],
    ids=["reset", "settle", "advanced_seconds", "webhook_targets", "faults"],
)
def test_before_and_after_it_runs_a_call_says_so(asked: Callable[[EmulatorThread], object]) -> None:
    emulator = EmulatorThread()
    with pytest.raises(ConfigurationError, match="not running: use `with EmulatorThread"):
        asked(emulator)
    with emulator:
        asked(emulator)
    with pytest.raises(ConfigurationError, match="not running"):
        asked(emulator)


def test_a_call_from_its_own_thread_is_refused_at_once(running: EmulatorThread) -> None:
    with pytest.raises(ConfigurationError, match="from the emulator's own thread would deadlock"):
        running.call(lambda _: running.ledger())
    assert running.call(lambda emulator: emulator.ledger()["requests"]) == running.ledger()["requests"]


class HasToWait(Emulator):
    """Settles never, and ends once it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.settles, self.ends, self.may_end = threading.Event(), threading.Event(), threading.Event()

    async def settle(self) -> None:
        self.settles.set()
        await asyncio.get_running_loop().create_future()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ends.set()
        await asyncio.to_thread(self.may_end.wait, 30)
        await super().__aexit__(kind, error, traceback)


def test_calls_while_it_ends_are_refused_and_those_under_way_are_broken_off() -> None:
    waits = HasToWait()
    emulator = EmulatorThread(waits)
    with ThreadPoolExecutor() as threads:
        emulator.__enter__()
        settling = threads.submit(emulator.settle)
        assert waits.settles.wait(30)
        ending = threads.submit(emulator.__exit__, None, None, None)
        assert waits.ends.wait(30)
        with pytest.raises(ConfigurationError, match="not running"):
            emulator.reset()
        with pytest.raises(ConfigurationError, match="already running"):
            emulator.__enter__()
        waits.may_end.set()
        ending.result(30)
        with pytest.raises(ConfigurationError, match="the emulator ended before it responded"):
            settling.result(30)
    assert emulator_threads() == []


def test_a_call_that_is_handed_over_while_the_block_ends_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    hand_over = asyncio.run_coroutine_threadsafe
    with EmulatorThread() as emulator, ThreadPoolExecutor() as threads:
        (thread,) = (each for each in threading.enumerate() if each.name == "socialapi-emulator")

        def after_the_end_of_the_block(work: Any, loop: asyncio.AbstractEventLoop) -> Any:
            monkeypatch.undo()
            threads.submit(emulator.__exit__, None, None, None)
            thread.join(0.1)
            return hand_over(work, loop)

        monkeypatch.setattr("asyncio.run_coroutine_threadsafe", after_the_end_of_the_block)
        assert emulator.call(lambda _: "answered") == "answered"
    assert emulator_threads() == []


def test_an_end_that_took_too_long_leaves_nothing_behind_for_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    waits = HasToWait()
    emulator = EmulatorThread(waits)
    monkeypatch.setattr("socialapi.emulator.thread.END_SECONDS", 0.01)
    with pytest.raises(TimeoutError, match=r"the emulator did not shut down within 0\.01 s"), emulator:
        pass
    with pytest.raises(ConfigurationError, match="already running"):
        emulator.__enter__()
    monkeypatch.undo()
    (thread,) = (each for each in threading.enumerate() if each.name == "socialapi-emulator")
    waits.may_end.set()
    thread.join(30)
    with emulator:
        assert emulator.requests == ()
    assert emulator_threads() == []


def test_webhook_targets_are_read_and_changed_on_its_thread(running: EmulatorThread) -> None:
    url, target = "https://hooks.example.com/in", "http://127.0.0.1:9/in"
    targets = running.webhook_targets
    targets[url] = target
    assert (dict(targets), len(targets), targets[url]) == ({url: target}, 1, target)
    assert running.call(lambda emulator: dict(emulator.webhook_targets)) == {url: target}
    for _ in targets:  # of what there was when it began
        targets[f"{url}/2"] = target
    del targets[url]
    assert list(targets) == [f"{url}/2"]
    with pytest.raises(KeyError):
        targets[url]
    with pytest.raises(KeyError):
        del targets[url]


def test_a_port_that_is_taken_is_an_error_of_the_start(running: EmulatorThread) -> None:
    port = int(running.ready["base_url"].rpartition(":")[2])
    with pytest.raises(ConfigurationError, match=f"cannot listen on 127.0.0.1 port {port}"):
        EmulatorThread(Emulator(port=port)).__enter__()
    assert emulator_threads() == ["socialapi-emulator"], "only that of the one that has the port"


def test_an_exception_in_the_block_is_raised_and_the_emulator_ends() -> None:
    with pytest.raises(KeyboardInterrupt), EmulatorThread():
        raise KeyboardInterrupt
    assert emulator_threads() == []


def test_an_interrupt_during_the_start_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(future: object, seconds: float, late: str) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("socialapi.emulator.thread._result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EmulatorThread().__enter__()
    assert emulator_threads() == []


def test_a_wait_has_a_ceiling(running: EmulatorThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialapi.emulator.thread.CALL_SECONDS", 0.01)
    release = threading.Event()
    with pytest.raises(TimeoutError, match=r"the emulator did not respond within 0\.01 s"):
        running.call(lambda _: release.wait(30))
    release.set()


class FailsToEnd(Emulator):
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, traceback)
        raise OSError("planted")


def test_a_failure_at_the_end_is_raised() -> None:
    with pytest.raises(OSError, match="planted"), EmulatorThread(FailsToEnd()):
        pass
    assert emulator_threads() == []
