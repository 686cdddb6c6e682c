"""Reads rows from Arrow tables and Parquet files. pyarrow is an optional dependency and imported on first use."""

import bisect
import collections
import contextlib
import functools
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from io import BufferedReader
from itertools import accumulate, chain
from typing import Any, Final, NamedTuple, TypeVar

from socialapi.bulk.inputs.arrow_cells import (
    MAX_VALUES_PER_CELL,
    Measure,
    Size,
    check_cells,
    lengths_of,
    measure_of,
    size_of,
)
from socialapi.bulk.inputs.columns import positions_of, quoted
from socialapi.bulk.inputs.csv import LONG_CELL, LONG_ROW, MAX_ROW_CHARACTERS
from socialapi.bulk.inputs.layouts import Layout
from socialapi.bulk.inputs.numbers import ShortFloat, Unreadable
from socialapi.bulk.inputs.objects import ObjectBlocks, advice_on_paths, names_of, value_at, with_paths
from socialapi.bulk.inputs.reader import (
    BYTES_PER_BLOCK,
    COLUMNS_LOOKED_AT,
    ROWS_PER_BLOCK,
    ArrowStream,
    Block,
    NoRows,
    RowProblem,
    Selection,
    ThreadedReader,
    rows_looked_at,
)
from socialapi.errors import InvalidInput

L = TypeVar("L", bound=Layout)

MAX_WORDS: Final = 100_000
MAX_WORD_CHARACTERS: Final = 16_777_216
"""The size of the largest column dictionary whose decoded values are kept."""
Values = Callable[[Any], Sequence[Any]]
"""A function that returns the cells of an array as Python values, with None for each null."""


def pyarrow_for(what: str) -> Any:
    """Returns the pyarrow module. If it is missing, raises InvalidInput with the command that installs it."""
    try:
        import pyarrow
        import pyarrow.types
    except ImportError:
        raise InvalidInput(f"reading {what} needs pyarrow: pip install 'aiosocialapi[arrow]'") from None
    return pyarrow


class ArrowBlocks:
    """Converts record batches that share one schema into blocks with the columns that the layout selects."""

    def __init__(self, schema: Any, layout: Layout, names: Sequence[str] = ()) -> None:
        self._layout = layout
        self._columns = [
            (at, _values_of(schema.types[at]))
            if at < len(schema)
            else (_root_of(schema, names[at]), functools.partial(_at_path, names[at].partition(".")[2]))
            for at in layout.positions
        ]
        self._measures: dict[int, Measure] = {}
        for at, values in self._columns:
            measure = values.measure if isinstance(values, _Words) else measure_of(schema.types[at])
            if measure is not None:
                self._measures[at] = measure

    def check(self, batch: Any) -> None:
        """Raises InvalidInput if an offset or index in a batch points outside its memory."""
        with _explained():
            for at, values in dict(self._columns).items():
                column = batch.column(at)
                # Every batch contains the dictionary again, so `_Words` checks it only once.
                check_cells(column.indices if isinstance(values, _Words) else column)

    def blocks(self, batch: Any, first_number: int) -> Iterator[Block[Any]]:
        """Yields the rows of a batch in blocks, numbered from `first_number`, without copying the batch."""
        for part in self._parts(batch):
            yield Block(first_number, part.rows, self._layout, part.columns, part.unreadable)
            first_number += part.rows

    def gathered(self, batches: Iterator[Any]) -> Iterator[Block[Any]]:
        """Yields the rows of small batches, combining several batches into one block. If a batch cannot be read, yields
        the rows before it and then raises InvalidInput.
        """
        number, rows, characters = 1, 0, 0
        columns: list[list[Any]] = [[] for _ in self._columns]
        unreadable, error = dict[int, RowProblem](), None
        try:
            for part in chain.from_iterable(map(self._parts, batches)):
                is_full = rows + part.rows > ROWS_PER_BLOCK or characters + part.characters > BYTES_PER_BLOCK
                if rows and is_full:
                    yield Block(number, rows, self._layout, columns, unreadable)
                    number, rows, characters = number + rows, 0, 0
                    columns, unreadable = [[] for _ in self._columns], {}
                for cells, more in zip(columns, part.columns, strict=True):
                    cells.extend(more)
                unreadable |= {rows + index: problem for index, problem in part.unreadable.items()}
                rows, characters = rows + part.rows, characters + part.characters
        except InvalidInput as problem:
            error = problem
        if rows:
            yield Block(number, rows, self._layout, columns, unreadable)
        if error is not None:
            raise error

    def _parts(self, batch: Any) -> Iterator["_Part"]:
        """Yields the rows of a batch in parts of at most `ROWS_PER_BLOCK` rows. A part of several
        rows has at most about `BYTES_PER_BLOCK` characters.
        """
        for start in range(0, batch.num_rows, ROWS_PER_BLOCK):
            waiting = [batch.slice(start, ROWS_PER_BLOCK)]
            while waiting:
                rows = waiting.pop()
                with _explained():
                    part = self._part(rows)
                if part is None:
                    half = rows.num_rows // 2
                    waiting += [rows.slice(half), rows.slice(0, half)]
                else:
                    yield part

    def _part(self, batch: Any) -> "_Part | None":
        """Returns the rows of a batch, or None if they have too many characters for one part."""
        unreadable, characters = dict[int, RowProblem](), 0
        for at, measure in self._measures.items():
            size = measure(batch.column(at))
            characters += size.characters
            for index in size.long:
                unreadable.setdefault(index, RowProblem(LONG_CELL, at + 1))
        if characters > BYTES_PER_BLOCK and batch.num_rows > 1:
            return None
        if characters > MAX_ROW_CHARACTERS:
            unreadable.setdefault(0, RowProblem(LONG_ROW))
        columns = [_without(unreadable, values, batch.column(at)) for at, values in self._columns]
        return _Part(batch.num_rows, columns, unreadable, characters)


