"""Builds the optional extension in C and the description. Everything else about the package is in pyproject.toml."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("socialapi/_speedups")
SWITCH = "SOCIALAPI_NO_SPEEDUPS"
# Said here as well, because CFLAGS in the environment take the place of those that Python was built with.
OPTIMIZED = [] if "-O" in os.environ.get("CFLAGS", "") else ["-O3"]
FLAGS = [] if os.name == "nt" else ["-std=c11", "-fvisibility=hidden", *OPTIMIZED]
LINK = re.compile(r"\]\((?!https:|#)([^)\s]+)\)")


def repository(environment: Mapping[str, str]) -> str:
    """Returns the address of the repository, which the workflow that releases a version knows; else an empty text."""
    name = environment.get("GITHUB_REPOSITORY")
    return f"{environment.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}" if name else ""


def urls(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the links that a package index shows beside the description."""
    address = repository(environment)
    paths = {
        "Source": "",
        "Documentation": "/tree/HEAD/docs",
        "Changelog": "/blob/HEAD/CHANGELOG.md",
        "Issues": "/issues",
        "Security": "/blob/HEAD/SECURITY.md",
    }
    return {name: address + path for name, path in paths.items()} if address else {}


def description(readme: str, environment: Mapping[str, str]) -> str:
    """Returns the README as a package index shows it: with absolute links to the repository.

    Without the repository's address links stay as they are.
    """
    address, commit = repository(environment), environment.get("GITHUB_SHA")
    if not (address and commit):
        return readme

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1].endswith((".png", ".svg")) else "blob"
        return f"]({address}/{kind}/{commit}/{link[1]})"

    return LINK.sub(absolute, readme)


if __name__ == "__main__":
    native = Extension(
        "socialapi._speedups._native",
        sources=sorted(map(str, FOLDER.glob("*.c"))),
        depends=sorted(map(str, FOLDER.glob("*.h"))),
        extra_compile_args=FLAGS,
        # The package does everything without it, so that an install needs no compiler. A wheel for one kind of machine has it.
        optional="CIBUILDWHEEL" not in os.environ,
    )
    is_pure = os.environ.get(SWITCH, "0") not in ("", "0") or "free-threading" in sys.version
    setup(
        ext_modules=[] if is_pure else [native],
        long_description=description(Path("README.md").read_text("utf-8"), os.environ),
        long_description_content_type="text/markdown",
        project_urls=urls(os.environ),
    )
