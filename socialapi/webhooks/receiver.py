"""The `Receiver`: a webhook endpoint for events."""

import asyncio
import logging
import os
import signal
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web

from socialapi.config import is_file_path
from socialapi.errors import ConfigurationError
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.undecoded import Undecoded
from socialapi.webhooks.asgi import AsgiApp
from socialapi.webhooks.dead_letters import DeadLetters
from socialapi.webhooks.endpoint import Bodies, Endpoint, ReceiverCounters, Store, WebhookReply, WebhookTelemetry
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.queue import MemoryStore
from socialapi.webhooks.signatures import secrets_of
from socialapi.wire.events import checked_paths, read_delivery

MOST: Final = 10**12
MAX_SECONDS: Final = 86_400
"""The largest accepted limits of a receiver. Larger values are probably in the wrong unit."""
_IN_MEMORY: Final = ":memory:"
"""A SQLite database without a file, which would lose all events."""

Delivery = ActivityEvent | MatchedPost | Undecoded
"""An item of a webhook delivery. `content` is the body exactly as sent."""


logger: Final = logging.getLogger("socialapi")


class _WithoutWarning:
    """Suppresses aiohttp's warning about subclasses of `web.Application`.

    aiohttp warns because a subclass's attributes may collide with attributes in a later version. A receiver must be an
    application. It overrides nothing and declares its attributes in `ATTRS`.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """Skips `web.Application.__init_subclass__`, which issues the warning."""


class Receiver(_WithoutWarning, web.Application):
    """A webhook endpoint, and an async iterator over the events it accepts.

        receiver = Receiver(consumer_secret)
        app.add_subapp("/hooks", receiver)
        async for event in receiver: ...

    It is an aiohttp application, to be mounted in another application or run alone. For FastAPI, Starlette and ASGI
    servers, use `asgi`; for any other framework, use `handle`. It answers challenges and events at its mount point and
    below, and accepts events before they are processed.

    If several of the last `dedup_window` events have the same id, only the first is returned. The id of a matched post
    is the post's id; the id of an event is at `data.event_uuid`, `event_uuid`, `data.event_id`, `event_id` or `id`.
    `event_id_paths` replaces all of these. Events without an id are always returned, and a warning is logged once.

    A signed body that begins with `{` or `[` is always accepted; undecodable events become `Undecoded`. Any other body
    is rejected, even if it is signed: challenges are signed like bodies, so anyone can obtain the signature of a string
    by sending it as a challenge. For the same reason, challenges whose token begins with `{` or `[` are rejected.

    `consumer_secret` is the app's API key secret, or several during a rotation: first the current secret, which answers
    challenges, then others whose signatures are accepted. Rejected signatures are logged as a warning, at most once a
    minute.

    At most `max_queue` events, and at most 64 MB, wait in memory. With `inbox`, the path of a file, at most
    `max_waiting` events wait there instead. Accepted events are then on disk. Even after a crash, unfinished events are
    delivered first when the program runs again. The file is opened with the application, which raises
    ConfigurationError if the file cannot be used. A mounted ASGI application gets no startup event. There, `async with
    receiver` opens the file, or the first challenge or verified event does; failures are then logged, and a later
    request retries. If there is no room, events are rejected with 503 and can be sent again.

    With an inbox, an event is put aside if it was delivered `max_attempts` times and never finished, because its
    handler failed or the process was killed: see `dead_letters`. If a process is killed, the event that it was handling
    is delivered again after all other events, and alone.

    A GET of `health_path` returns 200 while events are accepted and 503 otherwise; None disables it.

    An event is finished when the task that took it requests the next one. For concurrent processing, use `unfinished`
    and `finish`. Several tasks may iterate; each event goes to one task.

    `telemetry` records the requests by result: pass `socialapi.integrations.telemetry.DeliveryTelemetry()`.

    Raises ConfigurationError, which names the argument and quotes no secret, for invalid secrets,
    limits, `inbox` and `telemetry`, and InvalidInput for invalid `event_id_paths`.
    """

    ATTRS = web.Application.ATTRS | {
        "counters",
        "_store",
        "_paths",
        "_bodies",
        "_endpoint",
        "_asgi",
        "_inbox",
        "_is_stopped",
        "_numbers",
        "_previous",
    }

    def __init__(
        self,
        consumer_secret: str | Sequence[str],
        *,
        inbox: str | os.PathLike[str] | None = None,
        max_body_bytes: int = 1_000_000,
        max_queue: int = 1_000,
        max_waiting: int = 1_000_000,
        dedup_window: int = 100_000,
        event_id_paths: str | Sequence[str] | None = None,
        body_timeout_seconds: float = 30.0,
        max_attempts: int = 5,
        health_path: str | None = "/healthz",
        telemetry: WebhookTelemetry | None = None,
    ) -> None:
        super().__init__()
        _check_whole_numbers(max_body_bytes=max_body_bytes, max_queue=max_queue, max_waiting=max_waiting)
        _check_whole_numbers(dedup_window=dedup_window, max_attempts=max_attempts)
        _check_health_path(health_path)
        _check_seconds("body_timeout_seconds", body_timeout_seconds)
        self.counters: ReceiverCounters = ReceiverCounters()
        secrets = _checked(secrets_of(consumer_secret))
        self._paths = checked_paths(event_id_paths)
        self._bodies = Bodies(max_bytes=max_body_bytes, timeout_seconds=body_timeout_seconds)
        self._store: Store = (
            MemoryStore(max_queue=max_queue, dedup_window=dedup_window)
            if inbox is None
            else Inbox(
                _checked_path(inbox), dedup_window=dedup_window, max_waiting=max_waiting, max_attempts=max_attempts
            )
        )
        self._endpoint = Endpoint(
            secrets,
            self._store,
            self._bodies,
            self.counters,
            event_id_paths=self._paths,
            health_path=health_path,
            telemetry=_checked_telemetry(telemetry),
        )
        self._inbox = inbox
        self._is_stopped = False
        self._asgi = AsgiApp(self._endpoint, self)
        # Maps each delivered and unfinished event to its number, while the event is referenced.
        self._numbers: dict[int, tuple[weakref.ref[Delivery], int]] = {}
        self._previous: weakref.WeakKeyDictionary[asyncio.Task[object], Delivery] = weakref.WeakKeyDictionary()
        for path in ("", "/{tail:.*}"):  # the mount point and every path below it
            self.router.add_route("*", path, self._respond)
        self.on_startup.append(_open)
        self.on_cleanup.append(_close)

    def __repr__(self) -> str:
        where = "in memory" if self._inbox is None else f"in {os.fspath(self._inbox)!r}"
        return f"<Receiver, {self.waiting:,} event{'' if self.waiting == 1 else 's'} waiting {where}>"

    async def __aenter__(self) -> Self:
        await self._store.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_stopped = True
        await self._store.aclose(failing=asyncio.current_task() if isinstance(error, Exception) else None)

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Delivery]:
        # Determined here, because `asyncio.wait_for` may await the result in a different task.
        return self._next(asyncio.current_task())

    @property
    def waiting(self) -> int:
        """The number of accepted events that are not finished, including delivered ones."""
        return self._store.waiting

    @property
    def asgi(self) -> Any:
        """The endpoint as an ASGI 3 application, to run alone, mount or route to.

        For example: `app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])`.
        """
        # Any, because the type hints of routers allow only views, although routers accept applications.
        return self._asgi

    async def handle(
        self, method: str, query: Mapping[str, Any] | str, headers: Mapping[str, Any], body: bytes
    ) -> WebhookReply:
        """Returns the reply to a request, for any framework. An event has been stored when this returns.

        `query` is the query string as sent, or its parameters by name. Header names may be in any case, and a value may
        be a list of values. `body` must be the bytes as sent: data that was decoded and encoded again does not match
        the signature. The framework has already read the body, so the framework must limit its size.

        Raises InvalidInput for a body that is not bytes and headers that are not a mapping. Raises
        RuntimeError in an event loop other than the one in which the receiver was opened or is
        iterated over: a framework without asyncio must use `asyncio.run_coroutine_threadsafe`, not
        `asyncio.run`.
        """
        return await self._endpoint.handle(method, query, headers, body)

    @asynccontextmanager
    async def handled_by(
        self, handle: Callable[["Receiver"], Coroutine[Any, Any, object]]
    ) -> AsyncIterator["Receiver"]:
        """Opens the receiver, and runs `handle(receiver)` in a task while the block runs.

            async with receiver.handled_by(events.run):  # in the lifespan of a FastAPI or Starlette application
                yield

        `handle` is `Dispatcher.run`, or an async function that iterates over the receiver. At the end of the block, the
        task is cancelled and the receiver is closed.

        If `handle` raises, or returns before `stop`, nothing handles events while the server keeps running. So the
        receiver logs an error and sends this process a SIGTERM, which makes uvicorn and other servers shut down. Until
        then, it accepts events; with an inbox, they are delivered after the next start. Raises ConfigurationError if
        the inbox cannot be used, and the error of `handle` at the end of the block.
        """
        async with self:
            handling = asyncio.create_task(handle(self), name="socialapi-webhook-handling")
            handling.add_done_callback(self._end_server)
            try:
                yield self
            finally:
                handling.remove_done_callback(self._end_server)
                handling.cancel()
                await asyncio.wait({handling})
            if not handling.cancelled():
                handling.result()

    def _end_server(self, handling: "asyncio.Task[object]") -> None:
        """Makes the server shut down after the handling of events has ended unexpectedly."""
        if handling.cancelled() and handling.cancelling():
            return  # cancelled together with all tasks of the event loop, which is ending
        problem = None if handling.cancelled() else handling.exception()
        if problem is None and self._is_stopped:
            return
        how = (
            ""
            if problem
            else ": `handled_by` takes a function that iterates over the receiver, as `Dispatcher.run` does"
        )
        logger.error("the event handler has ended, so this process is shutting down%s", how, exc_info=problem)
        signal.raise_signal(signal.SIGTERM)

    def unfinished(self) -> AsyncIterator[Delivery]:
        """Returns an iterator over the same events, which are finished only by `finish`."""
        return _Unfinished(self)

    async def finish(self, event: Delivery) -> None:
        """Marks an event of this receiver as finished, so that it is not delivered again after a restart.

        Its body is erased from the inbox soon after; if the process crashes before that, the event is delivered again.
        Finishing an event twice has no effect.
        """
        self._finish(event)

    def failed(self, event: Delivery) -> None:
        """Marks an event of this receiver as failed by its handler.

        With an inbox, this counts as an attempt, even if the program then shuts down normally. The event is delivered
        again after the next start, or put aside after `max_attempts`. Without this call, a delivery counts as an
        attempt if the task that took the event raises, or if the process is killed.
        """
        _, number = self._numbers.get(id(event), (None, 0))
        self._store.fail(number)

    def dead_letters(self) -> DeadLetters:
        """Returns the events that any process with this inbox has put aside after `max_attempts`. Await the result for
        a list, or iterate over it.

        They stay in the inbox until `socialapi webhooks inbox retry` or `drop`. Reading them raises
        RuntimeError while the inbox is not open.
        """
        return self._store.dead_letters()

    def stop(self) -> None:
        """Stops accepting events and ends the iteration.

        Delivered events can still be finished. Without an inbox, waiting events are delivered first. With an inbox,
        they are delivered after the next start.
        """
        self._is_stopped = True
        self._store.stop()

    async def aclose(self) -> None:
        """Stops, stores pending events and closes the inbox. Safe to call twice.

        An aiohttp application calls this when it shuts down. With an inbox, unfinished events are delivered again after
        the next start.
        """
        self._is_stopped = True
        await self._store.aclose()

    async def _next(self, task: "asyncio.Task[object] | None") -> Delivery:
        if task is not None and (previous := self._previous.pop(task, None)) is not None:
            self._finish(previous)
        event = await self._take(task)
        if task is not None:
            self._previous[task] = event
        return event

    async def _take(self, task: "asyncio.Task[object] | None") -> Delivery:
        """Returns the next event. Raises StopAsyncIteration after the end."""
        waiting = await self._store.take(task)
        # No await from here on, so that cancelling cannot lose the event.
        if waiting is None:
            raise StopAsyncIteration
        event = read_delivery(waiting.content, self._paths)
        key = id(event)
        self._numbers[key] = (weakref.ref(event, lambda _: self._numbers.pop(key, None)), waiting.number)
        self.counters.handed_out += 1
        return event

    def _finish(self, event: Delivery) -> None:
        reference, number = self._numbers.pop(id(event), (None, 0))
        if reference is not None and self._store.finish(number):
            self.counters.finished += 1

    async def _respond(self, request: web.Request) -> web.Response:
        health = self._endpoint.health(request.method, request.path, request.query)
        if health is not None:
            return web.Response(status=health.status, headers=health.headers, body=health.body)
        async with aclosing(_chunks(request)) as chunks:
            answer = await self._endpoint.respond(request.method, request.query, request.headers, chunks)
        reply = answer.reply
        response = web.Response(status=reply.status, headers=reply.headers, body=reply.body)
        if answer.leaves_body:
            response.force_close()  # does not wait for the rest of the body
        if answer.leaves_body and answer.cuts:
            # Otherwise aiohttp would continue to read tiny chunks, or a broken encoding, for a while.
            with suppress(ConnectionError):
                await response.prepare(request)
                await response.write_eof()
            request.protocol.force_close()
        return response


class _Unfinished:
    """An iterator over events. It is not a generator, because cancelling `anext` would end a generator."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Delivery]:
        return self._receiver._take(asyncio.current_task())  # noqa: SLF001 - the other half of the same class