class _Part(NamedTuple):
    rows: int
    columns: list[Sequence[Any]]
    unreadable: Mapping[int, RowProblem]
    characters: int


def _without(rows: Collection[int], values: Values, array: Any) -> Sequence[Any]:
    """Returns the cells of an array, with None in these rows."""
    if not rows:
        return values(array)
    cells, start = list[Any](), 0
    for row in (*sorted(rows), len(array)):
        cells += [*values(array.slice(start, row - start)), None]
        start = row + 1
    return cells[:-1]


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Replaces errors of pyarrow, whose messages may quote values, with InvalidInput."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - any error of pyarrow, whose message may quote values
        raise InvalidInput(f"the table cannot be read any further: {_why(error)}") from None


def _root_of(schema: Any, path: str) -> int:
    return int(schema.get_field_index(path.partition(".")[0]))


def _at_path(path: str, array: Any) -> Sequence[Any]:
    """Returns the value at a path within each cell of an array of structs, lists or maps."""
    is_map = pyarrow_for("a table").types.is_map(array.type)
    return [value_at(dict(cell or ()) if is_map else cell, path) for cell in _other_values(array)]


def _within(kind: Any) -> Any:
    """Returns the field names of a struct type as a nested mapping, or None for any other type."""
    is_struct = pyarrow_for("a table").types.is_struct
    return {field.name: _within(field.type) for field in kind} if is_struct(kind) else None


def _layout_of(schema: Any, selection: Selection[L]) -> tuple[Sequence[str], L]:
    """Returns the column names of a table, followed by those paths of the selection that lead into columns of structs,
    lists or maps, and the layout of both.
    """
    is_nested = pyarrow_for("a table").types.is_nested
    nested = {field.name for field in schema if is_nested(field.type)}
    paths = (path for path in selection.paths if not positions_of((path,), schema.names))
    names = [*schema.names, *(path for path in paths if path.partition(".")[0] in nested)]
    with advice_on_paths([{field.name: _within(field.type) for field in schema}], selection):
        return names, selection.of_table(names)


