"""Every row of the routes."""

import importlib
import pkgutil
from typing import Any, Final

from socialapi import routes
from socialapi.routes.route import Route

ROUTES: Final[tuple[Route[Any], ...]] = tuple(
    each
    for module in pkgutil.iter_modules(routes.__path__, f"{routes.__name__}.")
    for each in vars(importlib.import_module(module.name)).values()
    if isinstance(each, Route)
)


def name_of(route: Route[Any]) -> str:
    return f"{route.method} {route.path}"
