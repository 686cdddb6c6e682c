"""What a receiver answers to a request, whatever serves it."""

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

import attrs
import orjson

from socialapi.errors import InvalidInput
from socialapi.models.pages import Undecoded
from socialapi.webhooks.queue import Store
from socialapi.webhooks.signatures import SIGNATURE_HEADER, Signature, begins_as_json, sign
from socialapi.wire.events import NO_EVENT_ID, identity_of, read_delivery
from socialapi.wire.json_decode import decode_json

MOST_READING_BYTES: Final = 64_000_000
"""How many bytes of all unfinished bodies may be here, unless it is one body alone. When there would be more, the largest
of the others is given up.
"""
MOST_UNANNOUNCED_BYTES: Final = 65_536
"""How large a body may be whose request has no Content-Length: servers read such bodies chunk by chunk, which takes far
longer.
"""
MOST_TINY_CHUNKS: Final = 64
TINY_CHUNK_BYTES: Final = 64
"""A body is refused when it has come in more chunks than this, and they have fewer bytes than this on average."""
SLICE_BYTES: Final = 131_072
"""How much is signed at once, so that a large body does not hold the event loop."""

Feed = Callable[[memoryview], None]


@attrs.frozen
class Unread:
    """A body that is not read to its end: with which status it is refused, and why."""

    status: int
    reason: str


class TinyChunksError(Exception):
    """The body of a request comes in many chunks of a few bytes, of which each takes as long as a large one."""


@attrs.define(eq=False)
class _Reading:
    """A body on its way. Its bytes are gone when it is given up."""

    limit: asyncio.Timeout
    content: bytearray = attrs.field(factory=bytearray)
    is_given_up: bool = False

    @property
    def size(self) -> int:
        """How many bytes of it are here. What the request announces counts for nothing."""
        return len(self.content)


class Bodies:
    """Reads bodies that are at most so large, arrive within so long, and together take a bounded amount of memory.

    Whoever comes is read: the largest of the unfinished bodies makes room for others, so that those who fill the room
    lose theirs, and an event of ordinary size stays. How many there are is not bounded here: each is of a connection,
    which takes more memory than the first bytes of a body.
    """

    def __init__(self, *, max_bytes: int, timeout_seconds: float) -> None:
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds
        self._readings: dict[_Reading, None] = {}  # the oldest first
        self._bytes = 0  # of all that are being read
        self._slicing = asyncio.Lock()

    def too_large(self, size: int, *, is_announced: bool = True) -> Unread | None:
        """Why a body of this size is refused; None if it is not."""
        if size > self._max_bytes:
            return Unread(413, f"the body is larger than {self._max_bytes:,} bytes")
        if size > MOST_UNANNOUNCED_BYTES and not is_announced:
            return Unread(413, f"the body is larger than {MOST_UNANNOUNCED_BYTES:,} bytes and has no Content-Length")
        return None

    async def read(self, chunks: AsyncIterator[bytes], feed: Feed, *, is_announced: bool) -> bytes | Unread:
        """The body, or why it is not read; `feed` gets its parts as they arrive.

        The chunks raise ConnectionError when the client has left, and TinyChunksError. `is_announced` is whether the
        request has a Content-Length.
        """
        try:
            async with asyncio.timeout(self._timeout_seconds) as limit:
                reading = _Reading(limit)
                self._readings[reading] = None
                return await self._read(reading, chunks, feed, is_announced=is_announced)
        except TimeoutError:
            if reading.is_given_up:
                return Unread(503, "there is no room for this body now")
            return Unread(408, "the body did not arrive in time")
        except ConnectionError:
            return Unread(400, "the body broke off")
        except TinyChunksError:
            return Unread(400, "the body comes in too many chunks of a few bytes")
        finally:
            self._forget(reading)

    async def feed_all(self, body: bytes, feed: Feed) -> None:
        """Gives a body that is there already to `feed`: a large one in slices, one slice each time round the loop."""
        view = memoryview(body)
        feed(view[:SLICE_BYTES])
        for start in range(SLICE_BYTES, len(body), SLICE_BYTES):
            async with self._slicing:
                await asyncio.sleep(0)
                feed(view[start : start + SLICE_BYTES])

    async def _read(
        self, reading: _Reading, chunks: AsyncIterator[bytes], feed: Feed, *, is_announced: bool
    ) -> bytes | Unread:
        async for chunk in chunks:
            if reading.is_given_up:
                break
            reading.content += chunk
            self._bytes += len(chunk)
            if (refusal := self.too_large(reading.size, is_announced=is_announced)) is not None:
                return refusal
            self._make_room_for(reading)
            await self.feed_all(chunk, feed)
        if reading.is_given_up:
            raise TimeoutError
        return bytes(reading.content)

    def _make_room_for(self, newcomer: _Reading) -> None:
        while self._bytes > MOST_READING_BYTES and len(self._readings) > 1:
            others = (each for each in self._readings if each is not newcomer)
            self._give_up(max(others, key=lambda each: each.size))  # the oldest of those that are as large

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


