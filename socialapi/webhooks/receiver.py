"""The endpoint that the owner of a webhook runs (platform documentation, sections 4.2, 5.5 and 6.1)."""

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
from socialapi.models.pages import Undecoded
from socialapi.webhooks.asgi import AsgiApp
from socialapi.webhooks.endpoint import (
    MOST_TINY_CHUNKS,
    TINY_CHUNK_BYTES,
    Bodies,
    Endpoint,
    ReceiverCounters,
    TinyChunksError,
    WebhookReply,
)
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.queue import MemoryStore, Store
from socialapi.webhooks.signatures import secrets_of
from socialapi.wire.events import checked_paths, read_delivery

MOST: Final = 10**12
MOST_SECONDS: Final = 86_400
"""The largest bounds of a receiver that make sense: larger ones are mistakes of a unit."""
_IN_MEMORY: Final = ":memory:"
"""A database of SQLite that is no file, so nothing of it survives."""

Delivery = ActivityEvent | MatchedPost | Undecoded
"""What a webhook receives; `content` is the body exactly as it was sent."""


logger: Final = logging.getLogger("socialapi")


class _WithoutWarning:
    """Keeps aiohttp from warning of a class that inherits from `web.Application`.

    The warning is there because attributes of such a class may collide with those of a later version.
    A receiver is meant to be an application, overrides nothing and declares its attributes in `ATTRS`.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """Does not call `web.Application.__init_subclass__`, which warns."""


class Receiver(_WithoutWarning, web.Application):
    """A webhook endpoint, and an async iterator of the events that it accepts.

        receiver = Receiver(consumer_secret)
        app.add_subapp("/hooks", receiver)
        async for event in receiver: ...

    It is an aiohttp application that any other can mount, or that runs alone. `asgi` is the same for FastAPI, Starlette
    and ASGI servers, `handle` for everything else. It answers at its mount point and everywhere below it: challenges,
    and events, each of them before it is processed.

    Events come out once for each id within the last `dedup_window`. The id of a post that matches rules is that of the
    post; that of an event is at `data.event_uuid`, `event_uuid`, `data.event_id`, `event_id` or `id`. `event_id_paths`
    are looked at instead of all of these. An event without an id always comes out, and a warning is logged once.

    A signed body that begins with `{` or `[` is always accepted; what this version cannot read comes as `Undecoded`.
    Anything else is refused, however it is signed: challenges and bodies are signed alike, so anybody can have a text
    signed by a challenge. No challenge is answered whose token begins so.

    `consumer_secret` is the app's API key secret, or several while it is rotated: the present one first, which answers
    challenges, then the others whose signatures are accepted. Refused signatures are logged as a warning, at most once a
    minute.

    At most `max_queue` events, and 64 MB of them, wait in memory. With `inbox`, the path of a file,
    they wait there instead, at most `max_waiting` of them: what was accepted is on the disk, and
    what is not finished when the program ends, in whatever way, comes out first when it runs again.
    The file is opened with the application, which raises ConfigurationError if it cannot be used.
    An application that is mounted by ASGI is not told of its start: there `async with receiver`
    opens the file, or else the first challenge or verified event does; if that fails it is logged,
    and a later request tries again. Without room, events are refused with 503 and can be sent
    again.

    An event is finished when the task that got it asks for the next one. For concurrent processing
    there are `unfinished` and `finish`. Several tasks may iterate, each event goes to one of them.

    Raises ConfigurationError, which names the argument and quotes no secret, for secrets, bounds
    and an `inbox` that make no sense, and InvalidInput for `event_id_paths` that are none.
    """

    ATTRS = web.Application.ATTRS | {
        "counters",
        "_store",
        "_paths",
        "_bodies",
        "_endpoint",
        "_asgi",
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
    ) -> None:
        super().__init__()
        _check_whole_numbers(
            max_body_bytes=max_body_bytes, max_queue=max_queue, max_waiting=max_waiting, dedup_window=dedup_window
        )
        _check_seconds("body_timeout_seconds", body_timeout_seconds)
        self.counters: ReceiverCounters = ReceiverCounters()
        secrets = _checked(secrets_of(consumer_secret))
        self._paths = checked_paths(event_id_paths)
        self._bodies = Bodies(max_bytes=max_body_bytes, timeout_seconds=body_timeout_seconds)
        self._store: Store = (
            MemoryStore(max_queue=max_queue, dedup_window=dedup_window)
            if inbox is None
            else Inbox(_checked_path(inbox), dedup_window=dedup_window, max_waiting=max_waiting)
        )
        self._endpoint = Endpoint(secrets, self._store, self._bodies, self.counters, event_id_paths=self._paths)
        self._is_stopped = False
        self._asgi = AsgiApp(self._endpoint, self)
        # The number of every event handed out and not finished, for as long as anybody has the event.
        self._numbers: dict[int, tuple[weakref.ref[Delivery], int]] = {}
        self._previous: weakref.WeakKeyDictionary[asyncio.Task[object], Delivery] = weakref.WeakKeyDictionary()
        for path in ("", "/{tail:.*}"):  # the mount point itself, and everything below it
            self.router.add_route("*", path, self._respond)
        self.on_startup.append(_open)
        self.on_cleanup.append(_close)

    async def __aenter__(self) -> Self:
        await self._store.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    def __anext__(self) -> Awaitable[Delivery]:
        # Which task asks is seen here: what `asyncio.wait_for` awaits, it may await in another one.
        return self._next(asyncio.current_task())

    @property
    def waiting(self) -> int:
        """How many accepted events are not finished: those to be handed out, and those that were."""
        return self._store.waiting

    @property
    def asgi(self) -> Any:
        """The same endpoint as an ASGI 3 application, to be run alone, mounted or routed to, for example with
        `app.add_route("/hooks", receiver.asgi, methods=["GET", "POST"])`.
        """
        # Any, since routers declare that they take views, and not the applications that they take as well.
        return self._asgi

    async def handle(
        self, method: str, query: Mapping[str, Any] | str, headers: Mapping[str, Any], body: bytes
    ) -> WebhookReply:
        """What a request is answered with, for a framework of any kind; an event is kept when this returns.

        `query` is the query as it was sent, or its parameters by name. Header names may be in any case, and a value may
        be a list of several. `body` are the bytes as they were sent: nothing that was decoded and encoded again has the
        signature. The framework has read them already, so it is the one that has to bound them.

        Raises InvalidInput for a body that is no bytes and headers that are no mapping, and RuntimeError in another event
        loop than the one in which the receiver was opened or is iterated over: a framework without asyncio calls it by
        `asyncio.run_coroutine_threadsafe`, and not by `asyncio.run`.
        """
        return await self._endpoint.handle(method, query, headers, body)

    @asynccontextmanager
    async def handled_by(
        self, handle: Callable[["Receiver"], Coroutine[Any, Any, object]]
    ) -> AsyncIterator["Receiver"]:
        """Opens the receiver, and runs `handle(receiver)` in a task for as long as the block lasts.

            async with receiver.handled_by(events.run):  # in the lifespan of a FastAPI or Starlette application
                yield

        `handle` is `Dispatcher.run`, or an async function of one's own that iterates over the receiver. At
        the end of the block it is cancelled, and the receiver closed.

        Nobody would handle events any more if `handle` raised, or returned before `stop`, and the server
        would go on all the same. So that is logged as an error, and this process gets a SIGTERM, by which
        uvicorn and other servers shut down. Events are accepted until then; with an inbox, they come out at
        the next start. Raises ConfigurationError when the inbox cannot be used, and at the end of the block
        what `handle` raised.
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
        """Nobody handles events any more."""
        problem = None if handling.cancelled() else handling.exception()
        if problem is None and self._is_stopped:
            return
        logger.error("nobody handles events any more, so this process is told to end", exc_info=problem)
        signal.raise_signal(signal.SIGTERM)

    def unfinished(self) -> AsyncIterator[Delivery]:
        """The same events, of which none is finished but by `finish`."""
        return _Unfinished(self)

    async def finish(self, event: Delivery) -> None:
        """The event, which was handed out here, need not be handed out again after a restart.

        Its body is erased from the inbox soon after; a crash before that hands it out once more. Finishing an event
        again changes nothing.
        """
        self._finish(event)

    def stop(self) -> None:
        """Accepts no more events and ends the iteration; what was handed out can still be finished.

        Without an inbox, the events that wait are handed out first; with one, they are after the next start.
        """
        self._is_stopped = True
        self._store.stop()

    async def aclose(self) -> None:
        """Stops, stores what is on its way and closes the inbox. The application does this at its end. Idempotent.

        What is not finished by now comes out again after the next start, if there is an inbox.
        """
        self._is_stopped = True
        await self._store.aclose()

    async def _next(self, task: "asyncio.Task[object] | None") -> Delivery:
        if task is not None and (previous := self._previous.pop(task, None)) is not None:
            self._finish(previous)
        event = await self._take()
        if task is not None:
            self._previous[task] = event
        return event

    async def _take(self) -> Delivery:
        """The next event; raises StopAsyncIteration after the end."""
        waiting = await self._store.take()
        # Nothing is awaited from here on, so that a cancelled caller cannot lose what was taken.
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
        async with aclosing(_chunks(request)) as chunks:
            answer = await self._endpoint.respond(request.method, request.query, request.headers, chunks)
        reply = answer.reply
        response = web.Response(status=reply.status, headers=reply.headers, body=reply.body)
        if answer.leaves_body:
            response.force_close()  # the rest of the body is not waited for
        if answer.leaves_body and answer.cuts:
            # Otherwise aiohttp would read on for a while: by chunks of a byte, or into a broken encoding.
            with suppress(ConnectionError):
                await response.prepare(request)
                await response.write_eof()
            request.protocol.force_close()
        return response


