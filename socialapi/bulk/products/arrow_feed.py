"""Reading a feed that is a table in Arrow's memory format, or a Parquet file."""

from collections.abc import Generator, Iterator
from io import BufferedReader
from typing import Any

import attrs

from socialapi.bulk.products.feed import Feed, field_of
from socialapi.bulk.products.rows import FIELDS, ProductRow
from socialapi.bulk.reading.arrow_reader import parquet_chunks
from socialapi.bulk.reading.arrow_rows import pyarrow_for
from socialapi.bulk.reading.numbers import ShortFloat
from socialapi.bulk.reading.reader_base import Chunk
from socialapi.bulk.rows import ROWS_PER_CHUNK
from socialapi.errors import InvalidInput


@attrs.frozen(eq=False)
class ProductBatches:
    """Turns record batches into chunks of products; each row is judged as the object that it is."""

    feed: Feed

    def chunks(self, batch: Any, first_number: int) -> Iterator[list[ProductRow]]:
        """The products of a batch, numbered from `first_number`."""
        wanted = batch.select(_of_interest(batch.schema))
        short = _short_floats(wanted.schema)
        for start in range(0, batch.num_rows, ROWS_PER_CHUNK):
            try:
                items = wanted.slice(start, ROWS_PER_CHUNK).to_pylist()
            except (ValueError, OverflowError):  # text that is not UTF-8, or times that Python does not know
                raise InvalidInput(
                    f"a value among rows {first_number + start} to {first_number + start + ROWS_PER_CHUNK - 1} cannot "
                    "be read: export the columns as text in UTF-8"
                ) from None
            for item in items if short else ():
                for name, size in short.items():
                    if item[name] is not None:
                        item[name] = ShortFloat(item[name], size)
            yield [self.feed.from_object(item, number, "") for number, item in enumerate(items, first_number + start)]


def _short_floats(schema: Any) -> dict[str, int]:
    """The columns of floating-point numbers that hold fewer digits than Python's, with their bytes."""
    types = pyarrow_for("a table").types
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in schema.types]
    found = {
        name: kind.bit_width // 8 for name, kind in zip(schema.names, kinds, strict=True) if types.is_floating(kind)
    }
    return {name: size for name, size in found.items() if size < 8}


def read_parquet(file: BufferedReader, feed: Feed) -> Generator[Chunk[ProductRow], None, None]:
    """The products of a Parquet file, in chunks; columns that no product has are not read."""
    yield from parquet_chunks(file, _of_interest, lambda _: ProductBatches(feed))


def _of_interest(schema: Any) -> list[str]:
    return [name for name in schema.names if field_of(name) in FIELDS]
