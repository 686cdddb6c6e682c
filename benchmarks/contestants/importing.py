"""Imports, and nothing else."""

import importlib
from typing import Any

from benchmarks.contestants.measuring import Meter


def imports(order: dict[str, Any]) -> dict[str, Any]:
    """Imports a module, and takes a name from it where one is asked for."""
    meter = Meter()
    module = importlib.import_module(order["imports"])
    if order.get("takes"):
        getattr(module, order["takes"])
    return meter.told(items=1)
