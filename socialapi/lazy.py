"""Lazy imports, so that classes that are not used cost nothing.

Creating an attrs class takes about half a millisecond, and the package has some two hundred. There
are two ways of deferring them, and no third:

* The public modules (`socialapi`, `socialapi.types`) re-export names. A table says where each one
  is defined, and `on_first_use` turns it into the two functions of PEP 562. Type checkers and
  editors read the imports under `if TYPE_CHECKING` instead; `tests/test_imports.py` checks that
  table, imports and `__all__` agree.
* Everywhere else, the first function that needs a module imports it, and annotations use imports
  under `if TYPE_CHECKING`. Importing a loaded module takes half a microsecond: little for a
  request, too much for an item of a page or a row of a file. Functions called for each of these
  therefore import nothing.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` for a module that re-exports names lazily.

    `homes` maps modules to the names they define, separated by blanks; `there:here` renames one. A
    name becomes an ordinary attribute when it is first used.
    """
    places: dict[str, tuple[str, str]] = {}
    for home, names in homes.items():
        for name in names.split():
            there, _, here = name.partition(":")
            places[here or there] = (home, there)

    def get_attribute(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, there = places[name]
        found = getattr(importlib.import_module(home), there)
        setattr(sys.modules[module], name, found)
        return found

    def directory() -> list[str]:
        return sorted(vars(sys.modules[module]).keys() | places.keys())

    return get_attribute, directory
