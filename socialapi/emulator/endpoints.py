"""Everything that the emulator serves: the modules with handlers, loaded once."""

import functools
import importlib
import pkgutil
from typing import Final

from socialapi.emulator import advertising, catalogs, creatives, oauth, platform
from socialapi.emulator.handlers import ENDPOINTS, Endpoint

AREAS: Final = (platform, advertising, creatives, catalogs, oauth)


@functools.cache
def endpoints() -> tuple[Endpoint, ...]:
    """All endpoints. A handler registers itself when its module is imported."""
    for area in AREAS:
        for module in pkgutil.iter_modules(area.__path__, f"{area.__name__}."):
            importlib.import_module(module.name)
    return tuple(ENDPOINTS)
