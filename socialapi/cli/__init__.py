"""The command line: `socialapi`, also `python -m socialapi`."""

from socialapi.cli.app import main

__all__ = ["main"]