async def _open(app: web.Application) -> None:
    assert isinstance(app, Receiver)
    await app.__aenter__()


async def _close(app: web.Application) -> None:
    assert isinstance(app, Receiver)
    await app.aclose()


async def _chunks(request: web.Request) -> AsyncGenerator[bytes, None]:
    """Yields the body as it arrives, chunk by chunk if it is chunked. Raises ConnectionError if the client disconnects."""
    try:
        if "Transfer-Encoding" not in request.headers:
            async for part in request.content.iter_any():
                yield part
        else:
            async for part, _ in request.content.iter_chunks():
                yield part
    except web.RequestPayloadError:
        pass
    except RuntimeError:
        if request.transport is not None:
            raise
        # aiohttp raises this if the client disconnected before the first part was read.
    else:
        return
    raise ConnectionResetError


def _check_whole_numbers(**bounds: Any) -> None:
    for name, value in bounds.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be a whole number, not {type(value).__name__}")
        if not 0 < value <= MOST:
            raise ConfigurationError(f"{name} must be greater than zero and at most {MOST:,}")


def _check_health_path(path: Any) -> None:
    if path is not None and not (isinstance(path, str) and path.startswith("/") and len(path) > 1):
        raise ConfigurationError("health_path must be a path that begins with /, such as /healthz, or None")


