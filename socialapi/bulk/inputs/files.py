"""Opens input files, unpacks archives, and chooses the reader of each format; new formats go into `FORMATS`."""

import bisect
import codecs
import contextlib
import functools
import glob
import inspect
import io
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import attrs

from socialapi.bulk.inputs.addresses import is_address, name_of_address, scheme_of
from socialapi.bulk.inputs.arrow import read_parquet
from socialapi.bulk.inputs.columns import looks_personal, quoted
from socialapi.bulk.inputs.csv import read_csv
from socialapi.bulk.inputs.dialect import READ_BYTES
from socialapi.bulk.inputs.feed_xml import looks_like_xml, read_xml
from socialapi.bulk.inputs.json import path_of_rows, read_json_array, read_json_lines
from socialapi.bulk.inputs.layouts import FileFacts, FileLayout, Layout, NamesChanged
from socialapi.bulk.inputs.reader import (
    BinaryFile,
    Block,
    FileVersion,
    NoRows,
    Selection,
    ThreadedReader,
    by_name,
    convert_from,
)
from socialapi.bulk.inputs.remote import RemoteFile, Stores
from socialapi.bulk.output_file import same_file
from socialapi.errors import InvalidInput, printable
from socialapi.internal.file_lock import is_lock_file
from socialapi.reports import RowIssue
from socialapi.session.network import Network

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


BUFFER_BYTES: Final = 131_072
"""The maximum number of bytes that are read or unpacked at once, even from an archive of zeros."""

_CUT_OFF: Final = "the archive is incomplete: writing or copying it was interrupted"
_DAMAGED: Final = "the archive is damaged and cannot be unpacked any further"


MAX_OVERHEAD_BYTES: Final = 1_000_000
"""The number of bytes that an archive may have in addition to `BYTES_PER_CONTENT` for each byte of content, because a
Zstandard block has up to 128 KiB. More padding, long names or empty members would be slow to read.
"""
BYTES_PER_CONTENT: Final = 32
"""The maximum number of archive bytes for each byte of content. A gzip member with one byte of content has 21 bytes."""
_NO_CONTENT: Final = "the archive has almost no content: nearly all of it is padding, names or empty parts"
MAX_SMALL_MEMBERS: Final = 50_000
"""The maximum number of small members in an archive. Every 32 bytes of content, or 512 with Zstandard, allow one more
member. A gzip member takes 1 µs, and a Zstandard member 11 µs.
"""
BYTES_PER_GZIP_MEMBER: Final = 32
"""The number of content bytes that allow one more gzip member. A line that is appended as a separate member is longer.
"""
BYTES_PER_ZSTD_MEMBER: Final = 512
_TINY_MEMBERS: Final = "the archive has too many tiny parts: recompress it as one, for example with zcat <file> | gzip, or zstdcat <file> | zstd"


_PACKED_BYTES_AT_ONCE: Final = 4_096
"""How many compressed bytes are unpacked at once. This is small because the bytes after each member are copied, and
members may be small.
"""
_not_padding: Final = re.compile(b"[^\\0]").search


