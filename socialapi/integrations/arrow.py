"""Converts models to pyarrow tables (extra `[arrow]`) and pandas data frames (extra `[pandas]`).

The schema depends only on the class, not on the items. So all tables of a collection have the same schema, and an empty
table has all columns:

* strings become `string`, integers `int64`, floats `double`, booleans `bool`, and times `timestamp[us, tz=UTC]`;
  amounts of money are the integers that the service sends
* an object of one known class becomes a `struct`, and an array a `list`
* everything else becomes a JSON string: objects with arbitrary keys, unions of classes, and `extra`, the last column,
  which is null if it is empty

For custom classes (`client.pages(…, item=…)`), pyarrow infers the types.

A lone surrogate, which Arrow cannot represent, becomes U+FFFD.
"""

import datetime
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final

import attrs

from socialapi.errors import InvalidInput
from socialapi.internal.unset import UNSET
from socialapi.problems import BrokenRule
from socialapi.wire.class_readers import FieldPlan, plan_of
from socialapi.wire.decode import CONVERTER, is_custom
from socialapi.wire.export import json_ready, json_text

Convert = Callable[[Any], Any]

ITEM: Final = "item"
"""The only column of a table of items without a class, which are stored as JSON strings."""


def arrow_schema(item_type: Any) -> Any:
    """Returns the `pyarrow.Schema` for tables of this class. Raises InvalidInput if pyarrow is not installed."""
    pa = _pyarrow()
    return pa.schema([pa.field(column.name, column.type) for column in _columns(item_type)])


def arrow_table(items: Sequence[Any], item_type: Any) -> Any:
    """Returns a `pyarrow.Table` with a row for each item. All items are instances of `item_type`.

    Raises InvalidInput, with the column and the row (from 0), if a value does not fit its column, such as an integer of
    more than 64 bits. Also raises InvalidInput if pyarrow is not installed.
    """
    pa = _pyarrow()
    if is_custom(item_type):
        return pa.Table.from_pylist([json_ready(item) for item in items])
    schema = arrow_schema(item_type)
    if attrs.has(item_type) and (other := [each for each in items if not isinstance(each, item_type)]):
        raise InvalidInput(f"a table of {item_type.__name__} cannot contain {type(other[0]).__name__}")
    arrays = [_array(column, [column.get(item) for item in items]) for column in _columns(item_type)]
    return pa.Table.from_arrays(arrays, schema=schema)


def parquet_writer(file: IO[bytes], item_type: Any) -> Any:
    """Returns a `pyarrow.parquet.ParquetWriter` for tables of this class. The caller must close it.

    Raises InvalidInput if pyarrow is not installed.
    """
    schema = arrow_schema(item_type)
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(file, schema)


def concatenated(tables: Sequence[Any]) -> Any:
    """Concatenates tables of one class. Each column of the result is a single chunk."""
    filled = [table for table in tables if table.num_rows] or tables
    return _pyarrow().concat_tables(filled, promote_options="permissive").combine_chunks()


def data_frame(table: Any) -> Any:
    """Returns a table as a `pandas.DataFrame`. Raises InvalidInput if pandas is not installed.

    Integers and booleans are nullable (`Int64`, `boolean`), because a missing value would turn the column into floats.
    Times are in UTC.
    """
    pa, pd = _pyarrow(), check_pandas()
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get)


