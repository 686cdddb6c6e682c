"""Modules whose names are imported on first use, so that nobody pays for classes that are not used.

A class of attrs takes about half a millisecond to make, and the package has some two hundred of them. There are two
ways in which they are put off, and no third:

* The public modules (`socialapi`, `socialapi.types`) hand out names that live elsewhere. They say where in a table, and
  `on_first_use` makes of it the two functions that PEP 562 asks for. Type checkers and editors read the imports under
  `if TYPE_CHECKING` instead; `tests/test_imports.py` sees to it that table, imports and `__all__` agree.
* Everywhere else a function that is the first to need a module imports it, and its annotations name what they need under
  `if TYPE_CHECKING`. An import that was done before takes half a microsecond: little for a request, too much for an
  item of a page or a row of a file, so functions that run for each of these import nothing.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(module: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module, for names that live in others.

    `homes` has the names by the module that they live in, separated by blanks; `there:here` is a name that is another
    one here. A name that was asked for once is an ordinary attribute from then on.
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
