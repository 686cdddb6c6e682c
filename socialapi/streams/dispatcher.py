"""Dispatches events to handlers by type, with bounded concurrency."""

import asyncio
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

import attrs

from socialapi.errors import ConfigurationError, InvalidInput
from socialapi.internal.records import Exported
from socialapi.models.events import (
    ActivityEvent,
    EventType,
    canonical_event_type,
    refuse_misspelled_event_pattern,
    refuse_misspelled_event_type,
)
from socialapi.models.validation import printable_name
from socialapi.streams.handlers import call_handler, check_handler

E = TypeVar("E")

EventKind = EventType | str | type
Handler = Callable[[Any], Awaitable[object] | object]
HandlerT = TypeVar("HandlerT", bound=Handler)
OnError = Callable[[Any, Exception], Awaitable[object] | object]

logger: Final = logging.getLogger("socialapi")


@runtime_checkable
class Unfinished(Protocol[E]):
    """A source that is notified when an event has been handled, such as a receiver with an inbox."""

    def unfinished(self) -> AsyncIterator[E]:
        """Returns an iterator over the events. Requesting the next event does not finish the previous one."""

    async def finish(self, event: E) -> None:
        """Marks the event as handled, so that it is not delivered again."""


@runtime_checkable
class TakesFailures(Protocol):
    """A source that counts how many times the handling of an event has failed."""

    def failed(self, event: Any) -> None:
        """Marks the event as failed by its handler."""


@attrs.define
class DispatchCounters(Exported):
    """The counts of a dispatcher: events `handled` by all their handlers, `failed` and `unhandled`."""

    handled: int = 0
    failed: int = 0
    unhandled: int = 0


class Dispatcher:
    """Runs handlers for events, at most `max_concurrency` events at once.

        events = Dispatcher()

        @events.on("post.create", "post.delete")
        async def posts(event): ...

        await events.run(stream)

    A handler is a function or an async function. Plain functions run on the event loop and must not
    block it. Events handled concurrently may finish out of order. An exception in a handler is passed to `on_error`
    with its event, or logged, and the dispatcher continues. A cancellation raised within a handler is treated the same
    way, as RuntimeError. If the source has `finish`, an event is finished when all its handlers have returned, and
    stays unfinished if one raised. An event without a handler is counted and finished; a warning is logged for the
    first one.

    Raises InvalidInput for arguments of the wrong type, and for a `max_concurrency` below 1.
    """

    def __init__(self, *, max_concurrency: int = 16, on_error: OnError | None = None) -> None:
        given: object = max_concurrency
        if not isinstance(given, int) or isinstance(given, bool):
            raise InvalidInput(f"max_concurrency must be a whole number, not {type(max_concurrency).__name__}")
        if max_concurrency < 1:
            raise InvalidInput("max_concurrency must be at least 1")
        if on_error is not None:
            check_handler("on_error", on_error)
        self._max_concurrency = max_concurrency
        self._on_error = on_error
        self._handlers: list[tuple[EventKind, Handler]] = []
        self._has_warned = False
        self.counters: DispatchCounters = DispatchCounters()

    def __repr__(self) -> str:
        kinds = dict.fromkeys(kind if isinstance(kind, str) else kind.__name__ for kind, _ in self._handlers)
        return f"<Dispatcher of {', '.join(kinds) or 'no events'}>"

    def on(self, *kinds: EventKind | Iterable[EventKind]) -> Callable[[HandlerT], HandlerT]:
        """Returns a decorator that registers a function for kinds of events, one by one or as lists.

        A kind is an event type (deprecated names and aliases match the current name), a prefix of types
        (`profile.update.*`), a class such as `MatchedPost` or `Undecoded`, or `*` for all items. Raises InvalidInput
        for a missing or invalid kind, and for a misspelled event type. Other unknown names are accepted, because they
        may be new types.
        """
        known = [canonical_event_type(kind) if isinstance(kind, str) else kind for kind in _checked_kinds(kinds)]
        if not known:
            raise InvalidInput("name the events to handle, or * for all of them")

        def register(handler: HandlerT) -> HandlerT:
            check_handler("a handler", handler)
            self._handlers += [(kind, handler) for kind in known]
            return handler

        return register

    async def run(self, source: AsyncIterable[Any]) -> None:
        """Handles events until the source ends. If cancelled, cancels running handlers and waits for them.

        An event is taken from the source only when a handler can start. Raises ConfigurationError if no handler is
        registered, InvalidInput for a source that is not an async iterable, and the errors of the source. An error
        while finishing an event ends the run without waiting for the next event. Errors are raised after the running
        handlers have ended.
        """
        self._check_run(source)
        finishing = source if isinstance(source, Unfinished) else None
        events = source if finishing is None else finishing.unfinished()
        free = asyncio.Semaphore(self._max_concurrency)
        running: set[asyncio.Task[None]] = set()
        own = asyncio.current_task()
        assert own is not None
        broken: list[BaseException] = []

        def begin(event: Any) -> None:
            task = asyncio.create_task(self._handle(event, finishing, own))
            running.add(task)
            task.add_done_callback(ended)

        def ended(task: asyncio.Task[None]) -> None:
            running.discard(task)
            free.release()
            if not task.cancelled() and (problem := task.exception()) is not None:
                broken.append(problem)
                pulling.cancel()

        # A separate task, so that an error is noticed while the source is waiting.
        pulling = asyncio.create_task(_pull(aiter(events), free, begin))
        try:
            await asyncio.wait([pulling])
            await _all(running)
        except asyncio.CancelledError:
            for task in (pulling, *running):
                task.cancel()
            raise
        finally:
            await _all({pulling, *running})
        if broken:
            raise broken[0]
        pulling.result()

    def _check_run(self, source: object) -> None:
        if not self._handlers:
            raise ConfigurationError(
                "the dispatcher has no handlers, and would drop every event: register them with @events.on(…) before run"
            )
        if not isinstance(source, AsyncIterable | Unfinished):
            kind = type(source).__name__
            raise InvalidInput(f"source must be a stream, a receiver or another async iterable, not {kind}")

    async def _handle(self, event: Any, finishing: "Unfinished[Any] | None", run: "asyncio.Task[Any]") -> None:
        handlers = {_identity(handler): handler for kind, handler in self._handlers if _matches(kind, event)}
        failed = False
        for handler in handlers.values():
            try:
                await call_handler(handler, event)
            except asyncio.CancelledError as cancellation:
                current = asyncio.current_task()
                if run.cancelling() and current is not None and current.cancelling():
                    raise
                failed = True
                problem = RuntimeError("the handler was cancelled from within")
                problem.__cause__ = cancellation
                await self._report(event, problem)
            except Exception as problem:  # noqa: BLE001  # one event must not end the others
                failed = True
                await self._report(event, problem)
        if failed:
            self.counters.failed += 1
            if isinstance(finishing, TakesFailures):
                finishing.failed(event)
            return
        if handlers:
            self.counters.handled += 1
        else:
            self.counters.unhandled += 1
            if not self._has_warned:
                self._has_warned = True
                says = "no handler is registered for %s; such events are counted as unhandled"
                logger.warning(says, printable_name(_name_of(event)))
        if finishing is not None:
            await finishing.finish(event)

    async def _report(self, event: Any, problem: Exception) -> None:
        if self._on_error is None:
            _log("a handler of", event, problem)
            return
        try:
            await call_handler(self._on_error, event, problem)
        except Exception as another:  # noqa: BLE001  # as above
            _log("on_error for", event, another)