QUIET_SECONDS: Final = 60.0
"""How long nothing more is said about refused deliveries."""

logger: Final = logging.getLogger("socialapi")


class Refusals:
    """Warns of the first refused signature at once, then at most once a minute of how many there were meanwhile."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._unsaid = 0
        self._said_at: float | None = None

    def count(self) -> None:
        """A delivery was refused for its signature."""
        self._unsaid += 1
        now = self._monotonic()
        if self._said_at is not None and now - self._said_at < QUIET_SECONDS:
            return
        what = "1 delivery" if self._unsaid == 1 else f"{self._unsaid:,} deliveries"
        self._said_at, self._unsaid = now, 0
        logger.warning("refused %s: the signature does not match; is the app's secret the right one?", what)


Query = Mapping[str, Any] | str | None
"""The query of a request: as text, or by name, where a name may have several values."""
Headers = Mapping[Any, Any] | Iterable[tuple[Any, Any]]
"""The headers of a request: by name, where a name may have several values, or one after another."""

RETRY_AFTER_SECONDS: Final = 5
MAX_QUERY_CHARACTERS: Final = 16_384
"""A longer query is not looked at; servers allow about 8,000 to 64,000 bytes."""
_METHODS: Final = "GET,POST"
_IDENTITY_BYTES: Final = 16
_IDENTITY: Final = frozenset({"", "identity"})
"""What a Content-Encoding may say of a body that is not encoded."""


@attrs.frozen
class WebhookReply:
    """What a request is answered with."""

    status: int
    headers: dict[str, str] = attrs.field(factory=dict)
    body: bytes = b""


@attrs.frozen
class Answer:
    """A reply, and whether it leaves some of the request's body unread, so that the connection cannot go on.

    The connection is cut where reading the rest only to throw it away would take long, too.
    """

    reply: WebhookReply
    leaves_body: bool = False
    cuts: bool = False


@attrs.define(kw_only=True)
class ReceiverCounters:
    """What a receiver has done since it was made.

    Of the requests it answered: `challenges`, events `accepted`, `duplicates` of them, and those refused for their
    signature, for their body (too large, too slow, broken off or no JSON) and because there was no room. Of the accepted
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


