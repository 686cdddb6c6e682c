"""All targets, by their names.

A module has the targets of one subject, however few: a search imports the module of its target
alone, and only what that one imports is instrumented.
"""

import argparse
import importlib
from typing import Final

from socialapi._speedups import IS_ENABLED
from tests.fuzz import answers, exports, files, hooks, services, stores, texts
from tests.fuzz.target import TARGETS, Target

MODULES: Final = (answers, exports, files, hooks, services, stores, texts)
if IS_ENABLED:
    importlib.import_module("tests.fuzz.native")

ALL: Final[dict[str, Target]] = dict(sorted(TARGETS.items()))


def target_name(text: str) -> str:
    """An argument that is the name of a target. `choices` would refuse a list of none."""
    if text not in ALL:
        raise argparse.ArgumentTypeError(f"there is no target {text!r}; the targets are {', '.join(ALL)}")
    return text
