"""Lazy imports, so that classes that are not used cost nothing.

Creating an attrs class takes about half a millisecond, and the package has some two hundred. There
are two ways of deferring them:

* The public modules re-export names. Each lists them with the modules that they live in, and
  `on_first_use` makes of the list the two functions of PEP 562. Type checkers and editors cannot
  follow the list: they read the imports of the same names below `if TYPE_CHECKING`. The list is
  below `else`, because a module with a `__getattr__` has any name for type checkers.
  `lazy_loader` does the same for packages, but cannot name what is outside of the package that
  asks, and `socialapi.types` has nothing else.
* Everywhere else, the first function that needs a module imports it, and annotations use imports
  under `if TYPE_CHECKING`. Importing a loaded module takes half a microsecond: little for a
  request, too much for an item of a page or a row of a file. Functions called for each of these
  therefore import nothing.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(
    module: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns `__getattr__`, `__dir__` and `__all__` of a module.

    `names` has the names that each other module defines, separated by spaces. Modules before it are
    imported with it. A name becomes an ordinary attribute when it is first used.
    """
    this = sys.modules[module]
    homes = {name: home for home, defined in names.items() for name in defined.split()}

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = [importlib.import_module(each) for each in homes[name].split()][-1]
        found = getattr(home, name)
        setattr(this, name, found)
        return found

    return get_attribute, lambda: sorted(homes), sorted(homes)


def own_classes(module: str) -> Callable[[], list[str]]:
    """Returns `__dir__` of a public module that defines classes: their names."""
    found = vars(sys.modules[module])
    return lambda: sorted(
        name
        for name, value in found.items()
        if getattr(value, "__module__", "") == module and name[0] != "_" and isinstance(value, type)
    )
