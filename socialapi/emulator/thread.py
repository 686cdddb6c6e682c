"""`EmulatorThread`: runs the service on a separate thread, for code without an event loop."""

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine, Iterator, MutableMapping
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, Never, ParamSpec, Self, TypeVar, overload

from socialapi.emulator.faults import Fault, FaultKind
from socialapi.emulator.server import Emulator
from socialapi.errors import ConfigurationError

P = ParamSpec("P")
T = TypeVar("T")

START_SECONDS: Final = 30.0
END_SECONDS: Final = 30.0
CALL_SECONDS: Final = 120.0
"""The maximum time of a call. A `settle` may take a minute."""


class _Read(property, Generic[T]):
    """A property of `Emulator` that is read on the emulator's thread."""

    def __init__(self, read: Callable[[Emulator], T]) -> None:
        super().__init__(lambda thread: thread.call(read))

    def __set_name__(self, owner: type, name: str) -> None:
        self.__doc__ = getattr(Emulator, name).__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None, /) -> T: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return super().__get__(instance, owner)

    def __set__(self, instance: object, value: Never, /) -> None:
        super().__set__(instance, value)


def _called(method: Callable[Concatenate[Emulator, P], T]) -> "Callable[Concatenate[EmulatorThread, P], T]":
    """Returns a method that calls the `Emulator` method of the same name on the emulator's thread."""

    @functools.wraps(method)
    def called(self: "EmulatorThread", /, *arguments: P.args, **options: P.kwargs) -> T:
        return self.call(lambda emulator: method(emulator, *arguments, **options))

    return called


class EmulatorThread:
    """An `Emulator` on a separate thread with an event loop. It runs inside a `with` block.

        with EmulatorThread() as emulator:
            environment = os.environ | emulator.environment
            subprocess.run([sys.executable, "upload.py"], env=environment, check=True)
            assert emulator.ledger()["requests"]

    It has the properties and methods of `Emulator`, but all methods are synchronous and can be called from any thread.
    So synchronous code can use it, and so can coroutines in any event loop. `EmulatorThread(Emulator(…))` runs an
    emulator with other settings. Calls raise ConfigurationError if the emulator is not running, if it ends before it
    responds, or if they are made inside a function passed to `call`. They raise TimeoutError if the emulator does not
    respond within two minutes.
    """

    def __init__(self, emulator: Emulator | None = None) -> None:
        self._emulator = Emulator() if emulator is None else emulator
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop while calls are accepted: from the start until the shutdown begins."""
        self._submitting = threading.Lock()
        self._started: Future[None] = Future()
        self._stop: Future[None] = Future()
        self._ended: Future[None] = Future()

    def __repr__(self) -> str:
        return f"<EmulatorThread of {self._emulator!r}>"

    def __enter__(self) -> Self:
        if self._thread is not None and self._thread.is_alive():
            raise ConfigurationError("this emulator is already running")
        self._started, self._stop, self._ended = Future(), Future(), Future()
        # A daemon thread, so that a process that was interrupted twice can still end.
        self._thread = threading.Thread(target=self._run, name="socialapi-emulator", daemon=True)
        self._thread.start()
        try:
            _result(self._started, START_SECONDS, "the emulator did not start")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        if not self._stop.done():
            self._stop.set_result(None)
        _result(self._ended, END_SECONDS, "the emulator did not shut down")
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # noqa: BLE001 - raised where the thread is started or ended
            if self._started.done():
                self._ended.set_exception(problem)
                return
            self._started.set_exception(problem)
        self._ended.set_result(None)

    async def _serve(self) -> None:
        async with self._emulator:
            self._loop = asyncio.get_running_loop()
            self._started.set_result(None)
            try:
                await asyncio.wrap_future(self._stop)
            finally:
                # The loop starts everything that was submitted before this point, and so cancels it when it ends.
                with self._submitting:
                    self._loop = None

    # Calling it ------------------------------------------------------------------------------------------------------

    def call(self, function: Callable[[Emulator], T]) -> T:
        """Calls the function with the `Emulator` on its thread, and returns the result. Use it for attributes that this
        class lacks, such as `Emulator.state`.
        """

        async def called() -> T:
            return function(self._emulator)

        return self._wait(called())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            future = self._submit(work)
        except BaseException:
            work.close()
            raise
        try:
            return _result(future, CALL_SECONDS, "the emulator did not respond")
        except CancelledError:
            raise ConfigurationError("the emulator ended before it responded") from None
        finally:
            future.cancel()

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Submits a coroutine to the loop and returns its future, which is cancelled if the loop ends first. Raises
        ConfigurationError if no loop accepts calls, or if the call would deadlock.
        """
        if threading.current_thread() is self._thread:
            raise ConfigurationError(
                "a call from the emulator's own thread would deadlock: "
                "use the `Emulator` that `call` passes to its function"
            )
        with self._submitting:
            return asyncio.run_coroutine_threadsafe(work, self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise ConfigurationError("the emulator is not running: use `with EmulatorThread() as …`")
        return self._loop

    ready = _Read(lambda emulator: emulator.ready)
    environment = _Read(lambda emulator: emulator.environment)
    config = _Read(lambda emulator: emulator.config)
    credentials = _Read(lambda emulator: emulator.credentials)
    seed = _Read(lambda emulator: emulator.seed)
    requests = _Read(lambda emulator: tuple(emulator.requests))

    ledger = _called(Emulator.ledger)
    members = _called(Emulator.members)
    do_not_reach_members = _called(Emulator.do_not_reach_members)
    products = _called(Emulator.products)
    advance = _called(Emulator.advance)
    end_streams = _called(Emulator.end_streams)
    reset = _called(Emulator.reset)

    @property
    def faults(self) -> "ThreadFaults":
        """The scripted faults: `faults.add("status", status=503, times=2)`, `faults.clear()`."""
        return ThreadFaults(self)

    @property
    def advanced_seconds(self) -> float:
        """The number of seconds by which the clock was moved forward."""
        # A number can be read from any thread, and a `FollowingClock` reads it often.
        self._running_loop()
        return self._emulator.advanced_seconds

    def settle(self) -> None:
        """Waits until everything that is due by the emulator's clock is done, written to streams, and delivered to
        webhooks. Waits for at most a minute.

        If an event loop reads a stream or receives deliveries, its coroutines must not block in this method. Use `await
        asyncio.to_thread(emulator.settle)`.
        """
        self._wait(self._emulator.settle())

    def publish(self, things: Any) -> dict[str, Any]:
        """Publishes one or more activity events or posts, as `Emulator.publish` does. Returns when everything is queued
        for streams and webhooks. Raises InvalidInput.
        """
        return self._wait(self._emulator.publish(things))

    @property
    def webhook_targets(self) -> MutableMapping[str, str]:
        """The local addresses that actually receive the requests to webhook URLs, by webhook URL."""
        return _WebhookTargets(self)


class ThreadFaults:
    """The scripted faults of an `EmulatorThread`."""

    def __init__(self, emulator: EmulatorThread) -> None:
        self._emulator = emulator

    def add(self, fault: FaultKind | str, **options: Any) -> Fault:
        """Adds a fault with these options as its fields. Raises InvalidInput if the options cannot be combined."""
        return self._emulator.call(lambda emulator: emulator.faults.add(fault, **options))

    def clear(self) -> None:
        """Removes all faults; faults in progress continue to their end."""
        self._emulator.call(lambda emulator: emulator.faults.clear())


class _WebhookTargets(MutableMapping[str, str]):
    """The webhook targets of an `EmulatorThread`. They are read and changed on its thread."""

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
