"""Which creatives a read asks for: lists of ids and kinds, and beginnings of names."""

from collections.abc import Callable, Mapping
from typing import Any

from socialapi.emulator.advertising.records import Record


def asked_for(query: Mapping[str, Any], **fields: str) -> Callable[[Record], bool]:
    """Whether a record has what the parameters list, in the field that stands for each; `q` begins its name."""
    wanted = [(field, frozenset(query[name])) for name, field in fields.items() if name in query]
    prefix = query.get("q", "").casefold()

    def is_asked_for(record: Record) -> bool:
        return all(record[field] in values for field, values in wanted) and (
            not prefix or (record["name"] or "").casefold().startswith(prefix)
        )

    return is_asked_for
