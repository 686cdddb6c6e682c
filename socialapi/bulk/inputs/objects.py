"""Makes blocks of mappings, whose keys may differ from one to the next."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from socialapi.bulk.inputs.reader import IS_BLANK, Block, Fault, Layout, NoRows, Selection, in_lists
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)

LAYOUTS_KEPT: Final = 256
MAX_NAMES_PER_BLOCK: Final = 500
"""Objects that have more names between them do not share a block, so that its empty cells take no memory."""

NOT_AN_OBJECT: Final = Fault("is not a JSON object")

Item = tuple[Any, int]
"""A value, or the fault that is in its place, and the line on which it begins."""
Object = Mapping[Any, Any] | Fault
"""A mapping, or why there is none."""
Keys = tuple[Any, ...]


class ObjectBlocks(Generic[L]):
    """Makes blocks of objects, and remembers the layouts of their keys.

    Objects of an export have a few sets of keys; more of them cost time, not memory.
    """

    def __init__(self, selection: Selection[L]) -> None:
        self._selection = selection
        self._layout_of: Callable[[Keys], tuple[Sequence[str], L]] = functools.lru_cache(LAYOUTS_KEPT)(self._new_layout)
        self._shared_layout_of: Callable[[tuple[Keys, ...]], tuple[Sequence[str], L] | None] = functools.lru_cache(
            LAYOUTS_KEPT
        )(self._new_shared_layout)

    def blocks(
        self, objects: Sequence[Object], first_number: int, lines: Sequence[int] | None = None
    ) -> Iterator[Block[L]]:
        """The objects as blocks, of which there is one if one layout suits all of them."""
        keys = [None if item.__class__ is Fault else tuple(item) for item in objects]  # type: ignore[arg-type]  # which is no mapping
        if (shared := self._layout_of_all(keys)) is not None:
            yield self._block(objects, shared, first_number, lines, is_same=len(set(keys)) == 1)
            return
        start = 0
        for _, same in groupby(keys):
            stop = start + len(list(same))
            found = self._layout_of_all(keys[start:stop])
            assert found is not None  # one set of keys suits itself
            part = None if lines is None else lines[start:stop]
            yield self._block(objects[start:stop], found, first_number + start, part, is_same=True)
            start = stop

    def _layout_of_all(self, keys: Sequence[Keys | None]) -> tuple[Sequence[str], L] | None:
        different = tuple(dict.fromkeys(each for each in keys if each is not None))
        if not different:
            return self._layout_of(())
        return self._layout_of(different[0]) if len(different) == 1 else self._shared_layout_of(different)

    def _block(
        self,
        objects: Sequence[Object],
        found: tuple[Sequence[str], L],
        first_number: int,
        lines: Sequence[int] | None,
        *,
        is_same: bool,
    ) -> Block[L]:
        names, layout = found
        faults = {index: item for index, item in enumerate(objects) if isinstance(item, Fault)}
        columns: list[list[Any]] = []
        for position in layout.positions:
            name = names[position]
            if is_same and not faults:
                columns.append([item[name] for item in objects])  # type: ignore[index]  # none of them is a fault
            else:
                columns.append([None if isinstance(item, Fault) else item.get(name) for item in objects])
        return Block(first_number, len(objects), layout, columns, faults, lines=lines)

    def _new_layout(self, keys: Keys) -> tuple[Sequence[str], L]:
        # Sorted, so that what is made of an object depends neither on its neighbours nor on the order of its keys.
        names = tuple(sorted(key for key in keys if isinstance(key, str)))
        return names, self._selection.of_keys(names)

    def _new_shared_layout(self, different: tuple[Keys, ...]) -> tuple[Sequence[str], L] | None:
        """The layout of all names, if it takes each of them for what it is in the objects that have it."""
        layouts = [self._layout_of(keys) for keys in different]
        names = tuple(sorted({some[at] for some, layout in layouts for at in layout.positions}))
        if len(names) > MAX_NAMES_PER_BLOCK:
            return None
        try:
            shared = self._selection.of_keys(names)
        except InvalidInput:  # which none of them is by itself
            return None
        for some, layout in layouts:
            own = frozenset(some)
            if layout.roles != {role for role in shared.roles if role[0] in own}:
                return None
        return names, shared


def names_of(objects: Sequence[Object]) -> Sequence[str]:
    """Every name that some of the objects have."""
    return tuple(
        dict.fromkeys(key for item in objects if not isinstance(item, Fault) for key in item if isinstance(key, str))
    )


def blocks_of_items(items: Iterator[Item | tuple[()]], selection: Selection[L], expected: str) -> Iterator[Block[L]]:
    """The items of a file in blocks; one that is no mapping is a row with a fault.

    Raises InvalidInput when all of the first items are such, saying what was `expected`, or when they lack what the
    selection needs; NoRows when there are none.
    """
    objects = ObjectBlocks(selection)
    number, is_checked = 1, False
    for some in in_lists(items):
        found: list[Object] = [item if isinstance(item, dict | Fault) else NOT_AN_OBJECT for item, _ in some]
        if not is_checked and any(item is not IS_BLANK for item in found):
            is_checked = True
            if all(isinstance(item, Fault) for item in found):
                raise InvalidInput(f"none of the first {expected}")
            selection.check_keys(names_of(found))
        yield from objects.blocks(found, number, [line for _, line in some])
        number += len(some)
    if number == 1:
        raise NoRows("the array is empty")
