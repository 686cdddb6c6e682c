"""Deletes journals, snapshots, digest files and rejects files, each with the helper files next to it."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Final, Literal

from socialapi.bulk.journals.sqlite_journal import SCHEMA as JOURNAL_SCHEMA
from socialapi.bulk.output_file import part_of
from socialapi.bulk.products.snapshot import SCHEMA as DIGESTS_SCHEMA
from socialapi.bulk.rejects import RejectsFile
from socialapi.bulk.sync.scratch import remove_scratch, scratch_folder
from socialapi.bulk.sync.snapshot import SCHEMA as SNAPSHOT_SCHEMA
from socialapi.errors import ConfigurationError
from socialapi.internal.file_lock import FileLock
from socialapi.internal.sqlite_file import application_id_of, is_in_use, remove_file, remove_files

Kind = Literal["journal", "snapshot", "digest file", "rejects file"]

_KINDS: Final[dict[int, Kind]] = {
    JOURNAL_SCHEMA.application_id: "journal",
    SNAPSHOT_SCHEMA.application_id: "snapshot",
    DIGESTS_SCHEMA.application_id: "digest file",
}


def kind_of(path: str | os.PathLike[str]) -> Kind | None:
    """Detects the kind of a file from its first bytes. Returns "snapshot" even if only the scratch files of a snapshot
    remain.
    """
    whole = Path(path)
    if not whole.exists() and scratch_folder(whole).is_dir():
        return "snapshot"
    found = application_id_of(whole)
    if found is not None:
        return _KINDS.get(found)
    return "rejects file" if RejectsFile.begins_in(whole) else None


def erase(path: str | os.PathLike[str], kind: Kind) -> bool:
    """Deletes a file of this kind and the helper files next to it. If a job is using the file, returns False and
    deletes nothing.

    If the file itself is missing, deletes only its helper files. Raises ConfigurationError if the file has a different
    kind, or if the scratch folder contains other files, and OSError if a file cannot be deleted.
    """
    whole, lock = Path(path), FileLock(path)
    if lock.take() is not None:
        return False
    try:
        if whole.exists() and not (RejectsFile.is_like(whole) if kind == "rejects file" else kind_of(whole) == kind):
            raise ConfigurationError(f"{whole} is not a {kind}")
        if kind == "rejects file":
            remove_file(whole)
            if RejectsFile.is_like(part := part_of(path)):  # left by a job that was killed
                remove_file(part)
            return True
        if _is_open(whole):
            return False
        if kind == "snapshot":
            remove_scratch(scratch_folder(whole))
        remove_files(whole)
    except FileExistsError as problem:
        raise ConfigurationError(f"{problem.strerror}, so the snapshot {whole} was not deleted") from None
    finally:
        lock.release()
    return True


def _is_open(path: Path) -> bool:
    """Returns whether another process has the database open; False for a damaged database."""
    if not path.is_file():
        return False
    address = f"{path.absolute().as_uri()}?mode=rw"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        return is_in_use(problem)
    return False
