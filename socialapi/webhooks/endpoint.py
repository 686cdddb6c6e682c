"""Answers webhook requests, independently of the server."""

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, TypeVar
from urllib.parse import parse_qs

import attrs
import orjson

from socialapi.errors import InvalidInput
from socialapi.internal.fairness import yield_if_due
from socialapi.internal.records import Exported
from socialapi.models.undecoded import Undecoded
from socialapi.webhooks.inbox import Inbox
from socialapi.webhooks.queue import MemoryStore
from socialapi.webhooks.signatures import SIGNATURE_HEADER, Signature, begins_as_json, sign_body
from socialapi.wire.decode import decode_json
from socialapi.wire.events import NO_EVENT_ID, identity_of, read_delivery

MAX_READING_BYTES: Final = 64_000_000
"""The maximum total size of all unfinished bodies. A single body may be larger. When a body pushes the total over this
limit, the largest of the other bodies is dropped.
"""
MAX_TINY_CHUNKS: Final = 64
TINY_CHUNK_BYTES: Final = 64
"""A body is rejected if it arrives in more than `MAX_TINY_CHUNKS` chunks with fewer than `TINY_CHUNK_BYTES` bytes on
average, because a tiny chunk costs as much as a large one.
"""
SLICE_BYTES: Final = 131_072
"""How many bytes of a body are signed in one step, so that a large body does not block the event loop."""

Store = Inbox | MemoryStore
"""An ordered queue of events. In an event loop other than the first one, its async methods raise RuntimeError.
Cancelling `take` loses no event.
"""
Feed = Callable[[memoryview], None]
T = TypeVar("T")


@attrs.frozen
class BodyRefusal:
    """The response to a body that is not read completely: its status and the reason."""

    status: int
    reason: str


@attrs.define(eq=False)
class _Reading:
    """A body being read. Its bytes are dropped when the body is dropped."""

    limit: asyncio.Timeout
    content: bytearray = attrs.field(factory=bytearray)
    chunks: int = 0
    is_given_up: bool = False

    @property
    def size(self) -> int:
        """The number of bytes that have arrived, not the announced length."""
        return len(self.content)


class Bodies:
    """Reads bodies within limits of size, time and total memory.

    Starts to read every body. If memory runs short, the largest unfinished body is dropped, so senders who fill the
    memory lose their own bodies, and events of ordinary size are kept. The number of bodies is not limited here: each
    belongs to a connection, and the connection takes more memory than the first bytes of the body.
    """

    def __init__(self, *, max_bytes: int, timeout_seconds: float) -> None:
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._readings: dict[_Reading, None] = {}  # the oldest first
        self._bytes = 0  # the total of all bodies being read

    def too_large(self, size: int) -> BodyRefusal | None:
        """Returns the error for a body of this size; None if it is acceptable."""
        if size > self._max_bytes:
            return BodyRefusal(413, f"the body is larger than {self._max_bytes:,} bytes")
        return None

    async def read(self, chunks: AsyncIterator[bytes], feed: Feed) -> bytes | BodyRefusal:
        """Returns the body, or the reason why it was not read. `feed` is called with each part of the body as it
        arrives.

        The chunks raise ConnectionError if the client disconnects.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                reading = _Reading(limit)
                self._readings[reading] = None
                return await self._read(reading, chunks, feed)
        except TimeoutError:
            if reading.is_given_up:
                return BodyRefusal(503, "there is currently no room for this body")
            return BodyRefusal(408, "the body did not arrive in time")
        except ConnectionError:
            return BodyRefusal(400, "the body broke off")
        finally:
            self._forget(reading)

    async def feed_all(self, body: bytes, feed: Feed) -> None:
        """Passes received bytes to `feed` in slices, so that other tasks can run in between."""
        view = memoryview(body)
        for start in range(0, len(body), SLICE_BYTES):
            await yield_if_due()
            feed(view[start : start + SLICE_BYTES])

    async def _read(self, reading: _Reading, chunks: AsyncIterator[bytes], feed: Feed) -> bytes | BodyRefusal:
        async for chunk in chunks:
            if reading.is_given_up:
                break
            reading.content += chunk
            reading.chunks += bool(chunk)  # aiohttp adds an empty part to the end of some chunks
            self._bytes += len(chunk)
            if reading.chunks > MAX_TINY_CHUNKS and reading.size < reading.chunks * TINY_CHUNK_BYTES:
                return BodyRefusal(400, "the body arrives in too many chunks of a few bytes")
            if (refusal := self.too_large(reading.size)) is not None:
                return refusal
            while self._bytes > MAX_READING_BYTES and len(self._readings) > 1:
                others = (each for each in self._readings if each is not reading)
                self._give_up(max(others, key=lambda each: each.size))  # the oldest among bodies of equal size
            await self.feed_all(chunk, feed)
        if reading.is_given_up:
            raise TimeoutError
        return bytes(reading.content)

    def _give_up(self, reading: _Reading) -> None:
        reading.is_given_up = True
        self._forget(reading)
        if not reading.limit.expired():
            reading.limit.reschedule(asyncio.get_running_loop().time())

    def _forget(self, reading: _Reading) -> None:
        if reading in self._readings:
            del self._readings[reading]
            self._bytes -= reading.size
        reading.content = bytearray()


LOG_INTERVAL_SECONDS: Final = 60.0
"""The shortest time between two warnings about rejected deliveries."""

logger: Final = logging.getLogger("socialapi")


class Refusals:
    """Logs the first rejected signature immediately, and then the number of further ones at most once a minute."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._unsaid = 0
        self._said_at: float | None = None

    def count(self) -> None:
        """Counts a delivery that was rejected because of its signature."""
        self._unsaid += 1
        now = self._monotonic()
        if self._said_at is not None and now - self._said_at < LOG_INTERVAL_SECONDS:
            return
        what = "1 delivery" if self._unsaid == 1 else f"{self._unsaid:,} deliveries"
        unsaid, self._said_at, self._unsaid = self._unsaid, now, 0
        logger.warning(
            "refused %s: the signature does not match; is the app's secret correct?",
            what,
            extra={"socialapi_status": 401, "socialapi_refused": unsaid},
        )


