"""Checks the cells of Arrow arrays, and measures them, before any becomes a Python value.

Arrow reads the memory to which offsets and indexes point without checking them, and a cell of a few
bytes may stand for gigabytes. pyarrow is imported by the callers.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from socialapi.bulk.inputs.dialect import MAX_CELL_CHARACTERS

MAX_VALUES_PER_CELL: Final = 10_000
"""The most values of a list that are read from one cell."""
_VALUE_CHARACTERS: Final = 8
"""What a number or a time counts."""
_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes of UTF-8 that begin no character."""


class Size(NamedTuple):
    """The characters in the cells of an array together, and the indexes of cells that have too many."""

    characters: int
    long: Sequence[int] = ()


Measure = Callable[[Any], Size]


def measure_of(kind: Any) -> Measure | None:
    """Returns the function that measures arrays of a type; None if no cell can be long.

    Where characters are not told from bytes without a copy, bytes are counted.
    """
    from pyarrow import BaseExtensionType, types

    if isinstance(kind, BaseExtensionType):
        measure = measure_of(kind.storage_type)
        return None if measure is None else lambda array: measure(array.storage)
    if _is_text(kind) or types.is_nested(kind):
        return _measure if _is_flat(kind) else _measure_each
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _measure_views
    return _measure_runs if types.is_run_end_encoded(kind) else None


def measure_words(lengths: Any, longest: int, indices: Any) -> Size:
    """Returns the size of cells that are indexes of words with these lengths."""
    from pyarrow import compute

    if longest * len(indices) <= MAX_CELL_CHARACTERS:
        return Size(longest * len(indices))
    return _of_lengths(compute.take(lengths, indices).fill_null(0))


def lengths_of(array: Any) -> Any:
    """Returns the characters of each cell, as an array of integers."""
    import pyarrow
    from pyarrow import compute, types

    kind = array.type
    if types.is_string(kind) or types.is_large_string(kind):
        return compute.utf8_length(array).fill_null(0)
    if _is_text(kind):
        return compute.binary_length(array).fill_null(0)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        # Each view begins with the length, in the first of four integers.
        integers = pyarrow.Array.from_buffers(
            pyarrow.int32(), 4 * (array.offset + len(array)), [None, array.buffers()[1]]
        )
        views = pyarrow.FixedSizeListArray.from_arrays(integers, 4).slice(array.offset)
        lengths = compute.list_element(views, 0)
        return compute.if_else(array.is_valid(), lengths, 0) if array.null_count else lengths
    if measure_of(kind) is None:
        return pyarrow.repeat(_VALUE_CHARACTERS, len(array))
    return pyarrow.array(map(_size, array), pyarrow.int64())


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    is_string = types.is_string(kind) or types.is_large_string(kind)
    is_binary = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    return bool(is_string or is_binary)


def _is_flat(kind: Any) -> bool:
    """Returns whether every cell has bytes of its own, so that those of an array are their sum."""
    from pyarrow import types

    if types.is_struct(kind):
        return all(_is_flat(field.type) for field in kind)
    if types.is_map(kind):
        return _is_flat(kind.key_type) and _is_flat(kind.item_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_flat(kind.value_type)
    return _is_text(kind) or bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_null(kind))


def _measure(array: Any) -> Size:
    """Measures an array that is flat. Only halves with enough bytes for a long cell are looked into."""
    size = array.nbytes
    if size <= MAX_CELL_CHARACTERS:
        return Size(size)
    if len(array) == 1:
        return _measure_each(array)
    half = len(array) // 2
    first, second = _measure(array.slice(0, half)), _measure(array.slice(half))
    return Size(first.characters + second.characters, [*first.long, *(half + index for index in second.long)])


def _measure_views(array: Any) -> Size:
    if array.nbytes <= MAX_CELL_CHARACTERS:
        return Size(array.nbytes)
    size = _of_lengths(lengths_of(array))
    return Size(size.characters, [index for index in size.long if _size(array[index]) > MAX_CELL_CHARACTERS])


def _measure_runs(array: Any) -> Size:
    """Measures an array of repeated values, each of them once."""
    from pyarrow import RunEndEncodedArray, compute

    lengths = RunEndEncodedArray.from_arrays(array.run_ends, lengths_of(array.values))
    return _of_lengths(compute.run_end_decode(lengths).slice(array.offset, len(array)).fill_null(0))


def _measure_each(array: Any) -> Size:
    sizes = [0 if _is_never_read(scalar) else _size(scalar) for scalar in array]
    long = [index for index, size in enumerate(sizes) if size > MAX_CELL_CHARACTERS]
    return Size(sum(size for size in sizes if size <= MAX_CELL_CHARACTERS), long)


def _of_lengths(lengths: Any) -> Size:
    from pyarrow import compute

    if compute.max(lengths).as_py() <= MAX_CELL_CHARACTERS:
        return Size(compute.sum(lengths).as_py())
    is_long = compute.greater(lengths, MAX_CELL_CHARACTERS)
    fitting = compute.sum(compute.if_else(is_long, 0, lengths)).as_py()
    return Size(fitting, compute.indices_nonzero(is_long).to_pylist())


def _is_never_read(scalar: Any) -> bool:
    from pyarrow import ListScalar, MapScalar

    is_list = isinstance(scalar, ListScalar) and not isinstance(scalar, MapScalar)
    return is_list and scalar.is_valid and len(scalar.values) > MAX_VALUES_PER_CELL


def _size(scalar: Any) -> int:
    """Returns the characters of a cell, or any larger number if there are too many."""
    from pyarrow import ListScalar, StructScalar

    if not scalar.is_valid:
        return 0
    if hasattr(scalar, "as_buffer"):
        size = int(scalar.as_buffer().size)
        if not MAX_CELL_CHARACTERS < size <= 4 * MAX_CELL_CHARACTERS or "string" not in str(scalar.type):
            return size
        return len(scalar.as_buffer().to_pybytes().translate(None, _CONTINUATION))
    if isinstance(scalar, ListScalar):
        values = scalar.values
        return len(values) if len(values) > MAX_CELL_CHARACTERS else sum(map(_size, values))
    if isinstance(scalar, StructScalar):
        return sum(map(_size, scalar.values()))
    inner = getattr(scalar, "value", None)  # of a dictionary, a union, an extension or a repeated value
    return _size(inner) if hasattr(inner, "is_valid") else _VALUE_CHARACTERS


def check_cells(array: Any) -> None:
    """Raises ArrowInvalid if offsets, indexes or buffers of the array are wrong. Texts need not be
    UTF-8.
    """
    import pyarrow

    try:
        array.validate(full=True)
    except pyarrow.ArrowInvalid:
        pyarrow.array(_InBytes(array)).validate(full=True)


class _InBytes:
    """The same buffers as an array, with bytes in place of texts."""

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
