"""Imports lazily, because creating unused classes costs time.

Creating an attrs class takes about half a millisecond, and the package has about two hundred. Imports are deferred in
two ways:

* Public modules re-export names. Each lists them with the modules that define them, and `on_first_use` turns the list
  into the two functions of PEP 562. Type checkers and editors, which cannot follow the list, read the same imports
  under `if TYPE_CHECKING`. The list is under `else`, because type checkers accept any name from a module with a
  `__getattr__`. `lazy_loader` cannot re-export names from outside the package, and `socialapi.types` has only
  such names.
* Everywhere else, the first function that needs a module imports it, and annotations use imports under `if
  TYPE_CHECKING`. Importing a loaded module takes half a microsecond. That is little for a request, but too much for a
  row or an item, so functions called for each of them import nothing.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(
    module: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns the `__getattr__`, `__dir__` and `__all__` of a module.

    `names` maps modules to names, both separated by spaces. The last module defines the names, and the modules before
    it are imported first. A name becomes an ordinary attribute on first use.
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
    """Returns the `__dir__` of a public module that defines classes. It lists their names."""
    found = vars(sys.modules[module])
    return lambda: sorted(
        name
        for name, value in found.items()
        if getattr(value, "__module__", "") == module and name[0] != "_" and isinstance(value, type)
    )