class Endpoint:
    """Decides what every request is answered with, and keeps the events.

    A request whose signature does not match waits for nothing but its own body, and that is read only
    where the signature is well-formed. Verified events alone wait for the store to be opened.
    """

    def __init__(
        self,
        secrets: Sequence[str],
        store: Store,
        bodies: Bodies,
        counters: ReceiverCounters,
        *,
        event_id_paths: Sequence[str] | None,
    ) -> None:
        self._secrets = secrets
        self._store = store
        self._bodies = bodies
        self._counters = counters
        self._paths = event_id_paths
        self._refusals = Refusals()
        self._has_warned = False  # of an event without an id

    async def respond(self, method: str, query: Query, headers: Headers, chunks: AsyncIterator[bytes]) -> Answer:
        """The answer to a request whose body is still to be read, chunk by chunk; the chunks raise ConnectionError when
        the client leaves.
        """
        head = _Head.of(headers)
        signature = self._judge_head(method, query, head)
        if isinstance(signature, WebhookReply):
            return Answer(signature, head.announces_body, cuts=not head.is_plain)
        body: bytes | Unread | None = self._bodies.too_large(head.content_length)
        if body is None:
            body = await self._bodies.read(chunks, signature.update, is_announced=head.announces_length)
        if isinstance(body, Unread):
            return Answer(self._refuse_unread(body), leaves_body=True, cuts=not head.is_plain)
        return Answer(await self._reply_to_event(signature, body))

    async def handle(self, method: str, query: Query, headers: Headers, body: bytes) -> WebhookReply:
        """The answer to a request whose body is there already."""
        content = _bytes(body)
        signature = self._judge_head(method, query, _Head.of(headers))
        if isinstance(signature, WebhookReply):
            return signature
        if (refusal := self._bodies.too_large(len(content))) is not None:
            return self._refuse_unread(refusal)
        await self._bodies.feed_all(content, signature.update)
        return await self._reply_to_event(signature, content)

    def _judge_head(self, method: str, query: Query, head: "_Head") -> WebhookReply | Signature:
        """The reply that needs no body, or the signature that the body has to fit."""
        kind = str(method).upper()
        if kind == "GET":
            return self._reply_to_challenge(query)
        if kind != "POST":
            return _refusal(405, "challenges are GET requests, and events POST requests", Allow=_METHODS)
        signature = Signature(head.signature, self._secrets)
        if not signature.is_well_formed:
            return self._refuse_signature()
        return self._refuse_encoding() if head.is_encoded else signature

    def _reply_to_challenge(self, query: Query) -> WebhookReply:
        if isinstance(query, str) and len(query) > MAX_QUERY_CHARACTERS:
            return _refusal(400, "the query is too long")
        token = _token(query).encode("utf-8", "surrogatepass")
        # A challenge is answered with what would be the signature of its token as a body, and anybody can send one. So
        # nothing is answered that would be an event if it were sent back.
        if not token or len(token) > MAX_QUERY_CHARACTERS or begins_as_json(token):
            return _refusal(400, "crc_token is not a challenge" if token else "crc_token is missing")
        self._store.start()
        self._counters.challenges += 1
        return _json_reply({"response_token": sign(token, self._secrets[0])})

    async def _reply_to_event(self, signature: Signature, body: bytes) -> WebhookReply:
        if not signature.fits():
            return self._refuse_signature()
        if not begins_as_json(body):
            return self._refuse_unread(Unread(400, "the body is neither a JSON object nor an array"))
        self._store.start()
        outcome = await self._store.add(self._identity(body), body)
        if outcome == "full":
            return self._refuse_full("there is no room for this event now")
        if outcome == "new":
            self._counters.accepted += 1
        else:
            self._counters.duplicates += 1
        return WebhookReply(200)

    def _identity(self, body: bytes) -> bytes | None:
        """What tells the event from others, as a digest: as long for every event, and nothing can be read from it."""
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
        self._counters.refused_signature += 1
        self._refusals.count()
        return _refusal(401, f"{SIGNATURE_HEADER} is not the signature of this body")

    def _refuse_unread(self, body: Unread) -> WebhookReply:
        if body.status == 503:
            return self._refuse_full(body.reason)
        self._counters.refused_body += 1
        return _refusal(body.status, body.reason)

    def _refuse_encoding(self) -> WebhookReply:
        """The signature is that of the bytes as they were sent, and servers decode what they hand out."""
        self._counters.refused_body += 1
        return _refusal(415, "the body must not have a Content-Encoding", **{"Accept-Encoding": "identity"})

    def _refuse_full(self, sentence: str) -> WebhookReply:
        self._counters.refused_full += 1
        return _refusal(503, sentence, **{"Retry-After": str(RETRY_AFTER_SECONDS)})


@attrs.frozen(kw_only=True)
class _Head:
    """What matters of the headers. Two signatures are none."""

    signature: str | None
    content_length: int
    announces_length: bool
    announces_body: bool
    is_encoded: bool

    @property
    def is_plain(self) -> bool:
        """Whether the body, if there is one, has a length and no encoding, so that it can be skipped."""
        return not self.is_encoded and (self.announces_length or not self.announces_body)

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
        return cls(
            signature=signatures[0] if len(signatures) == 1 else None,
            content_length=length,
            announces_length=bool(lengths) and not transfers,
            announces_body=length > 0 or bool(transfers),
            is_encoded=any(each.strip(" \t").lower() not in _IDENTITY for each in ",".join(encodings).split(",")),
        )


def _pairs(headers: Any) -> Iterable[tuple[Any, Any]]:
    """Names and values, of what a framework calls headers."""
    try:
        return [(name, value) for name, value in (headers.items() if hasattr(headers, "items") else headers)]
    except (TypeError, ValueError):
        pass
    raise InvalidInput("headers must be a mapping of names to values")


def _text(value: Any) -> str:
    """A name or value as text; servers have them as bytes, too."""
    return value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else ""


def _token(query: Any) -> str:
    """The first `crc_token` of a query; empty if there is none."""
    parameters = parse_qs(query.removeprefix("?"), keep_blank_values=True) if isinstance(query, str) else query
    found: Any = parameters.get("crc_token") if hasattr(parameters, "get") else None
    if isinstance(found, list | tuple):
        found = found[0] if found else None
    return found if isinstance(found, str) else ""


def _bytes(body: Any) -> bytes:
    """The body of a request; some frameworks have None for none."""
    if body is None or isinstance(body, bytes | bytearray | memoryview):
        return bytes(body or b"")
    raise InvalidInput(f"body must be bytes, as they were sent, not {type(body).__name__}")


def _json_reply(content: Any) -> WebhookReply:
    return WebhookReply(200, {"Content-Type": "application/json; charset=utf-8"}, orjson.dumps(content))


def _refusal(status: int, sentence: str, **headers: str) -> WebhookReply:
    return WebhookReply(status, {"Content-Type": "text/plain; charset=utf-8", **headers}, sentence.encode())
