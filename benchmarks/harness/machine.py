"""Where something was measured, and with which versions."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

LIBRARIES: Final = (
    "aiosocialapi",
    "aiohttp",
    "attrs",
    "cattrs",
    "orjson",
    "oauthlib",
    "requests-oauthlib",
    "pyarrow",
    "tweepy",
    "xdk",
    "twitter-ads",
    "facebook-business",
    "httpx",
    "requests",
)


def machine() -> str:
    """The processor, how many of it, the memory, the system and the interpreter, as one sentence."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB of memory, {platform.system()} "
        f"{platform.release()}, {platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("ascii", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def versions(names: Iterable[str] = LIBRARIES) -> str:
    """Those that are installed, with their versions."""
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
