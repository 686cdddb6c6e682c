"""The records of the advertising API, their order and their history."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

Record = dict[str, Any]
"""The stored fields of a record. Responses may omit some of them."""

Load = Callable[[], Iterable[Record]]
"""A function that creates the seed records of a table."""

Key = tuple[Any, ...]

_COMPARED: Final = 200
"""Strings are compared by their first characters, up to this number. Cursors contain only these characters."""


@attrs.frozen
class Order:
    """A sort order by a scalar field. Records with equal values are in order of creation."""

    field: str
    descending: bool = False


Cursor = Sequence[Any]
"""The position after a record in a sort order: the record's sort value when the cursor was created, and its position
among all records.
"""


class Table:
    """The records of one kind, for one account or for all accounts. Deleted records are kept and marked as deleted.

    `load` creates the seed records when the table is first read. Records are sorted for the first page in an order;
    following pages use the same list until the table changes. Change fields only with `change`, which drops these lists.
    """

    def __init__(self, load: Load = tuple) -> None:
        self._load: Load | None = load
        self._rows: list[Record] = []
        self._positions: dict[str, int] = {}
        self._orders: dict[Order, list[tuple[Key, int]]] = {}

    @property
    def rows(self) -> Sequence[Record]:
        """All records, including deleted ones, in order of creation."""
        if self._load is not None:
            load, self._load = self._load, None
            self._rows = list(load())
            self._positions = {record["id"]: position for position, record in enumerate(self._rows)}
        return self._rows

    def live(self) -> Iterator[Record]:
        """Returns the records that are not deleted."""
        return (record for record in self.rows if not record.get("deleted"))

    def get(self, record_id: str, *, with_deleted: bool = False) -> Record | None:
        """Returns the record with the id. A deleted record is returned only on request."""
        rows = self.rows
        position = self._positions.get(record_id)
        if position is None or (rows[position].get("deleted") and not with_deleted):
            return None
        return rows[position]

    def add(self, record: Record) -> Record:
        """Appends a record, and returns it."""
        position = len(self.rows)
        assert record["id"] not in self._positions, "ids are unique"
        self._rows.append(record)
        self._positions[record["id"]] = position
        self._orders.clear()
        return record

    def change(self, record: Record, **changes: Any) -> None:
        """Changes fields of a record."""
        self._orders = {order: kept for order, kept in self._orders.items() if order.field not in changes}
        record.update(changes)

    def after(self, order: Order | None, cursor: Cursor | None) -> Iterator[int]:
        """Yields the positions of the records after a cursor, or of all records. Without an order, they are in order of
        creation.
        """
        if order is None:
            return iter(range(0 if cursor is None else cursor[1] + 1, len(self.rows)))
        entries = self._orders.get(order)
        if entries is None:
            entries = self._orders[order] = sorted(
                _entry(order, record.get(order.field), position) for position, record in enumerate(self.rows)
            )
        at = None if cursor is None else _entry(order, *cursor)
        if order.descending:
            last = len(entries) if at is None else bisect_left(entries, at)
            return (-entries[index][1] for index in range(last - 1, -1, -1))
        first = 0 if at is None else bisect_right(entries, at)
        return (entries[index][1] for index in range(first, len(entries)))

    def cursor_of(self, order: Order | None, position: int) -> Cursor:
        """Returns the current cursor after the record at a position."""
        value = None if order is None else _key(self.rows[position].get(order.field))
        return value[-1] if value else None, position


def _entry(order: Order, value: Any, position: int) -> tuple[Key, int]:
    """Returns the sort key of a record. A descending order is read from its end. Negating the positions keeps records
    with equal values in order.
    """
    return _key(value), -position if order.descending else position


def _key(value: Any) -> Key:
    """Returns the comparison key of a value. Records without a value come first."""
    return () if value is None else (value[:_COMPARED] if isinstance(value, str) else value,)


Seeded = Callable[[str, Record], Iterable[Record]]
"""A function that returns the seeded history of an entity with this type."""

KINDS: Final = {
    "CAMPAIGN": "campaigns",
    "LINE_ITEM": "line_items",
    "PROMOTED_TWEET": "promoted_tweets",
    "TARGETING_CRITERIA": "targeting_criteria",
    "PROMOTED_ACCOUNT": "promoted_accounts",
}
"""The record kinds by entity type."""


class History:
    """The changes of each entity, oldest first. `seeded` returns the changes before the emulator started."""

    def __init__(self) -> None:
        self.seeded: Seeded = lambda *_: ()
        self._of: dict[tuple[str, str], Table] = {}

    def of(self, entity_type: str, entity: Record) -> Table:
        """Returns the changes of an entity. The first call derives the seeded changes from the entity, so call this
        before changing the entity.
        """
        key = (entity_type, entity["id"])
        table = self._of.get(key)
        if table is None:
            entries = list(self.seeded(entity_type, entity))
            table = self._of[key] = Table(lambda: ({"id": str(n), **each} for n, each in enumerate(entries)))
        return table

    def note(self, entity_type: str, before: Record, after: Record, *, at: str, user_id: str) -> None:
        """Records a change made through the API, unless all values stayed the same."""
        table = self.of(entity_type, before)
        fields = [name for name in after if name != "updated_at" and before.get(name) != after[name]]
        if fields:
            changes = {name: {"before": before.get(name), "after": after[name]} for name in fields}
            change = "DELETE" if "deleted" in changes else "UPDATE"
            made = entry(entity_type, after, change, at=at, by=(user_id, "API"), changes=changes)
            table.add({"id": str(len(table.rows)), **made})


def entry(
    entity_type: str,
    snapshot: Record,
    change_type: str,
    *,
    at: str,
    by: tuple[str, str],
    changes: dict[str, Any] | None = None,
) -> Record:
    """Returns a history entry, which contains the entity as it was after the change. `by` is the user and the platform."""
    return {
        "entity": entity_type,
        "entity_id": snapshot["id"],
        "entity_data": dict(snapshot),
        "change_type": change_type,
        "change_time": at,
        "changes": changes or {},
        "change_by": {"user_id": by[0], "platform": by[1]},
    }


_FIRST_ID: Final = 36**5
"""The first id created at run time, which has six characters. Seed ids have other lengths, or start with a letter."""

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


class Advertising:
    """The tables of the advertising API, empty until the seed data or a request fills them."""

    def __init__(self) -> None:
        self.accounts: Table = Table()
        self.business_categories: Table = Table()
        self.curated_categories: Table = Table()
        self.uploads: Table = Table()
        self.history: History = History()
        self.tables: dict[tuple[str, str], Table] = {}
        """The tables that belong to an account, by account id and kind."""
        self._ids_made = 0

    def table(self, account_id: str, kind: str) -> Table:
        """Returns the records of a kind that belong to an account, for example `line_items`."""
        return self.tables.setdefault((account_id, kind), Table())

    def plant(self, account_id: str, loads: Mapping[str, Load]) -> None:
        """Sets the records that an account has, by kind. They are created when they are first read."""
        self.tables.update(((account_id, kind), Table(load)) for kind, load in loads.items())

    def new_id(self) -> str:
        """Returns an unused id."""
        number = _FIRST_ID + self._ids_made
        self._ids_made += 1
        digits = ""
        while number:
            number, digit = divmod(number, 36)
            digits = _DIGITS[digit] + digits
        return digits