Query = Mapping[str, Any] | str | None
"""The query of a request: a string, or a mapping of names to one or several values."""
Headers = Mapping[Any, Any] | Iterable[tuple[Any, Any]]
"""The headers of a request: a mapping of names to one or several values, or pairs."""

RETRY_AFTER_SECONDS: Final = 5
MAX_QUERY_CHARACTERS: Final = 16_384
"""The longest accepted query. Servers allow about 8,000 to 64,000 bytes."""
_METHODS: Final = "GET,POST"
_HEALTH_METHODS: Final = ("GET", "HEAD")
_IDENTITY_BYTES: Final = 16
_IDENTITY: Final = frozenset({"", "identity"})
"""The Content-Encoding values of a body that is not encoded."""


@attrs.frozen
class WebhookReply:
    """The reply to a request."""

    status: int
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""


@attrs.frozen
class Answer:
    """A reply, and whether the connection must close because part of the request's body is unread.

    With `cuts`, it must close immediately, because discarding the rest would take too long.
    """

    reply: WebhookReply
    leaves_body: bool = False
    cuts: bool = False


@attrs.define(kw_only=True)
class ReceiverCounters(Exported):
    """The counts of a receiver since it was created.

    It counts answered `challenges`, `accepted` events and `duplicates`, and requests rejected because of their
    signature, because of their body (too large, too slow, incomplete or not JSON), or because the queue is full.
    `handed_out` and `finished` count the events that were delivered and finished, including events that an earlier run
    accepted.
    """

    accepted: int = 0
    duplicates: int = 0
    refused_signature: int = 0
    refused_body: int = 0
    refused_full: int = 0
    challenges: int = 0
    handed_out: int = 0
    finished: int = 0


DeliveryResult = Literal["accepted", "duplicate", "challenge", "refused_signature", "refused_body", "refused_full"]
"""The result of a request to a receiver."""


class WebhookTelemetry(Protocol):
    """Records the results of a receiver's requests. `socialapi.integrations.telemetry.DeliveryTelemetry` implements
    this class.
    """

    async def delivery(self, answering: Awaitable[T]) -> T:
        """Awaits the response to a request, and returns it."""

    def delivered(self, result: str) -> None:
        """Records the result of the request, a `DeliveryResult`."""


_COUNTERS: Final[Mapping[DeliveryResult, str]] = {"challenge": "challenges", "duplicate": "duplicates"}
"""Maps results to the counters whose names differ from the results."""


