"""`EmulatorThread`: runs the service on a thread of its own, for code without an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import CancelledError, Future
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
_NOT_RUNNING: Final = "the emulator is not running: use `with EmulatorThread() as …`"


class EmulatorThread:
    """An `Emulator` on a thread and an event loop of its own, running while the `with` block does.

        with EmulatorThread() as emulator:
            environment = os.environ | emulator.environment
            subprocess.run([sys.executable, "upload.py"], env=environment, check=True)
            assert emulator.ledger()["requests"]

    It has the members of `Emulator`, as synchronous methods that any thread may call, so that
    synchronous code can use it, and coroutines of any event loop. `EmulatorThread(Emulator(…))`
    runs an emulator with other settings. Calls raise ConfigurationError while it does not run, if
    it ends before it answers, and from a function that `call` calls; they raise TimeoutError if it
    does not answer within two minutes.
    """

    def __init__(self, emulator: Emulator | None = None) -> None:
        self._emulator = Emulator() if emulator is None else emulator
        self._run: _Run | None = None

    def __enter__(self) -> Self:
        if self._run is not None and self._run.thread.is_alive():
            raise ConfigurationError("this emulator is running already")
        self._run = run = _Run(self._emulator)
        run.thread.start()
        try:
            _result(run.started, START_SECONDS, "the emulator did not start")
        except BaseException:
            run.end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._run is not None
        self._run.end()

    # Calling it ------------------------------------------------------------------------------------------------------

    def call(self, function: Callable[[Emulator], T]) -> T:
        """Calls the function with the `Emulator`, on its thread, and returns the result. It is for
        what this class does not have, such as `Emulator.state`.
        """

        async def called() -> T:
            return function(self._emulator)

        return self._wait(called())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            future = self._running().submit(work)
        except BaseException:
            work.close()
            raise
        try:
            return _result(future, CALL_SECONDS, "the emulator did not answer")
        except CancelledError:
            raise ConfigurationError("the emulator ended before it answered") from None
        finally:
            future.cancel()

    def _running(self) -> "_Run":
        """Returns the run under way. Raises ConfigurationError if there is none."""
        if self._run is None or not self._run.is_open:
            raise ConfigurationError(_NOT_RUNNING)
        return self._run

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
        # A number can be read from any thread, and a `FollowingClock` asks for it often.
        self._running()
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
        return _WebhookTargets(self)

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


class _WebhookTargets(MutableMapping[str, str]):
    """The webhook targets of an `EmulatorThread`, which are read and changed on its thread."""

    def __init__(self, emulator: EmulatorThread) -> None:
        self._emulator = emulator

    def __getitem__(self, url: str) -> str:
        return self._emulator.call(lambda emulator: emulator.webhook_targets[url])

    def __setitem__(self, url: str, target: str) -> None:
        self._emulator.call(lambda emulator: emulator.webhook_targets.update({url: target}))

    def __delitem__(self, url: str) -> None:
        self._emulator.call(lambda emulator: emulator.webhook_targets.pop(url))

    def __iter__(self) -> Iterator[str]:
        return iter(self._emulator.call(lambda emulator: tuple(emulator.webhook_targets)))

    def __len__(self) -> int:
        return self._emulator.call(lambda emulator: len(emulator.webhook_targets))


class _Run:
    """One run of an emulator, on a thread that ends with it."""

    def __init__(self, emulator: Emulator) -> None:
        self.started: Future[None] = Future()
        # A daemon, so that a process that was interrupted twice can still end.
        self.thread: threading.Thread = threading.Thread(target=self._run, name="socialapi-emulator", daemon=True)
        self._emulator = emulator
        self._stop: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._submitting = threading.Lock()

    @property
    def is_open(self) -> bool:
        """Whether it takes calls: from the start of the emulator until it begins to end."""
        return self._loop is not None

    def end(self) -> None:
        """Ends the emulator and waits for its thread. Raises what went wrong there, and TimeoutError."""
        if not self._stop.done():
            self._stop.set_result(None)
        _result(self._ended, END_SECONDS, "the emulator did not end")
        self.thread.join()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Returns the future of the work, which is cancelled if the loop ends first. Raises
        ConfigurationError if the loop has ended, or would have to wait for itself.
        """
        if threading.current_thread() is self.thread:
            raise ConfigurationError(
                "a call from the emulator's own thread would wait for itself: "
                "use the `Emulator` that the function of `call` is given"
            )
        with self._submitting:
            if self._loop is None:
                raise ConfigurationError(_NOT_RUNNING)
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # noqa: BLE001 - raised where the thread is started or ended
            if self.started.done():
                self._ended.set_exception(problem)
                return
            self.started.set_exception(problem)
        self._ended.set_result(None)

    async def _serve(self) -> None:
        async with self._emulator:
            self._loop = asyncio.get_running_loop()
            self.started.set_result(None)
            try:
                await asyncio.wrap_future(self._stop)
            finally:
                # Work that was submitted before this is begun by the loop, and so cancelled by its end.
                with self._submitting:
                    self._loop = None


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