class _Unpacked(io.RawIOBase):
    """The content of an archive with one or more members. If the archive is damaged, reading raises InvalidInput after
    the intact content.

    A new decompressor unpacks each member. The libraries' own file classes read names and padding byte by byte, and
    take five times as long for small members.
    """

    def __init__(
        self, stored: BufferedReader, new_member: Callable[[], Any], error: type[Exception], bytes_per_member: int
    ) -> None:
        self._stored = stored
        self._new_member = new_member
        self._error = error
        self._bytes_per_member = bytes_per_member
        self._room = MAX_OVERHEAD_BYTES
        self._room_for_members = MAX_SMALL_MEMBERS * bytes_per_member
        self._data = b""
        self._at = 0
        self._member: Any = None
        self._is_damaged = False

    def readable(self) -> bool:
        return True

    def _read(self) -> bytes:
        """Returns the next bytes. Raises InvalidInput if nearly all bytes read so far are padding, names or empty parts."""
        data = self._stored.read(READ_BYTES)
        self._room -= len(data)
        if self._room < 0:
            raise InvalidInput(_NO_CONTENT)
        return data

    def _had_content(self, size: int, members: int) -> None:
        """Records that the bytes read so far contained `size` more bytes of content and the start of `members` more
        members. Raises InvalidInput if there are too many tiny members.
        """
        self._room = min(MAX_OVERHEAD_BYTES, self._room + size * BYTES_PER_CONTENT)
        most, less = MAX_SMALL_MEMBERS * self._bytes_per_member, members * self._bytes_per_member
        self._room_for_members = min(most, self._room_for_members + size - less)
        if self._room_for_members < 0:
            raise InvalidInput(_TINY_MEMBERS)

    def _unpack(self, member: Any, some: bytes, size: int) -> bytes:
        """Returns at most `size` bytes of content, or none if the member is damaged."""
        try:
            content: bytes = member.decompress(some, size)
        except self._error:
            self._is_damaged = True
            return b""
        return content

    def readinto(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        member, data, at = self._member, self._data, self._at
        size = begun = 0
        # A Zstandard decompressor buffers its input, and may return more content without further bytes.
        needs_input = getattr(member, "needs_input", True)
        while size < len(view) and not self._is_damaged:
            if at == len(data) and needs_input:
                if size:
                    break
                self._had_content(0, begun)
                data, at, begun = self._read(), 0, 0
                if not data and member is not None:
                    raise InvalidInput(_CUT_OFF)
                if not data:
                    break
            if member is None:
                if data[at] == 0:
                    at = len(data) if (content_at := _not_padding(data, at)) is None else content_at.start()
                    continue
                member = self._new_member()
                begun += 1
            some = data[at : at + _PACKED_BYTES_AT_ONCE] if needs_input else b""
            content = self._unpack(member, some, len(view) - size)
            at += len(some)
            if member.eof:
                # The bytes after the member are in `unused_data`, and sometimes also in `unconsumed_tail`.
                at -= len(member.unused_data)
                member, needs_input = None, True
            else:
                at -= len(getattr(member, "unconsumed_tail", b""))
                needs_input = getattr(member, "needs_input", True)
            view[size : size + len(content)] = content
            size += len(content)
        if self._is_damaged and not size:
            raise InvalidInput(_DAMAGED)
        self._member, self._data, self._at = member, data, at
        self._had_content(size, begun)
        return size


def _gzip(stored: BufferedReader) -> _Unpacked:
    return _Unpacked(stored, lambda: zlib.decompressobj(zlib.MAX_WBITS | 16), zlib.error, BYTES_PER_GZIP_MEMBER)


def _zstd(stored: BufferedReader) -> _Unpacked:
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor, ZstdError
        else:
            from backports.zstd import ZstdDecompressor, ZstdError
    except ImportError:
        raise InvalidInput(
            "reading a Zstandard archive needs another package: pip install 'aiosocialapi[zstd]'"
        ) from None
    return _Unpacked(stored, ZstdDecompressor, ZstdError, BYTES_PER_ZSTD_MEMBER)


_KINDS: Final[Mapping[bytes, Callable[[BufferedReader], _Unpacked]]] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
}
EXTENSIONS: Final = (".gz", ".zst", ".zstd")
"""The extensions of archives. They come after the extension of the packed file."""


def unpacked(stored: BufferedReader) -> BufferedReader:
    """Returns the content of an archive, which is recognized by its first bytes. Returns any other file unchanged."""
    head = stored.peek(max(map(len, _KINDS)))
    for magic, unpack in _KINDS.items():
        if head.startswith(magic):
            return BufferedReader(unpack(stored), BUFFER_BYTES)
    return stored


Input = str | os.PathLike[str] | BinaryFile
"""A path to open, or an open file."""


