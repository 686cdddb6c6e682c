"""Who changed what and when, by entity: made up for the seed data, written down from then on (section 4.2)."""

from collections.abc import Callable, Iterable
from typing import Any

from socialapi.emulator.advertising.records import Record, Table

Seeded = Callable[[str, Record], Iterable[Record]]
"""The entries that an entity of a type begins with."""

_KINDS = {
    "CAMPAIGN": "campaigns",
    "LINE_ITEM": "line_items",
    "PROMOTED_TWEET": "promoted_tweets",
    "TARGETING_CRITERIA": "targeting_criteria",
    "PROMOTED_ACCOUNT": "promoted_accounts",
}


def kind_of(entity_type: str) -> str:
    """The kind of records that entities of a type are."""
    return _KINDS[entity_type]


class History:
    """The changes of each entity, the oldest first. `seeded` says what happened before the start."""

    def __init__(self) -> None:
        self.seeded: Seeded = _nothing
        self._of: dict[tuple[str, str], Table] = {}

    def of(self, entity_type: str, entity: Record) -> Table:
        """The changes of an entity, which must not have been changed unseen."""
        key = (entity_type, entity["id"])
        table = self._of.get(key)
        if table is None:
            entries = list(self.seeded(entity_type, entity))
            table = self._of[key] = Table(lambda: _numbered(entries))
        return table

    def note(self, entity_type: str, before: Record, after: Record, *, at: str, user_id: str) -> None:
        """Writes down a change that was made through the API; nothing if nothing has another value."""
        table = self.of(entity_type, before)
        fields = [name for name in after if name != "updated_at" and before.get(name) != after[name]]
        if fields:
            changes = {name: {"before": before.get(name), "after": after[name]} for name in fields}
            change = "DELETE" if "deleted" in changes else "UPDATE"
            made = entry(entity_type, after, change, at=at, by=(user_id, "API"), changes=changes)
            table.add({"id": str(len(table.rows)), **made})


def _nothing(entity_type: str, entity: Record) -> Iterable[Record]:
    return ()


def entry(
    entity_type: str,
    snapshot: Record,
    change_type: str,
    *,
    at: str,
    by: tuple[str, str],
    changes: dict[str, Any] | None = None,
) -> Record:
    """A change, with the entity as it was after it; `by` are user and platform."""
    return {
        "entity": entity_type,
        "entity_id": snapshot["id"],
        "entity_data": dict(snapshot),
        "change_type": change_type,
        "change_time": at,
        "changes": changes or {},
        "change_by": {"user_id": by[0], "platform": by[1]},
    }


def _numbered(entries: list[Record]) -> Iterable[Record]:
    return ({"id": str(number), **each} for number, each in enumerate(entries))
