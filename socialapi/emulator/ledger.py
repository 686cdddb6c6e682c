"""The truth about what the service holds and what it was asked, to be compared with what a client believes."""

from collections.abc import Iterator, Mapping
from typing import Any

from socialapi.emulator.catalogs.stock import ProductChecksum, Stock
from socialapi.emulator.members import Checksum, Members
from socialapi.emulator.platform.deliveries import Deliveries
from socialapi.emulator.request_log import RequestLog
from socialapi.emulator.state import Audience, DoNotReach, OwnedId, State

Entry = dict[str, Any]


class Ledger:
    """Members in force of each audience and list, as count and `Checksum`; answers by route and status; deliveries.

    `products` are those of each catalog, as count and `ProductChecksum`.
    `records` counts, by account and kind, the other things that belong to accounts and are not deleted.

    Filled step by step, since millions of members take seconds: run through `steps`, then `result` is complete.
    """

    def __init__(self, state: State, log: RequestLog, deliveries: Deliveries) -> None:
        self._now = state.clock.now()
        self._tables = state.advertising.tables()
        self._to_do: list[tuple[Entry, Members]] = []
        self._stocks = [(catalog.id, catalog.stock) for catalog in state.catalogs.all()]
        self.result: dict[str, Any] = {
            "audiences": self._by_account(state.audiences),
            "do_not_reach_lists": self._by_account(state.do_not_reach_lists),
            "products": {},
            "records": {},
            "requests": log.summary(),
            "deliveries": deliveries.summary(),
        }

    def steps(self) -> Iterator[None]:
        """Does the work, a table or a slice of members at each step."""
        for account_id, kind, table in self._tables:
            self.result["records"].setdefault(account_id, {})[kind] = sum(1 for _ in table.live())
            yield
        for entry, members in self._to_do:
            total = Checksum()
            for pairs in members.slices(self._now):
                total.add(pairs)
                yield
            entry |= {"members": total.count, "checksum": str(total)}
        for catalog_id, stock in self._stocks:
            yield from self._count(catalog_id, stock)

    def _count(self, catalog_id: str, stock: Stock) -> Iterator[None]:
        total = ProductChecksum()
        for items in stock.slices():
            total.add(items)
            yield
        self.result["products"][catalog_id] = {"count": total.count, "checksum": str(total)}

    def _by_account(self, held: Mapping[OwnedId, Audience] | Mapping[OwnedId, DoNotReach]) -> dict[str, Entry]:
        nested: dict[str, Entry] = {}
        for (account_id, own_id), record in held.items():
            entry: Entry = {"deleted": record.deleted} if isinstance(record, DoNotReach) else {}
            nested.setdefault(account_id, {})[own_id] = entry
            self._to_do.append((entry, record.members))
        return nested
