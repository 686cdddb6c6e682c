"""Reads of collections: filters, order, counts, and cursors that only this service can make (sections 4.1 and 4.11)."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

import orjson

from socialapi.emulator.advertising.parameters import invalid
from socialapi.emulator.advertising.records import Order, Place, Record, Table
from socialapi.emulator.advertising.showing import item_of, shown
from socialapi.emulator.arguments import Arguments
from socialapi.emulator.call import Call
from socialapi.emulator.envelopes import Answer, ads_data
from socialapi.emulator.sealing import opened, sealed

DEFAULT_COUNT: Final = 200

_OF_A_PAGE: Final = frozenset({"cursor", "count", "with_total_count"})
_DEFAULTS: Final[Mapping[str, Any]] = {"with_deleted": False, "with_active": True, "include_legacy_cards": False}
"""Parameters that say nothing when they have these values."""


def collection(
    call: Call,
    arguments: Arguments,
    table: Table,
    *,
    where: Callable[[Record], bool] | None = None,
    show: Callable[[Record], Any] | None = None,
    default_count: int = DEFAULT_COUNT,
    always_total: bool = False,
) -> Answer:
    """The page that is asked for, of the records that `where` accepts, each as `show` has it or as documented.

    A cursor names the record that the page begins behind, and what it was sorted by then: whatever is made or deleted
    in the meantime, no other record is repeated or left out. The last page is the one with nothing behind it.
    """
    query = arguments.query
    with_deleted = query.get("with_deleted", False)

    def accepted(record: Record) -> bool:
        return (with_deleted or not record.get("deleted")) and (where is None or where(record))

    order = _order(query.get("sort_by"))
    size = query.get("count", default_count)
    rows = table.rows
    behind = table.behind(order, place_asked(call, arguments))
    found = list(islice((position for position in behind if accepted(rows[position])), size + 1))
    cursor = cursor_to(call, arguments, table.place_of(order, found[size - 1])) if len(found) > size else None
    present = show or (lambda record: shown(record, item_of(call.route)))
    beside: dict[str, Any] = {"next_cursor": cursor}
    if always_total or query.get("with_total_count"):
        beside["total_count"] = sum(map(accepted, rows))
    return ads_data([present(rows[position]) for position in found[:size]], arguments.echo, **beside)


def place_asked(call: Call, arguments: Arguments) -> Place | None:
    """The place that the page begins behind; None for the first page."""
    if "cursor" not in arguments.query:
        return None
    content = opened(arguments.query["cursor"], _name(call, arguments))
    if content is None:
        raise invalid("cursor", "is not one of this collection with these parameters")
    return Place(*orjson.loads(content))


def cursor_to(call: Call, arguments: Arguments, place: Place) -> str:
    """A cursor to what is behind a place."""
    return sealed(orjson.dumps([place.value, place.position]), _name(call, arguments))


def _order(sort_by: str | None) -> Order | None:
    """The rules have checked it."""
    if sort_by is None:
        return None
    field, _, direction = sort_by.rpartition("-")
    return Order(field, direction == "desc")


def _name(call: Call, arguments: Arguments) -> str:
    """What a cursor is good for: the same reader, path, filters and order, in pages of whatever size."""
    asked = {name: value for name, value in arguments.query.items() if name not in _OF_A_PAGE}
    filters = sorted((name, value) for name, value in asked.items() if _DEFAULTS.get(name) is not value)
    user_id = call.caller.user.id if call.caller.user else ""
    return repr((user_id, call.route.path, sorted(arguments.path.items()), filters))