class Endpoint:
    """Answers every request, and stores the events.

    A request with a malformed signature is rejected without reading its body. A request with a wrong signature is
    rejected as soon as its body has arrived. Only verified events wait for the store to open.
    """

    def __init__(
        self,
        secrets: Sequence[str],
        store: Store,
        bodies: Bodies,
        counters: ReceiverCounters,
        *,
        event_id_paths: Sequence[str] | None,
        health_path: str | None = None,
        telemetry: WebhookTelemetry | None = None,
    ) -> None:
        self._health_path = health_path
        self._telemetry = telemetry
        self._secrets = secrets
        self._store = store
        self._bodies = bodies
        self._counters = counters
        self._paths = event_id_paths
        self._refusals = Refusals()
        self._has_warned = False  # of an event without an id

    def health(self, method: str, path: str, query: Query) -> WebhookReply | None:
        """Returns the reply to a health check, which shows whether events are accepted. Returns None for any other
        request, such as a challenge at the same path.
        """
        is_check = self._health_path is not None and path.endswith(self._health_path)
        if not is_check or method.upper() not in _HEALTH_METHODS or _token(query):
            return None
        # Without this, a mounted receiver's inbox might never open, because no events are sent to a server that is not
        # healthy.
        self._store.start()
        if self._store.is_accepting:
            return WebhookReply(200, {"Content-Type": "text/plain; charset=utf-8"}, b"ok")
        return _refusal(503, "events are not currently accepted", **{"Retry-After": str(RETRY_AFTER_SECONDS)})

    def respond(
        self, method: str, query: Query, headers: Headers, chunks: AsyncIterator[bytes]
    ) -> Coroutine[Any, Any, Answer]:
        """Returns the response to a request whose body has not been read yet.

        The chunks raise ConnectionError if the client disconnects.
        """
        answering = self._respond(method, query, headers, chunks)
        return answering if self._telemetry is None else self._telemetry.delivery(answering)

    async def _respond(self, method: str, query: Query, headers: Headers, chunks: AsyncIterator[bytes]) -> Answer:
        head = _Head.of(headers)
        signature = self._judge_head(method, query, head)
        if isinstance(signature, WebhookReply):
            return Answer(signature, head.announces_body, cuts=not head.is_plain)
        body: bytes | BodyRefusal | None = self._bodies.too_large(head.content_length)
        if body is None:
            body = await self._bodies.read(chunks, signature.update)
        if isinstance(body, BodyRefusal):
            return Answer(self._refuse_unread(body), leaves_body=True, cuts=not head.is_plain)
        return Answer(await self._reply_to_event(signature, body))

    def handle(self, method: str, query: Query, headers: Headers, body: bytes) -> Coroutine[Any, Any, WebhookReply]:
        """Returns the reply to a request whose body has arrived."""
        answering = self._handle(method, query, headers, body)
        return answering if self._telemetry is None else self._telemetry.delivery(answering)

    async def _handle(self, method: str, query: Query, headers: Headers, body: bytes) -> WebhookReply:
        content = _bytes(body)
        signature = self._judge_head(method, query, _Head.of(headers))
        if isinstance(signature, WebhookReply):
            return signature
        if (refusal := self._bodies.too_large(len(content))) is not None:
            return self._refuse_unread(refusal)
        await self._bodies.feed_all(content, signature.update)
        return await self._reply_to_event(signature, content)

    def _judge_head(self, method: str, query: Query, head: "_Head") -> WebhookReply | Signature:
        """Returns the reply if the head determines it; otherwise the signature that the body must match."""
        kind = str(method).upper()
        if kind == "GET":
            return self._reply_to_challenge(query)
        if kind != "POST":
            return _refusal(405, "challenges are GET requests, and events are POST requests", Allow=_METHODS)
        signature = Signature(head.signature, self._secrets)
        if not signature.is_well_formed:
            return self._refuse_signature()
        if not head.is_encoded:
            return signature
        # The signature covers the bytes as sent, and servers decode them.
        self._count("refused_body")
        return _refusal(415, "the body must not have a Content-Encoding", **{"Accept-Encoding": "identity"})

    def _reply_to_challenge(self, query: Query) -> WebhookReply:
        if isinstance(query, str) and len(query) > MAX_QUERY_CHARACTERS:
            return _refusal(400, "the query is too long")
        token = _token(query).encode("utf-8", "surrogatepass")
        # The response to a challenge is the signature that a body equal to the token would have, and anyone can send a
        # challenge. So tokens that could be events are rejected.
        if not token or len(token) > MAX_QUERY_CHARACTERS or begins_as_json(token):
            return _refusal(400, "crc_token is not a challenge" if token else "crc_token is missing")
        self._store.start()
        self._count("challenge")
        content = orjson.dumps({"response_token": sign_body(token, self._secrets[0])})
        return WebhookReply(200, {"Content-Type": "application/json; charset=utf-8"}, content)

    async def _reply_to_event(self, signature: Signature, body: bytes) -> WebhookReply:
        if not signature.fits():
            return self._refuse_signature()
        if not begins_as_json(body):
            return self._refuse_unread(BodyRefusal(400, "the body is neither a JSON object nor an array"))
        self._store.start()
        outcome = await self._store.add(self._identity(body), body)
        if outcome == "full":
            return self._refuse_full("there is currently no room for this event")
        if outcome == "new":
            self._count("accepted")
        else:
            self._count("duplicate")
        return WebhookReply(200)

    def _count(self, result: DeliveryResult) -> None:
        """Counts a request by its result."""
        counter = _COUNTERS.get(result, result)
        setattr(self._counters, counter, getattr(self._counters, counter) + 1)
        if self._telemetry is not None:
            self._telemetry.delivered(result)

    def _identity(self, body: bytes) -> bytes | None:
        """Returns a digest of fixed length that identifies the event but does not reveal its id; None without an id."""
        try:
            identity = identity_of(decode_json(body), self._paths)
        except orjson.JSONDecodeError:
            identity = None
        if identity is None:
            if not self._has_warned and not isinstance(read_delivery(body), Undecoded):
                self._has_warned = True
                logger.warning("%s", NO_EVENT_ID)
            return None
        return hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=_IDENTITY_BYTES).digest()

    def _refuse_signature(self) -> WebhookReply:
        self._count("refused_signature")
        self._refusals.count()
        return _refusal(401, f"{SIGNATURE_HEADER} is not the signature of this body")

    def _refuse_unread(self, body: BodyRefusal) -> WebhookReply:
        if body.status == 503:
            return self._refuse_full(body.reason)
        self._count("refused_body")
        return _refusal(body.status, body.reason)

    def _refuse_full(self, sentence: str) -> WebhookReply:
        self._count("refused_full")
        return _refusal(503, sentence, **{"Retry-After": str(RETRY_AFTER_SECONDS)})