def why_not_binary(file: object) -> str | None:
    """Returns why the `read` method of an object does not return bytes, or None if it does."""
    kind = type(file).__name__
    if isinstance(file, io.TextIOBase):
        return f"{kind} is open for text: give the path of the file, or open it in binary mode, as in open(path, 'rb')"
    if inspect.iscoroutinefunction(getattr(file, "read", None)):
        return f"{kind} has an async read method: give a regular file, or an async iterable of rows"
    return None


class _Given(io.RawIOBase):
    """A file that the caller opened. It is read from its current position and left open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._read = getattr(file, "read1", file.read)  # `read` would wait until a slow pipe fills the buffer

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
            raise InvalidInput(f"the file returns {type(data).__name__}, not bytes: open it in binary mode")
        view[: len(data)] = data
        return len(data)


class _FromUtf16(io.RawIOBase):
    """UTF-16 text from a spreadsheet, converted to UTF-8. An invalid character becomes a byte that is not UTF-8."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view, data = memoryview(buffer), b"-"
        while data and not self._rest:
            data = self._file.read1(READ_BYTES)
            text = self._decoder.decode(data, final=not data)
            self._rest = text.replace("\ufffd", "\udcff").encode("utf-8", "surrogateescape")
        given, self._rest = self._rest[: len(view)], self._rest[len(view) :]
        view[: len(given)] = given
        return len(given)


@attrs.frozen(eq=False)
class InputFile:
    """An open file. `extension` is the extension of its name in lower case. `size` is None if unknown."""

    content: BufferedReader
    extension: str
    size: int | None
    stored: BufferedReader
    """The stored file, which may be an archive."""

    @property
    def position(self) -> int:
        """The number of bytes of the stored file that have been read."""
        return self.stored.raw.tell() if self.size else 0


Open = Callable[[str], RemoteFile]
"""A function that opens the file at an address."""


@contextlib.contextmanager
def opened(source: Input, instead: str, open_file: Open) -> Iterator[InputFile]:
    """Yields the opened file, and closes it at the end unless the caller opened it.

    Raises InvalidInput if the file cannot be opened or read. The message contains the name of the file unless that may
    be data, and the advice `instead` if the path is an e-mail address.
    """
    try:
        with contextlib.closing(_open(source, open_file)) as stored:
            yield InputFile(unpacked(stored), _extension(source), _size(stored), stored)
    except NoRows as error:
        raise NoRows(f"{name_of(source)}: {error.message}") from None
    except InvalidInput as error:
        reason = error.message
    except OSError as error:
        reason = why(error) + advice_for(source, error, instead)
    else:
        return
    # Raised outside `except`: the OSError contains the name, which may be data.
    raise InvalidInput(f"{name_of(source)}: {reason}")


def _open(source: Input, open_file: Open) -> BufferedReader:
    if isinstance(source, str | os.PathLike) and is_address(os.fsdecode(source)):
        return BufferedReader(open_file(os.fsdecode(source)), BUFFER_BYTES)
    if not isinstance(source, str | os.PathLike):
        return BufferedReader(_Given(source), BUFFER_BYTES)
    with contextlib.suppress(ValueError):  # contains the path, so it must not become the context of another error
        # With a custom buffer size, type checkers know only that the file is binary.
        return cast("BufferedReader", Path(os.fsdecode(source)).open("rb", buffering=BUFFER_BYTES))
    raise InvalidInput("this is not a path")


def _size(stored: BufferedReader) -> int | None:
    if isinstance(stored.raw, RemoteFile):
        return stored.raw.size
    try:
        found = os.fstat(stored.fileno())
    except (OSError, AttributeError):  # in memory, or another kind of stream
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _name(source: Input) -> object:
    return os.fsdecode(source) if isinstance(source, str | os.PathLike) else getattr(source, "name", None)


def _extension(source: Input) -> str:
    name = _name(source)
    if not isinstance(name, str):
        return ""
    path = Path(name_of_address(name).lower())
    return Path(path.stem).suffix if path.suffix in EXTENSIONS else path.suffix


