"""Reads the files of seed data and derives the records that they describe.

A file contains lists of entries. An entry has the fields of a record, and it may have instructions:

- `"like"` is the name of one of the file's `"templates"`. The entry inherits its fields.
- `"count": 3` creates three records from the entry. `"each": {"week": [1, 2], "place": ["Voss", "Bled"]}`
  creates one record for each combination, and the last name changes fastest. `"copies": [2, 1]` repeats
  every record, using each number in turn: the first one twice, the second one once, and so on.

The records of a list are numbered. The number `n` starts at 0, or at the `"first"` of an entry. The
values of fields can depend on it:

- A string may contain names in braces: `{n}`, `{number}` (which is n + 1), `{copy}`, the names in
  `"each"`, and earlier fields of the record. `{name:lower}` and `{name:slug}` change the format, and
  `{{id}}` becomes `{id}`.
- `{"cycle": [...]}` selects the values in turn. A name instead of the list refers to a list that the
  code provides.
- `{"from": 10, "step": 5, "modulo": 50}` is 10 plus the remainder of 5 n divided by 50. If `"from"` is
  a time, the step is in seconds. If it is a number written as a string, the result is a string.
"""

import datetime
import importlib.resources
from collections.abc import Iterator, Mapping
from functools import cache, reduce
from itertools import product
from operator import getitem
from typing import Any, Final

import orjson

from socialapi.emulator.advertising.state import Record
from socialapi.emulator.clock import timestamp

Names = Mapping[str, Any]
"""The variables that a value can use, by name."""

_FILES: Final = importlib.resources.files(__package__)
_INSTRUCTIONS: Final = frozenset({"like", "count", "each", "copies", "first"})


@cache
def contents(file: str) -> Mapping[str, Any]:
    """Returns the content of a file. Callers share it, so modify only the copies that `derived` makes."""
    content: Mapping[str, Any] = orjson.loads((_FILES / f"{file}.json").read_bytes())
    return content


def records(file: str, *path: str, **names: Any) -> Iterator[Record]:
    """Yields the records of the list at a path in a file; fields may also refer to `names`."""
    for fields, numbered in _repeated(file, path):
        yield filled(fields, **names, **numbered)


@cache
def live_ids(file: str, *path: str) -> tuple[str, ...]:
    """Returns the ids of the records that are not deleted."""
    return tuple(derived(fields["id"], names) for fields, names in _repeated(file, path) if not fields.get("deleted"))


def filled(fields: Record, **names: Any) -> Record:
    """Returns a record with all values filled in. Fields may refer to earlier fields and to `names`."""
    record: Record = {}
    known = {name: _word(value) for name, value in names.items()}
    for field, value in fields.items():
        record[field] = derived(value, known)
        known[field] = _word(record[field])
    return record


def derived(value: Any, names: Names) -> Any:
    """Returns a copy of a value with everything filled in."""
    if isinstance(value, str):
        return value.format_map(names) if "{" in value else value
    if isinstance(value, list):
        return [derived(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    if "cycle" in value:
        options = names[value["cycle"]] if isinstance(value["cycle"], str) else value["cycle"]
        return derived(options[names["n"] % len(options)], names)
    if "from" in value:
        added = value["step"] * names["n"]
        return _plus(derived(value["from"], names), added % value["modulo"] if "modulo" in value else added)
    return {field: derived(each, names) for field, each in value.items()}


def _plus(start: str | int, added: int) -> str | int:
    if isinstance(start, int):
        return start + added
    if start.isdigit():
        return str(int(start) + added)
    return timestamp(epoch(start) + added)


def epoch(at: str) -> int:
    """Returns a time in whole epoch seconds."""
    return int(datetime.datetime.fromisoformat(at).timestamp())


def _repeated(file: str, path: tuple[str, ...]) -> Iterator[tuple[Record, Record]]:
    """Yields the fields of each record, not yet filled in, with the variables of the record."""
    entries: Any = reduce(getitem, path, contents(file))
    n = 0
    for entry in entries:
        fields, n = _with_template(file, entry), entry.get("first", n)
        each, copies = entry.get("each", {}), entry.get("copies", [1])
        for values in list(product(*each.values())) * entry.get("count", 1):
            names = {"n": n, "number": n + 1, **dict(zip(each, values, strict=True))}
            for copy in range(copies[n % len(copies)]):
                yield fields, names | {"copy": copy}
            n += 1


def _with_template(file: str, entry: Record) -> Record:
    own = {field: value for field, value in entry.items() if field not in _INSTRUCTIONS}
    if "like" not in entry:
        return own
    return {**_with_template(file, contents(file)["templates"][entry["like"]]), **own}


class _Word(str):
    """A word with its lower-case form (`lower`) and its form in URLs (`slug`)."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if spec == "slug":
            return self.lower().replace(" ", "-").replace("_", "-")
        return self.lower() if spec == "lower" else str(self)


def _word(value: Any) -> Any:
    return _Word(value) if isinstance(value, str) else value
