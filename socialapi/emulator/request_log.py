"""Every request received, for tests that ask what a client really sent."""

from collections import Counter, deque
from typing import Any, Final

import attrs

LOG_LENGTH: Final = 1_000_000
"""How many requests are remembered; the counts per route go on beyond that."""

UNKNOWN_ROUTE: Final = "unknown route"


@attrs.define(kw_only=True)
class RequestRecord:
    """One request. `status` stays None while it is served, and for good if its connection was cut unanswered."""

    time: float
    """When its head arrived, in epoch seconds of the emulator's clock."""
    method: str
    path: str
    """As on the wire, without the query."""
    route: str | None
    """The path template, None for unknown paths."""
    status: int | None = None
    operations: int | None = None
    """Operation objects in the body, of products that are put their number; None where a route takes neither."""
    users: int | None = None
    """User objects in all operations of the body."""
    body_sha256: str | None = None
    """Hexadecimal digest of the whole body, None for an empty one and one that did not arrive."""
    fault: str | None = None
    transaction_id: str | None = None
    """What the response calls the request in `x-transaction-id`."""

    def to_dict(self) -> dict[str, Any]:
        """As `GET /_emulator/requests` prints it."""
        return attrs.asdict(self)


class RequestLog:
    """The records, the oldest first, and the answers counted per route and status."""

    def __init__(self) -> None:
        self.records: deque[RequestRecord] = deque(maxlen=LOG_LENGTH)
        self._counts: dict[str, Counter[int | None]] = {}

    def open(self, record: RequestRecord) -> RequestRecord:
        """Remember a request that is being received."""
        self.records.append(record)
        return record

    def close(self, record: RequestRecord, status: int | None) -> None:
        """Note how a request ended."""
        record.status = status
        name = f"{record.method} {record.route}" if record.route else UNKNOWN_ROUTE
        self._counts.setdefault(name, Counter())[status] += 1

    def clear(self) -> None:
        """Forget everything."""
        self.records.clear()
        self._counts.clear()

    def summary(self) -> dict[str, dict[str, Any]]:
        """Per route: requests accepted (2xx), refused (any other status), cut off unanswered; and per status."""
        return {route: _summary(counts) for route, counts in sorted(self._counts.items())}


def _summary(counts: Counter[int | None]) -> dict[str, Any]:
    answered = {status: count for status, count in counts.items() if status is not None}
    accepted = sum(count for status, count in answered.items() if 200 <= status < 300)
    return {
        "accepted": accepted,
        "refused": sum(answered.values()) - accepted,
        "unanswered": counts[None],
        "statuses": {str(status): count for status, count in sorted(answered.items())},
    }
