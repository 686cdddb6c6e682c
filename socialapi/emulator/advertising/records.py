"""Finds, formats, lists and creates the records of advertising calls."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import attrs

from socialapi.emulator.advertising.state import Cursor, Order, Record, Table
from socialapi.emulator.arguments import item_of, wire_fields
from socialapi.emulator.clock import timestamp
from socialapi.emulator.handlers import Call
from socialapi.emulator.paging import Rows, paginate
from socialapi.emulator.responses import Answer, ads_data, ads_not_found


def to_wire(record: Record, model: Any, *, without: Collection[str] = ()) -> dict[str, Any]:
    """Returns the record's documented fields."""
    return {name: record[name] for name in wire_fields(model) if name in record and name not in without}


def answer_record(call: Call, record: Record) -> Answer:
    """Returns the response for a single record."""
    return ads_data(to_wire(record, call.route.result), call.echo)


def require_record(call: Call, kind: str, parameter: str, *, with_deleted: bool = False) -> Record:
    """Returns the account's record with the id in a path parameter. Raises Refusal if there is none."""
    return named(call, call.table(kind), parameter, with_deleted=with_deleted)


def named(call: Call, table: Table, parameter: str, *, with_deleted: bool = False) -> Record:
    """Returns the record with the id in a path parameter. Raises Refusal if there is none."""
    record = table.get(call.path[parameter], with_deleted=with_deleted)
    if record is None:
        raise ads_not_found(parameter)
    return record


def read_record(call: Call, kind: str, parameter: str) -> Record:
    """Returns the account's record with the id in a path parameter. A deleted record is returned only on request."""
    return require_record(call, kind, parameter, with_deleted=call.query.get("with_deleted", False))


def delete_record(call: Call, kind: str, parameter: str) -> Answer:
    """Marks the account's record with the id in a path parameter as deleted, and returns it."""
    record = require_record(call, kind, parameter)
    call.table(kind).change(record, deleted=True, updated_at=timestamp(call.now))
    return answer_record(call, record)


def new_record(call: Call, **fields: Any) -> Record:
    """Returns a new record, created now."""
    now = timestamp(call.now)
    record_id = call.state.advertising.new_id()
    return {"id": record_id, **fields, "created_at": now, "updated_at": now, "deleted": False}


def asked_for(query: Mapping[str, Any], **fields: str) -> Callable[[Record], bool]:
    """Returns a filter for records. Each parameter lists the accepted values of a field, and `q` is a prefix of the
    name.
    """
    wanted = [(field, frozenset(query[name])) for name, field in fields.items() if name in query]
    prefix = query.get("q", "").casefold()

    def is_asked_for(record: Record) -> bool:
        return all(record[field] in values for field, values in wanted) and (
            not prefix or (record["name"] or "").casefold().startswith(prefix)
        )

    return is_asked_for


@attrs.frozen
class TableRows(Rows):
    """The records of a table in the requested order."""

    table: Table
    order: Order | None

    def after(self, cursor: Cursor | None) -> Iterator[int]:
        """Yields the positions after a cursor."""
        return self.table.after(self.order, cursor)

    def cursor_of(self, position: int) -> Cursor:
        """Returns the record's current sort value, and its position."""
        return self.table.cursor_of(self.order, position)


def collection(
    call: Call,
    table: Table,
    *,
    where: Callable[[Record], bool] | None = None,
    show: Callable[[Record], Any] | None = None,
    default_count: int | None = None,
    always_total: bool = False,
) -> Answer:
    """Returns the requested page of the records that `where` accepts, each rendered by `show` or as its documented
    fields.
    """
    with_deleted, rows = call.query.get("with_deleted", False), table.rows

    def accepts(position: int) -> bool:
        record = rows[position]
        return (with_deleted or not record.get("deleted")) and (where is None or where(record))

    field, _, direction = call.query.get("sort_by", "").rpartition("-")
    order = Order(field, direction == "desc") if field else None
    page = paginate(call, TableRows(table, order), accepts, default=default_count)
    present = show or (lambda record: to_wire(record, item_of(call.route)))
    beside: dict[str, Any] = {"next_cursor": page.next_token}
    if always_total or call.query.get("with_total_count"):
        beside["total_count"] = sum(map(accepts, range(len(rows))))
    return ads_data([present(rows[position]) for position in page.positions], call.echo, **beside)
