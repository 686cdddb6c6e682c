"""Checks and measures the cells of Arrow arrays before they become Python values.

Arrow follows offsets and indexes without checking them, and a cell of a few bytes may expand to
gigabytes. pyarrow is imported on first use, because it is optional.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from socialapi.bulk.inputs.dialect import MAX_CELL_CHARACTERS

MAX_VALUES_PER_CELL: Final = 10_000
"""The maximum number of values in a list that is read from one cell."""
_VALUE_CHARACTERS: Final = 8
"""The number of characters counted for a number or a time, and the minimum counted for each value in a list."""
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The continuation bytes of UTF-8."""


class Size(NamedTuple):
    """The total number of characters in the cells of an array, and the indexes of the cells that are too long."""

    characters: int
    long: Sequence[int] = ()


Measure = Callable[[Any], Size]


def measure_of(kind: Any) -> Measure | None:
    """Returns the function that measures arrays of a type, or None if no cell can be too long.

    The function counts bytes instead of characters where counting characters would require a copy.
    """
    from pyarrow import BaseExtensionType, types

    if isinstance(kind, BaseExtensionType):
        measure = measure_of(kind.storage_type)
        return None if measure is None else lambda array: measure(array.storage)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _measure_views
    is_long = _is_text(kind) or types.is_nested(kind) or types.is_dictionary(kind) or types.is_run_end_encoded(kind)
    return functools.partial(_measure, is_flat=_is_flat(kind)) if is_long else None


def lengths_of(array: Any) -> Any:
    """Returns the number of characters of each cell, as an Arrow array. A repeated value is measured once."""
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    if types.is_string(kind) or types.is_large_string(kind):
        lengths = compute.utf8_length(array)
    elif _is_text(kind):
        lengths = compute.binary_length(array)
    elif types.is_string_view(kind) or types.is_binary_view(kind):
        # Each view begins with the length, in the first of four integers.
        integers = pyarrow.Array.from_buffers(
            pyarrow.int32(), 4 * (array.offset + len(array)), [None, array.buffers()[1]]
        )
        views = pyarrow.FixedSizeListArray.from_arrays(integers, 4).slice(array.offset)
        lengths = compute.if_else(array.is_valid(), compute.list_element(views, 0), 0)
    elif types.is_dictionary(kind):
        words, indices = array.dictionary, array.indices
        if len(words) > len(array):  # then the array does not use all words
            used = compute.unique(indices.drop_null())
            words, indices = words.take(used), compute.index_in(indices, used)
        lengths = compute.take(lengths_of(words), indices)
    elif types.is_run_end_encoded(kind):
        first, count = array.find_physical_offset(), array.find_physical_length()
        ends = compute.subtract(array.run_ends.slice(first, count).cast(pyarrow.int64()), array.offset)
        runs = compute.min_element_wise(ends, len(array)), lengths_of(array.values.slice(first, count))
        lengths = compute.run_end_decode(pyarrow.RunEndEncodedArray.from_arrays(*runs))
    elif types.is_struct(kind):
        lengths = functools.reduce(compute.add, map(lengths_of, array.flatten()), pyarrow.repeat(0, len(array)))
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_map(kind):
        first = array.offsets[0].as_py()
        inner = lengths_of(array.values.slice(first, array.offsets[-1].as_py() - first)).cast(pyarrow.int64())
        inner = compute.max_element_wise(inner, _VALUE_CHARACTERS)  # every Python value takes memory
        sums = pyarrow.concat_arrays([pyarrow.array([0]), compute.cumulative_sum(inner)])
        ends = compute.take(sums, compute.subtract(array.offsets, first))
        lengths = compute.if_else(array.is_valid(), compute.subtract(ends[1:], ends[:-1]), 0)
    elif isinstance(array, pyarrow.ExtensionArray):
        lengths = lengths_of(array.storage)
    else:
        lengths = pyarrow.array(map(_size, array), pyarrow.int64()) if types.is_nested(kind) else None
    return pyarrow.repeat(_VALUE_CHARACTERS, len(array)) if lengths is None else lengths.fill_null(0)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    is_string = types.is_string(kind) or types.is_large_string(kind)
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(is_string or is_binary)


