"""All endpoints of the service: importing the modules of its areas registers their handlers."""

import importlib
import pkgutil
from types import ModuleType
from typing import Final

from socialapi.emulator import advertising, auth, catalogs, creatives, oauth, platform
from socialapi.emulator.handlers import ENDPOINTS, Endpoint
from socialapi.emulator.routing import PathTable, mounted_path

AREAS: Final = (platform, advertising, creatives, catalogs, oauth)


def _modules(area: ModuleType) -> list[ModuleType]:
    names = (found.name for found in pkgutil.iter_modules(area.__path__, f"{area.__name__}."))
    return [importlib.import_module(name) for name in names]


HANDLER_MODULES: Final = (auth, *(module for area in AREAS for module in _modules(area)))

ENDPOINT_TABLE: Final[PathTable[Endpoint]] = PathTable(
    (endpoint.route.method, mounted_path(endpoint.route), endpoint) for endpoint in ENDPOINTS
)
