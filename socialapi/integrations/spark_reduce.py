"""Reduces a DataFrame to one row per identifier or product before it is written.

The rows of a DataFrame have no order. A shuffle brings the rows of each identifier together, and a column decides which
of them is the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from socialapi.bulk.audiences.cells import UserRow, user_rows
from socialapi.bulk.audiences.columns import IdentifierColumns
from socialapi.bulk.audiences.normalize import Normalizers, Unusable, normalizers
from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.inputs.arrow import ArrowBlocks
from socialapi.bulk.inputs.columns import OVERRIDES, ColumnMapping, printable_names, quoted
from socialapi.errors import InvalidInput
from socialapi.integrations.spark_options import REDUCED_BY, id_columns_of
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

_KEY: Final = "socialapi_key"
_ORDER: Final = "socialapi_order"
_RANK: Final = "socialapi_rank"


def latest_per_identifier(
    df: Any,
    *,
    order_by: str,
    columns: ColumnMapping | None = None,
    default_region: str | None = None,
    phone_format: PhoneFormat = "auto",
    require_hashed: bool = False,
    kinds: Sequence[IdentifierKind] = IDENTIFIER_KINDS,
) -> Any:
    """Returns a DataFrame with one row for each identifier, taken from the last row with that identifier.

    The last row has the largest value in the column `order_by`; among equal values, a Delete wins.

    Identifiers are normalized and hashed; invalid ones are kept, and the write rejects them. The columns for times and
    operations have the names of the specification. The column `socialapi_reduced_by`, together with the option
    `order_by`, allows the write to use them. Pass `columns`, `default_region`, `phone_format` and `require_hashed`
    here, not to the write. For a do-not-reach list, `kinds` are `email` and `phone_number`. Raises InvalidInput if a
    column is missing.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    _require(df, order_by)
    options: dict[str, Any] = {"default_region": default_region, "phone_format": phone_format}
    options["require_hashed"] = require_hashed
    layout = IdentifierColumns.of(columns, kinds).of_table(df.columns)
    normalizers(kinds, **options)  # rejects an invalid region here rather than in a task
    overrides = [name for name in OVERRIDES if getattr(layout, name) is not None]
    split = _Splitter(tuple(df.columns), order_by, columns, tuple(kinds), options)
    texts = [StructField(name, StringType()) for name in (_KEY, "kind", "value", *OVERRIDES)]
    schema = StructType([*texts, StructField(_ORDER, df.schema[order_by].dataType)])
    found = df.mapInArrow(split, schema)
    is_delete = f.coalesce(f.lower(f.trim("operation_type")) == "delete", f.lit(False))
    # Compares all columns, so that the result is the same if a partition is computed again.
    newest = f.struct(_ORDER, is_delete, *(f.coalesce(f.col(name), f.lit("")) for name in OVERRIDES))
    last = f.max_by(f.struct("kind", "value", *OVERRIDES), newest).alias("last")
    kept = found.groupBy(_KEY).agg(last)
    taken = dict.fromkeys(kind for *_, kind in layout.identifiers)
    return kept.select(
        *(f.when(f.col("last.kind") == kind, f.col("last.value")).alias(kind) for kind in taken),
        *(f.col(f"last.{name}").alias(name) for name in overrides),
        f.lit(order_by).alias(REDUCED_BY),
    )


