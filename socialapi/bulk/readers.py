"""What can be uploaded, and which reader reads it.

`SOURCES` is asked from top to bottom; the first whose `accepts` says yes opens the input. A new kind of input is a new
line there.
"""

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

import attrs

from socialapi.bulk.columns import ColumnMapping, Wanted
from socialapi.bulk.file_reader import FORMATS, FileReader
from socialapi.bulk.iterable_reader import AsyncIterableReader, IterableReader
from socialapi.bulk.reader_base import Reader
from socialapi.bulk.records import RecordRows, is_record
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS, AudienceUser, IdentifierKind, Operation

Record = AudienceUser | Operation | Mapping[str, Any]
Records = str | os.PathLike[str] | Iterable[Record] | AsyncIterable[Record]
"""What can be uploaded."""


def open_records(
    records: Any, *, columns: ColumnMapping | None = None, kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS
) -> Reader[RawRow]:
    """A reader of the records; use it as an asynchronous context manager.

    `records` is the path of a file (text or path-like: CSV, TSV or JSON Lines, by its extension or else by its first
    character), or an iterable or asynchronous iterable of `AudienceUser`, `Operation` or mappings with the
    specification's names. An `Operation` gives one row for each of its users. A plain iterable is advanced on the
    event loop, a chunk at a time, so it should not block; files are read in a thread.

    `columns` replaces the detection of columns and keys (see `Wanted`); only identifiers of `kinds` are looked
    for in tables and objects.

    Raises InvalidInput for something that cannot be read at all; a file is opened, and found unusable, when its first
    chunk is asked for.
    """
    wanted = Wanted.of(columns, kinds)
    source = next(source for source in SOURCES if source.accepts(records))
    return source.open(records, wanted)


@attrs.frozen
class Source:
    """One kind of input."""

    accepts: Callable[[Any], bool]
    open: Callable[[Any, Wanted], Reader[RawRow]]


def _is_path(records: Any) -> bool:
    return isinstance(records, str | os.PathLike)


def _has_extension(records: Any, extension: str) -> bool:
    return _is_path(records) and os.fsdecode(records).lower().endswith(extension)


def _refuse(message: str) -> Callable[[Any, Wanted], NoReturn]:
    def refuse(records: Any, wanted: Wanted) -> NoReturn:
        raise InvalidInput(message.format(type=type(records).__name__))

    return refuse


SOURCES: Final[tuple[Source, ...]] = (
    Source(
        lambda records: _has_extension(records, ".parquet"),
        _refuse("Parquet is not supported: export the table as CSV or JSON Lines"),
    ),
    Source(_is_path, lambda records, wanted: FileReader(records, wanted, FORMATS)),
    Source(
        lambda records: hasattr(records, "__arrow_c_stream__"),
        _refuse("a table ({type}) is not supported: give its rows as an iterable of mappings, or a CSV file"),
    ),
    Source(
        lambda records: isinstance(records, bytes | bytearray | memoryview) or hasattr(records, "read"),
        _refuse("records in {type} are not supported: give the path of a file, or an iterable of AudienceUser"),
    ),
    Source(
        lambda records: is_record(records) or isinstance(records, Mapping),
        _refuse("one {type} is not an iterable of records: put it in a list"),
    ),
    Source(
        lambda records: isinstance(records, AsyncIterable), lambda r, wanted: AsyncIterableReader(r, RecordRows(wanted))
    ),
    Source(lambda records: isinstance(records, Iterable), lambda r, wanted: IterableReader(r, RecordRows(wanted))),
    Source(
        lambda _: True,
        _refuse("{type} holds no records: give the path of a file, or an iterable of AudienceUser or Operation"),
    ),
)
"""Every kind of input, the more special first; the last one refuses what no other takes."""
