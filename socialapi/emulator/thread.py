"""`EmulatorThread`: runs the service on a thread of its own, for code without an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, MutableMapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from socialapi.config import Config
from socialapi.credentials import Credentials
from socialapi.emulator.faults import Fault, FaultKind
from socialapi.emulator.ledger import RequestRecord
from socialapi.emulator.platform.fan_out import SHUTDOWN
from socialapi.emulator.server import Emulator
from socialapi.errors import ConfigurationError

T = TypeVar("T")

START_SECONDS: Final = 30.0
END_SECONDS: Final = 30.0
CALL_SECONDS: Final = 120.0
"""The maximum time of a call; `settle` alone may take a minute."""


class EmulatorThread:
    """An `Emulator` on a thread and an event loop of its own, running while the `with` block does.

        with EmulatorThread() as emulator:
            environment = os.environ | emulator.environment
            subprocess.run([sys.executable, "upload.py"], env=environment, check=True)
            assert emulator.ledger()["requests"]

    It has the members of `Emulator`, as synchronous methods that any thread may call, so that
    synchronous code can use it, and coroutines of any event loop. `EmulatorThread(Emulator(…))`
    runs an emulator with other settings. Calls raise ConfigurationError while it does not run, and
    TimeoutError if it does not answer within two minutes.
    """

    def __init__(self, emulator: Emulator | None = None) -> None:
        self._emulator = Emulator() if emulator is None else emulator
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop: Future[None] = Future()
        self._ended: Future[None] = Future()

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise ConfigurationError("this emulator is running already")
        started: Future[None] = Future()
        self._stop, self._ended = Future(), Future()
        # A daemon, so that a process that was interrupted twice can still end.
        self._thread = threading.Thread(target=self._run, args=(started,), name="socialapi-emulator", daemon=True)
        self._thread.start()
        try:
            _result(started, START_SECONDS, "the emulator did not start")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stop.set_result(None)
        _result(self._ended, END_SECONDS, "the emulator did not end")
        thread.join()

    def _run(self, started: Future[None]) -> None:
        try:
            asyncio.run(self._serve(started))
        except BaseException as problem:  # noqa: BLE001 - raised where the thread is started or ended
            if started.done():
                self._ended.set_exception(problem)
                return
            started.set_exception(problem)
        self._ended.set_result(None)

    async def _serve(self, started: Future[None]) -> None:
        async with self._emulator:
            self._loop = asyncio.get_running_loop()
            started.set_result(None)
            try:
                await asyncio.wrap_future(self._stop)
            finally:
                self._loop = None

    # Calling it ------------------------------------------------------------------------------------------------------

    def call(self, function: Callable[[Emulator], T]) -> T:
        """Calls the function with the `Emulator`, on its thread, and returns the result. It is for
        what this class does not have, such as `Emulator.state`.
        """

        async def called() -> T:
            return function(self._emulator)

        return self._wait(called())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        loop = self._loop
        if loop is None:
            work.close()
            raise ConfigurationError("the emulator is not running: use `with EmulatorThread() as …`")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return _result(future, CALL_SECONDS, "the emulator did not answer")
        finally:
            future.cancel()

    @property
    def ready(self) -> dict[str, str]:
        """The addresses and credentials, all of them valid, as in the line that
        `socialapi emulator` prints.
        """
        return self.call(lambda emulator: emulator.ready)

    @property
    def environment(self) -> dict[str, str]:
        """The `SOCIALAPI_*` variables with which `Client.from_env` is a client of this emulator."""
        return self.call(lambda emulator: emulator.environment)

    @property
    def config(self) -> Config:
        """The configuration of a client of this emulator."""
        return self.call(lambda emulator: emulator.config)

    @property
    def credentials(self) -> Sequence[Credentials]:
        """The credentials of the first app, and of the first user by it."""
        return self.call(lambda emulator: emulator.credentials)

    @property
    def seed(self) -> Mapping[str, Sequence[str]]:
        """The ids of the seed data by kind; account-scoped ones are those of the first account."""
        return self.call(lambda emulator: emulator.seed)

    @property
    def faults(self) -> "ThreadFaults":
        """The scripted faults: `faults.add("status", status=503, times=2)`, `faults.clear()`."""
        return ThreadFaults(self)

    @property
    def requests(self) -> Sequence[RequestRecord]:
        """Every request to the service since the start or the last reset, the oldest first."""
        return self.call(lambda emulator: tuple(emulator.requests))

    def ledger(self) -> dict[str, Any]:
        """Returns what the service holds and the requests it received, as
        `GET /_emulator/ledger` answers.
        """
        return self.call(lambda emulator: emulator.ledger())

    def members(self, account_id: str, audience_id: str) -> set[tuple[str, str]]:
        """Returns the (kind, value) identifiers of a custom audience in force. Raises KeyError if
        there is no such audience.
        """
        return self.call(lambda emulator: emulator.members(account_id, audience_id))

    def do_not_reach_members(self, account_id: str, list_id: str) -> set[tuple[str, str]]:
        """Returns the (kind, value) identifiers of a do-not-reach list in force. Raises KeyError if
        there is no such list.
        """
        return self.call(lambda emulator: emulator.do_not_reach_members(account_id, list_id))

    def products(self, catalog_id: str) -> dict[str, dict[str, Any]]:
        """Returns all fields of the products of a catalog, by id. Raises KeyError if there is
        no such catalog.
        """
        return self.call(lambda emulator: emulator.products(catalog_id))

    @property
    def advanced_seconds(self) -> float:
        """The seconds by which the clock was moved forward."""
        return self._emulator.advanced_seconds

    def advance(self, seconds: float) -> None:
        """Moves the emulator's clock forward, as `Emulator.advance` does."""
        self.call(lambda emulator: emulator.advance(seconds))

    def settle(self) -> None:
        """Waits until everything that is due by the emulator's clock is done, written to streams,
        and delivered; for a minute at most.

        A coroutine whose own event loop receives any of that must not wait here:
        `await asyncio.to_thread(emulator.settle)`.
        """
        self._wait(self._emulator.settle())

    def publish(self, things: Any) -> dict[str, Any]:
        """Publishes an activity event, a post or many of them, as `Emulator.publish` does. Returns
        when all of it is in the queues of streams and webhooks. Raises InvalidInput.
        """
        return self._wait(self._emulator.publish(things))

    def end_streams(self, disconnect_type: str = SHUTDOWN, *, abruptly: bool = False) -> int:
        """Ends every open stream, with a problem of this type or in the middle of the answer.
        Returns how many there were.
        """
        return self.call(lambda emulator: emulator.end_streams(disconnect_type, abruptly=abruptly))

    @property
    def webhook_targets(self) -> MutableMapping[str, str]:
        """The local address to which requests to a webhook's URL are really sent, by that URL."""
        return self._emulator.webhook_targets

    def reset(self) -> None:
        """Restores the seed data; also clears faults, log, the advance of the clock, and webhook
        targets but for those that were given at the start.
        """
        self.call(lambda emulator: emulator.reset())


class ThreadFaults:
    """The scripted faults of an `EmulatorThread`."""

    def __init__(self, emulator: EmulatorThread) -> None:
        self._emulator = emulator

    def add(self, fault: FaultKind | str, **options: Any) -> Fault:
        """Adds a fault, whose fields are the options. Raises InvalidInput if they do
        not go together.
        """
        return self._emulator.call(lambda emulator: emulator.faults.add(fault, **options))

    def clear(self) -> None:
        """Removes all faults; those that are being played run their course."""
        self._emulator.call(lambda emulator: emulator.faults.clear())


def _result(future: "Future[T]", seconds: float, late: str) -> T:
    """Returns the result of the future. Raises TimeoutError with the message `late` if there is none
    after `seconds`.
    """
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"{late} within {seconds:g} s") from None
