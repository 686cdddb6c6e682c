"""Unpacking gzip and Zstandard archives while they are read."""

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Mapping
from io import BufferedReader
from typing import TYPE_CHECKING, Final

from socialapi.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BUFFER_BYTES: Final = 131_072
"""What is unpacked in one go: an archive of nothing but zeros takes no more memory than any other."""

_CUT_OFF: Final = "the archive ends before its end: it was cut off while it was written or copied"
_DAMAGED: Final = "the archive is damaged and cannot be unpacked any further"


class _Unpacked(io.RawIOBase):
    """What is in an archive. What is wrong with the archive is said as InvalidInput, after everything before it."""

    def __init__(self, archive: io.BufferedIOBase, faults: tuple[type[Exception], ...]) -> None:
        self._archive = archive
        self._faults = faults

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        try:
            return self._archive.readinto1(buffer)
        except EOFError:
            raise InvalidInput(_CUT_OFF) from None
        except self._faults:
            raise InvalidInput(_DAMAGED) from None


def _gzip(stored: BufferedReader) -> _Unpacked:
    return _Unpacked(gzip.GzipFile(fileobj=stored), (gzip.BadGzipFile, zlib.error))


def _zstd(stored: BufferedReader) -> _Unpacked:
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdError, ZstdFile
        else:
            from backports.zstd import ZstdError, ZstdFile
    except ImportError:
        raise InvalidInput(
            "this is a Zstandard archive, and reading it takes one more library: pip install 'aiosocialapi[zstd]'"
        ) from None
    return _Unpacked(ZstdFile(stored), (ZstdError,))


_KINDS: Final[Mapping[bytes, Callable[[BufferedReader], _Unpacked]]] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
}
EXTENSIONS: Final = (".gz", ".zst", ".zstd")
"""What a name may have behind the extension that says what is in the archive."""


def unpacked(stored: BufferedReader) -> BufferedReader:
    """What the archive holds, if the file is one by its first bytes; else the file itself."""
    head = stored.peek(max(map(len, _KINDS)))
    for magic, unpack in _KINDS.items():
        if head.startswith(magic):
            return BufferedReader(unpack(stored), BUFFER_BYTES)
    return stored
