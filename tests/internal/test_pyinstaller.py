"""The hook by which PyInstaller finds what is imported by a name. `make bundle` makes a bundle with it."""

import importlib
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def test_the_entry_point_names_the_folder_of_the_hook() -> None:
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    module, _, function = entry_points["pyinstaller40"]["hook-dirs"].partition(":")
    (folder,) = getattr(importlib.import_module(module), function)()
    assert (Path(folder) / "hook-socialapi.py").is_file()
