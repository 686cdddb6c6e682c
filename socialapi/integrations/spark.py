"""Writes PySpark DataFrames to custom audiences, do-not-reach lists and catalogs.

    spark.dataSource.register(SocialApiDataSource)
    df.write.format("socialapi").options(account="18ce5", audience="4f2a").mode("append").save()

Needs the extra `[spark]`, and `[redis]` if Spark may retry tasks. See the page on Spark in the documentation.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

try:
    from pyspark import TaskContext
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
except ImportError:
    raise ImportError("writing from Spark needs PySpark 4: pip install 'aiosocialapi[spark]'") from None

from socialapi.bulk.audiences.phone_numbers import PhoneFormat
from socialapi.bulk.inputs.columns import ColumnMapping
from socialapi.integrations import spark_reduce
from socialapi.integrations.spark_options import WriteSettings, read_settings
from socialapi.integrations.spark_tasks import Attempt, PartReport, finish, give_up, write_partition
from socialapi.models.audiences import IDENTIFIER_KINDS, IdentifierKind

__all__ = ["SocialApiDataSource", "latest_per_identifier", "latest_per_product", "repeated_products"]


class SocialApiDataSource(DataSource):  # type: ignore[misc]  # PySpark is an extra and may not be installed
    """The data source `socialapi`, which can only be written to.

    The target is set by the options `account` and `audience`, `account` and `do_not_reach_list`, or `catalog`. The
    other options are those of jobs, except that `report` and `rejects` are folders. The configuration and credentials
    come from the executors' environment (`SOCIALAPI_*`).
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name for `format`."""
        return "socialapi"

    def writer(self, schema: Any, overwrite: bool) -> "SocialApiWriter":
        """Returns the writer. The operation and times are set once for all tasks. Raises InvalidInput for invalid
        options.
        """
        now = datetime.datetime.now(datetime.UTC)
        return SocialApiWriter(read_settings(dict(self.options), schema.fieldNames(), now=now, overwrite=overwrite))


@attrs.frozen
class PartWritten(WriterCommitMessage):  # type: ignore[misc]  # as above
    """The message from a task to the driver."""

    part: PartReport


class SocialApiWriter(DataSourceArrowWriter):  # type: ignore[misc]  # as above
    """One write: created on the driver, run in the tasks, and finished on the driver, in separate processes."""

    def __init__(self, settings: WriteSettings) -> None:
        self.settings = settings

    def write(self, iterator: Iterator[Any]) -> PartWritten:
        """Uploads a partition. Raises BulkError with the partition number."""
        context = TaskContext.get()
        attempt = Attempt(context.partitionId(), context.attemptNumber(), context.taskAttemptId())
        return PartWritten(write_partition(self.settings, attempt, iterator))

    def commit(self, messages: Sequence[PartWritten | None]) -> None:
        """Sums up the reports of the tasks."""
        finish(self.settings, _parts(messages))

    def abort(self, messages: Sequence[PartWritten | None]) -> None:
        """Prints which partitions failed and what to do."""
        give_up(self.settings, _parts(messages))


def _parts(messages: Sequence[PartWritten | None]) -> list[PartReport | None]:
    return [None if message is None else message.part for message in messages]


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
    options = {"default_region": default_region, "phone_format": phone_format, "require_hashed": require_hashed}
    return spark_reduce.latest_per_identifier(df, order_by, columns, kinds, options)


def latest_per_product(df: Any, *, order_by: str, columns: Mapping[str, str] | None = None) -> Any:
    """Returns a DataFrame with one row for each product id: the one with the largest value in the column `order_by`.

    Rows without an id are kept, and the write rejects them. The column `socialapi_reduced_by`, together with the option
    `order_by`, tells the write that no id is repeated. Raises InvalidInput if a column is missing.
    """
    return spark_reduce.latest_per_product(df, order_by, columns)


def repeated_products(df: Any, *, columns: Mapping[str, str] | None = None) -> Any:
    """Returns the product ids that occur more than once, as a DataFrame with the columns `id` and `rows`.

    Needs a shuffle. A write itself detects only ids that are repeated within a partition.
    """
    return spark_reduce.repeated_products(df, columns)
