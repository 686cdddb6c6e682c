"""Reading tables in Arrow's memory format, as pandas, Polars, pyarrow and DuckDB give them, and Parquet files."""

import collections
import re
from collections.abc import Callable, Generator, Iterator
from io import BufferedReader
from typing import Any, Final, Generic, Protocol, TypeVar

from socialapi.bulk.reading.arrow_rows import ArrowRows, pyarrow_for
from socialapi.bulk.reading.columns import Wanted, quoted
from socialapi.bulk.reading.reader_base import Chunk, NoRows
from socialapi.bulk.reading.threaded_reader import ThreadedReader
from socialapi.bulk.rows import RawRow
from socialapi.errors import InvalidInput

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

PARQUET_BATCH_ROWS: Final = 8 * 1_250
"""Rows of a Parquet file that are decoded in one go: some megabytes of texts."""
_BUFFER_BYTES: Final = 65_536
_ONE_COLUMN: Final = "non-struct type"
"""What pyarrow says of the schema of something that has no columns."""
_MIXED: Final = re.compile("Conversion failed for column (.+) with type")


class ArrowStream(Protocol):
    """A table that can be read in Arrow's memory format: a DataFrame, a table, a relation or a stream of batches."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with the stream, as Arrow's PyCapsule interface defines it."""


class BatchRows(Protocol[R_co]):
    """What makes rows of record batches."""

    def chunks(self, batch: Any, first_number: int) -> Iterator[Chunk[R_co]]:
        """The rows of a batch, numbered from `first_number`."""


class ArrowReader(ThreadedReader[R], Generic[R]):
    """Reads a table, in a thread. A relation of a database is computed there while it is read."""

    def __init__(self, table: ArrowStream, rows_of: Callable[[Any], BatchRows[R]]) -> None:
        self._table = table
        self._rows_of = rows_of
        self._size = _size(table)
        self._rows_read = 0
        super().__init__()

    def _fraction(self) -> float | None:
        return min(1.0, self._rows_read / self._size) if self._size else None

    def _read(self) -> Generator[Chunk[R], None, None]:
        pyarrow = pyarrow_for("a table")
        try:
            stream = pyarrow.RecordBatchReader.from_stream(self._table)
        except Exception as error:  # noqa: BLE001 - of whichever library made the table; its words may quote values
            raise InvalidInput(f"the table cannot be read: {_why_not_opened(self._table, error)}") from None
        with stream:
            _refuse_nothing(stream.schema)
            rows = self._rows_of(stream.schema)
            for batch in _batches(stream):
                for chunk in rows.chunks(batch, self._rows_read + 1):
                    self._rows_read += len(chunk)
                    yield chunk


def read_parquet(file: BufferedReader, wanted: Wanted) -> Generator[Chunk[RawRow], None, None]:
    """The rows of a Parquet file, in chunks; only the columns that are looked for are read.

    Raises NoRows when there are none, InvalidInput for columns as `Wanted` does, and, after the rows before it, where the
    file cannot be read any further.
    """

    def of_interest(schema: Any) -> list[str]:
        found = wanted.find(schema.names)
        wanted.require(schema.names, found_identifiers=bool(found.identifiers))
        places = [at for at, _, _ in found.identifiers] + [at for at in found.overrides if at is not None]
        return list(dict.fromkeys(schema.names[at] for at in places))

    yield from parquet_chunks(file, of_interest, lambda schema: ArrowRows(schema, wanted))


def parquet_chunks(
    file: BufferedReader, of_interest: Callable[[Any], list[str]], rows_of: Callable[[Any], BatchRows[R]]
) -> Generator[Chunk[R], None, None]:
    """What `rows_of` makes of a Parquet file, of which only the columns `of_interest` are read."""
    pyarrow = pyarrow_for("Parquet")
    from pyarrow.parquet import ParquetFile

    try:
        # Page by page and in this thread alone: what pyarrow does by itself holds several row groups in memory.
        parquet = ParquetFile(file, memory_map=False, pre_buffer=False, buffer_size=_BUFFER_BYTES)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInput(f"the Parquet file cannot be read: {_why(error)}") from None
    number = 0
    _refuse_nothing(parquet.schema_arrow)
    columns = of_interest(parquet.schema_arrow)
    rows: BatchRows[R] | None = None
    for batch in _batches(parquet.iter_batches(batch_size=PARQUET_BATCH_ROWS, columns=columns, use_threads=False)):
        rows = rows or rows_of(batch.schema)
        yield from rows.chunks(batch, number + 1)
        number += batch.num_rows
    if not number:
        raise NoRows("the file has no rows, only column names")


def _refuse_nothing(schema: Any) -> None:
    if not schema.names:
        raise NoRows("the table has neither columns nor rows")


def _batches(stream: Iterator[Any]) -> Iterator[Any]:
    while True:
        try:
            batch = next(stream, None)
        except Exception as error:  # noqa: BLE001 - of whichever library makes the batches; its words may quote values
            raise InvalidInput(f"the table cannot be read any further: {_why(error)}") from None
        if batch is None:
            return
        yield batch


def _why_not_opened(table: Any, error: Exception) -> str:
    """What is wrong with something that gives no table, though it speaks Arrow's interface."""
    if hasattr(table, "to_frame") or _ONE_COLUMN in str(error):
        kind = type(table).__name__
        return (
            f"one {kind} is a column, not a table; give a table in which it has a name, as "
            'series.to_frame("email") is, or pyarrow.table({"email": column})'
        )
    try:
        names = collections.Counter(map(str, table.columns))
    except Exception:  # noqa: BLE001 - whatever the library of the table raises
        names = collections.Counter()
    twice = [f"{count} columns called {quoted(name)}" for name, count in names.items() if count > 1]
    if twice:
        return f"it has {' and '.join(twice[:5])}; give each column a name of its own"
    return _why(error)


def _why(error: Exception) -> str:
    """What is wrong, in our own words: those of a library may hold values of the table."""
    mixed = _MIXED.search(" ".join(map(str, error.args)))
    if mixed is not None:
        return f"column {quoted(mixed[1])} holds values of several types; make all of them texts"
    return f"it is damaged, or not a table that pyarrow knows ({type(error).__name__})"


def _size(table: object) -> int | None:
    """The number of rows of a table that knows it: asking a relation of a database would compute it."""
    for holder, name in ((table, "num_rows"), (table, "height"), (getattr(table, "index", None), "size")):
        if isinstance(size := getattr(holder, name, None), int):
            return size
    return None
