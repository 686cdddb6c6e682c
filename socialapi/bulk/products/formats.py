"""Chooses the reader for the products of a load."""

import os
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any, Final

from socialapi.bulk.inputs.arrow import ArrowReader, ArrowStream
from socialapi.bulk.inputs.files import BinaryFile, FileReader, Formats, why_not_binary
from socialapi.bulk.inputs.iterables import AsyncIterableReader, IterableReader
from socialapi.bulk.inputs.reader import Reader
from socialapi.bulk.products.feed import Feed
from socialapi.bulk.products.json import read_json_array, read_json_lines
from socialapi.bulk.products.rows import ProductRow
from socialapi.bulk.products.tables import ProductBatches, read_parquet, read_table
from socialapi.errors import InvalidInput
from socialapi.models.products import Product

ProductSource = (
    str
    | os.PathLike[str]
    | BinaryFile
    | ArrowStream
    | Iterable[Product | Mapping[str, Any]]
    | AsyncIterable[Product | Mapping[str, Any]]
)
"""What can be loaded: the path of a feed, an open file of one, a table, products, or mappings of their fields."""

FORMATS: Final[Formats[Feed, ProductRow]] = Formats(
    by_extension={
        ".csv": read_table,
        ".tsv": read_table,
        ".txt": read_table,
        ".jsonl": read_json_lines,
        ".ndjson": read_json_lines,
    },
    table=read_table,
    json_lines=read_json_lines,
    json_array=read_json_array,
    parquet=read_parquet,
    judges_rows=True,
)


def open_products(products: Any) -> tuple[Reader[ProductRow], Feed]:
    """A reader of the products, and the feed that knows their columns. Raises InvalidInput for what holds none.

    A file is CSV or TSV with the names of the fields in its first line, JSON Lines, a JSON array of objects, or any of
    these as a gzip or Zstandard archive, or Parquet.
    """
    feed = Feed()
    if isinstance(products, str | os.PathLike):
        return FileReader(products, feed, FORMATS), feed
    if hasattr(products, "__arrow_c_stream__"):
        return ArrowReader(products, lambda _: ProductBatches(feed)), feed
    if hasattr(products, "read"):
        if (fault := why_not_binary(products)) is not None:
            raise InvalidInput(fault)
        return FileReader(products, feed, FORMATS), feed
    if isinstance(products, Product | Mapping):
        raise InvalidInput(f"one {type(products).__name__} is not an iterable of products: put it in a list")
    if isinstance(products, AsyncIterable):
        return AsyncIterableReader(products, feed), feed
    if isinstance(products, Iterable) and not isinstance(products, bytes | bytearray | memoryview):
        return IterableReader(products, feed), feed
    raise InvalidInput(
        f"{type(products).__name__} holds no products: give the path of a feed, or an iterable of Product"
    )