def name_of(source: Input) -> str:
    """Returns the name of the file for a message, or a placeholder if the name may be data."""
    name = _name(source)
    if name in (0, "<stdin>"):
        return "standard input"
    if not isinstance(name, str):
        return f"the {type(source).__name__}"
    if is_address(name):
        return printable(name_of_address(name))
    plausible = _extension(source) in FORMATS or not looks_personal(Path(name).name)
    return name if plausible and name.isprintable() else _NOT_SHOWN


def advice_for(source: Input, error: OSError, instead: str) -> str:
    """Returns the advice `instead` if the file is missing and its name is an e-mail address, or an empty string."""
    is_address = "@" in str(_name(source)) and name_of(source) == _NOT_SHOWN
    return f"; {instead}" if instead and is_address and isinstance(error, FileNotFoundError) else ""


_NOT_SHOWN: Final = "the path (hidden because it looks like data)"


def why(error: OSError) -> str:
    """Returns why a file cannot be read."""
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case IsADirectoryError():
            return 'this is a directory, not a file: give its files, for example with a pattern such as "<directory>/*.csv"'
        case PermissionError():
            return "reading this file is not permitted"
        case _:
            return f"the file cannot be read ({error.strerror or type(error).__name__})"


L = TypeVar("L", bound=Layout)

Format = Callable[[BufferedReader, Selection[Any]], Generator[Block[Any], None, None]]
"""A function that reads an open file from its first character and yields blocks of rows."""

PARQUET: Final = ".parquet"
PARQUET_MAGIC: Final = b"PAR1"
FORMATS: Final[Mapping[str, Format]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json_lines,
    ".xml": read_xml,
    ".rss": read_xml,
    ".atom": read_xml,
    PARQUET: read_parquet,
}
"""The reader of each file extension. For other extensions, the first bytes decide."""
NAMES: Final[Mapping[Any, str]] = {
    read_csv: "csv",
    read_json_lines: "jsonl",
    read_json_array: "json",
    read_xml: "xml",
    read_parquet: "parquet",
}
"""The name of each format in layouts."""
CHANGED: Final = "the file differs from the layout"
HEADS_COMPARED: Final = 1_000
"""The maximum number of files that are compared with their layout before the first row is read."""
MOST_NAMED: Final = 5
"""The maximum number of files that a message names."""
DECLARATION_BYTES: Final = 200
_is_json: Final = re.compile(rb'(?:\[\s*)?\{\s*"').match
_is_markup: Final = re.compile(rb"<(?:\?xml|!doctype|html|[\w:.-]+[^<>]*(?<!/)>\s*<\w)", re.IGNORECASE).match
"""Matches the beginning of XML or HTML, but not of a table below a notice such as `<br /><b>Warning</b>`."""
_declaration: Final = re.compile(rb"""<\?xml[^>]*encoding=["']([\w.-]+)""").search
LINES_ONLY: Final = (".jsonl", ".ndjson")
"""The extensions of JSON Lines files, which are never read as a single document."""
HEAD_BYTES: Final = 65_536
MAX_NUL_SHARE: Final = 0.01
"""The maximum share of NUL bytes in the first bytes of a text file. A file with more is rejected as binary."""
MAX_NULS: Final = 3
"""The maximum number of NUL bytes in a small text file. Each makes its cell unusable."""

