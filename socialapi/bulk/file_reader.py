"""Reading a file in a thread, one chunk at a time, after a look at what it is."""

import asyncio
import codecs
import contextlib
import os
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from concurrent.futures import Future
from io import BufferedReader
from pathlib import Path
from typing import Final, Generic, TypeVar, cast

import attrs

from socialapi.bulk.columns import Wanted, looks_personal
from socialapi.bulk.csv_reader import read_csv
from socialapi.bulk.json_lines_reader import read_json_lines
from socialapi.bulk.reader_base import Chunk, Reader
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput

R = TypeVar("R")
W = TypeVar("W")

Format = Callable[[BufferedReader, W], Generator[Chunk[R], None, None]]


@attrs.frozen(kw_only=True)
class Formats(Generic[W, R]):
    """How files are read, by their extension, and what is read as what where the extension says nothing.

    Where `judges_rows`, a byte that no text has is a matter of its row; else such a file is refused as a whole.
    """

    by_extension: Mapping[str, Format[W, R]]
    table: Format[W, R]
    json_lines: Format[W, R]
    json_array: Format[W, R] | None = None
    judges_rows: bool = False


FORMATS: Final[Formats[Wanted, RawRow]] = Formats(
    by_extension={
        ".csv": read_csv,
        ".tsv": read_csv,
        ".txt": read_csv,
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
        ".json": read_json_lines,
    },
    table=read_csv,
    json_lines=read_json_lines,
)
"""How audiences are read; without one of these extensions, a file that starts with `{` is JSON Lines."""

HEAD_BYTES: Final = 65_536
THREAD_NAME: Final = "socialapi-reader"
_BUFFER_BYTES: Final = 131_072

_BINARY: Final = (
    (codecs.BOM_UTF16_LE, "or UTF-16 text: save it as UTF-8"),
    (codecs.BOM_UTF16_BE, "or UTF-16 text: save it as UTF-8"),
    (b"PK\x03\x04", "an Excel workbook or a zip archive: export the sheet as CSV, or unpack the archive"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook: export the sheet as CSV"),
    (b"\x1f\x8b", "a gzip archive: unpack it first"),
    (b"BZh91AY&SY", "a bzip2 archive: unpack it first"),
    (b"\xfd7zXZ\x00", "an xz archive: unpack it first"),
    (b"7z\xbc\xaf", "a 7-Zip archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive: unpack it first"),
    (b"PAR1", "Parquet, which is not supported: export the table as CSV"),
    (b"%PDF", "a PDF: export the data as CSV"),
    (b"SQLite format 3\x00", "an SQLite database: export the table as CSV"),
)


class FileReader(Reader[R], Generic[W, R]):
    """Reads a file: opening, reading and parsing happen in a thread, for one chunk at a time.

    The thread is one that nobody waits for: a pipe or a network drive may never answer, and then neither closing the
    reader nor the end of the program may hang on it.
    """

    def __init__(self, path: str | os.PathLike[str], wanted: W, formats: Formats[W, R]) -> None:
        self._path = os.fsdecode(path)
        self._wanted = wanted
        self._formats = formats
        self._chunks = self._read()
        self._step: Future[Chunk[R]] | None = None
        self._lock = threading.Lock()  # held for moments only, never while the file is read
        self._at_work = False
        self._closed = False
        self._size = 0
        self._bytes_read = 0
        self._finished = False

    @property
    def fraction_read(self) -> float | None:
        """The share of the bytes that is read; None when the size is not known, as of a pipe."""
        if self._finished:
            return 1.0
        return min(1.0, self._bytes_read / self._size) if self._size else None

    async def read_chunk(self) -> Chunk[R]:
        """The next rows of the file. After a step that was cancelled, those that it was to return."""
        if self._step is None:
            self._step = self._begin()
        step = asyncio.wrap_future(self._step)
        try:
            return await step
        finally:
            if not step.cancelled():
                self._step = None

    async def aclose(self) -> None:
        """Closes the file; if it is being read, as soon as the system returns from that, and without waiting for it."""
        with self._lock:
            self._closed = True
            if not self._at_work:
                self._chunks.close()

    def _begin(self) -> "Future[Chunk[R]]":
        step: Future[Chunk[R]] = Future()
        step.set_running_or_notify_cancel()
        with self._lock:
            self._at_work = True
        threading.Thread(target=self._work, args=(step,), name=THREAD_NAME, daemon=True).start()
        return step

    def _work(self, step: "Future[Chunk[R]]") -> None:
        chunk: Chunk[R] | None = None
        fault: Exception | None = None
        try:
            chunk = next(self._chunks, None)
        except Exception as error:  # noqa: BLE001 - handed over to whoever waits for the step
            fault = error
        with self._lock:
            self._at_work = False
            self._finished = self._finished or chunk is None
            if self._closed:
                with contextlib.suppress(InvalidInput):  # whoever would hear of it has left
                    self._chunks.close()
        if fault is not None:
            step.set_exception(fault)
        else:
            step.set_result(chunk if chunk is not None else [])

    def _read(self) -> Generator[Chunk[R], None, None]:
        name = _shown(self._path, self._formats.by_extension)
        try:
            # The cast: with a buffer size of one's own, type checkers know no more than that it is a binary file.
            file = cast("BufferedReader", Path(self._path).open("rb", buffering=_BUFFER_BYTES))  # noqa: SIM115 - see `with`
        except (OSError, ValueError) as error:
            raise InvalidInput(f"{name}: {_why(error)}") from None
        try:
            with file:
                self._size = os.fstat(file.fileno()).st_size
                read = _format(self._formats, Path(self._path).suffix.lower(), file, self._size)
                with contextlib.closing(read(file, self._wanted)) as chunks:
                    for chunk in chunks:
                        self._bytes_read = file.raw.tell() if self._size else 0
                        yield chunk
        except InvalidInput as error:
            raise InvalidInput(f"{name}: {error.message}") from None
        except OSError as error:
            raise InvalidInput(f"{name}: {_why(error)}") from None


def _shown(path: str, extensions: Collection[str]) -> str:
    """The path for a message; a text that may be data rather than a path is not shown."""
    name = Path(path).name
    plausible = Path(name).suffix.lower() in extensions or not looks_personal(name)
    return path if plausible and path.isprintable() else "the path (not shown, for it looks like data)"


def _why(error: OSError | ValueError) -> str:
    """Why a file cannot be read, as a sentence."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return "this is a directory, not a file"
        case PermissionError():
            return "reading this file is not permitted"
        case OSError():
            return f"the file cannot be read ({error.strerror or type(error).__name__})"
        case _:
            return "this is not a path"


def _format(formats: Formats[W, R], extension: str, file: BufferedReader, size: int) -> Format[W, R]:
    """How the file is to be read, which is left at its first character, after a byte order mark.

    Raises InvalidInput when there is nothing in it, or nothing of text.
    """
    head = file.peek(HEAD_BYTES)[:HEAD_BYTES]
    for magic, says in _BINARY:
        if head.startswith(magic):
            raise InvalidInput(f"this looks like a binary file, {says}")
    if b"\x00" in head and not formats.judges_rows:
        raise InvalidInput("this looks like a binary file: give CSV or JSON Lines in UTF-8")
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not text and len(head) >= size:
        raise InvalidInput("the file is empty")
    if head.startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    read = formats.by_extension.get(extension) or (formats.json_lines if text[:1] in (b"{", b"[") else formats.table)
    if read is formats.json_lines and text.startswith(b"["):
        if formats.json_array is not None:
            return formats.json_array
        raise InvalidInput("this is a JSON array: JSON Lines has one object on each line, without brackets around them")
    return read
