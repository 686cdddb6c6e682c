"""Builds the optional extension in C. Everything else about the package is in pyproject.toml."""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("socialapi/_speedups")
SWITCH = "SOCIALAPI_NO_SPEEDUPS"
# Said here as well, because CFLAGS in the environment take the place of those that Python was built with.
OPTIMIZED = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O3"]
FLAGS = [] if os.name == "nt" else ["-std=c11", "-fvisibility=hidden", *OPTIMIZED]

native = Extension(
    "socialapi._speedups._native",
    sources=sorted(map(str, FOLDER.glob("*.c"))),
    depends=sorted(map(str, FOLDER.glob("*.h"))),
    extra_compile_args=FLAGS,
    optional=True,  # the package does everything without it, so that an install needs no compiler
)
is_pure = os.environ.get(SWITCH, "0") not in ("", "0") or "free-threading" in sys.version
setup(ext_modules=[] if is_pure else [native])