def _checked_kinds(given: Iterable[Any]) -> Iterator[Any]:
    """Yields the kinds one by one. Raises InvalidInput for invalid kinds and misspelled names."""
    for kind in given:
        if isinstance(kind, type):
            yield kind
        elif isinstance(kind, str):
            (refuse_misspelled_event_pattern if "*" in kind else refuse_misspelled_event_type)(kind)
            yield kind
        elif isinstance(kind, Iterable) and not isinstance(kind, bytes | Mapping):
            yield from _checked_kinds(kind)
        elif callable(kind):
            raise InvalidInput("name the events to handle in parentheses, as in @events.on('*') for all of them")
        else:
            raise InvalidInput(f"the events to handle must be strings or classes, not {type(kind).__name__}")


def _identity(handler: Any) -> Any:
    """Returns a key that identifies a handler: bound methods are new objects on every access, and
    handlers may be unhashable.
    """
    return (id(handler.__self__), handler.__func__) if inspect.ismethod(handler) else id(handler)


def _name_of(event: Any) -> str:
    """Returns the event's type, or the name of its class."""
    return str(getattr(event, "event_type", None) or type(event).__name__)


def _log(who: str, event: Any, problem: Exception) -> None:
    logger.error("%s %s (%s) failed", who, _name_of(event), getattr(event, "event_id", None), exc_info=problem)


async def _pull(events: AsyncIterator[Any], free: asyncio.Semaphore, begin: Callable[[Any], None]) -> None:
    """Takes events from the source, each only when its handling can start."""
    await free.acquire()
    async for event in events:
        begin(event)
        await free.acquire()


async def _all(tasks: set[asyncio.Task[None]]) -> None:
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


def _matches(kind: str | type, event: Any) -> bool:
    if isinstance(kind, type):
        return isinstance(event, kind)
    if kind == "*":
        return True
    name = event.event_type if isinstance(event, ActivityEvent) else None
    return name is not None and (name == kind or (kind.endswith(".*") and name.startswith(kind[:-1])))
