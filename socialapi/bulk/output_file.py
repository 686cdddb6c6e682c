"""Output files of a job with one line per row, written to `<name>.part` and renamed when the job ends."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Final

from socialapi.errors import InvalidInput
from socialapi.internal.file_lock import SUFFIX, FileLock
from socialapi.internal.logs import LOGGER
from socialapi.internal.private_files import open_in_place, sync_folder

PART: Final = ".part"


class OutputFile:
    """A file that is written as `<name>.part`, which only its owner can read, and renamed by
    `close`.

    Until then, an earlier file of that name is kept. It is kept for good if `begin` is never called or the disk is
    full. Devices and pipes are written directly, and links are not followed. Until `close`, a lock prevents other jobs
    from using the file. Text that is not valid UTF-8 is written with the same bytes as in the input.
    """

    noun: ClassVar[str]
    heads: ClassVar[tuple[bytes, ...]]
    """The possible first bytes of a file of this class."""
    ending_of_part: str = ""
    """The extension of a part that is kept; empty to use the extension of the file."""

    def __init__(
        self, path: str | os.PathLike[str], *, sources: Sequence[object] = (), keeps_earlier: bool = False
    ) -> None:
        """Opens the file. An earlier file is kept until `close` or, with `keeps_earlier`, permanently under another
        name.

        Raises InvalidInput if the file is unusable, an input of the job, or in use.
        """
        self.path: Path = Path(path)
        names = (self.path, part_of(self.path))
        if any(same_file(name, source) for source in sources for name in names):
            raise InvalidInput(f"the {self.noun} {self.path} is the input itself; choose another path")
        self._begun = self._is_closed = False
        self.is_incomplete: bool = False
        """Whether a write has failed."""
        self._lock = FileLock(self.path)
        try:
            direct = open_in_place(self.path)
            self._is_direct: bool = direct is not None
            self._part = part_of(self.path)
            holder = None if direct is not None else self._lock.take()
            if holder is None:
                self._file: IO[Any] = direct or self._opened(keeps_earlier)
        except (OSError, ValueError) as problem:
            self._lock.release()
            raise self._unwritable(problem) from None
        if holder is not None:
            raise InvalidInput(
                f"the {self.noun} {self.path} is in use by another job: wait until it ends, or choose another path "
                f"({holder})"
            )

    def _opened(self, keeps_earlier: bool) -> IO[bytes]:
        if self.path.exists():
            self.path.open("r+b").close()  # fails now if the file may not be replaced
        for earlier in filter(self.begins_in, (self.path, self._part) if keeps_earlier else ()):
            ending = self.ending_of_part if earlier == self._part else ""
            like = self.path.with_suffix(ending or self.path.suffix)
            names = (like.with_stem(f"{like.stem}.{number}") for number in itertools.count(1))
            kept = next(name for name in names if not os.path.lexists(name))
            earlier.rename(kept)
            LOGGER.warning("the %s of an earlier run is kept as %s", self.noun, kept)
        if os.path.lexists(self._part):  # left by a job that was killed
            if not self.is_like(self._part):
                raise OSError(0, f"{self._part} holds something else")
            self._part.unlink()
        return open(self._part, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))

    @classmethod
    def is_like(cls, path: str | os.PathLike[str]) -> bool:
        """Returns whether an earlier job may have written the file: it is empty, or begins with one of `heads`."""
        return _head_of(path, cls.heads) in (b"", *cls.heads)

    @classmethod
    def begins_in(cls, path: str | os.PathLike[str]) -> bool:
        """Returns whether the file begins with one of `heads`."""
        return _head_of(path, cls.heads) in cls.heads

    @classmethod
    def own_files(cls, path: str | os.PathLike[str]) -> Sequence[str]:
        """Returns the files that a job writing to this path uses. Excludes a file at this path that no job has written,
        such as an export.
        """
        found = [os.fsdecode(each) for each in (path, part_of(path)) if cls.is_like(each)]
        return [*found, os.fsdecode(path) + SUFFIX]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raises InvalidInput in place of an OSError. After that, the file is never renamed."""
        try:
            yield
        except OSError as problem:
            self.is_incomplete = True
            raise self._unwritable(problem) from None

    def close(self) -> None:
        """Completes the file, and renames it if `begin` was called. Idempotent. Raises InvalidInput if the disk is
        full.
        """
        if self._is_closed:
            return
        self._is_closed, was_incomplete = True, self.is_incomplete
        try:
            with self._writing():
                if self._begun and not (self._is_direct or self.is_incomplete):
                    self._file.flush()
                    os.fsync(self._file.fileno())
                self._file.close()
                if not self._begun and not self._is_direct:
                    self._part.unlink()
                elif not (self._is_direct or was_incomplete):
                    self._publish(self._part.with_suffix(""))
        except InvalidInput:
            if not was_incomplete:  # Python 3.14 and later retry the failed write here
                raise
        finally:
            self._lock.release()

    def _publish(self, path: Path) -> None:
        """Renames the complete part to the name of the file."""
        self._part.replace(path)
        sync_folder(path.parent)

    def _unwritable(self, problem: OSError | ValueError) -> InvalidInput:
        reason = problem.strerror if isinstance(problem, OSError) else problem
        return InvalidInput(f"the {self.noun} {self.path} cannot be written: {reason}")


def part_of(path: str | os.PathLike[str]) -> Path:
    """Returns the path under which a file is written until it is renamed. It is the same for all links to the folder."""
    folder, name = os.path.split(os.fsdecode(path))
    try:
        return Path(os.path.realpath(folder), name + PART)
    except ValueError:  # not a valid path; opening it gives a better message
        return Path(path)


def same_file(one: object, other: object) -> bool:
    """Returns whether two paths lead to the same file, which need not exist yet; False if one is not a path."""
    if not (isinstance(one, str | os.PathLike) and isinstance(other, str | os.PathLike)):
        return False
    with contextlib.suppress(OSError, ValueError):
        return Path(one).samefile(other)
    try:
        return Path(one).resolve() == Path(other).resolve()
    except (OSError, ValueError, RuntimeError):  # not a valid path; opening it gives a better message
        return False


def _head_of(path: str | os.PathLike[str], heads: Sequence[bytes]) -> bytes | None:
    """Returns the element of `heads` with which the file begins, or its first bytes; None if it cannot be read."""
    try:
        if not Path(path).is_file():
            return None
        with Path(path).open("rb") as file:
            found = file.read(max(map(len, heads)))
    except (OSError, ValueError):  # opening it gives a better message
        return None
    return next(filter(found.startswith, heads), found)
