"""One contestant doing one job: `python -m benchmarks.contestant <module> <job>`.

Standard input has the order, standard output gets what it took, both as one JSON object. Nothing is imported here that a
contestant might not import, so that importing can be measured, too.
"""

import importlib
import json
import sys


def main(module: str, job: str) -> None:
    """Does the job; a contestant that is not installed, or cannot do it, is told as absent."""
    order, name = json.load(sys.stdin), f"benchmarks.contestants.{module}"
    try:
        told = getattr(importlib.import_module(name), job)(order)
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith(("socialapi.", "benchmarks.")) and problem.name != name:
            raise
        told = {"absent": f"{problem.name} is not installed"}
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
