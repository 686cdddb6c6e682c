"""Opening what is given as a file: a path or an open file, archived or not, and what is said when it cannot be read."""

import contextlib
import inspect
import io
import os
import stat
from collections.abc import Collection, Iterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import attrs

from socialapi.bulk.reading import archives
from socialapi.bulk.reading.columns import looks_personal
from socialapi.bulk.reading.reader_base import NoRows
from socialapi.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER_BYTES: Final = 131_072


class BinaryFile(Protocol):
    """An open file, pipe or download that gives bytes."""

    def read(self, size: int, /) -> bytes:
        """At most so many of the next bytes; none at the end."""


Input = str | os.PathLike[str] | BinaryFile
"""One file, to be opened here or open already."""


def why_not_binary(file: object) -> str | None:
    """Why bytes cannot be read from something that has a `read`; None if they can."""
    kind = type(file).__name__
    if isinstance(file, io.TextIOBase):
        return f"{kind} is open for text: give the path of the file, or open it in binary mode, as in open(path, 'rb')"
    if inspect.iscoroutinefunction(getattr(file, "read", None)):
        return f"{kind} has to be awaited: give a file, or an asynchronous iterable of what is made of its bytes"
    return None


class _Given(io.RawIOBase):
    """A file that somebody else opened, from where it stands, and that stays open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._read = getattr(file, "read1", file.read)  # `read` would wait until a slow pipe has filled the buffer

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(hasattr(self._file, "seekable") and self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def fileno(self) -> int:
        return int(self._file.fileno())

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = self._read(len(view))
        if not isinstance(data, bytes | bytearray | memoryview):
            raise InvalidInput(f"reading gives {type(data).__name__}, not bytes: open it in binary mode")
        view[: len(data)] = data
        return len(data)


@attrs.frozen(eq=False)
class InputFile:
    """An open file. `extension` is what its name says about the content, in lower case; `size` None if not known."""

    content: BufferedReader
    extension: str
    size: int | None
    _stored: BufferedReader

    @property
    def is_archive(self) -> bool:
        """Whether the content is unpacked while it is read."""
        return self.content is not self._stored

    @property
    def position(self) -> int:
        """How many bytes of it are read, as it is stored."""
        return self._stored.raw.tell() if self.size else 0


@contextlib.contextmanager
def opened(source: Input, extensions: Collection[str], instead: str = "") -> Iterator[InputFile]:
    """The file, which is closed in the end if it was opened here.

    What goes wrong with it before then is said as InvalidInput, with its name if that is none of `extensions` and
    may be data; of an address that is given as a path, with what to give `instead`.
    """
    name = name_of(source, extensions)
    try:
        with contextlib.closing(_open(source)) as stored:
            yield InputFile(archives.unpacked(stored), _extension(source), _size(stored), stored)
    except NoRows as error:
        raise NoRows(f"{name}: {error.message}") from None
    except InvalidInput as error:
        fault = error.message
    except OSError as error:
        fault = why(error) + advice_for(source, extensions, error, instead)
    else:
        return
    # Out here, since an OSError holds the name, which may be data.
    raise InvalidInput(f"{name}: {fault}")


def _open(source: Input) -> BufferedReader:
    if not isinstance(source, str | os.PathLike):
        return BufferedReader(_Given(source), _BUFFER_BYTES)
    with contextlib.suppress(ValueError):  # which holds the text, so it must not be the context of another error
        # The cast: with a buffer size of one's own, type checkers know no more than that it is a binary file.
        return cast("BufferedReader", Path(os.fsdecode(source)).open("rb", buffering=_BUFFER_BYTES))
    raise InvalidInput("this is not a path")


def _size(stored: BufferedReader) -> int | None:
    """The bytes of a file whose size is known before it is read."""
    try:
        found = os.fstat(stored.fileno())
    except (OSError, AttributeError):  # in memory, or a stream of some other kind
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _name(source: Input) -> object:
    return os.fsdecode(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)


def _extension(source: Input) -> str:
    name = _name(source)
    if not isinstance(name, str):
        return ""
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in archives.EXTENSIONS else path.suffix


def name_of(source: Input, extensions: Collection[str]) -> str:
    """The file for a message; a text that may be data rather than a path is not shown."""
    name = _name(source)
    if name in (0, "<stdin>"):
        return "standard input"
    if not isinstance(name, str):
        return f"the {type(source).__name__}"
    plausible = _extension(source) in extensions or not looks_personal(Path(name).name)
    return name if plausible and name.isprintable() else _NOT_SHOWN


def advice_for(source: Input, extensions: Collection[str], error: OSError, instead: str) -> str:
    """What is said besides when there is no file of that name, because it is an address and no name."""
    is_address = "@" in str(_name(source)) and name_of(source, extensions) == _NOT_SHOWN
    return f"; {instead}" if instead and is_address and isinstance(error, FileNotFoundError) else ""


_NOT_SHOWN: Final = "the path (not shown, for it looks like data)"


def why(error: OSError) -> str:
    """Why a file cannot be read, as a sentence."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return 'this is a directory, not a file: name its files, for example with a pattern such as "<directory>/*.csv"'
        case PermissionError():
            return "reading this file is not permitted"
        case _:
            return f"the file cannot be read ({error.strerror or type(error).__name__})"
