"""Both implementations of `socialapi._speedups`: the reference, and the one in C where it is used."""

import importlib
from typing import Any, Final

import pytest

from socialapi._speedups import IS_ENABLED, reference

REFERENCE: Final[Any] = reference
NATIVE: Final[Any] = importlib.import_module("socialapi._speedups._native") if IS_ENABLED else None
EACH: Final = pytest.mark.parametrize(
    "speedups", [pytest.param(REFERENCE, id="reference"), *([pytest.param(NATIVE, id="native")] if IS_ENABLED else [])]
)
IN_C: Final = pytest.mark.skipif(not IS_ENABLED, reason="the extension is not used here")