_without_marks: Final = re.compile(rb"\A(?:\xef\xbb\xbf|\xc3\xaf\xc2\xbb\xc2\xbf)+").sub
"""Removes UTF-8 byte order marks, including marks that were decoded as Windows-1252 and saved again."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NESTED: Final = "an archive within an archive: unpack it first"
_BINARY: Final = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive: export the sheet as CSV, or unpack the archive"),
    (b"\xd0\xcf\x11\xe0", "an Excel workbook: export the sheet as CSV"),
    (b"\x1f\x8b", _NESTED),
    (b"\x28\xb5\x2f\xfd", _NESTED),
    (b"BZh91AY&SY", "a bzip2 archive: unpack it first, or recompress it with gzip"),
    (b"\xfd7zXZ\x00", "an xz archive: unpack it first, or recompress it with gzip"),
    (b"7z\xbc\xaf", "a 7-Zip archive: unpack it first, or recompress it with gzip"),
    (b"%PDF", "a PDF: export the data as CSV"),
    (b"SQLite format 3\x00", "an SQLite database: export the table as CSV"),
)


def read_file(file: InputFile, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the rows of a file in blocks. If reading fails, raises the error after the rows before it."""
    head = file.content.peek(HEAD_BYTES)[:HEAD_BYTES]
    is_utf16 = head.startswith(_UTF16) and not head.startswith(codecs.BOM_UTF32_LE)
    if is_utf16 and not looks_like_xml(head):
        file = attrs.evolve(file, content=BufferedReader(_FromUtf16(file.content), BUFFER_BYTES))
    read, form = _format_of(file, selection), selection.form
    if form.layout is None and read is not read_csv and (form.header_line is not None or not form.header):
        raise InvalidInput("header=False and header_line=… work only for CSV and TSV files")
    plain = read.func if isinstance(read, functools.partial) else read
    facts = FileFacts(NAMES[plain])
    if plain is not read_parquet:
        facts.encoding = "utf-16" if is_utf16 or 0 in head[:2] else _encoding_of(head)
    if isinstance(read, functools.partial):
        facts.rows = tuple(read.keywords["path"])
    selection.files.begin(facts)
    blocks = read(file.content, selection)
    return blocks if form.layout is None else _compared(blocks, form.layout, file, selection)


def _encoding_of(head: bytes) -> str:
    """Returns the encoding declared in XML, or `utf-8` if most non-ASCII text is valid, or else `unknown-8bit`."""
    if (declared := _declaration(head[:DECLARATION_BYTES])) is not None and looks_like_xml(head):
        return declared[1].decode().lower()
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head)
    others, foreign = re.findall("[\udc80-\udcff]", text), re.findall(r"[^\x00-\x7f]", text)
    return "unknown-8bit" if 2 * len(others) > len(foreign) else "utf-8"


def _compared(
    blocks: Generator[Block[L], None, None], layout: FileLayout, file: InputFile, selection: Selection[L]
) -> Generator[Block[L], None, None]:
    """Yields the blocks of a file. Raises InvalidInput before the first block if the file differs from its layout."""
    found, read_as = selection.files.current, by_name(selection)
    text = file.content.peek(HEAD_BYTES)[:HEAD_BYTES].decode("utf-8", "surrogateescape")
    is_same_format, rows, encoding = found.format == layout.format, found.rows, found.encoding
    is_any = layout.encoding is None or (text.isascii() and "utf-16" not in (layout.encoding, encoding))
    changes = [] if is_same_format else [f"the format is {found.format}, not {layout.format}"]
    if is_same_format and not is_any and encoding != layout.encoding:
        changes.append(f"the encoding is {encoding}, not {layout.encoding}")
    if is_same_format and rows != layout.rows:
        changes.append(f"the rows are in {_shown(rows)}, not in {_shown(layout.rows)}")
    first: Block[L] | None = None
    failure: InvalidInput | None = None
    try:
        first = next(blocks, None)
    except NamesChanged as other:
        changes += layout.explained(text, other.changes, read_as) if is_same_format else other.changes
    except InvalidInput as problem:
        failure = problem
        changes += layout.explained(text, (), read_as) if is_same_format else ()
    if is_same_format and not layout.header and not changes:
        numbers = tuple(str(at) for at in range(1, len(layout.columns) + 1))
        changes += layout.named_in(text, read_as, selection.of_keys(numbers).is_row)
    if is_same_format and layout.format == "csv" and (changes or failure is not None):
        # A file called .csv is read as CSV even if it contains JSON or XML.
        kind = {"{": "JSON", "[": "JSON", "<": "XML or HTML"}.get(text.lstrip()[:1])
        changes = [*([f"the format looks like {kind}, not csv"] if kind else ()), *changes]
    if changes:
        raise InvalidInput(f"{CHANGED} {name_of(layout.path)}: {'; '.join(changes)}")
    if failure is not None:
        raise failure
    if first is not None:
        yield first
    yield from blocks


