"""Reads the files of seed data and derives the records that they describe.

A file has lists of entries. An entry is the fields of a record, and it may have instructions:

- `"like"` names one of the file's `"templates"`, whose fields the entry takes over.
- `"count": 3` makes three records of it, and `"each": {"week": [1, 2], "place": ["Voss", "Bled"]}`
  one for each combination, of which the last name changes fastest. With `"copies": [2, 1]` every
  record comes as often as the numbers say, in turn.

The records of a list are numbered: `n` begins at 0, and anew at what `"first"` of an entry says.
The values of fields can depend on it:

- A text may have names in braces: `{n}`, `{number}` (one more), `{copy}`, the names of `"each"`,
  and fields that stand before it in the record. `{name:lower}` and `{name:slug}` change how they
  are written, and `{{id}}` is left as `{id}`.
- `{"cycle": [...]}` is one of the values after the other. A name in place of the list is a list
  that the code provides.
- `{"from": 10, "step": 5, "modulo": 50}` is 10 plus the rest of 5 n divided by 50. If it starts
  from a time, the step is in seconds; if from a number written as a text, it gives a text.
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
    """Returns the content of a file. Callers share it, so only copies that `derived` makes may change."""
    content: Mapping[str, Any] = orjson.loads((_FILES / f"{file}.json").read_bytes())
    return content


def records(file: str, *path: str, **names: Any) -> Iterator[Record]:
    """Yields the records of the list at a path in a file; fields may refer to `names`, too."""
    for fields, numbered in _repeated(file, path):
        yield filled(fields, **names, **numbered)


@cache
def live_ids(file: str, *path: str) -> tuple[str, ...]:
    """Returns the ids of the records that are not deleted."""
    return tuple(derived(fields["id"], names) for fields, names in _repeated(file, path) if not fields.get("deleted"))


def filled(fields: Record, **names: Any) -> Record:
    """Returns a record with all values filled in; fields may refer to those before them."""
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
    """Returns the epoch seconds of a time without fractions."""
    return int(datetime.datetime.fromisoformat(at).timestamp())


def _repeated(file: str, path: tuple[str, ...]) -> Iterator[tuple[Record, Record]]:
    """Yields the fields of each record, not yet filled in, with the variables that belong to it."""
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
