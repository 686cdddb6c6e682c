"""Fast loops over rows and objects: one interface with two implementations.

`_native`, in C, is used if it was built. Otherwise `reference` is used, a slower version in plain Python that is the
specification. Both have the same names, signatures and results, which tests/speedups compares, so other modules need
not know which one is used.

Installing without a C compiler succeeds, without `_native`. `SOCIALAPI_NO_SPEEDUPS=1` disables it for a process, and
excludes it when a wheel is built. With `SOCIALAPI_HASHING=hashlib`, the extension is used except for hashing.
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
"""The version of the C interface. An extension with a different version is not used."""
_TESTED_BYTES: Final = (5, 55, 56, 64, 119, 120, 183, 184, 247)
"""The string sizes in the self-test: the shortest and longest for each number of blocks, in pairs and alone."""


def _why_disabled() -> str:
    if os.environ.get(SWITCH, "0") not in ("", "0"):
        return f"switched off by {SWITCH}"
    if "free-threading" in sys.version:  # importing it would enable the lock for the entire program
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
    why = "its SHA-256 differs from hashlib's"
    warnings.warn(f"the C extension of socialapi is not used: {why}", RuntimeWarning, stacklevel=2)
    return why


def _why_hashlib() -> str:
    if os.environ.get(HASHING, ""):  # any value, because a misspelled one must not select C
        return f"set by {HASHING}"
    try:
        import _hashlib
    except ImportError:  # a Python without OpenSSL
        return ""
    return "OpenSSL is in FIPS mode" if _hashlib.get_fips_mode() else ""


WHY_DISABLED: Final = _why_disabled()
"""The reason why the extension is not used; empty if it is used."""
IS_ENABLED: Final = not WHY_DISABLED
WHY_HASHLIB: Final = _why_hashlib()
"""The reason why hashlib hashes columns although the extension is used; empty if C hashes them."""

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
        """Hashes a column with hashlib, with the same result as the extension."""
        return Digests(digests_of(cells, kind, region))


@functools.cache
def log_if_disabled() -> None:
    """Logs once that jobs are slower: as information if the environment disables the extension, else as a warning."""
    if WHY_DISABLED:
        level = logging.INFO if SWITCH in WHY_DISABLED else logging.WARNING
        logging.getLogger("socialapi").log(level, "jobs run slower without the C extension: %s", WHY_DISABLED)


def description() -> str:
    """Returns a line of text that says whether the extension is used and how it hashes."""
    if WHY_DISABLED:
        return f"without speedups ({WHY_DISABLED})"
    if WHY_HASHLIB:
        return f"with speedups (SHA-256 by hashlib: {WHY_HASHLIB})"
    from socialapi._speedups import _native

    return f"with speedups ({_native.sha256_implementation()})"


__all__ = ("Digests", "IdentifierTable", "ObjectReader", "Users", "add_null_word", "add_phone_start", "hash_column")