def _check_seconds(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigurationError(f"{name} must be a number of seconds, not {type(value).__name__}")
    if not 0 < value <= MAX_SECONDS:  # also excludes NaN
        raise ConfigurationError(f"{name} must be greater than zero and at most {MAX_SECONDS:,} seconds")


def _checked_telemetry(telemetry: Any) -> WebhookTelemetry | None:
    if telemetry is None or all(callable(getattr(telemetry, each, None)) for each in ("delivery", "delivered")):
        found: WebhookTelemetry | None = telemetry
        return found
    raise ConfigurationError(f"telemetry must be a DeliveryTelemetry(), not {type(telemetry).__name__}")


def _checked_path(inbox: Any) -> Path:
    """Returns the path of a file. Raises ConfigurationError for anything else.

    Whether the file can be written is checked when it is opened.
    """
    if not isinstance(inbox, str | os.PathLike):
        raise ConfigurationError(f"inbox must be the path of a file, not {type(inbox).__name__}")
    if not is_file_path(inbox) or not isinstance(os.fspath(inbox), str) or os.fspath(inbox) == _IN_MEMORY:
        raise ConfigurationError("inbox must be a valid file path")
    return Path(inbox)


def _checked(secrets: Sequence[str]) -> tuple[str, ...]:
    """Returns the secrets. Raises ConfigurationError for one with whitespace, such as a line ending."""
    for secret in secrets:
        if any(letter.isspace() or not letter.isprintable() for letter in secret):
            raise ConfigurationError(
                "consumer_secret: the consumer secret contains a space, line break or control character, which secrets never do"
            )
    return tuple(secrets)


def read_event(body: bytes) -> Delivery:
    """Returns the event in the body of a delivery. Never raises: an undecodable body becomes `Undecoded`, with the
    reason.

    Does not check the signature; use `verify_signature` for that.
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if isinstance(body, bytes | bytearray | memoryview):
        return read_delivery(bytes(body))
    return Undecoded(body, reason="is not the body of a webhook request")