def check_pandas() -> Any:
    """Returns the pandas module. Raises InvalidInput if it is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise InvalidInput("making a DataFrame needs pandas: pip install 'aiosocialapi[pandas]'") from None
    return pd


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise InvalidInput("making a table needs pyarrow: pip install 'aiosocialapi[arrow]'") from None
    return pyarrow


# Columns -----------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Column:
    """A column or a member of a struct: its name, its Arrow type, and the function that reads a cell from an object."""

    name: str
    type: Any
    get: Convert


@functools.cache
def _columns(item_type: Any) -> tuple[_Column, ...]:
    if not attrs.has(item_type):
        return (_Column(ITEM, _pyarrow().string(), _as_json),)
    return _columns_within(item_type, ())


def _columns_within(cls: Any, outer: tuple[Any, ...]) -> tuple[_Column, ...]:
    """Returns the columns of a class. `outer` lists the classes whose objects contain it."""
    plan = plan_of(cls, CONVERTER.get_structure_hook)
    columns = [_column(field, (*outer, cls)) for field in plan.fields if field.name is not None]
    if plan.extra >= 0:
        columns.append(_Column("extra", _pyarrow().string(), lambda item: _as_json(item.extra) if item.extra else None))
    return tuple(columns)


def _column(field: FieldPlan, outer: tuple[Any, ...]) -> _Column:
    pa, attribute = _pyarrow(), field.attribute
    kind, convert = _cell(field, outer)
    if field.is_array:
        one, kind = convert, pa.list_(kind)
        convert = list if one is None else lambda items: [one(item) for item in items]

    def get(item: Any) -> Any:
        value = getattr(item, attribute)
        if value is None or value is UNSET:
            return None
        return value if convert is None else convert(value)

    return _Column(field.name or attribute, kind, get)


def _cell(field: FieldPlan, outer: tuple[Any, ...]) -> tuple[Any, Convert | None]:
    """Returns the Arrow type of the field's values (of the items, if the field is an array), and the function that
    converts them, or None if they need no conversion.
    """
    pa, kind = _pyarrow(), field.kind
    if kind is datetime.datetime:
        return pa.timestamp("us", tz="UTC"), _aware
    if kind in _SCALARS:
        return _SCALARS[kind](pa), None
    # An object with a custom reader may be an instance of a subclass, and a recursive class has no finite type.
    if field.nested is None or kind in outer:
        return pa.string(), _as_json
    columns = _columns_within(kind, outer)
    struct = pa.struct([pa.field(column.name, column.type) for column in columns])
    return struct, lambda value: {column.name: column.get(value) for column in columns}


_SCALARS: Final[dict[Any, Callable[[Any], Any]]] = {
    str: lambda pa: pa.string(),
    bool: lambda pa: pa.bool_(),
    int: lambda pa: pa.int64(),
    float: lambda pa: pa.float64(),
}


def _as_json(value: Any) -> str | None:
    return None if value is None else json_text(json_ready(value))


def _aware(value: Any) -> Any:
    """Returns a time with a zone unchanged. For a time without a zone, which Arrow would treat as UTC, returns a value
    that fits no column.
    """
    is_naive = isinstance(value, datetime.datetime) and value.utcoffset() is None
    return _NAIVE if is_naive else value


_NAIVE: Final = object()


# Cells -------------------------------------------------------------------------------------------


def _array(column: _Column, cells: list[Any]) -> Any:
    """Returns the cells as an array. Only if that fails, searches for the values that do not fit."""
    pa = _pyarrow()
    try:
        return pa.array(cells, column.type)
    except _UNFIT:
        pass
    repaired = [_without_surrogates(cell) for cell in cells]
    broken = [rule for row, cell in enumerate(repaired) for rule in _unfit(column.type, cell, f"[{row}].{column.name}")]
    if broken:
        raise InvalidInput("some values do not fit the columns of a table", broken)
    return pa.array(repaired, column.type)


_UNFIT: Final = (ValueError, TypeError, OverflowError)
"""The exceptions that pyarrow raises for a value of the wrong type. pyarrow's own exceptions are subclasses of these.
"""


def _unfit(kind: Any, cell: Any, path: str) -> Iterator[BrokenRule]:
    """Yields an error for each value in a cell that does not fit the Arrow type."""
    pa = _pyarrow()
    if pa.types.is_struct(kind) and isinstance(cell, dict):
        for at in range(kind.num_fields):
            member = kind.field(at)
            yield from _unfit(member.type, cell[member.name], f"{path}.{member.name}")
    elif pa.types.is_list(kind) and isinstance(cell, list):
        for index, each in enumerate(cell):
            yield from _unfit(kind.value_type, each, f"{path}[{index}]")
    else:
        try:
            pa.array([cell], kind)
        except _UNFIT:
            yield BrokenRule(path=path, reason=f"does not fit {kind}")


def _without_surrogates(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(cell, list):
        return [_without_surrogates(each) for each in cell]
    return {name: _without_surrogates(each) for name, each in cell.items()} if isinstance(cell, dict) else cell
