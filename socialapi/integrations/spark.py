"""Writes PySpark DataFrames to custom audiences, do-not-reach lists and catalogs.

    spark.dataSource.register(SocialApiDataSource)
    df.write.format("socialapi").options(account="18ce5", audience="4f2a").mode("append").save()

Needs the extra `[spark]`, and `[redis]` if Spark may retry tasks. See the page on Spark in the documentation.
"""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

try:
    from pyspark import TaskContext
    from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
except ImportError:
    raise ImportError("writing from Spark needs PySpark 4: pip install 'aiosocialapi[spark]'") from None

from socialapi.integrations.spark_options import WriteSettings, read_settings
from socialapi.integrations.spark_reduce import latest_per_identifier as latest_per_identifier
from socialapi.integrations.spark_reduce import latest_per_product as latest_per_product
from socialapi.integrations.spark_reduce import repeated_products as repeated_products
from socialapi.integrations.spark_tasks import Attempt, PartReport, finish, give_up, write_partition

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
