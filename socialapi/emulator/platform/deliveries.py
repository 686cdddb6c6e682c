"""Deliveries to webhooks: the HTTP client, the queues, retries and replays."""

import asyncio
import base64
import hmac
import io
import math
import socket
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import aiohttp
import attrs
from aiohttp.abc import ResolveResult

from socialapi.emulator.faults import Faults
from socialapi.emulator.hosts import DeliveryTargets, is_localhost
from socialapi.emulator.platform.state import Webhook
from socialapi.emulator.state import State
from socialapi.errors import ConfigurationError

T = TypeVar("T")

_LOOPBACK: Final = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))
_IDLE_SECONDS: Final = 2.0
"""The time for which an unused connection is kept open. Receivers keep connections longer, so none is reused just as
its receiver closes it.
"""


class LocalhostResolver(aiohttp.ThreadedResolver):
    """A resolver that always resolves `localhost` and the names below it to loopback, and other names as usual."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Returns the addresses of the host."""
        if not is_localhost(host):
            return await super().resolve(host, port, family)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST)
            for address, kind in _LOOPBACK
        ]


class Outgoing:
    """The sender of requests to the targets of webhook URLs. Ignores proxies from the environment, and connects only to
    this machine unless `rule` allows other hosts.

    `fixed` targets exist from the start and survive a reset. Raises ConfigurationError if the rule does not allow them.
    """

    def __init__(self, fixed: Mapping[str, str], rule: DeliveryTargets) -> None:
        if problem := next(filter(None, map(rule.problem, fixed.values())), None):
            raise ConfigurationError(problem)
        self._fixed = dict(fixed)
        self.rule = rule
        self.targets: dict[str, str] = dict(fixed)
        self._client: aiohttp.ClientSession | None = None

    @property
    def client(self) -> aiohttp.ClientSession:
        """The HTTP client, which exists only while the emulator runs."""
        assert self._client is not None
        return self._client

    async def open(self) -> None:
        """Creates the client. The client does not limit connections, because a full connector would delay challenges.
        Its callers limit them.
        """
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, resolver=LocalhostResolver())
        self._client = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept-Encoding": "identity"},
            auto_decompress=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Closes the HTTP client."""
        if self._client is not None:
            await self._client.close()

    def reset(self) -> None:
        """Removes the targets that were added after the start."""
        self.targets.clear()
        self.targets.update(self._fixed)


QUEUE_EVENTS: Final = 10_000
"""The maximum number of events waiting for a webhook. Further events are lost unless their publisher waits for room."""
ROOM_EVENTS: Final = 8_000
IN_FLIGHT: Final = 32
"""The maximum number of deliveries to one webhook that are in progress at once."""
HISTORY_SECONDS: Final = 86_400.0
HISTORY_EVENTS: Final = 200_000
"""The maximum number of events kept for replays. Events older than a day by the emulator's clock are not kept either.
"""

UNANSWERED: Final = "unanswered"


@attrs.define
class DeliveryCounters:
    """The outcomes of the deliveries to a webhook. Forged deliveries, sent by injected faults, are counted separately."""

    url: str
    delivered: int = 0
    failed: int = 0
    skipped: int = 0
    """The deliveries that were not sent, because the webhook was invalid or deleted, or its queue was full."""
    statuses: Counter[str] = attrs.field(factory=Counter)
    forgeries_sent: int = 0
    forgeries_accepted: int = 0

    def count(self, status: int | None) -> None:
        """Counts a delivery that has ended."""
        self.statuses[UNANSWERED if status is None else str(status)] += 1
        if is_success(status):
            self.delivered += 1
        else:
            self.failed += 1

    def count_forgery(self, status: int | None) -> None:
        """Counts a forged delivery that has ended."""
        self.forgeries_sent += 1
        self.forgeries_accepted += is_success(status)

    def to_wire(self) -> dict[str, Any]:
        """Returns the counts in the format of the ledger."""
        return {
            "url": self.url,
            "delivered": self.delivered,
            "failed": self.failed,
            "skipped": self.skipped,
            "statuses": dict(sorted(self.statuses.items())),
            "forgeries": {"sent": self.forgeries_sent, "accepted": self.forgeries_accepted},
        }


def is_success(status: int | None) -> bool:
    """Returns whether a response with this status accepts the delivery."""
    return status is not None and 200 <= status < 300


class Recent(Generic[T]):
    """The newest items with their times, oldest first, limited by age and number."""

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._things: deque[tuple[float, T]] = deque(maxlen=most)

    def add(self, now: float, thing: T) -> None:
        """Adds a published item, and drops items that are too old."""
        while self._things and self._things[0][0] < now - self._seconds:
            self._things.popleft()
        self._things.append((now, thing))

    def between(self, begin: float, end: float = math.inf) -> list[T]:
        """Returns the items of a period. Items added after the call are not included."""
        return [thing for at, thing in self._things if begin <= at <= end]

    def clear(self) -> None:
        """Removes all items."""
        self._things.clear()


class Outbox:
    """A webhook's bounded queue of bodies in sending order.

    `history` contains its events for replays, even those whose delivery failed or was skipped, because replays exist
    for such events.
    """

    def __init__(self, webhook: Webhook, counters: DeliveryCounters) -> None:
        self.webhook = webhook
        self.counters = counters
        self.history: Recent[bytes] = Recent(HISTORY_SECONDS, HISTORY_EVENTS)
        self.in_flight: int = 0
        self._waiting: deque[bytes] = deque()
        self._room = asyncio.Event()
        self._queued = 0
        self._finished = 0
        self._progress = asyncio.Event()
        self._closed = False

    def put(self, body: bytes, copies: int = 1) -> bool:
        """Adds an event, or several copies of it. Returns False if it is skipped, because the webhook is invalid or the
        queue is full.
        """
        if not self.webhook.valid or len(self._waiting) >= QUEUE_EVENTS:
            self.counters.skipped += copies
            return False
        self._waiting.extend([body] * copies)
        self._queued += copies
        return True

    def take(self) -> bytes | None:
        """Returns the next body to send, or None if none is waiting or too many deliveries are in progress."""
        if not self._waiting or self.in_flight >= IN_FLIGHT:
            return None
        self.in_flight += 1
        body = self._waiting.popleft()
        if not self.is_crowded:
            self._room.set()
        return body

    def finish(self) -> None:
        """Ends a delivery, so that another one can start."""
        self.in_flight -= 1
        self._finished += 1
        self._progress.set()

    async def finished(self) -> None:
        """Waits until all events added so far have been delivered or have failed."""
        last = self._queued
        while self._finished < last and not self._closed:
            self._progress.clear()
            await self._progress.wait()

    def close(self) -> None:
        """Drops all waiting events."""
        self._closed = True
        self._progress.set()
        self.counters.skipped += len(self._waiting)
        self._waiting.clear()
        self.history.clear()
        self._room.set()

    async def room(self) -> None:
        """Waits until there is room."""
        while self.is_crowded:
            self._room.clear()
            await self._room.wait()

    @property
    def waiting(self) -> int:
        """The number of events whose delivery has not started."""
        return len(self._waiting)

    @property
    def is_crowded(self) -> bool:
        """Whether the queue is so full that publishers should wait if they can."""
        return len(self._waiting) >= ROOM_EVENTS


SIGNATURE_HEADER: Final = "x-service-webhooks-signature"
DELIVERY_SECONDS: Final = 10.0
"""The wall-clock time that a delivery may take. The documentation does not specify one."""

_WRONG_SECRET: Final = "not the secret of any app"  # noqa: S105 - what forgeries are signed with
_LARGE: Final = 1_000_000


class Deliveries:
    """The queues of the webhooks, by id, and the deliveries in progress."""

    def __init__(self, outgoing: Outgoing, faults: Faults, state_now: Callable[[], State]) -> None:
        self._outgoing = outgoing
        self._faults = faults
        self._state_now = state_now
        self._outboxes: dict[str, Outbox] = {}
        self._counters_of: dict[str, DeliveryCounters] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._replays: dict[asyncio.Task[None], str] = {}
        """The replays in progress, with the keys of their apps."""

    async def close(self) -> None:
        """Cancels all deliveries, waiting or in progress, but keeps the counters."""
        tasks = list(self._tasks)
        self._give_up()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reset(self) -> None:
        """Cancels all deliveries, and removes all queues and counters."""
        self._give_up()
        self._counters_of.clear()

    def _give_up(self) -> None:
        for task in self._tasks:
            task.cancel()
        for outbox in self._outboxes.values():
            outbox.close()
        self._outboxes.clear()

    def outbox(self, webhook: Webhook) -> Outbox:
        """Returns the queue of the webhook."""
        found = self._outboxes.get(webhook.id)
        if found is None:
            counters = self._counters_of.setdefault(webhook.id, DeliveryCounters(webhook.url))
            found = self._outboxes[webhook.id] = Outbox(webhook, counters)
        return found

    def forget(self, webhook_id: str) -> None:
        """Drops the waiting events of a deleted webhook."""
        if (outbox := self._outboxes.pop(webhook_id, None)) is not None:
            outbox.close()

    def send(self, outbox: Outbox, body: bytes, copies: int = 1) -> None:
        """Adds an event to the outbox, which delivers events in order."""
        outbox.history.add(self._state_now().clock.now(), body)
        if outbox.put(body, copies):
            self._start(outbox)

    def replay(self, webhooks: Sequence[Webhook], begin: float, end: float) -> int:
        """Redelivers the events that the webhooks should have received in this period, up to a day ago. Returns the
        number of events.
        """
        begin = max(begin, self._state_now().clock.now() - HISTORY_SECONDS)
        total = 0
        for webhook in webhooks:
            outbox = self.outbox(webhook)
            if bodies := outbox.history.between(begin, end):
                total += len(bodies)
                task = self._own(self._send_again(outbox, bodies))
                self._replays[task] = webhook.app_key
                task.add_done_callback(self._replays.pop)
        return total

    def is_replaying(self, app_key: str) -> bool:
        """Returns whether a replay of the app is in progress."""
        return app_key in self._replays.values()

    async def settle(self) -> None:
        """Waits until all deliveries have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def summary(self) -> Mapping[str, Mapping[str, Any]]:
        """Returns the outcomes by webhook."""
        return {webhook_id: counters.to_wire() for webhook_id, counters in self._counters_of.items()}

    def to_wire(self, webhook: Webhook) -> dict[str, Any]:
        """Returns the outcomes for a webhook, and the numbers of its waiting events and of deliveries in progress."""
        outbox = self.outbox(webhook)
        return {**outbox.counters.to_wire(), "waiting": outbox.waiting, "in_flight": outbox.in_flight}

    def _start(self, outbox: Outbox) -> None:
        while (body := outbox.take()) is not None:
            self._own(self._work(outbox, body))

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="socialapi-emulator-delivery")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _work(self, outbox: Outbox, body: bytes) -> None:
        """Delivers one body, then all other waiting bodies, in the same task."""
        following: bytes | None = body
        while following is not None:
            try:
                await self._deliver(outbox, following)
            finally:
                outbox.finish()
            following = outbox.take()

    async def _send_again(self, outbox: Outbox, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            await outbox.room()
            if outbox.put(body):
                self._start(outbox)
        await outbox.finished()

    async def _deliver(self, outbox: Outbox, body: bytes) -> None:
        webhook, state = outbox.webhook, self._state_now()
        app = state.apps.get(webhook.app_key)
        if app is None or not webhook.valid or state.platform.webhooks.get(webhook.id) is not webhook:
            outbox.counters.skipped += 1
            return
        signature = signed(body, app.api_key_secret)
        fault = self._faults.pick_for_delivery()
        if fault is not None:
            url, counters = outbox.webhook.url, outbox.counters
            if fault.fault == "delivery_duplicate":
                counters.count(await self._post(url, body, signature))
            elif fault.fault == "delivery_tampered":
                # The body is still JSON with the same event, so only the signature reveals the forgery.
                counters.count_forgery(await self._post(url, body[:-1] + b',"tampered":true}', signature))
            elif fault.fault == "delivery_forged":
                counters.count_forgery(await self._post(url, body, signed(body, _WRONG_SECRET)))
            else:
                counters.count_forgery(await self._post(url, body, None))
        outbox.counters.count(await self._post(webhook.url, body, signature))

    async def _post(self, url: str, body: bytes, signature: str | None) -> int | None:
        """Returns the status of the response, or None if there was none."""
        target = self._outgoing.targets.get(url)
        if target is None or self._outgoing.rule.problem(target) is not None:
            return None
        headers = {"Content-Type": "application/json"} | ({} if signature is None else {SIGNATURE_HEADER: signature})
        # aiohttp warns about large bodies that are passed as bytes.
        content = body if len(body) < _LARGE else io.BytesIO(body)
        try:
            async with (
                asyncio.timeout(DELIVERY_SECONDS),
                self._outgoing.client.post(target, data=content, headers=headers, allow_redirects=False) as response,
            ):
                return response.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError):
            return None


def signed(body: bytes, consumer_secret: str) -> str:
    """Returns the signature of an event, or the response to a challenge."""
    return "sha256=" + base64.b64encode(hmac.digest(consumer_secret.encode(), body, "sha256")).decode()