def _values_of(kind: Any) -> Values:
    """Returns the function that converts arrays of a type into Python values."""
    types = pyarrow_for("a table").types
    if _is_text(kind):
        return _texts
    if types.is_dictionary(kind):
        return _Words(_values_of(kind.value_type))
    if types.is_floating(kind) and kind.bit_width < 64:
        size = kind.bit_width // 8
        return lambda array: [None if number is None else ShortFloat(number, size) for number in array.to_pylist()]
    if types.is_timestamp(kind):
        return _times
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list or types.is_list_view(kind) or types.is_large_list_view(kind):
        inner = _values_of(kind.value_type)
        return lambda array: [_list_of(inner, scalar.values) if scalar.is_valid else None for scalar in array]
    return _other_values


def _list_of(inner: Values, array: Any) -> Any:
    """Returns the values of a list cell, or Unreadable if it has more than `MAX_VALUES_PER_CELL`, because no identifier
    or field has that many.
    """
    return list(inner(array)) if len(array) <= MAX_VALUES_PER_CELL else Unreadable()


class _Words:
    """A function that returns the cells of a dictionary-encoded column. It decodes a dictionary
    once, unless the dictionary is too large to keep.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        self._dictionary: Any = None
        self._key: object = None
        self._lengths: Any = None
        self._characters = 0
        self._words: Mapping[int | None, Any] | None = None

    def measure(self, array: Any) -> Size:
        """Returns the size of the cells. In a damaged table, raises ArrowIndexError for an index outside the dictionary."""
        from pyarrow import compute

        self._note(array.dictionary)
        return size_of(compute.take(self._lengths, array.indices).fill_null(0))

    def _note(self, dictionary: Any) -> None:
        """Checks and measures a dictionary, unless it is the same as before."""
        from pyarrow import compute

        key = (len(dictionary), dictionary.offset, *(each and each.address for each in dictionary.buffers()))
        if key != self._key:
            check_cells(dictionary)
            self._lengths = lengths_of(dictionary)
            self._characters = compute.sum(self._lengths).as_py() or 0
            # While this dictionary is kept, no other dictionary can have the same memory addresses, which form the key.
            self._key, self._dictionary, self._words = key, dictionary, None

    def __call__(self, array: Any) -> Sequence[Any]:
        dictionary = array.dictionary
        self._note(dictionary)
        if len(dictionary) > MAX_WORDS or self._characters > MAX_WORD_CHARACTERS:
            return self._values(array.dictionary_decode())
        if self._words is None:
            # In a damaged table, an index may be negative: a list would count it from its end, and a mapping raises KeyError.
            self._words = {None: None, **dict(enumerate(self._values(dictionary)))}
        return list(map(self._words.__getitem__, array.indices.to_pylist()))


def _texts(array: Any) -> Sequence[str | None]:
    try:
        found: Sequence[str | None] = array.to_pylist()
    except UnicodeDecodeError:
        # Decodes like the file readers: a byte that is not UTF-8 affects only its own cell.
        cells = (scalar.as_buffer() for scalar in array)
        return [None if cell is None else cell.to_pybytes().decode("utf-8", "surrogateescape") for cell in cells]
    return found


def _times(array: Any) -> Sequence[Any]:
    """Returns the times of a column, in UTC if the column has a time zone and without a zone otherwise."""
    pyarrow = pyarrow_for("a table")
    # Python's times have no nanoseconds. The cast to UTC works without a time zone database.
    unit = "us" if array.type.unit == "ns" else array.type.unit
    array = array.cast(pyarrow.timestamp(unit, tz="UTC" if array.type.tz else None), safe=False)
    return _other_values(array)


def _other_values(array: Any) -> Sequence[Any]:
    try:
        found: Sequence[Any] = array.to_pylist()
    except (ValueError, OverflowError):  # times out of Python's range, or text that is not UTF-8
        return [_value(scalar) for scalar in array]
    return found


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return Unreadable()


PARQUET_BATCH_ROWS: Final = 250
"""The maximum number of rows of a Parquet file that are decoded at once. A text that occurs in every row is decoded
again for each row.
"""
_FEWEST_ROWS: Final = 4
"""The number of rows decoded at once if the first rows are large."""
_GATHERED_BYTES: Final = 4_194_304
"""The maximum number of bytes of a Parquet file that are decoded at once, estimated from the first rows."""
_LOOKED_AT_BYTES: Final = 1_048_576
"""The maximum number of bytes of text, in all columns together, that are examined to find overlooked columns."""
_BUFFER_BYTES: Final = 65_536
_ONE_COLUMN: Final = "non-struct type"
"""A part of pyarrow's error message for an object that has no columns."""
_is_mixed: Final = re.compile("Conversion failed for column .+ with type").search
"""Finds pyarrow's error for a column of a pandas DataFrame whose cells have several types."""


