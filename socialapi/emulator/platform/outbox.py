"""What waits to be delivered to one webhook, and what was delivered in the last day."""

import asyncio
from collections import Counter, deque
from typing import Any, Final

import attrs

from socialapi.emulator.platform.records import Webhook

QUEUE_EVENTS: Final = 10_000
"""How many events may wait for a webhook; those beyond are lost, unless who publishes waits for room."""
ROOM_EVENTS: Final = 8_000
IN_FLIGHT: Final = 32
"""How many deliveries to one webhook are under way at once."""
HISTORY_SECONDS: Final = 86_400.0
HISTORY_EVENTS: Final = 200_000
"""How far back a replay can go: a day of the emulator's clock, and so many events."""

UNANSWERED: Final = "unanswered"


@attrs.define
class Tally:
    """The outcomes of the deliveries to a webhook. Forged ones, which faults send, are counted by themselves."""

    url: str
    delivered: int = 0
    failed: int = 0
    skipped: int = 0
    """Not sent, since the webhook had become invalid or was gone, or its queue was full."""
    statuses: Counter[str] = attrs.field(factory=Counter)
    forgeries_sent: int = 0
    forgeries_accepted: int = 0

    def count(self, status: int | None) -> None:
        """A delivery has ended."""
        self.statuses[UNANSWERED if status is None else str(status)] += 1
        if is_success(status):
            self.delivered += 1
        else:
            self.failed += 1

    def count_forgery(self, status: int | None) -> None:
        """A forged delivery has ended."""
        self.forgeries_sent += 1
        self.forgeries_accepted += is_success(status)

    def shown(self) -> dict[str, Any]:
        """As the ledger has it."""
        return {
            "url": self.url,
            "delivered": self.delivered,
            "failed": self.failed,
            "skipped": self.skipped,
            "statuses": dict(sorted(self.statuses.items())),
            "forgeries": {"sent": self.forgeries_sent, "accepted": self.forgeries_accepted},
        }


def is_success(status: int | None) -> bool:
    """Whether a delivery with this answer was taken (section 4.2)."""
    return status is not None and 200 <= status < 300


class Outbox:
    """A bounded queue of bodies in the order in which they are to be sent, and a bounded history."""

    def __init__(self, webhook: Webhook, tally: Tally) -> None:
        self.webhook = webhook
        self.tally = tally
        self.in_flight = 0
        self._waiting: deque[bytes] = deque()
        self._sent: deque[tuple[float, bytes]] = deque(maxlen=HISTORY_EVENTS)
        self._room = asyncio.Event()

    def put(self, body: bytes, copies: int = 1) -> bool:
        """An event more, or several times the same. False, and it is lost, if too many wait."""
        if len(self._waiting) >= QUEUE_EVENTS:
            self.tally.skipped += copies
            return False
        self._waiting.extend([body] * copies)
        return True

    def remember(self, body: bytes, now: float) -> None:
        """The event can be replayed."""
        while self._sent and self._sent[0][0] < now - HISTORY_SECONDS:
            self._sent.popleft()
        self._sent.append((now, body))

    def sent_between(self, begin: float, end: float) -> list[bytes]:
        """The events of a time that are remembered, each once."""
        return [body for at, body in self._sent if begin <= at <= end]

    def take(self) -> bytes | None:
        """What is to be sent next, if anything is and may be."""
        if not self._waiting or self.in_flight >= IN_FLIGHT:
            return None
        self.in_flight += 1
        body = self._waiting.popleft()
        if not self.is_crowded:
            self._room.set()
        return body

    def finish(self) -> None:
        """A delivery has ended."""
        self.in_flight -= 1

    def close(self) -> None:
        """Nothing of it is sent any more."""
        self._waiting.clear()
        self._sent.clear()
        self._room.set()

    async def room(self) -> None:
        """Wait until there is room."""
        while self.is_crowded:
            self._room.clear()
            await self._room.wait()

    @property
    def is_crowded(self) -> bool:
        """Whether who can wait should."""
        return len(self._waiting) >= ROOM_EVENTS
