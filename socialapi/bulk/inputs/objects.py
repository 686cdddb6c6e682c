"""Makes blocks of mappings, whose keys may differ from one to the next."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar, cast

from socialapi.bulk.inputs.columns import MAX_NAME_LENGTH
from socialapi.bulk.inputs.reader import (
    COLUMNS_LOOKED_AT,
    IS_BLANK,
    ROWS_LOOKED_AT,
    Block,
    Fault,
    Layout,
    NoRows,
    Selection,
    in_lists,
)
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)
T = TypeVar("T")

LAYOUTS_KEPT: Final = 256
ROLES_KEPT: Final = 4_096
MAX_NAMES_PER_BLOCK: Final = 500
"""Objects that have more names between them do not share a block, so that its empty cells take no
memory.
"""
MAX_KEYS_COMPARED: Final = 16
"""Of objects with more keys, the values of most would be fetched for nothing."""
MAX_NAMES_PER_OBJECT: Final = 10_000
"""More are data: each of them would be looked at."""
_KEPT_LENGTH: Final = 20_000
"""Of the names of a layout that is remembered, together."""

NOT_AN_OBJECT: Final = Fault("is not a JSON object")
MANY_NAMES: Final = Fault(f"has more than {MAX_NAMES_PER_OBJECT:,} names")

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
        self._role_of: Callable[[str], str] = functools.lru_cache(ROLES_KEPT)(selection.role_of)
        self._layout_of: Callable[[Keys], tuple[Sequence[str], L]] = _remembered(self._new_layout)
        self._shared_layout_of: Callable[[Keys], tuple[tuple[Sequence[str], L], Keys] | None] = _remembered(
            self._new_shared_layout
        )

    def blocks(
        self, objects: Sequence[Object], first_number: int, lines: Sequence[int] | None = None
    ) -> Iterator[Block[L]]:
        """The objects as blocks, of which there is one if one layout suits all of them."""
        if first_number == 1:
            self._look_at([each for each in objects[:ROWS_LOOKED_AT] if each.__class__ is dict])
        if (block := self._block_of_equal(objects, first_number, lines)) is not None:
            yield block
            return
        keys = [None if item.__class__ is Fault else tuple(item) for item in objects]  # type: ignore[arg-type]  # which is no mapping
        different = dict.fromkeys(keys)
        if max((len(each) for each in different if each is not None), default=0) > MAX_NAMES_PER_OBJECT:
            is_wide = [each is not None and len(each) > MAX_NAMES_PER_OBJECT for each in keys]
            objects = [MANY_NAMES if wide else item for item, wide in zip(objects, is_wide, strict=True)]
            keys = [None if wide else each for each, wide in zip(keys, is_wide, strict=True)]
            different = dict.fromkeys(keys)
        if (shared := self._layout_of_all(different)) is None:
            yield from self._blocks_apart(objects, keys, first_number, lines)
        else:
            yield self._block(objects, shared, first_number, lines, is_same=len(different) == 1)

    def _look_at(self, objects: Sequence[Any]) -> None:
        """Shows the selection the values of the first dictionaries by their keys."""
        names = islice(names_of(objects), COLUMNS_LOOKED_AT)
        self._selection.look_at((name, [each.get(name) for each in objects]) for name in names)

    def _block_of_equal(
        self, objects: Sequence[Object], first_number: int, lines: Sequence[int] | None
    ) -> Block[L] | None:
        """The block of dictionaries that have the same keys, as nearly all do; None if they are not
        found to be such without a look at each.
        """
        if set(map(type, objects)) != {dict}:
            return None
        dictionaries = cast("Sequence[dict[Any, Any]]", objects)
        keys = tuple(dictionaries[0])
        if len(keys) > MAX_KEYS_COMPARED or set(map(len, dictionaries)) != {len(keys)}:
            return None
        try:  # as many keys, and all of these, are the same
            cells = {key: list(map(itemgetter(key), dictionaries)) for key in keys}
        except KeyError:
            return None
        names, layout = self._layout_of(keys)
        return Block(first_number, len(objects), layout, [cells[names[at]] for at in layout.positions], lines=lines)

    def _blocks_apart(
        self, objects: Sequence[Object], keys: Sequence[Keys | None], first_number: int, lines: Sequence[int] | None
    ) -> Iterator[Block[L]]:
        """The objects as blocks of those with the same keys. Keys that contradict each other are a
        fault of their objects.

        Raises InvalidInput if that are all objects.
        """
        found = {each: self._layout_or_fault(each) for each in dict.fromkeys(keys)}
        faults = [each for each in found.values() if isinstance(each, Fault)]
        if len(faults) == len(found):
            raise InvalidInput(faults[0].reason)
        start = 0
        for each, same in groupby(keys):
            stop = start + len(list(same))
            part, of_part, layout = objects[start:stop], None if lines is None else lines[start:stop], found[each]
            if isinstance(layout, Fault):
                part, layout = [layout] * len(part), self._layout_of(())
            yield self._block(part, layout, first_number + start, of_part, is_same=True)
            start = stop

    def _layout_or_fault(self, keys: Keys | None) -> tuple[Sequence[str], L] | Fault:
        try:
            return self._layout_of(keys or ())
        except InvalidInput as error:
            return Fault(error.message)

    def _layout_of_all(self, keys: Iterable[Keys | None]) -> tuple[Sequence[str], L] | None:
        different = tuple(dict.fromkeys(each for each in keys if each is not None))
        if not different:
            return self._layout_of(())
        if len(different) == 1:
            return self._layout_of(different[0])
        names = tuple(sorted({key for key in chain.from_iterable(different) if isinstance(key, str)}))
        if (shared := self._shared_layout_of(names)) is None:
            return None
        found, doubtful = shared
        parts = {tuple(name for name in doubtful if name in own) for own in different} if doubtful else ()
        return found if all(self._is_same_alone(part, found[1]) for part in parts) else None

    def _is_same_alone(self, names: Keys, shared: L) -> bool:
        """Whether a layout takes these names for what they are where there are no others."""
        _, alone = self._layout_of(names)
        return alone.roles == {role for role in shared.roles if role[0] in names}

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
        faults: dict[int, Fault] = {}
        if Fault in set(map(type, objects)):
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
        # Sorted, so that what is made of an object depends neither on its neighbours nor on the
        # order of its keys.
        names = tuple(sorted(key for key in keys if isinstance(key, str)))
        return names, self._selection.of_keys(names)

    def _new_shared_layout(self, names: Keys) -> tuple[tuple[Sequence[str], L], Keys] | None:
        """The layout of all names, and those of them that may be taken for something else in some
        of the objects.

        What a name is taken for depends at most on others that are taken for the same. If it is the
        same alone as among all names, so it is in any object.
        """
        alone = {(name, role) for name in names if (role := self._role(name))}
        if len(alone) > MAX_NAMES_PER_BLOCK:
            return None
        try:
            shared = self._selection.of_keys(names)
        except InvalidInput:  # which none of them is by itself
            return None
        differing = {role for _, role in alone ^ shared.roles}
        doubtful = {name for name, role in alone | shared.roles if role in differing}
        return (names, shared), tuple(sorted(doubtful))

    def _role(self, name: str) -> str:
        return self._role_of(name) if len(name) <= MAX_NAME_LENGTH else self._selection.role_of(name)


def _remembered(find: Callable[[Keys], T]) -> Callable[[Keys], T]:
    """As the function, which is called once for keys that come again soon, unless they are too many
    to keep.
    """
    kept = functools.lru_cache(LAYOUTS_KEPT)(find)

    def found(keys: Keys) -> T:
        is_small = (
            len(keys) <= MAX_NAMES_PER_BLOCK and sum(len(key) for key in keys if isinstance(key, str)) <= _KEPT_LENGTH
        )
        return kept(keys) if is_small else find(keys)

    return found


def names_of(objects: Sequence[Object]) -> Sequence[str]:
    """Every name that some of the objects have."""
    return tuple(
        dict.fromkeys(key for item in objects if not isinstance(item, Fault) for key in item if isinstance(key, str))
    )


def blocks_of_items(items: Iterator[Item | tuple[()]], selection: Selection[L], expected: str) -> Iterator[Block[L]]:
    """The items of a file in blocks; one that is no mapping is a row with a fault.

    Raises InvalidInput when all of the first items are such, saying what was `expected`, or when
    they lack what the selection needs; NoRows when there are none.
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
