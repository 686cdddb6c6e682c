"""Runs of pytest in a process of their own, as another project has them."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PLUGINS: Final = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:hypothesispytest")
"""Without those that only take time to load."""


def run_pytest(folder: Path, *options: str, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """What pytest says of the tests in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGINS, *options],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
