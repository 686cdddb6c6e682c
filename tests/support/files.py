"""What stands in files and folders. Of coroutines that wait for a disk a linter would complain, and no test does more."""

import stat
from pathlib import Path


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())
