"""The command line: `socialapi`, or `python -m socialapi`."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command that the arguments name, and exits with its status."""
    try:
        from socialapi.cli.app import main as run
    except KeyboardInterrupt:  # during the third of a second that the imports take
        sys.exit(130)
    run()