class _Unfinished:
    """Events one after another. Not a generator, which a cancelled `anext` would end."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery:
        return await self._receiver._take()  # noqa: SLF001 - the other half of the same class


async def _open(app: web.Application) -> None:
    assert isinstance(app, Receiver)
    await app.__aenter__()


async def _close(app: web.Application) -> None:
    assert isinstance(app, Receiver)
    await app.aclose()


async def _chunks(request: web.Request) -> AsyncGenerator[bytes, None]:
    """The body as it arrives. Raises ConnectionError when the client has left, and TinyChunksError."""
    try:
        if "Transfer-Encoding" not in request.headers:
            async for part in request.content.iter_any():
                yield part
        else:
            count = size = 0
            async for part, ends_chunk in request.content.iter_chunks():
                count += ends_chunk
                size += len(part)
                if count > MOST_TINY_CHUNKS and size < count * TINY_CHUNK_BYTES:
                    raise TinyChunksError
                yield part
    except web.RequestPayloadError:
        pass
    except RuntimeError:
        if request.transport is not None:
            raise
        # What aiohttp raises where the client had left before the first part was asked for.
    else:
        return
    raise ConnectionResetError


def _check_whole_numbers(**bounds: Any) -> None:
    for name, value in bounds.items():
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be a whole number, not {type(value).__name__}")
        if not 0 < value <= MOST:
            raise ConfigurationError(f"{name} must be greater than zero and at most {MOST:,}")


def _check_seconds(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigurationError(f"{name} must be a number of seconds, not {type(value).__name__}")
    if not 0 < value <= MOST_SECONDS:  # which NaN is not either
        raise ConfigurationError(f"{name} must be greater than zero and at most {MOST_SECONDS:,} seconds")


def _checked_path(inbox: Any) -> Path:
    """The path of a file. Raises ConfigurationError for anything else; whether it can be written is seen later."""
    if not isinstance(inbox, str | os.PathLike):
        raise ConfigurationError(f"inbox must be the path of a file, not {type(inbox).__name__}")
    if not is_file_path(inbox) or not isinstance(os.fspath(inbox), str) or os.fspath(inbox) == _IN_MEMORY:
        raise ConfigurationError("inbox must be the path of a file, and this is none")
    return Path(inbox)


def _checked(secrets: Sequence[str]) -> tuple[str, ...]:
    """The secrets, none of which was read with the end of its line."""
    for secret in secrets:
        if any(letter.isspace() or not letter.isprintable() for letter in secret):
            raise ConfigurationError(
                "consumer_secret: the consumer secret holds a blank, line break or control character, which none has"
            )
    return tuple(secrets)


def read_event(body: bytes) -> Delivery:
    """The event in the body of a delivery. Raises nothing: what cannot be read is `Undecoded`, with the reason.

    The signature is not looked at: `verify_signature` does that.
    """
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    if isinstance(body, bytes | bytearray | memoryview):
        return read_delivery(bytes(body))
    return Undecoded(body, reason="is no body of a request")
