"""Uploads a partition as a task does, and stops itself midway, as a machine that hangs does."""

import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pyarrow

from socialapi.errors import BulkError
from socialapi.integrations.spark_options import WriteSettings
from socialapi.integrations.spark_tasks import Attempt, write_partition

ROWS_PER_BATCH = 500


def batches(rows: int, stops_after: int | None, base_url: str) -> Iterator[Any]:
    """Record batches, in the middle of which the process stops once nothing of it is on its way."""
    for start in range(0, rows, ROWS_PER_BATCH):
        if stops_after is not None and start >= stops_after:
            wait_until_answered(base_url)
            os.kill(os.getpid(), signal.SIGSTOP)
            stops_after = None
        emails = [f"person{number}@example.com" for number in range(start, start + ROWS_PER_BATCH)]
        yield pyarrow.record_batch({"email": emails})


def wait_until_answered(base_url: str) -> None:
    ends = time.monotonic() + 20
    while time.monotonic() < ends:
        with urllib.request.urlopen(f"{base_url}/_emulator/requests") as answer:
            statuses = [json.loads(line)["status"] for line in answer]
        if statuses and all(status == 200 for status in statuses):
            return
        time.sleep(0.05)
    raise AssertionError("the requests of the first rows were not answered")


def main() -> int:
    order = json.load(sys.stdin)
    settings = WriteSettings(**order["settings"])
    rows = batches(order["rows"], order["stops_after"], os.environ["SOCIALAPI_BASE_URL"])
    try:
        part = write_partition(settings, Attempt(**order["attempt"]), rows)
    except BulkError as problem:
        sys.stdout.write(problem.message)
        return 3
    sys.stdout.write(json.dumps(dict(part.counts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
