"""The loops over rows and objects: one interface with two implementations.

`_native`, in C, is used where it was built; else `reference`, in plain Python, which is its
specification and slower. No other module knows which one it is: names, signatures and results are
the same, and tests/speedups holds them equal.

An install without a C compiler succeeds, and has no `_native`. `SOCIALAPI_NO_SPEEDUPS=1` switches it
off for a process, and leaves it out of a wheel that is built. With `SOCIALAPI_HASHING=hashlib` the
extension is used, but hashlib hashes.
"""

import functools
import hashlib
import importlib
import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

SWITCH: Final = "SOCIALAPI_NO_SPEEDUPS"
HASHING: Final = "SOCIALAPI_HASHING"
INTERFACE: Final = 9
"""The number of the interface in C. An extension with another one was built from other sources, and is not used."""
_TESTED_BYTES: Final = (5, 55, 56, 64, 119, 120, 183, 184, 247)
"""Of the texts of the self-test: the shortest and longest of each number of blocks, hashed in pairs and alone."""


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
    if native.INTERFACE != INTERFACE:
        return "built for another version: install the package again"
    return _failure_of_self_test(native)


def _failure_of_self_test(native: Any) -> str:
    texts = ["a@b.c".ljust(size, "z") for size in _TESTED_BYTES]
    if list(native.hash_column(texts, "email")) == [hashlib.sha256(text.encode()).hexdigest() for text in texts]:
        return ""
    why = "its SHA-256 is not that of hashlib"
    warnings.warn(f"the extension in C of socialapi is not used: {why}", RuntimeWarning, stacklevel=2)
    return why


def _why_hashlib() -> str:
    if os.environ.get(HASHING, ""):  # whatever it says: a misspelt word must not leave the hashing to C
        return f"set by {HASHING}"
    try:
        import _hashlib
    except ImportError:  # a Python without OpenSSL
        return ""
    return "OpenSSL is in FIPS mode" if _hashlib.get_fips_mode() else ""


WHY_DISABLED: Final = _why_disabled()
"""Why the extension is not used; empty if it is."""
IS_ENABLED: Final = not WHY_DISABLED
WHY_HASHLIB: Final = _why_hashlib()
"""Why columns are hashed by hashlib though the extension is used; empty if they are hashed in C."""

if TYPE_CHECKING or IS_ENABLED:
    from socialapi._speedups._native import (
        Digests,
        IdentifierTable,
        ObjectReader,
        Users,
        add_null_word,
        add_phone_start,
        hash_column,
    )
else:
    from socialapi._speedups.reference import (
        Digests,
        IdentifierTable,
        ObjectReader,
        Users,
        add_null_word,
        add_phone_start,
        hash_column,
    )

if IS_ENABLED and WHY_HASHLIB:
    from socialapi._speedups.reference import add_null_word, add_phone_start, digests_of

    def hash_column(cells: list[Any] | tuple[Any, ...], kind: str, region: str = "", /) -> Digests:
        """Returns the column that is hashed in C otherwise."""
        return Digests(digests_of(cells, kind, region))


@functools.cache
def log_if_disabled() -> None:
    """Logs once that jobs are slower, as a warning unless that is what the environment asks for."""
    if WHY_DISABLED:
        level = logging.INFO if SWITCH in WHY_DISABLED else logging.WARNING
        logging.getLogger("socialapi").log(level, "jobs run slower without the extension in C: %s", WHY_DISABLED)


def description() -> str:
    """Returns whether the extension is used, and how it hashes, as a line for people."""
    if WHY_DISABLED:
        return f"without speedups ({WHY_DISABLED})"
    if WHY_HASHLIB:
        return f"with speedups (SHA-256 by hashlib: {WHY_HASHLIB})"
    from socialapi._speedups import _native

    return f"with speedups ({_native.sha256_implementation()})"


__all__ = ("Digests", "IdentifierTable", "ObjectReader", "Users", "add_null_word", "add_phone_start", "hash_column")