@attrs.frozen(kw_only=True)
class _Head:
    """The relevant headers. A request with several signatures counts as unsigned."""

    signature: str | None
    content_length: int
    announces_body: bool
    is_encoded: bool
    is_plain: bool
    """Whether the body, if there is one, has a known length and no encoding, so that it can be skipped."""

    @classmethod
    def of(cls, headers: Headers) -> "_Head":
        names = (SIGNATURE_HEADER, "content-length", "transfer-encoding", "content-encoding")
        found: dict[str, list[str]] = {name: [] for name in names}
        for name, value in _pairs(headers):
            values = found.get(_text(name).lower())
            if values is not None:
                values += [
                    _text(each).strip(" \t") for each in (value if isinstance(value, list | tuple) else (value,))
                ]
        signatures, lengths, transfers, encodings = found.values()
        length = int(lengths[0]) if lengths and lengths[0].isdecimal() and len(lengths[0]) < 20 else 0
        is_encoded = any(each.strip(" \t").lower() not in _IDENTITY for each in ",".join(encodings).split(","))
        return cls(
            signature=signatures[0] if len(signatures) == 1 else None,
            content_length=length,
            announces_body=length > 0 or bool(transfers),
            is_encoded=is_encoded,
            is_plain=not is_encoded and not transfers,
        )


def _pairs(headers: Any) -> Iterable[tuple[Any, Any]]:
    """Returns headers as pairs. Raises InvalidInput for other types."""
    try:
        return [(name, value) for name, value in (headers.items() if hasattr(headers, "items") else headers)]
    except (TypeError, ValueError):
        pass
    raise InvalidInput("headers must be a mapping of names to values")


def _text(value: Any) -> str:
    """Returns a name or value as a string; some servers use bytes."""
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _token(query: Any) -> str:
    """Returns the first `crc_token` of a query; empty if there is none."""
    parameters = parse_qs(query.removeprefix("?"), keep_blank_values=True) if isinstance(query, str) else query
    found: Any = parameters.get("crc_token") if hasattr(parameters, "get") else None
    if isinstance(found, list | tuple):
        found = found[0] if found else None
    return found if isinstance(found, str) else ""


def _bytes(body: Any) -> bytes:
    """Returns the body of a request as bytes; some frameworks use None for an empty one."""
    if body is None or isinstance(body, bytes | bytearray | memoryview):
        return bytes(body or b"")
    raise InvalidInput(f"body must be bytes, exactly as sent, not {type(body).__name__}")


def _refusal(status: int, sentence: str, **headers: str) -> WebhookReply:
    return WebhookReply(status, {"Content-Type": "text/plain; charset=utf-8", **headers}, sentence.encode())
