"""The endpoint that the owner of a webhook runs (platform documentation, sections 4.2, 5.5 and 6.1)."""

import asyncio
import hashlib
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Sequence
from types import TracebackType
from typing import Final, Self

import attrs
import orjson
from aiohttp import web

from socialapi.errors import ConfigurationError
from socialapi.models.events import ActivityEvent, MatchedPost, Undecoded
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.signatures import SIGNATURE_HEADER, crc_response, secrets_of, verify_signature
from socialapi.webhooks.waiting import MemoryStore, Outcome, Store
from socialapi.wire.events import EVENT_ID_PATHS, identity_of, read_delivery

Delivery = ActivityEvent | MatchedPost | Undecoded
"""What a webhook receives; `content` is the body exactly as it was sent."""

RETRY_AFTER_SECONDS: Final = 5
_IDENTITY_BYTES: Final = 16
_CLIENT_LEFT: Final = (ConnectionError, web.RequestPayloadError)


@attrs.define(kw_only=True)
class ReceiverCounters:
    """What a receiver has done since it was made.

    Of the requests it answered: `challenges`, events `accepted`, `duplicates` of them, and those refused for their
    signature, for their body (too large, too slow or broken off) and because there was no room. Of the accepted
    events, including those of an earlier run: `handed_out` and `finished`.
    """

    accepted: int = 0
    duplicates: int = 0
    refused_signature: int = 0
    refused_body: int = 0
    refused_full: int = 0
    challenges: int = 0
    handed_out: int = 0
    finished: int = 0


class _WithoutWarning:
    """aiohttp warns of every class made of `web.Application`, as its attributes may collide with those of a later
    version. Being an application is what a receiver is for, and it overrides nothing, so the warning is not passed on.
    """

    def __init_subclass__(cls, **options: object) -> None:
        """Ends the way up to the warning."""


