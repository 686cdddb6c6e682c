"""Chooses the reader for the input of a job."""

import os
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from socialapi.bulk.inputs.iterables import AsyncIterableReader, IterableReader
from socialapi.bulk.inputs.keyed_rows import keyed_row
from socialapi.bulk.inputs.layouts import Layout, check_place
from socialapi.bulk.inputs.reader import ArrowStream, BinaryFile, Block, Reader, Selection
from socialapi.errors import InvalidInput

if TYPE_CHECKING:
    from socialapi.session.network import Network

L = TypeVar("L", bound=Layout)

Records = str | os.PathLike[str] | BinaryFile | ArrowStream | Iterable[object] | AsyncIterable[object]
"""The types of input that jobs accept: a path or pattern, a list of paths and patterns, an open binary file, a table,
or an iterable of models, mappings or rows with named fields.
"""


def open_records(records: Any, selection: Selection[L], network: "Network | None" = None) -> Reader[Block[L]]:
    """Returns a reader that reads the selected columns of the records. Use it as an asynchronous
    context manager.

    `records` is one of these:

    - the path of a file, or a pattern such as `exports/*.csv`, or a list of paths and patterns. The
      file is CSV, TSV, JSON Lines, a JSON array, a product feed in XML, or Parquet, recognized by
      its extension or else by its first bytes. All formats but Parquet may be gzip or Zstandard
      archives;
    - an open binary file, which is read from its current position and left open;
    - a table with Arrow's PyCapsule interface: a DataFrame of pandas or Polars, a pyarrow table, or
      a DuckDB relation;
    - an iterable or asynchronous iterable of the models of the selection, of mappings, or of rows
      with named fields, such as database rows, named tuples and dataclasses.

    A plain iterable is advanced on the event loop, one block at a time, so it should not block.
    Files and tables are read in a thread.

    Raises InvalidInput if the type of the records is not supported. The reader opens a file when
    the first block is requested, and raises its errors then.
    """
    if selection.form.layout is not None and not are_files(records):
        raise InvalidInput(ONLY_FILES)
    if hasattr(records, "__arrow_c_stream__"):
        from socialapi.bulk.inputs.arrow import ArrowReader

        return ArrowReader(records, selection)
    if are_files(records):
        from socialapi.bulk.inputs.files import FilesReader

        return FilesReader(records, selection, network)
    kind = type(records).__name__
    if isinstance(records, bytes | bytearray | memoryview):
        raise InvalidInput(
            f"records of type {kind} are not supported: give the path of a file, or wrap them in io.BytesIO"
        )
    is_item = isinstance(records, (*selection.models, *selection.bundles, Mapping))
    if is_item or keyed_row(type(records)) is not None:
        raise InvalidInput(f"a single {kind} is not an iterable of {selection.noun}: put it in a list")
    if isinstance(records, AsyncIterable):
        return AsyncIterableReader(records, selection)
    if isinstance(records, Iterable):
        return IterableReader(records, selection)
    if kind == "LazyFrame":
        raise InvalidInput(f"a {kind} has no rows yet: give the table that its method collect() returns")
    raise InvalidInput(
        f"{kind} contains no {selection.noun}: give the path of a file, or an iterable of {selection.items}"
    )


ONLY_FILES: Final = "a layout describes files only: for rows in memory, give the names with columns="


def are_files(records: Any) -> bool:
    """Returns whether the records are a path, a pattern, a list that contains only these, or an open file."""
    if hasattr(records, "__arrow_c_stream__"):
        return False
    if isinstance(records, str | os.PathLike) or hasattr(records, "read"):
        return True
    is_list = isinstance(records, list | tuple) and bool(records)
    return is_list and all(isinstance(each, str | os.PathLike) for each in records)


def check_layout_place(path: str | os.PathLike[str] | None, records: Any) -> None:
    """Raises InvalidInput if the records are not files, or if their layout cannot be written to this path."""
    if path is not None:
        if not are_files(records):
            raise InvalidInput(ONLY_FILES)
        check_place(path)
