"""The command line: `socialapi`, also `python -m socialapi`."""

import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Runs the command that the arguments name, and ends the process with its exit status."""
    try:
        from socialapi.cli.app import main as run
    except KeyboardInterrupt:  # in the third of a second that the imports take
        sys.exit(130)
    run()
