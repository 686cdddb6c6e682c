"""Lazy imports, so that classes that are not used cost nothing.

Creating an attrs class takes about half a millisecond, and the package has some two hundred. There
are three ways of deferring them:

* The public modules re-export names. Each has a stub beside it (`types.pyi`) that imports its names
  and is the only list of them: type checkers and editors read it, and `on_first_use` makes of it
  the two functions of PEP 562. `lazy_loader` does the same for packages, but cannot name what is
  outside of the package that asks, and `socialapi.types` has nothing else.
* Everywhere else, the first function that needs a module imports it, and annotations use imports
  under `if TYPE_CHECKING`. Importing a loaded module takes half a microsecond: little for a
  request, too much for an item of a page or a row of a file. Functions called for each of these
  therefore import nothing.
* What a class at the bottom offers and a module far above it does, such as `to_dict()` of every
  model, is asked for by a name: `provided`. The package itself, which is imported before any of its
  modules, says with `provide` who does it. The imports still only go down.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final


def on_first_use(module: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `__getattr__` and `__dir__` of a module, for the names that its stub imports. They
    are its `__all__` too.

    The stub is read when the first name is used. A name becomes an ordinary attribute when it is
    first used.
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
    """Each name with the module that it lives in. Every line of a stub is `from there import Name
    as Name`.
    """
    spec = module.__spec__
    stub: bytes = spec.loader.get_data(f"{spec.origin.removesuffix('c')}i")  # by the loader: it may be in a zip file
    lines = (line.split() for line in stub.decode().splitlines())
    return {words[3]: words[1] for words in lines if words[:1] == ["from"]}


_LOADERS: Final[dict[str, Callable[[], Any]]] = {}


def provide(name: str, load: Callable[[], Any]) -> None:
    """Says how to load the module that does what is asked for by this name."""
    _LOADERS[name] = load


def provided(name: str) -> Any:
    """Returns the module that does what is asked for by this name, which is imported now."""
    return _LOADERS[name]()