class ArrowReader(ThreadedReader[L]):
    """Reads a table in a thread. A database relation runs its query in that thread."""

    why_not_flushed: str | None = "a table is complete from the start"

    def __init__(self, table: ArrowStream, selection: Selection[L]) -> None:
        self._table = table
        self._selection = selection
        self._size = _size(table)
        super().__init__()

    def _read(self) -> Generator[Block[L], None, None]:
        pyarrow = pyarrow_for("a table")
        try:
            stream = pyarrow.RecordBatchReader.from_stream(self._table)
        except Exception as error:  # noqa: BLE001 - any error of the table's library, whose message may quote values
            if not (_is_mixed(" ".join(map(str, error.args))) and hasattr(self._table, "iloc")):
                raise InvalidInput(f"the table cannot be read: {_why_not_opened(self._table, error)}") from None
            stream = None
        if stream is None:
            yield from self._mixed_blocks()
            return
        with stream:
            _refuse_nothing(stream.schema)
            names, layout = _layout_of(stream.schema, self._selection)
            rows = ArrowBlocks(stream.schema, layout, names)
            for batch in _batches(stream):
                rows.check(batch)
                if not self._count_read:
                    _look_at(batch, self._selection)
                for block in rows.blocks(batch, self._count_read + 1):
                    self._count_read += len(block)
                    yield block

    def _mixed_blocks(self) -> Iterator[Block[L]]:
        """Yields the rows of a pandas DataFrame with a column of several types, read like rows in memory."""
        table: Any = self._table
        objects = ObjectBlocks(self._selection)
        # As Arrow does: an index with a name of its own is a column.
        own = [name for name in table.index.names if name is not None and name not in table.columns]
        table = table.reset_index(own) if own else table
        if reason := _repeated_names(table):  # mappings would have only the last of the columns
            raise InvalidInput(f"the table cannot be read: {reason}")
        for start in range(0, len(table), ROWS_PER_BLOCK):
            part = table.iloc[start : start + ROWS_PER_BLOCK].rename(columns=str)
            rows = with_paths(part.to_dict("records"), self._selection)
            if not start:
                with advice_on_paths(rows, self._selection):
                    self._selection.of_table(names_of(rows))
            yield from objects.blocks(rows, start + 1)
            self._count_read = start + len(rows)


def read_parquet(file: BufferedReader, selection: Selection[L]) -> Generator[Block[L], None, None]:
    """Yields the rows of a Parquet file in blocks and reads only the selected columns.

    Raises NoRows if the file has no rows, and InvalidInput if the selection rejects the columns. If
    part of the file cannot be read, yields the rows before that part and then raises InvalidInput.
    """
    pyarrow = pyarrow_for("Parquet")
    from pyarrow.parquet import ParquetFile

    try:
        # These options read page by page in this thread: pyarrow's defaults hold several row groups in memory.
        parquet = ParquetFile(file, memory_map=False, pre_buffer=False, buffer_size=_BUFFER_BYTES)
        schema = parquet.schema_arrow
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the Parquet file cannot be read: {_why(error)}") from None
    _refuse_nothing(schema)
    names, layout = _layout_of(schema, selection)
    roots = [at if at < len(schema) else _root_of(schema, names[at]) for at in layout.positions]
    wanted = list(dict.fromkeys(schema.names[at] for at in roots))
    _look_at_texts(parquet, schema, selection)
    batches = _batches(parquet.iter_batches(batch_size=_FEWEST_ROWS, columns=wanted, use_threads=False))
    if (first := next(batches, None)) is None:
        raise NoRows("the file has no rows, only column names")
    # Does not use the column metadata: if it is damaged, pyarrow ends the process.
    size = _GATHERED_BYTES * first.num_rows // max(1, first.nbytes)
    if size > _FEWEST_ROWS:
        size = min(size, PARQUET_BATCH_ROWS)
        batches = _batches(parquet.iter_batches(batch_size=size, columns=wanted, use_threads=False))
    else:
        batches = chain((first,), batches)
    names, layout = _layout_of(first.schema, selection)
    yield from ArrowBlocks(first.schema, layout, names).gathered(batches)


