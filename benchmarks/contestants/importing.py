"""Imports, and processes that do little else."""

import importlib
import os
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.contestants.measuring import Meter


def imports(order: dict[str, Any]) -> dict[str, Any]:
    """Imports a module, and takes a name from it where one is asked for."""
    meter = Meter()
    module = importlib.import_module(order["imports"])
    if order.get("takes"):
        getattr(module, order["takes"])
    return meter.told(items=1)


def process(order: dict[str, Any]) -> dict[str, Any]:
    """Runs Python with these arguments, in which `{folder}` is that of the order."""
    credentials = ("API_KEY", "API_KEY_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")
    environment = {**os.environ, **{f"SOCIALAPI_{name}": "secret" for name in credentials}}
    environment["SOCIALAPI_ADS_URL"] = f"{order['url']}/ads"
    command = [sys.executable, *(each.replace("{folder}", order["folder"]) for each in order["arguments"])]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "seconds": time.perf_counter() - began,
        "items": done.returncode,
    }
