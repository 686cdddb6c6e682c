"""The optional extension in C.

Every function of the extension has a twin in Python that does the same, and is the reference: the
tests hold them equal. Modules that have such a twin take one of them when they are imported, by
`IS_ENABLED`.

An install without a C compiler succeeds, and has no extension. `SOCIALAPI_NO_SPEEDUPS=1` switches
it off for a process, and leaves it out of a wheel that is built.
"""

import importlib
import os
import sys
from typing import Final

SWITCH: Final = "SOCIALAPI_NO_SPEEDUPS"
INTERFACE: Final = 3
"""The number of the functions that Python calls. An extension with another one was built from other
sources, and is not used.
"""


def _why_disabled() -> str:
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        return f"switched off by {SWITCH}"
    if "free-threading" in sys.version:  # importing it would turn the lock on for the whole program
        return "not made for a free-threaded Python: it relies on the global interpreter lock"
    try:
        native = importlib.import_module("socialapi._speedups._native")
    except ModuleNotFoundError:
        return "not built: an install with a C compiler builds it (pip install --no-cache-dir --force-reinstall)"
    except ImportError as problem:
        return f"cannot be loaded: {problem}"
    return "" if native.INTERFACE == INTERFACE else "built for another version: install the package again"


WHY_DISABLED: Final = _why_disabled()
"""Why the extension is not used; empty if it is."""
IS_ENABLED: Final = not WHY_DISABLED


def description() -> str:
    """Returns whether the extension is used, and how it hashes, as a line for people."""
    if WHY_DISABLED:
        return f"without speedups ({WHY_DISABLED})"
    from socialapi._speedups import _native

    return f"with speedups ({_native.sha256_implementation()})"
