"""The folder of the hook of PyInstaller, which an entry point in `pyproject.toml` names."""

from pathlib import Path


def hook_dirs() -> list[str]:
    """Returns the folder that has the hook, as PyInstaller asks for it."""
    return [str(Path(__file__).parent)]
