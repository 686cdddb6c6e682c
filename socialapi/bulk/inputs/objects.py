"""Makes blocks of rows from mappings, which may have different keys."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar, cast

from socialapi.bulk.inputs.columns import looks_personal
from socialapi.bulk.inputs.layouts import Layout
from socialapi.bulk.inputs.reader import (
    COLUMNS_LOOKED_AT,
    IS_BLANK,
    Block,
    NoRows,
    RowProblem,
    Selection,
    in_lists,
    rows_looked_at,
)
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)
T = TypeVar("T")

LAYOUTS_KEPT: Final = 256
MAX_NAMES_KEPT: Final = 500
"""The maximum number of names in a cached layout."""
MAX_KEYS_COMPARED: Final = 16
"""The maximum number of keys of objects that are read column by column. Most further columns would be unused."""
MAX_NAMES_PER_OBJECT: Final = 10_000
"""The maximum number of names in an object. More names are probably data."""
OBJECTS_CHECKED: Final = 1_000
"""The number of objects at the beginning of a file whose names count as the names of the file."""
_LISTS_CHECKED: Final = 8
"""The maximum number of lists that are read to check the names. With large objects, this limit is reached before
`OBJECTS_CHECKED`.
"""
_MAX_DIGITS: Final = 9
"""The limit for the number of digits of an index in a path."""
_MAX_DEPTH: Final = 8
"""The depth to which nested objects are searched for names."""
_KEPT_LENGTH: Final = 20_000
"""The maximum total length of the names in a cached layout."""

NOT_AN_OBJECT: Final = RowProblem("is not a JSON object")
MANY_NAMES: Final = RowProblem(f"has more than {MAX_NAMES_PER_OBJECT:,} names")

Item = tuple[Any, int]
"""A value, or the problem with it, and the number of its first line."""
Object = Mapping[Any, Any] | RowProblem
"""A mapping, or the problem with a value that is not a mapping."""
Keys = frozenset[Any]
Found = tuple[tuple[str, ...], L]
"""The sorted names of an object, and their layout."""


class ObjectBlocks(Generic[L]):
    """Makes blocks of objects with the same keys. Many different sets of keys take time, but no memory."""

    def __init__(self, selection: Selection[L]) -> None:
        self._selection = selection
        self._remembered_layout_of = functools.lru_cache(LAYOUTS_KEPT)(self._new_layout)

    def blocks(
        self, objects: Sequence[Object], first_number: int, lines: Sequence[int] | None = None
    ) -> Iterator[Block[L]]:
        """Yields the objects in blocks. A block ends where the set of keys changes.

        Objects with contradictory keys are unreadable rows. Raises InvalidInput if all of the first objects have such
        keys.
        """
        if first_number == 1:
            self._look_at([each for each in objects if not isinstance(each, RowProblem)])
        if (block := self._block_of_equal(objects, first_number, lines)) is not None:
            yield block
            return
        objects = [
            MANY_NAMES if not isinstance(item, RowProblem) and len(item) > MAX_NAMES_PER_OBJECT else item
            for item in objects
        ]
        # An unreadable row gets the keys of the object before it, or of the first object, so that it does not end
        # a block.
        last: Keys = next((frozenset(item) for item in objects if not isinstance(item, RowProblem)), frozenset())
        keys = [last := last if isinstance(item, RowProblem) else frozenset(item) for item in objects]
        found = {each: self._layout_or_problem(each) for each in dict.fromkeys(keys)}
        problems = [each for each in found.values() if isinstance(each, RowProblem)]
        if len(problems) == len(found) and first_number == 1:
            raise InvalidInput(problems[0].reason)
        start = 0
        for same_keys, same in groupby(keys):
            stop = start + len(list(same))
            part, layout = objects[start:stop], found[same_keys]
            if isinstance(layout, RowProblem):
                part = [item if isinstance(item, RowProblem) else layout for item in part]
                layout = self._layout_of(frozenset())
            yield _block(part, layout, first_number + start, None if lines is None else lines[start:stop])
            start = stop

    def _look_at(self, objects: Sequence[Any]) -> None:
        """Passes the first values of each key to the selection, which looks for overlooked columns."""
        names = names_of(objects[: rows_looked_at(COLUMNS_LOOKED_AT)])[:COLUMNS_LOOKED_AT]
        objects = objects[: rows_looked_at(len(names))]
        self._selection.look_at((name, [each.get(name) for each in objects]) for name in names)

    def _block_of_equal(
        self, objects: Sequence[Object], first_number: int, lines: Sequence[int] | None
    ) -> Block[L] | None:
        """Returns the block if all objects are dictionaries with the same few keys (the usual case), or None."""
        if set(map(type, objects)) != {dict}:
            return None
        dictionaries = cast("Sequence[dict[Any, Any]]", objects)
        keys = frozenset(dictionaries[0])
        if len(keys) > MAX_KEYS_COMPARED or set(map(len, dictionaries)) != {len(keys)}:
            return None
        try:  # the same number of keys and no missing key mean the same keys
            cells = {key: list(map(itemgetter(key), dictionaries)) for key in keys}
        except KeyError:
            return None
        found = self._layout_or_problem(keys)
        if isinstance(found, RowProblem):
            return None
        names, layout = found
        return Block(first_number, len(objects), layout, [cells[names[at]] for at in layout.positions], lines=lines)

    def _layout_or_problem(self, keys: Keys) -> Found[L] | RowProblem:
        try:
            return self._layout_of(keys)
        except InvalidInput as error:
            return RowProblem(error.message)

    def _layout_of(self, keys: Keys) -> Found[L]:
        is_small = len(keys) <= MAX_NAMES_KEPT and sum(map(len, filter(_is_text, keys))) <= _KEPT_LENGTH
        return self._remembered_layout_of(keys) if is_small else self._new_layout(keys)

    def _new_layout(self, keys: Keys) -> Found[L]:
        names = tuple(sorted(filter(_is_text, keys)))  # the order of a set is random
        return names, self._selection.of_keys(names)


def _is_text(key: Any) -> bool:
    return isinstance(key, str)


def _block(objects: Sequence[Object], found: Found[L], first_number: int, lines: Sequence[int] | None) -> Block[L]:
    names, layout = found
    problems = {index: item for index, item in enumerate(objects) if isinstance(item, RowProblem)}
    columns = [
        [None if isinstance(item, RowProblem) else item.get(names[position]) for item in objects]
        for position in layout.positions
    ]
    return Block(first_number, len(objects), layout, columns, problems, lines=lines)


def add_member(members: dict[str, Any], name: str, value: Any) -> None:
    """Adds a value to an object. Two different values become a list, so that neither of them is used."""
    members[name] = value if members.get(name, value) == value else [members[name], value]


def names_of(objects: Sequence[Object]) -> Sequence[str]:
    """Returns all names of these objects."""
    return tuple(
        dict.fromkeys(
            key for item in objects if not isinstance(item, RowProblem) for key in item if isinstance(key, str)
        )
    )


def with_paths(objects: Sequence[Any], selection: Selection[Any]) -> Sequence[Any]:
    """Returns the objects, flattened by the selection, with the values at the given paths added."""
    objects, paths = selection.flattened(objects), selection.paths
    if not paths:
        return objects
    return [item if isinstance(item, RowProblem) else {**_at_paths(item, paths), **item} for item in objects]


def _at_paths(item: Mapping[Any, Any], paths: Sequence[str]) -> Mapping[str, Any]:
    return {path: value for path in paths if path not in item and (value := value_at(item, path)) is not None}


def value_at(item: Any, path: str) -> Any:
    """Returns the value at a path of names and indexes. For a list, returns the values at that path in each item."""
    found = item
    for step in path.split("."):
        if isinstance(found, Mapping):
            found = found.get(step)
        elif not isinstance(found, list | tuple):
            return None
        elif step.isdecimal():
            found = found[int(step)] if len(step) < _MAX_DIGITS and int(step) < len(found) else None
        else:
            found = [each.get(step) for each in found if isinstance(each, Mapping)]
    return found


def check_names(names: Sequence[str], objects: Iterable[Any], selection: Selection[Any]) -> None:
    """Raises InvalidInput if the names in the first objects show that the input cannot be used."""
    with advice_on_paths(objects, selection):
        selection.check_keys(names)


@contextlib.contextmanager
def advice_on_paths(objects: Iterable[Any], selection: Selection[Any]) -> Iterator[None]:
    """Adds advice to an InvalidInput error if a nested object has a known name."""
    try:
        yield
    except InvalidInput as error:
        known = (path for each in objects for path in paths_in(each) if selection.role_of(_last(path)))
        if (path := next(known, None)) is None:
            raise
        named = f'columns={{"{selection.role_of(_last(path))}": "{path}"}}'
        advice = (
            f"; for a value in a nested object, give its path, as in {named}; write objects that are rows as an array"
        )
        raise InvalidInput(error.message + advice) from None


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def paths_in(item: Any, before: str = "", depth: int = 0) -> Iterator[str]:
    """Yields the paths of the values in nested objects, including the first object in a list."""
    for name, value in item.items() if _is_mapping(item) and depth < _MAX_DEPTH else ():
        first = next(filter(_is_mapping, value), None) if isinstance(value, list) else value
        if _is_mapping(first):
            yield from paths_in(first, f"{before}{name}.", depth + 1)
        elif before and isinstance(name, str) and not looks_personal(name):
            yield before + name


def _with_first_items(lists: Iterator[list[Item]]) -> Iterator[tuple[list[Item], list[Item]]]:
    """Yields each list, and the items for checking the file. The first check includes items of later lists."""
    head, error = list[list[Item]](), None
    try:
        while len(head) < _LISTS_CHECKED and sum(map(len, head)) < OBJECTS_CHECKED:
            head.append(next(lists))
    except StopIteration:
        pass
    except Exception as fault:  # noqa: BLE001 - raised again below
        error = fault
    while head:
        yield head[0], [item for some in head for item in some]
        del head[0]
    if error is not None:
        raise error
    yield from ((some, some) for some in lists)


def _objects_of(items: Sequence[Item], selection: Selection[Any]) -> Sequence[Object]:
    return with_paths([item if isinstance(item, dict | RowProblem) else NOT_AN_OBJECT for item, _ in items], selection)


def blocks_of_items(items: Iterator[Item | tuple[()]], selection: Selection[L], expected: str) -> Iterator[Block[L]]:
    """Yields the items of a file in blocks. An item that is not a mapping becomes an unreadable row.

    Raises NoRows if there are no items. Raises InvalidInput if none of the first items is a mapping (`expected`
    completes the message), or if they lack a name that the selection needs.
    """
    objects = ObjectBlocks(selection)
    number, is_checked = 1, False
    for some, first_items in _with_first_items(in_lists(items)):
        if not is_checked and any(item is not IS_BLANK for item, _ in some):
            is_checked = True
            found = _objects_of(first_items, selection)
            if all(isinstance(item, RowProblem) for item in found):
                first = next(item.reason for item in found if isinstance(item, RowProblem) and item is not IS_BLANK)
                raise InvalidInput(f"none of the first {expected}. The first one {first}")
            check_names(names_of(found[:OBJECTS_CHECKED]), found, selection)
        yield from objects.blocks(_objects_of(some, selection), number, [line for _, line in some])
        number += len(some)
    if number == 1:
        raise NoRows("the array is empty")
