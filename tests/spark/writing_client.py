"""Writes people from a Spark of its own, as standard input says, and prints the summary."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.spark.conftest import start_spark
from tests.spark.sources import FailsMidway


def people(spark: Any, rows: int, partitions: int) -> Any:
    """E-mail addresses, of which every hundredth is none."""
    address = "CASE WHEN id % 100 = 7 THEN 'nobody' ELSE concat('Person', id, '@Example.com') END"
    return spark.range(0, rows, 1, partitions).selectExpr(f"{address} AS email", "id AS customer_id")


def main() -> None:
    order = json.load(sys.stdin)
    rows, partitions = order["rows"], order["partitions"]
    spark = start_spark(rows_per_batch=max(100, rows // partitions // 30))
    # As wide as tables are, so that rows flow long before the task fails.
    df = people(spark, rows, partitions).selectExpr("*", "repeat('x', 400) AS note")
    fails = FailsMidway(rows // partitions, folder=order["options"]["report"])
    failing = df.mapInArrow(fails, df.schema)
    began = time.monotonic()
    failing.write.format("socialapi").options(**order["options"]).mode("append").save()
    seconds = time.monotonic() - began
    summary = json.loads(Path(order["options"]["report"], "summary.json").read_text())
    print(json.dumps({"seconds": seconds, "summary": summary}))
    spark.stop()


if __name__ == "__main__":
    main()
