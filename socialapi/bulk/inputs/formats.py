"""Chooses the reader for the records of an upload.

`SOURCES` is searched in order; the first entry whose `accepts` returns true opens the input. Add
new kinds of input there.
"""

import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

import attrs

from socialapi.bulk.inputs.arrow import ArrowReader, ArrowRows, ArrowStream, read_parquet
from socialapi.bulk.inputs.columns import ColumnMapping, Wanted
from socialapi.bulk.inputs.csv import read_csv
from socialapi.bulk.inputs.files import (
    BinaryFile,
    FileReader,
    FilesReader,
    Formats,
    are_paths,
    is_pattern,
    why_not_binary,
)
from socialapi.bulk.inputs.iterables import AsyncIterableReader, IterableReader, RecordRows, is_record
from socialapi.bulk.inputs.json import read_json_lines
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IDENTIFIER_KINDS, AudienceUser, IdentifierKind, Operation

Record = AudienceUser | Operation | Mapping[str, Any]
Records = (
    str
    | os.PathLike[str]
    | BinaryFile
    | ArrowStream
    | Iterable[Record | str | os.PathLike[str]]
    | AsyncIterable[Record]
)
"""What can be uploaded. Paths stand in a list or tuple of nothing but paths: as one iterable with records, for type
checkers tell what is in a list only where there is one kind of it."""

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
    parquet=read_parquet,
    instead_of_paths="identifiers are given as records, for example [AudienceUser(email=…)] or [{'email': …}]",
)
"""How audiences are read; without one of these extensions, a file that starts with `{` is JSON Lines."""


def open_records(
    records: Any, *, columns: ColumnMapping | None = None, kinds: Iterable[IdentifierKind] = IDENTIFIER_KINDS
) -> Reader[RawRow]:
    """A reader of the records; use it as an asynchronous context manager.

    `records` is

    - the path of a file (text or path-like: CSV, TSV, JSON Lines or Parquet, by its extension or else by its first
      bytes; CSV and JSON Lines also as gzip or Zstandard archives), a pattern such as `exports/*.csv`, or a list of
      such texts;
    - an open binary file, which is read from where it stands and not closed;
    - a table that speaks Arrow's PyCapsule interface: a DataFrame of pandas or Polars, a table of pyarrow, a relation
      of DuckDB;
    - an iterable or asynchronous iterable of `AudienceUser`, `Operation` or mappings with the specification's names.
      An `Operation` gives one row for each of its users.

    A plain iterable is advanced on the event loop, a chunk at a time, so it should not block; files and tables are read
    in a thread.

    `columns` replaces the detection of columns and keys (see `Wanted`); only identifiers of `kinds` are looked
    for in tables and objects.

    Raises InvalidInput for something that cannot be read at all; a file is opened, and found unusable, when its first
    chunk is asked for.
    """
    return open_wanted(records, Wanted.of(columns, kinds))


def open_wanted(records: Any, wanted: Wanted) -> Reader[RawRow]:
    """As `open_records`, with columns that are looked for by `wanted`."""
    source = next(source for source in SOURCES if source.accepts(records))
    return source.open(records, wanted)


@attrs.frozen
class Source:
    """One kind of input."""

    accepts: Callable[[Any], bool]
    open: Callable[[Any, Wanted], Reader[RawRow]]


def _is_path(records: Any) -> bool:
    return isinstance(records, str | os.PathLike)


def _open_file(records: Any, wanted: Wanted) -> Reader[RawRow]:
    if (fault := why_not_binary(records)) is not None:
        raise InvalidInput(fault)
    return FileReader(records, wanted, FORMATS)


def _refuse(message: str) -> Callable[[Any, Wanted], NoReturn]:
    def refuse(records: Any, wanted: Wanted) -> NoReturn:
        raise InvalidInput(message.format(type=type(records).__name__))

    return refuse


SOURCES: Final[tuple[Source, ...]] = (
    Source(is_pattern, lambda records, wanted: FilesReader((records,), wanted, FORMATS)),
    Source(_is_path, lambda records, wanted: FileReader(records, wanted, FORMATS)),
    Source(are_paths, lambda records, wanted: FilesReader(records, wanted, FORMATS)),
    Source(
        lambda records: hasattr(records, "__arrow_c_stream__"),
        lambda records, wanted: ArrowReader(records, lambda schema: ArrowRows(schema, wanted)),
    ),
    Source(
        lambda records: isinstance(records, bytes | bytearray | memoryview),
        _refuse("records in {type} are not supported: give the path of a file, or io.BytesIO of them"),
    ),
    Source(lambda records: hasattr(records, "read"), _open_file),
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
