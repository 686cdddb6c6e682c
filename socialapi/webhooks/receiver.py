"""The endpoint that the owner of a webhook runs (platform documentation, sections 4.2, 5.5 and 6.1)."""

import asyncio
import hashlib
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import attrs
import orjson
from aiohttp import web

from socialapi.errors import ConfigurationError
from socialapi.models.events import ActivityEvent, MatchedPost
from socialapi.models.pages import Undecoded
from socialapi.webhooks.bodies import Bodies, Unread
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.refusals import Refusals
from socialapi.webhooks.signatures import SIGNATURE_HEADER, crc_response, secrets_of, verify_signature
from socialapi.webhooks.waiting import MemoryStore, Outcome, Store
from socialapi.wire.events import NO_OBJECT, identity_of, read_delivery

Delivery = ActivityEvent | MatchedPost | Undecoded
"""What a webhook receives; `content` is the body exactly as it was sent."""

RETRY_AFTER_SECONDS: Final = 5
_IDENTITY_BYTES: Final = 16


@attrs.define(kw_only=True)
class ReceiverCounters:
    """What a receiver has done since it was made.

    Of the requests it answered: `challenges`, events `accepted`, `duplicates` of them, and those refused for their
    signature, for their body (too large, too slow, broken off or no JSON object) and because there was no room. Of the accepted
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
    identity within the last `dedup_window`; one that has no id always does. The id of a post that matches rules is that
    of the post, that of an event is at `event_id`, `data.event_id` or `id`; `event_id_paths` are looked at instead of
    all of these. An object that this version cannot read comes as `Undecoded`. What is no JSON object is refused,
    however it is signed: challenges and bodies are signed alike, so that anybody can have it signed by a challenge.

    `consumer_secret` is the app's API key secret, or several while it is rotated: the present one first, which answers
    challenges, then the others whose signatures are accepted. Refused signatures are logged as a warning, at most once a
    minute.

    At most `max_queue` events, and 64 MB of them, wait in memory. With `inbox`, the path of a file, they wait there instead, at most
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
        "_bodies",
        "_numbers",
        "_previous",
        "_refusals",
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
        event_id_paths: Sequence[str] | None = None,
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
        self._refusals = Refusals()
        self._secrets = _checked(secrets_of(consumer_secret))
        self._paths = None if event_id_paths is None else tuple(event_id_paths)
        self._bodies = Bodies(max_bytes=max_body_bytes, timeout_seconds=body_timeout_seconds)
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

    @property
    def waiting(self) -> int:
        """How many accepted events are not finished: those to be handed out, and those that were."""
        return self._store.waiting

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
        body = await self._bodies.read(request)
        if isinstance(body, Unread):
            response = self._refused_full() if body.status == 503 else self._refused_body(body.status, body.reason)
            response.force_close()  # the rest of the body is not waited for
            return response
        headers = request.headers.getall(SIGNATURE_HEADER, [])
        if not verify_signature(body, headers[0] if len(headers) == 1 else None, self._secrets):
            self.counters.refused_signature += 1
            self._refusals.count()
            return _refusal(401, f"{SIGNATURE_HEADER} is not the signature of this body")
        decoded = _object(body)
        if decoded is None:
            return self._refused_body(400, f"the body {NO_OBJECT}")
        return self._answer(await self._store.add(_identity(decoded, self._paths), body))

    def _answer(self, outcome: Outcome) -> web.Response:
        if outcome == "full":
            return self._refused_full()
        if outcome == "new":
            self.counters.accepted += 1
        else:
            self.counters.duplicates += 1
        return web.Response()

    def _refused_full(self) -> web.Response:
        self.counters.refused_full += 1
        return _refusal(503, "there is no room for this event now", **{"Retry-After": str(RETRY_AFTER_SECONDS)})

    def _refused_body(self, status: int, sentence: str) -> web.Response:
        self.counters.refused_body += 1
        return _refusal(status, sentence)


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


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return decoded if isinstance(decoded, dict) else None


def _identity(decoded: Mapping[str, Any], paths: Sequence[str] | None) -> bytes | None:
    """What tells the event from others, as a digest: as long for every event, and nothing can be read from it."""
    identity = identity_of(decoded, paths)
    return None if identity is None else hashlib.blake2b(identity.encode(), digest_size=_IDENTITY_BYTES).digest()


def _refusal(status: int, sentence: str, **headers: str) -> web.Response:
    return web.Response(status=status, text=sentence, headers=headers)


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
