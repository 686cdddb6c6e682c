"""The folder of the PyInstaller hook, for the entry point in `pyproject.toml`."""

from pathlib import Path


def hook_dirs() -> list[str]:
    """Returns the folders with hooks, in the form that PyInstaller expects."""
    return [str(Path(__file__).parent)]