def _shown(path: Sequence[str]) -> str:
    return quoted(".".join(path)) if path else "the document itself"


def _format_of(file: InputFile, selection: Selection[Any]) -> Format:
    """Returns the reader for a file. Raises NoRows if the file is empty, and InvalidInput if its format is unknown."""
    head = file.content.peek(HEAD_BYTES)[:HEAD_BYTES]
    if head.startswith(PARQUET_MAGIC):
        return _parquet(file)
    if file.extension == PARQUET and head:
        raise InvalidInput("this is not a Parquet file, although its name ends in .parquet")
    for magic, reason in _BINARY:
        if head.startswith(magic):
            raise InvalidInput(f"this looks like a binary file, {reason}")
    if FORMATS.get(file.extension) in (None, read_xml) and looks_like_xml(head):  # in any encoding
        if selection.why_no_xml is not None:
            raise InvalidInput(selection.why_no_xml)
        return read_xml
    if head.count(0) > max(MAX_NULS, MAX_NUL_SHARE * len(head)):
        for encoding in ("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"):
            text = head.decode(encoding, "ignore").lstrip("\ufeff")
            if not {*",;:\n"}.isdisjoint(text) and all(each.isprintable() or each.isspace() for each in text):
                raise InvalidInput(f"this looks like {encoding} text: {convert_from(encoding)}")
        raise InvalidInput("this looks like a binary file: give CSV, JSON or XML in UTF-8, or Parquet")
    return _text_format(file, head, selection)


def _parquet(file: InputFile) -> Format:
    if isinstance(file.content.raw, RemoteFile):
        file.content.raw.read_ranges()
    if not file.content.seekable():
        raise InvalidInput(
            "Parquet can only be read from a file, not from an archive or a pipe: its index is at the end"
        )
    return read_parquet


def _text_format(file: InputFile, head: bytes, selection: Selection[Any]) -> Format:
    text = _without_marks(b"", head, 1)
    marks = len(head) - len(text)
    text = text.lstrip()
    is_whole = not head or (file.size is not None and file.content is file.stored and len(head) >= file.size)
    if not text and is_whole:
        raise NoRows("the file is empty")
    file.content.read(marks)
    read = FORMATS.get(file.extension) or (read_json_lines if text[:1] in (b"{", b"[") else read_csv)
    _refuse_other_format(read, text, file.extension, selection)
    if read is not read_json_lines:
        return read
    if text.startswith(b"["):
        return read_json_array
    layout = selection.form.layout
    are_lines = file.extension in LINES_ONLY or (layout is not None and layout.format == "jsonl")
    path = None if are_lines else path_of_rows(text, selection, None if layout is None else layout.rows)
    return read_json_lines if path is None else functools.partial(read_json_array, path=path)


def _refuse_other_format(read: Format, text: bytes, extension: str, selection: Selection[Any]) -> None:
    """Raises InvalidInput if a text file certainly has a different format than its extension says. A layout reports
    such differences itself.
    """
    if selection.form.layout is not None or extension not in FORMATS:
        return
    if read is not read_json_lines and _is_json(text):
        raise InvalidInput(f"this looks like JSON, although its name ends in {extension}: rename it to .json")
    if read is not read_xml and _is_markup(text):
        advice = selection.why_no_xml or "if it is a feed, rename it to .xml"
        raise InvalidInput(f"this looks like XML or HTML, although its name ends in {extension}: {advice}")


NO_ROWS: Final = "none of the files has any rows"


def is_pattern(path: str | os.PathLike[str]) -> bool:
    """Returns whether a path is a pattern for other paths. A path that exists is never a pattern."""
    text = os.fsdecode(path)
    if is_address(text):  # `?` and `[` have another meaning in a URL
        return glob.has_magic(text) and scheme_of(text) != "https"
    return glob.has_magic(text) and text.isprintable() and not os.path.lexists(text)


