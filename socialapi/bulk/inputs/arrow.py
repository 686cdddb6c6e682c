"""Reads rows from Arrow tables and Parquet files. pyarrow is an extra and imported on first use."""

import collections
import datetime
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from io import BufferedReader
from typing import Any, Final, Generic, Protocol, TypeVar, cast

import attrs

from socialapi.bulk.inputs.columns import Wanted, quoted
from socialapi.bulk.inputs.iterables import NOT_UNDERSTOOD, texts_of
from socialapi.bulk.inputs.numbers import NOT_TEXT, NoDigits, ShortFloat, digits_of, is_missing
from socialapi.bulk.inputs.reader import Chunk, NoRows, ThreadedReader
from socialapi.bulk.rows import ROWS_PER_CHUNK, RawColumn, RawRow, RawTable, When
from socialapi.errors import InvalidInput
from socialapi.models.audiences import IdentifierKind

AS_TEXT: Final = f"{NOT_TEXT}: export the column as text"
"""Said of a cell whose type has no one way of being written, such as a time."""

MAX_WORDS: Final = 100_000
"""Size of the largest dictionary of a column that is kept decoded."""

Texts = Callable[[Any], Sequence[str]]
Cells = Callable[[Any], Sequence[str] | None]
"""Gives the texts of some cells side by side, or None where one of them has none."""
Values = Callable[[Any], Sequence[Any]]


def pyarrow_for(what: str) -> Any:
    """The library. Raises InvalidInput, which says how to install it, where it is missing."""
    try:
        import pyarrow
        import pyarrow.types
    except ImportError:
        raise InvalidInput(f"reading {what} takes one more library: pip install 'aiosocialapi[arrow]'") from None
    return pyarrow


@attrs.frozen(eq=False)
class _Column:
    """A column of identifiers. `cells` gives its texts side by side; if it cannot, `values` gives
    the values of each row.
    """

    at: int
    name: str
    kind: IdentifierKind
    cells: Cells | None
    values: Values


class ArrowRows:
    """Turns record batches of one schema into chunks of rows.

    Raises InvalidInput for columns as `Wanted` does.
    """

    def __init__(self, schema: Any, wanted: Wanted) -> None:
        self._found = wanted.find(schema.names)
        wanted.require(schema.names, found_identifiers=bool(self._found.identifiers))
        self._columns = [
            _Column(at, name, kind, _cells_of(schema.types[at]), _values_of(schema.types[at]))
            for at, name, kind in self._found.identifiers
        ]

    def chunks(self, batch: Any, first_number: int) -> Iterator[Chunk[RawRow]]:
        """The rows of a batch, numbered from `first_number`; slices of it are made without copying."""
        for start in range(0, batch.num_rows, ROWS_PER_CHUNK):
            size = min(ROWS_PER_CHUNK, batch.num_rows - start)
            columns = [(each, batch.column(each.at).slice(start, size)) for each in self._columns]
            cells = [None if each.cells is None else each.cells(array) for each, array in columns]
            table = RawTable(
                first_number + start,
                size,
                tuple(
                    RawColumn(each.name, each.kind, texts)
                    for (each, _), texts in zip(columns, cells, strict=True)
                    if texts is not None
                ),
                self._overrides(batch, start, size),
            )
            odd = [column for column, texts in zip(columns, cells, strict=True) if texts is None]
            yield _rows(table, odd) if odd else table

    def _overrides(
        self, batch: Any, start: int, size: int
    ) -> tuple[Sequence[str | None] | None, Sequence[When] | None, Sequence[When] | None]:
        operation_types, effective_ats, expires_ats = (
            None if at is None else _times(batch.column(at).slice(start, size)) for at in self._found.overrides
        )
        texts = None if operation_types is None else [_text(each) for each in operation_types]
        return texts, effective_ats, expires_ats


def _rows(table: RawTable, odd: Iterable[tuple[_Column, Any]]) -> list[RawRow]:
    """The rows one by one, since they have several identifiers in a cell of these columns, or cells that are no text."""
    rows = list(table)
    for column, array in odd:
        for row, value in zip(rows, column.values(array), strict=True):
            _add(row, column, value)
    return rows


def _add(row: RawRow, column: _Column, value: Any) -> None:
    if value is None:
        return
    for text, reason in texts_of(value):
        if not reason:
            row.identifiers.append((column.name, column.kind, text))
        else:
            row.unusable = (*row.unusable, (column.name, AS_TEXT if reason == NOT_TEXT else reason))


def _cells_of(kind: Any) -> Cells | None:
    """How the cells of a type become texts; None when a cell is not one text."""
    types = pyarrow_for("a table").types
    if (texts := _texts_of(kind)) is not None:
        return texts
    if types.is_floating(kind) or types.is_decimal(kind):
        return lambda array: _digits(_numbers_in(array))
    if types.is_dictionary(kind) and (types.is_floating(kind.value_type) or types.is_decimal(kind.value_type)):
        return lambda array: _digits(_numbers_in(array.dictionary_decode()))
    return None


def _texts_of(kind: Any) -> Texts | None:
    """How cells that have one text each become texts; None for other types."""
    types = pyarrow_for("a table").types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _texts
    if types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0):
        return _numbers
    if types.is_null(kind):
        return lambda array: [""] * len(array)
    if types.is_dictionary(kind) and (texts := _texts_of(kind.value_type)) is not None:
        return _WordCells(texts)
    return None


