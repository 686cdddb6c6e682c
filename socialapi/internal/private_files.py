"""Reads small files, replaces files atomically, and creates files and folders that only their owner can read."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

MAX_BYTES: Final = 1_000_000
"""The size limit for files of settings, credentials or certificates."""
_MAX_LINKS: Final = 40
"""The maximum number of symbolic links in a path, as in Linux."""


def read_small(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """Returns the content of a file. Raises OSError if it cannot be read or has more than `most` bytes."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise too_large(most)
    return content


def too_large(most: int = MAX_BYTES) -> OSError:
    """Returns the error for a file with more than `most` bytes."""
    return OSError(errno.EFBIG, f"it is larger than {most // 1_000_000} MB")


def make_private_folder(folder: Path) -> None:
    """Creates a folder and its missing parents with mode 0700, whatever the umask. Raises OSError."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process has just created it
            each.mkdir(mode=0o700)
            each.chmod(0o700)


@contextlib.contextmanager
def replacement(path: Path) -> Iterator[IO[bytes]]:
    """Yields a temporary file that replaces the file at the path when the block ends.

    Only its owner can read it (mode 0600), and it is on the disk before it replaces the earlier file, which is kept if
    the block fails. Raises OSError.
    """
    import tempfile  # few clients that load this module write files

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # with mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Waits until the names in the folder are on the disk, on systems that support it."""
    if os.name != "posix":
        return
    with contextlib.suppress(PermissionError):  # files may be created in it, but not listed
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as problem:
            if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # the file system does not support it
                raise
        finally:
            os.close(descriptor)


def open_in_place(path: Path) -> IO[bytes] | None:
    """Opens a device, a pipe, or an open file of this process such as /dev/stdout. Returns None if a file must be
    created or replaced at the path.

    Raises OSError for a link to anything but an open file of this process, because in a shared folder another user may
    have created the link.
    """
    descriptor = _own_descriptor(path)
    if descriptor is not None:
        return os.fdopen(os.dup(descriptor), "wb")  # opening the path would truncate the file
    if path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link, and links are not followed: use the path that it points to")
    if not is_written_through(path):
        return None
    return open(path, "wb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NOFOLLOW", 0)))


def is_written_through(path: Path) -> bool:
    """Returns whether the path is a device, a pipe, a socket or an open file, and cannot be replaced. Returns False if
    that cannot be determined, so that opening the path raises the error.
    """
    try:
        return _own_descriptor(path) is not None or (path.exists() and not path.is_file())
    except OSError:
        return False


def _own_descriptor(path: Path) -> int | None:
    """Returns the file descriptor behind a path such as /dev/stdout or a link to it; None for other paths."""
    folders = ("/dev/fd", "/proc/self/fd", f"/proc/{os.getpid()}/fd")
    for _ in range(_MAX_LINKS):
        path = path.parent.resolve() / path.name
        if str(path.parent) in folders:
            return int(path.name) if path.name.isdecimal() else None
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    return None