@attrs.frozen
class _Splitter:
    """Splits the rows of record batches into one row per identifier. Spark sends this object to the tasks."""

    names: tuple[str, ...]
    order_by: str
    columns: ColumnMapping | None
    kinds: tuple[IdentifierKind, ...]
    options: Mapping[str, Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yields record batches with the key, kind, value, operation, times and order of each identifier."""
        from pyspark import TaskContext

        partition = TaskContext.get().partitionId()
        normalize = normalizers(self.kinds, **self.options)
        layout = IdentifierColumns.of(self.columns, self.kinds).of_table(self.names)
        number = 1
        for batch in batches:
            blocks = ArrowBlocks(batch.schema, layout)
            rows = (row for block in blocks.blocks(batch, number) for row in user_rows(block))
            yield self._split(batch, rows, number, partition, normalize)
            number += batch.num_rows

    def _split(
        self, batch: Any, rows: Iterable[UserRow], first_number: int, partition: int, normalize: Normalizers
    ) -> Any:
        import pyarrow

        indexes: list[int] = []
        cells: list[list[str | None]] = [[] for _ in range(3 + len(OVERRIDES))]
        for row in rows:
            said = [_text(row.operation_type), _text(row.effective_at), _text(row.expires_at)]
            for key, kind, value in _identifiers(row, partition, normalize) or [
                (f"row {partition} {row.number}", "", "")
            ]:
                indexes.append(row.number - first_number)
                for column, cell in zip(cells, (key, kind, value, *said), strict=True):
                    column.append(cell)
        order = batch.column(self.names.index(self.order_by)).take(pyarrow.array(indexes, pyarrow.int64()))
        texts = [pyarrow.array(column, pyarrow.string()) for column in cells]
        return pyarrow.record_batch([*texts, order], names=[_KEY, "kind", "value", *OVERRIDES, _ORDER])


def _identifiers(row: UserRow, partition: int, normalize: Normalizers) -> list[tuple[str, str, str]]:
    """Returns the key, kind and value of each identifier of a row. Invalid identifiers get unique keys."""
    found: list[tuple[str, str, str]] = []
    for place, (field, kind, text) in enumerate(row.identifiers):
        try:
            value, _ = normalize.in_country(row.countries.get(field, ""))[kind](text)
            key = f"{kind} {value}"
        except Unusable:
            value, key = text, f"row {partition} {row.number} {place}"
        if value:
            found.append((key, kind, value))
    return found


def _text(said: Any) -> str | None:
    return said if said is None or isinstance(said, str) else str(said.isoformat())


def latest_per_product(df: Any, *, order_by: str, columns: Mapping[str, str] | None = None) -> Any:
    """Returns a DataFrame with one row for each product id: the one with the largest value in the column `order_by`.

    Rows without an id are kept, and the write rejects them. The column `socialapi_reduced_by`, together with the option
    `order_by`, tells the write that no id is repeated. Raises InvalidInput if a column is missing.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    _require(df, order_by)
    key = _product_key(df, columns)
    # The hash breaks ties, with the same result if a partition is computed again.
    newest = (f.col(_quoted(order_by)).desc_nulls_last(), f.xxhash64(*map(_quoted, df.columns)))
    rank = f.row_number().over(Window.partitionBy(key).orderBy(*newest))
    ranked = df.withColumn(_RANK, rank).where((f.col(_RANK) == 1) | key.isNull())
    return ranked.drop(_RANK).withColumn(REDUCED_BY, f.lit(order_by))


def repeated_products(df: Any, *, columns: Mapping[str, str] | None = None) -> Any:
    """Returns the product ids that occur more than once, as a DataFrame with the columns `id` and `rows`.

    Needs a shuffle. A write itself detects only ids that are repeated within a partition.
    """
    from pyspark.sql import functions as f

    counted = df.groupBy(_product_key(df, columns).alias("id")).agg(f.count(f.lit(1)).alias("rows"))
    return counted.where(f.col("id").isNotNull() & (f.col("rows") > 1))


def _product_key(df: Any, columns: Mapping[str, str] | None) -> Any:
    from pyspark.sql import functions as f

    texts = [f.trim(f.col(_quoted(name)).cast("string")) for name in id_columns_of(columns, df.columns)]
    return f.coalesce(*(f.when(text != "", text) for text in texts))


def _require(df: Any, order_by: str) -> None:
    if order_by not in df.columns:
        raise InvalidInput(
            f"there is no column {quoted(order_by)} to order by; the columns are: {printable_names(df.columns)}"
        )


def _quoted(name: str) -> str:
    """Returns the name quoted for Spark, which would otherwise interpret dots."""
    return f"`{name.replace('`', '``')}`"