def _look_at_texts(parquet: Any, schema: Any, selection: Selection[Any]) -> None:
    """Passes the first values of a Parquet file's text columns to the selection, but fewer if they are large."""
    is_struct = pyarrow_for("Parquet").types.is_struct
    texts = [field.name for field in schema if _is_text(field.type) or is_struct(field.type)][:COLUMNS_LOOKED_AT]
    with contextlib.suppress(Exception):  # a damaged column may raise any error
        size, more = 0, _FEWEST_ROWS
        while size < more:
            size = more
            batch = next(parquet.iter_batches(batch_size=size, columns=texts, use_threads=False))
            more = min(rows_looked_at(len(texts)), _LOOKED_AT_BYTES * size // max(1, batch.nbytes))
        _look_at(batch, selection)


def _look_at(batch: Any, selection: Selection[Any]) -> None:
    """Passes the first values of a batch's text columns to the selection. Ignores errors, because the job may not need
    the damaged column.
    """
    count = len(batch.columns)
    with contextlib.suppress(Exception):  # a damaged column may raise any error
        selection.look_at(
            (field.name, _first_texts(column.slice(0, rows_looked_at(count)), _LOOKED_AT_BYTES // count))
            for field, column in zip(batch.schema, batch.columns, strict=True)
        )


def _first_texts(array: Any, most: int) -> Sequence[Any]:
    """Returns the first strings or structs of a column, with at most `most` characters in total."""
    is_struct = pyarrow_for("a table").types.is_struct(array.type)
    if not (_is_text(array.type) or is_struct):
        return ()
    check_cells(array)
    if is_struct:
        return array.to_pylist() if array.nbytes <= most else ()
    if array.nbytes <= most:  # to measure cells, pyarrow imports pandas if it is installed, which takes 45 MB
        return _texts(array)
    return _texts(array.slice(0, bisect.bisect(list(accumulate(lengths_of(array).to_pylist())), most)))


def _is_text(kind: Any) -> bool:
    types = pyarrow_for("a table").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _refuse_nothing(schema: Any) -> None:
    if not schema.names:
        raise NoRows("the table has neither columns nor rows")


def _batches(stream: Iterator[Any]) -> Iterator[Any]:
    while True:
        with _explained():
            batch = next(stream, None)
        if batch is None:
            return
        yield batch


def _why_not_opened(table: Any, error: Exception) -> str:
    """Returns why an object with Arrow's interface cannot be read as a table."""
    if hasattr(table, "to_frame") or _ONE_COLUMN in str(error):
        kind = type(table).__name__
        return (
            f"a {kind} is a single column: make a table with a name for the column, for example with "
            'series.to_frame("email") or pyarrow.table({"email": column})'
        )
    return _repeated_names(table) or _why(error)


def _repeated_names(table: Any) -> str:
    """Returns what to do if several columns of a table have the same name, or an empty string."""
    try:
        names = collections.Counter(map(str, table.columns))
    except Exception:  # noqa: BLE001 - any error of the table's library
        return ""
    twice = [f"{count} columns called {quoted(name)}" for name, count in names.items() if count > 1]
    return f"it has {' and '.join(twice[:5])}: give each column a different name" if twice else ""


def _why(error: Exception) -> str:
    """Returns the reason for an error without the library's own message, which may quote values from the table."""
    if isinstance(error, InvalidInput):  # raised while the file is downloaded
        return error.message
    return f"it is damaged, or pyarrow does not support it ({type(error).__name__})"


def _size(table: object) -> int | None:
    """Returns a table's number of rows, or None if the table does not store it. To count its rows, a database relation
    would have to run its query.
    """
    for holder, name in ((table, "num_rows"), (table, "height"), (getattr(table, "index", None), "size")):
        if isinstance(size := getattr(holder, name, None), int):
            return size
    return None