class Receiver(_WithoutWarning, web.Application):
    """A webhook endpoint, and an async iterator of the events that it accepts.

        receiver = Receiver(consumer_secret)
        app.add_subapp("/hooks", receiver)
        async for event in receiver: ...

    It is an aiohttp application that any other can mount, or that runs alone, and answers at its mount point and
    everywhere below it: challenges, and events, each of them before it is processed. Events come out once for each
    identity within the last `dedup_window`; one that has no id at any of `event_id_paths` always does. What cannot be
    decoded comes as `Undecoded`; of what is no JSON object nobody can tell for sure that the service sent it, since
    challenges and bodies are signed alike and anybody can send a challenge.

    `consumer_secret` is the app's API key secret, or several while it is rotated: the present one first, which answers
    challenges, then the others whose signatures are accepted.

    At most `max_queue` events wait in memory. With `inbox`, the path of a file, they wait there instead, at most
    `max_waiting` of them: what was accepted is on the disk, and what is not finished when the program ends, in
    whatever way, comes out first when it runs again. The file is opened with the application, which raises
    ConfigurationError if it cannot be used. Without room, events are refused with 503 and can be sent again.

    An event is finished when the task that got it asks for the next one. For concurrent processing there are
    `unfinished` and `finish`. Several tasks may iterate, each event goes to one of them.

    Raises ConfigurationError for secrets and bounds that make no sense.
    """

    ATTRS = web.Application.ATTRS | {
        "counters",
        "_secrets",
        "_store",
        "_paths",
        "_max_body_bytes",
        "_body_timeout_seconds",
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
        event_id_paths: Sequence[str] = EVENT_ID_PATHS,
        body_timeout_seconds: float = 30.0,
    ) -> None:
        super().__init__()
        _check_bounds(
            max_body_bytes=max_body_bytes,
            max_queue=max_queue,
            max_waiting=max_waiting,
            dedup_window=dedup_window,
            body_timeout_seconds=body_timeout_seconds,
        )
        self.counters = ReceiverCounters()
        self._secrets = _checked(secrets_of(consumer_secret))
        self._paths = tuple(event_id_paths)
        self._max_body_bytes = max_body_bytes
        self._body_timeout_seconds = body_timeout_seconds
        self._store: Store = (
            MemoryStore(max_queue=max_queue, dedup_window=dedup_window)
            if inbox is None
            else Inbox(inbox, dedup_window=dedup_window, max_waiting=max_waiting)
        )
        # The number of every event handed out and not finished, for as long as anybody has the event.
        self._numbers: dict[int, tuple[weakref.ref[Delivery], int]] = {}
        self._previous: weakref.WeakKeyDictionary[asyncio.Task[object], Delivery] = weakref.WeakKeyDictionary()
        for path in ("", "/{tail:.*}"):  # the mount point itself, and everything below it
            self.router.add_get(path, self._answer_challenge, allow_head=False)
            self.router.add_post(path, self._accept)
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
        self._store.stop()

    async def aclose(self) -> None:
        """Stops, stores what is on its way and closes the inbox. The application does this at its end. Idempotent.

        What is not finished by now comes out again after the next start, if there is an inbox.
        """
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
        event = read_delivery(waiting.content)
        key = id(event)
        self._numbers[key] = (weakref.ref(event, lambda _: self._numbers.pop(key, None)), waiting.number)
        self.counters.handed_out += 1
        return event

    def _finish(self, event: Delivery) -> None:
        reference, number = self._numbers.pop(id(event), (None, 0))
        if reference is not None and self._store.finish(number):
            self.counters.finished += 1

    async def _answer_challenge(self, request: web.Request) -> web.Response:
        token = request.query.get("crc_token", "")
        # A challenge is answered with what would be the signature of its token as a body, and anybody can send one. So
        # nothing is answered that would be an event if it were sent back.
        if not token or token.lstrip().startswith("{"):
            return _refusal(400, "crc_token is missing" if not token else "crc_token is not a challenge")
        self.counters.challenges += 1
        return web.json_response(crc_response(token, self._secrets[0]))

    async def _accept(self, request: web.Request) -> web.Response:
        body = await self._read(request)
        if isinstance(body, web.Response):
            self.counters.refused_body += 1
            return body
        headers = request.headers.getall(SIGNATURE_HEADER, [])
        if not verify_signature(body, headers[0] if len(headers) == 1 else None, self._secrets):
            self.counters.refused_signature += 1
            return _refusal(401, f"{SIGNATURE_HEADER} is not the signature of this body")
        return self._answer(await self._store.add(_identity(body, self._paths), body))

    def _answer(self, outcome: Outcome) -> web.Response:
        if outcome == "full":
            self.counters.refused_full += 1
            return _refusal(503, "there is no room for this event now", **{"Retry-After": str(RETRY_AFTER_SECONDS)})
        if outcome == "new":
            self.counters.accepted += 1
        else:
            self.counters.duplicates += 1
        return web.Response()

    async def _read(self, request: web.Request) -> bytes | web.Response:
        """The body, or the refusal of one that is too large, too slow or broken off."""
        limit = self._max_body_bytes
        chunks: list[bytes] = []
        size = request.content_length or 0
        try:
            async with asyncio.timeout(self._body_timeout_seconds):
                if size <= limit:
                    size = 0
                    async for chunk in request.content.iter_any():
                        chunks.append(chunk)
                        size += len(chunk)
                        if size > limit:
                            break
        except TimeoutError:
            return _closing(_refusal(408, "the body did not arrive in time"))
        except _CLIENT_LEFT:
            return _closing(_refusal(400, "the body broke off"))
        if size > limit:
            return _closing(_refusal(413, f"the body is larger than {limit:,} bytes"))
        return b"".join(chunks)


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


def _identity(body: bytes, paths: Sequence[str]) -> bytes | None:
    """What tells the event from others, as a digest: as long for every event, and nothing can be read from it."""
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    identity = identity_of(decoded, paths) if isinstance(decoded, dict) else None
    return None if identity is None else hashlib.blake2b(identity.encode(), digest_size=_IDENTITY_BYTES).digest()


def _refusal(status: int, sentence: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=sentence, headers=headers)


def _closing(response: web.Response) -> web.Response:
    """The rest of the body is not waited for."""
    response.force_close()
    return response


def _check_bounds(**bounds: float) -> None:
    for name, value in bounds.items():
        if value <= 0:
            raise ConfigurationError(f"{name} must be greater than zero, not {value!r}")


def _checked(secrets: Sequence[str]) -> tuple[str, ...]:
    """The secrets, none of which was read with the end of its line."""
    for secret in secrets:
        if not secret:
            raise ConfigurationError("the consumer secret is empty: it is the app's API key secret")
        if any(letter.isspace() or not letter.isprintable() for letter in secret):
            raise ConfigurationError(
                "the consumer secret holds a blank, line break or control character, which no secret has"
            )
    return tuple(secrets)