def _numbers_in(array: Any) -> Sequence[Any]:
    """The numbers of an array, those of short types marked as such; None for each null."""
    types = pyarrow_for("a table").types
    size = array.type.bit_width // 8
    if types.is_decimal(array.type) or size >= 8:
        return cast("Sequence[Any]", array.to_pylist())
    return [None if number is None else ShortFloat(number, size) for number in array.to_pylist()]


def _digits(numbers: Sequence[Any]) -> Sequence[str] | None:
    try:
        return ["" if is_missing(number) else digits_of(number) for number in numbers]
    except NoDigits:
        return None


class _WordCells:
    """The texts of dictionary-encoded columns. A dictionary is decoded once, unless it is too large
    to keep.
    """

    def __init__(self, cells: Texts) -> None:
        self._cells = cells
        self._dictionary: Any = None
        self._key: object = None
        self._words: Sequence[str] = ()

    def __call__(self, array: Any) -> Sequence[str]:
        dictionary = array.dictionary
        if len(dictionary) > MAX_WORDS:
            return self._cells_one_by_one(array)
        key = (len(dictionary), dictionary.offset, *(each and each.address for each in dictionary.buffers()))
        if key != self._key:
            # The dictionary is kept as well, so that nothing else comes to lie where it is.
            self._key, self._dictionary, self._words = key, dictionary, self._cells(dictionary)
        words = self._words
        return ["" if index is None else words[index] for index in array.indices.to_pylist()]

    def _cells_one_by_one(self, array: Any) -> Sequence[str]:
        places = array.indices.to_pylist()
        return ["" if at is None else self._cells(array.dictionary.slice(at, 1))[0] for at in places]


def _texts(array: Any) -> list[str]:
    try:
        cells = array.to_pylist()
    except UnicodeDecodeError:
        cells = [_decoded(scalar.as_buffer()) for scalar in array]
    return cells if not array.null_count else [cell or "" for cell in cells]


def _decoded(data: Any) -> str | None:
    """As files are decoded: a byte that is not UTF-8 makes its cell unusable, and no other."""
    return None if data is None else data.to_pybytes().decode("utf-8", "surrogateescape")


def _numbers(array: Any) -> list[str]:
    return ["" if number is None else str(number) for number in array.to_pylist()]


def _values_of(kind: Any) -> Values:
    """The values of a type whose cells are not one text each: numbers, lists of texts or numbers, or what is no text."""
    types = pyarrow_for("a table").types
    if types.is_dictionary(kind):
        values = _values_of(kind.value_type)
        return lambda array: values(array.dictionary_decode())
    if types.is_floating(kind) or types.is_decimal(kind):
        return _numbers_in
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list or types.is_list_view(kind) or types.is_large_list_view(kind):
        inner = _texts_of(kind.value_type) or _values_of(kind.value_type)
        return lambda array: [list(inner(scalar.values)) if scalar.is_valid else None for scalar in array]
    return lambda array: [scalar if scalar.is_valid else None for scalar in array]


def _times(array: Any) -> list[When]:
    """The times of a column: of times as they are, with a time zone or without, and of texts as texts."""
    pyarrow = pyarrow_for("a table")
    if pyarrow.types.is_timestamp(array.type):
        # Python's times have no nanoseconds. In UTC, for the rules of another zone need not be installed here.
        unit = "us" if array.type.unit == "ns" else array.type.unit
        array = array.cast(pyarrow.timestamp(unit, tz="UTC" if array.type.tz else None), safe=False)
        return [_time(scalar) for scalar in array]
    texts = _texts_of(array.type)
    if texts is not None and texts is not _numbers:
        return [cell.strip() or None for cell in texts(array)]
    if pyarrow.types.is_date(array.type):
        return [None if day is None else day.isoformat() for day in array.to_pylist()]
    if pyarrow.types.is_floating(array.type):
        return [None if is_missing(number) else NOT_UNDERSTOOD for number in array.to_pylist()]
    return [NOT_UNDERSTOOD if scalar.is_valid else None for scalar in array]


def _time(scalar: Any) -> When:
    try:
        found: datetime.datetime | None = scalar.as_py()
    except (ValueError, OverflowError):  # before the first or after the last year that Python knows
        return NOT_UNDERSTOOD
    return found


def _text(value: When) -> str | None:
    return NOT_UNDERSTOOD if isinstance(value, datetime.datetime) else value


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

PARQUET_BATCH_ROWS: Final = 8 * 1_250
"""Rows of a Parquet file that are decoded in one go: some megabytes of texts."""
_BUFFER_BYTES: Final = 65_536
_ONE_COLUMN: Final = "non-struct type"
"""What pyarrow says of the schema of something that has no columns."""
_MIXED: Final = re.compile("Conversion failed for column (.+) with type")


class ArrowStream(Protocol):
    """A table that can be read through Arrow: a DataFrame, a table, a relation or a stream of
    batches.
    """

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with the stream, as Arrow's PyCapsule interface defines it."""


class BatchRows(Protocol[R_co]):
    """Turns record batches into rows."""

    def chunks(self, batch: Any, first_number: int) -> Iterator[Chunk[R_co]]:
        """The rows of a batch, numbered from `first_number`."""


class ArrowReader(ThreadedReader[R], Generic[R]):
    """Reads a table in a thread. A database relation is computed there while it is read."""

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
