"""The log of received requests, and a summary of the stored data, for tests."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

import attrs

from socialapi.emulator.advertising.audience_members import Checksum, Members
from socialapi.emulator.platform.deliveries import Deliveries
from socialapi.emulator.state import Audience, DoNotReach, OwnedId, State

LOG_LENGTH: Final = 100_000
"""The number of requests that are kept. The counts per route also include older requests."""

UNKNOWN_ROUTE: Final = "unknown route"


@attrs.define(kw_only=True)
class RequestRecord:
    """A received request. `status` is None while the request is processed, and stays None if the connection was cut
    without a response.
    """

    number: int = 0
    """The number of the request since the start or the last reset, starting at 1."""
    time: float
    """The time when the request headers arrived, in epoch seconds of the emulator's clock."""
    method: str
    path: str
    """The undecoded path, without the query."""
    route: str | None
    """The path template, or None for unknown paths."""
    status: int | None = None
    operations: int | None = None
    """The number of operation objects in the body, or of products in a PUT; None if the route accepts neither."""
    users: int | None = None
    """The number of user objects in all operations of the body."""
    body_sha256: str | None = None
    """The hexadecimal digest of the complete body; None if the body is empty or did not arrive."""
    fault: str | None = None
    transaction_id: str | None = None
    """The id that the response returned in the header `x-transaction-id`."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as `GET /_emulator/requests` returns it."""
        return attrs.asdict(self)


class RequestLog:
    """The records of requests, oldest first, and the number of responses per route and status."""

    def __init__(self) -> None:
        self.records: deque[RequestRecord] = deque(maxlen=LOG_LENGTH)
        self.received: int = 0
        self._counts: dict[str, Counter[int | None]] = {}

    def open(self, record: RequestRecord) -> RequestRecord:
        """Adds a request that is being received."""
        self.received += 1
        record.number = self.received
        self.records.append(record)
        return record

    def close(self, record: RequestRecord, status: int | None) -> None:
        """Records the outcome of a request."""
        record.status = status
        name = f"{record.method} {record.route}" if record.route else UNKNOWN_ROUTE
        self._counts.setdefault(name, Counter())[status] += 1

    def clear(self) -> None:
        """Removes all requests and counts."""
        self.records.clear()
        self.received = 0
        self._counts.clear()

    def after(self, number: int, limit: int) -> list[RequestRecord]:
        """Returns the first stored requests after the one with this number."""
        newer = min(self.received - max(number, 0), len(self.records))
        # Read from the end, where most of the requested records are: indexing a long deque is slow in the middle.
        found = list(islice(reversed(self.records), max(newer - limit, 0), max(newer, 0)))
        return found[::-1]

    def newest(self, limit: int) -> list[RequestRecord]:
        """Returns the newest requests, oldest first."""
        return self.after(self.received - limit, limit)

    def totals(self) -> dict[str, Any]:
        """Returns the combined counts of all routes, in the form that `summary` uses for each route."""
        return _summary(sum(self._counts.values(), Counter()))

    def summary(self) -> dict[str, dict[str, Any]]:
        """Returns, by route, the number of requests that were accepted (2xx), refused (any other status) or cut off
        without a response, and the number of responses with each status.
        """
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


def ledger(state: State, log: RequestLog, deliveries: Deliveries) -> Iterator[dict[str, Any]]:
    """Computes a summary: the members of each audience and list, responses by route and status, and deliveries.

    The current members and the `products` of each catalog are given as a number and a `Checksum`. `records` counts the
    other undeleted records, by account and kind. Yields the summary after each table and each slice of members, because
    millions of members take seconds. The last one is complete.
    """
    now, tables, catalogs = state.clock.now(), list(state.advertising.tables.items()), list(state.catalogs.values())
    unread: list[tuple[dict[str, Any], Members]] = []

    def by_account(held: Mapping[OwnedId, Audience | DoNotReach]) -> dict[str, dict[str, Any]]:
        nested: dict[str, dict[str, Any]] = {}
        for (account_id, own_id), record in held.items():
            entry: dict[str, Any] = {"deleted": record.deleted} if isinstance(record, DoNotReach) else {}
            nested.setdefault(account_id, {})[own_id] = entry
            unread.append((entry, record.members))
        return nested

    result: dict[str, Any] = {
        "audiences": by_account(state.audiences),
        "do_not_reach_lists": by_account(state.do_not_reach_lists),
        "products": {},
        "records": {},
        "requests": log.summary(),
        "deliveries": deliveries.summary(),
    }
    yield result
    for (account_id, kind), table in tables:
        result["records"].setdefault(account_id, {})[kind] = sum(1 for _ in table.live())
        yield result
    for entry, members in unread:
        total = Checksum()
        for pairs in members.slices(now):
            total.add(f"{kind}:{value}".encode() for kind, value in pairs)
            yield result
        entry |= {"members": total.count, "checksum": str(total)}
    for catalog in catalogs:
        products = Checksum()
        for items in catalog.stock.slices():
            products.add(item.content for item in items)
            yield result
        result["products"][catalog.id] = {"count": products.count, "checksum": str(products)}
    yield result
