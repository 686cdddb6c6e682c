"""Feeds that are tables, and feeds in files of other kinds than text."""

from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest

from socialapi.errors import InvalidInput
from tests.bulk.input_files import in_parquet
from tests.bulk.products.model_catalog import product, products, read

SHAPES = products("a", "b")


def as_table(*ids: str | None) -> pyarrow.Table:
    """A table of products with these ids."""
    table = pyarrow.Table.from_pylist([product("b")] * len(ids))
    return table.set_column(0, "g:id", [ids])


@pytest.mark.parametrize(
    "make",
    [
        lambda: pandas.DataFrame(SHAPES),
        lambda: polars.DataFrame(SHAPES),
        lambda: pyarrow.Table.from_pylist(SHAPES),
        lambda: in_parquet(pyarrow.Table.from_pylist(SHAPES)),
    ],
    ids=["pandas", "polars", "pyarrow", "parquet"],
)
async def test_every_row_of_a_table_is_a_product(make: Any) -> None:
    rows = await read(make())
    assert [row.shape for row in rows] == SHAPES
    assert [row.number for row in rows] == [1, 2]


async def test_missing_values_say_nothing_and_other_columns_are_not_read(tmp_path: Path) -> None:
    more = {"inventory": [3, None], "gtin": ["", "4006381333931"], "cost": [1, 2]}
    table = as_table("a", None)
    for name, cells in more.items():
        table = table.append_column(name, [cells])
    first = product("b", id="a", inventory=3)
    second = product("b", id=None, gtin="4006381333931")
    for source in (table, in_parquet(table)):
        assert [row.shape for row in await read(source)] == [first, second]


async def test_a_table_without_a_column_that_every_product_needs_is_refused_as_a_whole() -> None:
    table = as_table("a").drop_columns(["price"])
    for source in (table, in_parquet(table)):
        with pytest.raises(InvalidInput, match=r'there is no column price .*columns=\{"price": "<column>"\}'):
            await read(source)
