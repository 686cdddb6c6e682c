"""Modules whose names are imported on first use, so that nobody pays for classes that are not used.

A class of attrs takes about half a millisecond to make, and the package has some two hundred of them. There are two
ways in which they are put off, and no third:

* The public modules hand out names that live elsewhere. Each has a stub beside it (`types.pyi`), which imports its names
  and is the only list of them: type checkers and editors read it, and `on_first_use` makes of it the two functions that
  PEP 562 asks for. `lazy_loader` does the same for packages; it has no names from outside of the package that asks, and
  `socialapi.types` has no others.
* Everywhere else a function that is the first to need a module imports it, and its annotations name what they need under
  `if TYPE_CHECKING`. An import that was done before takes half a microsecond: little for a request, too much for an
  item of a page or a row of a file, so functions that run for each of these import nothing.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def on_first_use(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module, for the names that its stub imports; they are also its `__all__`.

    The stub is read when the first name is asked for. A name that was asked for once is an ordinary attribute from
    then on.
    """
    this = sys.modules[module]
    homes = functools.cache(lambda: _imported_by_stub(this))

    def get_attribute(name: str) -> Any:
        if name == "__all__":
            found: Any = sorted(homes())
        elif name in homes():
            found = getattr(importlib.import_module(homes()[name]), name)
        else:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        setattr(this, name, found)
        return found

    def directory() -> list[str]:
        return sorted(vars(this).keys() | homes().keys())

    return get_attribute, directory


def _imported_by_stub(module: Any) -> Mapping[str, str]:
    """Each name with the module that it lives in. Every line of a stub is `from there import Name as Name`."""
    spec = module.__spec__
    stub: bytes = spec.loader.get_data(f"{spec.origin.removesuffix('c')}i")  # by the loader: it may be in a zip file
    lines = (line.split() for line in stub.decode().splitlines())
    return {words[3]: words[1] for words in lines if words[:1] == ["from"]}