class FilesReader(ThreadedReader[L]):
    """Reads the file at a path, an open file, or several files as one input, whose rows are numbered consecutively.

    Files that match a pattern are read in alphabetical order, and the files in a list in the order of the list. Each
    file may have different columns. The reader checks that every one of several files exists before it reads the first
    one, so that a missing file is reported before anything is sent. If a remote file is read several times, the same
    version is read each time.

    Raises InvalidInput if an open file does not return bytes, or if a pattern matches no file.
    """

    def __init__(self, records: Any, selection: Selection[L], network: Network | None = None) -> None:
        self._selection = selection
        self._stores = Stores(network)
        self._versions: dict[str, FileVersion] = {}
        given = records if isinstance(records, list | tuple) else [records]
        self._open_file: BinaryFile | None = None
        if not isinstance(records, list | tuple | str | os.PathLike):
            if (reason := why_not_binary(records)) is not None:
                raise InvalidInput(reason)
            self._open_file, given = records, []
            self.why_not_flushed = "an open file or pipe is read in blocks of bytes, so yield its rows from a generator"
        # Local patterns are matched now, so that a file that appears while the job runs is not read. Remote patterns
        # are matched later, in the reading thread.
        self._found = [(each, path) for each in given for path in _matching(each)]
        self.paths: list[str] = [path for _, path in self._found]
        self._names: list[str] = []
        self._starts: list[int] = []
        super().__init__()

    def leave_out(self, paths: Sequence[str | os.PathLike[str]]) -> None:
        """Excludes the job's output files from the files that patterns match. Raises InvalidInput if no file is left."""
        self.paths = []
        for given, path in self._found:
            if not (is_pattern(given) and any(same_file(path, own) for own in paths)):
                self.paths.append(path)
        if self._found and not self.paths:
            raise InvalidInput("the pattern matches only files that the job itself writes")

    def file_row_of(self, number: int) -> tuple[str, int] | None:
        """Returns the file that contains a row, and the row's number in that file. Returns None for a single file."""
        if len(self.paths) < 2 or not self._starts:
            return None
        at = bisect.bisect_right(self._starts, number) - 1
        return self._names[at], number - self._starts[at] + 1

    def find(self) -> Sequence[str]:
        """Queries object stores for the addresses that match the patterns, and returns the paths of all files."""
        self.paths = [
            found
            for path in self.paths
            for found in (self._addresses(path) if is_address(path) and is_pattern(path) else (path,))
        ]
        return self.paths

    def version_of(self, address: str) -> FileVersion:
        """Returns the version of the file at an address. Raises InvalidInput if it cannot be opened."""
        if address not in self._versions:
            try:
                self._open_address(address).close()
            except InvalidInput as problem:
                raise InvalidInput(f"{name_of(address)}: {problem.message}") from None
        return self._versions[address]

    def _opened(self, source: Input) -> contextlib.AbstractContextManager[InputFile]:
        return opened(source, self._selection.instead_of_paths, self._open_address)

    def _open_address(self, address: str) -> RemoteFile:
        file = self._stores.open(address, self._versions.get(address))
        self._versions[address] = file.version
        if not (self._selection.form.guesses or file.is_delimited):
            file.close()
            raise InvalidInput(
                "the server does not report the file's length, so an incomplete download could go unnoticed, and the "
                "missing rows would be removed"
            )
        return file

    def _read(self) -> Generator[Block[L], None, None]:
        sources: Sequence[Input] = self.find() if self._open_file is None else [self._open_file]
        sizes, named, are_several = [0], Counter[str](), len(sources) > 1
        if are_several:
            sizes = [self._bytes_of(path) for path in self.paths]
            self._size = sum(sizes)
            named.update(map(name_of, dict.fromkeys(self.paths)))
            if self._selection.form.layout is not None:
                self._compare_heads()
        number = bytes_before = 0
        without_rows = list[str]()
        for at, (source, size) in enumerate(zip(sources, sizes, strict=True), 1):
            self._starts.append(number + 1)
            last = 0
            if are_several:
                name = name_of(source)
                # The names of two files may differ only in a hidden part, such as the query of an address.
                self._names.append(f"{name} ({at})" if named[name] > 1 else name)
            with self._opened(source) as file, contextlib.closing(self._rows(file, bytes_before)) as blocks:
                if not are_several:
                    self._size = file.size
                for block in blocks:
                    yield attrs.evolve(block, first_number=block.first_number + number) if number else block
                    last = block.first_number + len(block) - 1
                number += last
            bytes_before += size
            if are_several and not last:
                without_rows.append(self._names[-1])
        if not number:
            raise NoRows(NO_ROWS)
        if without_rows:
            count, more = len(without_rows), len(without_rows) - MOST_NAMED
            names = ", ".join(without_rows[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            verb = "1 file has" if count == 1 else f"{count:,} files have"
            self._selection.remarks.append(RowIssue(0, "", f"{verb} no rows: {names}"))

    def _addresses(self, pattern: str) -> Iterable[str]:
        try:
            found = self._stores.addresses_of(pattern)
            reason = "no file matches it as a pattern"
        except InvalidInput as problem:
            found, reason = {}, problem.message
        if not found:
            raise InvalidInput(f"{name_of(pattern)}: {reason}")
        # Without an ETag, versions cannot be compared, because object listings use a different time format.
        self._versions.update({path: version for path, version in found.items() if version.etag is not None})
        return found

    def _compare_heads(self) -> None:
        """Raises InvalidInput with the differences if the first files differ from their layout."""
        remarks, changed = self._selection.remarks, list[str]()
        before = len(remarks)
        for path in self.paths[:HEADS_COMPARED]:
            if not (is_address(path) or Path(path).is_file()):
                continue  # a pipe, for example, can be read only once
            self._names = [name_of(path)]
            try:
                with self._opened(path) as file, contextlib.closing(self._rows(file)) as blocks:
                    next(blocks, None)
            except InvalidInput as problem:
                changed.append(problem.message)
        del remarks[before:], self._names[:]
        self._count_read = 0
        if more := len(changed) - MOST_NAMED:
            changed[MOST_NAMED:] = [f"and {more} more files"] * (more > 0)
        if changed:
            raise InvalidInput("; ".join(changed))

    def _bytes_of(self, path: str) -> int:
        """Returns the size of a file, or 0 if it is unknown. Raises InvalidInput if the file does not exist."""
        if is_address(path):
            return self.version_of(path).size or 0
        try:
            return Path(path).stat().st_size
        except ValueError:
            return 0  # not a path: opening it later raises the error
        except OSError as error:
            reason = why(error) + advice_for(path, error, self._selection.instead_of_paths)
        # Raised outside `except`: the OSError contains the path, which may be an e-mail address.
        raise InvalidInput(f"{name_of(path)}: {reason}")

    def _rows(self, file: InputFile, bytes_before: int = 0) -> Generator[Block[L], None, None]:
        remarks = self._selection.remarks
        before = len(remarks)
        try:
            empty = (NoRows,) if len(self.paths) > 1 else ()
            with contextlib.suppress(*empty), contextlib.closing(read_file(file, self._selection)) as blocks:
                for block in blocks:
                    self._count_read = max(self._count_read, bytes_before + file.position)
                    yield block
        finally:
            if len(self.paths) > 1:
                remarks[before:] = [attrs.evolve(each, file=self._names[-1]) for each in remarks[before:]]


def _matching(given: str | os.PathLike[str]) -> Iterable[str]:
    text = os.fsdecode(given)
    if not is_pattern(given) or is_address(text):
        return (text,)
    matching = glob.glob(text, recursive=True)  # noqa: PTH207 - pathlib does not support patterns that begin at the root
    found = sorted(path for path in matching if not Path(path).is_dir() and not is_lock_file(path))
    if not found:
        name = name_of(given)
        raise InvalidInput(f"{name}: there is no such file, and no file matches it as a pattern")
    return found