def _is_flat(kind: Any) -> bool:
    """Returns whether the cells of a type never share bytes, so that an array is as large as all its cells together."""
    from pyarrow import types

    if types.is_struct(kind):
        return all(_is_flat(field.type) for field in kind)
    if types.is_map(kind):
        return _is_flat(kind.key_type) and _is_flat(kind.item_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_flat(kind.value_type)
    return _is_text(kind) or bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind))


def _measure(array: Any, *, is_flat: bool) -> Size:
    from pyarrow import compute, types

    if is_flat and array.nbytes <= MAX_CELL_CHARACTERS:
        return Size(array.nbytes)
    lengths = lengths_of(array)
    if types.is_nested(array.type) and hasattr(array, "flatten") and hasattr(array.type, "value_type"):
        is_never_read = compute.greater(compute.list_value_length(array), MAX_VALUES_PER_CELL)
        lengths = compute.if_else(is_never_read.fill_null(False), 0, lengths)
    return size_of(lengths)


def _measure_views(array: Any) -> Size:
    if array.nbytes <= MAX_CELL_CHARACTERS:
        return Size(array.nbytes)
    size = size_of(lengths_of(array))
    return Size(size.characters, [index for index in size.long if _size(array[index]) > MAX_CELL_CHARACTERS])


def size_of(lengths: Any) -> Size:
    """Returns the size of cells with these lengths."""
    from pyarrow import compute

    if compute.max(lengths).as_py() <= MAX_CELL_CHARACTERS:
        return Size(compute.sum(lengths).as_py())
    is_long = compute.greater(lengths, MAX_CELL_CHARACTERS)
    fitting = compute.sum(compute.if_else(is_long, 0, lengths)).as_py()
    return Size(fitting, compute.indices_nonzero(is_long).to_pylist())


def _size(scalar: Any) -> int:
    """Returns the number of characters of a cell, or some larger number if the cell is too long."""
    from pyarrow import ListScalar, compute

    if not scalar.is_valid:
        return 0
    if hasattr(scalar, "as_buffer"):
        size = int(scalar.as_buffer().size)
        if not MAX_CELL_CHARACTERS < size <= 4 * MAX_CELL_CHARACTERS or "string" not in str(scalar.type):
            return size
        return len(scalar.as_buffer().to_pybytes().translate(None, _CONTINUATION))
    if isinstance(scalar, ListScalar):  # a list view, or a list of fixed size
        values = scalar.values
        return len(values) if len(values) > MAX_CELL_CHARACTERS else compute.sum(lengths_of(values)).as_py() or 0
    inner = getattr(scalar, "value", None)  # only a union has this attribute
    return _size(inner) if hasattr(inner, "is_valid") else _VALUE_CHARACTERS


def check_cells(array: Any) -> None:
    """Raises ArrowInvalid if offsets, indexes or buffers of the array are invalid. Strings need not be UTF-8."""
    import pyarrow

    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        pyarrow.array(_InBytes(array)).validate(full=True)


class _InBytes:
    """The same buffers as an array of bytes instead of strings, so that pyarrow does not check for UTF-8."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        return _in_bytes(self._array.type).__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def _in_bytes(kind: Any) -> Any:
    import pyarrow
    from pyarrow import types

    for is_kind, bytes_kind in (
        (types.is_string, pyarrow.binary),
        (types.is_large_string, pyarrow.large_binary),
        (types.is_string_view, pyarrow.binary_view),
    ):
        if is_kind(kind):
            return bytes_kind()
    for is_kind, list_kind in (
        (types.is_list, pyarrow.list_),
        (types.is_large_list, pyarrow.large_list),
        (types.is_fixed_size_list, lambda field: pyarrow.list_(field, kind.list_size)),
    ):
        if is_kind(kind):
            return list_kind(kind.value_field.with_type(_in_bytes(kind.value_type)))
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_in_bytes(field.type)) for field in kind])
    return kind
