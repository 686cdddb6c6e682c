"""Reading a file, after a look at what it is."""

import codecs
import contextlib
import re
from collections.abc import Callable, Collection, Generator, Mapping
from io import BufferedReader
from typing import Final, Generic, TypeVar

import attrs

from socialapi.bulk.reading.input_files import Input, InputFile, opened
from socialapi.bulk.reading.reader_base import Chunk, NoRows
from socialapi.bulk.reading.threaded_reader import ThreadedReader
from socialapi.errors import InvalidInput

R = TypeVar("R")
W = TypeVar("W")

Format = Callable[[BufferedReader, W], Generator[Chunk[R], None, None]]


@attrs.frozen(kw_only=True)
class Formats(Generic[W, R]):
    """How files are read, by their extension, and what is read as what where the extension says nothing.

    Parquet is told by its first bytes, whatever the name. Where `judges_rows`, a byte that no text has is a matter of
    its row; else such a file is refused as a whole. `instead_of_paths` says what to give to who has given addresses.
    """

    by_extension: Mapping[str, Format[W, R]]
    table: Format[W, R]
    json_lines: Format[W, R]
    parquet: Format[W, R]
    json_array: Format[W, R] | None = None
    judges_rows: bool = False
    instead_of_paths: str = ""

    @property
    def extensions(self) -> Collection[str]:
        """What the names of files end with that can be read, by which a path is told from data."""
        return (*self.by_extension, PARQUET)


PARQUET: Final = ".parquet"
PARQUET_MAGIC: Final = b"PAR1"
HEAD_BYTES: Final = 65_536

_is_empty_array: Final = re.compile(rb"\[\s*\]\s*").fullmatch
_NESTED: Final = "an archive within an archive: unpack it first"
_BINARY: Final = (
    (codecs.BOM_UTF16_LE, "or UTF-16 text: save it as UTF-8"),
    (codecs.BOM_UTF16_BE, "or UTF-16 text: save it as UTF-8"),
    (b"PK\x03\x04", "an Excel workbook or a zip archive: export the sheet as CSV, or unpack the archive"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook: export the sheet as CSV"),
    (b"\x1f\x8b", _NESTED),
    (b"\x28\xb5\x2f\xfd", _NESTED),
    (b"BZh91AY&SY", "a bzip2 archive: unpack it first, or pack it with gzip"),
    (b"\xfd7zXZ\x00", "an xz archive: unpack it first, or pack it with gzip"),
    (b"7z\xbc\xaf", "a 7-Zip archive: unpack it first, or pack it with gzip"),
    (b"%PDF", "a PDF: export the data as CSV"),
    (b"SQLite format 3\x00", "an SQLite database: export the table as CSV"),
)


class FileReader(ThreadedReader[R], Generic[W, R]):
    """Reads one file."""

    def __init__(self, source: Input, wanted: W, formats: Formats[W, R]) -> None:
        self._source = source
        self._wanted = wanted
        self._formats = formats
        self._file: InputFile | None = None
        self._bytes_read = 0
        super().__init__()

    def _fraction(self) -> float | None:
        if self._file is None or not self._file.size:
            return None
        return min(1.0, self._bytes_read / self._file.size)

    def _read(self) -> Generator[Chunk[R], None, None]:
        with opened(self._source, self._formats.extensions, self._formats.instead_of_paths) as file:
            self._file = file
            with contextlib.closing(read_file(file, self._wanted, self._formats)) as chunks:
                for chunk in chunks:
                    self._bytes_read = max(self._bytes_read, file.position)
                    yield chunk


def read_file(file: InputFile, wanted: W, formats: Formats[W, R]) -> Generator[Chunk[R], None, None]:
    """The rows of a file, in chunks. Raises InvalidInput when it cannot be used, or not any further."""
    return _format(formats, file)(file.content, wanted)


def _format(formats: Formats[W, R], file: InputFile) -> Format[W, R]:
    """How the file is to be read, which is left at its first character, after a byte order mark.

    Raises NoRows when there is nothing in it, InvalidInput when there is nothing of text.
    """
    head = file.content.peek(HEAD_BYTES)[:HEAD_BYTES]
    if head.startswith(PARQUET_MAGIC):
        if not file.content.seekable():
            raise InvalidInput(
                "Parquet is read from its end, which takes a file: neither an archive nor a pipe will do"
            )
        return formats.parquet
    if file.extension == PARQUET and head:
        raise InvalidInput("this is not Parquet, whatever its name says")
    for magic, says in _BINARY:
        if head.startswith(magic):
            raise InvalidInput(f"this looks like a binary file, {says}")
    if b"\x00" in head and not formats.judges_rows:
        raise InvalidInput("this looks like a binary file: give CSV, JSON Lines or Parquet, text in UTF-8")
    return _text_format(formats, file, head)


def _text_format(formats: Formats[W, R], file: InputFile, head: bytes) -> Format[W, R]:
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    is_whole = not head or (file.size is not None and not file.is_archive and len(head) >= file.size)
    if not text and is_whole:
        raise NoRows("the file is empty")
    if head.startswith(codecs.BOM_UTF8):
        file.content.read(len(codecs.BOM_UTF8))
    by_content = formats.json_lines if text[:1] in (b"{", b"[") else formats.table
    read = formats.by_extension.get(file.extension) or by_content
    if read is formats.json_lines and text.startswith(b"["):
        if formats.json_array is not None:
            return formats.json_array
        if is_whole and _is_empty_array(text):
            raise NoRows("the array is empty")
        raise InvalidInput("this is a JSON array: JSON Lines has one object on each line, without brackets around them")
    return read
